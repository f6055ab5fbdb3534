"""The sanitizer's watch over what blocks of a cluster do in each other's shared memory.

Between two barriers of the cluster the order of its blocks is not defined. Two of them may use the same byte only if
both read it, or both update it by atomic operations. A thread that has arrived at a barrier and has not waited there
yet belongs to the time before and to the time after it. And a block must not end before the others are done with its
shared memory: the last barrier has to come after their last access.

Within a block `shared_checks` looks for races. Here no order is known but that of the barriers of clusters: blocks that
tell each other by a flag in shared memory when it is their turn are taken for a race.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gpusim.engine.clusters import RANK_SHIFT
from gpusim.engine.observers import Access, ClusterBarrierPassed

NO_THREAD = -1
READS, WRITES, UPDATES = "reads", "writes", "updates"
_WHAT = {"ld": READS, "ldsm": READS, "st": WRITES, "stsm": WRITES, "atom": UPDATES, "red": UPDATES}
_WRONG_AFTER = {READS: (WRITES, UPDATES), WRITES: (READS, WRITES, UPDATES), UPDATES: (READS, WRITES)}


class Visit(NamedTuple):
    """An access: by which instruction, by the thread of which row of the wave. `what` as in _WHAT."""

    instruction: int
    row: int
    thread: int
    what: str


class ClusterHazard(NamedTuple):
    """kind: "race", "unwritten", or "ended" (the block of `row` may have ended before). `byte` is one of row's shared
    memory."""

    kind: str
    first: Visit | None
    second: Visit
    row: int
    byte: int
    bytes_: int


class ClusterChecks:
    """Watches the clusters of one launch. `report(wave, hazard)` is called for what is found; `is_written(rows, bytes)`
    tells which bytes hold something."""

    def __init__(self, report: Callable[[object, ClusterHazard], None], is_written: Callable) -> None:
        self._report = report
        self._is_written = is_written

    def begin(self, wave) -> None:
        """A new wave of blocks."""
        shape = (wave.shape[0], wave.shared.size)
        self._size = wave.launch.blocks_of_cluster
        # By byte: the ranks that have used it, a bit for each, since the last barrier, before that, and after the next.
        self._now, self._before, self._after = (
            {what: np.zeros(shape, np.uint16) for what in _WRONG_AFTER} for _ in range(3)
        )
        self._last = {what: np.full(shape, NO_THREAD, np.int64) for what in _WRONG_AFTER}
        self._visited: dict[int, tuple[Visit, int]] = {}  # by row: the last access by another block, and its byte

    def barrier(self, event: ClusterBarrierPassed) -> None:
        """Clusters pass a barrier."""
        for what in _WRONG_AFTER:
            for later, earlier in ((self._before, self._now), (self._now, self._after)):
                later[what][event.blocks] = earlier[what][event.blocks]
            self._after[what][event.blocks] = 0
        for row in np.flatnonzero(event.blocks).tolist():
            self._visited.pop(row, None)

    def end(self, wave) -> None:
        """All blocks have ended, and no thread waited for those that used their shared memory."""
        for row, (visit, byte) in self._visited.items():
            self._report(wave, ClusterHazard("ended", None, visit, row, byte, 1))

    def access(self, event: Access) -> None:
        """An access to shared memory, of the own block or, as space "cluster", of another one."""
        wave, what = event.wave, _WHAT[event.op]
        lanes = np.argwhere(np.broadcast_to(True if event.mask is None else event.mask, wave.shape))
        addresses = np.broadcast_to(event.addresses, wave.shape)[lanes[:, 0], lanes[:, 1]]
        rows, threads = lanes[:, 0], lanes[:, 1]
        targets, first = rows, addresses
        if event.space == "cluster":
            targets = rows // self._size * self._size + (addresses >> RANK_SHIFT)
            first = addresses & (1 << RANK_SHIFT) - 1
            self._visit(wave, what, rows, threads, targets, first)
        bits = (1 << rows % self._size).astype(np.uint16)
        owes = arrived = np.zeros(len(rows), bool)
        if wave.cluster is not None:
            owes, arrived = wave.cluster.owes[rows, threads], wave.cluster.arrived[rows, threads]
        visits = (wave.instruction.index * wave.shape[0] + rows) * wave.threads + threads
        for byte in range(event.width):
            cells = targets, first + byte
            if event.space == "cluster" and what != WRITES:
                self._unwritten(wave, what, rows, threads, cells)
            for other in _WRONG_AFTER[what]:
                wrong = self._now[other][cells] | np.where(owes & ~arrived, self._before[other][cells], 0)
                wrong = wrong & ~bits != 0
                if wrong.any():
                    self._race(wave, what, other, rows, threads, cells, wrong)
            np.bitwise_or.at(self._now[what], cells, bits)
            if owes.any():
                np.bitwise_or.at(self._after[what], cells, np.where(owes & arrived, bits, 0).astype(np.uint16))
            self._last[what][cells] = visits

    def _visit(self, wave, what: str, rows, threads, targets, first) -> None:
        for target in np.unique(targets).tolist():
            first_lane = int(np.flatnonzero(targets == target)[0])
            visit = Visit(wave.instruction.index, int(rows[first_lane]), int(threads[first_lane]), what)
            self._visited[target] = visit, int(first[first_lane])

    def _unwritten(self, wave, what: str, rows, threads, cells) -> None:
        missing = ~self._is_written(*cells)
        if missing.any():
            worst = int(missing.argmax())
            visit = Visit(wave.instruction.index, int(rows[worst]), int(threads[worst]), what)
            hazard = ClusterHazard(
                "unwritten", None, visit, int(cells[0][worst]), int(cells[1][worst]), int(missing.sum())
            )
            self._report(wave, hazard)

    def _race(self, wave, what: str, other: str, rows, threads, cells, wrong) -> None:
        worst = int(wrong.argmax())
        row, byte = int(cells[0][worst]), int(cells[1][worst])
        before = int(self._last[other][row, byte])
        first = None
        if (
            before != NO_THREAD and before // wave.threads % wave.shape[0] != rows[worst]
        ):  # else its own access came last
            rest, thread = divmod(before, wave.threads)
            first = Visit(*divmod(rest, wave.shape[0]), thread, other)
        second = Visit(wave.instruction.index, int(rows[worst]), int(threads[worst]), what)
        self._report(wave, ClusterHazard("race", first, second, row, byte, int(wrong.sum())))
