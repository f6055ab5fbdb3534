"""Who holds which element of the matrices that one instruction of a tensor core multiplies?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme

CELL_WIDTH, CELL, GAP = 34.0, 24.0, 46.0  # CSS pixels
LEFT, TOP = 60.0, 96.0
LETTER = 12.5
TINTS = ("#DCE6F5", "#F6E7C6", "#D3EDE4", "#EEDDEE")  # registers 0 to 3, behind the numbers of lanes
NO_LANE = -1


@dataclass(frozen=True)
class Part:
    """A matrix.  lane, register: (rows, columns), NO_LANE where no lane holds the element.  wrong: bool, or None."""

    name: str
    lane: np.ndarray
    register: np.ndarray
    wrong: np.ndarray | None = None


def product_figure(a: Part, b: Part, c: Part, lane: int, title: str) -> theme.Figure:
    """A, B and C as a product lies on paper, each element with the number of its lane; one lane is framed."""
    bottom = TOP + CELL * (b.lane.shape[0] + a.lane.shape[0]) + GAP
    brings, also, holds = (len(_of(part, lane)) for part in (a, b, c))
    caption = f"Lane {lane} brings {brings} elements of A and {also} of B, and holds {holds} of C."
    drawn, axes = page.page(bottom + 16, title, caption, 2)
    right = LEFT + CELL_WIDTH * a.lane.shape[1] + GAP
    with theme.style():
        _legend(axes, max(int(part.register.max()) for part in (a, b, c)) + 1, f"lane {lane}")
        low = TOP + CELL * b.lane.shape[0] + GAP
        _part(axes, b, right, TOP, lane, ("k", "column"))
        _part(axes, a, LEFT, low, lane, ("row", "k"))
        _part(axes, c, right, low, lane, ("row", "column"))
        _reading(axes, a, b, c, lane, right + CELL_WIDTH * c.lane.shape[1] + 72)
    return drawn


def map_figure(mine: Part, given: Part, title: str) -> theme.Figure:
    """What a learner's function says beside what the instruction gave; elements that differ are framed."""
    wrong = (mine.lane != given.lane) | (mine.register != given.register)
    count = int(wrong.sum())
    caption = (
        f"Your map is the instruction's: all {wrong.size} elements are held by the lane and in the register you say."
        if not count
        else f"{theme.plural(count, 'element')} of {wrong.size} are not held by the lane and register that you say."
    )
    drawn, axes = page.page(TOP + CELL * given.lane.shape[0] + 16, title, caption)
    with theme.style():
        _legend(axes, int(given.register.max()) + 1, "not the same" if count else "")
        _part(axes, Part("your function", mine.lane, mine.register, wrong), LEFT, TOP, NO_LANE, ("row", "k"))
        second = LEFT + CELL_WIDTH * mine.lane.shape[1] + 2 * GAP
        _part(axes, Part("the instruction", given.lane, given.register, wrong), second, TOP, NO_LANE, ("row", "k"))
    return drawn


def _legend(axes: Axes, registers: int, framed: str) -> None:
    keys = [page.Key(TINTS[number], f"register {number}") for number in range(registers)]
    page.legend(axes, 46, [*keys, *([page.Key(theme.TROUBLE, f"framed: {framed}")] if framed else [])])


def _part(axes: Axes, part: Part, left: float, top: float, lane: int, sides: tuple[str, str]) -> None:
    rows, columns = part.lane.shape
    row, column = np.divmod(np.arange(rows * columns), columns)
    corners = page.boxes(left + CELL_WIDTH * column, top + CELL * row, CELL_WIDTH, CELL)
    held = part.register.ravel() != NO_LANE
    tints = np.array(TINTS)[part.register.ravel()[held]]
    page.fill(axes, corners[held], list(tints), label=part.name)
    page.outline(axes, corners, theme.MUTED, 0.6)
    framed = part.lane.ravel() == lane if part.wrong is None else part.wrong.ravel()
    page.outline(axes, corners[framed & (held | (part.wrong is not None))], theme.TROUBLE, 2.2, label="framed")
    page.labels(
        axes, [str(number) if number != NO_LANE else "–" for number in part.lane.ravel()],
        left + CELL_WIDTH * (column + 0.5), top + CELL * (row + 0.5), LETTER, theme.INK, label=f"lanes of {part.name}",
    )  # fmt: skip
    name = f"{part.name}: lane of each element" if len(part.name) == 1 else part.name
    colour = theme.ARRAY_NAMES.get(part.name, theme.INK)
    page.text(axes, left, top - 28, name, size=theme.TEXT, color=colour, weight="bold")
    page.labels(axes, [str(n) for n in range(columns)], left + CELL_WIDTH * (np.arange(columns) + 0.5), top - 9, 10.5,
                theme.MUTED)  # fmt: skip
    page.labels(axes, [str(n) for n in range(rows)], left - 10, top + CELL * (np.arange(rows) + 0.5), 10.5, theme.MUTED)
    page.text(axes, left - 34, top + CELL * rows / 2, sides[0], rotation=90, ha="center", va="center")
    page.text(axes, left + CELL_WIDTH * columns + 5, top - 9, sides[1])


def _of(part: Part, lane: int) -> Sequence[tuple[int, int, int]]:
    """(register, row, column) of what a lane holds."""
    rows, columns = np.nonzero(part.lane == lane)
    return sorted(zip(part.register[rows, columns].tolist(), rows.tolist(), columns.tolist(), strict=True))


def _reading(axes: Axes, a: Part, b: Part, c: Part, lane: int, left: float) -> None:
    page.text(axes, left, TOP + 6, f"What lane {lane} holds", size=theme.TEXT, color=theme.INK, weight="bold")
    y = TOP + 36
    for part, sides in ((a, ("row", "k")), (b, ("k", "column")), (c, ("row", "column"))):
        page.text(axes, left, y, part.name, color=theme.ARRAY_NAMES[part.name], weight="bold")
        for register, row, column in _of(part, lane):
            y += 21
            words = f"{part.name.lower()}{register}: {sides[0]} {row}, {sides[1]} {column}"
            page.text(axes, left, y, words, color=theme.INK)
        y += 30
