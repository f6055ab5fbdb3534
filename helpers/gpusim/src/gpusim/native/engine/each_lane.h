/* Operations that are a function of one lane's values, carried out for the active lanes of a warp. */
#ifndef EACH_LANE_H
#define EACH_LANE_H

#include "floats.h"
#include "machine.h"

/* number[0] of comparisons; those of integers come first. number[1] says how the result is combined. */
enum { LT, LE, EQ, NE, GE, GT, LTU, LEU, EQU, NEU, GEU, GTU, NUM, NOT_A_NUMBER };
enum { AND, OR, XOR };

/* The values of one lane's sources → the value that it writes, in 32 or 64 bits. `p`: its source predicates, bit by
 * bit; `out`: the predicates that it writes. */
typedef uint64_t PerLane(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out);

/* Whether the sources are the same in all lanes, as what follows from the number of the block is: one answer is
 * enough. */
static inline int is_same_for_all(const Warp *warp, const Instruction *i, const uint32_t p[3], uint32_t mask) {
    Lanes differs = {0};
    for (int k = 0; k < 3; k++)
        if (p[k] & mask && ~p[k] & mask) return 0;
    for (int k = 0; k < 4; k++) {
        for (int part = 0; part < i->width[k] && i->source[k] >= 0; part++) {
            const Lanes *row = row_at(warp, i->source[k], part);
            differs |= *row ^ broadcast(each_of(row)[0]);
        }
    }
    return !any_of(differs);
}

/* Carry out a function of one lane for the lanes of `mask`. It is inlined into every operation, so that the compiler
 * sees the function. */
static inline __attribute__((always_inline)) void each_lane(Warp *warp, const Instruction *i, uint32_t mask,
                                                            PerLane *function) {
    uint64_t values[4][WARP];
    uint32_t p[3], first = 0, second = 0;
    uint32_t *low = (uint32_t *)(warp->rows + i->d), *high = low + WARP;
    for (int k = 0; k < 4; k++)
        if (i->width[k]) sources_of_lanes(warp, i, k, values[k]);
    for (int k = 0; k < 3; k++) p[k] = predicate_of(warp, i->p_in[k]);
    const uint32_t others = is_same_for_all(warp, i, p, mask) ? mask & (mask - 1) : 0;
    for (uint32_t rest = mask & ~others; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t s[4];
        uint32_t out = 0;
        for (int k = 0; k < 4; k++) s[k] = i->width[k] ? values[k][lane] : 0;
        uint64_t value = function(i, s, (p[0] >> lane & 1) | (p[1] >> lane & 1) << 1 | (p[2] >> lane & 1) << 2, &out);
        if (i->d_width) low[lane] = (uint32_t)value;
        if (i->d_width > 1) high[lane] = (uint32_t)(value >> 32);
        first |= (out & 1) << lane;
        second |= (out >> 1 & 1) << lane;
    }
    if (others) {
        int lane = __builtin_ctz(mask);
        if (i->d_width) write_row(warp, i->d, broadcast(low[lane]), others);
        if (i->d_width > 1) write_row(warp, i->d + 1, broadcast(high[lane]), others);
        first |= first ? others : 0;
        second |= second ? others : 0;
    }
    set_predicate(warp, i->p_out[0], first, mask);
    set_predicate(warp, i->p_out[1], second, mask);
}

static inline int combined(int how, int a, int b) { return how == AND ? a & b : how == OR ? a | b : a ^ b; }

/* p and q of a comparison: the result and its opposite, each combined with a third predicate. */
static inline uint32_t pair(const Instruction *i, int yes, uint32_t p) {
    int other = p & 1;
    return (uint32_t)(combined(i->number[1], yes, other) | combined(i->number[1], !yes, other) << 1);
}

static inline int compared(int how, int64_t a, int64_t b) {
    switch (how) {
        case LT: return a < b;
        case LE: return a <= b;
        case EQ: return a == b;
        case NE: return a != b;
        case GE: return a >= b;
        default: return a > b;
    }
}

/* Of floating-point numbers: LTU and those that follow are true where a number is NaN. */
static inline int compared_floats(int how, double a, double b) {
    switch (how) {
        case LT: return a < b;
        case LE: return a <= b;
        case EQ: return a == b;
        case NE: return a < b || a > b;
        case GE: return a >= b;
        case GT: return a > b;
        case LTU: return !(a >= b);
        case LEU: return !(a > b);
        case EQU: return !(a < b || a > b);
        case NEU: return a != b;
        case GEU: return !(a < b);
        case GTU: return !(a <= b);
        case NUM: return a == a && b == b;
        default: return a != a || b != b;
    }
}

/* ---- formats of numbers, as Python names them: integers by their bits, less than 0 if signed */

enum { F16 = 100, F32 = 101, F64 = 102, BF16 = 103, TF32 = 104 };

static inline int bits_of_format(int format) { return format < 0 ? -format : format; }

static inline uint64_t low_bits(int bits) { return bits > 63 ? ~0ull : (1ull << bits) - 1; }

/* The low bits of a register as an integer of a format. */
static inline uint64_t extended(uint64_t value, int format) {
    int bits = bits_of_format(format);
    if (bits == 64) return value;
    return format < 0 ? (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits)) : value & low_bits(bits);
}

/* A number in one of the floating-point formats, of which a float64 holds all; float32 ones may be flushed. */
static inline double number_in(int format, uint64_t bits, int flushes) {
    if (format == F64) return as_double(bits);
    if (format == F16) return of_half((uint16_t)bits);
    if (format == BF16) return of_brain((uint16_t)bits);
    return flushes ? flushed(as_float((uint32_t)bits)) : as_float((uint32_t)bits);
}

/* The same by a call for each lane: a tenth of the code, for what kernels seldom do. */
void call_for_each_lane(Warp *warp, const Instruction *i, uint32_t mask, PerLane *function);

#define OF_EACH_LANE(function)                                                       \
    static void function##_of_warp(Warp *warp, const Instruction *i, uint32_t mask) { \
        each_lane(warp, i, mask, function);                                          \
    }

#define OF_CALLED_LANES(function)                                                     \
    static void function##_of_warp(Warp *warp, const Instruction *i, uint32_t mask) { \
        call_for_each_lane(warp, i, mask, function);                                  \
    }

#endif
