"""What an atomic operation makes of the old value in memory. Reference: PTX ISA, 'atom' and 'red'."""

from collections.abc import Callable

import numpy as np

from helpers.simulator.arithmetic import float32
from helpers.simulator.arithmetic.operations import operation
from helpers.simulator.errors import Unknown

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
        return operation(name, (), type_)
    if type_ == "f32" and name == "add":
        return float32.ftz(float32.add) if flushes else float32.add
    return OPERATIONS[name]
