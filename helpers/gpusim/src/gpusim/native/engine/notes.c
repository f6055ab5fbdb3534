/* Notes of shared memory: where they lie, and how they are split. */
#include "notes.h"

/* Of `known` and what follows it: how many times a number for each warp. */
static size_t clocks_of(const Notes *notes) { return notes->warps + BARRIERS + 1 + 2 * MOST_MBARRIERS + 1; }

Notes *make_notes(const Launch *launch) {
    Notes *notes = calloc(1, sizeof *notes);
    if (!notes) return 0;
    const size_t of_unit = 1 + QUARTERS + (launch->shared_granule < 2 ? QUARTERS * QUARTERS : 0);
    notes->units = (uint32_t)(launch->shared_bytes / UNIT_BYTES) + 1;
    notes->room = (uint32_t)(notes->units * of_unit);
    notes->note = malloc(notes->room * sizeof *notes->note); /* what is never used is no memory */
    if (launch->cluster_blocks > 1) notes->between = malloc(notes->room * sizeof *notes->between);
    if (launch->partial_barriers) {
        size_t warps = notes->warps = (uint32_t)(launch->threads + WARP - 1) / WARP;
        notes->read_by = malloc(notes->room * warps * sizeof *notes->read_by);
        notes->known = malloc(clocks_of(notes) * warps * sizeof *notes->known);
        if (notes->known) {
            notes->brought = notes->known + warps * warps;
            notes->told = notes->brought + (BARRIERS + 1) * warps;
            notes->learnt = notes->told + MOST_MBARRIERS * warps;
            notes->posted = notes->learnt + MOST_MBARRIERS * warps;
        }
    }
    int has_clocks = (notes->read_by && notes->known) || !launch->partial_barriers;
    if (notes->note && (notes->between || launch->cluster_blocks == 1) && has_clocks) return notes;
    free_notes(notes);
    return 0;
}

void free_notes(Notes *notes) {
    if (!notes) return;
    free(notes->note);
    free(notes->between);
    free(notes->read_by);
    free(notes->known);
    free(notes);
}

void begin_notes(Notes *notes) {
    memset(notes->note, 0, notes->units * sizeof *notes->note);
    if (notes->between) memset(notes->between, 0, notes->units * sizeof *notes->between);
    if (!notes->read_by) return;
    memset(notes->read_by, 0, notes->units * notes->warps * sizeof *notes->read_by);
    memset(notes->known, 0, clocks_of(notes) * notes->warps * sizeof *notes->known);
    notes->mbarriers = 0;
}

int split_note(Notes *notes, Note *note) {
    const size_t whole = (size_t)(note - notes->note), first = (size_t)(quarters_of(notes, note) - notes->note), warps = notes->warps;
    if (first + QUARTERS > notes->room) return 0;
    for (size_t part = first; part < first + QUARTERS; part++) {
        notes->note[part] = *note;
        if (notes->between) notes->between[part] = notes->between[whole];
        if (notes->read_by) memcpy(&notes->read_by[part * warps], &notes->read_by[whole * warps], warps * sizeof *notes->read_by);
    }
    note->group = SPLIT;
    return 1;
}

Note *note_of(Notes *notes, uint64_t first, uint64_t end, uint64_t *next) {
    Note *note = notes->note + first / UNIT_BYTES;
    uint64_t begin = first / UNIT_BYTES * UNIT_BYTES;
    for (uint64_t size = UNIT_BYTES;; size /= QUARTERS) {
        if (note->group != SPLIT) {
            *next = begin + size;
            if (begin == first && *next <= end) return note;
            if (size == 1 || !split_note(notes, note)) return 0;
        }
        uint64_t part = (first - begin) / (size / QUARTERS);
        note = quarters_of(notes, note) + part;
        begin += part * (size / QUARTERS);
    }
}
