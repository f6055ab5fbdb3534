"""In which order blocks take the tiles of C, and which panels of A and B those need that run at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gpusim import Recording


@dataclass(frozen=True)
class Raster:
    """An order of tiles.

    name: what a picture calls it.  tiles: (down, along) of C.  order: (row, column) of the tile that the first, the
    second, … block takes.  running: how many blocks run at the same time.
    """

    name: str
    tiles: tuple[int, int]
    order: tuple[tuple[int, int], ...]
    running: int

    @property
    def panels(self) -> tuple[int, int]:
        """Different rows of tiles, so panels of A, and columns of tiles, panels of B, that the first blocks need."""
        first = self.order[: self.running]
        return len({row for row, _ in first}), len({column for _, column in first})


def in_groups(rows: int, down: int, along: int) -> Iterator[tuple[int, int]]:
    """(row, column) of the tiles in the order of the blocks: `rows` rows of tiles together, column by column."""
    for first in range(0, down, rows):
        for column in range(along):
            for row in range(first, min(first + rows, down)):
                yield row, column


def grouped(rows: int, down: int, along: int, running: int) -> Raster:
    """The order with so many rows of tiles together; 1 is the order of the grid."""
    name = "row by row" if rows == 1 else f"{rows} rows of tiles together"
    return Raster(name, (down, along), tuple(in_groups(rows, down, along)), running)


def recorded(recording: Recording, tile: tuple[int, int], running: int, name: str) -> Raster:
    """The order of a launch whose every block was recorded: where each stores first in a row-major C.

    tile: rows and columns of C that a block computes; they divide it.  ValueError if a block stores nothing.
    """
    launch = recording.launches[-1]
    across, down = launch.facts.grid[:2]
    width = across * tile[1]
    tile_of: dict[int, tuple[int, int]] = {}
    for trace in launch.traces:
        if trace.space == "global" and trace.op == "st":
            x, y, _ = trace.block
            row, column = divmod(int(np.min(trace.addresses - trace.base)) // 4, width)
            tile_of.setdefault(x + across * y, (row // tile[0], column // tile[1]))
    if len(tile_of) < across * down:
        raise ValueError(f"Only {len(tile_of)} of {across * down} blocks store to C: their order cannot be drawn.")
    return Raster(name, (down, across), tuple(tile_of[number] for number in range(across * down)), running)
