"""What one thread of a tiled kernel reads from shared memory and computes in registers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gemm_kernels import Launch
from gpusim import Recording
from gpusim.devices import FLOAT_BYTES
from helpers import run
from helpers.pictures import CannotTell
from helpers.pictures.threads import block_accesses
from helpers.pictures.tile_phases.staging import staged_phases


@dataclass(frozen=True, eq=False)
class RegisterTile:
    """What one thread of a tiled kernel reads from shared memory and computes, in one phase.

    thread: linear number in its block.  tile_rows, tile_columns: of C, that the block computes.  rows, columns: of C,
    that the thread computes.  ks: the phase's steps.  reads: for each of them the floats that the thread reads, in the
    order of its reads: ("A", row) or ("B", column).
    """

    name: str
    thread: int
    tile_rows: np.ndarray
    tile_columns: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    ks: np.ndarray
    reads: tuple[tuple[tuple[str, int], ...], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """(TM, TN): rows and columns of the thread's patch."""
        return len(self.rows), len(self.columns)

    @property
    def fmas(self) -> int:
        """FMAs of a step: one for each element of the patch."""
        return len(self.rows) * len(self.columns)

    @property
    def loads_per_fma(self) -> float:
        """Floats read from shared memory for each FMA, over the whole phase."""
        return sum(map(len, self.reads)) / (self.fmas * len(self.ks))

    def moves(self, k: int) -> int:
        """Reads and FMAs of step number k: how many small moves it has."""
        return len(self.reads[k]) + self.fmas

    @property
    def label(self) -> str:
        """'8 × 8'."""
        return f"{self.shape[0]} × {self.shape[1]}"


def register_tile(recording: Recording, name: str, shapes: dict[str, tuple[int, int]], thread: int) -> RegisterTile:
    """What a thread of block (0, 0) does in the first phase of a recorded launch of whole tiles.

    shapes: (rows, columns) of "A", "B" and "C". Raises CannotTell, in a sentence, where it cannot be told.
    """
    phase = staged_phases(recording)[0]
    stored, everything = [], []
    for access in block_accesses(recording, space="global", op="st", array="C"):
        for word in range(access.width // FLOAT_BYTES):
            everything.append(access.offset[access.active] // FLOAT_BYTES + word)
            if access.active[thread]:
                stored.append(int(access.offset[thread]) // FLOAT_BYTES + word)
    width = shapes["C"][1]
    rows, columns = (np.unique(part) for part in np.divmod(np.array(stored, np.int64), width))
    if not stored or len(rows) * len(columns) != len(set(stored)):
        raise CannotTell(
            f"Thread {thread} stores {len(set(stored))} elements of C that are not a patch of rows × columns."
        )
    row, k_of_a = np.divmod(phase.read_by(thread, "A"), shapes["A"][1])
    k_of_b, column = np.divmod(phase.read_by(thread, "B"), shapes["B"][1])
    ks = np.unique(k_of_a)
    if not np.array_equal(ks, np.unique(k_of_b)):
        raise CannotTell(
            "The thread does not read the same steps k of A and of B: the picture needs both for a product."
        )
    reads = tuple(
        tuple([("A", int(r)) for r in row[k_of_a == k]] + [("B", int(c)) for c in column[k_of_b == k]]) for k in ks
    )
    tile_rows, tile_columns = (np.unique(part) for part in np.divmod(np.concatenate(everything), width))
    return RegisterTile(name, thread, tile_rows, tile_columns, rows, columns, ks, reads)


@lru_cache(maxsize=64)
def tile_of(launch: Launch, thread: int) -> RegisterTile:
    """What a thread of the first block does in the first phase of a launch. Raises the simulator's and the compiler's
    errors, and CannotTell."""
    M, N, K = launch.shape
    return register_tile(run.record(launch), launch.name, {"A": (M, K), "B": (K, N), "C": (M, N)}, thread)
