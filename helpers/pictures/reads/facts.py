"""Which warp reads which elements of an array, and in which round: from the recorded loads of all blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim import Recording
from gpusim.devices import FLOAT_BYTES, WARP
from helpers.pictures import CannotTell
from helpers.pictures.threads import accesses_by_block


@dataclass(frozen=True)
class Read:
    """One load of a warp. warp: counted over the launch.  round: its number among the warp's loads of this array.
    first: the smallest element.  lanes: that load.  together: whether they load neighbours, lane by lane."""

    warp: int
    round: int
    first: int
    lanes: int
    together: bool


@dataclass(frozen=True)
class Reads:
    """All loads of an array of n elements. warps: of a block; blocks: of the launch."""

    array: str
    n: int
    blocks: int
    warps: int
    reads: tuple[Read, ...]

    @property
    def rounds(self) -> int:
        """The most loads that a warp makes."""
        return 1 + max(read.round for read in self.reads)


def reads(recording: Recording, array: str, n: int) -> Reads:
    """The loads of an array of 4-byte elements by a one-dimensional grid whose blocks were all recorded.

    CannotTell if nothing loads it.
    """
    facts = recording.launches[-1].facts
    warps = -(-int(np.prod(facts.block)) // WARP)
    reads_ = []
    for (block, *_), loads in accesses_by_block(recording, space="global", op="ld", array=array).items():
        rounds = [0] * warps
        for load in loads:
            for warp in range(warps):
                mine = slice(warp * WARP, (warp + 1) * WARP)
                elements = load.offset[mine][load.active[mine]] // FLOAT_BYTES
                if len(elements):
                    together = bool((np.diff(elements) == 1).all())
                    number = block * warps + warp
                    reads_.append(Read(number, rounds[warp], int(elements.min()), len(elements), together))
                    rounds[warp] += 1
    if not reads_:
        raise CannotTell(f"No thread loads an element of {array}.")
    return Reads(array, n, int(np.prod(facts.grid)), warps, tuple(reads_))
