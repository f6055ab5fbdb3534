/* The requests of warps put together to accesses of blocks.
 *
 * Warps are executed one after the other, and each makes its requests at its own pace. What a reader of a trace wants to
 * see are instructions of the block: warps in step, whoever is further back first. */
#include "machine.h"

enum { NOBODY = -1 };

/* Of the rows that come first in their warps, the one that is furthest back; NOBODY if there is none. */
static int64_t furthest_back(const TraceRow *rows, const int64_t *head, int32_t warps) {
    int64_t best = NOBODY;
    for (int32_t w = 0; w < warps; w++) {
        if (head[w] == NOBODY) continue;
        const TraceRow *one = &rows[head[w]], *other = &rows[best == NOBODY ? head[w] : best];
        if (best == NOBODY || one->times < other->times ||
            (one->times == other->times && one->instruction < other->instruction))
            best = head[w];
    }
    return best;
}

/* By row the number of the access that it is a part of; the answer is how many accesses there are, -1 if there is no
 * memory left. `block`: by row the place of its block among the traced ones, of which there are `blocks`. */
EXPORT int64_t accesses_of(const TraceRow *rows, int64_t count, const int64_t *block, int64_t blocks, int32_t warps,
                           int64_t *access) {
    int64_t chains = blocks * warps, accesses = 0;
    int64_t *head = malloc(sizeof *head * (size_t)chains), *last = malloc(sizeof *last * (size_t)chains);
    int64_t *next = malloc(sizeof *next * (size_t)(count + 1)); /* the warp's next row */
    if (head && last && next) {
        for (int64_t chain = 0; chain < chains; chain++) head[chain] = NOBODY;
        for (int64_t row = 0; row < count; row++) {
            int64_t chain = block[row] * warps + rows[row].warp;
            if (head[chain] == NOBODY) head[chain] = row;
            else next[last[chain]] = row;
            last[chain] = row;
            next[row] = NOBODY;
        }
        for (int64_t b = 0; b < blocks; b++) {
            int64_t *first = head + b * warps, lead;
            for (; (lead = furthest_back(rows, first, warps)) != NOBODY; accesses++) {
                for (int32_t w = 0; w < warps; w++) {
                    int64_t row = first[w];
                    if (row == NOBODY || rows[row].instruction != rows[lead].instruction ||
                        rows[row].space != rows[lead].space)
                        continue;
                    access[row] = accesses;
                    first[w] = next[row];
                }
            }
        }
    } else {
        accesses = -1;
    }
    free(next);
    free(last);
    free(head);
    return accesses;
}

/* The rows as accesses: by access and thread its address, and whether it takes part. Both arrays hold zeros before;
 * `threads` has a block. */
EXPORT void gather_accesses(const TraceRow *rows, int64_t count, const Shape *shapes, int32_t threads,
                            const int64_t *access, int64_t *address, uint8_t *active) {
    for (int64_t row = 0; row < count; row++) {
        const TraceRow *one = &rows[row];
        int64_t first = access[row] * threads + one->warp * WARP;
        for (uint32_t rest = one->active; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            address[first + lane] = one->first + shapes[one->shape].distance[lane];
            active[first + lane] = 1;
        }
    }
}
