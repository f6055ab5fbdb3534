"""A number in several formats, bit by bit, and what one flipped bit makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme

CELL, HEIGHT, STEP, LEFT, TOP = 15.0, 26.0, 52.0, 70.0, 92.0  # CSS pixels
FRACTION_X = LEFT + CELL * 9 + 20  # where fractions begin, so that equal bits of formats stand below each other
SIGN, EXPONENT, FRACTION = "#EEDDEE", "#F6E7C6", "#DCE6F5"
FIGURE_HEIGHT = page.full_height(TOP + 5 * STEP, 2)


@dataclass(frozen=True)
class Row:
    """A format.  text: sign, exponent and fraction with spaces between.  flipped: place of a bit in it, or None."""

    format: str
    text: str
    value: float
    flipped: tuple[str, int] | None  # the part and the place from its left


def bits_figure(rows: Sequence[Row], title: str, caption: str) -> theme.Figure:
    """A line of bits for each format, equal bits below each other, and the value beside it."""
    drawn, axes = page.page(TOP + STEP * len(rows), title, caption, 2)
    with theme.style():
        keys = [page.Key(SIGN, "sign"), page.Key(EXPONENT, "exponent"), page.Key(FRACTION, "fraction")]
        page.legend(axes, 46, [*keys, page.Key(theme.TROUBLE, "framed: the bit that was flipped")])
        for number, row in enumerate(rows):
            _row(axes, row, TOP + STEP * number)
    return drawn


def _row(axes: Axes, row: Row, top: float) -> None:
    page.text(axes, page.MARGIN, top + HEIGHT / 2, row.format, size=theme.TEXT, color=theme.INK, weight="bold")
    sign, exponent, fraction = row.text.split()
    parts = (("sign", sign, LEFT, SIGN), ("exponent", exponent, LEFT + CELL * 9 + 8 - CELL * len(exponent), EXPONENT),
             ("fraction", fraction, FRACTION_X, FRACTION))  # fmt: skip
    for name, text, left, colour in parts:
        x = left + CELL * np.arange(len(text))
        corners = page.boxes(x, top, CELL, HEIGHT)
        page.fill(axes, corners, colour, label=name)
        page.outline(axes, corners, theme.MUTED, 0.5)
        if row.flipped is not None and row.flipped[0] == name:
            page.outline(axes, corners[row.flipped[1] : row.flipped[1] + 1], theme.TROUBLE, 2.4, label="flipped")
        page.labels(axes, list(text), x + CELL / 2, top + HEIGHT / 2, 13.0, theme.INK, label="bits")
    words = f"{row.value:.9g}"
    page.text(axes, page.WIDTH - page.MARGIN, top + HEIGHT / 2, words, size=theme.TEXT, color=theme.INK, ha="right")
