"""For which sizes does it help? How many times as fast as another kernel each kernel is, by size."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from helpers.pictures import page, theme
from helpers.pictures.by_size.facts import FIRST, Sweep, Way

LEFT, TOP, WIDTH, HEIGHT, BOTTOM = 0.75, 0.42, 6.55, 3.3, 0.68  # inches
COLOURS = (theme.REFERENCE, theme.SPEED, theme.WARP, theme.MUTED)
LABEL_GAP = 15.0  # points between two labels, at least


def by_size_figure(sweep: Sweep, title: str) -> theme.Figure:
    """A line for each way, named at its right end; the kernel that all are compared with is the line at 1."""
    drawn = theme.Figure(TOP + HEIGHT + BOTTOM, caption(sweep), 2)
    axes = drawn.axes_in_inches(LEFT, TOP, WIDTH, HEIGHT)
    sizes = sorted({size for way in sweep.ways for size in way.sizes})
    top = max(max(way.factors) for way in sweep.ways)
    low = min(min(way.factors) for way in sweep.ways)
    axes.set(xscale="log", xlim=(0.85 * sizes[0], 1.1 * sizes[-1]), ylim=(min(0.9, low - 0.05), top + 0.1))
    with theme.style():
        axes.set_title(title, loc="left", weight="bold", x=(page.MARGIN / theme.CSS_DPI - LEFT) / WIDTH)
        axes.axhline(1, color=theme.INK, linewidth=1.4, linestyle=":", label=FIRST)
        for way, colour in zip(sweep.ways, COLOURS, strict=False):
            axes.plot(way.sizes, way.factors, color=colour, marker="o", markersize=4, linewidth=2.2, label=way.name)
        _names(axes, sweep.ways)
        powers = [2**exponent for exponent in range(sizes[-1].bit_length()) if sizes[0] <= 2**exponent <= sizes[-1]]
        axes.set_xticks(powers, [str(power) for power in powers])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel(f"M = N = K ({sweep.label})")
        axes.set_ylabel(f"times as fast as {FIRST}")
        axes.grid(True, axis="y")
    return drawn


def caption(sweep: Sweep) -> str:
    """'Times as fast as vectorized, double_buffered: 1.46 at 256, 1.58 at 1 280 and 1.09 at 4 096 (recorded …).'"""
    way = sweep.ways[0]
    points = list(zip(way.sizes, way.factors, strict=True))
    chosen = dict.fromkeys((points[0], max(points, key=lambda point: point[1]), points[-1]))
    *parts, last = (f"{factor:.2f} at {theme.thousands(size)}" for size, factor in chosen)
    return f"Times as fast as {FIRST}, {way.name}: {', '.join(parts)} and {last} ({sweep.label})."


def _names(axes: Axes, ways: Sequence[Way]) -> None:
    """The names right of the last points, moved apart where they would cover each other."""
    bottom, top = axes.get_ylim()
    points = HEIGHT * 72 / (top - bottom)
    height = -1e9
    for way, colour in sorted(zip(ways, COLOURS, strict=False), key=lambda pair: pair[0].factors[-1]):
        height = max((way.factors[-1] - bottom) * points, height + LABEL_GAP)
        axes.annotate(
            way.name,
            (way.sizes[-1], way.factors[-1]),
            xytext=(10, height - (way.factors[-1] - bottom) * points),
            textcoords="offset points",
            va="center",
            color=colour,
            annotation_clip=False,
        )
