"""The product of bfloat16 matrices in a tile language, beside cuBLAS and our last kernel; and cuBLAS's emulated FP32.

    python -m helpers.tools.measuring.tile_language prepare FOLDER   where Triton is: compile; no GPU is needed
    python -m helpers.tools.measuring.tile_language record FOLDER    on a GPU: verify, time, write
    recordings/<gpu>/tile_language.json

`prepare` needs the package `triton`, which is no dependency of the course: `pip install triton`. The CUBIN that it
writes is what `record` launches, through CuPy. C = A · B is float32, with alpha = 1 and beta = 0; sizes are multiples
of the tile.

Emulated FP32 is CUBLAS_COMPUTE_32F_EMULATED_16BFX9 of cuBLAS 12.9 and later; whether a GPU's library really emulates
is asked of the bits: a product that is bit for bit that of CUBLAS_COMPUTE_32F was not emulated.
https://docs.nvidia.com/cuda/cublas/#floating-point-emulation
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import tensor as tensor_kernels
from helpers import gpu, recordings
from helpers.measure import tensor
from helpers.measure.bench import NoGpu
from helpers.recordings import TILE_LANGUAGE
from helpers.tools.measuring import formats

BM, BN, BK, WARPS, STAGES, GROUP = 128, 256, 64, 8, 3, 8
SIZES = (4096, 8192)
EMULATED_SIZE = 4096
BUDGET_S = 3.0  # of timing a size
COMPUTE_EMULATED = 78  # CUBLAS_COMPUTE_32F_EMULATED_16BFX9
OURS = "mma_autotuned"
TENSOR_CORE = re.compile(r"HGMMA|HMMA|UTCHMMA|UTCQMMA|QMMA")
DESCRIPTION = "product.json"

# The kernel in the manner of Triton: a program computes a tile of C, and tl.dot multiplies two tiles.
SOURCE = """
import triton
import triton.language as tl


@triton.jit
def product(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    tile, rows_of_tiles = tl.program_id(0), tl.cdiv(M, BM)
    band = tile // (GROUP * tl.cdiv(N, BN))  # GROUP rows of tiles, which share B in the L2
    height = min(rows_of_tiles - band * GROUP, GROUP)
    y, x = band * GROUP + tile % height, tile % (GROUP * tl.cdiv(N, BN)) // height
    row, col, k = y * BM + tl.arange(0, BM), x * BN + tl.arange(0, BN), tl.arange(0, BK)
    a, b = A + row[:, None] * K + k[None, :], B + k[:, None] * N + col[None, :]
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        sums = tl.dot(tl.load(a), tl.load(b), sums)
        a += BK
        b += BK * N
    tl.store(C + row[:, None] * N + col[None, :], sums)
"""


def prepare(folder: Path) -> None:
    """Compile the kernel by Triton for the course's GPU: product.cubin, and how it is launched beside it."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "triton_product.py"  # Triton reads a kernel's text from its file
    written.write_text(SOURCE, encoding="utf-8")
    namespace: dict[str, Any] = {}
    exec(compile(SOURCE, str(written), "exec"), namespace)
    constants = {"BM": BM, "BN": BN, "BK": BK, "GROUP": GROUP}
    types = {"A": "*bf16", "B": "*bf16", "C": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
    multiples_of_16 = {(number,): [["tt.divisibility", 16]] for number in range(len(types))}
    source = ASTSource(namespace["product"], types | dict.fromkeys(constants, "constexpr"), constants, multiples_of_16)
    target = GPUTarget("cuda", int(tensor.ARCH.removeprefix("sm_")), 32)
    built = triton.compile(source, target=target, options={"num_warps": WARPS, "num_stages": STAGES})
    (folder / "product.cubin").write_bytes(built.asm["cubin"])
    instructions = Counter(TENSOR_CORE.findall(built.asm["sass"]))
    description = {
        "triton": triton.__version__, "function": built.metadata.name, "shared_bytes": built.metadata.shared,
        "threads": built.metadata.num_warps * 32, "instructions": dict(instructions),
        "tile": [BM, BN, BK], "stages": STAGES, "lines": len(_body()),
    }  # fmt: skip
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=1))
    print(description)


def _body() -> list[str]:
    """The lines of the kernel's body."""
    return SOURCE[SOURCE.index("):\n") + 3 :].strip().splitlines()


# ---- on the GPU


def _launcher(folder: Path, description: dict[str, Any]) -> Callable[[Any, Any, Any], None]:
    import cupy

    function = cupy.RawModule(path=str(folder / "product.cubin")).get_function(description["function"])
    function.max_dynamic_shared_size_bytes = description["shared_bytes"]
    none = np.uintp(0)  # Triton's own scratch memory, of which this kernel uses none

    def launch(A: Any, B: Any, C: Any) -> None:
        (M, K), N = A.shape, B.shape[1]
        if M % BM or N % BN or K % BK:
            raise ValueError(f"{M} × {N} × {K} is not whole tiles of {BM} × {BN} × {BK}: take multiples of them.")
        blocks = M // BM * (N // BN)
        arguments = (A, B, C, np.int32(M), np.int32(N), np.int32(K), none, none)
        function((blocks,), (description["threads"],), arguments, shared_mem=description["shared_bytes"])

    return launch


def _products(folder: Path, description: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """Triton's kernel, ours and cuBLAS in turns at M = N = K = size, each verified."""
    import cupy

    from helpers.measure.timing import interleave

    A, B, C = tensor._problem("bf16", size)
    exact = tensor._values(A, "bf16") @ tensor._values(B, "bf16")
    triton, ours = _launcher(folder, description), tensor.load_here(tensor_kernels.get(OURS))
    cublas = tensor._cublas("bf16", tensor.COMPUTE_32F)
    launches = {
        "Triton": lambda: triton(A, B, C), OURS: lambda: ours(1, A, B, 0, C), "cuBLAS": lambda: cublas(1, A, B, 0, C),
    }  # fmt: skip
    errors = {}
    for name, launch in launches.items():
        C.fill(np.nan)
        launch()
        errors[name] = tensor._relative_error(C.astype(cupy.float64), exact)
        if not errors[name] < 1e-5:
            raise SystemExit(f"{name} at {size}: the relative error is {errors[name]:.1e}, so it is not timed.")
    return formats.rows("who", errors, interleave(list(launches.values()), BUDGET_S), size)


def _emulated() -> dict[str, Any]:
    """cuBLAS in FP32 and with emulation asked for: are their bits the same, and their times?"""
    import cupy

    from helpers.measure.timing import interleave

    A, B, C = tensor._problem("f32", EMULATED_SIZE)
    exact = tensor._values(A, "f32") @ tensor._values(B, "f32")
    launches, results, errors = {}, {}, {}
    for name, compute in (("FP32", tensor.COMPUTE_32F), ("emulated FP32", COMPUTE_EMULATED)):
        launches[name] = partial(tensor._cublas("f32", compute), 1, A, B, 0, C)
        C.fill(np.nan)
        try:
            launches[name]()
        except Exception as refusal:  # CuPy's error has the library's status, which is the answer here
            return {"refused": str(refusal), "compute": compute}
        results[name] = C.copy()
        errors[name] = tensor._relative_error(C.astype(cupy.float64), exact)
    first, second = (result.view(cupy.uint32) for result in results.values())
    rows = formats.rows("who", errors, interleave(list(launches.values()), BUDGET_S), EMULATED_SIZE)
    return {"same_bits": bool((first == second).all()), "compute": COMPUTE_EMULATED, "rows": rows}


def record(folder: Path, out: Path = recordings.FOLDER) -> Path:
    """Measure on the GPU at hand what `prepare` compiled, and write. Raises NoGpu."""
    from helpers.measure.provenance import provenance

    if gpu.backend() != "gpu":
        raise NoGpu(f"The suite {TILE_LANGUAGE} is measured on a GPU. {gpu.reason()}")
    description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    rows = [row for size in SIZES for row in _products(folder, description, size)]
    file = recordings.path(gpu.name(), TILE_LANGUAGE, out)
    document = {"gpu": gpu.name(), "provenance": provenance(), "kernel": description, "emulated": _emulated()}
    recordings.write(file, document | {"rows": rows})
    return file


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("prepare", "record"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--folder", type=Path, default=recordings.FOLDER, dest="out", help="of the recordings")
    arguments = parser.parse_args()
    if arguments.mode == "prepare":
        prepare(arguments.folder)
    else:
        print(record(arguments.folder, arguments.out))
