"""Barriers of a part of a block: `bar.sync n, threads` and `bar.arrive n, threads`. PTX ISA, 'bar', 'barrier'.

A block has sixteen, by number. One that names no threads waits for all living threads of the block, as
`__syncthreads()` does; one that names them lets those go on that wait there when so many have come. A warp counts
whole, with its lanes that have exited or were never there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim.devices import WARP
from gpusim.engine.observers import BarrierPassed, NamedBarrierReached
from gpusim.errors import BarrierError

NUMBERS = 16


class NamedBarriers:
    """The sixteen barriers of each block of a wave.

    `at` holds by thread the number of the barrier that it waits at; it counts only where the thread waits, and where
    `waiting` says that this is none of `__syncthreads()`. `arrived` and `wanted` are threads, (16, blocks).
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.at = np.zeros(shape, np.int8)
        self.waiting = np.zeros(shape, bool)
        self.arrived = np.zeros((NUMBERS, shape[0]), np.int32)
        self.wanted = np.zeros((NUMBERS, shape[0]), np.int32)  # 0: all of the block
        self._passed: dict[int, Callable | None] = {}

    def arrive(self, wave, instruction, active: np.ndarray, number, threads) -> np.ndarray:
        """The active threads come to a barrier, warp by warp; the blocks in which one is passed, bool (blocks,).

        Raises BarrierError if they name no whole number of warps.
        """
        number = np.broadcast_to(number, wave.shape) & (NUMBERS - 1)
        threads = np.broadcast_to(threads, wave.shape)
        self._check(wave, instruction, active, threads)
        released = np.zeros(wave.shape[0], bool)
        alive = wave.alive()
        for first in range(0, wave.threads, WARP):
            lanes = slice(first, first + WARP)
            here, living = active[:, lanes], alive[:, lanes]
            leads = living & (np.cumsum(living, axis=1) == 1)  # arrives with the warp's absent lanes
            for which, wanted in set(
                zip(number[:, lanes][here].tolist(), threads[:, lanes][here].tolist(), strict=True)
            ):
                coming = here & (number[:, lanes] == which) & (threads[:, lanes] == wanted)
                rows = coming.any(axis=1)
                _tell_reached(wave, which, lanes, coming)
                absent = np.where((coming & leads).any(axis=1), WARP - living.sum(axis=1), 0)
                self.arrived[which] += coming.sum(axis=1, dtype=np.int32) + absent.astype(np.int32)
                self.wanted[which, rows] = wanted
                if not instruction.barrier:  # bar.arrive waits for no thread
                    self._passed[which] = instruction.evaluate
                    self.at[:, lanes][coming] = which
                    self.waiting[:, lanes] |= coming
                released |= self._release(wave, which, rows & (wanted > 0) & (self.arrived[which] >= wanted))
        return released | self.release_whole(wave)

    def release_whole(self, wave) -> np.ndarray:
        """Pass the barriers of whole blocks that all living threads have come to; the blocks, bool (blocks,)."""
        released = np.zeros(wave.shape[0], bool)
        complete = (self.waiting | ~wave.alive()).all(axis=1) & self.waiting.any(axis=1)
        for which in np.unique(self.at[self.waiting]).tolist() if complete.any() else ():
            same = ((self.at == which) | ~self.waiting).all(axis=1)
            released |= self._release(wave, which, complete & same & (self.wanted[which] == 0))
        return released

    def _release(self, wave, which: int, blocks: np.ndarray) -> np.ndarray:
        if not blocks.any():
            return blocks
        going = self.waiting & (self.at == which) & blocks[:, None]
        self.waiting &= ~going
        wave.waiting &= ~going
        self.arrived[which, blocks] = 0
        if wave.observers is not None:
            wave.observers.tell(BarrierPassed(wave, blocks, which, going))
        if passed := self._passed.get(which):
            passed(wave.registers, going)
        return blocks

    @staticmethod
    def _check(wave, instruction, active: np.ndarray, threads: np.ndarray) -> None:
        wrong = active & ((threads % WARP != 0) | (threads < 0))
        if wrong.any():
            block, thread = (int(i) for i in np.argwhere(wrong)[0])
            wave.instruction = instruction
            wave.fail(
                BarrierError,
                f"waits at a barrier for {int(threads[block, thread])} threads",
                f"A barrier counts warps: name a multiple of {WARP} threads.",
                block,
                thread,
            )

    def in_words(self, block: int, thread: int) -> str:
        """What a thread waits for, "barrier 1, to which 32 of 64 threads have come"."""
        which = int(self.at[block, thread])
        wanted, arrived = int(self.wanted[which, block]), int(self.arrived[which, block])
        return f"barrier {which}" + (f", to which {arrived} of {wanted} threads have come" if wanted else "")


def _tell_reached(wave, number: int, lanes: slice, coming: np.ndarray) -> None:
    if wave.observers is not None:
        threads = np.zeros(wave.shape, bool)
        threads[:, lanes] = coming
        wave.observers.tell(NamedBarrierReached(wave, number, threads))


def counted(votes: int, keep: Callable[[Any, np.ndarray, np.ndarray, np.ndarray], None]) -> Callable:
    """What a reduction at a barrier does when it is passed: `keep(registers, going, yes, voters)` with the number of
    threads, by block, whose slot `votes` is true, and of all that go on."""

    def passed(registers, going: np.ndarray) -> None:
        yes = (np.broadcast_to(registers[votes], going.shape) & going).sum(axis=1, keepdims=True, dtype=np.int32)
        keep(registers, going, yes, going.sum(axis=1, keepdims=True, dtype=np.int32))

    return passed
