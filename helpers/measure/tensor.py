"""Record the kernels for tensor cores beside cuBLAS at the same precision, and every format's error by K.

The machine code is compiled where the course is, and those CUBINs are measured:

    python -m helpers.measure.tensor prepare FOLDER      anywhere: compile
    python -m helpers.measure.tensor record FOLDER OUT   on a machine with a GPU and CuPy: verify, time, write OUT
    python -m helpers.measure.tensor again FOLDER OUT K  the same for duels of kernel K alone, put in the place of OUT's

Each kernel is verified before it is timed: against float64 of the very numbers that it multiplies, once onto NaN with
beta = 0 and once onto C. Kernels and cuBLAS take turns, with a cold L2: all rungs together, and again the last one and
cuBLAS alone (`duels`). An H200 slows its clock when it draws 700 W, so who else takes turns is a part of the result;
and so each of those is also launched again and again by itself, its clock and its power read meanwhile (`alone`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels.tensor import KERNELS, TensorKernel, get
from gpusim import devices
from helpers import gpu
from helpers.measure.problem import ALPHA, BETA

Load = Callable[[TensorKernel], Callable[..., None]]  # of a kernel: its launch(alpha, A, B, beta, C)
ARCH = devices.DEFAULT.arch
SIZES = (1024, 2048, 4096, 8192)
ODD_SIZES = (1023, 4095)
SLOW = ("wmma", "mma")  # not measured at 8192
_LARGE = ("BM", "BN", "BK", "WM", "WN", "STAGES", "BLOCKS")
CANDIDATES = {  # of the search: kernel → the parameters in the order of _LARGE
    "mma_staged_epilogue": (
        (128, 256, 32, 64, 64, 3, 1), (128, 256, 64, 64, 64, 3, 1), (256, 128, 64, 64, 64, 3, 1),
        (128, 128, 32, 64, 64, 4, 2), (128, 128, 64, 64, 64, 3, 2), (128, 128, 32, 64, 32, 4, 2),
    ),
    "tf32": (
        (128, 256, 16, 64, 64, 4, 1), (128, 256, 32, 64, 64, 3, 1), (256, 128, 32, 64, 64, 3, 1),
        (256, 128, 16, 64, 64, 4, 1), (128, 128, 32, 64, 64, 3, 2),
    ),
    "tf32x3": (
        (128, 128, 16, 64, 32, 4, 1), (128, 128, 32, 64, 32, 3, 1), (64, 128, 16, 32, 64, 4, 2),
        (128, 64, 16, 64, 32, 4, 2),
    ),
    "bf16x3": (
        (128, 256, 32, 64, 64, 3, 1), (256, 128, 32, 64, 64, 3, 1), (128, 256, 16, 64, 64, 4, 1),
        (128, 128, 32, 64, 64, 3, 2), (128, 128, 32, 64, 32, 4, 1),
    ),
    "bf16x6": (
        (128, 128, 16, 64, 64, 4, 2), (128, 256, 16, 64, 64, 4, 1), (128, 64, 16, 64, 32, 4, 2),
        (128, 128, 32, 32, 64, 4, 1),
    ),
    "int8": (
        (256, 128, 64, 64, 64, 4, 1), (128, 256, 64, 64, 64, 4, 1), (128, 256, 128, 64, 64, 3, 1),
        (256, 128, 128, 64, 64, 3, 1), (128, 128, 128, 64, 64, 3, 2),
    ),
}  # fmt: skip
DUELS = (  # kernel, parameter, the cuBLAS that it takes turns with
    ("mma_autotuned", {"BF16": 1}, "cublas"), ("mma_autotuned", {"BF16": 0}, "cublas"), ("tf32", {}, "cublas TF32"),
    ("tf32x3", {}, "cublas"), ("bf16x3", {}, "cublas"), ("bf16x6", {}, "cublas"), ("int8", {}, "cublas B turned"),
)  # fmt: skip
DUEL_SIZES = (2048, 4096, 8192)
ALONE_SIZE, ALONE_S = 8192, 0.7  # of launches of one kind before they are timed, and while they are
ERROR_ROWS = (256, 2048)  # M = N of the errors: cuBLAS splits a long k where C is small, which rounds less often
ERROR_DEPTHS = (64, 256, 1024, 4096, 16384)
# cublasComputeType_t and cudaDataType_t (library_types.h, cublas_api.h)
COMPUTE_32F, COMPUTE_64F, COMPUTE_32I, COMPUTE_FAST_TF32 = 68, 70, 72, 77
CUDA_TYPES = {"f64": 1, "f32": 0, "f16": 2, "bf16": 14, "s8": 3, "s32": 10}
C_TYPES = {"f64": "f64", "s8": "s32"}  # of C, for a format of A and B; f32 for all others


def kernels() -> tuple[TensorKernel, ...]:
    """All that is recorded: the ladder, in float16 where it is fastest, and the candidates of the search."""
    kernels = [*KERNELS, get("mma_rasterized", BF16=0), get("tf32", ROUND=1)]
    kernels += [get(name, **params) for name, params, _ in DUELS]
    for name, candidates in CANDIDATES.items():
        kernels += [get(name, **dict(zip(_LARGE, values, strict=True))) for values in candidates]
    return tuple({kernel.entry: kernel for kernel in kernels}.values())


def _file(kernel: TensorKernel) -> str:
    return re.sub(r"\W+", "_", kernel.entry) + ".cubin"


def prepare(folder: Path) -> None:
    """Compile every kernel, with the name of its function in a list beside it."""
    from gpusim import compiler

    folder.mkdir(parents=True, exist_ok=True)
    names = {}
    for kernel in kernels():
        built = compiler.compile(kernel.source, kernel.entry, arch=ARCH)
        (folder / _file(kernel)).write_bytes(built.cubin)
        names[kernel.entry] = {"function": built.lowered_name, "registers": built.registers}
    (folder / "names.json").write_text(json.dumps(names, indent=1))


# ---- on the GPU


def _bits(matrix: Any, format_: str) -> Any:
    """A float32 CuPy array in a format: itself, or the nearest 16-bit numbers as uint16."""
    import cupy

    if format_ == "f32":
        return matrix
    if format_ == "f64":
        return matrix.astype(cupy.float64)
    if format_ == "f16":
        return matrix.astype(cupy.float16).view(cupy.uint16)
    bits = matrix.view(cupy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(cupy.uint16)


def _whole(seed: int, *shape: int) -> Any:
    """Random integers of 8 bits."""
    import cupy

    return cupy.random.default_rng(seed).integers(-128, 128, shape).astype(cupy.int8)


def _values(bits: Any, format_: str) -> Any:
    """The numbers that a format's bits stand for, as float64."""
    import cupy

    if format_ in ("s8", "f64"):
        return bits.astype(cupy.float64)
    if format_ == "f16":
        return bits.view(cupy.float16).astype(cupy.float64)
    wide = (bits.astype(cupy.uint32) << 16).view(cupy.float32) if format_ == "bf16" else bits
    return wide.astype(cupy.float64)


def _launcher(folder: Path, kernel: TensorKernel) -> Callable[..., None]:
    import cupy

    name = json.loads((folder / "names.json").read_text())[kernel.entry]["function"]
    return _launch_of(kernel, cupy.RawModule(path=str(folder / _file(kernel))).get_function(name))


def _launch_of(kernel: TensorKernel, function: Any) -> Callable[..., None]:
    if kernel.shared_bytes > 48 * 1024:
        function.max_dynamic_shared_size_bytes = kernel.shared_bytes

    def launch(alpha: float, A: Any, B: Any, beta: float, C: Any) -> None:
        (M, K), N = A.shape, B.shape[1]
        scalar = C.dtype.type
        arguments = (np.int32(M), np.int32(N), np.int32(K), scalar(alpha), A, B, scalar(beta), C)
        function(kernel.grid(M, N), kernel.block, arguments, shared_mem=kernel.shared_bytes)

    return launch


def load_here(kernel: TensorKernel) -> Callable[..., None]:
    """The same launch, of the source as CuPy compiles it for the GPU at hand."""
    module = gpu.RawModule(code=kernel.source, options=("-std=c++17",), name_expressions=[kernel.entry])
    return _launch_of(kernel, module.get_function(kernel.entry))


def _cublas(format_: str, compute: int, turned: bool = False) -> Callable[..., None]:
    """cuBLAS with one format of A and B. turned: B lies column by column, as cuBLAS wants 8-bit integers."""
    import cupy
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas

    handle, type_ = device.get_cublas_handle(), CUDA_TYPES[format_]
    columns: dict[tuple, Any] = {}  # (address, shape) of B → the same numbers column by column, made before it is timed

    def launch(alpha: float, A: Any, B: Any, beta: float, C: Any) -> None:
        (M, K), N = A.shape, B.shape[1]
        scale = np.array([alpha, beta], C.dtype)
        key = B.data.ptr, B.shape
        if turned and key not in columns:
            columns.clear()
            columns[key] = cupy.ascontiguousarray(B.T)
        b, stride = (columns[key], K) if turned else (B, N)
        # cuBLAS is column-major: a row-major C = A · B is its C' = B' · A'.
        cublas.gemmEx(handle, int(turned), 0, N, M, K, scale[:1].ctypes.data, b.data.ptr, type_, stride, A.data.ptr,
                      type_, K, scale[1:].ctypes.data, C.data.ptr, CUDA_TYPES[C_TYPES.get(format_, "f32")], N,
                      compute, -1)  # fmt: skip

    return launch


def _relative_error(result: Any, exact: Any) -> float:
    """The root of the mean squared error over the root of the mean square: NaN where something was not written."""
    import cupy

    return float(cupy.sqrt(((result - exact) ** 2).mean() / (exact**2).mean()))


def _verified(launch: Callable[..., None], A: Any, B: Any, C: Any, exact: Any) -> float:
    """The larger error of two launches: one onto NaN with beta = 0, one onto C."""
    import cupy

    whole = C.dtype == np.int32
    alpha, beta = (3, -2) if whole else (ALPHA, BETA)
    fresh, updated = cupy.full_like(C, np.iinfo(np.int32).min if whole else np.nan), C.copy()
    launch(alpha, A, B, 0, fresh)
    launch(alpha, A, B, beta, updated)
    return max(_relative_error(fresh, alpha * exact), _relative_error(updated, alpha * exact + beta * C))


def _duels(load: Load, rivals: dict[str, dict[str, Callable]], size: int, duels: Sequence[tuple] = DUELS) -> list:
    """The last kernel of each format in turns with cuBLAS and nobody else."""
    rows = []
    for name, params, rival in duels:
        kernel = get(name, **params)
        rows += _compared(load, [kernel], {rival: rivals[kernel.operands][rival]}, size)
    return rows


def _alone(folder: Path, rivals: dict[str, dict[str, Callable]], duels: Sequence[tuple] = DUELS) -> list[dict]:
    """Each of those that take turns in a duel by itself, again and again, with the clock and power it settles at."""
    from helpers.measure.timing import sustained

    rows = []
    for name, params, rival in duels:
        kernel = get(name, **params)
        A, B, C = _problem(kernel.operands, ALONE_SIZE)
        for title, launch in ((name, _launcher(folder, kernel)), (rival, rivals[kernel.operands][rival])):
            ms, mhz, watts = sustained(partial(launch, 1, A, B, 0, C), ALONE_S)
            row = {"kernel": title, "operands": kernel.operands, "size": ALONE_SIZE, "ms": ms,
                   "gflops": 2e-6 * ALONE_SIZE**3 / ms, "mhz": mhz, "watts": watts}  # fmt: skip
            rows.append(row)
            print(
                f"alone {title:15s} {kernel.operands} {row['gflops'] / 1e3:6.1f} TFLOPS {mhz} MHz {watts} W", flush=True
            )
    return rows


def _problem(format_: str, size: int) -> tuple[Any, Any, Any]:
    """Random square A, B and C; C in float32, or int32 for integers."""
    import cupy

    if format_ == "s8":
        A, B, C = (_whole(size + number, size, size) for number in range(3))
        return A, B, C.astype(cupy.int32)
    random = cupy.random.default_rng(size)
    A, B, C = (random.random((size, size), dtype=cupy.float32) * 2 - 1 for _ in range(3))
    return _bits(A, format_), _bits(B, format_), C


def _compared(
    load: Load, chosen: Sequence[TensorKernel], rivals: dict[str, Callable], size: int, budget_s: float = 0.8
) -> list[dict]:
    """The kernels, all of one format, in turns with cuBLAS."""
    from helpers.measure.timing import interleave

    format_ = chosen[0].operands
    A, B, C = _problem(format_, size)
    exact = _values(A, format_) @ _values(B, format_)
    launches = {kernel.entry: load(kernel) for kernel in chosen} | rivals
    errors = {name: _verified(launch, A, B, C, exact) for name, launch in launches.items()}
    output = C.copy()
    alpha, beta = (
        (1, 0) if format_ == "s8" else (ALPHA, BETA)
    )  # beta != 0 would let integers grow from launch to launch
    calls = [lambda launch=launch: launch(alpha, A, B, beta, output) for launch in launches.values()]
    times = np.median(interleave(calls, budget_s), axis=0)
    operations = 2.0 * size**3
    rows = []
    for (name, error), time in zip(errors.items(), times.tolist(), strict=True):
        kernel = next((kernel for kernel in chosen if kernel.entry == name), None)
        row = {
            "kernel": kernel.name if kernel else name, "params": dict(kernel.params) if kernel else {},
            "operands": format_, "size": size, "ms": time, "gflops": operations / time / 1e6, "error": error,
        }  # fmt: skip
        rows.append(row)
        print(f"{size:5d} {name:60s} {row['gflops'] / 1e3:7.1f} TFLOPS  error {error:.2e}", flush=True)
    return rows


def _errors(folder: Path) -> list[dict]:
    """The error of every format by K, against float64 of the float32 matrices that were given."""
    import cupy

    rows = []
    for size, depth in itertools.product(ERROR_ROWS, ERROR_DEPTHS):
        random = cupy.random.default_rng(depth)
        A, B = (random.random(shape, dtype=cupy.float32) * 2 - 1 for shape in ((size, depth), (depth, size)))
        exact = A.astype(cupy.float64) @ B.astype(cupy.float64)
        ways = {
            "FP32, cuBLAS": ("f32", _cublas("f32", COMPUTE_32F)),
            "TF32, cuBLAS": ("f32", _cublas("f32", COMPUTE_FAST_TF32)),
            "TF32, cut": ("f32", _launcher(folder, get("tf32"))),
            "TF32, rounded": ("f32", _launcher(folder, get("tf32", ROUND=1))),
            "BF16x3": ("f32", _launcher(folder, get("bf16x3"))),
            "3xTF32": ("f32", _launcher(folder, get("tf32x3"))),
            "BF16x6": ("f32", _launcher(folder, get("bf16x6"))),
            "FP16": ("f16", _launcher(folder, get("mma_rasterized", BF16=0))),
            "BF16": ("bf16", _launcher(folder, get("mma_rasterized"))),
        }
        for name, (format_, launch) in ways.items():
            C = cupy.full((size, size), np.nan, cupy.float32)
            launch(1.0, _bits(A, format_), _bits(B, format_), 0.0, C)
            rows.append({"way": name, "rows": size, "K": depth, "error": _relative_error(C, exact)})
            print(f"{size:5d} rows, K = {depth:5d} {name:15s} {rows[-1]['error']:.3e}", flush=True)
    return rows


def record(folder: Path, out: Path) -> None:
    """Verify and time everything; written after each size."""
    from helpers.measure.provenance import provenance

    rivals = _rivals()
    document: dict[str, Any] = {"provenance": provenance(), "rows": [], "errors": _errors(folder)}
    load = partial(_launcher, folder)
    document["duels"] = [row for size in DUEL_SIZES for row in _duels(load, rivals, size)]
    document["alone"] = _alone(folder, rivals)
    for size in (*SIZES, *ODD_SIZES):
        for format_ in ("bf16", "f16", "f32", "s8"):
            if format_ == "s8" and size % 16:
                continue  # cuBLAS refuses integers in rows that do not begin at multiples of four bytes
            chosen = [kernel for kernel in kernels() if kernel.operands == format_]
            if size > 4096 or size in ODD_SIZES:
                chosen = [kernel for kernel in chosen if kernel.name not in SLOW]
            document["rows"] += _compared(load, chosen, rivals[format_], size)
            out.write_text(json.dumps(document, indent=1))


def here(size: int, budget_s: float = 0.5) -> dict[str, list[dict]]:
    """Measured on the GPU at hand at M = N = K = size: `rows` of the ladder in bfloat16, and the `duels`."""
    rivals = _rivals()
    ladder = [kernel for kernel in KERNELS if kernel.operands == "bf16"]
    return {"rows": _compared(load_here, ladder, rivals["bf16"], size, budget_s),
            "duels": _duels(load_here, rivals, size)}  # fmt: skip


def again(folder: Path, out: Path, name: str) -> None:
    """Measure one kernel's duels anew, and itself and its cuBLAS alone, and put them in the place of those in OUT."""
    from helpers.measure.provenance import provenance

    document, rivals = json.loads(out.read_text()), _rivals()
    chosen = [duel for duel in DUELS if duel[0] == name]
    fresh = {"duels": [row for size in DUEL_SIZES for row in _duels(partial(_launcher, folder), rivals, size, chosen)],
             "alone": _alone(folder, rivals, chosen)}  # fmt: skip
    for part, rows in fresh.items():
        old = document[part]
        for number, row in enumerate(old[:-1]):
            if row["kernel"] == name:  # it and the cuBLAS after it
                index = next(n for n, new in enumerate(rows) if (new["kernel"], new["size"]) == (name, row["size"]))
                old[number : number + 2] = rows[index : index + 2]
    document.setdefault("again", []).append({"kernel": name, "provenance": provenance()})
    out.write_text(json.dumps(document, indent=1))


def _rivals() -> dict[str, dict[str, Callable]]:
    """cuBLAS for each format of A and B."""
    return {
        "f16": {"cublas": _cublas("f16", COMPUTE_32F)},
        "bf16": {"cublas": _cublas("bf16", COMPUTE_32F)},
        "f32": {"cublas TF32": _cublas("f32", COMPUTE_FAST_TF32), "cublas": _cublas("f32", COMPUTE_32F)},
        "s8": {
            "cublas B turned": _cublas("s8", COMPUTE_32I, turned=True),
            "cublas": _cublas("s8", COMPUTE_32I),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("prepare", "record", "again"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path, nargs="?", default=Path("tensor.json"))
    parser.add_argument("kernel", nargs="?", default="tf32")
    arguments = parser.parse_args()
    if arguments.mode == "prepare":
        prepare(arguments.folder)
    elif arguments.mode == "again":
        again(arguments.folder, arguments.out, arguments.kernel)
    else:
        record(arguments.folder, arguments.out)


if __name__ == "__main__":
    main()
