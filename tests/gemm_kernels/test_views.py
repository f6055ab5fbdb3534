"""Matrices that are views and start anywhere: every kernel that `fastest` may choose multiplies them right."""

import math

import numpy as np
import pytest

from gemm_kernels import choices
from helpers import gpu, run
from helpers.measure.problem import ALPHA, BETA, problem, verify
from helpers.tools.measuring import choosing

EVERY = choosing.candidates(choices.of().sms)
NAMES = list(dict.fromkeys(kernel.name for kernel in EVERY))
STARTS = ((1, 2, 3), (2, 3, 0), (3, 0, 1), (0, 1, 2))  # of A, B and C, one for each shape: floats behind 16 bytes
SHAPES = ((37, 45, 19), (36, 44, 18), (36, 44, 21), (35, 46, 22))  # rows of B odd, at 16 bytes, at 8
VECTORS = {
    "vector_matrix": ((1, 45, 190), (2, 44, 37), (1, 44, 81), (1, 46, 81)),
    "matrix_vector": ((37, 1, 190), (5, 2, 143), (9, 1, 80), (9, 1, 81)),
}


def smallest(name: str):
    """The candidate of this name with the smallest tile: several blocks are needed."""
    return min((kernel for kernel in EVERY if kernel.name == name), key=lambda kernel: math.prod(kernel.tile))


def view(matrix: np.ndarray, start: int) -> np.ndarray:
    """The same matrix, so many floats behind the start of a larger array, which is NaN elsewhere."""
    array = np.full(matrix.size + start + 5, np.nan, np.float32)
    there = array[start : start + matrix.size].reshape(matrix.shape)
    there[...] = matrix
    return there


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("name", NAMES)
def test_views_from_anywhere_are_right_and_use_nothing_beside(name, monkeypatch):
    """The simulator stops a launch that writes beside a view, or copies from an address that is not aligned."""
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "simulator")
    launch = run.load(smallest(name))
    for shape, (start_a, start_b, start_c) in zip(VECTORS.get(name, SHAPES), STARTS, strict=True):
        A, B, C = problem(*shape)
        for beta in (0.0, BETA):
            result = view(C if beta else np.full_like(C, np.nan), start_c)
            launch(*shape, ALPHA, view(A, start_a), view(B, start_b), beta, result)
            verify(result, A, B, C if beta else None, ALPHA, beta)


@pytest.mark.parametrize(
    "kernel", [kernel for kernel in EVERY if kernel.name == "rank_k"], ids=lambda kernel: kernel.entry
)
def test_rank_k_candidates_are_right_with_few_and_many_k(kernel, monkeypatch):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "simulator")
    launch, depth = run.load(kernel), kernel.params["BK"]
    for shape in ((131, 67, 19), (65, 68, depth), (70, 45, depth + 3)):
        A, B, C = problem(*shape)
        result = C.copy()
        launch(*shape, ALPHA, A, B, BETA, result)
        verify(result, A, B, C, ALPHA, BETA)
