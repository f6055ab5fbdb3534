"""In which order does a warp load, store and read? The picture of the exercises about buffers and loads in flight.

From left to right the warp's memory instructions, as they were recorded; from top to bottom the places they go to: the
matrices in global memory, then shared memory in pieces of one tile. A store that meets reads in its row, close by, is a
tile that is overwritten while it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from helpers.pictures import page, theme
from helpers.pictures.order.facts import COPY, LOAD, READ, STORE, Event, reads_before_stores

# CSS pixels
LEFT, RIGHT, TOP, ROW = 252.0, 886.0, 92.0, 34.0
LEGEND_Y = 50.0
CAPTION_LINES = 2
NAMES = {
    LOAD: "load from global memory",
    STORE: "store to shared memory",
    COPY: "start of a copy to shared memory",
    READ: "read from shared memory",
}
COLOURS = {STORE: theme.INK, COPY: theme.WARP, READ: "#8391A3"}  # the last one a tint of theme.SPEED


def order_figure(
    events: Sequence[Event], title: str, names: Mapping[tuple[int, int], str] | None = None
) -> theme.Figure:
    """A mark for each instruction, in the column of its turn and the row of its place. ValueError without any.

    names: of pieces of shared memory, as the source has them; the others are called by their bytes.
    """
    if not events:
        raise ValueError("The warp makes no load, store or read that could be drawn.")
    arrays = sorted({event.target for event in events if event.kind == LOAD})
    pieces = sorted({event.target for event in events if event.kind != LOAD})
    places = [*arrays, *pieces]
    drawn, axes = page.page(TOP + ROW * len(places) + 10, title, caption(events), CAPTION_LINES)
    step = (RIGHT - LEFT) / len(events)
    with theme.style():
        marks = [(LOAD, array, _colour(array), f"load of {array}") for array in arrays]
        marks += [(kind, None, colour, NAMES[kind]) for kind, colour in COLOURS.items()]
        marks = [mark for mark in marks if any(_is(event, *mark[:2]) for event in events)]
        page.legend(axes, LEGEND_Y, [page.Key(colour, name) for _, _, colour, name in marks])
        page.text(axes, RIGHT, TOP - 14, "time: one instruction after the other →", ha="right")
        for number, target in enumerate(places):
            _row(axes, target, number, (names or {}).get(target, ""))
        for kind, array, colour, name in marks:
            chosen = [(turn, event) for turn, event in enumerate(events) if _is(event, kind, array)]
            turns = np.array([turn for turn, _ in chosen])
            rows = np.array([places.index(event.target) for _, event in chosen])
            width = max(step - 0.6, 1.2) if kind == READ else max(step - 0.6, 4.0)
            boxes = page.boxes(LEFT + turns * step, TOP + rows * ROW + 5, width, ROW - 10)
            page.fill(axes, boxes, colour, label=name)
    return drawn


def caption(events: Sequence[Event]) -> str:
    """'6 loads of warp 0. Between a load and the store that waits for it there are 32 reads from shared memory.'"""
    ahead = reads_before_stores(events)
    loads, copies, reads = (sum(event.kind == kind for event in events) for kind in (LOAD, COPY, READ))
    if copies:
        started = f"{theme.thousands(copies)}\u00a0asynchronous {'copy' if copies == 1 else 'copies'}"
        return f"Warp 0 starts {started} and makes {theme.plural(reads, 'read')} from shared memory."
    text = f"{theme.plural(loads, 'load')} of warp 0"
    if not ahead:
        return f"{text}; none of them is followed by a store to shared memory."
    few, many = min(ahead), max(ahead)
    between = theme.plural(few, "read") if few == many else f"{theme.thousands(few)} to {theme.plural(many, 'read')}"
    return f"{text}. Between a load and the store that waits for it there are {between} from shared memory."


def _is(event: Event, kind: str, array: str | None) -> bool:
    return event.kind == kind and (array is None or event.target == array)


def _colour(array: str, other: str = theme.REFERENCE) -> str:
    """A matrix has its own colour; the other one is that of no store."""
    return theme.ARRAY_NAMES.get(array, other)


def _row(axes: Axes, target: str | tuple[int, int], number: int, known: str) -> None:
    middle = TOP + ROW * (number + 0.5)
    if isinstance(target, str):
        name, colour = f"{'matrix' if target in theme.ARRAY_NAMES else 'array'} {target}", _colour(target)
    elif known:
        name, colour = known, _colour(known[0], theme.INK)
    else:
        name, colour = f"shared bytes {theme.thousands(target[0])} to {theme.thousands(target[1])}", theme.INK
    page.text(axes, LEFT - 10, middle, name, ha="right", color=colour)
    under = TOP + ROW * (number + 1) - 3
    page.lines(axes, [[(LEFT, under), (RIGHT, under)]], theme.FAINT, 0.8)
