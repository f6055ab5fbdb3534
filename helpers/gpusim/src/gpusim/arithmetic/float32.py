"""Float32 sums, extremes and shorter formats as a GPU has them, on whole arrays: each result is rounded once.

They are for atomic operations and for pictures of formats: instructions are computed by the C program. Operands are
float32 arrays of any shapes that broadcast, or NumPy scalars; the result is a fresh array (a scalar for scalars).
Subnormal numbers are kept; `ftz(operation)` is the variant that flushes them. A NaN result is always 0x7fffffff, which
NVIDIA GPUs return for float32 (PTX leaves it unspecified).

Overflow, NaN and division by zero are values here, not mistakes: callers hold `np.errstate(all="ignore")`, once around
many calls, because entering it costs as much as a small operation.
"""

from collections.abc import Callable

import numpy as np

NAN = np.uint32(0x7FFFFFFF).view(np.float32)
HALF_NAN = np.uint16(0x7FFF).view(np.float16)
SMALLEST_NORMAL = np.float32(2.0**-126)


# ---- add, multiply, divide ----------------------------------------------------------------------------------------


def fma_to_odd(a, b, c):
    """a * b + c for float32 operands as the float64 that rounds correctly to any shorter format: float16, bfloat16."""
    product = np.multiply(a, b, dtype=np.float64)
    total = np.add(product, c, dtype=np.float64)
    return to_odd(total, error_of_sum(product, c, total))[()]


def add(a, b):
    """a + b (`add.rn.f32`, FADD)."""
    return _canonical(np.add(a, b))


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


# ---- conversions --------------------------------------------------------------------------------------------------


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
