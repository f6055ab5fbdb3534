"""Picture 7: which lanes wait for each other?

The 32 banks of shared memory are columns. A row is a wavefront: what they serve in one step, one word each. The cells
carry the lanes that are served. Words that meet in one bank stand below each other, the later ones in the colour of
trouble; a word that several lanes want is one cell. Rows are grouped in the phases of wide accesses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gpusim.devices import BANKS, WARP, WORD_BYTES
from helpers.pictures import marks, page, theme
from helpers.pictures.bank_board.facts import Cell, SharedAccess

# CSS pixels
LEFT, CELL = 86.0, 25.0  # 32 banks of CELL begin at LEFT
CODE_Y, LEGEND_Y = 44.0, 70.0
LANES_TOP, LANES_HEIGHT = 88.0, 22.0
BANKS_TOP, BANKS_HEIGHT = 156.0, 20.0
BOARD_TOP, BOARD_HEIGHT, ROW = 180.0, 288.0, 36.0  # rows of ROW, lower where BOARD_HEIGHT has no room for them
WORDS_ROW = 34.0  # rows of at least this height name the words too
LEAST_ROW = (
    13.0  # letters in lower rows would be too small; an explorer, which has no more room, then numbers some rows
)
LEAST_BOARD = 54.0  # so that the words at its side fit
HEIGHT = BOARD_TOP + BOARD_HEIGHT + 36
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(HEIGHT, CAPTION_LINES)
SMALL_CELL, SMALL_ROW, SMALL_STEP, SIDE_BY_SIDE, SMALL_TOP = 6.0, 10.0, 219.0, 4, 116.0
SMALL_BOARD = 8 * SMALL_ROW  # the highest small board; more wavefronts make lower rows
LETTER, SMALL_LETTER = 13.5, 10.0  # pixels
CODE_LETTERS = 100  # of a monospaced line across the page


def bank_board_figure(access: SharedAccess, title: str, code: str = "", *, whole: bool = False) -> theme.Figure:
    """The warp's lanes, a ray from each to its bank, and the banks' wavefronts below.

    code: the source line of the request.  whole: as high as the highest board, as an explorer needs it.
    """
    rows = 1 + max((cell.wavefront for cell in access.cells), default=0)
    board = BOARD_HEIGHT if whole else max(min(BOARD_HEIGHT, max(rows * ROW, LEAST_BOARD)), rows * LEAST_ROW)
    drawn, axes = page.page(HEIGHT - BOARD_HEIGHT + board, title, caption(access), CAPTION_LINES)
    colour = theme.ARRAY_COLOURS.get(access.array, theme.SPEED)
    with theme.style():
        page.text(axes, page.MARGIN, CODE_Y, theme.cut(code.strip(), CODE_LETTERS), family="monospace", color=theme.INK)
        keys = [
            page.Key(colour, "a word: its lanes, and its number below"),
            page.Key(theme.TROUBLE, "framed: a word that waited for its bank"),
            page.Key(theme.WASTE, "an idle bank", hatched=True),
        ]
        page.legend(axes, LEGEND_Y, keys)
        _lanes(axes, access)
        _rays(axes, access, colour)
        _bank_numbers(axes)
        _board(axes, access, colour, min(ROW, board / rows))
        page.text(axes, page.MARGIN, BOARD_TOP + board + 22, _working(access), color=theme.INK)
    return drawn


def caption(access: SharedAccess) -> str:
    """'Store to As: 8 wavefronts where 1 would do. Bank 0 holds 8 of the words, and serves one at a time.'"""
    name = access.name[0].upper() + access.name[1:]
    if not access.active.any():
        return f"{name}: no lane takes part."
    text = f"{name}: {theme.plural(access.wavefronts, 'wavefront')}"
    phases = len(access.phases)
    if access.wavefronts > access.needed:
        text += f" where {access.needed} would do. "
        busiest = max(access.cells, key=lambda cell: cell.turn)
        whose = "" if phases == 1 else f" of {_part(access)} {busiest.phase + 1}"
        return f"{text}Bank {busiest.bank} holds {busiest.turn + 1} of the words{whose} and serves one at a time."
    if access.needed < access.usual:
        return f"{text} where {access.usual} are usual: lanes share addresses, so that two quarters are served as one."
    if len({cell.word for cell in access.cells}) == 1 and phases == 1:
        return f"{text}: one word broadcast to {theme.plural(int(access.active.sum()), 'lane')}."
    if phases > 1:
        return f"{text} for {8 * access.width} bits per lane, one for each {_part(access)} of the warp."
    return f"{text}, the fewest there can be: no bank holds two of the words."


def _part(access: SharedAccess) -> str:
    """What lanes that are served together are of their warp: 'quarter', 'half'."""
    return "quarter" if max(map(len, access.phases)) <= WARP // 4 else "half"


def _columns(banks: Any) -> Any:
    return LEFT + CELL * np.asarray(banks, float)


def _lanes(axes: Axes, access: SharedAccess) -> None:
    """The warp's bar, hollow where a lane takes no part."""
    page.text(axes, LEFT - 8, LANES_TOP + LANES_HEIGHT / 2, "lanes", ha="right", color=theme.INK)
    for taking_part, fill, ink in (
        (access.active, theme.WARP, theme.PAPER),
        (~access.active, theme.PAPER, theme.WASTE),
    ):
        lanes = np.flatnonzero(taking_part)
        edge = theme.PAPER if fill == theme.WARP else theme.WASTE
        page.fill(axes, page.boxes(_columns(lanes), LANES_TOP, CELL, LANES_HEIGHT), fill, edge=edge, line=0.8)
        page.labels(
            axes, [str(lane) for lane in lanes], _columns(lanes) + CELL / 2, LANES_TOP + LANES_HEIGHT / 2, LETTER, ink,
            label="lanes",
        )  # fmt: skip


def _rays(axes: Axes, access: SharedAccess, colour: str) -> None:
    """A line from each lane to the bank that holds its word; in the colour of trouble if it waits there.

    A wide access takes several banks for a lane, in phases: then brackets say which lanes are served together.
    """
    if len(access.phases) > 1:
        _phase_brackets(axes, access)
        return
    for waits, ink in ((False, colour), (True, theme.TROUBLE)):
        paths = [
            [
                (_columns(lane) + CELL / 2, LANES_TOP + LANES_HEIGHT),
                (_columns(cell.bank) + cell.span * CELL / 2, BANKS_TOP),
            ]
            for cell in access.cells
            if (cell.turn > 0) == waits
            for lane in cell.lanes
        ]
        page.lines(axes, paths, ink, 1.1, label="rays that wait" if waits else "rays")


def _phase_brackets(axes: Axes, access: SharedAccess) -> None:
    top = LANES_TOP + LANES_HEIGHT
    for number, lanes in enumerate(access.phases):
        left, right = float(_columns(lanes[0])) + 2, float(_columns(lanes[-1])) + CELL - 2
        path = [(left, top + 3), (left, top + 9), (right, top + 9), (right, top + 3)]
        page.lines(axes, [path], theme.MUTED, 1.2, label="lanes of a phase")
        page.text(axes, (left + right) / 2, top + 21, f"{_part(access)} {number + 1}", ha="center")


def _bank_numbers(axes: Axes) -> None:
    banks = np.arange(BANKS)
    page.text(axes, LEFT - 8, BANKS_TOP + BANKS_HEIGHT / 2, "banks", ha="right", color=theme.INK)
    page.fill(axes, page.boxes(_columns(banks), BANKS_TOP, CELL, BANKS_HEIGHT), theme.FAINT, edge=theme.PAPER, line=0.8)
    page.labels(
        axes, [str(bank) for bank in banks], _columns(banks) + CELL / 2, BANKS_TOP + BANKS_HEIGHT / 2, LETTER, theme.INK
    )


def _board(axes: Axes, access: SharedAccess, colour: str, height: float) -> None:
    """A row of this height for each wavefront: idle banks hatched, served words filled, a rule between phases."""
    if not access.cells:
        return
    rows = 1 + max(cell.wavefront for cell in access.cells)
    page.hatch(axes, page.boxes(LEFT, BOARD_TOP, BANKS * CELL, rows * height), label="idle banks")
    for waits, fill in ((False, colour), (True, theme.TROUBLE)):
        cells = [cell for cell in access.cells if (cell.turn > 0) == waits]
        corners = _corners(cells, height)
        label = "words that wait" if waits else "words"
        page.fill(axes, corners, fill, edge=theme.PAPER, line=0.8 if height > 14 else 0.4, label=label)
        if waits:  # red and amber are one colour to some readers
            page.outline(axes, _inset(corners, 1.0), theme.INK, 1.8 if height > 14 else 0.8, label=f"frames of {label}")
        _cell_texts(axes, cells, height, theme.ink_on(fill))
        marks.tell(axes, corners, [_of_cell(cell) for cell in cells])
    _row_numbers(axes, access, rows, height)


def _inset(corners: np.ndarray, by: float) -> np.ndarray:
    """Boxes that are smaller on every side, so that the frames of neighbours stand side by side."""
    if not len(corners):
        return corners
    low, high = corners.min(axis=1), corners.max(axis=1)
    return page.boxes(low[:, 0] + by, low[:, 1] + by, *(high - low - 2 * by).T)


def _of_cell(cell: Cell) -> str:
    """'wavefront 2, bank 0: word 128 (byte 512) for lane 1, which waited': what a mark of the board says."""
    banks = f"bank {cell.bank}" if cell.span == 1 else f"banks {cell.bank} to {cell.bank + cell.span - 1}"
    word = f"word {theme.thousands(cell.word)} (byte {theme.thousands(cell.word * WORD_BYTES)})"
    lanes = f"lane {cell.lanes[0]}" if len(cell.lanes) == 1 else f"lanes {', '.join(map(str, cell.lanes))}"
    waited = ", after a wait for the bank" if cell.turn else ""
    return f"wavefront {cell.wavefront + 1}, {banks}: {word} for {lanes}{waited}"


def _corners(cells: Sequence[Cell], height: float) -> np.ndarray:
    banks, spans, fronts = (np.array([getattr(cell, name) for cell in cells]) for name in ("bank", "span", "wavefront"))
    if not cells:
        return np.zeros((0, 4, 2))
    return page.boxes(_columns(banks), BOARD_TOP + fronts * height, spans * CELL, height)


def _cell_texts(axes: Axes, cells: Sequence[Cell], height: float, ink: str) -> None:
    """The lanes of each cell, and where rows are high enough the word below them."""
    cells = [cell for cell in cells if cell.wavefront % _every(height) == 0]
    if not cells:
        return
    size = _letter(height)
    x = np.array([_columns(cell.bank) + cell.span * CELL / 2 for cell in cells])
    top = np.array([BOARD_TOP + cell.wavefront * height for cell in cells])
    names = [lanes_text(cell.lanes, cell.span * CELL - 3, size) for cell in cells]
    with_words = height >= WORDS_ROW
    page.labels(axes, names, x, top + height * (0.34 if with_words else 0.5), size, ink, label="lanes of words")
    if with_words:
        words = [str(cell.word) for cell in cells]
        page.labels(axes, words, x, top + height * 0.75, SMALL_LETTER, ink, label="words")


def _every(height: float) -> int:
    """Of so many rows of this height one has letters, which need LEAST_ROW."""
    return max(1, math.ceil(LEAST_ROW / height))


def _letter(height: float) -> float:
    return min(LETTER, 0.95 * max(height, LEAST_ROW))


def _row_numbers(axes: Axes, access: SharedAccess, rows: int, height: float) -> None:
    """The number of each wavefront; for a wide access a bracket for each phase."""
    x = LEFT - 12 if len(access.phases) > 1 else LEFT - 14
    named = np.arange(0, rows, _every(height))
    page.labels(
        axes, [str(row + 1) for row in named], x, BOARD_TOP + (named + 0.5) * height, _letter(height), theme.INK,
        label="wavefronts",
    )  # fmt: skip
    if len(access.phases) == 1:
        page.text(
            axes, LEFT - 40, BOARD_TOP + rows * height / 2, "wavefronts" if rows > 2 else "wave-\nfront", ha="center",
            rotation=90 if rows > 2 else 0,
        )  # fmt: skip
        return
    for number, lanes in enumerate(access.phases):
        turns = [cell.wavefront for cell in access.cells if cell.phase == number]
        top, bottom = BOARD_TOP + min(turns) * height, BOARD_TOP + (max(turns) + 1) * height
        ends, back = LEFT - 22, LEFT - 26
        bracket = [(ends, top + 2), (back, top + 2), (back, bottom - 2), (ends, bottom - 2)]
        page.lines(axes, [bracket], theme.MUTED, 1.0)
        if number:
            page.lines(axes, [[(LEFT - 26, top), (LEFT + BANKS * CELL, top)]], theme.INK, 1.2, label="phases")
        words = f"lanes\n{lanes[0]}–{lanes[-1]}" if bottom - top >= 26 else f"{lanes[0]}–{lanes[-1]}"
        page.text(axes, LEFT - 30, (top + bottom) / 2, words, ha="right", linespacing=1.0)


def _working(access: SharedAccess) -> str:
    """'lane 0: byte 0 is word 0, in bank 0 % 32 = 0', and the same for the next lane, or one that waits for it."""
    parts = []
    for lane in _telling_lanes(access):
        word = int(access.address[lane]) // WORD_BYTES
        byte = theme.thousands(int(access.address[lane]))
        parts.append(f"lane {lane}: byte {byte} is word {word}, bank {word} % {BANKS} = {word % BANKS}")
    return "          ".join(parts)


def _telling_lanes(access: SharedAccess) -> list[int]:
    """The first lane, and the first that waits in its bank, or else the next lane."""
    lanes = np.flatnonzero(access.active).tolist()
    if len(lanes) < 2:
        return lanes
    first = next(cell for cell in access.cells if lanes[0] in cell.lanes)
    waiting = [c.lanes[0] for c in access.cells if (c.phase, c.bank, c.turn) == (first.phase, first.bank, 1)]
    return [lanes[0], *(waiting or lanes[1:2])]


def lanes_text(lanes: Sequence[int], width: float, size: float) -> str:
    """The lanes as they fit into `width` pixels: "0, 1, 2", else "0–2", else "3 ×" for three lanes."""
    listed = ", ".join(map(str, lanes))
    ranged = ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in _ranges(lanes))
    for words in (listed, ranged, f"{len(lanes)} lanes"):
        if page.text_width(words, size / page.PIXELS_A_POINT) <= width:
            return words
    return f"{len(lanes)}×"


def _ranges(lanes: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of neighbouring numbers as (first, last)."""
    runs: list[tuple[int, int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], lane)
        else:
            runs.append((lane, lane))
    return runs


def bank_boards_figure(boards: Sequence[tuple[str, SharedAccess]], title: str) -> theme.Figure:
    """Several requests as small boards, four in a row: (what is above it, the request)."""
    if not boards:
        raise ValueError("There is no board to draw: give at least one (label, SharedAccess).")
    bands = [boards[start : start + SIDE_BY_SIDE] for start in range(0, len(boards), SIDE_BY_SIDE)]
    heights = [max(_small_rows(access) * _small_row(access) for _, access in band) + 76 for band in bands]
    drawn, axes = page.page(SMALL_TOP - 46 + sum(heights), title, _comparison(boards), 2)
    with theme.style():
        keys = [page.Key(theme.A, "words of the A tile"), page.Key(theme.B, "words of the B tile")]
        keys += [page.Key(theme.TROUBLE, "framed: words that wait"), page.Key(theme.WASTE, "idle banks", hatched=True)]
        page.legend(axes, 46, keys)
        top = SMALL_TOP
        for band, height in zip(bands, heights, strict=True):
            for number, (label, access) in enumerate(band):
                _small_board(axes, label, access, page.MARGIN + number * SMALL_STEP, top)
            top += height
    return drawn


def _comparison(boards: Sequence[tuple[str, SharedAccess]]) -> str:
    """The worst request, and how many have no conflict."""
    label, worst = max(boards, key=lambda board: board[1].wavefronts - board[1].needed)
    free = sum(access.wavefronts == access.needed for _, access in boards)
    if free == len(boards):
        return "None of these requests has a bank conflict."
    cost = f"{theme.plural(worst.wavefronts, 'wavefront')} where {worst.needed} would do"
    return f"Worst is the {worst.name} of {label}: {cost}. Without a conflict: {free} of {len(boards)}."


def _small_rows(access: SharedAccess) -> int:
    return max(access.wavefronts, 1)


def _small_row(access: SharedAccess) -> float:
    return min(SMALL_ROW, SMALL_BOARD / _small_rows(access))


def _small_board(axes: Axes, label: str, access: SharedAccess, left: float, top: float) -> None:
    rows, height = _small_rows(access), _small_row(access)
    colour = theme.ARRAY_COLOURS.get(access.array, theme.SPEED)
    page.text(axes, left, top - 32, label, size=theme.TEXT, color=theme.INK)
    page.text(axes, left, top - 13, f"{access.name}, {8 * access.width} bits")
    page.hatch(axes, page.boxes(left, top, BANKS * SMALL_CELL, rows * height))
    for cell in access.cells:
        fill = theme.TROUBLE if cell.turn else colour
        box = page.boxes(left + cell.bank * SMALL_CELL, top + cell.wavefront * height, cell.span * SMALL_CELL, height)
        page.fill(axes, box, fill, edge=theme.PAPER, line=0.4, label="words that wait" if cell.turn else "words")
        if cell.turn:
            page.outline(axes, _inset(box, 0.5), theme.INK, 0.7, label="frames of words that wait")
    ink = theme.TROUBLE if access.wavefronts > access.needed else theme.INK
    count = theme.plural(access.wavefronts, "wavefront")
    count += f", {access.needed} would do" if access.wavefronts > access.needed else ""
    page.text(axes, left, top + rows * height + 14, count, color=ink, weight="bold")
