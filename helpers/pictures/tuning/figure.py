"""Picture 11: where are the good configurations?

On the left a map of two parameters: each cell is the best that any choice of the others gives, grey hatched where the
kernel's rules allow none. On the right every legal configuration as a dot in the colour of what limits it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patheffects import withStroke

from helpers.pictures import page, theme
from helpers.pictures.tuning.facts import MEASURES, PREDICTED_SIZE, Configuration, Landscape, Measure

LIMITERS = {  # colour of what stops the next block
    "registers": theme.WARP,
    "shared": theme.REFERENCE,
    "warps": theme.C,
    "blocks": theme.B,
    "spills": theme.TROUBLE,
    "nothing fits": theme.WASTE,
}
WORDS = {"shared": "shared memory", "blocks": "block slots", "spills": "spills", "nothing fits": "too large"}

# CSS pixels
MAP_X, MAP_Y, MAP_WIDTH, MAP_HEIGHT = 86.0, 88.0, 380.0, 300.0
DOTS_X, DOTS_WIDTH = 560.0, 310.0
NOTE_Y = MAP_Y + MAP_HEIGHT + 52
HEIGHT = NOTE_Y + 50
CAPTION_LINES = 3
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
TWIN_TOP, TWIN_SIZE, TWIN_STEP, SIDE_BY_SIDE = 100.0, 210.0, 292.0, 3
UNKNOWN = "#DCE9DF"  # a legal cell without a value; no grey, for grey is what the rules forbid
BEST = "#9FABB9"  # no darker, so that ink can be read on it, on a dark page too
_RAMP = LinearSegmentedColormap.from_list("landscape", ["#EDF0F3", BEST])


def landscape_figure(data: Landscape, across: str, down: str, measure: Measure) -> theme.Figure:
    """The map of two parameters and the dots of all configurations."""
    if across == down:
        raise ValueError(f"The map has two axes; {across} cannot be both. Choose another parameter for one of them.")
    name, unit, *_ = MEASURES[measure]
    kind = _kind(measure)
    title = f"{data.kernel} on the {data.device}: {name}, {kind}"
    if measure == "gflops" and data.size:
        title = f"{data.kernel}, M = N = K = {data.size}: {name}, {kind}"
    elif measure == "speed":
        title = f"{data.kernel} on the {data.device}: {name} at {theme.thousands(PREDICTED_SIZE)}³, {kind}"
    drawn, axes = page.page(HEIGHT, title, caption(data, measure), CAPTION_LINES)
    with theme.style():
        page.text(axes, MAP_X, 60, f"best {unit} of each cell", color=theme.INK)
        _map(axes, data, across, down, measure, MAP_X, MAP_Y, MAP_WIDTH, MAP_HEIGHT, 14.0)
        _axis_names(axes, data, across, down, MAP_X, MAP_Y, MAP_WIDTH, MAP_HEIGHT)
        dots = drawn.axes_in_inches(DOTS_X / 100, (MAP_Y - 2) / 100, DOTS_WIDTH / 100, (MAP_HEIGHT - 16) / 100)
        _dots(axes, dots, data, measure)
        keys = [page.Key(theme.WASTE, "no configuration obeys the rules", hatched=True)]
        keys.append(page.Key(UNKNOWN, "not measured") if measure == "gflops" else page.Key(BEST, "better"))
        page.legend(axes, NOTE_Y + 10, keys)
        if measure != "gflops":  # a search looks elsewhere than the space whose rules are counted
            page.text(axes, page.MARGIN, NOTE_Y + 34, _broken(data), color=theme.INK)
    return drawn


def _kind(measure: Measure) -> str:
    """Where the numbers come from, in two words; the caption says on which GPU, and how."""
    return "predicted" if MEASURES[measure][3] else "recorded by the search"


def caption(data: Landscape, measure: Measure) -> str:
    """'646 configurations were measured; the best is 2.1 times the first guess: BM 128, …'

    What was measured is no share of what is legal: a search drops most of that unmeasured, and may try more parameters.
    """
    best = data.best(measure)
    text = f"{theme.thousands(len(data.legal))} of {theme.thousands(len(data.configurations))} configurations are legal"
    if best is None:
        return f"{text}; none of them was measured on the {data.device}."
    value, guess = best.value(measure), _first(data)
    first = guess.value(measure) if guess else None
    params = ", ".join(f"{name}\u00a0{best.params[name]}" for name in data.free)
    if measure == "gflops":
        compared = ""
        if best is guess:
            compared = ", and is the first guess"
        elif first and value:
            times = theme.number(value / first, 2)
            compared = ", as fast as the first guess" if times == "1" else f", {times} times the first guess"
        measured = sum(configuration.gflops is not None for configuration in data.legal)
        text = f"{theme.plural(measured, 'configuration')} {'was' if measured == 1 else 'were'} measured"
        return f"{text}; the best reaches {_number(value)} GFLOPS{compared} ({data.source}): {params}."
    limits = Counter(configuration.predicted.limiter for configuration in data.legal if configuration.predicted)
    limiter, count = limits.most_common(1)[0]
    share = 100 * count / len(data.legal)
    unit = MEASURES[measure][1]
    text += f"; {theme.thousands(share)}\u202f% of those are limited by {WORDS.get(limiter, limiter)}. "
    return f"{text}Predicted, not measured: the best has {_number(value)} {unit}, with {params}."


def _broken(data: Landscape) -> str:
    """The rule that forbids most configurations, as its sentence stands in the kernel."""
    counts = Counter(configuration.broken for configuration in data.configurations if configuration.broken)
    if not counts:
        return "Every configuration obeys the rules."
    rule, count = counts.most_common(1)[0]
    return f"Forbids most, {theme.thousands(count)}: “{rule}”"


def _first(data: Landscape) -> Configuration | None:
    """The configuration that the search begins with, if it is among them."""
    for configuration in data.legal:
        if all(value == data.first.get(name) for name, value in configuration.params.items()):
            return configuration
    return None


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    digits = 0 if value >= 100 else 1 if value >= 1 else 3
    text = theme.thousands(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _map(
    axes: Axes, data: Landscape, across: str, down: str, measure: Measure,
    left: float, top: float, width: float, height: float, size: float,
) -> None:  # fmt: skip
    """A cell for each pair of values: coloured by its best, hatched where nothing is legal, the best one framed."""
    grid = data.grid(across, down, measure)
    rows, columns = grid.shape
    cell = width / columns, height / rows
    row, col = np.indices(grid.shape)
    boxes = page.boxes(left + col.ravel() * cell[0], top + row.ravel() * cell[1], *cell)
    known = ~np.isnan(grid.ravel())
    allowed = data.allowed(across, down).ravel()
    page.hatch(axes, boxes[~allowed], label="forbidden")
    page.fill(axes, boxes[allowed & ~known], UNKNOWN, edge=theme.PAPER, line=1.0, label="not measured")
    if not known.any():
        return
    low, high = np.nanmin(grid), np.nanmax(grid)
    share = (grid.ravel()[known] - low) / (high - low if high > low else 1.0)
    share = 1 - share if MEASURES[measure][2] else share
    colours = _RAMP(share if high > low else np.ones_like(share))
    page.fill(axes, boxes[known], colours, edge=theme.PAPER, line=1.0, label="cells")
    names = np.array([_number(value) for value in grid.ravel()[known]])
    x, y = left + (col.ravel()[known] + 0.5) * cell[0], top + (row.ravel()[known] + 0.5) * cell[1]
    page.labels(axes, list(names), x, y, size, theme.INK, label="values")
    best = data.best(measure)
    if best is not None:
        where = data.values(down).index(best.params[down]) * columns + data.values(across).index(best.params[across])
        page.outline(axes, boxes[[where]], theme.INK, 2.4, label="best cell")


def _axis_names(
    axes: Axes, data: Landscape, across: str, down: str, left: float, top: float, width: float, height: float
) -> None:
    xs, ys = data.values(across), data.values(down)
    size = theme.SMALL * page.PIXELS_A_POINT
    x, y = left + (np.arange(len(xs)) + 0.5) * width / len(xs), top + (np.arange(len(ys)) + 0.5) * height / len(ys)
    page.labels(axes, list(map(str, xs)), x, top + height + 14, size, theme.INK, label=f"values of {across}")
    page.labels(axes, list(map(str, ys)), left - 10, y, size, theme.INK, align="right", label=f"values of {down}")
    page.text(axes, left + width / 2, top + height + 36, across, ha="center", size=theme.TEXT, color=theme.INK)
    page.text(axes, left - 62, top + height / 2, down, ha="center", size=theme.TEXT, color=theme.INK, rotation=90)


def _dots(axes: Axes, dots: Axes, data: Landscape, measure: Measure) -> None:
    """Every legal configuration: intensity to the right, the measure up, the limiter as the colour."""
    name, unit, _, predicted = MEASURES[measure]
    up = "occupancy" if measure == "intensity" else measure
    shown = [(configuration, configuration.value(up)) for configuration in data.legal]
    shown = [(configuration, value) for configuration, value in shown if value is not None and configuration.predicted]
    limited: dict[str, list[tuple[float, float]]] = {}
    for configuration, value in shown:
        limited.setdefault(configuration.predicted.limiter, []).append((configuration.predicted.intensity, value))
    limiters = [name for name in LIMITERS if name in limited]
    for limiter in limiters:
        points = limited[limiter]
        x, y = np.array(points, float).T
        spread = np.random.default_rng(len(points)).uniform(0.97, 1.03, len(points))  # equal ones side by side
        dots.plot(
            x * spread, y, "o", color=LIMITERS[limiter], markersize=5, alpha=0.6, markeredgewidth=0, label=limiter
        )
    for name, configuration in (("first guess", _first(data)), ("best", data.best(up))):
        if configuration is not None and configuration.predicted and configuration.value(up) is not None:
            x, y = configuration.predicted.intensity, configuration.value(up)
            dots.plot(
                [x], [y], "o", markerfacecolor="none", color=theme.INK, markersize=11, markeredgewidth=1.6, label=name
            )
            offset, va = ((-9, 0), "center") if name == "best" else ((-7, 6), "bottom")  # clear of the dots beside it
            label = "chosen by hand" if name != "best" else "best" if up == measure else "most warps"
            words = dots.annotate(label, (x, y), offset, textcoords="offset points", ha="right", va=va, weight="bold")
            words.set_path_effects([withStroke(linewidth=3, foreground=theme.PAPER)])
    dots.set_xscale("log", base=2)
    dots.yaxis.set_major_formatter(lambda value, _: _number(value) if value else "0")
    ticks = [2.0**exponent for exponent in range(1, 8)]
    dots.set_xticks(ticks, [_number(tick) for tick in ticks])
    dots.set_xlim(
        *_wide([configuration.predicted.intensity for configuration in data.legal if configuration.predicted])
    )
    dots.minorticks_off()
    dots.set_xlabel("FLOP per byte, predicted")
    dots.set_ylim(bottom=0)
    dots.grid(True, axis="y")
    page.text(axes, DOTS_X - 30, 60, f"{MEASURES[up][1]}, {_kind(up)}", color=theme.INK)
    _limiter_keys(axes, limiters)


def _wide(values: Sequence[float]) -> tuple[float, float]:
    """The limits of a logarithmic axis with some room on both sides."""
    return min(values, default=8.0) / 1.2, max(values, default=64.0) * 1.2


def _limiter_keys(axes: Axes, limiters: Sequence[str]) -> None:
    keys = [page.Key(LIMITERS[name], WORDS.get(name, name)) for name in limiters]
    page.text(axes, 470, NOTE_Y + 10, "limited by", color=theme.INK)
    page.legend(axes, NOTE_Y + 10, keys, x=max(548, 470 + page.text_width("limited by") + 10))


def landscapes_figure(data: Landscape, pairs: Sequence[tuple[str, str]], measure: Measure, title: str) -> theme.Figure:
    """Maps of several pairs of parameters (across, down) side by side."""
    if not 1 <= len(pairs) <= SIDE_BY_SIDE:
        raise ValueError(f"Between 1 and {SIDE_BY_SIDE} maps fit side by side, but {len(pairs)} were given.")
    drawn, axes = page.page(TWIN_TOP + TWIN_SIZE + 50, title, caption(data, measure), CAPTION_LINES)
    with theme.style():
        keys = [page.Key(theme.SPEED, f"better: {MEASURES[measure][1]}, {_kind(measure)}")]
        if measure == "gflops":
            keys.append(page.Key(UNKNOWN, "not measured"))
        page.legend(axes, 48, [*keys, page.Key(theme.WASTE, "no configuration obeys the rules", hatched=True)])
        for number, (across, down) in enumerate(pairs):
            left = page.MARGIN + 64 + number * TWIN_STEP
            _map(axes, data, across, down, measure, left, TWIN_TOP - 16, TWIN_SIZE, TWIN_SIZE, 11.0)
            _axis_names(axes, data, across, down, left, TWIN_TOP - 16, TWIN_SIZE, TWIN_SIZE)
    return drawn
