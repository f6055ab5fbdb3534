"""One warp's access to one array, out of a recording: the facts that the sector pictures and address tables show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from gpusim import Recording, counting
from gpusim.devices import FLOAT_BYTES, SECTOR_BYTES, WARP
from helpers.pictures import CannotTell

VERBS = {"ld": "load", "st": "store", "atom": "atomic update"}


@dataclass(frozen=True, eq=False)
class WarpAccess:
    """One request: what the 32 lanes of a warp asked of one array at one step.

    array: the kernel parameter's name.  op: "ld", "st" or "atom".  step: which of the warp's requests to this array it
    is, counted from 0; for the loads of A and B in a loop over k that is k.  block, warp: who asked.
    address: (32,) int64 byte addresses.  offset: (32,) int64 bytes from the array's start.  active: (32,) bool.
    width: bytes a lane.
    """

    array: str
    op: Literal["ld", "st", "atom"]
    step: int
    block: tuple[int, int, int]
    warp: int
    address: np.ndarray
    offset: np.ndarray
    active: np.ndarray
    width: int = FLOAT_BYTES

    def __post_init__(self) -> None:
        for name in ("address", "offset", "active"):
            if np.shape(getattr(self, name)) != (WARP,):
                raise ValueError(f"A warp has {WARP} lanes, but {name} has the shape {np.shape(getattr(self, name))}.")

    def _count(self, rule: Any) -> int:
        return int(rule(self.address[None, :], self.active[None, :], self.width)[0])

    @cached_property
    def sectors(self) -> int:
        """Distinct 32-byte sectors."""
        return self._count(counting.sectors)

    @cached_property
    def tags(self) -> int:
        """Distinct 128-byte lines: the cache looks up one tag for each."""
        return self._count(counting.tags)

    @cached_property
    def useful_bytes(self) -> int:
        """Distinct bytes that the lanes asked for; a word that many lanes share counts once."""
        return self._count(counting.useful_bytes)

    @property
    def moved_bytes(self) -> int:
        """Bytes that the memory sends: whole sectors."""
        return self.sectors * SECTOR_BYTES

    @property
    def used_share(self) -> float:
        """Useful bytes as a share of the moved ones, 0 … 1."""
        return self.useful_bytes / self.moved_bytes if self.moved_bytes else 0.0

    @property
    def is_broadcast(self) -> bool:
        """Several lanes, and all of them read the same address."""
        wanted = self.address[self.active]
        return len(wanted) > 1 and bool((wanted == wanted[0]).all())

    @property
    def base(self) -> int:
        """Byte address of the array's start; 0 if no lane takes part."""
        lanes = np.flatnonzero(self.active)
        return int(self.address[lanes[0]] - self.offset[lanes[0]]) if len(lanes) else 0

    @cached_property
    def sector_starts(self) -> np.ndarray:
        """(sectors,) int64, ascending: the byte of the array at which each touched sector starts.

        Negative if the array itself starts inside a sector.
        """
        ids = counting.sector_ids(self.address[None, :], self.active[None, :], self.width)
        return ids * SECTOR_BYTES - self.base

    @property
    def name(self) -> str:
        """'load of A'."""
        return f"{VERBS[self.op]} of {self.array}"


def warp_access(
    recording: Recording, array: str, op: str = "ld", k: int = 0, block: tuple[int, ...] = (0, 0, 0), warp: int = 0
) -> WarpAccess:
    """The k-th request of one warp to one array, from a recording.

    array: the kernel parameter's name, for example "A".  op: "ld" or "st".  k: counted from 0 over this warp's requests
    with that array and op, in the order in which they were executed.
    CannotTell says what was recorded instead if there is no such request.
    """
    block = (*block, 0, 0, 0)[:3]
    rows = recording.requests(space="global", op=op, block=block, warp=warp, array=array)
    if not 0 <= k < len(rows):
        raise CannotTell(_nothing(recording, array, op, k, block, warp, len(rows)))
    row = rows[np.argsort(rows["step"], kind="stable")[k]]
    return WarpAccess(
        array=array,
        op=op,
        step=k,
        block=block,
        warp=warp,
        address=np.array(row["address"]),
        offset=np.array(row["offset"]),
        active=np.array(row["active"]),
        width=int(row["width"]),
    )


def gemm_accesses(
    recording: Recording, k: int = 0, block: tuple[int, ...] = (0, 0, 0), warp: int = 0
) -> tuple[WarpAccess, WarpAccess, WarpAccess]:
    """One warp's load of A and of B at step k and its store of C: the three ribbons of picture 3."""
    return (
        warp_access(recording, "A", "ld", k, block, warp),
        warp_access(recording, "B", "ld", k, block, warp),
        warp_access(recording, "C", "st", 0, block, warp),
    )


MOST_ARRAYS = 3  # of one picture


def first_accesses(
    recording: Recording, number: int = 0, block: tuple[int, ...] = (0, 0, 0), warp: int = 0
) -> tuple[WarpAccess, ...]:
    """One warp's request of this number to each array, in the order in which the kernel first touches them; its last
    one to an array of which it makes fewer. Of any kernel. CannotTell if the warp touches no array."""
    rows = recording.requests(space="global", block=(*block, 0, 0, 0)[:3], warp=warp)
    rows = rows[np.argsort(rows["step"], kind="stable")]
    touched = list(dict.fromkeys((str(row["array"]), str(row["op"])) for row in rows if row["op"] in VERBS))
    if not touched:
        raise CannotTell(
            f"Warp {warp} of block {block} makes no request to global memory, or there is no such warp. Choose another."
        )
    accesses = []
    for array, op in touched[:MOST_ARRAYS]:
        count = sum(row["array"] == array and row["op"] == op for row in rows)
        accesses.append(warp_access(recording, array, op, min(number, count - 1), block, warp))
    return tuple(accesses)


def _nothing(recording: Recording, array: str, op: str, k: int, block: tuple[int, ...], warp: int, count: int) -> str:
    subject = f"warp {warp} of block {block}"
    if count:
        return (
            f"{subject} made {count} {VERBS[op]} requests to {array}; number {k} is not among them. "
            f"Try k = {count - 1}."
        )
    others = np.unique(recording.requests(space="global", op=op, block=block, warp=warp)["array"])
    if len(others):
        return f"{subject} has no {VERBS[op]} of {array!r}. It has one of {', '.join(map(str, others))}."
    return (
        f"{subject} has no recorded {VERBS[op]}: is the warp inside the block, and is the block one that was recorded?"
    )
