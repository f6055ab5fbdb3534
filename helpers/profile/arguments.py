"""The arguments of a launch from words of a command line."""

from __future__ import annotations

import math

import numpy as np

from helpers.simulator.cuda.arguments import SCALARS

MEANING = (
    "Each of --args stands for one parameter: a number for a scalar; for a pointer the size of its array, 1048576 or "
    "1024x1024, which is filled with random numbers."
)


class BadArgument(ValueError):
    """A word does not fit its parameter; the message says which."""


def argument(type_: str, parameter: str, given: str) -> np.generic | np.ndarray:
    """What is given for a parameter: a number for a scalar; for a pointer the size of its array, 1048576 or 1024x1024,
    which is filled with random numbers, always the same. BadArgument where it is neither, or does not fit into memory.
    """
    is_pointer = "*" in type_
    name = type_.replace("const", "").replace("volatile", "").replace("*", "").strip()
    if not is_pointer and name not in SCALARS:
        raise BadArgument(
            f"{type_} {parameter} is a struct, which a command line cannot fill. In Python: launch the "
            "kernel inside `with simulator.capture() as caught:`, and then `profile.profile(caught[0])`."
        )
    dtype = np.dtype(SCALARS.get(name, np.uint8 if is_pointer else np.int32))
    try:
        if not is_pointer:
            return dtype.type(float(given) if dtype.kind == "f" else int(given, 0))
        sides = [int(part) for part in given.lower().replace("×", "x").split("x")]
        if min(sides) < 1:
            raise ValueError
        return _random_array(name, dtype, math.prod(sides))
    except MemoryError:
        raise BadArgument(f"{given} elements for {type_} {parameter} do not fit into this machine's memory.") from None
    except (OverflowError, ValueError):
        raise BadArgument(f"{given!r} is no value for {type_} {parameter}: {MEANING}") from None


def _random_array(name: str, dtype: np.dtype, size: int) -> np.ndarray:
    """That many random elements of a type of CUDA; bytes for one that NumPy does not know."""
    random = np.random.default_rng(size)
    if name not in SCALARS:
        lanes = {"float2": 8, "float4": 16, "int2": 8, "int4": 16, "double2": 16}.get(name, 4)
        return random.integers(0, 60, size * lanes, np.uint8)
    if dtype.kind == "f":
        return random.random(size).astype(dtype)
    return random.integers(0, 100, size).astype(dtype)
