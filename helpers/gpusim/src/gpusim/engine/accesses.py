"""Memory instructions as the engine executes them, whichever front end they come from.

Each function builds the `execute(wave, registers, mask)` of one instruction from its address and values, given as
functions of the registers. Every access is reported to the wave's recorder after it was found to be legal.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.arithmetic import mbarrier
from gpusim.arithmetic.atomics import scanned
from gpusim.engine.clock import TAKES
from gpusim.engine.clusters import RANK_SHIFT
from gpusim.engine.ir import Registers
from gpusim.engine.memory import LOCAL_WINDOW, SHARED_WINDOW, active_addresses
from gpusim.engine.observers import (
    Access,
    Arrived,
    AsyncCopy,
    BarrierPassed,
    CopyGroup,
    Fence,
    LanesNamed,
    LanesTaken,
    PhaseFound,
)

Reader = Callable[[Registers], np.ndarray]


def space_memory(wave, space: str):
    """The memory object of a state space of the wave."""
    if space == "shared":
        return wave.shared
    if space == "local":
        return wave.local
    if space == "cluster":
        return wave.cluster_memory
    return wave.global_memory


def take_time(wave, space: str, mask) -> None:
    """Threads read memory, or update it: clocks go on."""
    if wave.clock is not None and space in TAKES:
        wave.clock.takes(space, mask)


def _by_space(wave, addresses, mask):
    """Split generic addresses by the window that they lie in: yields (space, addresses in that space, mask)."""
    active = active_addresses(addresses, mask)
    low, high = int(active.min()), int(active.max())
    windows = (("global", 0, SHARED_WINDOW), ("shared", SHARED_WINDOW, LOCAL_WINDOW), ("local", LOCAL_WINDOW, 1 << 62))
    first_byte = {"global": 0, "local": LOCAL_WINDOW}
    for space, start, stop in windows:
        if start <= low and high < stop:
            if space == "shared":
                yield from _by_block(wave, addresses - SHARED_WINDOW, mask)
            else:
                yield space, addresses - first_byte[space], mask
            return
    for space, start, stop in windows:
        lanes = np.broadcast_to((addresses >= start) & (addresses < stop), wave.shape)
        lanes = lanes if mask is None else lanes & mask
        if lanes.any() and space == "shared":
            yield from _by_block(wave, addresses - SHARED_WINDOW, lanes)
        elif lanes.any():
            yield space, addresses - first_byte[space], lanes


def _by_block(wave, places, mask):
    """Split addresses in the window of shared memory into those in the thread's own block and in others of its cluster.

    Above the byte stands the rank of the block. At PTX level a block's own addresses have none, and others have theirs
    plus one.
    """
    own, base = wave.special["cluster_ctarank"], wave.program.shared_base
    if int(active_addresses(places, mask).max()) < 1 << RANK_SHIFT and own.ndim == 0:
        yield "shared", places - base, mask
        return
    rank, byte = places >> RANK_SHIFT, (places & (1 << RANK_SHIFT) - 1) - base
    if wave.program.level == "ptx":
        rank = np.where(rank == 0, own, rank - 1)
    elsewhere = np.broadcast_to(rank != own, wave.shape)
    elsewhere = elsewhere if mask is None else elsewhere & mask
    if not elsewhere.any():
        yield "shared", byte, mask
        return
    here = ~elsewhere if mask is None else mask & ~elsewhere
    if here.any():
        yield "shared", byte, here
    yield "cluster", np.where(elsewhere, (rank << RANK_SHIFT) | (byte & (1 << RANK_SHIFT) - 1), 0), elsewhere


def load(space: str, dtype: np.dtype, count: int, address: Reader):
    """`count` elements of `dtype`. space: "global", "shared", "local", "const" or "generic"."""
    dtype = np.dtype(dtype)
    width = dtype.itemsize * count
    if space == "generic":

        def execute_generic(wave, registers, mask):
            results = None
            for where, addresses, lanes in _by_space(wave, address(registers), mask):
                values = space_memory(wave, where).load(wave, addresses, lanes, dtype, count)
                take_time(wave, where, lanes)
                if wave.observers is not None:
                    wave.observers.tell(Access(wave, where, "ld", width, addresses, lanes))
                if results is None:
                    results = values
                else:
                    results = tuple(np.where(lanes, new, old) for new, old in zip(values, results, strict=True))
            return results

        return execute_generic

    def execute(wave, registers, mask):
        addresses = address(registers)
        values = space_memory(wave, space).load(wave, addresses, mask, dtype, count)
        take_time(wave, space, mask)
        if wave.observers is not None:
            wave.observers.tell(Access(wave, space, "ld", width, addresses, mask))
        return values

    return execute


def store(space: str, address: Reader, values: Sequence[Reader], makers: Reader | None = None):
    """Consecutive elements of the values' dtype. makers: where a warp stores once, for which of its lanes."""

    def execute(wave, registers, mask):
        items = tuple(value(registers) for value in values)
        width = items[0].dtype.itemsize * len(items)
        addresses = address(registers)
        pieces = _by_space(wave, addresses, mask) if space == "generic" else ((space, addresses, mask),)
        for where, places, lanes in pieces:
            space_memory(wave, where).store(wave, places, lanes, items)
            if wave.observers is not None:
                made_for = None if makers is None else makers(registers) & (True if lanes is None else lanes)
                wave.observers.tell(Access(wave, where, "st", width, places, lanes, items, made_for))

    return execute


def atomic(
    space: str, update: Callable, dtype: np.dtype, address: Reader, values: Sequence[Reader], returns: bool,
    count: int = 1,
):  # fmt: skip
    """An atomic operation: `update(old, value…)` makes the new value; the old one is returned where `returns`.

    With a `count` it is done to so many neighbours, each of which has a value of its own and is atomic by itself.
    Lanes of one address act in lane order, or if the launch says so in the opposite one, and so do blocks. On a GPU
    their order is not defined, which shows in floating-point sums.
    """
    dtype = np.dtype(dtype)
    width = dtype.itemsize * count

    def execute(wave, registers, mask):
        places = address(registers)
        operands = [value(registers) for value in values]
        pieces = _by_space(wave, places, mask) if space == "generic" else ((space, places, mask),)
        results = tuple(np.zeros(wave.shape, dtype) for _ in range(count))
        for where, addresses, lanes in pieces:
            lanes = np.ones(wave.shape, bool) if lanes is None else np.broadcast_to(lanes, wave.shape)
            active = np.broadcast_to(addresses, wave.shape)[lanes]
            block_of, _ = np.nonzero(lanes)
            space_memory(wave, where).check(wave, addresses, lanes, width, "updated")
            take_time(wave, where, lanes)
            items = [np.broadcast_to(operand, wave.shape)[lanes] for operand in operands]
            for part, result in enumerate(results):
                at = active + part * dtype.itemsize
                if where in ("shared", "cluster"):
                    cells = space_memory(wave, where).cells(at, dtype, block_of)
                else:
                    cells = wave.global_memory.cells(at, dtype)
                if not returns and where == "global" and not wave.global_memory.keeps:
                    continue
                own = items if count == 1 else items[part : part + 1]
                old = np.empty(len(at), dtype)
                turn = slice(None, None, -1 if wave.launch.reverse_atomics else 1)
                for view, index, which in cells:
                    old[which] = _in_lane_order(view, index[turn], [item[which][turn] for item in own], update)[turn]
                result[lanes] = old
            if wave.observers is not None:
                wave.observers.tell(Access(wave, where, "atom" if returns else "red", width, addresses, lanes))
        return results if returns else None

    return execute


def _in_lane_order(view, index, items, apply):
    """Apply to view[index] one lane after the other per cell: all first lanes of a cell together, then all second, …

    Where few cells have many lanes each, a scan of each cell comes to the same.
    """
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    counts = np.diff(np.r_[starts, len(ordered)])
    old = np.empty(len(index), view.dtype)
    if len(starts) < counts.max():  # fewer cells than lanes of one
        scans = []
        for start, count in zip(starts, counts, strict=True):
            lanes = order[start : start + count]
            scans.append((lanes, scanned(apply, view[index[lanes[:1]]], [item[lanes] for item in items])))
        if all(scan is not None for _, scan in scans):
            for lanes, scan in scans:
                old[lanes], view[index[lanes[0]]] = scan[:-1], scan[-1]
            return old
    for turn in range(int(counts.max())):
        lanes = order[starts[counts > turn] + turn]
        cells = index[lanes]
        before = view[cells]
        old[lanes] = before
        view[cells] = apply(before, *(item[lanes] for item in items))
    return old


def copy_async(size: int, destination: Reader, source: Reader, source_size: Reader | None, skip: Reader | None):
    """cp.async: `size` bytes from global to shared memory, zeros beyond `source_size` (all zeros where `skip`).

    The copy is carried out at once: forgetting to wait for it does not give wrong values here.
    """
    words = size // 4

    def execute(wave, registers, mask):
        to, origin = destination(registers), source(registers)
        if source_size is None and skip is None:
            values = wave.global_memory.load(wave, origin, mask, np.dtype(np.int32), words)
            read = mask
        elif source_size is None:
            read = np.broadcast_to(np.logical_not(skip(registers)), wave.shape)
            read = read if mask is None else read & mask
            values = (np.int32(0),) * words
            if read.any():
                loaded = wave.global_memory.load(wave, origin, read, np.dtype(np.int32), words)
                values = tuple(np.where(read, word, np.int32(0)) for word in loaded)
        else:
            given = source_size(registers)
            given = given if skip is None else np.where(skip(registers), np.int64(0), given)
            given = np.broadcast_to(given, wave.shape)
            read = given > 0 if mask is None else (given > 0) & mask
            parts = [np.zeros(wave.shape, np.int32) for _ in range(words)]
            for part in range(words):
                lanes = read & (given >= 4 * part + 4)
                if lanes.any():
                    (loaded,) = wave.global_memory.load(wave, origin + 4 * part, lanes, np.dtype(np.int32), 1)
                    parts[part] = np.where(lanes, loaded, np.int32(0))
            values = tuple(parts)
        wave.shared.store(wave, to, mask, values)
        take_time(wave, "global", mask)
        if wave.observers is not None:
            wave.observers.tell(AsyncCopy(wave, size, to, origin, mask, read))

    return execute


def copy_group(what: str, pending: int):
    """cp.async.commit_group, wait_group (all but the `pending` newest groups) and wait_all: observers are notified."""

    def execute(wave, registers, mask):
        if wave.observers is not None:
            wave.observers.tell(CopyGroup(wave, what, pending, mask))

    return execute


def sleep(nanoseconds: Reader):
    """Clocks go on."""

    def execute(wave, registers, mask):
        if wave.clock is not None:
            wave.clock.sleeps(nanoseconds(registers), mask)

    return execute


def fence(scope: str):
    """A memory fence. Threads in lockstep see each other's writes at once: only observers are notified."""

    def execute(wave, registers, mask):
        if wave.observers is not None:
            wave.observers.tell(Fence(wave, scope, mask))

    return execute


# ---- barriers in shared memory


def arrive(space: str, update: Callable, address: Reader, counts: Sequence[Reader]):
    """Threads arrive at an mbarrier: `update(old, count…)` makes its new bits, the old ones are returned.

    For observers the end of a phase is a barrier of the block: what came before is seen by all that come after it.
    """
    execute_one = atomic(space, update, np.dtype(np.uint64), address, counts, True)

    def execute(wave, registers, mask):
        (old,) = execute_one(wave, registers, mask)
        if wave.observers is not None:
            new = update(old, *(np.broadcast_to(count(registers), wave.shape) for count in counts))
            ends = mbarrier.parity(old) != mbarrier.parity(new)
            ends = ends if mask is None else ends & mask
            for where, places, lanes in _pieces(wave, space, address(registers), mask):
                wave.observers.tell(Arrived(wave, where, places, lanes, ends if lanes is None else ends & lanes))
            blocks = ends.any(axis=1)
            if blocks.any():
                cluster = wave.launch.blocks_of_cluster if space == "generic" else 1  # somewhere in it
                blocks = blocks.reshape(-1, cluster).any(axis=1).repeat(cluster)
                wave.observers.tell(BarrierPassed(wave, blocks, is_phase=True))
        return (old,)

    return execute


@dataclass(frozen=True, slots=True)
class PhaseLook:
    """How a thread looks whether a phase of an mbarrier has ended: where, and at which parity."""

    space: str
    address: Reader
    phase: Reader

    def at(self, registers: Registers) -> tuple[np.ndarray, np.ndarray]:
        """(the addresses, the parities of the phases)."""
        return self.address(registers), self.phase(registers)

    def bits(self, wave, addresses, lanes) -> np.ndarray:
        """The bits of the barriers of `lanes`; 0 for others."""
        result = np.zeros(wave.shape, np.uint64)
        for where, places, some in _pieces(wave, self.space, addresses, lanes):
            (bits,) = space_memory(wave, where).load(wave, places, some, np.dtype(np.uint64), 1)
            result = np.where(some, bits, result)
        return result

    def tell(self, wave, addresses, lanes, polled: bool) -> None:
        """Tell observers that the threads of `lanes` have looked, and whether they found their phases ended."""
        if wave.observers is None:
            return
        for where, places, some in _pieces(wave, self.space, addresses, lanes):
            wave.observers.tell(Access(wave, where, "atom", 8, places, some))
            if polled:
                wave.observers.tell(PhaseFound(wave, where, places, some))


def _pieces(wave, space: str, addresses, lanes):
    """(space, addresses in it, the threads whose addresses these are): generic addresses are looked up."""
    return _by_space(wave, addresses, lanes) if space == "generic" else ((space, addresses, lanes),)


def phase_ended(space: str, address: Reader, phase: Reader):
    """Whether the phase with a parity, 0 or 1, has ended at an mbarrier: whether another one is going on."""
    look = atomic(space, lambda old: old, np.dtype(np.uint64), address, [], True)

    def execute(wave, registers, mask):
        (bits,) = look(wave, registers, mask)
        ended = mbarrier.parity(bits) != phase(registers)
        if wave.observers is not None and (reported := ended if mask is None else ended & mask).any():
            for where, places, lanes in _pieces(wave, space, address(registers), reported):
                wave.observers.tell(PhaseFound(wave, where, places, lanes))
        return (ended,)

    return execute


# ---- instructions that exchange values between the lanes of a warp


def by_warp(wave, value):
    """A value as an array (B, warps, 32); lanes beyond the block hold 0."""
    full = np.broadcast_to(value, wave.shape)
    padding = wave.warps * 32 - wave.threads
    if padding:
        full = np.pad(full, ((0, 0), (0, padding)))
    return full.reshape(wave.shape[0], wave.warps, 32)


def by_thread(wave, value):
    """The inverse of by_warp: (B, T)."""
    return value.reshape(wave.shape[0], wave.warps * 32)[:, : wave.threads]


def active_lanes(wave, mask):
    """The active lanes, bool (B, warps, 32)."""
    return by_warp(wave, np.broadcast_to(True, wave.shape) if mask is None else mask)


def gone(wave) -> np.ndarray:
    """The threads that have ended, or have nothing left to do but to end, bool (B, T)."""
    if wave.pcs is None:
        return ~wave.alive()
    ended = np.array([*wave.launch.prepared.only_exits, True])
    return ended[np.minimum(wave.pcs, len(ended) - 1)]


def _absent(wave, mask, chosen, inside, named) -> np.ndarray:
    """Which active lanes ask for the value of a lane that does not take part, bool (B, warps, 32).

    At PTX level, where `named` are the masks, the threads of a branch may come in several groups: of lanes elsewhere
    those do not take part that are not named, or have nothing left to do but to end.
    """
    active = active_lanes(wave, mask)
    absent = np.take_along_axis(~active, chosen, axis=2)
    if named is not None and absent.any():
        living = np.take_along_axis(active_lanes(wave, ~gone(wave)), chosen, axis=2)
        absent &= ~living | (by_warp(wave, named).astype(np.int64) >> chosen & 1 == 0)
    return absent & active & inside


def shuffle(mode: str, value: Reader, lane: Reader, control: Reader, named: Reader | None = None):
    """shfl.sync: (the value of another lane, whether that lane is in range). PTX ISA, 'shfl.sync'.

    named: the lanes that take part, as bits, where the instruction says so.
    """

    def execute(wave, registers, mask):
        numbers = np.arange(32, dtype=np.int64)[None, None, :]
        source = by_warp(wave, lane(registers)).astype(np.int64) & 31
        clamp = by_warp(wave, control(registers)).astype(np.int64)
        segment, clamp = (clamp >> 8) & 31, clamp & 31
        highest = (numbers & segment) | (clamp & ~segment)
        lowest = numbers & segment
        if mode == "up":
            chosen = numbers - source
            inside = chosen >= highest
        elif mode == "down":
            chosen = numbers + source
            inside = chosen <= highest
        elif mode == "bfly":
            chosen = numbers ^ source
            inside = chosen <= highest
        else:
            chosen = lowest | (source & ~segment)
            inside = chosen <= highest
        chosen = np.where(inside, chosen, numbers)
        values = by_warp(wave, value(registers))
        chosen = np.broadcast_to(chosen, values.shape)
        if wave.observers is not None:
            absent = _absent(wave, mask, chosen, inside, None if named is None else named(registers))
            wave.observers.tell(LanesTaken(wave, mask, chosen, absent))
        moved = np.take_along_axis(values, chosen, axis=2)
        return by_thread(wave, moved), by_thread(wave, np.broadcast_to(inside, values.shape))

    return execute


def naming_lanes(named: Reader, execute):
    """A function of a warp whose mask names lanes by the bits of `named`: observers are notified."""

    def execute_and_tell(wave, registers, mask):
        if wave.observers is not None:
            wave.observers.tell(LanesNamed(wave, mask, named(registers)))
        return execute(wave, registers, mask)

    return execute_and_tell


def by_mask(named: Reader, execute):
    """A function of a warp for each group of its active lanes that name the same lanes: `named` reads their masks.

    Programming guide, 'Warp Reduce Functions': threads with different masks are different groups.
    """

    def execute_by_group(wave, registers, mask):
        value = named(registers)
        if value.ndim == 0:
            return execute(wave, registers, mask)
        masks, active = by_warp(wave, value), active_lanes(wave, mask)
        remaining, result = active.copy(), None
        while remaining.any():
            first = np.take_along_axis(masks, remaining.argmax(axis=2)[..., None], axis=2)
            group = remaining & (masks == first)
            whole = (group == active).all()
            answers = execute(wave, registers, mask if whole else by_thread(wave, group))
            if whole:
                return answers
            chosen = by_thread(wave, group)
            result = (
                answers if result is None else [_where(chosen, *pair) for pair in zip(answers, result, strict=True)]
            )
            remaining &= ~group
        return execute(wave, registers, mask) if result is None else tuple(result)

    return execute_by_group


def _where(chosen, new, old):
    return None if new is None else np.where(chosen, new, old)
