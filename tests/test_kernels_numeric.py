"""Every kernel is right for every size, alpha and beta; run on the simulator."""

import functools

import numpy as np
import pytest

from gemm_kernels import LADDER, get
from helpers import simulator
from helpers.simulator import float32

# Smaller than any tile in some dimension, larger and no multiple of it in another; the first has rows of whole float4s.
SHAPES = [(68, 36, 20), (1, 1, 1), (33, 65, 19), (70, 131, 9)]
SMALL = {"BM": 32, "BN": 32, "BK": 8, "TM": 4, "TN": 4}
SMALLER = {  # a block tile that several blocks are needed for, at no great cost
    "naive": {"block_x": 8, "block_y": 16},
    "coalesced": {"block_x": 16, "block_y": 8},
    "shared_memory": {"T": 8},
    "block_tile_1d": {"BM": 32, "BN": 32, "BK": 8, "TM": 4},
    "warptiled": {"BM": 64, "BN": 32, "BK": 4, "WM": 32, "WN": 16, "TM": 4, "TN": 4, "STAGES": 3},
    "serpentine": {"BM": 32, "BN": 64, "BK": 4, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 4},
    "wide_copies": {"BM": 64, "BN": 64, "BK": 8, "WM": 32, "WN": 32, "TM": 4, "TN": 8, "STAGES": 2},
    "staged_epilogue": {"BM": 32, "BN": 32, "BK": 8, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 3},
    "rasterized": {"BM": 32, "BN": 32, "BK": 8, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "STAGES": 2},
    "split_k": {"BM": 32, "BN": 32, "BK": 16, "WM": 16, "WN": 32, "TM": 4, "TN": 4, "SLICES": 2, "STAGES": 3},
}
OWN_SOURCE = [kernel for kernel in LADDER if kernel.name == kernel.file]
NAMES = [kernel.name for kernel in OWN_SOURCE]


def smaller(name):
    kernel = get(name)
    return kernel.replace(**SMALLER.get(name, {key: SMALL[key] for key in SMALL if key in kernel.params}))


def random_matrices(M, N, K, seed=0):
    chance = np.random.default_rng(seed)
    return tuple(chance.standard_normal(shape).astype(np.float32) for shape in ((M, K), (K, N), (M, N)))


def launched(kernel, A, B, C, alpha=1.0, beta=0.0):
    """C after the kernel: a copy, so that the caller's stays what it was."""
    (M, K), N = A.shape, B.shape[1]
    function = simulator.RawModule(code=kernel.source, name_expressions=[kernel.entry]).get_function(kernel.entry)
    if kernel.shared_bytes > 48 * 1024:
        function.max_dynamic_shared_size_bytes = kernel.shared_bytes
    result = C.copy()
    scalars = (np.int32(M), np.int32(N), np.int32(K), np.float32(alpha))
    function(
        kernel.grid(M, N), kernel.block, (*scalars, A, B, np.float32(beta), result), shared_mem=kernel.shared_bytes
    )
    return result


def chain(A, B, ks):
    """The products of these k, added up as a chain of FP32 FMAs in this order."""
    acc = np.zeros((A.shape[0], B.shape[1]), np.float32)
    for k in ks:
        acc = float32.fma_ftz(*np.broadcast_arrays(A[:, k : k + 1], B[k : k + 1, :]), acc)
    return acc


def products_in_order(kernel, A, B):
    """A times B as the kernel adds it up: one chain in the order of k; with slices, the sum of one chain for each.

    A slice owns its part of every tile's k. The first tile is the short one if BK does not divide K.
    """
    K, slices = A.shape[1], kernel.params.get("SLICES", 1)
    if slices == 1:
        return chain(A, B, range(K))
    BK = kernel.params["BK"]
    short = K - (-(-K // BK) - 1) * BK
    in_tile = [k if k < short else (k - short) % BK for k in range(K)]
    owned = [[k for k in range(K) if in_tile[k] // (BK // slices) == one] for one in range(slices)]
    return functools.reduce(np.add, (chain(A, B, ks) for ks in owned))


@pytest.mark.parametrize("name", NAMES)
def test_c_has_the_bits_of_fmas_in_the_order_of_k_and_what_was_in_c_does_not_matter(name):
    kernel = smaller(name)
    for shape in SHAPES:
        A, B, C = random_matrices(*shape)
        C[:] = np.nan
        assert np.array_equal(launched(kernel, A, B, C), products_in_order(kernel, A, B)), shape


@pytest.mark.parametrize("name", NAMES)
def test_alpha_and_beta_scale_the_product_and_what_was_in_c(name):
    A, B, C = random_matrices(45, 38, 23, seed=1)
    expected = -1.75 * (A.astype(np.float64) @ B) + 0.3 * C.astype(np.float64)
    error = np.abs(launched(smaller(name), A, B, C, alpha=-1.75, beta=0.3) - expected).max()
    assert error < 1e-5 * np.sqrt(23)


@pytest.mark.parametrize("name", NAMES)
def test_the_defaults_compute_the_same_bits(name):
    A, B, C = random_matrices(130, 257, 19, seed=2)
    assert np.array_equal(launched(get(name), A, B, C), products_in_order(get(name), A, B))


@pytest.mark.parametrize("name", NAMES)
def test_nan_and_infinity_in_a_and_b_stay_in_their_row_and_column(name):
    """Nothing that a tile loads from beyond an edge may reach an element that has no business with it."""
    A, B, C = random_matrices(37, 41, 13, seed=3)
    A[36, 12], B[12, 40] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        result, expected = launched(smaller(name), A, B, C), A @ B
    assert np.array_equal(np.isfinite(result), np.isfinite(expected))
    assert np.isfinite(result[:36, :40]).all() and not np.isfinite(result[36]).any()


@pytest.mark.parametrize(
    "name", ["vectorized", "vectorized_ptx", "double_buffered", "ping_pong", "serpentine", "wide_copies", "split_k"]
)
def test_a_matrix_that_does_not_start_at_16_bytes_takes_the_scalar_path(name):
    A, B, C = random_matrices(36, 44, 20, seed=4)
    moved = [np.concatenate([[np.float32(7)], matrix.ravel()]).astype(np.float32) for matrix in (A, B, C)]
    kernel = smaller(name)
    opening = (
        kernel.source.index("{", kernel.source.index(kernel.function)) + 1
    )  # arrays start at 512 bytes: skip a float
    shifted = kernel.source[:opening] + "\n    A += 1, B += 1, C += 1;" + kernel.source[opening:]
    function = simulator.RawModule(code=shifted, name_expressions=[kernel.entry]).get_function(kernel.entry)
    scalars = (np.int32(36), np.int32(44), np.int32(20), np.float32(1))
    function(
        kernel.grid(36, 44),
        kernel.block,
        (*scalars, moved[0], moved[1], np.float32(0), moved[2]),
        shared_mem=kernel.shared_bytes,
    )
    assert moved[2][0] == 7
    assert np.array_equal(moved[2][1:].reshape(36, 44), products_in_order(kernel, A, B))
