"""What cuBLASLt offers for a product: every algorithm that its heuristic names, as a launch. Needs a GPU.

`cublasSgemm` chooses one algorithm by itself; here all are tried, so that a kernel is compared with the best of them.
The library is the one that CuPy's cuBLAS has loaded, called through ctypes: CuPy has no binding of its own for it.
https://docs.nvidia.com/cuda/cublas/#using-the-cublaslt-api
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from functools import cache, partial
from pathlib import Path
from typing import Any

Launch = Callable[..., None]  # (M, N, K, alpha, A, B, beta, C)

COMPUTE_32F, REAL_32F = 68, 0  # CUBLAS_COMPUTE_32F: no TF32; CUDA_R_32F
REAL_8F_E4M3 = 28  # CUDA_R_8F_E4M3
TRANSPOSE_A, TRANSPOSED = 3, 1  # CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T
MAX_WORKSPACE_BYTES = 1  # CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
WORKSPACE_BYTES = 32 * 2**20
MOST = 64  # algorithms to ask for
SUCCESS, NOT_SUPPORTED = 0, 15  # of cublasStatus_t


class NoCublasLt(Exception):
    """cuBLASLt could not be loaded or refused a call; the message says what, and what to try."""


class _Result(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", c_uint64 * 8),
        ("workspace_bytes", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


@cache
def _library() -> Any:
    """The library, loaded. NoCublasLt if CuPy's cuBLAS has not brought it along."""
    import cupy

    cupy.cuda.device.get_cublas_handle()  # which loads it
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    found = next((word for word in maps if "libcublasLt" in word), None)
    if found is None:
        raise NoCublasLt(
            "cuBLASLt is not among the libraries that CuPy has loaded: set up again with `make setup GPU=yes`."
        )
    return ctypes.CDLL(found)


def _call(name: str, *arguments: Any) -> None:
    status = getattr(_library(), name)(*arguments)
    if status:
        raise NoCublasLt(f"{name} answered with status {status}; cuBLAS's documentation lists them as cublasStatus_t.")


@contextlib.contextmanager
def algorithms(M: int, N: int, K: int) -> Iterator[list[Launch]]:
    """Inside `with`: all algorithms that cuBLASLt's heuristic offers for row-major C = alpha·A·B + beta·C in FP32.

    One launch for each, the best first by the heuristic, on CuPy's current stream; they can be captured into a graph.
    cuBLASLt goes down columns: read so, our arrays are transposed, and it computes Cᵀ = Bᵀ·Aᵀ.
    """
    with _algorithms(M, N, K, [_layout(*sizes) for sizes in ((N, K, N), (K, M, K), (N, M, N))]) as found:
        yield found


@contextlib.contextmanager
def algorithms_of_eight_bits(M: int, N: int, K: int) -> Iterator[list[Launch]]:
    """The same for A and B in E4M3, as bytes, and C in FP32. B lies column by column: an array (N, K).

    That is the one order in which cuBLASLt takes 8-bit floats. Both scales are 1.
    """
    layouts = [_layout(K, N, K, REAL_8F_E4M3), _layout(K, M, K, REAL_8F_E4M3), _layout(N, M, N)]
    with _algorithms(M, N, K, layouts, transposed=True) as found:
        yield found


@contextlib.contextmanager
def _algorithms(M: int, N: int, K: int, layouts: list[c_void_p], transposed: bool = False) -> Iterator[list[Launch]]:
    """layouts: of B, A and C, column-major.  transposed: whether B lies in the other order than A and C."""
    import cupy

    handle, operation, preference = c_void_p(), c_void_p(), c_void_p()
    _call("cublasLtCreate", byref(handle))
    _call("cublasLtMatmulDescCreate", byref(operation), c_int(COMPUTE_32F), c_int(REAL_32F))
    if transposed:
        attribute = byref(c_int(TRANSPOSED)), c_size_t(4)
        _call("cublasLtMatmulDescSetAttribute", operation, c_int(TRANSPOSE_A), *attribute)
    b, a, c = layouts
    _call("cublasLtMatmulPreferenceCreate", byref(preference))
    workspace = cupy.empty(WORKSPACE_BYTES, "uint8")

    def results() -> list[_Result]:
        most, found, count = c_uint64(WORKSPACE_BYTES), (_Result * MOST)(), c_int()
        _call("cublasLtMatmulPreferenceSetAttribute", preference, c_int(MAX_WORKSPACE_BYTES), byref(most), c_size_t(8))
        status = _library().cublasLtMatmulAlgoGetHeuristic(
            handle, operation, b, a, c, c, preference, c_int(MOST), found, byref(count)
        )
        if status not in (SUCCESS, NOT_SUPPORTED):
            raise NoCublasLt(f"cublasLtMatmulAlgoGetHeuristic answered with status {status} at {M} × {N} × {K}.")
        return found[: count.value if status == SUCCESS else 0]

    def launch(M: int, N: int, K: int, alpha: float, A: Any, B: Any, beta: float, C: Any, *, algorithm: Any) -> None:
        left, right, out = (c_void_p(array.data.ptr) for array in (B, A, C))
        _call(
            "cublasLtMatmul", handle, operation, byref(c_float(alpha)), left, b, right, a, byref(c_float(beta)), out, c,
            out, c, byref(algorithm), c_void_p(workspace.data.ptr), c_size_t(WORKSPACE_BYTES),
            c_void_p(cupy.cuda.get_current_stream().ptr),
        )  # fmt: skip

    try:
        yield [partial(launch, algorithm=result.algorithm) for result in results() if result.state == SUCCESS]
    finally:
        cupy.cuda.Device().synchronize()  # handle and workspace are in use until then
        _call("cublasLtMatmulPreferenceDestroy", preference)
        for layout in layouts:
            _call("cublasLtMatrixLayoutDestroy", layout)
        _call("cublasLtMatmulDescDestroy", operation)
        _call("cublasLtDestroy", handle)


def _layout(rows: int, columns: int, distance: int, type_: int = REAL_32F) -> c_void_p:
    """A column-major matrix whose columns lie so many elements apart."""
    found = c_void_p()
    _call(
        "cublasLtMatrixLayoutCreate",
        byref(found),
        c_int(type_),
        c_uint64(rows),
        c_uint64(columns),
        c_int64(distance),
    )
    return found
