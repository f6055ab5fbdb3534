"""Whose turn it is among threads that have gone different ways.

Those with the lowest program counter go first, so that threads meet again as early as they can. That alone is not fair:
a thread that goes round a loop until another one has done something would never let it. So threads that could run but
have not for a while get a turn, as on a GPU since Volta (CUDA guide, 'Independent Thread Scheduling').

Nothing that is counted depends on whose turn it is: at PTX level warps get turns and their threads stay as they are; in
machine code threads do, which wait for each other where the code says so (`convergence`). But threads that only compute
keep the turn of their warp: they cannot wait for others, and the compiler relies on it, since a warp has its uniform
registers but once.

Blocks of different waves never overlap: those that may wait for each other are in one wave, as many as a device holds.
"""

from collections.abc import Sequence

import numpy as np

from gpusim.devices import WARP

DONE = np.int32(2**31 - 1)  # the program counter of a thread that has exited, or that waits
NEVER = np.int64(2**63 - 1)
BELOW = 42  # bits of an order in which threads that run together may differ
PATIENCE = 256  # steps without a search for starving threads, and then with a record of those that run
TURN = 64  # steps for the others before the next search for starving threads
LEAST = 16  # what PATIENCE becomes where threads wait again and again


class Turns:
    """Chooses among the threads of a wave, (blocks, threads), from the moment that they part until they are together.

    whole_warps: threads of a warp get their turns together. sees_others: by basic block, whether it may see what other
    threads do. `in_order` is True as long as the lowest went first always, so that all others are further on, or wait.
    """

    def __init__(self, whole_warps: bool, sees_others: Sequence[bool]) -> None:
        self.in_order = True
        self._whole_warps = whole_warps
        self._sees_others = sees_others
        self._patience = PATIENCE
        self._left = PATIENCE  # steps until something else is decided
        self._ran: np.ndarray | None = None  # threads that have run since the record began
        self._saw: np.ndarray | None = None  # threads that may have read what others wrote in this turn
        self._favoured: np.ndarray | None = None  # whose turn it is, None for everyone's

    def choose(self, pcs: np.ndarray, order: np.ndarray | None = None) -> tuple[int, np.ndarray]:
        """(program counter, the threads that execute it), DONE if there is none to execute; `pcs` are those of the
        threads that can run, DONE for others. order: the smallest goes first, if it is not the program counter."""
        self._left -= 1
        if self._left < 0:
            self._decide(pcs)
        pc, mask = self._lowest(pcs, order)
        if pc == DONE and self._favoured is not None:
            self._decide(pcs)
            pc, mask = self._lowest(pcs, order)
        if self._ran is not None:
            self._ran |= mask
            if pc != DONE and self._sees_others[pc]:
                self._saw |= mask
        return pc, mask

    def favour(self, threads: np.ndarray) -> None:
        """These threads, which can run, get their turn now, although others of their warps run at lower places."""
        self._favoured, self._left = threads, TURN
        self._watch(threads.shape)
        self.in_order = False

    def _lowest(self, pcs: np.ndarray, order: np.ndarray | None) -> tuple[int, np.ndarray]:
        if self._favoured is not None:
            pcs = np.where(self._favoured, pcs, DONE)
        if order is None:
            pc = int(pcs.min())
            return pc, pcs == pc
        self.in_order = False
        order = np.where(pcs == DONE, NEVER, order)
        first = order.argmin()
        pc = int(pcs.reshape(-1)[first])
        return pc, (pcs == pc) & (order >> BELOW == order.reshape(-1)[first] >> BELOW)

    def _decide(self, pcs: np.ndarray) -> None:
        """Begin to record the threads that run; then favour those that can and have not, until there is none."""
        if self._ran is None:
            self._watch(pcs.shape)
            self._left = self._patience
            return
        others = (pcs != DONE) & ~self._had_a_turn(pcs)
        if others.any():
            self._favoured = by_warps(others, pcs.shape) if self._whole_warps else others
            self._left, self._saw = TURN, np.zeros(pcs.shape, bool)
            self._patience = max(LEAST, self._patience // 2)
            self.in_order = False
        else:
            self._patience = self._patience if self._favoured is not None else PATIENCE
            self._ran = self._favoured = None
            self._left = self._patience

    def _had_a_turn(self, pcs: np.ndarray) -> np.ndarray:
        """The threads that have run, or whose warp only computes in this turn; but not those whose turn it is if they
        only compute: they keep it."""
        if self._whole_warps:
            return by_warps(self._ran, pcs.shape)
        computing = by_warps(self._ran, pcs.shape) & ~by_warps(self._saw, pcs.shape)
        had = self._ran | computing
        return had if self._favoured is None else had & ~(self._favoured & computing & self._ran)

    def _watch(self, shape: tuple[int, int]) -> None:
        self._ran, self._saw = np.zeros(shape, bool), np.zeros(shape, bool)


def by_warps(mask: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """`mask` extended to all lanes of the warps in which a thread is set."""
    blocks, threads = shape
    padded = np.zeros((blocks, -(-threads // WARP) * WARP), bool)
    padded[:, :threads] = mask
    return padded.reshape(blocks, -1, WARP).any(axis=2).repeat(WARP, axis=1)[:, :threads]


def first_of_warps(mask: np.ndarray | bool, shape: tuple[int, int]) -> np.ndarray:
    """Of each warp the first thread that is set in `mask`."""
    blocks, threads = shape
    padded = np.zeros((blocks, -(-threads // WARP) * WARP), bool)
    padded[:, :threads] = mask
    lanes = padded.reshape(blocks, -1, WARP)
    return (lanes & (lanes.cumsum(axis=2) == 1)).reshape(blocks, -1)[:, :threads]
