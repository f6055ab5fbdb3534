"""Measure what `gemm_kernels.fastest` gives for each shape, beside cuBLAS, cuBLASLt and `autotuned`. Needs a GPU.

Every run goes over the whole list of shapes, so that the runs of a shape lie minutes apart and their spread is real.
Before it is timed, a kernel's result is compared with float64, and it must give the same bits twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gemm_kernels
from gemm_kernels import Kernel, get
from helpers import gpu, recordings
from helpers.measure.bench import NoGpu, Refusal, accept, compile_all, cublas_sgemm, verify_twice
from helpers.measure.problem import ALPHA, BETA, Reference, problem
from helpers.measure.provenance import code_sha256, provenance
from helpers.measure.timing import WARM_UP_S, interleave
from helpers.recordings.compared import GRAPH, Compared, Run, way
from helpers.recordings.measurement import MEASURED
from helpers.recordings.suites import FASTEST, Shape, SuiteShape
from helpers.tools.measuring import cublaslt
from helpers.tools.measuring.graphs import SETS, cublas_on, interleave_graphs

RUNS = 3
OFFERED_SHARE = 0.3  # of the budget, for finding the best of what cuBLASLt offers

Launch = Callable[..., None]  # (M, N, K, alpha, A, B, beta, C)
Rivals = tuple[Kernel, Kernel]  # what `fastest` gives, and the ladder's `autotuned`, which may be the same one


class NotRepeatable(Exception):
    """Two launches of a kernel on the same inputs gave different bits; the message says how many and where."""


class NoChoice(Exception):
    """`gemm_kernels.fastest` knows nothing of this GPU; the message says what to do."""


def choose(shapes: Sequence[SuiteShape], gpu_name: str) -> dict[SuiteShape, Rivals]:
    """The kernels that are timed at each place, beside cuBLAS. NoChoice if there are none for this GPU."""
    autotuned = get("autotuned")
    try:
        return {
            row: (
                gemm_kernels.fastest(*row.shape, gpu_name),
                gemm_kernels.at_shape(autotuned, *row.shape, gpu_name),
            )
            for row in shapes
        }
    except ValueError as error:
        raise NoChoice(f"gemm_kernels.fastest cannot choose a kernel for {gpu_name!r}: {error}") from error


def compare(
    kernels: Mapping[SuiteShape, Rivals],
    *,
    runs: int = RUNS,
    budget_s: float = 1.0,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[tuple[list[Compared], list[Refusal]]]:
    """Go over all shapes `runs` times. After each time: the rows so far, and what has been refused so far.

    A place at which a kernel is refused has no row, and no other turn. `budget_s`, in seconds, is spent on timing each
    shape each time.  report: called with the number of shapes done in this run, and of all.
    """
    runs_of: dict[SuiteShape, list[Run]] = {row: [] for row in kernels}
    refused: list[Refusal] = []
    for run in range(runs):
        shapes = list(runs_of)
        for done, row in enumerate(shapes, start=1):
            measured, refusals = measure(kernels[row], row.shape, seed=run, budget_s=budget_s)
            if measured is None:
                del runs_of[row]
                refused += [replace(refusal, shape=row.shape) for refusal in refusals]
            else:
                runs_of[row].append(measured)
            report(done, len(shapes))
        yield [_compared(row, kernels[row][0], measured) for row, measured in runs_of.items()], list(refused)


def _compared(row: SuiteShape, kernel: Kernel, runs: Sequence[Run]) -> Compared:
    return Compared(
        group=row.group,
        M=row.M,
        N=row.N,
        K=row.K,
        kernel=kernel.name,
        params=dict(kernel.params),
        way=way(*row.shape),
        runs=tuple(runs),
        gpu=gpu.name(),
        label=MEASURED,
    )


def measure(kernels: Rivals, shape: Shape, *, seed: int = 0, budget_s: float = 1.0) -> tuple[Run | None, list[Refusal]]:
    """One run at one shape: the kernels and cuBLAS in turns. None if a kernel is refused, and why.

    NoGpu without a GPU; LaunchFailed if a kernel faults, after which the process can measure nothing more.
    """
    if gpu.backend() != "gpu":
        raise NoGpu(
            f"Timing needs a GPU. {gpu.reason()} helpers.recordings.fastest() reads what was recorded on a GPU."
        )
    inputs = tuple(gpu.asarray(matrix) for matrix in problem(*shape, seed))
    reference = Reference.of(*inputs[:2])
    different = list({kernel.entry: kernel for kernel in kernels}.values())  # the same machine code is timed once
    accepted, refused = accept(different, lambda launch: verify_and_repeat(launch, reference, *inputs))
    if refused:
        return None, refused
    launches = [accepted_kernel.launch for accepted_kernel in accepted]
    times = _graphs if way(*shape) == GRAPH else _events
    with cublaslt.algorithms(*shape) as offered:
        milliseconds = times(launches, offered, reference, inputs, budget_s)
    *medians, cublas, best = np.median(milliseconds, axis=0).round(6).tolist()
    ms = {accepted_kernel.kernel.entry: median for accepted_kernel, median in zip(accepted, medians, strict=True)}
    ours, autotuned = (ms[kernel.entry] for kernel in kernels)
    return Run(ours, cublas, best, len(offered), autotuned, len(milliseconds), accepted[0].error), []


def _events(
    launches: Sequence[Launch],
    offered: Sequence[Launch],
    reference: Reference,
    inputs: Sequence[Any],
    budget_s: float,
) -> np.ndarray:
    """Milliseconds of each launch and, last, of cuBLAS and the best that is offered: a cold L2, events around each."""
    A, B, C = inputs
    (M, K), N = A.shape, B.shape[1]
    output = C.copy()

    def times(every: Sequence[Launch], budget_s: float, warm_up_s: float) -> np.ndarray:
        bound = [partial(launch, M, N, K, ALPHA, A, B, BETA, output) for launch in every]
        return interleave(bound, budget_s, warm_up_s)

    return _beside(launches, cublas_sgemm, offered, reference, inputs, budget_s, times)


def _graphs(
    launches: Sequence[Launch],
    offered: Sequence[Launch],
    reference: Reference,
    inputs: Sequence[Any],
    budget_s: float,
) -> np.ndarray:
    """Milliseconds of the same: many launches in a graph, over several sets of inputs."""
    import cupy

    sets = copies_of(inputs)
    stream = cupy.cuda.Stream(non_blocking=True)

    def times(every: Sequence[Launch], budget_s: float, warm_up_s: float) -> np.ndarray:
        return interleave_graphs([on_a_set(launch, sets) for launch in every], stream, budget_s, warm_up_s)

    with cublas_on(stream) as cublas, stream:
        return _beside(launches, cublas, offered, reference, inputs, budget_s, times)


def _beside(
    launches: Sequence[Launch],
    cublas: Launch,
    offered: Sequence[Launch],
    reference: Reference,
    inputs: Sequence[Any],
    budget_s: float,
    times: Callable[[Sequence[Launch], float, float], np.ndarray],
) -> np.ndarray:
    """Milliseconds of each launch, of cuBLAS, and of the offered one that a first, short turn finds to be the fastest.

    times: of several launches in turns, within a budget and after so many seconds of warming up.
    """
    A, B, C = inputs
    for library in (cublas, *offered):
        verify_twice(library, reference, A, B, C, ALPHA, BETA)
    if not offered:
        offered = (cublas,)
    short = np.median(times(offered, OFFERED_SHARE * budget_s, WARM_UP_S), axis=0)
    best = offered[int(short.argmin())]
    return times([*launches, cublas, best], (1 - OFFERED_SHARE) * budget_s, 0.0)


def copies_of(inputs: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Sets of inputs for the launches of a graph to use in turn, ready for any stream."""
    sets = [tuple(matrix.copy() for matrix in inputs) for _ in range(SETS)]
    gpu.synchronize()  # a stream that does not block does not wait for the copies by itself
    return sets


def on_a_set(launch: Launch, sets: Sequence[tuple[Any, ...]]) -> Callable[[int], None]:
    """The launch with the number of its set as its only argument, as `interleave_graphs` wants it."""
    A, B, _ = sets[0]
    (M, K), N = A.shape, B.shape[1]

    def once(which: int) -> None:
        a, b, c = sets[which]
        launch(M, N, K, ALPHA, a, b, BETA, c)

    return once


def verify_and_repeat(launch: Launch, reference: Reference, A: Any, B: Any, C: Any) -> float:
    """The error, see `verify_twice`. WrongResult if C is wrong, NotRepeatable if it is not the same twice."""
    error = verify_twice(launch, reference, A, B, C, ALPHA, BETA)
    (M, K), N = A.shape, B.shape[1]
    first, second = C.copy(), C.copy()
    for output in (first, second):
        launch(M, N, K, ALPHA, A, B, BETA, output)
    gpu.synchronize()
    different = first.view(np.uint32) != second.view(np.uint32)
    count = int(different.sum())
    if count:
        row, col = divmod(int(different.argmax()), N)
        raise NotRepeatable(
            f"Two launches on the same inputs gave different bits in {count} of {M * N} elements, the first "
            f"C[{row}, {col}]: {float(first[row, col])!r} and {float(second[row, col])!r}. A kernel of this course "
            "adds in a fixed order: look for a race, or for blocks that add their sums in the order of their arrival."
        )
    return error


def record(
    kernels: Mapping[SuiteShape, Rivals],
    *,
    runs: int = RUNS,
    budget_s: float = 1.0,
    folder: Path | None = recordings.FOLDER,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[tuple[list[Compared], list[Refusal]]]:
    """`compare`, with all kernels compiled beforehand, and kept after each run, if there is a folder to keep it in.

    The file is written anew: it holds one recording. Interrupted, it holds the runs that were finished.
    """
    every = [kernel for pair in kernels.values() for kernel in pair]
    compile_all(every, report)
    about = provenance() | {"code_sha256": {kernel.name: code_sha256(kernel) for kernel in every}} if folder else {}
    for rows, refused in compare(kernels, runs=runs, budget_s=budget_s, report=report):
        if folder and rows:
            recordings.write(
                recordings.path(gpu.name(), FASTEST, folder),
                {"gpu": gpu.name(), "provenance": about, "rows": [row.row() for row in rows]},
            )
        yield rows, refused
