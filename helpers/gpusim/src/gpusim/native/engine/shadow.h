/* The shadow memory of the shared memory of a block, for checks.c, bulk_checks.c and uninvolved.c.
 *
 * A cell is about 16 bytes that lie together, as long as every access is to all of them. The first narrower access
 * splits it into cells of the four words, and one that is narrower than a word that word's into cells of the four
 * bytes. */
#ifndef SHADOW_H
#define SHADOW_H

#include "machine.h"

enum { UNIT_BYTES = 16, QUARTERS = 4 };

/* `group` of a cell that is split. Else 0, or for the target of an asynchronous copy that no thread has waited for 1 +
 * the number of the copies' group. */
enum { SPLIT = 0xffff };

/* `flags`. AWAITED: a copy wrote it, and its thread has waited for that. Of what was written since the last barrier,
 * OBSERVED: plain loads may read all of it; SAME: it was all stores, of one value. */
enum { UPDATED = 1, STRONG_WRITE = 2, STRONG_READ = 4, AWAITED = 8, OBSERVED = 16, SAME = 32 };

/* When a word was written by what came before everything else. */
enum { BEFORE_ALL = 1 };

/* A writer or a reader is a thread of the block, or one of these, the first plus the number of a warp. */
enum { MANY_OF_WARP = 0x4000, MANY = 0x8000 };

/* written, read: times, as numbers of events; 0 for never. */
typedef struct {
    uint32_t written, read;
    uint16_t writer, reader, group, flags;
} Cell;

/* Which blocks of the cluster, a bit for each, have used these bytes since a barrier of the cluster. */
typedef struct {
    uint32_t phase;
    uint16_t readers, writers, updaters, spare;
} Between;

enum { MOST_MBARRIERS = 64 }; /* of a block: so many have clocks */

/* The cells of the units, behind them those of the words, and of the bytes: the quarters of the cell at place i are
 * those from units + 4 i on. `between`: the same, NULL where there is no cluster.
 *
 * Where barriers may be of some warps, else NULL: by cell and warp the time of its last read (`read_by`); the vector
 * clock of each warp (`known`); by barrier the join of the clocks of the warps that have arrived (`brought`; the last
 * barrier is that of a block of which warps have ended). By mbarrier (`place`: at which byte) the join of the clocks of
 * the warps that have arrived (`arrived`), and as of the end of its last phase (`ended`); `posted`: of the warps that
 * have made a strong access. */
struct Shadow {
    Cell *cell;
    Between *between;
    uint32_t *read_by, *known, *brought, *arrived, *ended, *posted;
    uint32_t place[MOST_MBARRIERS];
    uint32_t units, room, warps, mbarriers;
};

/* NULL if there is no memory. */
Shadow *make_shadow(const Launch *launch);

void begin_shadow(Shadow *shadow);

void free_shadow(Shadow *shadow);

static inline Cell *quarters_of(const Shadow *shadow, const Cell *cell) {
    return shadow->cell + shadow->units + QUARTERS * (cell - shadow->cell);
}

/* Split a cell. 0 if there is no room, as the kernel is said to have no access so narrow. */
int split_cell(Shadow *shadow, Cell *cell);

/* The cell of the bytes from `first` on, and in `next` the byte behind them, which does not lie behind `end`. Cells are
 * split where they must be; NULL if they cannot be. */
Cell *cell_of(Shadow *shadow, uint64_t first, uint64_t end, uint64_t *next);

#endif
