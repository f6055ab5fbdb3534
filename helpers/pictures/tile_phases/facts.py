"""What one block of a tiled kernel loads in each phase, and what it would load if its threads shared nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from gemm_kernels import Launch, get
from gpusim import Recording
from gpusim.devices import FLOAT_BYTES
from helpers import run
from helpers.pictures.threads import block_accesses
from helpers.pictures.tile_phases.staging import Phase, staged_phases


@dataclass(frozen=True)
class Race:
    """Two accesses of one shared word by two threads with no barrier between them, one of them a store.

    missing: what was taken out, "the first __syncthreads()".  element: the word, as the source says it: "Bs[0][0]".
    block: its index.  write_text, read_text: the source lines.  overwrites: the store comes later, in the next phase of
    the loop, and may destroy what the other thread has yet to read. Otherwise the read comes later, and may find what
    was there before.
    """

    missing: str
    element: str
    block: tuple[int, int, int]
    write_line: int
    write_thread: tuple[int, int, int]
    write_text: str
    read_line: int
    read_thread: tuple[int, int, int]
    read_text: str
    overwrites: bool = False


@dataclass(frozen=True, eq=False)
class TilePhases:
    """What one block of a tiled kernel loads, phase by phase.

    shapes: (rows, columns) of "A", "B" and "C".  block_index, block: of the launch.  stores: for each thread the
    elements of C that it stores.  bytes_unshared: bytes that the loads of one element of C cost in a kernel without
    shared memory.
    """

    name: str
    shapes: dict[str, tuple[int, int]]
    block_index: tuple[int, int, int]
    block: tuple[int, int, int]
    phases: tuple[Phase, ...]
    stores: tuple[np.ndarray, ...]
    bytes_unshared: float

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return len(self.stores)

    @cached_property
    def tile(self) -> np.ndarray:
        """The elements of C that the block stores, ascending."""
        return np.unique(np.concatenate(self.stores))

    def bytes_loaded(self, phases: int | None = None) -> int:
        """Bytes that the block's threads ask global memory for in the first phases, None for all of them."""
        return FLOAT_BYTES * sum(phase.floats_loaded for phase in self.phases[:phases])

    @property
    def bytes_without_sharing(self) -> float:
        """Bytes that threads which share nothing ask for, for the same elements of C."""
        return self.bytes_unshared * len(self.tile)


def tile_phases(
    recording: Recording,
    name: str,
    shapes: dict[str, tuple[int, int]],
    block_index: tuple[int, int, int],
    unshared: Recording,
) -> TilePhases:
    """The phases of one traced block. unshared: a recording of the naive kernel, of the same K.

    Raises CannotTell, in a sentence, for a kernel without tiles.
    """
    facts = recording.launches[-1].facts
    phases = staged_phases(recording, block_index)
    stored = block_accesses(recording, block_index, space="global", op="st", array="C")
    elements_of: list[list[int]] = [[] for _ in range(int(np.prod(facts.block)))]
    for access in stored:
        for thread in np.flatnonzero(access.active).tolist():
            first = int(access.offset[thread]) // FLOAT_BYTES
            elements_of[thread].extend(range(first, first + access.width // FLOAT_BYTES))
    per_element = FLOAT_BYTES * unshared.total("lanes", "global", "ld") / unshared.total("lanes", "global", "st", "C")
    stores = tuple(np.array(elements, np.int64) for elements in elements_of)
    return TilePhases(name, shapes, block_index, facts.block, phases, stores, per_element)


@lru_cache(maxsize=16)
def phases_of(launch: Launch) -> TilePhases:
    """The phases of one block of a launch: (1, 1), which is neither in the first row of blocks nor in the first column,
    or the nearest to it that there is.

    Raises the simulator's and the compiler's errors, and CannotTell for a kernel without tiles.
    """
    block = min(1, launch.grid[0] - 1), min(1, launch.grid[1] - 1), 0
    M, N, K = launch.shape
    unshared = run.record(get("naive").launch(M, N, K).in_blocks(8, 8))
    shapes = {"A": (M, K), "B": (K, N), "C": (M, N)}
    return tile_phases(run.record(launch, (block,)), launch.name, shapes, block, unshared)
