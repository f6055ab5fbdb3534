"""Where is a result wrong? The picture that comes with a wrong answer: every element of C, right, wrong or not written.

The rows and columns in which something is wrong are put into words: "all in columns 32 to 36" is half of the
explanation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from helpers.pictures import page, theme

RIGHT = "#CDE9DF"  # of theme.C
# CSS pixels
MAP_X, MAP_Y, MAP_WIDTH, MAP_HEIGHT, CELL = 92.0, 92.0, 780.0, 240.0, 16.0
LEGEND_Y = 48.0
CAPTION_LINES = 2
SEEN, FRAME = 7.0, 12.0  # an element that can be seen inside its frame; the frame of a smaller one
LINES_FROM = 5.0  # pixels of a cell from which on it is outlined

Cell = tuple[float, float]  # width and height of an element


@dataclass(frozen=True, eq=False)
class ErrorMap:
    """name: of the array.  wrong, unwritten: (rows, columns) bool; what is unwritten is wrong, too.  first: (row,
    column) of the element that the words beside the picture speak of.  tile: (rows, columns) of a block's part.
    several: bool, which of the wrong ones several threads store, in no order; None for none."""

    name: str
    wrong: np.ndarray
    unwritten: np.ndarray
    first: tuple[int, int]
    tile: tuple[int, int]
    several: np.ndarray | None = None


def error_map_figure(data: ErrorMap, title: str) -> theme.Figure:
    """All elements, the tiles of the blocks, and a frame around the first wrong element."""
    rows, columns = data.wrong.shape
    cell = _cell(rows, columns)
    height = MAP_Y + cell[1] * rows + 14
    drawn, axes = page.page(height, title, caption(data), CAPTION_LINES)
    with theme.style():
        keys = [
            page.Key(RIGHT, "right"),
            page.Key(theme.TROUBLE, "wrong"),
            page.Key(theme.TROUBLE, "not written by any thread", hatched=True),
        ]
        if data.tile[0] < rows or data.tile[1] < columns:
            keys.append(page.Key(theme.INK, "what one block should compute", frame=0.9))
        keys.append(page.Key(theme.INK, f"{data.name}[{data.first[0]}, {data.first[1]}]", frame=2.4))
        page.legend(axes, LEGEND_Y, keys)
        _elements(axes, data, cell)
        _rulers(axes, data, cell)
    return drawn


def caption(data: ErrorMap) -> str:
    """'72 of 703 elements of C are wrong, all in columns 32 to 36.'"""
    wrong = int(data.wrong.sum())
    text = f"{theme.thousands(wrong)} of {theme.plural(data.wrong.size, 'element')} of {data.name} "
    text += "is wrong" if wrong == 1 else "are wrong"
    where = pattern(data.wrong)
    text += f", all in {where}" if where and wrong > 1 else f", in {where}" if where else ""
    unwritten = int(data.unwritten.sum())
    if unwritten == wrong and wrong:
        return f"{text}: no thread wrote {'it' if wrong == 1 else 'them'}."
    were = "was" if unwritten == 1 else "were"
    several = int(data.several.sum()) if data.several is not None else 0
    parts = [f"{theme.thousands(unwritten)} of them {were} not written"] if unwritten else []
    parts += [f"{theme.thousands(several)} of them are stored by several threads"] if several else []
    return f"{'; '.join([text, *parts])}."


def pattern(wrong: np.ndarray) -> str:
    """'rows 3 to 5, columns 4 to 31 and 36 to 63': in which rows and columns something is wrong, '' if in all."""
    parts = []
    for axis, name in ((1, "row"), (0, "column")):
        lines = np.flatnonzero(wrong.any(axis=axis)).tolist()
        if 0 < len(lines) < wrong.shape[1 - axis]:
            parts.append(f"{name}{'' if len(lines) == 1 else 's'} {theme.runs(lines)}")
    return ", ".join(parts)


def _cell(rows: int, columns: int) -> Cell:
    """Width and height of an element: a square where there is room for it. Of a matrix that would be a mere strip the
    short side is drawn longer, at most as long as the other."""
    square = min(CELL, MAP_WIDTH / columns, MAP_HEIGHT / rows)
    wide = min(CELL, MAP_WIDTH / columns, max(square, rows * square / columns))
    high = min(CELL, MAP_HEIGHT / rows, max(square, columns * square / rows))
    return wide, high


def _elements(axes: Axes, data: ErrorMap, cell: Cell) -> None:
    wide, high = cell
    rows, columns = data.wrong.shape
    colours = np.empty((rows, columns, 3))
    colours[:] = to_rgb(RIGHT)
    colours[data.wrong] = to_rgb(theme.TROUBLE)
    page.image(axes, colours, MAP_X, MAP_Y, wide, "elements", high)
    missing = np.argwhere(data.unwritten)
    if len(missing):
        page.hatch(axes, _cells(missing, cell), colour=theme.TROUBLE, label="not written")
    if min(cell) >= LINES_FROM:
        everything = np.argwhere(np.ones((rows, columns), bool))
        page.outline(axes, _cells(everything, cell), theme.PAPER, 0.6)
    for axis, size, step in ((0, rows, data.tile[0]), (1, columns, data.tile[1])):
        for line in (*range(0, size, max(step, 1)), size):
            ends = [(MAP_X, MAP_Y + line * high), (MAP_X + columns * wide, MAP_Y + line * high)]
            if axis:
                ends = [(MAP_X + line * wide, MAP_Y), (MAP_X + line * wide, MAP_Y + rows * high)]
            page.lines(axes, [ends], theme.INK, 0.9, label="tile border")
    row, column = data.first
    # A small element is drawn large enough to be seen inside its frame.
    width, height = (side if side >= SEEN else FRAME for side in cell)
    left, top = MAP_X + (column + 0.5) * wide - width / 2, MAP_Y + (row + 0.5) * high - height / 2
    frame = page.boxes(left, top, width, height)
    if min(cell) < SEEN and not data.unwritten[row, column]:
        page.fill(axes, frame, theme.TROUBLE)
    page.outline(axes, frame, theme.INK, 2.4, label="first")


def _cells(indices: np.ndarray, cell: Cell) -> np.ndarray:
    wide, high = cell
    return page.boxes(MAP_X + indices[:, 1] * wide, MAP_Y + indices[:, 0] * high, wide, high)


def _rulers(axes: Axes, data: ErrorMap, cell: Cell) -> None:
    """Numbers of the rows and columns at the tiles' borders."""
    rows, columns = data.wrong.shape
    first = "column 0"
    page.text(axes, MAP_X, MAP_Y - 10, first)
    wide, high = cell
    for number, x in _spaced(range(0, columns, max(data.tile[1], 1)), wide, 30):
        if x > page.text_width(first):
            page.text(axes, MAP_X + x + wide / 2, MAP_Y - 10, number, ha="center")
    for number, y in _spaced(range(0, rows, max(data.tile[0], 1)), high, 16):
        page.text(axes, MAP_X - 8, MAP_Y + y + high / 2, number or "row 0", ha="right")


def _spaced(numbers: Sequence[int], cell: float, least: float) -> list[tuple[int, float]]:
    """The numbers with their places in pixels, those left out that would stand closer than `least`."""
    kept: list[tuple[int, float]] = []
    for number in numbers:
        if not kept or number * cell - kept[-1][1] >= least:
            kept.append((number, number * cell))
    return kept
