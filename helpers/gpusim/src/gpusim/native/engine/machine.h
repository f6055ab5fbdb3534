/* The simulated machine: decoded instructions, warps, blocks and the memory that they reach.
 *
 * Python decodes machine code and PTX into Instructions (isa/sass/decoding, isa/ptx/decoding) and fills in a Launch;
 * `run_blocks` executes some of its blocks, warp by warp. Layouts here are those of engine/machine_layout.py.
 *
 * Who may call whom, from above: blocks.c schedules blocks, and calls warp.c, which schedules the groups of a warp and
 * executes their instructions by the operations of arithmetic.c, typed.c, exchange.c, textures.c, memory.c and bulk.c;
 * clock.c says which warp is next, and asks memory.c what a warp polls. memory.c and bulk.c call patterns.c, which
 * counts requests by counting.c, and checks.c, the race detector, which calls bulk_checks.c, uninvolved.c and shadow.c.
 * machine.c and floats.c serve all. lanewise.c executes runs of instructions for Python alone, traces.c merges what was
 * traced. No call goes up (tests/gpusim/native/test_libraries.py). */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>
#include <stdlib.h>

#include "counting.h"
#include "lanes.h"
#include "native.h"

enum { PREDICATES = 128, ALWAYS = 7, NEVER_KEPT = 16, VOTES = 17, NEGATED = 128, MEETINGS = 16, NO_MEETING = -1 };

/* What is done to a source before the operation sees it: signs of integers (NEGATE: -x, INVERT: ~x), of floating-point
 * numbers of 32 and 64 bits (FLOAT_...), and of pairs of 16-bit numbers (HALF_...), with the choice of one of a pair;
 * of two registers those are pairs of float32 numbers. */
enum Mode {
    NEGATE = 1, INVERT = 2, FLOAT_NEGATE = 4, FLOAT_ABSOLUTE = 8, HALF_NEGATE = 16, HALF_ABSOLUTE = 32, LOW_TWICE = 64,
    HIGH_TWICE = 128, NEGATE_HIGH = 256, SWAPPED = 512 /* of two registers */,
    OF_FLOAT = 1024 /* a float32 as both halves */
};

/* How the loop of a warp treats an instruction. */
enum Kind {
    COMPUTES, BRANCHES, JUMPS, EXITS, WAITS, MEETS, WAITS_FOR_LANES, PARTS, LEAVES, ARRIVES, WAITS_FOR_CLUSTER,
    WAITS_FOR_PHASE, CALLS, RETURNS, TAKES_TIME
};

/* A source or destination `row` is a register of the warp; -1 - row is one of the launch's constants, the first of
 * which are zeros. */
enum { ZEROS = -1 };

typedef struct {
    int64_t offset;         /* of an address */
    int32_t operation;      /* its place in OPERATIONS */
    int32_t kind;
    int32_t d;              /* the first row that it writes */
    int32_t source[4];
    int32_t number[4];      /* constants of its own: shifts, tables, widths; the operations say which */
    uint32_t flags;         /* modifiers of its own */
    int32_t target;         /* of a branch */
    int32_t block;          /* the basic block that it begins, or -1, */
    int32_t length;         /* and how many instructions that has */
    int32_t memory;         /* its row in the counts of requests, or -1 */
    int32_t index;
    uint16_t mode[4];
    uint8_t width[4];       /* registers of each source: 1, or 2 for 64 bits; 0 where there is none */
    uint8_t d_width;        /* registers that it writes */
    uint8_t guard;          /* predicates; NEGATED is added for !P */
    uint8_t p_out[2];
    uint8_t p_in[3];
    uint8_t uniform;        /* writes a register that the lanes of a warp share */
    uint8_t strong;         /* what other threads do may be seen by it */
    uint8_t is_strong;      /* ordered among the threads of the grid although it may be no atomic */
    uint8_t is_beyond;      /* of the first of a block: no barrier comes any more, and not only the end */
    uint8_t is_observed;     /* plain loads may read what it changes at any time: an mbarrier of Ampere */
    uint8_t is_vote;        /* of threads on behalf of which one of them then makes a fence, or an atomic operation: */
    uint8_t for_voters;     /* that; see checks/aggregated_atomics.py */
    uint8_t block_scope;    /* it is strong among the threads of the block only */
    uint8_t spare;
} Instruction;

enum { REGISTERS = 256, MOST_WARPS = 32 /* of a block */ };

/* The registers that an instruction reads and writes, a bit for each, and whether it is a load from shared memory whose
 * value may go unused. copied: 0, or that it only copies, 1 + the register from which | the one into which << 16; or
 * TO_MEMORY, for a store in code for a debugger, which is a copy if it goes to local memory. role: of the results,
 * whether each lane computes its own, OF_LANES, from one of two sources, SELECTS, or takes it from another lane,
 * SHUFFLES. */
enum { TO_MEMORY = 0xffff };
enum { OF_LANES = 1, SELECTS, SHUFFLES };
typedef struct {
    uint64_t reads[REGISTERS / 64], writes[REGISTERS / 64];
    uint32_t may_go_unused, copied, role, spare;
} RegisterUse;

/* An array of global memory. */
typedef struct {
    uint64_t base, end;
    uint64_t write_base, write_end; /* what may be written: the view that the kernel was given */
    uint8_t *bytes;
    uint8_t *unwritten;    /* by element: it is uninitialised; NULL if that is not known */
    uint64_t item;         /* bytes of an element */
    int32_t writable, watched;
} Allocation;

/* Elements in memory, and how a texture reads them; the names are those of engine/textures.py. `outside` are the
 * channels of what lies beyond a border, as they would be in memory (floats as float32). */
typedef struct {
    uint8_t *bytes;
    int64_t pitch;
    uint32_t handle, outside[4];
    int32_t size[3], dims, channels, channel_bytes, is_signed, is_float, layered, is_buffer, is_surface;
    int32_t mode[3], linear, normalized, fractions, spare;
} Image;

/* The shadow memory of a word of global memory; see checks.c. */
typedef struct {
    uint32_t writer, reader;
} GlobalWord;

/* When that was, as numbers of events of the launch; the bits above say that they were strong accesses. */
typedef struct {
    uint32_t written, read;
} Times;

/* Accesses of a word before its last writer, and their times. Of concurrent updates by atomic operations, or stores of
 * the same value, the last one by a thread of the writer's block, and the last one by a thread of another block; the
 * last plain store, where a strong one came after it; and the last atomic operation whose result is live. */
typedef struct {
    uint32_t near, near_written, far, far_written, plain, plainly_written, observer, observed;
} Others;

/* The same of all words of a line of 128 bytes, as long as warps access it whole: threads that follow each other have
 * written, and read, so many bytes each, from the first ones on; 0: all by the same. */
typedef struct {
    uint32_t writer, reader, written, read;
    /* of one that is split: whether there are Others of its words */
    uint8_t bytes_written, bytes_read, is_split, has_others;
} GlobalLine;

/* hashed variables by which blocks release and acquire: words of global memory share them */
enum { MEETING_PLACES = 1021 };

enum { COPY_GROUPS = 16 }; /* groups of asynchronous copies that are remembered of a warp */

/* What Python wants to know of a request of a traced block. Its addresses are the one of the first active lane and a
 * shape, which requests have in common. */
typedef struct {
    int64_t block;
    int32_t instruction, warp, space, allocation;
    uint32_t active, times; /* times: how often the warp made a request of this instruction before */
    int64_t first, shape;
} TraceRow;

/* By lane how far its address is from that of the first active lane. */
typedef struct {
    int64_t distance[WARP];
} Shape;

/* How the addresses of a request lie to each other. */
enum Form { SCATTERED, ALL_THE_SAME, SIDE_BY_SIDE };

/* A request that was made before, by its addresses relative to the first one and to its 128-byte line. The other active
 * lanes lie between `lowest` and `highest` bytes from the first; `bits`: those that one of the distances has. `sums`
 * are the counts of one such request, `times` the requests to the array `slot` that are not yet in the results.
 * `leaders`: of the lanes with the same address the first two, while hazards are looked for. shape: 1 + its place among
 * the shapes of traced requests, 0 if it is not there yet. */
typedef struct {
    uint32_t relative[WARP], active, kind;
    int32_t slot, lowest, highest;
    uint32_t bits;
    int32_t form;
    uint32_t leaders;
    int64_t times, shape;
    int64_t sums[QUANTITIES];
} Pattern;

enum { PLACES = 32 }; /* patterns that are remembered of an instruction: one for each word of the line */

/* What other threads do may be seen by an instruction: those of its block, or of the whole grid. */
enum { SEES_BLOCK = 1, SEES_GRID = 2 };

/* Threads that can never go on. `waits` as in Group; while it is 0 they go round a loop, and `instruction` is what they
 * last polled by, at `address`. */
typedef struct {
    int64_t block, address;
    int32_t warp, waits, instruction, space;
    uint32_t mask, spare;
} Waiter;

enum Fault {
    NO_FAULT, OUT_OF_BOUNDS, MISALIGNED, TOO_MANY_STEPS, BARRIERS_DIFFER, DEADLOCK, NOT_MODELLED, NO_MEMORY, HAZARD
};

/* CLUSTER: shared memory of other blocks of the cluster; an address is rank << RANK_SHIFT | byte. */
enum Space { GLOBAL, SHARED, LOCAL, CLUSTER, SPACES };

enum { MOST_OF_CLUSTER = 16, RANK_SHIFT = 24 };

/* A launch: read only, all but what its blocks write into arrays. */
typedef struct {
    const Instruction *code;
    const Lanes *constants;
    const Allocation *allocations;
    const int32_t *jumps;       /* tables of computed branches: places of instructions by address */
    const uint8_t *banks;       /* constant banks, one after the other */
    const int32_t *limits;      /* by instruction, of shared, local and constant memory: what it may access */
    const int64_t *block_ids;
    const uint8_t *traced;      /* by place in block_ids; NULL: none */
    const RegisterUse *uses;    /* by instruction; NULL if no value is to be followed */
    const Image *images;
    /* of the static ones in shared memory, by pairs: the first byte, and the one behind it */
    const int32_t *shared_arrays;
    int64_t blocks;
    int64_t most_steps;         /* of a warp, before its loop is taken for an endless one */
    int32_t instructions, rows, allocation_count, basic_blocks, memory_instructions;
    int32_t grid[3], size[3], threads;
    int32_t shared_bytes, shared_base, local_bytes, dynamic_shared_bytes;
    int32_t counting;           /* whether requests are counted */
    int32_t checking;           /* whether hazards are looked for */
    int32_t together;           /* blocks that may wait for each other and are on the device together */
    int32_t shared_granule, global_granule; /* bytes of the smallest access, as a power of two */
    int32_t cluster_blocks;     /* blocks of a cluster, which follow one another in block_ids, by rank */
    int32_t image_count;
    int32_t fences;             /* whether there are fences behind which threads may hand something on */
    int32_t shared_array_count;
    int32_t copies_in_bulk;     /* whether some instruction does */
    int32_t partial_barriers;   /* whether barriers may be of some warps only, */
    /* and whether there are mbarriers of which an instruction tells that a phase has ended */
    int32_t phases_are_found;
    /* whether threads of a warp are together again wherever they come to the same place (PTX) */
    int32_t meets_anywhere;
    int32_t stack, origin;
    /* rows of such a kernel with functions: a thread's frame begins there; which call of the
                                 * kernel, by its basic block, led to where it is. -1 if there are none */
} Launch;

struct Execution;

/* What `run_blocks` has found; it belongs to one thread of the host. */
typedef struct {
    int64_t *block_warps, *block_lanes; /* by basic block */
    int64_t *guarded;                   /* by instruction: threads with a true guard */
    int64_t *requests;                  /* by memory instruction, allocation (then shared, local) and Quantity */
    int64_t accesses[SPACES], barriers, copies;
    Pattern *patterns;                  /* by memory instruction, PLACES each, */
    uint32_t *counted;                  /* and a bit for each of these that has counted requests, or has a shape */
    GlobalLine **lines;                 /* by allocation; NULL where races are not looked for */
    GlobalWord **watched;               /* the words of lines that are split */
    Times **times;                      /* the same, NULL where blocks do not wait for each other, */
    Others **others;                    /* and of words of lines that have any */
    uint32_t *released_by_threads; /* by lane of the grid: what it did before this is released; see checks.c */
    /* Vector clocks. By block and other block the last fence that all its threads have acquired, the same by warp; of
     * both what a fence of their own has followed; what the warps of a block have released in shared memory; and the
     * clocks of variables of global memory, before them whether each is set. NULL where too many blocks meet. */
    uint32_t *acquired, *acquired_by_warps, *releasable, *releasable_by_warps;
    uint32_t *clocks_of_shared_variables, *clocks_of_variables;
    TraceRow *traces;
    Shape *shapes;
    int64_t trace_count, trace_room, shape_count, shape_room;
    int64_t fault_block, fault_address;
    int64_t changes; /* stores and atomics that changed memory, barriers that were passed, blocks that ended */
    Waiter *waiters; /* after DEADLOCK */
    int64_t progress, seen_progress, quiet; /* turns with progress, and rounds of turns without any; see warp.c */
    int64_t in_vain; /* steps of all warps since a thread ended or a barrier was passed */
    int64_t horizon, seen_horizon, reader, changed_at, shown; /* clocks: see clock.h */
    uint32_t now, fenced; /* the number of the last event, and of the last fence of more than a block */
    int32_t waiter_count, waiter_room;
    int32_t fault, fault_instruction, fault_thread;
    int32_t turns_left; /* before `run_blocks` returns for a moment */
    int32_t partings; /* how often threads that others held up have had to go on alone */
    int32_t is_timed; /* whether a clock was read */
    /* blocks whose warps passed a barrier at different places; of the first its number, and of the warps */
    int64_t apart;
    int64_t apart_block;
    int32_t apart_at[MOST_WARPS]; /* the places, 0 of a warp that had ended */
    struct Execution *execution; /* what it goes on with then; see blocks.c */
} Results;

/* Threads of a warp that execute together. `meeting`: what they wait for. */
typedef struct {
    uint32_t mask;
    int32_t pc;
    /* 0 runs; 1 + n at BSYNC Bn; AT_WARPSYNC; AT_BARRIER + n for the block, AT_PART + n for some warps */
    int32_t waits;
    uint32_t wanted;
    int64_t since; /* when it last ran, in steps of the warp */
} Group;

enum { AT_WARPSYNC = 100, AT_BARRIER = 101, AT_PART = 121, AT_CLUSTER = 140, AT_PHASE = 141, BARRIERS = 16 };

struct Block;

enum { AGREED = 256 };

/* A meeting that is still to come: BSSY makes its token. */
typedef struct {
    int32_t token;
    uint32_t lanes; /* the lanes that are to arrive */
} Agreed;

/* Times by lane: of its last fence, of its last barrier of the warp, and of its last release or acquire by an atomic
 * operation or another strong access, its own or one before that barrier; up to which its accesses are released to its
 * warp, and to its block, by their barriers, and to the block by atomic operations. The lanes of its last vote; and its
 * last acquire before its last fence of more than the block. See checks.c. */
typedef struct {
    uint32_t fenced[WARP], fenced_in_block[WARP], barrier[WARP], met[WARP], known[WARP],
        known_in_block[WARP], known_to_block[WARP], released_in_block[WARP], voted_with[WARP], met_before_fence[WARP];
} Order;

enum { FEW_READERS = 4 }; /* instructions that read the clock by turns, as the groups of a warp may */

/* An instruction that reads a clock: 1 + its index, the lanes for which it did so last, how many readings there are
 * with no memory read between them, and in steps and in clocks when the first and the last of them were. */
typedef struct {
    int32_t by, reads;
    uint32_t lanes;
    int32_t is_last; /* of the instructions that read it for these lanes */
    int64_t first_step, first_time, step;
} Reader;

/* What a warp's clock shows beside the instructions that it has executed; see clock.c. */
typedef struct {
    int64_t ahead;
    int64_t polls_from; /* what it showed at `polls_since` */
    uint32_t touched;   /* the lanes that have read memory since they last read the clock */
    int32_t newest;     /* reader */
    int32_t is_read, decides; /* whether it was read in this turn, and in the last one */
    int32_t stands;     /* whether the warp waits for what is no clock, */
    int32_t passed_over; /* and for how many rounds others have had their turn, as they were behind */
    Reader reader[FEW_READERS];
} Clock;

enum { HOLDS_UNWRITTEN = 1, HOLDS_UNDEFINED = 2 };

enum { FEW_PLACES = 4 }; /* that a warp may poll by turns */

enum { HOST_LINE = 64 }; /* bytes of a line of the host's cache */

/* A copy of the lines of the host's memory in which the words of a load lie; see `word_of_column` in memory.c. */
typedef struct {
    uint32_t relative[WARP]; /* bytes from the first line */
    uint8_t line[WARP][HOST_LINE];
} Column;

typedef struct {
    struct Block *block;
    const Launch *launch;
    Results *results;
    Lanes *rows;
    uint32_t predicate[PREDICATES];
    uint32_t living;
    int32_t number; /* of the warp in its block */
    int32_t groups;
    int32_t current; /* the group that executes */
    int32_t serial;      /* of the last token, */
    uint32_t has_tokens; /* and the convergence barriers, a bit for each, that have been used: see `tokens_of` */
    int8_t together[WARP]; /* the first lane of the group before WARPSYNC.COLLECTIVE, -1, */
    int32_t resumes[WARP]; /* and where that goes on after ENDCOLLECTIVE */
    int64_t steps;
    uint32_t saw_others; /* since its turn began: SEES_BLOCK, SEES_GRID */
    uint32_t arrived, owes; /* threads that others of the cluster have not come to yet, and that have not waited yet */
    uint32_t favoured;   /* the threads to schedule next, 0: those with the lowest program counter */
    /* the threads that ran when the last turn ended, and those found in a cycle since the last change */
    uint32_t ran, tried;
    /* Consecutive turns in which it only polled, one of a few words at last. Their addresses and values; the newest of
     * them is at `newest`. And since when it has polled no other word, and neither read a new value nor changed memory
     * itself. */
    int32_t polls, newest;
    int64_t poll_address[FEW_PLACES], polls_since;
    uint32_t poll_word[FEW_PLACES];
    /* Whether it waited for others in its last turn, what had changed at the end of it; the steps of turns in which it
     * only polled, which do not count if others go on, and how many did not. */
    int32_t waits;
    int64_t left_at, steps_in_vain, forgiven;
    /* Its last relaxed load, and whether it has been in the same state before, with no change since. */
    int32_t polled_by, polled_in;
    int64_t polled_at;
    uint64_t late_state;  /* when the time was over that it waits for a phase, and what had changed until then */
    int64_t late_since;
    uint64_t known_state, known_fingerprint;
    int64_t known_since, changed;
    int32_t turns, known_turn, repeats;
    Clock clock;
    int64_t has_time; /* steps that its next turn may have, 0: as many as any */
    uint32_t stored_anew; /* the lanes whose last store changed what was there */
    /* Of the column that it loads from: the first line, what had changed when it was first there, and whether `column`
     * holds the lines. */
    const uint8_t *column_at;
    int64_t column_since;
    int32_t column_is_held;
    int32_t only_while_it_writes; /* that turn ends sooner if it only looks for a while */
    int32_t trips; /* how often it comes to where its turn began until that ends, while it waits */
    /* For the race detector: when all threads of the warp last met, and its asynchronous copies: the groups closed and
     * awaited so far, the last one with any copies, whether there are some that are in none yet, and when groups were
     * awaited. */
    uint32_t together_at, groups_closed, awaited, last_copies, copies_open, awaited_at[COPY_GROUPS];
    uint32_t met_others; /* when one of its threads made an atomic operation, */
    uint32_t met_at;     /* or one in shared memory; */
    uint32_t has_acquired;   /* and whether it may have acquired of other blocks what others of its block have not */
    /* Registers with uninitialised values, and registers and predicates with undefined ones: a bit for each. `holds`:
     * whether there are some, HOLDS_UNWRITTEN and HOLDS_UNDEFINED. */
    uint32_t holds;
    uint64_t held[REGISTERS / 64], undefined[REGISTERS / 64], undefined_truth[PREDICATES / 64];
    /* What a warp begins with is zeros up to here, and up to `group` where hazards are looked for. */
    Order order;
    uint32_t held_by[REGISTERS]; /* the lanes whose registers these are */
    uint32_t undefined_in[REGISTERS], undefined_truth_in[PREDICATES];
    Group group[WARP];
    int32_t token[MEETINGS][WARP]; /* by convergence barrier: lanes with the same token meet */
    Agreed agreed[AGREED]; /* by token % AGREED: a lane may keep its token in a register for a while */
    int32_t *times; /* by memory instruction, while traced */
    Column column;
} Warp;

/* Instructions that the warp has executed, up to the end of its basic block. */
static inline int64_t executed(const Warp *warp) { return warp->steps + warp->forgiven; }

/* Whether some of its threads can go on. */
static inline int can_go_on(const Warp *warp) {
    for (int g = 0; g < warp->groups; g++)
        if (!warp->group[g].waits) return 1;
    return 0;
}

/* Blocks that are on the device together. A block that has ended is NULL. */
typedef struct {
    struct Block *block[MOST_OF_CLUSTER];
    int32_t living;
    uint32_t phase; /* barriers passed, from 1 */
} Cluster;

typedef struct Shadow Shadow;         /* see cells.h */
typedef struct BulkWatch BulkWatch; /* see bulk_checks.c */

typedef struct Block {
    int64_t id;      /* its linear number in the grid */
    int32_t index[3];
    int32_t rank;    /* in its cluster */
    Cluster *cluster;
    uint32_t touched; /* the last phase of the cluster in which another block used its shared memory */
    int32_t warps, living_warps;
    int32_t traced;
    uint32_t barrier, met_others; /* the time of the last barrier, and of the last atomic operation before it */
    uint32_t all_met;      /* the time of the last barrier of all warps */
    uint32_t fenced;       /* when any of its threads made a fence of more than the block */
    int32_t releases_in_block;     /* whether threads may have released something to the block alone */
    /* the last barrier when one of its threads made an atomic operation, and behind its fence */
    uint32_t released_barrier, covered;
    Shadow *shadow;          /* of shared memory, NULL where it is not watched */
    BulkWatch *bulk;       /* of copies in bulk, NULL where none are watched */
    uint8_t *local_written; /* by byte of local memory, while it is watched */
    int32_t votes, voters; /* at the last barrier: threads with a true predicate, and all */
    int32_t arrived[BARRIERS]; /* threads that have come to the barriers of some warps */
    Warp *warp;
    uint8_t *shared, *local; /* local memory lies thread by thread */
    Lanes *rows;
} Block;

typedef void Operation(Warp *warp, const Instruction *instruction, uint32_t mask);

typedef struct {
    const char *name;
    Operation *execute;
} NamedOperation;

extern const NamedOperation ARITHMETIC[], TYPED[], MEMORY[], EXCHANGE[], TEXTURES[], BULK[], CLOCKS[];

/* A row that an instruction reads. */
static inline const Lanes *row_of(const Warp *warp, int32_t row) {
    return row >= 0 ? warp->rows + row : warp->launch->constants + (-1 - row);
}

/* Of several registers, row `k`: they follow one another, or from LISTS on `jumps` says where each is. */
enum { LISTS = 1 << 24 };
static inline int32_t part_of(const Warp *warp, int32_t row, int k) {
    return row >= LISTS ? warp->launch->jumps[row - LISTS + k] : row >= 0 ? row + k : row - k;
}

static inline const Lanes *row_at(const Warp *warp, int32_t row, int k) { return row_of(warp, part_of(warp, row, k)); }

static inline uint32_t predicate_of(const Warp *warp, uint8_t which) {
    uint32_t bits = warp->predicate[which & 127];
    return which & NEGATED ? ~bits : bits;
}

static inline void set_predicate(Warp *warp, uint8_t which, uint32_t bits, uint32_t mask) {
    warp->predicate[which] = (warp->predicate[which] & ~mask) | (bits & mask);
}

/* Source `k` as 32 lanes, its signs carried out. */
Lanes modified(Lanes value, uint32_t mode);

static inline Lanes source(const Warp *warp, const Instruction *i, int k) {
    Lanes value = *row_of(warp, i->source[k]);
    if (i->mode[k] == NEGATE) return -value;
    return i->mode[k] ? modified(value, i->mode[k]) : value;
}

static inline void write_row(Warp *warp, int32_t row, Lanes value, uint32_t mask) {
    Lanes *target = warp->rows + row;
    *target = mask == 0xffffffffu ? value : choose(spread(mask), value, *target);
}

/* Of an address in the shared memory of another block of the cluster. */
static inline uint64_t byte_of(uint64_t address) { return address & (((uint64_t)1 << RANK_SHIFT) - 1); }

/* The block that an address in shared memory names. In PTX that is its rank and one, or 0 for the own block. */
static inline uint64_t rank_of(const Warp *warp, uint64_t address) {
    uint64_t named = address >> RANK_SHIFT;
    if (!warp->launch->meets_anywhere) return named;
    return named ? named - 1 : (uint64_t)warp->block->rank;
}

/* What addresses in the own block's shared memory hold above the byte. */
static inline uint32_t own_rank(const Warp *warp) {
    return warp->launch->meets_anywhere ? 0 : (uint32_t)warp->block->rank << RANK_SHIFT;
}

/* The lanes that there were at the beginning. */
static inline uint32_t lanes_of(const Warp *warp) {
    int threads = warp->launch->threads - warp->number * WARP;
    return threads >= WARP ? 0xffffffffu : (1u << threads) - 1;
}

/* Source `k` of every lane as 64 bits; what has 32 is filled up with zeros. */
void sources_of_lanes(const Warp *warp, const Instruction *i, int k, uint64_t value[WARP]);

/* Stop the launch: `thread` of the warp's block did what cannot be. */
void fail(Warp *warp, const Instruction *i, int fault, int lane, int64_t address);

#endif
