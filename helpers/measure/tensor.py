"""Record the kernels for tensor cores beside cuBLAS at the same precision, and every format's error by K.

The machine code is compiled where the course is, and those CUBINs are measured:

    python -m helpers.measure.tensor prepare FOLDER      anywhere: compile
    python -m helpers.measure.tensor record FOLDER OUT   on a machine with a GPU and CuPy: verify, time, write OUT

Each kernel is verified before it is timed: against float64 of the very numbers that it multiplies, once onto NaN with
beta = 0 and once onto C. Kernels and cuBLAS take turns, with a cold L2: all rungs together, and again the last one and
cuBLAS alone (`duels`). An H200 slows its clock when it draws 700 W, so who else takes turns is a part of the result.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels.tensor import SINGLE, TENSOR, TensorKernel, get
from helpers import devices
from helpers.measure.problem import ALPHA, BETA

ARCH = devices.DEFAULT.arch
SIZES = (1024, 2048, 4096, 8192)
ODD_SIZES = (1023, 4095)
SLOW = ("wmma", "mma")  # not measured at 8192
_LARGE = ("BM", "BN", "BK", "WM", "WN", "STAGES", "BLOCKS")
CANDIDATES = {  # of the search: kernel → the parameters in the order of _LARGE
    "mma_rasterized": (
        (128, 256, 32, 64, 64, 3, 1), (128, 256, 64, 64, 64, 3, 1), (256, 128, 64, 64, 64, 3, 1),
        (128, 128, 32, 64, 64, 4, 2), (128, 128, 64, 64, 64, 3, 2), (128, 128, 32, 64, 32, 4, 2),
    ),
    "tf32": (
        (128, 256, 16, 64, 64, 4, 1), (128, 256, 32, 64, 64, 3, 1), (256, 128, 32, 64, 64, 3, 1),
        (128, 128, 16, 64, 64, 4, 2), (128, 128, 32, 64, 32, 3, 1),
    ),
    "tf32x3": (
        (128, 128, 16, 64, 32, 4, 1), (128, 128, 32, 64, 32, 3, 1), (64, 128, 32, 32, 64, 3, 2),
        (128, 64, 16, 64, 32, 4, 2), (128, 128, 16, 32, 32, 4, 1),
    ),
}  # fmt: skip
DUELS = (  # kernel, parameter, the cuBLAS that it takes turns with
    ("mma_autotuned", {"BF16": 1}, "cublas"), ("mma_autotuned", {"BF16": 0}, "cublas"), ("tf32", {}, "cublas TF32"),
    ("tf32x3", {}, "cublas"),
)  # fmt: skip
DUEL_SIZES = (2048, 4096, 8192)
CEILINGS = ("bf16", "f16", "tf32")  # the order of FORMAT in mma_ceiling.cu
CEILING_ROUNDS, CEILING_THREADS = 20000, 256
ERROR_ROWS = (256, 2048)  # M = N of the errors: cuBLAS splits a long k where C is small, which rounds less often
ERROR_DEPTHS = (64, 256, 1024, 4096, 16384)
# cublasComputeType_t and cudaDataType_t (library_types.h, cublas_api.h)
COMPUTE_32F, COMPUTE_FAST_TF32 = 68, 77
CUDA_TYPES = {"f32": 0, "f16": 2, "bf16": 14}


def kernels() -> tuple[TensorKernel, ...]:
    """All that is recorded: the ladder, in float16 where it is fastest, and the candidates of the search."""
    found = [*TENSOR, *SINGLE, get("mma_rasterized", BF16=0), get("tf32", ROUND=1)]
    found += [get(name, **params) for name, params, _ in DUELS]
    for name, candidates in CANDIDATES.items():
        found += [get(name, **dict(zip(_LARGE, values, strict=True))) for values in candidates]
    return tuple({kernel.entry: kernel for kernel in found}.values())


def _file(kernel: TensorKernel) -> str:
    return re.sub(r"\W+", "_", kernel.entry) + ".cubin"


def prepare(folder: Path) -> None:
    """Compile every kernel, with the name of its function in a list beside it."""
    from helpers import compiler

    folder.mkdir(parents=True, exist_ok=True)
    names = {}
    for kernel in kernels():
        built = compiler.compile(kernel.source, kernel.entry, arch=ARCH)
        (folder / _file(kernel)).write_bytes(built.cubin)
        names[kernel.entry] = {"function": built.lowered_name, "registers": built.registers}
    source = (Path(__file__).parent / "mma_ceiling.cu").read_text(encoding="utf-8")
    for number, name in enumerate(CEILINGS):
        built = compiler.compile(source, f"ceiling<{number}>", arch=ARCH)
        (folder / f"ceiling_{name}.cubin").write_bytes(built.cubin)
        names[f"ceiling {name}"] = {"function": built.lowered_name, "registers": built.registers}
    (folder / "names.json").write_text(json.dumps(names, indent=1))


# ---- on the GPU


def _bits(matrix: Any, format_: str) -> Any:
    """A float32 CuPy array in a format: itself, or the nearest 16-bit numbers as uint16."""
    import cupy

    if format_ == "f32":
        return matrix
    if format_ == "f16":
        return matrix.astype(cupy.float16).view(cupy.uint16)
    bits = matrix.view(cupy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(cupy.uint16)


def _values(bits: Any, format_: str) -> Any:
    """The numbers that a format's bits stand for, as float64."""
    import cupy

    if format_ == "f16":
        return bits.view(cupy.float16).astype(cupy.float64)
    wide = (bits.astype(cupy.uint32) << 16).view(cupy.float32) if format_ == "bf16" else bits
    return wide.astype(cupy.float64)


def _launcher(folder: Path, kernel: TensorKernel) -> Callable[..., None]:
    import cupy

    name = json.loads((folder / "names.json").read_text())[kernel.entry]["function"]
    function = cupy.RawModule(path=str(folder / _file(kernel))).get_function(name)
    if kernel.shared_bytes > 48 * 1024:
        function.max_dynamic_shared_size_bytes = kernel.shared_bytes

    def launch(alpha: float, A: Any, B: Any, beta: float, C: Any) -> None:
        (M, K), N = A.shape, B.shape[1]
        arguments = (np.int32(M), np.int32(N), np.int32(K), np.float32(alpha), A, B, np.float32(beta), C)
        function(kernel.grid(M, N), kernel.block, arguments, shared_mem=kernel.shared_bytes)

    return launch


def _cublas(format_: str, compute: int) -> Callable[..., None]:
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas

    handle, type_ = device.get_cublas_handle(), CUDA_TYPES[format_]

    def launch(alpha: float, A: Any, B: Any, beta: float, C: Any) -> None:
        (M, K), N = A.shape, B.shape[1]
        scale = np.array([alpha, beta], np.float32)
        # cuBLAS is column-major: a row-major C = A · B is its C' = B' · A'.
        cublas.gemmEx(handle, 0, 0, N, M, K, scale[:1].ctypes.data, B.data.ptr, type_, N, A.data.ptr, type_, K,
                      scale[1:].ctypes.data, C.data.ptr, 0, N, compute, -1)  # fmt: skip

    return launch


def _relative_error(result: Any, exact: Any) -> float:
    """The root of the mean squared error over the root of the mean square: NaN where something was not written."""
    import cupy

    return float(cupy.sqrt(((result - exact) ** 2).mean() / (exact**2).mean()))


def _verified(launch: Callable[..., None], A: Any, B: Any, C: Any, exact: Any) -> float:
    """The larger error of two launches: one onto NaN with beta = 0, one onto C."""
    import cupy

    fresh, updated = cupy.full_like(C, np.nan), C.copy()
    launch(ALPHA, A, B, 0.0, fresh)
    launch(ALPHA, A, B, BETA, updated)
    return max(_relative_error(fresh, ALPHA * exact), _relative_error(updated, ALPHA * exact + BETA * C))


def _ceilings(folder: Path) -> list[dict]:
    """What mma.sync gives in every format, from registers alone."""
    import cupy

    from helpers.measure.timing import interleave

    names = json.loads((folder / "names.json").read_text())
    blocks = cupy.cuda.Device().attributes["MultiProcessorCount"]
    threads = blocks * CEILING_THREADS
    to = cupy.empty(threads, cupy.float32)
    rows = []
    for name in CEILINGS:
        random = cupy.random.default_rng(1).random(2 * 32 * threads, dtype=cupy.float32) * 2 - 1
        bits = (random if name == "tf32" else _bits(random, name)).view(cupy.uint32)
        module = cupy.RawModule(path=str(folder / f"ceiling_{name}.cubin"))
        function = module.get_function(names[f"ceiling {name}"]["function"])

        def launch(function=function, bits=bits) -> None:
            function((blocks,), (CEILING_THREADS,), (np.int32(CEILING_ROUNDS), bits, to))

        ms = float(np.median(interleave([launch], 0.3)))
        depth = 8 if name == "tf32" else 16
        operations = threads // 32 * CEILING_ROUNDS * 32 * 2.0 * 16 * 8 * depth
        rows.append({"operands": name, "ms": ms, "gflops": operations / ms / 1e6})
        print(f"mma.sync {name}: {rows[-1]['gflops'] / 1e3:.1f} TFLOPS", flush=True)
    return rows


def _duels(folder: Path, rivals: dict[str, dict[str, Callable]], size: int) -> list[dict]:
    """The last kernel of each format in turns with cuBLAS and nobody else."""
    rows = []
    for name, params, rival in DUELS:
        kernel = get(name, **params)
        rows += _compared(folder, [kernel], {rival: rivals[kernel.operands][rival]}, size)
    return rows


def _compared(folder: Path, chosen: Sequence[TensorKernel], rivals: dict[str, Callable], size: int) -> list[dict]:
    """The kernels, all of one format, in turns with cuBLAS."""
    import cupy

    from helpers.measure.timing import interleave

    format_ = chosen[0].operands
    random = cupy.random.default_rng(size)
    matrices = [random.random((size, size), dtype=cupy.float32) * 2 - 1 for _ in range(3)]
    A, B = (_bits(matrix, format_) for matrix in matrices[:2])
    C = matrices[2]
    exact = _values(A, format_) @ _values(B, format_)
    launches = {kernel.entry: _launcher(folder, kernel) for kernel in chosen} | rivals
    errors = {name: _verified(launch, A, B, C, exact) for name, launch in launches.items()}
    output = C.copy()
    calls = [lambda launch=launch: launch(ALPHA, A, B, BETA, output) for launch in launches.values()]
    times = np.median(interleave(calls, 0.8), axis=0)
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
            "3xTF32": ("f32", _launcher(folder, get("tf32x3"))),
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

    rivals = {
        "f16": {"cublas": _cublas("f16", COMPUTE_32F)},
        "bf16": {"cublas": _cublas("bf16", COMPUTE_32F)},
        "f32": {"cublas TF32": _cublas("f32", COMPUTE_FAST_TF32), "cublas": _cublas("f32", COMPUTE_32F)},
    }
    document: dict[str, Any] = {"provenance": provenance(), "rows": [], "errors": _errors(folder)}
    document["ceilings"] = _ceilings(folder)
    document["duels"] = [row for size in DUEL_SIZES for row in _duels(folder, rivals, size)]
    for size in (*SIZES, *ODD_SIZES):
        for format_ in ("bf16", "f16", "f32"):
            chosen = [kernel for kernel in kernels() if kernel.operands == format_]
            if size > 4096 or size in ODD_SIZES:
                chosen = [kernel for kernel in chosen if kernel.name not in SLOW]
            document["rows"] += _compared(folder, chosen, rivals[format_], size)
            out.write_text(json.dumps(document, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("prepare", "record"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path, nargs="?", default=Path("tensor.json"))
    arguments = parser.parse_args()
    if arguments.mode == "prepare":
        prepare(arguments.folder)
    else:
        record(arguments.folder, arguments.out)


if __name__ == "__main__":
    main()
