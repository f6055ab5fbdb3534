"""The inputs that every test, benchmark and notebook multiplies, and the reference that results are compared with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

# Neither is 0 or 1, so that a kernel that forgets one of them is wrong; |BETA| < 1, so that launching again and again
# on the same C converges instead of overflowing. Both are exact in float32.
ALPHA = 1.25
BETA = 0.5


class WrongResult(Exception):
    """A kernel's C is not alpha·A·B + beta·C; the message names the first element that shows it."""


def problem(M: int, N: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random row-major float32 matrices A (M, K), B (K, N), C (M, N) in [-1, 1), the same on every machine.

    Drawn in this order from `np.random.default_rng(seed)`. No symmetry and no two equal rows: a swapped index shows.
    """
    for name, size in (("M", M), ("N", N), ("K", K)):
        if size < 1:
            raise ValueError(f"{name} is {size}, expected at least 1.")
    random = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> np.ndarray:
        values = random.random((rows, columns), dtype=np.float32)
        values *= np.float32(2)
        values -= np.float32(1)
        return values

    return matrix(M, K), matrix(K, N), matrix(M, N)


def tolerance(K: int) -> float:
    """The largest `Reference.error` that a float32 kernel may have: 1e-6·√K.

    Rounding errors of a sum of K random products grow like √K, relative to the sum like √K·u. Float32 stays well under
    this in any order of summation; TF32 and BF16 do not, nor does one forgotten product of average size.
    """
    return 1e-6 * math.sqrt(K)


@dataclass(frozen=True)
class Reference:
    """A·B in float64, to compare many results with. Works on NumPy and on CuPy arrays: whatever A and B are.

    product: (M, N) float64.  typical: the size of a typical element of A·B, rms(A)·rms(B)·√K, which unlike the
    elements themselves does not vanish by cancellation.
    """

    product: Any
    typical: float
    K: int

    @classmethod
    def of(cls, A: Any, B: Any) -> Reference:
        """The reference of A (M, K) times B (K, N)."""
        K = A.shape[1]
        return cls(A.astype("float64") @ B.astype("float64"), _rms(A) * _rms(B) * math.sqrt(K), K)

    def error(self, result: Any, alpha: float = 1.0, beta: float = 0.0, C: Any = None) -> float:
        """max |result − (alpha·A·B + beta·C)|, in units of a typical element's size. NaN if the result has one.

        C is what the kernel found in its output array; with beta = 0 it is not looked at, as the kernel must not.
        """
        difference, typical = self._difference(result, alpha, beta, C)
        return float(difference.max()) / typical

    def check(self, result: Any, alpha: float = 1.0, beta: float = 0.0, C: Any = None) -> float:
        """The error, or WrongResult with the element that is furthest off, what was expected and what was found."""
        difference, typical = self._difference(result, alpha, beta, C)
        error = float(difference.max()) / typical
        if error <= tolerance(self.K):
            return error
        rows, columns = result.shape
        unwritten = result != result  # only NaN differs from itself
        nans = int(unwritten.sum())
        if nans:
            row, col = divmod(int(unwritten.argmax()), columns)
            raise WrongResult(
                f"C[{row}, {col}] is NaN, as are {nans} of {rows * columns} elements: no thread wrote them, or a "
                "thread read what it should not (C although beta is 0, or memory past the end of A or B)."
            )
        row, col = divmod(int(difference.argmax()), columns)
        wrong = int((difference > tolerance(self.K) * typical).sum())
        expected = alpha * float(self.product[row, col]) + (beta * float(C[row, col]) if beta else 0.0)
        raise WrongResult(
            f"C[{row}, {col}] is {float(result[row, col]):.7g}, expected {expected:.7g}; {wrong} of {rows * columns} "
            f"elements are off. The error is {error:.1e} of a typical element; at K = {self.K} float32 rounding "
            f"explains {tolerance(self.K):.1e}."
        )

    def _difference(self, result: Any, alpha: float, beta: float, C: Any) -> tuple[Any, float]:
        if result.shape != self.product.shape:
            raise WrongResult(f"C has shape {result.shape}, expected (M, N) = {self.product.shape}.")
        expected = alpha * self.product
        typical = abs(alpha) * self.typical
        if beta != 0.0:
            expected += beta * C.astype("float64")
            typical += abs(beta) * _rms(C)
        expected -= result
        return abs(expected), typical or 1.0


def _rms(matrix: Any) -> float:
    return math.sqrt(float((matrix.astype("float64") ** 2).mean()))


def verify(result: Any, A: Any, B: Any, C: Any = None, alpha: float = 1.0, beta: float = 0.0) -> float:
    """The error of one result against float64 (see `Reference.error`), or WrongResult with a sentence."""
    return Reference.of(A, B).check(result, alpha, beta, C)
