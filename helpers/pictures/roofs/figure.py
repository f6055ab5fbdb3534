"""Several units that multiply under one roofline: main memory is the slope, and each precision has a flat roof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, NullLocator

from helpers.pictures import page, theme

PLOT_X, PLOT_Y, PLOT_WIDTH, PLOT_HEIGHT = 74.0, 66.0, 800.0, 360.0  # CSS pixels
HEIGHT = 482.0
NEAR, LIFT = 0.15, 10.0  # of a dot to a line, as the logarithm of their ratio; points that its name stands higher then
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
SMALL_X, SMALL_Y, SMALL_STEP, SMALL_WIDTH, SMALL_HEIGHT = 56.0, 84.0, 288.0, 240.0, 250.0
LEFT, RIGHT = 2.0, 30_000.0  # FLOP per byte; names stand where no square of a GPU's memory is
DECADES = [10.0**power for power in range(-1, 5)]
COLOURS = {
    "FP64": theme.A, "FP32": theme.SPEED, "TF32": theme.REFERENCE, "FP16": theme.WARP, "BF16": theme.WARP,
    "INT8": theme.C, "FP8": theme.C,
}  # fmt: skip
EQUAL = 1.005  # roofs within this factor are drawn as one
MARKS = {"cuBLAS": "o", "our last kernel": "D"}


@dataclass(frozen=True)
class Dot:
    """A multiplication. side: one of MARKS.  intensity: FLOP per byte, every byte moved once.  tflops: measured."""

    format: str
    side: str
    intensity: float
    tflops: float


@dataclass(frozen=True)
class Roofs:
    """A GPU. memory_tb_per_s: of its main memory.  tflops: format → its roof, by the documents.

    reached: format → what mma.sync gives there when nothing is loaded, measured.
    """

    gpu: str
    memory_tb_per_s: float
    tflops: dict[str, float]
    reached: dict[str, float]
    dots: tuple[Dot, ...] = ()

    @property
    def joined(self) -> list[tuple[str, float]]:
        """(formats, TFLOPS) of the roofs, lowest first, those of one height together: ('FP16/BF16', 989.4)."""
        groups: list[tuple[list[str], float]] = []
        for name, tflops in sorted(self.tflops.items(), key=lambda item: item[1]):
            if groups and tflops < groups[-1][1] * EQUAL:
                groups[-1][0].append(name)
            else:
                groups.append(([name], tflops))
        return [("/".join(names), tflops) for names, tflops in groups]

    @property
    def named(self) -> list[Dot]:
        """The dots that get a name: the faster one where two formats share a colour, whose dots nearly coincide."""
        best: dict[tuple[str, str], Dot] = {}
        for dot in self.dots:
            key = COLOURS[dot.format], dot.side
            best[key] = max(best.get(key, dot), dot, key=lambda candidate: candidate.tflops)
        return list(best.values())

    @property
    def ridges(self) -> str:
        """'FP64/FP32 14, TF32 103': from which intensity on memory is no longer the limit."""
        return ", ".join(f"{names}\u00a0{tflops / self.memory_tb_per_s:.0f}" for names, tflops in self.joined)


def roofs_figure(data: Roofs, title: str) -> theme.Figure:
    """The roofs of one GPU, and multiplications under them."""
    caption = f"A faster unit needs more FLOP per byte before memory is no longer its limit: {data.ridges}."
    drawn, axes = page.page(HEIGHT, title, caption, CAPTION_LINES)
    with theme.style():
        _legend(axes, data)
        plot = _plot(drawn, PLOT_X, PLOT_Y, PLOT_WIDTH, PLOT_HEIGHT, [data])
        plot.set_xlabel("FLOP per byte of main memory, every byte moved once")
        plot.set_ylabel("TFLOPS (integers: TOPS)")
        _lines(plot, data)
        for format_, tflops in data.reached.items():
            ridge = tflops / data.memory_tb_per_s
            plot.plot([ridge, RIGHT], [tflops] * 2, "--", color=COLOURS[format_], linewidth=1.4,
                      label=f"{format_} mma.sync")  # fmt: skip
            _name(
                plot, f"mma.sync {theme.thousands(tflops)}", (ridge * 1.2, tflops), (0, -3), color=theme.MUTED, va="top"
            )
        for dot in data.dots:
            plot.plot([dot.intensity], [dot.tflops], MARKS[dot.side], color=COLOURS[dot.format],
                      markeredgecolor=theme.PAPER, markersize=9, label=f"{dot.format} {dot.side}")  # fmt: skip
        for dot in data.named:
            side, align = (-9, "right") if dot.side == "cuBLAS" else (9, "left")
            words = f"{dot.format} {theme.thousands(dot.tflops)}"
            lines = [*data.tflops.values(), *data.reached.values()]
            lift = LIFT if any(abs(np.log(line / dot.tflops)) < NEAR for line in lines) else 0
            _name(plot, words, (dot.intensity, dot.tflops), (side, lift), ha=align, va="center")
    return drawn


def roofs_columns_figure(several: Sequence[Roofs], title: str) -> theme.Figure:
    """The roofs of several GPUs side by side, on the same axes."""
    parts = ", ".join(f"{roofs.tflops['FP16'] / roofs.memory_tb_per_s:.0f} ({roofs.gpu})" for roofs in several)
    drawn, axes = page.page(384.0, title, f"FLOP per byte from which on memory is not the limit of FP16: {parts}.", 2)
    with theme.style():
        for number, roofs in enumerate(several):
            x = SMALL_X + number * SMALL_STEP
            page.text(axes, x, 52, roofs.gpu, color=theme.INK, size=theme.TEXT, weight="bold")
            page.text(axes, x, 70, f"memory {roofs.memory_tb_per_s:.2g} TB/s")
            plot = _plot(drawn, x, SMALL_Y, SMALL_WIDTH, SMALL_HEIGHT, several)
            plot.set_xlabel("FLOP per byte")
            _lines(plot, roofs)
    return drawn


def _legend(axes: Axes, data: Roofs) -> None:
    words = ["line: the most by NVIDIA's documents"]
    words += ["dashed: what mma.sync gives"] if data.reached else []
    names = {dot.side for dot in data.dots}
    words += [f"{'●' if mark == 'o' else '◆'} {side}" for side, mark in MARKS.items() if side in names]
    page.text(axes, page.MARGIN, 44, "   ".join(words))


def _plot(drawn: theme.Figure, x: float, y: float, width: float, height: float, several: Sequence[Roofs]) -> Axes:
    plot = drawn.axes_in_inches(*(pixels / theme.CSS_DPI for pixels in (x, y, width, height)))
    every = [tflops for roofs in several for tflops in roofs.tflops.values()]
    plot.set(xscale="log", yscale="log", xlim=(LEFT, RIGHT), ylim=(min(every) / 2.5, max(every) * 2.2))
    for axis in (plot.xaxis, plot.yaxis):
        axis.set_major_locator(FixedLocator(DECADES))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda value, _: f"{value:g}")
    plot.grid(True, which="major")
    return plot


def _lines(plot: Axes, data: Roofs) -> None:
    slope = data.memory_tb_per_s
    x = np.array([LEFT, max(data.tflops.values()) / slope])
    plot.plot(x, x * slope, color=theme.INK, linewidth=2.6, label="memory")
    for names, tflops in data.joined:
        colour = COLOURS[names.split("/")[0]]
        plot.plot([tflops / slope, RIGHT], [tflops] * 2, color=colour, linewidth=2.6, label=names)
        words = f"{names} {theme.thousands(tflops, 0 if tflops >= 100 else 1)}"
        _name(plot, words, (RIGHT / 1.06, tflops), (0, 4), ha="right", weight="bold")


def _name(plot: Axes, words: str, point: tuple[float, float], points: tuple[float, float], **options: Any) -> None:
    """Words beside a place, so many points off, readable across a line."""
    look = {"color": theme.INK, "size": theme.size(theme.SMALL), **options}
    name = plot.annotate(words, point, points, textcoords="offset points", **look)
    name.set_path_effects([withStroke(linewidth=3, foreground=theme.PAPER)])
