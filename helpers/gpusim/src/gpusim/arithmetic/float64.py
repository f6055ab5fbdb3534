"""The fused multiply-add of float64, on arrays whose shapes broadcast: the exact value, rounded once."""

from fractions import Fraction

import numpy as np

from gpusim.arithmetic import float32

NORMAL_EXPONENT = -1021  # of the smallest normal number, as `frexp` has it: a fraction of 1/2
FAR = 200  # exponents between a product and a summand, at which the smaller one is far behind the last bit


def fma(a, b, c):
    """a * b + c with one rounding to nearest even (`fma.rn.f64`, DFMA).

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
