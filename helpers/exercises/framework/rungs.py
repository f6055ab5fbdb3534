"""The learner's own ladder: every multiplication that they wrote, what it asks of memory, and how fast it is.

Counters are those of the learner's kernel, from the simulator. Speeds of the course's plain kernels, which are the
solutions, were recorded on a GPU; the learner's own is timed where there is one, and elsewhere predicted.

    python -m helpers.exercises --record     on a GPU: time the solutions, and write recordings/<gpu>/plain.json
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from gemm_kernels import Launch
from helpers import cycles, gpu, recordings, run
from helpers.exercises.framework.blank import LEARNER, Blank
from helpers.exercises.framework.exercise import code_of
from helpers.exercises.framework.multiplications import LAST, SHOWN, kernel_of, rungs
from helpers.exercises.framework.speed import SUITE, recorded
from helpers.measure.bench import compile_all, cublas_sgemm
from helpers.measure.problem import Reference, problem
from helpers.measure.provenance import provenance
from helpers.measure.timing import interleave
from helpers.pictures import theme
from helpers.pictures.block_shapes.facts import sectors_per_request
from helpers.pictures.tables import Table
from helpers.recordings.measurement import MEASURED, Measurement, Timing

SIZES = (1024, 2048, 4096)  # M = N = K; every tile divides them
COUNTED = (128, 128, 64)  # M, N, K of the launch whose requests are counted


@dataclass(frozen=True)
class Rung:
    """One kernel of the learner's ladder.

    blank: which.  written: whether the learner wrote it.  sectors: per load request to global memory.  loads: requests
    to shared memory per FMA of a warp, 0 without shared memory.  speed: measured here or recorded, None if neither.
    predicted: for a kernel of the learner's where there is no GPU, None if its time cannot be predicted.
    """

    blank: Blank
    written: bool
    sectors: float
    loads: float
    speed: Measurement | None
    predicted: cycles.Prediction | None = None


def my_rungs(size: int = SHOWN, until: str = LAST) -> tuple[Rung, ...]:
    """The ladder as it stands: accepted kernels, and for a blank that is still open the course's.

    until: the last notebook whose kernels are in it.
    """
    climbed = []
    for blank in (rung for rung in rungs() if rung.notebook <= until):
        written = blank.written
        own = written.by == LEARNER
        recording = run.record(kernel_of(blank, written.source).launch(*COUNTED))
        fmas = max(1, recording.instructions("FFMA"))
        loads = recording.total("requests", "shared", "ld") / fmas
        speed = _speed(blank, written.source, own, size)
        predicted = _predicted(blank, written.source, size) if own and speed is None else None
        climbed.append(Rung(blank, own, sectors_per_request(recording), loads, speed, predicted))
    return tuple(climbed)


def _predicted(blank: Blank, source: str, size: int) -> cycles.Prediction | None:
    try:
        return cycles.predict(kernel_of(blank, source).launch(size, size, size))
    except cycles.CANNOT:
        return None


def _speed(blank: Blank, source: str, own: bool, size: int) -> Measurement | None:
    if gpu.backend() == "gpu":
        (measured,) = timed([kernel_of(blank, source).launch(size, size, size)])
        return measured
    return None if own else recorded(blank.name, size)


LOADS = "shared loads per FMA"  # a column that is left out as long as no kernel uses shared memory


def my_ladder(size: int = SHOWN, until: str = LAST) -> Table:
    """The learner's ladder as a table: whose each kernel is, what it asks for, and its speed with its label."""
    rows, climbed = [], my_rungs(size, until)
    for rung in climbed:
        speed, label = "–", "timed where a GPU is"
        if rung.speed is not None:
            speed, label = theme.thousands(rung.speed.gflops), rung.speed.label
        elif rung.predicted is not None:
            flops = 2 * size**3 / 1e6
            slow, fast = (theme.thousands(flops / ms) for ms in reversed(rung.predicted.range_ms))
            speed, label = theme.thousands(flops / rung.predicted.ms), f"{rung.predicted.label}, {slow} to {fast}"
        rows.append(
            (
                rung.blank.notebook, rung.blank.name, "yours" if rung.written else "the course's",
                " × ".join(map(str, rung.blank.problem.block)),
                f"{rung.sectors:.1f}", f"{rung.loads:.2f}", speed, label,
            )
        )  # fmt: skip
    header = (
        "notebook", "kernel", "whose", "block", "sectors per load request", LOADS, "GFLOPS", "speed",
    )  # fmt: skip
    words = {"kernel", "whose", "block", "speed"}
    shown = [column for column, name in enumerate(header) if name != LOADS or any(rung.loads for rung in climbed)]
    header, rows = tuple(header[n] for n in shown), [tuple(row[n] for n in shown) for row in rows]
    sides = theme.thousands(size)
    caption = f"Your ladder. Counters are simulated; speeds are for M = N = K = {sides}."
    return Table(header, tuple(rows), caption, words=frozenset(n for n, name in enumerate(header) if name in words))


# --- on a GPU ---------------------------------------------------------------------------------------------------------


def timed(launches: Sequence[Launch], budget_s: float = 0.3) -> list[Measurement]:
    """Launches of one shape, timed in turns with cuBLAS after each was checked against float64. Needs a GPU.

    WrongResult if a result is wrong. alpha is 1 and beta 0, as plain kernels have it.
    """
    (M, N, K) = launches[0].shape
    A, B, _ = (gpu.asarray(matrix) for matrix in problem(M, N, K))
    reference = Reference.of(A, B)
    compile_all(launches)
    starts: list[Callable[[], None]] = []
    errors = []
    for launch in launches:
        C = gpu.full((M, N), np.nan, np.float32)
        starts.append(partial(run.start, run.function(launch.source, launch.entry), launch, A, B, C))
        starts[-1]()
        gpu.synchronize()
        errors.append(reference.check(C))
    C = gpu.full((M, N), np.nan, np.float32)
    milliseconds = interleave([*starts, partial(cublas_sgemm, M, N, K, 1.0, A, B, 0.0, C)], budget_s)
    cublas = Timing.of(milliseconds[:, -1])
    return [
        Measurement(
            launch.name, {}, launch.block, M, N, K, Timing.of(milliseconds[:, column]), cublas, errors[column],
            gpu.name(), MEASURED,
        )
        for column, launch in enumerate(launches)
    ]  # fmt: skip


def sha256(blank: Blank) -> str:
    """Of the solution without its comments, by which a test sees that what was recorded is what the course shows."""
    return hashlib.sha256("\n".join(code_of(blank.solved)).encode()).hexdigest()


@cache
def _hashes() -> dict[str, str]:
    return {blank.name: sha256(blank) for blank in rungs()}


def record() -> str:
    """Time the solutions on the GPU at hand, and write what was measured. Returns where."""
    rows = []
    for size in SIZES:
        launches = [kernel_of(blank, blank.solved).launch(size, size, size) for blank in rungs()]
        for measured in timed(launches, budget_s=4.0):
            rows.append({**measured.row(), "sha256": _hashes()[measured.kernel]})
    file = recordings.path(gpu.name(), SUITE)
    recordings.write(file, {"gpu": gpu.name(), "provenance": provenance(), "rows": rows})
    return str(file)
