"""What notebook 16 only knows from a GPU: how fast each way to a sum is, beside a copy of memory and CuPy's own.

    python -m helpers.exercises.reductions     on a GPU: write recordings/<gpu>/reductions.json

All ways take turns in one run, on the same 2²⁶ random numbers and with nothing of them in the L2. What they compute is
compared with float64. And two sums are launched again and again, to see whether their bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from gpusim import devices
from helpers import gpu, measure, recordings, run
from helpers.exercises.n16 import BLOCK_TREE, HISTOGRAM, LAST_BLOCK, ONE_ATOMIC, TWO_LEVELS, WARP_TREE
from helpers.exercises.n16.arrays import BINS
from helpers.measure.provenance import provenance
from helpers.measure.timing import flusher, take_turns
from helpers.pictures import theme
from helpers.pictures.tables import Table, not_recorded
from helpers.recordings.measurement import MEASURED, Timing, recorded_on

SUITE = "reductions"
N = 2**26  # floats, 256 MiB: more than any L2 holds
FAST = Path(measure.__file__).parent / "at_memory_speed.cu"
FAST_THREADS, FAST_BINS = 512, 256  # as at_memory_speed.cu has them
AGAIN = 12  # launches whose bits are compared
COPY = "copy of x"
SUM, SCAN, ARGMIN, COUNTS = "sum", "scan", "argmin", "histogram"


@dataclass(frozen=True)
class Way:
    """One way to do a task, as timed.

    task: SUM, … or "copy".  name: what tables call it.  launches: of kernels; 0 if a library hides them.  bytes: that
    have to be read and written, at least.  time: of all launches.  error: from float64; of SUM as a share of it, of
    SCAN as a share of the last, of the others how many numbers are wrong.
    """

    task: str
    name: str
    launches: int
    bytes: int
    time: Timing
    error: float

    @property
    def bandwidth(self) -> float:
        """GB per second."""
        return self.bytes / self.time.median_ms / 1e6


@dataclass(frozen=True)
class Measured:
    """All ways of one run. label: where it was.  bits: name -> the float that each of AGAIN launches gave, as hex."""

    ways: tuple[Way, ...]
    bits: Mapping[str, tuple[str, ...]]
    label: str

    @property
    def copy(self) -> Way:
        """The copy that took turns with the others."""
        return next(way for way in self.ways if way.name == COPY)

    def of_copy(self, way: Way) -> float:
        """The bandwidth of a way as a share of the copy's."""
        return way.bandwidth / self.copy.bandwidth

    def find(self, name: str) -> Way:
        """The way with this name."""
        return next(way for way in self.ways if way.name == name)


@dataclass(frozen=True)
class Scan:
    """One instantiation of the scan at memory speed. rows: float4 of a thread in a tile."""

    threads: int
    rows: int

    @property
    def entry(self) -> str:
        return f"scan<{self.threads}, {self.rows}>"

    @property
    def tile(self) -> int:
        """Floats of a tile."""
        return 4 * self.threads * self.rows

    def tiles(self, n: int) -> int:
        """Blocks for n floats."""
        return -(-n // self.tile)


# Of the copy's bandwidth on an H200: 256 × 10 90.3 %, 256 × 8 90.1 %, 256 × 4 85.6 %, 1024 × 4 70 %. Blocks that stay,
# and copy their next tile while they look back: 49 to 78 %.
FASTEST_SCAN = Scan(256, 10)


# --- the ways, on a GPU ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Runner:
    """start: queues the launches.  result: what they have left, on the host."""

    task: str
    name: str
    launches: int
    bytes: int
    start: Callable[[], None]
    result: Callable[[], Any]


def fast(entry: str) -> Any:
    """One of the kernels of at_memory_speed.cu for the device: "sum", "argmin", "histogram" or a `Scan.entry`."""
    return run.function(FAST.read_text(encoding="utf-8"), entry)


def _sms() -> int:
    import cupy

    return cupy.cuda.Device().attributes["MultiProcessorCount"]


def _halving(name: str, source: str, entry: str, threads: int, x: Any) -> _Runner:
    """Launches of a kernel that leaves a part for each block, until one part is left."""
    kernel, arrays = run.function(source, entry), [x]
    while arrays[-1].size > 1:
        arrays.append(gpu.zeros(-(-arrays[-1].size // threads), np.float32))
    launches = [
        partial(kernel, (to.size,), (threads,), (np.int32(of.size), of, to))
        for of, to in zip(arrays, arrays[1:], strict=False)
    ]

    def start() -> None:
        for launch in launches:
            launch()

    return _Runner(SUM, name, len(launches), x.nbytes, start, lambda: float(arrays[-1][0]))


def _sums(x: Any) -> list[_Runner]:
    n, sms = np.int32(x.size), _sms()
    total, few = gpu.zeros(1, np.float32), 8 * sms
    kernel = run.function(ONE_ATOMIC.solved, "sum")
    levels, last = run.function(TWO_LEVELS.solved, "block_sums"), run.function(LAST_BLOCK.solved, "sum")
    parts, arrived = gpu.zeros(32 * sms, np.float32), gpu.zeros(1, np.uint32)
    first = parts[:few]

    def one_atomic() -> None:
        total.data.memset_async(0, 4)
        kernel((-(-x.size // 128),), (128,), (n, x, total))

    def two_levels() -> None:
        levels((few,), (256,), (n, x, first))
        levels((1,), (256,), (np.int32(few), first, total))

    def last_block() -> None:
        total.data.memset_async(0, 4)
        last((32 * sms,), (64,), (n, x, parts, arrived, total))

    def fastest() -> None:
        quick((3 * sms,), (FAST_THREADS,), (n, x, parts, arrived, total))

    quick = fast(SUM)
    total_of = lambda: float(total[0])  # noqa: E731
    return [
        _Runner(SUM, ONE_ATOMIC.name, 1, x.nbytes, one_atomic, total_of),
        _halving(BLOCK_TREE.name, BLOCK_TREE.solved, "block_sums", 128, x),
        _halving(WARP_TREE.name, WARP_TREE.solved, "warp_sums", 32, x),
        _Runner(SUM, TWO_LEVELS.name, 2, x.nbytes, two_levels, total_of),
        _Runner(SUM, LAST_BLOCK.name, 1, x.nbytes, last_block, total_of),
        _Runner(SUM, "sum at memory speed", 1, x.nbytes, fastest, total_of),
    ]


def _scan(way: Scan, x: Any, y: Any, name: str) -> _Runner:
    """A scan of x to y."""
    n, tiles = np.int32(x.size), way.tiles(x.size)
    published, next_tile, launches = gpu.zeros(tiles, np.uint64), gpu.zeros(1, np.uint32), count()
    kernel = fast(way.entry)

    def scan() -> None:
        kernel((tiles,), (way.threads,), (n, x, y, published, next_tile, np.uint32(next(launches))))

    return _Runner(SCAN, name, 1, 2 * x.nbytes, scan, lambda: gpu.asnumpy(y))


def _others(x: Any, y: Any, numbers: Any, few: Any) -> list[_Runner]:
    """Scan, argmin and histogram. numbers: below FAST_BINS, few: below BINS, both int32."""
    n, sms = np.int32(x.size), _sms()
    best, bins, few_bins = gpu.zeros(1, np.uint64), gpu.zeros(FAST_BINS, np.int32), gpu.zeros(BINS, np.int32)
    smallest, counting = fast(ARGMIN), fast(COUNTS)
    learners = run.function(HISTOGRAM.solved, "histogram")

    def argmin() -> None:
        best.data.memset_async(255, 8)
        smallest((4 * sms,), (FAST_THREADS,), (n, x, best))

    def histogram() -> None:
        bins.data.memset_async(0, bins.nbytes)
        counting((4 * sms,), (FAST_THREADS,), (n, numbers, bins))

    def own_histogram() -> None:
        few_bins.data.memset_async(0, few_bins.nbytes)
        learners((16 * sms,), (128,), (n, few, few_bins))

    return [
        _scan(FASTEST_SCAN, x, y, "scan at memory speed"),
        _Runner(ARGMIN, "argmin at memory speed", 1, x.nbytes, argmin, lambda: int(best[0]) & 0xFFFFFFFF),
        _Runner(COUNTS, HISTOGRAM.name, 1, x.nbytes, own_histogram, lambda: gpu.asnumpy(few_bins)),
        _Runner(COUNTS, "histogram at memory speed", 1, x.nbytes, histogram, lambda: gpu.asnumpy(bins)),
    ]


def _library(x: Any, y: Any, numbers: Any) -> list[_Runner]:
    """The copy, and CuPy's functions, which call CUB where CuPy does so by default."""
    import cupy

    kept: dict[str, Any] = {}

    def keep(name: str, function: Callable[[], Any]) -> Callable[[], None]:
        return lambda: kept.__setitem__(name, function())

    rows = (
        (SUM, "cupy.sum", x.nbytes, lambda: cupy.sum(x), float),
        (SCAN, "cupy.cumsum", 2 * x.nbytes, lambda: cupy.cumsum(x, out=y), gpu.asnumpy),
        (ARGMIN, "cupy.argmin", x.nbytes, lambda: cupy.argmin(x), int),
        (COUNTS, "cupy.histogram", x.nbytes,
         lambda: cupy.histogram(numbers, bins=FAST_BINS, range=(0, FAST_BINS))[0], gpu.asnumpy),
    )  # fmt: skip
    copy = _Runner("copy", COPY, 1, 2 * x.nbytes, lambda: y.data.copy_from_device_async(x.data, x.nbytes), lambda: None)
    return [copy] + [
        _Runner(task, name, 0, size, keep(name, function), lambda name=name, of=of: of(kept[name]))
        for task, name, size, function, of in rows
    ]


def _error(runner: _Runner, x: np.ndarray, exact: np.ndarray, numbers: np.ndarray, few: np.ndarray) -> float:
    """How far the result is from that of float64. exact: the running sums."""
    result = runner.result()
    if runner.task == SUM:
        return abs(result / exact[-1] - 1)
    if runner.task == SCAN:
        return float(np.abs(result - exact).max() / abs(exact[-1]))
    if runner.task == ARGMIN:
        return float(result != int(x.argmin()))
    if runner.task == COUNTS:
        wanted = np.bincount(few, minlength=BINS) if runner.name == HISTOGRAM.name else np.bincount(numbers)
        return float(np.count_nonzero(result != wanted))
    return 0.0


def _inputs(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x (n) float32 from 0 to 1, and whole numbers (n) below FAST_BINS and below BINS."""
    generator = np.random.default_rng(16)
    x = generator.random(n, np.float32)
    return x, *(generator.integers(0, most, n, np.int32) for most in (FAST_BINS, BINS))


def measured(n: int = N, budget_s: float = 2.0) -> Measured:
    """All ways at n elements, in turns, on the GPU at hand."""
    hosts = _inputs(n)
    x, numbers, few = map(gpu.asarray, hosts)
    y = gpu.zeros(n, np.float32)
    runners = [*_library(x, y, numbers), *_sums(x), *_others(x, y, numbers, few)]
    exact = np.cumsum(hosts[0], dtype=np.float64)
    errors = []
    for runner in runners:
        runner.start()
        gpu.synchronize()
        errors.append(_error(runner, hosts[0], exact, *hosts[1:]))
    import cupy

    starts = [runner.start for runner in runners]
    times = take_turns(starts, cupy.cuda.get_current_stream(), budget_s, flusher())
    ways = tuple(
        Way(runner.task, runner.name, runner.launches, runner.bytes, Timing.of(times[:, column]), error)
        for column, (runner, error) in enumerate(zip(runners, errors, strict=True))
    )
    return Measured(ways, bits(x), MEASURED)


ATOMIC_PARTS = "two_levels, parts added by atomics"


def bits(x: Any) -> dict[str, tuple[str, ...]]:
    """The bits of the sum, launch by launch: of blocks that add their parts by atomics, and of the last block."""
    n, sms = np.int32(x.size), _sms()
    store = "parts[blockIdx.x] = v"
    assert TWO_LEVELS.solved.count(store) == 1
    atomics = run.function(TWO_LEVELS.solved.replace(store, "atomicAdd(parts, v)"), "block_sums")
    last = run.function(LAST_BLOCK.solved, "sum")
    parts, arrived = gpu.zeros(32 * sms, np.float32), gpu.zeros(1, np.uint32)
    bits_of: dict[str, list[str]] = {ATOMIC_PARTS: [], LAST_BLOCK.name: []}
    for _ in range(AGAIN):
        total = gpu.zeros(1, np.float32)
        atomics((8 * sms,), (256,), (n, x, total))
        bits_of[ATOMIC_PARTS].append(hex_of(float(total[0])))
        total = gpu.zeros(1, np.float32)
        last((32 * sms,), (64,), (n, x, parts, arrived, total))
        bits_of[LAST_BLOCK.name].append(hex_of(float(total[0])))
    return {name: tuple(ones) for name, ones in bits_of.items()}


def hex_of(value: float) -> str:
    """The 32 bits of a float32 as eight hexadecimal digits."""
    return f"{int(np.float32(value).view(np.uint32)):08x}"


# --- recorded -------------------------------------------------------------------------------------------------------


def recorded(gpu_name: str = devices.DEFAULT.name) -> Measured:
    """What was recorded on a GPU. NoRecording, in a sentence, if nothing was."""
    content = recordings.raw(gpu_name, SUITE)
    ways = tuple(
        Way(row["task"], row["name"], row["launches"], row["bytes"],
            Timing(row["median_ms"], row["lower_ms"], row["upper_ms"], row["repeats"]), row["error"])
        for row in content["rows"]
    )  # fmt: skip
    bits = {name: tuple(ones) for name, ones in content["bits"].items()}
    return Measured(ways, bits, recorded_on(content["gpu"]))


@cache
def speeds() -> Measured:
    """Measured now where a GPU is, else as recorded on one of those that the course knows."""
    if gpu.backend() == "gpu":
        return measured()
    return recorded(recordings.shown(SUITE))


def table(tasks: Sequence[str], measured: Measured | None = None) -> Table:
    """The ways to do these tasks beside the copy: launches, time, bandwidth, share of the copy's, error."""
    head = ("way", "launches", "µs", "GB/s", "of the copy", "error")
    try:
        measured = measured or speeds()
    except recordings.NoRecording:
        return not_recorded(head)
    rows, lost = [], set()
    for number, way in enumerate(way_of for way_of in measured.ways if way_of.name == COPY or way_of.task in tasks):
        error = "–" if way.name == COPY else f"{way.error:.0e}" if way.error else "0"
        lost |= {(number, 5)} if way.error > 1e-4 else set()
        rows.append((way.name, str(way.launches or "–"), theme.thousands(1e3 * way.time.median_ms),
                     theme.thousands(way.bandwidth), f"{measured.of_copy(way):.0%}", error))  # fmt: skip
    return Table(head, tuple(rows), f"{theme.thousands(N)} elements, in turns ({measured.label})", frozenset(lost))


def bits_table() -> Table:
    """How many different results the same sum gave, launch by launch, and their bits."""
    head = ("way", "launches", "different results", "the bits of the first of them, as hexadecimal digits")
    try:
        measured = speeds()
    except recordings.NoRecording:
        return not_recorded(head, frozenset({3}))
    rows = [
        (name, str(len(ones)), str(len(set(ones))), ", ".join(list(dict.fromkeys(ones))[:4]))
        for name, ones in measured.bits.items()
    ]
    return Table(head, tuple(rows), f"{theme.thousands(N)} floats ({measured.label})", words=frozenset({3}))


def record(folder: Path = recordings.FOLDER, budget_s: float = 5.0) -> Path:
    """Measure on the GPU at hand, and write reductions.json."""
    timings = measured(budget_s=budget_s)
    rows = [
        {"task": way.task, "name": way.name, "launches": way.launches, "bytes": way.bytes, **vars(way.time),
         "error": way.error}
        for way in timings.ways
    ]  # fmt: skip
    content = {
        "gpu": gpu.name(), "provenance": provenance(), "n": N, "rows": rows,
        "bits": {name: list(ones) for name, ones in timings.bits.items()},
    }  # fmt: skip
    file = recordings.path(gpu.name(), SUITE, folder)
    recordings.write(file, content)
    return file


if __name__ == "__main__":
    print(record())
    known = recorded(gpu.name())
    print(repr(table((SUM, SCAN, ARGMIN, COUNTS), known)))
    for what, results in known.bits.items():
        print(f"{what}: {len(set(results))} different results in {len(results)} launches")
