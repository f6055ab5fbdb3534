"""GFLOPS as bars: how far apart are these kernels?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.patches import Rectangle

from helpers.pictures import theme

TOP, ROW, NUMBER = 0.38, 0.62, 1.75  # inches; NUMBER: "50 762 GFLOPS" behind the longest bar


@dataclass(frozen=True)
class Bar:
    """label: what was measured.  gflops: 10⁹ floating-point operations per second, None for a bar that is not told
    yet.  colour: theme's, SPEED by default."""

    label: str
    gflops: float | None
    colour: str = theme.SPEED


UNTOLD = "?  yours to predict"


def gflops_figure(
    bars: Sequence[Bar], title: str, source: str, compared: tuple[str, str] | None = None
) -> theme.Figure:
    """Horizontal bars from zero, one per kernel, the number at its end; the caption says how far two of them are apart.
    A bar without a number has its row, and a question mark.

    source: where the numbers come from: "recorded on NVIDIA H200", "measured here".  compared: the labels of the two
    that the caption compares, (faster, slower); None: the fastest and the slowest of all.
    """
    numbered = [bar for bar in bars if bar.gflops is not None]
    if not numbered:
        raise ValueError("There is no bar to draw: give at least one Bar with a number.")
    height = TOP + ROW * len(bars) + 0.68
    drawn = theme.Figure(
        height, _caption([bar for bar in numbered if compared is None or bar.label in compared], source)
    )
    label_width = 0.35 + 0.115 * max(len(bar.label) for bar in bars)
    axes = drawn.axes_in_inches(label_width, TOP, theme.WIDTH - label_width - 0.25, ROW * len(bars))
    longest = max(bar.gflops for bar in numbered)
    room = 1 - NUMBER / (theme.WIDTH - label_width - 0.25)
    axes.set(xlim=(0, longest / room), ylim=(len(bars) - 0.5, -0.5))
    with theme.style():
        axes.set_title(title, loc="left", weight="bold", x=(0.14 - label_width) / (theme.WIDTH - label_width - 0.25))
        for row, bar in enumerate(bars):
            if bar.gflops is None:
                axes.text(longest * 0.012, row, UNTOLD, va="center", size=theme.TITLE, color=theme.MUTED)
                continue
            axes.add_patch(Rectangle((0, row - 0.34), bar.gflops, 0.68, color=bar.colour))
            number = f"{theme.thousands(bar.gflops)} GFLOPS"
            axes.text(bar.gflops + longest * 0.012, row, number, va="center", size=theme.TITLE, weight="bold")
        axes.set_yticks(range(len(bars)), [bar.label for bar in bars], fontsize=theme.TITLE)
        axes.set_xticks([tick for tick in axes.get_xticks() if tick <= longest])  # one at the edge would be cut off
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"GFLOPS ({source})")
        axes.xaxis.set_major_formatter(lambda value, _: theme.thousands(value))
    return drawn


def _caption(bars: Sequence[Bar], source: str) -> str:
    fastest, slowest = max(bars, key=lambda bar: bar.gflops), min(bars, key=lambda bar: bar.gflops)
    if fastest is slowest:
        return f"{fastest.label} reaches {theme.thousands(fastest.gflops)} GFLOPS ({source})."
    factor = theme.thousands(fastest.gflops / slowest.gflops, 1)
    return (
        f"{fastest.label} is {factor} times as fast as {slowest.label}: {theme.thousands(fastest.gflops)} against "
        f"{theme.thousands(slowest.gflops)} GFLOPS ({source})."
    )
