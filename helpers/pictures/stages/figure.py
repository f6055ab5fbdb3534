"""Who waits for whom, on a GPU and by the model: the stages of some iterations, a bar for each warp of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from helpers.pictures import marks, page, theme
from helpers.pictures.stages.facts import Stages

COLOURS: Mapping[str, str] = {
    "load": theme.SPEED,
    "copy": theme.SPEED,
    "multiply": theme.C,
    "store": theme.WARP,
    "wait": theme.REFERENCE,
    "barrier": theme.TROUBLE,
}
WORDS: Mapping[str, str] = {
    "load": "issue the loads of a tile",
    "copy": "issue the copies of a tile",
    "multiply": "read shared memory and multiply",
    "store": "wait for the loads, then store the tile",
    "wait": "wait for the copies",
    "barrier": "wait at the barrier",
}

# CSS pixels
KEY_TOP, KEY_ROW, ROW, BAR, HEAD, GAP, BELOW = 48.0, 22.0, 15.0, 11.0, 24.0, 14.0, 38.0
LEFT, RIGHT = 70.0, page.WIDTH - 40.0


def stages_figure(panels: Sequence[Stages], title: str, caption: str) -> theme.Figure:
    """One group of bars for each of `panels`, on one axis of cycles. caption: the sentence below, with its numbers.

    Raises ValueError without anything to draw.
    """
    if not panels:
        raise ValueError("There are no stages to draw: give at least one Stages.")
    longest = max(float(panel.begins.max()) for panel in panels)
    names = [name for name in COLOURS if any(name in panel.names for panel in panels)]
    keys = [page.Key(COLOURS[name], WORDS[name]) for name in names]
    half = -(-len(keys) // 2)
    top = KEY_TOP + 2 * KEY_ROW + 12
    height = top + sum(HEAD + GAP + ROW * len(panel.begins) for panel in panels) + BELOW
    drawn, axes = page.page(height, title, caption, 2)
    scale = (RIGHT - LEFT) / longest
    with theme.style():
        for number, row in enumerate((keys[:half], keys[half:])):
            page.legend(axes, KEY_TOP + KEY_ROW * number, row)
        y = top
        for panel in panels:
            words = f"{panel.kernel}, {panel.label}: {theme.thousands(panel.cycles)} cycles per iteration"
            page.text(axes, page.MARGIN, y + 10, words, color=theme.INK)
            y = _bars(axes, panel, y + HEAD, scale) + GAP
        page.lines(axes, [[(LEFT, y), (RIGHT, y)]], theme.INK, 1)
        step = next(size for size in (500, 1000, 2000, 5000, 10**9) if longest / size <= 8)
        for cycle in range(0, int(longest) + 1, step):
            x = LEFT + cycle * scale
            page.lines(axes, [[(x, y), (x, y + 5)]], theme.INK, 1)
            page.text(axes, x, y + 14, theme.thousands(cycle), ha="center", color=theme.INK)
        page.text(axes, RIGHT, y + 28, "cycles of the SM", ha="right", color=theme.INK)
    return drawn


def _bars(axes: Axes, stages: Stages, y: float, scale: float) -> float:
    for warp, begins in enumerate(stages.begins):
        page.text(axes, page.MARGIN, y + BAR / 2, f"warp {warp}", color=theme.INK)
        for number, (start, end) in enumerate(zip(begins[:-1], begins[1:], strict=True)):
            name = stages.names[number % len(stages.names)]
            box = page.boxes(LEFT + start * scale, y, max((end - start) * scale, 0.5), BAR)
            page.fill(axes, box, COLOURS[name], label=name)
            words = (
                f"warp {warp}: {WORDS[name]}, {theme.thousands(end - start)} cycles from {theme.thousands(start)} on"
            )
            marks.tell(axes, box, [f"{stages.kernel}, {stages.label}, {words}"])
        y += ROW
    return y
