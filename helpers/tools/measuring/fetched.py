"""What code that runs once for a tile costs, for the log of the kernels: the suite `fetched`.

PROFILED: how often warps wait for instructions, by Nsight Compute, which runs this file as a program (`python -m
helpers.tools.measuring.fetched`) and empties the caches before each launch. IN_TURNS: `persistent` beside the same
source with one line changed, as the suite `fastest` times the shape, and with a cold L2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import Kernel, get
from helpers import gpu, recordings, run
from helpers.measure.bench import NoProfiler, cublas_sgemm, verify_twice
from helpers.measure.problem import ALPHA, BETA, Reference, problem
from helpers.measure.provenance import code_sha256, provenance
from helpers.measure.states import STALL, launches
from helpers.measure.timing import WARM_UP_S, interleave
from helpers.recordings.compared import GRAPH, way
from helpers.recordings.suites import FETCHED, Shape
from helpers.tools.measuring.counters import ncu_version
from helpers.tools.measuring.fastest_suite import copies_of, on_a_set
from helpers.tools.measuring.graphs import cublas_on, interleave_graphs

ABOUT = (
    "Code that runs once for a tile: what warps wait for (Nsight Compute, caches emptied), and persistent beside the "
    "same source with a line changed, in turns (us: as the suite fastest times the shape, cold_us: with a cold L2)."
)
TIME, ISSUING = "gpu__time_duration.sum", "smsp__issue_active.avg.pct_of_peak_sustained_active"
NO_INSTRUCTION = STALL.format("no_instruction")


def _with(name: str, *values: int) -> Kernel:
    kernel = get(name)
    return kernel.replace(**dict(zip(kernel.params, values, strict=True)))


_persistent = partial(_with, "persistent")
_MEDIUM = _persistent(128, 128, 16, 64, 64, 16, 8, 2, 4, 1, 132)
_LONG = _persistent(128, 256, 8, 32, 128, 16, 8, 1, 4, 1, 132)
_LONG_FOR_EACH_TILE = _persistent(128, 256, 8, 32, 128, 16, 8, 1, 4, 1, 0)
_HIGH = _persistent(160, 256, 8, 40, 128, 20, 8, 1, 4, 1, 132)
_LARGE = _persistent(192, 256, 8, 48, 128, 24, 8, 1, 4, 1, 132)
_FLAT = _persistent(64, 128, 8, 32, 64, 8, 8, 1, 4, 4, 0)
_DEEP = _persistent(32, 32, 64, 32, 32, 8, 4, 8, 4, 2, 264)
PROFILED: tuple[tuple[Kernel, Shape], ...] = (
    (_with("stream_k", 128, 128, 16, 64, 64, 16, 8, 2, 4, 1, 132, 1), (1025, 1025, 1025)),
    (_MEDIUM, (1025, 1025, 1025)),
    (_persistent(32, 128, 32, 32, 128, 16, 8, 4, 4, 2, 264), (256, 256, 8192)),
    (_persistent(64, 128, 32, 64, 64, 16, 8, 4, 3, 1, 132), (256, 256, 8192)),
    (_DEEP, (128, 128, 16384)),
    (_with("stream_k", 64, 8, 32, 64, 8, 4, 4, 4, 4, 2, 264, 1), (43, 153, 2191)),
    (_LONG, (4300, 650, 870)),
    (_FLAT, (5000, 401, 33)),
    (_persistent(64, 32, 64, 64, 32, 8, 8, 8, 4, 1, 132), (4909, 23, 3160)),
    (_with("sliced_k", 32, 64, 64, 32, 64, 8, 8, 8, 3, 2), (295, 594, 1403)),
    (_LARGE, (4096, 4096, 4096)),
    (_LARGE, (8192, 8192, 8192)),
    (_LONG_FOR_EACH_TILE, (2048, 2048, 2048)),
)
NOW = "now"
UNROLLED, ONE_LOOP, GROUPS = "unrolled strips", "one loop at 8 bytes, too", "groups of parts from 9 on"
CHANGES: Mapping[str, tuple[str, str]] = {  # a line of today's source, and what is in its place
    UNROLLED: (
        "#pragma unroll 1   // code that runs once for a tile must be fetched",
        "#pragma unroll   // for a tile",
    ),
    ONE_LOOP: ("ASKS = WIDTH == 1 || SPREAD;", "ASKS = WIDTH <= 2 || SPREAD;"),
    GROUPS: ("FEW = PARTS > 8 ? PARTS : 8;", "FEW = 8;"),
}
IN_TURNS: tuple[tuple[Kernel, Shape, tuple[str, ...]], ...] = (
    (_LARGE, (4096, 4096, 4096), (UNROLLED,)),
    (_LONG_FOR_EACH_TILE, (2048, 2048, 2048), (UNROLLED,)),
    (_MEDIUM, (1025, 1025, 1025), (UNROLLED,)),
    (_HIGH, (2047, 2047, 2047), (UNROLLED,)),
    (_LONG, (4300, 650, 870), (UNROLLED, ONE_LOOP)),
    (_HIGH, (2050, 2050, 2050), (UNROLLED, ONE_LOOP)),
    (_persistent(96, 128, 16, 48, 64, 12, 8, 2, 4, 1, 0), (1201, 1203, 401), (UNROLLED,)),
    (_FLAT, (5000, 401, 33), (UNROLLED,)),
    (_FLAT, (6000, 371, 47), (UNROLLED,)),
    (_DEEP, (128, 128, 16384), (GROUPS,)),
    (_DEEP, (140, 135, 1600), (GROUPS,)),
    (_DEEP, (256, 60, 4060), (GROUPS,)),
)


def changed(source: str, what: str) -> str:
    """The source of `persistent` with a change, or as it is NOW. ValueError if it has changed itself."""
    if what == NOW:
        return source
    line, instead = CHANGES[what]
    if source.count(line) != 1:
        raise ValueError(f"persistent has {line!r} {source.count(line)} times: {what!r} cannot be tried.")
    return source.replace(line, instead)


def record_fetched(folder: Path = recordings.FOLDER) -> Path:
    """Profile, time in turns, and write fetched.json. NoProfiler without ncu or the permission to read counters."""
    about = provenance() | {"ncu": ncu_version()}
    kernels = {kernel.name: kernel for kernel, *_ in (*PROFILED, *IN_TURNS)}
    about["code_sha256"] = {name: code_sha256(kernel) for name, kernel in kernels.items()}
    content = {
        "gpu": gpu.name(),
        "provenance": about,
        "about": ABOUT,
        "profiled": list(profiled(launches((TIME, ISSUING, NO_INSTRUCTION), "regex:sgemm_", __name__, []))),
        "in_turns": [row for case in IN_TURNS for row in in_turns(*case)],
    }
    file = recordings.path(gpu.name(), FETCHED, folder)
    recordings.write(file, content)
    return file


def profiled(launched: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """A row for each of PROFILED, from what ncu reported of one launch each. NoProfiler if they are not so many."""
    if len(launched) != len(PROFILED):
        raise NoProfiler(f"ncu reported {len(launched)} launches, expected {len(PROFILED)}.")
    for (kernel, shape), counters in zip(PROFILED, launched, strict=True):
        time, issuing, waiting = (float(counters[name].replace(",", "")) for name in (TIME, ISSUING, NO_INSTRUCTION))
        yield _of(kernel, shape) | {
            "us": round(time / 1e3, 1),
            "no_instruction": round(waiting, 2),
            "issuing": round(issuing, 1),
        }


def in_turns(kernel: Kernel, shape: Shape, changes: Sequence[str], budget_s: float = 0.5) -> list[dict[str, Any]]:
    """Rows of the kernel as it is and with each change, all and cuBLAS in turns, verified before. Needs a GPU."""
    A, B, C = (gpu.asarray(matrix) for matrix in problem(*shape))
    reference = Reference.of(A, B)
    every = [NOW, *changes]
    rivals: list[Callable[..., None]] = [
        run.launcher(kernel, run.function(changed(kernel.source, what), kernel.entry)) for what in every
    ]
    for launch in rivals:
        verify_twice(launch, reference, A, B, C, ALPHA, BETA)
    output = C.copy()
    bound = [partial(product, *shape, ALPHA, A, B, BETA, output) for product in (*rivals, cublas_sgemm)]
    cold = np.median(interleave(bound, budget_s, WARM_UP_S), axis=0)
    as_the_suite = _in_graph(rivals, (A, B, C), budget_s) if way(*shape) == GRAPH else cold
    return [
        {"what": what}
        | _of(kernel, shape)
        | {"us": _us(ms), "cold_us": _us(cold_ms), "cublas_us": _us(as_the_suite[-1])}
        for what, ms, cold_ms in zip(every, as_the_suite, cold, strict=False)
    ]


def _in_graph(launches: Sequence[Callable[..., None]], inputs: Sequence[Any], budget_s: float) -> np.ndarray:
    import cupy

    sets = copies_of(inputs)
    stream = cupy.cuda.Stream(non_blocking=True)
    with cublas_on(stream) as cublas, stream:
        rivals = [on_a_set(launch, sets) for launch in (*launches, cublas)]
        return np.median(interleave_graphs(rivals, stream, budget_s), axis=0)


def _of(kernel: Kernel, shape: Shape) -> dict[str, Any]:
    return {"kernel": kernel.short, "shape": list(shape)}


def _us(milliseconds: float) -> float:
    return float(f"{1e3 * milliseconds:.4g}")


def launch_all() -> None:
    """Launch each of PROFILED once, in this order."""
    for kernel, shape in PROFILED:
        A, B, C = (gpu.asarray(matrix) for matrix in problem(*shape))
        run.load(kernel)(*shape, ALPHA, A, B, BETA, C)
        gpu.synchronize()


if __name__ == "__main__":
    launch_all()
