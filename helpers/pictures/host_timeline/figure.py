"""What happens between the launches? The host and the GPU's streams as rows, each span where it was in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from helpers.pictures import marks, page, theme
from helpers.pictures.host_timeline.facts import HOST, Recorded

COLOURS: Mapping[str, tuple[str, str]] = {
    "allocate": ("#AFAFAF", "allocate and free"),
    "call": ("#A9B4C2", "the host's call"),
    "copy in": (theme.REFERENCE, "copy to the GPU"),
    "kernel": (theme.SPEED, "the kernel"),
    "copy out": (theme.WARP, "copy back"),
}
SAME = {"free": "allocate"}
LEFT, RIGHT, TOP, ROW, HEAD, AXIS = 120.0, page.WIDTH - 30.0, 82.0, 26.0, 24.0, 40.0


def timelines_figure(timelines: Sequence[Recorded], title: str, caption: str) -> theme.Figure:
    """One panel below the other, each with its own axis of time. caption: the sentence below, with its number."""
    rows = [list(dict.fromkeys(span.row for span in timeline.spans)) for timeline in timelines]
    height = TOP + sum(HEAD + ROW * len(row) + AXIS for row in rows)
    drawn, axes = page.page(height, title, caption, 2)
    with theme.style():
        keys = [page.Key(colour, words) for colour, words in COLOURS.values()]
        page.legend(axes, 48, [*keys, page.Key(theme.WASTE, "the host waits", hatched=True)])
        top = TOP
        for timeline, names in zip(timelines, rows, strict=True):
            _panel(axes, timeline, names, top)
            top += HEAD + ROW * len(names) + AXIS
    return drawn


def _panel(axes: Axes, recorded: Recorded, names: Sequence[str], top: float) -> None:
    scale = (RIGHT - LEFT) / recorded.length
    page.text(
        axes,
        page.MARGIN,
        top,
        f"{recorded.name}: {recorded.length:.1f} ms",
        size=theme.TEXT,
        color=theme.INK,
        weight="bold",
    )
    first = top + HEAD - 6
    for number, name in enumerate(names):
        y = first + number * ROW
        page.text(axes, page.MARGIN, y + ROW / 2 - 2, name, color=theme.INK)
        page.lines(axes, [[(LEFT, y + ROW - 2), (RIGHT, y + ROW - 2)]], theme.FAINT, 0.8)
        for span in (span for span in recorded.spans if span.row == name):
            box = page.boxes(LEFT + span.start * scale, y, max((span.end - span.start) * scale, 1.0), ROW - 5)
            kind = SAME.get(span.kind, span.kind)
            if kind == "wait":
                page.hatch(axes, box, label="wait")
            else:
                page.fill(axes, box, COLOURS[kind][0], edge=theme.PAPER, line=0.4, label=f"{name} {kind}")
            words = span.kind if name != HOST else f"the host: {span.kind}"
            marks.tell(axes, box, [f"{words}, {span.end - span.start:.2f} ms"])
    bottom = first + ROW * len(names)
    step = next(step for step in (1, 2, 5, 10, 20) if recorded.length / step <= 8)
    for tick in range(0, int(recorded.length) + 1, step):
        page.text(axes, LEFT + tick * scale, bottom + 9, tick, ha="center")
    page.text(axes, page.MARGIN, bottom + 9, "milliseconds", color=theme.INK)
