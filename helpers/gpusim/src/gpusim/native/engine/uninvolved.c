/* Warps that do not take part in a barrier of some warps are not ordered by it: the rules of
 * checks/uninvolved_warps.py. Each warp has a vector clock; a barrier joins the clocks of the warps that arrive at it,
 * an mbarrier is released to by those and acquired by the warps that observe the end of its phase. A barrier of all
 * warps orders everything before it. */
#include "checks.h"

static void join(uint32_t *to, const uint32_t *from, uint32_t warps) {
    for (uint32_t w = 0; w < warps; w++) to[w] = to[w] > from[w] ? to[w] : from[w];
}

void warp_comes(Warp *warp, int barrier) {
    Shadow *shadow = warp->block->shadow;
    uint32_t *brought = shadow->brought + (size_t)barrier * shadow->warps;
    join(brought, shadow->known + (size_t)warp->number * shadow->warps, shadow->warps);
    brought[warp->number] = tick(warp->results);
}

void warp_goes_on(Warp *warp, int barrier) {
    Shadow *shadow = warp->block->shadow;
    join(shadow->known + (size_t)warp->number * shadow->warps, shadow->brought + (size_t)barrier * shadow->warps,
         shadow->warps);
}

void barrier_is_free(Block *block, int barrier) {
    const Shadow *shadow = block->shadow;
    memset(shadow->brought + (size_t)barrier * shadow->warps, 0, shadow->warps * sizeof *shadow->brought);
}

/* ---- mbarriers */

/* What warps have released at the mbarrier at a byte of a block; NULL if there are too many. */
static uint32_t *arrived_at(Shadow *shadow, uint32_t byte) {
    uint32_t n = 0;
    while (n < shadow->mbarriers && shadow->place[n] != byte) n++;
    if (n == MOST_MBARRIERS) return 0;
    if (n == shadow->mbarriers) shadow->place[shadow->mbarriers++] = byte;
    return shadow->arrived + (size_t)n * shadow->warps;
}

static uint32_t *ended_from(const Shadow *shadow, uint32_t *arrived) {
    return shadow->ended + (arrived - shadow->arrived);
}

void warp_arrives(Warp *warp, Block *block, uint32_t byte) {
    Shadow *shadow = block->shadow;
    uint32_t *arrived = arrived_at(shadow, byte);
    if (!arrived) return;
    const uint32_t now = tick(warp->results);
    if (block == warp->block) join(arrived, shadow->known + (size_t)warp->number * shadow->warps, shadow->warps);
    for (uint32_t w = 0; w < shadow->warps; w++) /* clocks of warps of another block have no entries for this one */
        if (block != warp->block || w == (uint32_t)warp->number) arrived[w] = now;
}

int phase_is_known(Block *block, uint32_t byte) {
    Shadow *shadow = block->shadow;
    uint32_t *arrived = arrived_at(shadow, byte);
    if (arrived) join(ended_from(shadow, arrived), arrived, shadow->warps);
    return arrived != 0;
}

void warp_finds(Warp *warp, uint32_t byte) {
    Shadow *shadow = warp->block->shadow;
    uint32_t *arrived = arrived_at(shadow, byte);
    if (arrived) join(shadow->known + (size_t)warp->number * shadow->warps, ended_from(shadow, arrived), shadow->warps);
}

void warp_posts(Warp *warp) {
    Shadow *shadow = warp->block->shadow;
    uint32_t *known = shadow->known + (size_t)warp->number * shadow->warps;
    join(known, shadow->posted, shadow->warps);
    join(shadow->posted, known, shadow->warps);
    shadow->posted[warp->number] = tick(warp->results);
}

int are_known(const Warp *warp, const Cell *cell, int touch) {
    const Shadow *shadow = warp->block->shadow;
    const uint32_t *known = shadow->known + (size_t)warp->number * shadow->warps, own = (uint32_t)warp->number;
    const uint32_t all_met = warp->block->all_met;
    uint32_t *read_by = shadow->read_by + (size_t)(cell - shadow->cell) * shadow->warps;
    if (cell->written > all_met && !(touch == UPDATES && cell->flags & UPDATED)) {
        uint32_t writer = cell->writer / WARP;
        if (cell->writer == MANY || (writer != own && cell->written > known[writer])) return 0;
    }
    if (touch == READS) read_by[own] = warp->results->now;
    if (touch == READS || touch == UPDATES) return 1;
    for (uint32_t w = 0; w < shadow->warps; w++)
        if (read_by[w] > all_met && read_by[w] > known[w] && w != own) return 0;
    return 1;
}

int is_known(const Warp *warp, uint32_t other, uint32_t time) {
    const Shadow *shadow = warp->block->shadow;
    return warp->block->all_met > time || shadow->known[(size_t)warp->number * shadow->warps + other] > time;
}
