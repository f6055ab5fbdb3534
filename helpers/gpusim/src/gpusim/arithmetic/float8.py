"""The 8-bit formats E4M3 and E5M2, held as bits in uint8, and their conversions.

E4M3 has no infinity, and one NaN of each sign: 0x7f and 0xff. Reference: PTX ISA, 'Alternate Floating-Point Data
Formats' and 'cvt'; Micikevicius et al., 'FP8 formats for deep learning', arXiv:2209.05433.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from gpusim.errors import Unknown

NAN = np.uint8(0x7F)


@dataclass(frozen=True, slots=True)
class Format:
    """A format's bits of the exponent and of the fraction, and its largest finite number as bits."""

    exponent_bits: int
    fraction_bits: int
    largest: int


FORMATS = {"e4m3": Format(4, 3, 0x7E), "e5m2": Format(5, 2, 0x7B)}


def format_of(name: str) -> Format:
    """The format called "e4m3" or "e5m2"; Unknown for another."""
    if name not in FORMATS:
        raise Unknown(f"the 8-bit format .{name}")
    return FORMATS[name]


@cache
def _numbers(name: str) -> np.ndarray:
    """The float32 of each of the 256 patterns."""
    form = format_of(name)
    bits = np.arange(256)
    bias = 2 ** (form.exponent_bits - 1) - 1
    exponent = bits >> form.fraction_bits & 2**form.exponent_bits - 1
    fraction = (bits & 2**form.fraction_bits - 1) / 2**form.fraction_bits
    values = np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))
    values[(bits & 0x7F) > form.largest] = np.nan
    if name == "e5m2":
        values[(bits & 0x7F) == 0x7C] = np.inf
    return np.where(bits & 0x80, -values, values).astype(np.float32)


def to_float32(bits: np.ndarray, name: str) -> np.ndarray:
    """The float32 of each pattern of uint8, exact."""
    return _numbers(name)[bits]


def from_float(values: np.ndarray, name: str, relu: bool = False) -> np.ndarray:
    """The patterns nearest to float16 or float32 numbers, ties to even: `cvt.rn.satfinite`, with or without .relu.

    What is too large becomes the largest finite number, infinities too; NaN is 0x7f; .relu makes negative numbers +0.
    """
    form = format_of(name)
    positive = _numbers(name)[: form.largest + 1].astype(np.float64)
    size = np.abs(np.asarray(values, np.float64))
    smallest = 2 - 2 ** (form.exponent_bits - 1)
    exponent = np.maximum(np.frexp(size)[1] - 1, smallest)
    with np.errstate(invalid="ignore"):
        rounded = np.ldexp(np.rint(np.ldexp(size, form.fraction_bits - exponent)), exponent - form.fraction_bits)
    code = np.minimum(np.searchsorted(positive, rounded), form.largest).astype(np.uint8)
    negative = np.signbit(values)
    code = np.where(negative, 0 if relu else code | 0x80, code).astype(np.uint8)
    return np.where(np.isnan(values), NAN, code)


def as_halves(bits: np.ndarray, name: str) -> np.ndarray:
    """The patterns of the float16 of each pattern of uint8, exact; of NaN 0x7fff."""
    values = to_float32(bits, name)
    return np.where(np.isnan(values), np.uint16(0x7FFF), values.astype(np.float16).view(np.uint16))
