"""Where in memory does element (row, col) lie? One matrix in row-major and in column-major order, and its ribbon."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from helpers.pictures import page, theme

Order = Literal["C", "F"]
NAMES: dict[Order, str] = {"C": "row-major", "F": "column-major"}
CELL, RIBBON, TOP, LEFT = 46.0, 26.0, 92.0, 120.0  # CSS pixels
MOST_ELEMENTS = 24


def layout_figure(rows: int, columns: int) -> theme.Figure:
    """Both orders side by side: the matrix with each element's place in memory, and memory with each place's element.

    The rows of the matrix have tints of their own, so that a row can be followed into memory.
    """
    if not 2 <= rows * columns <= MOST_ELEMENTS:
        raise ValueError(f"{rows} × {columns} elements do not fit; between 2 and {MOST_ELEMENTS} can be read.")
    half = page.WIDTH / 2
    ribbon_y = TOP + rows * CELL + 46
    title = f"C with {rows} rows and {columns} columns: where does each element lie in memory?"
    drawn, axes = page.page(ribbon_y + RIBBON + 26, title, caption(rows, columns))
    with theme.style():
        for number, order in enumerate(NAMES):
            _layout(axes, rows, columns, order, number * half, ribbon_y, half - 2 * page.MARGIN)
    return drawn


def places(rows: int, columns: int, order: Order) -> np.ndarray:
    """(rows, columns) int: the element's place in memory, as NumPy has it."""
    return np.arange(rows * columns).reshape((rows, columns), order=order)


def caption(rows: int, columns: int) -> str:
    """'Row-major: the next row is 5 floats away, the next column 1. Column-major: …'"""
    sentences = []
    for order, name in NAMES.items():
        index = places(rows, columns, order)
        below = int(index[min(1, rows - 1), 0] - index[0, 0])
        beside = int(index[0, min(1, columns - 1)] - index[0, 0])
        sentences.append(f"{name}: the next row is {theme.plural(below, 'float')} away, the next column {beside}.")
    return " ".join(sentence[0].upper() + sentence[1:] for sentence in sentences)


def _tint(row: int, rows: int) -> tuple[float, ...]:
    """The green of C, lighter from row to row."""
    share = 0.12 + 0.38 * (1 - row / max(1, rows - 1))
    return tuple(1 - share * (1 - channel) for channel in to_rgb(theme.C))


def _layout(axes: Axes, rows: int, columns: int, order: Order, left: float, ribbon_y: float, width: float) -> None:
    index = places(rows, columns, order)
    formula = f"row·{columns} + col" if order == "C" else f"row + col·{rows}"
    page.text(axes, left + page.MARGIN, 50, NAMES[order], size=theme.TEXT, color=theme.INK, weight="bold")
    after = left + page.MARGIN + 1.15 * page.text_width(NAMES[order], theme.TEXT) + 16  # bold is wider
    page.text(axes, after, 50, f"index = {formula}", size=theme.TEXT, color=theme.INK)
    origin = left + LEFT
    row, col = (axis.ravel() for axis in np.mgrid[:rows, :columns])
    tints = [_tint(value, rows) for value in row]
    page.fill(axes, page.boxes(origin + col * CELL, TOP + row * CELL, CELL, CELL), tints, edge=theme.PAPER, line=1.6)
    x, y = origin + (col + 0.5) * CELL, TOP + (row + 0.5) * CELL
    along = np.argsort(index.ravel())
    page.labels(axes, [str(number) for number in index.ravel()], x, y, 17.0, theme.INK, label=f"places {order}")
    for number in range(rows):
        page.text(axes, origin - 10, TOP + (number + 0.5) * CELL, f"row {number}", ha="right", color=theme.INK)
    for number in range(columns):
        page.text(axes, origin + (number + 0.5) * CELL, TOP - 11, f"col {number}", ha="center", color=theme.INK)

    step = width / index.size
    start = left + page.MARGIN
    page.text(axes, start, ribbon_y - 14, "memory", color=theme.INK)
    ribbon = page.boxes(start + np.arange(index.size) * step, ribbon_y, step, RIBBON)
    page.fill(axes, ribbon, [tints[number] for number in along], edge=theme.PAPER, line=1.4, label=f"memory {order}")
    numbers = [str(number) for number in range(index.size)]
    page.labels(axes, numbers, start + (np.arange(index.size) + 0.5) * step, ribbon_y + RIBBON / 2, 12.0, theme.INK)
