"""A product of 8-bit numbers by NumPy: which numbers a format has under a scale, and its error by granularity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from gpusim.arithmetic import float8

INT8, FP8 = "INT8", "FP8 (E4M3)"
LARGEST = {INT8: 127.0, FP8: 448.0}  # what a scale makes of the largest number
TENSOR, COLUMN, GROUP = "one scale", "one per row and column", "one per 32 along k"
GRANULARITIES = (TENSOR, COLUMN, GROUP)
GROUP_SIZE = 32
ROWS, DEPTH, COLUMNS = 64, 512, 32
FACTOR, EVERY = 40.0, 8  # times as large, and which columns of B are


@dataclass(frozen=True, eq=False)
class Operands:
    """A (ROWS, DEPTH) and B (DEPTH, COLUMNS) float64, such as layers of networks have: some columns of B, and some
    stretches of A along k, are much larger than the others."""

    A: np.ndarray
    B: np.ndarray

    @property
    def small(self) -> np.ndarray:
        """Bool, of B's columns: those of usual size."""
        return np.arange(self.B.shape[1]) % EVERY != 0


@cache
def operands(factor: float = FACTOR, seed: int = 18) -> Operands:
    """Random numbers. factor: how many times as large the large ones are."""
    generator = np.random.default_rng(seed)
    A, B = generator.standard_normal((ROWS, DEPTH)), 0.05 * generator.standard_normal((DEPTH, COLUMNS))
    B[:, ::EVERY] *= factor
    A[:, DEPTH // 2 : DEPTH // 2 + GROUP_SIZE // 2] *= factor / 4
    return Operands(A, B)


def rounded(scaled: np.ndarray, form: str) -> np.ndarray:
    """The nearest numbers of a format."""
    if form == INT8:
        return np.clip(np.rint(scaled), -LARGEST[INT8], LARGEST[INT8])
    return float8.to_float32(float8.from_float(scaled.astype(np.float32), "e4m3"), "e4m3").astype(np.float64)


def scales(matrix: np.ndarray, form: str, granularity: str, along_k: int) -> np.ndarray:
    """What each element is divided by, of the matrix's shape: the largest of those that share it becomes LARGEST.

    along_k: the axis along which products are added.
    """
    size = np.abs(matrix)
    if granularity == TENSOR:
        most = np.full_like(size, size.max())
    elif granularity == COLUMN:
        most = np.broadcast_to(size.max(axis=along_k, keepdims=True), size.shape)
    else:
        starts = np.arange(0, matrix.shape[along_k], GROUP_SIZE)
        most = np.repeat(np.maximum.reduceat(size, starts, axis=along_k), GROUP_SIZE, axis=along_k)
    return most / LARGEST[form]


def stored(matrix: np.ndarray, form: str, granularity: str, along_k: int) -> np.ndarray:
    """What is left of a matrix in a format, scaled back."""
    scale = scales(matrix, form, granularity, along_k)
    return rounded(matrix / scale, form) * scale


def error(given: Operands, form: str, granularity: str) -> float:
    """The root mean square of the product's error, relative to that of the product, over the small columns."""
    product = stored(given.A, form, granularity, 1) @ stored(given.B, form, granularity, 0)
    right = given.A @ given.B
    small = given.small
    return float(np.sqrt(((product - right)[:, small] ** 2).mean() / (right[:, small] ** 2).mean()))


@cache
def errors(factor: float = FACTOR) -> Mapping[str, Mapping[str, float]]:
    """form -> granularity -> error."""
    given = operands(factor)
    return {form: {granularity: error(given, form, granularity) for granularity in GRANULARITIES} for form in LARGEST}


def numbers_within(form: str, scale: float, most: float) -> np.ndarray:
    """All numbers of a format under a scale, from -most to most."""
    if form == INT8:
        every = np.arange(-127.0, 128.0)
    else:
        every = np.unique(float8.to_float32(np.arange(256, dtype=np.uint8), "e4m3").astype(np.float64))
        every = every[np.isfinite(every)]
    every = every * scale
    return every[np.abs(every) <= most]
