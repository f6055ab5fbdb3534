"""The special function unit, MUFU: quick approximations of 1/x, 1/sqrt(x), 2^x, log2(x), sine and cosine.

Subnormal operands count as zeros and subnormal results become zeros. NVIDIA publishes error bounds for these functions
(PTX ISA, `rcp.approx` and its siblings), not their tables: here each is the correctly rounded value, from which the
hardware may differ by the bound in `MAX_ERROR`. What the compiler builds from them, the division and the square root,
corrects that error and is exact. Special values (zeros, infinities, NaN) are exact.

What PTX calls approximate (`ex2.approx.f32`, `div.full.f32`, …) is MUFU with a few instructions around it, which the
compiler always writes alike: `APPROXIMATE` does what these do, so that PTX gives the bits of the machine code.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpusim.arithmetic import float32


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """How far a result of the hardware may be from the correct value y: relative · |y| + absolute."""

    relative: float = 0.0
    absolute: float = 0.0


# PTX ISA, the floating-point instructions with .approx; CUDA guide, 'Intrinsic Functions' (for LG2: absolute near 1, 2
# ulp elsewhere)
MAX_ERROR = {
    "RCP": ErrorBound(relative=2**-23),
    "RSQ": ErrorBound(relative=2**-22.9),
    "SQRT": ErrorBound(relative=2**-23),
    "EX2": ErrorBound(relative=2**-22),
    "LG2": ErrorBound(relative=2**-22, absolute=2**-22),
    "SIN": ErrorBound(absolute=2**-20.5),
    "COS": ErrorBound(absolute=2**-20.5),
    "TANH": ErrorBound(relative=2**-11),
}


def _of_normals(function):
    return lambda a: float32.flush(function(float32.flush(a)))


def _turns(function):
    """SIN and COS take their argument in turns: the compiler multiplies by 1 / (2 pi) first."""

    def of_turns(a):
        turns = np.float64(a)
        reduced = np.where(turns == 0, turns, turns - np.rint(turns))  # -0 stays what it is
        return np.where(np.isfinite(a), function(reduced * (2 * np.pi)).astype(np.float32), float32.NAN)[()]

    return of_turns


FUNCTIONS = {
    "RCP": _of_normals(float32.rcp_approx),
    "RSQ": _of_normals(float32.rsqrt_approx),
    "SQRT": _of_normals(float32.sqrt_approx),
    "EX2": _of_normals(float32.ex2_approx),
    "LG2": _of_normals(float32.lg2_approx),
    "SIN": _of_normals(_turns(np.sin)),
    "COS": _of_normals(_turns(np.cos)),
    "TANH": float32.tanh_approx,
}


TURNS = np.float32(0.15915494)  # in a radian
TINY, HUGE = np.float32(2.0**-126), np.float32(2.0**126)
LARGE, QUARTER = np.float32(2.0**24), np.float32(0.25)


def _scaled(name: str, is_small: Callable, factor: float, undo: Callable) -> Callable:
    """MUFU of a number times `factor` where it is small, and then `undo` of the result: what .ftz saves."""
    function = FUNCTIONS[name]

    def scaled(a):
        small = is_small(a)
        result = function(np.where(small, a * np.float32(factor), a)[()])
        return np.where(small, undo(result), result)[()]

    return scaled


def _is_tiny(a):
    return np.abs(a) < TINY


def _scale(b, most):
    """By what both are multiplied before b's reciprocal is taken: it would be too large, or too small beyond `most`."""
    return np.where(np.abs(b) > most, QUARTER, np.where(_is_tiny(b), LARGE, np.float32(1)))


def _divide(a, b, most):
    scale = _scale(b, most)
    return float32.mul(FUNCTIONS["RCP"](b * scale), a * scale)


def _reciprocal(a):
    scale = _scale(a, HUGE)
    return float32.mul(scale, FUNCTIONS["RCP"](a * scale))


def _quotient(a, b):
    return _divide(a, b, np.float32(np.inf))


def divide_in_full_range(a, b):
    """`div.full.f32`."""
    return _divide(a, b, HUGE)


def _of_radians(name: str) -> Callable:
    function = FUNCTIONS[name]
    return lambda a: function(float32.mul(a, TURNS, "rz"))


APPROXIMATE: dict[str, Callable] = {
    "rcp": _reciprocal,
    "rsqrt": _scaled("RSQ", _is_tiny, 2.0**24, lambda result: result * np.float32(2.0**12)),
    "sqrt": _scaled("SQRT", _is_tiny, 2.0**24, lambda result: result * np.float32(2.0**-12)),
    "ex2": _scaled("EX2", lambda a: a < np.float32(-126), 0.5, lambda result: result * result),
    "lg2": _scaled("LG2", _is_tiny, 2.0**24, lambda result: result - np.float32(24)),
    "sin": _of_radians("SIN"),
    "cos": _of_radians("COS"),
    "tanh": FUNCTIONS["TANH"],
    "div": _quotient,
}
"""By PTX's names, with .approx; with .ftz operands and results are flushed besides."""


def _upper_half(function):
    """RCP64H and RSQ64H: the upper 32 bits of a float64, from the upper 32 bits of another."""

    def of_upper_half(a):
        bits = np.asarray(a).view(np.int32).astype(np.int64) << np.int64(32)
        value = function(bits.view(np.float64))
        return (value.view(np.int64) >> np.int64(32)).astype(np.int32)[()]

    return of_upper_half


UPPER_HALVES = {"RCP64H": _upper_half(lambda x: 1 / x), "RSQ64H": _upper_half(lambda x: 1 / np.sqrt(x))}


def division_needs_care(a, b):
    """FCHK: whether the fast path of a / b could lose bits, because an operand or the quotient is near a limit.

    a and b are float32, the answer is bool. The fast path takes 1 / b, corrects it by one step of Newton's, and needs
    the remainder a - b · q to be exact. Which exponents (as stored, 0 to 255) it takes was read from an NVIDIA H200:
    all 65 536 pairs, with five mantissas each.
    """
    exponent_a = (np.asarray(a).view(np.uint32) >> np.uint32(23)).astype(np.int32) & 255
    exponent_b = (np.asarray(b).view(np.uint32) >> np.uint32(23)).astype(np.int32) & 255
    difference = exponent_a - exponent_b
    extreme = (exponent_a < 25) | (exponent_a > 254) | (exponent_b < 2) | (exponent_b > 251)
    return (extreme | (difference > 126) | (difference < -124))[()]
