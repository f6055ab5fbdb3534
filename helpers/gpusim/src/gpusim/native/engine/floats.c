#include "floats.h"

/* The neighbour of x in the direction of `limit`; x itself if it is there, or is NaN. */
float next_toward(float x, float limit) {
    uint32_t bits = bits_of(x);
    if (x != x || x == limit) return x;
    if (x == 0) return as_float(limit > 0 ? 1u : 0x80000001u);
    return as_float((x < limit) == (x > 0) ? bits + 1 : bits - 1);
}

float narrow(double exact, int rounding) {
    float nearest = (float)exact;
    if (nearest != nearest) return as_float(NAN_BITS);
    switch (rounding) {
        case TO_ZERO: return fabs((double)nearest) > fabs(exact) ? next_toward(nearest, 0.0f) : nearest;
        case DOWN: return (double)nearest > exact ? next_toward(nearest, -INFINITY) : nearest;
        case UP: return (double)nearest < exact ? next_toward(nearest, INFINITY) : nearest;
        default: return nearest;
    }
}

float fused_rounded(float a, float b, float c, int rounding) {
    if (rounding == TO_NEAREST) return canonical(fused(a, b, c));
    /* Rounding down is the mirror image of rounding up: an exact sum of 0 is -0 then. */
    if (rounding == DOWN) return canonical(-fused_rounded(-a, b, -c, UP));
    return narrow(fused_to_odd(a, b, c), rounding);
}

/* A float64 rounded to a format of 16 bits with `fraction` bits after the point and exponents from `lowest` on. */
static uint16_t sixteen_bits(double exact, int fraction, int lowest, int rounding) {
    uint64_t bits = bits_of_double(exact);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000), infinite = (uint16_t)(0x7fff >> fraction << fraction);
    int exponent = (int)(bits >> 52 & 2047) - 1023;
    uint64_t mantissa = (bits & 0xfffffffffffffull) | 1ull << 52;
    if (exact != exact) return 0x7fff;
    if (exponent == 1024) return sign | infinite;
    if (exponent == -1023) return sign | (uint16_t)((bits << 1) && (rounding == UP ? !sign : rounding == DOWN && sign));
    int drop = 52 - fraction + (exponent < lowest ? lowest - exponent : 0);
    if (drop > 60) drop = 60;
    uint64_t kept = mantissa >> drop, rest = mantissa & ((1ull << drop) - 1), middle = 1ull << (drop - 1);
    int up = rounding == TO_NEAREST ? rest > middle || (rest == middle && kept & 1)
             : rounding == UP       ? rest && !sign
             : rounding == DOWN     ? rest && sign
                                    : 0;
    kept += (uint64_t)up;
    /* Without the leading one the bits of exponent and fraction follow each other, and a carry runs into the
     * exponent. */
    uint64_t result = exponent < lowest ? kept : kept + ((uint64_t)(exponent - lowest) << fraction);
    if (result >= infinite) {
        int limited = rounding == TO_ZERO || (rounding == UP && sign) || (rounding == DOWN && !sign);
        result = limited ? (uint64_t)infinite - 1 : infinite;
    }
    return sign | (uint16_t)result;
}

uint16_t half_of(double exact, int rounding) { return sixteen_bits(exact, 10, -14, rounding); }

uint16_t brain_of_double(double exact, int rounding) { return sixteen_bits(exact, 7, -126, rounding); }

double of_half(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude = exponent == 0    ? ldexp(fraction, -24)
                       : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                                        : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

uint16_t brain_of(float x, int rounding) {
    uint32_t bits = bits_of(x);
    if (x != x) return 0x7fff;
    if (rounding == TO_NEAREST) bits += 0x7fff + (bits >> 16 & 1);
    if (rounding == (bits >> 31 ? DOWN : UP)) bits += 0xffff;
    return (uint16_t)(bits >> 16);
}

uint32_t tf32_of(float x, int rounding) {
    const uint32_t kept = 0xffffe000u;
    uint32_t bits = bits_of(x);
    if (x != x) return rounding == AWAY ? bits & kept : NAN_BITS & kept;
    if (rounding == AWAY) bits += 0x1000;
    if (rounding == TO_NEAREST) bits += 0xfff + (bits >> 13 & 1);
    return bits & kept;
}

/* simulator/arithmetic/float8.py */
double of_eight(int is_e5m2, uint32_t bits) {
    const int fraction_bits = is_e5m2 ? 2 : 3, bias = is_e5m2 ? 15 : 7;
    const int exponent = (int)(bits & 0x7f) >> fraction_bits, fraction = (int)bits & ((1 << fraction_bits) - 1);
    double size = ldexp(fraction + (exponent ? 1 << fraction_bits : 0),
                        (exponent ? exponent : 1) - bias - fraction_bits);
    if (!is_e5m2 && (bits & 0x7f) == 0x7f) size = NAN;
    if (is_e5m2 && exponent == 31) size = fraction ? NAN : INFINITY;
    return bits & 0x80 ? -size : size;
}

uint32_t eight_of(double x, int is_e5m2) {
    const int fraction_bits = is_e5m2 ? 2 : 3, lowest = is_e5m2 ? -14 : -6;
    const uint32_t largest = is_e5m2 ? 0x7b : 0x7e, sign = signbit(x) ? 0x80 : 0;
    if (x != x) return 0x7f;
    if (x == 0) return sign;
    if (fabs(x) > of_eight(is_e5m2, largest)) return sign | largest;
    int exponent;
    frexp(x, &exponent);
    exponent = exponent - 1 < lowest ? lowest : exponent - 1;
    /* A fraction that is rounded up to the next power of two is a carry into the exponent, too. */
    int fraction = (int)nearbyint(ldexp(fabs(x), fraction_bits - exponent));
    uint32_t bits = (uint32_t)(fraction + ((exponent - lowest) << fraction_bits));
    return sign | (bits < largest ? bits : largest);
}

/* ---- float64 with one rounding, in integers: exact for all operands, and for the roundings that no processor function
 * has. It is needed by the compiler's slow paths of division and square root, and where a processor has no fused
 * multiply-add. */

typedef unsigned __int128 Wide;

typedef struct {
    int sign, exponent; /* value = mantissa * 2 ^ exponent */
    uint64_t mantissa;
} Parts;

static Parts parts_of(double x) {
    uint64_t bits = bits_of_double(x);
    int exponent = (int)(bits >> 52 & 2047);
    Parts parts = {(int)(bits >> 63), (exponent ? exponent : 1) - 1075, bits & 0xfffffffffffffull};
    if (exponent) parts.mantissa |= 1ull << 52;
    return parts;
}

static int top_bit(Wide value) {
    uint64_t high = (uint64_t)(value >> 64), low = (uint64_t)value;
    return high ? 127 - __builtin_clzll(high) : low ? 63 - __builtin_clzll(low) : -1;
}

/* (-1)^sign * (value + something between 0 and 1 if sticky) * 2^exponent, rounded to a float64. */
static double rounded_double(int sign, Wide value, int exponent, int sticky, int rounding) {
    int top = top_bit(value) + exponent;    /* the exponent of the leading one */
    int last = (top < -1022 ? -1022 : top) - 52; /* the exponent of the last bit that is kept */
    int drop = last - exponent, up, half, rest;
    uint64_t kept;
    if (drop <= 0) {
        kept = (uint64_t)(value << -drop);
        half = 0, rest = sticky;
    } else if (drop > 127) {
        kept = 0, half = 0, rest = 1;
    } else {
        kept = (uint64_t)(value >> drop);
        half = (int)(value >> (drop - 1) & 1);
        rest = sticky || (drop > 1 && (value & (((Wide)1 << (drop - 1)) - 1)));
    }
    up = rounding == TO_NEAREST ? half && (rest || (kept & 1))
         : rounding == UP       ? (half || rest) && !sign
         : rounding == DOWN     ? (half || rest) && sign
                                : 0;
    kept += (uint64_t)up;
    double magnitude = ldexp((double)kept, last); /* exact: kept has at most 54 bits, the last of which is 0 then */
    if (isinf(magnitude) && (rounding == TO_ZERO || (rounding == UP && sign) || (rounding == DOWN && !sign)))
        magnitude = 1.7976931348623157e308;
    return sign ? -magnitude : magnitude;
}

static double fused_in_integers(double a, double b, double c, int rounding) {
    if (!isfinite(a) || !isfinite(b)) return a * b + c;
    if (!isfinite(c)) return c;
    Parts x = parts_of(a), y = parts_of(b), z = parts_of(c);
    int sign = x.sign ^ y.sign, exponent = x.exponent + y.exponent;
    Wide product = (Wide)x.mantissa * y.mantissa, addend = z.mantissa;
    if (!product || !addend) {
        if (!product && !addend) {
            if (sign == z.sign) return sign ? -0.0 : 0.0;
            return rounding == DOWN ? -0.0 : 0.0;
        }
        return product ? rounded_double(sign, product, exponent, 0, rounding) : c;
    }
    /* Both as multiples of one unit. The larger one goes up as far as 126 bits allow; the smaller one goes down by the
     * rest, and what it loses there only says on which side of a middle the sum lies. */
    int sticky = 0, distance = exponent - z.exponent;
    if (distance > 0) { /* the product has the larger unit */
        int room = 125 - top_bit(product), by = distance < room ? distance : room;
        product <<= by, exponent -= by, distance -= by;
        if (distance > 0) {
            sticky = distance > 127 ? addend != 0 : (addend & (((Wide)1 << distance) - 1)) != 0;
            addend = distance > 127 ? 0 : addend >> distance;
        }
    } else if (distance < 0) {
        int room = 125 - top_bit(addend), by = -distance < room ? -distance : room;
        addend <<= by, distance += by;
        if (distance < 0) {
            sticky = -distance > 127 ? product != 0 : (product & (((Wide)1 << -distance) - 1)) != 0;
            product = -distance > 127 ? 0 : product >> -distance;
            sticky = sticky ? 2 : 0; /* it is the product that lost bits */
        }
        exponent = z.exponent - by;
    }
    if (sign == z.sign) return rounded_double(sign, product + addend, exponent, sticky != 0, rounding);
    if (product == addend && !sticky) return rounding == DOWN ? -0.0 : 0.0;
    int product_wins = product > addend || (product == addend && sticky == 2);
    Wide difference = product_wins ? product - addend : addend - product;
    /* The loser is a little larger than what is left of it. */
    if (sticky && product_wins == (sticky == 1)) difference -= 1;
    return rounded_double(product_wins ? sign : z.sign, difference, exponent, sticky != 0, rounding);
}

uint64_t double_result(double result, const uint64_t s[], int sources) {
    static const int order[] = {1, 2, 0};
    if (result == result) return bits_of_double(result);
    for (int k = 0; k < 3; k++)
        if (order[k] < sources && is_double_nan(s[order[k]])) return s[order[k]] | DOUBLE_QUIET;
    return 0xfff8000000000000ull;
}

double fused_double(double a, double b, double c, int rounding) {
#if defined(__FMA__) || defined(__aarch64__)
    if (rounding == TO_NEAREST) return __builtin_fma(a, b, c);
#endif
    return fused_in_integers(a, b, c, rounding);
}

static Parts normalised(Parts parts) {
    int up = __builtin_clzll(parts.mantissa) - 11;
    return (Parts){parts.sign, parts.exponent - up, parts.mantissa << up};
}

double divided_double(double a, double b, int rounding) {
    if (rounding == TO_NEAREST || !isfinite(a) || !isfinite(b) || a == 0 || b == 0) return a / b;
    const Parts x = normalised(parts_of(a)), y = normalised(parts_of(b));
    const int bits = 62;
    uint64_t rest = x.mantissa, quotient = 0;
    for (int bit = 0; bit < bits; bit++) {
        quotient = quotient << 1 | (rest >= y.mantissa);
        if (rest >= y.mantissa) rest -= y.mantissa;
        rest <<= 1;
    }
    return rounded_double(x.sign ^ y.sign, quotient, x.exponent - y.exponent - (bits - 1), rest != 0, rounding);
}

double root_of_double(double x, int rounding) {
    const double root = sqrt(x), scale = x < 0x1p-900 ? 0x1p54 : 1.0; /* so that the error is no subnormal number */
    if (rounding == TO_NEAREST || !isfinite(root)) return root;
    const double error = fused_double(root * scale, root * scale, -(x * scale * scale), TO_NEAREST);
    if (rounding == UP) return error < 0 ? nextafter(root, INFINITY) : root;
    return error > 0 ? nextafter(root, 0) : root;
}

/* ---- integers */

double to_whole(double x, int whole) {
    switch (whole) {
        case TO_ZERO: return trunc(x);
        case DOWN: return floor(x);
        case UP: return ceil(x);
        default: return nearbyint(x);
    }
}

uint64_t to_integer(double x, int bits, int is_signed, int wide) {
    uint64_t top = 1ull << (bits - 1);
    if (x != x) return wide ? top : 0;
    if (is_signed) {
        if (x >= ldexp(1, bits - 1)) return top - 1;
        if (x < -ldexp(1, bits - 1)) return (uint64_t)0 - top;
        return (uint64_t)(int64_t)x;
    }
    if (x >= ldexp(1, bits)) return top | (top - 1);
    return x < 0 ? 0 : (uint64_t)x;
}

double double_from_integer(uint64_t value, int is_signed, int rounding) {
    int negative = is_signed && (int64_t)value < 0;
    uint64_t magnitude = negative ? (uint64_t)0 - value : value;
    if (!magnitude) return 0.0;
    return rounded_double(negative, magnitude, 0, 0, rounding);
}

double odd_double_from_integer(uint64_t value, int is_signed) {
    double down = double_from_integer(value, is_signed, DOWN), up = double_from_integer(value, is_signed, UP);
    if (down == up) return down;
    return as_double(bits_of_double(double_from_integer(value, is_signed, TO_ZERO)) | 1);
}

float from_integer(uint64_t value, int is_signed, int rounding) {
    if (rounding == TO_NEAREST) return is_signed ? (float)(int64_t)value : (float)value;
    return narrow(odd_double_from_integer(value, is_signed), rounding);
}

/* The smaller of two; a NaN gives way to a number, and -0 < +0. */
float minimum(float a, float b) {
    if (a == b) return as_float(bits_of(a) | bits_of(b));
    return canonical(a != a ? b : b != b ? a : a < b ? a : b);
}

float maximum(float a, float b) {
    if (a == b) return as_float(bits_of(a) & bits_of(b));
    return canonical(a != a ? b : b != b ? a : a > b ? a : b);
}
