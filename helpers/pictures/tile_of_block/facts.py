"""What a block of a multiplication computes: its tile of C, where the next block lies, and the steps of k it stages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from gemm_kernels import Launch
from gpusim import Recording
from gpusim.compiler import CompileError
from gpusim.devices import FLOAT_BYTES
from gpusim.errors import SimulatorError
from helpers import run
from helpers.pictures import CannotTell
from helpers.pictures.threads import block_accesses
from helpers.pictures.tile_phases.staging import staged_phases

FIRST, RIGHT, NEXT_Y = (0, 0, 0), (1, 0, 0), (0, 1, 0)


@dataclass(frozen=True)
class BlockTile:
    """What the first block of a launch computes.

    tile: (rows, columns) of C that it stores.  rows_along: the grid axis along which the next block lies below it, None
    if there is no next block.  depth: steps of k that it stages at a time, 0 if it stages none.
    """

    tile: tuple[int, int]
    rows_along: Literal["x", "y"] | None
    depth: int


@lru_cache(maxsize=32)
def tile_of_block(launch: Launch, any_grid: bool = True) -> BlockTile | None:
    """What the first blocks of a launch store to C; None where the kernel does not compile or run, or stores nothing.

    any_grid: the launch may have any grid, so that the neighbours of the first block are looked at in any case.
    """
    recording = _run(launch, FIRST)
    first = recording and _stored(recording, FIRST, launch.shape[1])
    if not recording or not first:
        return None
    top, left, bottom, right = first
    rows_along: Literal["x", "y"] | None = None
    axes: tuple[tuple[Literal["x", "y"], tuple[int, int, int]], ...] = (("x", RIGHT), ("y", NEXT_Y))
    for axis, block in axes:
        if not any_grid and any(number >= size for number, size in zip(block, launch.grid, strict=True)):
            continue
        recorded = _run(launch, block)
        stored = recorded and _stored(recorded, block, launch.shape[1])
        if stored and stored[0] > bottom:
            rows_along = axis
        elif stored and stored[1] > right:
            rows_along = "y" if axis == "x" else "x"
    return BlockTile((bottom - top + 1, right - left + 1), rows_along, _depth(recording, launch.shape[2]))


def _run(launch: Launch, block: tuple[int, int, int]) -> Recording | None:
    try:
        return run.record(launch, (block,))
    except (SimulatorError, CompileError):  # a block outside of the matrix, or a kernel at fault: who shows it says so
        return None


def _stored(recording: Recording, block: tuple[int, int, int], columns: int) -> tuple[int, int, int, int] | None:
    """The first row, first column, last row and last column of C that a block stores; None if it stores none."""
    places = [
        store.offset[store.active] // FLOAT_BYTES + word
        for store in block_accesses(recording, block, space="global", op="st", array="C")
        for word in range(store.width // FLOAT_BYTES)
        if store.active.any()
    ]
    if not places:
        return None
    rows, cols = np.divmod(np.concatenate(places), columns)
    return int(rows.min()), int(cols.min()), int(rows.max()), int(cols.max())


def _depth(recording: Recording, K: int) -> int:
    try:
        return len(np.unique(staged_phases(recording)[0].elements("A") % K))
    except CannotTell:
        return 0
