"""All algorithms of cuBLASLt beside what its heuristic names, cuBLAS and ours: is there a faster one that it hides?

    python -m helpers.tools.measuring.algorithms [FOLDER]     on a GPU: write recordings/<gpu>/algorithms.json

At each shape every algorithm that AlgoCheck accepts is launched a few times; the FINALISTS fastest of them, compared
with float64, take turns with all that the heuristic names, with cuBLAS and with `gemm_kernels.fastest`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gemm_kernels
from helpers import gpu, recordings, run
from helpers.measure.bench import cublas_sgemm, verify_twice
from helpers.measure.conditions import CUBLAS
from helpers.measure.problem import ALPHA, BETA, Reference, WrongResult, problem
from helpers.measure.provenance import provenance
from helpers.measure.timing import interleave
from helpers.recordings.measurement import Timing
from helpers.recordings.suites import ALGORITHMS, EVERY, FASTEST, NAMED
from helpers.tools.measuring import cublaslt
from helpers.tools.measuring.cublaslt import Algorithm, Launch

SHAPES = (
    *((size, size, size) for size in (512, 1024, 2048, 2049, 4096, 8192)),
    *((8192, 1024, 4096), (128, 4096, 4096), (4096, 4096, 128), (1, 4096, 4096)),
)
GROUPS = (CUBLAS, FASTEST, NAMED, EVERY)
FINALISTS = 6
TRIES = 2  # launches of each algorithm in the first round, of which the faster counts
FIRST_ROUND_S = 6.0  # for a shape; what was not tried then is counted
BUDGET_S = 0.5


def at_shape(shape: tuple[int, int, int]) -> dict[str, Any]:
    """A row: how many algorithms there are, and the best of each group beside the others, timed in turns."""
    A, B, C = (gpu.asarray(matrix) for matrix in problem(*shape))
    reference, output = Reference.of(A, B), C.copy()
    ours = gemm_kernels.fastest(*shape, gpu.name())
    with cublaslt.algorithms(*shape) as named, cublaslt.every_algorithm(*shape) as every:
        tried = _first_round(every, partial(_arguments, shape, A, B, output))
        finalists = [
            (algorithm, launch) for _, algorithm, launch in tried[: 4 * FINALISTS] if _right(launch, reference, A, B, C)
        ]
        finalists = finalists[:FINALISTS]
        rivals: list[tuple[str, Launch]] = [(CUBLAS, cublas_sgemm), (FASTEST, run.load(ours))]
        rivals += [(NAMED, launch) for launch in named] + [(EVERY, launch) for _, launch in finalists]
        launches = [partial(launch, *_arguments(shape, A, B, output)) for _, launch in rivals]
        milliseconds = interleave(launches, BUDGET_S)
    M, N, K = shape
    row: dict[str, Any] = {"M": M, "N": N, "K": K, "named": len(named), "accepted": len(every), "tried": len(tried)}
    for group in GROUPS:
        columns = [number for number, (name, _) in enumerate(rivals) if name == group]
        if columns:
            best = min(columns, key=lambda column: float(np.median(milliseconds[:, column])))
            row[group] = vars(Timing.of(milliseconds[:, best]))
            if group == EVERY:
                row["algorithm"] = finalists[best - columns[0]][0].describe()
    return row | {"kernel": ours.name, "params": dict(ours.params)}


def _arguments(shape: tuple[int, int, int], A: Any, B: Any, C: Any) -> tuple[Any, ...]:
    return (*shape, ALPHA, A, B, 0.0, C)


def _first_round(every: Sequence[tuple[Algorithm, Launch]], arguments: Any) -> list[tuple[float, Algorithm, Launch]]:
    """Milliseconds of each algorithm, the fastest first: those that FIRST_ROUND_S were enough for, in mixed order."""
    import cupy

    timed = []
    until = time.perf_counter() + FIRST_ROUND_S
    for number in np.random.default_rng(0).permutation(len(every)):
        algorithm, launch = every[number]
        events = [cupy.cuda.Event() for _ in range(TRIES + 1)]
        try:
            launch(*arguments())  # loads its code
            for event in events[:-1]:
                event.record()
                launch(*arguments())
            events[-1].record()
            events[-1].synchronize()
        except cublaslt.NoCublasLt:
            continue  # accepted, and refused when it is launched
        times = [cupy.cuda.get_elapsed_time(*pair) for pair in zip(events, events[1:], strict=False)]
        timed.append((min(times), algorithm, launch))
        if time.perf_counter() > until:
            break
    return sorted(timed, key=lambda each: each[0])


def _right(launch: Launch, reference: Reference, A: Any, B: Any, C: Any) -> bool:
    try:
        verify_twice(launch, reference, A, B, C, ALPHA, BETA)
    except WrongResult:
        return False
    return True


def main(folder: Path = recordings.FOLDER) -> Path:
    """Record all shapes; the file is written again after each."""
    file, about = recordings.path(gpu.name(), ALGORITHMS, folder), provenance()
    rows: list[dict[str, Any]] = []
    for shape in SHAPES:
        rows.append(at_shape(shape))
        recordings.write(file, {"gpu": gpu.name(), "provenance": about, "rows": rows})
        said = [f"{rows[-1][name]} {name}" for name in ("named", "accepted", "tried")]
        said += [f"{name} {1e3 * rows[-1][name]['median_ms']:.1f} µs" for name in GROUPS if name in rows[-1]]
        print("×".join(map(str, shape)), ", ".join(said), flush=True)
    return file


if __name__ == "__main__":
    print(main(*map(Path, sys.argv[1:])))
