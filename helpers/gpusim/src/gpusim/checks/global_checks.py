"""The sanitizer's watch over global memory: reads of memory that was never written, and races.

Only arrays that the kernel may write, and arrays that still have unwritten elements, are watched. For each word (4
bytes, or the array's smaller elements) the last writer and the last readers are kept; an access is compared with them.

Two accesses of one word, one of them a store, are in order if one thread does both, or

- inside a block: `__syncthreads()` lies between, or `__syncwarp()` for lanes of one warp;
- between any two threads: the first has executed `__threadfence()` since, and after that an atomic operation or another
  strong store, and the second an atomic operation or another strong load: that is how results are handed on, and how
  locks work (CUDA guide, 'Memory Fence Functions'). Another thread of the block, or of the warp, may do the fence and
  the atomic operation for the first, if a barrier of theirs comes before, and the atomic operation for the second, if
  one comes behind it. Between blocks it must be the same variable, or others have to pass it on from one to the other,
  each behind a fence of its own. Inside a block `__threadfence_block()` is enough, the atomic variable may lie in
  shared memory, and which it was is not looked at.

Atomic operations, and volatile or otherwise strong accesses, do not race with each other if the scope of each includes
the other thread (PTX ISA, 'Memory Consistency Model'). Stores of the same value do not either, nor does the plain load
with which an atomicCAS begins (`mark_cas_loads`): loops that build an atomic function from it begin with such a load
(CUDA guide, 'Atomic Functions'). But a read of a sum must happen after all additions to it: that the own block's was
the last one is chance. The result of an atomic operation acquires them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gpusim.checks.uninvolved_warps import UninvolvedWarps
from gpusim.devices import WARP
from gpusim.engine.bulk import UNIT as BULK_UNIT
from gpusim.engine.ir import is_dead_exchange, result_is_live
from gpusim.engine.memory import Allocation
from gpusim.engine.schedule import by_warps

MOST_BLOCKS = 1024  # of a grid whose vector clocks are kept
VARIABLES = 1021  # clocks of synchronisation variables: words of memory share them
MOST_AT_ONCE = 1 << 22  # numbers
TIME = 26  # bits of a stamp below the time: the instruction, whether its scope is the block, and whether it is strong
STRONG, BLOCK_SCOPE, INSTRUCTION = 1, 2, 2  # the flags, and from which bit on the instruction stands


class GlobalSide(NamedTuple):
    """One access: `thread` is linear in the grid, blocks × threads; what: "reads", "writes" or "updates"."""

    instruction: int
    thread: int
    what: str


class MissingRelease(NamedTuple):
    """A thread has read a flag of another block, whose writer had not released what it did before.

    Attributes:
        read_by: the instruction that read the flag.
        missing: a "fence", or the "barrier" behind which another thread's fence would count for the writer.
    """

    read_by: int
    missing: str


class GlobalHazard(NamedTuple):
    """kind "race" or "unwritten"; `byte` is an offset in the array; `second` is the later access."""

    kind: str
    first: GlobalSide | None
    second: GlobalSide
    byte: int
    missing_release: MissingRelease | None = None


class Fences:
    """The fences of a wave's threads, of the device or of any scope; all by thread, as times.

    Attributes:
        last: the thread's own last fence.
        reach: the last fence of its warp before a `__syncwarp()`, which covers what precedes an earlier `__syncwarp()`.
        known: up to then its accesses are released by atomic operations of lanes that passed the last `__syncwarp()`.
        known_to_block: the same by threads that passed the last `__syncthreads()`.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.last, self.reach, self.known, self.known_to_block = np.zeros((4, *shape), np.int64)

    def warp_barrier(self, lanes, here: np.ndarray, before: np.ndarray) -> None:
        """`__syncwarp()`; `before` is when the last one was."""
        reach = _latest_of_warps(np.where(here, np.maximum(self.last, self.reach), 0))
        covered = np.where(reach > before, before, 0)
        self.known[lanes] = np.maximum(np.maximum(self.known, self.last), covered)[lanes]
        self.reach[lanes] = reach[lanes]

    def barrier(self, rows, before: np.ndarray) -> None:
        """`__syncthreads()` of some blocks; `before` is when the last one was."""
        reach = np.maximum(self.last, self.reach)[rows].max(axis=1)
        covered = np.where(reach > before, before, 0)[:, None]
        known = np.maximum(np.maximum(self.known, self.last)[rows], covered)
        self.known_to_block[rows] = np.maximum(self.known_to_block[rows], known)

    def released(self, here: np.ndarray, barriers: np.ndarray) -> np.ndarray:
        """What threads tell by an atomic operation: what they and others of their warps did before these times.

        barriers: by thread the last `__syncwarp()`.
        """
        reach = _latest_of_warps(np.where(here, np.maximum(self.last, self.reach), 0))
        known = np.where(by_warps(here, here.shape), self.known, 0)
        known = np.maximum(known, np.where(here, self.last, 0))
        return np.maximum(known, np.where(reach > barriers, barriers, 0))

    def released_by_blocks(self, here: np.ndarray, barriers: np.ndarray) -> np.ndarray:
        """The same of all threads of their blocks; barriers: by block the last `__syncthreads()`."""
        reach = np.where(here, np.maximum(self.last, self.reach), 0).max(axis=1)
        covered = np.where(reach > barriers, barriers, 0)[:, None]
        return np.where(here.any(axis=1)[:, None], np.maximum(self.known_to_block, covered), 0)


class Clock:
    """The vector clocks of a launch, and of its synchronisation variables; shared by all arrays.

    Times count events of the launch. README, "Races in global memory", has the rule. Most clocks have an entry for each
    block, not for each thread: a fence is one of all its threads, if a barrier lies between. With more than MOST_BLOCKS
    blocks they are not kept.

    Attributes:
        fences: by block of the grid, its last fence.
        released_by_threads: by thread of the grid. What it did before is released: a fence came after it, and then an
            atomic operation, its own or one behind a barrier.
        released_in_block: the same for fences of a block, by thread of the wave.
        atomics_of_threads: in the block alone, the atomic operations that a thread knows of: its own, and those of its
            warp before a `__syncwarp()`.
        met: by block, the last of them before a `__syncthreads()`, of which all know.
        met_before_fence: the last of them before a thread's own fence.
        acquired: (block, other): the last fence of the other block that all threads of this one have acquired.
        acquired_by_warps: (warp, other): the same for one warp.
        releasable, releasable_by_warps: of these what a fence of their own has followed, which they release, too.
        clocks_of_variables: (variable, block): what has been released into each; variables share VARIABLES clocks.
        clocks_of_shared_variables: what the warps of a block have released by atomic operations on shared memory.
    """

    def __init__(self, blocks: int, threads: int) -> None:
        self.now = 0
        self.fences = np.zeros(blocks, np.int64)
        self.released_by_threads = np.zeros(blocks * threads, np.int64)  # zeros take no memory before they are touched
        self.fenced = False
        self._answered: dict[int, bool] = {}
        self.releases_in_block = False  # whether something may have been released to a block alone
        few = blocks <= MOST_BLOCKS
        self.warps = -(-threads // WARP)
        self.acquired = np.zeros((blocks, blocks), np.int64) if few else None
        self.acquired_by_warps = np.zeros((blocks * self.warps, blocks), np.int64) if few else None
        self.releasable = np.zeros((blocks, blocks), np.int64) if few else None
        self.releasable_by_warps = np.zeros((blocks * self.warps, blocks), np.int64) if few else None
        self.clocks_of_variables = np.zeros((VARIABLES, blocks), np.int64) if few else None

    def begin(self, wave) -> None:
        """A new wave."""
        self.block_ids = wave.block_ids
        self.barriers, self.met = np.zeros((2, wave.shape[0]), np.int64)
        # Whether warps have acquired what others of their block have not, and what they have not released.
        self.acquired_anew, self.unreleased = np.zeros((2, wave.shape[0], self.warps), bool)
        self.clocks_of_shared_variables = (
            None if self.acquired is None else np.zeros((wave.shape[0], len(self.acquired)), np.int64)
        )
        self.warp_barriers = np.zeros(wave.shape, np.int64)
        # By thread and lane: the last barrier by which it knows of the lane, once not all of the warp have come to one
        self.met_lanes: np.ndarray | None = None
        self.of_device, self.of_block = Fences(wave.shape), Fences(wave.shape)
        self.released_in_block = np.zeros(wave.shape, np.int64)
        self.atomics_of_threads, self.met_before_fence = np.zeros((2, *wave.shape), np.int64)
        self.last_acquire = np.zeros(
            (2, *wave.shape), np.int64
        )  # by thread when it last looked at others' work, and where
        first = (wave.block_ids * wave.threads)[:, None]
        self.marks = (
            1 + first + np.arange(wave.threads, dtype=np.int64)[None, :]
        )  # by thread, 1 + its number in the grid

    def result_is_live(self, wave) -> bool:
        """Whether the old value is live that the current atomic operation returns."""
        index = wave.instruction.index
        if index not in self._answered:
            self._answered[index] = result_is_live(wave.program, wave.instruction)
        return self._answered[index]

    def tick(self) -> int:
        """The time of a new event."""
        self.now += 1
        return self.now

    def barrier(self, blocks: np.ndarray | None) -> None:
        """`__syncthreads()`."""
        rows = slice(None) if blocks is None else blocks
        if self.fenced:
            self.of_device.barrier(rows, self.barriers[rows])
        self.barriers[rows] = self.tick()
        self.met[rows] = self.atomics_of_threads[rows].max(axis=1)
        acquired = np.zeros_like(self.acquired_anew)
        acquired[rows] = self.acquired_anew[rows]
        for row in np.flatnonzero(acquired.any(axis=1)).tolist():
            block = self.block_ids[row]
            warps = block * self.warps + np.flatnonzero(acquired[row])
            for of_all, of_warps in (
                (self.acquired, self.acquired_by_warps),
                (self.releasable, self.releasable_by_warps),
            ):
                np.maximum(of_all[block], of_warps[warps].max(axis=0), out=of_all[block])
            self.unreleased[row] = True
        self.acquired_anew &= ~acquired

    def warp_barrier(self, wave, mask: np.ndarray | None) -> None:
        """`__syncwarp()`."""
        lanes = _lanes(wave, mask)
        if self.fenced:
            here = np.broadcast_to(True if mask is None else mask, wave.shape)
            self.of_device.warp_barrier(lanes, here, self.warp_barriers)
            self.of_block.warp_barrier(lanes, here, self.warp_barriers)
            known = np.where(here, self.atomics_of_threads, 0)
            self.atomics_of_threads[lanes] = _latest_of_warps(known)[lanes]
        self._meet_lanes(wave, mask)
        self.warp_barriers[lanes] = self.now

    def _meet_lanes(self, wave, mask: np.ndarray | None) -> None:
        """Lanes of warps meet, now."""
        now = self.tick()
        if mask is None and self.met_lanes is None:
            return
        blocks, threads = wave.shape
        here = np.zeros((blocks, self.warps * WARP), bool)
        here[:, :threads] = True if mask is None else mask
        here = here.reshape(blocks, self.warps, WARP)
        if self.met_lanes is None:
            exist = (np.arange(self.warps * WARP) < threads).reshape(self.warps, WARP)
            if ((here == exist).all(axis=2) | ~here.any(axis=2)).all():
                return
            before = np.zeros((blocks, self.warps * WARP), np.int64)
            before[:, :threads] = self.warp_barriers
            self.met_lanes = before.reshape(*here.shape, 1).repeat(WARP, axis=3)
        known = np.where(here, now, np.where(here[..., None], self.met_lanes, 0).max(axis=2))
        self.met_lanes = np.where(here[..., None], known[:, :, None, :], self.met_lanes)

    def last_meeting(self, row: np.ndarray, lane: np.ndarray, other: np.ndarray) -> np.ndarray:
        """When threads learnt last of another one of their warp by a barrier of the warp."""
        if self.met_lanes is None:
            return self.warp_barriers[row, lane]
        return self.met_lanes[row, lane // WARP, lane % WARP, other % WARP]

    def fence(self, wave, mask: np.ndarray | None, scope: str = "device") -> None:
        """`__threadfence()`, or with the scope "block" `__threadfence_block()`."""
        self.fenced = True
        lanes = _lanes(wave, mask)
        self.of_block.last[lanes] = self.tick()
        self.releases_in_block |= scope == "block"
        if scope != "block":
            self.fences[self._blocks(wave, mask)] = self.now
            self.of_device.last[lanes] = self.now
            self.met_before_fence[lanes] = self.atomics_of_threads[lanes]
            if self.unreleased.any():
                self._make_releasable(np.broadcast_to(True if mask is None else mask, wave.shape))

    def _make_releasable(self, here: np.ndarray) -> None:
        """The warps of these threads, which have acquired something, make a fence."""
        rows, warps = self._warps(here)
        keep = self.unreleased[rows, warps]
        rows, warps = rows[keep], warps[keep]
        self.unreleased[rows, warps], self.acquired_anew[rows, warps] = False, True
        blocks = self.block_ids[rows]
        of_grid = blocks * self.warps + warps
        joined = np.maximum(self.acquired_by_warps[of_grid], self.acquired[blocks])
        self.releasable_by_warps[of_grid] = np.maximum(self.releasable_by_warps[of_grid], joined)

    def atomic_in_block(self, wave, mask: np.ndarray | None, op: str) -> None:
        """An atomic operation, or another strong access, on shared memory or of the scope of a block."""
        if not self.fenced:
            return
        self.releases_in_block = True
        lanes = _lanes(wave, mask)
        self.tick()
        here = np.broadcast_to(True if mask is None else mask, wave.shape)
        if op != "st":
            self.atomics_of_threads[lanes] = self.now
        if op != "ld":
            self._tell_block(here)
        if self.acquired is not None:
            self._meet_in_block(here, op)

    def _meet_in_block(self, here: np.ndarray, op: str) -> None:
        """The warps of these threads release to their blocks, and acquire from them."""
        rows, warps = self._warps(here)
        of_grid = self.block_ids[rows] * self.warps + warps
        if op != "ld":
            np.maximum.at(self.clocks_of_shared_variables, rows, self.acquired_by_warps[of_grid])
        if op != "st":
            self.acquired_by_warps[of_grid] = np.maximum(
                self.acquired_by_warps[of_grid], self.clocks_of_shared_variables[rows]
            )
            self.acquired_anew[rows, warps] = self.unreleased[rows, warps] = True

    @staticmethod
    def _warps(here: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows and the warps of some threads."""
        rows, threads = np.nonzero(here)
        return tuple(np.unique(np.stack((rows, threads // WARP)), axis=1))

    def _tell_block(self, here: np.ndarray) -> None:
        self.released_in_block = np.maximum(self.released_in_block, self.of_block.released(here, self.warp_barriers))

    def atomic(self, wave, mask: np.ndarray | None, op: str, addresses: np.ndarray, width: int, everyone=None) -> None:
        """An atomic operation, or another strong access to global memory, by the threads of a mask, for `everyone`."""
        self.tick()
        if self.fenced and self.acquired is not None:
            self._meet_at(wave, mask, op, addresses, width)
        mask = mask if everyone is None else everyone
        if op != "st":
            lanes = _lanes(wave, mask)
            self.atomics_of_threads[lanes] = self.now
            if op == "ld" or (op == "atom" and self.result_is_live(wave)):
                self.last_acquire[0][lanes], self.last_acquire[1][lanes] = self.now, wave.instruction.index
        if not self.fenced or op == "ld":
            return
        here = np.broadcast_to(True if mask is None else mask, wave.shape)
        released = self.of_device.released(here, self.warp_barriers)
        self._release(np.maximum(released, self.of_device.released_by_blocks(here, self.barriers)))
        self._tell_block(here)
        if self.releases_in_block:
            self._pass_on(np.where(by_warps(here, wave.shape), self.met_before_fence, 0).max(axis=1))

    def _release(self, known: np.ndarray) -> None:
        threads = self.marks - 1
        self.released_by_threads[threads] = np.maximum(self.released_by_threads[threads], known)

    def _pass_on(self, met: np.ndarray) -> None:
        """Threads release what others of their block released to them before their fence; `met`, by block: when."""
        self._release(np.minimum(self.released_in_block, met[:, None]))

    def _meet_at(self, wave, mask: np.ndarray | None, op: str, addresses: np.ndarray, width: int) -> None:
        """Warps release to the clocks of these words, and acquire from them."""
        lanes = np.broadcast_to(True if mask is None else mask, wave.shape)
        words = np.broadcast_to(addresses, wave.shape)[lanes] >> 2
        rows, threads = np.nonzero(lanes)
        warps, count = self.block_ids[rows] * self.warps + threads // WARP, len(self.acquired_by_warps)
        several = [(words + part) % VARIABLES * count + warps for part in range(max(1, width // 4))]
        places, warps = np.divmod(np.unique(np.concatenate(several)), count)
        blocks = warps // self.warps
        for known in (self.acquired_by_warps, self.releasable_by_warps):
            known[warps, blocks] = np.maximum(known[warps, blocks], self.fences[blocks])
        if op != "st":
            self.acquired_anew[rows, threads // WARP] = self.unreleased[rows, threads // WARP] = True
        step = MOST_AT_ONCE // len(self.acquired)
        for first in range(0, len(places), step):
            self._exchange(places[first : first + step], warps[first : first + step], op)

    def _exchange(self, places: np.ndarray, warps: np.ndarray, op: str) -> None:
        """The same of pairs of a place and a warp, sorted by both: at a place the warps come one after the other."""
        starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
        known = self.clocks_of_variables[places]
        if op != "ld":
            known = np.maximum(known, np.maximum(self.releasable_by_warps[warps], self.releasable[warps // self.warps]))
            _accumulate(known, starts)
            self.clocks_of_variables[places[starts]] = known[np.r_[starts[1:], len(places)] - 1]
        if op != "st":
            order = np.argsort(warps, kind="stable")
            known, warps = known[order], warps[order]
            starts = np.flatnonzero(np.r_[True, warps[1:] != warps[:-1]])
            known = np.maximum.reduceat(known, starts)
            self.acquired_by_warps[warps[starts]] = np.maximum(self.acquired_by_warps[warps[starts]], known)

    def heard_of(self, row: np.ndarray, lane: np.ndarray, other_blocks: np.ndarray) -> np.ndarray:
        """Up to when threads have acquired what other blocks released, or may have."""
        met = np.maximum(self.atomics_of_threads[row, lane], self.met[row])
        if self.acquired is None:
            return met
        blocks = self.block_ids[row]
        by_warp = self.acquired_by_warps[blocks * self.warps + lane // WARP, other_blocks]
        return np.minimum(met, np.maximum(by_warp, self.acquired[blocks, other_blocks]))

    def missing_release(self, wave, other: int, reader: int, time: int) -> MissingRelease | None:
        """Why a thread does not know what one of another block did, if it has looked at others' work since."""
        (block, thread), (other_block, other_thread) = divmod(reader, wave.threads), divmod(other, wave.threads)
        row, other_row = np.searchsorted(self.block_ids, (block, other_block)).tolist()
        when = max(self.atomics_of_threads[row, thread], self.met[row])
        at = np.flatnonzero(self.last_acquire[0, row] == when)
        if block == other_block or when <= time or self.released_by_threads[other] > time or not len(at):
            return None
        here = other_row < len(self.block_ids) and self.block_ids[other_row] == other_block
        counted = here and self.last_acquire[0, other_row, other_thread] > time  # itself, and without a fence before
        fenced = here and self.of_device.last[other_row, other_thread] > time
        missing = "barrier" if fenced and not counted else "fence"
        return MissingRelease(int(self.last_acquire[1, row, at[0]]), missing)

    @staticmethod
    def _blocks(wave, mask: np.ndarray | None) -> np.ndarray:
        if mask is None:
            return wave.block_ids
        return wave.block_ids[np.broadcast_to(mask, wave.shape).any(axis=1)]


class _Accesses:
    """By word: a thread (0: none, else 1 + its number in the grid) and a stamp: when, by which instruction, how."""

    def __init__(self, words: int) -> None:
        self.words = words
        self.used = False

    def put(self, words: np.ndarray, marks, stamps) -> None:
        """These threads accessed these words."""
        if not self.used:
            # Made when they are needed; zeros take no memory before they are touched.
            self.thread, self.stamp = np.zeros(self.words, np.int64), np.zeros(self.words, np.int64)
            self.used = True
        self.thread[words] = marks
        self.stamp[words] = stamps


class GlobalWatch:
    """Watches one array of a launch.

    Args: `report(wave, allocation, hazard, times)` is called for what is found. `uninvolved`: what warps know of each
    other where barriers are of some warps.
    """

    def __init__(
        self,
        allocation: Allocation,
        unwritten: np.ndarray | None,
        written: bool,
        clock: Clock,
        report: Callable,
        uninvolved: UninvolvedWarps | None = None,
    ) -> None:
        # The allocation itself has this watch: a copy keeps the two from waiting for Python's collector.
        self.allocation = replace(allocation, watch=None)
        self._uninvolved = uninvolved
        self.unwritten = unwritten
        self.written = written
        self.clock = clock
        self._report = report
        self._item = allocation.dtype.itemsize
        self._word = min(4, self._item)
        self._make(self._word)

    def _make(self, word: int) -> None:
        self._word = word
        words = -(-self.allocation.bytes_.size // word)
        self.writer = _Accesses(words)  # the last one
        # Of concurrent updates, or stores of the same value, before it:
        self.near = _Accesses(words)  # the last one of the same block
        self.far = _Accesses(words)  # the last one of another
        # The last plain store, and the last strong one of the scope of a block, where a strong one came after it
        self.plain, self.scoped = _Accesses(words), _Accesses(words)
        self.observer = _Accesses(words)  # the last atomic operation whose result is live
        self.reader = _Accesses(words)  # the last one
        self.reader_in_block = _Accesses(words)  # the last other reader of the same block
        self.reader_elsewhere = _Accesses(words)  # the last reader of another block

    # ---- called for every access, before it is carried out
    def access(self, wave, op: str, offsets, mask, width: int, values: tuple = ()) -> None:
        """The active threads access `width` bytes at `offsets` from the start of the array."""
        marks = self.clock.marks
        if offsets.shape != wave.shape:
            offsets = np.broadcast_to(offsets, wave.shape)
        if mask is None:
            first, marks = offsets.reshape(-1), marks.reshape(-1)
        else:
            mask = np.broadcast_to(mask, wave.shape)
            first, marks = offsets[mask], marks[mask]
        if self.unwritten is not None:
            self._initialised(wave, op, first, marks, width)
        if self.written:
            if width < self._word:
                # Narrower than the elements: from here on bytes are watched, and what was before is forgotten.
                self._make(width)
            self._ordered(wave, op, first, marks, mask, width, values)

    def copy_in_bulk(
        self, wave, op: str, copier: tuple[int, int], first: int, size: int, written: np.ndarray | tuple = ()
    ) -> None:
        """Thread `copier` copies `size` bytes from byte `first` on, or there; then `written` are the bytes."""
        places = np.arange(first, first + size, BULK_UNIT)
        marks = np.full(len(places), np.broadcast_to(self.clock.marks, wave.shape)[copier])
        if self.unwritten is not None:
            self._initialised(wave, op, places, marks, BULK_UNIT)
        if self.written:
            self._ordered(wave, op, places, marks, None, BULK_UNIT, written)

    def _initialised(self, wave, op: str, first, marks, width: int) -> None:
        elements = first // self._item
        count = -(-width // self._item)
        if count > 1:
            elements = (elements[:, None] + np.arange(count)).reshape(-1)
        if self.allocation.padding:
            elements = np.minimum(elements, len(self.unwritten) - 1)
        if op != "st" and not is_dead_exchange(wave.program, wave.instruction):
            missing = self.unwritten[elements]
            if missing.any():
                where = int(missing.argmax())
                verb = "reads" if op == "ld" else "updates"
                side = GlobalSide(wave.instruction.index, int(marks[where // count]) - 1, verb)
                hazard = GlobalHazard("unwritten", None, side, int(elements[where]) * self._item)
                self._report(wave, self.allocation, hazard, int(missing.sum()))
                self.unwritten[elements] = False  # once is enough
        if op != "ld":
            self.unwritten[elements] = False

    def _ordered(self, wave, op: str, first, marks, mask, width: int, values: tuple) -> None:
        words = first >> (self._word.bit_length() - 1)
        count = width // self._word
        if count > 1:
            words = (words[:, None] + np.arange(count)).reshape(-1)
            marks = np.repeat(marks, count)
        atomic = op in ("atom", "red")
        strong = atomic or wave.instruction.strong or wave.instruction.begins_swap
        in_block = strong and wave.instruction.block_scope
        flags = STRONG * strong | BLOCK_SCOPE * in_block
        stamp = (self.clock.tick() << TIME) | (wave.instruction.index << INSTRUCTION) | flags
        new = _Lazily(lambda: _words_of(values, wave.shape, mask, self._word))
        mine = self._compare(wave, self.writer, "writes", words, marks, flags, op, new)
        for others in (self.plain, self.scoped, self.near, self.far):
            concurrent = others in (self.near, self.far)
            self._compare(wave, others, "writes", words, marks, flags, op, new, concurrent)
        if op == "ld":
            self._remember_readers(wave, words, marks, stamp)
            return
        for readers in (self.reader, self.reader_in_block, self.reader_elsewhere):
            self._compare(wave, readers, "reads", words, marks, flags, op, None)
        self._compare(wave, self.observer, "updates", words, marks, flags, op, None)
        observes = op == "atom" and self.clock.result_is_live(wave)
        if strong:
            self._keep_weaker_stores(words)
        else:
            self._forget(self.plain, words)
            self._forget(self.scoped, words)
        if observes:
            self.observer.put(words, marks, stamp)
        joins = not strong or (atomic and not observes)
        if mine:
            # All words were theirs before, and so each word is one thread's.
            self.writer.stamp[words] = stamp
            return
        if joins:
            self._keep_others(wave, words, marks)
        else:
            self._forget(self.near, words)
            self._forget(self.far, words)
        self.writer.put(words, marks, stamp)
        last = self.writer.thread.take(words)
        lost = last != marks
        if lost.any() and joins:
            same = lost & ((marks - 1) // wave.threads == (last - 1) // wave.threads)
            for others, chosen in ((self.near, same), (self.far, lost & ~same)):
                others.put(words[chosen], marks[chosen], stamp)
        if lost.any() and not strong:
            self._same_instruction(wave, words, marks, lost, new)
        elif in_block:
            lost &= (marks - 1) // wave.threads != (last - 1) // wave.threads
            self._blocks_at_once(wave, op, words, marks, last, lost, new)

    def _keep_others(self, wave, words, marks) -> None:
        """Threads update words by atomic operations whose results are dead, or store what is there already: of earlier
        ones that do not happen before these, the last one of the same block is kept, and the last one of another."""
        kept = [(others, *np.zeros((2, len(words)), np.int64)) for others in (self.near, self.far)]
        for before in (self.far, self.near, self.writer):
            if not before.used:
                continue
            threads, stamps = before.thread.take(words), before.stamp.take(words)
            at = np.flatnonzero((threads != 0) & (threads != marks))
            at = at[~self._in_order(wave, threads[at] - 1, marks[at] - 1, stamps[at] >> TIME)] if len(at) else at
            same = (threads[at] - 1) // wave.threads == (marks[at] - 1) // wave.threads
            for (_, thread_of, when), chosen in zip(kept, (at[same], at[~same]), strict=True):
                thread_of[chosen], when[chosen] = threads[chosen], stamps[chosen]
        for others, threads_before, when in kept:
            if others.used or threads_before.any():
                others.put(words, threads_before, when)

    @staticmethod
    def _forget(accesses: _Accesses, words) -> None:
        if accesses.used:
            accesses.thread[words] = 0

    def _keep_weaker_stores(self, words) -> None:
        """Strong stores come after plain ones, and ones of the scope of a block: those are what other strong accesses
        may race with."""
        if not self.writer.used:
            return
        threads, stamps = self.writer.thread.take(words), self.writer.stamp.take(words)
        for kept, weaker in ((self.plain, stamps & STRONG == 0), (self.scoped, stamps & BLOCK_SCOPE != 0)):
            at = np.flatnonzero((threads != 0) & weaker)
            if len(at):
                kept.put(words[at], threads[at], stamps[at])

    def _compare(
        self, wave, earlier: _Accesses, what: str, words, marks, flags: int, op: str, new, concurrent: bool = False
    ) -> bool:
        """Report the lanes whose access is in no order with an earlier one. True if all earlier ones are their own.

        flags: of the access, STRONG and BLOCK_SCOPE.
        concurrent: the earlier one was in no order with the word's last writer either; then a plain store was of the
        same value, and it is the same to a load which came last.
        """
        if not earlier.used:
            return False
        others = earlier.thread.take(words)
        foreign = others != marks
        if not foreign.any():
            return True
        foreign &= others != 0
        if not foreign.any():
            return False
        chosen = np.flatnonzero(foreign)
        others, accessors, words = others[chosen] - 1, marks[chosen] - 1, words[chosen]
        stamps = earlier.stamp.take(words)
        racing = ~self._in_order(wave, others, accessors, stamps >> TIME)
        if flags & STRONG:
            apart = accessors // wave.threads != others // wave.threads
            racing &= (stamps & STRONG == 0) | (apart & ((stamps | flags) & BLOCK_SCOPE != 0))
        if concurrent and op == "ld":
            racing &= (stamps & STRONG) != 0
        if new is not None and op == "st" and racing.any():
            values = new()
            if values is not None:
                racing[racing] = values[chosen[racing]] != self._content(words[racing])
        if racing.any():
            at = int(racing.argmax())
            instruction = int(stamps[at] & ((1 << TIME) - 1)) >> INSTRUCTION
            if what == "writes" and stamps[at] & STRONG:
                what = "updates"
            first = GlobalSide(instruction, int(others[at]), what)
            missing_release = self.clock.missing_release(
                wave, int(others[at]), int(accessors[at]), int(stamps[at]) >> TIME
            )
            self._race(wave, first, op, int(accessors[at]), int(words[at]), int(racing.sum()), missing_release)
        return False

    def _in_order(self, wave, others: np.ndarray, accessors: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Whether what threads `others` did at `times` comes before what `accessors` do now."""
        clock, threads = self.clock, wave.threads
        block, other_block = accessors // threads, others // threads
        same = block == other_block
        row = np.searchsorted(wave.block_ids, block)
        ordered = same & (clock.barriers[row] > times)
        lane, other_lane = accessors % threads, others % threads
        same_warp = same & (lane // WARP == other_lane // WARP)
        if self._uninvolved is not None and ordered.any():
            between = ordered & ~same_warp
            warps = (each[between] // WARP for each in (lane, other_lane))
            ordered[between] = self._uninvolved.knows(row[between], *warps, times[between])
        if same_warp.any():
            ordered |= same_warp & (clock.last_meeting(row, lane, other_lane) > times)
        if clock.fenced:
            released = clock.released_by_threads[others] > times
            ordered |= ~same & released & (clock.heard_of(row, lane, other_block) > times)
            if same.any():
                released |= clock.released_in_block[row, other_lane] > times
                ordered |= same & released & (clock.atomics_of_threads[row, lane] > times)
        return ordered

    def _remember_readers(self, wave, words, marks, stamp: int) -> None:
        reader, threads = self.reader, wave.threads
        if reader.used:
            before = reader.thread.take(words)
            replaced = before != marks
            if not replaced.any():
                reader.stamp[words] = stamp
                return
            replaced &= before != 0
            if replaced.any():
                stamps = reader.stamp.take(words[replaced])
                self._push(words[replaced], before[replaced], stamps, marks[replaced], threads)
        reader.put(words, marks, stamp)
        now = reader.thread.take(words)
        lost = now != marks
        if lost.any():
            self._push(words[lost], marks[lost], stamp, now[lost], threads)

    def _push(self, words, marks, stamps, latest, threads: int) -> None:
        """Keep readers that are not the latest any more: of the same block as the latest, or of another one."""
        same = (marks - 1) // threads == (latest - 1) // threads
        for history, chosen in ((self.reader_in_block, same), (self.reader_elsewhere, ~same)):
            if chosen.any():
                history.put(words[chosen], marks[chosen], stamps if np.ndim(stamps) == 0 else stamps[chosen])

    def _same_instruction(self, wave, words, marks, lost, new) -> None:
        """Several threads store into one word at once: does it matter which one is last?"""
        concerned = np.isin(words, words[lost])
        order = np.argsort(words[concerned], kind="stable")
        words, writers = words[concerned][order], marks[concerned][order] - 1
        starts = np.r_[0, np.flatnonzero(np.diff(words)) + 1]
        values = new()
        if values is None:
            different = np.ones(len(starts), bool)
        else:
            values = values[concerned][order]
            different = np.minimum.reduceat(values, starts) != np.maximum.reduceat(values, starts)
        if different.any():
            group = int(different.argmax())
            start = int(starts[group])
            stop = int(starts[group + 1]) if group + 1 < len(starts) else len(words)
            at = start + 1 if values is None else start + int((values[start:stop] != values[start]).argmax())
            first = GlobalSide(wave.instruction.index, int(writers[start]), "writes")
            self._race(wave, first, "st", int(writers[at]), int(words[start]), int(different.sum()))

    def _blocks_at_once(self, wave, op: str, words, marks, last, apart, new) -> None:
        """Threads of several blocks make a strong access of the scope of their block to one word at once."""
        if not apart.any():
            return
        if op == "st":
            self._same_instruction(wave, words, marks, apart, new)
            return
        at = int(apart.argmax())
        first = GlobalSide(wave.instruction.index, int(marks[at]) - 1, "updates")
        self._race(wave, first, op, int(last[at]) - 1, int(words[at]), int(apart.sum()))

    def _race(
        self,
        wave,
        first: GlobalSide,
        op: str,
        thread: int,
        word: int,
        times: int,
        missing_release: MissingRelease | None = None,
    ) -> None:
        what = {"ld": "reads", "st": "writes"}.get(op, "updates")
        second = GlobalSide(wave.instruction.index, thread, what)
        self._report(
            wave, self.allocation, GlobalHazard("race", first, second, word * self._word, missing_release), times
        )

    def _content(self, words: np.ndarray) -> np.ndarray:
        """What memory holds before the access, as integers."""
        return self.allocation.view(np.dtype(f"u{self._word}"))[words]


def _accumulate(rows: np.ndarray, starts: np.ndarray) -> None:
    """Make each row the maximum of those up to it, from the start of its group on."""
    stops = np.r_[starts[1:], len(rows)]
    longest = int((stops - starts).max())
    if len(starts) <= longest:
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            np.maximum.accumulate(rows[start:stop], out=rows[start:stop])
        return
    for step in range(1, longest):
        at = starts[starts + step < stops] + step
        rows[at] = np.maximum(rows[at], rows[at - 1])


def _latest_of_warps(times: np.ndarray) -> np.ndarray:
    """By thread the latest time of its warp, (blocks, threads)."""
    blocks, threads = times.shape
    padded = np.pad(times, ((0, 0), (0, -threads % WARP)))
    return padded.reshape(blocks, -1, WARP).max(axis=2).repeat(WARP, axis=1)[:, :threads]


def _lanes(wave, mask: np.ndarray | None):
    """An index that selects the threads of a mask."""
    return slice(None) if mask is None else np.broadcast_to(mask, wave.shape)


class _Lazily:
    """A value that is computed when it is first asked for."""

    def __init__(self, compute: Callable) -> None:
        self._compute = compute

    def __call__(self):
        if self._compute is not None:
            self._value, self._compute = self._compute(), None
        return self._value


def _words_of(values: tuple | np.ndarray, shape: tuple[int, int], mask, word: int) -> np.ndarray | None:
    """What the active lanes store, word after word, as integers; None if it is not known."""
    if isinstance(values, np.ndarray):
        return values.view(f"u{word}")
    if not values:
        return None
    columns = [np.broadcast_to(value, shape) for value in values]
    columns = [column.reshape(-1) if mask is None else column[mask] for column in columns]
    return np.ascontiguousarray(np.stack(columns, axis=1)).view(np.uint8).view(f"u{word}").reshape(-1)
