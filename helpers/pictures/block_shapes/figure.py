"""Block shapes compared: what each costs per request, in sectors or in tags, and what it reaches in GFLOPS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from helpers.pictures import theme
from helpers.pictures.block_shapes.facts import BlockShape, Cost, exceptions, rank_correlation

MARKERS = (("s", 12.0), ("o", 6.5))  # a dot on a square leaves the square to be seen
COLOURS = (theme.SPEED, theme.REFERENCE)
TICKS = (0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 8, 12, 16, 24, 32)

AXIS = {
    "sectors": "32-byte sectors per request, mean over the loads of A and B (counted)",
    "tags": "128-byte lines looked up per request, mean over the loads of A and B (counted)",
}
UNITS = {"sectors": "sectors", "tags": "lines"}


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
        for kernel, colour, (marker, size) in zip(kernels, COLOURS, MARKERS, strict=True):
            of_kernel = [shape for shape in measured if shape.kernel == kernel]
            x, y = [shape.cost(cost) for shape in of_kernel], [shape.speed for shape in of_kernel]
            axes.plot(x, y, marker, color=colour, markeredgecolor=theme.INK, markersize=size, label=kernel)
        _ticks(axes, [shape.cost(cost) for shape in measured], [shape.speed for shape in measured])
        if limit is not None:
            ends = np.array(axes.get_xlim())
            axes.plot(ends, limit / ends, "--", color=theme.INK, linewidth=1.3, label=limit_name, zorder=1)
        axes.legend(loc="upper right", frameon=False)
        _label(axes, odd, cost)
    return drawn


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
        point = (shape.cost(cost), shape.speed)
        name = axes.annotate(shape.label, point, xytext=(9, -4), textcoords="offset points", fontsize=theme.SMALL)
        name.set_path_effects([withStroke(linewidth=7, foreground=theme.PAPER)])  # readable across a line


def _caption(
    shapes: Sequence[BlockShape],
    odd: Sequence[tuple[BlockShape, BlockShape]],
    cost: Cost,
    source: str,
    limit: float | None,
) -> str:
    correlation = rank_correlation([shape.cost(cost) for shape in shapes], [shape.speed for shape in shapes])
    towards = "fewer" if correlation < 0 else "more"
    units = UNITS[cost]
    text = (
        f"{theme.plural(len(shapes), 'launch', 'es')}: {towards} {units} go with more GFLOPS, rank correlation "
        f"{theme.signed(correlation)} ({source})."
    )
    if odd and limit is None:
        slow, fast = odd[0]
        low, high = theme.thousands(slow.speed), theme.thousands(fast.speed)
        text += (
            f" But {theme.thousands(fast.cost(cost), 1)} {units} per request can mean {low} GFLOPS "
            f"({slow.kernel}, block {slow.label}) or {high} ({fast.kernel}, block {fast.label})."
        )
    if limit is not None:
        shares = [shape.speed * shape.cost(cost) / limit for shape in shapes]
        text += (
            f" The line is {theme.thousands(limit)} GFLOPS divided by the {units}; "
            f"the launches reach {100 * min(shares):.0f} to {100 * max(shares):.0f} % of it."
        )
    return text
