"""What the kernels of notebook 16 are launched on: one array, of any length, and what must come out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from helpers.exercises.framework.problems import Case, Guess, Setup, blocks, values

NOT_THERE = -1  # the index that argmin stores where there is no number
BINS = 200  # of the histogram


def floats(case: Case) -> np.ndarray:
    """(n,) float32: multiples of 1/8, so few that every sum of them is exact in any order."""
    return values(1, case.sizes["n"], 1)[0]


def with_zeros(case: Case) -> np.ndarray:
    """(n,) float32: every fifth one is 0, the others are those of `floats`."""
    x = floats(case)
    x[2::5] = 0.0
    return x


def few_values(case: Case) -> np.ndarray:
    """(n,) float32 with "values" different numbers, all others NaN where "numbers" says how many there are.

    The smallest number stands at several places, wherever the length allows it.
    """
    n, count = case.sizes["n"], case.sizes["values"]
    generator = np.random.default_rng([n, count])
    x = generator.integers(0, count, n).astype(np.float32) - 2
    numbers = case.sizes.get("numbers", n)
    x[generator.permutation(n)[numbers:]] = np.nan
    return x


def infinities(case: Case) -> np.ndarray:
    """(n,) float32: nothing but positive infinity from index "from" on, and NaN before."""
    x = np.full(case.sizes["n"], np.inf, np.float32)
    x[: case.sizes["from"]] = np.nan
    return x


def bins(case: Case) -> np.ndarray:
    """(n,) int32 below BINS: half of them one and the same number."""
    n = case.sizes["n"]
    generator = np.random.default_rng(n)
    return np.where(generator.integers(0, 2, n) == 0, 17, generator.integers(0, BINS, n)).astype(np.int32)


def argmin(x: np.ndarray) -> int:
    """The index of the smallest number of x, of equal ones the smallest index; NOT_THERE where all are NaN."""
    numbers = np.flatnonzero(~np.isnan(x))
    return int(numbers[np.argmin(x[numbers])]) if len(numbers) else NOT_THERE


@dataclass(frozen=True, eq=False)
class OverArray:
    """A kernel over one array: `kernel(n, x, …, output)`.

    entry: its name.  output: what sentences call the judged array.  threads: of a block.
    blocks: of the grid, None for as many as there are `threads` elements. A case may have its own.
    right: (x, blocks, threads) -> what must come out.  before: what the output holds before the launch.
    workspace: number of blocks -> the arrays between x and the output.  inputs: case -> x.
    """

    entry: str
    output: str
    threads: int
    right: Callable[[np.ndarray, int, int], np.ndarray]
    cases: tuple[Case, ...]
    blocks: int | None = None
    before: float = np.nan
    workspace: Callable[[int], tuple[np.ndarray, ...]] = lambda _: ()
    inputs: Callable[[Case], np.ndarray] = floats
    scalars: tuple[str, ...] = ()

    @property
    def block(self) -> tuple[int, ...]:
        """The threads of a block along x."""
        return (self.threads,)

    @property
    def tile(self) -> tuple[int, int]:
        """One row: a block's elements."""
        return 1, self.threads

    def prepare(self, case: Case) -> Setup:
        x = infinities(case) if "from" in case.sizes else self.inputs(case)
        grid = case.sizes.get("blocks") or self.blocks or blocks(len(x), self.threads)
        expected = self.right(x, grid, self.threads)
        output = np.full_like(expected, self.before)
        args = (np.int32(len(x)), x, *self.workspace(grid), output)
        return Setup((grid,), self.block, 0, args, output, expected)

    def index(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return index

    def as_matrix(self, output: np.ndarray) -> np.ndarray:
        return output.reshape(1, -1)

    def guesses(self) -> Iterator[Guess]:
        return iter(())


def of_lengths(*lengths: int, launches: int = 1) -> tuple[Case, ...]:
    """A case for each length."""
    return tuple(Case({"n": n}, launches=launches) for n in lengths)


# --- what must come out


def the_sum(x: np.ndarray, blocks_: int, threads: int) -> np.ndarray:
    """(1,): of all elements."""
    return x.sum(dtype=np.float64, keepdims=True).astype(np.float32)


def twice_the_sum(x: np.ndarray, blocks_: int, threads: int) -> np.ndarray:
    """(1,): what two launches have added up."""
    return 2 * the_sum(x, blocks_, threads)


def block_sums(x: np.ndarray, blocks_: int, threads: int) -> np.ndarray:
    """(blocks,): block b has the threads from b · threads on, and a thread has every element of its number, counted
    around by the threads of the launch."""
    block = np.arange(len(x)) // threads % blocks_
    return np.bincount(block, x, blocks_).astype(np.float32)


def running_sums(x: np.ndarray, blocks_: int, threads: int) -> np.ndarray:
    """(n,): the sums of the first elements."""
    return np.cumsum(x, dtype=np.float64).astype(np.float32)


def positive_first(x: np.ndarray, blocks_: int, threads: int) -> np.ndarray:
    """(n,): the elements above 0 in their order, then NaN, which stands for what is not written."""
    kept = x[x > 0]
    return np.concatenate([kept, np.full(len(x) - len(kept), np.nan, np.float32)])


def counts(x: np.ndarray, blocks_: int, threads: int) -> np.ndarray:
    """(BINS,) int32: how often each number occurs."""
    return np.bincount(x, minlength=BINS).astype(np.int32)


def place_of_smallest(x: np.ndarray, blocks_: int, threads: int) -> np.ndarray:
    """(1,) int32, as `argmin` says."""
    return np.array([argmin(x)], np.int32)
