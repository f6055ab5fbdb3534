"""Float64 arithmetic as a GPU does it, on whole arrays: each result is the exact value, rounded once.

Operands are float64 arrays of any shapes that broadcast, or NumPy scalars. Rounding to nearest is NumPy's, but for the
fused multiply-add. The directed roundings ("rz", "rm", "rp") occur in the compiler's slow paths of division
and square root alone, and are worked out with fractions, one lane at a time.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from gpusim.arithmetic import float32

SMALLEST_NORMAL = 2.0**-1022
NORMAL_EXPONENT = -1021  # of the smallest normal number, as `frexp` has it: a fraction of 1/2
FAR = 200  # exponents between a product and a summand, at which the smaller one is far behind the last bit
NO_ROOT = np.uint64(0xFFF8000000000000).view(np.float64)  # what a negative number's is


def add(a, b, rounding: str = "rn"):
    """a + b (`add.f64`, DADD)."""
    return np.add(a, b) if rounding == "rn" else _directed(lambda x, y: (x, y), (a, b), rounding)


def mul(a, b, rounding: str = "rn"):
    """a * b (`mul.f64`, DMUL)."""
    return np.multiply(a, b) if rounding == "rn" else _directed(lambda x, y: (x * y,), (a, b), rounding)


def fma(a, b, c, rounding: str = "rn"):
    """a * b + c with one rounding (`fma.f64`, DFMA)."""
    return _fma_to_nearest(a, b, c) if rounding == "rn" else _directed(lambda x, y, z: (x * y, z), (a, b, c), rounding)


def _fma_to_nearest(a, b, c):
    """a * b + c with one rounding to nearest even.

    Lanes whose exponents could overflow or underflow on the way are computed from numbers near 1; those with an operand
    that is no finite number are it, or NaN, as in a sum of a product that is rounded.
    """
    result = np.add(*_exact_sum(a, b, c))
    a, b, c = (np.broadcast_to(np.float64(x), result.shape) for x in (a, b, c))
    moderate = [(x == 0) | (np.abs(x) > 2.0**-400) & (np.abs(x) < 2.0**400) for x in (a, b)]
    moderate.append((c == 0) | (np.abs(c) > 2.0**-800) & (np.abs(c) < 2.0**800))
    extreme = ~np.logical_and.reduce(moderate)
    if np.count_nonzero(extreme):
        result = np.array(result)
        x, y, z = a[extreme], b[extreme], c[extreme]
        product = np.isfinite(x) & np.isfinite(y)
        numbers = _fma_of_numbers(*(np.where(product & np.isfinite(z), operand, 0) for operand in (x, y, z)))
        result[extreme] = np.where(product, np.where(np.isfinite(z), numbers, z), x * y + z)
    return result[()]


def _exact_sum(a, b, c):
    """Two numbers whose sum, rounded once, is a * b + c rounded once.

    The product is held in two float64 numbers, and what the sum lacks is rounded to odd (Boldo and Melquiond, 2008).
    """
    product, product_error = _exact_product(a, b)
    high, high_error = _two_sum(c, product_error)
    total, total_error = _two_sum(product, high)
    low, low_error = _two_sum(high_error, total_error)
    is_exact = product_error == 0
    return np.where(is_exact, product, total), np.where(is_exact, c, float32.to_odd(low, low_error))


def _fma_of_numbers(a, b, c):
    """a * b + c of finite numbers of any size with one rounding: by their fractions, and their exponents apart.

    What is rounded to odd first may be rounded once more to two bits fewer, as a subnormal result is. Results that have
    one bit fewer, just below the normal numbers, are computed with fractions, one at a time.
    """
    (of_a, a_exponent), (of_b, b_exponent), (of_c, c_exponent) = (np.frexp(x) for x in (a, b, c))
    product_exponent = np.where((a == 0) | (b == 0), c_exponent, a_exponent + b_exponent)
    c_exponent = np.where(c == 0, product_exponent, c_exponent)
    apart = np.clip(c_exponent - product_exponent, -FAR, FAR)  # beyond, the smaller one only says "not exact"
    scale = np.where(apart == FAR, c_exponent - FAR, product_exponent)
    high, low = _exact_sum(of_a, of_b, np.ldexp(of_c, apart))
    total, error = _two_sum(high, low)
    exponent = np.frexp(total)[1] + scale
    result = np.ldexp(np.where(exponent < NORMAL_EXPONENT, float32.to_odd(total, error), total), scale)
    for lane in np.flatnonzero((exponent == NORMAL_EXPONENT - 1) & (total != 0)):
        result[lane] = float(Fraction(a[lane]) * Fraction(b[lane]) + Fraction(c[lane]))
    return result


def _two_sum(a, b):
    total = a + b
    return total, float32.error_of_sum(a, b, total)


def _exact_product(a, b):
    """a * b as a float64 and the rest (Dekker): each factor is cut into two halves of 26 bits."""
    product = np.multiply(a, b)
    (a_high, a_low), (b_high, b_low) = _halves(np.float64(a)), _halves(np.float64(b))
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(a):
    shifted = a * (2.0**27 + 1)
    high = shifted - (shifted - a)
    return high, a - high


def quiet(nan):
    """A NaN as instructions hand it on: quiet, with its sign and the rest of its payload."""
    return (np.asarray(nan).view(np.uint64) | np.uint64(1 << 51)).view(np.float64)[()]


def quieted(a):
    """The numbers as they are, NaNs quiet."""
    return np.where(np.isnan(a), quiet(a), a)[()]


def hand_on_nan(result, operands):
    """The result of a sum or product, where an operand is NaN that one, as it is in its register, quiet.

    `operands` are a and b of a sum or product, or a, b and c of a * b + c. Of several NaN b counts first, then c, then
    a: so an H200 answers for all 1602 forms in tests/gpusim/goldens/instructions_sm_90.json that this is about.
    """
    if not np.any(np.isnan(result)):
        return result
    a, b, *c = operands
    for operand in (a, *c, b):
        is_nan = np.isnan(operand)
        if np.any(is_nan):
            result = np.where(is_nan, quiet(operand), result)
    return result[()]


def is_minimum(a, b):
    """Whether fmin(a, b) is a: a NaN gives way to a number, and -0 < +0."""
    return (a < b) | ((a == b) & np.signbit(a)) | (np.isnan(b) & ~np.isnan(a))


def is_maximum(a, b):
    """Whether fmax(a, b) is a."""
    return (a > b) | ((a == b) & np.signbit(b)) | (np.isnan(b) & ~np.isnan(a))


def fmin(a, b):
    """The smaller of a and b (`min.f64`): a NaN gives way to a number, and -0 < +0; two NaN give NaN."""
    return np.where(is_minimum(a, b), a, b)[()]


def fmax(a, b):
    """The larger of a and b (`max.f64`): a NaN gives way to a number, and -0 < +0; two NaN give NaN."""
    return np.where(is_maximum(a, b), a, b)[()]


def rcp_approx_ftz(a):
    """`rcp.approx.ftz.f64`: 1 / a of the upper 32 bits of a, cut to the upper 32 bits; subnormal numbers count as zero.

    Not bit-exact with the hardware: its relative error is up to 2^-23 (PTX ISA). 3.0 gives 0x3fd55555_00000000.
    """
    return _flushed_upper_half(1 / _flushed_upper_half(a))


def rsqrt_approx_ftz(a):
    """`rsqrt.approx.ftz.f64`: 1 / sqrt(a), as `rcp_approx_ftz`."""
    return _flushed_upper_half(1 / np.sqrt(_flushed_upper_half(a)))


def rsqrt_approx(a):
    """1 / sqrt(a) (`rsqrt.approx.f64`, and so `rsqrt` of a double), by the steps that ptxas makes of it.

    One step of Householder's method from `rsqrt_approx_ftz`; subnormal numbers are multiplied by 2^54 before.
    """
    a = np.asarray(a, np.float64)
    small = (a > 0) & (a < SMALLEST_NORMAL)
    result = _rsqrt_refined(np.where(small, a * 2.0**54, a)) * np.where(small, 2.0**27, 1.0)
    result = np.where(a == 0, np.copysign(np.inf, a), result)
    result = np.where(a == np.inf, 0.0, result)
    result = np.where(a < 0, NO_ROOT, result)
    return np.where(np.isnan(a), quiet(a), result)[()]


def _rsqrt_refined(a):
    first = rsqrt_approx_ftz(a)
    error = fma(a, -(first * first), 1.0)
    return fma(fma(error, 0.375, 0.5), first * error, first)


def _flushed_upper_half(a):
    upper = (np.asarray(a).view(np.int64) & ~np.int64(0xFFFFFFFF)).view(np.float64)
    return np.where(np.abs(upper) < SMALLEST_NORMAL, np.copysign(0.0, upper), upper)[()]


def div(a, b, rounding: str):
    """a / b, rounded toward zero ("rz"), down ("rm") or up ("rp"): `div.rp.f64`."""
    by_zero = np.equal(b, 0)
    quotient = _directed(lambda x, y: (x / y,), (a, np.where(by_zero, 1.0, b)), rounding)
    return np.where(by_zero, np.divide(a, b), quotient)[()]


def sqrt(a, rounding: str):
    """The square root of a, rounded toward zero ("rz"), down ("rm") or up ("rp"): `sqrt.rp.f64`."""
    root = np.sqrt(np.float64(a))
    scale = np.where(np.abs(a) < 2.0**-900, 2.0**54, 1.0)  # so that the error below is no subnormal number
    error = fma(root * scale, root * scale, -(a * scale * scale))  # its sign is that of root - sqrt(a)
    passed, toward = (error < 0, np.inf) if rounding == "rp" else (error > 0, 0.0)
    return np.where(passed & np.isfinite(root), np.nextafter(root, toward), root)[()]


def _directed(terms: Callable, operands: tuple, rounding: str):
    """The sum of the `terms` of exact fractions, rounded toward zero ("rz"), down ("rm") or up ("rp")."""
    arrays = np.broadcast_arrays(*(np.float64(operand) for operand in operands))
    lanes = zip(*(array.reshape(-1).tolist() for array in arrays), strict=True)
    results = [_one(terms, lane, rounding) for lane in lanes]
    return np.array(results, np.float64).reshape(arrays[0].shape)[()]


def _one(terms: Callable, lane: tuple[float, ...], rounding: str) -> float:
    first, *rest = terms(*(np.float64(x) for x in lane))
    if not all(math.isfinite(x) for x in lane):
        if rest and all(math.isfinite(x) for x in lane[:-1]):
            return rest[0]  # whatever a product of finite numbers overflows to
        return first + rest[0] if rest else first
    exact = sum(terms(*(Fraction(x) for x in lane)))
    if exact == 0:
        cancels = rest and math.copysign(1, first) != math.copysign(1, rest[0])
        if cancels:
            return -0.0 if rounding == "rm" else 0.0  # IEEE 754, section 6.3
        return first + rest[0] if rest else first
    try:
        nearest = float(exact)
    except OverflowError:
        nearest = math.inf if exact > 0 else -math.inf
    toward = {"rm": -math.inf, "rp": math.inf, "rz": 0.0}[rounding]
    passed = {
        "rm": math.isinf(nearest) and nearest > 0 or not math.isinf(nearest) and Fraction(nearest) > exact,
        "rp": math.isinf(nearest) and nearest < 0 or not math.isinf(nearest) and Fraction(nearest) < exact,
        "rz": math.isinf(nearest) or abs(Fraction(nearest)) > abs(exact),
    }[rounding]
    return math.nextafter(nearest, toward) if passed else nearest
