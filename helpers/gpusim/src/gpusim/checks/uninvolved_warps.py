"""Warps that take no part in a named barrier, or in a phase of an mbarrier, are not ordered by it.

Elsewhere the sanitizer takes such a barrier for one of the whole block. Here each warp has a vector clock: a barrier
joins the clocks of the warps that arrive at it, and an mbarrier is released to by arriving warps, and acquired by those
that observe the end of its phase (PTX ISA, 'mbarrier'). An access of shared memory is concurrent with an earlier one
that is not in the clock of its warp. (Lanes of one warp, and barriers of the whole block, are checked elsewhere.)
Strong accesses release and acquire here without further conditions, which are checked elsewhere, too.
The shadow memory of global memory reads these clocks.
"""

from collections.abc import Callable

import numpy as np

from gpusim.checks.shared_epoch import Hazard, Side
from gpusim.devices import WARP
from gpusim.engine.named_barriers import NUMBERS

WORD = 4  # bytes
READS, WRITES = ("ld", "ldsm"), ("st", "stsm")


class UninvolvedWarps:
    """Watches the shared memory of one launch; `report(wave, hazard, times)` is called for what is found.

    Times are those of the launch's clock, `tick()`.

    Attributes:
        known: (blocks, warps, warps), the vector clock of each warp.
        brought: (numbers, blocks, warps), the joined clocks at a barrier that is not yet passed.
        released: by mbarrier, a block and a byte, the joined clocks of its arrivals.
        learnt: by mbarrier the same as of the end of its last phase, which waiting warps acquire.
        posted: (blocks, warps), the joined clocks of strong accesses.
        written, read: by word and warp 0, or the time of the last access, with 1 + its instruction and its lane.
    """

    def __init__(self, report: Callable[[object, Hazard, int], None], tick: Callable[[], int]) -> None:
        self._report, self._tick = report, tick

    def begin(self, wave) -> None:
        """A new wave."""
        blocks, warps, words = wave.shape[0], -(-wave.shape[1] // WARP), -(-wave.shared.size // WORD)
        self.known = np.zeros((blocks, warps, warps), np.int32)
        self.brought = np.zeros((NUMBERS, blocks, warps), np.int32)
        self.posted = np.zeros((blocks, warps), np.int32)
        self.released: dict[tuple[int, int], np.ndarray] = {}
        self.learnt: dict[tuple[int, int], np.ndarray] = {}
        self.written, self.read = (np.zeros((3, blocks, words, warps), np.int32) for _ in range(2))

    def barrier(self, blocks: np.ndarray | None) -> None:
        """`__syncthreads()`, of all blocks or of those that are set."""
        self.known[slice(None) if blocks is None else blocks] = self._tick()

    def reached(self, number: int, threads: np.ndarray) -> None:
        """These threads come to a barrier with a number."""
        for row, warp in np.unique(np.argwhere(threads) // (1, WARP), axis=0).tolist():
            self._release(self.brought[number, row], row, warp)

    def _release(self, released: np.ndarray, row: int, warp: int) -> None:
        """A warp hands on, by warps, what it knows and what it did."""
        np.maximum(released, self.known[row, warp], out=released)
        released[warp] = self._tick()

    def passed(self, number: int, threads: np.ndarray) -> None:
        """These threads have waited there, and go on."""
        pairs = np.unique(np.argwhere(threads) // (1, WARP), axis=0)
        for row, warp in pairs.tolist():
            self.known[row, warp] = np.maximum(self.known[row, warp], self.brought[number, row])

    def forget(self, number: int, blocks: np.ndarray) -> None:
        """A barrier with a number is passed, and may be used again."""
        self.brought[number, blocks] = 0

    def arrive(self, row: int, byte: int, threads: np.ndarray, is_far: bool, ended: int) -> None:
        """Threads of a block arrive at an mbarrier of it, or those of another one (`is_far`); so many phases end."""
        released = self.released.setdefault((row, byte), np.zeros(self.known.shape[1], np.int32))
        if is_far:  # what they know of this block is not kept
            released[:] = self._tick()
        for warp in np.unique(threads // WARP).tolist():
            self._release(released, row, warp)
        if ended:
            self.learnt[row, byte] = released.copy()

    def found_ended(self, row: int, byte: int, threads: np.ndarray) -> None:
        """Threads have found a phase of an mbarrier ended."""
        learnt = self.learnt.get((row, byte), 0)
        for warp in np.unique(threads // WARP).tolist():
            np.maximum(self.known[row, warp], learnt, out=self.known[row, warp])

    def post(self, threads: np.ndarray) -> None:
        """These threads make strong accesses."""
        for row, warp in np.unique(np.argwhere(threads) // (1, WARP), axis=0).tolist():
            np.maximum(self.known[row, warp], self.posted[row], out=self.known[row, warp])
            self._release(self.posted[row], row, warp)

    def knows(self, rows: np.ndarray, warps: np.ndarray, others: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Whether warps of these blocks know of what others did at these times."""
        return self.known[rows, warps, others] > times

    def access(self, wave, op: str, width: int, addresses, mask) -> None:
        """A load or a store that is not strong."""
        active = np.broadcast_to(wave.alive() if mask is None else mask, wave.shape)
        rows, threads = np.nonzero(active)
        words = np.broadcast_to(addresses, wave.shape)[rows, threads] // WORD
        count = max(1, width // WORD)
        rows, threads = np.repeat(rows, count), np.repeat(threads, count)
        words = (words[:, None] + np.arange(count)).reshape(-1)
        warps = threads // WARP
        if op in READS + WRITES:
            earlier = self.written if op in READS else self.read
            self._compare(wave, op, earlier, rows, threads, words)
        now = self._tick()
        for kept in (self.read,) if op in READS else (self.written,) if op in WRITES else ():
            for part, value in enumerate((now, 1 + wave.instruction.index, threads)):
                kept[part, rows, words, warps] = value

    def _compare(self, wave, op: str, earlier: np.ndarray, rows, threads, words) -> None:
        times = earlier[0, rows, words]
        racing = (times > 0) & (times >= self.known[rows, threads // WARP])
        racing[np.arange(len(rows)), threads // WARP] = False
        if not racing.any():
            return
        at, other = (int(i) for i in np.argwhere(racing)[0])
        row, word = int(rows[at]), int(words[at])
        what, before = ("reads", "writes") if op in READS else ("writes", "reads")
        first = Side(int(earlier[1, row, word, other]) - 1, row, int(earlier[2, row, word, other]), before)
        second = Side(wave.instruction.index, row, int(threads[at]), what)
        self._report(wave, Hazard("race", first, second, word * WORD, int(racing.sum())), 1)
