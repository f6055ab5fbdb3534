/* Instructions of PTX that machine code has no single one for: whole numbers of 16 and 64 bits, quotients, square
 * roots, and the short programs that the compiler makes of approximate functions.
 *
 * Tests hold each against Python's unbounded integers and fractions, and against what an H200 answered. */
#include "each_lane.h"

enum { FLUSHES = 1, SATURATES = 2 }; /* in flags */

/* ---- whole numbers. number[1]: the format of the operands, their bits, less than 0 if signed; number[2]: that of the
 * result, which is extended to its register; number[3]: a choice of the function's own. */

enum {
    W_ADD, W_SUBTRACT, W_MULTIPLY, W_MULTIPLY_HIGH, W_MULTIPLY_WIDE, W_DIVIDE, W_REMAINDER, W_MINIMUM, W_MAXIMUM,
        W_ABSOLUTE,
    W_NEGATE, W_DIFFERENCE, W_AND, W_OR, W_XOR, W_NOT, W_IS_ZERO, W_SHIFT_LEFT, W_SHIFT_RIGHT, W_EXTRACT, W_INSERT,
    W_FIND, W_COUNT, W_LEADING_ZEROS, W_REVERSE, W_CONVERT, W_BY_SIGN, W_MULTIPLY_24, W_IN_BLOCK, W_IN_RANGE,
    W_NTH_SET
};

static uint64_t upper_half(uint64_t a, uint64_t b, int is_signed) {
    const uint64_t a_low = a & 0xffffffffu, a_high = a >> 32, b_low = b & 0xffffffffu, b_high = b >> 32;
    const uint64_t middle = a_high * b_low + (a_low * b_low >> 32), carry = a_low * b_high + (middle & 0xffffffffu);
    uint64_t high = a_high * b_high + (middle >> 32) + (carry >> 32);
    if (is_signed) high -= ((int64_t)a < 0 ? b : 0) + ((int64_t)b < 0 ? a : 0);
    return high;
}

static uint64_t product_part(int function, int format, uint64_t a, uint64_t b) {
    int bits = bits_of_format(format);
    if (function == W_MULTIPLY_HIGH) return bits == 64 ? upper_half(a, b, format < 0) : a * b >> bits;
    return a * b;
}

static uint64_t divided(uint64_t a, uint64_t b, int is_signed, int rest) {
    if (!b) return ~0ull;
    if (!is_signed) return rest ? a % b : a / b;
    if ((int64_t)b == -1) return rest ? 0 : 0 - a; /* the quotient of the smallest number has no room */
    return (uint64_t)(rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static uint64_t shifted(uint64_t a, uint64_t by, int format, int left) {
    uint64_t bits = (uint64_t)bits_of_format(format);
    if (left) return by < bits ? a << by : 0;
    if (format < 0) return (uint64_t)((int64_t)a >> (by < 63 ? by : 63));
    return by < bits ? a >> by : 0;
}

/* bfe: a's bits from a position on; those beyond the top are the sign's, as those beyond the field. */
static uint64_t extracted(uint64_t a, uint32_t position, uint32_t length, int format) {
    uint32_t bits = (uint32_t)bits_of_format(format);
    position &= 255, length &= 255;
    if (!length) return 0;
    if (format > 0) return position < bits ? a >> position & low_bits((int)(length < 64 ? length : 64)) : 0;
    if (position >= bits) return (int64_t)a < 0 ? ~0ull : 0;
    if (position + length > bits) length = bits - position;
    return extended(a >> position, -(int)length);
}

static uint64_t inserted(uint64_t field, uint64_t base, uint32_t position, uint32_t length, int format) {
    uint32_t bits = (uint32_t)bits_of_format(format);
    position &= 255, length &= 255;
    uint64_t mask = position < bits ? low_bits((int)(length < 64 ? length : 64)) << position : 0;
    return ((position < 64 ? field << position : 0) & mask) | (base & ~mask);
}

static int leading_zeros(uint64_t a, int bits) { return a ? __builtin_clzll(a) - (64 - bits) : bits; }

static uint64_t reversed(uint64_t a, int bits) {
    uint64_t result = 0;
    for (int bit = 0; bit < bits; bit++) result |= (a >> bit & 1) << (bits - 1 - bit);
    return result;
}

/* The highest bit that differs from the sign, or (number[3]) the shift that lifts it to the top. */
static uint64_t found(uint64_t a, int format, int as_shift) {
    int bits = bits_of_format(format);
    uint64_t magnitude = (format < 0 && (int64_t)a < 0 ? ~a : a) & low_bits(bits);
    if (!magnitude) return 0xffffffffu;
    int zeros = leading_zeros(magnitude, bits);
    return (uint64_t)(as_shift ? zeros : bits - 1 - zeros);
}

/* From one format to another; number[3]: limited to the range of both. */
static uint64_t converted(uint64_t a, int from, int to, int saturates) {
    if (!saturates) return a;
    int bits = bits_of_format(to);
    int64_t x = (int64_t)a, most = to < 0 ? (int64_t)low_bits(bits - 1) : (int64_t)low_bits(bits < 64 ? bits : 63);
    if (from > 0) return to > 0 && bits == 64 ? a : a > (uint64_t)most ? (uint64_t)most : a;
    if (to > 0) return x < 0 ? 0 : bits < 64 && x > most ? (uint64_t)most : a;
    return x > most ? (uint64_t)most : x < -most - 1 ? (uint64_t)(-most - 1) : a;
}

/* fns: the place of the offset-th set bit from bit `base` on, downward where `offset` is negative; 0 asks for bit
 * `base`. */
static uint64_t nth_set(uint32_t mask, uint32_t base, int32_t offset) {
    int64_t wanted = offset < 0 ? -(int64_t)offset : offset, seen = 0;
    for (uint32_t step = 0; step < 32; step++) {
        uint32_t place = offset < 0 ? base - step : base + step;
        if (place > 31 || !(mask >> place & 1)) continue;
        if (wanted ? ++seen == wanted : step == 0) return place;
    }
    return 0xffffffffu;
}

/* .sat of a sum of numbers of 32 bits (number[3]). */
static uint64_t limited(const Instruction *i, uint64_t sum) {
    return i->number[3] ? converted(sum, -64, i->number[2], 1) : sum;
}

static uint64_t whole_number(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    int format = i->number[1], bits = bits_of_format(format), is_signed = format < 0;
    uint64_t a = extended(s[0], format), b = extended(s[1], format), result;
    int less = is_signed ? (int64_t)a < (int64_t)b : a < b;
    (void)p;
    switch (i->number[0]) {
        case W_ADD: result = limited(i, a + b); break;
        case W_SUBTRACT: result = limited(i, a - b); break;
        case W_MULTIPLY: case W_MULTIPLY_HIGH: case W_MULTIPLY_WIDE:
            result = product_part(i->number[0], format, a, b);
            result = i->number[3] ? limited(i, extended(result, format) + extended(s[2], format)) : result + s[2];
            break;
        case W_DIVIDE: result = divided(a, b, is_signed, 0); break;
        case W_REMAINDER: result = divided(a, b, is_signed, 1); break;
        case W_MINIMUM: result = less ? a : b; break;
        case W_MAXIMUM: result = less ? b : a; break;
        case W_ABSOLUTE: result = (int64_t)a < 0 ? 0 - a : a; break;
        case W_NEGATE: result = 0 - a; break;
        case W_DIFFERENCE: result = (less ? b - a : a - b) + s[2]; break;
        case W_AND: result = a & b; break;
        case W_OR: result = a | b; break;
        case W_XOR: result = a ^ b; break;
        case W_NOT: result = ~a; break;
        case W_IS_ZERO: result = !a; break;
        case W_SHIFT_LEFT: case W_SHIFT_RIGHT:
            result = shifted(a, (uint32_t)s[1], format, i->number[0] == W_SHIFT_LEFT);
            break;
        case W_EXTRACT: result = extracted(a, (uint32_t)s[1], (uint32_t)s[2], format); break;
        case W_INSERT: result = inserted(a, b, (uint32_t)s[2], (uint32_t)s[3], format); break;
        case W_FIND: result = found(a, format, i->number[3]); break;
        case W_COUNT: result = (uint64_t)__builtin_popcountll(a & low_bits(bits)); break;
        case W_LEADING_ZEROS: result = (uint64_t)leading_zeros(a & low_bits(bits), bits); break;
        case W_REVERSE: result = reversed(a, bits); break;
        case W_CONVERT: result = converted(a, format, i->number[2], i->number[3]); break;
        case W_BY_SIGN: { /* number[3]: whose sign it is, that of a float32 (1), with .ftz (2), else of an integer */
            float x = as_float((uint32_t)s[2]);
            int first = i->number[3] == 1 ? x >= 0 : i->number[3] ? flushed(x) >= 0 : (int32_t)s[2] >= 0;
            result = first ? a : b;
            break;
        }
        case W_MULTIPLY_24:
            a = extended(s[0], is_signed ? -24 : 24), b = extended(s[1], is_signed ? -24 : 24);
            result = (a * b >> i->number[3]) + s[2];
            break;
        case W_NTH_SET: result = nth_set((uint32_t)s[0], (uint32_t)s[1], (int32_t)s[2]); break;
        case W_IN_BLOCK: { /* mapa: an address in shared memory, with the block of the cluster that b says */
            const uint64_t ranks = 0x7full << RANK_SHIFT;
            result = (a & ~ranks) | ((uint64_t)(uint32_t)(s[1] + 1) << RANK_SHIFT & ranks);
            break;
        }
        default: /* W_IN_RANGE: an address, of which the upper halves of the limits are number[2] and number[3] */
            *out = (int64_t)a >= (int64_t)i->number[2] << 32 && (int64_t)a < (int64_t)i->number[3] << 32;
            return 0;
    }
    return extended(result, i->number[2]);
}

/* setp and set. number[2]: the format of the operands. */
static int compared_in(const Instruction *i, const uint64_t s[4]) {
    const int format = i->number[2], flushes = i->flags & FLUSHES;
    if (format >= F16)
        return compared_floats(i->number[0], number_in(format, s[0], flushes), number_in(format, s[1], flushes));
    const uint64_t turned = format == 64 ? 1ull << 63 : 0; /* then signed comparisons order unsigned numbers */
    return compared(i->number[0], (int64_t)(extended(s[0], format) ^ turned),
                    (int64_t)(extended(s[1], format) ^ turned));
}

static uint64_t compare_typed(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    *out = pair(i, compared_in(i, s), p);
    return 0;
}

/* number[3]: what is written where the comparison is true. */
static uint64_t compare_typed_to_register(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    (void)out;
    return combined(i->number[1], compared_in(i, s), p & 1) ? (uint32_t)i->number[3] : 0;
}

/* testp. number[0]: which class; number[2]: the format. */
enum { FINITE, INFINITE, NUMBER, NOT_NUMBER, NORMAL, SUBNORMAL };

static uint64_t test_number(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    const double x = number_in(i->number[2], s[0], 0), size = fabs(x),
        tiny = i->number[2] == F64 ? 0x1p-1022 : 0x1p-126;
    (void)p;
    switch (i->number[0]) {
        case FINITE: *out = isfinite(x) != 0; break;
        case INFINITE: *out = isinf(x) != 0; break;
        case NUMBER: *out = x == x; break;
        case NOT_NUMBER: *out = x != x; break;
        case NORMAL: *out = isfinite(x) && (size >= tiny || x == 0); break;
        default: *out = size < tiny && x != 0;
    }
    return 0;
}

/* add.cc, sub.cc, mad.cc and so on: p is the carry that comes in; that of a difference is a borrow's opposite. */
enum { C_ADD, C_SUBTRACT, C_MULTIPLY, C_MULTIPLY_HIGH };

static uint64_t with_carry(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    int format = i->number[1], bits = bits_of_format(format), is_product = i->number[0] >= C_MULTIPLY;
    uint64_t a = extended(s[0], format), b = extended(s[1], format), carry = p & 1, mask = low_bits(bits), result;
    if (is_product) a = product_part(i->number[0] == C_MULTIPLY ? W_MULTIPLY : W_MULTIPLY_HIGH, format, a, b), b = s[2];
    a &= mask, b &= mask;
    if (i->number[0] == C_SUBTRACT) {
        result = (a - b - !carry) & mask;
        *out = carry ? a >= b : a > b;
    } else {
        result = (a + b + carry) & mask;
        *out = carry ? result <= a : result < a;
    }
    return result;
}

/* ---- vectors. number[0]: bits of a part */

/* mov.b64 d, {a, b, ...} */
static uint64_t pack_parts(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint64_t value = 0;
    (void)p, (void)out;
    for (int k = 0; k < 4; k++)
        if (i->width[k]) value |= (s[k] & low_bits(i->number[0])) << i->number[0] * k;
    return value;
}

/* cvt.pack, I2IP: the nearest integers of a format (number[0]) to two of 32 bits, and above them the low bits of c. */
static uint64_t pack_limited(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    const int format = i->number[0], bits = bits_of_format(format);
    uint64_t result = bits < 16 ? s[2] << 2 * bits : 0;
    (void)p, (void)out;
    for (int k = 0; k < 2; k++)
        result |= (converted(extended(s[k], -32), -64, format, 1) & low_bits(bits)) << (k ? 0 : bits);
    return (uint32_t)result;
}

/* mov.b64 {d, e, ...}, a; number[1]: how many parts. */
static void unpack_parts(Warp *warp, const Instruction *i, uint32_t mask) {
    uint64_t whole[WARP];
    sources_of_lanes(warp, i, 0, whole);
    for (int k = 0; k < i->number[1]; k++) {
        uint32_t part[WARP];
        Lanes all;
        for (int lane = 0; lane < WARP; lane++)
            part[lane] = (uint32_t)(whole[lane] >> i->number[0] * k & low_bits(i->number[0]));
        memcpy(&all, part, sizeof all);
        write_row(warp, part_of(warp, i->d, k), all, mask);
    }
}

/* ---- floating-point numbers. number[1]: the rounding */

enum { F_DIVIDE, F_ROOT, F_RECIPROCAL_APPROX, F_ROOT_APPROX, F_INVERSE_ROOT_APPROX, F_EXP2, F_LOG2, F_SINE, F_COSINE,
       F_TANGENT,
       F_DIVIDE_APPROX, F_DIVIDE_FULL, F_ABSOLUTE, F_NEGATE };

static float by_unit(double result) { return result != result ? as_float(NAN_BITS) : flushed((float)result); }

/* The hardware's own functions, with the few instructions that the compiler always writes around them: a number for
 * which the unit would flush its operand or its result is scaled before, and what comes out is scaled back. */
static float reciprocal(float x) { return by_unit(1 / (double)flushed(x)); }

static float scaled(float x, int is_small, float factor) { return is_small ? x * factor : x; }

static float turn(int function, float x) {
    float turns = flushed(fused_rounded(x, 0.15915494f, -0.0f, TO_ZERO));
    double part = turns == 0 ? turns : (double)turns - nearbyint(turns);
    if (isinf(turns)) return as_float(NAN_BITS);
    part *= 6.283185307179586;
    return by_unit((float)(function == F_SINE ? sin(part) : cos(part)));
}

static float quotient(float a, float b, float most) {
    float size = fabsf(b), scale = size > most ? 0.25f : size < 0x1p-126f ? 0x1p24f : 1.0f;
    return canonical(reciprocal(b * scale) * (a * scale));
}

/* A float64 a hair from a float32, on the side where the exact value lies, which differs by `error`. */
static double beside(float nearest, double error) {
    return error > 0 ? nextafter(nearest, INFINITY) : error < 0 ? nextafter(nearest, -INFINITY) : nearest;
}

static float divided_float(float a, float b, int rounding, int flushes) {
    float result = canonical(a / b);
    if (rounding) return narrow(beside(result, ((double)a - (double)result * b) * (b > 0 ? 1 : -1)), rounding);
    /* The instruction sequence of ptxas tests the exponent before it would round a subnormal number up. */
    if (flushes && fabsf(result) == 0x1p-126f && fabsf((float)((double)a / b * 0x1p64)) < 0x1p-62f)
        return copysignf(0, result);
    return result;
}

static float root(float x, int rounding) {
    float result = canonical(sqrtf(x));
    if (!rounding) return result;
    return narrow(beside(result, (double)x - (double)result * result), rounding);
}

static uint64_t float_function(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    int flushes = i->flags & FLUSHES;
    float a = as_float((uint32_t)s[0]), b = as_float((uint32_t)s[1]), result;
    (void)p, (void)out;
    if (flushes) a = flushed(a), b = flushed(b);
    int tiny = fabsf(a) < 0x1p-126f;
    switch (i->number[0]) {
        case F_DIVIDE: result = divided_float(a, b, i->number[1], flushes); break;
        case F_ROOT: result = root(a, i->number[1]); break;
        case F_RECIPROCAL_APPROX: {
            float size = fabsf(a), scale = size > 0x1p126f ? 0.25f : tiny ? 0x1p24f : 1.0f;
            result = canonical(scale * reciprocal(a * scale));
            break;
        }
        case F_ROOT_APPROX:
            result = by_unit(sqrtf(flushed(scaled(a, tiny, 0x1p24f))));
            if (tiny) result *= 0x1p-12f;
            break;
        case F_INVERSE_ROOT_APPROX:
            result = by_unit(1 / sqrt(flushed(scaled(a, tiny, 0x1p24f))));
            if (tiny) result *= 0x1p12f;
            break;
        case F_EXP2:
            result = by_unit(exp2(flushed(scaled(a, a < -126, 0.5f))));
            if (a < -126) result *= result;
            break;
        case F_LOG2:
            result = by_unit(log2(flushed(scaled(a, tiny, 0x1p24f))));
            if (tiny) result -= 24;
            break;
        case F_SINE: case F_COSINE: result = turn(i->number[0], a); break;
        case F_TANGENT: result = canonical((float)tanh(a)); break;
        case F_DIVIDE_APPROX: result = quotient(a, b, INFINITY); break;
        case F_DIVIDE_FULL: result = quotient(a, b, 0x1p126f); break;
        case F_ABSOLUTE: result = as_float(bits_of(a) & 0x7fffffffu); break;
        default: result = as_float(bits_of(a) ^ 0x80000000u);
    }
    uint32_t bits = bits_of(result);
    if ((bits & 0x7fffffffu) > 0x7f800000u && i->number[0] < F_ABSOLUTE) bits = NAN_BITS;
    if (flushes && !(bits & 0x7f800000u)) bits &= 0x80000000u;
    return i->flags & SATURATES ? bits_of(saturated(as_float(bits))) : bits;
}

/* ---- float64. number[1]: the rounding */

enum { D_DIVIDE, D_ROOT, D_MINIMUM, D_MAXIMUM, D_RECIPROCAL_APPROX, D_INVERSE_ROOT_APPROX, D_INVERSE_ROOT };

/* What the hardware's functions of float64 see and answer: the upper 32 bits, flushed. */
static double upper_half_of(double x) {
    double upper = as_double(bits_of_double(x) & ~0xffffffffull);
    return fabs(upper) < 0x1p-1022 ? copysign(0, upper) : upper;
}

static double inverse_root_of_half(double x) { return upper_half_of(1 / sqrt(upper_half_of(x))); }

/* rsqrt.approx.f64, by the steps that ptxas makes of it: one of Householder's method, of subnormal numbers times
 * 2^54. */
static double inverse_root(double x) {
    if (x == 0) return copysign(INFINITY, x);
    if (isinf(x) && x > 0) return 0;
    if (x < 0) return as_double(0xfff8000000000000ull);
    if (x != x) return as_double(bits_of_double(x) | DOUBLE_QUIET);
    const int is_small = x < 0x1p-1022;
    if (is_small) x *= 0x1p54;
    const double first = inverse_root_of_half(x), error = fused_double(x, -(first * first), 1, TO_NEAREST);
    const double factor = fused_double(error, 0.375, 0.5, TO_NEAREST);
    return fused_double(factor, first * error, first, TO_NEAREST) * (is_small ? 0x1p27 : 1);
}

static uint64_t double_function(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    double a = as_double(s[0]), b = as_double(s[1]);
    (void)p, (void)out;
    switch (i->number[0]) {
        case D_DIVIDE: return bits_of_double(divided_double(a, b, i->number[1]));
        case D_ROOT: return bits_of_double(root_of_double(a, i->number[1]));
        case D_MINIMUM: return a < b || (a == b && signbit(a)) || (b != b && a == a) ? s[0] : s[1];
        case D_MAXIMUM: return a > b || (a == b && signbit(b)) || (b != b && a == a) ? s[0] : s[1];
        case D_RECIPROCAL_APPROX: return bits_of_double(upper_half_of(1 / upper_half_of(a)));
        case D_INVERSE_ROOT_APPROX: return bits_of_double(inverse_root_of_half(a));
        default: return bits_of_double(inverse_root(a));
    }
}

/* ---- pairs of 8-bit numbers. number[0]: whether they are E5M2 */

enum { RELU = 64 };

/* cvt.rn.satfinite.e4m3x2 d, high, low, or a pair of float16 (number[1]); above them the lower half of c. */
static uint64_t pack_eights(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    uint64_t result = 0;
    (void)p, (void)out;
    for (int part = 0; part < 2; part++) {
        double x = i->number[1] == F16 ? number_in(F16, s[0] >> 16 * part, 0) : number_in(F32, s[1 - part], 0);
        if (i->flags & RELU && signbit(x) && x == x) x = 0;
        result |= (uint64_t)eight_of(x, i->number[0]) << 8 * part;
    }
    return result | (s[2] & 0xffff) << 16;
}

/* cvt.rn.f16x2.e4m3x2 d, a; number[1]: from which bit of a on. */
static uint64_t unpack_eights(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    const uint32_t low = (uint32_t)s[0] >> i->number[1] & 0xff, high = (uint32_t)s[0] >> (i->number[1] + 8) & 0xff;
    (void)p, (void)out;
    return half_of(of_eight(i->number[0], low), TO_NEAREST) |
           (uint64_t)half_of(of_eight(i->number[0], high), TO_NEAREST) << 16;
}

/* ---- video instructions. number[0]: what is done with two parts of registers, one of these or, behind them, a
 * comparison */

enum { V_ADD, V_SUBTRACT, V_DIFFERENCE, V_AVERAGE, V_MINIMUM, V_MAXIMUM, V_SHIFT_LEFT, V_SHIFT_RIGHT, V_COMPARE };
enum { A_SIGNED = 1, B_SIGNED = 2, RESULT_SIGNED = 4, LIMITED = 8, WRAPS = 16, PRODUCT_NEGATED = 32, C_NEGATED = 64,
       ONE_MORE = 128 };

/* number[3]: what becomes of the result and c. */
enum { ALONE, INSERTED, ADDED, SMALLER, LARGER };

static int64_t part_of_word(uint64_t word, int place, int bits, int is_signed) {
    return (int64_t)extended((word & 0xffffffffu) >> place, is_signed ? -bits : bits);
}

static int64_t video_function(const Instruction *i, int64_t a, int64_t b) {
    const uint64_t by = (uint64_t)(i->flags & WRAPS ? b & 31 : b < 32 ? b : 32);
    switch (i->number[0]) {
        case V_ADD: return a + b;
        case V_SUBTRACT: return a - b;
        case V_DIFFERENCE: return a < b ? b - a : a - b;
        case V_AVERAGE: return (a + b + (a + b >= 0)) >> 1; /* a half is rounded away from zero */
        case V_MINIMUM: return a < b ? a : b;
        case V_MAXIMUM: return a < b ? b : a;
        case V_SHIFT_LEFT: return by < 64 ? (int64_t)((uint64_t)a << by) : 0;
        case V_SHIFT_RIGHT: return a >> (by < 64 ? by : 63);
        default: return compared(i->number[0] - V_COMPARE, a, b);
    }
}

static int64_t limited_to(const Instruction *i, int64_t value, int bits) {
    return i->flags & LIMITED ? (int64_t)converted((uint64_t)value, -64, i->flags & RESULT_SIGNED ? -bits : bits, 1)
        : value;
}

/* The same with each part. number[1]: by part which one of a's and b's together is taken for a (3 bits), then for b,
 * and from bit 24 on whether it is written; number[2]: the bits of a part. */
static uint64_t video_parts(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    const int bits = i->number[2], count = 32 / bits;
    const uint32_t chosen = (uint32_t)i->number[1], whole = (uint32_t)low_bits(bits);
    uint32_t total = (uint32_t)s[2];
    (void)p, (void)out;
    for (int part = 0; part < count; part++) {
        if (!(chosen >> (24 + part) & 1)) continue;
        int a = (int)(chosen >> 3 * part & 7), b = (int)(chosen >> (12 + 3 * part) & 7);
        int64_t x = part_of_word(s[a / count], a % count * bits, bits, i->flags & A_SIGNED);
        int64_t y = part_of_word(s[b / count], b % count * bits, bits, i->flags & B_SIGNED);
        uint32_t value = (uint32_t)limited_to(i, video_function(i, x, y), bits), place = (uint32_t)(part * bits);
        total = i->number[3] == ADDED ? total + value : (total & ~(whole << place)) | (value & whole) << place;
    }
    return total;
}

/* number[1]: places and bits of a and b, in 8 bits each. */
static void two_parts(const Instruction *i, const uint64_t s[4], int64_t part[2]) {
    for (int k = 0; k < 2; k++) {
        const int where = i->number[1] >> 16 * k;
        part[k] = part_of_word(s[k], where & 255, where >> 8 & 255, (int)i->flags & (k ? B_SIGNED : A_SIGNED));
    }
}

/* number[2]: place and bits of the part that is written, and by how much the result is shifted there. */
static uint64_t video_one(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    const int place = i->number[2] & 255, bits = i->number[2] >> 8 & 255, is_signed = i->flags & RESULT_SIGNED;
    int64_t part[2];
    two_parts(i, s, part);
    const int64_t value = limited_to(i, video_function(i, part[0], part[1]), bits);
    const int64_t seen = is_signed ? value : value & (int64_t)low_bits(33), c = part_of_word(s[2], 0, 32, is_signed);
    const uint64_t mask = low_bits(bits) << place;
    (void)p, (void)out;
    switch (i->number[3]) {
        case ALONE: return (uint32_t)value;
        case INSERTED: return (s[2] & ~mask) | ((uint64_t)value << (i->number[2] >> 16) & mask);
        case ADDED: return (uint32_t)(seen + c);
        case SMALLER: return (uint32_t)(seen < c ? seen : c);
        default: return (uint32_t)(seen < c ? c : seen);
    }
}

/* vmad: a * b + c; number[2]: the result goes to the right by so many bits. */
static uint64_t video_multiply_add(const Instruction *i, const uint64_t s[4], uint32_t p, uint32_t *out) {
    int64_t part[2];
    two_parts(i, s, part);
    __int128 product = (__int128)part[0] * part[1], c = part_of_word(s[2], 0, 32, i->flags & RESULT_SIGNED);
    if (i->flags & PRODUCT_NEGATED) product = -product;
    if (i->flags & C_NEGATED) c = -c;
    const __int128 total = (product + c + (i->flags & ONE_MORE ? 1 : 0)) >> i->number[2];
    (void)p, (void)out;
    if (!(i->flags & LIMITED)) return (uint32_t)total;
    const __int128 least = i->flags & RESULT_SIGNED ? INT32_MIN : 0;
    const __int128 most = i->flags & RESULT_SIGNED ? INT32_MAX : UINT32_MAX;
    return (uint32_t)(total < least ? least : total > most ? most : total);
}

OF_EACH_LANE(whole_number)
OF_CALLED_LANES(compare_typed)
OF_CALLED_LANES(compare_typed_to_register)
OF_CALLED_LANES(test_number)
OF_CALLED_LANES(with_carry)
OF_CALLED_LANES(pack_parts)
OF_CALLED_LANES(pack_limited)
OF_CALLED_LANES(float_function)
OF_CALLED_LANES(double_function)
OF_CALLED_LANES(pack_eights)
OF_CALLED_LANES(unpack_eights)
OF_CALLED_LANES(video_parts)
OF_CALLED_LANES(video_one)
OF_CALLED_LANES(video_multiply_add)

const NamedOperation TYPED[] = {
    {"whole number", whole_number_of_warp},
    {"compare typed", compare_typed_of_warp},
    {"compare typed to register", compare_typed_to_register_of_warp},
    {"test number", test_number_of_warp},
    {"with carry", with_carry_of_warp},
    {"pack parts", pack_parts_of_warp},
    {"pack limited", pack_limited_of_warp},
    {"unpack parts", unpack_parts},
    {"float function", float_function_of_warp},
    {"double function", double_function_of_warp},
    {"pack eights", pack_eights_of_warp},
    {"unpack eights", unpack_eights_of_warp},
    {"video parts", video_parts_of_warp},
    {"video one", video_one_of_warp},
    {"video multiply-add", video_multiply_add_of_warp},
    {0, 0},
};
