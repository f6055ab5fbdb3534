/* A happens-before race detector for shared and global memory, with vector clocks; README, "Races in global memory".
 *
 * Its shadow memory keeps the last writer and the last reader of each word, and when. Times are numbers of events:
 * requests, barriers, fences. It may report false positives, and no false negatives: gpusim/checks knows more (equal
 * values, whether a loaded value is live) and has the sentences, so that Python executes a launch again in which
 * something is reported.
 *
 * A pipeline may load one time more than it multiplies. So a value that is loaded before any write is followed: it is
 * reported when an instruction reads the register, unless only to copy it, and forgotten when one writes it. */
#include "checks.h"

/* ---- release and acquire: a release is a fence, and then an atomic operation or another strong store; such an
 * operation or a strong load acquires, in the block if the fence is one of the block. From other blocks a thread
 * acquires by an access to the same variable, or to one by which another block releases, behind a fence, what it has
 * acquired; what a warp acquires of them, other warps of its block know behind a barrier. */
enum {
    STRONG_ONES = 0xfffffffeu, ANYBODY = 0xffffffffu, WITH_STRENGTH = 0x80000000u, TIME = WITH_STRENGTH - 1
};

static uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

static uint32_t earlier(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint32_t last_of(const uint32_t *times, uint32_t mask) {
    uint32_t last = 0;
    for (; mask; mask &= mask - 1) last = later(last, times[__builtin_ctz(mask)]);
    return last;
}

/* By lane: the time up to which its accesses are released to the grid. */
static uint32_t *released_of(const Warp *warp, int number) {
    return warp->results->released_by_threads + ((size_t)warp->block->id * (size_t)warp->block->warps + (size_t)number)
        * WARP;
}

void note_warp_barrier(Warp *warp, uint32_t mask) {
    if (warp->block->bulk && mask) bulk_met_in_warp(warp, mask);
    const uint32_t now = tick(warp->results);
    Order *order = &warp->order;
    if (mask == warp->living) warp->together_at = now;
    if (!warp->results->released_by_threads) {
        for (; mask; mask &= mask - 1) order->barrier[__builtin_ctz(mask)] = now;
        return;
    }
    const uint32_t met = last_of(order->met, mask);
    for (; mask; mask &= mask - 1) {
        int lane = __builtin_ctz(mask);
        order->barrier[lane] = now, order->met[lane] = met;
        order->known[lane] = order->fenced[lane], order->known_in_block[lane] = order->fenced_in_block[lane];
    }
}

/* The lanes of `mask` release what precedes their fences. They also release for lanes that passed a barrier of the warp
 * after their own fence (`known`), or before the fence of one of these lanes (cumulativity). */
static void release(uint32_t *released, const uint32_t *fenced, const uint32_t *known, const uint32_t *barrier,
                    uint32_t mask) {
    uint32_t last = last_of(fenced, mask);
    for (int lane = 0; lane < WARP; lane++) {
        uint32_t before = mask >> lane & 1 ? fenced[lane] : known[lane];
        if (last > barrier[lane]) before = later(before, barrier[lane]);
        released[lane] = later(released[lane], before);
    }
}

static size_t blocks_of(const Launch *launch) {
    return (size_t)launch->grid[0] * (size_t)launch->grid[1] * (size_t)launch->grid[2];
}

uint32_t voters_for(const Warp *warp, const Instruction *i, uint32_t mask) {
    uint32_t all = mask;
    for (uint32_t rest = i->for_voters ? mask : 0; rest; rest &= rest - 1)
        all |= warp->order.voted_with[__builtin_ctz(rest)];
    return all;
}

/* The vector clocks of a block: what all its threads have acquired, what else one of its warps has, and what of both a
 * fence has followed, so that the next strong store releases it. The entry behind the last block says whether any other
 * is set. */
typedef struct {
    uint32_t *common, *own, *common_releasable, *own_releasable;
} Clocks;

static Clocks clocks_of(const Block *block, int warp) {
    const Results *results = block->warp[0].results;
    const size_t row = blocks_of(block->warp[0].launch) + 1;
    const size_t of_block = (size_t)block->id * row;
    const size_t of_warp = ((size_t)block->id * (size_t)block->warps + (size_t)warp) * row;
    return (Clocks){results->acquired + of_block, results->acquired_by_warps + of_warp, results->releasable + of_block,
                   results->releasable_by_warps + of_warp};
}

/* Acquire: join the clock with that of a variable. Release: join the variable's with what is releasable, and with the
 * last fence of the block. Most variables' clocks are empty: `any_clock` says so. */
static int acquire_and_release(Block *block, const Clocks *clocks, uint64_t place, int reads, int writes) {
    const size_t blocks = blocks_of(block->warp[0].launch);
    const Results *results = block->warp[0].results;
    uint32_t *any_clock = &results->clocks_of_variables[place];
    uint32_t *clock = results->clocks_of_variables + MEETING_PLACES + place * blocks;
    uint32_t *own = clocks->own, *releasable = clocks->own_releasable, *common_releasable = clocks->common_releasable;
    for (int k = 0; k < 2; k++) {
        const size_t at = k ? blocks : (size_t)block->id;
        own[at] = later(own[at], block->fenced);
        releasable[at] = later(releasable[at], block->fenced);
    }
    if (!(reads && *any_clock) && !(writes && (releasable[blocks] || common_releasable[blocks]))) return 0;
    for (size_t b = 0; b < blocks; b++) {
        if (reads) own[b] = later(own[b], clock[b]);
        if (writes) clock[b] = later(clock[b], later(releasable[b], common_releasable[b]));
    }
    if (reads) own[blocks] = later(own[blocks], *any_clock);
    if (writes) *any_clock = later(*any_clock, later(releasable[blocks], common_releasable[blocks]));
    return reads;
}

/* Behind a barrier all warps of a block have acquired what one has. */
static void join_clocks(Block *block) {
    const size_t row = blocks_of(block->warp[0].launch) + 1;
    for (int w = 0; w < block->warps; w++) {
        if (!block->warp[w].has_acquired) continue;
        block->warp[w].has_acquired = 0;
        const Clocks clocks = clocks_of(block, w);
        for (size_t b = 0; b < row; b++) {
            clocks.common[b] = later(clocks.common[b], clocks.own[b]);
            clocks.common_releasable[b] = later(clocks.common_releasable[b], clocks.own_releasable[b]);
        }
    }
}

/* A warp makes a fence: what it has acquired before is releasable. */
static void make_releasable(Warp *warp) {
    const size_t blocks = blocks_of(warp->launch);
    const Clocks clocks = clocks_of(warp->block, warp->number);
    if (!clocks.own[blocks] && !clocks.common[blocks]) return;
    for (size_t b = 0; b <= blocks; b++)
        clocks.own_releasable[b] = later(clocks.own_releasable[b], later(clocks.own[b], clocks.common[b]));
    warp->has_acquired = 1;
}

void note_fence(Warp *warp, uint32_t mask, int of_block) {
    if (!warp->results->released_by_threads) return;
    uint32_t now = tick(warp->results);
    if (!of_block) warp->block->fenced = warp->results->fenced = now;
    if (!of_block && warp->results->acquired) make_releasable(warp);
    if (of_block) warp->block->releases_in_block = 1;
    for (; mask; mask &= mask - 1) {
        int lane = __builtin_ctz(mask);
        warp->order.fenced_in_block[lane] = now;
        if (of_block) continue;
        warp->order.fenced[lane] = now;
        warp->order.met_before_fence[lane] = warp->order.met[lane];
    }
}

/* News at the words that a strong access goes to. */
static void exchange_at(Warp *warp, const Request *request, int width, int touch) {
    if (!warp->results->acquired || !warp->results->fenced) return;
    const Clocks clocks = clocks_of(warp->block, warp->number);
    uint64_t before = 0, last = 0, place = 0; /* lane by lane; the last word, and its place */
    for (uint32_t rest = request->active; rest; rest &= rest - 1) {
        uint64_t word = request->address[__builtin_ctz(rest)] >> 2;
        for (int part = 0; word != before && part < (width + 3) / 4; part++) {
            uint64_t next = word + (uint64_t)part;
            place = next == last + 1 && place + 1 < MEETING_PLACES ? place + 1 : next % MEETING_PLACES;
            last = next;
            warp->has_acquired |= acquire_and_release(warp->block, &clocks, place, touch != WRITES, touch != READS);
        }
        before = word;
    }
}

/* A warp makes a strong access to shared memory, or one of the scope of the block: release and acquire among the warps
 * of the block. */
static void exchange_in_block(Warp *warp, int touch) {
    if (!warp->results->acquired || !warp->results->fenced) return;
    const size_t blocks = blocks_of(warp->launch);
    uint32_t *own = clocks_of(warp->block, warp->number).own;
    uint32_t *clock = warp->results->clocks_of_shared_variables + (size_t)warp->block->id * (blocks + 1);
    if (!(touch != WRITES && clock[blocks]) && !(touch != READS && own[blocks])) return;
    for (size_t b = 0; b <= blocks; b++) {
        const uint32_t joined = later(own[b], clock[b]);
        if (touch != READS) clock[b] = later(clock[b], own[b]);
        if (touch != WRITES) own[b] = joined;
    }
    warp->has_acquired |= touch != WRITES;
}

/* A warp releases to the grid what others of its block have released to it before its fence. */
static void pass_on_in_grid(Warp *warp) {
    const Block *block = warp->block;
    const uint32_t met = last_of(warp->order.met_before_fence, 0xffffffffu);
    if (!met) return;
    for (int w = 0; w < block->warps; w++) {
        uint32_t *released = released_of(warp, w);
        for (int lane = 0; lane < WARP; lane++)
            released[lane] = later(released[lane], earlier(block->warp[w].order.released_in_block[lane], met));
    }
}

void note_cluster(Cluster *cluster) {
    for (int turn = 0; turn < 2; turn++) { /* all have released before one acquires */
        for (int rank = 0; rank < MOST_OF_CLUSTER; rank++) {
            Block *block = cluster->block[rank];
            if (!block || !block->warp[0].results->released_by_threads || !block->warp[0].results->acquired) continue;
            const Clocks clocks = clocks_of(block, 0),
                of_all = {clocks.common, clocks.common, clocks.common, clocks.common};
            acquire_and_release(block, &of_all, (uint64_t)(block->id - rank) % MEETING_PLACES, 1, 1);
        }
    }
}

/* The lanes of `mask` make an atomic operation or another strong access, `of_block` if it is one to shared memory or
 * has the scope of the block. A store releases, a load acquires. */
static void meet_others(Warp *warp, uint32_t mask, int of_block, int touch) {
    Block *block = warp->block;
    uint32_t now = tick(warp->results);
    warp->met_at = now;
    for (uint32_t rest = touch == WRITES ? 0 : mask; rest; rest &= rest - 1) {
        warp->order.met[__builtin_ctz(rest)] = now;
        if (!of_block) warp->met_others = now;
    }
    if (touch == READS) return;
    Order *order = &warp->order;
    release(order->released_in_block, order->fenced_in_block, order->known_in_block, order->barrier, mask);
    if (of_block) {
        block->releases_in_block = 1;
        return;
    }
    uint32_t covered = last_of(order->fenced, mask) > block->barrier ? block->barrier : 0;
    if (block->released_barrier != block->barrier || block->covered < covered) {
        for (int w = 0; w < block->warps; w++) {
            uint32_t *released = released_of(warp, w);
            for (int lane = 0; lane < WARP; lane++)
                released[lane] = later(released[lane], later(block->warp[w].order.known_to_block[lane], covered));
        }
        block->released_barrier = block->barrier;
        block->covered = later(block->covered, covered);
    }
    release(released_of(warp, warp->number), order->fenced, order->known, order->barrier, mask);
    if (block->releases_in_block) pass_on_in_grid(warp);
}

/* The barrier of a cluster implies a fence and an atomic operation. */
void note_passed(Warp *warp) {
    if (!warp->results->released_by_threads) return;
    note_fence(warp, warp->living, 0);
    meet_others(warp, warp->living, 0, UPDATES);
}

static void note_barrier(Block *block, Results *results) {
    const int has_fences = block->fenced > block->barrier;
    block->barrier = tick(results);
    if (!results->released_by_threads) return;
    for (int w = 0; w < block->warps; w++) {
        Order *order = &block->warp[w].order;
        block->met_others = later(block->met_others, block->warp[w].met_others);
        if (has_fences) memcpy(order->known_to_block, order->fenced, sizeof order->known_to_block);
    }
    if (results->acquired) join_clocks(block);
}

void end_phase(Block *block) {
    Results *results = block->warp[0].results;
    note_barrier(block, results);
    block->all_met = block->barrier;
    results->barriers++;
    results->changes++;
    results->in_vain = 0;
}

static int is_strong(const Instruction *i, int touch) {
    return touch == UPDATES || (i->strong & SEES_GRID) || i->is_strong;
}

/* A thread of the grid, by its block and its number in that. */
typedef struct {
    uint32_t block, thread;
} ThreadId;

static ThreadId number_of_grid(const Warp *warp, uint32_t number) {
    uint32_t threads = (uint32_t)warp->launch->threads;
    return (ThreadId){number / threads, number % threads};
}

/* Whether two lanes of a warp have met since a time. Lanes whose last barriers differ may not have. */
static inline int met_behind(const uint32_t *barrier, uint32_t lane, uint32_t other, uint32_t time) {
    const uint32_t last = barrier[lane % WARP];
    return last > time && last == barrier[other % WARP];
}

/* Whether what another thread did at a time comes before what this lane does now. */
static int comes_before(const Warp *warp, int lane, ThreadId other, uint32_t time) {
    const uint32_t block = other.block, thread = other.thread;
    const Order *own = &warp->order;
    const uint32_t *of_threads = warp->results->released_by_threads;
    uint32_t released = of_threads[(block * (uint32_t)warp->block->warps + thread / WARP) * WARP + thread % WARP];
    if (block != (uint32_t)warp->block->id) {
        if (released <= time || later(own->met[lane], warp->block->met_others) <= time) return 0;
        if (!warp->results->acquired) return 1;
        const Clocks clocks = clocks_of(warp->block, warp->number);
        return clocks.common[block] > time || clocks.own[block] > time;
    }
    const Warp *others = &warp->block->warp[thread / WARP];
    if (warp->block->barrier > time &&
        (others == warp || !has_uninvolved(warp->block) || is_known(warp, thread / WARP, time)))
        return 1;
    const int met = others == warp && met_behind(own->barrier, (uint32_t)lane, thread, time);
    if (met || (others == warp && warp->together_at > time)) return 1;
    return later(released, others->order.released_in_block[thread % WARP]) > time && own->met[lane] > time;
}

/* ---- shared memory */

/* When a warp makes a request: now, when its block and when the warp last met, whether it may have acquired since what
 * other warps did, and into which group its copies go. */
typedef struct {
    uint32_t now, barrier, together_at;
    int32_t warp, may_acquire;
    uint16_t open_group;
    const uint32_t *met; /* by lane, its last barrier of the warp */
} Moment;

static inline Moment moment_of(const Warp *warp) {
    return (Moment){warp->results->now, warp->block->barrier, warp->together_at, warp->number,
                    warp->met_at > warp->block->barrier, (uint16_t)(warp->groups_closed + 1), warp->order.barrier};
}

/* Whether what happened at a time comes before what this thread does, as there was a barrier, of the block or of the
 * warp. */
static inline int ordered(const Moment *moment, uint32_t thread, uint16_t other, uint32_t time) {
    if (time <= moment->barrier || other == thread) return 1;
    if (other == MANY) return 0;
    int is_one = !(other & MANY_OF_WARP),
        same_warp = (is_one ? other / WARP : other & (MANY_OF_WARP - 1)) == moment->warp;
    if (!same_warp || time < moment->together_at) return same_warp;
    return is_one && met_behind(moment->met, thread, other, time);
}

/* The same of what was written. What was copied is in no order with other lanes before the next barrier. */
static inline int write_ordered(const Moment *moment, uint32_t thread, const Cell *cell) {
    if (cell->flags & AWAITED) return cell->written <= moment->barrier || cell->writer == thread;
    return ordered(moment, thread, cell->writer, cell->written);
}

/* A copy in flight counts as written when its thread waits for it. 0 if no thread has yet. */
static int settled(const Block *block, Cell *cell) {
    if (!cell->group) return 1;
    const Warp *owner = &block->warp[cell->writer / WARP];
    uint32_t group = cell->group - 1u;
    if (group >= owner->awaited || owner->groups_closed - group > COPY_GROUPS) return 0;
    cell->written = owner->awaited_at[group % COPY_GROUPS];
    cell->flags = (cell->flags & STRONG_READ) | AWAITED;
    cell->group = 0;
    return 1;
}

enum Verdict { FINE, SUSPICIOUS, UNWRITTEN };

/* Whether an access by a single thread of the block happens before this one, by release and acquire. */
static int is_released(const Warp *warp, uint32_t thread, uint16_t other, uint32_t time) {
    if (other >= MANY_OF_WARP) return 0;
    return comes_before(warp, (int)(thread % WARP), (ThreadId){(uint32_t)warp->block->id, other}, time);
}

/* Whether the order of an access and of what was written since the last barrier is irrelevant: both update, plain loads
 * may observe the word, or all store the same value. */
static int may_come_between(const Warp *warp, const Cell *cell, uint32_t thread, int touch) {
    if (touch == UPDATES) return cell->flags & UPDATED && cell->written > warp->block->all_met;
    if (touch == READS) return cell->flags & OBSERVED;
    return touch == WRITES && cell->flags & SAME && !(warp->stored_anew >> thread % WARP & 1) &&
        !has_uninvolved(warp->block);
}

/* `block`: the owner of the memory. may_release: whether the kernel has fences, so that threads may release. is_strong:
 * it is a strong access; is_observed: plain loads may read what it changes (an mbarrier of Ampere). */
static int verdict_on(Warp *warp, const Block *block, Cell *cell, int may_release, uint32_t thread, int touch,
                      int is_strong, int is_observed) {
    const Moment moment = moment_of(warp);
    if (!settled(block, cell)) return SUSPICIOUS;
    const int comes_between = may_come_between(warp, cell, thread, touch);
    const int is_first = cell->written <= warp->block->all_met;
    int is_known = !cell->written || write_ordered(&moment, thread, cell);
    if (!is_known && !(cell->flags & AWAITED) && !(comes_between && touch == UPDATES))
        is_known = (is_strong && cell->flags & STRONG_WRITE) ||
            (may_release && is_released(warp, thread, cell->writer, cell->written));
    if (!is_known && !comes_between) return SUSPICIOUS;
    if (touch == UPDATES && !cell->written) return SUSPICIOUS;
    int knows_reader = may_release && cell->read && is_released(warp, thread, cell->reader, cell->read);
    if (touch != READS) {
        if (cell->read && !ordered(&moment, thread, cell->reader, cell->read) && !knows_reader && !is_observed &&
            !(is_strong && cell->flags & STRONG_READ))
            return SUSPICIOUS;
        /* A write since the last barrier that was neither keeps these flags clear for the next access. So does the
         * first write of all: an access ordered before it would read an undefined value. */
        uint16_t kind = (touch == UPDATES ? UPDATED : 0) | (is_strong && cell->written ? STRONG_WRITE : 0);
        if (is_observed) kind |= OBSERVED;
        if (touch == WRITES && !is_strong && (is_first || !(warp->stored_anew >> thread % WARP & 1))) kind |= SAME;
        if (!is_first) kind &= cell->flags;
        const int joins = comes_between && (touch == UPDATES || !is_known);
        cell->writer = joins && cell->writer != thread ? MANY : (uint16_t)thread;
        cell->written = moment.now;
        cell->flags = (cell->flags & STRONG_READ) | kind;
        if (touch == COPIES) cell->group = moment.open_group;
        return FINE;
    }
    int alone = cell->read <= moment.barrier || knows_reader;
    if (!is_strong || !(alone || cell->flags & STRONG_READ)) cell->flags &= ~STRONG_READ;
    else cell->flags |= STRONG_READ;
    if (alone) cell->reader = (uint16_t)thread;
    else if (cell->reader != thread && cell->reader != MANY) {
        int of = cell->reader & MANY_OF_WARP ? cell->reader & (MANY_OF_WARP - 1) : cell->reader / WARP;
        cell->reader = of == warp->number ? (uint16_t)(MANY_OF_WARP | of) : MANY;
    }
    cell->read = moment.now;
    return cell->written ? FINE : UNWRITTEN;
}

static int may_go_unused(const Warp *warp, const Instruction *i) {
    return warp->launch->uses && warp->launch->uses[i->index].may_go_unused;
}

/* A lane has loaded an uninitialised value into a register. 0 if its use is not to be followed. */
static int hold(Warp *warp, const Instruction *i, int32_t row, int lane) {
    if (!may_go_unused(warp, i) || row >= REGISTERS) return 0;
    warp->held[row / 64] |= 1ull << row % 64;
    warp->held_by[row] |= 1u << lane;
    warp->holds |= HOLDS_UNWRITTEN;
    return 1;
}

/* An instruction uses what it reads. */
static void use_held(Warp *warp, const Instruction *i, const RegisterUse *use, uint32_t mask) {
    for (int part = 0; part < REGISTERS / 64; part++) {
        for (uint64_t rest = use->reads[part] & warp->held[part]; rest; rest &= rest - 1) {
            uint32_t lanes = warp->held_by[64 * part + __builtin_ctzll(rest)] & mask;
            if (lanes) fail(warp, i, HAZARD, __builtin_ctz(lanes), 0);
        }
    }
}

void follow_held(Warp *warp, const Instruction *i, uint32_t mask) {
    const RegisterUse *use = &warp->launch->uses[i->index];
    if (use->copied == TO_MEMORY) return;
    uint32_t copied = use->copied ? warp->held_by[(use->copied & 0xffff) - 1] & mask : 0;
    if (!use->copied) use_held(warp, i, use, mask);
    uint64_t any = 0;
    for (int part = 0; part < REGISTERS / 64; part++) {
        for (uint64_t rest = use->writes[part] & warp->held[part]; rest; rest &= rest - 1) {
            int row = 64 * part + __builtin_ctzll(rest);
            warp->held_by[row] &= ~mask;
            if (!warp->held_by[row]) warp->held[part] &= ~(1ull << row % 64);
        }
        any |= warp->held[part];
    }
    if (copied) {
        warp->held[use->copied >> 16 >> 6] |= any = 1ull << (use->copied >> 16) % 64;
        warp->held_by[use->copied >> 16] |= copied;
    }
    warp->holds = (warp->holds & ~(uint32_t)HOLDS_UNWRITTEN) | (any ? HOLDS_UNWRITTEN : 0);
}

/* ---- what is not defined */

/* The lanes of a row, or of a predicate, that hold what is not defined. */
static uint32_t undefined_lanes(const uint64_t *bits, const uint32_t *lanes, int which) {
    return bits[which / 64] >> which % 64 & 1 ? lanes[which] : 0;
}

static void set_undefined(uint64_t *bits, uint32_t *lanes, int which, uint32_t mask, uint32_t undefined) {
    uint32_t now = (undefined_lanes(bits, lanes, which) & ~mask) | (undefined & mask);
    lanes[which] = now;
    bits[which / 64] = (bits[which / 64] & ~(1ull << which % 64)) | (uint64_t)(now != 0) << which % 64;
}

static uint32_t undefined_row(const Warp *warp, int row) {
    return row >= 0 && row < REGISTERS ? undefined_lanes(warp->undefined, warp->undefined_in, row) : 0;
}

static uint32_t undefined_predicate(const Warp *warp, int which) {
    return undefined_lanes(warp->undefined_truth, warp->undefined_truth_in, which & (PREDICATES - 1));
}

static void note_undefined(Warp *warp) {
    uint64_t any = 0;
    for (int part = 0; part < REGISTERS / 64; part++) any |= warp->undefined[part];
    for (int part = 0; part < PREDICATES / 64; part++) any |= warp->undefined_truth[part];
    warp->holds = (warp->holds & ~(uint32_t)HOLDS_UNDEFINED) | (any ? HOLDS_UNDEFINED : 0);
}

/* What an instruction computes from its sources, of each lane alone. A selection does from one of two. */
static uint32_t computed_from(const Warp *warp, const Instruction *i, const RegisterUse *use, uint32_t mask) {
    uint32_t lanes = 0;
    for (int k = 0; k < 3; k++) lanes |= undefined_predicate(warp, i->p_in[k]);
    if (use->role == SELECTS) {
        const uint32_t first = predicate_of(warp, i->p_in[0]);
        uint32_t of[2] = {0, 0};
        for (int k = 0; k < 2; k++)
            for (int part = 0; part < i->width[k]; part++)
                if (i->source[k] >= 0) of[k] |= undefined_row(warp, part_of(warp, i->source[k], part));
        return (lanes | (of[0] & first) | (of[1] & ~first)) & mask;
    }
    for (int part = 0; part < REGISTERS / 64; part++)
        for (uint64_t rest = use->reads[part] & warp->undefined[part]; rest; rest &= rest - 1)
            lanes |= warp->undefined_in[64 * part + __builtin_ctzll(rest)];
    return lanes & mask;
}

void follow_undefined(Warp *warp, const Instruction *i, uint32_t here, uint32_t mask) {
    const RegisterUse *use = &warp->launch->uses[i->index];
    const int computes = use->role == OF_LANES || use->role == SELECTS, shuffles = use->role == SHUFFLES;
    const uint32_t decided = undefined_predicate(warp, i->guard) & here;
    uint32_t lanes = 0;
    if (computes) lanes = computed_from(warp, i, use, mask) | decided;
    else if (decided) lanes = decided;
    else if (!shuffles) lanes = computed_from(warp, i, use, mask);
    else for (int k = 1; k < 3; k++)
        lanes |= i->source[k] >= 0 && i->width[k] ? undefined_row(warp, i->source[k]) & mask : 0;
    const int is_beyond = i->d_width && part_of(warp, i->d, i->d_width - 1) >= REGISTERS;
    if (lanes && (!computes || i->uniform || is_beyond)) {
        fail(warp, i, HAZARD, __builtin_ctz(lanes), 0);
        return;
    }
    if (shuffles) return; /* `take_undefined` follows the lanes that it reads */
    for (int part = 0; part < REGISTERS / 64; part++)
        for (uint64_t rest = use->writes[part]; rest; rest &= rest - 1)
            set_undefined(warp->undefined, warp->undefined_in, 64 * part + __builtin_ctzll(rest), mask | decided,
                          lanes);
    for (int k = 0; k < 2; k++)
        if (i->p_out[k] != NEVER_KEPT)
            set_undefined(warp->undefined_truth, warp->undefined_truth_in, i->p_out[k], mask | decided, lanes);
    note_undefined(warp);
}

void take_undefined(Warp *warp, const Instruction *i, uint32_t mask, const Lanes *asked, uint32_t absent) {
    const uint32_t there = undefined_row(warp, i->source[0]);
    uint32_t taken = absent;
    for (uint32_t rest = there ? mask & ~absent : 0; rest; rest &= rest - 1)
        taken |= (there >> each_of(asked)[__builtin_ctz(rest)] & 1) << __builtin_ctz(rest);
    if (taken && (!warp->launch->uses || i->d >= REGISTERS)) fail(warp, i, HAZARD, __builtin_ctz(taken), 0);
    if (!warp->launch->uses || !i->d_width || i->d >= REGISTERS) return;
    set_undefined(warp->undefined, warp->undefined_in, i->d, mask, taken);
    note_undefined(warp);
}

/* The usual cases, in short, where no copy is under way; else `verdict_on` has to look. A write or a copy comes after
 * all that others did there. */
static inline int is_free(const Moment *moment, const Cell *cell, uint32_t thread) {
    return write_ordered(moment, thread, cell) && ordered(moment, thread, cell->reader, cell->read);
}

static inline void write_note(const Moment *moment, Cell *cell, uint32_t thread, int touch) {
    const int is_first = cell->written <= moment->barrier;
    cell->writer = (uint16_t)thread;
    cell->written = moment->now;
    cell->flags = (cell->flags & STRONG_READ) | (touch == WRITES && is_first ? SAME : 0);
    if (touch == COPIES) cell->group = moment->open_group;
}

/* The fast path of a read: it happens after the write, and other reads since the last barrier are of the same request,
 * or do not happen before it. */
static inline int surely_read(const Moment *moment, Cell *cell, int may_release, uint32_t thread) {
    if (!cell->written || !write_ordered(moment, thread, cell)) return 0;
    const uint16_t many_of_warp = (uint16_t)(MANY_OF_WARP | moment->warp);
    if (cell->read <= moment->barrier) cell->reader = (uint16_t)thread;
    else if (cell->reader != thread && cell->reader != many_of_warp && cell->reader != MANY) {
        const int is_of_warp = cell->reader < MANY_OF_WARP && cell->reader / WARP == moment->warp;
        if (may_release && cell->read != moment->now && (is_of_warp || moment->may_acquire)) return 0;
        cell->reader = is_of_warp ? many_of_warp : MANY;
    }
    cell->read = moment->now;
    cell->flags &= ~STRONG_READ;
    return 1;
}

/* Bytes that several blocks of a cluster use. Between two barriers of the cluster only one may, unless all read, or all
 * update them by atomic operations. Accesses between arriving at a barrier and waiting for it are left to the checks in
 * Python. */
static int check_between(const Warp *warp, Between *between, int touch) {
    uint16_t own = (uint16_t)(1u << warp->block->rank);
    if (between->phase != warp->block->cluster->phase) {
        memset(between, 0, sizeof *between);
        between->phase = warp->block->cluster->phase;
    }
    uint16_t wrong = between->writers;
    if (touch != UPDATES) wrong |= between->updaters;
    if (touch != READS) wrong |= between->readers;
    if (wrong & ~own) return 0;
    if (touch == READS) between->readers |= own;
    else if (touch == UPDATES) between->updaters |= own;
    else between->writers |= own;
    return 1;
}

/* Whether accesses by other blocks of the cluster and by other warps to these bytes happen before this one. No copy
 * into them is in flight. */
static int is_open_to(const Warp *warp, const Shadow *shadow, const Cell *cell, int touch) {
    if (shadow->between && !check_between(warp, &shadow->between[cell - shadow->cell], touch)) return 0;
    return !shadow->known || are_known(warp, cell, touch);
}

/* The fast path, lane by lane: returns the lanes from the first one on that needs the full rules. (Inlined for each
 * kind of access, so that the loops are short.) */
static inline __attribute__((always_inline)) uint32_t fast_lanes(const Warp *warp, const Request *request,
                                                                 uint32_t rest, int width, int touch, int may_release) {
    const uint64_t end = (uint64_t)warp->launch->shared_bytes;
    const Moment moment = moment_of(warp);
    Shadow *const shadow = warp->block->shadow;
    Cell *const all = shadow->cell;
    const int has_others = shadow->between || shadow->known;
    for (; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), parts = 1;
        uint32_t thread = (uint32_t)(warp->number * WARP + lane);
        uint64_t byte = request->address[lane];
        if (byte + (uint64_t)width > end) return rest;
        Cell *cell = &all[byte / UNIT_BYTES];
        if (width != UNIT_BYTES && cell->group != SPLIT && !split_cell(shadow, cell)) return rest;
        if (width != UNIT_BYTES || cell->group == SPLIT) {
            cell = quarters_of(shadow, cell) + byte % UNIT_BYTES / WORD_BYTES;
            parts = width / WORD_BYTES;
        }
        for (int part = 0; part < parts; part++) {
            Cell *part_cell = cell + part;
            if (part_cell->group || (has_others && !is_open_to(warp, shadow, part_cell, touch))) return rest;
            if (!(touch == READS ? surely_read(&moment, part_cell, may_release, thread)
                  : is_free(&moment, part_cell, thread)))
                return rest;
        }
        for (int part = 0; part < parts && touch != READS; part++) write_note(&moment, cell + part, thread, touch);
    }
    return 0;
}

static inline __attribute__((always_inline)) uint32_t fast_path_of(const Warp *warp, const Request *request,
                                                                   uint32_t rest, int width, int touch,
                                                                   int may_release) {
    if (width == WORD_BYTES) return fast_lanes(warp, request, rest, WORD_BYTES, touch, may_release);
    if (width == UNIT_BYTES) return fast_lanes(warp, request, rest, UNIT_BYTES, touch, may_release);
    return width == 2 * WORD_BYTES ? fast_lanes(warp, request, rest, 2 * WORD_BYTES, touch, may_release) : rest;
}

static uint32_t slow_lanes(const Warp *warp, const Request *request, uint32_t rest, int width, int touch,
                           int may_release) {
    if (touch == READS) return fast_path_of(warp, request, rest, width, READS, may_release);
    if (touch == WRITES) return fast_path_of(warp, request, rest, width, WRITES, 0);
    if (touch == COPIES) return fast_path_of(warp, request, rest, width, COPIES, 0);
    return rest;
}

/* `size` bytes that a lane has loaded, from byte `skipped` on, are uninitialised. */
static int hold_all(Warp *warp, const Instruction *i, uint64_t skipped, uint64_t size, int lane) {
    for (uint64_t at = skipped; at < skipped + size; at += WORD_BYTES)
        if (!hold(warp, i, part_of(warp, i->d, (int)(at / WORD_BYTES)), lane)) return 0;
    return 1;
}

static void check_shared(Warp *warp, const Instruction *i, int space, const Request *request, int width, int touch,
                         const Pattern *known) {
    Block *block = warp->block;
    /* other blocks are ordered by barriers of the cluster */
    const int may_release = space == SHARED && warp->launch->fences;
    const int is_strong = touch != COPIES && (touch == UPDATES || i->is_strong);
    if (tick(warp->results) == MOST_EVENTS || (block->shadow->between && warp->owes) || warp->groups_closed >= 0xfff0) {
        fail(warp, i, HAZARD, 0, 0); /* beyond what the numbers here can count */
        return;
    }
    const uint64_t bytes = (uint64_t)warp->launch->shared_bytes;
    const Moment moment = moment_of(warp);
    /* A third lane that reads the same address changes nothing in the shadow memory. But its read may be the one that
     * is not ordered, and an uninitialised value is followed in its registers, too: then all lanes are checked. */
    uint32_t rest = request->active, left_out = 0;
    if (known && touch == READS) rest = known->leaders, left_out = request->active & ~rest;
    if (space == SHARED && !is_strong) rest = slow_lanes(warp, request, rest, width, touch, may_release);
    for (; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t thread = (uint32_t)(warp->number * WARP + lane);
        uint64_t first = request->address[lane];
        if (space == CLUSTER) {
            block = warp->block->cluster->block[first >> RANK_SHIFT];
            block->touched = block->cluster->phase;
            first = byte_of(first);
        }
        Shadow *shadow = block->shadow;
        uint64_t end = first + (uint64_t)width;
        for (uint64_t at = first, next; at < end; at = next) {
            /* a row of LDSM that no active lane reads */
            Cell *cell = end <= bytes ? cell_of(shadow, at, end, &next) : 0;
            int is_open = cell && (!shadow->between ||
                                   check_between(warp, &shadow->between[cell - shadow->cell], touch));
            if (is_open && shadow->known && space == SHARED)
                is_open = settled(block, cell) && (is_strong || are_known(warp, cell, touch));
            int verdict = SUSPICIOUS;
            if (is_open && !cell->group && !is_strong && touch == READS &&
                surely_read(&moment, cell, may_release, thread)) continue;
            if (is_open) verdict = verdict_on(warp, block, cell, may_release, thread, touch, is_strong, i->is_observed);
            if (may_release || verdict == UNWRITTEN) rest |= left_out & (0u - (1u << lane)), left_out = 0;
            if (verdict == SUSPICIOUS || (verdict == UNWRITTEN && !hold_all(warp, i, at - first, next - at, lane))) {
                fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                return;
            }
        }
    }
    if (touch == COPIES) warp->copies_open = 1;
}

/* ---- global memory: the last writer and reader of a word, as 1 + the thread's number in the grid. Several threads may
 * access a word only if none writes it, if all accesses are atomic or strong, or if they are ordered by release and
 * acquire. */

/* Whether an access by thread `id`, at a time as in the cells, happens before the current access of a lane. */
static int is_known_to(const Warp *warp, int lane, uint32_t id, uint32_t time) {
    return comes_before(warp, lane, number_of_grid(warp, id - 1), time & TIME);
}

/* What a thread does to a word. observes: it is an atomic operation that sees what was there before, so that what
 * others did to the word comes before all that the thread does to it later. changed: the lanes of the warp whose store
 * is of another value than there was before. */
typedef struct {
    int lane, touch, observes;
    uint32_t id, strength, changed;
} Act;

/* Whether it does not matter that a lane's store comes before or after another one. */
static int stores_the_same(const Act *act) { return act->touch == WRITES && !(act->changed >> act->lane & 1); }

/* Another thread has updated a word, too, which need not happen before this access. */
static int is_unknown(const Warp *warp, const Act *act, uint32_t other, uint32_t time) {
    return other && other != act->id && !is_known_to(warp, act->lane, other, time);
}

/* The same, and the two race; the other one was concurrent with the word's last writer: if it was a plain store, it was
 * of the same value, and it is the same to a load which came last. */
static int races_with(const Warp *warp, const Act *act, uint32_t other, uint32_t time) {
    if (time & act->strength || (act->touch == READS && !(time & WITH_STRENGTH))) return 0;
    return is_unknown(warp, act, other, time);
}

/* An update after others, or a store of what is there already: of those that it does not know of the last one of its
 * own block is kept, and the last one of another. The last one of all is the writer of the word. */
static void keep_others(const Warp *warp, const Act *act, GlobalLine *line, const GlobalWord *word, const Times *time,
                        Others *others) {
    const uint32_t id[] = {word->writer, others->near, others->far};
    const uint32_t at[] = {time->written, others->near_written, others->far_written};
    Others kept = *others;
    kept.near = kept.far = 0;
    for (int k = line->has_others ? 2 : 0; k >= 0; k--) {
        if (!is_unknown(warp, act, id[k], at[k])) continue;
        if (number_of_grid(warp, id[k] - 1).block == (uint32_t)warp->block->id)
            kept.near = id[k], kept.near_written = at[k];
        else kept.far = id[k], kept.far_written = at[k];
    }
    if (!line->has_others && !kept.near && !kept.far) return;
    *others = kept;
    line->has_others = 1;
}

/* A thread accesses a word of an array through which blocks may wait for each other. 0 if it may be a race. */
static int check_in_time(const Warp *warp, const Act *act, GlobalLine *line, GlobalWord *word, Times *time,
                         Others *others) {
    const uint32_t now = warp->results->now, strength = act->strength, id = act->id;
    const int is_open = stores_the_same(act);
    if (!(time->written & strength) && !is_open && is_unknown(warp, act, word->writer, time->written)) return 0;
    if (line->has_others && !is_open && (races_with(warp, act, others->near, others->near_written) ||
                                         races_with(warp, act, others->far, others->far_written) ||
                                         is_unknown(warp, act, others->plain, others->plainly_written)))
        return 0;
    if (act->touch != READS) {
        if (line->has_others && !strength && is_unknown(warp, act, others->observer, others->observed)) return 0;
        if (word->reader && word->reader != id && !(time->read & strength) &&
            (word->reader == ANYBODY || !is_known_to(warp, act->lane, word->reader, time->read)))
            return 0;
        if (!strength || (act->touch == UPDATES && !act->observes)) keep_others(warp, act, line, word, time, others);
        else if (line->has_others) others->near = others->far = 0;
        if (!strength) {
            if (line->has_others) others->plain = 0;
        } else if (word->writer && !(time->written & WITH_STRENGTH)) {
            others->plain = word->writer, others->plainly_written = time->written;
            line->has_others = 1;
        }
        if (act->observes) {
            others->observer = id, others->observed = now;
            line->has_others = 1;
        }
        word->writer = id;
        time->written = now | strength;
    } else if (word->reader && word->reader != id &&
               (word->reader == ANYBODY || !is_known_to(warp, act->lane, word->reader, time->read))) {
        /* else an access ordered after this reader would count as ordered after that one, too */
        word->reader = ANYBODY;
        time->read = now | (time->read & strength);
    } else {
        word->reader = id;
        time->read = now | strength;
    }
    return now < MOST_EVENTS;
}

/* ---- the words of a line together. What is found is what would be found word by word, or else the line is split. */

static uint32_t id_at(uint32_t first, uint32_t bytes_each, uint32_t byte) {
    return bytes_each ? first + byte / bytes_each : first;
}

static void split_line(const Launch *launch, const Results *results, int slot, uint64_t number) {
    GlobalLine *line = &results->lines[slot][number];
    const int shift = launch->global_granule;
    line->is_split = 1;
    if (!line->writer && !line->reader) return;
    for (uint32_t byte = 0; byte < LINE_BYTES; byte += 1u << shift) {
        uint64_t word = (number * LINE_BYTES + byte) >> shift;
        results->watched[slot][word] = (GlobalWord){id_at(line->writer, line->bytes_written, byte),
                                                    id_at(line->reader, line->bytes_read, byte)};
        if (results->times[slot]) results->times[slot][word] = (Times){line->written, line->read};
    }
}

EXPORT void split_lines(const Launch *launch, const Results *results, int slot, const int64_t *numbers, int64_t count) {
    for (int64_t k = 0; k < count; k++)
        if (!results->lines[slot][numbers[k]].is_split) split_line(launch, results, slot, (uint64_t)numbers[k]);
}

static uint32_t least(uint32_t a, uint32_t b) { return b && b < a ? b : a; }

/* The lanes from the first a on, which are the threads from the first a on, access a line, `width` bytes each: as
 * `check_in_time`. */
static int line_in_time(const Warp *warp, const Act *first, GlobalLine *line, uint32_t width) {
    const uint32_t id = first->id, strength = first->strength;
    const int lane = first->lane, touch = first->touch;
    const uint32_t now = warp->results->now, written = line->written & TIME, read = line->read & TIME;
    const uint32_t step = least(least(width, line->bytes_written), line->bytes_read);
    const int joins_writers = touch == UPDATES && !first->observes; /* whose writers must be kept */
    const int orders_writers = line->writer && (joins_writers || !(line->written & strength));
    const int orders_readers = line->reader && !(touch != READS && line->read & strength);
    const ThreadId first_writer = number_of_grid(warp, line->writer - 1);
    const ThreadId first_reader = number_of_grid(warp, line->reader - 1);
    int others_read = 0;
    if (first->observes || (touch != READS && strength && line->writer && !(line->written & strength))) return 0;
    for (uint32_t byte = 0; byte < LINE_BYTES; byte += step) {
        uint32_t own = id + byte / width, writer = id_at(line->writer, line->bytes_written, byte);
        uint32_t reader = id_at(line->reader, line->bytes_read, byte);
        int at = lane + (int)(byte / width);
        ThreadId writing = first_writer, other = first_reader; /* a line's cells are of threads of one warp */
        writing.thread += writer - line->writer, other.thread += reader - line->reader;
        if (orders_writers && writer != own && !comes_before(warp, at, writing, written)) return 0;
        int is_open = orders_readers && reader != own && (reader == ANYBODY || !comes_before(warp, at, other, read));
        if (is_open && touch != READS) return 0;
        if (byte && is_open != others_read) return 0;
        others_read = is_open;
    }
    if (touch != READS) {
        line->writer = id, line->bytes_written = (uint8_t)width;
        line->written = now | strength;
    } else if (others_read) {
        line->reader = ANYBODY, line->bytes_read = 0, line->read = now | (line->read & strength);
    } else {
        line->reader = id, line->bytes_read = (uint8_t)width, line->read = now | strength;
    }
    return now < MOST_EVENTS;
}

/* The same where blocks do not wait for each other; bytes_each: 0 if all are STRONG_ONES. */
static int line_in_turn(GlobalLine *line, uint32_t id, uint32_t bytes_each, int touch) {
    int is_reader = line->reader == id && line->bytes_read == bytes_each;
    if (line->writer && (line->writer != id || line->bytes_written != bytes_each)) return 0;
    if (touch != READS) {
        if (line->reader && !is_reader) return 0;
        line->writer = id, line->bytes_written = (uint8_t)bytes_each;
    } else if (!line->reader || is_reader) {
        line->reader = id, line->bytes_read = (uint8_t)bytes_each;
    } else if (line->reader == ANYBODY || (bytes_each && line->bytes_read == bytes_each)) {
        line->reader = ANYBODY, line->bytes_read = 0; /* each word has another reader than before */
    } else {
        return 0;
    }
    return 1;
}

static int is_in_a_row(const Request *request, int width) {
    if (request->active != 0xffffffffu) return 0;
    for (int lane = 1; lane < WARP; lane++)
        if (request->address[lane] != request->address[0] + (uint64_t)(lane * width)) return 0;
    return 1;
}

/* The active lanes of a request that lie in one array. */
static void check_array(Warp *warp, const Instruction *i, int slot, uint32_t lanes, const Request *request, int width,
                        int touch, const Pattern *known) {
    const Allocation *allocation = &warp->launch->allocations[slot];
    if (allocation->unwritten) {
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            uint64_t at = request->address[lane] - allocation->base;
            for (uint64_t item = at / allocation->item; item <= (at + (uint64_t)width - 1) / allocation->item; item++) {
                if (touch != WRITES && allocation->unwritten[item]) {
                    fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                    return;
                }
                if (touch != READS) allocation->unwritten[item] = 0;
            }
        }
    }
    GlobalLine *lines = warp->results->lines[slot];
    if (!lines) return;
    GlobalWord *words = warp->results->watched[slot];
    Times *times = warp->results->times[slot];
    Others *others = warp->results->others[slot];
    /* One that is strong in its block only counts as plain: gpusim/checks asks for the block. */
    int shift = warp->launch->global_granule, strong = is_strong(i, touch) && !i->block_scope;
    Act act = {.touch = touch, .changed = warp->stored_anew, .strength = strong ? WITH_STRENGTH : 0,
               .observes = i->flags & RETURNS_OLD && i->d_width};
    uint32_t first = (uint32_t)((uint64_t)warp->block->id * (uint64_t)warp->launch->threads
                                + (uint64_t)(warp->number * WARP) + 1);
    if (times) tick(warp->results);
    uint64_t start = request->address[__builtin_ctz(lanes)] - allocation->base;
    int is_whole = lanes == 0xffffffffu && start % LINE_BYTES == 0 && width >= WORD_BYTES && width <= 16 &&
                   (known ? known->form == SIDE_BY_SIDE : is_in_a_row(request, width));
    for (uint32_t lane = 0, of_line = LINE_BYTES / (uint32_t)width; is_whole && lane < WARP; lane += of_line) {
        GlobalLine *line = &lines[(start + lane * (uint32_t)width) / LINE_BYTES];
        if (line->is_split) continue;
        act.lane = (int)lane, act.id = first + lane;
        if (times ? line_in_time(warp, &act, line, (uint32_t)width)
            : strong ? line_in_turn(line, STRONG_ONES, 0, touch)
                     : line_in_turn(line, first + lane, (uint32_t)width, touch))
            lanes &= ~((of_line == WARP ? 0xffffffffu : (1u << of_line) - 1) << lane);
    }
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t id = strong && !times ? (uint32_t)STRONG_ONES : first + (uint32_t)lane;
        act.lane = lane, act.id = id;
        uint64_t at = request->address[lane] - allocation->base;
        for (uint64_t word = at >> shift; word <= (at + (uint64_t)width - 1) >> shift; word++) {
            uint64_t number = (word << shift) / LINE_BYTES;
            if (!lines[number].is_split) split_line(warp->launch, warp->results, slot, number);
            GlobalWord *w = &words[word];
            if (times) {
                if (check_in_time(warp, &act, &lines[number], w, &times[word], &others[word])) continue;
                fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                return;
            }
            if ((w->writer && w->writer != id && !stores_the_same(&act)) ||
                (touch != READS && w->reader && w->reader != id)) {
                fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                return;
            }
            if (touch != READS) w->writer = w->writer && w->writer != id ? (uint32_t)ANYBODY : id;
            else w->reader = w->reader && w->reader != id ? (uint32_t)ANYBODY : id;
        }
    }
}

void check_copied(Warp *warp, const Instruction *i, int slot, int lane, uint64_t address, uint64_t size, int touch) {
    enum { AT_ONCE = 16 };
    Request part = {.active = 1u << lane};
    warp->stored_anew = part.active;
    for (uint64_t at = 0; at < size && !warp->results->fault; at += AT_ONCE) {
        part.address[lane] = address + at;
        check_array(warp, i, slot, part.active, &part, AT_ONCE, touch, 0);
    }
}

/* Look at the lanes that lie in an array; the answer are those that lie elsewhere. */
static uint32_t check_those_in(Warp *warp, const Instruction *i, int slot, uint32_t lanes, const Request *request,
                               int width, int touch) {
    const Allocation *allocation = &warp->launch->allocations[slot];
    uint32_t inside = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (request->address[lane] >= allocation->base && request->address[lane] + (uint64_t)width <= allocation->end)
            inside |= 1u << lane;
    }
    if (inside) check_array(warp, i, slot, inside, request, width, touch, 0);
    return lanes & ~inside;
}

/* `slot` is the array of the first lane. Others may look into other arrays, through a pointer chosen at run time, but
 * not where the pattern is known. */
static void check_global(Warp *warp, const Instruction *i, int slot, const Request *request, int width, int touch,
                         const Pattern *known) {
    if (known) {
        check_array(warp, i, slot, request->active, request, width, touch, known);
        return;
    }
    uint32_t elsewhere = check_those_in(warp, i, slot, request->active, request, width, touch);
    for (int other = 0; elsewhere && other < warp->launch->allocation_count && !warp->results->fault; other++)
        elsewhere = check_those_in(warp, i, other, elsewhere, request, width, touch);
    if (elsewhere && !warp->results->fault) { /* what no array holds was not accessed, and should not come here */
        int lane = __builtin_ctz(elsewhere);
        fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
    }
}

/* Local memory: of each byte, whether its thread has written it. */
static void check_local(Warp *warp, const Instruction *i, const Request *request, int width, int touch) {
    if (touch == WRITES && i->flags & SPILLS_HALF) width = WORD_BYTES;
    for (uint32_t rest = request->active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint8_t *written = warp->block->local_written +
                           (size_t)(warp->number * WARP + lane) * (size_t)warp->launch->local_bytes
                               + request->address[lane];
        for (int byte = 0; byte < width; byte++) {
            if (touch != WRITES && !written[byte]) {
                fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                return;
            }
            written[byte] = 1;
        }
    }
}

void check_access(Warp *warp, const Instruction *i, int space, int slot, const Request *request, int width, int touch,
                  const Pattern *known) {
    Request first;
    if (i->flags & FOR_THE_WARP) {
        first = *request;
        first.active &= predicate_of(warp, i->p_in[0]); /* the lanes for which it is made */
        first.active &= 0u - first.active;
        request = &first;
        known = 0;
    }
    if (warp->holds & HOLDS_UNWRITTEN && space != LOCAL && warp->launch->uses[i->index].copied == TO_MEMORY)
        use_held(warp, i, &warp->launch->uses[i->index], request->active);
    if (space == GLOBAL) check_global(warp, i, slot, request, width, touch, known);
    else if (space == LOCAL) check_local(warp, i, request, width, touch);
    else check_shared(warp, i, space, request, width, touch, known);
    if (space == SHARED && warp->block->bulk && touch != COPIES && !warp->results->fault)
        bulk_access(warp, i, request, touch);
    if (!(space == GLOBAL ? is_strong(i, touch) : touch == UPDATES || i->is_strong)) return;
    if (has_uninvolved(warp->block) && warp->launch->fences && !(i->flags & AT_MBARRIER)) warp_posts(warp);
    if (warp->results->released_by_threads) {
        const int of_block = space != GLOBAL || i->block_scope;
        meet_others(warp, voters_for(warp, i, request->active), of_block, touch);
        if (!of_block) exchange_at(warp, request, width, touch);
        else exchange_in_block(warp, touch);
    }
}

void check_named(Warp *warp, const Instruction *i, uint32_t mask) {
    uint32_t named = ~(uint32_t)i->number[3];
    if (i->width[3]) {
        const Lanes each = source(warp, i, 3);
        named = each[__builtin_ctz(mask)];
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            if (each[__builtin_ctz(rest)] != named) fail(warp, i, NOT_MODELLED, __builtin_ctz(rest), 0);
    }
    if (!warp->launch->checking) return;
    const int is_known = i->width[3] || i->number[3];
    uint32_t outside = mask & ~named;
    uint32_t missing = warp->launch->meets_anywhere && is_known ? named & warp->living & ~mask : 0;
    if (outside | missing) fail(warp, i, HAZARD, __builtin_ctz(mask), 0);
}

void close_copies(Warp *warp, const Instruction *i, uint32_t mask) {
    if (warp->launch->checking && mask != warp->living) fail(warp, i, HAZARD, __builtin_ctz(mask), 0);
    warp->groups_closed++;
    if (warp->copies_open) warp->last_copies = warp->groups_closed; /* 1 + the number of the group */
    warp->copies_open = 0;
}

static void await_all_but(Warp *warp, const Instruction *i, uint32_t mask, int pending) {
    int64_t upto = (int64_t)warp->groups_closed - pending;
    if ((int64_t)warp->awaited >= upto) return;
    if (warp->launch->checking && mask != warp->living) fail(warp, i, HAZARD, __builtin_ctz(mask), 0);
    uint32_t now = tick(warp->results);
    for (; (int64_t)warp->awaited < upto; warp->awaited++) warp->awaited_at[warp->awaited % COPY_GROUPS] = now;
}

/* number[0]: all groups but so many; number[1]: what is in no group yet, too; number[2]: copies of threads, or in bulk,
 * else both. */
enum { OF_THREADS = 1, IN_BULK = 2 };

void await_copies(Warp *warp, const Instruction *i, uint32_t mask) {
    if (i->number[1]) close_copies(warp, i, mask);
    if (warp->block->bulk && i->number[2] != OF_THREADS) bulk_awaited(warp, i->number[0]);
    if (i->number[2] != IN_BULK) await_all_but(warp, i, mask, i->number[0]);
}

/* They and all groups before them are awaited: a later wait for all but some groups is not affected. */
void arrive_behind_copies(Warp *warp, const Instruction *i, uint32_t mask) {
    if (warp->copies_open) close_copies(warp, i, mask);
    await_all_but(warp, i, mask, 0);
}

void check_end(Warp *warp, const Instruction *i) {
    if (warp->copies_open || warp->last_copies > warp->awaited) fail(warp, i, HAZARD, 0, 0);
}
