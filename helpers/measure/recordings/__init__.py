"""Measurements made on real GPUs, kept as JSON beside this file, and how to read them back.

`<gpu>.json`: {"gpu": name, "runs": [provenance, …], "rows": [row, …]}; a row names its suite and, by index, its run.
`golden.json`: SHA-256 of the C that each kernel computes on a GPU from `problem(…)`, for the simulator to reproduce.
`counters.json`: Nsight Compute's counters of each kernel. `occupancy.json`: resident blocks by the CUDA driver.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gemm_kernels import Kernel
from helpers.measure.measurement import Measurement

FOLDER = Path(__file__).parent
GOLDEN = FOLDER / "golden.json"
OTHERS = (GOLDEN.name, "counters.json", "occupancy.json")  # files of other things than times
DEFAULT_GPU = "NVIDIA H200"

KEY = ("suite", "kernel", "params", "M", "N", "K")  # two rows that agree in these measure the same thing


class NoRecording(Exception):
    """There is no recording of what was asked for; the message says what there is."""


def path(gpu: str, folder: Path = FOLDER) -> Path:
    """Where the recordings of a GPU are: "NVIDIA H200" -> nvidia-h200.json."""
    return folder / f"{re.sub(r'[^a-z0-9]+', '-', gpu.lower()).strip('-')}.json"


def gpus(folder: Path = FOLDER) -> list[str]:
    """The names of the GPUs that have recordings."""
    return sorted(read(file)["gpu"] for file in folder.glob("*.json") if file.name not in OTHERS)


def load(gpu: str = DEFAULT_GPU, suite: str | None = None, folder: Path = FOLDER) -> list[Measurement]:
    """All recorded measurements of a GPU, or those of one suite (`ladder`, `blocks`)."""
    content = raw(gpu, folder)
    rows = [row for row in content["rows"] if suite in (None, row["suite"])]
    if not rows:
        raise NoRecording(f"The recordings of {gpu} have no suite {suite!r}; they have {_suites(content)}.")
    return [Measurement.from_row(row, gpu) for row in rows]


def raw(gpu: str = DEFAULT_GPU, folder: Path = FOLDER) -> Mapping[str, Any]:
    """The whole file of a GPU, with the provenance of every run."""
    file = path(gpu, folder)
    if not file.exists():
        known = ", ".join(gpus(folder)) or "none"
        raise NoRecording(f"There is no recording of {gpu!r}; there are recordings of: {known}.")
    return read(file)


def find(kernel: Kernel, M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Measurement | None:
    """The recorded measurement of this kernel with these parameters at exactly this shape, or None."""
    for row in load(gpu):
        if _same_kernel(row, kernel) and (row.M, row.N, row.K) == (M, N, K):
            return row
    return None


def nearest(kernel: Kernel, M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Measurement | None:
    """The recorded measurement of this kernel whose M, N and K are nearest to these, as ratios."""

    def distance(row: Measurement) -> float:
        return sum(abs(math.log(have / want)) for have, want in ((row.M, M), (row.N, N), (row.K, K)))

    return min((row for row in load(gpu) if _same_kernel(row, kernel)), key=distance, default=None)


def gflops(kernel: Kernel, M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Measurement:
    """The recorded measurement of this kernel at this shape (`.gflops`, `.cublas_gflops`, `.label`), or NoRecording."""
    row = find(kernel, M, N, K, gpu)
    if row is None:
        rows = sorted((row for row in load(gpu) if _same_kernel(row, kernel)), key=lambda row: row.flops)
        shapes = dict.fromkeys(f"{row.M}×{row.N}×{row.K}" for row in rows)
        params = ", ".join(f"{name}={value}" for name, value in kernel.params.items())
        raise NoRecording(
            f"{kernel.name} ({params}) at {M}×{N}×{K} was not recorded on {gpu}; recorded shapes: "
            f"{', '.join(shapes) or 'none with these parameters'}."
        )
    return row


def _same_kernel(row: Measurement, kernel: Kernel) -> bool:
    return row.kernel == kernel.name and dict(row.params) == dict(kernel.params)


def _suites(content: Mapping[str, Any]) -> str:
    return ", ".join(sorted({row["suite"] for row in content["rows"]})) or "no rows"


def merge(gpu: str, provenance: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], folder: Path = FOLDER) -> Path:
    """Write rows of a new run into the GPU's file. A row that measures what an older one did takes its place.

    Runs that no row refers to any more are dropped.
    """
    file = path(gpu, folder)
    old = read(file) if file.exists() else {"gpu": gpu, "runs": [], "rows": []}
    runs = [*old["runs"], dict(provenance)]
    by_key = {_key(row): row for row in old["rows"]}
    by_key.update({_key(row): {**row, "run": len(runs) - 1} for row in rows})
    used = sorted({row["run"] for row in by_key.values()})
    renumbered = {run: index for index, run in enumerate(used)}
    merged = [{**row, "run": renumbered[row["run"]]} for row in by_key.values()]
    write(file, {"gpu": gpu, "runs": [runs[run] for run in used], "rows": merged})
    return file


def _key(row: Mapping[str, Any]) -> str:
    return json.dumps([row[name] for name in KEY], sort_keys=True)


def write(file: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with one row a line (a small diff for a small change), complete or not at all."""
    parts = []
    for name, value in content.items():
        if name == "rows":
            lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in value)
            text = f"[\n{lines}\n ]" if value else "[]"
        else:
            text = json.dumps(value, indent=1, ensure_ascii=False).replace("\n", "\n ")
        parts.append(f" {json.dumps(name)}: {text}")
    temporary = file.with_suffix(".tmp")
    temporary.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    os.replace(temporary, file)
    _cached.cache_clear()


def read(file: Path) -> Mapping[str, Any]:
    """A recording as it is on disk; read again when the file changed."""
    return _cached(file, file.stat().st_mtime_ns)


@cache
def _cached(file: Path, modified: int) -> Mapping[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))
