"""Picture 12: what did each idea buy?

GFLOPS by size, one line for each kernel, in the colour of its group; the selected kernel is strong, cuBLAS of the same
run is dashed, and the GPU's peak is the ceiling. A label leads to the best line of each group. Beside it the chosen
size as a list, fastest first, in percent of cuBLAS and of the peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import NullFormatter, NullLocator

from helpers.pictures import page, theme
from helpers.pictures.ladder.facts import GROUPS, Ladder, Shape, group_of, shape_label

CUBLAS = "cuBLAS"
OTHERS = "#8B96A5"  # slate, pale: a kernel that belongs to no group
# From light to dark in the order of the course, so that they differ in grey, too (after the colour map viridis).
TINTS = dict(
    zip(
        GROUPS.values(),
        ("#6B9A12", "#2F9E63", "#1F8A86", "#2C728E", "#3B528B", "#472D7B", "#440154", "#23062E"),
        strict=True,
    )
)
Scale = Literal["linear", "log"]

# CSS pixels
PLOT_X, PLOT_Y, PLOT_WIDTH, PLOT_HEIGHT = 70.0, 66.0, 328.0, 348.0
WIDE = 430.0  # of the plot where no labels stand beside it
MOST_LABELS = 8  # of sizes that fit side by side
LONG_LABELS = 66.0  # room for the names of shapes
LIST_X, LIST_Y, LIST_HEIGHT = 528.0, 84.0, 362.0
NAME_WIDTH, BAR_WIDTH, LIST_LETTERS = 124.0, 64.0, 13.5
HEIGHT = 468.0
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
COLUMNS_Y, COLUMNS_ROW, COLUMNS_NAME, COLUMNS_NUMBER = 84.0, 25.0, 140.0, 62.0
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200)  # TFLOPS


def ladder_figure(data: Ladder, shape: Shape, kernel: str, scale: Scale = "linear") -> theme.Figure:
    """All kernels over all shapes, and the list of one shape."""
    here = data.at(shape)
    if kernel not in here:
        raise ValueError(f"{kernel} was not measured at {shape_label(shape)} on the {data.gpu}.")
    title = f"The ladder on the {data.gpu}" + (": M = N = K" if data.square else ", other shapes (M×N×K)")
    drawn, axes = page.page(HEIGHT, title, caption(data, shape, kernel), CAPTION_LINES)
    with theme.style():
        height = PLOT_HEIGHT if data.square else PLOT_HEIGHT - LONG_LABELS
        width = PLOT_WIDTH if data.square else WIDE
        plot = drawn.axes_in_inches(*(pixels / theme.CSS_DPI for pixels in (PLOT_X, PLOT_Y, width, height)))
        keys = [(theme.SPEED, kernel), (theme.REFERENCE, CUBLAS)]
        page.legend(axes, 48, [page.Key(colour, words) for colour, words in keys])
        _plot(plot, data, shape, kernel, scale)
        if data.square:
            drawn.canvas.draw()  # the limits of the plot are known only now
            _group_labels(axes, plot, data)
        _list(axes, data, shape, kernel)
    return drawn


def caption(data: Ladder, shape: Shape, kernel: str) -> str:
    """'warptiled: 47.7 TFLOPS at 4096, 94 % of cuBLAS, 71 % of the peak.'"""
    here = data.at(shape)
    point = here[kernel]
    text = f"{kernel}: {theme.speed(point.gflops)} at {shape_label(shape)}, {_percent(point.of_cublas)} of "
    text += f"cuBLAS, {_percent(point.gflops / data.peak_gflops)} of the peak ({data.source})."
    best = max(here, key=lambda name: here[name].gflops)
    if best != kernel:
        text += f" The fastest there is {best} with {theme.speed(here[best].gflops)}."
    return text


def _percent(share: float) -> str:
    digits = 0 if share >= 0.0995 else 1
    return f"{100 * share:.{digits}f}\u202f%"


def _plot(axes: Axes, data: Ladder, shape: Shape, kernel: str, scale: Scale) -> None:
    shapes = data.shapes
    position = {shape: number for number, shape in enumerate(shapes)}
    joined = "-" if data.square else "none"  # between unlike shapes a line would mean nothing
    pale = {"linestyle": joined, "linewidth": 1.3, "marker": "" if data.square else "_", "markersize": 11}
    for name, points in data.lines.items():
        if name != kernel:
            x, y = [position[point.shape] for point in points], [point.gflops / 1000 for point in points]
            axes.plot(x, y, color=_tint(name), label=name, **pale)
    cublas = [data.cublas(shape) / 1000 for shape in shapes]
    style = {"linestyle": "--" if data.square else "none", "marker": "s", "markersize": 6}
    axes.plot(range(len(shapes)), cublas, color=theme.REFERENCE, linewidth=2.6, label=CUBLAS, **style)
    mine = data.lines[kernel]
    x, y = [position[point.shape] for point in mine], [point.gflops / 1000 for point in mine]
    axes.plot(x, y, linestyle=joined, marker="o", markersize=8, color=theme.SPEED, linewidth=3.2, label=kernel)
    peak = data.peak_gflops / 1000
    axes.axhline(peak, color=theme.INK, linewidth=1.4, linestyle=":", label="peak")
    axes.axvline(position[shape], color=theme.WARP, linewidth=9, alpha=0.16, zorder=0, label="chosen")
    axes.set_yscale(scale)
    if scale == "log":
        lowest = min(point.gflops for points in data.lines.values() for point in points) / 1000
        axes.set_ylim(lowest / 1.4, peak * 1.9)
        ticks = [tick for tick in TICKS if lowest / 1.4 <= tick <= peak]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, peak * 1.12)
    axes.set_xlim(-0.3, len(shapes) - 0.7)
    every = 1 if len(shapes) <= MOST_LABELS or not data.square else 2
    axes.set_xticks(range(0, len(shapes), every), [shape_label(shape) for shape in shapes[::every]])
    if data.square:
        axes.set_xlabel("M = N = K")
    else:
        axes.tick_params(axis="x", rotation=50)
        for words in axes.get_xticklabels():
            words.set(ha="right", rotation_mode="anchor")
    axes.set_ylabel("TFLOPS")
    axes.grid(True, axis="y")
    above = peak * (1.02 if scale == "linear" else 1.08)
    words = axes.text(-0.2, above, f"peak {peak:.1f}", size=theme.SMALL, va="bottom")
    words.set_path_effects([withStroke(linewidth=4, foreground=theme.PAPER)])  # readable across a grid line


def _tint(kernel: str, otherwise: str = OTHERS) -> str:
    return TINTS.get(group_of(kernel), otherwise)


def _group_labels(axes: Axes, plot: Axes, data: Ladder) -> None:
    """The name of each group beside the plot, with a line to the end of its best kernel; names do not overlap."""
    last, height = len(data.shapes) - 1, float(axes.get_ylim()[0])
    ends: dict[str, float] = {}
    for name, points in data.lines.items():
        group = group_of(name)
        if group and points[-1].shape == data.shapes[last]:
            ends[group] = max(ends.get(group, 0.0), points[-1].gflops / 1000)
    if not ends:
        return
    pixels = {group: plot.transData.transform((last, value)) for group, value in ends.items()}
    scale = theme.DPI / theme.CSS_DPI
    bottom = axes.figure.picture_bottom * axes.figure.bbox.height
    at = {group: (x / scale, height - (y - bottom) / scale) for group, (x, y) in pixels.items()}
    order = sorted(at, key=lambda group: at[group][1])
    free = PLOT_Y + 8.0
    for group in order:
        x, y = at[group]
        free = max(free, y)
        page.lines(axes, [[(x + 6, y), (x + 22, free)]], TINTS[group], 2.4, label="leader")
        page.text(axes, x + 26, free, group, color=theme.INK)
        free += 17.0


def _list(axes: Axes, data: Ladder, shape: Shape, kernel: str) -> None:
    """The kernels at one shape, fastest first, with cuBLAS among them."""
    here = {name: point.gflops for name, point in data.at(shape).items()}
    here[CUBLAS] = data.cublas(shape)
    of_cublas = {name: point.of_cublas for name, point in data.at(shape).items()} | {CUBLAS: 1.0}
    ranked = sorted(here, key=lambda name: -here[name])
    step = min(24.0, LIST_HEIGHT / len(ranked))
    right = page.WIDTH - page.MARGIN
    page.text(axes, LIST_X, 50, f"at {shape_label(shape)}", size=theme.TEXT, color=theme.INK, weight="bold")
    page.text(axes, right - 62, LIST_Y - 20, "of cuBLAS", ha="right")
    page.text(axes, right, LIST_Y - 20, "of peak", ha="right")
    for bold in (False, True):
        names = [name for name in ranked if (name == kernel) == bold]
        y = LIST_Y + step * np.array([ranked.index(name) for name in names])
        columns = [
            (LIST_X, "left", names),
            (right - 62, "right", [_percent(of_cublas[name]) for name in names]),
            (right, "right", [_percent(here[name] / data.peak_gflops) for name in names]),
        ]
        for x, align, words in columns:
            page.labels(axes, words, x, y, LIST_LETTERS, theme.INK, align=align, bold=bold)
    for number, name in enumerate(ranked):
        colour = theme.REFERENCE if name == CUBLAS else theme.SPEED if name == kernel else _tint(name)
        length = BAR_WIDTH * here[name] / here[ranked[0]]
        bar = page.boxes(LIST_X + NAME_WIDTH, LIST_Y + number * step - 6, length, 12)
        page.fill(axes, bar, colour, label=f"bar {name}")


def ladder_columns_figure(data: Ladder, shapes: Sequence[Shape], title: str) -> theme.Figure:
    """The kernels in the ladder's order, a column of bars for each shape, cuBLAS at that shape as the mark."""
    if not shapes:
        raise ValueError("There is no shape to draw: give at least one.")
    kernels = list(data.lines)
    parts = []
    for shape in shapes:
        here = data.at(shape)
        best = max(here, key=lambda name: here[name].gflops)
        parts.append(f"{shape_label(shape)}: {best}, {_percent(here[best].of_cublas)} of cuBLAS")
    height = COLUMNS_Y + COLUMNS_ROW * len(kernels) + 6
    drawn, axes = page.page(height, title, f"Fastest of these – {'; '.join(parts)} ({data.source}).", 2)
    step = (page.WIDTH - page.MARGIN - COLUMNS_NAME) / len(shapes)
    with theme.style():
        page.legend(
            axes,
            46,
            [page.Key(theme.SPEED, "GFLOPS, in % of cuBLAS"), page.Key(theme.REFERENCE, "cuBLAS at the same shape")]
            if not any(map(group_of, kernels))
            else [*(page.Key(tint, group) for group, tint in TINTS.items()), page.Key(theme.REFERENCE, CUBLAS)],
        )
        for row, name in enumerate(kernels):
            page.text(axes, page.MARGIN, COLUMNS_Y + (row + 0.5) * COLUMNS_ROW, name, color=theme.INK)
        for column, shape in enumerate(shapes):
            _column(axes, data, shape, COLUMNS_NAME + column * step, step - 24)
    return drawn


def _column(axes: Axes, data: Ladder, shape: Shape, left: float, width: float) -> None:
    here, cublas = data.at(shape), data.cublas(shape)
    best = max(here, key=lambda name: here[name].gflops)
    scale = (width - COLUMNS_NUMBER) / max(cublas, here[best].gflops)
    bottom = COLUMNS_Y + COLUMNS_ROW * len(data.lines)
    page.text(axes, left, COLUMNS_Y - 12, shape_label(shape), size=theme.TEXT, color=theme.INK, weight="bold")
    mark = left + cublas * scale
    page.lines(axes, [[(mark, COLUMNS_Y), (mark, bottom)]], theme.REFERENCE, 2.4, label="cuBLAS")
    for row, name in enumerate(data.lines):
        if name not in here:
            continue
        y = COLUMNS_Y + (row + 0.5) * COLUMNS_ROW
        length = here[name].gflops * scale
        page.fill(axes, page.boxes(left, y - 8, length, 16), _tint(name, theme.SPEED), label=f"bar {name}")
        weight = "bold" if name == best else "normal"
        page.text(axes, left + width, y, _percent(here[name].of_cublas), color=theme.INK, weight=weight, ha="right")
