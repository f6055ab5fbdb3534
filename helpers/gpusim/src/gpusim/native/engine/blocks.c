/* The block scheduler: allocation of blocks and their registers, round-robin turns of blocks that may wait for each
 * other, detection of deadlocks and endless loops. `run_blocks`, which Python calls, is the entry of the engine; it
 * calls warp.c. */
#include "checks.h"
#include "clock.h"
#include "shadow.h"
#include "patterns.h"
#include "warp.h"

enum { PATIENCE = 128 }; /* rounds of turns in which all wait */
enum { LONG = 4 };       /* of the steps that a warp may make, while no thread ends */
enum { TURNS = 4096 };  /* some hundredths of a second */

/* ---- making and ending */

static void begin_block(Block *block, const Launch *launch, Results *results, int64_t place, Cluster *cluster,
                        int rank) {
    int64_t id = launch->block_ids[place], rest = id;
    size_t row = sizeof(Lanes);
    block->id = id;
    for (int axis = 0; axis < 3; axis++) {
        block->index[axis] = (int32_t)(rest % launch->grid[axis]);
        rest /= launch->grid[axis];
    }
    block->warps = block->living_warps = (launch->threads + WARP - 1) / WARP;
    block->traced = launch->traced && launch->traced[place];
    block->votes = block->voters = 0;
    memset(block->arrived, 0, sizeof block->arrived);
    block->rank = rank;
    block->cluster = cluster;
    block->touched = 0;
    if (!rank) memset(cluster, 0, sizeof *cluster), cluster->phase = 1;
    cluster->block[rank] = block;
    cluster->living++;
    block->met_others = block->fenced = block->released_barrier = block->covered = 0;
    block->releases_in_block = 0;
    block->barrier = block->all_met = BEFORE_ALL;
    /* Of blocks that do not meet each has times of its own. */
    if (!results->released_by_threads || !results->now) results->now = BEFORE_ALL;
    const int64_t begins = place < launch->together ? 0 : results->horizon; /* a later block finds a free slot then */
    if (block->shadow) begin_shadow(block->shadow);
    if (block->bulk) begin_bulk_watch(block->bulk);
    memset(block->rows, 0, row * (size_t)(launch->rows * block->warps));
    if (launch->checking && launch->local_bytes)
        memset(block->local_written, 0, (size_t)launch->local_bytes * (size_t)(block->warps * WARP));
    memset(block->shared, 0, (size_t)launch->shared_bytes);
    if (launch->local_bytes) memset(block->local, 0, (size_t)launch->local_bytes * (size_t)(block->warps * WARP));
    for (int number = 0; number < block->warps; number++) {
        Warp *warp = &block->warp[number];
        memset(warp, 0, launch->checking ? offsetof(Warp, group) : offsetof(Warp, order));
        if (block->traced) memset(warp->times, 0, sizeof *warp->times * (size_t)(launch->memory_instructions + 1));
        warp->block = block;
        warp->launch = launch;
        warp->results = results;
        warp->rows = block->rows + (size_t)(launch->rows * number);
        warp->predicate[ALWAYS] = warp->predicate[ALWAYS + 8] = 0xffffffffu;
        warp->number = number;
        warp->living = lanes_of(warp);
        warp->groups = 1;
        warp->group[0] = (Group){.mask = warp->living};
        warp->trips = 1;
        warp->clock.ahead = begins;
        memset(warp->together, -1, sizeof warp->together);
    }
}

static void *aligned(size_t bytes, void **owner) {
    *owner = malloc(bytes + 128);
    return *owner ? (void *)(((uintptr_t)*owner + 127) & ~(uintptr_t)127) : 0;
}

typedef struct {
    Block block;
    void *rows;
    int32_t *times;
} Place; /* where a block lives; blocks that come later use it again */

static void free_place(Place *place) {
    free(place->rows);
    free(place->times);
    free(place->block.warp);
    free(place->block.shared);
    free_shadow(place->block.shadow);
    free(place->block.bulk);
    free(place->block.local);
    free(place->block.local_written);
}

static int make_place(Place *place, const Launch *launch) {
    size_t warps = (size_t)(launch->threads + WARP - 1) / WARP;
    memset(place, 0, sizeof *place);
    place->block.rows = aligned(sizeof(Lanes) * (size_t)launch->rows * warps, &place->rows);
    place->block.warp = calloc(warps, sizeof(Warp));
    place->block.shared = malloc((size_t)launch->shared_bytes + 16);
    place->block.local = malloc((size_t)launch->local_bytes * warps * WARP + 16);
    place->block.local_written = malloc((launch->checking ? (size_t)launch->local_bytes * warps * WARP : 0) + 16);
    place->times = calloc(warps * (size_t)(launch->memory_instructions + 1), sizeof *place->times);
    if (launch->checking) place->block.shadow = make_shadow(launch);
    int has_bulk = launch->checking && launch->copies_in_bulk;
    if (has_bulk) place->block.bulk = make_bulk_watch(launch);
    if ((place->block.shadow || !launch->checking) && (place->block.bulk || !has_bulk) && place->block.rows &&
        place->block.warp && place->block.shared && place->block.local && place->block.local_written && place->times) {
        for (size_t w = 0; w < warps; w++)
            place->block.warp[w].times = place->times + w * (size_t)(launch->memory_instructions + 1);
        return 1;
    }
    free_place(place);
    return 0;
}

/* The blocks that a thread of the host executes. */
typedef struct Execution {
    Cluster *clusters, *cluster; /* and the one that is being begun */
    Place *places, **order;      /* those with resident blocks first */
    int64_t next;                /* the block that is begun next */
    int made, resident, most, wanted, rounds, is_running;
    /* The current round of turns: the block whose turn it is, the count of changes before it, and its outcome so
     * far. */
    int is_in_round, at, ended, all_are_begun;
    int64_t progress;
} Execution;

/* ---- deadlock and livelock: Brent's cycle detection on the state of each warp */

/* A cheap fingerprint: the program counter of a warp and its last relaxed load. A full state is only hashed where it
 * recurs. */
static uint64_t fingerprint_of(const Warp *warp) {
    const uint64_t places = (uint64_t)warp->group[0].pc << 32 | (uint32_t)warp->polled_by;
    return (places ^ (uint64_t)warp->polled_at) * 0x9e3779b97f4a7c15ull + (uint64_t)warp->groups;
}

/* A hash of all that decides what a warp does next, except memory. */
static uint64_t state_of(const Warp *warp) {
    const uint64_t *words = (const uint64_t *)warp->rows;
    uint64_t state = 0, part[8] = {1, 2, 3, 4, 5, 6, 7, 8}; /* side by side: none waits for the one before */
    for (size_t k = 0; k < sizeof(Lanes) / 8 * (size_t)warp->launch->rows; k += 8)
        for (int j = 0; j < 8; j++) {
            part[j] = (part[j] ^ words[k + (size_t)j]) * 0x9e3779b97f4a7c15ull;
            part[j] ^= part[j] >> 29;
        }
    for (int j = 0; j < 8; j++) state = (state ^ part[j]) * 0x9e3779b97f4a7c15ull, state ^= state >> 29;
    for (int k = 0; k < PREDICATES; k++) state = (state ^ warp->predicate[k]) * 0x9e3779b97f4a7c15ull;
    for (int g = 0; g < warp->groups; g++) {
        uint64_t group = (uint64_t)warp->group[g].mask << 32
            | (uint32_t)(warp->group[g].pc * 256 + warp->group[g].waits);
        state = (state ^ group) * 0x9e3779b97f4a7c15ull;
    }
    if (warp->clock.decides) state = (state ^ (uint64_t)executed(warp)) * 0x9e3779b97f4a7c15ull;
    return state ^ state >> 31;
}

/* Threads that reconverge at every basic block (PTX) may be in a cycle and keep others from running that are further
 * on. Give the turn to a group that has not been found in one; 0 if there is none. */
static int favour_others(Warp *warp) {
    if (!warp->launch->meets_anywhere) return 0;
    warp->tried |= warp->ran;
    for (int g = 0; g < warp->groups; g++) {
        const Group *candidate = &warp->group[g];
        if (candidate->waits || candidate->mask & warp->tried) continue;
        warp->favoured = candidate->mask;
        warp->known_since = 0;
        return 1;
    }
    return 0;
}

/* At the end of a turn: is the warp in a state that it was in before, with no change of memory since? Then it is in a
 * cycle. The state compared with is replaced after 1, 2, 4, ... turns, which finds cycles of any length (R. P. Brent,
 * 1980). As memory nearly always changes, a state is kept only from the second turn on without a change. A warp in no
 * cycle gets longer turns meanwhile. */
static void detect_cycle(Warp *warp) {
    int64_t changes = warp->results->changes;
    if (warp->known_since != changes + 1) {
        warp->known_since = changes + 1;
        warp->turns = warp->known_turn = warp->repeats = 0;
        return;
    }
    const uint64_t fingerprint = fingerprint_of(warp);
    const int may_repeat = warp->known_turn && fingerprint == warp->known_fingerprint;
    const int is_due = ++warp->turns >= 2 * warp->known_turn;
    const uint64_t state = may_repeat || is_due ? state_of(warp) : 0;
    if (may_repeat && state == warp->known_state) {
        warp->repeats = !favour_others(warp);
        return;
    }
    if (warp->known_turn && warp->trips < LOOK) warp->trips *= 2;
    if (!is_due) return;
    warp->known_fingerprint = fingerprint;
    warp->known_state = state;
    warp->known_turn = warp->turns;
    warp->repeats = 0;
}

static int is_in_cycle(const Warp *warp) { return warp->repeats && warp->known_since == warp->results->changes + 1; }

/* Whether all living warps wait, or are in a cycle with no change since. */
static int is_stuck(Block *block) {
    for (int w = 0; w < block->warps; w++) {
        Warp *warp = &block->warp[w];
        const int is_awake = wake_at_phases(warp, 0);
        if ((is_awake || can_go_on(warp)) && !is_in_cycle(warp)) return 0;
    }
    return 1;
}

static int part_from_loops(Block *block) {
    int parted = 0;
    for (int w = 0; w < block->warps; w++) parted |= part_from_loop(&block->warp[w]);
    return parted;
}

/* All threads of a warp wait at BSYNCs, none of which all can reach: for Blackwell ptxas leaves out a BREAK where two
 * branches share their end (tests/gpusim/test_blackwell.py). The group that arrived last goes on alone. Returns whether
 * there is any. */
static int split_off_last(Block *block) {
    int parted = 0;
    for (int w = 0; w < block->warps; w++) {
        Warp *warp = &block->warp[w];
        Group *last = 0;
        int32_t newest = 0, others = 0;
        for (int g = 0; g < warp->groups; g++) {
            Group *group = &warp->group[g];
            if (!group->waits || group->waits > MEETINGS) {
                others = 1;
                break;
            }
            int32_t token = tokens_of(warp, group->waits - 1)[__builtin_ctz(group->mask)];
            if (!last || token > newest) last = group, newest = token;
        }
        if (others || warp->groups < 2) continue;
        forget_meetings(warp, last->waits - 1, last->mask);
        last->waits = 0;
        warp->results->changes++;
        warp->results->progress++;
        parted = 1;
    }
    return parted;
}

/* No thread can run, and some wait for phases of mbarriers, which the hardware limits in time: their try_wait returns
 * false, unless it did so before in the same state, with no change since. Returns whether there are any. */
static int give_up_waiting(Block *block) {
    int some = 0;
    for (int w = 0; w < block->warps; w++) {
        Warp *warp = &block->warp[w];
        uint64_t state = state_of(warp);
        int64_t since = warp->results->changes + 1;
        if (warp->late_since == since && warp->late_state == state) continue;
        warp->late_since = since;
        warp->late_state = state;
        some |= wake_at_phases(warp, 1);
    }
    return some;
}

static void name_waiters(const Block *block, Results *results) {
    for (int w = 0; w < block->warps; w++) {
        const Warp *warp = &block->warp[w];
        for (int g = 0; g < warp->groups && results->waiter_count < results->waiter_room; g++) {
            const Group *group = &warp->group[g];
            Waiter *waiter = &results->waiters[results->waiter_count++];
            waiter->block = block->id;
            waiter->warp = warp->number;
            waiter->waits = group->waits;
            waiter->mask = group->mask;
            waiter->instruction = group->waits ? group->pc - 1 : warp->polled_by;
            waiter->address = warp->polled_at;
            waiter->space = warp->polled_in;
        }
    }
    if (!results->fault) {
        results->fault = DEADLOCK;
        results->fault_block = block->id;
    }
}

/* ---- turns */

/* All runnable warps have polled for a while; only loop counters advance. They may wait for threads of their own warp
 * that have not been scheduled: such warps get longer turns until those threads run. After all blocks were checked for
 * such warps, one warp gets an unlimited turn, so that its loop ends or is soon known to be endless; if memory changes
 * meanwhile, only as long as the warp itself changes it, for a warp that observes the changes of others need not be in
 * an endless loop. The same if no thread has ended for long and all warps could be in endless loops; warps that do not
 * wait come first. */
static void end_quiet(Block *block, Results *results, int resident) {
    const int64_t patience = PATIENCE * (int64_t)resident, most = block->warp[0].launch->most_steps;
    const int64_t round = resident * (int64_t)block->warps * (TURN + patience_of(&block->warp[0], POLLS));
    /* the first round goes to warps that hold threads up */
    const int64_t vain = results->in_vain - LONG * most - round;
    if (results->progress != results->seen_progress) {
        results->seen_progress = results->progress;
        results->quiet = 0;
    }
    if (++results->quiet <= patience && vain < 0) return;
    const int is_quiet = results->quiet > patience + 2 * resident; /* some blocks are visited twice in a round */
    for (int w = 0; w < block->warps; w++) {
        Warp *warp = &block->warp[w];
        if (!can_go_on(warp) || is_in_cycle(warp)) continue;
        const int holds_up = held_up(warp) > 0;
        const int is_next = vain > round + most || (vain >= 0 && !warp->waits && !holds_up);
        const int nothing_changes = results->changes == warp->left_at;
        const int may_write_for_ever = !nothing_changes && !warp->polls;
        if ((is_quiet && nothing_changes) || (may_write_for_ever && (is_quiet || is_next))) {
            warp->has_time = most;
            warp->only_while_it_writes = may_write_for_ever;
            results->quiet = 0;
            results->in_vain = 0;
            return;
        }
        if (holds_up) warp->has_time = 1 + patience_of(warp, POLLS);
    }
}

/* One turn for each warp of a block, and more as long as only they can wait for each other. 1 if it has ended. */
static int run_block(Block *block, Results *results, int alone, int resident) {
    for (;;) {
        int can_run = 0;
        uint32_t saw = 0;
        end_quiet(block, results, resident);
        if (alone && results->is_timed) {
            Slowest furthest = {NONE_BEHIND, NONE_BEHIND, NONE_BEHIND, 0};
            look_at_work(block, &furthest);
            look_behind(block, &furthest);
            let_time_pass(results, &furthest);
        }
        for (int w = 0; w < block->warps && !results->fault; w++) {
            Warp *warp = &block->warp[w];
            if (!warp->groups) continue;
            if (results->is_timed && !comes_next(warp)) {
                can_run = 1;
                saw |= SEES_GRID; /* it lets others come up */
                continue;
            }
            const int64_t changes = results->changes;
            if (run_turn(warp)) {
                can_run = 1;
                if (warp->saw_others) detect_cycle(warp);
            }
            saw |= warp->saw_others;
            if (results->changes != changes && time_of(warp) > results->changed_at) results->changed_at = time_of(warp);
        }
        if (results->fault || !block->living_warps) return 1;
        if (results->turns_left < 0) return 0;
        /* A warp that waited may go on because of one that came after it. */
        for (int w = 0; w < block->warps && !can_run; w++) {
            can_run = wake_at_phases(&block->warp[w], 0);
            can_run |= can_go_on(&block->warp[w]);
        }
        if (results->fault) return 1;
        if (alone && is_stuck(block)) {
            if (part_from_loops(block) || split_off_last(block) || give_up_waiting(block)) continue;
            name_waiters(block, results);
            return 1;
        }
        if (!can_run && !alone) return 0;
        if (!alone && (saw & SEES_GRID || (saw && block->cluster->living > 1))) return 0;
    }
}

static void keep_places(Execution *e, int count) {
    while (e->made > count) free_place(&e->places[--e->made]);
}

/* What a Results holds beside what Python gave it. */
EXPORT void free_execution(Results *results) {
    Execution *e = results->execution;
    if (!e) return;
    keep_places(e, 0);
    free(e->order);
    free(e->places);
    free(e->clusters);
    free(e);
    results->execution = 0;
}

/* A launch like this one may follow, which finds the place of a block; of more than one the memory may be large. */
static void end_execution(const Launch *launch, Results *results) {
    book_patterns(launch, results);
    if (!results->execution) return;
    keep_places(results->execution, 1);
    results->execution->is_running = 0;
}

/* 0 if there is no memory. */
static int begin_execution(const Launch *launch, Results *results, int64_t first) {
    Execution *e = results->execution;
    int most = launch->together < launch->cluster_blocks ? launch->cluster_blocks : launch->together;
    if (!e) {
        e = results->execution = calloc(1, sizeof *e);
        if (!e) return 0;
        e->clusters = calloc((size_t)most, sizeof *e->clusters);
        e->places = calloc((size_t)most, sizeof *e->places);
        e->order = calloc((size_t)most, sizeof *e->order);
        e->most = most;
    }
    if (!e->clusters || !e->places || !e->order) return 0;
    memset(e->clusters, 0, (size_t)most * sizeof *e->clusters);
    if (e->made) e->order[0] = &e->places[0];
    e->cluster = e->clusters;
    e->next = first;
    e->wanted = 1;
    e->resident = e->rounds = e->is_in_round = 0;
    return e->is_running = 1;
}

/* Begin a round of turns, and as many blocks as are wanted; a cluster as a whole. */
static void begin_round(Execution *e, const Launch *launch, Results *results, int64_t first, int64_t stop) {
    int size = launch->cluster_blocks;
    while (e->next < stop && ((e->next - first) % size || (e->resident < e->wanted && e->resident + size <= e->most))) {
        int rank = (int)((e->next - first) % size);
        if (!rank) for (e->cluster = e->clusters; e->cluster->living; e->cluster++) {}
        /* Deterministic: independent of the host thread that executes the blocks before. */
        if (!rank && e->most == size) {
            results->partings = results->is_timed = 0;
            results->horizon = results->seen_horizon = results->changed_at = results->shown = 0;
        }
        if (e->resident == e->made) {
            if (!make_place(&e->places[e->made], launch)) {
                results->fault = NO_MEMORY;
                break;
            }
            e->order[e->made] = &e->places[e->made];
            e->made++;
        }
        begin_block(&e->order[e->resident++]->block, launch, results, e->next++, e->cluster, rank);
    }
    e->is_in_round = 1;
    e->at = e->ended = 0;
    e->all_are_begun = e->next == stop || e->resident + size > e->most;
    e->progress = results->progress;
    if (!results->is_timed) return;
    const int64_t to_begin = e->all_are_begun ? NONE_BEHIND : 0;
    Slowest furthest = {to_begin, to_begin, NONE_BEHIND, 0};
    for (int r = 0; r < e->resident; r++) look_at_work(&e->order[r]->block, &furthest);
    for (int r = 0; r < e->resident; r++) look_behind(&e->order[r]->block, &furthest);
    let_time_pass(results, &furthest);
}

/* Give the blocks their turns. 0 if there are no turns left: the same block goes on then. */
static int take_turns(Execution *e, Results *results) {
    for (; e->at < e->resident && !results->fault; e->at++) {
        int is_alone = e->all_are_begun && e->resident == 1;
        Place *place = e->order[e->at];
        if (run_block(&place->block, results, is_alone, e->resident)) {
            if (results->fault) return 1;
            e->order[e->at--] = e->order[--e->resident]; /* the last one takes its turn */
            e->order[e->resident] = place;
            results->changes++;
            e->ended = 1;
        } else if (results->turns_left < 0) {
            return 0;
        }
    }
    e->is_in_round = 0;
    return 1;
}

/* Whether no thread can run, not even after groups that wait for absent threads were split off. */
static int is_deadlock(Execution *e) {
    int stuck = 1;
    for (int r = 0; r < e->resident; r++) stuck &= is_stuck(&e->order[r]->block);
    for (int r = 0; stuck && r < e->resident; r++)
        if (part_from_loops(&e->order[r]->block)) stuck = 0;
    for (int r = 0, waited = 0; stuck && r < e->resident; r++) {
        waited |= give_up_waiting(&e->order[r]->block);
        if (r == e->resident - 1) stuck = !waited;
    }
    return stuck;
}

/* Execute the blocks at positions [first, stop) of block_ids. Blocks that may wait for each other become resident
 * one after the other: when all resident blocks poll without progress, or none has ended for a while, their number
 * doubles, up to what the device holds. (So few are resident at a time where blocks publish a result and go on.)
 *
 * It returns 1 after a while, to be called again, so that Python can handle an interrupt; 0 when all blocks have
 * ended. */
EXPORT int32_t run_blocks(const Launch *launch, Results *results, int64_t first, int64_t stop) {
    Execution *e = results->execution;
    if ((!e || !e->is_running) && !begin_execution(launch, results, first)) results->fault = NO_MEMORY;
    e = results->execution;
    results->turns_left = TURNS;
    while (!results->fault && (e->resident || e->next < stop)) {
        if (results->turns_left < 0) return 1; /* of blocks that end in a turn or two none runs out of turns */
        if (!e->is_in_round) begin_round(e, launch, results, first, stop);
        if (!take_turns(e, results)) return 1;
        e->rounds = e->ended ? 0 : e->rounds + 1;
        if (e->ended || results->fault) continue;
        if (!e->all_are_begun) {
            if (results->progress != e->progress && e->rounds < PATIENCE) continue;
            e->rounds = 0;
            e->wanted = 2 * e->resident < e->most ? 2 * e->resident : e->most;
        } else if (is_deadlock(e)) {
            for (int r = 0; r < e->resident; r++) name_waiters(&e->order[r]->block, results);
        }
    }
    end_execution(launch, results);
    return 0;
}

/* Of what Python was given. */
EXPORT void free_rows(void *rows) { free(rows); }

/* Of the structures that Python fills in. */
EXPORT int32_t size_of(int which) {
    const int32_t sizes[] = {sizeof(Instruction), sizeof(Launch), sizeof(Results), sizeof(Allocation), sizeof(TraceRow),
                             sizeof(Pattern), sizeof(Waiter), sizeof(GlobalWord), sizeof(RegisterUse), sizeof(Times),
                             sizeof(Image), sizeof(GlobalLine), sizeof(Shape), sizeof(Others)};
    return sizes[which];
}

/* Execute one instruction for the lanes of `mask`, as a test wants to: no block, no loop. */
EXPORT void execute_one(const Launch *launch, Results *results, Lanes *rows, uint32_t *predicates, uint32_t mask) {
    Block block = {.warps = 1, .living_warps = 1};
    Warp warp;
    memset(&warp, 0, sizeof warp);
    Cluster cluster = {.living = 1, .phase = 1};
    cluster.block[0] = &block;
    block.cluster = &cluster;
    block.warp = &warp;
    warp.block = &block;
    warp.launch = launch;
    warp.results = results;
    warp.rows = rows;
    warp.living = 0xffffffffu;
    memcpy(warp.predicate, predicates, sizeof warp.predicate);
    operation_of(launch->code[0].operation)->execute(&warp, launch->code, mask);
    memcpy(predicates, warp.predicate, sizeof warp.predicate);
}
