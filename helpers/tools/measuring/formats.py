"""cuBLAS at every precision, in turns: the suite `formats`, short enough for any GPU.

    python -m helpers.tools.measuring.formats [--folder FOLDER]     on a GPU: verify, time, write
    recordings/<gpu>/formats.json

C = A · B with alpha = 1 and beta = 0, from random numbers. A and B are in the format; C is float32, but int32 of
integers and float64 of FP64. FP8 (E4M3) goes through cuBLASLt, its fastest algorithm by the library's heuristic; it and
the integers get B column by column, the only order in which the library has fast kernels for them. FP8 is left out
where cuBLASLt has no algorithm for it.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from helpers import gpu, recordings
from helpers.measure.bench import NoGpu

SIZES = (1024, 2048, 4096, 8192)  # M = N = K
FORMATS = ("FP64", "FP32", "TF32", "FP16", "BF16", "INT8", "FP8")
BUDGET_S = 3.0  # of timing a size
VERIFIED_UP_TO = 4096  # the reference in float64 is slow on most GPUs
OPERANDS = {"FP64": "f64", "FP32": "f32", "TF32": "f32", "FP16": "f16", "BF16": "bf16", "INT8": "s8"}


@contextlib.contextmanager
def _launches(size: int) -> Iterator[dict[str, tuple[Callable[[], None], Callable[[], float]]]]:
    """Format → (launch, its error against float64 of the very numbers that it multiplies)."""
    import cupy

    from helpers.measure import tensor
    from helpers.tools.measuring import cublaslt

    compute = {"FP64": tensor.COMPUTE_64F, "TF32": tensor.COMPUTE_FAST_TF32, "INT8": tensor.COMPUTE_32I}
    launches: dict[str, tuple[Callable[[], None], Callable[[], float]]] = {}
    for name, operands in OPERANDS.items():
        A, B, C = tensor._problem(operands, size)
        C = C.astype(cupy.float64) if operands == "f64" else C
        multiply = tensor._cublas(operands, compute.get(name, tensor.COMPUTE_32F), turned=operands == "s8")

        def launch(multiply=multiply, A=A, B=B, C=C) -> None:
            multiply(1, A, B, 0, C)

        def error(operands=operands, A=A, B=B, C=C) -> float:
            exact = tensor._values(A, operands) @ tensor._values(B, operands)
            return tensor._relative_error(C.astype(cupy.float64), exact)

        launches[name] = launch, error
    A, B = (_e4m3(size + number, size, size) for number in range(2))
    C = cupy.full((size, size), np.nan, cupy.float32)
    with cublaslt.algorithms_of_eight_bits(size, size, size) as algorithms:
        if algorithms:

            def launch_fp8() -> None:
                algorithms[0](size, size, size, 1.0, A, B, 0.0, C)

            def error_fp8() -> float:
                return tensor._relative_error(C.astype(cupy.float64), floats(A) @ floats(B).T)

            launches["FP8"] = launch_fp8, error_fp8
        yield launches


def _e4m3(seed: int, *shape: int) -> Any:
    """Random numbers between -1 and 1 as the nearest bytes in E4M3."""
    import cupy

    positive = _table()[:127]  # bytes are in the order of their values; the next one is NaN
    numbers = cupy.random.default_rng(seed).random(shape, dtype=cupy.float32) * 2 - 1
    middles = cupy.asarray((positive[1:] + positive[:-1]) / 2)
    nearest = cupy.searchsorted(middles, cupy.abs(numbers)).astype(cupy.uint8)
    return nearest | cupy.where(numbers < 0, 128, 0).astype(cupy.uint8)


def floats(bits: Any) -> Any:
    """The numbers that bytes in E4M3 stand for, as float64."""
    import cupy

    return cupy.asarray(_table().astype(np.float64))[bits]


def _table() -> np.ndarray:
    """The number that each byte stands for in E4M3."""
    from gpusim.arithmetic import float8

    return float8.to_float32(np.arange(256, dtype=np.uint8), "e4m3")


def measured(size: int) -> list[dict[str, Any]]:
    """A row for each format at M = N = K = size: TFLOPS of the median, with its quartiles, and the error."""
    from helpers.measure.timing import interleave

    with _launches(size) as launches:
        names = [name for name in FORMATS if name in launches]
        times = interleave([launches[name][0] for name in names], BUDGET_S)
        errors = {name: launches[name][1]() if size <= VERIFIED_UP_TO else None for name in names}
    made = rows("format", errors, times, size)
    for row in made:
        print(f"{size:5d} {row['format']:5s} {row['tflops']:8.1f} TFLOPS, error {row['error']}", flush=True)
    return made


def rows(kind: str, errors: Mapping[str, float | None], times: np.ndarray, size: int) -> list[dict[str, Any]]:
    """The rows of a recording of products that were timed in turns at M = N = K = size.

    kind: what their names are called in it.  errors: of each, by its name.  times: ms, (turn, product).
    """
    quartiles = np.percentile(times, (25, 50, 75), axis=0).T.tolist()
    return [
        {kind: name, "size": size, "tflops": round(2e-9 * size**3 / middle, 2), "ms": [middle, low, high],
         "repeats": len(times), "error": error}
        for (name, error), (low, middle, high) in zip(errors.items(), quartiles, strict=True)
    ]  # fmt: skip


def record(folder: Path = recordings.FOLDER) -> Path:
    """Measure on the GPU at hand, and write. Raises NoGpu."""
    from helpers.measure.provenance import provenance

    if gpu.backend() != "gpu":
        raise NoGpu(f"The suite {recordings.FORMATS} is measured on a GPU. {gpu.reason()}")
    made = [row for size in SIZES for row in measured(size)]
    file = recordings.path(gpu.name(), recordings.FORMATS, folder)
    recordings.write(file, {"gpu": gpu.name(), "provenance": provenance(), "rows": made})
    return file


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=recordings.FOLDER)
    print(record(parser.parse_args().folder))
