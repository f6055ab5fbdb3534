"""The order of one warp's loads, stores and reads, and what lies between a load and the store of its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from helpers.simulator import Recording

LOAD, STORE, COPY, READ = "load", "store", "copy", "read"
KINDS = {"st": STORE, "copy": COPY, "ld": READ}


@dataclass(frozen=True)
class Event:
    """One memory instruction of the warp.

    kind: LOAD, STORE, COPY (asynchronous) or READ.  place: the array's name for a load from global memory, else (first,
    last) byte of the piece of shared memory.
    """

    kind: str
    place: str | tuple[int, int]


def events_of(recording: Recording, tile_bytes: int, block: tuple[int, ...] = (0, 0, 0), warp: int = 0) -> list[Event]:
    """The warp's loads, stores and reads in their order.

    tile_bytes: of a piece of shared memory. Stores to global memory are left out, so are loads of an array that is
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
            found.append(Event(KINDS.get(op, STORE), (first, first + tile_bytes - 1)))
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
