/* One warp, as the hardware executes it since Volta.
 *
 * A warp whose threads disagree on a branch falls apart into groups, and each executes its instructions on its own,
 * even where two pass through the same ones. They become one again only where the code says so: BSSY Bn names the
 * threads that shall meet, BSYNC Bn waits for them, BREAK and EXIT leave the meeting; WARPSYNC waits for the lanes of
 * its mask. So the number of instructions and of requests depends on this, and on nothing that is decided here about
 * the order of groups.
 *
 * The group with the lowest program counter goes first, which brings groups together early. That alone would let a
 * thread go round a loop for ever until another one, which never runs, has done something: after a turn in which it
 * read what others may change, the next group goes first, and then the next warp, and block (blocks.c). */
#include "warp.h"

#include "checks.h"
#include "clock.h"
#include "memory.h"

enum { IDLE_TURNS = 4 }; /* in which threads may poll before others of their warp get a turn */
/* After so many groups were split off all turns in which a warp polls are short. */
enum { SOME_PARTINGS = 3 };

static Operation *const *operations(void);

/* ---- groups */

static void add_group(Warp *warp, uint32_t mask, int32_t pc) {
    if (!mask) return;
    Group *group = &warp->group[warp->groups++];
    group->mask = mask;
    group->pc = pc;
    group->waits = 0;
    group->wanted = 0;
    group->since = executed(warp);
}

static void remove_empty(Warp *warp) {
    int kept = 0;
    for (int g = 0; g < warp->groups; g++)
        if (warp->group[g].mask) warp->group[kept++] = warp->group[g];
    warp->groups = kept;
}

static uint32_t waiting_at(const Warp *warp, int32_t what) {
    uint32_t lanes = 0;
    for (int g = 0; g < warp->groups; g++)
        if (warp->group[g].waits == what) lanes |= warp->group[g].mask;
    return lanes;
}

/* These lanes wait no longer; those at the same place become one group. Their old groups go first: with the new ones
 * beside them there may be more than a warp has lanes. */
static void join(Warp *warp, uint32_t lanes) {
    uint32_t joined[WARP];
    int32_t at[WARP];
    int places = 0;
    for (int g = 0; g < warp->groups; g++) {
        uint32_t part = warp->group[g].mask & lanes;
        if (!part) continue;
        int same = 0;
        while (same < places && at[same] != warp->group[g].pc) same++;
        if (same == places) joined[same] = 0, at[same] = warp->group[g].pc, places++;
        joined[same] |= part;
        warp->group[g].mask &= ~part;
    }
    remove_empty(warp);
    for (int place = 0; place < places; place++) add_group(warp, joined[place], at[place]);
}

/* ---- without convergence barriers: the order is that of basic blocks, in which threads meet as early as they can.
 * Threads in a function are ordered by the call in the kernel that led there; of these the deepest go first, so that
 * all return before one goes on. */

static int32_t place_of(const Warp *warp, const Group *g, uint32_t *depth) {
    const Launch *launch = warp->launch;
    int lane = __builtin_ctz(g->mask);
    *depth = launch->stack < 0 ? 0 : each_of(warp->rows + launch->stack)[lane];
    return *depth ? (int32_t)each_of(warp->rows + launch->origin)[lane] : launch->code[g->pc].block;
}

static int goes_first(const Warp *warp, const Group *candidate, const Group *other) {
    const Instruction *code = warp->launch->code;
    uint32_t depth[2];
    int32_t place = place_of(warp, candidate, &depth[0]), other_place = place_of(warp, other, &depth[1]);
    if (place != other_place) return place < other_place;
    if (depth[0] != depth[1]) return depth[0] > depth[1];
    return code[candidate->pc].block < code[other->pc].block;
}

/* Groups that can run and are at the same place become one. */
static void meet_anywhere(Warp *warp) {
    uint32_t depth;
    for (int g = 0; g < warp->groups; g++) {
        Group *candidate = &warp->group[g];
        for (int other = g + 1; other < warp->groups && !candidate->waits; other++) {
            Group *same = &warp->group[other];
            if (same->waits || same->pc != candidate->pc) continue;
            if (place_of(warp, candidate, &depth) != place_of(warp, same, &depth)) continue;
            candidate->mask |= same->mask;
            same->mask = 0;
            same->pc = -1;
        }
    }
    remove_empty(warp);
}

/* ---- meetings */

/* The lanes that are still to arrive at a meeting: also those that keep its token in a register, while a function that
 * they called has meetings of its own at the same barrier. */
static uint32_t agreed_on(Warp *warp, int32_t token) {
    const Agreed *agreed = agreement(warp, token);
    return agreed ? agreed->lanes & warp->living : 0;
}

/* Let the threads go on whose meeting at BSYNC Bn is complete. */
static void release_meeting(Warp *warp, int n) {
    uint32_t remaining = waiting_at(warp, 1 + n);
    while (remaining) {
        int32_t mine = tokens_of(warp, n)[__builtin_ctz(remaining)];
        uint32_t same = lanes_with(warp, n, mine) & warp->living, meeting = remaining & same;
        if (!((same | agreed_on(warp, mine)) & ~meeting)) {
            forget_meetings(warp, n, meeting);
            join(warp, meeting);
        }
        remaining &= ~meeting;
    }
}

static void release_warpsync(Warp *warp) {
    uint32_t here = waiting_at(warp, AT_WARPSYNC), remaining = here;
    while (remaining) {
        uint32_t first = remaining & (0u - remaining), named = first, same = 0;
        int32_t pc = 0;
        for (int g = 0; g < warp->groups; g++)
            if (warp->group[g].mask & first) named |= warp->group[g].wanted, pc = warp->group[g].pc;
        for (int g = 0; g < warp->groups; g++)
            if (warp->group[g].waits == AT_WARPSYNC && warp->group[g].pc == pc) same |= warp->group[g].mask & named;
        same &= remaining;
        remaining &= ~same;
        if (warp->living & named & ~here) continue;
        join(warp, same);
        note_warp_barrier(warp, same);
    }
}

/* ---- barriers of the block: all threads that have not exited come to them */

/* All living threads of a block go on. Where barriers may be of some warps, those that have ended are not ordered by
 * it. */
static void pass_barrier(Block *block) {
    const uint32_t all_met = block->all_met;
    if (block->bulk) bulk_met(block, 0);
    end_phase(block);
    if (!has_uninvolved(block) || block->living_warps == block->warps) return;
    block->all_met = all_met;
    for (int w = 0; w < block->warps; w++)
        if (block->warp[w].living) warp_comes(&block->warp[w], BARRIERS);
    for (int w = 0; w < block->warps; w++)
        if (block->warp[w].living) warp_goes_on(&block->warp[w], BARRIERS);
    barrier_is_free(block, BARRIERS);
}

enum { ONLY_ARRIVES = 1, ANSWERS = 2 }; /* of a barrier of the block */

/* The warps of a block pass a barrier at different places. */
static void note_apart(const Block *block, Results *results) {
    if (results->apart++) return;
    results->apart_block = block->id;
    for (int w = 0; w < MOST_WARPS; w++)
        results->apart_at[w] = w < block->warps && block->warp[w].groups ? block->warp[w].group[0].pc : 0;
}

static void release_block(Warp *warp, const Instruction *i) {
    Block *block = warp->block;
    int32_t pc = -1, where = 0;
    int are_apart = 0;
    for (int w = 0; w < block->warps; w++) {
        const Warp *member = &block->warp[w];
        for (int g = 0; g < member->groups; g++) {
            if (!where) where = member->group[g].waits;
            if (where < AT_BARRIER || where >= AT_PART || member->group[g].waits != where) return;
        }
    }
    block->votes = block->voters = 0;
    for (int w = 0; w < block->warps; w++) {
        Warp *member = &block->warp[w];
        for (int g = 0; g < member->groups; g++) {
            if (g && member->group[g].pc != pc && where == AT_BARRIER) { /* of one warp */
                fail(warp, i, BARRIERS_DIFFER, 0, 0);
                return;
            }
            are_apart |= pc >= 0 && member->group[g].pc != pc && where == AT_BARRIER;
            pc = member->group[g].pc;
            member->group[g].waits = 0;
        }
        block->votes += __builtin_popcount(member->predicate[VOTES] & member->living);
        block->voters += __builtin_popcount(member->living);
    }
    if (pc < 0) return;
    if (are_apart) note_apart(block, warp->results);
    for (int w = 0; w < block->warps; w++) {
        Warp *member = &block->warp[w];
        if (!member->groups) continue;
        const Instruction *at = &warp->launch->code[member->group[0].pc - 1];
        if (at->flags & ANSWERS && member->living) barrier_result(member, at, member->living);
    }
    pass_barrier(block);
}

/* Barrier `n` of some warps: the waiting threads go on when `wanted` have arrived. A warp counts whole, with its lanes
 * that have exited or were never there: they come with the first one. */
static void arrive_at_part(Warp *warp, const Instruction *i, uint32_t active, int n, int wanted) {
    Block *block = warp->block;
    if (wanted % WARP) {
        fail(warp, i, BARRIERS_DIFFER, __builtin_ctz(active), 0);
        return;
    }
    if (has_uninvolved(block)) warp_comes(warp, n);
    block->arrived[n] += __builtin_popcount(active);
    if (active & warp->living & (0u - warp->living)) block->arrived[n] += WARP - __builtin_popcount(warp->living);
    if (block->arrived[n] < wanted) return;
    block->arrived[n] = 0;
    const uint32_t all_met = block->all_met;
    uint32_t waited[MOST_WARPS];
    for (int w = 0; w < block->warps; w++) {
        Warp *member = &block->warp[w];
        waited[w] = waiting_at(member, AT_PART + n);
        for (int g = 0; g < member->groups; g++)
            if (member->group[g].waits == AT_PART + n) member->group[g].waits = 0;
        if (waited[w] && has_uninvolved(block)) warp_goes_on(member, n);
    }
    if (has_uninvolved(block)) barrier_is_free(block, n);
    if (block->bulk) bulk_met(block, waited);
    end_phase(block);
    block->all_met = all_met;
}

/* ---- what comes next. Each of these leaves the current group, `g`, where it goes on. */

/* The threads of `taken` go to `target`, the others to the next instruction. */
static void go(Warp *warp, Group *g, uint32_t taken, int32_t target, int32_t next) {
    if (taken == g->mask) {
        g->pc = target;
    } else if (!taken) {
        g->pc = next;
    } else {
        uint32_t others = g->mask & ~taken;
        g->mask = taken;
        g->pc = target;
        add_group(warp, others, next);
    }
}

enum { IF_LANES_ARE_MISSING = 1, IF_NO_LANE_IS_MISSING = 2, IF_ALL_AGREE = 4, IF_ONE_SAYS = 8 };

static uint32_t branch_taken(const Warp *warp, const Group *g, const Instruction *i, uint32_t active) {
    if (i->flags & (IF_LANES_ARE_MISSING | IF_NO_LANE_IS_MISSING)) {
        uint32_t named = i->width[0] ? source(warp, i, 0)[__builtin_ctz(g->mask)] : 0xffffffffu;
        int missing = (named & warp->living & ~active) != 0; /* so is a lane whose guard is false */
        return missing == (i->flags == IF_LANES_ARE_MISSING) ? g->mask : 0;
    }
    active &= predicate_of(warp, i->p_in[0]);
    if (i->flags & IF_ONE_SAYS) return active ? g->mask : 0;
    return i->flags & IF_ALL_AGREE && active != g->mask ? 0 : active;
}

/* A computed branch: number[0] and number[1] say where its table begins and how long it is; number[2] is added to the
 * register, and the sum divided by 2 to the power number[3]. */
static void jump(Warp *warp, Group *g, const Instruction *i, uint32_t active) {
    const Lanes value = *row_of(warp, i->source[0]);
    const int32_t *table = warp->launch->jumps + i->number[0];
    uint32_t rest = active, others = g->mask & ~active;
    int32_t next = g->pc + 1;
    Group all = *g;
    int is_first = 1;
    while (rest) {
        uint32_t same = 0;
        int32_t target = 0;
        for (uint32_t lanes = rest; lanes; lanes &= lanes - 1) {
            int lane = __builtin_ctz(lanes);
            int32_t at = ((int32_t)value[lane] + i->number[2]) >> i->number[3];
            at = at < 0 ? 0 : at >= i->number[1] ? i->number[1] - 1 : at;
            if (!same) target = table[at];
            if (table[at] == target) same |= 1u << lane;
        }
        rest &= ~same;
        if (is_first) g->mask = same, g->pc = target, is_first = 0;
        else add_group(warp, same, target);
    }
    if (is_first) *g = all, g->pc = next;
    else add_group(warp, others, next);
}

/* ---- functions of PTX. Each has a frame on the thread's stack, in local memory. What is saved there is listed behind
 * its number: the row, or less than 0 a predicate; its place in the frame, and its bytes. */

enum { SAVED_PARTS = 3 };

static void move_saved(Warp *warp, uint32_t mask, const int32_t *saved, int is_return) {
    const Launch *launch = warp->launch;
    const uint32_t *stack = (const uint32_t *)(warp->rows + launch->stack);
    for (int k = 0; k < saved[0]; k++) {
        const int32_t *slot = saved + 1 + SAVED_PARTS * k;
        const Lanes held = slot[0] < 0 ? spread(warp->predicate[-1 - slot[0]]) : warp->rows[slot[0]];
        uint32_t values[WARP];
        Lanes back;
        memcpy(values, &held, sizeof values);
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            size_t frame = (size_t)(warp->number * WARP + lane) * (size_t)launch->local_bytes + stack[lane];
            uint8_t *at = warp->block->local + frame + slot[1];
            if (is_return) memcpy(&values[lane], at, (size_t)slot[2]);
            else memcpy(at, &values[lane], (size_t)slot[2]);
        }
        if (!is_return) continue;
        memcpy(&back, values, sizeof back);
        if (slot[0] < 0)
            set_predicate(warp, (uint8_t)(-1 - slot[0]), gather_bits((SignedLanes)((back & 1) != 0)), mask);
        else write_row(warp, slot[0], back, mask);
    }
}

/* number: the size of the caller's frame; where the functions are listed that may be called; where the deepest stack
 * begins from which they may; and the basic block of the call if the kernel makes it, else -1. offset: where it is
 * listed what is saved. Source 0 is the function's address if there are several. Of a function are listed its address,
 * its first instruction, the number of the way back, and the row that receives it. */
enum { ADDRESS_LOW, ADDRESS_HIGH, BEGINNING, WAY_BACK, BACK_ROW, FUNCTION_PARTS };

static void call(Warp *warp, Group *g, const Instruction *i, uint32_t active) {
    const Launch *launch = warp->launch;
    const int32_t *functions = launch->jumps + i->number[1];
    uint32_t rest = active, others = g->mask & ~active;
    int32_t next = g->pc + 1;
    Lanes *stack = warp->rows + launch->stack;
    for (uint32_t lanes = active; lanes; lanes &= lanes - 1)
        if ((int64_t)each_of(stack)[__builtin_ctz(lanes)] > i->number[2])
            fail(warp, i, OUT_OF_BOUNDS, __builtin_ctz(lanes), 0);
    if (warp->results->fault) return;
    move_saved(warp, active, launch->jumps + i->offset, 0);
    write_row(warp, launch->stack, *stack + (uint32_t)i->number[0], active);
    if (i->number[3] >= 0) write_row(warp, launch->origin, broadcast((uint32_t)i->number[3]), active);
    g->mask = 0;
    for (int k = 0; k < functions[0]; k++) {
        const int32_t *callee = functions + 1 + FUNCTION_PARTS * k;
        uint32_t lanes = rest;
        if (i->width[0])
            lanes &= gather_bits((SignedLanes)(*row_of(warp, i->source[0]) == (uint32_t)callee[ADDRESS_LOW])) &
                     gather_bits((SignedLanes)(*row_at(warp, i->source[0], 1) == (uint32_t)callee[ADDRESS_HIGH]));
        rest &= ~lanes;
        write_row(warp, callee[BACK_ROW], broadcast((uint32_t)callee[WAY_BACK]), lanes);
        if (!g->mask) g->mask = lanes, g->pc = callee[BEGINNING];
        else add_group(warp, lanes, callee[BEGINNING]);
    }
    if (rest) fail(warp, i, OUT_OF_BOUNDS, __builtin_ctz(rest), 0);
    if (!g->mask) g->mask = others, g->pc = next;
    else add_group(warp, others, next);
}

/* Back to where source 0 says, by its number; offset: where the ways are listed: the caller's frame, and what was
 * saved. */
static void return_to(Warp *warp, Group *g, const Instruction *i, uint32_t active) {
    const Launch *launch = warp->launch;
    const Lanes ways = *row_of(warp, i->source[0]);
    jump(warp, g, i, active);
    for (int k = 0; k < i->number[1]; k++) {
        uint32_t lanes = gather_bits((SignedLanes)(ways == broadcast((uint32_t)k))) & active;
        const int32_t *way = launch->jumps + launch->jumps[i->offset + k];
        write_row(warp, launch->stack, warp->rows[launch->stack] - (uint32_t)way[0], lanes);
        move_saved(warp, lanes, way + 1, 1);
    }
}

/* ---- the barrier of a cluster, in two halves */

/* Let the cluster go on if all its threads have arrived that have not exited. */
static void release_cluster(Warp *warp) {
    Cluster *cluster = warp->block->cluster;
    int some = 0;
    for (int rank = 0; rank < warp->launch->cluster_blocks; rank++) {
        const Block *block = cluster->block[rank];
        for (int w = 0; block && w < block->warps; w++) {
            if (block->warp[w].living & ~block->warp[w].arrived) return;
            some |= block->warp[w].living != 0;
        }
    }
    if (!some) return;
    cluster->phase++;
    for (int rank = 0; rank < warp->launch->cluster_blocks; rank++) {
        Block *block = cluster->block[rank];
        for (int w = 0; block && w < block->warps; w++) {
            Warp *member = &block->warp[w];
            member->arrived = 0;
            for (int g = 0; g < member->groups; g++)
                if (member->group[g].waits == AT_CLUSTER) member->group[g].waits = 0;
        }
        if (!block) continue;
        pass_barrier(block);
        for (int w = 0; warp->launch->checking && w < block->warps; w++) note_passed(&block->warp[w]);
    }
    if (warp->launch->checking) note_cluster(cluster);
}

/* Arriving twice, or waiting without having arrived, is undefined. */
static void arrive_in_cluster(Warp *warp, const Instruction *i, uint32_t active) {
    if (active & warp->owes) fail(warp, i, BARRIERS_DIFFER, __builtin_ctz(active & warp->owes), 0);
    warp->arrived |= active;
    warp->owes |= active;
    release_cluster(warp);
}

static void wait_for_cluster(Warp *warp, Group *g, const Instruction *i, uint32_t active) {
    if (active && active != g->mask) {
        go(warp, g, active, g->pc, g->pc + 1);
        return;
    }
    g->pc++;
    if (active & ~warp->owes) fail(warp, i, BARRIERS_DIFFER, __builtin_ctz(active & ~warp->owes), 0);
    warp->owes &= ~active;
    if (active & warp->arrived) g->waits = AT_CLUSTER;
}

/* The last thread of a block ends. No other block may access its shared memory any more. */
static void leave_cluster(Warp *warp, const Instruction *i) {
    Block *block = warp->block;
    if (warp->launch->checking && block->touched == block->cluster->phase) fail(warp, i, HAZARD, 0, 0);
    block->cluster->block[block->rank] = 0;
    block->cluster->living--;
}

static void leave(Warp *warp, Group *g, const Instruction *i, uint32_t gone) {
    g->pc++;
    if (!gone) return;
    g->mask &= ~gone;
    warp->living &= ~gone;
    warp->results->in_vain = 0;
    warp->results->progress++;
    for (int other = 0; warp->launch->checking && other < warp->groups; other++)
        if (warp->group[other].waits == AT_WARPSYNC && warp->group[other].wanted & gone)
            fail(warp, i, HAZARD, __builtin_ctz(gone), 0); /* they were to come there, too */
    remove_empty(warp);
    if (!warp->living) {
        if (warp->launch->checking) check_end(warp, i);
        warp->block->living_warps--;
        warp->results->changes++;
        if (!warp->block->living_warps) leave_cluster(warp, i);
    }
    for (int n = 0; n < MEETINGS && warp->groups; n++) release_meeting(warp, n);
    if (warp->groups) release_warpsync(warp);
    release_block(warp, i);
    if (warp->launch->cluster_blocks > 1) release_cluster(warp);
}

/* Threads that are alone go past a barrier whose guard is false for them. number[0]: others must not wait there then.
 * Which barrier and for how many threads, 0 for all, say number[1] and number[2], or registers, the second from bit
 * number[3] on. */
static void wait_for_block(Warp *warp, Group *g, const Instruction *i, uint32_t active) {
    if (active && active != g->mask) {
        if (i->number[0]) fail(warp, i, BARRIERS_DIFFER, __builtin_ctz(active), 0);
        go(warp, g, active, g->pc, g->pc + 1);
        return;
    }
    g->pc++;
    if (!active) return;
    if (i->operation >= 0) operations()[i->operation](warp, i, active);
    int lane = __builtin_ctz(active), n = i->number[1] & (BARRIERS - 1), wanted = i->number[2];
    if (i->width[0]) n = (int)(source(warp, i, 0)[lane] & (BARRIERS - 1));
    if (i->width[1]) wanted = (int)(source(warp, i, 1)[lane] >> i->number[3] & 0xfff);
    if (!(i->flags & ONLY_ARRIVES)) g->waits = (wanted ? AT_PART : AT_BARRIER) + n;
    if (wanted) arrive_at_part(warp, i, active, n, wanted);
    else release_block(warp, i);
}

static void meet(Warp *warp, Group *g, const Instruction *i) {
    int n = i->number[0];
    uint32_t others = g->mask & lanes_with(warp, n, NO_MEETING), expected = g->mask & ~others;
    g->pc++;
    if (!expected) return;
    g->mask = expected;
    g->waits = 1 + n;
    add_group(warp, others, g->pc);
    release_meeting(warp, n);
}

enum { COLLECTIVE = 1, EXCLUSIVE = 2 };

/* The lanes of a group that name others than its first lane wait as groups of their own. */
static void part_by_mask(Warp *warp, Group *g, const Lanes named) {
    uint32_t rest = g->mask;
    g->mask = 0;
    while (rest) {
        uint32_t same = 0, mine = named[__builtin_ctz(rest)];
        for (uint32_t lanes = rest; lanes; lanes &= lanes - 1)
            if (named[__builtin_ctz(lanes)] == mine) same |= lanes & (0u - lanes);
        rest &= ~same;
        if (!g->mask) {
            g->mask = same;
            continue;
        }
        add_group(warp, same, g->pc);
        Group *other = &warp->group[warp->groups - 1];
        other->wanted = mine;
        other->waits = AT_WARPSYNC;
    }
}

/* Of some lanes those that name the same ones as the first. */
static uint32_t named_alike(const Warp *warp, const Instruction *i, uint32_t lanes) {
    if (!i->width[3]) return lanes;
    const Lanes named = source(warp, i, 3);
    uint32_t same = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1)
        if (named[__builtin_ctz(rest)] == named[__builtin_ctz(lanes)]) same |= rest & (0u - rest);
    return same;
}

/* WARPSYNC mask; flags: .COLLECTIVE and .EXCLUSIVE, after which the lanes of a mask are one group, with .COLLECTIVE for
 * a while. Lanes that go on together anyway need not part for the other. Lanes of different branches that come to the
 * same collective instruction execute the copy of it that is at `target`, and each goes on behind its own. */
static void wait_for_lanes(Warp *warp, Group *g, const Instruction *i, uint32_t active) {
    if (warp->launch->meets_anywhere) { /* no thread waits: the lanes of the group have met */
        g->pc++;
        for (uint32_t rest = active, same; rest; rest &= ~same) {
            same = named_alike(warp, i, rest);
            check_named(warp, i, same);
            note_warp_barrier(warp, same);
        }
        return;
    }
    if (active != g->mask) {
        go(warp, g, active, g->pc, g->pc + 1);
        if (!active || g->mask != active) return;
    }
    g->pc++;
    for (uint32_t rest = warp->launch->checking && i->width[0] ? g->mask : 0; rest; rest &= rest - 1)
        if (!(source(warp, i, 0)[__builtin_ctz(rest)] >> __builtin_ctz(rest) & 1))
            fail(warp, i, HAZARD, __builtin_ctz(rest), 0); /* its mask does not name it */
    uint32_t before = g->mask;
    if (i->width[0] && (i->flags || warp->groups > 1)) part_by_mask(warp, g, source(warp, i, 0));
    if (warp->groups == 1) { /* whole: there is no group to wait for */
        note_warp_barrier(warp, warp->living);
        return;
    }
    if (i->flags & COLLECTIVE) {
        const Instruction *end = i;
        while (end->kind != PARTS) end++;
        for (uint32_t rest = before; rest; rest &= rest - 1) {
            warp->together[__builtin_ctz(rest)] = (int8_t)__builtin_ctz(before);
            warp->resumes[__builtin_ctz(rest)] = end->target;
        }
        for (int each = 0; each < warp->groups; each++)
            if (warp->group[each].mask & before) warp->group[each].pc = i->target;
    }
    g->wanted = i->width[0] ? source(warp, i, 0)[__builtin_ctz(g->mask)] : 0xffffffffu;
    g->waits = AT_WARPSYNC;
    release_warpsync(warp);
}

/* ENDCOLLECTIVE: the threads are the groups again that they were. */
static void part(Warp *warp, Group *g, const Instruction *i) {
    uint32_t rest = g->mask;
    int is_first = 1;
    while (rest) {
        int leader = warp->together[__builtin_ctz(rest)];
        uint32_t same = 0;
        for (uint32_t lanes = rest; lanes; lanes &= lanes - 1)
            if (warp->together[__builtin_ctz(lanes)] == leader) same |= lanes & (0u - lanes);
        for (uint32_t lanes = same; lanes; lanes &= lanes - 1) warp->together[__builtin_ctz(lanes)] = -1;
        rest &= ~same;
        const int32_t pc = leader < 0 ? i->target : warp->resumes[__builtin_ctz(same)];
        if (is_first) g->mask = same, g->pc = pc, is_first = 0;
        else add_group(warp, same, pc);
    }
}

/* SYNCS.PHASECHK.TRYWAIT: waiting threads test the phase again before each turn of the warp. */
static void wait_for_phase(Warp *warp, Group *g, const Instruction *i, uint32_t active) {
    if (active && active != g->mask) {
        go(warp, g, active, g->pc, g->pc + 1);
        return;
    }
    g->pc++;
    if (active && !try_wait(warp, i, active, 0)) g->waits = AT_PHASE;
}

int wake_at_phases(Warp *warp, int gives_up) {
    int some = 0;
    for (int g = 0; g < warp->groups; g++) {
        Group *group = &warp->group[g];
        if (group->waits != AT_PHASE) continue;
        if (!try_wait(warp, &warp->launch->code[group->pc - 1], group->mask, gives_up)) continue;
        group->waits = 0;
        some = 1;
    }
    return some;
}

/* ---- the loop */

static int next_group(const Warp *warp) {
    int best = -1;
    for (int g = 0; g < warp->groups; g++) {
        const Group *candidate = &warp->group[g];
        if (candidate->waits) continue;
        if (candidate->mask & warp->favoured) return g;
        if (best >= 0 && warp->launch->meets_anywhere) {
            if (goes_first(warp, candidate, &warp->group[best])) best = g;
            continue;
        }
        if (best < 0 || candidate->pc < warp->group[best].pc ||
            (candidate->pc == warp->group[best].pc &&
             __builtin_ctz(candidate->mask) < __builtin_ctz(warp->group[best].mask)))
            best = g;
    }
    return best;
}

/* The turn goes to the group that begins after this one, of those that can run and have not been found in a cycle. */
static void favour_next(Warp *warp, uint32_t mask) {
    uint32_t first = 0, later = 0;
    for (int g = 0; g < warp->groups; g++) {
        const Group *candidate = &warp->group[g];
        if (candidate->waits || candidate->mask & warp->tried) continue;
        if (!first || __builtin_ctz(candidate->mask) < __builtin_ctz(first)) first = candidate->mask;
        if (__builtin_ctz(candidate->mask) > __builtin_ctz(mask) &&
            (!later || __builtin_ctz(candidate->mask) < __builtin_ctz(later)))
            later = candidate->mask;
    }
    warp->favoured = later ? later : first;
}

/* ---- the end of a turn */

/* A polling loop reads one address again, a scan does not. A loop that polls may change something, too: a count of its
 * trips, say. In a turn that its clock ends it need not look. */
static void note_poll(Warp *warp, int only_polled, int changed) {
    const int known = polled_place(warp), polls = warp->polled_by >= 0;
    int is_the_same = 0;
    if (known < 0 && polls) warp->poll_address[warp->newest = (warp->newest + 1) % FEW_PLACES] = warp->polled_at;
    if (polls) is_the_same = still_holds(warp, &warp->poll_word[known < 0 ? warp->newest : known]) && known >= 0;
    warp->polls = only_polled && known >= 0 ? warp->polls + 1 : 0;
    warp->waits = only_polled || is_the_same || (warp->saw_others && warp->results->partings >= SOME_PARTINGS);
    if (known < 0 ? polls || !is_ahead(warp) : !(only_polled || is_the_same)) {
        warp->polls_since = executed(warp);
        warp->clock.polls_from = time_of(warp);
    }
    if (changed && !is_the_same) warp->results->progress++;
}

int64_t held_up(const Warp *warp) {
    int64_t since = executed(warp);
    for (int g = 0; g < warp->groups; g++) {
        const Group *group = &warp->group[g];
        const int is_at_bsync = group->waits && group->waits <= MEETINGS;
        const int comes_later = !group->waits && !(group->mask & warp->ran);
        if ((warp->launch->meets_anywhere ? comes_later : is_at_bsync) && group->since < since) since = group->since;
    }
    return executed(warp) - since;
}

int64_t patience_of(const Warp *warp, int64_t turns) {
    const int64_t most = warp->launch->most_steps / 8;
    const int less = 4 * warp->results->partings;
    return (turns * TURN < most ? turns * TURN : most) >> (less < 24 ? less : 24);
}

/* Whether some have been held up for so long that they shall go on. */
static int holds_up(const Warp *warp) {
    const int64_t held = held_up(warp), staring = executed(warp) - warp->polls_since;
    return held > patience_of(warp, MAY_POLL) || (held < staring ? held : staring) > patience_of(warp, POLLS);
}

int part_from_loop(Warp *warp) {
    const int some_run = can_go_on(warp);
    uint32_t parted = 0;
    for (int g = 0; some_run && g < warp->groups; g++) {
        Group *group = &warp->group[g];
        if (!group->waits || group->waits > MEETINGS) continue;
        forget_meetings(warp, group->waits - 1, group->mask);
        group->waits = 0;
        parted |= group->mask;
    }
    if (!parted) return 0;
    warp->favoured = parted;
    warp->results->partings++;
    warp->results->changes++;
    warp->results->progress++;
    return 1;
}

/* The turn ends, and it is that of others of the warp. Threads that meet wherever they can keep theirs for a while, for
 * they may meet; unless they have changed nothing for some turns, and so may wait for those, though they count rounds
 * and are in no cycle. */
static void give_way(Warp *warp) {
    const int holds = holds_up(warp);
    if (!warp->launch->meets_anywhere) {
        if (!holds || !part_from_loop(warp)) favour_next(warp, warp->ran);
    } else if (holds || warp->polls >= IDLE_TURNS) {
        warp->results->partings += holds;
        warp->results->progress += holds;
        warp->polls = 0;
        favour_next(warp, warp->ran);
    }
}

/* Whether a warp that comes to where its turn began, and has read what others may change, may wait for them. */
static int comes_round(const Warp *warp, int64_t changes) {
    return warp->results->changes == changes || warp->results->partings >= SOME_PARTINGS || sees_nothing_new(warp);
}

/* A turn of the warp is over, at the beginning of which it had executed so much, and so much had changed; `idle_since`
 * is when something changed last. */
static void end_turn(Warp *warp, int64_t begun, int64_t idle_since, int64_t changes) {
    Results *results = warp->results;
    results->in_vain += executed(warp) - begun;
    const int changed = results->changes != changes, only_polled = warp->saw_others && !changed;
    if (changes != warp->left_at) { /* others have gone on */
        warp->steps -= warp->steps_in_vain;
        warp->forgiven += warp->steps_in_vain;
        warp->steps_in_vain = 0;
    }
    if (warp->saw_others) warp->steps_in_vain += executed(warp) - idle_since;
    if (!only_polled || changes != warp->left_at) warp->trips = 1;
    warp->left_at = results->changes;
    warp->clock.decides = warp->clock.is_read;
    warp->clock.is_read = 0;
    note_poll(warp, only_polled, changed);
    if (warp->launch->meets_anywhere && warp->changed != results->changes)
        warp->changed = results->changes, warp->tried = warp->favoured = 0;
    if (warp->saw_others) give_way(warp);
}

/* Whether some threads of the warp are at a barrier of the block. */
static int waits_for_block(const Warp *warp) {
    for (int g = 0; g < warp->groups; g++)
        if (warp->group[g].waits >= AT_BARRIER && warp->group[g].waits < AT_PART) return 1;
    return 0;
}

/* Which lanes write a register that the warp shares: all but those of other groups that can go on. Code is compiled for
 * each thread: where threads have diverged each counts its own rounds, though it is in such a register. */
static uint32_t uniform_lanes(const Warp *warp, const Group *g) {
    uint32_t lanes = (uint32_t)ALL_LANES;
    for (int other = 0; other < warp->groups; other++)
        if (&warp->group[other] != g && !warp->group[other].waits) lanes &= ~warp->group[other].mask;
    return lanes;
}

/* A turn of a warp: how many instructions are left of it, the changes of memory before it and the steps at its
 * begin, and since when memory has not changed. `is_granted`: it has all the time that it wants, if
 * `ends_when_idle` only while it changes memory. `trips`: how often it may come back to the block `begun_at`, where
 * it began, while it waits. */
typedef struct {
    int64_t left, changes, begun, changed, idle_since;
    int is_granted, ends_when_idle, begun_at, trips;
} Turn;

static Turn begin_turn(Warp *warp) {
    const int64_t changes = warp->results->changes, begun = executed(warp);
    const Turn turn = {
        .left = warp->has_time ? warp->has_time : warp->waits ? LOOK : TURN,
        .changes = changes, .begun = begun, .changed = changes, .idle_since = begun,
        .is_granted = warp->has_time > 0, .ends_when_idle = warp->has_time > 0 && warp->only_while_it_writes,
        .begun_at = -1, .trips = warp->waits && !warp->has_time ? warp->trips : 0,
    };
    warp->results->turns_left--;
    warp->saw_others = 0;
    warp->polled_by = -1;
    warp->has_time = warp->waits = warp->only_while_it_writes = 0;
    if (warp->groups < 2) warp->favoured = 0;
    wake_at_phases(warp, 0);
    return turn;
}

enum { GOES_ON, ENDS_TURN, FAILS };

/* Account for a basic block at its first instruction; the turn ends here if its time is over. */
static inline __attribute__((always_inline)) int enter_block(Warp *warp, Group *g, const Instruction *i, Turn *turn,
                                                             int is_alone) {
    Results *results = warp->results;
    if (i->is_beyond && !is_alone && waits_for_block(warp)) {
        fail(warp, i, BARRIERS_DIFFER, __builtin_ctz(g->mask), 0);
        return FAILS;
    }
    if (turn->trips && i->index == turn->begun_at && warp->saw_others && comes_round(warp, turn->changes) &&
        !--turn->trips)
        turn->left = 0;
    if (turn->begun_at < 0) turn->begun_at = i->index;
    if (turn->changed != results->changes) turn->changed = results->changes, turn->idle_since = executed(warp);
    if (turn->ends_when_idle && warp->saw_others && executed(warp) - turn->idle_since > LOOK) turn->left = 0;
    turn->left -= i->length;
    if (turn->left < 0) {
        if (warp->saw_others || is_ahead(warp) || --results->turns_left < 0) {
            g->pc = i->index;
            warp->ran = g->mask;
            end_turn(warp, turn->begun, turn->idle_since, turn->changes);
            return ENDS_TURN;
        }
        turn->left = TURN;
    }
    warp->steps += i->length;
    if (warp->steps > warp->launch->most_steps) {
        fail(warp, i, TOO_MANY_STEPS, __builtin_ctz(g->mask), 0);
        return FAILS;
    }
    results->block_warps[i->block]++;
    results->block_lanes[i->block] += __builtin_popcount(g->mask);
    return GOES_ON;
}

/* An instruction of any kind but COMPUTES, behind which another group may go first. Whether the turn ends. */
static inline __attribute__((always_inline)) int transfer(Warp *warp, Group *g, const Instruction *i, uint32_t active,
                                                          const Turn *turn) {
    switch (i->kind) {
        case BRANCHES: go(warp, g, branch_taken(warp, g, i, active), i->target, g->pc + 1); break;
        case JUMPS: jump(warp, g, i, active); break;
        case EXITS: leave(warp, g, i, active & predicate_of(warp, i->p_in[0])); break;
        case WAITS: wait_for_block(warp, g, i, active); break;
        case MEETS: meet(warp, g, i); break;
        case WAITS_FOR_LANES: wait_for_lanes(warp, g, i, active); break;
        case PARTS: part(warp, g, i); break;
        case ARRIVES:
            g->pc++;
            if (active) arrive_in_cluster(warp, i, active);
            break;
        case WAITS_FOR_CLUSTER: wait_for_cluster(warp, g, i, active); break;
        case WAITS_FOR_PHASE: wait_for_phase(warp, g, i, active); break;
        case CALLS: call(warp, g, i, active); break;
        case RETURNS: return_to(warp, g, i, active); break;
        case TAKES_TIME:
            g->pc++;
            if (active && i->uniform) active = uniform_lanes(warp, g);
            if (active) operations()[i->operation](warp, i, active);
            if (turn->is_granted || !is_ahead(warp)) break;
            warp->ran = g->mask;
            warp->saw_others |= SEES_BLOCK;
            end_turn(warp, turn->begun, turn->idle_since, turn->changes);
            return 1;
        default:
            g->pc++;
            if (active) operations()[i->operation](warp, i, active);
            release_meeting(warp, i->number[0]);
    }
    return 0;
}

int run_turn(Warp *warp) {
    const Launch *launch = warp->launch;
    Results *results = warp->results;
    Operation *const *execute = operations();
    Turn turn = begin_turn(warp);
    for (int at; !results->fault;) {
        if (launch->meets_anywhere && warp->groups > 1) meet_anywhere(warp);
        if ((at = next_group(warp)) < 0) break;
        Group *g = &warp->group[at];
        const Instruction *i = &launch->code[g->pc];
        int is_alone = warp->groups == 1, has_begun = 0;
        g->since = executed(warp);
        for (;; i++) {
            if (i->block >= 0) {
                if (has_begun && !is_alone) { /* another one may be further back now */
                    g->pc = i->index;
                    break;
                }
                has_begun = 1;
                const int outcome = enter_block(warp, g, i, &turn, is_alone);
                if (outcome != GOES_ON) return outcome == ENDS_TURN;
            }
            uint32_t active = g->mask;
            if (i->guard != ALWAYS) {
                active &= predicate_of(warp, i->guard);
                results->guarded[i->index] += __builtin_popcount(active);
            }
            if (warp->holds) {
                if (active && warp->holds & HOLDS_UNWRITTEN) follow_held(warp, i, active);
                if (warp->holds & HOLDS_UNDEFINED) follow_undefined(warp, i, g->mask, active);
                if (results->fault) return 0;
            }
            if (i->kind == COMPUTES) {
                if (!active) continue;
                execute[i->operation](warp, i, i->uniform ? uniform_lanes(warp, g) : active);
                if (results->fault) return 0;
                continue;
            }
            g->pc = i->index;
            if (transfer(warp, g, i, active, &turn)) return 1;
            break;
        }
    }
    if (results->changes != turn.changes) results->progress++;
    results->in_vain += executed(warp) - turn.begun;
    return 0;
}

/* ---- the operations of all files, one after the other */

enum { MOST_OPERATIONS = 200 };

const NamedOperation *operation_of(int number) {
    const NamedOperation *const tables[] = {ARITHMETIC, TYPED, MEMORY, EXCHANGE, TEXTURES, BULK, CLOCKS};
    for (int table = 0; table < 7; table++)
        for (const NamedOperation *entry = tables[table]; entry->name; entry++)
            if (number-- == 0) return entry;
    return 0;
}

static Operation *table_of_operations[MOST_OPERATIONS];

static Operation *const *operations(void) { return table_of_operations; }

/* The name of an operation by its number, for Python; NULL behind the last. To be called for all before anything
 * runs. */
EXPORT const char *operation_name(int number) {
    const NamedOperation *entry = operation_of(number);
    if (entry) table_of_operations[number] = entry->execute;
    return entry ? entry->name : 0;
}
