/* A quick watch over shared and global memory.
 *
 * For every word it keeps who wrote and who read it last, and when. Times are those that order threads: the number of the
 * block's barriers that came before (`epoch`), and of the warp's since then (`sync`). What follows from this is enough to
 * say that there is no race; where it is not, the launch is a case for simulator/sanitizer, which knows more (fences,
 * equal values, whether a loaded value is used) and says it in sentences: Python executes the launch again for it. So this
 * watch may suspect the innocent, and must not miss anybody. */
#include "checks.h"

enum { MANY_OF_WARP = 0x4000, MANY = 0x8000 }; /* readers and writers beside single threads of the block */

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

static int suspicious(Warp *warp, Word *word, uint32_t thread, int touch) {
    uint32_t epoch = warp->block->epoch;
    if (!settled(warp->block, word)) return 1;
    int both_update = touch == UPDATES && word->updated && word->written == epoch;
    if (word->written && !both_update && !ordered(warp, thread, word->writer, word->written, word->write_sync)) return 1;
    if (touch == READS || touch == UPDATES) {
        if (!word->written) return 1; /* nobody wrote it */
    }
    if (touch != READS && word->read && !ordered(warp, thread, word->reader, word->read, word->read_sync)) return 1;
    if (touch == READS) {
        if (word->read != epoch) word->reader = (uint16_t)thread;
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
    return 0;
}

static void check_shared(Warp *warp, const Instruction *i, const Request *request, int width, int touch) {
    int shift = warp->launch->shared_granule;
    Word *words = warp->block->words;
    if (warp->sync >= 0xfffe || warp->groups_closed >= 0xfff0) {
        fail(warp, i, HAZARD, 0, 0); /* beyond what the numbers here can count */
        return;
    }
    const uint64_t end = (uint64_t)warp->launch->shared_bytes;
    for (uint32_t rest = request->active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        if (request->address[lane] + (uint64_t)width > end) { /* a row of LDSM that no active lane reads */
            fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
            return;
        }
        uint64_t first = request->address[lane] >> shift, last = (request->address[lane] + (uint64_t)width - 1) >> shift;
        for (uint64_t word = first; word <= last; word++) {
            if (suspicious(warp, &words[word], (uint32_t)(warp->number * WARP + lane), touch)) {
                fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                return;
            }
        }
    }
    if (touch == COPIES) warp->copies_open = 1;
}

/* Global memory: who wrote and read a word, as 1 + the thread's number in the grid. Different threads may share a word
 * only if nobody writes it, or all accesses are atomic or strong. */
enum { STRONG_ONES = 0xfffffffeu, ANYBODY = 0xffffffffu };

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
    int shift = warp->launch->global_granule, strong = touch == UPDATES || (i->strong & SEES_GRID) || i->is_strong;
    uint64_t threads = (uint64_t)warp->block->id * (uint64_t)warp->launch->threads + (uint64_t)(warp->number * WARP) + 1;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t who = strong ? (uint32_t)STRONG_ONES : (uint32_t)(threads + (uint64_t)lane);
        uint64_t at = request->address[lane] - one->base;
        for (uint64_t word = at >> shift; word <= (at + (uint64_t)width - 1) >> shift; word++) {
            GlobalWord *w = &words[word];
            if ((w->writer && w->writer != who) || (touch != READS && w->reader && w->reader != who)) {
                fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
                return;
            }
            if (touch != READS) w->writer = who;
            else w->reader = w->reader && w->reader != who ? (uint32_t)ANYBODY : who;
        }
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

/* `slot` is the array of the first lane. Others may look into other arrays, through a pointer chosen at run time. */
static void check_global(Warp *warp, const Instruction *i, int slot, const Request *request, int width, int touch) {
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

void check_access(Warp *warp, const Instruction *i, int space, int slot, const Request *request, int width, int touch) {
    if (space == SHARED) check_shared(warp, i, request, width, touch);
    else if (space == GLOBAL) check_global(warp, i, slot, request, width, touch);
    else check_local(warp, i, request, width, touch);
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
    if (warp->launch->checking && mask != warp->living) fail(warp, i, HAZARD, __builtin_ctz(mask), 0);
    for (; (int64_t)warp->awaited < upto; warp->awaited++)
        warp->awaited_in[warp->awaited % COPY_GROUPS] = warp->block->epoch;
}

void check_end(Warp *warp, const Instruction *i) {
    if (warp->copies_open || warp->last_copies > warp->awaited) fail(warp, i, HAZARD, 0, 0);
}
