"""Is a fuller SM a faster one? Kernels by their occupancy and their GFLOPS."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import NullLocator

from helpers.pictures import page, theme

# inches
LEFT, TOP, WIDTH, HEIGHT = 0.95, 0.42, 7.85, 3.1
LABEL_GAP = 13.0  # points between two labels, at least
TICKS = (6.25, 12.5, 25, 50, 75, 100)


@dataclass(frozen=True)
class Dot:
    """label: of a kernel.  occupancy: 0 … 1, theoretical.  gflops: 10⁹ floating-point operations a second."""

    label: str
    occupancy: float
    gflops: float


def occupancy_speed_figure(dots: Sequence[Dot], title: str, source: str, named: Collection[str] = ()) -> theme.Figure:
    """A dot per kernel. named: the labels that are written beside theirs; without any, all of them. Those of which the
    caption speaks are written in any case.

    source: where the GFLOPS come from: "recorded on NVIDIA H200".
    """
    if len(dots) < 2:
        raise ValueError("One dot compares nothing: give at least two.")
    drawn = theme.Figure(TOP + HEIGHT + 0.72, _caption(dots, source), 2)
    axes = drawn.axes_in_inches(LEFT, TOP, WIDTH, HEIGHT)
    fastest, least = max(dot.gflops for dot in dots), 100 * min(dot.occupancy for dot in dots)
    axes.set(xscale="log", xlim=(0.8 * least, 125), ylim=(-0.04 * fastest, 1.06 * fastest))
    with theme.style():
        axes.set_title(title, loc="left", weight="bold", x=(page.MARGIN / theme.CSS_DPI - LEFT) / WIDTH)
        axes.plot([100 * dot.occupancy for dot in dots], [dot.gflops for dot in dots], "o", color=theme.SPEED,
                  markersize=9, markeredgecolor=theme.PAPER, label="kernels")  # fmt: skip
        labelled = {*named, _fastest(dots).label, _fullest(dots).label}
        _labels(axes, [dot for dot in dots if not named or dot.label in labelled])
        axes.set_xlabel("occupancy, % (logarithmic)")
        axes.set_ylabel("GFLOPS")
        ticks = [tick for tick in TICKS if tick >= least]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(lambda value, _: theme.thousands(value))
        axes.grid(True, axis="y")
    return drawn


def _labels(axes: Axes, dots: Sequence[Dot]) -> None:
    """The names right of their dots (left of one at the right edge), moved apart where they would cover each other."""
    points_a_unit = HEIGHT * 72 / np.ptp(axes.get_ylim())
    top = axes.get_ylim()[1] * points_a_unit - LABEL_GAP / 2
    for share in sorted({dot.occupancy for dot in dots}):
        column = sorted((dot for dot in dots if dot.occupancy == share), key=lambda dot: dot.gflops)
        for dot, height in zip(column, _apart([dot.gflops * points_a_unit for dot in column], top), strict=True):
            left = share > 0.9
            axes.annotate(
                dot.label,
                (100 * share, dot.gflops),
                xytext=(-9 if left else 9, height - dot.gflops * points_a_unit),
                textcoords="offset points",
                ha="right" if left else "left",
                va="center",
                color=theme.INK,
                path_effects=[withStroke(linewidth=4, foreground=theme.PAPER)],  # readable across a line of the grid
            )


def _apart(wished: Sequence[float], top: float) -> list[float]:
    """Ascending heights LABEL_GAP apart and none above `top`, near the wished ones."""
    placed: list[float] = []
    for height in wished:
        placed.append(max(height, placed[-1] + LABEL_GAP) if placed else height)
    for number in range(len(placed) - 1, -1, -1):
        placed[number] = min(placed[number], top)
        top = placed[number] - LABEL_GAP
    return placed


def _fastest(dots: Sequence[Dot]) -> Dot:
    return max(dots, key=lambda dot: dot.gflops)


def _fullest(dots: Sequence[Dot]) -> Dot:
    """The kernel with the highest occupancy, the fastest of them."""
    return max(dots, key=lambda dot: (dot.occupancy, dot.gflops))


def _caption(dots: Sequence[Dot], source: str) -> str:
    fastest, fullest = _fastest(dots), _fullest(dots)
    text = f"The fastest, {fastest.label}, has {theme.percent(fastest.occupancy, 2)} occupancy and reaches "
    text += f"{theme.thousands(fastest.gflops)} GFLOPS ({source})."
    if fullest is fastest:
        return text + " It is the fullest, too."
    text += f" At {theme.percent(fullest.occupancy, 2)} the fastest is {fullest.label}, "
    return f"{text}with {theme.thousands(fullest.gflops)}."
