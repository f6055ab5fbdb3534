/* Instructions that exchange values between the lanes of a warp, tensor cores among them, and special registers. */
#include "checks.h"
#include "each_lane.h"
#include "warp.h"

enum { SIGNED_VALUES = 1, OF_ALL = 4, FOR_WARP = 8 /* the result is a register that the warp shares */ };

/* ---- SHFL p, d, a, lane, clamp. number[0]: the mode. PTX ISA, 'shfl.sync' */

enum { IDX, SHUFFLE_UP, SHUFFLE_DOWN, BFLY };

static void shuffle(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes value = source(warp, i, 0), from = source(warp, i, 1) & 31, control = source(warp, i, 2);
    const Lanes segment = control >> 8 & 31, lowest = LANE & segment, highest = lowest | (control & 31 & ~segment);
    SignedLanes chosen, inside;
    check_named(warp, i, mask);
    switch (i->number[0]) {
        case SHUFFLE_UP: chosen = (SignedLanes)(LANE - from); break;
        case SHUFFLE_DOWN: chosen = (SignedLanes)(LANE + from); break;
        case BFLY: chosen = (SignedLanes)(LANE ^ from); break;
        default: chosen = (SignedLanes)(lowest | (from & ~segment));
    }
    inside = i->number[0] == SHUFFLE_UP ? chosen >= (SignedLanes)highest : chosen <= (SignedLanes)highest;
    const Lanes asked = choose((Lanes)inside, (Lanes)chosen & 31, LANE);
    const uint32_t in_range = gather_bits(inside);
    if (warp->launch->checking && (mask != (uint32_t)ALL_LANES || warp->holds & HOLDS_UNDEFINED)) {
        uint32_t absent = 0;
        for (uint32_t rest = in_range & mask; rest; rest &= rest - 1)
            absent |= (~mask >> each_of(&asked)[__builtin_ctz(rest)] & 1) << __builtin_ctz(rest);
        if (absent || warp->holds & HOLDS_UNDEFINED) take_undefined(warp, i, mask, &asked, absent);
    }
    uint32_t answers[WARP];
    Lanes moved;
    for (int lane = 0; lane < WARP; lane++) answers[lane] = each_of(&value)[each_of(&asked)[lane]];
    memcpy(&moved, answers, sizeof moved);
    if (i->d_width) write_row(warp, i->d, moved, mask);
    set_predicate(warp, i->p_out[0], in_range, mask);
}

/* ---- VOTE {d,} p, q. number[0]: 0 all, 1 any, 2 all equal */

static void vote(Warp *warp, const Instruction *i, uint32_t mask) {
    uint32_t writes = i->flags & FOR_WARP ? (uint32_t)ALL_LANES : mask;
    uint32_t yes = predicate_of(warp, i->p_in[0]) & mask;
    check_named(warp, i, mask);
    for (uint32_t rest = i->is_vote ? mask : 0; rest; rest &= rest - 1)
        warp->order.voted_with[__builtin_ctz(rest)] = mask;
    int answer = i->number[0] == 0 ? yes == mask : i->number[0] == 1 ? yes != 0 : yes == mask || yes == 0;
    if (i->d_width) write_row(warp, i->d, broadcast(yes), writes);
    set_predicate(warp, i->p_out[0], answer ? 0xffffffffu : 0, writes);
}

/* ---- REDUX d, a. number[0]: 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor */

static void reduce_warp(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes all = source(warp, i, 0);
    const uint32_t *value = each_of(&all);
    uint32_t result = value[__builtin_ctz(mask)];
    check_named(warp, i, mask);
    for (uint32_t rest = mask & (mask - 1); rest; rest &= rest - 1) {
        uint32_t other = value[__builtin_ctz(rest)];
        int less = i->flags & SIGNED_VALUES ? (int32_t)other < (int32_t)result : other < result;
        switch (i->number[0]) {
            case 0: result += other; break;
            case 1: result = less ? other : result; break;
            case 2: result = less ? result : other; break;
            case 3: result &= other; break;
            case 4: result |= other; break;
            default: result ^= other;
        }
    }
    write_row(warp, i->d, broadcast(result), i->flags & FOR_WARP ? (uint32_t)ALL_LANES : mask);
}

/* ---- MATCH.ANY d, a: the lanes with the same value; MATCH.ALL p, d, a: all lanes if all agree, and whether they do */

static void match(Warp *warp, const Instruction *i, uint32_t mask) {
    uint64_t value[WARP];
    uint32_t equals[WARP];
    Lanes same;
    int agree = 1;
    check_named(warp, i, mask);
    sources_of_lanes(warp, i, 0, value);
    for (int lane = 0; lane < WARP; lane++) {
        uint32_t lanes = 0;
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            if (value[__builtin_ctz(rest)] == value[lane]) lanes |= rest & (0u - rest);
        equals[lane] = lanes;
        if (mask >> lane & 1 && lanes != mask) agree = 0;
    }
    memcpy(&same, equals, sizeof same);
    if (i->flags & OF_ALL) same = broadcast(agree ? mask : 0);
    write_row(warp, i->d, same, mask);
    if (i->flags & OF_ALL) set_predicate(warp, i->p_out[0], agree ? 0xffffffffu : 0, mask);
}

enum { TELLS_WHO_DIFFERS = 1, KEEPS_WHAT_WAS_TRUE = 2 };

/* R2UR {p,} d, a: what the first active lane has becomes a register of the warp; p is true where another value is. */
static void to_uniform(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes value = source(warp, i, 0), uniform = broadcast(each_of(&value)[__builtin_ctz(mask)]);
    write_row(warp, i->d, uniform, (uint32_t)ALL_LANES);
    if (!(i->flags & TELLS_WHO_DIFFERS)) return;
    uint32_t differs = gather_bits((SignedLanes)(value != uniform));
    if (i->flags & KEEPS_WHAT_WAS_TRUE) differs |= warp->predicate[i->p_out[0]];
    set_predicate(warp, i->p_out[0], differs, mask);
}

/* ELECT p, {d}: p is true for the first active lane, whose number is d. */
static void elect(Warp *warp, const Instruction *i, uint32_t mask) {
    uint32_t first = mask & (0u - mask);
    check_named(warp, i, mask);
    set_predicate(warp, i->p_out[0], first, mask);
    if (i->d_width) write_row(warp, i->d, broadcast((uint32_t)__builtin_ctz(mask)), mask);
}

/* ---- S2R d, SR_... number[0]: which; number[1]: what it is divided by, if it is not 0: the rest is wanted, or
 * (number[2]) the quotient, of places in a cluster. */

enum { TID_X, TID_Y, TID_Z, CTAID_X, CTAID_Y, CTAID_Z, NTID_X, NTID_Y, NTID_Z, NCTAID_X, NCTAID_Y, NCTAID_Z, LANEID,
       WARPID,
       EQMASK, LTMASK, LEMASK, GTMASK, GEMASK, RANK, DYNAMIC_SHARED, SM, WARP_HIGH };

/* threadIdx along an axis. The lanes of a warp follow each other: only the first one is found by division. */
static Lanes thread_index(const Warp *warp, int axis) {
    uint32_t first = (uint32_t)(warp->number * WARP), size[3], index[3], lane_index[WARP];
    Lanes value;
    for (int k = 0; k < 3; k++) {
        size[k] = (uint32_t)warp->launch->size[k];
        index[k] = first % size[k];
        first /= size[k];
    }
    for (int lane = 0; lane < WARP; lane++) {
        lane_index[lane] = index[axis];
        for (int k = 0; k < 3 && ++index[k] == size[k]; k++) index[k] = 0;
    }
    memcpy(&value, lane_index, sizeof value);
    return value;
}

static void special_register(Warp *warp, const Instruction *i, uint32_t mask) {
    const Launch *launch = warp->launch;
    int which = i->number[0];
    Lanes value;
    switch (which) {
        case TID_X: case TID_Y: case TID_Z: value = thread_index(warp, which - TID_X); break;
        case LANEID: value = LANE; break;
        case WARPID: value = broadcast((uint32_t)warp->number); break;
        case WARP_HIGH: value = broadcast((uint32_t)warp->number << 8); break;
        case EQMASK: value = LANE_BIT; break;
        case LTMASK: value = LANE_BIT - 1; break;
        case LEMASK: value = LANE_BIT | (LANE_BIT - 1); break;
        case GTMASK: value = ~(LANE_BIT | (LANE_BIT - 1)); break;
        case GEMASK: value = ~(LANE_BIT - 1); break;
        case DYNAMIC_SHARED: value = broadcast((uint32_t)launch->dynamic_shared_bytes); break;
        case SM: value = broadcast((uint32_t)(warp->block->id % i->number[1])); break; /* of number[1] */
        case RANK: value = broadcast((uint32_t)warp->block->rank); break;
        default:
            value = broadcast((uint32_t)(which >= NCTAID_X ? launch->grid[which - NCTAID_X]
                                         : which >= NTID_X ? launch->size[which - NTID_X]
                                                           : warp->block->index[which - CTAID_X]));
    }
    if (i->number[1]) value = i->number[2] ? value / (uint32_t)i->number[1] : value % (uint32_t)i->number[1];
    write_row(warp, i->d, value, mask);
}

/* getctarank d, a: the block of the cluster that has an address in shared memory. */
static void rank_of_address(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes named = source(warp, i, 0) >> RANK_SHIFT & 0xff;
    write_row(warp, i->d, choose((Lanes)(named == 0), broadcast((uint32_t)warp->block->rank), named - 1), mask);
}

/* B2R.RESULT behind a BAR.RED, or the barrier itself in PTX. offset: 0 how many, 1 all, 2 any */
void barrier_result(Warp *warp, const Instruction *i, uint32_t mask) {
    const Block *block = warp->block;
    if (i->d_width) write_row(warp, i->d, broadcast((uint32_t)block->votes), mask);
    int yes = i->offset == 1 ? block->votes == block->voters : block->votes > 0;
    set_predicate(warp, i->p_out[0], yes ? 0xffffffffu : 0, mask);
}

/* BREAK: the threads will not come to the meeting. */
static void leave_meeting(Warp *warp, const Instruction *i, uint32_t mask) {
    forget_meetings(warp, i->number[0], mask & predicate_of(warp, i->p_in[0]));
}

/* BAR.RED: what the threads bring to the barrier. */
static void bring_votes(Warp *warp, const Instruction *i, uint32_t mask) {
    set_predicate(warp, VOTES, predicate_of(warp, i->p_in[0]), mask);
}

/* ---- convergence barriers: the lanes that reconverge at each */

static void enter_meeting(Warp *warp, const Instruction *i, uint32_t mask) {
    int n = i->number[0];
    forget_meetings(warp, n, mask);
    int32_t token = new_token(warp);
    warp->agreed[token % AGREED] = (Agreed){token, mask};
    give_token(warp, n, mask, token);
}

/* BMOV.32.CLEAR R, Bn; the lanes are still to come to their meeting. flags: .CLEAR, after which Bn is free for another
 * one. */
static void save_meeting(Warp *warp, const Instruction *i, uint32_t mask) {
    Lanes tokens;
    memcpy(&tokens, tokens_of(warp, i->number[0]), sizeof tokens);
    write_row(warp, i->d, tokens, mask);
    if (i->flags) give_token(warp, i->number[0], mask, NO_MEETING);
}

static void restore_meeting(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes tokens = source(warp, i, 0);
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        tokens_of(warp, i->number[0])[__builtin_ctz(rest)] = (int32_t)each_of(&tokens)[__builtin_ctz(rest)];
}

/* ---- tensor cores; simulator/arithmetic/tensor_core.py says where the elements are, and how they are added */

enum { MOST_K = 32, MOST_ROWS_OF_B = 64, MOST_PLACES = 64 };
enum { SPARSE = 1 << 9, SELECTOR_BIT = 10 }; /* in flags: A holds half of its elements, and source 3 says which */
enum { MATRIX_F16, MATRIX_BF16, MATRIX_TF32, MATRIX_E4M3, MATRIX_E5M2 };
static const int SMALLEST[] = {-14, -126, -126, -6, -14}; /* exponents */

/* The elements of a register of 32 bits: one TF32, two of 16 bits, or four of 8. */
static double element(int type, uint32_t bits, int part) {
    if (type == MATRIX_TF32) return as_float(bits & 0xffffe000u);
    if (type >= MATRIX_E4M3) return of_eight(type == MATRIX_E5M2, bits >> 8 * part & 0xff);
    uint16_t half = (uint16_t)(bits >> 16 * part);
    return type == MATRIX_BF16 ? (double)as_float((uint32_t)half << 16) : of_half(half);
}

/* Where in its row of A each element is that the fragments of a sparse A hold; `bits` of an element. Four bits say it
 * of a chunk of four elements, of two of 32 bits or of eight of 4. If 16 of them say all of a row, a lane in four has
 * them, those of row g below those of row g + 8; 32 are split between two lanes, and 64 between all four. */
static void find_places(const Warp *warp, const Instruction *i, int bits, uint8_t place[16][MOST_PLACES]) {
    const int of_chunk = bits == 4 ? 4 : bits == 32 ? 1 : 2, chunks = i->number[0] / 2 / of_chunk;
    const int selector = (int)(i->flags >> SELECTOR_BIT & 3);
    const uint32_t *words = each_of(row_at(warp, i->source[3], 0));
    for (int row = 0; row < 16; row++)
        for (int chunk = 0; chunk < chunks; chunk++) {
            const int lower = row / 8;
            int lane = lower + 2 * (chunk / 8), shift = 4 * (chunk % 8);
            if (chunks == 4) lane = selector, shift = 4 * chunk + 16 * lower;
            else if (chunks == 8 && bits >= 16) lane = 2 * selector + chunk / 4, shift = 4 * (chunk % 4) + 16 * lower;
            else if (chunks == 8) lane = 2 * selector + lower;
            const int two = (int)(words[row % 8 * 4 + lane] >> shift & 15), both[2] = {two & 3, two >> 2};
            for (int n = 0; n < of_chunk; n++)
                place[row][chunk * of_chunk + n] = (uint8_t)(chunk * 2 * of_chunk + (of_chunk == 1   ? both[0] / 2
                                                                                    : of_chunk == 2 ? both[n]
                                                                                                    : 2 * both[n / 2]
                                                                                                        + n % 2));
        }
}

/* A subnormal number has the exponent of the smallest normal one of its format. */
static int exponent_of(double x, int smallest) {
    int exponent;
    frexp(x, &exponent);
    return exponent - 1 < smallest ? smallest : exponent - 1;
}

/* A float64 cut to a float32, with so many bits of its fraction; 2^128 and more is infinite. */
static double cut(double x, int fraction_bits) {
    if (fabs(x) < 0x1p-126) return ldexp(trunc(ldexp(x, 126 + fraction_bits)), -126 - fraction_bits);
    return (float)as_double(bits_of_double(x) >> (52 - fraction_bits) << (52 - fraction_bits));
}

/* A sum of products, rounded to float16 or cut to float32. */
static double finished(double value, int halves, int extra_bits) {
    if (!halves) return value == 0 ? 0 : cut(value, extra_bits < 0 ? 23 + extra_bits : 23);
    double rounded = of_half(half_of(value, TO_NEAREST));
    return rounded == 0 && value != 0 ? 0.0 : rounded;
}

/* total + the sum of some products where an infinity or a NaN may be among them. */
static double added(double total, const double *a, const double *b, int count, int extra_bits, const int type[2],
                    int halves) {
    double terms[MOST_K + 1], plain = 0, units = 0; /* an exact zero is +0, whatever the signs of the terms */
    int largest = -126;
    for (int k = 0; k <= count; k++) {
        terms[k] = k < count ? a[k] * b[k * 8] : total;
        plain += terms[k];
        if (terms[k] == 0) continue;
        int exponent = k < count ? exponent_of(a[k], SMALLEST[type[0]]) + exponent_of(b[k * 8], SMALLEST[type[1]])
                                 : exponent_of(total, halves ? -14 : -126);
        if (exponent > largest) largest = exponent;
    }
    if (plain != plain) return NAN;
    if (isinf(plain)) return plain;
    for (int k = 0; k <= count; k++) units += trunc(ldexp(terms[k], 23 + extra_bits - largest));
    return finished(ldexp(units, largest - 23 - extra_bits), halves, extra_bits);
}

/* The factors of a product and their exponents: rows of A, of B and of C; of a sparse A what there is of a row, and the
 * rows of B that it is multiplied by. */
typedef struct {
    double a[16][MOST_K], b[MOST_ROWS_OF_B][8], c[16][8];
    int32_t a_exponent[16][MOST_K], b_exponent[MOST_ROWS_OF_B][8];
    uint8_t place[16][MOST_PLACES];
} Factors;

/* What is multiplied for a row of C. */
typedef struct {
    const double *a, (*b)[8];
    const int32_t *a_exponent, (*b_exponent)[8];
} Terms;

enum { SUM_OF_HALVES = 1, UNPACKS = 1 << 8 };
enum { OF_ZERO = -4096, OF_INFINITY = 1024 }; /* less than any other exponent, and more than those of numbers */

/* The exponent of a float64 that holds a number of a shorter format. */
static int32_t quick_exponent(double x, int smallest) {
    int32_t exponent = (int32_t)(bits_of_double(x) >> 52 & 0x7ff) - 1023;
    return x == 0 ? OF_ZERO : exponent < smallest ? smallest : exponent;
}

static double power_of_two(int32_t exponent) { return as_double((uint64_t)(exponent + 1023) << 52); }

/* The same as `added` for the eight elements of a row of C and finite numbers: all terms are cut at one place, as whole
 * numbers of less than 31 bits, so that a processor does several of them at once. */
static void add_row(double *total, const Terms *t, int first, int count, int extra_bits, int halves) {
    double scale[8], back[8], units[8];
    int32_t largest[8];
    for (int n = 0; n < 8; n++) {
        int32_t exponent = quick_exponent(total[n], halves ? -14 : -126);
        largest[n] = exponent > -126 ? exponent : -126;
    }
    for (int k = first; k < first + count; k++) {
        for (int n = 0; n < 8; n++) {
            int32_t exponent = t->a_exponent[k] + t->b_exponent[k][n];
            largest[n] = exponent > largest[n] ? exponent : largest[n];
        }
    }
    for (int n = 0; n < 8; n++) scale[n] = power_of_two(23 + extra_bits - largest[n]);
    for (int n = 0; n < 8; n++) back[n] = power_of_two(largest[n] - 23 - extra_bits);
    for (int n = 0; n < 8; n++) units[n] = (int32_t)(total[n] * scale[n]);
    for (int k = first; k < first + count; k++)
        for (int n = 0; n < 8; n++) units[n] += (int32_t)(t->a[k] * t->b[k][n] * scale[n]);
    for (int n = 0; n < 8; n++) total[n] = finished(units[n] * back[n], halves, extra_bits);
}

/* The factors of product `n` of several, whose fragments follow each other, and their exponents as numbers of the types
 * `as`. Returns the greatest exponent of all. */
static int32_t read_factors(const Warp *warp, const Instruction *i, int n, const int type[2], const int as[2],
                            Factors *f) {
    const int k = i->number[0], parts = type[0] >= MATRIX_E4M3 ? 4 : type[0] == MATRIX_TF32 ? 1 : 2;
    const int depth = i->flags & SPARSE ? k / 2 : k, a_rows = 16 * depth / (32 * parts), b_rows = 8 * k / (32 * parts);
    int32_t greatest = OF_ZERO;
    for (int r = 0; r < a_rows; r++) {
        const uint32_t *bits = each_of(row_at(warp, i->source[0], n * a_rows + r));
        for (int lane = 0; lane < WARP; lane++)
            for (int part = 0; part < parts; part++) {
                int row = lane / 4 + 8 * (r % 2), column = lane % 4 * parts + part + r / 2 * 4 * parts;
                f->a[row][column] = element(type[0], bits[lane], part);
            }
    }
    for (int r = 0; r < b_rows; r++) {
        const uint32_t *bits = each_of(row_at(warp, i->source[1], n * b_rows + r));
        for (int lane = 0; lane < WARP; lane++)
            for (int part = 0; part < parts; part++)
                f->b[lane % 4 * parts + part + r * 4 * parts][lane / 4] = element(type[1], bits[lane], part);
    }
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < depth; column++) {
            f->a_exponent[row][column] = quick_exponent(f->a[row][column], SMALLEST[as[0]]);
            greatest = f->a_exponent[row][column] > greatest ? f->a_exponent[row][column] : greatest;
        }
    for (int row = 0; row < k; row++)
        for (int column = 0; column < 8; column++) {
            f->b_exponent[row][column] = quick_exponent(f->b[row][column], SMALLEST[as[1]]);
            greatest = f->b_exponent[row][column] > greatest ? f->b_exponent[row][column] : greatest;
        }
    if (i->flags & SPARSE) find_places(warp, i, 32 / parts, f->place);
    return greatest;
}

/* f->c += the product, whose factors count as numbers of these types. half: of each register of four elements the two
 * that are multiplied, or -1 for all. */
static void add_product(Factors *f, const Instruction *i, const int type[2], int half, int32_t greatest) {
    const int at_once = i->number[2], extra_bits = i->number[3], halves = i->flags & SUM_OF_HALVES,
        sparse = i->flags & SPARSE;
    const int depth = sparse ? i->number[0] / 2 : i->number[0], count = half < 0 ? depth : depth / 2;
    double a[MOST_K], b[MOST_K][8];
    int32_t a_exponent[MOST_K], b_exponent[MOST_K][8];
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 8; column++)
            greatest = (bits_of_double(f->c[row][column]) >> 52 & 0x7ff) == 0x7ff ? OF_INFINITY : greatest;
    for (int row = 0; row < 16; row++) {
        Terms t = {f->a[row], (const double(*)[8])f->b, f->a_exponent[row], (const int32_t(*)[8])f->b_exponent};
        if (sparse || half >= 0) {
            for (int n = 0; n < count; n++) {
                const int column = half < 0 ? n : n / 2 * 4 + 2 * half + n % 2,
                    from = sparse ? f->place[row][column] : column;
                a[n] = f->a[row][column], a_exponent[n] = f->a_exponent[row][column];
                memcpy(b[n], f->b[from], sizeof b[n]);
                memcpy(b_exponent[n], f->b_exponent[from], sizeof b_exponent[n]);
            }
            t = (Terms){a, (const double(*)[8])b, a_exponent, (const int32_t(*)[8])b_exponent};
        }
        for (int first = 0; first < count; first += at_once) {
            if (greatest < OF_INFINITY) {
                add_row(f->c[row], &t, first, at_once, extra_bits, halves);
                continue;
            }
            for (int column = 0; column < 8; column++)
                f->c[row][column] =
                    added(f->c[row][column], &t.a[first], &t.b[first][column], at_once, extra_bits, type, halves);
        }
    }
}

static void multiply_one(Warp *warp, const Instruction *i, uint32_t mask, int n) {
    static const int UNPACKED_TYPE[2] = {MATRIX_F16, MATRIX_F16};
    Factors f;
    double c[16][8];
    const int type[2] = {i->number[1], (int)(i->flags >> 1 & 127)}, halves = i->flags & SUM_OF_HALVES;
    const int c_rows = halves ? 2 : 4;
    for (int r = 0; r < 4; r++) {
        const uint32_t *bits = each_of(row_at(warp, i->source[2], n * c_rows + (halves ? r / 2 : r)));
        for (int lane = 0; lane < WARP; lane++)
            c[lane / 4 + 8 * (r / 2)][2 * (lane % 4) + r % 2] =
                halves ? of_half((uint16_t)(bits[lane] >> 16 * (r % 2))) : (double)as_float(bits[lane]);
    }
    if (i->flags & UNPACKS) { /* the sum of both halves' products, to which C is added at last */
        memset(f.c, 0, sizeof f.c);
        int32_t greatest = read_factors(warp, i, n, type, UNPACKED_TYPE, &f);
        for (int half = 0; half < 2; half++) add_product(&f, i, UNPACKED_TYPE, half, greatest);
        for (int row = 0; row < 16; row++)
            for (int column = 0; column < 8; column++) f.c[row][column] += c[row][column];
    } else {
        memcpy(f.c, c, sizeof f.c);
        add_product(&f, i, type, -1, read_factors(warp, i, n, type, type, &f));
    }
    for (int r = 0; r < c_rows; r++) {
        uint32_t bits[WARP];
        Lanes result;
        for (int lane = 0; lane < WARP; lane++) {
            const double *two = &f.c[lane / 4 + 8 * (halves ? r : r / 2)][2 * (lane % 4)];
            if (halves) bits[lane] = half_of(two[0], TO_NEAREST) | (uint32_t)half_of(two[1], TO_NEAREST) << 16;
            else bits[lane] = bits_of(canonical((float)two[r % 2]));
        }
        memcpy(&result, bits, sizeof result);
        write_row(warp, part_of(warp, i->d, n * c_rows + r), result, mask);
    }
}

/* HMMA and QMMA d, a, b, c. number: k, A's type, products that are added at once, extra bits; flags: whether C and D
 * are pairs of float16, from the next bit on B's type, and whether 8-bit numbers are multiplied as float16, one half of
 * each register after the other; SPARSE. offset: how many products there are, if there is more than one. */
static void multiply_matrices(Warp *warp, const Instruction *i, uint32_t mask) {
    for (int n = 0; n == 0 || n < i->offset; n++) multiply_one(warp, i, mask, n);
}

/* IMMA, BMMA and DMMA d, a, b, c, whose sums are exact, or a chain of fused ones. number: k, the rows of A and C by
 * eights, bits of an element; offset: as above. */
enum { A_IS_SIGNED = 1, B_IS_SIGNED = 2, STAYS_IN_RANGE = 4, WHERE_BITS_DIFFER = 8 };
enum { MOST_BITS_K = 256, MOST_DOUBLES_K = 16 };

/* Where element `part` of a lane's word `word` lies in a factor: its row, or of B its column, and its k. */
static inline void place_in_factor(int word, int rows, int parts, int lane, int part, int *row, int *k) {
    *row = word % rows * 8 + lane / 4;
    *k = word / rows * 4 * parts + lane % 4 * parts + part;
}

static void integers_of_factor(const Warp *warp, int32_t from, int first, int words, int rows, int format,
                               int32_t (*element)[MOST_BITS_K]) {
    const int bits = bits_of_format(format), parts = 32 / bits;
    int row, k;
    for (int word = 0; word < words; word++) {
        const uint32_t *held = each_of(row_at(warp, from, first + word));
        for (int lane = 0; lane < WARP; lane++)
            for (int part = 0; part < parts; part++) {
                place_in_factor(word, rows, parts, lane, part, &row, &k);
                element[row][k] = (int32_t)extended(held[lane] >> bits * part, format);
            }
    }
}

static void multiply_integers(Warp *warp, const Instruction *i, uint32_t mask) {
    const int k = i->number[0], rows = i->number[1], bits = i->number[2], b_words = 8 * k * bits / 1024;
    const int sparse = i->flags & SPARSE, a_words = rows * (sparse ? b_words / 2 : b_words);
    const int formats[2] = {i->flags & A_IS_SIGNED ? -bits : bits, i->flags & B_IS_SIGNED ? -bits : bits};
    int32_t a[16][MOST_BITS_K], b[8][MOST_BITS_K];
    uint8_t place[16][MOST_PLACES];
    if (sparse) find_places(warp, i, bits, place);
    for (int n = 0; n == 0 || n < i->offset; n++) {
        integers_of_factor(warp, i->source[0], n * a_words, a_words, rows, formats[0], a);
        integers_of_factor(warp, i->source[1], n * b_words, b_words, 1, formats[1], b);
        for (int word = 0; word < 2 * rows; word++) {
            const uint32_t *c = each_of(row_at(warp, i->source[2], 2 * rows * n + word));
            uint32_t result[WARP];
            Lanes value;
            for (int lane = 0; lane < WARP; lane++) {
                const int32_t *left = a[word / 2 * 8 + lane / 4], *right = b[lane % 4 * 2 + word % 2];
                int64_t sum = (int32_t)c[lane];
                if (sparse)
                    for (int pair = 0; pair < k / 2; pair++)
                        sum += left[pair] * right[place[word / 2 * 8 + lane / 4][pair]];
                else if (i->flags & WHERE_BITS_DIFFER)
                    for (int place = 0; place < k; place++) sum += left[place] ^ right[place];
                else
                    for (int place = 0; place < k; place++) sum += left[place] * right[place];
                if (i->flags & STAYS_IN_RANGE) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
                result[lane] = (uint32_t)sum;
            }
            memcpy(&value, result, sizeof value);
            write_row(warp, part_of(warp, i->d, 2 * rows * n + word), value, mask);
        }
    }
}

/* A lane's word `word` of float64 numbers, which lie in two rows each. */
static void doubles_at(const Warp *warp, int32_t from, int word, uint64_t value[WARP]) {
    const uint32_t *low = each_of(row_at(warp, from, 2 * word)), *high = each_of(row_at(warp, from, 2 * word + 1));
    for (int lane = 0; lane < WARP; lane++) value[lane] = (uint64_t)high[lane] << 32 | low[lane];
}

static void doubles_of_factor(const Warp *warp, int32_t from, int words, int rows,
                              uint64_t (*element)[MOST_DOUBLES_K]) {
    int row, k;
    for (int word = 0; word < words; word++) {
        uint64_t held[WARP];
        doubles_at(warp, from, word, held);
        for (int lane = 0; lane < WARP; lane++) {
            place_in_factor(word, rows, 1, lane, 0, &row, &k);
            element[row][k] = held[lane];
        }
    }
}

static void multiply_doubles(Warp *warp, const Instruction *i, uint32_t mask) {
    const int k = i->number[0], rows = i->number[1];
    uint64_t a[16][MOST_DOUBLES_K], b[8][MOST_DOUBLES_K];
    doubles_of_factor(warp, i->source[0], rows * k / 4, rows, a);
    doubles_of_factor(warp, i->source[1], k / 4, 1, b);
    for (int word = 0; word < 2 * rows; word++) {
        uint64_t sum[WARP];
        uint32_t half[2][WARP];
        Lanes value[2];
        doubles_at(warp, i->source[2], word, sum);
        for (int lane = 0; lane < WARP; lane++) {
            for (int place = 0; place < k; place++) {
                const uint64_t s[3] = {a[word / 2 * 8 + lane / 4][place], b[lane % 4 * 2 + word % 2][place], sum[lane]};
                sum[lane] = double_result(fused_double(as_double(s[0]), as_double(s[1]), as_double(s[2]), TO_NEAREST),
                                          s, 3);
            }
            half[0][lane] = (uint32_t)sum[lane];
            half[1][lane] = (uint32_t)(sum[lane] >> 32);
        }
        memcpy(value, half, sizeof value);
        for (int part = 0; part < 2; part++) write_row(warp, part_of(warp, i->d, 2 * word + part), value[part], mask);
    }
}

/* MOVM d, a: an 8 x 8 matrix of 16-bit elements, of which a lane holds two, transposed. */
static void transpose_matrix(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes held = source(warp, i, 0);
    Lanes result;
    for (int lane = 0; lane < WARP; lane++) {
        int row = lane / 4, column = 2 * (lane % 4), shift = 16 * (row % 2);
        uint32_t low = held[4 * column + row / 2] >> shift & 0xffffu;
        uint32_t high = held[4 * (column + 1) + row / 2] >> shift & 0xffffu;
        result[lane] = low | high << 16;
    }
    write_row(warp, i->d, result, mask);
}

/* MOVM.U4TO8: an 8 x 32 matrix of 4-bit numbers, of which a lane holds eight of a row, as two of 8 x 16 bytes, of which
 * lane i holds the four of row i / 4 that products want. */
static void widen_matrix(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes all = source(warp, i, 0);
    for (int part = 0; part < 2; part++) {
        uint32_t words[WARP];
        Lanes result;
        for (int lane = 0; lane < WARP; lane++) {
            const int column = 4 * (lane % 4) + 16 * part;
            const uint32_t fours = each_of(&all)[lane / 4 * 4 + column / 8] >> column % 8 * 4;
            words[lane] = (fours & 15) | (fours >> 4 & 15) << 8 | (fours >> 8 & 15) << 16 | (fours >> 12 & 15) << 24;
        }
        memcpy(&result, words, sizeof result);
        write_row(warp, i->d + part, result, mask);
    }
}

const NamedOperation EXCHANGE[] = {
    {"shuffle", shuffle},
    {"vote", vote},
    {"reduce warp", reduce_warp},
    {"match", match},
    {"to uniform", to_uniform},
    {"elect", elect},
    {"special register", special_register},
    {"rank of address", rank_of_address},
    {"barrier result", barrier_result},
    {"bring votes", bring_votes},
    {"enter meeting", enter_meeting},
    {"leave meeting", leave_meeting},
    {"save meeting", save_meeting},
    {"restore meeting", restore_meeting},
    {"multiply matrices", multiply_matrices},
    {"multiply integers", multiply_integers},
    {"multiply doubles", multiply_doubles},
    {"transpose matrix", transpose_matrix},
    {"widen matrix", widen_matrix},
    {0, 0},
};
