"""Comparisons, the logic that combines their results, and the choice by one: the same in PTX and in machine code.

Keys are PTX's names (PTX ISA, 'Comparison and Selection Instructions'); machine code has the same names in capitals.
Operands are NumPy arrays or scalars of one dtype whose shapes broadcast; results of comparisons are bool.
"""

from collections.abc import Callable

import numpy as np

INTEGER: dict[str, Callable] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip
# The ordered comparisons are false if an operand is NaN, so that "ne" is not NumPy's !=; those that end in u are true.
FLOAT: dict[str, Callable] = {
    **INTEGER,
    "ne": lambda a, b: (a < b) | (a > b),
    "equ": lambda a, b: ~((a < b) | (a > b)), "neu": lambda a, b: a != b,
    "ltu": lambda a, b: ~(a >= b), "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b), "geu": lambda a, b: ~(a < b),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)), "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}  # fmt: skip
COMBINE: dict[str, Callable] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
}  # fmt: skip


def select(choice, a, b):
    """a where `choice` (bool) is true, else b; one of the two as it is where the choice is the same for all threads."""
    if choice.ndim == 0:
        return a if choice else b
    return np.where(choice, a, b)
