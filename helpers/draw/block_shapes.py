"""Block shapes compared: what each costs a request, in sectors or in tags, and what it reaches in GFLOPS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from helpers.draw import theme

MARKERS = ("s", "o")
COLOURS = (theme.SPEED, theme.REFERENCE)
FAR_APART = 1.25  # shapes of one cost whose GFLOPS differ by more than this factor are labelled
TICKS = (0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 8, 12, 16, 24, 32)

Cost = Literal["sectors", "tags"]
AXIS = {
    "sectors": "32-byte sectors a request, mean over the loads of A and B (counted)",
    "tags": "128-byte lines looked up a request, mean over the loads of A and B (counted)",
}
UNITS = {"sectors": "sectors", "tags": "lines"}


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

    def cost(self, kind: Cost) -> float:
        """Sectors or tags a request."""
        return self.sectors_per_request if kind == "sectors" else self.tags_per_request


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation, −1 … 1: the correlation of the ranks, ties sharing the mean of their ranks."""
    if len(x) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        raise ValueError("A rank correlation needs three points, and two different values along each axis.")
    return float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])


def exceptions(shapes: Sequence[BlockShape], kind: Cost) -> list[tuple[BlockShape, BlockShape]]:
    """Pairs (slowest, fastest) of equal cost whose GFLOPS lie far apart: what the cost alone does not explain.

    The pair that is farthest apart comes first.
    """
    pairs = []
    for cost in sorted({shape.cost(kind) for shape in shapes}):
        alike = sorted((shape for shape in shapes if shape.cost(kind) == cost), key=_speed)
        if _speed(alike[-1]) > FAR_APART * _speed(alike[0]):
            pairs.append((alike[0], alike[-1]))
    return sorted(pairs, key=lambda pair: -_speed(pair[1]) / _speed(pair[0]))


def scatter_figure(
    shapes: Sequence[BlockShape],
    title: str,
    source: str,
    *,
    cost: Cost = "sectors",
    limit: float | None = None,
    limit_name: str = "limit",
) -> theme.Figure:
    """Cost of a request against GFLOPS, a dot for each block shape, both axes logarithmic.

    source: where the GFLOPS come from, "recorded on NVIDIA H200". Shapes that were not measured are left out.
    limit: GFLOPS that a request of cost 1 would allow if the cost were all that counts, drawn as the line limit / cost
    with `limit_name` in the legend.
    """
    measured = [shape for shape in shapes if shape.gflops is not None]
    if len(measured) < 3:
        raise ValueError(f"A scatter plot needs at least 3 measured block shapes, but {len(measured)} were given.")
    odd = exceptions(measured, cost)
    drawn = theme.Figure(4.3, _caption(measured, odd, cost, source, limit), 3)
    axes = drawn.axes_in_inches(0.95, 0.42, theme.WIDTH - 1.2, 3.25)
    with theme.style():
        axes.set_title(title, loc="left", weight="bold", x=(0.14 - 0.95) / (theme.WIDTH - 1.2))
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(AXIS[cost])
        axes.set_ylabel(f"GFLOPS ({source})")
        kernels = list(dict.fromkeys(shape.kernel for shape in measured))
        for kernel, colour, marker in zip(kernels, COLOURS, MARKERS, strict=True):
            of_kernel = [shape for shape in measured if shape.kernel == kernel]
            x, y = [shape.cost(cost) for shape in of_kernel], [_speed(shape) for shape in of_kernel]
            axes.plot(x, y, marker, color=colour, markeredgecolor=theme.INK, markersize=9, alpha=0.85, label=kernel)
        _ticks(axes, [shape.cost(cost) for shape in measured], [_speed(shape) for shape in measured])
        if limit is not None:
            ends = np.array(axes.get_xlim())
            axes.plot(ends, limit / ends, "--", color=theme.INK, linewidth=1.3, label=limit_name, zorder=1)
        axes.legend(loc="upper right", frameon=False)
        _label(axes, odd, cost)
    return drawn


def _speed(shape: BlockShape) -> float:
    return shape.gflops or 0.0


def _ticks(axes: Axes, x: Sequence[float], y: Sequence[float]) -> None:
    """Plain numbers at round places, and room for the labels at the right."""
    axes.set_xlim(min(x) / 1.15, max(x) * 1.3)
    axes.set_ylim(min(y) / 1.25, max(y) * 1.6)
    axes.set_xticks([tick for tick in TICKS if min(x) / 1.15 <= tick <= max(x) * 1.3])
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: theme.thousands(value))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major")


def _label(axes: Axes, pairs: Sequence[tuple[BlockShape, BlockShape]], cost: Cost) -> None:
    for shape in (shape for pair in pairs for shape in pair):
        place = (shape.cost(cost), _speed(shape))
        name = axes.annotate(shape.label, place, xytext=(9, -4), textcoords="offset points", fontsize=theme.SMALL)
        name.set_path_effects([withStroke(linewidth=7, foreground=theme.PAPER)])  # readable across a line


def _caption(
    shapes: Sequence[BlockShape],
    odd: Sequence[tuple[BlockShape, BlockShape]],
    cost: Cost,
    source: str,
    limit: float | None,
) -> str:
    correlation = rank_correlation([shape.cost(cost) for shape in shapes], [_speed(shape) for shape in shapes])
    towards = "fewer" if correlation < 0 else "more"
    units = UNITS[cost]
    text = (
        f"{theme.plural(len(shapes), 'launch', 'es')}: {towards} {units} go with more GFLOPS, rank correlation "
        f"{theme.signed(correlation)} ({source})."
    )
    if odd and limit is None:
        slow, fast = odd[0]
        low, high = theme.thousands(_speed(slow)), theme.thousands(_speed(fast))
        text += (
            f" But {theme.thousands(fast.cost(cost), 1)} {units} a request can mean {low} GFLOPS "
            f"({slow.kernel}, block {slow.label}) or {high} ({fast.kernel}, block {fast.label})."
        )
    if limit is not None:
        shares = [_speed(shape) * shape.cost(cost) / limit for shape in shapes]
        text += (
            f" The line is {theme.thousands(limit)} GFLOPS divided by the {units}; "
            f"the launches reach {100 * min(shares):.0f} to {100 * max(shares):.0f} % of it."
        )
    return text


def _ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks from 0, ties at their mean."""
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(size) - (size + 1) / 2)[group]
