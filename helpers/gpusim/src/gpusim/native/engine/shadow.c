/* Cells of shared memory: where they lie, and how they are split. */
#include "shadow.h"

/* Of `known` and what follows it: how many times a number for each warp. */
static size_t clocks_of(const Shadow *shadow) { return shadow->warps + BARRIERS + 1 + 2 * MOST_MBARRIERS + 1; }

Shadow *make_shadow(const Launch *launch) {
    Shadow *shadow = calloc(1, sizeof *shadow);
    if (!shadow) return 0;
    const size_t of_unit = 1 + QUARTERS + (launch->shared_granule < 2 ? QUARTERS * QUARTERS : 0);
    shadow->units = (uint32_t)(launch->shared_bytes / UNIT_BYTES) + 1;
    shadow->room = (uint32_t)(shadow->units * of_unit);
    shadow->cell = malloc(shadow->room * sizeof *shadow->cell); /* what is never used is no memory */
    if (launch->cluster_blocks > 1) shadow->between = malloc(shadow->room * sizeof *shadow->between);
    if (launch->partial_barriers) {
        size_t warps = shadow->warps = (uint32_t)(launch->threads + WARP - 1) / WARP;
        shadow->read_by = malloc(shadow->room * warps * sizeof *shadow->read_by);
        shadow->known = malloc(clocks_of(shadow) * warps * sizeof *shadow->known);
        if (shadow->known) {
            shadow->brought = shadow->known + warps * warps;
            shadow->arrived = shadow->brought + (BARRIERS + 1) * warps;
            shadow->ended = shadow->arrived + MOST_MBARRIERS * warps;
            shadow->posted = shadow->ended + MOST_MBARRIERS * warps;
        }
    }
    int has_clocks = (shadow->read_by && shadow->known) || !launch->partial_barriers;
    if (shadow->cell && (shadow->between || launch->cluster_blocks == 1) && has_clocks) return shadow;
    free_shadow(shadow);
    return 0;
}

void free_shadow(Shadow *shadow) {
    if (!shadow) return;
    free(shadow->cell);
    free(shadow->between);
    free(shadow->read_by);
    free(shadow->known);
    free(shadow);
}

void begin_shadow(Shadow *shadow) {
    memset(shadow->cell, 0, shadow->units * sizeof *shadow->cell);
    if (shadow->between) memset(shadow->between, 0, shadow->units * sizeof *shadow->between);
    if (!shadow->read_by) return;
    memset(shadow->read_by, 0, shadow->units * shadow->warps * sizeof *shadow->read_by);
    memset(shadow->known, 0, clocks_of(shadow) * shadow->warps * sizeof *shadow->known);
    shadow->mbarriers = 0;
}

int split_cell(Shadow *shadow, Cell *cell) {
    const size_t whole = (size_t)(cell - shadow->cell), first = (size_t)(quarters_of(shadow, cell) - shadow->cell);
    const size_t warps = shadow->warps;
    if (first + QUARTERS > shadow->room) return 0;
    for (size_t part = first; part < first + QUARTERS; part++) {
        shadow->cell[part] = *cell;
        if (shadow->between) shadow->between[part] = shadow->between[whole];
        if (shadow->read_by)
            memcpy(&shadow->read_by[part * warps], &shadow->read_by[whole * warps], warps * sizeof *shadow->read_by);
    }
    cell->group = SPLIT;
    return 1;
}

Cell *cell_of(Shadow *shadow, uint64_t first, uint64_t end, uint64_t *next) {
    Cell *cell = shadow->cell + first / UNIT_BYTES;
    uint64_t begin = first / UNIT_BYTES * UNIT_BYTES;
    for (uint64_t size = UNIT_BYTES;; size /= QUARTERS) {
        if (cell->group != SPLIT) {
            *next = begin + size;
            if (begin == first && *next <= end) return cell;
            if (size == 1 || !split_cell(shadow, cell)) return 0;
        }
        uint64_t part = (first - begin) / (size / QUARTERS);
        cell = quarters_of(shadow, cell) + part;
        begin += part * (size / QUARTERS);
    }
}
