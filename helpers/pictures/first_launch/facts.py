"""Which thread stored which element of a one-dimensional array."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusim import Recording
from gpusim.devices import FLOAT_BYTES
from helpers.pictures.threads import accesses_by_block


@dataclass(frozen=True, eq=False)
class Strip:
    """One launch over a one-dimensional array.

    label: what is written above it.  array: the array's name.  blocks, block: of the grid, and threads of each.
    elements: of the array.  writes: (n, 2) int64, (thread of the launch, element) of every store, as executed.
    """

    label: str
    array: str
    blocks: int
    block: int
    elements: int
    writes: np.ndarray

    @property
    def threads(self) -> int:
        """Threads of the whole launch."""
        return self.blocks * self.block

    @cached_property
    def idle(self) -> np.ndarray:
        """(threads,) bool: wrote nothing."""
        return np.bincount(self.writes[:, 0], minlength=self.threads) == 0

    @cached_property
    def writers(self) -> np.ndarray:
        """(elements,) how many stores each element received."""
        return np.bincount(self.writes[:, 1], minlength=self.elements)


def strip(recording: Recording, elements: int, label: str, array: str) -> Strip:
    """The stores of the last launch of a recording that traced every block of a one-dimensional grid."""
    facts = recording.launches[-1].facts
    block = int(np.prod(facts.block))
    writes = [np.empty((0, 2), np.int64)]
    for (number, *_), stores in accesses_by_block(recording, space="global", op="st", array=array).items():
        for store in stores:
            threads = np.flatnonzero(store.active)
            writes.append(np.stack([number * block + threads, store.offset[threads] // FLOAT_BYTES], axis=1))
    return Strip(label, array, int(np.prod(facts.grid)), block, elements, np.concatenate(writes))
