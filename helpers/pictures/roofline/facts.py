"""Bytes that a whole launch moves between its threads and global memory, counted on as few blocks as will do."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from gemm_kernels import Launch
from gpusim.devices import SECTOR_BYTES
from helpers import run

SHORT = 32  # K of a launch that is counted; a whole number of every kernel's phases


def bytes_moved(launch: Launch) -> int:
    """Bytes that a launch's requests move: whole sectors, beta 0. Counted on one block, at two depths.

    All blocks of a launch do the same where the tile divides C and rows are whole sectors, and every step of K costs
    the same; so two short launches tell the cost of a block at any depth. Where the tile does not divide C, the blocks
    at its edges are counted on matrices of their own width.
    """
    M, N, K = launch.shape
    sectors = 0
    for rows, down in _parts(M, launch.tile[0]):
        for columns, across in _parts(N, launch.tile[1]):
            once, twice = (
                sectors_of_a_block(replace(launch, shape=(rows, columns, depth), grid=(1, 1, 1)))
                for depth in (SHORT, 2 * SHORT)
            )
            sectors += (once + (twice - once) * (K - SHORT) // SHORT) * down * across
    return SECTOR_BYTES * sectors


@lru_cache(maxsize=256)
def sectors_of_a_block(launch: Launch) -> int:
    """Sectors that the requests of a launch's first block move, loads and stores."""
    return run.record(launch).total("sectors", "global")


def _parts(size: int, tile: int) -> list[tuple[int, int]]:
    """(rows or columns of a block's part of C, how many blocks have so many): whole tiles, and what is left."""
    whole, left = divmod(size, tile)
    return [(part, count) for part, count in ((tile, whole), (left, 1)) if part and count]
