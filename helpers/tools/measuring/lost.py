"""The shapes at which `fastest` lost to cuBLAS, both sides under Nsight Compute: the suite `lost`.

`ncu` runs this file as a program (`python -m helpers.tools.measuring.lost MxNxK …`), which launches our kernel and
cuBLAS once at each shape; it empties the caches before each launch.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gemm_kernels
from helpers import gpu, recordings, run
from helpers.measure.bench import NoProfiler
from helpers.measure.problem import ALPHA, BETA, problem
from helpers.measure.provenance import provenance
from helpers.measure.states import REASONS, STALL, launches
from helpers.recordings.suites import LOST, Shape
from helpers.tools.measuring.counters import ncu_version
from helpers.tools.measuring.graphs import cublas_on

ABOUT = (
    "The shapes at which fastest lost to cuBLAS, both under Nsight Compute, each kernel once with emptied caches "
    "(--clock-control none --cache-control all): microseconds; shares in percent: cycles in which a scheduler issues, "
    "of an SM's time with blocks, of the DRAM's peak, of FFMA among all instructions (as if all lanes ran); warps of "
    "an SM; warps that wait, for each instruction issued."
)
OURS, CUBLAS = "ours", "cublas"
NO_WAITING = ("selected", "not_selected")  # of the REASONS
WAITS = 3  # reasons that are kept of each launch
TIME, ISSUING = "gpu__time_duration.sum", "smsp__issue_active.avg.pct_of_peak_sustained_active"
ACTIVE, ELAPSED = "sm__cycles_active.avg", "sm__cycles_elapsed.max"
DRAM, WARPS = "dram__throughput.avg.pct_of_peak_sustained_elapsed", "sm__warps_active.avg.per_cycle_active"
INSTRUCTIONS, FFMAS = "smsp__inst_executed.sum", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
BLOCKS, THREADS = "launch__grid_size", "launch__block_size"
METRICS = (
    *(TIME, ISSUING, ACTIVE, ELAPSED, DRAM, WARPS, INSTRUCTIONS, FFMAS, BLOCKS, THREADS),
    *(STALL.format(reason) for reason in REASONS if reason not in NO_WAITING),
)
# What tells cuBLAS's kernels apart in their long names
_CUBLAS_NAME = re.compile(r"cutlass_\w+|tilesize\d\w+?_stage\d+|splitKreduce_kernel|cublasGemvParams|gemvN\w*")
_OUR_NAME = re.compile(r"(?:void )?sgemm_\w+")


def lost_shapes(gpu_name: str, folder: Path = recordings.FOLDER) -> list[Shape]:
    """Where `fastest` was recorded to lose to cuBLAS on this GPU. Raises NoRecording."""
    return [row.shape for row in recordings.fastest(gpu_name, folder) if row.of_cublas < 1]


def record_lost(folder: Path = recordings.FOLDER) -> Path:
    """Profile both sides at the shapes that are lost, and write lost.json. NoProfiler without ncu or its permission.

    What was profiled at other shapes before stays: it says which kernels cuBLAS has there.
    """
    shapes = lost_shapes(gpu.name(), folder)
    arguments = ["x".join(map(str, shape)) for shape in shapes]
    rows = list(rows_of(launches(METRICS, "regex:.", __name__, arguments) if shapes else [], shapes))
    file = recordings.path(gpu.name(), LOST, folder)
    recordings.write(file, with_earlier(file, gpu.name(), provenance() | {"ncu": ncu_version()}, rows))
    return file


def with_earlier(
    file: Path, gpu_name: str, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The content of the file with these rows, and its own rows of other shapes before them."""
    old = recordings.read(file) if file.exists() else {"provenance": {}, "rows": []}
    again = [row["shape"] for row in rows]
    kept = [row for row in old["rows"] if row["shape"] not in again]
    last = dict(old["provenance"])
    earlier = {"earlier": [*last.pop("earlier", []), last]} if kept else {}
    return {"gpu": gpu_name, "provenance": {**about, **earlier}, "about": ABOUT, "rows": [*kept, *rows]}


def rows_of(launched: Sequence[Mapping[str, str]], shapes: Sequence[Shape]) -> Iterator[dict[str, Any]]:
    """A row for each launch that ncu reported: at each shape ours first, then those of cuBLAS.

    NoProfiler if they are not so.
    """
    ours = [index for index, row in enumerate(launched) if _OUR_NAME.match(row["Kernel Name"])]
    ends = [*ours[1:], len(launched)][: len(ours)]
    if (
        len(ours) != len(shapes)
        or any(end - begin < 2 for begin, end in zip(ours, ends, strict=True))
        or ours[:1] > [0]
    ):
        names = ", ".join(row["Kernel Name"][:60] for row in launched)
        raise NoProfiler(f"ncu reported these launches for {len(shapes)} shape(s), ours first at each: {names}")
    for shape, begin, end in zip(shapes, ours, ends, strict=True):
        kernel = gemm_kernels.fastest(*shape, gpu.name())
        yield _row(shape, OURS, kernel.short, launched[begin])
        for row in launched[begin + 1 : end]:
            match = _CUBLAS_NAME.search(row["Kernel Name"])
            yield _row(shape, CUBLAS, match[0] if match else row["Kernel Name"][:60], row)


def _row(shape: Shape, side: str, kernel: str, launched: Mapping[str, str]) -> dict[str, Any]:
    value = {name: float(launched[name].replace(",", "")) for name in METRICS}
    waits = {reason: value[STALL.format(reason)] for reason in REASONS if reason not in NO_WAITING}
    most = sorted(waits, key=waits.get, reverse=True)[:WAITS]
    return {
        "shape": list(shape),
        "who": side,
        "kernel": kernel,
        "blocks": int(value[BLOCKS]),
        "threads": int(value[THREADS]),
        "us": round(value[TIME] / 1e3, 2),
        "issuing": round(value[ISSUING], 1),
        "sms_active": round(100 * value[ACTIVE] / value[ELAPSED], 1),
        "dram": round(value[DRAM], 1),
        "warps": round(value[WARPS], 1),
        "instructions": int(value[INSTRUCTIONS]),
        "ffma": round(100 * value[FFMAS] / 32 / value[INSTRUCTIONS], 1),
        "waits": {reason: round(waits[reason], 2) for reason in most},
    }


def launch_all(shapes: Sequence[Shape]) -> None:
    """Launch both sides at each shape once, in the order that `rows_of` expects."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with cublas_on(stream) as cublas:
        for shape in shapes:
            A, B, C = (gpu.asarray(matrix) for matrix in problem(*shape))
            ours = run.load(gemm_kernels.fastest(*shape, gpu.name()))
            gpu.synchronize()
            with stream:
                for launch in (ours, cublas):
                    launch(*shape, ALPHA, A, B, BETA, C)
            gpu.synchronize()


if __name__ == "__main__":
    launch_all([tuple(int(size) for size in shape.split("x")) for shape in sys.argv[1:]])
