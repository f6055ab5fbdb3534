/* The requests of warps put together to accesses of blocks.
 *
 * Warps are executed one after the other, and each makes its requests at its own pace. What a reader of a trace wants
 * to see are instructions of the block: warps merged in program order, the slowest first. */
#include "machine.h"

enum { NO_ROW = -1 };

/* Of the rows that come first in their warps, the one that is furthest back; NO_ROW if there is none. */
static int64_t furthest_back(const TraceRow *rows, const int64_t *head, int32_t warps) {
    int64_t best = NO_ROW;
    for (int32_t w = 0; w < warps; w++) {
        if (head[w] == NO_ROW) continue;
        const TraceRow *row = &rows[head[w]], *other = &rows[best == NO_ROW ? head[w] : best];
        if (best == NO_ROW || row->times < other->times ||
            (row->times == other->times && row->instruction < other->instruction))
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
        for (int64_t chain = 0; chain < chains; chain++) head[chain] = NO_ROW;
        for (int64_t row = 0; row < count; row++) {
            int64_t chain = block[row] * warps + rows[row].warp;
            if (head[chain] == NO_ROW) head[chain] = row;
            else next[last[chain]] = row;
            last[chain] = row;
            next[row] = NO_ROW;
        }
        for (int64_t b = 0; b < blocks; b++) {
            int64_t *first = head + b * warps, lead;
            for (; (lead = furthest_back(rows, first, warps)) != NO_ROW; accesses++) {
                for (int32_t w = 0; w < warps; w++) {
                    int64_t row = first[w];
                    if (row == NO_ROW || rows[row].instruction != rows[lead].instruction ||
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
        const TraceRow *candidate = &rows[row];
        int64_t first = access[row] * threads + candidate->warp * WARP;
        for (uint32_t rest = candidate->active; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            address[first + lane] = candidate->first + shapes[candidate->shape].distance[lane];
            active[first + lane] = 1;
        }
    }
}
