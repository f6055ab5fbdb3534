"""Row-major matrices by cuBLAS from Python, through the binding that CuPy has: outside of this course, too.

python gemm_kernels/host/cublas.py

cuBLAS reads every matrix down its columns, so that a row-major matrix is its transposed one with the same ld. So ask
for C^T = B^T · A^T: give B first and A second, N before M, and leave op as you mean it.
"""

import sys

import cupy
import numpy as np
from cupy.cuda import device
from cupy_backends.cuda.libs import cublas

N_, T_ = 0, 1  # CUBLAS_OP_N, CUBLAS_OP_T
R_32F, R_16F, COMPUTE_32F, DEFAULT = 0, 2, 68, -1  # cudaDataType_t, cublasComputeType_t, cublasGemmAlgo_t


def ld(X):
    """Elements from one row to the next: the width of the array that X is a slice of, whether op is N or T."""
    assert X.strides[1] == X.itemsize, "cuBLAS knows no step between the elements of a row; copy the matrix"
    return X.strides[0] // X.itemsize


def sgemm(A, B, C, op_a=N_, op_b=N_, alpha=1.0, beta=0.0):
    """C = alpha · op(A) · op(B) + beta · C of float32."""
    M, N = C.shape
    K = A.shape[0] if op_a else A.shape[1]
    scale = np.array([alpha, beta], np.float32)  # on the host, read before the call returns
    cublas.sgemm(device.get_cublas_handle(), op_b, op_a, N, M, K, scale[:1].ctypes.data, B.data.ptr, ld(B),
                 A.data.ptr, ld(A), scale[1:].ctypes.data, C.data.ptr, ld(C))  # fmt: skip


def gemm_ex(A, B, C, alpha=1.0, beta=0.0):
    """C = alpha · A · B + beta · C of float16 with sums in float32, and C in float32: a type for each matrix."""
    (M, N), K = C.shape, A.shape[1]
    scale = np.array([alpha, beta], np.float32)
    cublas.gemmEx(
        device.get_cublas_handle(), N_, N_, N, M, K, scale[:1].ctypes.data, B.data.ptr, R_16F, ld(B), A.data.ptr, R_16F,
        ld(A), scale[1:].ctypes.data, C.data.ptr, R_32F, ld(C), COMPUTE_32F, DEFAULT,
    )  # fmt: skip


def batched(A, B, C, alpha=1.0, beta=0.0):
    """C[i] = alpha · A[i] · B[i] + beta · C[i] of float32: strides are in elements, from matrix to matrix."""
    (count, M, N), K = C.shape, A.shape[2]
    scale = np.array([alpha, beta], np.float32)
    stride_a, stride_b, stride_c = (X.strides[0] // X.itemsize for X in (A, B, C))
    cublas.sgemmStridedBatched(
        device.get_cublas_handle(), N_, N_, N, M, K, scale[:1].ctypes.data, B.data.ptr, ld(B[0]), stride_b,
        A.data.ptr, ld(A[0]), stride_a, scale[1:].ctypes.data, C.data.ptr, ld(C[0]), stride_c, count,
    )  # fmt: skip


def main():
    """The largest error of all calls."""
    random = np.random.default_rng(0)
    drawn = lambda *shape: random.uniform(-1, 1, shape).astype(np.float32)  # noqa: E731
    errors = []
    for op_a in (N_, T_):
        for op_b in (N_, T_):
            wide_a, wide_b, old = drawn(40, 43), drawn(40, 41), drawn(37, 21)
            a = wide_a[:29, :37] if op_a else wide_a[:37, :29]  # slices, whose ld is the width of the whole
            b = wide_b[:21, :29] if op_b else wide_b[:29, :21]
            A, B, C = cupy.asarray(wide_a)[: a.shape[0], : a.shape[1]], cupy.asarray(wide_b), cupy.asarray(old)
            sgemm(A, B[: b.shape[0], : b.shape[1]], C, op_a, op_b, 1.5, -0.5)
            exact = 1.5 * (a.T if op_a else a).astype(float) @ (b.T if op_b else b) - 0.5 * old
            errors.append(np.abs(cupy.asnumpy(C) - exact).max())
    a, b = drawn(37, 29).astype(np.float16), drawn(29, 21).astype(np.float16)
    C = cupy.full((37, 21), np.nan, np.float32)  # with beta = 0 it is not read
    gemm_ex(cupy.asarray(a), cupy.asarray(b), C)
    errors.append(np.abs(cupy.asnumpy(C) - a.astype(float) @ b.astype(float)).max())
    a, b, C = drawn(3, 37, 29), drawn(3, 29, 21), cupy.full((3, 37, 21), np.nan, np.float32)
    batched(cupy.asarray(a), cupy.asarray(b), C)
    errors.append(np.abs(cupy.asnumpy(C) - a.astype(float) @ b).max())
    return max(errors)


if __name__ == "__main__":
    error = main()
    print(f"largest error {error:.1e}")
    sys.exit(not error < 1e-4)
