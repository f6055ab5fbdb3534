/* What the sanitizer's watch keeps of the shared memory of a block.
 *
 * A note is about 16 bytes that lie together, as long as every access is to all of them. The first narrower access splits
 * it into notes of the four words, and one that is narrower than a word that word's into notes of the four bytes. */
#ifndef NOTES_H
#define NOTES_H

#include "machine.h"

enum { UNIT_BYTES = 16, QUARTERS = 4 };

/* `group` of a note that is split. Else 0, or for the target of an asynchronous copy that nobody has waited for 1 + the
 * number of the copies' group. */
enum { SPLIT = 0xffff };

/* `flags`. AWAITED: a copy wrote it, and its thread has waited for that. Of what was written since the last barrier, LOOKED_AT:
 * it was all by what plain loads may look at; SAME: it was all stores, of one value. */
enum { UPDATED = 1, STRONG_WRITE = 2, STRONG_READ = 4, AWAITED = 8, LOOKED_AT = 16, SAME = 32 };

/* When a word was written by what came before everything else. */
enum { BEFORE_ALL = 1 };

/* A writer or a reader is a thread of the block, or one of these, the first plus the number of a warp. */
enum { MANY_OF_WARP = 0x4000, MANY = 0x8000 };

/* written, read: times, as numbers of events; 0 for never. */
typedef struct {
    uint32_t written, read;
    uint16_t writer, reader, group, flags;
} Note;

/* Which blocks of the cluster, a bit for each, have used these bytes since a barrier of the cluster. */
typedef struct {
    uint32_t phase;
    uint16_t readers, writers, updaters, spare;
} Between;

enum { MOST_MBARRIERS = 64 }; /* of a block: what is known of whom is kept for so many */

/* The notes of the units, behind them those of the words, and of the bytes: the quarters of the note at place i are those
 * from units + 4 i on. `between`: the same, NULL where there is no cluster.
 *
 * Where barriers may be of some warps, else NULL: by note and warp when it last read this (`read_by`); by warp and warp up
 * to when the first one knows what the second one did (`known`); by barrier and warp the same of those who have come there
 * (`brought`; the last barrier is that of a block of which warps have ended). By mbarrier (`place`: at which byte) and warp
 * the same of those who have arrived there (`told`), and of whose phase has ended (`learnt`); `posted`: of those who have made
 * a strong access. */
struct Notes {
    Note *note;
    Between *between;
    uint32_t *read_by, *known, *brought, *told, *learnt, *posted;
    uint32_t place[MOST_MBARRIERS];
    uint32_t units, room, warps, mbarriers;
};

/* NULL if there is no memory. */
Notes *make_notes(const Launch *launch);

void begin_notes(Notes *notes);

void free_notes(Notes *notes);

static inline Note *quarters_of(const Notes *notes, const Note *note) {
    return notes->note + notes->units + QUARTERS * (note - notes->note);
}

/* Split a note. 0 if there is no room, as the kernel is said to have no access so narrow. */
int split_note(Notes *notes, Note *note);

/* The note of the bytes from `first` on, and in `next` the byte behind them, which does not lie behind `end`. Notes are
 * split where they must be; NULL if they cannot be. */
Note *note_of(Notes *notes, uint64_t first, uint64_t end, uint64_t *next);

#endif
