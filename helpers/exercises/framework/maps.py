"""Problems in which every element of a matrix is a formula: scaling, numbering, transposing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from helpers.exercises.framework.problems import Case, Guess, Setup, blocks, values


@dataclass(frozen=True, eq=False)
class MapInputs:
    """One launch, for formulas.

    source, second: (M, N) of the matrices that are read.  output: what the judged array holds before.  row, col:
    (rows, 1) and (1, columns) of the judged array.  case, block, grid: of the launch, x first.
    """

    source: np.ndarray
    second: np.ndarray
    output: np.ndarray
    row: np.ndarray
    col: np.ndarray
    case: Case
    block: tuple[int, int]
    grid: tuple[int, int]


Formula = Callable[[MapInputs], np.ndarray]


@dataclass(frozen=True)
class MapSlip:
    """A known slip: what it leaves in the judged array, by a formula that may raise NotApplicable."""

    sentence: str
    formula: Formula


@dataclass(frozen=True)
class MatrixMap:
    """An output matrix whose elements follow from those of up to two input matrices.

    The kernel's parameters are (int M, int N, …), or (int N, …) if the cases have no M; … is `float alpha`, or what
    `scalar` calls it, if the problem is scaled, then a `const float *` for each of its inputs, then a `float *`, the
    output.

    transposed: the output is (N, M).  block_tile: rows and columns of the input that a block takes care of, None for
    one element for each thread.  output: what the sentences call the result.
    """

    entry: str
    cases: tuple[Case, ...]
    formula: Formula
    slips: tuple[MapSlip, ...] = ()
    output: str = "B"
    block: tuple[int, int] = (16, 8)
    block_tile: tuple[int, int] | None = None
    scaled: bool = False
    scalar: str = "alpha"
    inputs: int = 1
    transposed: bool = False

    @property
    def tile(self) -> tuple[int, int]:
        return self.block_tile or (self.block[1], self.block[0])

    @property
    def scalars(self) -> tuple[str, ...]:
        return (self.scalar,) if self.scaled else ()

    def prepare(self, case: Case) -> Setup:
        inputs = self._inputs(case)
        sources = tuple(self._in_memory(case, matrix) for matrix in (inputs.source, inputs.second)[: self.inputs])
        output = self._in_memory(case, inputs.output)
        sizes = tuple(np.int32(size) for size in case.sizes.values())
        alpha = (np.float32(case.alpha),) if self.scaled else ()
        args = (*sizes, *alpha, *sources, output)
        return Setup(inputs.grid, inputs.block, 0, args, output, self._result(self.formula, inputs, case))

    def index(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return index

    def as_matrix(self, output: np.ndarray) -> np.ndarray:
        return output

    def guesses(self) -> Iterator[Guess]:
        inputs: dict[Case, MapInputs] = {}

        def result(slip: MapSlip, case: Case) -> np.ndarray:
            if case not in inputs:
                inputs[case] = self._inputs(case)
            return self._result(slip.formula, inputs[case], case)

        for slip in self.slips:
            yield Guess((slip.sentence,), partial(result, slip))

    def _result(self, formula: Formula, inputs: MapInputs, case: Case) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return self._in_memory(case, np.broadcast_to(formula(inputs), inputs.output.shape))

    def _in_memory(self, case: Case, matrix: np.ndarray) -> np.ndarray:
        """In float32; without rows where the learner knows of none."""
        array = np.array(matrix, np.float32, order="C")
        return array if "M" in case.sizes else array.reshape(-1)

    def _inputs(self, case: Case) -> MapInputs:
        M, N = case.sizes.get("M", 1), case.sizes["N"]
        source, second = (values(M, N, seed).astype(np.float64) for seed in (1, 2))
        rows, columns = (N, M) if self.transposed else (M, N)
        block = case.block or self.block
        down, across = self.block_tile or (block[1], block[0])
        grid = (blocks(N, across), blocks(M, down))
        output = np.full((rows, columns), np.nan)
        return MapInputs(
            source, second, output, np.arange(rows)[:, None], np.arange(columns)[None, :], case, block, grid
        )


def only(chosen: Callable[[MapInputs], np.ndarray], formula: Formula) -> Formula:
    """A formula where `chosen` says so, and elements that are not written elsewhere."""
    return lambda i: np.where(chosen(i), formula(i), i.output)
