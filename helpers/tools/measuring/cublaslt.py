"""What cuBLASLt offers for a product: every algorithm that its heuristic names, as a launch, or every one that it has.

`cublasSgemm` chooses one algorithm by itself; here all are tried, so that a kernel is compared with the best of them.
Needs a GPU.
The library is the one that CuPy's cuBLAS has loaded, called through ctypes: CuPy has no binding of its own for it.
https://docs.nvidia.com/cuda/cublas/#using-the-cublaslt-api
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

Launch = Callable[..., None]  # (M, N, K, alpha, A, B, beta, C)

COMPUTE_32F, REAL_32F = 68, 0  # CUBLAS_COMPUTE_32F: no TF32; CUDA_R_32F
REAL_8F_E4M3 = 28  # CUDA_R_8F_E4M3
TRANSPOSE_A, EPILOGUE, BIAS_POINTER = 3, 7, 8  # CUBLASLT_MATMUL_DESC_TRANSA, …
TRANSPOSED, GELU_BIAS = 1, 36  # CUBLAS_OP_T, CUBLASLT_EPILOGUE_GELU_BIAS
MAX_WORKSPACE_BYTES = 1  # CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
WORKSPACE_BYTES = 32 * 2**20
MOST = 64  # algorithms to ask for
SUCCESS, NOT_SUPPORTED = 0, 15  # of cublasStatus_t
MOST_IDS = 512
CAN_SPLIT_K, REDUCTIONS, CAN_SWIZZLE, TILES, LAST_OPTION, STAGES = 0, 1, 2, 6, 7, 13  # CUBLASLT_ALGO_CAP_…
SET_TILE, SET_SPLIT_K, SET_REDUCTION, SET_SWIZZLE, SET_OPTION, SET_STAGES = 1, 2, 3, 4, 5, 6  # …_ALGO_CONFIG_…
SPLITS = (2, 4, 8)  # of k that are tried


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


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of cuBLASLt's with all that can be set of it, as cublasLtMatmulAlgoConfigAttributes_t names it.

    tile, stages: numbers of cublasLtMatmulTile_t and cublasLtMatmulStages_t.  split_k, reduction: 1 and 0 without.
    """

    number: int
    tile: int
    stages: int
    option: int
    swizzle: int
    split_k: int
    reduction: int

    def describe(self) -> dict[str, int]:
        """Its columns of a row."""
        return asdict(self)


@cache
def library(name: str = "libcublasLt.so") -> Any:
    """The library, as CuPy has loaded it. NoCublasLt if CuPy's cuBLAS has not brought it along."""
    import cupy

    cupy.cuda.device.get_cublas_handle()  # which loads it
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    path = next((word for word in maps if name in word), None)
    if path is None:
        raise NoCublasLt(
            f"{name} is not among the libraries that CuPy has loaded: set up again with `make setup GPU=yes`."
        )
    return ctypes.CDLL(path)


def _call(name: str, *arguments: Any) -> None:
    status = getattr(library(), name)(*arguments)
    if status:
        raise NoCublasLt(f"{name} answered with status {status}; cuBLAS's documentation lists them as cublasStatus_t.")


@contextlib.contextmanager
def algorithms(M: int, N: int, K: int) -> Iterator[list[Launch]]:
    """Inside `with`: all algorithms that cuBLASLt's heuristic offers for row-major C = alpha·A·B + beta·C in FP32.

    One launch for each, the best first by the heuristic, on CuPy's current stream; they can be captured into a graph.
    cuBLASLt goes down columns: read so, our arrays are transposed, and it computes Cᵀ = Bᵀ·Aᵀ.
    """
    with _algorithms(M, N, K, [_layout(*sizes) for sizes in ((N, K, N), (K, M, K), (N, M, N))]) as accepted:
        yield accepted


@contextlib.contextmanager
def every_algorithm(M: int, N: int, K: int) -> Iterator[list[tuple[Algorithm, Launch]]]:
    """Inside `with`: all algorithms for that product that cuBLASLt has and accepts, whatever its heuristic thinks.

    cublasLtMatmulAlgoGetIds names them; of each, every tile, number of stages, option and order of blocks is tried by
    cublasLtMatmulAlgoCheck, and k whole or in SPLITS parts.
    """
    with _product(M, N, K, [_layout(*sizes) for sizes in ((N, K, N), (K, M, K), (N, M, N))]) as product:
        yield list(product.every())


@contextlib.contextmanager
def algorithms_of_eight_bits(M: int, N: int, K: int) -> Iterator[list[Launch]]:
    """The same for A and B in E4M3, as bytes, and C in FP32. B lies column by column: an array (N, K).

    That is the one order in which cuBLASLt takes 8-bit floats. Both scales are 1.
    """
    layouts = [_layout(K, N, K, REAL_8F_E4M3), _layout(K, M, K, REAL_8F_E4M3), _layout(N, M, N)]
    with _algorithms(M, N, K, layouts, {TRANSPOSE_A: c_int(TRANSPOSED)}) as accepted:
        yield accepted


@contextlib.contextmanager
def algorithms_with_bias_and_gelu(M: int, N: int, K: int, type_: int, bias: Any) -> Iterator[list[Launch]]:
    """The same for C = GELU(A·B + bias) in one launch, A and B of one cudaDataType_t, C and bias in FP32.

    A bias of cuBLASLt has a number for each row of its C, which is a column of ours. Its GELU is the one by tanh.
    """
    layouts = [_layout(N, K, N, type_), _layout(K, M, K, type_), _layout(N, M, N)]
    attributes = {EPILOGUE: c_int(GELU_BIAS), BIAS_POINTER: c_void_p(bias.data.ptr)}
    with _algorithms(M, N, K, layouts, attributes) as accepted:
        yield accepted


@contextlib.contextmanager
def _algorithms(
    M: int, N: int, K: int, layouts: list[c_void_p], attributes: Mapping[int, Any] | None = None
) -> Iterator[list[Launch]]:
    with _product(M, N, K, layouts, attributes) as product:
        yield [product.launch_of(result.algorithm) for result in product.named()]


@dataclass(frozen=True)
class _Product:
    """A product as cuBLASLt is asked about it. layouts: of B, A and C, column-major."""

    shape: tuple[int, int, int]
    handle: c_void_p
    operation: c_void_p
    preference: c_void_p
    layouts: Sequence[c_void_p]
    workspace: Any

    def named(self) -> list[_Result]:
        """What the heuristic names, the best first."""
        b, a, c = self.layouts
        most, results, count = c_uint64(WORKSPACE_BYTES), (_Result * MOST)(), c_int()
        attribute = c_int(MAX_WORKSPACE_BYTES), byref(most), c_size_t(8)
        _call("cublasLtMatmulPreferenceSetAttribute", self.preference, *attribute)
        status = library().cublasLtMatmulAlgoGetHeuristic(
            self.handle, self.operation, b, a, c, c, self.preference, c_int(MOST), results, byref(count)
        )
        if status not in (SUCCESS, NOT_SUPPORTED):
            shape = " × ".join(map(str, self.shape))
            raise NoCublasLt(f"cublasLtMatmulAlgoGetHeuristic answered with status {status} at {shape}.")
        return [result for result in results[: count.value if status == SUCCESS else 0] if result.state == SUCCESS]

    def every(self) -> Iterator[tuple[Algorithm, Launch]]:
        """All that there is in FP32 and that AlgoCheck accepts with our workspace."""
        types = c_int(COMPUTE_32F), *[c_int(REAL_32F)] * 5  # of scale, A, B, C and D
        ids, count = (c_int * MOST_IDS)(), c_int()
        _call("cublasLtMatmulAlgoGetIds", self.handle, *types, c_int(MOST_IDS), ids, byref(count))
        for number in ids[: count.value]:
            known = (c_uint64 * 8)()
            if library().cublasLtMatmulAlgoInit(self.handle, *types, c_int(number), byref(known)) != SUCCESS:
                continue
            for tile, stages in itertools.product(_numbers(known, TILES) or [0], _numbers(known, STAGES) or [0]):
                plain = Algorithm(number, tile, stages, option=0, swizzle=0, split_k=1, reduction=0)
                if self._accepted(known, plain):
                    for variant in (plain, *_variants(plain, known)):
                        if algorithm := self._accepted(known, variant):
                            yield variant, self.launch_of(algorithm)

    def _accepted(self, known: Any, wanted: Algorithm) -> Any:
        """The algorithm, set so, if it can do this product with our workspace; None otherwise."""
        algorithm, result = (c_uint64 * 8)(*known), _Result()
        for attribute, value in (
            (SET_TILE, wanted.tile), (SET_STAGES, wanted.stages), (SET_OPTION, wanted.option),
            (SET_SWIZZLE, wanted.swizzle), (SET_SPLIT_K, wanted.split_k), (SET_REDUCTION, wanted.reduction),
        ):  # fmt: skip
            library().cublasLtMatmulAlgoConfigSetAttribute(
                byref(algorithm), c_int(attribute), byref(c_uint32(value)), c_size_t(4)
            )  # what cannot be set, AlgoCheck refuses
        b, a, c = self.layouts
        status = library().cublasLtMatmulAlgoCheck(
            self.handle, self.operation, b, a, c, c, byref(algorithm), byref(result)
        )
        return algorithm if status == result.state == SUCCESS and result.workspace_bytes <= WORKSPACE_BYTES else None

    def launch_of(self, algorithm: Any) -> Launch:
        """The launch by an algorithm."""
        return partial(self._launch, algorithm=algorithm)

    def _launch(
        self, M: int, N: int, K: int, alpha: float, A: Any, B: Any, beta: float, C: Any, *, algorithm: Any
    ) -> None:
        import cupy

        b, a, c = self.layouts
        left, right, out = (c_void_p(array.data.ptr) for array in (B, A, C))
        _call(
            "cublasLtMatmul", self.handle, self.operation, byref(c_float(alpha)), left, b, right, a,
            byref(c_float(beta)), out, c, out, c, byref(algorithm), c_void_p(self.workspace.data.ptr),
            c_size_t(WORKSPACE_BYTES), c_void_p(cupy.cuda.get_current_stream().ptr),
        )  # fmt: skip


@contextlib.contextmanager
def _product(
    M: int, N: int, K: int, layouts: list[c_void_p], attributes: Mapping[int, Any] | None = None
) -> Iterator[_Product]:
    """layouts: of B, A and C, column-major.  attributes: of the operation, by cublasLtMatmulDescAttributes_t."""
    import cupy

    handle, operation, preference = c_void_p(), c_void_p(), c_void_p()
    _call("cublasLtCreate", byref(handle))
    _call("cublasLtMatmulDescCreate", byref(operation), c_int(COMPUTE_32F), c_int(REAL_32F))
    for attribute, value in (attributes or {}).items():
        size = c_size_t(ctypes.sizeof(value))
        _call("cublasLtMatmulDescSetAttribute", operation, c_int(attribute), byref(value), size)
    _call("cublasLtMatmulPreferenceCreate", byref(preference))
    try:
        workspace = cupy.empty(WORKSPACE_BYTES, "uint8")
        yield _Product((M, N, K), handle, operation, preference, layouts, workspace)
    finally:
        cupy.cuda.Device().synchronize()  # handle and workspace are in use until then
        _call("cublasLtMatmulPreferenceDestroy", preference)
        for layout in layouts:
            _call("cublasLtMatrixLayoutDestroy", layout)
        _call("cublasLtMatmulDescDestroy", operation)
        _call("cublasLtDestroy", handle)


def _variants(plain: Algorithm, known: Any) -> Iterator[Algorithm]:
    """The other ways in which an algorithm says that it can be set, with the same tile and stages."""
    for option in range(_number(known, LAST_OPTION) + 1):
        if option:
            yield replace(plain, option=option)
        if _number(known, CAN_SWIZZLE):
            yield replace(plain, option=option, swizzle=1)
    if _number(known, CAN_SPLIT_K):
        reductions = [
            scheme for scheme in (1, 2, 4) if _number(known, REDUCTIONS) & scheme
        ]  # cublasLtReductionScheme_t
        for split_k, reduction in itertools.product(SPLITS, reductions):
            yield replace(plain, split_k=split_k, reduction=reduction)


def _number(algorithm: Any, attribute: int) -> int:
    value, written = c_uint32(), c_size_t()
    status = library().cublasLtMatmulAlgoCapGetAttribute(
        byref(algorithm), c_int(attribute), byref(value), c_size_t(4), byref(written)
    )
    return value.value if status == SUCCESS else 0


def _numbers(algorithm: Any, attribute: int) -> list[int]:
    values, written = (c_uint32 * 512)(), c_size_t()
    status = library().cublasLtMatmulAlgoCapGetAttribute(
        byref(algorithm), c_int(attribute), byref(values), c_size_t(ctypes.sizeof(values)), byref(written)
    )
    return values[: written.value // 4] if status == SUCCESS else []


def _layout(rows: int, columns: int, distance: int, type_: int = REAL_32F) -> c_void_p:
    """A column-major matrix whose columns lie so many elements apart."""
    layout = c_void_p()
    _call(
        "cublasLtMatrixLayoutCreate",
        byref(layout),
        c_int(type_),
        c_uint64(rows),
        c_uint64(columns),
        c_int64(distance),
    )
    return layout
