"""Picture 1: is this kernel limited by arithmetic or by memory?

The roof of a GPU on logarithmic axes: what its memory can feed at an intensity, and what its arithmetic units can do.
A dot is a kernel at its recorded GFLOPS, over the operations it gets out of each byte that its requests ask for,
counted in 32-byte sectors; what caches answer never comes from memory, so a dot may lie above the roof. A kernel that
was not timed stands as a ring on the roof: no faster is possible if all of these bytes come from memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from gpusim.devices import Device
from helpers.pictures import page, theme
from helpers.pictures.roofline.model import FastestTime, attainable_gflops, fastest_time, ridge_point
from helpers.pictures.traffic import compulsory

FEW = 3  # kernels whose names stand beside their dots
NEAR = 1.25  # a kernel within this factor of a roof is said to be at it
NEITHER = ", neither roof limits"
FAR = 0.1  # below this share of its roof a kernel is limited by something else

# CSS pixels
PLOT_X, PLOT_Y, PLOT_WIDTH, PLOT_HEIGHT = 74.0, 62.0, 640.0, 340.0
NAMES_X, NAMES_STEP = 730.0, 17.5
BOLDER = 1.18  # bold letters beside others, at most
HEIGHT = 456.0
CAPTION_LINES = 3
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
DECADES = 10.0 ** np.arange(-3, 8)
SMALL_Y, SMALL_HEIGHT = 92.0, 190.0


@dataclass(frozen=True)
class KernelPoint:
    """A kernel at one shape.

    bytes_fetched: in the sectors of its requests, counted: sectors × 32.
    flops: of the multiplication.  blocks: of the launch.  gflops: measured; None if it was not.  source: of gflops.
    """

    name: str
    bytes_fetched: float
    flops: int
    blocks: int
    gflops: float | None = None
    source: str = ""

    @property
    def intensity(self) -> float:
        """FLOP for each byte that its requests fetch, from wherever it comes."""
        return self.flops / self.bytes_fetched


@dataclass(frozen=True)
class Roofline:
    """A GPU, the shape of a multiplication, and kernels that compute it."""

    device: Device
    shape: tuple[int, int, int]
    points: tuple[KernelPoint, ...]

    @property
    def best_intensity(self) -> float:
        """FLOP for each byte if every byte moves once: no kernel can have more."""
        return compulsory(*self.shape).intensity

    @property
    def floor(self) -> FastestTime:
        """The least time."""
        return fastest_time(self.device, *self.shape)


def roofline_figure(data: Roofline, selected: str | None = None) -> theme.Figure:
    """The roof and the kernels under it. selected: the kernel that the caption explains, None for the shape alone."""
    names = [point.name for point in data.points]
    if selected is not None and selected not in names:
        raise ValueError(f"There is no {selected} among the kernels of the picture: {', '.join(names) or 'none'}.")
    M, N, K = data.shape
    sizes = f"M = N = K = {M}" if M == N == K else f"M, N, K = {M}, {N}, {K}"
    drawn, axes = page.page(
        HEIGHT, f"The roof of the {data.device.name}, {sizes}", caption(data, selected), CAPTION_LINES
    )
    with theme.style():
        keys = [page.Key(theme.INK, "the most that this shape allows")]
        if data.points:
            if any(point.gflops is not None for point in data.points):
                keys.append(page.Key(theme.SPEED, "kernel, by the bytes that it fetches (counted)"))
            if any(point.gflops is None for point in data.points):
                keys.append(page.Key(theme.REFERENCE, "ring: not timed"))
        page.legend(axes, 44, keys)
        plot = drawn.axes_in_inches(*(pixels / theme.CSS_DPI for pixels in (PLOT_X, PLOT_Y, PLOT_WIDTH, PLOT_HEIGHT)))
        _roof(plot, data)
        _points(plot, data, selected)
        _names(axes, plot, data, selected)
    return drawn


def caption(data: Roofline, selected: str | None) -> str:
    """How far the selected kernel is from both roofs and what follows; or the floor of the shape."""
    if selected is None:
        return _floor(data)
    point = next(point for point in data.points if point.name == selected)
    peak, roof = data.device.peak_fp32_gflops, attainable_gflops(data.device, point.intensity)
    memory = point.intensity * data.device.memory_gb_per_s
    fetched = f"{selected} fetches {_bytes(point.bytes_fetched)}, {_short(point.intensity)} FLOP per byte"
    if point.gflops is None:
        return (
            f"{fetched}. It was not timed on this GPU at this shape; if all of its bytes came from memory, "
            f"{_of(roof, peak)} would be the most. {_floor(data)}"
        )
    text = f"{fetched}, and reaches {_of(point.gflops, peak)} ({point.source}): "
    if point.gflops * NEAR > peak:
        return text + f"{_times(peak / point.gflops)} below the peak, arithmetic is its limit."
    if point.gflops > memory:
        share = theme.percent(1 - memory / point.gflops)
        text += (
            f"{_times(point.gflops / memory)} above the memory roof, so caches serve at least {share} of these bytes. "
        )
        return text + f"To the peak there is a factor of {_times(peak / point.gflops)}."
    if point.gflops * NEAR > memory:
        return text + f"{_times(memory / point.gflops)} below the memory roof, memory is its limit."
    text += f"{_times(memory / point.gflops)} below the memory roof and {_times(peak / point.gflops)} below the peak. "
    if point.blocks < data.device.sms:
        return text + f"{theme.plural(point.blocks, 'block')} for {data.device.sms} SMs: the others have nothing to do."
    return text + "Neither is its limit: look at its instructions."


def _floor(data: Roofline) -> str:
    floor = data.floor
    bound = "arithmetic" if floor.bound == "compute" else "memory"
    return (
        f"With every byte moved once it is {_short(data.best_intensity)} FLOP per byte, and {bound} is the limit: "
        f"at least {_milliseconds(floor.ms)}."
    )


def _bytes(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{theme.thousands(count / size, 1)}\u00a0{unit}"
    return theme.plural(int(count), "byte")


def _of(gflops: float, peak: float) -> str:
    """'8.7 TFLOPS of 66.9 TFLOPS'."""
    return f"{theme.speed(gflops)} of {theme.speed(peak)}"


def _times(factor: float) -> str:
    return f"{theme.thousands(factor, 1 if factor < 10 else 0)}\u00a0×"


def _short(value: float) -> str:
    """Two significant digits below 10, whole numbers above."""
    return f"{value:.2g}" if value < 10 else theme.thousands(value)


def _milliseconds(value: float) -> str:
    return f"{value:.2g}\u00a0ms" if value >= 0.1 else f"{1000 * value:.2g}\u00a0µs"


def _limits(data: Roofline) -> tuple[tuple[float, float], tuple[float, float]]:
    """((left, right), (bottom, top)) of the axes: whole decades around everything that is drawn."""
    x = [point.intensity for point in data.points]
    x += [data.best_intensity, ridge_point(data.device)]
    y = [point.gflops or attainable_gflops(data.device, point.intensity) for point in data.points]
    y += [attainable_gflops(data.device, data.best_intensity)]
    left, right = min(0.1, min(x) / 1.6), max(1000.0, max(x) * 1.6)
    return (left, right), (min(min(y) / 2, data.device.peak_fp32_gflops / 300), data.device.peak_fp32_gflops * 2.2)


def _roof(axes: Axes, data: Roofline) -> None:
    device, ridge = data.device, ridge_point(data.device)
    (left, right), (bottom, top) = _limits(data)
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(DECADES))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}")
    axes.grid(True, which="major")
    x = np.array([left, ridge, right])
    y = np.minimum(x * device.memory_gb_per_s, device.peak_fp32_gflops)
    axes.plot(x, y, color=theme.INK, linewidth=2.6, label="roof", solid_joinstyle="miter")
    axes.fill_between(x, y, device.peak_fp32_gflops, color=theme.WASTE_FILL, linewidth=0)  # above it nothing helps
    best = data.best_intensity
    axes.plot(
        [best, best], [bottom, attainable_gflops(device, best)], ":", color=theme.INK, linewidth=1.5, label="best"
    )
    axes.text(
        right / 1.08,
        device.peak_fp32_gflops * 1.1,
        f"peak {theme.speed(device.peak_fp32_gflops)}",
        ha="right",
        va="bottom",
    )
    # The slope on the page, so that the words run along the roof.
    slope = (PLOT_HEIGHT / np.log(top / bottom)) / (PLOT_WIDTH / np.log(right / left))
    at = ridge / 1.7
    words = f"memory {theme.thousands(device.memory_gb_per_s)} GB/s"
    angle = float(np.degrees(np.arctan(slope)))
    axes.text(at, at * device.memory_gb_per_s * 1.14, words, rotation=angle, rotation_mode="anchor", ha="right")
    axes.plot([best], [attainable_gflops(device, best)], "D", color=theme.INK, markersize=7, label="most")
    before = best > right / 2
    x = best / 1.07 if before else best * 1.07
    side = "right" if before else "left"
    axes.text(x, bottom * 1.25, "every byte once", rotation=90, ha=side, va="bottom", size=theme.size(theme.SMALL))
    words = {"size": theme.size(theme.SMALL), "color": theme.MUTED, "va": "top"}
    axes.text(left * 1.12, device.peak_fp32_gflops / 1.15, "here only with the help of caches", **words)
    axes.plot([ridge, ridge], [bottom, device.peak_fp32_gflops], color=theme.MUTED, linewidth=0.9, label="ridge")
    for words, factor, align in (("◂ memory limits", 1 / 1.13, "right"), ("arithmetic limits ▸", 1.13, "left")):
        label = axes.text(ridge * factor, bottom * 1.12, words, ha=align, va="bottom", weight="bold", color=theme.MUTED)
        label.set_path_effects([withStroke(linewidth=4, foreground=theme.PAPER)])  # readable across a name's line
    axes.set_xlabel(f"intensity: FLOP per byte {'fetched' if data.points else 'moved'}")
    axes.set_ylabel("TFLOPS")


def _height(data: Roofline, point: KernelPoint) -> float:
    return point.gflops if point.gflops is not None else attainable_gflops(data.device, point.intensity)


def _points(axes: Axes, data: Roofline, selected: str | None) -> None:
    for point in data.points:
        y, strong = _height(data, point), point.name == selected
        ring = {"markerfacecolor": theme.PAPER, "markeredgecolor": theme.REFERENCE, "markeredgewidth": 2.0}
        size = 11 if strong else 8
        if point.gflops is None:
            axes.plot([point.intensity], [y], "o", markersize=size, label=f"{point.name} roof", **ring)
            continue
        edge = theme.INK if strong else theme.PAPER
        axes.plot(
            [point.intensity], [y], "o", markersize=size, color=theme.SPEED, markeredgecolor=edge, label=point.name
        )


def _names(axes: Axes, plot: Axes, data: Roofline, selected: str | None) -> None:
    """The kernels' names: beside their dots, or of many kernels beside the plot, as near as the names allow."""
    if len(data.points) <= FEW:
        for point in data.points:
            height = _height(data, point)
            above = height > attainable_gflops(data.device, point.intensity)  # there the roof runs right of it
            label = plot.annotate(
                point.name,
                (point.intensity, height),
                xytext=(0, 10) if above else (10, 0),
                textcoords="offset points",
                ha="center" if above else "left",
                va="bottom" if above else "center",
                weight="bold" if point.name == selected else "normal",
            )
            label.set_path_effects([withStroke(linewidth=4, foreground=theme.PAPER)])
        return
    bottom, top = plot.get_ylim()
    right = plot.get_xlim()[1]
    scale = PLOT_HEIGHT / np.log(top / bottom)
    ordered = sorted(data.points, key=lambda point: _height(data, point))
    heights = [PLOT_Y + PLOT_HEIGHT - scale * float(np.log(_height(data, point) / bottom)) for point in ordered]
    for point in ordered:
        plot.plot([point.intensity, right], [_height(data, point)] * 2, color=theme.FAINT, linewidth=0.9, zorder=0.5)
    rays = []
    for point, y, words_y in zip(ordered, heights, _apart(heights, PLOT_Y, PLOT_Y + PLOT_HEIGHT), strict=True):
        rays.append([(PLOT_X + PLOT_WIDTH, y), (NAMES_X - 3, words_y)])
        strong = point.name == selected
        size, weight = (theme.TEXT, "bold") if strong else (theme.SMALL, "normal")
        page.text(axes, NAMES_X, words_y, _fitted(point.name, size), color=theme.INK, weight=weight, size=size)
    page.lines(axes, rays, theme.FAINT, 0.9)


def _fitted(name: str, size: float) -> str:
    """A name that ends before the picture does, in bold letters, too; a learner's kernel may have a long one."""
    shown = name
    while BOLDER * page.text_width(shown, size) > page.WIDTH - NAMES_X - 4:
        shown = f"{shown.removesuffix('…')[:-1]}…"
    return shown


def _apart(heights: Sequence[float], top: float, bottom: float) -> list[float]:
    """Places NAMES_STEP apart and between top and bottom, near the wished heights. y runs down; the first is lowest."""
    step = min(NAMES_STEP, (bottom - top) / max(1, len(heights)))
    placed: list[float] = []
    for wish in heights:
        placed.append(min(wish, placed[-1] - step) if placed else min(wish, bottom))
    ceiling = top
    for number in range(len(placed) - 1, -1, -1):  # what was pushed above the top comes down again
        placed[number] = max(placed[number], ceiling)
        ceiling = placed[number] + step
    return placed


def rooflines_figure(panels: Sequence[Roofline], title: str) -> theme.Figure:
    """Several GPUs or shapes side by side: the roof, and where the shape stands if every byte moves once."""
    if not panels:
        raise ValueError("There is no roofline to draw: give at least one Roofline.")
    parts = "; ".join(f"{_panel_name(panel)}: {_panel_words(panel)}" for panel in panels)
    measured = any(_measured(panel) for panel in panels)
    top = SMALL_Y + (24 if measured else 0)  # room for the legend
    drawn, axes = page.page(top + SMALL_HEIGHT + 52, title, f"Every byte moved once, β = 0 – {parts}.", 3)
    step = (page.WIDTH - PLOT_X) / len(panels)
    with theme.style():
        if measured:
            fastest = page.Key(theme.SPEED, "the fastest kernel of the ladder, measured")
            page.legend(axes, 46, [page.Key(theme.INK, "the most that the shape allows"), fastest])
        for number, panel in enumerate(panels):
            left = PLOT_X + number * step
            words = _panel_words(panel).removesuffix(NEITHER)  # which only the caption has room for
            page.text(axes, left, top - 36, _panel_name(panel), color=theme.INK, size=theme.TEXT, weight="bold")
            page.text(axes, left, top - 16, words, color=theme.INK)
            small = drawn.axes_in_inches(
                left / theme.CSS_DPI, top / theme.CSS_DPI, (step - 30) / theme.CSS_DPI, SMALL_HEIGHT / theme.CSS_DPI
            )
            _panel(small, panel, panels, number == 0)
    return drawn


def steps_figure(device: Device, shapes: Mapping[str, tuple[int, int, int]]) -> theme.Figure:
    """How the roof comes about: what memory alone allows, what arithmetic alone allows, and the lower of the two.

    shapes: name -> (M, N, K). Each stands in all three panels, at the intensity that it has if every byte moves once.
    """
    intensities = [compulsory(*shape).intensity for shape in shapes.values()]
    parts = [
        f"{name} {theme.speed(attainable_gflops(device, intensity))} at {_short(intensity)} FLOP per byte"
        for name, intensity in zip(shapes, intensities, strict=True)
    ]
    drawn, axes = page.page(
        SMALL_Y + SMALL_HEIGHT + 52,
        f"The roof of the {device.name}, in three steps",
        f"The lower of the two lines is the most that a multiplication can reach: {', '.join(parts)}.",
        2,
    )
    left, right = 0.2, 4 * max(intensities)
    x = np.array([left, ridge_point(device), right])
    fed, peak = x * device.memory_gb_per_s, np.full(3, device.peak_fp32_gflops)
    bottom, top = left * device.memory_gb_per_s / 2, 2 * fed[-1]
    panels = (
        ("1  What memory can feed", f"intensity · {theme.thousands(device.memory_gb_per_s)} GB/s", fed),
        ("2  What arithmetic can do", f"{theme.speed(device.peak_fp32_gflops)}, the peak", peak),
        ("3  The lower of the two", "the roof", np.minimum(fed, peak)),
    )
    first = PLOT_X + 16  # room for numbers of five digits
    step = (page.WIDTH - first) / len(panels)
    with theme.style():
        for number, (name, words, y) in enumerate(panels):
            x0 = first + number * step
            page.text(axes, x0, SMALL_Y - 36, name, color=theme.INK, size=theme.TEXT, weight="bold")
            page.text(axes, x0, SMALL_Y - 16, words, color=theme.INK)
            inches = (pixels / theme.CSS_DPI for pixels in (x0, SMALL_Y, step - 30, SMALL_HEIGHT))
            small = drawn.axes_in_inches(*inches)
            small.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top))
            _decades(small, number == 0)
            if number == len(panels) - 1:
                for line in (fed, peak):
                    small.plot(x, line, ":", color=theme.MUTED, linewidth=1.4)
                small.fill_between(x, y, peak, color=theme.WASTE_FILL, linewidth=0)
                small.plot([x[1]] * 2, [bottom, y[1]], color=theme.MUTED, linewidth=0.9, label="ridge")
                words = f"ridge {ridge_point(device):.1f}"
                small.text(x[1] * 1.15, bottom * 1.3, words, color=theme.MUTED, va="bottom")
            small.plot(x, y, color=theme.INK, linewidth=2.4, label=name[3:], solid_joinstyle="miter")
            small.plot(
                intensities,
                np.interp(intensities, x, y),
                "D",
                markersize=7,
                color=theme.SPEED,
                label=f"shapes {number}",
            )
            small.set_xlabel("FLOP per byte moved")
            if number != 1:  # where they would hide the line
                _shape_names(small, list(shapes), intensities, np.interp(intensities, x, y), x[1])
            if number == 0:
                small.set_ylabel("TFLOPS")
    return drawn


def _shape_names(axes: Axes, names: Sequence[str], x: Sequence[float], y: Sequence[float], ridge: float) -> None:
    """The shapes beside their marks, where no line passes: right of a rising line, under a flat one."""
    for name, at, height in zip(names, x, y, strict=True):
        flat = at > ridge and height < at * y[0] / x[0]
        anchor = (at, height / 2.4, "center") if flat else (at * 1.8, height / 1.3, "left")
        if at > ridge and not flat:
            anchor = (at / 1.6, height * 1.8, "right")
        axes.text(anchor[0], anchor[1], name, ha=anchor[2], va="center")


def _decades(axes: Axes, first: bool) -> None:
    """Lines and numbers at powers of ten; the numbers of the y axis, in TFLOPS, at the first panel of a row only."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator(DECADES))
        axis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}" if first else "")
    axes.grid(True)


def _measured(panel: Roofline) -> list[float]:
    """GFLOPS of the kernels that were timed."""
    return [point.gflops for point in panel.points if point.gflops is not None]


def _panel_name(panel: Roofline) -> str:
    M, N, K = panel.shape
    return f"{M}³" if M == N == K else f"{M}×{N}×{K}"


def _panel_words(panel: Roofline) -> str:
    """'0.5 FLOP/B, memory limits'; with measured kernels, how much of the roof the fastest of them reaches, and its
    name."""
    intensity = f"{_short(panel.best_intensity)} FLOP/B"
    measured = _measured(panel)
    if not measured:
        return f"{intensity}, {'arithmetic' if panel.floor.bound == 'compute' else 'memory'} limits"
    fastest = max((point for point in panel.points if point.gflops), key=lambda point: point.gflops)
    share = max(measured) / attainable_gflops(panel.device, panel.best_intensity)
    roof = "the peak" if panel.floor.bound == "compute" else "its roof"
    return f"{intensity}, {share:.0%} of {roof} ({fastest.name})" + (NEITHER if share < FAR else "")


def _panel(axes: Axes, panel: Roofline, panels: Sequence[Roofline], first: bool) -> None:
    device = panel.device
    intensities = [panel.best_intensity for panel in panels]
    left, right = min(0.3, min(intensities) / 2), max(3000.0, 2 * max(intensities))
    slowest = min((gflops for panel in panels for gflops in _measured(panel)), default=float("inf"))
    bottom, top = min(left * device.memory_gb_per_s, slowest / 2), device.peak_fp32_gflops * 2
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top))
    _decades(axes, first)
    x = np.array([left, ridge_point(device), right])
    axes.plot(
        x, np.minimum(x * device.memory_gb_per_s, device.peak_fp32_gflops), color=theme.INK, linewidth=2.2, label="roof"
    )
    y = attainable_gflops(device, panel.best_intensity)
    axes.plot([panel.best_intensity] * 2, [bottom, y], ":", color=theme.INK, linewidth=1.4)
    axes.plot([panel.best_intensity], [y], "D", markersize=8, color=theme.INK, label="most")
    for gflops in _measured(panel):
        axes.plot([panel.best_intensity], [gflops], "o", markersize=9, color=theme.SPEED, label="measured")
    axes.set_xlabel("FLOP for each byte")
    if first:
        axes.set_ylabel("TFLOPS")
