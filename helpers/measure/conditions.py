"""The comparison with cuBLAS under every condition that a sceptical reader asks about, in one run on one GPU.

    python -m helpers.measure.conditions [FOLDER]     on a GPU: write recordings/<gpu>/conditions.json

One condition is the usual one: the L2 was filled by reading other data, A and B are random, beta is 0. Each of the
others differs from it in one thing. At a shape all kernels take turns under all conditions, in an order that is
shuffled in every round. What is timed was compared with float64 before. The file is written again after each part, so
that what was measured is kept when the time is over.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gemm_kernels
from gemm_kernels import Kernel, get
from helpers import gpu, recordings
from helpers.measure.bench import compile_all, cublas_sgemm, verify_twice
from helpers.measure.frozen import frozen_shapes
from helpers.measure.problem import ALPHA, BETA, Reference
from helpers.measure.provenance import bus_id, provenance
from helpers.measure.timing import READ, WRITE, flusher, reader, take_turns
from helpers.recordings.measurement import Timing

SUITE = "conditions"
CUBLAS, FASTEST, LAST = "cuBLAS", "fastest", "stream_k"
USUAL, WRITTEN, WARM, OLD_C, ZEROS = "usual", "L2 written", "L2 warm", "beta = 0.5", "zeros"
CONDITIONS = (USUAL, WRITTEN, WARM, OLD_C, ZEROS)
LARGE, ODD, SMALL, VECTOR, UNSEEN = "large", "large, odd", "small", "one row", "unseen"
CLASSES: Mapping[str, tuple[tuple[int, int, int], ...]] = {
    LARGE: ((2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (8192, 1024, 4096)),
    ODD: ((2049, 2049, 2049), (4095, 4095, 4095), (3001, 2999, 2003)),
    SMALL: ((256, 256, 256), (512, 512, 512), (1000, 1000, 1000)),
    VECTOR: ((1, 4096, 4096),),
}
LAYOUTS = ("NN", "NT", "TN", "TT")  # whether A and B lie transposed
LAYOUT_SIZES = (4096, 8192)
SUSTAINED_SIZE = 8192
SUSTAINED_S, BURST_S = 2.0, 0.5
READ_MIB = 64  # what the roof of a protocol is measured by
BUDGET_S = {UNSEEN: 0.4}  # of a shape of this class, else:
USUAL_BUDGET_S = 1.2
FEWEST = 5  # samples of nvidia-smi below which a mean is none
SMI_MS = 50


@dataclass(frozen=True)
class Rival:
    """launch: (M, N, K, alpha, A, B, beta, C).  params: of its kernel, None for the library's."""

    name: str
    launch: Callable[..., None]
    params: Mapping[str, int] | None = None

    def describe(self) -> dict[str, Any]:
        """The columns of a row that say what was timed."""
        return {"kernel": self.name} | ({"params": dict(self.params)} if self.params is not None else {})


def kernels_at(shape: tuple[int, int, int]) -> list[tuple[str, Kernel]]:
    """Our kernels that are timed at a shape: what `fastest` gives, and the ladder's last one."""
    return [
        (FASTEST, gemm_kernels.fastest(*shape, gpu.name())),
        (LAST, gemm_kernels.at_shape(get(LAST), *shape, gpu.name())),
    ]


def rivals_at(shape: tuple[int, int, int], only: Sequence[str] = (FASTEST, LAST)) -> list[Rival]:
    """cuBLAS and ours, verified on random matrices with beta = 0 and with beta = 0.5. WrongResult if one is wrong."""
    from helpers import run

    A, B, C = matrices(shape)
    reference = Reference.of(A, B)
    rivals = [Rival(CUBLAS, cublas_sgemm)]
    rivals += [
        Rival(name, run.load(kernel), {"kernel": kernel.name, **kernel.params})
        for name, kernel in kernels_at(shape) if name in only
    ]  # fmt: skip
    for rival in rivals:
        verify_twice(rival.launch, reference, A, B, C, ALPHA, BETA)
    return rivals


def matrices(shape: tuple[int, int, int], zeros: bool = False) -> tuple[Any, Any, Any]:
    """A (M, K), B (K, N) and C (M, N) on the GPU: random in [-1, 1), or zeros."""
    import cupy

    M, N, K = shape
    sizes = (M, K), (K, N), (M, N)
    if zeros:
        return tuple(cupy.zeros(size, cupy.float32) for size in sizes)  # type: ignore[return-value]
    chance = cupy.random.default_rng(M + N + K)
    return tuple(2 * chance.random(size, dtype=cupy.float32) - 1 for size in sizes)  # type: ignore[return-value]


def timed(
    group: str, shape: tuple[int, int, int], rivals: Sequence[Rival], conditions: Sequence[str]
) -> list[dict[str, Any]]:
    """A row for each rival under each condition, all in turns."""
    import cupy

    stream, flush = cupy.cuda.get_current_stream(), {READ: flusher(READ), WRITE: flusher(WRITE)}
    random, zeros = matrices(shape), matrices(shape, zeros=True)
    plan = [(rival, condition) for condition in conditions for rival in rivals]
    starts, before = [], []
    for rival, condition in plan:
        A, B, C = zeros if condition == ZEROS else random
        beta = BETA if condition == OLD_C else 0.0
        start = partial(rival.launch, *shape, ALPHA, A, B, beta, C)
        starts.append(start)
        before.append(start if condition == WARM else flush[WRITE if condition == WRITTEN else READ])
    milliseconds = take_turns(starts, stream, BUDGET_S.get(group, USUAL_BUDGET_S), before)
    M, N, K = shape
    return [
        {"group": group, "M": M, "N": N, "K": K, "condition": condition, **rival.describe(), **vars(Timing.of(column))}
        for (rival, condition), column in zip(plan, milliseconds.T, strict=True)
    ]


def roofs() -> list[dict[str, Any]]:
    """How long it takes to read 64 MiB after either way of filling the L2: what a protocol lets a kernel reach."""
    import cupy

    size = READ_MIB * 2**20
    read = reader(cupy.zeros(size, np.uint8))
    both = take_turns([read, read], cupy.cuda.get_current_stream(), 0.2, [flusher(READ), flusher(WRITE)])
    return [
        {"condition": condition, "bytes": size, **vars(Timing.of(column))}
        for condition, column in zip((USUAL, WRITTEN), both.T, strict=True)
    ]


def layouts(size: int) -> list[dict[str, Any]]:
    """cuBLAS with A and B in either order, beside `fastest`, which takes them row by row."""
    import cupy
    import cupy.cublas

    A, B, C = matrices((size, size, size))
    ours = rivals_at((size, size, size), (FASTEST,))[-1]

    def library(letters: str) -> Callable[[], None]:
        return lambda: cupy.cublas.gemm(letters[0], letters[1], A, B, out=C, alpha=ALPHA, beta=0.0)

    starts = [*map(library, LAYOUTS), partial(ours.launch, size, size, size, ALPHA, A, B, 0.0, C)]
    milliseconds = take_turns(starts, cupy.cuda.get_current_stream(), USUAL_BUDGET_S, flusher())
    names = [{"kernel": CUBLAS, "layout": letters} for letters in LAYOUTS] + [{**ours.describe(), "layout": "NN"}]
    return [
        {"size": size, **name, **vars(Timing.of(column))} for name, column in zip(names, milliseconds.T, strict=True)
    ]


def at_work(size: int) -> Iterator[dict[str, Any]]:
    """Speed, clock and watts of each rival while it works: in short bursts, with the L2 flushed in between, and for
    seconds without a pause, on random numbers and on zeros."""
    shape = size, size, size
    rivals, flush = rivals_at(shape), flusher()
    for data, (A, B, C) in ((USUAL, matrices(shape)), (ZEROS, matrices(shape, zeros=True))):
        for rival in rivals:
            start = partial(rival.launch, *shape, ALPHA, A, B, 0.0, C)
            for way, seconds, before in (("burst", BURST_S, flush), ("sustained", SUSTAINED_S, None)):
                with Sampled() as samples:
                    ms, count = _for(seconds, start, before)
                yield {"size": size, "data": data, "way": way, **rival.describe(), "ms": ms, "launches": count,
                       **samples.means()}  # fmt: skip


def _for(seconds: float, start: Callable[[], None], before: Callable[[], None] | None) -> tuple[float, int]:
    """(median ms of a launch, how many): launches for so many seconds; without `before` all of them in a row."""
    import cupy

    def events() -> tuple[Any, Any]:
        return cupy.cuda.Event(), cupy.cuda.Event()

    times: list[float] = []
    until, batch = time.perf_counter() + seconds, 1 if before else 5
    while time.perf_counter() < until:
        begin, end = events()
        if before:
            before()
        begin.record()
        for _ in range(batch):
            start()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) / batch)
    return float(np.median(times)), len(times) * batch


class Sampled:
    """Clock, power and temperature, read by nvidia-smi every SMI_MS while the block of `with` runs."""

    FIELDS = ("clocks.sm", "power.draw.instant", "temperature.gpu")

    def __enter__(self) -> Sampled:
        command = ["nvidia-smi", f"--query-gpu={','.join(self.FIELDS)}", "--format=csv,noheader,nounits",
                   f"--loop-ms={SMI_MS}", f"--id={bus_id()}"]  # fmt: skip
        try:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            assert self._process.stdout is not None
            self._process.stdout.readline()  # it has begun
        except OSError:
            self._process = None  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        self._text = ""
        if self._process is not None:
            self._process.terminate()
            self._text = self._process.communicate()[0]

    def means(self) -> dict[str, float]:
        """The medians of the second half of what was read, by then the clock has settled; {} where it is too little."""
        rows = [row for row in csv.reader(self._text.splitlines()) if len(row) == len(self.FIELDS)]
        rows = rows[len(rows) // 2 :]
        if len(rows) * 2 < FEWEST:
            return {}
        try:
            mhz, watts, celsius = np.median([[float(cell) for cell in row] for row in rows], axis=0).tolist()
        except ValueError:  # "[N/A]"
            return {}
        return {"mhz": mhz, "watts": watts, "celsius": celsius, "samples": len(rows)}


def record(folder: Path = recordings.FOLDER) -> Path:
    """Measure all of it, and write the file after each part. Needs a GPU."""
    file, begin = recordings.path(gpu.name(), SUITE, folder), time.perf_counter()
    content: dict[str, Any] = {"gpu": gpu.name(), "provenance": provenance(), "roofs": [], "rows": [], "layouts": [],
                               "at_work": []}  # fmt: skip

    def keep(part: str, rows: Sequence[dict[str, Any]]) -> None:
        content[part] += rows
        recordings.write(file, content)
        print(f"{time.perf_counter() - begin:6.1f} s  {part}: {len(content[part])} rows", flush=True)

    places = [(group, shape) for group, shapes in CLASSES.items() for shape in shapes]
    compile_all([kernel for _, shape in places for _, kernel in kernels_at(shape)])
    keep("roofs", roofs())
    for row in at_work(SUSTAINED_SIZE):
        keep("at_work", [row])
    for group, shape in places:
        keep("rows", timed(group, shape, rivals_at(shape), CONDITIONS))
    for size in LAYOUT_SIZES:
        keep("layouts", layouts(size))
    compile_all([kernels_at(shape)[0][1] for shape in frozen_shapes()])
    for shape in frozen_shapes():
        keep("rows", timed(UNSEEN, shape, rivals_at(shape, (FASTEST,)), (USUAL,)))
    return file


if __name__ == "__main__":
    print(record(*(Path(argument) for argument in sys.argv[1:2])))
