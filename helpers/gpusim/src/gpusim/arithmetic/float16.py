"""Arithmetic of the 16-bit formats, float16 and bfloat16, alone and in pairs: computed wider, and rounded once.

A float16 is an array of NumPy's dtype; a bfloat16, which NumPy does not have, is its bits as uint16; a pair is a uint32
with the first number in its low half (PTX's f16x2 and bf16x2). Shapes broadcast. The hardware approximates ex2 and tanh
(relative error up to 2^-9.9, absolute error up to 2^-10.987); here they are rounded correctly. Reference: PTX ISA,
'Half Precision Floating Point Instructions'.
"""

from collections.abc import Callable

import numpy as np

from gpusim.arithmetic import float32
from gpusim.errors import Unknown

LOW_HALF = np.uint32(0xFFFF)
SMALLEST_NORMAL, SMALLEST_NORMAL_BRAIN = 2.0**-14, 2.0**-126


def half(name: str, modifiers: tuple[str, ...] = ()) -> Callable:
    """The function of `name`.f16 on float16 arrays, with .ftz, .sat or .relu; Unknown if there is none.

    .ftz makes zeros of subnormal operands, and of results that are below the smallest normal number before rounding.
    """
    function, flushes = _wide_function(name), "ftz" in modifiers

    def rounded(*operands):
        if flushes:
            operands = tuple(_flushed(operand) for operand in operands)
        exact = function(*(np.asarray(o).astype(np.float32) for o in operands))
        result = np.asarray((_flushed(exact) if flushes else exact).astype(np.float16))
        return float32.canonical_half(result)

    if "sat" in modifiers:
        # NaN and -0 become +0, as for float32.
        return lambda *operands: float32.saturate(rounded(*operands).astype(np.float32)).astype(np.float16)
    if "relu" in modifiers:
        return lambda *operands: _not_negative(rounded(*operands))
    return rounded


def _flushed(a, smallest: float = SMALLEST_NORMAL):
    """Numbers below the smallest normal one become zeros of their sign."""
    return np.where(np.abs(a) < smallest, np.copysign(np.asarray(a).dtype.type(0), a), a)[()]


def brain(name: str, modifiers: tuple[str, ...] = ()) -> Callable:
    """The function of `name`.bf16 on bits held as uint16, with .relu, of ex2 with .ftz; Unknown if there is none."""
    function, flushes = _wide_function(name), "ftz" in modifiers
    if flushes and name != "ex2":
        raise Unknown(f"{name}.ftz of bfloat16 numbers")

    def exact(*operands):
        numbers = [float32.from_bfloat16(o) for o in operands]
        if not flushes:
            return float32.to_odd_float32(function(*numbers))
        result = function(*(_flushed(number, SMALLEST_NORMAL_BRAIN) for number in numbers))
        return float32.to_odd_float32(_flushed(result, SMALLEST_NORMAL_BRAIN))

    if "relu" in modifiers:
        return lambda *operands: float32.to_bfloat16(_not_negative(exact(*operands)))
    return lambda *operands: float32.to_bfloat16(exact(*operands))


def pair(name: str, modifiers: tuple[str, ...], type_: str) -> Callable:
    """The function of `name`.f16x2 or `name`.bf16x2 on uint32 arrays: each half by itself."""
    if type_ == "f16x2":
        of_numbers = half(name, modifiers)
        single = lambda *bits: of_numbers(*(b.view(np.float16) for b in bits)).view(np.uint16)  # noqa: E731
    else:
        single = brain(name, modifiers)

    def both(*operands):
        low = single(*(np.asarray(o & LOW_HALF).astype(np.uint16) for o in operands))
        high = single(*(np.asarray(o >> np.uint32(16)).astype(np.uint16) for o in operands))
        return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))

    return both


def _wide_function(name: str) -> Callable:
    """An operation on 16-bit numbers held as float32, as a float64 from which one rounding gives the right result."""
    one, zero = np.float32(1), np.float32(-0.0)
    functions: dict[str, Callable] = {
        "add": lambda a, b: float32.fma_to_odd(a, one, b), "sub": lambda a, b: float32.fma_to_odd(a, one, -b),
        "mul": lambda a, b: float32.fma_to_odd(a, b, zero), "fma": float32.fma_to_odd,
        "min": lambda a, b: float32.fmin(a, b).astype(np.float64),
        "max": lambda a, b: float32.fmax(a, b).astype(np.float64),
        "ex2": lambda a: np.exp2(a.astype(np.float64)), "tanh": lambda a: np.tanh(a.astype(np.float64)),
    }  # fmt: skip
    if name not in functions:
        raise Unknown(f"{name} of 16-bit floating-point numbers")
    return functions[name]


def _not_negative(a):
    """.relu of float16 or float32: negative numbers become +0, NaN the canonical NaN (PTX ISA, `fma`)."""
    nan = float32.HALF_NAN if a.dtype == np.float16 else float32.NAN
    return np.where(np.isnan(a), nan, np.where(a > 0, a, a.dtype.type(0)))[()]
