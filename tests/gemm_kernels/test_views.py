"""Matrices that are views and start anywhere: every kernel that `fastest` may choose multiplies them right."""

import math

import numpy as np
import pytest

from gemm_kernels import choices, get
from helpers import gpu, run
from helpers.measure.problem import ALPHA, BETA, problem, verify

EVERY = [get(one.kernel, **one.params) for one in choices.of().candidates]
NAMES = list(dict.fromkeys(kernel.name for kernel in EVERY))
STARTS = ((1, 2, 3), (2, 3, 1), (3, 1, 2))  # of A, B and C: floats behind 16 bytes
SHAPES = ((37, 45, 19), (36, 44, 18), (35, 46, 21))  # rows of B odd, at 16 bytes, at 8; no k a multiple of 4
VECTORS = {"vector_matrix": ((1, 45, 190), (2, 44, 37)), "matrix_vector": ((37, 1, 190), (5, 2, 143))}


def smallest(name: str):
    """The candidate of this name with the smallest tile: several blocks are needed."""
    return min((kernel for kernel in EVERY if kernel.name == name), key=lambda kernel: math.prod(kernel.tile))


def view(matrix: np.ndarray, start: int) -> np.ndarray:
    """The same matrix, so many floats behind the start of a larger array, which is NaN elsewhere."""
    array = np.full(matrix.size + start + 5, np.nan, np.float32)
    there = array[start : start + matrix.size].reshape(matrix.shape)
    there[...] = matrix
    return there


@pytest.mark.parametrize("name", NAMES)
def test_views_that_start_anywhere_are_multiplied_right_and_nothing_beside_them_is_used(name, monkeypatch):
    """The simulator stops a launch that writes beside a view, or copies from an address that is not aligned."""
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "simulator")
    launch = run.load(smallest(name))
    for shape in VECTORS.get(name, SHAPES):
        A, B, C = problem(*shape)
        for start_a, start_b, start_c in STARTS:
            for beta in (0.0, BETA):
                result = view(C if beta else np.full_like(C, np.nan), start_c)
                launch(*shape, ALPHA, view(A, start_a), view(B, start_b), beta, result)
                verify(result, A, B, C if beta else None, ALPHA, beta)
