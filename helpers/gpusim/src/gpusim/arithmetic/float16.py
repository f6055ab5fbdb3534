"""Sums and extremes of the 16-bit formats, float16 and bfloat16, alone and in pairs: computed wider, and rounded once.

A float16 is an array of NumPy's dtype; a bfloat16, which NumPy does not have, is its bits as uint16; a pair is a uint32
with the first number in its low half (PTX's f16x2 and bf16x2). Shapes broadcast. Reference: PTX ISA, 'Half Precision
Floating Point Instructions'.
"""

from collections.abc import Callable

import numpy as np

from gpusim.arithmetic import float32

LOW_HALF = np.uint32(0xFFFF)
# Of 16-bit numbers held as float32, as a float64 from which one rounding gives the right result.
FUNCTIONS: dict[str, Callable] = {
    "add": lambda a, b: float32.fma_to_odd(a, np.float32(1), b),
    "min": lambda a, b: float32.fmin(a, b).astype(np.float64),
    "max": lambda a, b: float32.fmax(a, b).astype(np.float64),
}


def function(name: str, type_: str) -> Callable:
    """One of FUNCTIONS for "f16", "bf16", "f16x2" or "bf16x2"."""
    single = half(name) if type_.startswith("f16") else brain(name)
    return pair(single, type_) if type_.endswith("x2") else single


def half(name: str) -> Callable:
    """The function on float16 arrays."""
    exact = FUNCTIONS[name]

    def rounded(*operands):
        result = np.asarray(exact(*(np.asarray(o).astype(np.float32) for o in operands)).astype(np.float16))
        return float32.canonical_half(result)

    return rounded


def brain(name: str) -> Callable:
    """The function on bits held as uint16."""
    exact = FUNCTIONS[name]
    return lambda *operands: float32.to_bfloat16(
        float32.to_odd_float32(exact(*(float32.from_bfloat16(o) for o in operands)))
    )


def pair(single: Callable, type_: str) -> Callable:
    """The function on uint32 arrays: each half by itself."""
    of_bits = single
    if type_ == "f16x2":
        of_bits = lambda *bits: single(*(b.view(np.float16) for b in bits)).view(np.uint16)  # noqa: E731

    def both(*operands):
        low = of_bits(*(np.asarray(o & LOW_HALF).astype(np.uint16) for o in operands))
        high = of_bits(*(np.asarray(o >> np.uint32(16)).astype(np.uint16) for o in operands))
        return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))

    return both
