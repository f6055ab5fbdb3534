"""What each block of a launch does, kept apart: its counts, and a fingerprint of its behaviour.

Two blocks with the same fingerprint executed the same basic blocks with the same threads, and made the same accesses
relative to 128-byte lines, in the same order.
"""

from collections.abc import Iterator

import numpy as np

from gpusim.counters.recorded import QUANTITIES, Counts, LaunchFacts
from gpusim.counters.recorder import COPY, WARP, LaunchRecorder, canonical, pattern
from gpusim.engine.ir import Program
from gpusim.engine.observers import (
    Access,
    AsyncCopy,
    Executed,
    Guarded,
    Handlers,
    Observer,
    WaveBegins,
    WaveEnds,
)

_STEP = np.uint64(6364136223846793005)  # an odd multiplier: what came first weighs differently from what came last


def alike(addresses, mask, shape: tuple[int, int]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Blocks of a wave whose addresses are the same relative to a 128-byte line.

    addresses, mask: broadcastable to `shape`, (blocks, threads).  Yields (rows of blocks, addresses (T,), active (T,)
    or None for all threads); blocks without an active thread are left out.
    """
    addresses = np.broadcast_to(addresses, shape)
    relative = addresses - addresses[:, :1]
    same = bool((relative == relative[0]).all())
    lanes = None if mask is None else np.broadcast_to(mask, shape)
    groups: dict[tuple, list[int]] = {}
    packed = None if lanes is None else np.packbits(lanes, axis=1)
    for row, remainder in enumerate((addresses[:, 0] & 127).tolist()):
        if lanes is not None and not packed[row].any():
            continue
        key = (remainder if same else row, b"" if packed is None else packed[row].tobytes())
        groups.setdefault(key, []).append(row)
    for rows in groups.values():
        first = rows[0]
        yield np.array(rows), addresses[first], None if lanes is None or lanes[first].all() else lanes[first]


def _number(*what) -> np.uint64:
    return np.uint64(hash(what) & (2**64 - 1))


class Fingerprints(Observer):
    """A number for each block of a launch, in the order in which blocks are executed."""

    def __init__(self, blocks: int) -> None:
        self.prints = np.zeros(blocks, np.uint64)
        self._first = self._after = 0
        self._mask: np.ndarray | None = None

    def handlers(self) -> Handlers:
        return {WaveBegins: self.begin, Executed: self.executed, Access: self.access, AsyncCopy: self.copy_async}

    def begin(self, event: WaveBegins) -> None:
        """The wave's blocks are the next ones."""
        self._first = self._after
        self._after += event.wave.shape[0]
        self._mask = None
        self._all = hash(np.packbits(np.ones(event.wave.threads, bool)).tobytes())

    def _add(self, rows, numbers) -> None:
        prints = self.prints[self._first : self._after]
        prints[rows] = prints[rows] * _STEP + numbers

    def executed(self, event: Executed) -> None:
        """Note the threads that execute a basic block."""
        wave, block = event.wave, event.block
        if wave.mask is None:
            self._add(slice(None), _number(block, self._all))
            return
        if wave.mask is not self._mask:
            packed = np.packbits(np.broadcast_to(wave.mask, wave.shape), axis=1)
            self._mask, self._rows = wave.mask, np.flatnonzero(packed.any(axis=1))
            self._hashes = [hash(packed[row].tobytes()) for row in self._rows]
        self._add(self._rows, np.array([_number(block, mask_hash) for mask_hash in self._hashes], np.uint64))

    def access(self, event: Access) -> None:
        """Note which addresses are accessed, relative to cache lines."""
        what = (event.wave.instruction.index, event.space, event.op, event.width)
        for rows, row, active in alike(event.addresses, event.mask, event.wave.shape):
            self._add(rows, _number(*what, *canonical(row, active)))

    def copy_async(self, event: AsyncCopy) -> None:
        """Note both sides of a copy."""
        self.access(Access(event.wave, "shared", COPY, event.size, event.to, event.mask))
        if (reads := event.reads()) is not None:
            self.access(reads)


class BlockRecorder(LaunchRecorder):
    """Counts as LaunchRecorder does, but every number is an array over the blocks, in the order of execution."""

    def __init__(self, program: Program, facts: LaunchFacts, blocks: int) -> None:
        super().__init__(program, facts, frozenset())
        self.blocks = blocks
        self.block_warps = np.zeros((len(program.blocks), blocks), np.int64)
        self.block_lanes = np.zeros((len(program.blocks), blocks), np.int64)
        self._first = self._after = 0

    def begin(self, event: WaveBegins) -> None:
        """The wave's blocks are the next ones."""
        super().begin(event)
        self._first = self._after
        self._after += event.wave.shape[0]

    def executed(self, event: Executed) -> None:
        """Count by block the warps and threads that execute a basic block."""
        wave, block = event.wave, event.block
        if wave.mask is None:
            warps, lanes = wave.warps, wave.threads
        else:
            if wave.mask is not self._mask:
                self._mask, self._mask_counts = wave.mask, (_warps(wave), wave.mask.sum(axis=1))
            warps, lanes = self._mask_counts
        self.block_warps[block, self._first : self._after] += warps
        self.block_lanes[block, self._first : self._after] += lanes

    def guarded(self, event: Guarded) -> None:
        """Count by block the threads whose guard is true."""
        if event.some:
            wave, mask, index = event.wave, event.mask, event.instruction.index
            lanes = self.guarded_lanes.get(index)
            if lanes is None:
                lanes = self.guarded_lanes[index] = np.zeros(self.blocks, np.int64)
            threads = wave.threads if mask is None else np.broadcast_to(mask, wave.shape).sum(axis=1)
            lanes[self._first : self._after] += threads

    def _count(self, wave, counts: Counts, kind: tuple[str, str, int], addresses, mask) -> None:
        if isinstance(counts.requests, int):
            for name in QUANTITIES:
                setattr(counts, name, np.zeros(self.blocks, np.int64))
        for rows, row, active in alike(addresses, mask, wave.shape):
            counted, rows = pattern(kind, row, active), self._first + rows
            for name in QUANTITIES:
                value = getattr(counted, name)
                if value:
                    getattr(counts, name)[rows] += value


def _warps(wave) -> np.ndarray:
    """By block, the number of warps (or of groups of diverged ones) with an active thread."""
    if wave.groups is not None:
        active = wave.groups.rows(wave.mask) & wave.groups.leads()
    else:
        padding = wave.warps * WARP - wave.threads
        active = np.pad(wave.mask, ((0, 0), (0, padding))).reshape(-1, WARP).any(axis=1)
    return active.reshape(wave.shape[0], -1).sum(axis=1)


class Exchanges(Observer):
    """Whether blocks read, in arrays that the kernel writes, what they do not write themselves.

    written: the parameters that the kernel may write through, None for any.
    """

    def __init__(self, written: frozenset[str] | None) -> None:
        self.foreign: set[str] = set()  # arrays of which a block reads words that it does not write
        self._written = written
        self._words: dict[tuple[str, bool], list[np.ndarray]] = {}  # by array and whether they were written

    def handlers(self) -> Handlers:
        return {WaveBegins: self.begin, Access: self.access, AsyncCopy: self.copy_async, WaveEnds: self.end}

    def begin(self, event: WaveBegins) -> None:
        """Blocks of different waves are not compared."""
        self._words = {}

    def access(self, event: Access) -> None:
        """Keep the words of global memory that each block reads and writes."""
        if event.space != "global" or event.op not in ("ld", "st"):
            return
        wave, mask, op, width = event.wave, event.mask, event.op, event.width
        rows, threads = np.nonzero(np.broadcast_to(True if mask is None else mask, wave.shape))
        addresses = np.broadcast_to(event.addresses, wave.shape)[rows, threads]
        allocation = wave.global_memory.find(int(addresses[0]))
        if self._written is not None and self._written.isdisjoint(allocation.names):
            return
        words = (rows << 40) | ((addresses - allocation.base) >> 2)
        words = (words[:, None] + np.arange(-(-width // 4))).reshape(-1)
        known = self._words.setdefault((allocation.name, op == "st"), [])
        known.append(np.unique(words))
        if len(known) > 64:
            known[:] = [np.unique(np.concatenate(known))]

    def copy_async(self, event: AsyncCopy) -> None:
        """Keep what a copy reads."""
        if (reads := event.reads()) is not None:
            self.access(reads)

    def end(self, event: WaveEnds) -> None:
        """Find out which arrays have words that a block reads and does not write."""
        for (array, is_written), reads in self._words.items():
            if not is_written:
                writes = self._words.get((array, True), [np.empty(0, np.int64)])
                if len(np.setdiff1d(np.concatenate(reads), np.concatenate(writes))):
                    self.foreign.add(array)
