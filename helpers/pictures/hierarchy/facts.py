"""Who owns which part of C: the block's tile, the warps in it and their lanes, and what a warp loads at one k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from gemm_kernels import Launch
from gpusim import Recording
from gpusim.devices import FLOAT_BYTES, WARP
from helpers import run
from helpers.pictures import CannotTell
from helpers.pictures.bank_board.facts import shared_accesses
from helpers.pictures.threads import block_accesses

NO_THREAD = -1


@dataclass(frozen=True)
class Loads:
    """What a warp's loads of one tile from shared memory cost at one k: requests, and the wavefronts of all of them."""

    requests: float
    wavefronts: float

    @property
    def each(self) -> float:
        """Wavefronts of a request."""
        return self.wavefronts / self.requests


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Who stores each element of one block's tile of C, and what the warps load from shared memory at one k.

    name: the kernel's.  shape: (M, N) of C.  origin: (row, column) of the tile in C.  owner: (rows, columns) number of
    the thread that stores the element, NO_THREAD where none does.  loads: for each warp, by tile: {"As": …, "Bs": …}.
    """

    name: str
    shape: tuple[int, int]
    origin: tuple[int, int]
    owner: np.ndarray
    loads: tuple[Mapping[str, Loads], ...]

    @property
    def tile(self) -> tuple[int, int]:
        """(rows, columns) of the block's tile."""
        return self.owner.shape

    @cached_property
    def threads(self) -> int:
        """Threads that store something, counted to the last one."""
        return int(self.owner.max()) + 1

    @property
    def warps(self) -> int:
        return -(-self.threads // WARP)

    def window(self, warp: int) -> tuple[slice, slice]:
        """The rows and columns of the tile in which a warp's elements lie."""
        rows, columns = np.nonzero(self.owner // WARP == warp)
        return slice(int(rows.min()), int(rows.max()) + 1), slice(int(columns.min()), int(columns.max()) + 1)

    def needs(self, warp: int, lane: int | None = None) -> tuple[int, int]:
        """(rows of A, columns of B) that a warp, or one of its lanes, needs at one k."""
        mine = self.owner // WARP == warp if lane is None else self.owner == warp * WARP + lane
        return int(mine.any(axis=1).sum()), int(mine.any(axis=0).sum())

    def elements(self, warp: int) -> int:
        """Elements of C that a warp computes."""
        return int((self.owner // WARP == warp).sum())


def hierarchy(recording: Recording, shape: tuple[int, int], depth: int, name: str) -> Hierarchy:
    """Who stores what in block (0, 0), and what its warps load at one k.

    shape: (M, N) of C.  depth: K of the launch.  Raises CannotTell if the block stores nothing to C.
    """
    stores = block_accesses(recording, (0, 0, 0), space="global", op="st", array="C")
    if not stores:
        raise CannotTell(f"Block (0, 0) of {name} stores nothing to an array called C, so there is nothing to draw.")
    owner = np.full(shape[0] * shape[1], NO_THREAD, np.int64)
    for store in stores:
        threads = np.flatnonzero(store.active)
        for word in range(store.width // FLOAT_BYTES):
            owner[store.offset[threads] // FLOAT_BYTES + word] = threads
    whole = owner.reshape(shape)
    rows, columns = np.nonzero(whole != NO_THREAD)
    tile = whole[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    warps = -(-(int(tile.max()) + 1) // WARP)
    loads = tuple(_loads(recording, warp, depth) for warp in range(warps))
    return Hierarchy(name, shape, (int(rows.min()), int(columns.min())), tile, loads)


def _loads(recording: Recording, warp: int, depth: int) -> dict[str, Loads]:
    """By tile ("As", "Bs", or "shared memory" where a line names neither): the loads of a warp at one k."""
    fronts_of: dict[str, list[int]] = {}
    for _, access in shared_accesses(recording, warp=warp):
        if access.op == "ld":
            fronts_of.setdefault(access.name.removeprefix("load from "), []).append(access.wavefronts)
    return {tile: Loads(len(fronts) / depth, sum(fronts) / depth) for tile, fronts in sorted(fronts_of.items())}


@lru_cache(maxsize=16)
def levels_of(launch: Launch) -> Hierarchy:
    """Who owns what in the first block of a launch. Raises the simulator's and the compiler's errors, and CannotTell
    for a kernel that stores nothing to C."""
    M, N, K = launch.shape
    return hierarchy(run.record(launch), (M, N), K, launch.name)
