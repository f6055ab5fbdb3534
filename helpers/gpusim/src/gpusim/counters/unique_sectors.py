"""Compulsory traffic: how many different 32-byte sectors of an array a block, or the whole grid, touches.

A cache that never forgets would still have to fetch each of them once: the sectors of the blocks, summed, is the least
traffic between L1 and L2; those of the grid are the least between L2 and DRAM.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gpusim.counters.trace import Trace
from gpusim.devices import SECTOR_BYTES
from gpusim.engine.observers import Access, AsyncCopy, BulkCopy, Handlers, Observer, WaveBegins, WaveEnds

FLAGS = {"ld": 1, "st": 2, "atom": 4, "red": 4}  # how a sector was touched; the flags of a sector are added
KINDS = 8


def touched(histogram: np.ndarray, op: str | None) -> int:
    """The sectors that were touched by `op` ("ld", "st", "atom", "red"), or at all: sums over flags (8,)."""
    wanted = [flags for flags in range(1, KINDS) if op is None or flags & FLAGS[op]]
    return int(histogram[wanted].sum())


@dataclass(frozen=True, slots=True)
class SectorSets:
    """By array, how many sectors were touched how: histograms over `FLAGS`, int64 (8,).

    `blocks` holds the sum over all blocks of what each touched; `grid` what all of them touched together, None where
    not all blocks were executed.
    """

    blocks: dict[str, np.ndarray]
    grid: dict[str, np.ndarray] | None


class SectorObserver(Observer):
    """Marks the sectors that the blocks of a launch touch, in one byte a sector."""

    def __init__(self) -> None:
        self._wave: dict[str, np.ndarray] = {}  # flags (blocks of the wave, sectors)
        self._grid: dict[str, np.ndarray] = {}
        self._blocks: dict[str, list[np.ndarray]] = {}  # by array, histograms (8,) of the blocks that touched it
        self._which: dict[str, list[int]] = {}  # and which blocks these were, in the order of execution
        self._executed = 0

    def handlers(self) -> Handlers:
        return {
            WaveBegins: self.begin, Access: self.access, AsyncCopy: self.copy_async, BulkCopy: self.copy_in_bulk,
            WaveEnds: self.end,
        }  # fmt: skip

    def begin(self, event: WaveBegins) -> None:
        """Nothing is marked yet."""
        self._wave = {}

    def access(self, event: Access) -> None:
        """Mark the sectors of global memory that an access touches."""
        if event.space != "global" or event.op not in FLAGS:
            return
        wave, mask, op = event.wave, event.mask, event.op
        lanes = np.broadcast_to(True if mask is None else mask, wave.shape)
        rows, threads = np.nonzero(lanes)
        addresses = np.broadcast_to(event.addresses, wave.shape)[rows, threads]
        while len(addresses):
            allocation = wave.global_memory.find(int(addresses[0]))
            here = (addresses >= allocation.base) & (addresses < allocation.end)
            # An aligned access of at most 16 bytes lies in one sector.
            sectors = (addresses[here] - allocation.base) // SECTOR_BYTES
            self._flags(wave, allocation)[rows[here], sectors] |= FLAGS[op]
            rows, addresses = rows[~here], addresses[~here]

    def _flags(self, wave, allocation) -> np.ndarray:
        flags = self._wave.get(allocation.name)
        if flags is None:
            sectors = -(-allocation.bytes_.size // SECTOR_BYTES)
            flags = self._wave[allocation.name] = np.zeros((wave.shape[0], sectors), np.uint8)
        return flags

    def copy_async(self, event: AsyncCopy) -> None:
        """Mark what a copy reads."""
        if (reads := event.reads()) is not None:
            self.access(reads)

    def copy_in_bulk(self, event: BulkCopy) -> None:
        """Mark what a copy in bulk reads or writes."""
        if event.allocation is not None and event.size:
            first, last = event.first // SECTOR_BYTES, (event.first + event.size - 1) // SECTOR_BYTES
            flag = FLAGS[{"fetch": "ld", "put": "st", "reduce": "red"}[event.kind]]
            self._flags(event.wave, event.allocation)[event.thread[0], first : last + 1] |= flag

    def end(self, event: WaveEnds) -> None:
        """Add up the wave's marks, by block and for the grid."""
        for name, flags in self._wave.items():
            self._blocks.setdefault(name, []).extend(_histogram(row) for row in flags)
            self._which.setdefault(name, []).extend(range(self._executed, self._executed + len(flags)))
            together = np.bitwise_or.reduce(flags, axis=0)
            self._grid[name] = self._grid[name] | together if name in self._grid else together
        self._executed += event.wave.shape[0]
        self._wave = {}

    def finish(self, whole: bool, weights: np.ndarray | None = None) -> SectorSets:
        """The histograms. whole: all blocks of the grid were executed.  weights: for how many blocks each executed one
        stands, in the order of execution."""
        blocks = {}
        for name, histograms in self._blocks.items():
            times = np.ones(self._executed, np.int64) if weights is None else weights
            blocks[name] = times[self._which[name]] @ np.array(histograms)
        grid = {name: _histogram(flags) for name, flags in self._grid.items()} if whole else None
        return SectorSets(blocks, grid)


def _histogram(flags: np.ndarray) -> np.ndarray:
    return np.bincount(flags[flags != 0], minlength=KINDS)


def of_traces(traces: Iterable[Trace], by_block: bool = False) -> dict[str, np.ndarray]:
    """Histograms by array of traced accesses: of all blocks together, or the sums of each block's own."""
    accesses: dict[str, list[tuple[np.ndarray, int]]] = {}
    blocks: dict[tuple[int, int, int], int] = {}
    for trace in traces:
        if trace.space == "global" and trace.op in FLAGS:
            offsets = trace.addresses if trace.active is None else trace.addresses[trace.active]
            sectors = (offsets - trace.base) // SECTOR_BYTES
            if by_block:
                sectors = sectors | (blocks.setdefault(trace.block, len(blocks)) << 40)
            accesses.setdefault(trace.array, []).append((np.unique(sectors), FLAGS[trace.op]))
    histograms = {}
    for array, flagged in accesses.items():
        sectors = np.concatenate([some for some, _ in flagged])
        different, inverse = np.unique(sectors, return_inverse=True)
        flags = np.zeros(len(different), np.uint8)
        np.bitwise_or.at(flags, inverse, np.concatenate([np.full(len(some), flag, np.uint8) for some, flag in flagged]))
        histograms[array] = _histogram(flags)
    return histograms
