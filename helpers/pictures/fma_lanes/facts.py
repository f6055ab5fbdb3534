"""One FMA of a warp: which element of C each of its 32 lanes computes by it, from recorded addresses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gemm_kernels import Launch
from gpusim.devices import WARP
from helpers.pictures import CannotTell
from helpers.pictures.hierarchy.facts import levels_of


@dataclass(frozen=True, eq=False)
class FmaLanes:
    """What the lanes of warp 0 compute of its tile.

    tile: (rows, columns).  rows: (32, TM), of the tile, of each lane's sums.  columns: (32, TN), likewise.
    """

    name: str
    tile: tuple[int, int]
    rows: np.ndarray
    columns: np.ndarray

    @property
    def patch(self) -> tuple[int, int]:
        """(TM, TN)."""
        return self.rows.shape[1], self.columns.shape[1]

    def elements(self, y: int, x: int) -> np.ndarray:
        """(32, 2) row and column, in the tile, of the element that each lane computes by its FMA sums[y][x]."""
        return np.stack([self.rows[:, y], self.columns[:, x]], axis=1)

    def needs(self, y: int, x: int) -> tuple[int, int]:
        """How many different floats of A and of B the 32 lanes multiply in that FMA."""
        rows, columns = self.elements(y, x).T
        return len(np.unique(rows)), len(np.unique(columns))


@lru_cache(maxsize=16)
def lanes_of(launch: Launch) -> FmaLanes:
    """The lanes of warp 0 of a launch's first block. Raises CannotTell where a lane computes no rectangle of sums."""
    levels = levels_of(launch)
    owner = levels.owner[levels.window(0)]
    rows, columns = [], []
    for lane in range(WARP):
        places = np.nonzero(owner == lane)
        rows.append(np.unique(places[0]))
        columns.append(np.unique(places[1]))
        if len(rows[-1]) * len(columns[-1]) != len(places[0]) or not len(places[0]):
            raise CannotTell(
                f"Lane {lane} of {launch.name} computes no rectangle of sums, so there are no rows to name."
            )
    if len({(len(down), len(along)) for down, along in zip(rows, columns, strict=True)}) > 1:
        raise CannotTell(f"The lanes of {launch.name} compute patches of different sizes.")
    return FmaLanes(launch.name, owner.shape, np.array(rows), np.array(columns))
