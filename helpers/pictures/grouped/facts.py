"""Out of a recording: which rows of C each block stores, and whose; then how long slots are busy with the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim import Recording
from gpusim.devices import FLOAT_BYTES
from helpers.pictures import CannotTell


@dataclass(frozen=True)
class Block:
    """A block with blockIdx.x = 0.

    number: its blockIdx.y.  rows: it stores, (first, behind the last), (0, 0) for none.  group: whose rows they are, -1
    for none.
    """

    number: int
    rows: tuple[int, int] = (0, 0)
    group: int = -1

    @property
    def count(self) -> int:
        """How many rows it stores."""
        return self.rows[1] - self.rows[0]


@dataclass(frozen=True)
class Shares:
    """What the blocks of a launch have done.

    blocks: in the order of their numbers.  offsets: where the rows of each group begin, and the end.  tile: rows of a
    block at most.
    """

    blocks: tuple[Block, ...]
    offsets: tuple[int, ...]
    tile: int

    @property
    def tiles(self) -> tuple[int, ...]:
        """Of each group, how many blocks store rows of it."""
        return tuple(sum(block.group == group for block in self.blocks) for group in range(len(self.offsets) - 1))

    @property
    def used(self) -> float:
        """Rows that are stored, as a share of those that the busy blocks have room for."""
        busy = [block.count for block in self.blocks if block.group >= 0]
        return sum(busy) / (self.tile * max(1, len(busy)))


def shares(recording: Recording, array: str, columns: int, offsets: Sequence[int], tile: int) -> Shares:
    """Who has stored which rows of `array`, a matrix of so many columns. CannotTell where a block stores rows of two
    groups, or more rows than a tile has."""
    launch = recording.launches[-1]
    rows: dict[int, list[np.ndarray]] = {}
    for trace in launch.traces:
        if trace.space == "global" and trace.op == "st" and trace.array == array and trace.block[0] == 0:
            active = trace.addresses if trace.active is None else trace.addresses[trace.active]
            rows.setdefault(trace.block[1], []).append((active - trace.base) // FLOAT_BYTES // columns)
    blocks = []
    for number in range(launch.facts.grid[1]):
        stored = np.unique(np.concatenate(rows[number])) if number in rows else np.zeros(0, int)
        if not len(stored):
            blocks.append(Block(number))
            continue
        first, last = int(stored[0]), int(stored[-1])
        groups = {int(np.searchsorted(offsets, row, side="right")) - 1 for row in (first, last)}
        if len(groups) > 1 or last - first >= tile:
            raise CannotTell(f"Block (0, {number}) stores rows {first} to {last}, which are not of one group's tile.")
        blocks.append(Block(number, (first, last + 1), groups.pop()))
    return Shares(tuple(blocks), tuple(int(offset) for offset in offsets), tile)


def in_turns(tiles: Sequence[int], slots: int, together: bool) -> tuple[tuple[int, int, int], ...]:
    """(group, turn, slot) of each tile, where `slots` tiles run at a time and all take equally long.

    together: all groups are one launch; else each is a launch of its own, which begins when the one before has ended.
    """
    placed, begins, number = [], 0, 0
    for group, count in enumerate(tiles):
        if not together:
            begins, number = begins + -(-number // slots), 0
        placed += [(group, begins + (number + n) // slots, (number + n) % slots) for n in range(count)]
        number += count
    return tuple(placed)


def length(placed: Sequence[tuple[int, int, int]]) -> int:
    """How many turns it takes."""
    return max((turn for _, turn, _ in placed), default=-1) + 1
