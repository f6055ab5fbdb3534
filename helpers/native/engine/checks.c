/* A quick watch over shared and global memory.
 *
 * For every word it keeps who wrote and who read it last, and when. Times are those that order threads: the number of the
 * block's barriers that came before (`epoch`), and of the warp's since then (`sync`). What follows from this is enough to
 * say that there is no race; where it is not, the launch is a case for simulator/sanitizer, which knows more (fences,
 * equal values, whether a loaded value is used) and says it in sentences: Python executes the launch again for it. So this
 * watch may suspect the innocent, and must not miss anybody.
 *
 * A pipeline may load one time more than it multiplies. So what a load finds that nobody wrote is followed: it is
 * suspicious when an instruction reads the register, unless only to copy it, and forgotten when one writes it. */
#include "checks.h"

enum { MANY_OF_WARP = 0x4000, MANY = 0x8000 }; /* readers and writers beside single threads of the block */

/* ---- who hands on what it did: a fence, and then an atomic operation or another strong access; whoever makes such an
 * access later knows of it, in the block if the fence is one of the block. Of other blocks it must be an access of the same
 * variable, or of one by which another block passes on what it has heard. Times are numbers of events. */
enum { STRONG_ONES = 0xfffffffeu, ANYBODY = 0xffffffffu, WITH_STRENGTH = 0x80000000u, NEVER = 0x7fffffffu,
       MOST_EVENTS = 0x7ffffff0u };

static uint32_t tick(Results *results) { return results->now < MOST_EVENTS ? ++results->now : results->now; }

static uint32_t later(uint32_t one, uint32_t other) { return one > other ? one : other; }

static uint32_t earlier(uint32_t one, uint32_t other) { return one < other ? one : other; }

/* By lane: what it did before this is known to those who meet others, in the grid. */
static uint32_t *told_of(const Warp *warp, int number) {
    return warp->results->told + ((size_t)warp->block->id * (size_t)warp->block->warps + (size_t)number) * WARP;
}

void note_fence(Warp *warp, uint32_t mask, int of_block) {
    if (!warp->results->told) return;
    uint32_t now = tick(warp->results);
    if (!of_block) warp->block->fenced = warp->results->fenced = now;
    for (; mask; mask &= mask - 1) {
        int lane = __builtin_ctz(mask);
        warp->order.fenced_in_block[lane] = now;
        if (!of_block) warp->order.fenced[lane] = now;
    }
}

void note_warp_barrier(Warp *warp, uint32_t mask) {
    if (warp->block->bulk && mask) bulk_met_in_warp(warp, mask);
    if (!warp->results->told) return;
    Order *order = &warp->order;
    uint32_t now = tick(warp->results), met = 0, met_in_block = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        met = later(met, order->met[__builtin_ctz(rest)]);
        met_in_block = later(met_in_block, order->met_in_block[__builtin_ctz(rest)]);
    }
    for (; mask; mask &= mask - 1) {
        int lane = __builtin_ctz(mask);
        order->barrier[lane] = now, order->met[lane] = met, order->met_in_block[lane] = met_in_block;
    }
}

/* The lanes of `mask` tell others what they did before their fences. So do those for whom they may speak: who came to a
 * barrier of the warp behind its own fence, or before the fence of one of these. */
static void tell(uint32_t *told, const uint32_t *fenced, const uint32_t *barrier, uint32_t mask) {
    uint32_t last = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) last = later(last, fenced[__builtin_ctz(rest)]);
    for (int lane = 0; lane < WARP; lane++) {
        uint32_t known = last > barrier[lane] ? barrier[lane] : earlier(fenced[lane], barrier[lane]);
        if (mask >> lane & 1) known = fenced[lane];
        told[lane] = later(told[lane], known);
    }
}

/* A block hears what others have left at a place, and leaves there what it has heard, and when it last made a fence. */
static void exchange_news(Warp *warp, uint64_t place, int reads, int writes) {
    const int32_t *grid = warp->launch->grid;
    size_t blocks = (size_t)grid[0] * (size_t)grid[1] * (size_t)grid[2], id = (size_t)warp->block->id;
    uint32_t *heard = warp->results->heard + id * (blocks + 1);
    uint32_t *left = warp->results->left + place % MEETING_PLACES * (blocks + 1);
    heard[id] = later(heard[id], warp->block->fenced);
    heard[blocks] = later(heard[blocks], warp->block->fenced); /* behind the last one, whether there is any news */
    if (!(reads && left[blocks]) && !(writes && heard[blocks])) return;
    for (size_t b = 0; b <= blocks; b++) {
        uint32_t news = later(heard[b], left[b]);
        if (reads) heard[b] = news;
        if (writes) left[b] = news;
    }
}

/* The same at the words that a strong access goes to. */
static void exchange_at(Warp *warp, const Request *request, int width, int touch) {
    if (!warp->results->heard || !warp->results->fenced) return;
    uint64_t before = 0;
    for (uint32_t rest = request->active; rest; rest &= rest - 1) {
        uint64_t word = request->address[__builtin_ctz(rest)] >> 2;
        for (int part = 0; word != before && part < (width + 3) / 4; part++)
            exchange_news(warp, word + (uint64_t)part, touch != WRITES, touch != READS);
        before = word;
    }
}

void note_cluster(Cluster *cluster) {
    for (int turn = 0; turn < 2; turn++) { /* all have told what they know when they hear */
        for (int rank = 0; rank < MOST_OF_CLUSTER; rank++) {
            Block *block = cluster->block[rank];
            if (block && block->warp[0].results->told && block->warp[0].results->heard)
                exchange_news(&block->warp[0], (uint64_t)(block->id - rank), 1, 1);
        }
    }
}

/* The lanes of `mask` make an atomic operation or another strong access, `of_block` if it is one to shared memory. */
static void meet_others(Warp *warp, uint32_t mask, int of_block) {
    Block *block = warp->block;
    uint32_t now = tick(warp->results);
    tell(warp->order.told_in_block, warp->order.fenced_in_block, warp->order.barrier, mask);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        warp->order.met_in_block[__builtin_ctz(rest)] = now;
        if (!of_block) warp->order.met[__builtin_ctz(rest)] = now;
    }
    if (of_block) return;
    warp->met_others = now;
    if (block->told_barrier != block->barrier || block->told_fence != block->fenced) {
        for (int w = 0; w < block->warps; w++) {
            uint32_t *told = told_of(warp, w);
            for (int lane = 0; lane < WARP; lane++) {
                uint32_t known = earlier(block->warp[w].order.fenced[lane], block->barrier);
                told[lane] = later(told[lane], block->fenced > block->barrier ? block->barrier : known);
            }
        }
        block->told_barrier = block->barrier;
        block->told_fence = block->fenced;
    }
    tell(told_of(warp, warp->number), warp->order.fenced, warp->order.barrier, mask);
}

/* For who is let go on at the barrier of a cluster it is as if it made a fence and an atomic operation. */
void note_passed(Warp *warp) {
    if (!warp->results->told) return;
    note_fence(warp, warp->living, 0);
    meet_others(warp, warp->living, 0);
}

void note_barrier(Block *block, Results *results) {
    if (!results->told) return;
    block->barrier = tick(results);
    for (int w = 0; w < block->warps; w++) block->met_others = later(block->met_others, block->warp[w].met_others);
}

static int is_strong(const Instruction *i, int touch) {
    return touch == UPDATES || (i->strong & SEES_GRID) || i->is_strong;
}

/* Whether what another thread, of a number in the grid, did at a time comes before what this lane does now. */
static int comes_before(const Warp *warp, int lane, uint32_t other, uint32_t time) {
    uint32_t threads = (uint32_t)warp->launch->threads, block = other / threads, thread = other % threads;
    const Order *own = &warp->order;
    uint32_t told = warp->results->told[(block * (uint32_t)warp->block->warps + thread / WARP) * WARP + thread % WARP];
    if (block != (uint32_t)warp->block->id) {
        uint32_t blocks = (uint32_t)(warp->launch->grid[0] * warp->launch->grid[1] * warp->launch->grid[2]);
        const uint32_t *heard = warp->results->heard;
        return told > time && later(own->met[lane], warp->block->met_others) > time &&
               (!heard || heard[(size_t)warp->block->id * (blocks + 1) + block] > time);
    }
    if (warp->block->barrier > time) return 1;
    const Warp *others = &warp->block->warp[thread / WARP];
    if (others == warp && earlier(own->barrier[lane], own->barrier[thread % WARP]) > time) return 1;
    return later(told, others->order.told_in_block[thread % WARP]) > time && own->met_in_block[lane] > time;
}

/* ---- shared memory */

/* What happened to a word before, since the last barrier of the block. */
static int ordered(const Warp *warp, uint32_t thread, uint16_t other, uint32_t epoch, uint16_t sync) {
    if (epoch != warp->block->epoch || other == thread) return 1;
    if (other == MANY) return 0;
    int same_warp = (other & MANY_OF_WARP ? other & (MANY_OF_WARP - 1) : other / WARP) == warp->number;
    return same_warp && sync < warp->sync;
}

/* A copy that is under way counts as written when its thread waits for it. 0 if nobody has yet. */
static int settled(const Block *block, Word *word) {
    if (!word->group) return 1;
    const Warp *owner = &block->warp[word->writer / WARP];
    uint32_t group = word->group - 1u;
    if (group >= owner->awaited || owner->groups_closed - group > COPY_GROUPS) return 0;
    word->written = owner->awaited_in[group % COPY_GROUPS];
    word->write_sync = 0xffff; /* in no order with other lanes before the next barrier */
    word->group = 0;
    return 1;
}

enum Verdict { FINE, SUSPICIOUS, UNWRITTEN };

/* Whether a single thread of the block did something at a time and has handed it on to this one. */
static int handed_on(const Warp *warp, uint32_t thread, uint16_t other, uint32_t time) {
    if (other >= MANY_OF_WARP) return 0;
    uint32_t of_grid = (uint32_t)warp->block->id * (uint32_t)warp->launch->threads + other;
    return comes_before(warp, (int)(thread % WARP), of_grid, time & ~WITH_STRENGTH);
}

/* Whether earlier accesses of a word, single or of several, are in an order with this one, because threads hand things on,
 * or need none, because all are strong. */
static int known_to(const Warp *warp, uint32_t thread, uint16_t other, uint32_t time, uint32_t strength) {
    return (time & strength) || handed_on(warp, thread, other, time);
}

/* `times`: of the word, NULL where nobody hands anything on. strength: WITH_STRENGTH for strong accesses, or 0. */
static int verdict_on(Warp *warp, Word *word, Times *times, uint32_t thread, int touch, uint32_t strength) {
    uint32_t epoch = warp->block->epoch;
    if (!settled(warp->block, word)) return SUSPICIOUS;
    int both_update = touch == UPDATES && word->updated && word->written == epoch;
    if (word->written && !both_update && !ordered(warp, thread, word->writer, word->written, word->write_sync) &&
        !(times && known_to(warp, thread, word->writer, times->written, strength)))
        return SUSPICIOUS;
    if (touch == UPDATES && !word->written) return SUSPICIOUS;
    if (touch != READS && word->read && !ordered(warp, thread, word->reader, word->read, word->read_sync) &&
        !(times && known_to(warp, thread, word->reader, times->read, strength)))
        return SUSPICIOUS;
    int alone = touch == READS && (word->read != epoch || (times && handed_on(warp, thread, word->reader, times->read)));
    if (times && touch == READS)
        times->read = warp->results->now | (alone || word->reader == thread ? strength : times->read & strength);
    if (times && touch != READS) times->written = touch == COPIES ? NEVER : warp->results->now | strength;
    if (touch == READS) {
        if (alone) word->reader = (uint16_t)thread;
        else if (word->reader != thread && word->reader != MANY) {
            int of = word->reader & MANY_OF_WARP ? word->reader & (MANY_OF_WARP - 1) : word->reader / WARP;
            word->reader = of == warp->number ? (uint16_t)(MANY_OF_WARP | of) : MANY;
        }
        word->read = epoch;
        word->read_sync = (uint16_t)warp->sync;
    } else {
        word->writer = both_update && word->writer != thread ? MANY : (uint16_t)thread;
        word->written = epoch;
        word->write_sync = (uint16_t)warp->sync;
        word->updated = touch == UPDATES;
        if (touch == COPIES) word->group = (uint16_t)(warp->groups_closed + 1);
    }
    return touch == READS && !word->written ? UNWRITTEN : FINE;
}

static int may_go_unused(const Warp *warp, const Instruction *i) {
    return warp->launch->uses && warp->launch->uses[i->index].may_go_unused;
}

/* A lane has loaded what nobody wrote into a register. 0 if that is not to be followed. */
static int hold(Warp *warp, const Instruction *i, int32_t row, int lane) {
    if (!may_go_unused(warp, i)) return 0;
    warp->held[row / 64] |= 1ull << row % 64;
    warp->held_by[row] |= 1u << lane;
    warp->holds = 1;
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
    warp->holds = any != 0;
}

/* The usual case of a write or a copy, in short: it comes after all that others did to the word. 0: `verdict_on` has to look. */
static inline int surely_written(const Warp *warp, Word *word, Times *times, uint32_t thread, int touch) {
    if (word->group || !ordered(warp, thread, word->writer, word->written, word->write_sync)) return 0;
    if (!ordered(warp, thread, word->reader, word->read, word->read_sync)) return 0;
    word->writer = (uint16_t)thread;
    word->written = warp->block->epoch;
    word->write_sync = (uint16_t)warp->sync;
    word->updated = 0;
    if (touch == COPIES) word->group = (uint16_t)(warp->groups_closed + 1);
    if (times) times->written = touch == COPIES ? NEVER : warp->results->now;
    return 1;
}

/* The usual case of a read: it comes after the write, and if others have read the word since the last barrier, then in the
 * same request, or nobody hands anything on. */
static inline int surely_read(const Warp *warp, Word *word, Times *times, uint32_t thread) {
    const uint32_t epoch = warp->block->epoch;
    if (word->group || !word->written || !ordered(warp, thread, word->writer, word->written, word->write_sync)) return 0;
    const uint16_t many_of_warp = (uint16_t)(MANY_OF_WARP | warp->number);
    if (word->read != epoch) word->reader = (uint16_t)thread;
    else if (word->reader != thread && word->reader != many_of_warp && word->reader != MANY) {
        if (times && times->read != warp->results->now) return 0;
        word->reader = word->reader < MANY_OF_WARP && word->reader / WARP == warp->number ? many_of_warp : MANY;
    }
    word->read = epoch;
    word->read_sync = (uint16_t)warp->sync;
    if (times) times->read = warp->results->now;
    return 1;
}

/* A word that several blocks of a cluster use. Between two barriers of the cluster only one may, unless all read, or all
 * update it by atomic operations. What lies between arriving at a barrier and waiting there is for those who know more. */
static int check_between(Warp *warp, Between *between, Word *word, int touch) {
    Cluster *cluster = warp->block->cluster;
    uint16_t own = (uint16_t)(1u << warp->block->rank);
    if (between->phase != cluster->phase) {
        memset(between, 0, sizeof *between);
        between->phase = cluster->phase;
        if (!word->group) word->written = word->written != 0, word->read = 0;
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

/* Look at lanes for the usual cases: the answer are those that are left, from the first one that is none. (Inlined for
 * each kind of access, so that the loops are short.) */
static inline __attribute__((always_inline)) uint32_t usual_ones(const Warp *warp, const Request *request, uint32_t rest,
                                                                 int width, int touch, Times *times) {
    const int shift = warp->launch->shared_granule;
    const uint64_t end = (uint64_t)warp->launch->shared_bytes;
    Word *words = warp->block->words;
    for (; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t thread = (uint32_t)(warp->number * WARP + lane);
        uint64_t byte = request->address[lane];
        if (byte + (uint64_t)width > end) return rest;
        for (uint64_t w = byte >> shift; w <= (byte + (uint64_t)width - 1) >> shift; w++) {
            Times *time = times ? &times[w] : 0;
            if (!(touch == READS ? surely_read(warp, &words[w], time, thread)
                                 : surely_written(warp, &words[w], time, thread, touch)))
                return rest;
        }
    }
    return 0;
}

static uint32_t unusual_ones(const Warp *warp, const Request *request, uint32_t rest, int width, int touch, Times *times) {
    if (touch == READS && times) return usual_ones(warp, request, rest, width, READS, times);
    if (touch == READS) return usual_ones(warp, request, rest, width, READS, 0);
    if (touch == WRITES && times) return usual_ones(warp, request, rest, width, WRITES, times);
    if (touch == WRITES) return usual_ones(warp, request, rest, width, WRITES, 0);
    if (touch == COPIES) return usual_ones(warp, request, rest, width, COPIES, times);
    return rest;
}

static void check_shared(Warp *warp, const Instruction *i, int space, const Request *request, int width, int touch,
                         const Pattern *known) {
    int shift = warp->launch->shared_granule;
    Word *words = warp->block->words;
    Between *between = warp->block->between;
    Times *times = space == SHARED ? warp->block->times : 0; /* what comes from other blocks is for their barriers */
    if (times && tick(warp->results) == MOST_EVENTS) times = 0;
    const uint32_t strength = touch != COPIES && (touch == UPDATES || i->is_strong) ? WITH_STRENGTH : 0;
    if ((between && warp->owes) || warp->sync >= 0xfffe || warp->groups_closed >= 0xfff0) {
        fail(warp, i, HAZARD, 0, 0); /* beyond what the numbers here can count */
        return;
    }
    const uint64_t end = (uint64_t)warp->launch->shared_bytes;
    /* A third lane that reads the same words changes nothing. It may be the one to which they were not handed on, though:
     * where that counts, all are looked at. */
    uint32_t rest = request->active, left_out = 0;
    if (known && touch == READS && !may_go_unused(warp, i)) rest = known->leaders, left_out = request->active & ~rest;
    if (!between && space == SHARED && !strength) rest = unusual_ones(warp, request, rest, width, touch, times);
    for (; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t thread = (uint32_t)(warp->number * WARP + lane);
        uint64_t byte = request->address[lane];
        if (space == CLUSTER) {
            Block *target = warp->block->cluster->block[byte >> RANK_SHIFT];
            target->touched = target->cluster->phase;
            words = target->words;
            between = target->between;
            byte = byte_of(byte);
        }
        if (byte + (uint64_t)width > end) { /* a row of LDSM that no active lane reads */
            fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
            return;
        }
        uint64_t first = byte >> shift, last = (byte + (uint64_t)width - 1) >> shift;
        for (uint64_t word = first; word <= last; word++) {
            if (between && !check_between(warp, &between[word], &words[word], touch)) {
                fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                return;
            }
            Times *time = times ? &times[word] : 0;
            if (!strength && touch == READS && surely_read(warp, &words[word], time, thread)) continue;
            if (!strength && touch == WRITES && surely_written(warp, &words[word], time, thread, touch)) continue;
            if (times) rest |= left_out & (0u - (1u << lane)), left_out = 0;
            int verdict = verdict_on(warp, &words[word], time, thread, touch, strength);
            if (verdict == SUSPICIOUS || (verdict == UNWRITTEN && !hold(warp, i, i->d + (int32_t)((word - first) << shift >> 2), lane))) {
                fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                return;
            }
        }
    }
    if (touch == COPIES) warp->copies_open = 1;
}

/* ---- global memory: who wrote and read a word, as 1 + the thread's number in the grid. Different threads may share a word
 * only if nobody writes it, if all accesses are atomic or strong, or if one hands it over to the other. */

/* A thread accesses a word of an array through which blocks may wait for each other. 0 if it may be a race. */
static int check_in_time(const Warp *warp, int lane, GlobalWord *word, Times *time, uint32_t who, uint32_t strength,
                         int touch) {
    uint32_t now = warp->results->now;
    if (word->writer && word->writer != who && !(time->written & strength) &&
        !comes_before(warp, lane, word->writer - 1, time->written & ~WITH_STRENGTH))
        return 0;
    if (touch != READS) {
        if (word->reader && word->reader != who && !(time->read & strength) &&
            (word->reader == ANYBODY || !comes_before(warp, lane, word->reader - 1, time->read & ~WITH_STRENGTH)))
            return 0;
        word->writer = who;
        time->written = now | strength;
    } else if (word->reader && word->reader != who &&
               (word->reader == ANYBODY || !comes_before(warp, lane, word->reader - 1, time->read & ~WITH_STRENGTH))) {
        word->reader = ANYBODY; /* else who comes after this reader comes after that one, too */
        time->read = now | (time->read & strength);
    } else {
        word->reader = who;
        time->read = now | strength;
    }
    return now < MOST_EVENTS;
}

/* The active lanes of a request that lie in one array. */
static void check_array(Warp *warp, const Instruction *i, int slot, uint32_t lanes, const Request *request, int width,
                        int touch) {
    const Allocation *one = &warp->launch->allocations[slot];
    if (one->unwritten) {
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            int lane = __builtin_ctz(rest);
            uint64_t at = request->address[lane] - one->base;
            for (uint64_t item = at / one->item; item <= (at + (uint64_t)width - 1) / one->item; item++) {
                if (touch != WRITES && one->unwritten[item]) {
                    fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                    return;
                }
                if (touch != READS) one->unwritten[item] = 0;
            }
        }
    }
    GlobalWord *words = warp->results->watched[slot];
    if (!words) return;
    Times *times = warp->results->times[slot];
    int shift = warp->launch->global_granule, strong = is_strong(i, touch);
    uint64_t threads = (uint64_t)warp->block->id * (uint64_t)warp->launch->threads + (uint64_t)(warp->number * WARP) + 1;
    if (times) tick(warp->results);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t who = strong && !times ? (uint32_t)STRONG_ONES : (uint32_t)(threads + (uint64_t)lane);
        uint64_t at = request->address[lane] - one->base;
        for (uint64_t word = at >> shift; word <= (at + (uint64_t)width - 1) >> shift; word++) {
            GlobalWord *w = &words[word];
            if (times) {
                if (check_in_time(warp, lane, w, &times[word], who, strong ? WITH_STRENGTH : 0, touch)) continue;
                fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                return;
            }
            if ((w->writer && w->writer != who) || (touch != READS && w->reader && w->reader != who)) {
                fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                return;
            }
            if (touch != READS) w->writer = who;
            else w->reader = w->reader && w->reader != who ? (uint32_t)ANYBODY : who;
        }
    }
}

void check_copied(Warp *warp, const Instruction *i, int slot, int lane, uint64_t address, uint64_t size, int touch) {
    enum { AT_ONCE = 16 };
    Request one = {.active = 1u << lane};
    for (uint64_t at = 0; at < size && !warp->results->fault; at += AT_ONCE) {
        one.address[lane] = address + at;
        check_array(warp, i, slot, one.active, &one, AT_ONCE, touch);
    }
}

/* Look at the lanes that lie in an array; the answer are those that lie elsewhere. */
static uint32_t check_those_in(Warp *warp, const Instruction *i, int slot, uint32_t lanes, const Request *request,
                               int width, int touch) {
    const Allocation *one = &warp->launch->allocations[slot];
    uint32_t inside = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (request->address[lane] >= one->base && request->address[lane] + (uint64_t)width <= one->end)
            inside |= 1u << lane;
    }
    if (inside) check_array(warp, i, slot, inside, request, width, touch);
    return lanes & ~inside;
}

/* `slot` is the array of the first lane. Others may look into other arrays, through a pointer chosen at run time, but not
 * where the pattern is known. */
static void check_global(Warp *warp, const Instruction *i, int slot, const Request *request, int width, int touch,
                         const Pattern *known) {
    if (known) {
        check_array(warp, i, slot, request->active, request, width, touch);
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
    for (uint32_t rest = request->active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint8_t *written = warp->block->local_written +
                           (size_t)(warp->number * WARP + lane) * (size_t)warp->launch->local_bytes + request->address[lane];
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
        first.active &= 0u - first.active;
        request = &first;
        known = 0;
    }
    if (warp->holds && space != LOCAL && warp->launch->uses[i->index].copied == TO_MEMORY)
        use_held(warp, i, &warp->launch->uses[i->index], request->active);
    if (space == GLOBAL) check_global(warp, i, slot, request, width, touch, known);
    else if (space == LOCAL) check_local(warp, i, request, width, touch);
    else check_shared(warp, i, space, request, width, touch, known);
    if (space == SHARED && warp->block->bulk && touch != COPIES && !warp->results->fault)
        bulk_access(warp, i, request, touch);
    if (warp->results->told && (space == GLOBAL ? is_strong(i, touch) : touch == UPDATES || i->is_strong)) {
        meet_others(warp, request->active, space != GLOBAL);
        if (space == GLOBAL) exchange_at(warp, request, width, touch);
    }
}

void check_named(Warp *warp, const Instruction *i, uint32_t mask) {
    uint32_t outside = i->number[3] ? mask & ~(uint32_t)i->number[3] : 0;
    if (warp->launch->checking && outside) fail(warp, i, HAZARD, __builtin_ctz(outside), 0);
}

void close_copies(Warp *warp, const Instruction *i, uint32_t mask) {
    if (warp->launch->checking && mask != warp->living) fail(warp, i, HAZARD, __builtin_ctz(mask), 0);
    warp->groups_closed++;
    if (warp->copies_open) warp->last_copies = warp->groups_closed; /* 1 + the number of the group */
    warp->copies_open = 0;
}

void await_copies(Warp *warp, const Instruction *i, uint32_t mask) {
    int64_t upto = (int64_t)warp->groups_closed - i->number[0];
    if (warp->block->bulk) bulk_awaited(warp, i->number[0]);
    if ((int64_t)warp->awaited >= upto) return;
    if (warp->launch->checking && mask != warp->living) fail(warp, i, HAZARD, __builtin_ctz(mask), 0);
    for (; (int64_t)warp->awaited < upto; warp->awaited++)
        warp->awaited_in[warp->awaited % COPY_GROUPS] = warp->block->epoch;
}

void check_end(Warp *warp, const Instruction *i) {
    if (warp->copies_open || warp->last_copies > warp->awaited) fail(warp, i, HAZARD, 0, 0);
}
