"""The naive kernel in Numba's CUDA simulator: `python numba_simulator.py SIZE BLOCK_X BLOCK_Y REPEATS` prints JSON.

A script of its own, because it is run by whichever Python has Numba, with NUMBA_ENABLE_CUDASIM=1.
"""

import json
import sys
import time

import numba
import numpy as np
from numba import cuda


@cuda.jit
def sgemm_naive(M, N, K, alpha, A, B, beta, C):
    """One thread computes one element of C, and threadIdx.x is the row index, as in gemm_kernels/cuda/naive.cu."""
    row = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    col = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if row < M and col < N:
        acc = np.float32(0)
        for k in range(K):
            acc += A[row, k] * B[k, col]
        C[row, col] = alpha * acc if beta == 0 else alpha * acc + beta * C[row, col]


def main(size: int, block_x: int, block_y: int, repeats: int) -> None:
    """Time launches, but for the first one, which compiles, and check the last one's C."""
    rng = np.random.default_rng(size)
    A, B, C = (rng.standard_normal((size, size), np.float32) for _ in range(3))
    grid = (-(-size // block_x), -(-size // block_y))
    milliseconds = []
    for _ in range(1 + repeats):
        started = time.perf_counter()
        sgemm_naive[grid, (block_x, block_y)](size, size, size, np.float32(1), A, B, np.float32(0), C)
        milliseconds.append(1e3 * (time.perf_counter() - started))
    assert np.allclose(C, A @ B, atol=1e-3), "Numba's simulator computed a wrong C"
    print(json.dumps({"milliseconds": milliseconds[1:], "version": numba.__version__}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
