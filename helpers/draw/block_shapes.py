"""Block shapes compared: what each costs in sectors a request, and what it reaches in GFLOPS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from helpers.draw import theme

MARKERS = ("s", "o")
COLOURS = (theme.SPEED, theme.REFERENCE)
LABELLED = 6  # points far from the common line that are labelled


@dataclass(frozen=True)
class BlockShape:
    """One kernel launched with one block shape.

    kernel: its name.  block: threads along x and y.  sectors_per_request: mean over its global loads, counted.
    tags_per_request: 128-byte lines, likewise.  gflops: 10⁹ floating-point operations a second; None if not measured.
    """

    kernel: str
    block: tuple[int, int]
    sectors_per_request: float
    tags_per_request: float
    gflops: float | None = None

    @property
    def label(self) -> str:
        """'(16, 16)', with a no-break space."""
        return f"({self.block[0]},\u00a0{self.block[1]})"


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation, −1 … 1: the correlation of the ranks, ties sharing the mean of their ranks."""
    if len(x) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        raise ValueError("A rank correlation needs three points, and two different values along each axis.")
    return float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])


def exceptions(shapes: Sequence[BlockShape], count: int = LABELLED) -> list[BlockShape]:
    """The shapes farthest from the straight line through all of them, both axes logarithmic; the farthest first."""
    x = np.log([shape.sectors_per_request for shape in shapes])
    y = np.log([shape.gflops for shape in shapes])
    slope, level = np.polyfit(x, y, 1)
    distance = np.abs(y - slope * x - level)
    return [shapes[index] for index in np.argsort(-distance, kind="stable")[:count]]


def scatter_figure(shapes: Sequence[BlockShape], title: str, source: str) -> theme.Figure:
    """Sectors a request against GFLOPS, one dot a block shape, one colour and marker a kernel; both axes logarithmic.

    source: where the GFLOPS come from, "recorded on NVIDIA H200". Shapes that were not measured are left out.
    """
    measured = [shape for shape in shapes if shape.gflops is not None]
    if len(measured) < 3:
        raise ValueError(f"A scatter plot needs at least 3 measured block shapes, but {len(measured)} were given.")
    odd = exceptions(measured)
    drawn = theme.Figure(4.4, _caption(measured, odd[0], source), 2)
    axes = drawn.axes_in_inches(0.95, 0.5, theme.WIDTH - 1.2, 3.25)
    with theme.style():
        axes.set_title(title, loc="left", weight="bold")
        kernels = list(dict.fromkeys(shape.kernel for shape in measured))
        for kernel, colour, marker in zip(kernels, COLOURS, MARKERS, strict=False):
            of_kernel = [shape for shape in measured if shape.kernel == kernel]
            x, y = zip(*((shape.sectors_per_request, shape.gflops) for shape in of_kernel), strict=True)
            axes.plot(x, y, marker, color=colour, markeredgecolor=theme.INK, markersize=9, alpha=0.85, label=kernel)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("sectors a request, mean over the loads of A and B (counted)")
        axes.set_ylabel(f"GFLOPS ({source})")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_major_formatter(lambda value, _: theme.thousands(value))
        axes.grid(True, which="major")
        axes.legend(loc="upper right", frameon=False)
        _label(axes, odd)
    return drawn


def _label(axes: Axes, shapes: Sequence[BlockShape]) -> None:
    for shape in shapes:
        place = (shape.sectors_per_request, shape.gflops)
        axes.annotate(shape.label, place, xytext=(8, -4), textcoords="offset points", fontsize=theme.SMALL)


def _caption(shapes: Sequence[BlockShape], oddest: BlockShape, source: str) -> str:
    correlation = rank_correlation([s.sectors_per_request for s in shapes], [s.gflops or 0.0 for s in shapes])
    towards = "fewer" if correlation < 0 else "more"
    return (
        f"{theme.plural(len(shapes), 'block shape')}: {towards} sectors go with more GFLOPS, rank correlation "
        f"{theme.signed(correlation)}. Farthest from the common line: {oddest.kernel} with block {oddest.label}, "
        f"{theme.thousands(oddest.gflops or 0.0)} GFLOPS at {theme.thousands(oddest.sectors_per_request, 1)} sectors a "
        f"request ({source})."
    )


def _ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks from 0, ties at their mean."""
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(size) - (size + 1) / 2)[group]
