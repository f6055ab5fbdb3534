"""Watches one launch and counts: every request of every block.

Patterns repeat, so that most of the work is finding out that a block does what another one did: its addresses relative
to its first one, and that one's place in a 128-byte line.
"""

from functools import lru_cache

import numpy as np

from gpusim.counters import counting
from gpusim.counters.recorded import Captured, Counts, LaunchFacts, RecordedLaunch
from gpusim.counters.trace import Trace
from gpusim.devices import SECTOR_BYTES, WARP
from gpusim.engine.ir import Program
from gpusim.engine.observers import (
    Access,
    AsyncCopy,
    BulkCopy,
    Executed,
    Guarded,
    Handlers,
    Observer,
    WaveBegins,
)

COPY = "copy"  # asynchronous copies: global loads and, of their own kind, shared stores

BULK_OPS = {"fetch": "bulk_ld", "put": "bulk_st", "reduce": "bulk_red", "send": "bulk_send"}


class LaunchRecorder(Observer):
    """Collects one launch; the engine calls it for every basic block and every access."""

    def __init__(self, program: Program, facts: LaunchFacts, traced: frozenset[int] | None) -> None:
        self.program = program
        self.facts = facts
        self.traced = traced
        self.block_warps = np.zeros(len(program.blocks), np.int64)
        self.block_lanes = np.zeros(len(program.blocks), np.int64)
        self.guarded_lanes: dict[int, int] = {}  # instruction with a guard → threads whose guard was true
        self.counts: dict[tuple[int, str, str, str], Counts] = {}
        self.traces: list[Trace] = []
        self._step = 0
        self._traced_rows: list[tuple[int, tuple[int, int, int]]] = []
        self._mask: np.ndarray | None = None
        self._mask_counts = (0, 0)

    def finish(self, captured: Captured) -> RecordedLaunch:
        """What was recorded of the launch."""
        return RecordedLaunch(
            self.program, self.facts, self.traced, self.block_warps, self.block_lanes, self.guarded_lanes, self.counts,
            self.traces, captured,
        )  # fmt: skip

    # ---- what the engine reports
    def handlers(self) -> Handlers:
        return {
            WaveBegins: self.begin, Executed: self.executed, Guarded: self.guarded, Access: self.access,
            AsyncCopy: self.copy_async, BulkCopy: self.copy_in_bulk,
        }  # fmt: skip

    def begin(self, event: WaveBegins) -> None:
        """Find out which of the wave's blocks are traced."""
        wave, self._mask = event.wave, None
        self._traced_rows = [
            (row, wave.block_index(row))
            for row, block in enumerate(wave.block_ids.tolist())
            if self.traced is None or block in self.traced
        ]

    def executed(self, event: Executed) -> None:
        """Count the warps and threads that execute a basic block."""
        wave, block = event.wave, event.block
        if wave.mask is None:
            warps, lanes = wave.shape[0] * wave.warps, wave.shape[0] * wave.threads
        else:
            if wave.mask is not self._mask:
                self._mask, self._mask_counts = wave.mask, (wave.warps_of(wave.mask), int(wave.mask.sum()))
            warps, lanes = self._mask_counts
        self.block_warps[block] += warps
        self.block_lanes[block] += lanes

    def guarded(self, event: Guarded) -> None:
        """Count the threads whose guard is true, which alone execute a guarded instruction."""
        if event.some:
            wave, mask, index = event.wave, event.mask, event.instruction.index
            lanes = wave.shape[0] * wave.threads if mask is None else int(np.broadcast_to(mask, wave.shape).sum())
            self.guarded_lanes[index] = self.guarded_lanes.get(index, 0) + lanes

    def copy_async(self, event: AsyncCopy) -> None:
        """Count a global load and a write to shared memory of its own kind: Nsight Compute does not count it among the
        shared stores. Its wavefronts depend on both addresses of each thread."""
        wave, to = event.wave, event.to
        if (reads := event.reads()) is not None:
            self._request(reads, COPY, reads.addresses)
        written = Access(wave, "shared", COPY, event.size, to, event.mask)
        self._request(written, COPY, _both_sides(wave, to, event.origin, event.read))

    def copy_in_bulk(self, event: BulkCopy) -> None:
        """Count the sectors of a copy in bulk, which goes line by line of shared memory."""
        wave, shared, allocation = event.wave, event.shared, event.allocation
        if event.part:
            return
        space, array = ("cluster", "") if allocation is None else ("global", allocation.name)
        counts = self.counts.setdefault((wave.instruction.index, space, BULK_OPS[event.kind], array), Counts())
        counts.requests += 1
        counts.lanes += 1
        counts.useful_bytes += event.size
        counts.ideal_sectors += -(-event.size // SECTOR_BYTES)
        if allocation is not None:
            counts.sectors += counting.bulk_sectors(event.first, shared.byte, event.size)
            counts.uncertain += event.is_far

    def access(self, event: Access) -> None:
        """Count one memory instruction of the active threads."""
        self._request(event, event.op, event.addresses)

    def _request(self, event: Access, kind_of_op: str, counted) -> None:
        """Count and trace an access. `counted`: the addresses from which the counts follow, of both sides of a copy."""
        wave, space, op, width = event.wave, event.space, event.op, event.width
        addresses, mask = event.addresses, event.mask
        self._step += 1
        index = wave.instruction.index
        array, base = "", 0
        if space == "global":
            first = addresses if mask is None else _first_active(addresses, mask)
            allocation = wave.global_memory.find(int(np.ravel(first)[0]))
            array, base = allocation.name, allocation.base
        elif space == "local":
            addresses = counted = local_addresses(wave, addresses)
        counts = self.counts.get((index, space, op, array))
        if counts is None:
            counts = self.counts[index, space, op, array] = Counts()
        kind = (space, kind_of_op, min(width, 4) if space == "local" else width)
        self._count(wave, counts, kind, np.asarray(counted), mask)
        for word in range(1, width // 4 if space == "local" else 0):
            further = Counts()
            self._count(wave, further, kind, addresses + word * (4 * wave.warps * WARP), mask)
            further.requests = further.lanes = 0
            counts.add(further)
        for row, block in self._traced_rows:
            self.traces.append(
                Trace(
                    self._step, block, index, space, op, array, base, width,
                    _row(addresses, row, wave.threads), None if mask is None else _row(mask, row, wave.threads),
                )
            )  # fmt: skip

    # ---- counting
    def _count(self, wave, counts: Counts, kind: tuple[str, str, int], addresses, mask) -> None:
        """`kind` is the access's space, op and width."""
        blocks, threads = wave.shape
        if addresses.shape[:1] in ((), (1,)) and (mask is None or mask.shape[:1] in ((), (1,))):
            row = np.broadcast_to(addresses, (1, threads))[0]
            active = None if mask is None else np.broadcast_to(mask, (1, threads))[0]
            counts.add(pattern(kind, row, active), blocks)
            return
        full = addresses if addresses.shape == wave.shape else np.broadcast_to(addresses, wave.shape)
        relative = full - full[:, :1]
        if not (relative == relative[0]).all():
            lanes = np.ones(wave.shape, bool) if mask is None else np.broadcast_to(mask, wave.shape)
            counts.add(_count_requests(kind, full, lanes))
            return
        remainders = (full[:, 0] & 127).tolist()
        if mask is None:
            kinds = {offset: (remainders.count(offset), None) for offset in set(remainders)}
        else:
            lanes = np.broadcast_to(mask, wave.shape)
            masks = [row.tobytes() for row in np.packbits(lanes, axis=1)]
            alike: dict[tuple, list[int]] = {}
            for row, key in enumerate(zip(remainders, masks, strict=True)):
                alike.setdefault(key, []).append(row)
            kinds = {key: (len(rows), lanes[rows[0]]) for key, rows in alike.items()}
        for key, (times, active) in kinds.items():
            offset = key if mask is None else key[0]
            counts.add(pattern(kind, relative[0] + offset, active), times)


def local_addresses(wave, addresses) -> np.ndarray:
    """Where local memory lies: interleaved by words, so that a warp's same word is in one 128-byte line."""
    lane = np.arange(wave.threads, dtype=np.int64)[None, :]
    return (addresses >> 2) * (4 * wave.warps * WARP) + lane * 4 + (addresses & 3)


_SIDE = 32  # bits of an address in shared memory; above them lies the place of the source
_PLACES = (1 << 29) - 1
NOWHERE = 1 << 30  # beyond what any two places are apart


def _both_sides(wave, to, origin, read) -> np.ndarray:
    """The addresses that a copy writes and reads as one number each, so that a pattern is known by it.

    Of the source its place relative to others is enough. Lanes that read nothing get NOWHERE.
    """
    origins = np.asarray(origin) & _PLACES
    if read is not None:
        origins = np.where(np.broadcast_to(read, wave.shape), np.broadcast_to(origins, wave.shape), NOWHERE)
    return (origins << _SIDE) + to


def pattern(kind: tuple[str, str, int], row: np.ndarray, active: np.ndarray | None) -> Counts:
    """The counts of one block's addresses (T,), which depend only on their place relative to a 128-byte line.

    kind: the access's space, op and width.  The result is shared: read only.
    """
    return _pattern_counts(kind, *canonical(row, active))


def canonical(row: np.ndarray, active: np.ndarray | None) -> tuple[bytes, bytes | None]:
    """One block's addresses (T,) relative to the 128-byte line of the lowest, and its active threads, as bytes."""
    if active is not None:
        row = np.where(active, row, row[active.argmax()])  # where the others point does not matter
    return (row - (int(row.min()) & ~127)).tobytes(), None if active is None else active.tobytes()


@lru_cache(maxsize=2048)
def _pattern_counts(kind: tuple[str, str, int], row: bytes, active: bytes | None) -> Counts:
    """The same from the bytes of the arrays; loops and launches repeat themselves. The result is shared: read only."""
    addresses = np.frombuffer(row, np.int64)
    lanes = np.ones(len(addresses), bool) if active is None else np.frombuffer(active, bool)
    return _count_requests(kind, addresses[None, :], lanes[None, :])


def _row(values, row: int, threads: int) -> np.ndarray:
    values = np.asarray(values)
    return np.broadcast_to(
        values[row if values.ndim == 2 and values.shape[0] > 1 else 0] if values.ndim == 2 else values, threads
    ).copy()


def _first_active(addresses, mask):
    shape = np.broadcast_shapes(np.shape(addresses), np.shape(mask))
    position = np.unravel_index(int(np.argmax(np.broadcast_to(mask, shape))), shape)
    return np.broadcast_to(addresses, shape)[position]


def as_warps(values: np.ndarray) -> np.ndarray:
    """(B, T) → (B · warps, 32), the last warp filled up with zeros."""
    padding = -values.shape[1] % WARP
    if padding:
        values = np.pad(values, ((0, 0), (0, padding)))
    return values.reshape(-1, WARP)


def _count_requests(kind: tuple[str, str, int], addresses: np.ndarray, lanes: np.ndarray) -> Counts:
    """The counts of blocks × threads addresses, warp by warp."""
    space, op, width = kind
    addresses, lanes = as_warps(addresses), as_warps(lanes)
    some = lanes.any(axis=1)
    addresses, lanes = addresses[some], lanes[some]
    counts = Counts(requests=len(lanes), lanes=int(lanes.sum()))
    if op == COPY and space == "shared":
        to = addresses.astype(np.int32).astype(np.int64)
        origin = (addresses - to) >> _SIDE
        to -= int(to.min(initial=0)) & ~127  # a pattern's are relative to those of the lane with the first source
        reads = origin < NOWHERE - _PLACES
        counts.copy_wavefronts = int(counting.copy_wavefronts(to, origin, lanes, width, reads).sum())
        addresses = to
    if space == "shared":
        counts.wavefronts = int(counting.wavefronts(addresses, lanes, width, stores=op != "ld").sum())
        counts.uncertain = 0 if op != "ld" else len(lanes) - int(counting.is_certain(addresses, lanes, width).sum())
        counts.ideal_wavefronts = int(counting.ideal_wavefronts(lanes, width).sum())
    else:
        counts.sectors = int(counting.sectors(addresses, lanes, width).sum())
        counts.tags = int(counting.tags(addresses, lanes, width, op == COPY).sum())
        useful = counting.useful_bytes(addresses, lanes, width)
        counts.useful_bytes = int(useful.sum())
        counts.ideal_sectors = int((-(-useful // SECTOR_BYTES)).sum())
    return counts
