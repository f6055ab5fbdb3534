"""Every block of a grouped product with the rows that it stores; below it the blocks in turns, in one launch and in
many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from helpers.pictures import page, theme
from helpers.pictures.grouped.facts import Shares, in_turns, length

BARS_TOP, BAR, TURNS_TOP, SLOT, GAP = 100.0, 96.0, 62.0, 17.0, 40.0  # CSS pixels
LEFT, RIGHT = 150.0, 880.0
CAPTION_LINES = 2


def grouped_figure(shares: Shares, slots: int, title: str, name: str = "expert") -> theme.Figure:
    """slots: blocks that run at a time.  name: what a group is called."""
    together, apart = (in_turns(shares.tiles, slots, way) for way in (True, False))
    busy, none = sum(shares.tiles), len(shares.blocks) - sum(shares.tiles)
    groups = sum(count > 0 for count in shares.tiles)
    caption = (
        f"{busy} blocks have rows of {groups} {name}s, {none} find none, and {theme.percent(shares.used)} of the busy "
        f"blocks' rows are used. With {slots} blocks at a time one launch takes {length(together)} turns, and a launch "
        f"for each {name} {length(apart)}."
    )
    chart = slots * SLOT
    turns_top = BARS_TOP + BAR + TURNS_TOP
    drawn, axes = page.page(turns_top + 2 * chart + GAP + 12, title, caption, CAPTION_LINES)
    with theme.style():
        page.legend(axes, 50, [page.Key(theme.C, f"rows of an {name}, dark and light in turns"),
                               page.Key(theme.WASTE, "computed, and not stored", True),
                               page.Key(theme.FAINT, "no block runs")])  # fmt: skip
        _bars(axes, shares, name)
        for n, (words, placed) in enumerate(((f"one launch: {length(together)} turns", together),
                                             (f"a launch for each: {length(apart)} turns", apart))):  # fmt: skip
            _turns(axes, turns_top + n * (chart + GAP), words, placed, slots, max(length(apart), 1))
    return drawn


def colour(group: int) -> tuple[float, ...]:
    """Of a group: C's, or half of it."""
    share = 1.0 if group % 2 == 0 else 0.5
    return tuple(share * np.array(to_rgb(theme.C)) + (1 - share) * np.array(to_rgb(theme.PAPER)))


def _letters(group: int) -> str:
    return theme.PAPER if group % 2 == 0 else theme.INK


def _bars(axes: Any, shares: Shares, name: str) -> None:
    width = min(54.0, (RIGHT - LEFT) / len(shares.blocks))
    unit = BAR / shares.tile
    bottom = BARS_TOP + BAR
    page.text(axes, LEFT - 14, BARS_TOP + 8, f"{shares.tile} rows", ha="right")
    page.text(axes, LEFT - 14, bottom - 6, "0", ha="right")
    page.text(axes, LEFT - 14, bottom + 16, "blockIdx.y", ha="right")
    for block in shares.blocks:
        x = LEFT + block.number * width
        page.text(axes, x + width / 2, bottom + 16, str(block.number), ha="center")
        if block.group < 0:
            page.outline(axes, page.boxes(x + 2, BARS_TOP, width - 4, BAR), theme.WASTE, 1.0, dashed=True)
            page.text(axes, x + width / 2, bottom - 10, "none", ha="center", size=8)
            continue
        page.hatch(axes, page.boxes(x + 2, BARS_TOP, width - 4, BAR - block.count * unit), label="unused")
        height = block.count * unit
        page.fill(axes, page.boxes(x + 2, bottom - height, width - 4, height), colour(block.group),
                  label="rows")  # fmt: skip
        if block.count * unit >= 14:
            page.text(axes, x + width / 2, bottom - 9, str(block.group), ha="center", color=_letters(block.group))


def _turns(axes: Any, top: float, words: str, placed: Sequence[tuple[int, int, int]], slots: int, longest: int) -> None:
    width = min(60.0, (RIGHT - LEFT) / longest)
    page.text(axes, LEFT, top - 12, words, color=theme.INK)
    for slot in range(slots):
        page.text(axes, LEFT - 14, top + (slot + 0.5) * SLOT, f"slot {slot}", ha="right")
    turns = length(placed)
    page.fill(axes, page.boxes(LEFT, top, turns * width, slots * SLOT - 2), theme.FAINT, label="idle")
    for group, turn, slot in placed:
        page.fill(axes, page.boxes(LEFT + turn * width, top + slot * SLOT, width - 2, SLOT - 2), colour(group),
                  edge=theme.PAPER, line=0.6, label="block")  # fmt: skip
        page.text(axes, LEFT + (turn + 0.5) * width - 1, top + (slot + 0.5) * SLOT - 1, str(group), ha="center",
                  color=_letters(group))  # fmt: skip
