"""What a kernel of an exercise is launched on, and what must come out: matrices, shapes that expose slips, the answer.

All numbers are small multiples of 1/8, and so few of them are added that every sum is exact in float32 in any order: a
right kernel is right bit for bit, and so is a known slip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

STEP = 0.125  # all elements are multiples of it,
LARGEST = 32  # at most this many times


@dataclass(frozen=True, eq=False)
class Case:
    """One launch, or several on the same arrays.

    sizes: "M", "N", …  alpha, beta: for kernels that have them. With beta = 0 the output is full of NaN before the
    launch, and must not be read.  launches: how often the kernel is launched on the same arrays.  block: threads along
    x and y, where they differ from case to case.
    """

    sizes: Mapping[str, int]
    alpha: float = 1.0
    beta: float = 0.0
    launches: int = 1
    block: tuple[int, ...] = ()

    @property
    def c(self) -> float:
        """alpha, where a kernel multiplies by it and adds up nothing."""
        return self.alpha

    def label(self, scalars: Sequence[str] = ("alpha", "beta")) -> str:
        """'M = 5, N = 37, K = 3, alpha = 1.25, beta = 0'"""
        facts = [f"{name} = {size}" for name, size in self.sizes.items()]
        along_x = self.block[1:] == (1,) and len(self.sizes) == 1
        facts += [f"blocks of {self.block[0]}" if along_x else f"block {self.block}"] if self.block else []
        facts += [f"{name} = {getattr(self, name):g}" for name in scalars]
        times = {1: "", 2: ", launched twice"}.get(self.launches, f", launched {self.launches} times")
        return ", ".join(facts) + times


@dataclass(frozen=True, eq=False)
class Setup:
    """A case ready to be launched.

    args: of the launch, in the kernel's order.  output: the array among them that is judged, full of what it holds
    before the launch.  expected: what it must hold afterwards, of the same shape.
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    args: tuple[Any, ...]
    output: np.ndarray
    expected: np.ndarray

    @property
    def position(self) -> int:
        """Which of the arguments is the output, counted from 0."""
        arrays = ((n, arg) for n, arg in enumerate(self.args) if isinstance(arg, np.ndarray))
        return next(n for n, arg in arrays if np.shares_memory(arg, self.output))

    def left(self, args: Sequence[Any]) -> np.ndarray:
        """What is judged, of the shape of `expected`, where `args` are this launch's arguments after it."""
        return args[self.position].reshape(self.expected.shape)

    def place_of(self, element: int) -> tuple[int, int]:
        """Where an element of what is judged lies, given by its linear index: the argument, and the byte in it."""
        return self.position, self.output.itemsize * element


@dataclass(frozen=True, eq=False)
class Guess:
    """What a known slip would have left in the output.

    sentences: what the slips are, one, or two that came together.  result: case -> the output, None where the slip
    would have left the arrays. Raises NotApplicable where it cannot have been made.
    """

    sentences: tuple[str, ...]
    result: Callable[[Case], np.ndarray | None]


class NotApplicable(Exception):
    """The kernel has no such tile, so this slip cannot have been made."""


class Problem(Protocol):
    """What an exercise's kernel computes."""

    entry: str
    output: str  # what the sentences call the array that is judged
    scalars: tuple[str, ...]  # which of alpha and beta the kernel takes
    tile: tuple[int, int]  # rows and columns that one block computes

    @property
    def cases(self) -> Sequence[Case]:
        """The launches that a kernel is judged by, simple ones first."""

    def prepare(self, case: Case) -> Setup:
        """The arguments of a launch, and the right answer."""

    def index(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """The (row, column) of an element whose place in the output's memory is given."""

    def as_matrix(self, output: np.ndarray) -> np.ndarray:
        """The output, or a mask of it, with its rows as rows."""

    def guesses(self) -> Iterator[Guess]:
        """Known slips with what they would leave in the output."""


def values(rows: int, columns: int, seed: int) -> np.ndarray:
    """(rows, columns) float32: random multiples of STEP, none of them 0, the same on every machine."""
    numbers = np.random.default_rng([seed, rows, columns]).integers(1, LARGEST + 1, (rows, columns))
    signs = np.random.default_rng([seed, columns, rows, 1]).integers(0, 2, (rows, columns)) * 2 - 1
    return (STEP * numbers * signs).astype(np.float32)


def blocks(size: int, tile: int) -> int:
    """How many tiles cover a size: rounded up."""
    return -(-size // tile)
