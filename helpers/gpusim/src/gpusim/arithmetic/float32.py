"""Float32 arithmetic as a GPU does it, on whole arrays: each result is the exact value, rounded once.

Operands are float32 arrays of any shapes that broadcast, or NumPy scalars; the result is a fresh array (a scalar for
scalars). Rounding modes carry PTX's names: "rn" to nearest even, "rz" towards zero, "rm" towards minus infinity, "rp"
towards plus infinity. Subnormal numbers are kept; `ftz(operation)` is the variant that flushes them. A NaN result is
always 0x7fffffff, which NVIDIA GPUs return for float32 (PTX leaves it unspecified).

Overflow, NaN and division by zero are values here, not mistakes: callers hold `np.errstate(all="ignore")`, once around
many calls, because entering it costs as much as a small operation.
"""

from collections.abc import Callable

import numpy as np

NAN = np.uint32(0x7FFFFFFF).view(np.float32)
HALF_NAN = np.uint16(0x7FFF).view(np.float16)
SMALLEST_NORMAL = np.float32(2.0**-126)
ONE = np.float32(1)

# A float64 has 29 bits more than a float32. Where they are 1000…0 it lies half-way between two float32 numbers, as does
# 1 + 2^-24, 0x3ff00000_10000000.
_EXTRA_BITS = (1 << 29) - 1
_HALF_WAY = 1 << 28

# Rounding to a whole number that stays a float of its type: to nearest even, towards zero, down, up.
TO_WHOLE = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


# ---- add, multiply, divide ----------------------------------------------------------------------------------------


def fma(a, b, c, rounding: str = "rn"):
    """a * b + c with one rounding (`fma.rn.f32`, FFMA).

    Float64 holds the product exactly, and rounds the sum; rounding that again to float32 is right unless the first
    rounding ended half-way between two float32 numbers, or in the subnormal range, where the grid is coarser. Those
    few lanes are computed again with the error of the sum in hand.
    """
    if rounding == "rm":  # the mirror image: an exact sum of 0 is -0 when rounding down
        return _canonical(-fma(-a, b, -c, "rp"))
    product = np.multiply(a, b, dtype=np.float64)
    total = np.add(product, c, dtype=np.float64)
    if rounding != "rn":
        return _narrow(to_odd(total, error_of_sum(product, c, total)), rounding)
    result = total.astype(np.float32)
    half_way = (total.view(np.int64) & _EXTRA_BITS) == _HALF_WAY
    if (
        not np.count_nonzero(half_way)
        and np.minimum.reduce(np.abs(result), axis=None, initial=np.inf) > SMALLEST_NORMAL
    ):
        return result
    doubtful = half_way | (np.abs(total) < SMALLEST_NORMAL) & (total != 0)
    if np.count_nonzero(doubtful):
        p, q, t = (np.broadcast_to(x, result.shape)[doubtful] for x in (product, c, total))
        result = np.asarray(result)
        result[doubtful] = to_odd(t, error_of_sum(p, np.float64(q), t)).astype(np.float32)
    return _canonical(result)


def fma_to_odd(a, b, c):
    """a * b + c for float32 operands as the float64 that rounds correctly to any shorter format: float16, bfloat16."""
    product = np.multiply(a, b, dtype=np.float64)
    total = np.add(product, c, dtype=np.float64)
    return to_odd(total, error_of_sum(product, c, total))[()]


def add(a, b, rounding: str = "rn"):
    """a + b (`add.rn.f32`, FADD)."""
    return _canonical(np.add(a, b)) if rounding == "rn" else fma(a, ONE, b, rounding)


def sub(a, b, rounding: str = "rn"):
    """a - b (`sub.rn.f32`)."""
    return _canonical(np.subtract(a, b)) if rounding == "rn" else fma(a, ONE, -b, rounding)


def mul(a, b, rounding: str = "rn"):
    """a * b (`mul.rn.f32`, FMUL)."""
    return _canonical(np.multiply(a, b)) if rounding == "rn" else _narrow(np.multiply(a, b, dtype=np.float64), rounding)


def div(a, b, rounding: str = "rn"):
    """a / b (`div.rn.f32`): the IEEE quotient, which a GPU computes with a short program."""
    quotient = np.divide(a, b)
    if rounding == "rn":
        return _canonical(quotient)
    remainder = np.float64(a) - quotient * np.float64(b)  # exact, and its sign says on which side the quotient lies
    return _narrow(_nudge(quotient, remainder * np.sign(b)), rounding)


def rcp(a, rounding: str = "rn"):
    """1 / a (`rcp.rn.f32`)."""
    return div(ONE, a, rounding)


def sqrt(a, rounding: str = "rn"):
    """The square root of a (`sqrt.rn.f32`)."""
    root = np.sqrt(a)
    if rounding == "rn":
        return _canonical(root)
    return _narrow(_nudge(root, np.float64(a) - np.multiply(root, root, dtype=np.float64)), rounding)


# ---- modifiers ----------------------------------------------------------------------------------------------------


def flush(a):
    """a, not empty, with subnormal numbers replaced by a zero of their sign.

    One cheap reduction tells the usual case, that there is nothing to flush; 2^-130 becomes 0, -2^-130 becomes -0.
    """
    magnitude = np.abs(a)
    if np.minimum.reduce(magnitude, axis=None) >= SMALLEST_NORMAL:
        return a
    return np.where(magnitude < SMALLEST_NORMAL, np.copysign(np.float32(0), a), a)[()]


def ftz(operation: Callable) -> Callable:
    """The `.ftz` variant of a float32 operation: subnormal operands and results become zeros of their sign."""

    def flushing(*operands, **options):
        return flush(operation(*map(flush, operands), **options))

    return flushing


def saturate(a):
    """a limited to [0, 1] (`.sat`); NaN and -0 become +0."""
    return np.where(a > 0, np.minimum(a, ONE), np.float32(0))[()]


def fma_ftz(a, b, c, rounding: str = "rn"):
    """`fma.rn.ftz.f32`: `ftz(fma)` under a name of its own, since compilers write it often."""
    return flush(fma(flush(a), flush(b), flush(c), rounding))


def fma_of_normals(a, b, c):
    """`fma.rn.ftz.f32` of operands without subnormal numbers."""
    return flush(fma(a, b, c))


def div_ftz(a, b):
    """`div.rn.ftz.f32`: a quotient is flushed if its 24 bits are below 2^-126, though subnormal it were rounded up.

    (The short program of the machine code looks at the exponent before it would shift the number.)
    """
    a, b = flush(a), flush(b)
    quotient = div(a, b)
    at_the_border = np.abs(quotient) == SMALLEST_NORMAL
    if np.count_nonzero(at_the_border):
        below = np.abs(np.float32(np.float64(a) / np.float64(b) * 2.0**64)) < np.float32(2.0**-62)
        quotient = np.where(at_the_border & below, np.copysign(np.float32(0), quotient), quotient)[()]
    return flush(quotient)


# ---- compare and select -------------------------------------------------------------------------------------------


def fmin(a, b):
    """The smaller of a and b (`min.f32`): a NaN gives way to a number, and -0 < +0."""
    # Equal numbers have equal bits, but for the zeros: 0x00000000 | 0x80000000 is -0.
    zero_of_either_sign = (_bits(a) | _bits(b)).view(np.float32)
    # (np.fmin of a signaling NaN and a number is the one or the other, as the array's length will have it.)
    return _canonical(np.where(a == b, zero_of_either_sign, np.where((a < b) | np.isnan(b), a, b)))


def fmax(a, b):
    """The larger of a and b (`max.f32`): a NaN gives way to a number, and -0 < +0."""
    zero_of_either_sign = (_bits(a) & _bits(b)).view(np.float32)
    return _canonical(np.where(a == b, zero_of_either_sign, np.where((a > b) | np.isnan(b), a, b)))


def fmin_nan(a, b):
    """The smaller of a and b, NaN if either is (`min.NaN.f32`)."""
    return np.where(np.isnan(a) | np.isnan(b), NAN, fmin(a, b))[()]


def fmax_nan(a, b):
    """The larger of a and b, NaN if either is (`max.NaN.f32`)."""
    return np.where(np.isnan(a) | np.isnan(b), NAN, fmax(a, b))[()]


# ---- conversions --------------------------------------------------------------------------------------------------


def to_integer(a, dtype: type[np.integer], rounding: str = "rzi"):
    """a rounded to an integer and limited to the range of `dtype` (`cvt.rzi.s32.f32`); a is float16, 32 or 64.

    NaN becomes 0; with a float64 or a 64-bit integer, the integer with only its top bit set (PTX ISA, cvt).
    """
    limits = np.iinfo(dtype)
    whole = TO_WHOLE[rounding](np.float64(a))
    above, below = whole >= float(int(limits.max) + 1), whole < float(limits.min)
    integer = np.where(above | below | np.isnan(whole), 0.0, whole).astype(dtype)
    integer = np.where(above, dtype(limits.max), np.where(below, dtype(limits.min), integer))
    if limits.bits == 64 or np.asarray(a).dtype == np.float64:
        integer = np.where(np.isnan(whole), dtype(int(limits.min) or 1 << (limits.bits - 1)), integer)
    return integer[()]


def to_whole(a, rounding: str):
    """a rounded to an integer that stays a float32 (`cvt.rni.f32.f32`); the sign of a zero is kept."""
    return _canonical(TO_WHOLE[rounding](a))


def from_integer(a, rounding: str = "rn"):
    """The float32 of an integer array of any width (`cvt.rn.f32.s32`)."""
    if rounding == "rn":
        return a.astype(np.float32)
    wide = a.astype(np.uint64 if a.dtype == np.uint64 else np.int64)
    high, low = np.float64(wide >> 32) * 2.0**32, np.float64(wide.astype(np.uint32))
    total = high + low
    return _narrow(to_odd(total, error_of_sum(high, low, total)), rounding)


def from_float64(a, rounding: str = "rn"):
    """The float32 of a float64 (`cvt.rn.f32.f64`)."""
    return _narrow(a, rounding)


def to_float16(a, rounding: str = "rn"):
    """The float16 of a float32 (`cvt.rn.f16.f32`); NaN is 0x7fff."""
    return canonical_half(_narrow(np.float64(a), rounding, np.float16))


def from_float16(a):
    """The float32 of a float16, exact."""
    return _canonical(a.astype(np.float32))


def to_bfloat16(a, rounding: str = "rn"):
    """The 16 bits of the bfloat16 of a float32 as uint16 (`cvt.rn.bf16.f32`); NaN is 0x7fff.

    To nearest even ("rn"): the lower half overflows into the upper one if it is above 0x8000, or is 0x8000 below an odd
    bit. 0x3f808000 becomes 0x3f80, and 0x3f818000 0x3f82. Up ("rp") and down ("rm"), any lower half is enough, of a
    number of that sign.
    """
    bits = _bits(a)
    if rounding == "rn":
        bits = bits + np.uint32(0x7FFF) + (bits >> 16 & 1)
    elif rounding in ("rm", "rp"):
        away = (bits >> 31) == np.uint32(rounding == "rm")
        bits = bits + np.where(away, np.uint32(0xFFFF), np.uint32(0))
    elif rounding != "rz":
        raise ValueError(f"PTX rounds floats by 'rn', 'rz', 'rm' or 'rp', not {rounding!r}.")
    return np.where(np.isnan(a), np.uint16(0x7FFF), (bits >> 16).astype(np.uint16))[()]


def from_bfloat16(bits):
    """The float32 of bfloat16 bits held as uint16, exact."""
    return _canonical((bits.astype(np.uint32) << 16).view(np.float32))


def to_tf32(a, rounding: str = "rna"):
    """a rounded to TF32's 10 fraction bits (`cvt.rna.tf32.f32`): "rna" ties away from zero, "rn" to even, or "rz".

    The 13 bits that are dropped lie half-way at 0x1000: 0x3f801000 becomes 0x3f802000 by "rna", 0x3f800000 by "rn".
    NaN becomes 0x7fffe000; by "rna", which the machine code spells out, it loses its 13 bits alone.
    """
    bits = _bits(a)
    if rounding == "rna":
        bits = bits + np.uint32(0x1000)
    elif rounding == "rn":
        bits = bits + np.uint32(0xFFF) + (bits >> 13 & 1)
    kept = np.uint32(0xFFFFE000)
    nan = _bits(a) & kept if rounding == "rna" else np.uint32(0x7FFFE000)
    return np.where(np.isnan(a), nan, bits & kept).view(np.float32)[()]


# ---- approximations -----------------------------------------------------------------------------------------------
# The special function unit's results are not bit-exact here: each is the correctly rounded value, from which the
# hardware may differ by the error that the PTX ISA states and the docstring repeats. Special values are exact. What
# the compiler puts around the unit is in `special_functions`.


def rcp_approx(a):
    """1 / a (`rcp.approx.f32`). Not bit-exact with the hardware: that is within 1 ulp."""
    return div(ONE, a)


def sqrt_approx(a):
    """The square root of a (`sqrt.approx.f32`). Not bit-exact with the hardware: relative error up to 2^-23."""
    return sqrt(a)


def rsqrt_approx(a):
    """1 / sqrt(a) (`rsqrt.approx.f32`). Not bit-exact with the hardware: relative error up to 2^-22.9."""
    return _narrow(1 / np.sqrt(np.float64(a)))


def ex2_approx(a):
    """2 to the power a (`ex2.approx.f32`). Not bit-exact with the hardware: that is within 2 ulp."""
    return _narrow(np.exp2(np.float64(a)))


def lg2_approx(a):
    """The base-2 logarithm of a (`lg2.approx.f32`). Not bit-exact with the hardware.

    Its absolute error is up to 2^-22 for a in (0.5, 2), its relative error up to 2^-22 elsewhere.
    """
    return _narrow(np.log2(np.float64(a)))


def tanh_approx(a):
    """The hyperbolic tangent of a (`tanh.approx.f32`). Not bit-exact with the hardware: relative error up to 2^-11."""
    return _narrow(np.tanh(np.float64(a)))


# ---- rounding -----------------------------------------------------------------------------------------------------


def _bits(a):
    return np.asarray(a, np.float32).view(np.uint32)


def _canonical(result):
    """The result with every NaN replaced by the GPU's; looked for by one reduction, since a minimum passes NaN on."""
    if np.isnan(np.minimum.reduce(result, axis=None, initial=np.inf)):
        result = np.where(np.isnan(result), NAN, result)
    return result[()]


def error_of_sum(a, b, total):
    """What the float64 sum `total` of a and b lacks: a + b == total + error exactly (Knuth's TwoSum).

    1 + 2^-60 gives the total 1 and the error 2^-60.
    """
    b_in_total = total - a
    return (a - (total - b_in_total)) + (b - b_in_total)


def to_odd(total, error):
    """The float64 next to total + error with an odd last bit, or total where the error is 0.

    Odd says "not exact": rounding once more to a shorter format then rounds as the exact value would. A total of
    1 + 2^-24, half-way between two float32 numbers, with the error 2^-60 becomes 1 + 2^-24 + 2^-52, which is not.
    """
    bits = total.view(np.int64)
    adjust = (np.abs(error) > 0) & ((bits & 1) == 0)
    outwards = (error > 0) == (total > 0)
    return (bits + adjust * np.where(outwards, 1, -1)).view(np.float64)


def to_odd_float32(wide):
    """Float64 → float32 such that rounding once more to 8 bits is right: an inexact result gets an odd last bit.

    1 + 2^-8 + 2^-40 is no float32. Cut to 1 + 2^-8 it lies half-way between two bfloat16 numbers, and would be rounded
    down to 1; its last bit set, 1 + 2^-8 + 2^-23 is rounded up, as the number itself is.
    """
    narrow = np.asarray(wide).astype(np.float32)
    toward_zero = np.where(np.abs(narrow) > np.abs(wide), np.nextafter(narrow, np.float32(0)), narrow)
    inexact = (toward_zero.astype(np.float64) != wide) & np.isfinite(wide)
    return (toward_zero.view(np.uint32) | inexact.astype(np.uint32)).view(np.float32)[()]


def canonical_half(a):
    """A float16 array with every NaN replaced by the GPU's, 0x7fff."""
    return np.where(np.isnan(a), HALF_NAN, a)[()]


def _nudge(nearest, error):
    """A float64 a hair from a float32 `nearest`, on the side where the exact value lies; `nearest` where error is 0."""
    nearest = np.float64(nearest)
    aside = np.nextafter(nearest, np.copysign(np.inf, error))
    return np.where(np.abs(error) > 0, aside, nearest)


def _narrow(exact, rounding: str = "rn", dtype=np.float32):
    """A float64 rounded to float32 or float16 in the given mode."""
    nearest = exact.astype(dtype)
    if rounding == "rn":
        return _canonical(nearest) if dtype == np.float32 else nearest
    if rounding == "rz":
        passed, back = np.abs(nearest) > np.abs(exact), 0.0
    elif rounding == "rm":
        passed, back = nearest > exact, -np.inf
    elif rounding == "rp":
        passed, back = nearest < exact, np.inf
    else:
        raise ValueError(f"PTX rounds floats by 'rn', 'rz', 'rm' or 'rp', not {rounding!r}.")
    rounded = np.where(passed, np.nextafter(nearest, dtype(back)), nearest)
    return _canonical(rounded) if dtype == np.float32 else rounded
