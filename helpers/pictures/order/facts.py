"""The order of one warp's loads, stores and reads, and what lies between a load and the store of its value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from gpusim import Kernel, Recording, SharedNames

LOAD, STORE, COPY, READ = "load", "store", "copy", "read"
KINDS = {"st": STORE, "copy": COPY, "ld": READ}


@dataclass(frozen=True)
class Event:
    """One memory instruction of the warp.

    kind: LOAD, STORE, COPY (asynchronous) or READ.  target: the array's name for a load from global memory, else
    (first, last) byte of the piece of shared memory.
    """

    kind: str
    target: str | tuple[int, int]


def events_of(recording: Recording, tile_bytes: int, block: tuple[int, ...] = (0, 0, 0), warp: int = 0) -> list[Event]:
    """The warp's loads, stores and reads in their order.

    tile_bytes: of a piece of shared memory. Stores to global memory are left out, so are loads of an array that is
    also stored to.
    """
    rows = recording.requests(block=block, warp=warp)
    rows = rows[np.argsort(rows["step"], kind="stable")]
    written = {str(row["array"]) for row in rows if row["space"] == "global" and row["op"] != "ld"}
    events = []
    for row in rows:
        space, op, array = (str(row[name]) for name in ("space", "op", "array"))
        if space == "global" and op == "ld" and array not in written:
            events.append(Event(LOAD, array))
        elif space == "shared":
            first = int(row["address"][row["active"]].min()) // tile_bytes * tile_bytes
            events.append(Event(KINDS.get(op, STORE), (first, first + tile_bytes - 1)))
    return events


def names_of(kernel: Kernel, events: Sequence[Event]) -> dict[tuple[int, int], str]:
    """The pieces of shared memory by the names that the kernel's source gives them, "As[0]" or "Bs".

    Left out is a piece that no name of its own says: two arrays share it, or it is a part of one.
    """
    arrays = SharedNames(kernel.pointers.shared_arrays, {}, kernel.compiled.source, kernel.name)
    pieces = {event.target for event in events if isinstance(event.target, tuple)}
    name_of = {piece: _name(arrays, *piece) for piece in sorted(pieces)}
    names = list(name_of.values())
    return {piece: name for piece, name in name_of.items() if name and names.count(name) == 1}


def _name(arrays: SharedNames, first: int, last: int) -> str:
    """What the first and the last byte of a piece have in common: the array, and its first indices."""
    (array, start, _), (other, stop, _) = (arrays.locate(-1, byte) for byte in (first, last))
    if array != other or not any(other_array.name == array for other_array in arrays.arrays):
        return ""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(start, stop, strict=False))
    return array + "".join(f"[{index}]" for index, _ in same)


def reads_before_stores(events: Sequence[Event]) -> list[int]:
    """For each load whose value is stored: the reads from shared memory between the two, in the order of the stores.

    Stores before the first read are left out, if there are others: nothing can be read before the first tiles are in.
    """
    reads, waiting, first, ahead = 0, [], [], []
    for event in events:
        if event.kind == READ:
            reads += 1
        elif event.kind == LOAD:
            waiting.append(reads)
        elif event.kind == COPY:
            waiting = waiting[:-1]  # its own load, which no store waits for
        elif waiting:
            (ahead if reads else first).append(reads - waiting.pop(0))
    return ahead or first
