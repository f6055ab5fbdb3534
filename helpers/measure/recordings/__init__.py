"""Measurements made on real GPUs, kept as JSON beside this file, and how to read them back.

`<gpu>.json`: {"gpu": name, "runs": [provenance, …], "rows": [row, …]}; a row names its suite and, by index, its run.
`tuning-<gpu>.json`: the same of the search for the best parameters (suites `tuning` and `finals`).
`fastest-<gpu>.json`: what `gemm_kernels.fastest` gives for each shape, beside cuBLAS, in several runs.
`choices-<gpu>.json`: what the candidates for `gemm_kernels.fastest` reached at many shapes.
`golden.json`: SHA-256 of the C that each kernel computes on a GPU from `problem(…)`, for the simulator to reproduce.
`counters.json`: Nsight Compute's counters of each kernel. `occupancy.json`: resident blocks by the CUDA driver.
`correctness.json`: what was tried to find each kernel wrong, on a GPU and under compute-sanitizer.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gemm_kernels import LADDER, Kernel, autotuned, dispatch, get
from gemm_kernels import tuned as searched
from helpers.measure.compared import Compared
from helpers.measure.measurement import Measurement
from helpers.sentences import Sentence

FOLDER = Path(__file__).parent
GOLDEN = FOLDER / "golden.json"
OTHERS = (GOLDEN.name, "counters.json", "occupancy.json", "correctness.json")  # files of other things than times
TUNING = "tuning-"  # begins the names of the files that the suites of the search are in
TUNING_SUITES = ("tuning", "finals")
FASTEST = "fastest-"  # begins the names of the files that the suite `fastest` is in
CHOICES = "choices-"  # begins the names of the files that `gemm_kernels.fastest` was chosen by
DEFAULT_GPU = "NVIDIA H200"
BY_SHAPE = ("autotuned", "stream_k")  # kernels whose parameters are chosen for each shape

KEY = ("suite", "kernel", "params", "M", "N", "K")  # two rows that agree in these measure the same thing


class NoRecording(Sentence, Exception):
    """There is no recording of what was asked for; the message says what there is."""


def path(gpu: str, folder: Path = FOLDER) -> Path:
    """Where the recordings of a GPU are: "NVIDIA H200" -> nvidia-h200.json."""
    return folder / f"{re.sub(r'[^a-z0-9]+', '-', gpu.lower()).strip('-')}.json"


def tuning_path(gpu: str, folder: Path = FOLDER) -> Path:
    """Where the search for the best parameters is: "NVIDIA H200" -> tuning-nvidia-h200.json."""
    return folder / f"{TUNING}{path(gpu, folder).name}"


def fastest_path(gpu: str, folder: Path = FOLDER) -> Path:
    """Where the suite `fastest` is: "NVIDIA H200" -> fastest-nvidia-h200.json."""
    return folder / f"{FASTEST}{path(gpu, folder).name}"


def choices_path(gpu: str, folder: Path = FOLDER) -> Path:
    """Where the candidates that were compared are: "NVIDIA H200" -> choices-nvidia-h200.json."""
    return folder / f"{CHOICES}{path(gpu, folder).name}"


def gpus(folder: Path = FOLDER) -> list[str]:
    """The names of the GPUs that have recordings."""
    files = (
        file
        for file in folder.glob("*.json")
        if file.name not in OTHERS and not file.name.startswith((TUNING, FASTEST, CHOICES))
    )
    return sorted(read(file)["gpu"] for file in files)


def load(gpu: str = DEFAULT_GPU, suite: str | None = None, folder: Path = FOLDER) -> list[Measurement]:
    """All recorded measurements of a GPU but those of the search, or those of one suite (`ladder`, `tuning`, …)."""
    content = raw(gpu, folder, suite)
    rows = [row for row in content["rows"] if suite in (None, row["suite"])]
    if not rows:
        raise NoRecording(f"The recordings of {gpu} have no suite {suite!r}; they have {_suites(content)}.")
    return [Measurement.from_row(row, gpu) for row in rows]


def raw(gpu: str = DEFAULT_GPU, folder: Path = FOLDER, suite: str | None = None) -> Mapping[str, Any]:
    """The whole file of a GPU in which a suite is, with the provenance of every run."""
    of_search = suite in TUNING_SUITES
    file = tuning_path(gpu, folder) if of_search else path(gpu, folder)
    if not file.exists():
        known = ", ".join(gpus(folder)) or "none"
        what = "search for the best parameters on" if of_search else "recording of"
        raise NoRecording(f"There is no {what} {gpu!r}; there are recordings of: {known}.")
    return read(file)


def fastest(gpu: str = DEFAULT_GPU, folder: Path = FOLDER) -> list[Compared]:
    """What `gemm_kernels.fastest` reached at each shape of its suite, beside cuBLAS; NoRecording if nothing."""
    file = fastest_path(gpu, folder)
    if not file.exists():
        known = ", ".join(sorted(read(one)["gpu"] for one in folder.glob(f"{FASTEST}*.json"))) or "none"
        raise NoRecording(f"There is no recording of the suite 'fastest' on {gpu!r}; there are recordings of: {known}.")
    return [Compared.from_row(row, gpu) for row in read(file)["rows"]]


def write_fastest(gpu: str, provenance: Mapping[str, Any], rows: Iterable[Compared], folder: Path = FOLDER) -> Path:
    """Write a recording of the suite `fastest`. It takes the place of an older one: its runs belong together."""
    file = fastest_path(gpu, folder)
    write(file, {"gpu": gpu, "provenance": dict(provenance), "rows": [row.row() for row in rows]})
    return file


def find(kernel: Kernel, M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Measurement | None:
    """The recorded measurement of this kernel with these parameters at exactly this shape, or None.

    A kernel whose parameters are chosen by shape (`autotuned`, `stream_k`) stands for what is chosen for this shape.
    """
    kernel = at_shape(kernel, M, N, K, gpu)
    for row in load(gpu):
        if _same_kernel(row, kernel) and (row.M, row.N, row.K) == (M, N, K):
            return row
    return None


def at_shape(kernel: Kernel, M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Kernel:
    """The kernel itself; `autotuned` and `stream_k` with the parameters that were found for this shape."""
    if kernel == get("autotuned") and gpu in searched.gpus():
        return autotuned(M, N, K, gpu)
    if kernel == get("stream_k") and gpu in dispatch.gpus():
        return dispatch.stream_k(M, N, K, gpu)
    return kernel


def nearest(kernel: Kernel, M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Measurement | None:
    """The recorded measurement of this kernel whose M, N and K are nearest to these, as ratios."""

    def distance(row: Measurement) -> float:
        return sum(abs(math.log(have / want)) for have, want in ((row.M, M), (row.N, N), (row.K, K)))

    rows = (row for row in load(gpu) if _same_kernel(row, at_shape(kernel, row.M, row.N, row.K, gpu)))
    return min(rows, key=distance, default=None)


def gflops(kernel: Kernel, M: int, N: int, K: int, gpu: str = DEFAULT_GPU) -> Measurement:
    """The recorded measurement of this kernel at this shape (`.gflops`, `.cublas_gflops`, `.label`), or NoRecording."""
    row = find(kernel, M, N, K, gpu)
    if row is None:
        same = (row for row in load(gpu) if _same_kernel(row, at_shape(kernel, row.M, row.N, row.K, gpu)))
        rows = sorted(same, key=lambda row: row.flops)
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
    merge_into(file, gpu, provenance, rows)
    return file


def merge_into(file: Path, gpu: str, provenance: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> None:
    """`merge` for a file by its path."""
    old = read(file) if file.exists() else {"gpu": gpu, "runs": [], "rows": []}
    by_key = {_key(row): row for row in old["rows"]}
    by_key.update({_key(row): {**row, "run": len(old["runs"])} for row in rows})
    _write_runs(file, gpu, [*old["runs"], dict(provenance)], list(by_key.values()))


def drop(file: Path, unwanted: Callable[[Mapping[str, Any]], bool]) -> None:
    """Take the unwanted rows out of a file, and the runs that nothing refers to any more. No file: nothing to do."""
    if file.exists():
        old = read(file)
        _write_runs(file, old["gpu"], old["runs"], [row for row in old["rows"] if not unwanted(row)])


def _write_runs(file: Path, gpu: str, runs: list[Mapping[str, Any]], rows: list[Mapping[str, Any]]) -> None:
    """Rows in the order of their suites, and in a suite of the ladder; runs that no row refers to are left out."""
    suites = list(dict.fromkeys(row["suite"] for row in rows))
    ladder = [kernel.name for kernel in LADDER]
    rows = sorted(rows, key=lambda row: (suites.index(row["suite"]), ladder.index(row["kernel"])))
    used = sorted({row["run"] for row in rows})
    renumbered = {run: index for index, run in enumerate(used)}
    rows = [{**row, "run": renumbered[row["run"]]} for row in rows]
    write(file, {"gpu": gpu, "runs": [runs[run] for run in used], "rows": rows})


def _key(row: Mapping[str, Any]) -> str:
    """Two rows with the same key measure the same thing. A kernel of BY_SHAPE is the same with other parameters."""
    names = KEY if row["kernel"] not in BY_SHAPE or row["suite"] in TUNING_SUITES else (*KEY[:2], *KEY[3:])
    return json.dumps([row[name] for name in names], sort_keys=True)


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
