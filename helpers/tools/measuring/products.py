"""Time the members of `gemm_kernels.gemm` beside cuBLAS of the same kind, and the tiles that it chooses from.

    python -m helpers.tools.measuring.products times        what `gemm_kernels/products/tiles.py` chooses by
    python -m helpers.tools.measuring.products record OUT   every member beside cuBLAS
    python -m helpers.tools.measuring.products tiles OUT    every tile that a row could take, beside the one it takes

Each row of `record` is verified on some rows of C against float64, then timed in turns with its rivals, with a cold L2.
With `--members` the rows of those alone are measured, and put in the place of the ones that OUT has. Needs a GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import epilogue
from gemm_kernels.products import Plan, conv2d_plan, plan, tiles
from gemm_kernels.products.formats import FORMATS
from helpers import gpu
from helpers.exercises.n18.members import gelu
from helpers.measure import second_kernels
from helpers.measure.bench import compile_all
from helpers.measure.tensor import COMPUTE_32F, COMPUTE_32I, COMPUTE_64F, CUDA_TYPES
from helpers.tools.measuring import formats, instructions
from helpers.tools.measuring.cublaslt import (
    Launch,
    NoCublasLt,
    algorithms_of_eight_bits,
    algorithms_with_bias_and_gelu,
)

SHAPES = ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (4096, 4096, 512), (1000, 1500, 700),
          (8192, 1024, 4096))  # fmt: skip
BY_SIXTEEN = tuple((M // 16 * 16, N // 16 * 16, K // 16 * 16) for M, N, K in SHAPES)  # as cuBLAS wants 8-bit operands
BATCHES = ((1000, 64, 64, 64), (1000, 128, 128, 128), (1000, 256, 256, 256), (4000, 64, 64, 16), (1000, 96, 80, 50),
           (100, 512, 512, 64))  # fmt: skip
FUSED = ((4096, 4096, 512), (4096, 4096, 1024), (2048, 8192, 2048), (8192, 8192, 256), (1000, 3072, 768),
         (4096, 4096, 4096))  # fmt: skip
EXPERTS = ((8, 4096, 4096, 1024), (8, 4096, 1024, 4096), (64, 4096, 1024, 1024), (16, 1000, 2048, 1024),
           (4, 8192, 2048, 2048), (128, 16384, 768, 2048))  # experts, rows, N, K  # fmt: skip
IMAGES = ((32, 56, 56, 64, 64, 3), (32, 28, 28, 128, 128, 3), (32, 14, 14, 256, 256, 3), (16, 56, 56, 64, 256, 1),
          (8, 112, 112, 32, 64, 3), (32, 7, 7, 512, 512, 3))  # n, h, w, c, f, r = s  # fmt: skip
MMA_SYNC = "mma.sync"  # what it reaches alone, named beside the members
SECOND, FUSED_LT, PATCHES, ALONE = "second kernel", "cublasLt, one launch", "patches + cublas", "cublas alone"
ONE_LAUNCH = "gemm, one launch"
BUDGET_S, WARM_UP_S, TILE_BUDGET_S = 0.25, 0.06, 0.12
PASSES = 3  # in which tiles are timed, so that what disturbs one of them does not decide
DEPTHS = (128, 1024)  # K at which a tile is timed
ROUNDS = 5  # how many times as many blocks as an SM has room for are timed
SAMPLE = 8  # rows of C that are compared with float64


@dataclass(eq=False)
class Row:
    """One product.

    member, kind: what it is, and in which format.  shape: as numbers.  work: operations.  moved: least bytes.
    ours: plans by name.  rivals: launches by name.  controls: the same, of what is no rival, such as half of the work.
    check: largest relative errors on some rows, by name.
    """

    member: str
    kind: str
    shape: tuple[int, ...]
    work: float
    moved: float
    ours: dict[str, Plan]
    rivals: dict[str, Callable[[], Any]] = field(default_factory=dict)
    controls: dict[str, Callable[[], Any]] = field(default_factory=dict)
    check: Callable[[], dict[str, float]] | None = None


# --- operands ---------------------------------------------------------------------------------------------------------


def drawn(seed: int, format_: str, *shape: int) -> Any:
    """Random elements of a format on the GPU."""
    import cupy

    chance = cupy.random.default_rng(seed)
    if format_ == "s8":
        return chance.integers(-128, 128, shape).astype(cupy.int8)
    if format_ in ("e4m3", "e5m2"):
        return (chance.integers(0, 256, shape) & 0xBF).astype(cupy.uint8)
    if format_ == "f64":
        return chance.random(shape) * 2 - 1
    numbers = chance.random(shape, dtype=cupy.float32) * 2 - 1
    if format_ == "f16":
        return numbers.astype(cupy.float16)
    return (numbers.view(cupy.uint32) >> 16).astype(cupy.uint16) if format_ == "bf16" else numbers


def values(array: Any, format_: str) -> Any:
    """The numbers that elements stand for, as float64."""
    import cupy

    if format_ == "bf16":
        return (array.astype(cupy.uint32) << 16).view(cupy.float32).astype(cupy.float64)
    if format_ == "e4m3":
        return formats.floats(array)
    return array.astype(cupy.float64)


def named(format_: str) -> str | None:
    """What `dtype=` must say of such an array."""
    return format_ if format_ in ("bf16", "e4m3") else None


# --- rivals -----------------------------------------------------------------------------------------------------------


def cublas(format_: str, ops: str, A: Any, B: Any, C: Any, alpha: float = 1, beta: float = 0) -> Callable[[], None]:
    """A row-major product, or a batch of them, by cublasGemmEx or cublasGemmStridedBatchedEx.

    cuBLAS goes down columns: read so, our arrays are transposed, and it computes C^T = B^T · A^T.
    """
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas as library

    handle = device.get_cublas_handle()
    compute = {"f64": COMPUTE_64F, "s8": COMPUTE_32I}.get(format_, COMPUTE_32F)
    result = {"f64": "f64", "s8": "s32"}.get(format_, "f32")
    scale = np.array([alpha, beta], {"f64": np.float64, "s32": np.int32}.get(result, np.float32))
    M, N = C.shape[-2:]
    K = A.shape[-1] if ops[0] == "N" else A.shape[-2]
    first, second = (int(op == "T") for op in ops)
    right, left = (B.data.ptr, CUDA_TYPES[format_], B.shape[-1]), (A.data.ptr, CUDA_TYPES[format_], A.shape[-1])
    to = (C.data.ptr, CUDA_TYPES[result], N)
    pointers = (scale.ctypes.data, scale.ctypes.data + scale.itemsize)

    def single(keep: Any = scale) -> None:  # cuBLAS reads alpha and beta when it is called
        library.gemmEx(handle, second, first, N, M, K, pointers[0], *right, *left, pointers[1], *to, compute, -1)

    def batch(keep: Any = scale) -> None:
        library.gemmStridedBatchedEx(
            handle, second, first, N, M, K, pointers[0], *right, B.shape[-1] * B.shape[-2], *left,
            A.shape[-1] * A.shape[-2], pointers[1], *to, M * N, C.shape[0], compute, -1,
        )  # fmt: skip

    return batch if C.ndim == 3 else single


def cublas_pointers(A: Sequence[Any], B: Sequence[Any], C: Sequence[Any]) -> Callable[[], None]:
    """float32 matrices of one shape behind pointers, by cublasSgemmBatched."""
    import cupy
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas as library

    handle, scale = device.get_cublas_handle(), np.array([1, 0], np.float32)
    left, right, to = (cupy.asarray([array.data.ptr for array in many], dtype=np.uint64) for many in (A, B, C))
    (M, K), N = A[0].shape, B[0].shape[1]

    def launch() -> None:
        library.sgemmBatched(
            handle, 0, 0, N, M, K, scale.ctypes.data, right.data.ptr, N, left.data.ptr, K, scale.ctypes.data + 4,
            to.data.ptr, N, len(A),
        )  # fmt: skip

    return launch


def cublas_grouped(format_: str, A: Sequence[Any], B: Sequence[Any], C: Sequence[Any]) -> Callable[[], None]:
    """Matrices of different shapes by cublasGemmGroupedBatchedEx, each a group of one. C has the format of A and B."""
    import cupy
    from cupy.cuda import device

    handle = device.get_cublas_handle()
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").split()
    library = ctypes.CDLL(next(word for word in maps if "libcublas.so" in word))
    function, count = library.cublasGemmGroupedBatchedEx, len(A)
    ints = lambda numbers: (ctypes.c_int * count)(*numbers)  # noqa: E731
    many = lambda arrays: cupy.asarray([array.data.ptr for array in arrays], dtype=np.uint64)  # noqa: E731
    M, K, N = ([matrix.shape[0] for matrix in A], [matrix.shape[1] for matrix in A], [matrix.shape[1] for matrix in B])
    left, right, to = many(A), many(B), many(C)
    none, ones = ints([0] * count), ints([1] * count)
    alpha, beta = (ctypes.c_float * count)(*[1.0] * count), (ctypes.c_float * count)()
    m, n, k, type_ = ints(M), ints(N), ints(K), ctypes.c_int(CUDA_TYPES[format_])
    arguments = (
        ctypes.c_void_p(handle), none, none, n, m, k, alpha, ctypes.c_void_p(right.data.ptr), type_, n,
        ctypes.c_void_p(left.data.ptr), type_, k, beta, ctypes.c_void_p(to.data.ptr),
        ctypes.c_int(CUDA_TYPES[format_]), n, ctypes.c_int(count), ones, ctypes.c_int(COMPUTE_32F),
    )  # fmt: skip

    def launch(keep: Any = (left, right, to)) -> None:
        status = function(*arguments)
        if status:
            raise RuntimeError(f"cublasGemmGroupedBatchedEx answered with status {status}")

    return launch


# --- members ----------------------------------------------------------------------------------------------------------


def single(format_: str, ops: str, shape: tuple[int, int, int], stack: ExitStack) -> Row:
    """One product, and cuBLAS's of the same operands."""
    import cupy

    M, N, K = shape
    A = drawn(1, format_, *((M, K) if ops[0] == "N" else (K, M)))
    B = drawn(2, format_, *((K, N) if ops[1] == "N" else (N, K)))
    options = {"op_a": ops[0], "op_b": ops[1], "dtype": named(format_)}
    ours = {"gemm": plan(A, B, **options)}
    if format_ == "f64":
        ours["gemm, CUDA cores"] = plan(A, B, tensor_cores=False, **options)
    C = cupy.empty_like(ours["gemm"].C)
    if format_ == "e4m3":
        rivals = _first_named(algorithms_of_eight_bits(M, N, K), "cublasLt", (M, N, K, 1.0, A, B, 0.0, C), stack)
    else:
        rivals = {"cublas": cublas(format_, ops, A, B, C)}
    turned = (A if ops[0] == "N" else A.T, B if ops[1] == "N" else B.T)
    rows = cupy.asarray(np.linspace(0, M - 1, SAMPLE).astype(int))

    def check() -> dict[str, float]:
        exact = values(turned[0][rows], format_) @ values(turned[1], format_)
        for rival in rivals.values():
            rival()
        results = {name: product.C for name, product in ours.items()} | dict.fromkeys(rivals, C)
        return {name: _error(result[rows], exact) for name, result in results.items()}

    size = FORMATS[format_].size
    moved = size * (M * K + K * N) + C.dtype.itemsize * M * N
    return Row("single", f"{format_} {ops}", shape, 2.0 * M * N * K, moved, ours, rivals, check=check)


def _first_named(
    offers: AbstractContextManager[list[Launch]], name: str, arguments: tuple[Any, ...], stack: ExitStack
) -> dict[str, Callable[[], None]]:
    """The algorithm that cuBLASLt's heuristic names first, as a rival; none, and a sentence, where there is none."""
    try:
        offered = stack.enter_context(offers)
    except NoCublasLt as error:
        print(f"no {name} at {arguments[:3]}: {error}", flush=True)
        return {}
    if not offered:
        print(f"no {name} at {arguments[:3]}: its heuristic names no algorithm", flush=True)
        return {}
    return {name: partial(offered[0], *arguments)}


def _error(computed: Any, exact: Any) -> float:
    """The largest difference, relative to the root mean square of what should be there; NaN if there is one."""
    import cupy

    return float(cupy.abs(computed.astype(cupy.float64) - exact).max() / cupy.sqrt((exact**2).mean()))


def batch(format_: str, shape: tuple[int, int, int, int], pointers: bool = False) -> Row:
    """Many products of one shape."""
    import cupy

    count, M, N, K = shape
    A, B = drawn(1, format_, count, M, K), drawn(2, format_, count, K, N)
    C = cupy.empty((count, M, N), np.float32)
    if pointers:
        lists = [list(array) for array in (A, B, cupy.empty_like(C))]
        ours, rival = plan(*lists, dtype=named(format_)), cublas_pointers(lists[0], lists[1], list(C))
        result = lambda: cupy.stack(ours.C[:SAMPLE])  # noqa: E731
    else:
        ours, rival = plan(A, B, dtype=named(format_)), cublas(format_, "NN", A, B, C)
        result = lambda: ours.C[:SAMPLE]  # noqa: E731

    def check() -> dict[str, float]:
        exact = values(A[:SAMPLE], format_) @ values(B[:SAMPLE], format_)
        rival()
        return {"gemm": _error(result(), exact), "cublas": _error(C[:SAMPLE], exact)}

    moved = count * (FORMATS[format_].size * (M * K + K * N) + 4 * M * N)
    member = "pointers" if pointers else "batch"
    rivals = {"cublas": rival}
    return Row(member, f"{format_} NN", shape, 2.0 * count * M * N * K, moved, {"gemm": ours}, rivals, check=check)


def experts(format_: str, shape: tuple[int, int, int, int]) -> Row:
    """The rows of one A shared out unevenly among products, each with a B of its own."""
    import cupy

    count, T, N, K = shape
    weights = np.random.default_rng(count).exponential(size=count)
    ends = np.concatenate([[0], np.rint(np.cumsum(weights) / weights.sum() * T)]).astype(np.int32)
    A, B = drawn(1, format_, T, K), drawn(2, format_, count, K, N)
    C = cupy.empty((T, N), A.dtype)  # the one format that cuBLAS has for C here
    ours = plan(A, B, cupy.empty_like(C), batch=cupy.asarray(ends), dtype=named(format_))
    whole = [e for e in range(count) if ends[e + 1] > ends[e]]
    parts = [[array[ends[e] : ends[e + 1]] for e in whole] for array in (A, C)]
    rival = cublas_grouped(format_, parts[0], [B[e] for e in whole], parts[1])
    lists = plan(parts[0], [B[e] for e in whole], [cupy.empty_like(array) for array in parts[1]], dtype=named(format_))

    def check() -> dict[str, float]:
        expert = whole[len(whole) // 2]
        part = slice(int(ends[expert]), int(ends[expert + 1]))
        exact = values(A[part], format_) @ values(B[expert], format_)
        rival()
        computed = {"gemm": ours.C[part], "gemm, lists": lists.C[len(whole) // 2], "cublas grouped": C[part]}
        return {name: _error(values(result, format_), exact) for name, result in computed.items()}

    moved = FORMATS[format_].size * (T * K + count * K * N + T * N)
    both = {"gemm": ours, "gemm, lists": lists}
    rivals = {"cublas grouped": rival}
    return Row("experts", f"{format_} NN", shape, 2.0 * T * N * K, moved, both, rivals, check=check)


def fused(format_: str, shape: tuple[int, int, int], stack: ExitStack) -> Row:
    """A layer: product, bias and GELU as `gemm` launches them, in one launch, and with a kernel behind. cuBLASLt's own
    GELU is the one by tanh."""
    import cupy

    M, N, K = shape
    A, B, bias = drawn(1, format_, M, K), drawn(2, format_, K, N), drawn(3, "f32", N)
    steps = (epilogue.bias(bias), epilogue.gelu())
    ours = plan(A, B, epilogue=steps, dtype=named(format_))
    alone = plan(A, B, dtype=named(format_))
    C, in_one = cupy.empty((M, N), np.float32), cupy.empty((M, N), np.float32)
    product = cublas(format_, "NN", A, B, C)
    apart = f"cublas + {SECOND}"
    rivals = {apart: _one_then(product, second_kernels.bias_gelu(bias, C))}
    offers = algorithms_with_bias_and_gelu(M, N, K, CUDA_TYPES[format_], bias)
    rivals |= _first_named(offers, FUSED_LT, (M, N, K, 1.0, A, B, 0.0, in_one), stack)
    within = plan(A, B, epilogue=steps, dtype=named(format_), several=False)
    controls = {
        ONE_LAUNCH: within,
        f"gemm + {SECOND}": _one_then(alone, second_kernels.bias_gelu(bias, alone.C)),
        ALONE: product,
    }
    rows = cupy.asarray(np.linspace(0, M - 1, SAMPLE).astype(int))

    def check() -> dict[str, float]:
        y = gpu.asnumpy(values(A[rows], format_) @ values(B, format_) + bias)
        by_tanh = 0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))
        exact, by_tanh = cupy.asarray(gelu(y)), cupy.asarray(by_tanh)
        for launch in (*rivals.values(), within, controls[f"gemm + {SECOND}"]):
            launch()
        computed = {name: (result, exact) for name, result in (
            ("gemm", ours.C), (ONE_LAUNCH, within.C), (apart, C), (f"gemm + {SECOND}", alone.C))}  # fmt: skip
        if FUSED_LT in rivals:
            computed[FUSED_LT] = in_one, by_tanh
        return {name: _error(result[rows], right) for name, (result, right) in computed.items()}

    moved = FORMATS[format_].size * (M * K + K * N) + 4 * M * N
    work = 2.0 * M * N * K
    return Row("bias + GELU", f"{format_} NN", shape, work, moved, {"gemm": ours}, rivals, controls, check)


def _one_then(first: Callable[[], Any], second: Callable[[], Any]) -> Callable[[], None]:
    def launch() -> None:
        first()
        second()

    return launch


def convolution(format_: str, shape: tuple[int, ...]) -> Row:
    """A convolution without its matrix, and with it: a kernel that writes all patches, and cuBLAS.

    For a filter of one pixel the images are that matrix, and nothing is written.
    """
    import cupy

    n, h, w, c, f, r = shape
    X, W = drawn(1, format_, n, h, w, c), drawn(2, format_, f, r, r, c)
    ours = conv2d_plan(X, W, padding=r // 2, dtype=named(format_))
    matrix = X.reshape(-1, c) if r == 1 else cupy.empty((n * h * w, r * r * c), X.dtype)
    C = cupy.empty((n * h * w, f), np.float32)
    product = cublas(format_, "NT", matrix, W.reshape(f, -1), C)
    rivals = {PATCHES: product if r == 1 else _one_then(second_kernels.patches(X, r, matrix), product)}
    controls = {} if r == 1 else {ALONE: product}

    def check() -> dict[str, float]:
        rivals[PATCHES]()
        rows = cupy.asarray(np.linspace(0, n * h * w - 1, SAMPLE).astype(int))
        padded = cupy.pad(X, ((0, 0), (r // 2, r // 2), (r // 2, r // 2), (0, 0)))
        images, y, x = cupy.unravel_index(rows, (n, h, w))
        under = cupy.concatenate(
            [padded[images, y + down, x + right] for down in range(r) for right in range(r)], axis=1
        )
        exact = values(under, format_) @ values(W.reshape(f, -1), format_).T
        computed = {"conv2d": ours.C.reshape(-1, f), PATCHES: C}
        return {name: _error(result[rows], exact) for name, result in computed.items()}

    moved = FORMATS[format_].size * (X.size + W.size) + 4 * C.size
    work = 2.0 * C.size * r * r * c
    return Row("convolution", format_, shape, work, moved, {"conv2d": ours}, rivals, controls, check)


def every(stack: ExitStack) -> Iterator[tuple[str, Callable[[], Row]]]:
    """(member, row), each row made when it is its turn: their arrays need not fit in memory together."""
    formats_of = (*((ops, "f32", SHAPES) for ops in ("NN", "NT", "TN", "TT")), ("NN", "f64", SHAPES),
                  ("NN", "bf16", SHAPES), ("NT", "bf16", SHAPES), ("TN", "f16", SHAPES),
                  *(("NT", format_, BY_SIXTEEN) for format_ in ("s8", "e4m3")))  # fmt: skip
    for ops, format_, shapes in formats_of:
        yield from (("single", partial(single, format_, ops, shape, stack)) for shape in shapes)
    for format_ in ("f32", "bf16"):
        yield from (("batch", partial(batch, format_, shape)) for shape in BATCHES)
    yield from (("pointers", partial(batch, "f32", shape, pointers=True)) for shape in BATCHES)
    for format_ in ("f32", "bf16"):
        yield from (("experts", partial(experts, format_, shape)) for shape in EXPERTS)
        yield from (("bias + GELU", partial(fused, format_, shape, stack)) for shape in FUSED)
    yield from (("convolution", partial(convolution, "f16", shape)) for shape in IMAGES)


# --- measuring --------------------------------------------------------------------------------------------------------


def _launches(make: Callable[[], Row]) -> list[Any]:
    plans = make().ours.values()
    return [launch for each in plans for launch in each.launches]


def measured(row: Row) -> dict[str, Any]:
    """The row verified, then timed in turns with its rivals."""
    from helpers.measure.timing import interleave

    for product in row.ours.values():
        product()
    for name, rival in list(row.rivals.items()):
        try:
            rival()
            gpu.synchronize()
        except Exception as error:  # the row is worth having without it
            print(f"{row.member} {row.kind} {row.shape}: no {name}: {type(error).__name__}: {error}", flush=True)
            del row.rivals[name]
    errors = row.check() if row.check else {}
    launches = {**row.ours, **row.rivals, **row.controls}
    times = np.median(interleave(list(launches.values()), BUDGET_S, WARM_UP_S), axis=0)
    entry = {
        "member": row.member, "kind": row.kind, "shape": row.shape, "work": row.work, "bytes": row.moved,
        "errors": errors, "ms": dict(zip(launches, times.tolist(), strict=True)),
        "launches": {name: product.launch.entry for name, product in row.ours.items()},
        "controls": list(row.controls),
    }  # fmt: skip
    shown = ", ".join(f"{name} {row.work / ms / 1e9:.1f}" for name, ms in entry["ms"].items())
    print(
        f"{row.member:12} {row.kind:9} {row.shape!s:26} error {errors[next(iter(row.ours))]:.1e}  TFLOPS: {shown}",
        flush=True,
    )
    return entry


def tile_plans(format_: str, tensor_cores: bool, group: int, index: int, sms: int) -> list[tuple[int, int, Plan]]:
    """(blocks for each SM, K, plan): as many as have room, one more, ROUNDS times as many, and one, at two depths."""
    import cupy

    tile = tiles.candidates(FORMATS[format_], tensor_cores, group)[index]
    (BM, BN, _), across = tile.size, next(count for count in (12, 11, 9, 8, 7, 6, 5, 4, 3, 2, 1) if sms % count == 0)
    ops = "NT" if format_ in ("s8", "e4m3") else "NN"
    plans = []
    for blocks in (tile.blocks, tile.blocks + 1, ROUNDS * tile.blocks, 1):
        M, N = sms // across * BM, across * blocks * BN
        for K in DEPTHS:
            A, B = drawn(1, format_, M, K), drawn(2, format_, *((K, N) if ops == "NN" else (N, K)))
            options = {"dtype": named(format_), "tensor_cores": tensor_cores, "op_b": ops[1], "tile": index}
            if group:
                scales = [drawn(3, "f32", M, K // group), drawn(4, "f32", K // group, N)]
                C = cupy.empty((M, N), np.float32)
                options |= {"scale_a": scales[0], "scale_b": scales[1], "group": group}
                plans.append((blocks, K, plan(A, B, C, **options)))
            else:
                plans.append((blocks, K, plan(A, B, **options)))
    return plans


def tile_times(plans: Sequence[tuple[int, int, Plan]]) -> dict[str, float]:
    """The times of a tile, from those of its plans: a straight line through two depths."""
    from helpers.measure.timing import interleave

    times = np.median(interleave([product for _, _, product in plans], TILE_BUDGET_S / PASSES, WARM_UP_S), axis=0) / 1e3
    length = DEPTHS[1] - DEPTHS[0]
    lines = np.array([(shallow - (deep - shallow) / length * DEPTHS[0], (deep - shallow) / length)
                      for shallow, deep in times.reshape(4, 2)])  # fmt: skip
    first, one_more, rounds, alone = lines
    named = {"": first, "more_": one_more - first, "later_": (rounds - first) / (ROUNDS - 1), "alone_": alone}
    return {
        f"{name}{what}": float(seconds)
        for name, line in named.items()
        for what, seconds in zip(("round", "k"), line, strict=True)
    }


def record_times() -> None:
    """Measure every tile, and write what `tiles.chosen` chooses by."""
    import cupy

    from helpers.measure.provenance import provenance

    sms = cupy.cuda.Device().attributes["MultiProcessorCount"]
    kinds = (
        ("f32", True, 0), ("f64", True, 0), ("f64", False, 0), ("f16", True, 0), ("s8", True, 0), ("e4m3", True, 0),
        ("s8", True, 128),
    )  # fmt: skip
    plans = {
        tile.key(FORMATS[format_]): (tile, tile_plans(format_, tensor_cores, group, index, sms))
        for format_, tensor_cores, group in kinds
        for index, tile in enumerate(tiles.candidates(FORMATS[format_], tensor_cores, group))
    }
    compile_all([product.launch for _, each in plans.values() for _, _, product in each])
    passes = [{key: tile_times(each) for key, (_, each) in plans.items()} for _ in range(PASSES)]
    times_of = {}
    for key, (tile, _) in plans.items():
        times_of[key] = times = {
            name: float(np.median([times[key][name] for times in passes])) for name in passes[0][key]
        }
        BM, BN, _ = tile.size
        peak = 2e-12 * BM * BN * sms * tile.blocks / times["later_k"]
        print(f"{key:48} {peak:7.1f} TFLOPS in the loop, {1e6 * times['later_round']:.1f} µs beside it", flush=True)
    tiles.TIMES.write_text(json.dumps({"provenance": provenance(), "tiles": times_of}, indent=1) + "\n")


# Rows whose tiles are compared: member, format, shape.
TILED = (
    *(("single", "f64", shape) for shape in SHAPES),
    *((member, "f32", shape) for member in ("batch", "pointers") for shape in BATCHES),
    *(("bias + GELU", "f32", shape) for shape in FUSED),
    *(("single", format_, shape) for format_ in ("bf16", "s8", "e4m3") for shape in (BY_SIXTEEN[1], *BY_SIXTEEN[3:])),
)


def _tiled(member: str, format_: str, shape: tuple[int, ...]) -> tuple[Callable[[int | None], Plan], Callable]:
    """A row's plan with any of its tiles, and its rival."""
    *count, M, N, K = shape
    ops = "NT" if format_ in ("s8", "e4m3") else "NN"
    A, B = drawn(1, format_, *count, M, K), drawn(2, format_, *count, *((K, N) if ops == "NN" else (N, K)))
    C = drawn(3, "f64" if format_ == "f64" else "f32", *count, M, N)
    C = C.astype(np.int32) if format_ == "s8" else C
    options: dict[str, Any] = {"op_b": ops[1], "dtype": named(format_)}
    if member == "pointers":
        lists = [list(array) for array in (A, B, C)]
        return lambda tile: plan(*lists, tile=tile), cublas_pointers(*lists)
    if member == "bias + GELU":
        options["epilogue"] = (epilogue.bias(drawn(4, "f32", N)), epilogue.gelu())
    rival = None if format_ == "e4m3" else cublas(format_, ops, A, B, C)
    return lambda tile: plan(A, B, tile=tile, **options), rival


def compare_tiles(out: Path, rows: Sequence[tuple[str, str, tuple[int, ...]]] = TILED, chosen: bool = True) -> None:
    """Time all tiles of each row in turns with its rival. chosen: whether the one that a row takes is said, too."""
    from helpers.measure.provenance import provenance
    from helpers.measure.timing import interleave

    rows_: list[dict[str, Any]] = []
    document = {"provenance": provenance(), "rows": rows_}
    options = {row: tiles.candidates(FORMATS[row[1]], True, 0) for row in rows}
    compile_all([_tiled(*row)[0](index).launch for row in rows for index in range(len(options[row]))])
    for row in rows:
        make, rival = _tiled(*row)
        plans = [make(index) for index in range(len(options[row]))]
        launches = [*plans, rival] if rival else plans
        times = np.median(interleave(launches, TILE_BUDGET_S, WARM_UP_S), axis=0).tolist()
        keys = [tile.key(FORMATS[row[1]]) for tile in options[row]]
        entry = {"row": row, "ms": dict(zip(keys, times[: len(keys)], strict=True)), "rival": times[len(keys) :]}
        if chosen:
            taken = make(None).launch.entry
            entry["chosen"] = next(
                (k for k, candidate in zip(keys, plans, strict=True) if candidate.launch.entry == taken), taken
            )
        rows_.append(entry)
        best = sorted(entry["ms"], key=entry["ms"].get)[:4]
        print(*row, "rival", *(f"{1e3 * ms:.1f}" for ms in entry["rival"]), "chosen", entry.get("chosen"), flush=True)
        print("   ", "; ".join(f"{key.split(' ', 2)[2]}: {1e3 * entry['ms'][key]:.1f}" for key in best), flush=True)
        out.write_text(json.dumps(document, indent=1) + "\n")


def record(out: Path, members: Sequence[str]) -> int:
    """Measure every row; or those of some members, whose rows in `out` they take the places of. How many failed."""
    from helpers.measure.provenance import provenance

    old = json.loads(out.read_text(encoding="utf-8")) if members else {"provenance": provenance(), "rows": []}
    document = {**old, "failed": (failed := [])}
    if members:
        document["provenance"]["later"] = document["provenance"].get("later", {}) | dict.fromkeys(members, provenance())
    with ExitStack() as stack:
        makers = [make for member, make in every(stack) if not members or member in members]
        compile_all([launch for make in makers for launch in _launches(make)])
        for make in makers:
            try:
                row = make()
                document["rows"] = with_row(document["rows"], measured(row))
            except Exception as error:  # the others are worth having; the exit code says that one is missing
                failed.append(f"{make.func.__name__} {make.args[:2]}: {type(error).__name__}: {error}")
                print(failed[-1], flush=True)
            out.write_text(json.dumps(document, indent=1) + "\n")
    if not members or MMA_SYNC in members:
        document["mma_sync"] = {kind: vars(rate) for kind, rate in instructions.rates().items()}
        out.write_text(json.dumps(document, indent=1) + "\n")
    return len(failed)


def with_row(rows: Sequence[Mapping[str, Any]], new: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows with one more, or with it in the place of the one that measures the same."""

    def what(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return row["member"], row["kind"], tuple(row["shape"])

    if what(new) not in map(what, rows):
        return [*rows, new]
    return [new if what(row) == what(new) else row for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("times", help="measure every tile")
    recorded = commands.add_parser("record", help="measure every member beside cuBLAS")
    recorded.add_argument("out", type=Path)
    recorded.add_argument("--members", nargs="*", default=(), help=f"of OUT's, these alone, as single or {MMA_SYNC}")
    compared = commands.add_parser("tiles", help="measure every tile of some rows")
    compared.add_argument("out", type=Path)
    arguments = parser.parse_args()
    if gpu.backend() != "gpu":
        raise SystemExit(f"Measuring needs a GPU. {gpu.reason()}")
    if arguments.command == "times":
        record_times()
    elif arguments.command == "tiles":
        compare_tiles(arguments.out)
    else:
        raise SystemExit(record(arguments.out, arguments.members) > 0)


if __name__ == "__main__":
    main()
