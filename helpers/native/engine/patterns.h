/* Requests that look like one before. */
#ifndef PATTERNS_H
#define PATTERNS_H

#include "machine.h"

/* The addresses of 32 lanes, in halves. */
typedef struct {
    Lanes low, high;
} Addresses;

/* The pattern that a request of an instruction has, if it is known; `base` becomes the address of the first active lane.
 * NULL if it has to be looked at lane by lane. */
Pattern *known_pattern(const Warp *warp, const Instruction *i, int space, int stores, int width, uint32_t mask,
                       const Addresses *where, uint64_t *base);

/* Count a legal request, and remember what it looks like; NULL if it cannot be. `stores`: it is counted as one. */
Pattern *count_pattern(Warp *warp, const Instruction *i, int space, int stores, int slot, const Request *request, int width);

/* The sums of an instruction's requests to one array. */
int64_t *sums_of(const Warp *warp, const Instruction *i, int slot);

void add_sums(int64_t *sums, const int64_t *more, int64_t times);

/* Put the requests that were only counted by their patterns into the results: at the end of a launch. The patterns may
 * stay for the next one. */
void book_patterns(const Launch *launch, Results *results);

#endif
