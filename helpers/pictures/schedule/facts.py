"""Who multiplies what, and when: tiles of C dealt out to SMs whole, cut along k, or cut into equal shares.

Time is counted in iterations of the main loop, and nothing else takes any: it is the arithmetic of notebook 14, no
measurement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Piece:
    """Iterations first … last - 1 of a tile's main loop, one after the other."""

    tile: int
    first: int
    last: int

    @property
    def steps(self) -> int:
        """How long it takes, in iterations."""
        return self.last - self.first


@dataclass(frozen=True)
class Schedule:
    """What each SM does, one block at a time.

    name: what a picture calls it.  steps: iterations that a whole tile takes.  work: for each SM its pieces in order.
    """

    name: str
    steps: int
    work: tuple[tuple[Piece, ...], ...]

    @property
    def length(self) -> int:
        """When the last SM is done, in iterations."""
        return max(sum(piece.steps for piece in pieces) for pieces in self.work)

    @property
    def busy(self) -> float:
        """The share of all SMs' time, up to the end of the last one, in which an iteration is made."""
        return sum(piece.steps for pieces in self.work for piece in pieces) / (len(self.work) * self.length)

    @property
    def parts(self) -> int:
        """Pieces that are not a whole tile: each of them leaves a partial sum to be added."""
        return sum(piece.steps < self.steps for pieces in self.work for piece in pieces)


def whole_tiles(tiles: int, steps: int, sms: int, parts: int = 1, name: str = "") -> Schedule:
    """Every block takes one part of one tile; the blocks go to the SMs in turns. parts: of each tile, along k.

    ValueError if the parts are not equally long.
    """
    if parts < 1 or steps % parts:
        raise ValueError(f"{steps} iterations cannot be cut into {parts} equal parts.")
    length = steps // parts
    blocks = [Piece(tile, part * length, (part + 1) * length) for tile in range(tiles) for part in range(parts)]
    default = "whole tiles" if parts == 1 else f"split-K: {parts} parts of each tile"
    return Schedule(name or default, steps, tuple(tuple(blocks[sm::sms]) for sm in range(sms)))


def of_pieces(parts: np.ndarray, steps: int, name: str) -> Schedule:
    """The schedule that a kernel has noted: (SMs, most pieces, 3) of (tile, first, last), NaN where there is none."""
    return Schedule(name, steps, tuple(tuple(_pieces(row)) for row in parts))


def _pieces(row: Sequence[Sequence[float]]) -> Iterable[Piece]:
    for tile, first, last in row:
        if not np.isnan((tile, first, last)).any():
            yield Piece(int(tile), int(first), int(last))
