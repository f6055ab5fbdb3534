/* Arithmetic of single numbers as a GPU does it: each result is the exact value, rounded once.
 *
 * The rules are those of gpusim/arithmetic; a test holds each instruction against them. */
#ifndef FLOATS_H
#define FLOATS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum Rounding { TO_NEAREST, TO_ZERO, DOWN, UP, AWAY /* to nearest, from half-way away from zero: TF32 */ };

static const uint32_t NAN_BITS = 0x7fffffffu; /* what NVIDIA GPUs answer for float32 */

static inline float as_float(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static inline uint32_t bits_of(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }
static inline double as_double(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline uint64_t bits_of_double(double x) { uint64_t bits; memcpy(&bits, &x, 8); return bits; }

static const uint64_t DOUBLE_SIGN = 1ull << 63, DOUBLE_QUIET = 1ull << 51;

static inline int is_double_nan(uint64_t bits) { return (bits & ~DOUBLE_SIGN) > 0x7ff0000000000000ull; }

static inline float canonical(float x) { return x != x ? as_float(NAN_BITS) : x; }

static inline float flushed(float x) {
    uint32_t bits = bits_of(x);
    return (bits & 0x7fffffffu) < 0x00800000u ? as_float(bits & 0x80000000u) : x;
}

/* Limited to 0 ... 1; NaN and -0 become +0. */
static inline float saturated(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

/* The float64 next to total + error with an odd last bit, or total where the error is 0: it rounds to any shorter
 * format as the exact value does. */
static inline double to_odd(double total, double error) {
    uint64_t bits = bits_of_double(total);
    if (!(error != 0) || error != error || bits & 1) return total;
    return as_double((error > 0) == (total > 0) ? bits + 1 : bits - 1);
}

static inline double error_of_sum(double a, double b, double total) {
    double b_in_total = total - a;
    return (a - (total - b_in_total)) + (b - b_in_total);
}

/* a * b + c of float32 numbers, such that one more rounding gives what rounding the exact value gives. */
static inline double fused_to_odd(float a, float b, float c) {
    double product = (double)a * b, total = product + c;
    return to_odd(total, error_of_sum(product, c, total));
}

static inline float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return (float)fused_to_odd(a, b, c);
#endif
}

float next_toward(float x, float limit);

/* A float64 rounded to float32; NaN is NAN_BITS. */
float narrow(double exact, int rounding);
float fused_rounded(float a, float b, float c, int rounding);

/* float16 and bfloat16 as their bits. */
uint16_t half_of(double exact, int rounding);
double of_half(uint16_t bits);
uint16_t brain_of(float x, int rounding);
uint16_t brain_of_double(double exact, int rounding);
static inline float of_brain(uint16_t bits) { return canonical(as_float((uint32_t)bits << 16)); }

/* A float32 as the bits of a TF32, which are those of a float32 with fewer of its fraction. */
uint32_t tf32_of(float x, int rounding);

/* The formats of 8 bits, E5M2 or E4M3, as their bits: what is too large becomes the largest number. */
double of_eight(int is_e5m2, uint32_t bits);
uint32_t eight_of(double x, int is_e5m2);

/* The bits of a float64 result of some sources. A NaN among these is propagated as it stands in its register, quiet:
 * b's before c's before a's; one that arises has its sign set: so an H200 answers for all 1602 forms in
 * tests/gpusim/goldens/instructions_sm_90.json that this is about. */
uint64_t double_result(double result, const uint64_t s[], int sources);

/* a * b + c, a / b and the square root of float64 numbers, rounded once. */
double fused_double(double a, double b, double c, int rounding);
double divided_double(double a, double b, int rounding);
double root_of_double(double x, int rounding);

/* A number to an integer of `bits`, limited to its range. wide: NaN gives the top bit alone, as for float64 and 64
 * bits. */
uint64_t to_integer(double x, int bits, int is_signed, int wide);
double to_whole(double x, int whole);
float from_integer(uint64_t value, int is_signed, int rounding);
double double_from_integer(uint64_t value, int is_signed, int rounding);
double odd_double_from_integer(uint64_t value, int is_signed); /* as to_odd */

float minimum(float a, float b);
float maximum(float a, float b);

#endif
