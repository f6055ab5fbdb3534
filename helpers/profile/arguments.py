"""The arguments of a launch from words of a command line."""

from __future__ import annotations

import math

import numpy as np

from gpusim.compiler import CompiledKernel, Parameter

MEANING = (
    "Each of --args stands for one parameter: a number for a scalar; for a pointer the size of its array, 1048576 or "
    "1024x1024, which is filled with random numbers."
)


class BadArgument(ValueError):
    """A word does not fit its parameter; the message says which."""


def argument(kernel: CompiledKernel, parameter: Parameter, given: str) -> np.generic | np.ndarray:
    """What is given for a parameter: a number for a scalar; for a pointer the size of its array, 1048576 or 1024x1024,
    which is filled with random numbers, always the same. BadArgument where it is neither, or does not fit into memory.
    """
    type_ = kernel.parameter_type(parameter.index)
    dtype = None if type_ is None else type_.dtype
    pointer, count = (parameter.is_pointer, 1) if type_ is None else (bool(type_.pointers), type_.count)
    if not pointer and (dtype is None or count > 1):
        raise BadArgument(
            f"{parameter.type} {parameter.name} is a struct, which a command line cannot fill. In Python: launch the "
            "kernel inside `with gpusim.capture() as caught:`, and then `profile.profile(caught[0])`."
        )
    try:
        if not pointer:
            return dtype.type(float(given) if dtype.kind == "f" else int(given, 0))
        sides = [int(part) for part in given.lower().replace("×", "x").split("x")]
        if min(sides) < 1:
            raise ValueError
        if dtype is None:  # of a struct: its bytes
            count, dtype = max(type_.bytes_, 1) if type_ is not None else 4, np.dtype(np.uint8)
        return _random_array(dtype, math.prod(sides) * count)
    except MemoryError:
        raise BadArgument(
            f"{given} elements for {parameter.type} {parameter.name} do not fit into this machine's memory."
        ) from None
    except (OverflowError, ValueError):
        raise BadArgument(f"{given!r} is no value for {parameter.type} {parameter.name}: {MEANING}") from None


def _random_array(dtype: np.dtype, size: int) -> np.ndarray:
    """That many random numbers: below 1, or whole ones below 100."""
    random = np.random.default_rng(size)
    if dtype.kind == "f":
        return random.random(size).astype(dtype)
    return random.integers(0, 100, size).astype(dtype)
