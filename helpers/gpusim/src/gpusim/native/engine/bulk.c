/* Barriers in shared memory that count threads and bytes, and copies in bulk; simulator/arithmetic/mbarrier.py and
 * engine/bulk.py say what they do. What is wrong with one is a fault: the engine in NumPy says it in words. */
#include "checks.h"
#include "floats.h"
#include "memory.h"
#include "warp.h"

/* ---- mbarriers */

/* Fields of the 64 bits. Threads are kept as 2^20, bytes as 2^21 less their number. */
enum { EXPECTED = 1, BYTES = 21, PENDING = 43, PHASE = 63 };
static const uint64_t THREADS_FIELD = 0xfffff, BYTES_FIELD = 0x1fffff;

static uint64_t changed(uint64_t old, uint64_t count, uint64_t dropped, uint64_t size) {
    uint64_t expected = ((old >> EXPECTED & THREADS_FIELD) + dropped) & THREADS_FIELD;
    uint64_t pending = ((old >> PENDING & THREADS_FIELD) + count) & THREADS_FIELD;
    uint64_t bytes = ((old >> BYTES & BYTES_FIELD) - size) & BYTES_FIELD, phase = old >> PHASE;
    if (!pending && !bytes) phase ^= 1, pending = expected;
    uint64_t others = ~(THREADS_FIELD << EXPECTED | BYTES_FIELD << BYTES | THREADS_FIELD << PENDING | 1ull << PHASE);
    return (old & others) | expected << EXPECTED | bytes << BYTES | pending << PENDING | phase << PHASE;
}

/* How many threads arrive and how many bytes are expected: number[2] of "arrive". */
enum { ARRIVES_AND_EXPECTS, ONE_ARRIVES, SOME_ARRIVE, EXPECTS, COMPLETES, EXPECTS_ONE, COMPLETES_ONE };
static int knows_phases(const Block *block) {
    return has_uninvolved(block) && block->warp[0].launch->phases_are_found;
}

enum {
    LEAVES_FOR_GOOD = 1 << 18, ANYWHERE = 1 << 19, MULTICAST = 1 << 20, BEHIND_COPIES = 1 << 22,
    /* a phase is named by its parity; the size of a copy is in bytes, and its blocks are in source 3 */
    OF_PTX = 1 << 27
};

/* Update an mbarrier of a block. For the race detector the end of a phase is a barrier of the block that orders only
 * the threads that arrived (release) and those that observe its end (acquire). */
static uint64_t change(Warp *warp, Block *block, uint8_t *at, uint64_t count, uint64_t dropped, uint64_t size) {
    uint64_t old, now;
    memcpy(&old, at, sizeof old);
    now = changed(old, count, dropped, size);
    memcpy(at, &now, sizeof now);
    warp->results->changes++;
    if ((old ^ now) >> PHASE) {
        const uint32_t all_met = block->all_met, byte = (uint32_t)(at - block->shared);
        end_phase(block);
        if (knows_phases(block) && phase_is_known(block, byte)) block->all_met = all_met;
        if (block->bulk) bulk_phase_ended(block, byte);
    }
    return old;
}

static void arrive_at(Warp *warp, const Instruction *i, int space, const Request *request) {
    uint8_t *at[WARP];
    int slot, what = i->number[2];
    if (!locate(warp, i, space, request, 8, 1, at, &slot)) return;
    Lanes value = {0};
    if (i->width[2]) value = source(warp, i, 2);
    record(warp, i, space, slot, request, 8, 1, UPDATES, 0);
    if (warp->block->bulk && space == SHARED) bulk_arrives(warp, i, request);
    for (uint32_t rest = request->active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t count = what == SOME_ARRIVE ? value[lane] : what == ARRIVES_AND_EXPECTS || what == ONE_ARRIVES;
        uint64_t size = what == ARRIVES_AND_EXPECTS || what == EXPECTS ? value[lane]
                        : what == COMPLETES                            ? (uint64_t)0 - value[lane]
                        : what == EXPECTS_ONE                          ? 1
                        : what == COMPLETES_ONE                        ? (uint64_t)-1
                                                                       : 0;
        Block *block = space == CLUSTER ? warp->block->cluster->block[request->address[lane] >> RANK_SHIFT]
            : warp->block;
        if (knows_phases(block)) warp_arrives(warp, block, (uint32_t)(at[lane] - block->shared));
        uint64_t old = change(warp, block, at[lane], count, i->flags & LEAVES_FOR_GOOD ? count : 0, size);
        if (!i->d_width) continue;
        uint32_t *state = (uint32_t *)(warp->rows + i->d); /* in PTX the whole register */
        if (i->d_width > 1) state[lane] = 0;
        state[lane + (i->d_width > 1 ? WARP : 0)] = (uint32_t)(old >> 32);
    }
}

/* SYNCS.ARRIVE, and ARRIVES behind asynchronous copies, which have come already. */
static void arrive(Warp *warp, const Instruction *i, uint32_t mask) {
    Addresses where;
    Request request;
    if (warp->launch->checking && i->flags & BEHIND_COPIES) arrive_behind_copies(warp, i, mask);
    addresses_of(warp, i, 0, 0, i->offset, i->number, &where);
    request_of(&where, mask, &request);
    if (i->flags & ANYWHERE) in_its_block(warp, i, &request, arrive_at);
    else arrive_at(warp, i, SHARED, &request);
}

/* The lanes whose phase has ended, of those that ask for it. */
static uint32_t ended(Warp *warp, const Instruction *i, uint32_t mask, Request *request) {
    Addresses where;
    uint8_t *at[WARP];
    int slot;
    uint32_t yes = 0;
    const Lanes state = source(warp, i, 2);
    addresses_of(warp, i, 0, 0, i->offset, i->number, &where);
    request_of(&where, mask, request);
    if (!locate(warp, i, SHARED, request, 8, 0, at, &slot)) return 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t bits;
        memcpy(&bits, at[lane], sizeof bits);
        uint32_t phase = i->flags & OF_PTX ? state[lane] & 1 : state[lane] >> 31;
        if (bits >> PHASE != phase) yes |= 1u << lane;
    }
    return yes;
}

static void tell_ended(Warp *warp, const Instruction *i, uint32_t mask, uint32_t yes, const Request *request) {
    set_predicate(warp, i->p_out[0], yes, mask);
    record(warp, i, SHARED, warp->launch->allocation_count, request, 8, 1, UPDATES, 0);
    for (uint32_t rest = knows_phases(warp->block) ? yes : 0; rest; rest &= rest - 1)
        warp_finds(warp, (uint32_t)request->address[__builtin_ctz(rest)]);
    if (warp->block->bulk) bulk_found_ended(warp, i, request, yes);
}

/* SYNCS.PHASECHK: it looks. */
static void phase_ended(Warp *warp, const Instruction *i, uint32_t mask) {
    Request request;
    warp->saw_others |= i->strong;
    uint32_t yes = ended(warp, i, mask, &request);
    if (!warp->results->fault) tell_ended(warp, i, mask, yes, &request);
}

/* SYNCS.PHASECHK.TRYWAIT: it waits. 1 if it need not wait any longer. `gives_up`: the time is over. */
int try_wait(Warp *warp, const Instruction *i, uint32_t mask, int gives_up) {
    Request request;
    uint32_t yes = ended(warp, i, mask, &request);
    if (warp->results->fault) return 1;
    if (yes != mask && !gives_up) return 0;
    tell_ended(warp, i, mask, yes, &request);
    return 1;
}

/* ---- copies in bulk. Sources 0, 1 and 2: where to, where from, how much. */

enum { FETCHES, SENDS, PUTS, COMBINES }; /* number[0]; the operation and the type of COMBINES are those of atomics */
enum { UNIT = 16 };

/* A place in shared memory of the cluster, NULL after a fault. */
static uint8_t *place_in_cluster(Warp *warp, const Instruction *i, uint32_t address, uint64_t size, int rank,
                                 uint64_t unit) {
    const Launch *launch = warp->launch;
    uint64_t byte = byte_of(address) - (uint64_t)launch->shared_base;
    Block *block = rank < launch->cluster_blocks ? warp->block->cluster->block[rank] : 0;
    if (!block || byte > (uint64_t)launch->shared_bytes || byte + size > (uint64_t)launch->shared_bytes) {
        fail(warp, i, OUT_OF_BOUNDS, 0, (int64_t)address);
        return 0;
    }
    if (address % unit) {
        fail(warp, i, MISALIGNED, 0, (int64_t)address);
        return 0;
    }
    for (const int32_t *bounds = launch->shared_arrays; bounds < launch->shared_arrays + 2 * launch->shared_array_count;
         bounds += 2)
        if (byte >= (uint64_t)bounds[0] && byte < (uint64_t)bounds[1] && byte + size > (uint64_t)bounds[1]) {
            fail(warp, i, OUT_OF_BOUNDS, 0, (int64_t)address); /* it would end in another array */
            return 0;
        }
    return block->shared + byte;
}

/* The array of global memory that holds all the bytes, -1 after a fault. */
static int array_of(Warp *warp, const Instruction *i, uint64_t address, uint64_t size, int writes) {
    int found = allocation_of(warp->launch, address, (int)size);
    if (found < 0 || (writes && !may_write(&warp->launch->allocations[found], address, address + size))) {
        fail(warp, i, OUT_OF_BOUNDS, 0, (int64_t)address);
        return -1;
    }
    if (address % UNIT) {
        fail(warp, i, MISALIGNED, 0, (int64_t)address);
        return -1;
    }
    return found;
}

/* A lane's value of a source; of two registers if `is_wide`. */
static uint64_t value_of(const Warp *warp, const Instruction *i, int k, int lane, int is_wide) {
    uint64_t low = (*row_at(warp, i->source[k], 0))[lane];
    return is_wide ? low | (uint64_t)(*row_at(warp, i->source[k], 1))[lane] << 32 : low;
}

static void combine(const Instruction *i, uint8_t *there, const uint8_t *begin, uint64_t size) {
    size_t each = (size_t)size_of_type(i);
    for (uint64_t at = 0; at < size; at += each) {
        uint64_t old = 0, value = 0;
        memcpy(&old, there + at, each);
        memcpy(&value, begin + at, each);
        old = updated(i, old, value, 0);
        memcpy(there + at, &old, each);
    }
}

/* A copy goes line by line of shared memory; the first byte there has the same place in its line as in the block. */
static void count_bulk(Warp *warp, const Instruction *i, int slot, uint64_t place, uint64_t shared, uint64_t size,
                       int is_far) {
    int64_t *sums = sums_of(warp, i, slot);
    sums[REQUESTS]++;
    sums[LANES]++;
    sums[USEFUL_BYTES] += (int64_t)size;
    sums[IDEAL_SECTORS] += (int64_t)((size + SECTOR_BYTES - 1) / SECTOR_BYTES);
    if (slot >= warp->launch->allocation_count) return;
    sums[UNCERTAIN] += is_far;
    for (uint64_t at = 0, step; at < size; at += step) {
        step = LINE_BYTES - (shared + at) % LINE_BYTES;
        if (step > size - at) step = size - at;
        sums[SECTORS] += (int64_t)((place + at + step - 1) / SECTOR_BYTES - (place + at) / SECTOR_BYTES + 1);
    }
}

static void copy_of_lane(Warp *warp, const Instruction *i, int lane) {
    int what = i->number[0], own = warp->block->rank;
    uint64_t to = value_of(warp, i, 0, lane, 1), from = value_of(warp, i, 1, lane, what == FETCHES);
    const int of_ptx = (i->flags & OF_PTX) != 0;
    uint64_t given = value_of(warp, i, 2, lane, 0), size = of_ptx ? given : (given & 0xffff) * UNIT;
    uint32_t target = (uint32_t)to, counter = (uint32_t)(to >> 32);
    uint8_t *far = 0, *begin = 0;
    if (size % UNIT) {
        fail(warp, i, MISALIGNED, lane, (int64_t)size);
        return;
    }
    int slot = warp->launch->allocation_count + CLUSTER - SHARED, is_far = 0;
    if (what != SENDS) {
        uint64_t address = what == FETCHES ? from : to;
        slot = array_of(warp, i, address, size, what != FETCHES);
        if (slot < 0) return;
        const Allocation *allocation = &warp->launch->allocations[slot];
        far = allocation->bytes + (address - allocation->base);
    }
    if (what != FETCHES) {
        begin = place_in_cluster(warp, i, (uint32_t)from, size, own, UNIT);
        if (!begin) return;
    }
    if (warp->launch->checking && what != SENDS)
        check_copied(warp, i, slot, lane, what == FETCHES ? from : to, size,
                     what == FETCHES ? READS : what == PUTS ? WRITES : UPDATES);
    BulkWatch *watch = warp->block->bulk;
    if (what == PUTS || what == COMBINES) {
        warp->results->copies++;
        if (watch) bulk_puts(warp, i, lane, (uint32_t)(begin - warp->block->shared), (uint32_t)size);
        if (what == PUTS) memcpy(far, begin, size);
        else combine(i, far, begin, size);
        warp->results->changes++;
    } else {
        int is_multicast = (i->flags & MULTICAST) != 0;
        uint64_t ranks = !is_multicast ? 1ull << rank_of(warp, target)
                         : of_ptx      ? value_of(warp, i, 3, lane, 0)
                                       : given >> 16;
        for (uint64_t rest = ranks; rest; rest &= rest - 1) {
            int rank = __builtin_ctzll(rest), counted = is_multicast ? rank : (int)rank_of(warp, counter);
            uint8_t *there = place_in_cluster(warp, i, target, size, rank, UNIT);
            uint8_t *bar = place_in_cluster(warp, i, counter, 8, counted, 8);
            if (!there || !bar) return;
            Block *target_block = warp->block->cluster->block[rank];
            is_far |= rank != own;
            warp->results->copies++;
            /* a reader of it tests an mbarrier of its own block */
            if (watch && counted != rank) fail(warp, i, HAZARD, lane, 0);
            else if (watch)
                bulk_comes(warp, i, lane, target_block, (uint32_t)(there - target_block->shared), (uint32_t)size,
                           (uint32_t)(bar - target_block->shared));
            memmove(there, what == FETCHES ? far : begin, size);
            Block *counter_block = warp->block->cluster->block[counted];
            if (knows_phases(counter_block)) warp_arrives(warp, counter_block, (uint32_t)(bar - counter_block->shared));
            change(warp, counter_block, bar, 0, 0, (uint64_t)0 - size);
        }
    }
    if (warp->launch->counting)
        count_bulk(warp, i, slot, what == FETCHES ? from : to, what == FETCHES ? target : from, size, is_far);
}

/* In machine code a warp makes one copy, in PTX each of its threads. */
static void copy_bulk(Warp *warp, const Instruction *i, uint32_t mask) {
    uint32_t rest = i->flags & OF_PTX ? mask : mask & (0u - mask);
    for (; rest && !warp->results->fault; rest &= rest - 1) copy_of_lane(warp, i, __builtin_ctz(rest));
}

/* UTMACMDFLUSH: the copies to global memory since the last one are a group. */
static void close_bulk(Warp *warp, const Instruction *i, uint32_t mask) {
    (void)i, (void)mask;
    if (warp->block->bulk) bulk_group_closed(warp);
}

const NamedOperation BULK[] = {
    {"arrive", arrive},
    {"phase ended", phase_ended},
    {"copy bulk", copy_bulk},
    {"close bulk", close_bulk},
    {0, 0},
};
