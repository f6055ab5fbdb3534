"""What clocks show in this engine. The compiled one says the same of a warp, and why:
helpers/gpusim/src/gpusim/native/engine/clock.c."""

from dataclasses import dataclass, field

import numpy as np

from gpusim.devices import WARP
from gpusim.engine.circles import memory_of

PATIENT, FEW_STEPS, MANY_STEPS, PART = 16, 64, 4096, 8
# Clocks beside that of the instruction; what local memory and other blocks take was not measured.
TAKES = {"global": 265, "shared": 23, "local": 33, "cluster": 180}
LONGEST_SLEEP = 1_000_000
ROUND = 256  # steps that others get between two leaps


@dataclass(slots=True)
class Reader:
    """An instruction that reads a clock, by warp."""

    shape: tuple[int, int]
    lanes: np.ndarray  # for which it did so last, by thread
    is_last: np.ndarray = field(init=False)  # of the instructions that read it for these
    reads: np.ndarray = field(init=False)  # with no memory read between them
    first_step: np.ndarray = field(init=False)
    first_time: np.ndarray = field(init=False)
    step: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.is_last = np.zeros(self.shape, bool)
        self.reads, self.first_step, self.first_time, self.step = np.zeros((4, *self.shape), np.int64)


class Clock:
    """The clocks of a wave's warps."""

    def __init__(self, shape: tuple[int, int]) -> None:
        blocks, threads = shape
        self._threads, self._shape = threads, (blocks, -(-threads // WARP))
        self._steps, self._ahead = np.zeros((2, *self._shape), np.int64)
        self._touched = np.zeros(shape, bool)  # threads that have read memory since they last read a clock
        self._readers: dict[int, Reader] = {}
        self._until = 0  # where the basic block ends that was begun last
        self._shown = 0  # by the timer that all warps share
        self._leapt_at = self._steps.copy()
        # What memory holds since when, while it is looked whether that changes.
        self._memory: list[np.ndarray] | None = None
        self._same_since, self._same_from = self._steps.copy(), self._steps.copy()

    def passes(self, mask: np.ndarray | None, start: int, stop: int) -> None:
        """Threads execute the instructions of a basic block."""
        self._steps[self._warps(mask)] += stop - start
        self._until = stop

    def takes(self, space: str, mask: np.ndarray | None) -> None:
        """Threads read memory of this space, or update it."""
        self._ahead[self._warps(mask)] += TAKES[space]
        self._touched |= True if mask is None else mask

    def sleeps(self, nanoseconds: np.ndarray, mask: np.ndarray | None) -> None:
        """NANOSLEEP: a nanosecond is a clock."""
        longest = np.where(self._lanes(mask), np.minimum(nanoseconds.view(np.uint32), LONGEST_SLEEP), 0)
        self._ahead += self._padded(longest.astype(np.int64)).max(axis=2)

    def shows(self, index: int, of_all: bool = False) -> np.ndarray:
        """By thread, what the instruction `index` reads. of_all: from the timer that all warps share."""
        time = self._steps - (self._until - index) + self._ahead
        if of_all:
            self._ahead += np.maximum(self._shown - time, 0)
            time = np.maximum(time, self._shown)
            self._shown = int(time.max())
        return time.repeat(WARP, axis=1)[:, : self._threads]

    def read(self, wave, index: int, mask: np.ndarray | None, of_all: bool) -> np.ndarray:
        """The same; a clock that is waited for leaps ahead before."""
        lanes, warps = self._lanes(mask), self._warps(mask)
        reader = self._readers.get(index)
        if reader is None:
            reader = self._readers[index] = Reader(self._shape, np.zeros_like(self._touched))
        now, touched = self._steps - (self._until - index), self._warps(self._touched & lanes)
        before, was_last, is_known = reader.step.copy(), reader.is_last.copy(), self._warps(reader.lanes)
        self._touched &= ~lanes
        for other in self._readers.values():
            broken = touched if other is reader else self._warps(other.lanes & lanes)
            other.reads[broken] = 0
            other.is_last[broken] = other is reader
        begins = warps & (reader.reads == 0)
        reader.first_step[begins], reader.first_time[begins] = now[begins], (now + self._ahead)[begins]
        reader.reads += warps
        reader.is_last |= warps
        reader.step[warps] = now[warps]
        reader.lanes = np.where(warps.repeat(WARP, axis=1)[:, : self._threads], lanes, reader.lanes)

        is_near = now - before <= FEW_STEPS
        waits = warps & ((reader.reads > PATIENT) & is_near | (now - reader.first_step > MANY_STEPS))
        stares = warps & ~waits & (was_last | ~touched) & is_known & (now - self._same_since > MANY_STEPS)
        if stares.any() and self._memory_changed(wave):
            stares &= False
        stares &= before >= self._same_since
        leaps = (waits | stares) & (self._ahead < 1 << 61)
        if leaps.any() and self._others_had_a_turn(wave, warps):
            begun = np.where(waits, reader.first_time, self._same_from)
            self._ahead += np.where(leaps, (now + self._ahead - begun) // PART + 1, 0)
            self._leapt_at = self._steps.copy()
        return self.shows(index, of_all)

    def _memory_changed(self, wave) -> bool:
        """Whether memory is not what it was when this was asked last."""
        memory = memory_of(wave)
        if self._memory is not None and all(map(np.array_equal, self._memory, memory)):
            return False
        self._memory = [part.copy() for part in memory]
        self._same_since, self._same_from = self._steps.copy(), self._steps + self._ahead
        return True

    def _others_had_a_turn(self, wave, warps: np.ndarray) -> bool:
        """Whether those that can run have done so since a clock leapt last, all but these."""
        runs = wave.alive()
        if wave.waiting is not None:
            runs &= ~wave.waiting
        if wave.groups is not None:
            runs &= ~wave.groups.blocked()
        return not (self._warps(runs) & ~warps & (self._steps - self._leapt_at < ROUND)).any()

    def _lanes(self, mask: np.ndarray | None) -> np.ndarray:
        return np.broadcast_to(True if mask is None else mask, self._touched.shape)

    def _padded(self, values: np.ndarray) -> np.ndarray:
        """By block, warp and lane."""
        blocks, warps = self._shape
        padding = warps * WARP - self._threads
        return np.pad(values, ((0, 0), (0, padding))).reshape(blocks, warps, WARP)

    def _warps(self, mask: np.ndarray | None) -> np.ndarray:
        """The warps of which some threads are in `mask`, bool (blocks, warps)."""
        return np.ones(self._shape, bool) if mask is None else self._padded(self._lanes(mask)).any(axis=2)
