"""Which blocks sit on one SM, and which part of C each of their warps computes.

On the left all of C, with the tiles of the blocks that sit together; on the right the SM, a row for each block and a
box for each warp with the rows of C that are its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.seats.facts import Seat

TINTS = ("#CBAEDA", "#E2D1EA")  # of a block: neighbours differ, as in the picture of a filled SM

# CSS pixels
MAP_X, MAP_Y, MAP_SIZE = 14.0, 92.0, 270.0
SM_X, ROW, BOX, NAME = 312.0, 32.0, 43.0, 224.0
CAPTION_LINES = 2
LEAST = MAP_Y + MAP_SIZE + 22.0


def seats_figure(seats: Sequence[Seat], shape: tuple[int, int], sm: str, title: str, caption: str) -> theme.Figure:
    """C and an SM.

    seats: the blocks on the SM.  shape: of C.  sm: its name, "SM 0".  told: the caption.
    """
    height = MAP_Y + ROW * len(seats) + 32
    drawn, axes = page.page(max(LEAST, height), title, caption, CAPTION_LINES)
    with theme.style():
        _map(axes, seats, shape)
        _sm(axes, seats, sm)
    return drawn


def _map(axes: Axes, seats: Sequence[Seat], shape: tuple[int, int]) -> None:
    """All of C, and in it the tiles of the blocks, each with its block's number."""
    M, N = shape
    scale = MAP_SIZE / max(M, N)
    page.text(axes, MAP_X, MAP_Y - 38, "their tiles of C", size=theme.TEXT, color=theme.INK)
    whole = page.boxes(MAP_X, MAP_Y, N * scale, M * scale)
    page.fill(axes, whole, theme.WASTE_FILL, label="C")
    for seat in seats:
        (left, right), (top, bottom) = seat.columns, (seat.rows[0][0], seat.rows[-1][1])
        box = MAP_X + left * scale, MAP_Y + top * scale, (right + 1 - left) * scale, (bottom + 1 - top) * scale
        page.fill(axes, page.boxes(*box), theme.WARP, label="tile")
        inside = left < 0.85 * N  # room for the number between the tile and the edge of C
        x, align = (box[0] + box[2] + 5, "left") if inside else (box[0] - 5, "right")
        page.text(axes, x, box[1] + max(box[3] / 2, 9), seat.block, color=theme.INK, ha=align)
    page.outline(axes, whole, theme.INK, 1.0)


def _sm(axes: Axes, seats: Sequence[Seat], name: str) -> None:
    """The SM: a row for each block, a box for each of its warps."""
    warps = len(seats[0].rows)
    page.text(axes, SM_X, MAP_Y - 38, f"{name}, and the blocks on it", size=theme.TEXT, color=theme.INK)
    frame = page.boxes(SM_X, MAP_Y, NAME + warps * BOX + 4, ROW * len(seats) + 6)
    for warp in range(warps):
        page.text(
            axes, SM_X + NAME + (warp + 0.5) * BOX, MAP_Y - 12, f"warp {warp}" if warp == 0 else warp, ha="center"
        )
    for number, seat in enumerate(seats):
        y = MAP_Y + 4 + ROW * number
        page.text(axes, SM_X + 8, y + ROW / 2, f"block {seat.block}", color=theme.INK)
        page.text(axes, SM_X + 88, y + ROW / 2, f"columns {seat.columns[0]}–{seat.columns[1]}")
        left = SM_X + NAME + BOX * np.arange(warps)
        page.fill(axes, page.boxes(left, y + 2, BOX - 3, ROW - 4), TINTS[number % 2], label="warp")
        page.labels(axes, [str(first) for first, _ in seat.rows], left + BOX / 2 - 1.5, y + ROW / 2, 13, theme.INK)
    page.outline(axes, frame, theme.INK, 1.4)
    page.text(axes, SM_X + 8, MAP_Y + ROW * len(seats) + 22, "in each box: the first row of C that the warp computes")
