"""What the innermost of the three loops touches: elements of A, B and C, and the cache lines that hold them.

C[row, col] += A[row, k] * B[k, col] may be computed with its three loops in any order. From one iteration of the
innermost loop to the next only that loop's index changes, so it alone decides how far the next element is. Matrices are
row-major, elements are 4-byte floats, and a cache line is 64 bytes (on x86-64 and most arm64 CPUs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpusim.devices import FLOAT_BYTES

CACHE_LINE_BYTES = 64
STEPS = CACHE_LINE_BYTES // FLOAT_BYTES  # iterations that lines are counted over: as many as a line has floats
LOOPS = ("k", "row", "col")
INDICES: Mapping[str, tuple[str, str]] = {"A": ("row", "k"), "B": ("k", "col"), "C": ("row", "col")}


def matrix_shape(array: str, M: int, N: int, K: int) -> tuple[int, int]:
    """(rows, columns) of "A", "B" or "C"."""
    sizes = {"row": M, "col": N, "k": K}
    rows, columns = (sizes[index] for index in INDICES[array])
    return rows, columns


def stride(array: str, innermost: str, M: int, N: int, K: int) -> int:
    """Floats from one iteration of the innermost loop to the next: 0, 1 (the next column) or a whole row."""
    if innermost not in LOOPS:
        raise ValueError(f"There is no loop {innermost!r}; the loops run over {', '.join(LOOPS)}.")
    row_index, column_index = INDICES[array]
    columns = matrix_shape(array, M, N, K)[1]
    return {row_index: columns, column_index: 1}.get(innermost, 0)


@dataclass(frozen=True, eq=False)
class Walk:
    """What the innermost loop touches of one matrix.

    touched: (rows, columns) bool, the elements.  entered: (rows, columns) bool, all elements of their cache lines.
    lines: how many lines those are.
    """

    array: str
    touched: np.ndarray
    entered: np.ndarray
    lines: int


def walk(array: str, innermost: str, steps: int, M: int, N: int, K: int) -> Walk:
    """The first iterations of the innermost loop, all other indices 0. Matrices begin where a cache line begins.

    Raises ValueError if the loop has fewer iterations.
    """
    sizes = {"row": M, "col": N, "k": K}
    stride(array, innermost, M, N, K)
    if not 1 <= steps <= sizes[innermost]:
        raise ValueError(f"The loop over {innermost} has {sizes[innermost]} iterations, but {steps} were asked for.")
    shape = matrix_shape(array, M, N, K)
    index = {loop: np.zeros(steps, np.int64) for loop in LOOPS}
    index[innermost] = np.arange(steps)
    row, column = (index[name] for name in INDICES[array])
    offset = row * shape[1] + column
    line = offset * FLOAT_BYTES // CACHE_LINE_BYTES
    every = np.arange(shape[0] * shape[1])
    touched = np.isin(every, offset).reshape(shape)
    entered = np.isin(every * FLOAT_BYTES // CACHE_LINE_BYTES, line).reshape(shape)
    return Walk(array, touched, entered, len(np.unique(line)))


def lines(innermost: str) -> dict[str, int]:
    """Cache lines of "A", "B" and "C" that STEPS iterations of the innermost loop touch, in matrices of any size whose
    rows are whole lines."""
    sizes = dict.fromkeys("MNK", STEPS)
    return {array: walk(array, innermost, STEPS, **sizes).lines for array in INDICES}
