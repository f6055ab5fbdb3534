/* Requests that look like one before.
 *
 * Loops make the same requests again and again, a line further each time. What a request costs, whether it is aligned
 * and how far it reaches depend only on its addresses relative to each other and to a 128-byte line, so that this is
 * found out once for each word of the line that it may begin at. After that a request is recognised, and its pattern's
 * number goes up by one. */
#include "patterns.h"

void request_like(const Pattern *known, uint64_t base, Request *request) {
    for (int lane = 0; lane < WARP; lane++)
        request->address[lane] = base + (uint64_t)(int64_t)(int32_t)known->relative[lane];
    request->active = known->active;
}

/* ---- counting */

static int64_t *sums_at(const Launch *launch, const Results *results, int64_t memory, int slot) {
    return results->requests + (memory * (launch->allocation_count + SPACES - 1) + slot) * QUANTITIES;
}

int64_t *sums_of(const Warp *warp, const Instruction *i, int slot) {
    return sums_at(warp->launch, warp->results, i->memory, slot);
}

void add_sums(int64_t *sums, const int64_t *more, int64_t times) {
    for (int quantity = 0; quantity < QUANTITIES; quantity++) sums[quantity] += times * more[quantity];
}

static void book(const Launch *launch, const Results *results, int64_t memory, Pattern *pattern) {
    add_sums(sums_at(launch, results, memory, pattern->slot), pattern->sums, pattern->times);
    pattern->times = 0;
}

void book_patterns(const Launch *launch, Results *results) {
    for (int64_t memory = 0; memory < launch->memory_instructions; memory++) {
        for (uint32_t rest = results->counted[memory]; rest; rest &= rest - 1) {
            Pattern *pattern = &results->patterns[memory * PLACES + __builtin_ctz(rest)];
            book(launch, results, memory, pattern);
            pattern->shape = 0;
        }
        results->counted[memory] = 0;
    }
}

/* Of the lanes with the same address the first two. */
static uint32_t leaders_of(const Pattern *pattern) {
    uint32_t leaders = 0;
    for (uint32_t rest = pattern->active; rest; ) {
        uint32_t same = 0, distance = pattern->relative[__builtin_ctz(rest)];
        for (uint32_t lanes = rest; lanes; lanes &= lanes - 1)
            if (pattern->relative[__builtin_ctz(lanes)] == distance) same |= lanes & (0u - lanes);
        rest &= ~same;
        uint32_t others = same & (same - 1);
        leaders |= same & ~(others & (others - 1));
    }
    return leaders;
}

/* What follows from how the addresses lie to each other; `relative` and `active` are known. */
static void describe(Pattern *pattern, int width) {
    int same = 1, in_a_row = pattern->active == 0xffffffffu;
    pattern->lowest = pattern->highest = 0;
    pattern->bits = 0;
    for (uint32_t rest = pattern->active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        int32_t distance = (int32_t)pattern->relative[lane];
        pattern->bits |= pattern->relative[lane];
        if (distance < pattern->lowest) pattern->lowest = distance;
        if (distance > pattern->highest) pattern->highest = distance;
        same &= !distance;
        in_a_row &= distance == lane * width;
    }
    pattern->form = same ? ALL_THE_SAME : in_a_row ? SIDE_BY_SIDE : SCATTERED;
}

Pattern *count_pattern(Warp *warp, const Instruction *i, int space, int stores, int slot, const Request *request,
                       int width) {
    uint64_t base = request->address[__builtin_ctz(request->active)], far = 0;
    Pattern *known = pattern_at(warp, i, base), now;
    memset(&now, 0, sizeof now);
    for (int lane = 0; lane < WARP; lane++) {
        uint64_t distance = request->active >> lane & 1 ? request->address[lane] - base : 0;
        now.relative[lane] = (uint32_t)distance;
        far |= (distance + 0x80000000u) >> 32; /* distances beyond 32 bits are not remembered */
    }
    now.active = request->active;
    now.kind = kind_of(space, stores, width, base);
    if (!far && !memcmp(known, &now, offsetof(Pattern, slot))) {
        if (known->slot != slot) book(warp->launch, warp->results, i->memory, known);
    } else {
        if (warp->launch->counting && space == SHARED) count_banks(request, width, stores, now.sums);
        else if (warp->launch->counting) count_lines(request, width, 0, now.sums);
        if (far) {
            add_sums(sums_of(warp, i, slot), now.sums, 1);
            return 0;
        }
        describe(&now, width);
        if (warp->launch->checking) now.leaders = leaders_of(&now);
        book(warp->launch, warp->results, i->memory, known);
        *known = now;
    }
    known->slot = slot;
    count_again(warp, i, known);
    return known;
}
