"""Which thread copies which element into which stage, out of a recording of asynchronous copies.

An asynchronous copy is one instruction with two addresses: it stands in a recording as a load from global memory and,
right behind it, a copy to shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gpusim import Recording
from gpusim.devices import FLOAT_BYTES
from helpers.pictures import CannotTell
from helpers.pictures.threads import block_accesses


@dataclass(frozen=True, eq=False)
class StageCopy:
    """One copy of every thread of a block: a float of a matrix, and where it goes.

    array: "A" or "B".  stage: the number of the buffer.  row, column: (threads,) of the matrix.  offset: (threads,) the
    number of the float in its stage.
    """

    array: str
    stage: int
    row: np.ndarray
    column: np.ndarray
    offset: np.ndarray


def stage_copies(recording: Recording, widths: dict[str, int], tile: int, array: str) -> list[StageCopy]:
    """The copies of one matrix by the first block, in their order. Raises CannotTell where there are no such copies.

    widths: floats in a row of each matrix.  tile: floats of a stage, which follow each other in shared memory.
    """
    accesses = block_accesses(recording)
    pairs = [(load, copy) for load, copy in pairwise(accesses) if copy.op == "copy" and load.array == array]
    if not pairs or any(copy.width != FLOAT_BYTES or not copy.active.all() for _, copy in pairs):
        raise CannotTell(f"Not every thread copies single floats of {array} in each copy, so there is no map to draw.")
    first = min(int(copy.offset.min()) for _, copy in pairs) // FLOAT_BYTES
    copies = []
    for load, copy in pairs:
        row, column = np.divmod(load.offset // FLOAT_BYTES, widths[array])
        stage, offset = np.divmod(copy.offset // FLOAT_BYTES - first, tile)
        if len(set(stage.tolist())) > 1:
            raise CannotTell("A copy of the block goes to several stages at once, so there is no map to draw.")
        copies.append(StageCopy(array, int(stage[0]), row, column, offset))
    return copies


def stages_of(copies: Sequence[StageCopy]) -> int:
    """How many stages there are."""
    return 1 + max(copy.stage for copy in copies)
