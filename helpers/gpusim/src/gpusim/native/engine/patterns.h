/* Requests with the pattern of an earlier one, which are counted once; called by memory.c and bulk.c. */
#ifndef PATTERNS_H
#define PATTERNS_H

#include "machine.h"

/* The addresses of 32 lanes, in halves. */
typedef struct {
    Lanes low, high;
} Addresses;

/* Addresses as the rows of a warp hold them, before a number is added to each: their low and high halves, or with 32
 * bits only low ones. */
typedef struct {
    const Lanes *low, *high;
    int64_t offset;
} AddressRows;

static inline uint32_t kind_of(int space, int stores, int width, uint64_t base) {
    return (uint32_t)((base & (LINE_BYTES - 1)) | (uint64_t)(space * 2 + stores + 1) << 8 | (uint64_t)width << 12);
}

static inline Pattern *pattern_at(const Warp *warp, const Instruction *i, uint64_t base) {
    return &warp->results->patterns[i->memory * PLACES + ((base & (LINE_BYTES - 1)) >> 2)];
}

/* One more request with a known pattern. */
static inline void count_again(const Warp *warp, const Instruction *i, Pattern *known) {
    warp->results->counted[i->memory] |= 1u << (int)(known - &warp->results->patterns[i->memory * PLACES]);
    known->times++;
}

/* The pattern that a request of an instruction has, if it is known; `base` becomes the address of the first active
 * lane. NULL if each lane has to be checked. */
static inline Pattern *known_pattern(const Warp *warp, const Instruction *i, int space, int stores, int width,
                                     uint32_t mask, AddressRows rows, uint64_t *base) {
    int first = __builtin_ctz(mask);
    uint32_t low = ((const uint32_t *)rows.low)[first], high = rows.high ? ((const uint32_t *)rows.high)[first] : 0;
    int64_t added_up = rows.high ? (int64_t)low : (int32_t)(low + (uint32_t)rows.offset);
    *base = rows.high ? ((uint64_t)high << 32 | low) + (uint64_t)rows.offset : (uint64_t)added_up;
    Pattern *known = pattern_at(warp, i, *base);
    Lanes relative, wrong;
    if (known->active != mask || known->kind != kind_of(space, stores, width, *base)) return 0;
    memcpy(&relative, known->relative, sizeof relative);
    wrong = (*rows.low - broadcast(low)) ^ relative;
    if (rows.high) wrong |= *rows.high ^ broadcast(high);
    if (mask != 0xffffffffu) wrong &= spread(mask);
    if (any_of(wrong)) return 0;
    /* Only the low halves were subtracted: that is the distance if no sum of 32 bits wraps around between the lanes. */
    int64_t most = rows.high ? (int64_t)UINT32_MAX : INT32_MAX;
    return added_up + known->lowest < 0 || added_up + known->highest > most ? 0 : known;
}

/* A request with a known pattern, lane by lane. */
void request_like(const Pattern *known, uint64_t base, Request *request);

/* Count a legal request, and remember what it looks like; NULL if it cannot be. `stores`: it is counted as one. */
Pattern *count_pattern(Warp *warp, const Instruction *i, int space, int stores, int slot, const Request *request,
                       int width);

/* The sums of an instruction's requests to one array. */
int64_t *sums_of(const Warp *warp, const Instruction *i, int slot);

void add_sums(int64_t *sums, const int64_t *more, int64_t times);

/* Put the requests that were only counted by their patterns into the results: at the end of a launch. The patterns may
 * stay for the next one. */
void book_patterns(const Launch *launch, Results *results);

#endif
