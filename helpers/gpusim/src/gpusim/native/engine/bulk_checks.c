/* The race detector for bulk copies: the rules of checks/bulk_checks.py, which gives their reasons and writes the
 * messages. A copy or an access is a fault, HAZARD, where that module would report a finding.
 *
 * Each thread has a vector clock of `width` entries: a time of each warp and a phase of each mbarrier that it has
 * acquired. Of copies between blocks of a cluster only the arrival is checked: accesses of other blocks are not tracked
 * here. */
#include "checks.h"

enum { UNIT = 16, MOST_BARRIERS = 64, MOST_PUTS = 256, LOADS = 0, STORES = 1 };

/* A copy to global memory that its thread has not waited for. age: how many groups have been closed since, -1 while its
 * own is open. */
typedef struct {
    int32_t thread, age;
    uint32_t first, end; /* units */
} Put;

struct BulkWatch {
    size_t size; /* of all numbers */
    uint32_t warps, width, barriers, puts, has_put;
    uint32_t *now;                   /* by warp */
    uint32_t *knows;                 /* by thread */
    uint32_t *arrived, *ended;         /* by mbarrier: clocks joined on arrival, and as of the end of the last phase */
    uint32_t *phases, *place;        /* by mbarrier: how many have ended, and where it is */
    uint32_t *phase, *barrier;       /* by unit: of the copy to it, 0 for none */
    uint32_t *last[2], *read_by_put; /* by unit and warp: when it was accessed, and copied from */
    Put put[MOST_PUTS];
    uint32_t numbers[];
};

BulkWatch *make_bulk_watch(const Launch *launch) {
    size_t warps = (size_t)(launch->threads + WARP - 1) / WARP, width = warps + MOST_BARRIERS;
    size_t units = (size_t)launch->shared_bytes / UNIT + 1;
    size_t size = warps * (1 + WARP * width) + 2 * MOST_BARRIERS * (width + 1) + units * (2 + 3 * warps);
    BulkWatch *watch = malloc(sizeof *watch + size * sizeof *watch->numbers);
    if (!watch) return 0;
    watch->size = size;
    watch->warps = (uint32_t)warps;
    watch->width = (uint32_t)width;
    watch->now = watch->numbers;
    watch->knows = watch->now + warps;
    watch->arrived = watch->knows + warps * WARP * width;
    watch->ended = watch->arrived + MOST_BARRIERS * width;
    watch->phases = watch->ended + MOST_BARRIERS * width;
    watch->place = watch->phases + MOST_BARRIERS;
    watch->phase = watch->place + MOST_BARRIERS;
    watch->barrier = watch->phase + units;
    watch->last[LOADS] = watch->barrier + units;
    watch->last[STORES] = watch->last[LOADS] + units * warps;
    watch->read_by_put = watch->last[STORES] + units * warps;
    return watch;
}

void begin_bulk_watch(BulkWatch *watch) {
    memset(watch->numbers, 0, watch->size * sizeof *watch->numbers);
    for (uint32_t w = 0; w < watch->warps; w++) watch->now[w] = 1;
    watch->barriers = watch->puts = watch->has_put = 0;
}

/* ---- vector clocks */

static uint32_t *known_by(const BulkWatch *watch, uint32_t thread) {
    return watch->knows + (size_t)thread * watch->width;
}

static void join(const BulkWatch *watch, uint32_t *to, const uint32_t *from) {
    for (uint32_t k = 0; k < watch->width; k++) to[k] = to[k] > from[k] ? to[k] : from[k];
}

/* The number of the mbarrier at a byte, -1 if there are too many. */
static int number_of(BulkWatch *watch, uint32_t byte) {
    for (uint32_t n = 0; n < watch->barriers; n++)
        if (watch->place[n] == byte) return (int)n;
    if (watch->barriers == MOST_BARRIERS) return -1;
    watch->place[watch->barriers] = byte;
    return (int)watch->barriers++;
}

void bulk_met(Block *block, const uint32_t *threads) {
    BulkWatch *watch = block->bulk;
    uint32_t *all = 0;
    for (uint32_t t = 0; t < watch->warps * WARP; t++) {
        if (threads && !(threads[t / WARP] >> t % WARP & 1)) continue;
        if (all) join(watch, all, known_by(watch, t));
        else all = known_by(watch, t);
    }
    if (!all) return;
    for (uint32_t w = 0; w < watch->warps; w++)
        if (!threads || threads[w]) all[w] = watch->now[w]++;
    for (uint32_t t = 0; t < watch->warps * WARP; t++)
        if ((!threads || threads[t / WARP] >> t % WARP & 1) && known_by(watch, t) != all)
            memcpy(known_by(watch, t), all, watch->width * sizeof *all);
}

void bulk_met_in_warp(const Warp *warp, uint32_t mask) {
    const BulkWatch *watch = warp->block->bulk;
    uint32_t *known = known_by(watch, (uint32_t)(warp->number * WARP + __builtin_ctz(mask)));
    for (uint32_t rest = mask & (mask - 1); rest; rest &= rest - 1)
        join(watch, known, known_by(watch, (uint32_t)(warp->number * WARP + __builtin_ctz(rest))));
    for (uint32_t rest = mask & (mask - 1); rest; rest &= rest - 1)
        memcpy(known_by(watch, (uint32_t)(warp->number * WARP + __builtin_ctz(rest))), known,
               watch->width * sizeof *known);
}

void bulk_arrives(Warp *warp, const Instruction *i, const Request *request) {
    BulkWatch *watch = warp->block->bulk;
    uint32_t rest = request->active;
    while (rest) {
        uint64_t byte = request->address[__builtin_ctz(rest)];
        int number = number_of(watch, (uint32_t)byte);
        if (number < 0) {
            fail(warp, i, HAZARD, __builtin_ctz(rest), (int64_t)byte);
            return;
        }
        uint32_t *arrived = watch->arrived + (size_t)number * watch->width;
        for (uint32_t lanes = rest; lanes; lanes &= lanes - 1) {
            int lane = __builtin_ctz(lanes);
            if (request->address[lane] != byte) continue;
            rest &= ~(1u << lane);
            join(watch, arrived, known_by(watch, (uint32_t)(warp->number * WARP + lane)));
        }
        arrived[warp->number] = watch->now[warp->number]++;
    }
}

void bulk_phase_ended(Block *block, uint32_t byte) {
    BulkWatch *watch = block->bulk;
    int number = number_of(watch, byte);
    if (number < 0) return; /* a fault for the thread that observes its end */
    watch->phases[number]++;
    memcpy(watch->ended + (size_t)number * watch->width, watch->arrived + (size_t)number * watch->width,
           watch->width * sizeof *watch->arrived);
}

void bulk_found_ended(Warp *warp, const Instruction *i, const Request *request, uint32_t lanes) {
    BulkWatch *watch = warp->block->bulk;
    for (; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes), number = number_of(watch, (uint32_t)request->address[lane]);
        if (number < 0) {
            fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
            return;
        }
        uint32_t *known = known_by(watch, (uint32_t)(warp->number * WARP + lane));
        join(watch, known, watch->ended + (size_t)number * watch->width);
        known[watch->warps + (uint32_t)number] = watch->phases[number];
    }
}

/* ---- accesses */

/* Whether a thread with this clock has acquired the completion of the copy to a unit. */
static int has_come(const BulkWatch *watch, const uint32_t *known, uint32_t unit) {
    return watch->phase[unit] <= known[watch->warps + watch->barrier[unit]];
}

/* Whether all that other warps did to a unit at these times is known. */
static int knows_of(const BulkWatch *watch, const uint32_t *known, const uint32_t *times, uint32_t unit, uint32_t own) {
    const uint32_t *of_unit = times + (size_t)unit * watch->warps;
    for (uint32_t w = 0; w < watch->warps; w++)
        if (w != own && of_unit[w] > known[w]) return 0;
    return 1;
}

/* Whether a copy to global memory that no thread has waited for may still read one of these units. */
static int is_being_put(const BulkWatch *watch, uint32_t first, uint32_t end) {
    for (uint32_t p = 0; p < watch->puts; p++)
        if (watch->put[p].first < end && first < watch->put[p].end) return 1;
    return 0;
}

void bulk_access(Warp *warp, const Instruction *i, const Request *request, int touch) {
    BulkWatch *watch = warp->block->bulk;
    uint32_t own = (uint32_t)warp->number, *last = watch->last[touch == READS ? LOADS : STORES];
    for (uint32_t rest = request->active; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint32_t unit = (uint32_t)request->address[lane] / UNIT;
        const uint32_t *known = known_by(watch, own * WARP + (uint32_t)lane);
        int writes_early = touch != READS && watch->has_put &&
                           (is_being_put(watch, unit, unit + 1) ||
                            !knows_of(watch, known, watch->read_by_put, unit, own));
        if (!has_come(watch, known, unit) || writes_early) {
            fail(warp, i, HAZARD, lane, (int64_t)request->address[lane]);
            return;
        }
        last[(size_t)unit * watch->warps + own] = watch->now[own];
    }
}

/* ---- copies */

void bulk_comes(Warp *warp, const Instruction *i, int lane, Block *block, uint32_t byte, uint32_t size,
                uint32_t counter) {
    BulkWatch *watch = block->bulk;
    uint32_t own = (uint32_t)warp->number, first = byte / UNIT, end = first + size / UNIT;
    const uint32_t *known = known_by(watch, own * WARP + (uint32_t)lane);
    const int is_own = block == warp->block;
    int number = number_of(watch, counter), is_free = number >= 0 && !(is_own && is_being_put(watch, first, end));
    for (uint32_t unit = first; unit < end && is_free; unit++) {
        is_free = !is_own || (has_come(watch, known, unit) && knows_of(watch, known, watch->last[LOADS], unit, own) &&
                              knows_of(watch, known, watch->last[STORES], unit, own));
        watch->phase[unit] = watch->phases[number] + 1;
        watch->barrier[unit] = (uint32_t)number;
    }
    if (!is_free) fail(warp, i, HAZARD, lane, byte);
    /* In the shadow cells it counts as written before the last barrier. */
    for (uint64_t at = byte, end = byte + size; at < end;) {
        Cell *cell = cell_of(block->shadow, at, end, &at);
        if (!cell->written) cell->written = BEFORE_ALL;
    }
}

void bulk_puts(Warp *warp, const Instruction *i, int lane, uint32_t byte, uint32_t size) {
    BulkWatch *watch = warp->block->bulk;
    uint32_t own = (uint32_t)warp->number, first = byte / UNIT, end = first + size / UNIT;
    const uint32_t *known = known_by(watch, own * WARP + (uint32_t)lane);
    int is_there = watch->puts < MOST_PUTS;
    for (uint32_t unit = first; unit < end && is_there; unit++)
        is_there = has_come(watch, known, unit) && knows_of(watch, known, watch->last[STORES], unit, own);
    if (!is_there) {
        fail(warp, i, HAZARD, lane, byte);
        return;
    }
    watch->has_put = 1;
    watch->put[watch->puts++] = (Put){.thread = warp->number * WARP + lane, .age = -1, .first = first, .end = end};
}

/* In machine code a warp asks, of which another lane may have counted as the first. */
void bulk_group_closed(const Warp *warp) {
    BulkWatch *watch = warp->block->bulk;
    for (uint32_t p = 0; p < watch->puts; p++)
        if (watch->put[p].thread / WARP == warp->number) watch->put[p].age++;
}

void bulk_awaited(const Warp *warp, int pending) {
    BulkWatch *watch = warp->block->bulk;
    uint32_t left = 0, own = (uint32_t)warp->number;
    for (uint32_t p = 0; p < watch->puts; p++) {
        const Put copy = watch->put[p];
        if (copy.thread / WARP != warp->number || copy.age < pending) {
            watch->put[left++] = copy;
            continue;
        }
        for (uint32_t unit = copy.first; unit < copy.end; unit++) {
            size_t at = (size_t)unit * watch->warps + own;
            watch->read_by_put[at] = watch->last[LOADS][at] = watch->now[own];
        }
    }
    watch->puts = left;
}
