"""Measurements made on real GPUs, kept as JSON beside this file, and how to read them back.

A folder for each GPU, in it a file for each suite that was measured: `nvidia-h200/ladder.json`.

`ladder`, `shapes`, `blocks`, `sweep` and `tiles` (times beside cuBLAS; a kernel with its parameters has one row at a
shape in all of them, and pages read it by `find`), `search` and `finals` (of the best parameters):
    {"gpu": name, "runs": [provenance, …], "rows": [a `Measurement` and the number of its run, …]}.
`fastest`: what `gemm_kernels.fastest` gives for each shape, beside cuBLAS, in several runs (`Compared`).
`choices`: what the candidates for `gemm_kernels.fastest` reached at many shapes (`choosing.Measured`).
`golden`: SHA-256 of the C that each kernel computes on the GPU from `problem(…)`, for the simulator to reproduce.
`counters`: Nsight Compute's counters of each kernel. `occupancy`: resident blocks by the CUDA driver.
`machine`: microbenchmarks of the GPU, `workloads`: times of kernels that are no step of the ladder, `states`: what
warps wait for by Nsight Compute, `cycles`: what was fitted to them. `predicted`: what the model says of the
configurations of the tuning space (`helpers.tools.speeds`); nothing of this was measured.
`registers`: what the register file costs, by changed machine code (`helpers.measure.registers`).
`fetched`: what code that runs once for a tile costs, `lost`: both sides where cuBLAS is faster, by Nsight Compute (for
the log of the kernels, gemm_kernels/cuda/stream_k.md).
`causes`: kernels with a cause of slowness and without it, the (median, quartiles, repeats) of both in milliseconds
(`helpers.profile.pairs`).
`profiled`: small kernels timed and profiled, and samples of the ladder while nothing was issued. `timeline`: when the
host and the GPU did what in the seven steps of a launch (`helpers.measure.host_timeline`).
`lines`: what warps wait for before the instructions of each line, by Nsight Compute (`helpers.tools.measuring.lines`).
`reductions`: sums, scans, argmin and histograms beside a copy of memory (`helpers.exercises.reductions`).
`family`: many small products in one launch, a loop and a graph, and a transformer's layer (`helpers.exercises.family`).
`source_pairs`: sources that differ in one thing (`helpers.exercises.pairs`).
`clocks`: the same launches, timed rightly and in four wrong ways (`helpers.measure.clocks`).
`products`: every kind of product of `gemm_kernels.gemm` beside cuBLAS (`helpers.tools.measuring.products`).
`algorithms`: every algorithm of cuBLASLt beside those that its heuristic names (`helpers.tools.measuring.algorithms`).
`formats`: cuBLAS at every precision, in turns (`helpers.tools.measuring.formats`).
`conditions`: ours beside cuBLAS under all that a sceptical reader asks about (`helpers.measure.conditions`).
`correctness`: what was tried to find each kernel wrong, on the GPU and under compute-sanitizer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gemm_kernels import Kernel, at_shape, get
from gemm_kernels.choices import distance, slug
from gpusim import constants, devices
from gpusim.sentences import Sentence
from helpers.recordings.compared import Compared
from helpers.recordings.measurement import Measurement
from helpers.recordings.suites import FASTEST, RUNGS, SEARCHES, TIMED_SUITES

FOLDER = Path(__file__).parent
FORMATS = "formats"  # the suite of cuBLAS at every precision
TILE_LANGUAGE = "tile_language"  # the suite of a Triton kernel beside ours, and of emulated FP32
MACHINE = constants.MACHINE  # the suite of the microbenchmarks, which `calibrate` measures
KEY = ("kernel", "params", "M", "N", "K")  # two rows of a suite that agree in these measure the same thing
ROW_A_LINE = (
    "rows",
    "searched",
    "candidates",
    "fastest",
    "trees",
    "roofs",
    "layouts",
    "at_work",
)  # lists that are written with a line for each


class NoRecording(Sentence, Exception):
    """There is no recording of what was asked for; the message says what there is and how to make it."""


# --- reading ----------------------------------------------------------------------------------------------------------


def path(gpu: str, suite: str, folder: Path = FOLDER) -> Path:
    """Where a suite of a GPU is recorded: ("NVIDIA H200", "ladder") -> nvidia-h200/ladder.json."""
    return _home(suite, folder) / slug(gpu) / f"{suite}.json"


def _home(suite: str, folder: Path) -> Path:
    """The folder of a suite: constants of the time model lie beside it."""
    return constants.FOLDER if suite in constants.SUITES and folder == FOLDER else folder


def gpus(folder: Path = FOLDER, suites: Iterable[str] = TIMED_SUITES) -> list[str]:
    """The names of the GPUs that have recordings of at least one of these suites."""
    return sorted({read(file)["gpu"] for suite in suites for file in _home(suite, folder).glob(f"*/{suite}.json")})


def shown(suite: str, folder: Path = FOLDER) -> str:
    """The GPU whose recording of a suite is shown where none was measured: the default one, if it has one."""
    names = gpus(folder, (suite,))
    return devices.DEFAULT.name if devices.DEFAULT.name in names or not names else names[0]


def raw(gpu: str, suite: str, folder: Path = FOLDER) -> Mapping[str, Any]:
    """The whole file of a suite, with its provenance. Raises NoRecording."""
    file = path(gpu, suite, folder)
    if not os.path.exists(file):  # also for a name that is too long for any file
        there = sorted(other.stem for other in file.parent.glob("*.json")) if os.path.isdir(file.parent) else []
        known = f"{gpu} has: {', '.join(there)}" if there else f"there are recordings of: {_listed(gpus(folder))}"
        raise NoRecording(f"There is no recording of the suite {suite!r} on {gpu!r}; {known}. {how_to(suite)}")
    return read(file)


def of_architecture(suite: str, device: devices.Device, folder: Path = FOLDER) -> list[Mapping[str, Any]]:
    """The files of a suite of all GPUs with the compute capability of this one: they run the same machine code."""
    files = (read(file) for file in sorted(folder.glob(f"*/{suite}.json")))
    wanted = ".".join(map(str, device.compute_capability))
    return [file for file in files if file["provenance"]["compute_capability"] == wanted]


def row_of(kernel: str, gpu: str, suite: str, what: str) -> Mapping[str, Any]:
    """The row of a kernel, by its name, in a suite that has one of each. NoRecording, with those that there are.

    what: what was recorded, in the plural.
    """
    rows = raw(gpu, suite)["rows"]
    for row in rows:
        if row["kernel"] == kernel:
            return row
    known = ", ".join(row["kernel"] for row in rows)
    raise NoRecording(f"No {what} of {kernel} were recorded; there are some of {known}.")


def load(gpu: str = devices.DEFAULT.name, suite: str | None = None, folder: Path = FOLDER) -> list[Measurement]:
    """The recorded measurements of a suite of a GPU (`ladder`, `search`, …), or of all suites but the searches."""
    suites = [suite] if suite else [name for name in TIMED_SUITES if path(gpu, name, folder).exists()]
    if not suites:
        raise NoRecording(f"There is no recording of {gpu!r}; there are recordings of: {_listed(gpus(folder))}.")
    return [row for suite in suites for row in _measurements(gpu, suite, folder)]


def fastest(gpu: str = devices.DEFAULT.name, folder: Path = FOLDER) -> list[Compared]:
    """What `gemm_kernels.fastest` reached at each shape of its suite, beside cuBLAS. Raises NoRecording."""
    return [Compared.from_row(row, gpu) for row in raw(gpu, FASTEST, folder)["rows"]]


def find(kernel: Kernel, M: int, N: int, K: int, gpu: str = devices.DEFAULT.name) -> Measurement | None:
    """The recorded measurement of this kernel with these parameters at exactly this shape, or None.

    A kernel whose parameters are chosen by shape stands for what is chosen for this shape (`gemm_kernels.at_shape`).
    """
    kernel = at_shape(kernel, M, N, K, gpu)
    for row in load(gpu):
        if _same_kernel(row, kernel) and (row.M, row.N, row.K) == (M, N, K):
            return row
    return None


def nearest(kernel: Kernel, M: int, N: int, K: int, gpu: str = devices.DEFAULT.name) -> Measurement | None:
    """The recorded measurement of this kernel whose M, N and K are nearest to these, as ratios."""
    return min(_of(kernel, gpu), key=lambda row: distance((row.M, row.N, row.K), (M, N, K)), default=None)


def gflops(kernel: Kernel, M: int, N: int, K: int, gpu: str = devices.DEFAULT.name) -> Measurement:
    """The recorded measurement of this kernel at this shape (`.gflops`, `.cublas_gflops`, `.label`), or NoRecording."""
    row = find(kernel, M, N, K, gpu)
    if row is None:
        shapes = dict.fromkeys(
            f"{row.M}×{row.N}×{row.K}" for row in sorted(_of(kernel, gpu), key=lambda row: row.flops)
        )
        params = ", ".join(f"{name}={value}" for name, value in kernel.params.items())
        raise NoRecording(
            f"{kernel.name} ({params}) at {M}×{N}×{K} was not recorded on {gpu}; recorded shapes: "
            f"{_listed(shapes, 'none with these parameters')}. {how_to('ladder')}"
        )
    return row


def how_to(suite: str) -> str:
    """What makes a recording of a suite, as a sentence."""
    commands = {"search": "tune", "finals": "tune", "choices": "choose"}
    return f"`python -m helpers.tools.measuring {commands.get(suite, f'record --suite {suite}')}` on a GPU makes one."


def _measurements(gpu: str, suite: str, folder: Path) -> tuple[Measurement, ...]:
    raw(gpu, suite, folder)  # NoRecording if there is none
    file = path(gpu, suite, folder)
    return _parsed(file, file.stat().st_mtime_ns, gpu)


@cache
def _parsed(file: Path, modified: int, gpu: str) -> tuple[Measurement, ...]:
    return tuple(Measurement.from_row(row, gpu) for row in _cached(file, modified)["rows"])


def _of(kernel: Kernel, gpu: str) -> list[Measurement]:
    return [row for row in load(gpu) if _same_kernel(row, at_shape(kernel, row.M, row.N, row.K, gpu))]


def _same_kernel(row: Measurement, kernel: Kernel) -> bool:
    return row.kernel == kernel.name and dict(row.params) == dict(kernel.params)


def _listed(names: Iterable[str], none: str = "none") -> str:
    return ", ".join(names) or none


# --- writing ----------------------------------------------------------------------------------------------------------


def merge(
    gpu: str, suite: str, provenance: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], folder: Path = FOLDER
) -> Path:
    """Write rows of a new run into a suite's file. A row that measures what an older one did takes its place.

    A kernel that is chosen by shape has one row for each shape, whatever its parameters, but in a search. Runs that no
    row refers to any more are dropped.
    """
    file = path(gpu, suite, folder)
    old = read(file) if file.exists() else {"runs": [], "rows": []}

    def key(row: Mapping[str, Any]) -> str:
        by_shape = suite not in SEARCHES and get(row["kernel"]).chosen_by_shape
        return json.dumps([row[name] for name in KEY if not (by_shape and name == "params")], sort_keys=True)

    by_key = {key(row): row for row in old["rows"]}
    by_key.update({key(row): {**row, "run": len(old["runs"])} for row in rows})
    _write_runs(file, gpu, [*old["runs"], dict(provenance)], list(by_key.values()))
    return file


def replace_rows(
    file: Path, provenance: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], where: str = "rows"
) -> Path:
    """Put rows of a later run in the places of a suite's rows of the same kernels and sizes; all others stay.

    The suite keeps its provenance, which says under "later" what kernels are from another run, and from which.
    where: the list of the file that the rows are in.  NoRecording if one of them has no place there.
    """
    old = read(file)
    new = {(row["kernel"], row.get("size")): row for row in rows}
    places = [(row["kernel"], row.get("size")) for row in old[where]]
    if missing := dict.fromkeys(kernel for kernel, size in new if (kernel, size) not in places):
        raise NoRecording(f"{file.name} has no {where} of {_listed(missing)} to replace; record the whole suite.")
    about = dict(old["provenance"])
    about["later"] = about.get("later", {}) | {kernel: dict(provenance) for kernel, _ in new}
    kept = [new.get(key, row) for key, row in zip(places, old[where], strict=True)]
    write(file, {**old, "provenance": about, where: kept})
    return file


def drop(file: Path, unwanted: Callable[[Mapping[str, Any]], bool]) -> None:
    """Take the unwanted rows out of a file, and the runs that nothing refers to any more. No file: nothing to do."""
    if file.exists():
        old = read(file)
        _write_runs(file, old["gpu"], old["runs"], [row for row in old["rows"] if not unwanted(row)])


def _write_runs(file: Path, gpu: str, runs: list[Mapping[str, Any]], rows: list[Mapping[str, Any]]) -> None:
    """Rows in the order of the ladder; runs that no row refers to are left out."""
    order = [kernel.name for kernel in RUNGS]
    rows = sorted(rows, key=lambda row: order.index(row["kernel"]))
    used = sorted({row["run"] for row in rows})
    renumbered = {run: index for index, run in enumerate(used)}
    rows = [{**row, "run": renumbered[row["run"]]} for row in rows]
    write(file, {"gpu": gpu, "runs": [runs[run] for run in used], "rows": rows})


def write(file: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with one row on a line (a small diff for a small change), complete or not at all."""
    parts = []
    for name, value in content.items():
        if name in ROW_A_LINE:
            lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in value)
            text = f"[\n{lines}\n ]" if value else "[]"
        else:
            text = json.dumps(value, indent=1, ensure_ascii=False).replace("\n", "\n ")
        parts.append(f" {json.dumps(name)}: {text}")
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(".tmp")
    temporary.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    os.replace(temporary, file)
    _cached.cache_clear()
    _parsed.cache_clear()


def read(file: Path) -> Mapping[str, Any]:
    """A recording as it is on disk; read again when the file changed."""
    return _cached(file, file.stat().st_mtime_ns)


@cache
def _cached(file: Path, modified: int) -> Mapping[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))
