"""The upper rungs one after another: how small each step is, and what it gains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gemm_kernels import UPPER, Kernel, get
from gpusim import devices
from helpers import recordings
from helpers.pictures import theme
from helpers.pictures.ladder.facts import UPPER_RUNGS, Point, has_upper_rungs, ladder_of, shape_label
from helpers.pictures.source_diff import Diff, Folded, source_diff
from helpers.pictures.tables import Table

SIZES = (2048, 4095, 4096, 8192)  # M = N = K of the table
CUBLAS_AT = 4096


@dataclass(frozen=True)
class Step:
    """One rung: lines that are new in it, lines of the kernel before it that are gone, and its points by size."""

    kernel: Kernel
    new: int
    gone: int
    points: Mapping[int, Point]


def recorded_on() -> str:
    """The GPU whose recordings have every upper rung: the default one, if it has them. NoRecording if there is none."""
    names = recordings.gpus(suites=("ladder",))
    default = devices.DEFAULT.name
    for name in sorted(names, key=lambda name: name != default):
        if has_upper_rungs(name):
            return name
    raise recordings.NoRecording(f"The upper rungs of the ladder were not recorded. {recordings.how_to('ladder')}")


def diff_of(kernel: Kernel) -> Diff:
    """What changes in the source from the kernel that this one is a change to."""
    before = get(kernel.after)
    return source_diff(
        before.source, kernel.source, (before.name, kernel.name), same=(before.function, kernel.function)
    )


def diffs() -> list[Folded]:
    """The diff of each rung but the last, whose source is new for the most part."""
    return [diff_of(kernel).folded() for kernel in UPPER[:-1]]


def steps(gpu: str) -> Iterator[Step]:
    """The rungs in their order. gpu: where they were recorded."""
    points = points_of(gpu)
    for kernel in UPPER:
        marks = [line.mark for line in diff_of(kernel).lines]
        yield Step(kernel, marks.count("+"), marks.count("-"), points[kernel.name])


def points_of(gpu: str) -> Mapping[str, Mapping[int, Point]]:
    """Kernel -> M = N = K -> its point."""
    lines = ladder_of(gpu, UPPER_RUNGS).lines
    return {name: {point.shape[0]: point for point in points} for name, points in lines.items()}


def table() -> Table:
    """A line for each rung, between the last kernel below them and cuBLAS: TFLOPS at SIZES."""
    gpu = recorded_on()
    points, source = points_of(gpu), ladder_of(gpu, "ladder").source

    def line(name: str, what: str, size: str, here: Mapping[int, Point]) -> tuple[str, ...]:
        speeds = [f"{here[size].gflops / 1e3:.1f}" for size in SIZES]
        return (name, what, size, *speeds, f"{here[CUBLAS_AT].of_cublas:.0%}")

    rows = [line("stream_k", get("stream_k").idea, "", points["stream_k"])]
    rows += [line(step.kernel.name, step.kernel.idea, f"+{step.new} −{step.gone}", step.points) for step in steps(gpu)]
    cublas = [f"{points['stream_k'][size].cublas / 1e3:.1f}" for size in SIZES]
    rows.append(("cuBLAS", "", "", *cublas, "100%"))
    head = ("kernel", "its idea", "lines", *(shape_label((size,) * 3) for size in SIZES), f"of cuBLAS at {CUBLAS_AT}")
    return Table(head, tuple(rows), f"TFLOPS ({source}). Peak: {_peak(gpu)}", words=frozenset({1}))


def _peak(gpu: str) -> str:
    return theme.speed(devices.get(gpu).peak_fp32_gflops)
