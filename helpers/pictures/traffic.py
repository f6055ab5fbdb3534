"""How many bytes a kernel asks global memory for, and how many operations it gets out of each: formulas.

Bytes here are what the threads' loads and stores ask for. What really moves differs both ways: a request moves whole
32-byte sectors, a broadcast moves its word once for 32 lanes, and caches answer most repeated requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusim.devices import FLOAT_BYTES

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Traffic:
    """Bytes that the threads of one launch ask global memory for, and the operations they do with them."""

    load_A: int
    load_B: int
    load_C: int
    store_C: int
    flops: int

    @property
    def loads(self) -> int:
        return self.load_A + self.load_B + self.load_C

    @property
    def total(self) -> int:
        return self.loads + self.store_C

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: floating-point operations a byte."""
        return self.flops / self.total


def flops(M: int, N: int, K: int) -> int:
    """2·M·N·K: each of the M·N elements of C is a sum of K products. The alpha and beta of the end are left out."""
    return 2 * M * N * K


def compulsory(M: int, N: int, K: int, beta: float = 0.0) -> Traffic:
    """The least that any kernel moves: A, B (and C if beta is not 0) read once, C written once."""
    return tiled(M, N, K, M, N, beta)


def tiled(M: int, N: int, K: int, tile_rows: int, tile_columns: int, beta: float = 0.0) -> Traffic:
    """The traffic of a kernel that computes C in tiles and loads what a tile needs once.

    Each row of A is read once for every tile that it crosses, N / tile_columns of them (rounded up), and each column of
    B once for every M / tile_rows. Tiles of 1 × 1 are the naive kernel, one tile of M × N is the compulsory traffic.
    """
    for name, size in (("M", M), ("N", N), ("K", K), ("tile_rows", tile_rows), ("tile_columns", tile_columns)):
        if size < 1:
            raise ValueError(f"{name} is {size}, expected at least 1.")
    return Traffic(
        load_A=FLOAT_BYTES * M * K * -(-N // tile_columns),
        load_B=FLOAT_BYTES * K * N * -(-M // tile_rows),
        load_C=FLOAT_BYTES * M * N if beta != 0.0 else 0,
        store_C=FLOAT_BYTES * M * N,
        flops=flops(M, N, K),
    )


def tile_intensity(tile_rows: int, tile_columns: int) -> float:
    """FLOP a byte of the main loop: 2·rows·columns operations for rows + columns floats a step of k.

    A square tile of side T has T / 4.
    """
    return 2 * tile_rows * tile_columns / (FLOAT_BYTES * (tile_rows + tile_columns))


def shared_loads_per_fma(thread_rows: int, thread_columns: int) -> float:
    """Floats that a thread reads from shared memory for each FMA: TM + TN of them feed TM·TN. 1 × 1: 2, 8 × 8: 0.25."""
    if thread_rows < 1 or thread_columns < 1:
        raise ValueError(f"A thread computes at least 1 × 1 elements, found {thread_rows} × {thread_columns}.")
    return (thread_rows + thread_columns) / (thread_rows * thread_columns)
