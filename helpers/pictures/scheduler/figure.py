"""Who issues, and who waits? One scheduler and its warps, cycle by cycle.

A row a warp, a column a clock cycle. The row at the bottom is the scheduler: in every cycle it issues an instruction of
one warp that is ready, or finds none and is idle, which is hatched. The timeline is a model, not a measurement.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import marks, page, theme
from helpers.pictures.scheduler.model import NO_WARP, Timeline, warps_to_hide

WAITING = "#E6D9EC"  # pale purple: a warp between issue and result

# CSS pixels
LEFT, RIGHT, TOP = 104.0, 888.0, 76.0
MOST_ROWS_HEIGHT, MOST_ROW, GAP, SCHEDULER, BELOW = 264.0, 24.0, 12.0, 24.0, 26.0
CAPTION_LINES = 2
FIGURE_HEIGHT = page.full_height(TOP + MOST_ROWS_HEIGHT + GAP + SCHEDULER + BELOW, CAPTION_LINES)
LIST_LEFT, LIST_RIGHT, LIST_TOP, LIST_ROW, LIST_BAR = 330.0, 806.0, 86.0, 36.0, 18.0
UNIT = 96.0  # for the words about a unit that not every cycle is free


def scheduler_figure(data: Timeline, title: str, room: int = 0) -> theme.Figure:
    """The warps' rows and the scheduler's, with the share of cycles in which it issues.

    room: warps for which the picture keeps room, so that it does not change its height while a slider moves.
    """
    row = min(MOST_ROW, MOST_ROWS_HEIGHT / data.warps)
    room = max(room, data.warps)
    height = TOP + room * min(MOST_ROW, MOST_ROWS_HEIGHT / room) + GAP + SCHEDULER + BELOW
    drawn, axes = page.page(height, title, caption(data), CAPTION_LINES)
    with theme.style():
        keys = [page.Key(theme.WARP, "issues"), page.Key(WAITING, "waits for a result")]
        keys += [page.Key(theme.FAINT, "ready, not selected"), page.Key(theme.WASTE, "scheduler idle", hatched=True)]
        page.legend(axes, 46, keys)
        cell = (RIGHT - LEFT) / len(data.issued)
        bottom = TOP + row * data.warps
        for warp in range(data.warps):
            _warp(axes, data, warp, TOP + warp * row, row, cell)
        _issues(axes, data, LEFT, bottom + GAP, cell, SCHEDULER)
        page.text(axes, page.MARGIN, bottom + GAP + SCHEDULER / 2, "scheduler", size=theme.TEXT, color=theme.INK)
        for cycle in range(0, len(data.issued), 10):
            x = LEFT + (cycle + 0.5) * cell
            page.text(axes, x, bottom + GAP + SCHEDULER + 12, cycle, ha="center")
        page.text(axes, page.MARGIN, bottom + GAP + SCHEDULER + 12, "clock cycle", color=theme.INK)
    return drawn


def caption(data: Timeline) -> str:
    """'4 warps, 2 independent instructions each, a result after 20 cycles: the scheduler issues in 24 of 60 …'"""
    text = theme.plural(data.warps, "warp")
    if data.independent > 1:
        text += f", {theme.plural(data.independent, 'independent instruction')}{' each' if data.warps > 1 else ''}"
    text += f", a result after {theme.plural(data.latency, 'cycle')}: the scheduler issues in {data.busy} of "
    text += f"{theme.plural(len(data.issued), 'cycle')}, {_share(data)}."
    if data.every > 1:
        text += f" The unit takes one in {data.every} cycles, at most {theme.percent(1 / data.every, 0)}."
    enough = warps_to_hide(data.latency, data.independent, data.every)
    if data.warps < enough:
        return text + f" {theme.plural(enough, 'warp')} would keep it busy."
    return text + f" {theme.plural(enough, 'warp')} {'is' if enough == 1 else 'are'} enough to keep it busy."


def _share(data: Timeline) -> str:
    return theme.percent(data.busy / len(data.issued), 0)


def _warp(axes: Axes, data: Timeline, warp: int, top: float, row: float, cell: float) -> None:
    """One warp: where it issues, waits, or is ready while another one is chosen."""
    height = row - min(3.0, row / 5)
    left = LEFT + cell * np.arange(len(data.issued))
    issues = np.array([issuer == warp for issuer in data.issued])
    waits = np.array(data.waits(warp)) & ~issues
    page.fill(axes, page.boxes(left[waits], top, cell, height), WAITING, label=f"warp {warp} waits")
    ready = ~issues & ~waits
    page.fill(axes, page.boxes(left[ready], top, cell, height), theme.FAINT, label=f"warp {warp} ready")
    page.fill(axes, page.boxes(left[issues], top, cell, height), theme.WARP, edge=theme.PAPER, line=0.5,
              label=f"warp {warp} issues")  # fmt: skip
    for cycles, what in ((issues, "issues"), (waits, "waits for a result"), (ready, "ready, another one issues")):
        words = [f"warp {warp}, cycle {cycle}: {what}" for cycle in np.flatnonzero(cycles)]
        marks.tell(axes, page.boxes(left[cycles], top, cell, height), words)
    if row >= 13:
        page.text(axes, page.MARGIN, top + height / 2, f"warp {warp}", color=theme.INK)
    elif warp % 4 == 0:
        page.text(axes, page.MARGIN, top + row / 2, f"warp {warp} …", color=theme.INK)


def _issues(axes: Axes, data: Timeline, left: float, top: float, cell: float, height: float) -> None:
    """The scheduler's row: a cell for every cycle, solid where it issues."""
    x = left + cell * np.arange(len(data.issued))
    idle = np.array([issuer == NO_WARP for issuer in data.issued])
    page.hatch(axes, page.boxes(x[idle], top, cell, height), label="idle")
    page.fill(axes, page.boxes(x[~idle], top, cell, height), theme.SPEED, edge=theme.PAPER, line=0.5, label="busy")
    page.outline(axes, page.boxes(left, top, cell * len(data.issued), height), theme.INK, 1.0)


def schedulers_figure(rows: Sequence[Timeline], title: str) -> theme.Figure:
    """Several settings under each other: only the scheduler's row, and the share of cycles in which it issues."""
    if not rows:
        raise ValueError("There is no timeline to draw: give at least one.")
    fewest = min(rows, key=lambda row: row.busy / len(row.issued))
    most = max(rows, key=lambda row: row.busy / len(row.issued))
    differ = any(row.independent > 1 for row in rows)
    left = LIST_LEFT + (UNIT if any(row.every > 1 for row in rows) else 0)
    caption = f"From {_share(fewest)} of the cycles ({_setting(fewest, differ)}) to {_share(most)} "
    caption += f"({_setting(most, differ)})."
    drawn, axes = page.page(LIST_TOP + LIST_ROW * len(rows) + 4, title, caption, 2)
    with theme.style():
        keys = [page.Key(theme.SPEED, "an instruction is issued"), page.Key(theme.WASTE, "idle", hatched=True)]
        page.legend(axes, 46, keys)
        page.text(axes, page.WIDTH - page.MARGIN, LIST_TOP - 14, "cycles used", ha="right")
        for number, row in enumerate(rows):
            middle = LIST_TOP + (number + 0.5) * LIST_ROW
            page.text(axes, page.MARGIN, middle, _setting(row, differ), size=theme.TEXT, color=theme.INK)
            cell = (LIST_RIGHT - left) / len(row.issued)
            _issues(axes, row, left, middle - LIST_BAR / 2, cell, LIST_BAR)
            page.text(axes, page.WIDTH - page.MARGIN, middle, _share(row), size=theme.TEXT, color=theme.INK,
                      weight="bold", ha="right")  # fmt: skip
    return drawn


def _setting(row: Timeline, independent: bool) -> str:
    """'4 warps, 2 independent each'; '4 warps' where no row has more than one independent instruction."""
    unit = f"; unit: one in {row.every}" if row.every > 1 else ""
    if not independent:
        return theme.plural(row.warps, "warp") + unit
    return f"{theme.plural(row.warps, 'warp')}, {row.independent} independent{' each' if row.warps > 1 else ''}{unit}"
