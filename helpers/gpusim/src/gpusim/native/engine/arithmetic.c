/* Instructions that compute: registers in, registers out.
 *
 * Most are a function of one lane's values, which `each_lane` applies to the active lanes. Those that kernels consist
 * of have a second form above it, for a whole warp at once. */
#include "each_lane.h"

/* Modifiers, in `flags`; each operation has its own. */
enum {
    UNSIGNED = 1, HIGH = 2, LEFT = 4, WRAPS = 8, SIGNED = 16, EXTENDED = 32, /* integers */
    THREE = 64, SUM_FIRST = 128, AND_COMBINES = 512, MINIMUM = 1024, MAXIMUM = 2048,
    FLUSHES = 1, SATURATES = 2, KEEPS_NAN = 4, XORS_SIGN = 8, AS_FLOAT = 16, BRAIN = 32, RELU = 64, TO_FLOAT = 128,
    COPIES = 256
};

/* ---- sources and destinations */

void sources_of_lanes(const Warp *warp, const Instruction *i, int k, uint64_t value[WARP]) {
    uint32_t mode = i->mode[k];
    if (i->width[k] < 2) {
        const Lanes all = source(warp, i, k);
        const uint32_t *low = each_of(&all);
        for (int lane = 0; lane < WARP; lane++) value[lane] = low[lane];
        return;
    }
    const uint32_t *low = each_of(row_of(warp, i->source[k]));
    const uint32_t *high = each_of(row_at(warp, i->source[k], 1));
    for (int lane = 0; lane < WARP; lane++) value[lane] = (uint64_t)high[lane] << 32 | low[lane];
    if (!mode) return;
    for (int lane = 0; lane < WARP; lane++) {
        uint64_t v = value[lane];
        if (mode & FLOAT_ABSOLUTE) v &= ~(1ull << 63);
        if (mode & FLOAT_NEGATE) v ^= 1ull << 63;
        if (mode & INVERT) v = ~v;
        if (mode & NEGATE) v = (uint64_t)0 - v;
        if (mode & LOW_TWICE) v = v << 32 | (uint32_t)v;
        if (mode & SWAPPED) v = v << 32 | v >> 32;
        if (mode & HALF_ABSOLUTE) v &= 0x7fffffff7fffffffull;
        if (mode & HALF_NEGATE) v ^= 0x8000000080000000ull;
        value[lane] = v;
    }
}

__attribute__((noinline)) void call_for_each_lane(Warp *warp, const Instruction *i, uint32_t mask, PerLane *function) {
    each_lane(warp, i, mask, function);
}

/* ---- integers */

static uint64_t product_of(const Instruction *i, const uint64_t s[4]) {
    if (i->flags & UNSIGNED) return (uint64_t)(uint32_t)s[0] * (uint32_t)s[1];
    return (uint64_t)((int64_t)(int32_t)s[0] * (int32_t)s[1]);
}

static uint64_t multiply_add_wide(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint64_t total = product_of(i, s) + s[2], carry_in = (p & 1) + (p >> 1 & 1);
    uint32_t carry = total < s[2];
    total += carry_in;
    *out = carry | (total == 0 && carry_in == 1);
    return i->flags & HIGH ? total >> 32 : total;
}

static uint64_t dot4(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t total = (uint32_t)s[2];
    (void)p, (void)out;
    for (int shift = 0; shift < 32; shift += 8) {
        uint8_t a = (uint8_t)(s[0] >> shift), b = (uint8_t)(s[1] >> shift);
        int32_t x = i->number[0] ? (int8_t)a : a, y = i->number[1] ? (int8_t)b : b;
        total += (uint32_t)(x * y);
    }
    return total;
}

static uint64_t dot2(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t total = (uint32_t)s[2];
    (void)p, (void)out;
    for (int part = 0; part < 2; part++) {
        uint16_t a = (uint16_t)(s[0] >> 16 * part);
        uint8_t b = (uint8_t)(s[1] >> (16 * (i->number[2]) + 8 * part));
        int32_t x = i->number[0] ? (int16_t)a : a, y = i->number[1] ? (int8_t)b : b;
        total += (uint32_t)x * (uint32_t)y;
    }
    return total;
}

/* ISETP of pairs of registers. */
static uint64_t compare_wide(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    const uint64_t turned = i->flags & UNSIGNED ? 1ull << 63 : 0; /* then signed comparisons order unsigned numbers */
    *out = pair(i, compared(i->number[0], (int64_t)(s[0] ^ turned), (int64_t)(s[1] ^ turned)), p);
    return 0;
}

OF_EACH_LANE(compare_wide)

static uint64_t minimum_maximum_wide(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    const uint64_t turned = i->flags & UNSIGNED ? 1ull << 63 : 0;
    (void)out;
    return ((int64_t)(s[0] ^ turned) < (int64_t)(s[1] ^ turned)) == (int)(p & 1) ? s[0] : s[1];
}

static uint64_t select_wide(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    (void)i, (void)out;
    return p & 1 ? s[0] : s[1];
}

static int64_t extreme(int smaller, int64_t a, int64_t b) { return (a < b) == smaller ? a : b; }

static uint32_t halves(uint32_t low, uint32_t high) { return (low & 0xffffu) | high << 16; }

/* number[0]: the bits of each part; number[1]: .RELU, at least 0. */
static uint64_t minimum_maximum(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    int smaller = p & 1, is_unsigned = i->flags & UNSIGNED;
    uint32_t a = (uint32_t)s[0], b = (uint32_t)s[1], c = (uint32_t)s[2];
    (void)out;
    const int bits = i->number[0], format = is_unsigned ? bits : -bits;
    uint64_t whole = 0;
    for (int at = 0; at < 32; at += bits) {
        uint64_t x = a >> at, y = b >> at, z = c >> at;
        if (i->flags & SUM_FIRST) x += y, y = z;
        int64_t result = extreme(smaller, (int64_t)extended(x, format), (int64_t)extended(y, format));
        if (i->flags & THREE) result = extreme(smaller, result, (int64_t)extended(z, format));
        if (i->number[1] && result < 0) result = 0;
        whole |= ((uint64_t)result & low_bits(bits)) << at;
    }
    return whole;
}

static uint64_t absolute(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    (void)i, (void)p, (void)out;
    return (int32_t)s[0] < 0 ? 0u - (uint32_t)s[0] : (uint32_t)s[0];
}

static uint64_t absolute_difference(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t a = (uint32_t)s[0], b = (uint32_t)s[1];
    int less = i->flags & UNSIGNED ? a < b : (int32_t)a < (int32_t)b;
    (void)p, (void)out;
    return (less ? b - a : a - b) + (uint32_t)s[2];
}

static uint64_t saturate(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    /* number: the smallest and the largest value. */
    int64_t x = i->flags & UNSIGNED ? (int64_t)(uint32_t)s[0] : (int32_t)s[0];
    (void)p, (void)out;
    return (uint32_t)(x < i->number[0] ? i->number[0] : x > i->number[1] ? i->number[1] : x);
}

/* ---- bits */

static uint32_t logic_of(uint32_t table, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t result = 0;
    for (int row = 0; row < 8; row++)
        if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
}

static uint64_t population_count(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    (void)i, (void)p, (void)out;
    return (uint64_t)__builtin_popcount((uint32_t)s[0]);
}

static uint64_t find_leading_one(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t a = (uint32_t)s[0];
    (void)p, (void)out;
    if (!(i->flags & UNSIGNED) && (int32_t)a < 0) a = ~a;
    if (!a) return 0xffffffffu;
    uint32_t position = 31u - (uint32_t)__builtin_clz(a);
    return i->flags & HIGH ? 31u - position : position;
}

static uint64_t reverse_bits(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t result = 0;
    (void)i, (void)p, (void)out;
    for (int bit = 0; bit < 32; bit++) result |= ((uint32_t)s[0] >> bit & 1) << (31 - bit);
    return result;
}

/* PRMT; flags: a mode of PTX, whose selectors are the numbers. */
static uint64_t permute_bytes(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint64_t both = (s[2] & 0xffffffffu) << 32 | (s[0] & 0xffffffffu);
    uint32_t selector = i->flags ? (uint32_t)i->number[s[1] & 3] : (uint32_t)s[1], result = 0;
    (void)p, (void)out;
    for (int position = 0; position < 4; position++) {
        uint32_t nibble = selector >> 4 * position & 15, octet = (uint32_t)(both >> 8 * (nibble & 7)) & 255;
        if (nibble & 8) octet = octet & 128 ? 255 : 0;
        result |= octet << 8 * position;
    }
    return result;
}

static uint64_t sign_extend(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t count = (uint32_t)s[1], value = (uint32_t)s[0];
    (void)p, (void)out;
    count = i->flags & WRAPS ? count & 31 : count < 32 ? count : 32;
    if (!count) return 0;
    value <<= 32 - count;
    return i->flags & UNSIGNED ? value >> (32 - count) : (uint32_t)((int32_t)value >> (32 - count));
}

static uint32_t shifted_left(uint32_t value, uint32_t by) { return by < 32 ? value << by : 0; }

static uint64_t bit_mask(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t at = (uint32_t)s[0], bits = (uint32_t)s[1];
    (void)p, (void)out;
    if (i->flags & WRAPS) at &= 31, bits &= 31;
    return shifted_left(shifted_left(1, bits) - 1, at);
}

/* number[0] and number[1]: truth tables of three predicates, or of the signs of sources. */
static void predicate_logic3_of_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    uint32_t p[3], result[2];
    for (int k = 0; k < 3; k++)
        p[k] = i->width[k] ? gather_bits((SignedLanes)source(warp, i, k) < 0) : predicate_of(warp, i->p_in[k]);
    for (int k = 0; k < 2; k++) result[k] = logic_of((uint32_t)i->number[k], p[0], p[1], p[2]);
    for (int k = 0; k < 2; k++) set_predicate(warp, i->p_out[k], result[k], mask);
}

/* P2R: the predicates of number[0] as bits of d, from bit number[1] on; the others from a. */
static void pack_predicates(Warp *warp, const Instruction *i, uint32_t mask) {
    uint32_t wanted = (uint32_t)i->number[0], shift = (uint32_t)i->number[1];
    Lanes value = source(warp, i, 0) & ~(wanted << shift);
    for (int bit = 0; bit < 7; bit++)
        if (wanted >> bit & 1) value |= spread(warp->predicate[i->number[2] + bit]) & (1u << (bit + (int)shift));
    write_row(warp, i->d, value, mask);
}

/* R2P: the predicates of number[0] from bits of a. */
static void unpack_predicates(Warp *warp, const Instruction *i, uint32_t mask) {
    Lanes value = source(warp, i, 0);
    for (int bit = 0; bit < 7; bit++)
        if (i->number[0] >> bit & 1)
            set_predicate(warp, (uint8_t)(i->number[2] + bit),
                          gather_bits((SignedLanes)((value & 1u << (bit + i->number[1])) != 0)), mask);
}

/* ---- float32 */

static uint64_t float_result(const Instruction *i, float x) {
    if (i->flags & FLUSHES) x = flushed(x);
    if (i->flags & SATURATES) x = saturated(x);
    return bits_of(x);
}

static float operand(const Instruction *i, uint64_t bits) {
    float x = as_float((uint32_t)bits);
    return i->flags & FLUSHES ? flushed(x) : x;
}

static uint64_t float_add(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    float a = operand(i, s[0]), b = operand(i, s[1]);
    (void)p, (void)out;
    return float_result(i, i->number[0] ? fused_rounded(a, 1, b, i->number[0]) : canonical(a + b));
}

static uint64_t float_multiply(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    /* number[1]: a power of two, by which the product is multiplied before it is rounded. */
    double exact = (double)operand(i, s[0]) * operand(i, s[1]) * ldexp(1, i->number[1]);
    (void)p, (void)out;
    return float_result(i, narrow(exact, i->number[0]));
}

static uint64_t float_fused(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    (void)p, (void)out;
    return float_result(i, fused_rounded(operand(i, s[0]), operand(i, s[1]), operand(i, s[2]), i->number[0]));
}

/* The same with two float32 numbers in 64 bits. number[2]: 0 adds, 1 subtracts, 2 multiplies, 3 multiplies and adds */
static uint64_t float_pair(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint64_t result = 0;
    for (int shift = 0; shift < 64; shift += 32) {
        uint64_t half[4] = {s[0] >> shift & 0xffffffffu, s[1] >> shift & 0xffffffffu, s[2] >> shift & 0xffffffffu, 0};
        if (i->number[2] == 1) half[1] ^= 0x80000000u;
        PerLane *function = i->number[2] < 2 ? float_add : i->number[2] == 2 ? float_multiply : float_fused;
        result |= function(i, half, p, out) << shift;
    }
    return result;
}

static float extreme_of(const Instruction *i, float a, float b, int smaller) {
    if (i->flags & KEEPS_NAN && (a != a || b != b)) return as_float(NAN_BITS);
    return smaller ? minimum(a, b) : maximum(a, b);
}

static uint64_t float_extreme(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    float result = extreme_of(i, operand(i, s[0]), operand(i, s[1]), p & 1);
    (void)out;
    if (i->flags & THREE) result = extreme_of(i, result, operand(i, s[2]), p & 1);
    uint32_t bits = (uint32_t)float_result(i, result);
    /* s[2] and s[3] are the sources as they lie in their registers. */
    if (i->flags & XORS_SIGN) {
        bits &= 0x7fffffffu;
        if (bits <= 0x7f800000u) bits |= (uint32_t)(s[2] ^ s[3]) & 0x80000000u; /* a NaN stays what it is */
    }
    return bits;
}

/* FSET: 1.0 (without .BF all ones) or zero. */
static uint64_t float_compare_to_register(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    int yes = compared_floats(i->number[0], operand(i, s[0]), operand(i, s[1]));
    (void)out;
    return combined(i->number[1], yes, p & 1) ? (i->flags & AS_FLOAT ? 0x3f800000u : 0xffffffffu) : 0;
}

/* FCHK: whether the fast path of a / b could lose bits, because an operand or the quotient is near a limit. That path
 * takes 1 / b, corrects it by one step of Newton's, and needs the remainder a - b * q to be exact. Which exponents (as
 * stored, 0 to 255) it takes was read from an NVIDIA H200: all 65 536 pairs, with five mantissas each. */
static uint64_t check_division(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    int a = (int)(s[0] >> 23 & 255), b = (int)(s[1] >> 23 & 255);
    (void)i, (void)p;
    *out = a < 25 || a > 254 || b < 2 || b > 251 || a - b > 126 || a - b < -124;
    return 0;
}

/* MUFU, the special function unit. Subnormal operands count as zeros and subnormal results become zeros. NVIDIA
 * publishes error bounds for these functions (PTX ISA, `rcp.approx` and its siblings), not their tables: here each is
 * the correctly rounded value. What the compiler builds from them, the division and the square root, corrects that
 * error and is exact. Special values (zeros, infinities, NaN) are exact. */
enum { RCP, RSQ, SQRT, EX2, LG2, SIN, COS, TANH, RCP64H, RSQ64H };

static double special(int function, float x) {
    double turns = x == 0 ? x : (double)x - nearbyint(x); /* -0 stays what it is */
    switch (function) {
        case RCP: return 1 / x;
        case RSQ: return 1 / sqrt(x);
        case SQRT: return sqrtf(x);
        case EX2: return exp2(x);
        case LG2: return log2(x);
        case SIN: return isinf(x) ? NAN : sin(turns * 6.283185307179586);
        case COS: return isinf(x) ? NAN : cos(turns * 6.283185307179586);
        default: return tanh(x);
    }
}

static uint64_t special_function(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    int function = i->number[0];
    (void)p, (void)out;
    if (function >= RCP64H) { /* the upper halves of float64 numbers */
        double x = as_double(s[0] << 32);
        return bits_of_double(function == RCP64H ? 1 / x : 1 / sqrt(x)) >> 32;
    }
    float x = as_float((uint32_t)s[0]);
    double result = special(function, function == TANH ? x : flushed(x));
    if (result != result) return NAN_BITS; /* as bits: the compiler may choose those of a number that is NaN */
    return bits_of(function == TANH ? (float)result : flushed((float)result));
}

/* ---- float64. number: rounding, then the signs of each source */

static double double_source(const Instruction *i, int k, const uint64_t s[4]) {
    uint64_t bits = s[k];
    if (i->number[1 + k] & FLOAT_ABSOLUTE) bits &= ~DOUBLE_SIGN;
    if (i->number[1 + k] & FLOAT_NEGATE) bits ^= DOUBLE_SIGN;
    return as_double(bits);
}

static uint64_t double_add(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    double a = double_source(i, 0, s), b = double_source(i, 1, s);
    (void)p, (void)out;
    return double_result(i->number[0] ? fused_double(a, 1, b, i->number[0]) : a + b, s, 2);
}

static uint64_t double_multiply(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    double a = double_source(i, 0, s), b = double_source(i, 1, s);
    (void)p, (void)out;
    /* A product of zero keeps its sign: -0 is added to what is negative, +0 to the rest. */
    double zero = signbit(a) != signbit(b) ? -0.0 : 0.0;
    return double_result(i->number[0] ? fused_double(a, b, zero, i->number[0]) : a * b, s, 2);
}

static uint64_t double_fused(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    double a = double_source(i, 0, s), b = double_source(i, 1, s), c = double_source(i, 2, s);
    (void)p, (void)out;
    return double_result(fused_double(a, b, c, i->number[0]), s, 3);
}

static uint64_t double_compare(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    double a = as_double(s[0]), b = as_double(s[1]);
    if (i->flags & (MINIMUM | MAXIMUM)) { /* p: a is the result; q: both are NaN */
        int wins = i->flags & MINIMUM ? a < b || (a == b && signbit(a)) : a > b || (a == b && signbit(b));
        *out = (uint32_t)(wins || (b != b && a == a)) | (uint32_t)(a != a && b != b) << 1;
    } else {
        *out = pair(i, compared_floats(i->number[0], a, b), p);
    }
    return 0;
}

/* ---- conversions. number: to a format, from one, rounding, shift; formats are numbered as in isa/decoded.py:
 * integers by their bits, less than 0 if signed. */

static uint64_t integer_to_float(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint64_t value = extended(s[0] >> i->number[3], i->number[1]);
    int is_signed = i->number[1] < 0, rounding = i->number[2];
    (void)p, (void)out;
    switch (i->number[0]) {
        case F64: return bits_of_double(double_from_integer(value, is_signed, rounding));
        case F16: return half_of(double_from_integer(value, is_signed, TO_NEAREST), rounding);
        case BF16: return brain_of_double(odd_double_from_integer(value, is_signed), rounding);
        default: return float_result(i, from_integer(value, is_signed, rounding));
    }
}

static double number_of(const Instruction *i, int format, uint64_t bits) {
    return number_in(format, bits, i->flags & FLUSHES);
}

static uint64_t float_to_integer(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    int bits = bits_of_format(i->number[0]);
    double whole = to_whole(number_of(i, i->number[1], s[0]), i->number[2]);
    (void)p, (void)out;
    return extended(to_integer(whole, bits, i->number[0] < 0, bits == 64 || i->number[1] == F64), i->number[0]);
}

/* F2IP: a as a byte. */
static uint64_t float_to_byte(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    (void)p, (void)out;
    return (uint8_t)to_integer(trunc(as_float((uint32_t)s[0])), 8, i->number[0] < 0, 0);
}

static uint64_t round_to_whole(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    double whole = to_whole(number_of(i, i->number[0], s[0]), i->number[2]);
    (void)p, (void)out;
    switch (i->number[0]) {
        case F64: return bits_of_double(whole);
        case F16: return half_of(whole, TO_NEAREST);
        case BF16: return brain_of_double(whole, TO_NEAREST);
        default: return float_result(i, canonical((float)whole));
    }
}

/* A NaN as a float64, quiet, with its sign and its payload. */
static uint64_t widened_nan(int format, uint64_t bits) {
    int fraction = format == F16 ? 10 : format == F32 ? 23 : 52, exponent = format == F16 ? 5 : format == F32 ? 8 : 11;
    uint64_t sign = bits >> (fraction + exponent) & 1;
    return sign << 63 | 0x7ff0000000000000ull | DOUBLE_QUIET | (bits & ((1ull << fraction) - 1)) << (52 - fraction);
}

/* The NaN of a shorter format that has the sign of a float64 and as much of its payload as there is room for, quiet. */
static uint32_t narrowed_nan(int format, uint64_t bits) {
    const int width = format == F32 ? 32 : 16, fraction = format == F32 ? 23 : format == F16 ? 10 : 7;
    return (uint32_t)((bits >> 63) << (width - 1) | ((bits | DOUBLE_QUIET) >> (52 - fraction) & low_bits(width - 1)));
}

static uint64_t float_to_float(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    const int to = i->number[0], from = i->number[1], rounding = i->number[2];
    (void)p, (void)out;
    if (to == TF32) {
        const float x = as_float((uint32_t)s[0]);
        return tf32_of(i->flags & RELU && x <= 0 ? 0 : x, rounding);
    }
    if (to == from && to != F32) return to == F64 ? s[0] : (uint16_t)s[0];
    if (from == BF16 && to == F32) return float_result(i, as_float((uint32_t)s[0] << 16)); /* a NaN stays what it is */
    double exact = number_of(i, from, s[0]);
    if (i->flags & RELU && exact <= 0) exact = 0;
    if (to == F64) return exact == exact ? bits_of_double(exact) : widened_nan(from, s[0]);
    if (to == F16 || to == BF16) {
        if (from == F64 && exact != exact) return narrowed_nan(to, s[0]);
        return to == F16 ? half_of(exact, rounding) : brain_of_double(exact, rounding);
    }
    if (from == F64 && exact != exact) return float_result(i, as_float(narrowed_nan(F32, s[0])));
    return float_result(i, from == F32 ? operand(i, s[0]) : narrow(exact, rounding));
}

/* F2FP: two float32 numbers to a pair of 16-bit ones. */
static uint64_t pack_halves(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t parts[2];
    (void)p, (void)out;
    for (int part = 0; part < 2; part++) {
        float x = as_float((uint32_t)s[1 - part]);
        if (i->flags & RELU && !(x > 0) && x == x) x = 0;
        parts[part] = i->flags & BRAIN ? brain_of(x, i->number[2]) : half_of(x, i->number[2]);
    }
    return halves(parts[0], parts[1]);
}

/* ---- pairs of 16-bit numbers. number[0]: what is done with them; number[1]: with the lower one of the first source
 * alone */

enum { H_ADD, H_MULTIPLY, H_FUSED, H_EXP2, H_TANGENT };

/* .ftz: what is below the smallest normal number becomes a zero of its sign, results before they are rounded. */
static double flushed_half(const Instruction *i, double x) {
    return i->flags & FLUSHES && fabs(x) < (i->flags & BRAIN ? 0x1p-126 : 0x1p-14) ? copysign(0, x) : x;
}

static float half_as_float(const Instruction *i, uint64_t bits) {
    double x = i->flags & BRAIN ? of_brain((uint16_t)bits) : of_half((uint16_t)bits);
    return canonical((float)flushed_half(i, x));
}

static double exact_result_of_halves(int function, float a, float b, float c) {
    switch (function) {
        case H_ADD: return fused_to_odd(a, 1, b);
        case H_MULTIPLY: return fused_to_odd(a, b, -0.0f);
        case H_FUSED: return fused_to_odd(a, b, c);
        case H_EXP2: return exp2(a);
        default: return tanh(a);
    }
}

static uint16_t half_arithmetic_of(const Instruction *i, float a, float b, float c) {
    double exact = flushed_half(i, exact_result_of_halves(i->number[0], a, b, c));
    if (i->flags & BRAIN) {
        if (i->flags & RELU && !(exact > 0) && exact == exact) exact = 0;
        return brain_of_double(exact, TO_NEAREST);
    }
    uint16_t bits = half_of(exact, TO_NEAREST);
    double rounded = of_half(bits);
    if (i->flags & SATURATES) return half_of(rounded > 0 ? (rounded < 1 ? rounded : 1) : 0, TO_NEAREST);
    if (i->flags & RELU && !(rounded > 0) && rounded == rounded) return 0;
    return bits;
}

static uint64_t half_arithmetic(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t parts[2];
    (void)p, (void)out;
    if (i->flags & TO_FLOAT) return bits_of(canonical(half_as_float(i, s[0]) + half_as_float(i, s[1])));
    if (i->flags & COPIES) return s[2]; /* 0 * 0 + c keeps the bits of c */
    if (i->number[1]) return half_arithmetic_of(i, half_as_float(i, s[0]), 0, 0);
    for (int part = 0; part < 2; part++)
        parts[part] = half_arithmetic_of(i, half_as_float(i, s[0] >> 16 * part), half_as_float(i, s[1] >> 16 * part),
                                         half_as_float(i, s[2] >> 16 * part));
    return halves(parts[0], parts[1]);
}

/* d = a * b + c, a and b of 16 bits, c and d float32. */
static uint64_t mixed_fused(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    (void)p, (void)out;
    float a = half_as_float(i, s[0]), b = half_as_float(i, s[1]);
    return float_result(i, fused_rounded(a, b, as_float((uint32_t)s[2]), i->number[0]));
}

static uint64_t half_extreme(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t parts[2];
    (void)out;
    for (int part = 0; part < 2; part++) {
        float a = half_as_float(i, s[0] >> 16 * part), b = half_as_float(i, s[1] >> 16 * part);
        float result = p & 1 ? minimum(a, b) : maximum(a, b);
        int is_nan = a != a || b != b;
        if (i->flags & THREE) {
            float c = half_as_float(i, s[2] >> 16 * part);
            result = p & 1 ? minimum(result, c) : maximum(result, c);
            is_nan |= c != c;
        }
        parts[part] = (i->flags & KEEPS_NAN && is_nan) || result != result ? 0x7fffu
                      : i->flags & BRAIN                                               ? brain_of(result, TO_NEAREST)
                                                                                       : half_of(result, TO_NEAREST);
    }
    return halves(parts[0], parts[1]);
}

static uint32_t half_comparisons(const Instruction *i, const uint64_t s[4], uint32_t p) {
    uint32_t result = 0;
    for (int part = 0; part < 2; part++) {
        int yes = compared_floats(i->number[0], half_as_float(i, s[0] >> 16 * part),
                                  half_as_float(i, s[1] >> 16 * part));
        result |= (uint32_t)combined(i->number[1], yes, p & 1) << part;
    }
    return result;
}

static uint64_t half_compare(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    *out = half_comparisons(i, s, p);
    return 0;
}

static uint64_t half_compare_to_register(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint32_t yes = half_comparisons(i, s, p), true_bits = (uint32_t)i->number[2];
    (void)out;
    return halves(yes & 1 ? true_bits : 0, yes >> 1 & 1 ? true_bits : 0);
}

/* ---- one warp at a time: what most of a kernel consists of */

static void move(Warp *warp, const Instruction *i, uint32_t mask) { write_row(warp, i->d, source(warp, i, 0), mask); }

static void move_two(Warp *warp, const Instruction *i, uint32_t mask) {
    Lanes low = source(warp, i, 0), high = source(warp, i, 1);
    write_row(warp, part_of(warp, i->d, 0), low, mask);
    write_row(warp, part_of(warp, i->d, 1), high, mask);
}

static void select_one(Warp *warp, const Instruction *i, uint32_t mask) {
    write_row(warp, i->d, choose(spread(predicate_of(warp, i->p_in[0])), source(warp, i, 0), source(warp, i, 1)), mask);
}

static void add_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    write_row(warp, i->d, source(warp, i, 0) + source(warp, i, 1) + source(warp, i, 2), mask);
}

/* What is added to a sum beside its sources, from lane to lane: so many of the two carries in as are set. */
static inline Lanes carries_into(const Warp *warp, const Instruction *i) {
    Lanes ones = {0};
    for (int k = 0; k < 2; k++) {
        uint32_t bits = predicate_of(warp, i->p_in[k]);
        if (bits) ones -= spread(bits); /* mostly there are none */
    }
    return ones;
}

/* IADD3 with carries in and out: a sum of 32 bits has wrapped around if it is less than what was added last. */
static void add3_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes a = source(warp, i, 0), b = source(warp, i, 1);
    const int has_third = i->source[2] != ZEROS || i->mode[2];
    if (i->p_out[0] == NEVER_KEPT && i->p_out[1] == NEVER_KEPT) {
        Lanes sum = a + b + carries_into(warp, i);
        if (has_third) sum += source(warp, i, 2);
        write_row(warp, i->d, sum + (uint32_t)i->number[0], mask);
        return;
    }
    Lanes total = a + b, carries = (Lanes)(total < a); /* each is -1 */
    if (has_third) {
        const Lanes c = source(warp, i, 2);
        total += c;
        carries += (Lanes)(total < c);
    }
    if (i->number[0] || predicate_of(warp, i->p_in[0]) || predicate_of(warp, i->p_in[1])) {
        const Lanes ones = carries_into(warp, i) + (uint32_t)i->number[0];
        total += ones;
        carries += (Lanes)(total < ones);
    }
    write_row(warp, i->d, total, mask);
    if (i->p_out[0] != NEVER_KEPT) set_predicate(warp, i->p_out[0], gather_bits((SignedLanes)(carries != 0)), mask);
    if (i->p_out[1] != NEVER_KEPT)
        set_predicate(warp, i->p_out[1], gather_bits((SignedLanes)((carries + 1 != 0) & (carries != 0))), mask);
}

static void multiply_add_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    write_row(warp, i->d, source(warp, i, 0) * source(warp, i, 1) + source(warp, i, 2), mask);
}

static void multiply_add_with_carry_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    Lanes product = source(warp, i, 0) * source(warp, i, 1);
    write_row(warp, i->d, product + source(warp, i, 2) + carries_into(warp, i), mask);
}

/* LEA with carries: first + b. number[1]: 0 plain, 1 if b is negated already, 2 if a is: what is negated comes
 * second. */
static inline void sum_with_carry(Warp *warp, const Instruction *i, Lanes first, uint32_t mask) {
    const Lanes b = source(warp, i, 1), ones = carries_into(warp, i), total = first + b, sum = total + ones;
    SignedLanes carry = i->number[1] == 0   ? (SignedLanes)(total < first) | (SignedLanes)(sum < ones)
                        : i->number[1] == 1 ? (SignedLanes)(total <= first)
                                            : (SignedLanes)(total <= b);
    write_row(warp, i->d, sum, mask);
    set_predicate(warp, i->p_out[0], gather_bits(carry), mask);
}

static void shift_add_with_carry_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    sum_with_carry(warp, i, source(warp, i, 0) << (uint32_t)i->number[0], mask);
}

static void shift_add_high_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    const uint32_t shift = (uint32_t)i->number[0];
    const Lanes a = source(warp, i, 0);
    Lanes high;
    if (i->flags & SIGNED) high = (Lanes)((SignedLanes)a >> (int32_t)(shift ? 32 - shift : 31));
    else high = shift ? a >> (32 - shift) | source(warp, i, 2) << shift : source(warp, i, 2);
    sum_with_carry(warp, i, high, mask);
}

static void shift_add_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    write_row(warp, i->d, (source(warp, i, 0) << (uint32_t)i->number[0]) + source(warp, i, 1), mask);
}

static void shift_left_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    write_row(warp, i->d, source(warp, i, 0) << (uint32_t)i->number[0], mask);
}

static void shift_right_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    write_row(warp, i->d, source(warp, i, 0) >> (uint32_t)i->number[0], mask);
}

static void shift_right_signed_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    write_row(warp, i->d, (Lanes)((SignedLanes)source(warp, i, 0) >> i->number[0]), mask);
}

/* SHF. number[0]: the bits of what is shifted, of which source 2 are the upper 32. */
static void funnel_shift_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes low = source(warp, i, 0), amount = source(warp, i, 1), high = source(warp, i, 2);
    const uint32_t *a = (const uint32_t *)&low, *shift = (const uint32_t *)&amount, *c = (const uint32_t *)&high;
    const uint32_t width = (uint32_t)i->number[0];
    uint32_t result[WARP];
    Lanes value;
    for (int lane = 0; lane < WARP; lane++) {
        uint64_t both = (uint64_t)c[lane] << 32 | a[lane];
        uint32_t by = i->flags & WRAPS ? shift[lane] & (width - 1) : shift[lane] < width ? shift[lane] : width;
        if (i->flags & SIGNED && !(i->flags & LEFT)) both = (uint64_t)((int64_t)both >> (by > 63 ? 63 : by));
        else if (by > 63) both = 0;
        else both = i->flags & LEFT ? both << by : both >> by;
        result[lane] = (uint32_t)(i->flags & HIGH ? both >> 32 : both);
    }
    memcpy(&value, result, sizeof value);
    write_row(warp, i->d, value, mask);
}

static inline Lanes logic3_of(const Warp *warp, const Instruction *i) {
    const Lanes a = source(warp, i, 0), b = source(warp, i, 1), c = source(warp, i, 2);
    Lanes result = {0};
    switch (i->number[0]) {
        case 0xc0: result = a & b; break;
        case 0xfc: result = a | b; break;
        case 0x3c: result = a ^ b; break;
        case 0x0f: result = ~a; break;
        case 0x33: result = ~b; break;
        case 0xfe: result = a | b | c; break;
        case 0x80: result = a & b & c; break;
        case 0x96: result = a ^ b ^ c; break;
        case 0xf8: result = a | (b & c); break;
        case 0xea: result = (a & b) | c; break;
        case 0xe2: result = (a & b) | (~b & c); break;
        case 0xca: result = (a & b) | (~a & c); break;
        default:
            for (int row = 0; row < 8; row++)
                if (i->number[0] >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    }
    return result;
}

static void logic3_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    write_row(warp, i->d, logic3_of(warp, i), mask);
}

static void logic3_with_predicate_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes result = logic3_of(warp, i);
    const uint32_t some = gather_bits((SignedLanes)(result != 0)), other = predicate_of(warp, i->p_in[0]);
    if (i->d_width) write_row(warp, i->d, result, mask);
    set_predicate(warp, i->p_out[0], i->flags & AND_COMBINES ? some & other : some | other, mask);
}

/* Sources 0 and 1 to be compared as signed numbers: with the top bits turned over these are ordered as unsigned
 * ones. */
static inline SignedLanes ordered_source(const Warp *warp, const Instruction *i, int k) {
    return (SignedLanes)(source(warp, i, k) ^ (i->flags & UNSIGNED ? 0x80000000u : 0u));
}

/* Write the answers of a comparison and its opposites, each combined with a third predicate. */
static inline void set_pair(Warp *warp, const Instruction *i, uint32_t bits, uint32_t mask) {
    uint32_t other = predicate_of(warp, i->p_in[0]);
    uint32_t first = i->number[1] == AND ? bits & other : i->number[1] == OR ? bits | other : bits ^ other;
    uint32_t second = i->number[1] == AND ? ~bits & other : i->number[1] == OR ? ~bits | other : ~bits ^ other;
    set_predicate(warp, i->p_out[0], first, mask);
    set_predicate(warp, i->p_out[1], second, mask);
}

/* ISETP without .EX. */
static void compare_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    SignedLanes a = ordered_source(warp, i, 0), b = ordered_source(warp, i, 1), yes;
    switch (i->number[0]) {
        case LT: yes = a < b; break;
        case LE: yes = a <= b; break;
        case EQ: yes = a == b; break;
        case NE: yes = a != b; break;
        case GE: yes = a >= b; break;
        default: yes = a > b;
    }
    set_pair(warp, i, gather_bits(yes), mask);
}

/* ISETP of pairs of registers: the lower halves decide where the upper ones are equal. */
static void compare_wide_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    if (i->mode[0] || i->mode[1]) {
        compare_wide_of_warp(warp, i, mask);
        return;
    }
    const Lanes turned = broadcast(i->flags & UNSIGNED ? 0x80000000u : 0);
    const Lanes a_low = *row_of(warp, i->source[0]), b_low = *row_of(warp, i->source[1]);
    const SignedLanes a = (SignedLanes)(*row_at(warp, i->source[0], 1) ^ turned);
    const SignedLanes b = (SignedLanes)(*row_at(warp, i->source[1], 1) ^ turned);
    const SignedLanes less = (a < b) | ((a == b) & (SignedLanes)(a_low < b_low));
    const SignedLanes same = (a == b) & (SignedLanes)(a_low == b_low);
    SignedLanes yes;
    switch (i->number[0]) {
        case LT: yes = less; break;
        case LE: yes = less | same; break;
        case EQ: yes = same; break;
        case NE: yes = ~same; break;
        case GE: yes = ~less; break;
        default: yes = ~(less | same);
    }
    set_pair(warp, i, gather_bits(yes), mask);
}

/* ISETP.EX: the upper halves of two numbers. p_in[1] says how the lower ones compare, which decides where these are
 * equal. */
static void compare_extended_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    SignedLanes a = ordered_source(warp, i, 0), b = ordered_source(warp, i, 1);
    uint32_t same = gather_bits(a == b), below = predicate_of(warp, i->p_in[1]), yes;
    switch (i->number[0]) {
        case LT: case LE: yes = gather_bits(a < b) | (same & below); break;
        case EQ: yes = same & below; break;
        case NE: yes = ~same | below; break;
        default: yes = gather_bits(a > b) | (same & below);
    }
    set_pair(warp, i, yes, mask);
}

/* IMAD.WIDE without carries. */
static void multiply_add_wide_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    const Lanes a = source(warp, i, 0), b = source(warp, i, 1);
    const uint32_t *x = (const uint32_t *)&a, *y = (const uint32_t *)&b;
    const uint32_t *c_low = (const uint32_t *)row_of(warp, i->source[2]);
    const uint32_t *c_high = (const uint32_t *)row_of(warp, i->source[2] >= 0 ? i->source[2] + 1 : i->source[2] - 1);
    uint64_t total[WARP];
    uint32_t halves_of[2][WARP];
    Lanes result[2];
    if (i->flags & UNSIGNED)
        for (int lane = 0; lane < WARP; lane++) total[lane] = (uint64_t)x[lane] * y[lane];
    else
        for (int lane = 0; lane < WARP; lane++) total[lane] = (uint64_t)((int64_t)(int32_t)x[lane] * (int32_t)y[lane]);
    for (int lane = 0; lane < WARP; lane++) total[lane] += (uint64_t)c_high[lane] << 32 | c_low[lane];
    for (int lane = 0; lane < WARP; lane++) halves_of[0][lane] = (uint32_t)total[lane];
    for (int lane = 0; lane < WARP; lane++) halves_of[1][lane] = (uint32_t)(total[lane] >> 32);
    memcpy(result, halves_of, sizeof result);
    write_row(warp, i->d, result[0], mask);
    write_row(warp, i->d + 1, result[1], mask);
}

static inline Lanes flushed_lanes(Lanes x) {
    return x & ~((Lanes)((x & 0x7f800000u) == 0u) >> 1); /* of what has no exponent only the sign */
}

static inline Lanes finished_lanes(const Instruction *i, FloatLanes x) {
    Lanes bits = choose((Lanes)(x != x), broadcast(NAN_BITS), (Lanes)x);
    return i->flags & FLUSHES ? flushed_lanes(bits) : bits;
}

static inline FloatLanes float_source(const Warp *warp, const Instruction *i, int k) {
    Lanes bits = source(warp, i, k);
    return (FloatLanes)(i->flags & FLUSHES ? flushed_lanes(bits) : bits);
}

static inline FloatLanes fused_lanes(FloatLanes a, FloatLanes b, FloatLanes c) {
#if (defined(__FMA__) || defined(__aarch64__)) && defined(__clang__)
    return __builtin_elementwise_fma(a, b, c);
#else
    float result[WARP];
    for (int lane = 0; lane < WARP; lane++) result[lane] = fused(a[lane], b[lane], c[lane]);
    memcpy(&a, result, sizeof a);
    return a;
#endif
}

/* FSETP: LTU and those that follow are true where a number is NaN. */
static void float_compare_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    const FloatLanes a = float_source(warp, i, 0), b = float_source(warp, i, 1);
    SignedLanes yes;
    switch (i->number[0]) {
        case LT: yes = a < b; break;
        case LE: yes = a <= b; break;
        case EQ: yes = a == b; break;
        case NE: yes = (a < b) | (a > b); break;
        case GE: yes = a >= b; break;
        case GT: yes = a > b; break;
        case LTU: yes = ~(a >= b); break;
        case LEU: yes = ~(a > b); break;
        case EQU: yes = ~((a < b) | (a > b)); break;
        case NEU: yes = a != b; break;
        case GEU: yes = ~(a < b); break;
        case GTU: yes = ~(a <= b); break;
        case NUM: yes = (a == a) & (b == b); break;
        default: yes = (a != a) | (b != b);
    }
    set_pair(warp, i, gather_bits(yes), mask);
}

/* FFMA, FMUL and FADD to nearest, without .SAT. */
static void float_fused_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    const FloatLanes a = float_source(warp, i, 0), b = float_source(warp, i, 1), c = float_source(warp, i, 2);
    write_row(warp, i->d, finished_lanes(i, fused_lanes(a, b, c)), mask);
}

static void float_multiply_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    write_row(warp, i->d, finished_lanes(i, float_source(warp, i, 0) * float_source(warp, i, 1)), mask);
}

static void float_add_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    write_row(warp, i->d, finished_lanes(i, float_source(warp, i, 0) + float_source(warp, i, 1)), mask);
}

/* ---- the table */

/* number[0]: 1 if s[1] is the complement of what is subtracted. There is a carry only where s[2] is 0. */
static uint64_t add_wide(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    const uint64_t first = s[0] + s[1], ones = (uint64_t)i->number[0] + (p & 1) + (p >> 1 & 1);
    *out = first < s[0] || first + ones < ones;
    return first + ones + s[2];
}

OF_EACH_LANE(add_wide)

/* The same without carries: a + b + c and a - b + c, the carries between the halves taken from comparisons. */
static void add_wide_lanes(Warp *warp, const Instruction *i, uint32_t mask) {
    const uint32_t unused = predicate_of(warp, i->p_in[0]) | predicate_of(warp, i->p_in[1]);
    if (unused || i->number[0] || i->mode[0] || i->mode[2] || (i->mode[1] & ~NEGATE) || i->p_out[0] != NEVER_KEPT) {
        add_wide_of_warp(warp, i, mask);
        return;
    }
    Lanes low[3], high[3];
    for (int k = 0; k < 3; k++) {
        low[k] = *row_of(warp, i->source[k]);
        high[k] = i->width[k] > 1 ? *row_at(warp, i->source[k], 1) : broadcast(0);
    }
    if (i->mode[1]) { /* -b is ~b and one more */
        high[1] = -high[1] + (Lanes)(low[1] != 0);
        low[1] = -low[1];
    }
    Lanes sum = low[0] + low[1], total = sum + low[2];
    Lanes upper = high[0] + high[1] + high[2] - (Lanes)(sum < low[0]) - (Lanes)(total < sum);
    write_row(warp, i->d, total, mask);
    write_row(warp, i->d + 1, upper, mask);
}

OF_EACH_LANE(multiply_add_wide)
OF_CALLED_LANES(dot4)
OF_CALLED_LANES(dot2)
OF_EACH_LANE(select_wide)
OF_CALLED_LANES(minimum_maximum_wide)
OF_EACH_LANE(minimum_maximum)
OF_EACH_LANE(absolute)
OF_CALLED_LANES(absolute_difference)
OF_CALLED_LANES(saturate)
OF_EACH_LANE(population_count)
OF_CALLED_LANES(find_leading_one)
OF_CALLED_LANES(reverse_bits)
OF_EACH_LANE(permute_bytes)
OF_CALLED_LANES(sign_extend)
OF_CALLED_LANES(bit_mask)
OF_EACH_LANE(float_add)
OF_EACH_LANE(float_multiply)
OF_EACH_LANE(float_fused)
OF_EACH_LANE(mixed_fused)
OF_EACH_LANE(float_pair)
OF_CALLED_LANES(float_extreme)
OF_CALLED_LANES(float_compare_to_register)
OF_CALLED_LANES(check_division)
OF_EACH_LANE(special_function)
OF_EACH_LANE(double_add)
OF_EACH_LANE(double_multiply)
OF_EACH_LANE(double_fused)
OF_EACH_LANE(double_compare)
OF_EACH_LANE(integer_to_float)
OF_EACH_LANE(float_to_integer)
OF_CALLED_LANES(float_to_byte)
OF_CALLED_LANES(round_to_whole)
OF_EACH_LANE(float_to_float)
OF_EACH_LANE(pack_halves)
OF_EACH_LANE(half_arithmetic)
OF_CALLED_LANES(half_extreme)
OF_CALLED_LANES(half_compare)
OF_CALLED_LANES(half_compare_to_register)

const NamedOperation ARITHMETIC[] = {
    {"move", move},
    {"move two", move_two},
    {"select", select_one},
    {"select wide", select_wide_of_warp},
    {"add", add_lanes},
    {"add wide", add_wide_lanes},
    {"add3", add3_lanes},
    {"multiply-add", multiply_add_lanes},
    {"multiply-add with carry", multiply_add_with_carry_lanes},
    {"multiply-add wide", multiply_add_wide_lanes},
    {"multiply-add wide with carry", multiply_add_wide_of_warp},
    {"dot4", dot4_of_warp},
    {"dot2", dot2_of_warp},
    {"shift-add", shift_add_lanes},
    {"shift-add with carry", shift_add_with_carry_lanes},
    {"shift-add high", shift_add_high_lanes},
    {"shift left", shift_left_lanes},
    {"shift right", shift_right_lanes},
    {"shift right signed", shift_right_signed_lanes},
    {"funnel shift", funnel_shift_lanes},
    {"compare", compare_lanes},
    {"compare extended", compare_extended_lanes},
    {"compare wide", compare_wide_lanes},
    {"minimum maximum", minimum_maximum_of_warp},
    {"minimum maximum wide", minimum_maximum_wide_of_warp},
    {"absolute", absolute_of_warp},
    {"absolute difference", absolute_difference_of_warp},
    {"saturate", saturate_of_warp},
    {"logic3", logic3_lanes},
    {"logic3 with predicate", logic3_with_predicate_lanes},
    {"population count", population_count_of_warp},
    {"find leading one", find_leading_one_of_warp},
    {"reverse bits", reverse_bits_of_warp},
    {"permute bytes", permute_bytes_of_warp},
    {"sign extend", sign_extend_of_warp},
    {"bit mask", bit_mask_of_warp},
    {"predicate logic3", predicate_logic3_of_lanes},
    {"pack predicates", pack_predicates},
    {"unpack predicates", unpack_predicates},
    {"float fused", float_fused_lanes},
    {"float fused with modifiers", float_fused_of_warp},
    {"float multiply", float_multiply_lanes},
    {"float multiply with modifiers", float_multiply_of_warp},
    {"float add", float_add_lanes},
    {"float add with modifiers", float_add_of_warp},
    {"float pair", float_pair_of_warp},
    {"mixed fused", mixed_fused_of_warp},
    {"float extreme", float_extreme_of_warp},
    {"float compare", float_compare_lanes},
    {"float compare to register", float_compare_to_register_of_warp},
    {"check division", check_division_of_warp},
    {"special function", special_function_of_warp},
    {"double add", double_add_of_warp},
    {"double multiply", double_multiply_of_warp},
    {"double fused", double_fused_of_warp},
    {"double compare", double_compare_of_warp},
    {"integer to float", integer_to_float_of_warp},
    {"float to integer", float_to_integer_of_warp},
    {"float to byte", float_to_byte_of_warp},
    {"round to whole", round_to_whole_of_warp},
    {"float to float", float_to_float_of_warp},
    {"pack halves", pack_halves_of_warp},
    {"half arithmetic", half_arithmetic_of_warp},
    {"half extreme", half_extreme_of_warp},
    {"half compare", half_compare_of_warp},
    {"half compare to register", half_compare_to_register_of_warp},
    {0, 0},
};
