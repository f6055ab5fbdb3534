"""Picture 8: what did the compiler make of my four floats?

Three columns: a source line, the PTX instructions that it became, and the machine code (SASS) that the hardware runs;
bands lead from one to the next. Below, what the same copy costs with other widths: requests and sectors of a warp.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from helpers.pictures import page, theme
from helpers.pictures.vector_width.facts import LineCode, Way

# CSS pixels
COLUMNS = ((14.0, 222.0), (262.0, 342.0), (622.0, 264.0))  # left edge and width of source, PTX, SASS
HEADS_Y, CODE_TOP, CODE_HEIGHT = 52.0, 70.0, 204.0
LINE, SPACE = 18.5, 16.0  # from code line to code line; between two source lines
LETTERS = (28, 44, 35)  # of a code line in each column
CODE_SIZE = 9.0  # points
WAYS_TOP, WAY = CODE_TOP + CODE_HEIGHT + 32, 25.0
MOST_WAYS = 4
LABEL_X, REQUESTS_X, REQUESTS_WIDTH, COST_X, COST_WIDTH = 34.0, 352.0, 110.0, 560.0, 210.0
HEIGHT = WAYS_TOP + MOST_WAYS * WAY + 8
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
BAND = 0.3  # how much of its colour a band has
TWIN_TOP, TWIN_ROW, TWIN_X = 96.0, 40.0, 228.0
COPIED = 512  # bytes: four floats for each lane of a warp


def opcode(instruction: str) -> str:
    """'LDG.E.128' of '@P0 LDG.E.128 R4, [R2.64]'."""
    words = instruction.split()
    return words[1] if words[0].startswith("@") else words[0]


def opcodes(instructions: Sequence[str]) -> str:
    """'4 × LDG.E', or '2 × LDS.128 and 1 × LDS'."""
    counts: dict[str, int] = {}
    for instruction in instructions:
        counts[opcode(instruction)] = counts.get(opcode(instruction), 0) + 1
    return " and ".join(f"{count} × {name}".replace(" ", "\u00a0") for name, count in counts.items()) or "nothing"


def vector_width_figure(
    code: Sequence[LineCode], ways: Sequence[Way], selected: int, title: str, before: LineCode | None = None
) -> theme.Figure:
    """Source, PTX and SASS of a few lines, and the cost of several ways.

    ways: what to compare; `selected` is the index of the one that `code` is.  before: the first line of `code` as the
    first of the ways compiles it.
    """
    if not code or not 1 <= len(ways) <= MOST_WAYS:
        raise ValueError(
            f"Give at least one line of code and 1 to {MOST_WAYS} ways; found {len(code)} and {len(ways)}."
        )
    drawn, axes = page.page(HEIGHT, title, caption(code[0], ways, selected, before), CAPTION_LINES)
    with theme.style():
        for (left, _), name in zip(COLUMNS, ("your line", "PTX", "machine code (SASS)"), strict=True):
            page.text(axes, left, HEADS_Y, name, size=theme.TEXT, color=theme.INK, weight="bold")
        _code(axes, code)
        _ways(axes, f"line {code[0].line} costs one warp", ways, selected)
    return drawn


def caption(code: LineCode, ways: Sequence[Way], selected: int, before: LineCode | None = None) -> str:
    """'4 × LDG.E became 1 × LDG.E.128: requests 4 → 1, sectors 16 → 16.'"""
    way, first = ways[selected], ways[0]
    if before is None or selected == 0 or first.refused or way.refused:
        text = f"Line {code.line} is {opcodes(code.ptx)} in PTX and {opcodes(code.sass)} in the machine code"
        if way.refused:
            return f"{text}. {way.refused}"
        return f"{text}: {theme.plural(way.requests, 'request')}, {theme.plural(way.cost, way.unit[:-1])}."
    text = f"{opcodes(before.sass)} became {opcodes(code.sass)}: requests {first.requests} → {way.requests}, "
    text += f"{way.unit} {first.cost} → {way.cost}."
    if way.cost > first.cost:
        times = theme.number(way.cost / first.cost)
        text += f" That is {times} times as many {way.unit} for the same bytes."
    return text


def tint(colour: str) -> tuple[float, float, float]:
    """A colour as light as a band."""
    red, green, blue = (1 - BAND * (1 - part) for part in to_rgb(colour))
    return red, green, blue


def _code(axes: Axes, code: Sequence[LineCode]) -> None:
    """The blocks of code, one for each source line and column, and the bands between them."""
    room = int((CODE_HEIGHT - SPACE * (len(code) - 1)) / LINE) // len(code)
    top = CODE_TOP
    for line in code:
        colour = theme.ARRAY_COLOURS.get(line.array, theme.SPEED)
        texts = [
            _folded(textwrap.wrap(f"{line.line}: {line.text}", LETTERS[0], break_long_words=True), room),
            _folded([_short(instruction, LETTERS[1]) for instruction in line.ptx], room),
            _folded([_short(instruction, LETTERS[2]) for instruction in line.sass], room),
        ]
        heights = [max(1, len(lines)) * LINE + 8 for lines in texts]
        for (left, width), lines, height in zip(COLUMNS, texts, heights, strict=True):
            page.fill(axes, page.boxes(left, top, width, height), tint(colour), label="code")
            page.fill(axes, page.boxes(left, top, 4, height), colour)
            for number, words in enumerate(lines or ["(no memory instruction)"]):
                y = top + 4 + (number + 0.5) * LINE
                page.text(axes, left + 9, y, words, family="monospace", size=CODE_SIZE, color=theme.INK)
        for (here, there), (height, next_height) in zip(pairwise(COLUMNS), pairwise(heights), strict=True):
            _band(axes, here[0] + here[1], there[0], top, height, next_height, colour)
        top += max(heights) + SPACE


def _band(axes: Axes, left: float, right: float, top: float, height: float, next_height: float, colour: str) -> None:
    corners = page.boxes(left, top, right - left, height)
    corners[0, 2, 1] = top + next_height
    corners[0, 3, 1] = top + height
    page.fill(axes, corners, (*to_rgb(colour), 0.45), label="band")


def _folded(lines: Sequence[str], room: int) -> list[str]:
    """At most `room` lines; the last one then says how many are left out."""
    if len(lines) <= room:
        return list(lines)
    return [*lines[: room - 1], f"… and {len(lines) - room + 1} more"]


def _short(instruction: str, letters: int) -> str:
    """An instruction without the spaces inside braces, cut to so many letters."""
    words = re.sub(r"\{.*?\}", lambda match: match[0].replace(" ", ""), instruction)
    return theme.cut(words, letters)


def _ways(axes: Axes, what: str, ways: Sequence[Way], selected: int) -> None:
    """A row for each way: its requests and its sectors as bars; the selected one in the warp's purple."""
    page.lines(axes, [[(page.MARGIN, WAYS_TOP - 26), (page.WIDTH - page.MARGIN, WAYS_TOP - 26)]], theme.FAINT, 1.0)
    page.text(axes, page.MARGIN, WAYS_TOP - 12, what)
    page.text(axes, REQUESTS_X, WAYS_TOP - 12, "requests")
    page.text(axes, COST_X, WAYS_TOP - 12, ways[selected].unit)
    most_requests = max(way.requests for way in ways) or 1
    most_cost = max(way.cost for way in ways) or 1
    for number, way in enumerate(ways):
        middle = WAYS_TOP + (number + 0.5) * WAY
        here = number == selected
        weight = "bold" if here else "normal"
        if here:
            mark = np.array([[(page.MARGIN, middle - 6), (page.MARGIN + 10, middle), (page.MARGIN, middle + 6)]])
            page.fill(axes, mark, theme.WARP, label="selected")
        page.text(axes, LABEL_X, middle, way.label, size=theme.TEXT, color=theme.INK, weight=weight)
        if way.refused:
            page.text(axes, REQUESTS_X, middle, "refused: misaligned address", color=theme.TROUBLE, weight="bold")
            continue
        colour = theme.WARP if here else theme.WASTE
        for left, width, value, most, label in (
            (REQUESTS_X, REQUESTS_WIDTH, way.requests, most_requests, "requests"),
            (COST_X, COST_WIDTH, way.cost, most_cost, "cost"),
        ):
            length = width * value / most
            page.fill(axes, page.boxes(left, middle - 7, length, 14), colour, label=label)
            page.text(axes, left + length + 7, middle, value, size=theme.TEXT, color=theme.INK, weight=weight)


def widths_figure(rows: Sequence[tuple[str, Sequence[Way]]], title: str) -> theme.Figure:
    """A row for each setting, a column for each way: requests and sectors of a warp, or that it is refused.

    rows: (the setting, its ways); the ways are the same in each.
    """
    if not rows:
        raise ValueError("There is no setting to draw: give at least one (label, ways).")
    allowed = [way for _, ways in rows for way in ways if not way.refused]
    most = max(way.cost for way in allowed)
    fewest, largest = min(way.cost for way in allowed), most
    refused = sum(bool(way.refused) for _, ways in rows for way in ways)
    caption = f"{fewest} to {theme.plural(largest, allowed[0].unit[:-1])} for the same {COPIED} bytes; "
    caption += f"{refused} of {sum(len(ways) for _, ways in rows)} are refused: their addresses are misaligned."
    drawn, axes = page.page(TWIN_TOP + TWIN_ROW * len(rows), title, caption)
    step = (page.WIDTH - page.MARGIN - TWIN_X) / len(rows[0][1])
    with theme.style():
        for number, way in enumerate(rows[0][1]):
            page.text(axes, TWIN_X + number * step, TWIN_TOP - 34, way.label, size=theme.TEXT, color=theme.INK)
            page.text(axes, TWIN_X + number * step, TWIN_TOP - 14, theme.plural(way.requests, "request"))
        for row, (label, ways) in enumerate(rows):
            top = TWIN_TOP + row * TWIN_ROW
            page.lines(axes, [[(page.MARGIN, top), (page.WIDTH - page.MARGIN, top)]], theme.FAINT, 0.8)
            page.text(axes, page.MARGIN, top + TWIN_ROW / 2, label, size=theme.TEXT, color=theme.INK)
            for number, way in enumerate(ways):
                _small_way(axes, way, TWIN_X + number * step, top + TWIN_ROW / 2, (step - 60) / most)
    return drawn


def _small_way(axes: Axes, way: Way, left: float, middle: float, scale: float) -> None:
    if way.refused:
        page.text(axes, left, middle, "misaligned", color=theme.TROUBLE, weight="bold")
        return
    page.fill(axes, page.boxes(left, middle - 7, way.cost * scale, 14), theme.A, label="cost")
    page.text(axes, left + way.cost * scale + 7, middle, way.cost, size=theme.TEXT, color=theme.INK, weight="bold")
