"""The upper rungs one after another: what each step changes, and what it gains."""

from __future__ import annotations

from collections.abc import Mapping

from gemm_kernels import UPPER, Kernel, get
from gpusim import devices
from helpers import recordings
from helpers.pictures import theme
from helpers.pictures.ladder.facts import UPPER_RUNGS, Point, has_upper_rungs, ladder_of, shape_label
from helpers.pictures.source_diff import Diff, Folded, source_diff
from helpers.pictures.tables import Table

SIZES = (2048, 4095, 4096, 8192)  # M = N = K of the table
CUBLAS_AT = 4096


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


def points_of(gpu: str) -> Mapping[str, Mapping[int, Point]]:
    """Kernel -> M = N = K -> its point."""
    lines = ladder_of(gpu, UPPER_RUNGS).lines
    return {name: {point.shape[0]: point for point in points} for name, points in lines.items()}


def table() -> Table:
    """A line for each rung, between the last kernel below them and cuBLAS: TFLOPS at SIZES."""
    gpu = recorded_on()
    points, source = points_of(gpu), ladder_of(gpu, "ladder").source

    def line(kernel: Kernel) -> tuple[str, ...]:
        here = points[kernel.name]
        speeds = [f"{here[size].gflops / 1e3:.1f}" for size in SIZES]
        return (kernel.name, kernel.idea, *speeds, f"{here[CUBLAS_AT].of_cublas:.0%}")

    rows = [line(kernel) for kernel in (get("stream_k"), *UPPER)]
    cublas = [f"{points['stream_k'][size].cublas / 1e3:.1f}" for size in SIZES]
    rows.append(("cuBLAS", "", *cublas, "100%"))
    head = ("kernel", "its idea", *(shape_label((size,) * 3) for size in SIZES), f"of cuBLAS at {CUBLAS_AT}")
    return Table(head, tuple(rows), f"TFLOPS ({source}). Peak: {_peak(gpu)}", words=frozenset({1}))


def _peak(gpu: str) -> str:
    return theme.speed(devices.get(gpu).peak_fp32_gflops)
