"""What notebook 17 only knows from a GPU: the two smallest of A · B fused, beside two kernels and the product alone.

    python -m helpers.exercises.smallest     on a GPU: write recordings/<gpu>/smallest.json

First every way is compared with NumPy at odd shapes, with ties, with NaN in the inputs and with poisoned outputs; the
fused kernel must leave, bit for bit, the two smallest of the C that the product alone stores. Then all ways take turns
at each shape of SHAPES, with a cold L2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import Kernel, by_shape, get
from gemm_kernels.choices import NoChoice
from gpusim import devices
from helpers import gpu, measure, recordings, run
from helpers.exercises.framework.problems import blocks
from helpers.exercises.n17.fused import TWO_OF_ALL, alone as plain_product
from helpers.exercises.n17.matrices import BM, BN, PAIR_WORDS, THREADS
from helpers.measure.bench import NoProfiler
from helpers.measure.provenance import provenance
from helpers.measure.states import launches
from helpers.measure.timing import interleave
from helpers.pictures import theme
from helpers.pictures.tables import Table, not_recorded
from helpers.recordings.measurement import MEASURED, Timing, recorded_on

SUITE = "smallest"
SOURCE = Path(measure.__file__).parent / "two_smallest.cu"
PAIR_BYTES, HEAD_BYTES = 24, 8  # of Two<Wide> and in front of them, as two_smallest.cu lays out `Found`
STATIC_BYTES = 784  # of shared memory that the fused kernel has beside its stages
MOST_SHARED = 232_448
ARRAY_THREADS = 512
NOWHERE = -1
ALONE, FUSED, TWO_KERNELS, LIBRARY = "the product alone", "fused", "two kernels", "cuBLAS and CuPy"
PLAIN, STEPS = "the plain product alone", "the four steps"  # of the notebook, in tiles of 32 × 64
SHAPES = tuple((4096, 4096, K) for K in (4096, 1024, 256, 64, 16))


@dataclass(frozen=True)
class Pair:
    """The two smallest elements of a matrix.

    values: of the first and of the second; infinity where there is none.  places: row * N + column, or NOWHERE.
    """

    values: tuple[float, float]
    places: tuple[int, int]


def pair_of(C: np.ndarray) -> Pair:
    """The two smallest numbers of C by NumPy: of equal ones the smaller place first, NaN left out."""
    flat = C.ravel()
    numbers = np.flatnonzero(~np.isnan(flat))
    if len(numbers) > 2:
        second = np.partition(flat[numbers], 1)[1]
        numbers = numbers[flat[numbers] <= second]
    two = numbers[np.argsort(flat[numbers], kind="stable")][:2]
    values, places = flat[two].tolist(), two.tolist()
    missing = 2 - len(two)
    return Pair(tuple(values + [np.inf] * missing), tuple(places + [NOWHERE] * missing))


# --- the kernels ----------------------------------------------------------------------------------------------------


def kernel_for(M: int, N: int, K: int, gpu_name: str = devices.DEFAULT.name) -> Kernel:
    """The kernel of the ladder whose main loop the fused one has, with the parameters for a shape."""
    try:
        kernel = by_shape.stream_k(M, N, K, gpu_name)
    except NoChoice:
        kernel = by_shape.stream_k(M, N, K)
    return kernel if kernel.shared_bytes + STATIC_BYTES <= MOST_SHARED else get("stream_k")


class Fused:
    """The fused kernel with the geometry of `kernel`: `fused(M, N, K, A, B, values, places)`, launched again and again.

    function: source, entry -> a compiled function; None: of the device.
    """

    def __init__(self, kernel: Kernel, function: Callable[[str, str], Any] | None = None, on_host: bool = False):
        self.kernel = kernel
        self.entry = kernel.entry.replace(kernel.function, "two_smallest")
        self._compiled = (function or run.function)(SOURCE.read_text(encoding="utf-8"), self.entry)
        self._zeros = np.zeros if on_host else gpu.zeros
        self._parts = self._zeros(max(kernel.workspace_bytes or 0, 4) // 4, np.float32)
        self._results: dict[int, Any] = {}

    def arguments(self, M: int, N: int, K: int, A: Any, B: Any, values: Any, places: Any) -> tuple[Any, ...]:
        """(grid, block, arguments, bytes of shared memory) of a launch."""
        grid = self.kernel.grid(M, N)
        if grid[0] not in self._results:
            self._results[grid[0]] = self._zeros(HEAD_BYTES + PAIR_BYTES * grid[0], np.uint8)
        sizes = tuple(map(np.int32, (M, N, K)))
        return (
            grid,
            self.kernel.block,
            (*sizes, A, B, values, places, self._results[grid[0]], self._parts),
            (self.kernel.shared_bytes),
        )

    def __call__(self, *args: Any) -> None:
        grid, block, arguments, shared_bytes = self.arguments(*args)
        run.call(self._compiled, grid, block, arguments, shared_bytes)


class OfArray:
    """The second of the two kernels: `of_array(C, values, places)`."""

    def __init__(self, blocks: int, function: Callable[[str, str], Any] | None = None, on_host: bool = False):
        self._compiled = (function or run.function)(SOURCE.read_text(encoding="utf-8"), "two_of_array")
        self._blocks = blocks
        self._results = (np.zeros if on_host else gpu.zeros)(HEAD_BYTES + PAIR_BYTES * blocks, np.uint8)

    def __call__(self, C: Any, values: Any, places: Any) -> None:
        arguments = (np.uint64(C.size), C, values, places, self._results)
        run.call(self._compiled, (self._blocks,), (ARRAY_THREADS,), arguments, 0)


# --- right? ---------------------------------------------------------------------------------------------------------

ODD = ((1, 1, 1), (1, 2, 7), (1, 5000, 33), (5000, 1, 64), (33, 70, 9), (777, 1025, 511), (2048, 2048, 128))
TIES, NUMBERS, NANS = "few different numbers", "random", "random, NaN in a row of A and a column of B"


class Wrong(Exception):
    """A way has not found the two smallest; the message says where."""


def inputs(kind: str, M: int, N: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """A (M, K) and B (K, N): of TIES whole numbers, so that many elements of C are equal."""
    generator = np.random.default_rng([M, N, K])
    if kind == TIES:
        return tuple(generator.integers(-2, 3, shape).astype(np.float32) for shape in ((M, K), (K, N)))
    A, B = (generator.standard_normal(shape, np.float32) for shape in ((M, K), (K, N)))
    if kind == NANS:
        A[M // 2] = B[:, N // 3] = np.nan
    return A, B


def _ask(way: Callable[[Any, Any], None]) -> Pair:
    """What a way leaves in (values, places) that held NaN and a number before."""
    values, places = gpu.asarray(np.full(2, np.nan, np.float32)), gpu.asarray(np.full(2, 12345, np.int64))
    way(values, places)
    gpu.synchronize()
    return Pair(tuple(gpu.asnumpy(values).tolist()), tuple(gpu.asnumpy(places).tolist()))


def verify(kernel: Kernel, kind: str, shape: tuple[int, int, int]) -> dict[str, Any]:
    """Compare the fused kernel and the two kernels with NumPy's pair of the C that the product alone stores, and the
    values with float64. Raises Wrong."""
    M, N, K = shape
    host = inputs(kind, *shape)
    A, B = map(gpu.asarray, host)
    C = gpu.asarray(np.full((M, N), np.nan, np.float32))
    run.load(kernel)(M, N, K, 1.0, A, B, 0.0, C)
    stored = gpu.asnumpy(C)
    expected, fused, of_array = pair_of(stored), Fused(kernel), OfArray(7)
    for name, way in ((FUSED, partial(fused, M, N, K, A, B)), (FUSED, partial(fused, M, N, K, A, B)),
                      (TWO_KERNELS, partial(of_array, C))):  # fmt: skip
        answer = _ask(way)
        if answer != expected:
            raise Wrong(f"{name}, {kernel.entry}, {kind}, M, N, K = {shape}: {answer}, expected {expected}")
    rows, columns = np.divmod(np.array([row_of for row_of in expected.places if row_of != NOWHERE], np.int64), N)
    exact = np.einsum("ek,ke->e", host[0][rows].astype(np.float64), host[1][:, columns].astype(np.float64))
    error = float(np.abs(exact - np.array(expected.values)[: len(exact)]).max(initial=0.0))
    return {"M": M, "N": N, "K": K, "inputs": kind, "params": dict(kernel.params), "error": error}


def verify_long(M: int = 65_537, N: int = 65_536) -> dict[str, Any]:
    """K = 1 and more than 2³² elements, so that a place needs more than 32 bits: the last row alone is negative."""
    generator = np.random.default_rng(M)
    A, B = (generator.uniform(1, 2, shape).astype(np.float32) for shape in ((M, 1), (1, N)))
    A[-1] = -2.0
    best = np.argsort(-B[0], kind="stable")[:2]
    expected = Pair(tuple((-2.0 * B[0, best]).tolist()), tuple(((M - 1) * N + best).tolist()))
    fused = Fused(kernel_for(4096, 4096, 64))
    answer = _ask(partial(fused, M, N, 1, *map(gpu.asarray, (A, B))))
    if answer != expected:
        raise Wrong(f"M, N, K = {M, N, 1}: {answer}, expected {expected}")
    return {"M": M, "N": N, "K": 1, "inputs": "places above 2^32", "params": dict(fused.kernel.params), "error": 0.0}


def verified() -> Iterator[dict[str, Any]]:
    """A row for every kind of input and shape of ODD, with the parameters of large matrices and with small tiles."""
    large = kernel_for(4096, 4096, 4096), kernel_for(4095, 4095, 4095)
    for kernel in (*large, get("stream_k", BM=32, BN=32, BK=16, WM=32, WN=16, TM=4, TN=4, SLICES=2, STAGES=3, BLOCKS=1,
                               WORKERS=0, LOOPS=1)):  # fmt: skip
        for shape in ODD:
            for kind in (TIES, NUMBERS, NANS):
                yield verify(kernel, kind, shape)
    yield verify(large[0], NUMBERS, (4096, 4096, 4096))
    yield verify_long()


# --- how fast? ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timed:
    """All ways at one shape, in turns. times: name -> of one pass over everything."""

    shape: tuple[int, int, int]
    times: dict[str, Timing]

    def ratio(self, name: str, to: str = ALONE) -> float:
        """The time of a way as a multiple of another's."""
        return self.times[name].median_ms / self.times[to].median_ms


def _library(A: Any, B: Any, C: Any) -> None:
    """cuBLAS, then CuPy: the smallest, out of the way, and the smallest of the rest."""
    import cupy

    cupy.matmul(A, B, out=C)
    flat = C.ravel()
    first = flat.argmin()
    flat[first] = np.inf
    flat.argmin()


def ways(shape: tuple[int, int, int]) -> dict[str, Callable[[], None]]:
    """Everything that is timed at a shape, ready to be launched."""
    import cupy

    M, N, K = shape
    A, B = map(gpu.asarray, inputs(NUMBERS, *shape))
    C, values, places = gpu.zeros((M, N), np.float32), gpu.zeros(2, np.float32), gpu.zeros(2, np.int64)
    kernel = kernel_for(*shape, gpu.name())
    alone = partial(run.load(kernel), M, N, K, 1.0, A, B, 0.0, C)
    of_array = OfArray(3 * cupy.cuda.Device().attributes["MultiProcessorCount"])

    def two_kernels() -> None:
        alone()
        of_array(C, values, places)

    parts, arrived = gpu.zeros(PAIR_WORDS * blocks(M, BM) * blocks(N, BN), np.float32), gpu.zeros(1, np.uint32)
    grid, sizes, small = (blocks(N, BN), blocks(M, BM)), tuple(map(np.int32, shape)), gpu.zeros(2, np.int32)
    plain, steps = run.function(plain_product(), "product"), run.function(TWO_OF_ALL.solved, "two_smallest")
    return {
        PLAIN: partial(run.call, plain, grid, (THREADS,), (*sizes, A, B, C)),
        STEPS: partial(run.call, steps, grid, (THREADS,), (*sizes, A, B, parts, arrived, values, small)),
        ALONE: alone, FUSED: partial(Fused(kernel), M, N, K, A, B, values, places), TWO_KERNELS: two_kernels,
        LIBRARY: partial(_library, A, B, C),
    }  # fmt: skip


def timed(shape: tuple[int, int, int], budget_s: float = 1.0) -> Timed:
    """All ways at a shape, in turns with a cold L2, on the GPU at hand."""
    rivals = ways(shape)
    times = interleave(list(rivals.values()), budget_s)
    return Timed(shape, {name: Timing.of(times[:, column]) for column, name in enumerate(rivals)})


# --- bytes of memory, by Nsight Compute -----------------------------------------------------------------------------

PROFILED_SHAPE = (8192, 8192, 64)  # C is 256 MiB, more than any L2 holds
METRICS = {"written": "dram__bytes_write.sum", "read": "dram__bytes_read.sum", "sectors": "lts__t_sectors_op_write.sum"}


def launch_once() -> None:
    """The product alone, then fused: what ncu looks at."""
    both = ways(PROFILED_SHAPE)
    for name in (ALONE, FUSED):
        both[name]()
    gpu.synchronize()


def profiled() -> dict[str, dict[str, float]]:
    """name -> bytes written to memory and read from it, and sectors stored to the L2, at PROFILED_SHAPE."""
    assert __spec__ is not None  # this module's name, also where it is the program
    rows = launches(tuple(METRICS.values()), "regex:sgemm_|two_smallest", __spec__.name, ["once"])
    return {
        name: {what: float(row[metric].replace(",", "")) for what, metric in METRICS.items()}
        for name, row in zip((ALONE, FUSED), rows, strict=True)
    }


# --- recorded -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """What one run found. label: where it was.  bytes_: as `profiled`, {} where ncu was not there."""

    timed: tuple[Timed, ...]
    bytes_: dict[str, dict[str, float]]
    label: str

    def at(self, K: int) -> Timed:
        """The ways at one K of SHAPES."""
        return next(timed_shape for timed_shape in self.timed if timed_shape.shape[2] == K)


def recorded(gpu_name: str = devices.DEFAULT.name) -> Measured:
    """What was recorded on a GPU. NoRecording, in a sentence, if nothing was."""
    content = recordings.raw(gpu_name, SUITE)
    rows = tuple(
        Timed(tuple(row["shape"]), {name: Timing(*time) for name, time in row["times"].items()})
        for row in content["timed"]
    )
    return Measured(rows, content["bytes"], recorded_on(content["gpu"]))


@cache
def speeds() -> Measured:
    """Measured now where a GPU is, else as recorded on one of those that the course knows."""
    if gpu.backend() == "gpu":
        return Measured(tuple(timed(shape, 0.5) for shape in SHAPES), {}, MEASURED)
    return recorded(recordings.shown(SUITE))


def _table(head: tuple[str, ...], caption: str, rows: Callable[[Measured], Iterator[tuple[str, ...]]]) -> Table:
    """What is known, in rows; one that says so where it is not."""
    try:
        measured = speeds()
        known = tuple(rows(measured))
    except (recordings.NoRecording, KeyError):  # an older recording lacks a way
        known = ()
    if not known:
        return not_recorded(head)
    return Table(head, known, f"{caption} ({measured.label})")


def table() -> Table:
    """By K: µs of the product alone, and of each way to the two smallest, as a multiple of it."""
    names = (FUSED, TWO_KERNELS, LIBRARY)
    return _table(
        ("K", f"{ALONE}, µs", *names), f"M = N = {SHAPES[0][0]}: time as a multiple of that of the product alone",
        lambda measured: ((str(timed_shape.shape[2]), theme.thousands(1e3 * timed_shape.times[ALONE].median_ms),
                        *(f"{timed_shape.ratio(name):.3f} ×" for name in names)) for timed_shape in measured.timed),
    )  # fmt: skip


def steps_table() -> Table:
    """The same for the notebook's own steps, and for the product that is given there."""
    return _table(
        ("K", f"{PLAIN}, µs", STEPS), f"M = N = {SHAPES[0][0]}: time as a multiple of that of the plain product alone",
        lambda measured: ((str(timed_shape.shape[2]), theme.thousands(1e3 * timed_shape.times[PLAIN].median_ms),
                        f"{timed_shape.ratio(STEPS, PLAIN):.3f} ×") for timed_shape in measured.timed),
    )  # fmt: skip


def bytes_table() -> Table:
    """What the product alone and the fused kernel wrote to memory and read from it, counted at PROFILED_SHAPE."""
    M, N, K = PROFILED_SHAPE
    return _table(
        ("kernel", "MB written to memory", "MB read from memory"), f"M = N = {M}, K = {K}, counted by Nsight Compute",
        lambda measured: ((name, *(theme.thousands(counted[what] / 1e6, 1) for what in ("written", "read")))
                       for name, counted in measured.bytes_.items()),
    )  # fmt: skip


def record(folder: Path = recordings.FOLDER, budget_s: float = 2.0) -> Path:
    """Verify, measure and profile on the GPU at hand, and write smallest.json."""
    rows = list(verified())
    timings = [timed(shape, budget_s) for shape in SHAPES]
    try:
        written = profiled()
    except NoProfiler as missing:
        print(missing)
        written = {}
    content = {
        "gpu": gpu.name(), "provenance": provenance(), "verified": rows, "bytes": written,
        "timed": [{"shape": list(timing.shape), "params": dict(kernel_for(*timing.shape, gpu.name()).params),
                   "times": {name: list(vars(time).values()) for name, time in timing.times.items()}}
                  for timing in timings],
    }  # fmt: skip
    file = recordings.path(gpu.name(), SUITE, folder)
    recordings.write(file, content)
    return file


def main(arguments: Sequence[str]) -> None:
    """Record, or launch once for ncu."""
    if "once" in arguments:
        launch_once()
        return
    print(record())
    for timing in recorded(gpu.name()).timed:
        print(timing.shape, {name: time.median_ms for name, time in timing.times.items()})
    print(recorded(gpu.name()).bytes_)


if __name__ == "__main__":
    main(sys.argv[1:])
