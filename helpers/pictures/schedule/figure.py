"""Who multiplies what, and when? The SMs as lines of time, with the pieces of tiles that they work on.

Each tile of C has its own shade; a whole tile is as long as all its iterations. Hatched is the time in which an SM has
nothing to do although another one is still at work.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.schedule.facts import Schedule

TINTS = ("#018264", "#B5E2D6", "#005A41", "#8FD6C2")  # C's green in four shades: neighbours in time differ

# CSS pixels
LEFT, RIGHT, TOP = 84.0, page.WIDTH - 96.0, 76.0
ROW, HEAD, GAP = 22.0, 26.0, 26.0
LETTER = 12.0


def schedules_figure(schedules: Sequence[Schedule], title: str) -> theme.Figure:
    """One panel below the other, on one axis of time. Raises ValueError without a schedule."""
    if not schedules:
        raise ValueError("There is no schedule to draw.")
    heights = [HEAD + ROW * len(schedule.work) + GAP for schedule in schedules]
    drawn, axes = page.page(TOP + sum(heights) + 20, title, caption(schedules), 2)
    scale = (RIGHT - LEFT) / max(schedule.length for schedule in schedules)
    with theme.style():
        keys = [page.Key(TINTS[0], "an SM multiplies for this tile of C"), page.Key(TINTS[1], "for another one")]
        keys.append(page.Key(theme.WASTE, "nothing to do", hatched=True))
        page.legend(axes, 48, keys)
        if any(schedule.parts for schedule in schedules):
            page.text(axes, RIGHT + 60, 48, "tile 2, 4–7: its iterations 4 to 7", ha="right")
        top = TOP
        for schedule, height in zip(schedules, heights, strict=True):
            _panel(axes, schedule, top, scale)
            top += height
        page.text(axes, RIGHT, top, "time, in iterations of the main loop →", ha="right", color=theme.INK)
    return drawn


def caption(schedules: Sequence[Schedule]) -> str:
    """'whole tiles: 16 iterations, the SMs are busy for 63 % of the time; …'"""
    parts = (
        f"{schedule.name}: {theme.plural(schedule.length, 'iteration')}, SMs busy for {100 * schedule.busy:.0f}\u202f%"
        for schedule in schedules
    )
    return f"By counting – {'; '.join(parts)}."


def _panel(axes: Axes, schedule: Schedule, top: float, scale: float) -> None:
    page.text(axes, LEFT, top + 10, schedule.name, size=theme.TEXT, color=theme.INK, weight="bold")
    first = top + HEAD
    for sm, pieces in enumerate(schedule.work):
        y = first + sm * ROW
        page.text(axes, LEFT - 10, y + ROW / 2, f"SM {sm}", ha="right", color=theme.INK)
        steps = np.array([piece.steps for piece in pieces], float)
        x = LEFT + scale * (np.cumsum(steps) - steps)
        boxes = page.boxes(x, y + 2, scale * steps, ROW - 4) if len(steps) else []
        page.fill(axes, boxes, [TINTS[piece.tile % 4] for piece in pieces], edge=theme.PAPER, line=1.2, label="pieces")
        _names(axes, pieces, x, scale * steps, y + ROW / 2, schedule.steps)
        done = LEFT + scale * steps.sum()
        end = LEFT + scale * schedule.length
        if end - done > 0.5:
            page.hatch(axes, page.boxes(done, y + 2, end - done, ROW - 4), label="idle")
    bottom, end = first + ROW * len(schedule.work), LEFT + scale * schedule.length
    page.lines(axes, [[(end, first - 4), (end, bottom + 4)]], theme.INK, 1.4)
    page.text(axes, end + 8, (first + bottom) / 2, f"done\nafter {schedule.length}", color=theme.INK)


def _names(axes: Axes, pieces: Sequence, x: np.ndarray, widths: np.ndarray, y: float, steps: int) -> None:
    """'tile 3', for a part of a tile 'tile 3, k 4–7' with its iterations, as far as there is room."""
    for piece, left, width in zip(pieces, x, widths, strict=True):
        whole = piece.steps == steps
        part = f", {piece.first}" if piece.steps == 1 else f", {piece.first}–{piece.last - 1}"
        for words in (f"tile {piece.tile}" + ("" if whole else part), str(piece.tile)):
            if page.text_width(words) < width - 6:
                page.labels(axes, [words], left + width / 2, y, LETTER, theme.ink_on(TINTS[piece.tile % 4]))
                break
