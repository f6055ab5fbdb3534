"""Copies in bulk that others do not wait for, and shared memory that they overwrite too early.

A copy in bulk is complete for a thread that has waited for the end of the phase of the mbarrier that counts its bytes,
or has met such a thread (PTX ISA, 'Asynchronous operations'). So each thread has a vector clock: a time of each warp,
and a phase of each mbarrier of the block. A thread that arrives at an mbarrier releases its clock to it; one that
observes the end of a phase acquires what was released in it and before; threads that meet at `__syncthreads()` or
`__syncwarp()` join their clocks. A time of a warp ends where one of its lanes arrives.

Shared memory is watched in units of 16 bytes, as no copy is smaller. What blocks of a cluster copy to each other is
only watched where they read it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpusim.checks.shared_epoch import Hazard, Side
from gpusim.devices import WARP
from gpusim.engine.bulk import UNIT

MOST_BARRIERS = 64  # of a block
LOAD, STORE = 0, 1


class Unit(NamedTuple):
    """What is known of the units of a block, arrays by row and unit: the phase that a copy to it belongs to (from 1; 0:
    none), its mbarrier by number, who has asked for it, and the instruction."""

    phase: np.ndarray
    barrier: np.ndarray
    thread: np.ndarray
    instruction: np.ndarray


class BulkWatch:
    """Watches the shared memory of a wave of blocks of a kernel that copies in bulk.

    report: is called with each Hazard of shared memory, and how often it was found.
    """

    def __init__(self, report: Callable[[Any, Hazard, int], None]) -> None:
        self._report = report
        self._wave: Any = None

    def begin(self, wave) -> None:
        """A new group of blocks starts."""
        rows, threads = wave.shape
        warps, units = wave.warps, -(-wave.shared.size // UNIT)
        self._wave, self._warps, self._has_put = wave, warps, False
        self._warp_of = np.arange(threads) // WARP
        self._now = np.ones((rows, warps), np.int32)
        self._knows = np.zeros((rows, threads, warps + MOST_BARRIERS), np.int32)
        self._numbers: list[dict[int, int]] = [{} for _ in range(rows)]  # of the mbarriers, by where they are
        self._phases = np.zeros((rows, MOST_BARRIERS), np.int32)  # how many have ended
        self._reported, self._learnt = np.zeros((2, rows, MOST_BARRIERS, warps + MOST_BARRIERS), np.int32)
        self._copied = Unit(*np.zeros((4, rows, units), np.int32))
        # By kind of access, row, unit and warp: when the last one was, and by which instruction and thread.
        self._last = np.zeros((2, rows, units, warps), np.int32)
        self._last_by = np.zeros((2, rows, units, warps, 2), np.int32)
        self._read_by_put = np.zeros((rows, units, warps), np.int32)  # when a thread of it had waited for one
        self._puts: list[list[list[int]]] = [
            [] for _ in range(rows)
        ]  # under way: thread, unit, units, age, instruction

    # ---- joins of vector clocks
    def _number(self, row: int, byte: int) -> int:
        numbers = self._numbers[row]
        return numbers.setdefault(byte, len(numbers) % MOST_BARRIERS)

    def meet(self, blocks: np.ndarray | None, threads: np.ndarray | None) -> None:
        """The threads of these blocks, or of them only `threads`, have met at a barrier."""
        for row in range(len(self._now)) if blocks is None else np.flatnonzero(blocks).tolist():
            threads_met = (
                slice(None) if threads is None else np.flatnonzero(np.broadcast_to(threads, self._wave.shape)[row])
            )
            self._merge(row, threads_met)

    def meet_in_warps(self, mask: np.ndarray | None) -> None:
        """The threads of `mask` have met those of their warp."""
        lanes = np.broadcast_to(True if mask is None else mask, self._wave.shape)
        for row, warp in zip(*np.nonzero(self._by_warp(lanes)), strict=True):
            first = int(warp) * WARP
            members = first + np.flatnonzero(lanes[row, first : first + WARP])
            self._knows[row, members] = self._knows[row, members].max(axis=0)

    def _by_warp(self, lanes: np.ndarray) -> np.ndarray:
        padded = np.pad(lanes, ((0, 0), (0, -lanes.shape[1] % WARP)))
        return padded.reshape(len(lanes), -1, WARP).any(axis=2)

    def _merge(self, row: int, threads) -> None:
        warps = np.unique(self._warp_of[threads])
        known = self._knows[row, threads].max(axis=0)
        known[warps] = self._now[row, warps]
        self._knows[row, threads] = known
        self._now[row, warps] += 1

    def arrive(self, row: int, byte: int, threads: np.ndarray, ended: int) -> None:
        """Threads arrive at an mbarrier of the block, or bytes do (no threads); so many phases end by that."""
        number = self._number(row, byte)
        if len(threads):
            warps = np.unique(self._warp_of[threads])
            released = self._knows[row, threads].max(axis=0)
            released[warps] = self._now[row, warps]
            self._now[row, warps] += 1
            np.maximum(self._reported[row, number], released, out=self._reported[row, number])
        if ended:
            self._phases[row, number] += ended
            self._learnt[row, number] = self._reported[row, number]

    def found_ended(self, row: int, byte: int, threads: np.ndarray) -> None:
        """Threads have found a phase of an mbarrier ended."""
        number = self._number(row, byte)
        known = np.maximum(self._knows[row, threads], self._learnt[row, number])
        known[:, self._warps + number] = self._phases[row, number]
        self._knows[row, threads] = known

    # ---- accesses
    def access(self, wave, op: str, addresses, mask) -> None:
        """Threads access their block's shared memory."""
        if wave is not self._wave:
            return
        lanes = np.broadcast_to(True if mask is None else mask, wave.shape)
        row, thread = np.nonzero(lanes)
        byte = np.broadcast_to(addresses, wave.shape)[lanes]
        unit = np.clip(byte // UNIT, 0, self._copied.phase.shape[1] - 1)
        phase = self._copied.phase[row, unit]
        if phase.any():
            known = self._knows[row, thread, self._warps + self._copied.barrier[row, unit]]
            early = phase > known
            if early.any():
                at = int(early.argmax())
                self._too_early(wave, int(row[at]), int(thread[at]), int(byte[at]), op, int(early.sum()))
        if op not in ("ld", "ldsm") and self._has_put:
            self._over_put(wave, row, thread, unit)
        kind, warp = (LOAD if op in ("ld", "ldsm") else STORE), self._warp_of[thread]
        self._last[kind, row, unit, warp] = self._now[row, warp]
        self._last_by[kind, row, unit, warp, 0] = wave.instruction.index
        self._last_by[kind, row, unit, warp, 1] = thread

    def _too_early(self, wave, row: int, thread: int, byte: int, op: str, words: int) -> None:
        unit = min(byte // UNIT, self._copied.phase.shape[1] - 1)
        what = {"ld": "reads", "ldsm": "reads", "st": "writes", "stsm": "writes"}.get(op, "updates")
        first = Side(int(self._copied.instruction[row, unit]), row, int(self._copied.thread[row, unit]), "copies")
        second = Side(wave.instruction.index, row, thread, what)
        self._report(wave, Hazard("bulk early", first, second, byte, words), 1)

    def _over_put(self, wave, row, thread, unit) -> None:
        """A thread writes where a copy may still read that no thread has waited for."""
        for one_row in np.unique(row).tolist():
            for reader, first, count, _, instruction in self._puts[one_row]:
                hit = (row == one_row) & (unit >= first) & (unit < first + count)
                if hit.any():
                    at = int(hit.argmax())
                    self._put_unread(wave, one_row, instruction, reader, int(thread[at]), int(unit[at]), "writes")
        unknown = self._read_by_put[row, unit] > self._knows[row, thread, : self._warps]
        unknown[np.arange(len(row)), self._warp_of[thread]] = False
        if unknown.any():
            at, warp = (int(i) for i in np.argwhere(unknown)[0])
            instruction, reader = self._last_by[LOAD, row[at], unit[at], warp].tolist()
            self._put_unread(wave, int(row[at]), instruction, reader, int(thread[at]), int(unit[at]), "writes")

    def _put_unread(self, wave, row: int, instruction: int, reader: int, thread: int, unit: int, what: str) -> None:
        first = Side(instruction, row, reader, "copies from")
        second = Side(wave.instruction.index, row, thread, what)
        self._report(wave, Hazard("bulk unread", first, second, unit * UNIT, 4), 1)

    # ---- copies
    def fetch(self, event) -> None:
        """A copy comes to shared memory."""
        wave, (row, thread), destination = event.wave, event.thread, event.shared
        first, count = destination.byte // UNIT, event.size // UNIT
        units = slice(first, first + count)
        number = self._number(event.barrier.row, event.barrier.byte)
        if destination.row == row and count:
            self._check_free(wave, row, thread, units)
        self._copied.phase[destination.row, units] = self._phases[event.barrier.row, number] + 1
        self._copied.barrier[destination.row, units] = number
        self._copied.thread[destination.row, units] = thread
        self._copied.instruction[destination.row, units] = wave.instruction.index

    def _check_free(self, wave, row: int, thread: int, units: slice) -> None:
        """No thread uses what a thread copies over any more, as far as it knows, and no other copy is under way."""
        knows, own = self._knows[row, thread], self._warp_of[thread]
        for kind, what in ((LOAD, "reads"), (STORE, "writes")):
            racing = self._last[kind, row, units] > knows[: self._warps]
            racing[:, own] = False
            if racing.any():
                unit, warp = (int(i) for i in np.argwhere(racing)[0])
                instruction, other_thread = self._last_by[kind, row, units.start + unit, warp].tolist()
                first = Side(instruction, row, other_thread, what)
                second = Side(wave.instruction.index, row, thread, "copies over")
                byte = (units.start + unit) * UNIT
                self._report(wave, Hazard("bulk over", first, second, byte, 4 * int(racing.any(axis=1).sum())), 1)
                return
        self._check_come(wave, row, thread, units, "copies over")
        for other_thread, first, count, _, instruction in self._puts[row]:
            if first < units.stop and units.start < first + count:
                self._put_unread(wave, row, instruction, other_thread, thread, max(first, units.start), "copies over")

    def _check_come(self, wave, row: int, thread: int, units: slice, what: str) -> None:
        """What was copied to these units has come, as far as a thread knows."""
        phase = self._copied.phase[row, units]
        early = phase > self._knows[row, thread, self._warps + self._copied.barrier[row, units]]
        if early.any():
            unit = units.start + int(early.argmax())
            first = Side(int(self._copied.instruction[row, unit]), row, int(self._copied.thread[row, unit]), "copies")
            second = Side(wave.instruction.index, row, thread, what)
            self._report(wave, Hazard("bulk early", first, second, unit * UNIT, 4 * int(early.sum())), 1)

    def put(self, event) -> None:
        """A copy leaves shared memory."""
        wave, (row, thread), source = event.wave, event.thread, event.shared
        units = slice(source.byte // UNIT, (source.byte + event.size) // UNIT)
        self._check_come(wave, row, thread, units, "copies from")
        racing = self._last[STORE, row, units] > self._knows[row, thread, : self._warps]
        racing[:, self._warp_of[thread]] = False
        if racing.any():
            unit, warp = (int(i) for i in np.argwhere(racing)[0])
            instruction, writer = self._last_by[STORE, row, units.start + unit, warp].tolist()
            first = Side(instruction, row, writer, "writes")
            second = Side(wave.instruction.index, row, thread, "copies from")
            byte = (units.start + unit) * UNIT
            self._report(wave, Hazard("bulk over", first, second, byte, 4 * int(racing.any(axis=1).sum())), 1)
        self._has_put = True
        self._puts[row].append([thread, units.start, units.stop - units.start, -1, wave.instruction.index])

    def group(self, event) -> None:
        """Copies to global memory are grouped, or waited for: then their thread has read what they copy."""
        if not any(self._puts):
            return
        lanes = np.broadcast_to(True if event.mask is None else event.mask, self._wave.shape)
        for row, puts in enumerate(self._puts):
            left = []
            for put in puts:
                thread, first, count, age, instruction = put
                if not lanes[row, self._asks(thread, lanes[row])]:
                    left.append(put)
                elif event.what == "commit":
                    left.append([thread, first, count, age + 1, instruction])
                elif age < event.pending:
                    left.append(put)
                else:
                    warp = self._warp_of[thread]
                    self._read_by_put[row, first : first + count, warp] = self._now[row, warp]
                    self._last[LOAD, row, first : first + count, warp] = self._now[row, warp]
                    self._last_by[LOAD, row, first : first + count, warp] = instruction, thread
            self._puts[row] = left

    def _asks(self, thread: int, lanes: np.ndarray) -> int:
        """The thread itself; in machine code a warp asks, of which another lane may have counted as the first."""
        if lanes[thread] or self._wave.program.level == "ptx":
            return thread
        warp = slice(thread // WARP * WARP, (thread // WARP + 1) * WARP)
        return warp.start + int(lanes[warp].argmax())
