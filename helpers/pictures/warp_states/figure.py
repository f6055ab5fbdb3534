"""What do the warps of a scheduler wait for? A row per warp, a column per clock cycle, and below what is issued."""

from __future__ import annotations

import numpy as np

from helpers.pictures import marks, page, theme
from helpers.pictures.budget.figure import COLOURS, OTHER_WAITS, WORDS, in_rows
from helpers.pictures.warp_states.facts import AWAY, FMA, OTHER, READY, WarpStates

READY_WORDS, IDLE_WORDS = "ready, but another one issues", "nothing is issued"

# CSS pixels
LEFT, RIGHT, KEY_TOP, KEY_ROW = 118.0, page.WIDTH - 24.0, 48.0, 22.0
ROW, GAP, BELOW = 26.0, 14.0, 30.0


def warp_states_figure(data: WarpStates, title: str, caption: str) -> theme.Figure:
    """The warps' rows and the scheduler's. caption: the sentence below, with its number."""
    states = {state for row in data.rows for state in row}
    keys = [page.Key(COLOURS[name], words) for name, words in WORDS.items() if name in states and name in COLOURS]
    if states - set(COLOURS) - {READY, AWAY}:
        keys.append(page.Key(COLOURS[OTHER_WAITS], OTHER_WAITS))
    keys += [page.Key(theme.WASTE_FILL, READY_WORDS)] if READY in states else []
    keys += [page.Key(theme.WASTE, IDLE_WORDS, hatched=True)] if AWAY in data.issued else []
    rows = in_rows(keys)
    top = KEY_TOP + KEY_ROW * len(rows) + 10
    bottom = top + ROW * len(data.rows)
    drawn, axes = page.page(bottom + GAP + ROW + BELOW, title, caption, 2)
    cell = (RIGHT - LEFT) / data.cycles
    left = LEFT + cell * np.arange(data.cycles)
    line = 0.8 if cell > 6 else 0.0
    with theme.style():
        for number, entries in enumerate(rows):
            page.legend(axes, KEY_TOP + KEY_ROW * number, entries)
        for number, (name, row) in enumerate(zip(data.names, data.rows, strict=True)):
            y = top + number * ROW
            page.text(axes, page.MARGIN, y + ROW / 2 - 2, name, size=theme.TEXT, color=theme.INK)
            for state in dict.fromkeys(row):
                here = np.array([other == state for other in row])
                boxes = page.boxes(left[here], y, cell, ROW - 4)
                if state == AWAY:
                    continue
                colour = theme.WASTE_FILL if state == READY else COLOURS.get(state, COLOURS[OTHER_WAITS])
                page.fill(axes, boxes, colour, edge=theme.PAPER, line=line, label=f"{name} {state}")
                words = READY_WORDS if state == READY else WORDS.get(state, state.replace("_", " ").title())
                cycles = np.flatnonzero(here) + 1
                marks.tell(axes, boxes, [f"{name}, cycle {cycle}: {words}" for cycle in cycles])
        y = bottom + GAP
        page.text(axes, page.MARGIN, y + ROW / 2, "scheduler", size=theme.TEXT, color=theme.INK)
        issued = np.array(data.issued)
        page.hatch(axes, page.boxes(left[issued == AWAY], y, cell, ROW), label="idle")
        for state in (FMA, OTHER):
            boxes = page.boxes(left[issued == state], y, cell, ROW) if (issued == state).any() else []
            page.fill(axes, boxes, COLOURS[state], edge=theme.PAPER, line=line, label=f"issues {state}")
        page.outline(axes, page.boxes(LEFT, y, cell * data.cycles, ROW), theme.INK, 1.0)
        for cycle in range(data.cycles):
            page.text(axes, LEFT + (cycle + 0.5) * cell, y + ROW + 13, cycle + 1, ha="center")
        page.text(axes, page.MARGIN, y + ROW + 13, "clock cycle", color=theme.INK)
    return drawn
