// One streaming multiprocessor, cycle by cycle: how long a launch takes, and what its warps wait for meanwhile.
//
// The input is a trace: for each warp of the blocks that one SM holds at first, the basic blocks that it executes and
// what each of its memory instructions asks for. The trace is recorded by the functional simulator (trace_* below) and
// then executed by `simulate`, as often as a launch has waves of blocks.
//
// There is no queue of events. When an instruction is issued, the times at which its result will be there, its operands
// will have been read and its place in a queue will be free follow at once, by reserving the units that it goes through
// in order. So a warp needs only three numbers to know when it may issue again, and cycles in which no warp can are
// skipped. Units that serve requests out of order (DRAM) get a latency that is drawn, from a fixed seed.
//
// Times are cycles of the SM clock. What is measured on a GPU comes in `Machine`; nothing here is one product's.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "counting.h"
#include "native.h"

enum { SCHEDULERS = 4, SCOREBOARDS = 6, NO_SCOREBOARD = 7, QUEUE = 64, GROUPS = 64, WAYS = 8, MOST_WARPS = 64,
       TAG_BANKS = 4, CALENDAR = 8192,
       // loads that say how many wait; cycles by which they may be behind on their way back
       LAST_LOADS = 64, BEHIND = 8 };

// ---- what the machine is like -------------------------------------------------------------------------------------

// One list, so that Python finds the fields by name: see `machine_fields`.
#define MACHINE_FIELDS(F) \
  F(fma_interval)      /* cycles between two FMAs on one half of the FMA pipe */ \
  F(heavy_interval)    /* the same for integer multiplications, which only one half can do */ \
  F(alu_interval) F(fp64_interval) F(xu_interval) F(uniform_interval) F(tensor_interval) \
  F(read_slack)        /* cycles that reading operands may fall behind before issue stops */ \
  F(write_conflict)    /* cycles of FMA issue that a merged 128-bit shared load costs, at the write port */ \
  F(branch)            /* cycles from a taken jump to the next instruction, beyond the stall count */ \
  F(xu_latency) F(fp64_latency) F(tensor_latency) F(special_latency) F(constant_latency) \
  F(shared_latency)    /* LDS without conflict, issue to use */ \
  F(wavefront_latency) /* what each further wavefront or line adds to it */ \
  F(wide_latency)      /* what a load of 16 bytes takes beyond one of 4, wavefronts apart; one of 8 a third of it */ \
  F(shuffle_latency) F(shared_atomic_latency) F(redux_interval) F(redux_latency) \
  F(mio_interval)      /* cycles between two instructions of one scheduler to the memory units */ \
  F(lg_interval)       /* the same of those to global memory */ \
  F(mio_entries) F(lg_entries) /* of the queues before them, for each scheduler */ \
  F(operand_latency)   /* issue until a memory instruction has read its registers */ \
  F(tag_bank_0) F(tag_bank_1) /* bits of a line's number whose parity chooses the bank of its tag in L1, as numbers */ \
  F(l1_latency) F(l1_bytes) F(l1_in_flight) /* global load that hits; size; requests that may be under way */ \
  F(l1_fill)           /* cycles of L1 that it takes to write a whole line that arrives */ \
  F(l1_mixing)         /* cycles that loads lose on their way back if half of them wait, times four */ \
  F(l2_latency) F(l2_spread) F(l2_bytes_per_cycle) \
  F(l2_request)        /* cycles that what is asked for of a line takes of the way to L2 at least */ \
  F(l2_bytes)          /* of what all SMs ask for, that L2 holds */ \
  F(dram_latency) F(dram_spread) F(dram_bytes_per_cycle) F(dram_fetch) /* sectors that DRAM delivers at least */ \
  F(dram_batch) F(dirty_batch) /* cycles for which DRAM serves others at a time; while dirty lines are evicted */ \
  F(dram_alone)        /* factor for a sector that is written alone in its line */ \
  F(dram_scatter)      /* factor for fetches of less than a whole line, here and there */ \
  F(store_bytes_per_cycle) F(store_packet) /* cycles of the way to L2 that each line of a store takes at least */ \
  F(partial_store)     /* factor for sectors that a store fills only in part */ \
  F(store_ahead)       /* cycles that stores may be behind before the queue stops */ \
  F(write_back)        /* share of written sectors that go to DRAM during the launch */ \
  F(write_ahead)       /* cycles of DRAM writes that L2 puts off */ \
  F(evict_latency) F(evict_bytes) /* dirty lines left in L2: until so many bytes were fetched, */ \
  F(evict_factor)      /* fetches cost this factor */ \
  F(atomic_latency) F(atomic_return) F(atomic_lane) /* cycles of an addition, GPU-wide, to one place; */ \
  F(atomic_float)      /* of one of floats, beside integers */ \
  F(atomic_bytes_per_cycle) F(atomic_packet) \
  F(barrier_latency) F(barrier_interval) \
  F(block_interval)    /* between starts of two blocks */ \
  F(block_turnaround)  /* from a block's end to its successor's start */ \
  F(code_first) F(code_next) /* first fetch of a code line; of the one after a line that was fetched */ \
  F(code_lines) F(code_refill) /* 128-byte lines of the instruction cache; cycles per line when a loop exceeds it */ \
  F(constant_first)    /* the first read of the kernel's parameters */ \
  F(sms)               /* that share L2 and DRAM in this launch */

typedef struct {
#define FIELD(name) double name;
  MACHINE_FIELDS(FIELD)
#undef FIELD
} Machine;

EXPORT const char *machine_fields(void) {
#define FIELD(name) #name " "
  return MACHINE_FIELDS(FIELD);
#undef FIELD
}

// ---- instructions ---------------------------------------------------------------------------------------------------

enum Unit { CONTROL, FMA, HEAVY, ALU, FP64, XU, UNIFORM, TENSOR, SPECIAL, CONSTANT, SHARED_LOAD, SHARED_STORE,
            SHARED_ATOMIC, SHUFFLE, REDUX, GLOBAL_LOAD, GLOBAL_STORE, GLOBAL_ATOMIC, COPY, COPY_GROUP, COPY_WAIT,
                BARRIER };

// Why a warp does not issue: the names in Nsight Compute are in cycles/stalls.py, in this order.
enum Reason { SELECTED, WAIT, LONG_SCOREBOARD, SHORT_SCOREBOARD, AT_BARRIER, MIO_THROTTLE, LG_THROTTLE, MATH_THROTTLE,
              DISPATCH, NOT_SELECTED, NO_INSTRUCTION, BRANCHING, REASONS };

typedef struct {
  int32_t unit;
  int32_t stall;                    // cycles until the warp's next instruction may issue
  int32_t wait;                     // scoreboards that it waits for, as bits
  int32_t write_scoreboard, read_scoreboard;
  int32_t reads_even, reads_odd;    // registers that it reads from each bank, without those in the reuse cache
  int32_t bytes;                    // that one lane moves
  int32_t pending;                  // COPY_WAIT: groups that may still be under way, -1 if it waits for none
  int32_t past_l1;                  // the load does not look into L1
  int32_t reads_constant;           // a parameter, so that the first one waits for the constant cache
  int32_t of_floats;                // an atomic addition
  // of its pipe in units of that pipe's, where it is not 1 (a wider tensor instruction)
  int32_t interval;
} Instruction;

// ---- patterns: what a warp's access asks for, relative to its first line --------------------------------------------

typedef struct {
  int64_t relative[WARP];           // byte address less 128 × base; 0 for inactive lanes
  int64_t other[WARP];              // asynchronous copies: where they are read from, relative likewise
  uint32_t active, reading;
  int32_t width, kind;              // kind: enum Kind
  // What follows from it:
  int32_t wavefronts, merged;       // shared memory; merged: two registers come back in a cycle
  int32_t lines, sectors, full;     // global: lines, sectors, and sectors that would be enough for the bytes
  int32_t banks;                    // global loads: cycles that the banks take in which the data of L1 lie
  int32_t repeated;                 // most lanes that name one address
  int32_t line[WARP];               // global: offset of each line from the base, in lines
  uint8_t mask[WARP];               // and its sectors
} Pattern;

enum Kind { SHARED_LD, SHARED_ST, SHARED_AT, GLOBAL, ASYNC };

// base: line number; position: in the stream
typedef struct { int64_t base; int32_t pattern, instruction, position; } Access;

typedef struct {
  int32_t *block; int64_t blocks, block_room;    // the stream of basic blocks
  Access *access; int64_t accesses, access_room;
  int32_t stream;                                // warps with equal streams share one, after trace_finish
} Stream;

typedef struct { int64_t start, period, times; } Loop;  // `times` repetitions of `period` entries of a stream

typedef struct {
  int32_t blocks, threads, warps, total;         // warps: of a block; total: of all traced blocks
  Stream *stream;
  Pattern *pattern; int64_t patterns, pattern_room;
  int64_t *table; int64_t table_size;            // hash → pattern + 1
  Loop **loops; int32_t *loop_count;             // by warp (of those that own their stream)
} Trace;

static uint64_t mixed(uint64_t x) {
  x ^= x >> 33; x *= 0xff51afd7ed558ccdULL; x ^= x >> 33; x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

static int bits(uint32_t x) { return __builtin_popcount(x); }

static Request request_of(const int64_t *address, uint32_t active) {
  Request request = {.active = active};
  for (int i = 0; i < WARP; ++i) request.address[i] = (uint64_t)address[i];
  return request;
}

// What atomics of shared memory take: as many cycles as the busiest bank has lanes in a phase. Words count as often as
// lanes name them, so that it is no rule of counting.c.
static int updates(const Request *request, int width) {
  int banks = 128 / width, lanes = WARP * 4 / width, total = 0;
  for (int from = 0; from < WARP; from += lanes) {
    int in_bank[WARP] = {0}, most = 0;
    for (int i = from; i < from + lanes; ++i) {
      if (!(request->active >> i & 1)) continue;
      int here = ++in_bank[request->address[i] / (uint64_t)width % (uint64_t)banks];
      if (here > most) most = here;
    }
    total += most;
  }
  return total;
}

static void analyse(Pattern *p) {
  const int64_t *global = p->kind == ASYNC ? p->other : p->relative;
  uint32_t lanes = p->kind == ASYNC ? p->reading : p->active;
  Request request = request_of(p->relative, p->active), origin = request_of(global, lanes);
  if (p->kind == SHARED_AT) p->wavefronts = updates(&request, p->width < 4 ? 4 : p->width);
  else if (p->kind < SHARED_AT) p->wavefronts = shared_wavefronts(&request, p->width, p->kind == SHARED_ST, &p->merged);
  // The source comes through L1, whose lines lie in the same banks.
  else if (p->kind == ASYNC) p->wavefronts = copy_wavefronts(&request, &origin, p->width);
  for (int i = 0; i < WARP; ++i) {
    if (!(p->active >> i & 1)) continue;
    int same = 0;
    for (int k = 0; k < WARP; ++k) same += (p->active >> k & 1) && p->relative[k] == p->relative[i];
    if (same > p->repeated) p->repeated = same;
  }
  if (p->kind < GLOBAL) return;
  for (int i = 0; i < WARP; ++i) {
    if (!(lanes >> i & 1)) continue;
    int last = (int)((global[i] + p->width - 1) >> 5);
    for (int sector = (int)(global[i] >> 5); sector <= last; ++sector) {
      int line = sector >> 2, k = p->lines - 1;
      while (k >= 0 && p->line[k] != line) --k;
      if (k < 0) { if (p->lines == WARP) continue; k = p->lines++; p->line[k] = line; p->mask[k] = 0; }
      p->mask[k] |= (uint8_t)(1 << (sector & 3));
    }
  }
  for (int k = 0; k < p->lines; ++k) p->sectors += bits(p->mask[k]);
  p->full = (bits(lanes) * p->width + 31) / 32;
  // L1's data lie in the banks of shared memory, so that lanes which name other words of one bank are served one after
  // the other, as there, but nothing is merged.
  p->banks = wavefronts_in_phases(&origin, p->width);
}

// ---- recording a trace ---------------------------------------------------------------------------------------------

EXPORT Trace *trace_new(int32_t blocks, int32_t threads) {
  Trace *t = calloc(1, sizeof *t);
  t->blocks = blocks; t->threads = threads; t->warps = (threads + WARP - 1) / WARP; t->total = blocks * t->warps;
  t->stream = calloc((size_t)t->total, sizeof *t->stream);
  t->loops = calloc((size_t)t->total, sizeof *t->loops);
  t->loop_count = calloc((size_t)t->total, sizeof *t->loop_count);
  t->table_size = 1 << 12; t->table = calloc((size_t)t->table_size, sizeof *t->table);
  return t;
}

EXPORT void trace_free(Trace *t) {
  for (int w = 0; w < t->total; ++w) { free(t->stream[w].block); free(t->stream[w].access); free(t->loops[w]); }
  free(t->stream); free(t->loops); free(t->loop_count); free(t->pattern); free(t->table); free(t);
}

// The active lanes of a warp among `mask`, one byte for each thread of all blocks; NULL: all threads.
static uint32_t lanes_of(const Trace *t, int w, const uint8_t *mask) {
  int first = w % t->warps * WARP, n = t->threads - first < WARP ? t->threads - first : WARP;
  if (!mask) return n == WARP ? 0xffffffffu : (1u << n) - 1;
  const uint8_t *m = mask + (size_t)(w / t->warps) * t->threads + first;
  uint32_t lanes = 0;
  for (int i = 0; i < n; ++i) lanes |= (uint32_t)(m[i] != 0) << i;
  return lanes;
}

static void *grown(void *data, int64_t *room, int64_t needed, size_t size) {
  if (needed <= *room) return data;
  *room = needed > 2 * *room ? needed : 2 * *room;
  if (*room < 64) *room = 64;
  return realloc(data, (size_t)*room * size);
}

EXPORT void trace_executed(Trace *t, int32_t block, const uint8_t *mask) {
  for (int w = 0; w < t->total; ++w) {
    if (mask && !lanes_of(t, w, mask)) continue;
    Stream *s = &t->stream[w];
    s->block = grown(s->block, &s->block_room, s->blocks + 1, sizeof *s->block);
    s->block[s->blocks++] = block;
  }
}

static int32_t interned(Trace *t, const Pattern *p) {
  size_t size = offsetof(Pattern, wavefronts);
  uint64_t h = 1469598103934665603ULL;
  for (size_t i = 0; i < size / 8; ++i) h = mixed(h ^ ((const uint64_t *)p)[i]);
  for (int64_t at = (int64_t)(h & (uint64_t)(t->table_size - 1));; at = (at + 1) & (t->table_size - 1)) {
    int64_t found = t->table[at];
    if (found) { if (!memcmp(&t->pattern[found - 1], p, size)) return (int32_t)(found - 1); continue; }
    t->pattern = grown(t->pattern, &t->pattern_room, t->patterns + 1, sizeof *t->pattern);
    t->pattern[t->patterns] = *p; analyse(&t->pattern[t->patterns]);
    t->table[at] = ++t->patterns;
    break;
  }
  int32_t number = (int32_t)(t->patterns - 1);
  if (2 * t->patterns > t->table_size) {
    int64_t *old = t->table, n = t->table_size;
    t->table_size *= 2; t->table = calloc((size_t)t->table_size, sizeof *t->table);
    for (int64_t i = 0; i < n; ++i) {
      if (!old[i]) continue;
      uint64_t g = 1469598103934665603ULL; const uint64_t *words = (const uint64_t *)&t->pattern[old[i] - 1];
      for (size_t k = 0; k < size / 8; ++k) g = mixed(g ^ words[k]);
      int64_t at = (int64_t)(g & (uint64_t)(t->table_size - 1));
      while (t->table[at]) at = (at + 1) & (t->table_size - 1);
      t->table[at] = old[i];
    }
    free(old);
  }
  return number;
}

static int64_t made_relative(int64_t *to, const int64_t *from, uint32_t lanes) {
  int64_t low = INT64_MAX;
  for (int i = 0; i < WARP; ++i) if (lanes >> i & 1 && from[i] < low) low = from[i];
  low = lanes ? low >> 7 : 0;
  for (int i = 0; i < WARP; ++i) to[i] = lanes >> i & 1 ? from[i] - low * 128 : 0;
  return low;
}

static void noted(Trace *t, int w, int32_t instruction, int64_t base, const Pattern *p) {
  Stream *s = &t->stream[w];
  s->access = grown(s->access, &s->access_room, s->accesses + 1, sizeof *s->access);
  s->access[s->accesses++] = (Access){base, interned(t, p), instruction, (int32_t)(s->blocks - 1)};
}

// address: of each thread of all blocks; mask, read: one byte for each, or NULL for all of them.
EXPORT void trace_access(Trace *t, int32_t instruction, int32_t kind, int32_t width, const int64_t *address,
                         const uint8_t *mask) {
  for (int w = 0; w < t->total; ++w) {
    Pattern p; memset(&p, 0, sizeof p);
    p.active = lanes_of(t, w, mask); p.kind = kind; p.width = width;
    if (!p.active) continue;
    int64_t base = made_relative(p.relative, address + (size_t)(w / t->warps) * t->threads + w % t->warps * WARP,
                                 p.active);
    noted(t, w, instruction, base, &p);
  }
}

EXPORT void trace_copy(Trace *t, int32_t instruction, int32_t width, const int64_t *to, const int64_t *from,
                       const uint8_t *mask, const uint8_t *read) {
  for (int w = 0; w < t->total; ++w) {
    Pattern p; memset(&p, 0, sizeof p);
    p.active = lanes_of(t, w, mask); p.reading = read ? lanes_of(t, w, read) & p.active : p.active;
    p.kind = ASYNC; p.width = width;
    if (!p.active) continue;
    size_t first = (size_t)(w / t->warps) * t->threads + w % t->warps * WARP;
    made_relative(p.relative, to + first, p.active);
    noted(t, w, instruction, made_relative(p.other, from + first, p.reading), &p);
  }
}

// Repeat what all warps did in their last `entries` basic blocks `times` times, at addresses that move on each time as
// they did from the `entries` blocks before to the last. Returns 0, and changes nothing, if some warp did not do the
// same.
EXPORT int32_t trace_repeat(Trace *t, int64_t entries, int64_t times) {
  for (int w = 0; w < t->total; ++w) {
    const Stream *s = &t->stream[w];
    if (s->blocks < 2 * entries || memcmp(s->block + s->blocks - entries, s->block + s->blocks - 2 * entries,
                                          (size_t)entries * sizeof *s->block)) return 0;
    int64_t last = s->accesses, before;
    while (last > 0 && s->access[last - 1].position >= s->blocks - entries) --last;
    int64_t n = s->accesses - last;
    before = last - n;
    if (before < 0 || (before > 0 && s->access[before - 1].position >= s->blocks - 2 * entries)) return 0;
    for (int64_t i = 0; i < n; ++i) {
      const Access *a = &s->access[before + i], *b = &s->access[last + i];
      if (a->instruction != b->instruction || a->pattern != b->pattern || a->position + entries != b->position)
        return 0;
      // Shared memory is soon at its end: a loop that goes on there is about to come back, such as to its first stage.
      if (t->pattern[a->pattern].kind <= SHARED_AT && a->base != b->base) return 0;
    }
  }
  for (int w = 0; w < t->total; ++w) {
    Stream *s = &t->stream[w];
    int64_t n = 0;
    while (n < s->accesses && s->access[s->accesses - 1 - n].position >= s->blocks - entries) ++n;
    s->block = grown(s->block, &s->block_room, s->blocks + entries * times, sizeof *s->block);
    s->access = grown(s->access, &s->access_room, s->accesses + n * times, sizeof *s->access);
    for (int64_t i = 0; i < entries * times; ++i, ++s->blocks) s->block[s->blocks] = s->block[s->blocks - entries];
    for (int64_t i = 0; i < n * times; ++i, ++s->accesses) {
      Access a = s->access[s->accesses - n];
      a.base += a.base - s->access[s->accesses - 2 * n].base; a.position += (int32_t)entries;
      s->access[s->accesses] = a;
    }
  }
  return 1;
}

// ---- loops: where a stream repeats itself ---------------------------------------------------------------------------

// shorter loops are executed as they are; starts of a period that are tried
enum { FEWEST_TIMES = 12, CANDIDATES = 6 };

static int find_loops(const Stream *s, Loop *loop) {
  int64_t n = s->blocks; int found = 0;
  int32_t top = 0;
  for (int64_t i = 0; i < n; ++i) if (s->block[i] > top) top = s->block[i];
  int64_t *next = malloc((size_t)(n + 1) * sizeof *next), *last = malloc((size_t)(top + 1) * sizeof *last);
  for (int32_t b = 0; b <= top; ++b) last[b] = -1;
  for (int64_t i = n - 1; i >= 0; --i) { next[i] = last[s->block[i]]; last[s->block[i]] = i; }
  for (int64_t i = 0; i < n;) {
    int64_t best_period = 0, best_times = 0, at = next[i];
    for (int c = 0; c < CANDIDATES && at >= 0; ++c, at = next[at]) {
      int64_t period = at - i, length = 0;
      while (i + period + length < n && s->block[i + length] == s->block[i + period + length]) ++length;
      int64_t times = length / period + 1;
      if (times >= FEWEST_TIMES && times * period > best_times * best_period + period) {
        best_times = times;
        best_period = period;
      }
    }
    if (best_times) { loop[found++] = (Loop){i, best_period, best_times}; i += best_period * best_times; }
    else ++i;
  }
  free(next); free(last);
  return found;
}

// Find the loops; returns the number of warps with a stream of their own.
EXPORT int32_t trace_finish(Trace *t) {
  int different = 0;
  for (int w = 0; w < t->total; ++w) {
    Stream *s = &t->stream[w];
    s->stream = w;
    for (int v = w - 1; v >= 0 && v >= w - 8; --v) {  // neighbours mostly do the same
      Stream *o = &t->stream[t->stream[v].stream];
      if (o->blocks == s->blocks && !memcmp(o->block, s->block, (size_t)s->blocks * sizeof *s->block)) {
        s->stream = t->stream[v].stream;
        break;
      }
    }
    if (s->stream != w) continue;
    ++different;
    t->loops[w] = malloc((size_t)(s->blocks / FEWEST_TIMES + 1) * sizeof(Loop));
    t->loop_count[w] = find_loops(s, t->loops[w]);
  }
  return different;
}

// (warp instructions of all traced warps, accesses, patterns, repetitions of the longest loop) of the trace.
EXPORT void trace_facts(const Trace *t, const int32_t *block_length, int64_t *facts) {
  memset(facts, 0, 4 * sizeof *facts);
  for (int w = 0; w < t->total; ++w) {
    const Stream *s = &t->stream[w];
    for (int64_t i = 0; i < s->blocks; ++i) facts[0] += block_length[s->block[i]];
    facts[1] += s->accesses;
    for (int k = 0; k < t->loop_count[w]; ++k) if (t->loops[w][k].times > facts[3]) facts[3] = t->loops[w][k].times;
  }
  facts[2] = t->patterns;
}

// By stream entry, which one follows: a loop is left out but for `fraction` of its repetitions, half of them at its
// start and half at its end, and 8 at least.
static int32_t *shortened(const Trace *t, int w, double fraction) {
  const Stream *s = &t->stream[w];
  int32_t *next = malloc((size_t)(s->blocks + 1) * sizeof *next);
  for (int64_t i = 0; i < s->blocks; ++i) next[i] = (int32_t)(i + 1);
  for (int k = 0; k < t->loop_count[w]; ++k) {
    Loop l = t->loops[w][k];
    int64_t kept = (int64_t)((double)l.times * fraction + 0.5);
    if (kept < 8) kept = 8;
    if (kept >= l.times) continue;
    int64_t head = (kept + 1) / 2;
    next[l.start + head * l.period - 1] = (int32_t)(l.start + (l.times - (kept - head)) * l.period);
  }
  return next;
}

// ---- sharing: sectors that several SMs ask for --------------------------------------------------------------

// written: bytes of a sector that were stored, a bit for each.  begun: whether the warp that asked for it first stored
// a part of it only.
typedef struct { int64_t *key; uint64_t (*sms)[4]; uint32_t *written; uint8_t *begun; int64_t room, used; } Sectors;

EXPORT Sectors *sectors_new(void) {
  Sectors *s = calloc(1, sizeof *s);
  s->room = 1 << 14; s->key = calloc((size_t)s->room, sizeof *s->key); s->sms = calloc((size_t)s->room, sizeof *s->sms);
  s->written = calloc((size_t)s->room, sizeof *s->written); s->begun = calloc((size_t)s->room, sizeof *s->begun);
  return s;
}

EXPORT void sectors_free(Sectors *s) { free(s->key); free(s->sms); free(s->written); free(s->begun); free(s); }

static int64_t sector_slot(Sectors *s, int64_t sector) {
  int64_t at = (int64_t)(mixed((uint64_t)sector) & (uint64_t)(s->room - 1));
  while (s->key[at] && s->key[at] != sector + 1) at = (at + 1) & (s->room - 1);
  return at;
}

// Among the sectors that a warp has just asked for first, those that it stored a part of only.
static void note_begun(Sectors *s, const int64_t *fresh, int count) {
  for (int k = 0; k < count; ++k) {
    int64_t at = sector_slot(s, fresh[k]);
    s->begun[at] = s->written[at] != 0xffffffffu;
  }
}

// address, mask: of blocks × threads; sm: of each block; stored: bytes that each thread stores, 0 if it loads.
EXPORT void sectors_add(Sectors *s, const int64_t *address, const uint8_t *mask, int32_t blocks, int32_t threads,
                        const int32_t *sm, int32_t stored) {
  int64_t before = -1, fresh[WARP]; int count = 0;
  for (int b = 0; b < blocks; ++b) for (int i = 0; i < threads; ++i) {
    size_t k = (size_t)b * threads + i;
    if (i % WARP == 0) { note_begun(s, fresh, count); count = 0; }
    if (mask && !mask[k]) continue;
    int64_t sector = address[k] >> 5;
    if (i && sector == before && !stored) continue;
    before = sector;
    if (2 * s->used >= s->room) {
      Sectors old = *s;
      s->room *= 2; s->key = calloc((size_t)s->room, sizeof *s->key); s->sms = calloc((size_t)s->room, sizeof *s->sms);
      s->written = calloc((size_t)s->room, sizeof *s->written); s->begun = calloc((size_t)s->room, sizeof *s->begun);
      for (int64_t o = 0; o < old.room; ++o) {
        if (!old.key[o]) continue;
        int64_t at = sector_slot(s, old.key[o] - 1);
        s->key[at] = old.key[o]; s->written[at] = old.written[o]; s->begun[at] = old.begun[o];
        memcpy(s->sms[at], old.sms[o], sizeof *s->sms);
      }
      free(old.key); free(old.sms); free(old.written); free(old.begun);
    }
    int64_t at = sector_slot(s, sector);
    if (!s->key[at]) { s->key[at] = sector + 1; ++s->used; if (stored) fresh[count++] = sector; }
    s->sms[at][sm[b] >> 6 & 3] |= 1ULL << (sm[b] & 63);
    s->written[at] |= (uint32_t)(((1ULL << stored) - 1) << (address[k] & 31));
  }
  note_begun(s, fresh, count);
}

// (distinct sectors, the sum over sectors of the SMs that ask for them) within addresses [start, stop).
EXPORT void sectors_shared(const Sectors *s, int64_t start, int64_t stop, int64_t *result) {
  result[0] = result[1] = 0;
  for (int64_t i = 0; i < s->room; ++i) {
    if (!s->key[i] || (s->key[i] - 1) * 32 < start - 31 || (s->key[i] - 1) * 32 >= stop) continue;
    ++result[0];
    for (int k = 0; k < 4; ++k) result[1] += __builtin_popcountll(s->sms[i][k]);
  }
}

// (sectors that are written, those of them that are written in part, those of these that are alone in their line, those
// that are written whole but were begun in part, those of these that are alone so in their line) within addresses
// [start, stop).
EXPORT void sectors_written(Sectors *s, int64_t start, int64_t stop, int64_t *result) {
  memset(result, 0, 5 * sizeof *result);
  for (int64_t i = 0; i < s->room; ++i) {
    int64_t sector = s->key[i] - 1;
    if (!s->key[i] || !s->written[i] || sector * 32 < start - 31 || sector * 32 >= stop) continue;
    ++result[0];
    int others = 0, begun = 0, whole = s->written[i] == 0xffffffffu;
    for (int64_t near = sector & ~3LL; near < (sector | 3) + 1; ++near) {
      int64_t at = sector_slot(s, near);
      others += near != sector && s->key[at] && s->written[at]; begun += near != sector && s->key[at] && s->begun[at];
    }
    if (!whole) { ++result[1]; result[2] += !others; }
    else if (s->begun[i]) { ++result[3]; result[4] += !begun; }
  }
}

// ---- the SM ---------------------------------------------------------------------------------------------------------

// Of L1. key: of each line; used: when it was last; valid: its sectors that are there, or on their way until `arrives`.
typedef struct { uint64_t key[WAYS]; int64_t used[WAYS]; uint8_t valid[WAYS]; double arrives[WAYS][4]; } Set;
// Lines touched before: their sectors, four bits for those that were read and four for those that were written, and how
// much all SMs had brought into L2 when it was touched last.
typedef struct { uint8_t mask; float at; } Touched;
typedef struct { uint64_t *key; Touched *touched; int64_t room, used; } Seen;

static void seen_new(Seen *s, int64_t room) {
    *s = (Seen){calloc((size_t)room, 8), calloc((size_t)room, sizeof(Touched)), room, 0};
}

static Touched *seen_at(Seen *s, uint64_t key) {
  if (2 * s->used >= s->room) {
    Seen old = *s; seen_new(s, 2 * old.room);
    for (int64_t i = 0; i < old.room; ++i) if (old.key[i]) *seen_at(s, old.key[i] - 1) = old.touched[i];
    free(old.key); free(old.touched);
  }
  uint64_t at = mixed(key) & (uint64_t)(s->room - 1);
  while (s->key[at] && s->key[at] != key + 1) at = (at + 1) & (uint64_t)(s->room - 1);
  if (!s->key[at]) { s->key[at] = key + 1; ++s->used; }
  return &s->touched[at];
}

// Warps that are ready and wait for the same way into the core: to one pipe, or to one queue. What one waits for, all
// of them do: `spent` cycles in each state so far, `lost` those in which their scheduler issued nothing.
// CLOSED: the scheduler issues nothing there; BUSY: the pipe or the queue is
enum State { OPEN, CLOSED, BUSY, STATES };
enum Way { FREE, TO_FMA, TO_HEAVY, TO_ALU, TO_FP64, TO_XU, TO_UNIFORM, TO_TENSOR, TO_MIO, TO_LG, WAYS_IN };
typedef struct { uint64_t warps; double since, spent[STATES], lost[STATES]; int32_t state; } Class;

typedef struct {
  int32_t waiting, slot, block;                   // waiting: at a barrier
  int32_t traced, position, offset, pc;           // where it is in its stream; pc: of its next instruction
  int64_t access;
  double ready;                                   // when it may issue next, as far as itself is concerned
  double issued, until_wait, until_scoreboard;    // its last issue; how the time to `ready` divides up
  int32_t scoreboard_reason, wait_reason;
  double scoreboard[SCOREBOARDS]; int32_t kind[SCOREBOARDS];
  // asynchronous copies: when each group, and all before it, is done
  double group, groups[GROUPS]; int32_t group_count;
  double spent[STATES], lost[STATES];             // those of its `Class` when it became ready
} Warp;

typedef struct {
  int32_t instructions, basic_blocks, arrays, blocks, resident;  // blocks: to simulate; resident: at a time
  const Instruction *instruction;
  const int32_t *block_start, *block_stop;
  const int64_t *array_start, *array_stop;        // global memory
  const double *sharing;                          // by array: SMs that share a sector
  // by array: what DRAM does for a sector that is written, in whole sectors
  const double *written;
  double waves;                                   // of the whole launch: how often `resident` blocks begin on an SM
  double fraction;                                // of long loops' repetitions that are simulated
  int32_t cold, cold_code;                        // whether L2 and the instruction caches hold nothing of it at first
} Job;

typedef struct { int32_t warp, block, pc, reason; double issued, ready; } Event;

typedef struct {
  double cycles, instructions, blocks;
  double stalls[REASONS];
  // of `stalls`, what fell into cycles in which the scheduler issued nothing
  double lost[REASONS];
  double closed;                                  // such cycles, of all schedulers, in which only the way in was closed
  double l1_sectors, l1_hits, l2_sectors, dram_sectors, written_sectors, shared_wavefronts, lsu_cycles;
  double unit[32];                                // warp instructions by unit
  double dram_busy, l2_busy, store_busy, issue_slots;
} Result;

static const double NEVER = 1e300;

static double larger(double a, double b) { return a > b ? a : b; }
static double smaller(double a, double b) { return a < b ? a : b; }

// Until when a pipe is taken by what is issued now. Instructions are issued in whole cycles, a pipe need not be: what
// it was free before this cycle began counts for the instruction, as long as it was less than a cycle.
static double taken(double until, double now, double interval) { return (until > now - 1 ? until : now) + interval; }

typedef struct { uint64_t *bits; int64_t *before, room, last; } Busy;

// The warps of a scheduler. wake: when one may be able to issue, or waits for something else; closed: until when only
// the way in was closed; later: those that will be ready, the first at `soonest`; present: ways in that ready ones wait
// for, in `of`; refused: those of them that a full queue has turned away; ready, age: of each warp.
typedef struct {
  double wake, closed, soonest;
  uint64_t later, refused; uint32_t present;
  double ready[MOST_WARPS], age[MOST_WARPS];
  Class of[WAYS_IN];
} Waiting;

typedef struct {
  const Machine *m; const Job *job; const Trace *t;
  Warp *warp; int warps;
  int64_t lsu[CALENDAR];                          // cycle by cycle whether the unit of shared memory and L1 is taken
  // until when stores hold up all others; when each scheduler's last request came to L1
  double lg, lg_of[SCHEDULERS];
  // until when the way back from L1 is taken; of the last loads, the share that waited
  double back, late;
  // put_off: writes to DRAM that are to come; owed: reads that it has not been busy for; batch: at how many it will be
  double fill, l2, dram, put_off, owed, batch, store, barrier, constant, code_refill;
  double fma[SCHEDULERS][2], alu[SCHEDULERS], fp64[SCHEDULERS], xu[SCHEDULERS], uniform[SCHEDULERS], tensor[SCHEDULERS];
  double mio[SCHEDULERS], even[SCHEDULERS], odd[SCHEDULERS], dispatch[SCHEDULERS];
  // when each entry will be free, and which is next
  double mio_queue[SCHEDULERS][QUEUE], lg_queue[SCHEDULERS][QUEUE];
  int mio_oldest[SCHEDULERS], lg_oldest[SCHEDULERS], mio_entries, lg_entries;
  double write_at[SCHEDULERS][QUEUE]; int write_first[SCHEDULERS], write_last[SCHEDULERS];  // merged loads on their way
  double *in_flight; int oldest_in_flight;         // requests that missed or hit L1: when the data of each are there
  uint64_t tag_bank[2];
  Set *l1; int sets; uint64_t per_set; Seen seen;
  // by array: sectors that the first wave fetched, share of later ones from DRAM
  double *first_sectors, *again;
  double *first_written, *again_written;          // the same of sectors that it stored
  double *code; int64_t *code_used, code_clock;
  uint64_t random; double fetched, brought;       // sectors from DRAM, GPU-wide, for evictions; bytes that came into L2
  int64_t use; Result *r; double drain;
  Busy busy[SCHEDULERS]; Waiting waiting[SCHEDULERS];
} Sm;

// Which cycles of a scheduler are lost for nothing: a bit for each cycle, set where it issues or where its way in was
// closed, and for each word how many bits the words before it have. So `lost_between` needs no loop.
static void noted_busy(Busy *b, double from, double to) {
  for (int64_t cycle = (int64_t)from; cycle < (int64_t)to; ++cycle) {
    int64_t word = cycle >> 6;
    if (word >= b->room) {
      int64_t room = 2 * word + 64;
      b->bits = realloc(b->bits, (size_t)room * sizeof *b->bits);
      b->before = realloc(b->before, (size_t)room * sizeof *b->before);
      memset(b->bits + b->room, 0, (size_t)(room - b->room) * sizeof *b->bits);
      b->room = room;
    }
    while (b->last < word) {
      b->before[b->last + 1] = b->before[b->last] + __builtin_popcountll(b->bits[b->last]);
      ++b->last;
    }
    b->bits[word] |= 1ULL << (cycle & 63);
  }
}

static int64_t busy_before(const Busy *b, double cycle) {
  int64_t at = (int64_t)cycle, word = at >> 6;
  if (word > b->last) return b->before[b->last] + __builtin_popcountll(b->bits[b->last]);
  return b->before[word] + __builtin_popcountll(b->bits[word] & ((1ULL << (at & 63)) - 1));
}

static double lost_between(const Busy *b, double from, double to) {
  // instructions issue in whole cycles
  from = (double)(int64_t)(from + 0.999999); to = (double)(int64_t)(to + 0.999999);
  return to > from ? to - from - (double)(busy_before(b, to) - busy_before(b, from)) : 0;
}

static double drawn(Sm *s) {
  s->random = s->random * 6364136223846793005ULL + 1442695040888963407ULL;
  return (double)(s->random >> 33) / 2147483648.0;
}

// Take `cycles` of the unit that serves shared memory and L1, the first that are free from `start` on; returns the
// last. Requests of the four schedulers come there in another order than they were issued, so that gaps must be filled.
static double served(Sm *s, double start, double cycles) {
  int64_t at = (int64_t)(start + 0.999);
  for (int n = (int)cycles; n > 0; ++at) {
    if (s->lsu[at % CALENDAR] == at) continue;
    s->lsu[at % CALENDAR] = at; --n;
  }
  s->r->lsu_cycles += cycles;
  return (double)(at - 1);
}

// The cycles of L1 that a load takes: those of its data's banks, or of its tags, which lie in banks of their own.
static int passes(const Sm *s, const Pattern *p, int64_t base) {
  int in_bank[TAG_BANKS] = {0}, most = p->banks;
  for (int k = 0; k < p->lines; ++k) {
    uint64_t line = (uint64_t)(base + p->line[k]);
    int here = ++in_bank[__builtin_parityll(line & s->tag_bank[0]) | __builtin_parityll(line & s->tag_bank[1]) << 1];
    if (here > most) most = here;
  }
  return most;
}

// The bytes of an array; `unknown` for what lies in none.
static double size_of(const Sm *s, int array, double unknown) {
  return array < s->job->arrays ? (double)(s->job->array_stop[array] - s->job->array_start[array]) : unknown;
}

// Whether DRAM has to deal with a sector that this SM asks for, or stores, for the first time. All SMs together do not
// ask for more sectors than there are: what is left of an array when the first wave has begun is shared out among the
// later ones. What was there before is there still, as far as L2 can hold an array of that size.
static int is_new(Sm *s, double *first, double *again, int array, double sharing, int first_wave) {
  const Machine *m = s->m;
  double sectors = size_of(s, array, 1e18) / 32, once = first[array] * m->sms / sharing, share;
  if (first_wave) { first[array] += 1; share = once < sectors ? 1 : 0; }
  else {
    if (again[array] < 0) {
      double all = once * s->job->waves, left = smaller(all, sectors) - once;
      again[array] = all > once ? smaller(1, larger(0, left / (all - once))) : 1;
    }
    share = again[array];
    share += (1 - share) * larger(0, 1 - m->l2_bytes / (32 * sectors));
  }
  return share >= 1 || drawn(s) < share;
}

// Take so many cycles of DRAM to read, from `asked` on; returns when it is done. All SMs share it, and it serves a
// batch of requests after the other: now and then one waits for a while, most do not. Reads come first: writes are put
// off to cycles without reads, as long as L2 has room for them.
static double dram_read(Sm *s, double asked, double cycles, double batch) {
  if (asked > s->dram) { s->put_off = larger(0, s->put_off - (asked - s->dram)); s->dram = asked; }
  if ((s->owed += cycles) < s->batch) return s->dram;
  s->dram += s->owed; s->owed = 0; s->batch = batch * 2 * drawn(s);
  return s->dram;
}

// Returns from when on there is room for a write that takes so many cycles of DRAM.
static double dram_write(Sm *s, double at, double cycles) {
  dram_read(s, at, 0, 0);
  s->put_off += cycles; s->r->dram_busy += cycles;
  if (s->put_off <= s->m->write_ahead) return at;
  s->dram += s->put_off - s->m->write_ahead; s->put_off = s->m->write_ahead;
  return s->dram;
}

// When a sector that L1 does not have arrives from L2, or from DRAM through it. way: cycles of the way from L2.
static double from_l2(Sm *s, uint64_t key, int sector, double asked, double way, int array, double sharing,
                      int first_wave, int whole_line, int scattered) {
  const Machine *m = s->m;
  s->l2 = larger(s->l2, asked) + way;
  s->r->l2_sectors += 1; s->r->l2_busy += way;
  // The distance to a slice of L2 depends on the address: the same sector always comes from as far away.
  double place = (double)(mixed(key * 4 + (uint64_t)sector / 2) >> 40) / 16777216.0;
  double arrives = s->l2 + m->l2_latency + m->l2_spread * (2 * place - 1);
  if (!s->job->cold) return arrives;
  Touched *line = seen_at(&s->seen, key);
  if (line->mask && s->brought - line->at > m->l2_bytes) line->mask = 0;  // others have driven it out of L2
  line->at = (float)s->brought;
  if (line->mask >> sector & 1) return arrives;
  line->mask |= (uint8_t)(1 << sector);
  if (!is_new(s, s->first_sectors, s->again, array, sharing, first_wave)) return arrives;
  // What lies together is asked for by all that share it at about the same time, as long as their blocks have begun at
  // the same time, so that they wait for DRAM together; of what lies here and there, and of what later blocks ask for,
  // one of them is the first, and the others find it in L2.
  if ((scattered || !first_wave) && sharing > 1) {
    double kept = scattered ? smaller(1, m->l2_bytes / size_of(s, array, 1)) : 1;
    if (drawn(s) * sharing >= 1 && (kept >= 1 || drawn(s) < kept)) return arrives;
    sharing = 1;
  }
  int fetched = 1;
  if (m->dram_fetch > 1 && !(line->mask >> (sector ^ 1) & 1)) {
    fetched = 2;
    line->mask |= (uint8_t)(1 << (sector ^ 1));
  }
  s->brought += 32 * fetched * m->sms / sharing;
  double evicting = s->fetched * 32 < m->evict_bytes ? m->evict_factor : 1;
  s->fetched += fetched * m->sms / sharing;
  double cost = 32 * fetched * evicting
      * (scattered && !whole_line ? m->dram_scatter : 1) / sharing / m->dram_bytes_per_cycle, d = drawn(s);
  s->r->dram_sectors += fetched / sharing; s->r->dram_busy += cost;
  // Most come after the least latency, few much later: banks of DRAM that have to open another row.
  return larger(arrives, dram_read(s, asked, cost, evicting > 1 ? m->dirty_batch : m->dram_batch) + m->dram_latency
                + m->dram_spread * (3 * d * d - 1) + (evicting > 1 ? m->evict_latency * drawn(s) * 2 : 0));
}

// The number of the array that an address lies in, that of the arrays for none.
static int array_of(const Sm *s, int64_t address) {
  int k = 0;
  while (k < s->job->arrays && !(address >= s->job->array_start[k] && address < s->job->array_stop[k])) ++k;
  return k;
}

// Later blocks access other lines, in the same way; but what this SM has asked for of an array in the first wave is a
// part of it, and as large a part of what a later block asks for is the same.
static double known_part(const Sm *s, const Warp *w, int array) {
  return w->block < s->t->blocks ? 1 : s->first_sectors[array] * 32 / size_of(s, array, 1e18);
}

static uint64_t elsewhere(const Sm *s, const Warp *w, double known, uint64_t line) {
  uint64_t wave = (uint64_t)(w->block / s->t->blocks);
  return !wave || (double)(mixed(line << 12 | wave) >> 40) / 16777216.0 < known ? 0 : wave << 44;
}

// The set of L1 in which a line belongs. Division by multiplication: `per_set` is 2^64 over their number, and what is
// found one too small at most.
static Set *set_of(const Sm *s, uint64_t key) {
  uint64_t sets = (uint64_t)s->sets, times = (uint64_t)((unsigned __int128)key * s->per_set >> 64);
  times += key - times * sets >= sets;
  uint64_t place = key + mixed(times), rest = place - (uint64_t)((unsigned __int128)place * s->per_set >> 64) * sets;
  return &s->l1[rest >= sets ? rest - sets : rest];
}

// Where a line is in its set of L1: where it was, or in place of the one that was not used for longest.
static int way_of(Set *set, uint64_t key) {
  int oldest = 0;
  for (int v = 0; v < WAYS; ++v) if (set->key[v] == key) return v;
  for (int v = 1; v < WAYS; ++v) if (set->used[v] < set->used[oldest]) oldest = v;
  set->key[oldest] = key; set->valid[oldest] = 0;
  return oldest;
}

static double global_load(Sm *s, const Warp *w, const Instruction *i, const Access *a, const Pattern *p, double start,
                          double cycles) {
  const Machine *m = s->m; const Trace *t = s->t;
  int array = array_of(s, a->base * 128
                       + (p->kind == ASYNC ? p->other
                          : p->relative)[__builtin_ctz(p->kind == ASYNC ? p->reading : p->active)]);
  double sharing = array < s->job->arrays ? larger(1, s->job->sharing[array]) : 1;
  int first_wave = w->block < t->blocks; double known = known_part(s, w, array);
  double done = start + m->l1_latency - 6 + m->wavefront_latency * (cycles - 1);
  for (int k = 0; k < p->lines; ++k) {
    uint64_t number = (uint64_t)(a->base + p->line[k]), key = number + elsewhere(s, w, known, number) + 1;
    Set *set = set_of(s, key);
    int at = way_of(set, key);
    set->used[at] = ++s->use;
    uint8_t *valid = &set->valid[at]; double *arrives = set->arrives[at];
    double came = 0; int missed = bits(i->past_l1 ? p->mask[k] : p->mask[k] & ~*valid);
    double way = missed ? larger(32 / m->l2_bytes_per_cycle, m->l2_request / missed) : 0;
    for (int sector = 0; sector < 4; ++sector) {
      if (!(p->mask[k] >> sector & 1)) continue;
      s->r->l1_sectors += 1;
      if (*valid >> sector & 1 && !i->past_l1) s->r->l1_hits += 1;  // perhaps still under way: then it is waited for
      else {
        arrives[sector] = from_l2(s, key, sector, start + (cycles > p->lines ? 0 : (int)(k * cycles / p->lines)), way,
                                  array, sharing, first_wave,
                                         p->mask[k] & 3 && p->mask[k] & 12, p->lines >= 8 && p->sectors > 2 * p->full);
        *valid |= (uint8_t)(1 << sector); came = arrives[sector];
      }
      done = larger(done, arrives[sector]);
    }
    if ((s->fill += m->l1_fill * missed / 4) >= 1) {  // in whole cycles, as L1 is reserved
      served(s, came, (int)s->fill); s->fill -= (int)s->fill;
    }
  }
  return done;  // loads that hit do not wait for those before them that missed
}

// Loads go back to the registers one a cycle. Those that find their data in L1 and those whose data arrive later get in
// each other's way there, most where there are as many of the ones as of the others.
static void send_back(Sm *s, double start, int waits) {
  s->late += (waits - s->late) / LAST_LOADS;
  s->back = larger(s->back, start - BEHIND) + 1 + s->m->l1_mixing * s->late * (1 - s->late);
}

static double global_store(Sm *s, const Warp *w, const Access *a, const Pattern *p, double start) {
  const Machine *m = s->m;
  uint64_t wave = (uint64_t)(w->block / s->t->blocks) << 44;  // each writes lines of its own
  double cost = 0; int fresh = 0, in_part = p->sectors > p->full;
  for (int k = 0; k < p->lines; ++k) {  // each line is a packet of its own
    cost += larger(m->store_packet, bits(p->mask[k]) * 32 / m->store_bytes_per_cycle)
        * (in_part ? m->partial_store : 1);
    Touched *line = seen_at(&s->seen, (uint64_t)(a->base + p->line[k]) + wave + 1);
    fresh += bits(p->mask[k] & ~(line->mask >> 4));
    line->mask |= (uint8_t)(p->mask[k] << 4);
    line->at = (float)s->brought;
  }
  s->store = larger(s->store, start) + cost; s->r->store_busy += cost;
  if (fresh) {
    int array = array_of(s, a->base * 128 + p->relative[__builtin_ctz(p->active)]), now = 0;
    // A write of a part of a sector finds that the other part has been evicted.
    for (int n = 0; n < fresh; ++n)
      now += in_part || is_new(s, s->first_written, s->again_written, array, 1, w->block < s->t->blocks);
    double whole = now * m->write_back * 32 / m->dram_bytes_per_cycle, more = whole * (s->job->written[array] - 1);
    s->r->written_sectors += now; s->brought += 32 * now * m->sms;
    if (!s->job->cold) now = 0, more = 0;  // it stays in L2
    if (in_part && more > 0) {  // what is there of the sector is read first, which cannot be put off for long
      s->store = larger(s->store, dram_read(s, start, more, 0) - m->write_ahead); s->r->dram_busy += more; more = 0;
    }
    if (now) s->store = larger(s->store, dram_write(s, start, whole + more));
  }
  s->drain = larger(s->drain, s->store);
  return larger(start, s->store - m->store_ahead);  // when its entry leaves the queue
}

static double global_atomic(Sm *s, const Warp *w, const Instruction *i, const Access *a, const Pattern *p, double start,
                            double *freed) {
  const Machine *m = s->m;
  int returns = i->write_scoreboard < SCOREBOARDS,
      array = array_of(s, a->base * 128 + p->relative[__builtin_ctz(p->active)]);
  double array_sectors = (size_of(s, array, 32e9) + 31) / 32,
      per_lane = m->atomic_lane * (i->of_floats ? m->atomic_float : 1);
  double cost = larger(bits(p->active) * p->width / m->atomic_bytes_per_cycle, p->lines * m->atomic_packet);
  // One sector is updated by one request after the other, whichever SM they come from: `crowd` of them at a time.
  double crowd = p->sectors * m->sms / larger(p->sectors, array_sectors);
  cost = larger(cost, p->repeated * per_lane * crowd);
  if (returns && p->repeated > 1) cost = larger(cost, p->repeated * m->atomic_return);
  s->store = larger(s->store, start) + cost; s->r->store_busy += cost; s->drain = larger(s->drain, s->store);
  if (s->job->cold) {  // L2 needs what was there before, and it goes back to DRAM some time
    double known = known_part(s, w, array);
    for (int k = 0; k < p->lines; ++k) {
      uint64_t number = (uint64_t)(a->base + p->line[k]);
      Touched *line = seen_at(&s->seen, number + elsewhere(s, w, known, number) + 1);
      int fresh = bits(p->mask[k] & ~line->mask), now = 0;
      line->mask |= p->mask[k]; line->at = (float)s->brought;
      for (int n = 0; n < fresh; ++n) now += is_new(s, s->first_sectors, s->again, array, 1, w->block < s->t->blocks);
      double cycles = now * 32 * (bits(p->mask[k]) == 1 ? m->dram_alone : 1) / m->dram_bytes_per_cycle;
      s->brought += 32 * now * m->sms;
      if (now)
        s->store = larger(s->store, larger(dram_write(s, start, cycles), dram_read(s, start, cycles, m->dram_batch)));
    }
  }
  *freed = larger(start, s->store - m->store_ahead);
  return s->store + m->atomic_latency;
}

// Take the place of a queue's oldest entry, until `freed`.
static void enter(double *queue, int *oldest, int entries, double freed) {
  queue[*oldest] = freed; *oldest = *oldest + 1 == entries ? 0 : *oldest + 1;
}

// A request to shared memory, issued at `at`: returns when its result is there, sets when it has been served.
static double shared_request(Sm *s, int scheduler, const Instruction *i, const Pattern *p, double at, double *freed) {
  const Machine *m = s->m;
  double n = larger(1, p->wavefronts);
  int loads = i->unit == SHARED_LOAD;
  *freed = served(s, loads ? larger(at + 4, s->back - 1) : at + 4, n); s->r->shared_wavefronts += n;
  if (loads) send_back(s, *freed - n + 1, 0);
  double done = *freed - 6 + (m->wavefront_latency - 1) * (n - 1)
      + (i->unit == SHARED_ATOMIC ? m->shared_atomic_latency : m->shared_latency);
  if (i->unit == SHARED_LOAD && i->bytes > 4) done += m->wide_latency * (i->bytes / 4 - 1) / 3;
  if (p->merged && i->bytes == 16 && i->unit == SHARED_LOAD) {
    int *last = &s->write_last[scheduler];
    s->write_at[scheduler][*last] = done - 4; *last = (*last + 1) % QUEUE;
  }
  return done;
}

// A memory instruction goes through its scheduler's queue to the units that all schedulers share.
// Returns when its result is there; sets when its registers are read and why one would wait for it.
static double memory(Sm *s, Warp *w, int scheduler, const Instruction *i, double now, double *read, int32_t *kind) {
  const Machine *m = s->m; const Stream *stream = &s->t->stream[w->traced];
  int is_global = i->unit >= GLOBAL_LOAD && i->unit <= COPY;
  double at = larger(now + 2, s->mio[scheduler]), done = at + 6, freed = at;
  int any = 0;
  *read = at + m->operand_latency - 2; *kind = SHORT_SCOREBOARD;
  s->mio[scheduler] = at + (i->bytes > 8 ? i->bytes / 2.0 : is_global ? m->lg_interval : m->mio_interval);
  if (i->unit == REDUX) { s->mio[scheduler] = at + m->redux_interval; done = at + m->redux_latency; any = 1; }
  else if (i->unit == CONSTANT) {
    s->mio[scheduler] = at + 2 * m->mio_interval;
    done = at + m->constant_latency;
    any = 1;
  }
  else if (i->unit == SHUFFLE) {
    freed = served(s, at + 4, 1); done = freed + m->shuffle_latency - 6; any = 1;
  }
  // Groups of a diverged warp make their requests one after the other.
  for (; !any || w->access < stream->accesses; ++w->access) {
    while (w->access < stream->accesses && stream->access[w->access].position < w->position) ++w->access;
    if (w->access >= stream->accesses) break;
    const Access *a = &stream->access[w->access];
    if (a->position != w->position || a->instruction != w->pc) break;
    const Pattern *p = &s->t->pattern[a->pattern];
    any = 1;
    if (!is_global) {
      done = shared_request(s, scheduler, i, p, at, &freed);
      continue;
    }
    int phases = p->width <= 4 ? 1 : p->width / 4;
    double cycles = larger(i->unit == GLOBAL_LOAD || i->unit == COPY ? passes(s, p, a->base) : p->lines,
                           i->unit == COPY ? larger(phases, p->wavefronts) : phases);
    // The requests of a scheduler stay in order; those of the others may come before them, but after a store that
    // waits.
    double start = larger(larger(at + 4, s->lg), larger(s->lg_of[scheduler], s->in_flight[s->oldest_in_flight]));
    if (i->unit == GLOBAL_LOAD) start = larger(start, s->back - 1);
    freed = served(s, start, cycles); start = freed - cycles + 1; s->lg_of[scheduler] = start;
    if (i->unit == COPY) s->r->shared_wavefronts += p->wavefronts;
    if (i->unit == GLOBAL_LOAD || i->unit == COPY) {
      done = p->lines ? global_load(s, w, i, a, p, start, cycles) : start + m->l1_latency;
      enter(s->in_flight, &s->oldest_in_flight, (int)m->l1_in_flight, done); *kind = LONG_SCOREBOARD;
      if (i->unit == COPY) w->group = larger(w->group, done);
      else send_back(s, start, done > start + m->l1_latency + m->wavefront_latency * cycles);
    } else if (i->unit == GLOBAL_STORE) {
      freed = larger(freed, global_store(s, w, a, p, start));
      done = start + 10;
      s->lg = larger(s->lg, freed);
    }
    else {
      done = global_atomic(s, w, i, a, p, start, &freed); *kind = LONG_SCOREBOARD;
    }
  }
  if (!any) s->mio[scheduler] = at + 2;  // its guard was false for all lanes
  if (is_global) enter(s->lg_queue[scheduler], &s->lg_oldest[scheduler], s->lg_entries, freed);
  else enter(s->mio_queue[scheduler], &s->mio_oldest[scheduler], s->mio_entries, freed);
  return done;
}

static int way_in(const Instruction *i) {
  switch (i->unit) {
    case FMA: return TO_FMA;
    case HEAVY: return TO_HEAVY;
    case ALU: return TO_ALU;
    case FP64: return TO_FP64;
    case XU: return TO_XU;
    case UNIFORM: return TO_UNIFORM;
    case TENSOR: return TO_TENSOR;
    case CONSTANT: case SHARED_LOAD: case SHARED_STORE: case SHARED_ATOMIC: case SHUFFLE: case REDUX: return TO_MIO;
    case GLOBAL_LOAD: case GLOBAL_STORE: case GLOBAL_ATOMIC: case COPY: return TO_LG;
    default: return FREE;
  }
}

// Until when a way in is busy.
static double busy_until(const Sm *s, int scheduler, int way) {
  switch (way) {
    case TO_FMA: return smaller(s->fma[scheduler][0], s->fma[scheduler][1]);
    case TO_HEAVY: return s->fma[scheduler][0];
    case TO_ALU: return s->alu[scheduler];
    case TO_FP64: return s->fp64[scheduler];
    case TO_XU: return s->xu[scheduler];
    case TO_UNIFORM: return s->uniform[scheduler];
    case TO_TENSOR: return s->tensor[scheduler];
    case TO_MIO: return s->mio_queue[scheduler][s->mio_oldest[scheduler]];
    case TO_LG: return s->lg_queue[scheduler][s->lg_oldest[scheduler]];
    default: return 0;
  }
}

// Bring what the warps of a class waited for up to date.
static void settle(Class *x, const Busy *busy, double now) {
  if (now > x->since) { x->spent[x->state] += now - x->since; x->lost[x->state] += lost_between(busy, x->since, now); }
  x->since = now;
}

// From when on a warp may issue, as far as itself is concerned.
static void may_issue(Sm *s, const Warp *w, double from) {
  int k = (int)(w - s->warp) / SCHEDULERS; Waiting *waiting = &s->waiting[(w - s->warp) % SCHEDULERS];
  waiting->ready[k] = from; waiting->later |= 1ULL << k;
  waiting->soonest = smaller(waiting->soonest, from); waiting->wake = smaller(waiting->wake, from);
}

// Those that have become ready join the others that wait for the same.
static void join(Sm *s, int scheduler, double now) {
  Waiting *waiting = &s->waiting[scheduler];
  waiting->soonest = NEVER;
  for (uint64_t rest = waiting->later; rest; rest &= rest - 1) {
    int k = __builtin_ctzll(rest);
    if (waiting->ready[k] > now) { waiting->soonest = smaller(waiting->soonest, waiting->ready[k]); continue; }
    Warp *w = &s->warp[k * SCHEDULERS + scheduler];
    int way = way_in(&s->job->instruction[w->pc]); Class *x = &waiting->of[way];
    if (x->warps) settle(x, &s->busy[scheduler], now);
    else { x->since = now; x->state = OPEN; }
    memcpy(w->spent, x->spent, sizeof w->spent); memcpy(w->lost, x->lost, sizeof w->lost);
    w->spent[OPEN] -= now - waiting->ready[k];  // it was ready within the last cycle
    x->warps |= 1ULL << k; waiting->later &= ~(1ULL << k); waiting->present |= 1u << way;
  }
}

// The warp of a scheduler that issues now; -1 if none can. The one that issued last goes on, unless a full queue has
// turned it away. Those that were turned away come in, the one first that has been ready for longest: none is overtaken
// again and again. Then the oldest.
static int chosen(Sm *s, int scheduler, double now, int last) {
  Waiting *waiting = &s->waiting[scheduler]; uint64_t open = 0;
  if (waiting->soonest <= now) join(s, scheduler, now);
  waiting->wake = waiting->soonest; waiting->closed = 0;
  for (uint32_t rest = waiting->present; rest; rest &= rest - 1) {
    int way = __builtin_ctz(rest), state = OPEN; Class *x = &waiting->of[way];
    double until = s->dispatch[scheduler];
    if (until > now) { state = CLOSED; waiting->closed = until; }
    else if ((until = busy_until(s, scheduler, way)) > now) state = BUSY;
    if (state != x->state) { settle(x, &s->busy[scheduler], now); x->state = state; }
    if (state == OPEN) { open |= x->warps; continue; }
    waiting->wake = smaller(waiting->wake, until);
    if (state == BUSY && way >= TO_MIO) waiting->refused |= x->warps;
  }
  if (!open) return -1;
  if (last >= 0 && open >> last & 1 && !(waiting->refused >> last & 1)) return last;
  uint64_t first = open & waiting->refused; const double *order = first ? waiting->ready : waiting->age;
  if (!first) first = open;
  int best = __builtin_ctzll(first);
  for (first &= first - 1; first; first &= first - 1)
    if (order[__builtin_ctzll(first)] < order[best]) best = __builtin_ctzll(first);
  return best;
}

static void start_block(Sm *s, int slot, int block, double at) {
  const Trace *t = s->t;
  for (int k = 0; k < t->warps; ++k) {
    Warp *w = &s->warp[slot * t->warps + k];
    memset(w, 0, sizeof *w);
    w->slot = slot; w->block = block; w->traced = block % t->blocks * t->warps + k;
    if (!t->stream[w->traced].blocks) continue;
    w->pc = s->job->block_start[t->stream[w->traced].block[0]];
    w->ready = w->until_wait = w->until_scoreboard = at + 2 * k; w->issued = w->ready - 1;
    s->waiting[(w - s->warp) % SCHEDULERS].age[(w - s->warp) / SCHEDULERS] = (double)block * MOST_WARPS + k;
    may_issue(s, w, w->ready);
  }
}

// Book a wait, for the launch and for the instruction that it came before.
static void book(Sm *s, double *row, int32_t reason, double spent, double lost) {
  s->r->stalls[reason] += spent; s->r->lost[reason] += lost;
  if (row) { row[reason] += spent; row[REASONS + reason] += lost; }
}

// Book what a warp waited for before it issues at `now`: before it was ready, and since then.
static void issues(Sm *s, int scheduler, Warp *w, double now, double *by_instruction) {
  static const int32_t busy[WAYS_IN] =
      {[FREE ... TO_TENSOR] = MATH_THROTTLE, [TO_MIO] = MIO_THROTTLE, [TO_LG] = LG_THROTTLE};
  double *row = by_instruction ? by_instruction + (size_t)w->pc * 2 * REASONS : NULL, from = w->issued + 1;
  double to[3] = {smaller(w->until_wait, now), smaller(w->until_scoreboard, now), smaller(w->ready, now)};
  int reason[3] = {w->wait_reason, w->scoreboard_reason, NO_INSTRUCTION};
  for (int k = 0; k < 3; ++k) {
    if (to[k] <= from) continue;
    book(s, row, reason[k], to[k] - from, lost_between(&s->busy[scheduler], from, to[k]));
    from = to[k];
  }
  Waiting *waiting = &s->waiting[scheduler];
  int way = way_in(&s->job->instruction[w->pc]), state_is[STATES] = {NOT_SELECTED, DISPATCH, busy[way]};
  Class *x = &waiting->of[way]; uint64_t itself = 1ULL << (w - s->warp) / SCHEDULERS;
  settle(x, &s->busy[scheduler], now);
  for (int k = 0; k < STATES; ++k) {
    if (x->spent[k] > w->spent[k]) book(s, row, state_is[k], x->spent[k] - w->spent[k], x->lost[k] - w->lost[k]);
  }
  book(s, row, SELECTED, 1, 0);
  waiting->refused &= ~itself; x->warps &= ~itself;
  if (!x->warps) waiting->present &= ~(1u << way);
  waiting->wake = waiting->present ? now + 1 : waiting->soonest;
  noted_busy(&s->busy[scheduler], now, now + 1);
}

// When the code of an instruction is there.
static double fetched(Sm *s, int pc, double now) {
  const Machine *m = s->m; int line = pc >> 3;
  if (s->code[line] < 0) {
    if (!s->job->cold_code) s->code[line] = 0;
    else if (line > 0 && s->code[line - 1] >= 0)
      s->code[line] = larger(s->code[line - 1] + m->code_next, now);  // prefetched
    else s->code[line] = now + m->code_first;
  }
  // A loop that does not fit is fetched again line after line, as fast as the next level delivers.
  if (s->job->instructions / 8 >= m->code_lines) {
    if (!s->code_used[line] || s->code_clock - s->code_used[line] >= (int64_t)m->code_lines) {
      s->code_used[line] = ++s->code_clock;
      s->code_refill = larger(s->code_refill, now) + m->code_refill;
      s->code[line] = larger(s->code[line], s->code_refill);
    }
  }
  return s->code[line];
}

static void release_barrier(Sm *s, int slot, double at) {
  for (int k = 0; k < s->t->warps; ++k) {
    Warp *w = &s->warp[slot * s->t->warps + k];
    if (!w->waiting) continue;
    w->waiting = 0;
    if (at > w->until_scoreboard) { w->until_scoreboard = at; w->scoreboard_reason = AT_BARRIER; }
    w->ready = larger(w->ready, w->until_scoreboard);
    may_issue(s, w, w->ready);
  }
}

// Execute blocks of a trace on one SM. block_end: when each ended; by_instruction: cycles that warps spent before each
// instruction, by reason, and those of them in which nothing was issued; events: the first `room` issues. Each of the
// last three may be NULL. Returns the number of events.
EXPORT int64_t simulate(const Trace *t, const Machine *m, const Job *job, Result *r, double *block_end,
                        double *by_instruction, Event *events, int64_t room) {
  int slots = smaller(job->resident, job->blocks);
  memset(r, 0, sizeof *r);
  Sm *s = calloc(1, sizeof *s);
  s->m = m; s->job = job; s->t = t; s->r = r; s->warps = slots * t->warps; s->constant = -1; s->random = 12345;
  s->mio_entries = (int)m->mio_entries; s->lg_entries = (int)m->lg_entries;
  s->tag_bank[0] = (uint64_t)m->tag_bank_0; s->tag_bank[1] = (uint64_t)m->tag_bank_1;
  s->warp = calloc((size_t)s->warps, sizeof *s->warp);
  s->in_flight = calloc((size_t)m->l1_in_flight, sizeof *s->in_flight);
  s->sets = larger(1, (int)(m->l1_bytes / 128 / WAYS));
  s->per_set = UINT64_MAX / (uint64_t)s->sets;
  s->l1 = calloc((size_t)s->sets, sizeof *s->l1);
  seen_new(&s->seen, 1 << 15);
  for (int c = 0; c < SCHEDULERS; ++c) {
    s->busy[c].bits = calloc(64, 8);
    s->busy[c].before = calloc(64, 8);
    s->busy[c].room = 64;
  }
  s->first_sectors = calloc((size_t)job->arrays + 1, sizeof *s->first_sectors);
  s->again = malloc(((size_t)job->arrays + 1) * sizeof *s->again);
  s->first_written = calloc((size_t)job->arrays + 1, sizeof *s->first_written);
  s->again_written = malloc(((size_t)job->arrays + 1) * sizeof *s->again_written);
  for (int i = 0; i <= job->arrays; ++i) s->again[i] = s->again_written[i] = -1;
  int code_lines = job->instructions / 8 + 2;
  s->code = malloc((size_t)code_lines * sizeof *s->code);
  s->code_used = calloc((size_t)code_lines, sizeof *s->code_used);
  for (int i = 0; i < code_lines; ++i) s->code[i] = -1;
  for (int c = 0; c < SCHEDULERS; ++c) s->waiting[c].wake = s->waiting[c].soonest = NEVER;
  int32_t **next = calloc((size_t)t->total, sizeof *next);
  for (int w = 0; w < t->total; ++w) if (t->stream[w].stream == w) next[w] = shortened(t, w, job->fraction);
  int *left = calloc((size_t)slots, sizeof *left), *arrived = calloc((size_t)slots, sizeof *arrived),
      *inside = calloc((size_t)slots, sizeof *inside);
  int last[SCHEDULERS] = {-1, -1, -1, -1}, begun = 0, finished = 0;
  int64_t event_count = 0;
  double now = 0, end = 0, started = 0;
  for (int slot = 0; slot < slots; ++slot) {
    start_block(s, slot, begun, started); inside[slot] = begun++; left[slot] = t->warps; started += m->block_interval;
  }
  started -= m->block_interval;
  while (finished < job->blocks) {
    int issued_any = 0;
    for (int c = 0; c < SCHEDULERS; ++c) {
      if (s->waiting[c].wake > now) continue;
      int best = chosen(s, c, now, last[c]);
      if (best < 0) continue;
      issued_any = 1; last[c] = best;
      Warp *w = &s->warp[best * SCHEDULERS + c];
      int pc = w->pc, slot = w->slot;
      const Instruction *i = &job->instruction[pc];
      issues(s, c, w, now, by_instruction);
      if (event_count < room)
        events[event_count++] = (Event){best * SCHEDULERS + c, w->block, pc, w->scoreboard_reason, now, w->ready};
      r->instructions += 1; r->unit[i->unit] += 1;
      // Each bank delivers one operand a cycle; reading may fall behind a little, then issue has to wait.
      s->even[c] = larger(s->even[c], now) + i->reads_even; s->odd[c] = larger(s->odd[c], now) + i->reads_odd;
      double behind = larger(s->even[c], s->odd[c]) - (now + 1) - m->read_slack;
      if (behind > 0) s->dispatch[c] = now + 1 + behind;
      double done = now, read = now + m->operand_latency; int32_t kind = SHORT_SCOREBOARD;
      switch (i->unit) {
        case FMA: {
          int half = s->fma[c][1] <= now;
          s->fma[c][half] = now + m->fma_interval;
          // A merged load writes two registers in a cycle, one in each bank: an FMA cannot write then.
          while (s->write_first[c] != s->write_last[c] && s->write_at[c][s->write_first[c]] <= now) {
            if (s->write_at[c][s->write_first[c]] > now - 2)
              s->dispatch[c] = larger(s->dispatch[c], now + 1) + m->write_conflict;
            s->write_first[c] = (s->write_first[c] + 1) % QUEUE;
          }
          break; }
        case HEAVY: s->fma[c][0] = taken(s->fma[c][0], now, m->heavy_interval); break;
        case ALU: s->alu[c] = taken(s->alu[c], now, m->alu_interval); break;
        case UNIFORM: s->uniform[c] = taken(s->uniform[c], now, m->uniform_interval); break;
        case FP64: s->fp64[c] = taken(s->fp64[c], now, m->fp64_interval); done = now + m->fp64_latency; break;
        case TENSOR:
          s->tensor[c] = taken(s->tensor[c], now, m->tensor_interval * i->interval);
          done = now + m->tensor_latency;
          break;
        case XU: s->xu[c] = taken(s->xu[c], now, m->xu_interval); done = now + m->xu_latency; break;
        case SPECIAL: done = now + m->special_latency; break;
        case COPY_GROUP: {
          double before = w->group_count ? w->groups[(w->group_count - 1) % GROUPS] : 0;
          w->groups[w->group_count++ % GROUPS] = larger(before, w->group); w->group = 0; break; }
        case CONTROL: case COPY_WAIT: case BARRIER: break;
        default: done = memory(s, w, c, i, now, &read, &kind);
      }
      if (i->write_scoreboard < SCOREBOARDS && done > w->scoreboard[i->write_scoreboard]) {
        w->scoreboard[i->write_scoreboard] = done; w->kind[i->write_scoreboard] = kind;
      }
      if (i->read_scoreboard < SCOREBOARDS && read > w->scoreboard[i->read_scoreboard]) {
        w->scoreboard[i->read_scoreboard] = read; w->kind[i->read_scoreboard] = SHORT_SCOREBOARD;
      }
      // Where the warp goes on.
      const Stream *stream = &t->stream[w->traced]; int32_t *follows = next[stream->stream];
      double wait = now + larger(1, i->stall); int jumped = 0;
      w->issued = now; w->wait_reason = WAIT; w->offset++;
      int over = 0;
      if (job->block_start[stream->block[w->position]] + w->offset >= job->block_stop[stream->block[w->position]]) {
        w->position = follows[w->position]; w->offset = 0;
        over = w->position >= stream->blocks;
        jumped = !over && job->block_start[stream->block[w->position]] != pc + 1;
      }
      if (over) {
        end = larger(end, now);
        if (--left[slot] == 0) {
          if (block_end) block_end[inside[slot]] = now;
          finished++;
          if (begun < job->blocks) {
            started = larger(now + m->block_turnaround, started + m->block_interval);
            start_block(s, slot, begun, started); inside[slot] = begun++; left[slot] = t->warps; arrived[slot] = 0;
          }
        } else if (arrived[slot] && arrived[slot] >= left[slot]) {
          arrived[slot] = 0; release_barrier(s, slot, larger(s->barrier, now) + m->barrier_latency);
        }
        continue;
      }
      if (jumped) { wait += m->branch; w->wait_reason = BRANCHING; }
      w->pc = job->block_start[stream->block[w->position]] + w->offset;
      const Instruction *n = &job->instruction[w->pc];
      w->until_wait = w->until_scoreboard = wait; w->scoreboard_reason = SHORT_SCOREBOARD;
      for (int k = 0; k < SCOREBOARDS; ++k) {
        if (n->wait >> k & 1 && w->scoreboard[k] > w->until_scoreboard) {
          w->until_scoreboard = w->scoreboard[k];
          w->scoreboard_reason = w->kind[k];
        }
      }
      if (n->unit == COPY_WAIT && n->pending >= 0 && w->group_count > n->pending) {
        double group = w->groups[(w->group_count - n->pending - 1) % GROUPS];
        if (group > w->until_scoreboard) { w->until_scoreboard = group; w->scoreboard_reason = LONG_SCOREBOARD; }
      }
      w->ready = larger(w->until_scoreboard, fetched(s, w->pc, now));
      if (n->reads_constant) {
        if (s->constant < 0) s->constant = w->ready + m->constant_first;
        w->ready = larger(w->ready, s->constant);
      }
      if (i->unit != BARRIER) may_issue(s, w, w->ready);
      else {
        s->barrier = larger(s->barrier, now) + m->barrier_interval; w->waiting = 1;
        if (++arrived[slot] >= left[slot]) {
          arrived[slot] = 0;
          release_barrier(s, slot, s->barrier + m->barrier_latency);
        }
      }
    }
    double soonest = NEVER;
    for (int c = 0; c < SCHEDULERS; ++c) soonest = smaller(soonest, s->waiting[c].wake);
    if (!issued_any && soonest == NEVER) break;  // no warp can go on: the trace ends at a barrier that not all reach
    double next_cycle = larger(now + 1, (double)(int64_t)(soonest + 0.999999));
    for (int c = 0; c < SCHEDULERS; ++c) {
      double until = smaller(next_cycle, (double)(int64_t)(s->waiting[c].closed + 0.999999));
      if (until > now) { noted_busy(&s->busy[c], now, until); r->closed += until - now; }
    }
    now = next_cycle;
  }
  r->cycles = larger(end, s->drain); r->blocks = finished; r->issue_slots = r->instructions / SCHEDULERS;
  for (int w = 0; w < t->total; ++w) free(next[w]);
  free(next);
  free(s->warp);
  free(s->in_flight);
  free(s->l1);
  free(s->seen.key);
  free(s->seen.touched);
  free(s->first_sectors);
  free(s->again);
  free(s->first_written);
  free(s->again_written);
  for (int c = 0; c < SCHEDULERS; ++c) { free(s->busy[c].bits); free(s->busy[c].before); }
  free(s->code); free(s->code_used); free(s); free(left); free(arrived); free(inside);
  return event_count;
}
