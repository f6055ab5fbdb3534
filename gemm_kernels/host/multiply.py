"""The same kernel from Python, outside of this course: all it needs is CuPy, and a file with the kernel.

python gemm_kernels/host/multiply.py my/warp_tile.cu
"""

import sys
from pathlib import Path

import cupy
import numpy as np

M, N, K = 256, 192, 128  # multiples of the tile
TILE_ROWS, TILE_COLUMNS, BLOCK = 64, 64, (256,)

random = np.random.default_rng(0)
A, B = (random.uniform(-1, 1, shape).astype(np.float32) for shape in ((M, K), (K, N)))
kernel = cupy.RawKernel(Path(sys.argv[1]).read_text(), "sgemm", options=("-std=c++17",))

device_A, device_B, device_C = cupy.asarray(A), cupy.asarray(B), cupy.full((M, N), np.nan, np.float32)
sizes = (np.int32(M), np.int32(N), np.int32(K))  # CuPy would pass Python's whole numbers as 64 bits
kernel((N // TILE_COLUMNS, M // TILE_ROWS), BLOCK, (*sizes, device_A, device_B, device_C))
C = cupy.asnumpy(device_C)  # waits for the kernel

error = np.abs(C - A.astype(np.float64) @ B.astype(np.float64)).max()
print(f"largest error {error:.1e}")
sys.exit(not error < 1e-5 * K**0.5)
