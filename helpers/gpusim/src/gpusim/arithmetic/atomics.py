"""What an atomic operation makes of the old value in memory. Reference: PTX ISA, 'atom' and 'red'."""

from collections.abc import Callable, Sequence

import numpy as np

from gpusim.arithmetic import float16, float32
from gpusim.errors import Unknown

OPERATIONS: dict[str, Callable] = {
    "add": lambda old, value: old + value,
    "min": lambda old, value: np.where(value < old, value, old),
    "max": lambda old, value: np.where(value > old, value, old),
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "exch": lambda old, value: value,
    "inc": lambda old, value: np.where(old >= value, old.dtype.type(0), old + old.dtype.type(1)),
    "dec": lambda old, value: np.where((old == 0) | (old > value), value, old - old.dtype.type(1)),
    "cas": lambda old, compare, value: np.where(old == compare, value, old),
}
FLUSHING_ADD = float32.ftz(float32.add)
# What many threads do to one place, one after the other, is a scan of NumPy's.
SCANS: dict[Callable, np.ufunc] = {
    OPERATIONS["add"]: np.add, float32.add: np.add, FLUSHING_ADD: np.add, OPERATIONS["min"]: np.minimum,
    OPERATIONS["max"]: np.maximum, OPERATIONS["and"]: np.bitwise_and, OPERATIONS["or"]: np.bitwise_or,
    OPERATIONS["xor"]: np.bitwise_xor,
}  # fmt: skip
HALF_TYPES = ("f16", "bf16", "f16x2", "bf16x2")


def update(name: str, type_: str, flushes: bool = False) -> Callable:
    """The function (old value, operand {, operand}) → new value, on arrays of one length.

    `type_` is PTX's. Arrays of bf16 hold bits as uint16, of f16x2 and bf16x2 as uint32; halves are rounded as by `add`.
    `flushes`: float32 operands and sums that are subnormal become zeros, as in global memory; in shared memory they
    stay. Raises Unknown for an operation that a type does not have.
    """
    if name not in OPERATIONS:
        raise Unknown(f"the atomic operation .{name}")
    if type_ in HALF_TYPES and name in ("add", "min", "max"):
        return float16.function(name, type_)
    if type_ == "f32" and name == "add":
        return FLUSHING_ADD if flushes else float32.add
    return OPERATIONS[name]


def scanned(apply: Callable, before: np.ndarray, operands: Sequence[np.ndarray]) -> np.ndarray | None:
    """What one place holds before each of several updates and after the last; None if it takes more than a scan.

    That is so of operations without one, and of floats among which is a NaN, an infinity or a subnormal number.
    before: what it holds, an array of one.
    """
    ufunc = SCANS.get(apply)
    if not operands or any(
        operand.dtype != before.dtype for operand in operands
    ):  # an arrival at a barrier has no operand
        return None
    if apply is OPERATIONS["cas"]:
        return _swapped(before[0], *operands)
    if ufunc is None or (before.dtype.kind == "f" and ufunc is not np.add):
        return None
    every = np.concatenate((before, operands[-1]))
    running = ufunc.accumulate(every, dtype=before.dtype)
    if before.dtype.kind == "f":
        sizes = np.abs(np.concatenate((every, running)))
        if not (np.isfinite(sizes) & ((sizes == 0) | (sizes >= np.finfo(before.dtype).tiny))).all():
            return None
    return running


def _swapped(before: np.generic, compared: np.ndarray, values: np.ndarray) -> np.ndarray:
    """`scanned` of compare-and-swap: from each that succeeds to the next, of which there are few in a loop."""
    stored, at = np.full(len(values) + 1, before), 0
    while len(equal := np.flatnonzero(compared[at:] == stored[at])):
        at += int(equal[0]) + 1
        stored[at:] = values[at - 1]
    return stored
