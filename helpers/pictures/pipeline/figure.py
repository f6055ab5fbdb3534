"""Picture 9: who waits for whom?

Time runs to the right, in cycles of the pipeline model. Each warp has two bars: above, tiles on their way from
memory, tiles of A and of B; below, what the scheduler issues for the warp. The last bar is the scheduler itself,
hatched where no warp could go on. The axis ends where the single buffer would be done: time saved is room at the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.pipeline.model import Flight, Pipeline, Span, Steady, Timeline, steady_state, timeline

ARTICLES = {1: "a single buffer", 2: "a double buffer", 3: "3 stages", 4: "4 stages"}
NAMES = {1: "single buffer", 2: "double buffer", 3: "3 stages", 4: "4 stages"}
MORE_WARPS = 8  # what a single warp is compared with
MULTIPLY = (theme.C, "#00694C")  # of even and odd tiles
MOVE = theme.SPEED  # instructions that copy and store
MOST_WARPS = 8

# CSS pixels
LEFT, RIGHT = 126.0, page.WIDTH - page.MARGIN
BARS_NAMED_FROM = 90.0  # pixels of a warp, so that its name and those of its two bars fit above each other
WARPS_TOP, WARPS_HEIGHT = 68.0, 232.0
SCHEDULER_TOP, SCHEDULER = WARPS_TOP + WARPS_HEIGHT + 8, 28.0
AXIS_Y = SCHEDULER_TOP + SCHEDULER + 4
BARS_TOP, BAR = AXIS_Y + 66, 24.0
BARS_X, BARS_WIDTH = 190.0, 440.0
HEIGHT = BARS_TOP + len(NAMES) * BAR + 6
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
TWIN_TOP, TWIN_ROW = 74.0, 86.0
LETTER = 12.0
NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class Comparison:
    """A pipeline beside the other numbers of stages with the same work.

    shown: what the chosen pipeline did.  single: what a single buffer did.  steady: by stages, what the loop settles
    to.  crowd: the single buffer with MORE_WARPS warps.
    """

    shown: Timeline
    single: Timeline
    steady: dict[int, Steady]
    crowd: Steady


def comparison(pipeline: Pipeline) -> Comparison:
    """The chosen pipeline by the model, and what it is compared with."""
    single = replace(pipeline, stages=1)
    return Comparison(
        timeline(pipeline),
        timeline(single),
        {stages: steady_state(replace(pipeline, stages=stages)) for stages in NAMES},
        steady_state(replace(single, warps=MORE_WARPS)),
    )


def pipeline_figure(data: Comparison, name: str = "") -> theme.Figure:
    """The timeline of the chosen pipeline, and the idle cycles of every number of stages.

    name: whose work it is, for the title.
    """
    pipeline = data.shown.pipeline
    if pipeline.warps > MOST_WARPS or pipeline.stages not in NAMES:
        raise ValueError(f"At most {MOST_WARPS} warps and {max(NAMES)} stages can be drawn, not {pipeline}.")
    title = f"Model: {NAMES[pipeline.stages]}, {theme.plural(pipeline.warps, 'warp')}"
    title += f", latency {theme.thousands(pipeline.latency)} cycles" + (f", work of {name}" if name else "")
    drawn, axes = page.page(HEIGHT, title, caption(data), CAPTION_LINES)
    with theme.style():
        _legend(axes)
        scale = (RIGHT - LEFT) / max(data.single.end, data.shown.end)
        height = WARPS_HEIGHT / pipeline.warps
        for warp in range(pipeline.warps):
            label = f"warp {warp}" if height >= 20 else str(warp)
            page.text(axes, LEFT - 10, WARPS_TOP + (warp + 0.5) * height, label, ha="right", color=theme.INK)
            _warp(axes, data.shown, warp, WARPS_TOP + warp * height, height, scale)
        _scheduler(axes, data.shown, SCHEDULER_TOP, scale)
        _axis(axes, data, scale)
        _bars(axes, data)
    return drawn


def caption(data: Comparison) -> str:
    """'Model, not measured: 1 warp with a double buffer hides 300 of 400 cycles of latency; …'"""
    pipeline = data.shown.pipeline
    steady, warps = data.steady[pipeline.stages], pipeline.warps
    they, hide = ("it", "hides") if warps == 1 else ("they", "hide")
    text = f"Model, not measured: {theme.plural(warps, 'warp')} with {ARTICLES[pipeline.stages]} {hide} "
    text += f"{theme.number(steady.hidden)} of {theme.plural(pipeline.latency, 'cycle')} of latency; "
    if pipeline.stages == 1:
        return f"{text}with {ARTICLES[2]} {they} would hide {theme.number(data.steady[2].hidden)}."
    if warps > 1:
        return f"{text}with {ARTICLES[1]} {they} hide {theme.number(data.steady[1].hidden)} already."
    return f"{text}{MORE_WARPS} warps with {ARTICLES[1]} hide {theme.number(data.crowd.hidden)} already."


def _legend(axes: Axes, y: float = 46) -> None:
    keys = [page.Key(theme.A, "tile n of A on its way"), page.Key(theme.B, "of B"), page.Key(MOVE, "copy, store")]
    keys.append(page.Key(theme.C, "multiply tile n"))
    page.legend(axes, y, [*keys, page.Key(theme.WASTE, "idle: every warp waits", hatched=True)])


def _warp(axes: Axes, shown: Timeline, warp: int, top: float, height: float, scale: float) -> None:
    """A warp's tiles in flight, and below them what is issued for it."""
    page.lines(axes, [[(LEFT, top), (RIGHT, top)]], theme.FAINT, 0.8)
    flights = [flight for flight in shown.flights if flight.warp == warp]
    lanes = max(1, shown.pipeline.stages - 1)
    each = 0.5 * height / lanes
    _flights(axes, flights, top + 2, each, lanes, scale)
    spans = [span for span in shown.spans if span.warp == warp]
    _spans(axes, spans, top + 0.54 * height, 0.42 * height, scale)
    if height >= BARS_NAMED_FROM:
        for words, middle in (("on its way", 0.25), ("issues", 0.75)):
            page.text(axes, LEFT - 8, top + middle * height, words, ha="right")


def _flights(axes: Axes, flights: Sequence[Flight], top: float, each: float, lanes: int, scale: float) -> None:
    """A bar for each tile on its way: A above, B below."""
    starts = LEFT + scale * np.array([flight.start for flight in flights])
    widths = scale * np.array([flight.stop - flight.start for flight in flights])
    tops = top + each * np.array([flight.block % lanes for flight in flights])
    half = max(1.0, 0.5 * (each - 2))
    page.fill(axes, page.boxes(starts, tops, widths, half), theme.A, label="flights")
    page.fill(axes, page.boxes(starts, tops + half, widths, half), theme.B)
    if each >= 13:
        wide = widths > 30
        names = [str(flight.block) for flight, fits in zip(flights, wide, strict=True) if fits]
        x = (starts + widths / 2)[wide]
        y = (tops + half)[wide]
        page.fill(axes, page.boxes(x - 8, y - 7, 16, 14), theme.PAPER)
        page.labels(axes, names, x, y, LETTER, theme.INK)


def _spans(axes: Axes, spans: Sequence[Span], top: float, height: float, scale: float) -> None:
    """What the scheduler issues: copies and stores dark, products green with the tile's number."""
    if not spans:
        return
    starts = LEFT + scale * np.array([span.start for span in spans])
    widths = scale * np.array([span.stop - span.start for span in spans])
    multiplies = np.array([span.part == "multiply" for span in spans])
    page.fill(axes, page.boxes(starts, top, widths, height)[~multiplies], MOVE, label="moves")
    colours = [MULTIPLY[span.block % 2] for span in spans if span.part == "multiply"]
    page.fill(axes, page.boxes(starts, top, widths, height)[multiplies], colours, label="multiplies")
    if height >= 9:
        wide = multiplies & (widths > 12)
        names = [str(span.block) for span, fits in zip(spans, wide, strict=True) if fits]
        size = min(LETTER, 0.9 * height)
        page.labels(axes, names, (starts + widths / 2)[wide], top + height / 2, size, theme.PAPER, label="tiles")


def _scheduler(axes: Axes, shown: Timeline, top: float, scale: float) -> None:
    """The union of all warps, idle cycles hatched, with their number where there is room."""
    page.text(axes, LEFT - 10, top + SCHEDULER / 2, "scheduler", ha="right", color=theme.INK, weight="bold")
    _spans(axes, shown.spans, top, SCHEDULER, scale)
    gaps = np.array(shown.idle, float).reshape(-1, 2)
    starts, widths = LEFT + scale * gaps[:, 0], scale * (gaps[:, 1] - gaps[:, 0])
    page.hatch(axes, page.boxes(starts, top, widths, SCHEDULER) if len(gaps) else np.zeros((0, 4, 2)), label="idle")
    for (start, stop), left, width in zip(gaps, starts, widths, strict=True):
        words = theme.thousands(stop - start)
        if page.text_width(words) + 6 < width:
            x, half = left + width / 2, page.text_width(words) / 2 + 3
            page.fill(axes, page.boxes(x - half, top + 6, 2 * half, SCHEDULER - 12), theme.WASTE_FILL)
            page.text(axes, x, top + SCHEDULER / 2, words, ha="center", color=theme.INK)


def _axis(axes: Axes, data: Comparison, scale: float) -> None:
    """The cycles, where the chosen pipeline is done, and where the single buffer is."""
    _cycles(axes, AXIS_Y, max(data.single.end, data.shown.end), scale)
    _done(axes, data.shown.end, scale, theme.WARP, f"done after {theme.plural(data.shown.end, 'cycle')}")
    if data.single.end > data.shown.end:
        saved = 100 * (1 - data.shown.end / data.single.end)
        y = SCHEDULER_TOP + SCHEDULER / 2
        x = LEFT + scale * data.shown.end
        words = f"{theme.thousands(saved)}\u202f% sooner than\na single buffer"
        if RIGHT - x > page.text_width("a single buffer") + 16:
            page.text(axes, x + 10, y, words, color=theme.WARP, weight="bold")


def _cycles(axes: Axes, y: float, longest: float, scale: float) -> None:
    """The axis of time."""
    ticks = np.arange(0, longest + 1, _round_step(longest / 8))
    page.lines(axes, [[(LEFT, y), (RIGHT, y)]], theme.MUTED, 1.0)
    page.lines(axes, [[(LEFT + scale * tick, y), (LEFT + scale * tick, y + 5)] for tick in ticks], theme.MUTED, 1.0)
    for tick in ticks:
        page.text(axes, LEFT + scale * tick, y + 14, theme.thousands(tick), ha="center")
    page.text(axes, LEFT - 10, y + 14, "cycles", ha="right")


def _done(axes: Axes, cycle: int, scale: float, colour: str, words: str) -> None:
    x = LEFT + scale * cycle
    page.lines(axes, [[(x, WARPS_TOP), (x, AXIS_Y)]], colour, 1.6, label="done")
    page.text(axes, x, AXIS_Y + 32, words, ha="right", color=colour, weight="bold")


def _round_step(least: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10 ** np.floor(np.log10(max(least, 1)))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)


def _bars(axes: Axes, data: Comparison) -> None:
    """For each number of stages the cycles of a tile of every warp: issued, and idle."""
    warps = data.shown.pipeline.warps
    whose = "a tile" if warps == 1 else f"a tile of each of the {warps} warps"
    page.text(axes, page.MARGIN, BARS_TOP - 12, f"cycles for {whose}, in the middle of a long loop")
    longest = max(steady.cycles for steady in data.steady.values())
    for number, (stages, steady) in enumerate(data.steady.items()):
        middle = BARS_TOP + (number + 0.5) * BAR
        here = stages == data.shown.pipeline.stages
        weight = "bold" if here else "normal"
        if here:
            mark = [(page.MARGIN, middle - 6), (page.MARGIN + 10, middle), (page.MARGIN, middle + 6)]
            page.fill(axes, np.array([mark]), theme.WARP, label="selected")
        page.text(axes, 34, middle, NAMES[stages], size=theme.TEXT, color=theme.INK, weight=weight)
        busy = BARS_WIDTH * (steady.cycles - steady.idle) / longest
        idle = BARS_WIDTH * steady.idle / longest
        page.fill(axes, page.boxes(BARS_X, middle - 8, busy, 16), theme.C, label="busy a block")
        page.hatch(axes, page.boxes(BARS_X + busy, middle - 8, idle, 16), label="idle a block")
        words = f"{theme.number(steady.cycles)}, {theme.number(steady.idle)} of them idle"
        page.text(axes, BARS_X + busy + idle + 8, middle, words, size=theme.TEXT, color=theme.INK, weight=weight)


def pipelines_figure(timelines: Sequence[Timeline], title: str) -> theme.Figure:
    """Several pipelines one above the other, on one axis of time; warp 0's tiles in flight, and the scheduler."""
    if not timelines:
        raise ValueError("There is no pipeline to draw: give at least one Timeline.")
    longest = max(shown.end / shown.pipeline.warps for shown in timelines)
    idle = [f"{_name(shown.pipeline)} {theme.number(steady_state(shown.pipeline).idle)}" for shown in timelines]
    caption = (
        f"Model, not measured. Idle cycles for a tile: {', '.join(stages.replace(' ', NO_BREAK) for stages in idle)}."
    )
    end = TWIN_TOP + TWIN_ROW * len(timelines)
    drawn, axes = page.page(end + 26, title, caption, 2)
    scale = (RIGHT - LEFT - 24) / longest
    with theme.style():
        _legend(axes)
        for number, shown in enumerate(timelines):
            top = TWIN_TOP + number * TWIN_ROW
            warps = shown.pipeline.warps
            page.text(axes, page.MARGIN, top + 22, NAMES[shown.pipeline.stages], color=theme.INK, weight="bold")
            page.text(axes, page.MARGIN, top + 40, theme.plural(warps, "warp"), color=theme.INK)
            page.text(axes, page.MARGIN, top + 56, theme.plural(shown.end, "cycle"))
            lanes = max(1, shown.pipeline.stages - 1)
            flights = [flight for flight in shown.flights if flight.warp == 0]
            _flights(axes, flights, top + 2, 34 / lanes, lanes, scale)
            _scheduler_strip(axes, shown, top + 40, scale)
        _cycles(axes, end, longest, scale)
    return drawn


def _scheduler_strip(axes: Axes, shown: Timeline, top: float, scale: float) -> None:
    _spans(axes, shown.spans, top, SCHEDULER, scale)
    gaps = np.array(shown.idle, float).reshape(-1, 2)
    if len(gaps):
        boxes = page.boxes(LEFT + scale * gaps[:, 0], top, scale * (gaps[:, 1] - gaps[:, 0]), SCHEDULER)
        page.hatch(axes, boxes, label="idle")


def _name(pipeline: Pipeline) -> str:
    warps = "" if pipeline.warps == 1 else f" with {theme.plural(pipeline.warps, 'warp')}"
    return f"{NAMES[pipeline.stages]}{warps}"
