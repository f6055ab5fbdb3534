"""The ladder's recorded speeds: every kernel at every shape, beside cuBLAS in the same run."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from gemm_kernels import LADDER, UPPER
from gpusim import devices
from helpers import recordings
from helpers.recordings.measurement import Measurement
from helpers.recordings.suites import FASTEST, RUNGS, SQUARES

Shape = tuple[int, int, int]
Suite = Literal["ladder", "shapes", "upper", "fastest"]
UPPER_RUNGS: Suite = "upper"  # what the other two have of the upper rungs, at squares

# The first kernel of each group -> what the kernels from it up to the next group have in common.
GROUPS = {
    "naive": "one element",
    "block_tile_1d": "patches",
    "transposed": "banks",
    "vectorized": "float4",
    "double_buffered": "buffers",
    "warptiled": "warp tiles",
    "sliced_k": "by shape",
    "pinned": "registers",
}


def group_of(kernel: str) -> str:
    """The group of a kernel of the ladder by its place there; "" for any other."""
    group = ""
    for rung in RUNGS:
        group = GROUPS.get(rung.name, group)
        if rung.name == kernel:
            return group
    return ""


@dataclass(frozen=True)
class Point:
    """A kernel at one shape (M, N, K): GFLOPS, and cuBLAS's in the same run."""

    shape: Shape
    gflops: float
    cublas: float

    @property
    def of_cublas(self) -> float:
        """The kernel's speed over that of cuBLAS in the same run: cuBLAS differs by some per cent from run to run."""
        return self.gflops / self.cublas


@dataclass(frozen=True)
class Ladder:
    """Kernels in the ladder's order, measured on one GPU at the same shapes.

    peak_gflops: the GPU's FP32 peak by its specification.  source: where the numbers come from, "recorded on …".
    lines: kernel -> its points.
    """

    gpu: str
    peak_gflops: float
    source: str
    lines: dict[str, tuple[Point, ...]]

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """All shapes, by their number of operations."""
        every_shape = {point.shape for points in self.lines.values() for point in points}
        return tuple(sorted(every_shape, key=_by_operations))

    @property
    def square(self) -> bool:
        """M = N = K for every shape."""
        return all(len(set(shape)) == 1 for shape in self.shapes)

    def at(self, shape: Shape) -> dict[str, Point]:
        """kernel -> its point at a shape."""
        return {kernel: point for kernel, points in self.lines.items() for point in points if point.shape == shape}

    def cublas(self, shape: Shape) -> float:
        """cuBLAS's GFLOPS at a shape: the median over the runs."""
        return statistics.median(point.cublas for point in self.at(shape).values())


def ladder(measurements: Iterable[Measurement], gpu: str, peak_gflops: float) -> Ladder:
    """A ladder from recorded Measurements, kernels in the order of their first one. ValueError if there is none."""
    lines: dict[str, list[Point]] = {}
    source = ""
    for measurement in measurements:
        lines.setdefault(measurement.kernel, []).append(
            Point((measurement.M, measurement.N, measurement.K), measurement.gflops, measurement.cublas_gflops)
        )
        source = measurement.label
    if not lines:
        raise ValueError("There is no measurement to draw: record some, or choose another suite.")
    ordered = {
        kernel: tuple(sorted(points, key=lambda point: _by_operations(point.shape))) for kernel, points in lines.items()
    }
    return Ladder(gpu, peak_gflops, source, ordered)


def _by_operations(shape: Shape) -> tuple[int, Shape]:
    return shape[0] * shape[1] * shape[2], shape


@lru_cache(maxsize=8)
def ladder_of(gpu: str, suite: Suite) -> Ladder:
    """The recorded ladder of a GPU, its kernels in the ladder's order. Raises NoRecording.

    A recording that is merged kernel by kernel has its rows in the order in which they were measured. Of the upper
    rungs "ladder" and "shapes" show the last one alone; "upper" has all of them beside the kernel below. "fastest" has
    what `gemm_kernels.fastest` gives at squares, beside `autotuned` and the best that cuBLASLt names.
    """
    if suite == FASTEST:
        return _fastest_of(gpu)
    if suite == UPPER_RUNGS:
        measured = [
            row for suite in ("ladder", "shapes") for row in recordings.load(gpu, suite) if row.M == row.N == row.K
        ]
        shown = (LADDER[-1], *UPPER)
    else:
        measured, shown = recordings.load(gpu, suite), (*LADDER, UPPER[-1])
    step = {kernel.name: number for number, kernel in enumerate(shown)}
    rows = sorted((row for row in measured if row.kernel in step), key=lambda row: step[row.kernel])
    return ladder(rows, gpu, devices.get(gpu).peak_fp32_gflops)


def has_upper_rungs(gpu: str) -> bool:
    """Whether every upper rung was recorded on a GPU."""
    return {kernel.name for kernel in UPPER} <= {row.kernel for row in recordings.load(gpu, "ladder")}


def _fastest_of(gpu: str) -> Ladder:
    rows = [row for row in recordings.fastest(gpu) if row.group == SQUARES]
    lines: dict[str, list[Point]] = {"best of cuBLASLt": [], "autotuned": [], FASTEST: []}
    for row in sorted(rows, key=lambda row: row.flops):
        factors = (1 / row.of_best, 1 / row.of_autotuned, 1.0)
        for points, factor in zip(lines.values(), factors, strict=True):
            points.append(Point(row.shape, row.gflops * factor, row.cublas_gflops))
    points = {name: tuple(points_of) for name, points_of in lines.items()}
    return Ladder(gpu, devices.get(gpu).peak_fp32_gflops, rows[0].label, points)


def shape_label(shape: Shape) -> str:
    """'4096' for a cube, '64×4096×1024' otherwise."""
    return str(shape[0]) if len(set(shape)) == 1 else "×".join(map(str, shape))
