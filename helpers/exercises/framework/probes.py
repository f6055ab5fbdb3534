"""Which products a kernel adds up: found by launching it on matrices that say where each number comes from.

A sum is linear in A and in B. So with ones everywhere a kernel counts its products; with the row's number in every
element of A, and ones in B, it adds up the rows that it reads; with ones in row k of B alone only the products with
that k are left. All numbers are small and whole, so that they are exact as float16 and TF32, too. Behind each matrix
lies room, numbered as its rows would go on, so that a kernel that leaves its arrays can be asked as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpusim.errors import SimulatorError
from helpers.exercises.framework import problems, trial
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.problems import Case, Setup

if TYPE_CHECKING:
    from gpusim import Kernel

ROOM = 8  # times the size of A and of B
OLD = 4096.0  # what C holds before, where it is looked for afterwards
DIGIT, DIGITS = 4, 5  # ks are counted in numbers of base 4, five of them in a launch: 4 ** 5 is exact as float16
MOST_K = 64


class CannotProbe(Exception):
    """The kernel does not run to its end on a probe, or its C is no sum of products."""


@dataclass(frozen=True, eq=False)
class Taken:
    """The product with one k, for each element of C.

    k: of the matrix that has ones in that row or column alone.  count: how often.  row, col: of the other matrix's
    element, where the count is 1.
    """

    k: int
    count: np.ndarray
    row: np.ndarray
    col: np.ndarray


@dataclass(frozen=True, eq=False)
class Probe:
    """A kernel to be asked in a launch of a case's shape, alpha = 1 and beta = 0.

    What is returned has the shape of C as the learner sees it, (M, N).
    """

    kernel: Kernel
    problem: Gemm
    case: Case

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, N, K"""
        return tuple(self.case.sizes[name] for name in "MNK")  # type: ignore[return-value]

    @cached_property
    def count(self) -> np.ndarray:
        """Products in each element of C, NaN in those that no thread writes."""
        return np.where(self.unwritten, np.nan, self._ones)

    @cached_property
    def _ones(self) -> np.ndarray:
        return self._launch(*self._of_ones())

    @cached_property
    def with_beta(self) -> np.ndarray:
        """What `count` is with beta = 1, where C is 0 before the launch."""
        return self._launch(*self._of_ones(), beta=1.0)

    @cached_property
    def old_C(self) -> np.ndarray:
        """How often the C of before the launch is in each element: 1 where it is not written."""
        return (self._launch(*self._of_ones(), before=OLD) - self._ones) / OLD

    @cached_property
    def spoilt(self) -> np.ndarray:
        """Bool (M, N): elements that are NaN afterwards because C was NaN before, and that are written."""
        left = self._launch(*self._of_ones(), before=np.nan)
        return np.isnan(left) & ~self.unwritten

    @cached_property
    def unwritten(self) -> np.ndarray:
        """Bool (M, N): elements that are left as they were, whatever they were."""
        return (self.old_C == 1) & (self._ones == 0)

    @cached_property
    def degrees(self) -> tuple[float, float]:
        """How often A, and B, is a factor of each product: 1 and 1. CannotProbe where C is no sum of products."""
        A, B = self._of_ones()
        written = ~self.unwritten & (self._ones != 0)
        if not written.any():
            raise CannotProbe
        probed = []
        for doubled in ((2 * A, B), (A, 2 * B)):
            factors = np.unique((self._launch(*doubled) / np.where(self._ones == 0, 1, self._ones))[written])
            if len(factors) != 1 or factors[0] not in (1, 2, 4):
                raise CannotProbe
            probed.append(float(np.log2(factors[0])))
        return probed[0], probed[1]

    @cached_property
    def values(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A (ROOM · M, K) and B (ROOM · K, N) of unlike numbers, and the C (M, N) that the kernel makes of them."""
        M, N, K = self.shape
        A, B = (
            problems.values(*shape, seed).astype(float) for shape, seed in (((ROOM * M, K), 11), ((ROOM * K, N), 12))
        )
        return A, B, self._launch(A, B)

    def _of_ones(self) -> tuple[np.ndarray, np.ndarray]:
        M, N, K = self.shape
        return np.ones((ROOM * M, K)), np.ones((ROOM * K, N))

    def ks(self, of_A: bool) -> np.ndarray | None:
        """How often each k of A, or of B, is in the sum of each element: (M, N, K); None where one is in it too often
        to be counted, or in part."""
        M, N, K = self.shape
        if K > MOST_K:
            return None
        counts = np.zeros((M, N, K))
        for first in range(0, K, DIGITS):
            chosen = range(first, min(first + DIGITS, K))
            weights = np.zeros(ROOM * K)
            weights[list(chosen)] = [float(DIGIT) ** (k - first) for k in chosen]
            if of_A:
                left = self._launch(np.tile(weights[:K], (ROOM * M, 1)), np.ones((ROOM * K, N)))
            else:
                left = self._launch(np.ones((ROOM * M, K)), np.tile(weights[:, None], (1, N)))
            for k in chosen:
                counts[:, :, k] = left % DIGIT
                left = left // DIGIT
            if left.any():
                return None
        return None if (counts % 1).any() else counts

    def of_A(self, k: int) -> Taken:
        """The elements of A that row k of B is multiplied by."""
        M, N, K = self.shape
        B = np.zeros((ROOM * K, N))
        B[k] = 1
        rows, cols = np.broadcast_arrays(np.arange(ROOM * M)[:, None], np.arange(K)[None, :])
        return Taken(k, *(self._launch(A.astype(float), B) for A in (np.ones((ROOM * M, K)), rows, cols)))

    def of_B(self, k: int) -> Taken:
        """The elements of B that column k of A is multiplied by."""
        M, N, K = self.shape
        A = np.zeros((ROOM * M, K))
        A[:, k] = 1
        rows, cols = np.broadcast_arrays(np.arange(ROOM * K)[:, None], np.arange(N)[None, :])
        return Taken(k, *(self._launch(A, B.astype(float)) for B in (np.ones((ROOM * K, N)), rows, cols)))

    def _launch(self, A: np.ndarray, B: np.ndarray, before: float = 0, beta: float = 0) -> np.ndarray:
        """C, full of `before` until the launch, given A (ROOM · M, K) and B (ROOM · K, N), of which all but the
        first lie behind the matrices."""
        case = Case(self.case.sizes, beta=beta, block=self.case.block)
        setup = self.problem.prepare(case)
        position = setup.position
        C = np.full(2 * setup.output.size, before, np.float32)
        arrays = iter((_in_memory(A, self.problem), _in_memory(B, self.problem)))
        args = tuple(
            C if number == position else next(arrays) if isinstance(arg, np.ndarray) else arg
            for number, arg in enumerate(setup.args)
        )
        try:
            trial.record(self.kernel, Setup(setup.grid, setup.block, setup.shared_bytes, args, C, C), blocks=())
        except SimulatorError as error:
            raise CannotProbe from error
        if np.isfinite(before) and not np.isfinite(C).all():
            raise CannotProbe
        return self.problem.as_matrix(C[: setup.output.size].reshape(setup.output.shape)).astype(np.float64)


def _in_memory(matrix: np.ndarray, problem: Gemm) -> np.ndarray:
    """A matrix with the room behind it, as one line of floats. Column by column there is none: its rows would lie in
    the room's place."""
    if problem.column_major:
        matrix = matrix[: len(matrix) // ROOM].T
    return np.ascontiguousarray(matrix, np.float32).reshape(-1)
