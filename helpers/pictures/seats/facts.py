"""Which elements of C the warps of some blocks store: the blocks that sit on one SM together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gemm_kernels import Launch
from gpusim.devices import FLOAT_BYTES, WARP, unravel
from helpers import run
from helpers.pictures.threads import accesses_by_block

Range = tuple[int, int]  # first and last


@dataclass(frozen=True)
class Seat:
    """A block on an SM.  block: its linear number.  columns: of C that it stores.  rows: of C, of each of its warps."""

    block: int
    columns: Range
    rows: tuple[Range, ...]


def seats(launch: Launch, blocks: Sequence[int]) -> tuple[Seat, ...]:
    """Where the warps of these blocks store, from recorded addresses. blocks: linear numbers in the launch's grid.

    K is shortened to one phase: which thread stores an element does not depend on it.
    """
    M, N, _ = launch.shape
    where = {unravel(number, launch.grid): number for number in blocks}
    recording = run.record(replace(launch, shape=(M, N, launch.depth)), tuple(where))
    warp = np.arange(launch.threads) // WARP
    seats_ = []
    for block, stores in accesses_by_block(recording, space="global", op="st", array="C").items():
        (store,) = stores
        row, column = np.divmod(store.offset // FLOAT_BYTES, N)
        rows = tuple(_range(row[warp == index]) for index in range(warp[-1] + 1))
        seats_.append(Seat(where[block], _range(column), rows))
    return tuple(sorted(seats_, key=lambda seat: seat.block))


def _range(numbers: np.ndarray) -> Range:
    return int(numbers.min()), int(numbers.max())
