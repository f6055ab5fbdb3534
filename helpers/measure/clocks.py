"""Four wrong clocks and the right one: what a kernel's speed seems to be if it is timed as beginners time it.

`python -m helpers.tools.measuring record --suite clocks`, on a GPU, times the same launches both ways and keeps the
numbers, so that notebook 13 can ask for them before it shows them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from gemm_kernels import Launch, fastest, get
from gpusim import devices
from helpers import gpu, recordings, run
from helpers.measure.problem import ALPHA, BETA, problem
from helpers.measure.provenance import provenance, sm_clock
from helpers.measure.timing import READ, WARM_UP_S, WRITE, flusher
from helpers.recordings.measurement import Timing, recorded_on
from helpers.recordings.rows import from_row, to_row

SUITE = "clocks"
KERNEL = "serpentine"
LARGE, SMALL, VECTOR = (4096, 4096, 4096), (1024, 1024, 1024), (1, 2048, 4096)
HALF = (8192, 8192, 8192)
ROUNDS = 21
STARTS = 5  # cold starts, each of a module that was never launched
IDLE_S = 2.0  # before a cold start
BURST_S = 0.6  # of launches of one kind before they are timed, so that power and clock settle

RIGHT, NO_SYNC, COLD, WARM, ZEROS = "right", "no synchronisation", "cold start", "warm L2", "zeros as data"


@dataclass(frozen=True)
class Clocked:
    """One way to time one thing.

    clock: RIGHT or a wrong one.  twin: of which wrong clock this is the right counterpart, or itself.  what: which
    kernel.  shape: (M, N, K).  time: milliseconds.  clock_mhz: of the SMs while it ran, 0 where it was not read.
    """

    clock: str
    twin: str
    what: str
    shape: tuple[int, int, int]
    time: Timing
    clock_mhz: int = 0

    @property
    def gflops(self) -> float:
        """By the median."""
        M, N, K = self.shape
        return 2e-6 * M * N * K / self.time.median_ms


def recorded(gpu_name: str = devices.DEFAULT.name) -> tuple[Clocked, ...]:
    """All rows of the recording. Raises recordings.NoRecording."""
    return tuple(from_row(Clocked, row) for row in recordings.raw(gpu_name, SUITE)["rows"])


def pair(twin: str, what: str | None = None, gpu_name: str = devices.DEFAULT.name) -> tuple[Clocked, Clocked]:
    """(the wrong clock's number, the right one's) of the same launch. what: which of several kernels."""
    rows = [row for row in recorded(gpu_name) if row.twin == twin and what in (None, row.what)]
    wrong = next(row for row in rows if row.clock == twin)
    right = next(row for row in rows if row.clock == RIGHT and row.what == wrong.what)
    return wrong, right


def pairs(gpu_name: str = devices.DEFAULT.name) -> tuple[tuple[Clocked, Clocked], ...]:
    """Every wrong clock with its right one, in the order in which the notebook asks for them."""
    wrong = [row for row in recorded(gpu_name) if row.clock != RIGHT]
    order = (NO_SYNC, COLD, WARM, ZEROS)
    return tuple(pair(row.clock, row.what, gpu_name) for row in sorted(wrong, key=lambda row: order.index(row.clock)))


def recorded_label(gpu_name: str = devices.DEFAULT.name) -> str:
    """The label of these numbers, as everything recorded has one."""
    return recorded_on(recordings.raw(gpu_name, SUITE)["gpu"])


def filled_by(gpu_name: str = devices.DEFAULT.name) -> str:
    """How the right clock fills the L2 with other data: "reading", or "writing", as all did before it was recorded."""
    return {READ: "reading", WRITE: "writing"}[recordings.raw(gpu_name, SUITE).get("flush", WRITE)]


# --- on a GPU ---------------------------------------------------------------------------------------------------------


def record_clocks(folder: Path = recordings.FOLDER) -> Path:
    """Time everything, and write it. Needs a GPU."""
    rows = [to_row(clocked) for clocked in measured()]
    file = recordings.path(gpu.name(), SUITE, folder)
    recordings.write(file, {"gpu": gpu.name(), "provenance": provenance(), "flush": READ, "rows": rows})
    return file


def measured() -> Sequence[Clocked]:
    """Every wrong clock beside the right one, on the GPU at hand."""
    large, small, vector = (_started(shape) for shape in (LARGE, SMALL, VECTOR))
    flush = flusher(READ)
    rows = [*_cold(small)]
    right = _events(large, flush)
    rows += [
        Clocked(RIGHT, NO_SYNC, KERNEL, LARGE, right),
        Clocked(NO_SYNC, NO_SYNC, KERNEL, LARGE, _unsynchronised(large)),
        Clocked(RIGHT, COLD, KERNEL, SMALL, _events(small, flush)),
        Clocked(RIGHT, WARM, "fastest", VECTOR, _events(vector, flush)),
        Clocked(WARM, WARM, "fastest", VECTOR, _events(vector, _again(vector, flush))),
    ]
    return [*rows, *_zeros(flush)]


def _launch(shape: tuple[int, int, int]) -> Launch:
    return (fastest(*shape) if 1 in shape else get(KERNEL)).launch(*shape)


def _started(shape: tuple[int, int, int], zeros: bool = False) -> Callable[[], None]:
    """A function that queues one launch on random matrices, or on zeros."""
    launch = _launch(shape)
    A, B, C = (gpu.asarray(np.zeros_like(matrix) if zeros else matrix) for matrix in problem(*shape))
    return partial(run.start, run.function(launch.source, launch.entry), launch, A, B, C, ALPHA, BETA)


def _warm(start: Callable[[], None], seconds: float = WARM_UP_S) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        start()
        gpu.synchronize()


def _again(start: Callable[[], None], flush: Callable[[], None]) -> Callable[[], None]:
    """A function that leaves in the L2 what a launch leaves there. Another kernel goes ahead: a short launch alone ends
    before Python has queued the next one, and the time between two events is then the host's."""

    def before() -> None:
        for _ in range(4):
            flush()
        start()

    return before


def _events(start: Callable[[], None], before: Callable[[], None], rounds: int = ROUNDS) -> Timing:
    """Between two events around each launch, on a GPU that is warm. before: queued ahead of each, not timed; it
    keeps the GPU busy while the events are queued."""
    import cupy

    _warm(start)
    milliseconds = []
    for _ in range(rounds):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        before()
        begin.record()
        start()
        end.record()
        end.synchronize()
        milliseconds.append(cupy.cuda.get_elapsed_time(begin, end))
    return Timing.of(milliseconds)


def _unsynchronised(start: Callable[[], None]) -> Timing:
    """Wall-clock time of queueing a launch that nobody waits for."""
    _warm(start)
    milliseconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        start()
        milliseconds.append(1e3 * (time.perf_counter() - begin))
        gpu.synchronize()
    return Timing.of(milliseconds)


def _cold(start: Callable[[], None]) -> Sequence[Clocked]:
    """Wall-clock time of the first launch of a module, on a GPU that had nothing to do."""
    start()  # the GPU itself is awake, and the inputs are there
    gpu.synchronize()
    launch = _launch(SMALL)
    A, B, C = (gpu.asarray(matrix) for matrix in problem(*SMALL))
    milliseconds = []
    for number in range(STARTS):
        source = f"{launch.source}\n// cold start {number}\n"
        run.function(source, launch.entry)  # compiled before, and kept on disk: only loading remains
        again = run.module(source, launch.entry)
        gpu.synchronize()
        time.sleep(IDLE_S)
        begin = time.perf_counter()
        run.start(again.get_function(launch.entry), launch, A, B, C, ALPHA, BETA)
        gpu.synchronize()
        milliseconds.append(1e3 * (time.perf_counter() - begin))
    return [Clocked(COLD, COLD, KERNEL, SMALL, Timing.of(milliseconds))]


def _zeros(flush: Callable[[], None]) -> Sequence[Clocked]:
    """Random numbers and zeros in turns: our kernel in FP32, and cuBLAS on tensor cores in FP16."""
    import cupy

    def product(zeros: bool) -> Callable[[], None]:
        M, N, K = HALF
        values = cupy.random.default_rng(0).random((2, M, K), dtype=cupy.float32) * 2 - 1
        left, other = (cupy.zeros_like(matrix) if zeros else matrix for matrix in values.astype(cupy.float16))
        result = cupy.empty((M, N), cupy.float16)
        return partial(cupy.matmul, left, other, out=result)

    rows = []
    for what, shape, starts in (
        (KERNEL, LARGE, [_started(LARGE), _started(LARGE, zeros=True)]),
        ("cuBLAS, FP16", HALF, [product(False), product(True)]),
    ):
        times: list[list[float]] = [[], []]
        clocks = [0, 0]
        for _ in range(2):
            for which, start in enumerate(starts):
                _warm(start, BURST_S)
                clocks[which] = _sm_clock(start)
                times[which] += _burst(start, flush)
        for clock, some, mhz in zip((RIGHT, ZEROS), times, clocks, strict=True):
            rows.append(Clocked(clock, ZEROS, what, shape, Timing.of(some), mhz))
    return rows


def _burst(start: Callable[[], None], flush: Callable[[], None], launches: int = 40) -> list[float]:
    """Milliseconds of launches between which the GPU does nothing but flush its L2, so that clock and power stay."""
    import cupy

    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(launches)]
    start()
    for begin, end in events:
        flush()
        begin.record()
        start()
        end.record()
    gpu.synchronize()
    return [cupy.cuda.get_elapsed_time(*two) for two in events]


def _sm_clock(start: Callable[[], None]) -> int:
    """MHz of the SMs while launches are under way; 0 where nvidia-smi is not to be had."""
    for _ in range(400):
        start()
    mhz = sm_clock()
    gpu.synchronize()
    return mhz
