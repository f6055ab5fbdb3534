"""Which lane asks for which float? The rows and columns of an array that one request of a warp touches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.hot_lines.facts import Asked, Line

# CSS pixels
LEFT, RIGHT, TOP, CODE_Y, SCALE_Y = 104.0, page.WIDTH - 20.0, 112.0, 48.0, 92.0
ROW, LOWEST_ROW, MOST_ROWS = 34.0, 15.0, 8
MOST_LOW_ROWS = int(ROW * MOST_ROWS / LOWEST_ROW)
HEIGHT = TOP + ROW * MOST_ROWS + 14
FIGURE_HEIGHT = page.full_height(HEIGHT, 2)
WIDEST, LETTER = 30.0, 9.5
EVERY = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def asked_figure(line: Line, request: Asked, title: str, *, whole: bool = False) -> theme.Figure:
    """The floats of one request with the lanes that ask for them. whole: as high as every other."""
    rows = sorted({row for row, _ in request.groups})
    shown = rows[:MOST_LOW_ROWS]
    first = min(column for _, column in request.groups)
    last = max(column for _, column in request.groups) + request.floats
    cell = min(WIDEST, (RIGHT - LEFT) / (last - first))
    row_height = ROW if len(shown) <= MOST_ROWS else LOWEST_ROW
    height = HEIGHT if whole else TOP + row_height * len(shown) + 14
    drawn, axes = page.page(height, title, caption(line, request), 2)
    with theme.style():
        page.text(axes, page.MARGIN, CODE_Y, theme.cut(line.code, 96), color=theme.INK, family="monospace")
        page.legend(
            axes,
            70,
            [page.Key(theme.WARP, f"{'stored' if line.op == 'st' else 'asked for'}, with the numbers of the lanes")],
        )
        _scale(axes, (first, last), cell, line.array)
        for number, row in enumerate(shown):
            _row(axes, request, row, (TOP + number * row_height, row_height), (first, last), cell)
    return drawn


def caption(line: Line, request: Asked) -> str:
    """'Line 46: load from Bs. 32 lanes of the warp ask for 64 different floats, 4 side by side each; 2 lanes …'"""
    groups = request.groups
    sharing = {len(lanes) for lanes in groups.values()}
    distinct = {(row, column + part) for row, column in groups for part in range(request.floats)}
    verb, lanes = "store" if line.op == "st" else "ask for", theme.plural(len(request.lanes), "lane")
    text = f"L{line.label[1:]}. {lanes} of the warp {verb} {theme.plural(len(distinct), 'different float')}"
    if request.floats > 1:
        text += f", {request.floats} side by side each"
    if sharing != {1}:
        many = str(max(sharing)) if len(sharing) == 1 else f"up to {max(sharing)}"
        text += f"; {many} lanes share {'each' if len(sharing) == 1 else 'some'}"
    return f"{text}. They lie in {theme.plural(len({row for row, _ in groups}), 'row')}."


def _scale(axes: Axes, columns: tuple[int, int], cell: float, array: str) -> None:
    first, last = columns
    step = next(step for step in EVERY if step * cell >= 30)
    for column in range(first, last, step):
        page.text(axes, LEFT + (column - first + 0.5) * cell, SCALE_Y, column, ha="center")
    page.text(axes, LEFT - 8, SCALE_Y, f"{array}: column", ha="right", color=theme.INK)


def _row(
    axes: Axes, request: Asked, row: int, rows: tuple[float, float], columns: tuple[int, int], cell: float
) -> None:
    (top, height), (first, last) = rows, columns
    page.text(axes, LEFT - 8, top + height / 2, f"row {row}", ha="right", color=theme.INK)
    page.fill(axes, page.boxes(LEFT, top + 3, (last - first) * cell, height - 6), theme.WASTE_FILL)
    mine = [(column, lanes) for (at, column), lanes in request.groups.items() if at == row]
    left = LEFT + (np.array([column for column, _ in mine]) - first) * cell
    wide = request.floats * cell
    page.fill(axes, page.boxes(left, top + 3, wide, height - 6), theme.WARP, edge=theme.PAPER, line=1.0)
    for x, (_, lanes) in zip(left, mine, strict=True):
        words = numbers(lanes)
        lines = [words] if _fits(words, wide) or height < ROW else words.split(", ")
        if all(_fits(line, wide) for line in lines):
            middle = top + height / 2 - LETTER * 0.65 * (len(lines) - 1)
            y = middle + LETTER * 1.3 * np.arange(len(lines))
            page.labels(axes, lines, np.full(len(lines), x + wide / 2), y, LETTER, theme.ink_on(theme.WARP))


def _fits(words: str, wide: float) -> bool:
    return len(words) * LETTER * 0.62 <= wide


def numbers(lanes: Sequence[int]) -> str:
    """'0–15', '0, 16' or '3': lanes in short."""
    if len(lanes) > 2 and list(lanes) == list(range(lanes[0], lanes[-1] + 1)):
        return f"{lanes[0]}–{lanes[-1]}"
    return ", ".join(map(str, lanes[:2])) + (", …" if len(lanes) > 2 else "")
