"""Strassen's algorithm at a size of the course: operations by levels, what they could save, and the error.

`rows(multiply)` is the table of notebook 14, whose cell defines multiply(A, B, levels).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim import devices
from helpers.pictures import precisions
from helpers.pictures.ladder.facts import ladder_of

HEAD = (
    "levels",
    "10⁹ products",
    "10⁹ additions",
    "FP32 saves ms",
    "BF16 saves ms",
    "bytes cost ms",
    "error",
    "of eight",
)
ADDED = 18  # matrices of half the size that one level adds or subtracts
ERRORS_AT = 256  # M = N = K of the products that are run
Multiply = Callable[[np.ndarray, np.ndarray, int], np.ndarray]  # A, B, levels


def counted(size: int, levels: int) -> tuple[int, int, int]:
    """Multiplications and additions of size³ with so many levels, and how many additions are of whole matrices."""
    products, edge = 7**levels, size >> levels
    whole = sum(ADDED * 7**level * (size >> level + 1) ** 2 for level in range(levels))
    return products * edge**3, products * edge**2 * (edge - 1) + whole, whole


def rows(multiply: Multiply, size: int = 4096) -> tuple[tuple[str, ...], ...]:
    """For 0 to 4 levels: operations in 10⁹, ms saved in FP32 and BF16, ms of the additions' bytes, and two errors.

    Saved is the time of the missing operations at the recorded speed of autotuned, or of cuBLAS in BF16; the bytes are
    three floats for each addition of whole matrices, from main memory. The errors, in float32 at ERRORS_AT, are those
    of `multiply` and of the ordinary sum in as many pieces.
    """
    gpu = devices.DEFAULT
    in_fp32 = ladder_of(gpu.name, "ladder").at((size,) * 3)["autotuned"].gflops
    speeds = in_fp32, 1000 * precisions.by_format(gpu.name, size)["BF16"]  # GFLOPS
    A, B = np.random.default_rng(0).uniform(-1, 1, (2, ERRORS_AT, ERRORS_AT)).astype(np.float32)
    exact, rows_ = A.astype(np.float64) @ B, []
    for levels in range(5):
        multiplied, added, whole = counted(size, levels)
        ms = [(2 * size**3 - multiplied - added) / speed / 1e6 for speed in speeds]
        ms.append(3 * 4 * whole / gpu.memory_gb_per_s / 1e6)
        piece = ERRORS_AT >> levels
        eight = sum(multiply(A[:, k : k + piece], B[k : k + piece], 0) for k in range(0, ERRORS_AT, piece))
        errors = [f"{abs(C - exact).max():.1e}" for C in (multiply(A, B, levels), eight)]
        counts = [f"{count / 1e9:.1f}" for count in (multiplied, added)]
        rows_.append((str(levels), *counts, *(f"{value:.2f}" for value in ms), *errors))
    return tuple(rows_)
