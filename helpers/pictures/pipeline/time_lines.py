"""Loading and multiplying a few tiles by hand: a line of time for each, a panel for each number of buffers."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.pipeline.model import ByHand

# CSS pixels
LEFT, RIGHT, TOP = 118.0, page.WIDTH - 110.0, 84.0
ROW, BAR, HEAD, GAP = 34.0, 26.0, 24.0, 34.0
LETTER = 13.5


def time_lines_figure(panels: Sequence[ByHand], title: str) -> theme.Figure:
    """One panel below the other, on one axis of time. Raises ValueError without a panel."""
    if not panels:
        raise ValueError("There is nothing to draw: give at least one ByHand.")
    each = HEAD + 2 * ROW + GAP
    drawn, axes = page.page(TOP + each * len(panels) + 10, title, caption(panels), 2)
    scale = (RIGHT - LEFT) / max(panel.end for panel in panels)
    with theme.style():
        keys = [page.Key(theme.SPEED, "tile n on its way"), page.Key(theme.C, "tile n multiplied")]
        page.legend(axes, 46, [*keys, page.Key(theme.WASTE, "nothing to multiply yet", hatched=True)])
        for number, panel in enumerate(panels):
            _panel(axes, panel, TOP + each * number, scale)
        page.text(axes, RIGHT, TOP + each * len(panels) - 12, "units of time →", ha="right", color=theme.INK)
    return drawn


def caption(panels: Sequence[ByHand]) -> str:
    """'Each of 4 tiles takes 4 units to load and 3 to multiply. All are done after 28 units with 1 buffer, and …'"""
    same = len({panel.multiply for panel in panels}) == 1
    work = f"{theme.plural(panels[0].load, 'unit')} to load" + f" and {panels[0].multiply} to multiply" * same
    ends = ", and ".join(
        f"after {theme.plural(panel.end, 'unit')} with {theme.plural(panel.buffers, 'buffer')}"
        + (f" and {panel.multiply} to multiply" if not same else "")
        for panel in panels
    )
    return f"Each of {panels[0].tiles} tiles takes {work}. All are done {ends}."


def _panel(axes: Axes, by_hand: ByHand, top: float, scale: float) -> None:
    words = f"{theme.plural(by_hand.buffers, 'buffer')}, multiplying takes {theme.plural(by_hand.multiply, 'unit')}"
    page.text(axes, LEFT, top + 6, words, size=theme.TEXT, color=theme.INK, weight="bold")
    first = top + HEAD
    for row, name in enumerate(("load", "multiply")):
        page.text(axes, LEFT - 10, first + (row + 0.5) * ROW, name, ha="right", color=theme.INK)
    idle_from = 0
    for tile, (loaded, multiplied) in enumerate(zip(by_hand.loads, by_hand.products, strict=True)):
        _bar(axes, loaded, by_hand.load, first, scale, theme.SPEED, str(tile))
        if multiplied > idle_from:
            box = page.boxes(LEFT + scale * idle_from, first + ROW + 4, scale * (multiplied - idle_from), BAR)
            page.hatch(axes, box, label="idle")
        idle_from = multiplied + by_hand.multiply
        _bar(axes, multiplied, by_hand.multiply, first + ROW, scale, theme.C, str(tile))
    end = LEFT + scale * by_hand.end
    page.lines(axes, [[(end, first), (end, first + 2 * ROW)]], theme.INK, 1.4)
    page.text(axes, end + 8, first + ROW, f"done\nafter {by_hand.end}", color=theme.INK)


def _bar(axes: Axes, start: int, length: int, top: float, scale: float, colour: str, words: str) -> None:
    box = page.boxes(LEFT + scale * start, top + 4, scale * length, BAR)
    page.fill(axes, box, colour, edge=theme.PAPER, line=1.2, label="bars")
    middle = LEFT + scale * (start + length / 2)
    page.labels(axes, [words], middle, top + 4 + BAR / 2, LETTER, theme.ink_on(colour))
