"""How the pairs move to the two smallest: the picture of notebook 17.

Each level, a warp, a block or the grid, is a group of rows: boxes are those who hold a pair, lines are the moves from
one row to the next. The way of the smallest is purple, that of the second amber. A box that has given its pair away is
not drawn any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.pairs.facts import DONE, FIRST, SECOND, Journey, Level, Row

# CSS pixels
RIGHT, MIDDLE = 886.0, 470.0  # where the page ends, and where the right one of two narrow levels begins
TOP, BOX, GAP, BETWEEN, HEAD = 76.0, 18.0, 21.0, 12.0, 22.0
WIDEST, NARROWEST = 64.0, 24.0  # a box; narrower ones are not put beside another level
LEGEND_Y = 48.0
NUMBERS = 10.0
PALE = "#C9CED6"  # a tint of theme.SPEED
CAPTION_LINES = 2
HIGHEST = page.full_height(TOP + HEAD + 6 * BOX + 5 * GAP + 10, CAPTION_LINES)  # of one level: a warp, or a grid


@dataclass(frozen=True)
class _Panel:
    """Where a level is drawn: its left and upper edge, where its boxes begin, and where they must end."""

    x: float
    y: float
    left: float
    right: float

    def boxes(self, row: Row) -> tuple[np.ndarray, float]:
        """The left sides of a row's boxes, and their width."""
        width = min((self.right - self.left) / len(row.names), WIDEST)
        return self.left + np.arange(len(row.names)) * width, width


def pairs_figure(journey: Journey, title: str, caption: str) -> theme.Figure:
    """All levels of a journey, one below the other, two narrow ones beside each other."""
    places = list(_panels(journey.levels))
    bottom = max(panel.y + _height(level) for panel, level in zip(places, journey.levels, strict=True))
    drawn, axes = page.page(bottom + 10, title, caption, CAPTION_LINES)
    with theme.style():
        keys = [page.Key(theme.WARP, "the smallest"), page.Key(theme.B, "the second smallest")]
        page.legend(axes, LEGEND_Y, [*keys, page.Key(PALE, "another pair")])
        for level, panel in zip(journey.levels, places, strict=True):
            _level(axes, level, panel)
    return drawn


def _panels(levels: Sequence[Level]) -> Iterator[_Panel]:
    y, beside = TOP, 0.0  # beside: the height of a narrow level that has room to its right
    for number, level in enumerate(levels):
        words = [*(move.name for move in level.moves), *(row.what for row in level.rows)]
        label = 16 + max(page.text_width(word) for word in words)
        most = max(len(row.names) for row in level.rows)
        narrow = most * NARROWEST <= RIGHT - MIDDLE - label
        if beside and narrow:
            yield _Panel(MIDDLE, y, MIDDLE + label, RIGHT)
            y, beside = y + max(beside, _height(level)) + BETWEEN, 0.0
            continue
        y += beside + BETWEEN if beside else 0.0
        alone = not narrow or number + 1 == len(levels)
        yield _Panel(page.MARGIN, y, page.MARGIN + label, RIGHT if alone else MIDDLE - 30)
        y, beside = (y + _height(level) + BETWEEN, 0.0) if alone else (y, _height(level))


def _height(level: Level) -> float:
    return HEAD + len(level.rows) * BOX + len(level.moves) * GAP


def _level(axes: Axes, level: Level, panel: _Panel) -> None:
    page.text(axes, panel.x, panel.y + 8, level.title, color=theme.INK, weight="bold")
    y = panel.y + HEAD
    for number, row in enumerate(level.rows):
        _row(axes, row, panel, y)
        if number < len(level.moves):
            move, below = level.moves[number], level.rows[number + 1]
            page.text(axes, panel.x, y + BOX + GAP / 2, move.name)
            _links(axes, move.links, panel.boxes(row), panel.boxes(below), y + BOX)
        y += BOX + GAP


def _row(axes: Axes, row: Row, panel: _Panel, y: float) -> None:
    left, width = panel.boxes(row)
    there = [n for n, holds in enumerate(row.holds) if holds != DONE]
    page.fill(axes, page.boxes(left[there] + 0.5, y, width - 1, BOX), theme.WASTE_FILL, label=row.what)
    for flag, colour in ((FIRST, theme.WARP), (SECOND, theme.B)):
        holders = [n for n in there if row.holds[n] & flag]
        both = np.array([row.holds[n] == FIRST | SECOND for n in holders], bool)
        high = np.where(both, BOX / 2, BOX)
        top = y + np.where(both & (flag == SECOND), BOX / 2, 0.0)
        page.fill(axes, page.boxes(left[holders] + 0.5, top, width - 1, high), colour, label="holds")
    every = next(n for n in (1, 2, 4, 8, 16, 32, 64) if n * width >= 8 * len(row.names[-1]) + 6)
    inks = {0: theme.MUTED, FIRST: theme.PAPER, SECOND: theme.ON_B}  # on both colours no letters can be read
    for holds, ink in inks.items():
        shown = [n for n in there if row.holds[n] == holds and (holds or n % every == 0)]
        names = [row.names[n] for n in shown]
        page.labels(
            axes, names, left[shown] + width / 2, y + BOX / 2, NUMBERS, ink, bold=holds > 0, room=every * width - 6
        )
    page.text(axes, panel.left - 8, y + BOX / 2, row.what, ha="right")


def _links(
    axes: Axes,
    links: Sequence[tuple[int, int, int]],
    above: tuple[np.ndarray, float],
    below: tuple[np.ndarray, float],
    y: float,
) -> None:
    """above, below: the left sides of the boxes of two rows, and their width."""
    givers, takers = (left + width / 2 for left, width in (above, below))
    for flag, colour, line, shift in ((0, PALE, 0.9, 0.0), (FIRST, theme.WARP, 2.2, -1.5), (SECOND, theme.B, 2.2, 1.5)):
        paths = [
            [(givers[giver] + shift, y + 1), (takers[taker] + shift, y + GAP - 1)]
            for giver, taker, flags in links
            if (flags & flag if flag else not flags)
        ]
        page.lines(axes, paths, colour, line, label="moves")
