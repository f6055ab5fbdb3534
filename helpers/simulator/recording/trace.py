"""The addresses of one instruction, kept for a block that is traced."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Trace:
    """One instruction's accesses by one traced block.

    `step` numbers the accesses of a launch; `addresses` (threads,) are bytes in `space`, of which `array` begins at
    `base`; `width` bytes per thread; `active` (threads,) tells who takes part, None if all do.
    """

    step: int
    block: tuple[int, int, int]
    instruction: int
    space: str
    op: str
    array: str
    base: int
    width: int
    addresses: np.ndarray
    active: np.ndarray | None
