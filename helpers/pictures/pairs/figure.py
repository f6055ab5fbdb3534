"""How the pairs move to the two smallest: the picture of notebook 17.

Each level, a warp, a block or the grid, is a group of rows: boxes are those who hold a pair, lines are the moves from
one row to the next. The way of the smallest is purple, that of the second amber. A box that has given its pair away is
not drawn any more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.pairs.facts import DONE, FIRST, SECOND, Journey, Level, Row

# CSS pixels
LEFT, RIGHT = 150.0, 886.0
TOP, BOX, GAP, BETWEEN, HEAD = 76.0, 18.0, 21.0, 12.0, 22.0
LEGEND_Y = 48.0
NUMBERS = 10.0
PALE = "#C9CED6"  # a tint of theme.SPEED
CAPTION_LINES = 2
HIGHEST = page.full_height(TOP + HEAD + 6 * BOX + 5 * GAP + 10, CAPTION_LINES)  # of one level: a warp, or a grid


def pairs_figure(found: Journey, title: str, caption: str) -> theme.Figure:
    """All levels of a journey, one below the other."""
    heights = [HEAD + len(level.rows) * BOX + len(level.moves) * GAP for level in found.levels]
    drawn, axes = page.page(TOP + sum(heights) + BETWEEN * (len(heights) - 1) + 10, title, caption, CAPTION_LINES)
    with theme.style():
        keys = [page.Key(theme.WARP, "the smallest"), page.Key(theme.B, "the second smallest")]
        page.legend(axes, LEGEND_Y, [*keys, page.Key(PALE, "another pair")])
        y = TOP
        for level, height in zip(found.levels, heights, strict=True):
            _level(axes, level, y)
            y += height + BETWEEN
    return drawn


def _level(axes: Axes, level: Level, top: float) -> None:
    page.text(axes, page.MARGIN, top + 8, level.title, color=theme.INK, weight="bold")
    y = top + HEAD
    for number, row in enumerate(level.rows):
        _row(axes, row, y)
        if number < len(level.moves):
            move, below = level.moves[number], level.rows[number + 1]
            page.text(axes, page.MARGIN, y + BOX + GAP / 2, move.name)
            _links(axes, move.links, (row, below), y + BOX)
        y += BOX + GAP


def _middle(row: Row) -> tuple[np.ndarray, float]:
    """The left sides of a row's boxes, and their width."""
    width = min((RIGHT - LEFT) / len(row.names), 64.0)
    return LEFT + np.arange(len(row.names)) * width, width


def _row(axes: Axes, row: Row, y: float) -> None:
    left, width = _middle(row)
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
        page.labels(axes, names, left[shown] + width / 2, y + BOX / 2, NUMBERS, ink, bold=holds > 0)
    page.text(axes, LEFT - 8, y + BOX / 2, row.what, ha="right")


def _links(axes: Axes, links: Sequence[tuple[int, int, int]], rows: tuple[Row, Row], y: float) -> None:
    (above, width), (below, below_width) = map(_middle, rows)
    for flag, colour, line, shift in ((0, PALE, 0.9, 0.0), (FIRST, theme.WARP, 2.2, -1.5), (SECOND, theme.B, 2.2, 1.5)):
        paths = [
            [(above[giver] + width / 2 + shift, y + 1), (below[taker] + below_width / 2 + shift, y + GAP - 1)]
            for giver, taker, flags in links
            if (flags & flag if flag else not flags)
        ]
        page.lines(axes, paths, colour, line, label="moves")
