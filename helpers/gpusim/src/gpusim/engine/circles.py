"""Tells a loop that never ends from a long one: all that decides what comes next is as it was before.

The state that is compared with is a newer one after 1, 2, 4, … times as many basic blocks, so that a circle of any
length is found (R. P. Brent, 1980). Memory is looked at only when the registers are those of an earlier time.
"""

from typing import Any

import numpy as np

from gpusim.engine.convergence import WARPSYNC

LOOKS_AFTER = 512  # basic blocks: what ends before is not looked at
# In which threads that are at different places come back: whose turn it is differs from round to round.
ROUNDS_APART = 4


class Circles:
    """Watches one wave, basic block by basic block."""

    def __init__(self) -> None:
        self._blocks = 0
        self._next = LOOKS_AFTER
        self._pc = -1  # of the state that is compared with
        self._registers: list[Any] = []
        self._threads: tuple = ()
        self._memory: list[np.ndarray] | None = None
        self._ran: np.ndarray | None = None  # since the last round, None while all threads are together
        self._rounds = 0
        self._differed = 0  # the register that distinguished the last two states, which will most likely do so again

    def closes(self, wave, pc: int) -> bool:
        """Whether the wave, which is about to execute basic block `pc`, will come here again for ever."""
        self._blocks += 1
        if self._ran is not None:
            self._ran |= True if wave.mask is None else wave.mask
        if pc == self._pc and self._same_registers(wave.registers) and _equal(self._threads, _threads(wave)):
            return self._again(wave)
        if self._blocks >= self._next:
            self._next *= 2
            self._pc = -1 if wave.named is not None else pc
            self._registers, self._threads = list(wave.registers), _threads(wave)
            self._memory, self._rounds = None, 0
        return False

    def _again(self, wave) -> bool:
        """All but memory is as before."""
        if self._ran is not None and not (self._ran | _stopped(wave)).all():
            return False  # a thread has not had a turn yet, and may change something
        memory = memory_of(wave)
        if self._memory is None:
            self._memory = [part.copy() for part in memory]
        elif all(np.array_equal(old, new) for old, new in zip(self._memory, memory, strict=True)):
            self._rounds += 1
        else:
            self._pc = -1  # it writes: the next state to compare with comes later
        self._ran = None if wave.pcs is None else np.zeros(wave.shape, bool)
        return self._rounds >= (1 if wave.pcs is None else ROUNDS_APART)

    def _same_registers(self, registers) -> bool:
        last = self._differed
        if registers and not _same(self._registers[last], registers[last]):
            return False
        for slot, (old, new) in enumerate(zip(self._registers, registers, strict=True)):
            if not _same(old, new):
                self._differed = slot
                return False
        return True


def _same(old, new) -> bool:
    """Whether two values have the same bits; those that only look the same, in another shape, count as different."""
    if old is new:
        return True
    if isinstance(old, tuple):  # two registers, each compared by itself, and the 64 bits that they were last read as
        return True
    return old.shape == new.shape and old.dtype == new.dtype and old.tobytes() == new.tobytes()


def same_values(old: list, new: list) -> bool:
    """Whether two lists of registers hold the same bits."""
    return all(map(_same, old, new))


def _equal(old: tuple, new: tuple) -> bool:
    pairs = zip(old, new, strict=True)
    return all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)


def _threads(wave) -> tuple:
    """The program counters of threads and what they wait for. The number of a meeting does not matter, but its
    members."""
    if wave.pcs is None:
        return wave.exited, None, None, None, None, None
    groups = wave.groups
    if groups is None:
        return wave.exited, wave.pcs.copy(), wave.waiting.copy(), None, None, None
    tokens = [np.unique(groups.tokens[barrier], return_inverse=True)[1].ravel() for barrier in sorted(groups.tokens)]
    return (
        wave.exited, wave.pcs.copy(), wave.waiting.copy(), groups.leader.copy(), groups.waiting.copy(),
        np.concatenate(tokens) if tokens else None,
    )  # fmt: skip


def _stopped(wave) -> np.ndarray:
    """The threads that have exited or wait, bool (blocks, threads); not those at a BSYNC, which go on alone in time."""
    stopped = ~wave.alive()
    if wave.waiting is not None:
        stopped = stopped | wave.waiting
    return stopped if wave.groups is None else stopped | wave.groups.threads(wave.groups.waiting == WARPSYNC)


def memory_of(wave) -> list[np.ndarray]:
    """All that the threads of the wave can write, as bytes."""
    parts = [allocation.bytes_ for allocation in wave.global_memory.allocations if allocation.writable]
    parts.append(wave.shared.contents)
    return parts if wave.local is None else [*parts, wave.local.contents]
