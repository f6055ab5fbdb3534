"""In which order does a warp load, store and read? The picture of the exercises about buffers and loads in flight.

From left to right the warp's memory instructions, as they were recorded; from top to bottom the places they go to: the
matrices in global memory, then shared memory in pieces of one tile. A store that meets reads in its row, close by, is a
tile that is overwritten while it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from helpers.draw import page, theme

# CSS pixels
LEFT, RIGHT, TOP, ROW = 252.0, 886.0, 92.0, 34.0
LEGEND_Y = 50.0
CAPTION_LINES = 2
LOAD, STORE, COPY, READ = "load", "store", "copy", "read"
NAMES = {
    LOAD: "load from global memory",
    STORE: "store to shared memory",
    COPY: "start of a copy to it",
    READ: "read from it",
}
COLOURS = {LOAD: theme.A, STORE: theme.INK, COPY: theme.WARP, READ: "#9AA7B8"}  # the last one a tint of theme.SPEED
KINDS = {"st": STORE, "copy": COPY, "ld": READ}


@dataclass(frozen=True)
class Event:
    """One memory instruction of the warp. kind: LOAD, STORE, COPY (asynchronous) or READ.  place: its row's name."""

    kind: str
    place: str


def events_of(recording: Any, tile_bytes: int, block: tuple[int, ...] = (0, 0, 0), warp: int = 0) -> list[Event]:
    """The warp's loads, stores and reads in their order.

    tile_bytes: of shared memory that make a row. Stores to global memory are left out, so are loads of an array that is
    also stored to.
    """
    rows = recording.requests(block=block, warp=warp)
    rows = rows[np.argsort(rows["step"], kind="stable")]
    written = {str(row["array"]) for row in rows if row["space"] == "global" and row["op"] != "ld"}
    found = []
    for row in rows:
        space, op, array = (str(row[name]) for name in ("space", "op", "array"))
        if space == "global" and op == "ld" and array not in written:
            found.append(Event(LOAD, array))
        elif space == "shared":
            first = int(row["address"][row["active"]].min()) // tile_bytes * tile_bytes
            last = theme.thousands(first + tile_bytes - 1)
            found.append(Event(KINDS.get(op, STORE), f"bytes {theme.thousands(first)} to {last}"))
    return found


def reads_before_stores(events: Sequence[Event]) -> list[int]:
    """For each load whose value is stored: the reads from shared memory between the two, in the order of the stores."""
    reads, waiting, found = 0, [], []
    for event in events:
        if event.kind == READ:
            reads += 1
        elif event.kind == LOAD:
            waiting.append(reads)
        elif event.kind == COPY:
            waiting = waiting[:-1]  # its own load, which no store waits for
        elif waiting:
            found.append(reads - waiting.pop(0))
    return found


def order_figure(events: Sequence[Event], title: str) -> theme.Figure:
    """A mark for each instruction, in the column of its turn and the row of its place. ValueError without any."""
    if not events:
        raise ValueError("The warp makes no load, store or read that could be drawn.")
    arrays = sorted({event.place for event in events if event.kind == LOAD})
    pieces = sorted({event.place for event in events if event.kind != LOAD}, key=_first_byte)
    places = [*arrays, *pieces]
    drawn, axes = page.page(TOP + ROW * len(places) + 10, title, caption(events), CAPTION_LINES)
    step = (RIGHT - LEFT) / len(events)
    with theme.style():
        kinds = [kind for kind in NAMES if any(event.kind == kind for event in events)]
        page.legend(axes, LEGEND_Y, [page.Key(COLOURS[kind], NAMES[kind]) for kind in kinds])
        page.text(axes, RIGHT, TOP - 14, "time: one instruction after the other →", ha="right")
        for number, place in enumerate(places):
            _row(axes, place, number, place in arrays)
        for kind, colour in COLOURS.items():
            chosen = [(turn, event) for turn, event in enumerate(events) if event.kind == kind]
            if not chosen:
                continue
            turns = np.array([turn for turn, _ in chosen])
            rows = np.array([places.index(event.place) for _, event in chosen])
            width = max(step - 0.6, 1.2) if kind == READ else max(step - 0.6, 4.0)
            boxes = page.boxes(LEFT + turns * step, TOP + rows * ROW + 5, width, ROW - 10)
            page.fill(axes, boxes, colour, label=NAMES[kind])
    return drawn


def caption(events: Sequence[Event]) -> str:
    """'6 loads of warp 0. Between a load and the store that waits for it there are 32 reads from shared memory …'"""
    found = reads_before_stores(events)
    loads, copies, reads = (sum(event.kind == kind for event in events) for kind in (LOAD, COPY, READ))
    if copies:
        started = f"{theme.thousands(copies)}\u00a0asynchronous {'copy' if copies == 1 else 'copies'}"
        return f"Warp 0 starts {started} and makes {theme.plural(reads, 'read')} from shared memory."
    text = f"{theme.plural(loads, 'load')} of warp 0"
    later = found[2:] or found
    if not later:
        return f"{text}; none of them is followed by a store to shared memory."
    few, many = min(later), max(later)
    between = theme.plural(few, "read") if few == many else f"{theme.thousands(few)} to {theme.plural(many, 'read')}"
    after = " after the first round" if found[2:] else ""
    return f"{text}. Between a load and the store that waits for it there are {between} from shared memory{after}."


def _row(axes: Axes, place: str, number: int, is_array: bool) -> None:
    middle = TOP + ROW * (number + 0.5)
    colour = theme.ARRAY_COLOURS.get(place, theme.INK) if is_array else theme.INK
    name = f"matrix {place}" if is_array else f"shared {place}"
    page.text(axes, LEFT - 10, middle, name, ha="right", color=colour)
    page.lines(axes, [[(LEFT, middle), (RIGHT, middle)]], theme.FAINT, 0.8)


def _first_byte(place: str) -> int:
    digits = place.split(" to ")[0].removeprefix("bytes ")
    return int("".join(filter(str.isdigit, digits)))
