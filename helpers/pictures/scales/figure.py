"""Two pictures in one: the numbers that a small column may become, and the error of the product by granularity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from helpers.pictures import page, theme

LINES_TOP, LINE, ERRORS_TOP, BAR = 84.0, 46.0, 40.0, 22.0  # CSS pixels
LEFT, RIGHT = 292.0, 872.0
MOST_TICKS = 400
COLOURS = (theme.SPEED, theme.REFERENCE)  # of the formats


@dataclass(frozen=True, eq=False)
class NumberLine:
    """words: a format and a granularity.  numbers: that there are.  colour: of the format."""

    words: str
    numbers: np.ndarray
    colour: str


def scales_figure(
    values: np.ndarray, lines: Sequence[NumberLine], errors: Mapping[str, Mapping[str, float]], title: str
) -> theme.Figure:
    """values: of a small column.  lines: what they may become.  errors: format -> granularity -> relative error."""
    most = 1.05 * max(float(np.abs(array).max()) for array in (values, *(line.numbers for line in lines)))
    rows = [(form, name, value) for form, by_name in errors.items() for name, value in by_name.items()]
    bars_top = LINES_TOP + LINE * len(lines) + ERRORS_TOP
    least, largest = min(value for *_, value in rows), max(value for *_, value in rows)
    caption = "; ".join(
        f"{form}: {theme.percent(max(by_name.values()))} with {max(by_name, key=by_name.__getitem__)}, "
        f"{theme.percent(min(by_name.values()))} with {min(by_name, key=by_name.__getitem__)}"
        for form, by_name in errors.items()
    )
    caption = f"Error of the product in the small columns. {caption}."
    drawn, axes = page.page(bars_top + BAR * len(rows) + 34, title, caption, 2)
    with theme.style():
        page.text(
            axes, LEFT, LINES_TOP - 22, "values of a small column (above), and the numbers that there are (lines)"
        )
        for n, line in enumerate(lines):
            _number_line(axes, LINES_TOP + LINE * n, values, line, most)
        page.text(axes, LEFT, bars_top - 18, "error of the product in the small columns, logarithmic")
        for n, row in enumerate(rows):
            _bar(axes, bars_top + BAR * n, row, least, largest, list(errors).index(row[0]))
    return drawn


def _number_line(axes: object, top: float, values: np.ndarray, line: NumberLine, most: float) -> None:
    def at(number: np.ndarray) -> np.ndarray:
        return LEFT + (number + most) / (2 * most) * (RIGHT - LEFT)

    page.text(axes, LEFT - 14, top + 14, line.words, ha="right", color=theme.INK)
    inside = line.numbers[np.abs(line.numbers) <= most]
    ticks = inside if len(inside) <= MOST_TICKS else inside[:: -(-len(inside) // MOST_TICKS)]
    page.lines(axes, [[(LEFT, top + 24), (RIGHT, top + 24)]], theme.FAINT, 1.0)
    page.lines(axes, [[(x, top + 10), (x, top + 24)] for x in at(ticks).tolist()], line.colour, 1.4, label="numbers")
    places = at(values)
    page.fill(axes, page.boxes(places - 1.5, top + 1, 3, 5), theme.SPEED, label="values")


def _bar(axes: object, top: float, row: tuple[str, str, float], least: float, most: float, form: int) -> None:
    name, granularity, value = row
    begin, end = np.log10(least) - 0.4, np.log10(most)
    width = (np.log10(value) - begin) / (end - begin) * (RIGHT - LEFT - 80)
    page.text(axes, LEFT - 14, top + BAR / 2, f"{name}, {granularity}", ha="right", color=theme.INK)
    page.fill(axes, page.boxes(LEFT, top + 3, width, BAR - 6), COLOURS[form], label="error")
    page.text(axes, LEFT + width + 8, top + BAR / 2, theme.percent(value), color=theme.INK)
