"""A, B and C as they lie in memory, with a block's tile and what warp 0 asks for; below, the bytes of the launch."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.pictures import page, theme
from helpers.pictures.operands.facts import Moved, Operand

TOP, GAP, BARS, BAR = 110.0, 34.0, 30.0, 24.0  # CSS pixels
MATRICES = 268.0  # of the highest
LEFT = 150.0
CAPTION_LINES = 2
HEIGHT = TOP + MATRICES + BARS + 3 * BAR + 30


def operands_figure(moved: Moved, title: str) -> theme.Figure:
    """The matrices of a batch are sheets behind each other."""
    cell = min(
        (page.WIDTH - 2 * page.MARGIN - 2 * GAP - 24) / sum(operand.leading for operand in moved.operands),
        (MATRICES - 24) / max(operand.stored[0] for operand in moved.operands),
    )
    a, b, c = moved.operands
    caption = (
        f"A load request of warp 0 touches {a.request.sectors} sectors of A and {b.request.sectors} of B, and its "
        f"store {c.request.sectors} of C. In {theme.plural(moved.launches, 'launch', 'es')} "
        f"{theme.thousands(moved.loaded)} bytes are loaded and {theme.thousands(moved.stored)} are stored."
    )
    drawn, axes = page.page(HEIGHT, title, caption, CAPTION_LINES)
    with theme.style():
        page.legend(axes, 50, [page.Key(theme.WARP, "what warp 0 asks for in one request"),
                               page.Key(theme.WASTE, "gap between rows", True)])  # fmt: skip
        x = page.MARGIN
        for operand in moved.operands:
            _matrix(axes, x, operand, cell)
            x += operand.leading * cell + GAP + 6 * (operand.sheets > 1)
        top = TOP + MATRICES + BARS
        rows = (("loaded", moved.loaded, theme.SPEED), ("stored", moved.stored, theme.C),
                ("needed at least", moved.needed, theme.REFERENCE))  # fmt: skip
        longest = max(value for _, value, _ in rows)
        for n, (words, value, colour) in enumerate(rows):
            y, width = top + n * BAR, value / longest * (page.WIDTH - LEFT - 150)
            page.text(axes, LEFT - 12, y + BAR / 2, words, ha="right", color=theme.INK)
            page.fill(axes, page.boxes(LEFT, y + 3, width, BAR - 6), colour, label=words)
            page.text(axes, LEFT + width + 8, y + BAR / 2, f"{theme.thousands(value)} bytes", color=theme.INK)
    return drawn


def _matrix(axes: Any, left: float, operand: Operand, cell: float) -> None:
    rows, columns = operand.stored
    colour = theme.ARRAY_COLOURS[operand.name]
    gap = operand.leading - columns
    words = f"{operand.name}: {rows} × {columns}, ld = {operand.leading}"
    page.text(axes, left, TOP - 26, words, color=theme.ARRAY_NAMES[operand.name], weight="bold")
    for sheet in range(operand.sheets - 1, 0, -1):
        page.outline(
            axes, page.boxes(left + 5 * sheet, TOP + 5 * sheet, operand.leading * cell, rows * cell), theme.MUTED, 0.8
        )
        page.fill(axes, page.boxes(left + 5 * sheet, TOP + 5 * sheet, operand.leading * cell, rows * cell), theme.PAPER)
    page.fill(axes, page.boxes(left, TOP, columns * cell, rows * cell), theme.WASTE_FILL)
    if gap:
        page.hatch(axes, page.boxes(left + columns * cell, TOP, gap * cell, rows * cell), label="gap")
    row, column, high, wide = operand.tile
    page.fill(axes, page.boxes(left + column * cell, TOP + row * cell, wide * cell, high * cell), colour, label="tile")
    lanes = np.asarray(operand.lanes)
    page.fill(axes, page.boxes(left + lanes[:, 1] * cell, TOP + lanes[:, 0] * cell, cell, cell), theme.WARP,
              edge=theme.PAPER, line=0.3, label="lanes")  # fmt: skip
    sectors = np.unique((lanes[:, 0] * operand.leading + lanes[:, 1]) // 8)
    page.text(axes, left, TOP - 9, f"{len(lanes)} lanes, {theme.plural(len(sectors), 'sector')}", color=theme.MUTED)
    page.outline(axes, page.boxes(left, TOP, operand.leading * cell, rows * cell), colour, 1.2)
