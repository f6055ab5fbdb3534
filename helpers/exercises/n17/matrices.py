"""What the kernels of notebook 17 are launched on, and what must come out: the two smallest of each thread, warp or
block, or of all of C; and of each row its maximum and its sum of exponentials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.exercises.framework.problems import Case, Guess, Setup, blocks, values

BM, BN, TM, TN, THREADS = 32, 64, 4, 4, 128  # as the sources have them
ACROSS = BN // TN  # threads along a row of the tile
NOWHERE = -1  # the place of an element that is not there
POISON = -7  # what places hold before the launch
NAMES = ("smallest, value", "smallest, place", "second, value", "second, place")
PAIR_WORDS = 4  # of 4 bytes, of `Two`

# Beside M, N and K a case may have …
NEIGHBOURS = "neighbours"  # 1: the two smallest stand side by side in a row, in the last whole patch
EQUAL = "different"  # so many different numbers in A and in B, so that many elements of C are equal
NAN_ROWS = "NaN rows"  # so many rows of C are NaN, spread over it
INFINITE = "infinite"  # 1: every element is infinity
EXPONENT = "exponent"  # of two, by which every element is multiplied


def product(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """A (M, K) and B (K, N) float32, whose product is exact in any order."""
    M, N, K = (case.sizes[name] for name in "MNK")
    A, B = values(M, K, 17), values(K, N, 71)
    if EQUAL in case.sizes:
        generator, count = np.random.default_rng([M, N, K]), case.sizes[EQUAL]
        A, B = (generator.integers(0, count, shape).astype(np.float32) for shape in ((M, K), (K, N)))
    if NEIGHBOURS in case.sizes:
        row, col = (M - 1) // TM * TM - 1, (N - 1) // TN * TN - 2
        A[:, 0], B[0] = 0, 0
        A[row, 0], B[0, col], B[0, col + 1] = -128, 1, 1.5
    if INFINITE in case.sizes:
        A, B = np.full_like(A, np.inf), np.abs(B)
    A[spread(M, case.sizes.get(NAN_ROWS, 0)), 0] = np.nan
    return A, B


def spread(M: int, count: int) -> np.ndarray:
    """`count` of M rows, spread evenly."""
    return np.arange(count) * M // max(count, 1)


def exact(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """C = A · B (M, N) float32."""
    with np.errstate(invalid="ignore"):
        return (A.astype(np.float64) @ B.astype(np.float64)).astype(np.float32)


def two_smallest(C: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """(groups, 4) float64: of the elements of each group the smallest, its place, the second, its place.

    group: (M, N), the number of the group of each element.  Of equal elements the smaller place comes first. NaN is no
    number. Where there is none, the value is infinity and the place NOWHERE.
    """
    smallest = np.tile([np.inf, NOWHERE], (groups, 2))
    value, number = C.ravel(), group.ravel()
    order = np.lexsort((value, number))  # stable: equal ones stay in the order of their places; NaN comes last
    order = order[~np.isnan(value[order])]
    mine = number[order]
    first = np.r_[True, mine[1:] != mine[:-1]] if len(mine) else np.zeros(0, bool)
    rank = np.arange(len(mine)) - np.maximum.accumulate(np.where(first, np.arange(len(mine)), 0))
    for e in (0, 1):
        these = order[rank == e]
        smallest[number[these], 2 * e] = value[these]
        smallest[number[these], 2 * e + 1] = these
    return smallest


# --- the groups: row, col of every element, tiles along a row of C -> the number of its group, and how many there are


def _of_threads(row: np.ndarray, col: np.ndarray, across: int) -> np.ndarray:
    thread = row % BM // TM * ACROSS + col % BN // TN
    return _of_blocks(row, col, across) * THREADS + thread


def _of_warps(row: np.ndarray, col: np.ndarray, across: int) -> np.ndarray:
    return _of_threads(row, col, across) // 32


def _of_blocks(row: np.ndarray, col: np.ndarray, across: int) -> np.ndarray:
    return row // BM * across + col // BN


def _of_all(row: np.ndarray, col: np.ndarray, across: int) -> np.ndarray:
    return 0 * (row + col)


@dataclass(frozen=True)
class Level:
    """Whose two smallest are found. of_block: groups of a block, 0 for one of all blocks.  workspace: parts, and a
    count of the blocks, are among the arguments."""

    name: str
    group: Callable[[np.ndarray, np.ndarray, int], np.ndarray]
    of_block: int
    workspace: bool = False

    def groups(self, blocks_: int) -> int:
        """Groups of so many blocks."""
        return self.of_block * blocks_ or 1


THREAD, WARP, BLOCK = Level("thread", _of_threads, THREADS), Level("warp", _of_warps, 4), Level("block", _of_blocks, 1)
ALL = Level("C", _of_all, 0, workspace=True)


@dataclass(frozen=True, eq=False)
class Pairs(Setup):
    """A launch that leaves values (float32) and places (int32) in its last two arrays.

    counted: whether the array before them must be left as it was, a count of blocks that is 0.
    """

    counted: bool = False

    def left(self, args: Sequence[Any]) -> np.ndarray:
        """(4 · groups,) float64: value, place, value, place of each group; and the count, where there is one."""
        value, index = (array.reshape(-1, 2).astype(np.float64) for array in args[-2:])
        count = args[-3].astype(np.float64) if self.counted else np.zeros(0)
        return np.concatenate([np.stack([value, index], axis=2).ravel(), count])

    def place_of(self, element: int) -> tuple[int, int]:
        if self.counted and element == len(self.expected) - 1:
            return len(self.args) - 3, 0
        group, e, is_place = element // 4, element % 4 // 2, element % 2
        return len(self.args) - 2 + is_place, 4 * (2 * group + e)


@dataclass(frozen=True, eq=False)
class TwoSmallest:
    """A kernel that multiplies, and leaves the two smallest of each group of C's elements."""

    entry: str
    level: Level
    cases: tuple[Case, ...]
    output: str = "the pair"
    scalars: tuple[str, ...] = ()
    block: tuple[int, ...] = (THREADS,)
    tile: tuple[int, int] = (1, 1)  # of what is judged, a row of numbers
    tile_of_block: tuple[int, int] = (BM, BN)  # rows and columns of C; other ones for ALL alone

    def prepare(self, case: Case) -> Setup:
        M, N, K = (case.sizes[name] for name in "MNK")
        A, B = product(case)
        grid = blocks(N, self.tile_of_block[1]), blocks(M, self.tile_of_block[0])
        groups = self.level.groups(grid[0] * grid[1])
        row, col = np.ogrid[:M, :N]
        expected = two_smallest(exact(A, B), self.level.group(row, col, grid[0]), groups).ravel()
        value, index = np.full((groups, 2), np.nan, np.float32), np.full((groups, 2), POISON, np.int32)
        workspace: tuple[Any, ...] = ()
        if self.level.workspace:
            workspace = np.full(PAIR_WORDS * grid[0] * grid[1], np.nan, np.float32), np.zeros(1, np.uint32)
            expected = np.append(expected, 0)
        args = (np.int32(M), np.int32(N), np.int32(K), A, B, *workspace, value, index)
        return Pairs(grid, self.block, 0, args, value, expected, self.level.workspace)

    def index(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        """('warp 3', 'second, place'): whose number it is, and which of its four."""
        (element,) = index
        if self.level.workspace and element == 4:
            return ("the count of blocks",)
        whose = (f"{self.level.name} {element // 4}",) if self.level.of_block else ()
        return *whose, NAMES[element % 4]

    def as_matrix(self, output: np.ndarray) -> np.ndarray:
        return output.reshape(1, -1)

    def guesses(self) -> Iterator[Guess]:
        return iter(())


def shapes(*more: Case) -> tuple[Case, ...]:
    """The launches of every step: whole tiles, tails, ties, NaN, infinities, one element, then `more`."""
    sizes = (
        {"M": 32, "N": 64, "K": 8},
        {"M": 40, "N": 70, "K": 9, NEIGHBOURS: 1},
        {"M": 64, "N": 128, "K": 3, EQUAL: 3},
        {"M": 37, "N": 100, "K": 4, NAN_ROWS: 9},
        {"M": 20, "N": 30, "K": 2, NAN_ROWS: 20},
        {"M": 3, "N": 5, "K": 2, INFINITE: 1},
        {"M": 1, "N": 1, "K": 5},
        {"M": 1, "N": 130, "K": 1},
        {"M": 67, "N": 1, "K": 12},
    )
    return (*(Case(size) for size in sizes), *more)


# --- statistics of rows


def of_rows(C: np.ndarray) -> np.ndarray:
    """(tiles along a row, M, 2) float32: of each row within a tile its maximum, and its sum of exp2(element -
    maximum)."""
    tiles = [C[:, first : first + BN].astype(np.float64) for first in range(0, C.shape[1], BN)]
    most = [tile.max(axis=1) for tile in tiles]
    sums = [np.exp2(tile - top[:, None]).sum(axis=1) for tile, top in zip(tiles, most, strict=True)]
    return np.stack([np.stack(most), np.stack(sums)], axis=2).astype(np.float32)


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """A kernel that multiplies, and leaves the statistics of each row within each tile."""

    entry: str
    cases: tuple[Case, ...]
    output: str = "of_tile"
    scalars: tuple[str, ...] = ()
    block: tuple[int, ...] = (THREADS,)
    tile: tuple[int, int] = (1, 1)

    def prepare(self, case: Case) -> Setup:
        M, N, K = (case.sizes[name] for name in "MNK")
        generator = np.random.default_rng([M, N, K])
        # Whole numbers of a small range: powers of two whose sums are exact in any order
        A, B = (generator.integers(-1, 2, shape).astype(np.float32) for shape in ((M, K), (K, N)))
        A *= np.float32(2.0 ** case.sizes.get(EXPONENT, 0))
        expected = of_rows(exact(A, B))
        output = np.full_like(expected, np.nan)
        args = (np.int32(M), np.int32(N), np.int32(K), A, B, output)
        return Setup((blocks(N, BN), blocks(M, BM)), self.block, 0, args, output, expected)

    def index(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        tile, row, which = index
        return f"tile {tile}", f"row {row}", ("maximum", "sum")[which]

    def as_matrix(self, output: np.ndarray) -> np.ndarray:
        return output.reshape(1, -1)

    def guesses(self) -> Iterator[Guess]:
        return iter(())
