"""The problem of most exercises: C = alpha·A·B + beta·C, on shapes that expose slips."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from helpers.exercises.framework import slips
from helpers.exercises.framework.problems import Case, Guess, Setup, blocks, values
from helpers.exercises.framework.slips import Slip, Tiles

ALPHA, BETA = 1.25, -0.5  # neither 0 nor 1, and exact in binary


def shapes_that_tell(BM: int, BN: int, BK: int) -> tuple[tuple[int, int, int], ...]:
    """(M, N, K) for tiles of BM × BN × BK: whole tiles, tails along each axis, one row, one column, one k, one element.

    No two sizes of a shape are equal unless both are 1, so that a wrong leading dimension shows.
    """

    def unlike(size: int, step: int, *others: int) -> int:
        """The size, or the next one by steps that is none of the others."""
        while size in others:
            size += step
        return size

    two = unlike(2 * BM, BM, BN)
    rows, columns, narrow = BM + 3, unlike(BN + 5, 1, BM + 3), unlike(BN - 1, -1, 2 * BM - 1)
    return (
        (BM, unlike(2 * BN, BN, BM), unlike(3 * BK, BK, BM, 2 * BN)),
        (two, BN, unlike(2 * BK, BK, two, BN)),
        (rows, columns, unlike(BK + 2, 1, rows, columns)),
        (2 * BM - 1, narrow, unlike(3 * BK + 1, 1, 2 * BM - 1, narrow)),
        (1, BN + 1, unlike(2 * BK - 1, 1, BN + 1)),
        (BM + 1, 1, unlike(2 * BK + 1, 1, BM + 1)),
        (BM - 1, unlike(BN + 2, 1, BM - 1), 1),
        (1, 1, 1),
    )


@dataclass(frozen=True)
class Gemm:
    """A matrix multiplication.

    entry: what the module is asked for.  block: threads along x, y (and z).  tile: (rows, columns) of C that a block
    computes.  tiles: for the slips, and for the shapes.  scaled: the parameters are (M, N, K, alpha, A, B, beta, C),
    else (M, N, K, A, B, C).  rows_along: the grid axis along which blocks lie below each other in C;
    "either" for a grid that covers C whichever it is.  column_major: all three matrices are.
    """

    entry: str
    block: tuple[int, ...]
    tile: tuple[int, int]
    tiles: Tiles = Tiles()
    scaled: bool = True
    rows_along: str = "y"
    column_major: bool = False
    shared_bytes: int = 0
    shapes: tuple[tuple[int, int, int], ...] = ()
    output: str = field(default="C", init=False)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Every shape; alpha = 1 and beta = 0 at first, both with a meaning later, alpha of either sign, and one case
        launched twice."""
        shapes = self.shapes or shapes_that_tell(
            self.tiles.BM or self.tile[0], self.tiles.BN or self.tile[1], self.tiles.BK or 8
        )
        cases = []
        for number, (M, N, K) in enumerate(shapes):
            sizes = {"M": M, "N": N, "K": K}
            if not self.scaled or number == 0:
                cases.append(Case(sizes))
            elif number == 2:
                cases.append(Case(sizes, ALPHA, BETA, launches=2))
            elif number == 4:
                cases.append(Case(sizes, -ALPHA, 1.0))
            else:
                cases.append(Case(sizes, ALPHA, BETA if number % 3 == 1 else 0.0))
        return tuple(cases)

    @property
    def scalars(self) -> tuple[str, ...]:
        return ("alpha", "beta") if self.scaled else ()

    def prepare(self, case: Case) -> Setup:
        inputs = self._inputs(case)
        expected = slips.result(slips.RIGHT, inputs, case.launches)
        A, B, C = (self._in_memory(matrix.astype(np.float32)) for matrix in (inputs.A, inputs.B, inputs.C))
        return self._setup(case, A, B, C, self._in_memory(expected))

    def _setup(self, case: Case, A: np.ndarray, B: np.ndarray, C: np.ndarray, expected: np.ndarray) -> Setup:
        M, N, K = (case.sizes[name] for name in "MNK")
        sizes = tuple(np.int32(size) for size in (M, N, K))
        scalars = (np.float32(case.alpha),), (np.float32(case.beta),)
        # Flat, if rows and columns of what NumPy sees are not the learner's: messages then speak of one index.
        arrays = tuple(array.reshape(-1) for array in (A, B, C)) if self.column_major else (A, B, C)
        args = (*sizes, *scalars[0], *arrays[:2], *scalars[1], arrays[2]) if self.scaled else (*sizes, *arrays)
        return Setup(self._grid(M, N), self.block, self.shared_bytes, args, C, expected)

    def unanswered(self, case: Case) -> Setup:
        """A launch of a case on matrices of zeros, which says nothing of what is right: for its time alone."""
        M, N, K = (case.sizes[name] for name in "MNK")
        A, B, C = (self._in_memory(np.zeros(shape, np.float32)) for shape in ((M, K), (K, N), (M, N)))
        return self._setup(case, A, B, C, C)

    def index(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return index[::-1] if self.column_major else index

    def as_matrix(self, output: np.ndarray) -> np.ndarray:
        return output.T if self.column_major else output

    def guesses(self) -> Iterator[Guess]:
        products: dict[tuple[str, Case], np.ndarray | None] = {}
        inputs: dict[Case, slips.Inputs] = {}

        def result(chosen: tuple[Slip, Slip, Slip], case: Case) -> np.ndarray | None:
            if case not in inputs:
                inputs[case] = self._inputs(case)
            key = chosen[0].name, case
            if key not in products:
                try:
                    products[key] = chosen[0].formula(inputs[case])  # type: ignore[call-arg]
                except slips.LeavesArrays:
                    products[key] = None
            P = products[key]
            return None if P is None else self._in_memory(slips.result(chosen, inputs[case], case.launches, P))

        for chosen in slips.combinations(self.scaled, not self.column_major):
            yield Guess(tuple(slip.sentence for slip in chosen if slip.sentence), partial(result, chosen))

    def _inputs(self, case: Case) -> slips.Inputs:
        M, N, K = (case.sizes[name] for name in "MNK")
        A, B = values(M, K, 1).astype(np.float64), values(K, N, 2).astype(np.float64)
        C = values(M, N, 3).astype(np.float64) if case.beta else np.full((M, N), np.nan)
        return slips.Inputs(A, B, C, case.alpha, case.beta, self.tiles)

    def _in_memory(self, matrix: np.ndarray) -> np.ndarray:
        """As it lies in memory: of a column-major matrix the columns are the rows of what NumPy sees."""
        return np.ascontiguousarray(matrix.T if self.column_major else matrix)

    def _grid(self, M: int, N: int) -> tuple[int, int]:
        if self.rows_along == "either":
            return tuple(blocks(max(M, N), size) for size in self.block[:2])  # type: ignore[return-value]
        down, across = blocks(M, self.tile[0]), blocks(N, self.tile[1])
        return (across, down) if self.rows_along == "y" else (down, across)


@dataclass(frozen=True)
class AnyTile(Gemm):
    """A multiplication whose launch decides how large its tiles are: a block of T × T threads computes T × T elements.

    It is launched with dynamic shared memory for a tile of A and one of B.  sides: T of the cases, in turns.
    """

    sides: tuple[int, ...] = (16, 8, 32)

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Whole tiles of every side, in two shapes each: in the first no two sizes are alike."""
        return tuple(
            Case({"M": a * T, "N": b * T, "K": c * T}, block=(T, T))
            for T in self.sides
            for a, b, c in ((1, 2, 3), (2, 3, 2))
        )

    def prepare(self, case: Case) -> Setup:
        T = case.block[0]
        grid = blocks(case.sizes["N"], T), blocks(case.sizes["M"], T)
        return replace(super().prepare(case), grid=grid, block=case.block, shared_bytes=2 * T * T * 4)

    def _inputs(self, case: Case) -> slips.Inputs:
        T = case.block[0]
        return replace(super()._inputs(case), tiles=Tiles(BM=T, BN=T, BK=T))
