"""Floating-point arithmetic done exactly, with Python's fractions: what tests compare the simulator with.

Every function takes and returns Python floats (a float64 holds every float16, bfloat16 and float32). `mode` is PTX's
rounding "rn", "rz", "rm" or "rp".
"""

import math
from fractions import Fraction

# format: (bits of the significand, exponent of the smallest subnormal, largest finite number)
FORMATS = {
    "f16": (11, -24, 65504.0),
    "bf16": (8, -133, (2 - 2.0**-7) * 2.0**127),
    "f32": (24, -149, (2 - 2.0**-23) * 2.0**127),
    "f64": (53, -1074, math.ldexp(2 - 2.0**-52, 1023)),
}


def rounded(exact: Fraction, format_: str, mode: str = "rn") -> float:
    """A number other than 0 rounded once to a format, as a float."""
    precision, lowest, largest = FORMATS[format_]
    # Whole numbers all along: a step of Fractions is a greatest common divisor.
    sign, numerator, denominator = (1 if exact > 0 else -1), abs(exact.numerator), exact.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
        exponent -= 1
    last = max(exponent - precision + 1, lowest)  # the exponent of the last bit that is kept
    kept, rest = divmod(numerator << max(-last, 0), denominator << max(last, 0))
    half = 2 * rest - (denominator << max(last, 0))
    if mode == "rn":
        kept += half > 0 or (half == 0 and kept % 2 == 1)
    elif rest:
        kept += {"rz": False, "rm": sign < 0, "rp": sign > 0}[mode]
    if kept.bit_length() + last > math.frexp(largest)[1]:
        away = mode == "rn" or mode == ("rm" if sign < 0 else "rp")
        return math.copysign(math.inf if away else largest, sign)
    return math.copysign(math.ldexp(kept, last), sign)


def fma(a: float, b: float, c: float, format_: str, mode: str = "rn") -> float:
    """a * b + c."""
    if math.isfinite(a) and math.isfinite(b):
        if not math.isfinite(c):
            return c
    elif math.isnan(a) or math.isnan(b) or a == 0 or b == 0:
        return math.nan
    else:
        return math.copysign(math.inf, a) * math.copysign(1, b) + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return rounded(exact, format_, mode)
    product_sign = math.copysign(1, a) * math.copysign(1, b)
    if (a == 0 or b == 0) and product_sign == math.copysign(1, c):
        return math.copysign(0.0, c)
    return -0.0 if mode == "rm" else 0.0
