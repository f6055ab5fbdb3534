"""One tile, loaded in several ways, over many sizes: how many times as fast each way is as the first."""

from __future__ import annotations

from dataclasses import dataclass

from helpers import gpu, recordings
from helpers.measure.bench import bench_together
from helpers.recordings.measurement import Measurement
from helpers.recordings.suites import DEEPER, SWEEP_KERNELS, sweep

LIVE_SIZES = (2, 8, 32, 128, 512, 1024, 1536, 2048, 3072, 4096)  # of M = N = K: what a cell can measure in seconds
LIVE_BUDGET_S = 0.5
FIRST = SWEEP_KERNELS[0]


@dataclass(frozen=True)
class Way:
    """One way. name: the kernel's, with BK where it is another one.  sizes: M = N = K.  factors: of the first way."""

    name: str
    sizes: tuple[int, ...]
    factors: tuple[float, ...]


@dataclass(frozen=True)
class Sweep:
    """All ways but the first. label: where the times come from."""

    ways: tuple[Way, ...]
    label: str


def ways() -> Sweep:
    """The sweep, measured here at LIVE_SIZES if there is a GPU, else recorded. Raises NoRecording."""
    if gpu.backend() == "gpu":
        groups = [
            bench_together(point.kernels, point.M, point.N, point.K, budget_s=LIVE_BUDGET_S)[0]
            for point in sweep(LIVE_SIZES)
        ]
        rows = [row for group in groups for row in group]
    else:
        rows = [recordings.gflops(kernel, point.M, point.N, point.K) for point in sweep() for kernel in point.kernels]
    gflops: dict[str, dict[int, float]] = {}
    for row in rows:
        if name := _name(row):
            gflops.setdefault(name, {})[row.M] = row.gflops
    first = gflops.pop(FIRST)
    lines = []
    for name, by_size in sorted(gflops.items(), key=lambda item: item[0] not in SWEEP_KERNELS):  # the deeper tile last
        sizes = tuple(sorted(by_size.keys() & first.keys()))
        lines.append(Way(name, sizes, tuple(by_size[size] / first[size] for size in sizes)))
    return Sweep(tuple(lines), rows[0].label)


def _name(row: Measurement) -> str:
    """What a row of the suite is called; "" for the kernel with one block on an SM, which is another question."""
    if row.kernel == "double_buffered" and row.params["BLOCKS"] == 1:
        return ""
    deeper = row.kernel == DEEPER.name and dict(row.params) == dict(DEEPER.params)
    return f"{row.kernel}, BK {row.params['BK']}" if deeper else row.kernel
