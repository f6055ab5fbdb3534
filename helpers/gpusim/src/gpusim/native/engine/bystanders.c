/* Who does not take part in a barrier of some warps is in no order with those who do: what simulator/sanitizer/bystanders.py
 * says. Each warp knows up to when the others' accesses come before its own; a barrier hands on what those know who come to
 * it, an mbarrier to who finds that the phase has ended. What was before the last barrier of all warps is known to all. */
#include "checks.h"

static void learn(uint32_t *to, const uint32_t *from, uint32_t warps) {
    for (uint32_t w = 0; w < warps; w++) to[w] = to[w] > from[w] ? to[w] : from[w];
}

void warp_comes(Warp *warp, int barrier) {
    Notes *notes = warp->block->notes;
    uint32_t *brought = notes->brought + (size_t)barrier * notes->warps;
    learn(brought, notes->known + (size_t)warp->number * notes->warps, notes->warps);
    brought[warp->number] = tick(warp->results);
}

void warp_goes_on(Warp *warp, int barrier) {
    Notes *notes = warp->block->notes;
    learn(notes->known + (size_t)warp->number * notes->warps, notes->brought + (size_t)barrier * notes->warps, notes->warps);
}

void barrier_is_free(Block *block, int barrier) {
    const Notes *notes = block->notes;
    memset(notes->brought + (size_t)barrier * notes->warps, 0, notes->warps * sizeof *notes->brought);
}

/* ---- mbarriers */

/* What is told at the mbarrier at a byte of a block; NULL if there are too many. */
static uint32_t *told_at(Notes *notes, uint32_t byte) {
    uint32_t n = 0;
    while (n < notes->mbarriers && notes->place[n] != byte) n++;
    if (n == MOST_MBARRIERS) return 0;
    if (n == notes->mbarriers) notes->place[notes->mbarriers++] = byte;
    return notes->told + (size_t)n * notes->warps;
}

static uint32_t *learnt_from(const Notes *notes, uint32_t *told) { return notes->learnt + (told - notes->told); }

void warp_arrives(Warp *warp, Block *block, uint32_t byte) {
    Notes *notes = block->notes;
    uint32_t *told = told_at(notes, byte);
    if (!told) return;
    const uint32_t now = tick(warp->results);
    if (block == warp->block) learn(told, notes->known + (size_t)warp->number * notes->warps, notes->warps);
    for (uint32_t w = 0; w < notes->warps; w++) /* what a warp of another block knows of this one is not kept */
        if (block != warp->block || w == (uint32_t)warp->number) told[w] = now;
}

int phase_is_told(Block *block, uint32_t byte) {
    Notes *notes = block->notes;
    uint32_t *told = told_at(notes, byte);
    if (told) learn(learnt_from(notes, told), told, notes->warps);
    return told != 0;
}

void warp_finds(Warp *warp, uint32_t byte) {
    Notes *notes = warp->block->notes;
    uint32_t *told = told_at(notes, byte);
    if (told) learn(notes->known + (size_t)warp->number * notes->warps, learnt_from(notes, told), notes->warps);
}

void warp_posts(Warp *warp) {
    Notes *notes = warp->block->notes;
    uint32_t *known = notes->known + (size_t)warp->number * notes->warps;
    learn(known, notes->posted, notes->warps);
    learn(notes->posted, known, notes->warps);
    notes->posted[warp->number] = tick(warp->results);
}

int are_known(const Warp *warp, const Note *note, int touch) {
    const Notes *notes = warp->block->notes;
    const uint32_t *known = notes->known + (size_t)warp->number * notes->warps, own = (uint32_t)warp->number;
    const uint32_t all_met = warp->block->all_met;
    uint32_t *read_by = notes->read_by + (size_t)(note - notes->note) * notes->warps;
    if (note->written > all_met && !(touch == UPDATES && note->flags & UPDATED)) {
        uint32_t writer = note->writer / WARP;
        if (note->writer == MANY || (writer != own && note->written > known[writer])) return 0;
    }
    if (touch == READS) read_by[own] = warp->results->now;
    if (touch == READS || touch == UPDATES) return 1;
    for (uint32_t w = 0; w < notes->warps; w++)
        if (read_by[w] > all_met && read_by[w] > known[w] && w != own) return 0;
    return 1;
}

int is_known(const Warp *warp, uint32_t other, uint32_t time) {
    const Notes *notes = warp->block->notes;
    return warp->block->all_met > time || notes->known[(size_t)warp->number * notes->warps + other] > time;
}
