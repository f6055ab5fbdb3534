/* Time, as clocks show it.
 *
 * Each warp has a clock of its own. An instruction takes one clock, and what reads memory as many more as an H200 took
 * for the L2 cache and for shared memory (helpers/recordings/nvidia-h200/memories.json); those of the L1 cache and of
 * other blocks' shared memory are estimates, not measured. For a warp that sleeps or only polls a clock the clock is
 * fast-forwarded. Warps run one after the other, each for a turn. So once a clock was read, a warp far ahead yields
 * until the others catch up: no timeout expires only because its warp had more turns. The time of waiting warps
 * advances with that of working ones. */
#ifndef CLOCK_H
#define CLOCK_H

#include "machine.h"

/* Clocks beside that of the instruction. What passes between warps comes through the L2 cache. */
enum { TAKES_L2 = 265, TAKES_SHARED = 23, TAKES_L1 = 33, TAKES_DISTANT = 180 };

enum { APART = 8192 }; /* clocks by which warps may differ */

/* Lanes read memory. */
static inline void take_time(Warp *warp, int space, uint32_t lanes) {
    static const int16_t CLOCKS_OF[SPACES] = {TAKES_L2, TAKES_SHARED, TAKES_L1, TAKES_DISTANT};
    warp->clock.ahead += CLOCKS_OF[space];
    warp->clock.touched |= lanes;
}

static inline int64_t time_of(const Warp *warp) { return executed(warp) + warp->clock.ahead; }

/* Whether others have to catch up before the warp goes on. */
static inline int is_ahead(const Warp *warp) {
    return warp->results->is_timed && time_of(warp) > warp->results->horizon + APART;
}

/* The times of the warps that are furthest behind: of those that work, of those and the ones that wait for a clock, and
 * of those that read one; NONE_BEHIND if there is none. `latest`: of the one that is furthest ahead. */
enum { NONE_BEHIND = -1 };
typedef struct {
    int64_t working, any, reader, latest;
} Slowest;

/* Before a round of turns: first the working warps of all blocks, then the waiting ones, then the clocks advance. */
void look_at_work(const Block *block, Slowest *furthest);
void look_behind(Block *block, Slowest *furthest);
void let_time_pass(Results *results, const Slowest *furthest);

/* Before a turn of a warp in a launch that reads clocks: advance the clock of a waiting warp. Returns whether it is its
 * turn. */
int comes_next(Warp *warp);

#endif
