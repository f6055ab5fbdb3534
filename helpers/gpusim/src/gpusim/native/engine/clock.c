#include "clock.h"

#include "memory.h"

/* How often, and for how many steps, a clock is waited for until it leaps, each time by a part of the wait. */
enum { PATIENT = 16, FEW_STEPS = 64, MANY_STEPS = 4096, PART = 8 };
enum { MOST_PASSED_OVER = 16 };       /* rounds: those behind may wait for the one ahead, if they read no clock */
enum { LONGEST_SLEEP = 1000 * 1000 }; /* nanoseconds, which are clocks here */

/* ---- the order of warps in time */

/* Whether the warp polls memory: as far as one turn shows; and surely, and not a clock. */
static int seems_to_wait(const Warp *warp) { return !can_go_on(warp) || executed(warp) > warp->polls_since; }

static int stands_still(const Warp *warp) {
    return !can_go_on(warp) || (!warp->clock.decides && executed(warp) - warp->polls_since > MANY_STEPS);
}

static void further_behind(int64_t *furthest, int64_t time) {
    if (*furthest == NONE_BEHIND || time < *furthest) *furthest = time;
}

static void come_up(Warp *warp, int64_t time) {
    if (time > time_of(warp)) warp->clock.ahead += time - time_of(warp);
}

void look_at_work(const Block *block, Slowest *furthest) {
    for (int w = 0; w < block->warps; w++) {
        const Warp *warp = &block->warp[w];
        if (!warp->groups) continue;
        if (!seems_to_wait(warp)) further_behind(&furthest->working, time_of(warp));
        if (time_of(warp) > furthest->latest) furthest->latest = time_of(warp);
    }
}

void look_behind(Block *block, Slowest *furthest) {
    const int64_t now = furthest->working == NONE_BEHIND ? furthest->latest : furthest->working;
    for (int w = 0; w < block->warps; w++) {
        Warp *warp = &block->warp[w];
        if (!warp->groups) continue;
        if (seems_to_wait(warp)) come_up(warp, now);
        warp->clock.stands = stands_still(warp);
        if (warp->clock.stands) continue;
        further_behind(&furthest->any, time_of(warp));
        if (warp->clock.decides) further_behind(&furthest->reader, time_of(warp));
    }
}

/* That time has passed is progress for a thread that waits for it; an endless wait comes to an end all the same. */
void let_time_pass(Results *results, const Slowest *furthest) {
    if (furthest->any != NONE_BEHIND) results->horizon = furthest->any;
    results->reader = furthest->reader;
    if (results->horizon <= results->seen_horizon + results->seen_horizon / PART) return;
    results->seen_horizon = results->horizon;
    results->progress++;
}

int comes_next(Warp *warp) {
    const Results *results = warp->results;
    Clock *clock = &warp->clock;
    if (clock->stands) {
        int64_t now = results->horizon;
        if (results->changes != warp->left_at && results->changed_at > now && !sees_nothing_new(warp))
            now = results->changed_at;
        come_up(warp, now);
    } else if (is_ahead(warp) && !warp->has_time) {
        const int may_leap = results->reader != NONE_BEHIND && time_of(warp) > results->reader + APART;
        if (may_leap || clock->passed_over++ < MOST_PASSED_OVER) return 0;
    }
    clock->passed_over = 0;
    return 1;
}

/* ---- readings */

/* The place of the instruction among those that read the clock. */
static Reader *reader_of(Clock *clock, const Instruction *i) {
    for (int k = 0; k < FEW_READERS; k++)
        if (clock->reader[k].by == i->index + 1) return &clock->reader[k];
    Reader *entry = &clock->reader[clock->newest = (clock->newest + 1) % FEW_READERS];
    *entry = (Reader){.by = i->index + 1};
    return entry;
}

/* A loop that only polls the clock is fast-forwarded, so that it does not execute as many instructions as it waits
 * clocks. It is one that reads the clock again and again by one instruction, with no access to memory between, and a
 * few steps apart, or for long, for a loop that takes times may look the same for a while; or one that polls the same
 * words of memory for long and reads the same values. Of several readings in a loop the clock leaps before the one that
 * directly follows another: what the others time stays. */
static void leap(Warp *warp, const Instruction *i, uint32_t mask, int64_t now) {
    Clock *clock = &warp->clock;
    Reader *reader = reader_of(clock, i);
    const uint32_t touched = clock->touched & mask;
    const int is_near = now - reader->step <= FEW_STEPS, is_again = reader->is_last;
    const int polls = reader->lanes && reader->step >= warp->polls_since && now - warp->polls_since > MANY_STEPS;
    clock->touched &= ~mask;
    for (int k = 0; k < FEW_READERS; k++) {
        Reader *entry = &clock->reader[k];
        if (entry == reader ? !touched : !(entry->lanes & mask)) continue;
        entry->reads = 0;
        entry->is_last = entry == reader;
    }
    if (!reader->reads++) reader->first_step = now, reader->first_time = now + clock->ahead;
    reader->lanes = mask;
    reader->is_last = clock->is_read = 1;
    reader->step = now;
    int64_t from = -1;
    if ((is_near && reader->reads > PATIENT) || now - reader->first_step > MANY_STEPS) from = reader->first_time;
    else if ((is_again || !touched) && polls) from = clock->polls_from;
    if (from < 0 || clock->ahead > INT64_MAX / 4) return;
    clock->ahead += (now + clock->ahead - from) / PART + 1;
}

/* CS2R d, SR_CLOCKLO, S2R d, SR_CLOCKHI and the like. number[0]: the upper half is read, of 32 bits; number[1]: of the
 * timer that all warps share, which goes on from one to the next. The engine in NumPy says the same of a warp
 * (engine/clock.py). */
static void read_clock(Warp *warp, const Instruction *i, uint32_t mask) {
    Results *results = warp->results;
    const Instruction *first = i;
    while (first->block < 0 && first->index > 0) first--;
    const int64_t now = executed(warp) - first->length + (i - first);
    results->is_timed = 1;
    if (!i->number[0]) leap(warp, i, mask, now);
    if (i->number[1] && now + warp->clock.ahead < results->shown) warp->clock.ahead = results->shown - now;
    const int64_t time = now + warp->clock.ahead;
    if (i->number[1]) results->shown = time;
    write_row(warp, i->d, broadcast((uint32_t)(i->number[0] ? time >> 32 : time)), mask);
    if (i->d_width == 2) write_row(warp, i->d + 1, broadcast((uint32_t)(time >> 32)), mask);
}

/* NANOSLEEP a. */
static void sleep_for(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes nanoseconds = source(warp, i, 0);
    uint32_t longest = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const uint32_t value = each_of(&nanoseconds)[__builtin_ctz(rest)];
        if (value > longest) longest = value;
    }
    warp->clock.ahead += longest < LONGEST_SLEEP ? longest : LONGEST_SLEEP;
}

const NamedOperation CLOCKS[] = {
    {"clock", read_clock},
    {"sleep", sleep_for},
    {0, 0},
};
