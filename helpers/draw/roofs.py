"""Several units that multiply under one roofline: a slope for the L2 cache, and a flat roof for each format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from helpers.draw import page, theme

PLOT_X, PLOT_Y, PLOT_WIDTH, PLOT_HEIGHT = 74.0, 66.0, 800.0, 360.0  # CSS pixels
HEIGHT = 482.0
LEFT, RIGHT, LOW, HIGH = 2.0, 2000.0, 8.0, 2200.0  # FLOP per byte, and TFLOPS
NAME_X = 1800.0


@dataclass(frozen=True)
class Roof:
    """name: of the format.  tflops: the most that its unit gives.  what: where that number is from."""

    name: str
    tflops: float
    what: str
    colour: str


@dataclass(frozen=True)
class Dot:
    """A kernel.  intensity: FLOP per byte that its blocks load, wherever it comes from.  tflops: measured."""

    name: str
    intensity: float
    tflops: float
    colour: str


def roofs_figure(l2_tb_per_s: float, roofs: Sequence[Roof], dots: Sequence[Dot], title: str) -> theme.Figure:
    """The roofs from the lowest to the highest, and dots of kernels under them. Whatever a block loads comes through
    the L2 cache, so that its bandwidth is the slope for the bytes that blocks load."""
    ridges = ", ".join(f"{roof.name}\u00a0{roof.tflops / l2_tb_per_s:.0f}" for roof in roofs)
    told = f"A faster unit needs more FLOP per byte before the L2 cache is no longer its limit: {ridges}."
    drawn, axes = page.page(HEIGHT, title, told, 2)
    with theme.style():
        page.legend(axes, 44, [page.Key(roof.colour, f"{roof.name}: {roof.what}") for roof in roofs])
        plot = drawn.axes_in_inches(*(pixels / theme.CSS_DPI for pixels in (PLOT_X, PLOT_Y, PLOT_WIDTH, PLOT_HEIGHT)))
        plot.set(xscale="log", yscale="log", xlim=(LEFT, RIGHT), ylim=(LOW, HIGH))
        plot.xaxis.set_major_locator(FixedLocator([2, 5, 10, 20, 50, 100, 200, 500, 1000]))
        plot.yaxis.set_major_locator(FixedLocator([10, 20, 50, 100, 200, 500, 1000, 2000]))
        for axis in (plot.xaxis, plot.yaxis):
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(lambda value, _: f"{value:g}")
        plot.grid(True, which="major")
        plot.set_xlabel("FLOP per byte that the blocks load through the L2 cache")
        plot.set_ylabel("TFLOPS (INT8: TOPS)")
        _lines(plot, l2_tb_per_s, roofs)
        for dot in dots:
            plot.plot([dot.intensity], [dot.tflops], "o", color=dot.colour, markersize=9, label=dot.name)
            plot.annotate(f"{dot.name}, {dot.tflops:.0f}", (dot.intensity, dot.tflops), (11, -2),
                          textcoords="offset points", color=theme.INK, size=theme.SMALL, va="center")  # fmt: skip
    return drawn


def _lines(plot: Axes, l2: float, roofs: Sequence[Roof]) -> None:
    highest = max(roof.tflops for roof in roofs)
    x = np.array([LEFT, highest / l2])
    plot.plot(x, x * l2, color=theme.INK, linewidth=2.6, label="L2 cache")
    plot.annotate(f"L2 cache: {l2:.1f} TB/s", (5.0, 5.0 * l2), (12, -8), textcoords="offset points",
                  color=theme.INK, size=theme.SMALL)  # fmt: skip
    for roof in roofs:
        plot.plot([roof.tflops / l2, RIGHT], [roof.tflops] * 2, color=roof.colour, linewidth=2.6, label=roof.name)
        plot.annotate(f"{roof.name}: {roof.tflops:.0f}", (NAME_X, roof.tflops), (0, 5), textcoords="offset points",
                      ha="right", color=theme.INK, size=theme.SMALL, weight="bold")  # fmt: skip
