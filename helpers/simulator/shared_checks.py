"""The sanitizer's watch over shared memory: a log of every access, analysed at each barrier.

Kernels repeat themselves. What happened between two barriers is kept as a log of small numbers (which instruction,
which addresses, which threads); a log that was analysed before, from the same state of memory, need not be analysed
again. So a loop over tiles costs little more than looking up a log for each tile.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from helpers.simulator.shared_epoch import (
    ALL_GROUPS,
    ATOMIC,
    COMMIT,
    COPY,
    LOAD,
    STORE,
    SWAP,
    WAIT,
    WARP_BARRIER,
    Entry,
    Epoch,
    Hazard,
    Pending,
    Side,
    is_swap,
)

KINDS = {"ld": LOAD, "st": STORE, "atom": ATOMIC, "red": ATOMIC}
EVERYBODY = -1  # the number of the mask None
MOST_ENTRIES = 50_000  # of a log without a barrier
MOST_BYTES = 64 << 20  # of arrays that a log or the table of patterns keeps alive


@dataclass(frozen=True)
class _State:
    """Shared memory at a barrier: which words hold something, and which copies are under way (with their lanes)."""

    initialised: np.ndarray
    pending: tuple[tuple[Pending, np.ndarray | None], ...] = ()


class SharedChecks:
    """Watches the shared memory of one launch. `report(wave, hazard, times)` is called for what is found."""

    def __init__(self, report: Callable[[object, Hazard, int], None]) -> None:
        self.cut = 0  # how often a log became too long to keep
        self._report = report
        self._word = 4
        self._forget()
        self._wave = None
        self._compared = False  # whether the last analysis had to compare stored values

    def _forget(self) -> None:
        """Drop all patterns and what is known about them."""
        self._arrays: list[np.ndarray] = []
        self._numbers: dict[tuple, int] = {}
        self._states: list[_State] = []
        self._state_numbers: dict[tuple, int] = {}
        self._known: dict[tuple, tuple[int, Counter]] = {}
        self._kept_bytes = 0

    # ---- the life of a wave
    def begin(self, wave) -> None:
        """A new wave of blocks, whose shared memory nobody has written."""
        self._wave = wave
        self._size = wave.shared.size
        if self._kept_bytes > MOST_BYTES:
            self._forget()
        self._mask: np.ndarray | None = None
        self._mask_number = EVERYBODY
        self._starts: np.ndarray | None = None  # of each block, where its epoch starts in the log, once blocks differ
        self._state = self._number_of_state(_State(np.zeros((1, -(-self._size // self._word)), bool)))
        self._clear()

    def _clear(self) -> None:
        self._log: list[Entry] = []
        self._values: list[tuple] = []
        self._loose: list[np.ndarray] = []  # arrays that differ from block to block: they hardly come twice
        self._log_bytes = 0

    def end(self, wave) -> None:
        """All threads have exited: the last epoch, and copies that nobody waited for."""
        if not self._size:
            return
        self._close(None)
        for copy, lanes in self._states[self._state].pending:
            lanes = np.broadcast_to(
                True if lanes is None else lanes, (1 if lanes is None else len(lanes), wave.threads)
            )
            row, thread = (int(i) for i in np.argwhere(lanes)[0])
            addresses = np.broadcast_to(self._array(copy.addresses), (len(lanes), wave.threads))
            words = int(lanes.sum()) * (wave.shape[0] if len(lanes) == 1 else 1) * copy.width // self._word
            side = Side(copy.instruction, row, thread, "copies")
            self._report(wave, Hazard("left over", None, side, int(addresses[row, thread]), words), 1)

    # ---- what happens
    def access(self, wave, op: str, width: int, addresses, mask, values: tuple) -> None:
        """A load, a store or an atomic operation."""
        if width < self._word:
            self._refine(width)
        kind = SWAP if KINDS[op] == ATOMIC and is_swap(wave.instruction.opcode) else KINDS[op]
        self._append(kind, wave.instruction.index, addresses, mask, width, values)

    def copy(self, wave, width: int, addresses, mask) -> None:
        """cp.async into shared memory."""
        self._append(COPY, wave.instruction.index, addresses, mask, width, ())

    def group(self, what: str, pending: int, mask) -> None:
        """Groups of copies are closed or waited for."""
        kind = COMMIT if what == "commit_group" else WAIT
        self._append(kind, -1, None, mask, ALL_GROUPS if what == "wait_all" else pending, ())

    def warp_barrier(self, mask) -> None:
        """`__syncwarp()`."""
        if self._size:
            self._append(WARP_BARRIER, -1, None, mask, 0, ())

    def barrier(self, wave, blocks: np.ndarray | None) -> None:
        """`__syncthreads()`, of all blocks or of those that are set in `blocks`."""
        if not self._size:
            return
        if blocks is not None and wave.exited is not None:
            blocks = blocks | wave.exited.all(axis=1)
        self._close(None if blocks is None or blocks.all() else blocks)

    # ---- patterns
    def _append(self, kind: int, instruction: int, addresses, mask, width: int, values: tuple) -> None:
        # A copy may outlive its log, and so must its addresses.
        place = EVERYBODY if addresses is None else self._number(addresses, keep=kind == COPY)
        if mask is not self._mask:
            self._mask, self._mask_number = mask, EVERYBODY if mask is None else self._number(mask)
        self._log.append(Entry(kind, instruction, place, self._mask_number, width))
        self._values.append(values)
        if values:
            self._log_bytes += sum(value.nbytes for value in values)
        if self._log_bytes > MOST_BYTES or len(self._log) > MOST_ENTRIES:
            self.cut += 1
            self._close(None)

    def _number(self, array, keep: bool = False) -> int:
        """A number for the contents of an array of addresses or a mask. Negative: only this log knows it."""
        array = np.asarray(array)
        if array.ndim < 2:
            array = array.reshape(1, -1)
        elif array.shape[0] > 1 and array.shape[1] > 1:
            if (array[1:] == array[0]).all():
                array = array[:1]
            elif array.dtype != bool and not keep:
                loose = array.astype(np.int32)
                self._loose.append(loose)
                self._log_bytes += loose.nbytes
                return -1 - len(self._loose)
        key = (array.shape, array.dtype.char, array.tobytes())
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._arrays)
            self._arrays.append(array.copy())
            self._kept_bytes += 2 * array.nbytes
        return number

    def _array(self, number: int) -> np.ndarray | None:
        if number >= 0:
            return self._arrays[number]
        return None if number == EVERYBODY else self._loose[-2 - number]

    def _number_of_state(self, state: _State) -> int:
        """States with equal contents have one number."""
        key = (
            state.initialised.shape,
            np.packbits(state.initialised).tobytes(),
            tuple((copy, None if lanes is None else (lanes.shape, lanes.tobytes())) for copy, lanes in state.pending),
        )
        number = self._state_numbers.get(key)
        if number is None:
            number = self._state_numbers[key] = len(self._states)
            self._states.append(state)
            self._kept_bytes += state.initialised.nbytes
        return number

    def _refine(self, word: int) -> None:
        """From now on a word has fewer bytes, because there are narrower accesses."""
        factor = self._word // word
        state, arrays, numbers = self._states[self._state], self._arrays, self._numbers
        self._forget()
        self._arrays, self._numbers = arrays, numbers
        self._word = word
        initialised = np.repeat(state.initialised, factor, axis=1)[:, : -(-self._size // word)]
        self._state = self._number_of_state(_State(initialised, state.pending))

    # ---- epochs
    def _close(self, blocks: np.ndarray | None) -> None:
        """The epoch of all blocks ends, or that of the blocks set in `blocks`."""
        if blocks is None and self._starts is None:
            if self._log:
                self._close_together()
            self._clear()
            return
        if self._starts is None:
            self._starts = np.zeros(self._wave.shape[0], np.int64)
        ending = np.ones(self._wave.shape[0], bool) if blocks is None else blocks
        for start in np.unique(self._starts[ending]).tolist():
            rows = ending & (self._starts == start)
            state, hazards = self._analyse(self._log[start:], self._values[start:], rows)
            self._state = self._number_of_state(state)
            self._tell(hazards)
        self._starts[ending] = len(self._log)
        if (self._starts == len(self._log)).all():
            self._clear()
            self._starts[:] = 0

    def _close_together(self) -> None:
        """All blocks pass a barrier together, as they always did: look the log up, or analyse it."""
        repeatable = not self._loose
        key = (self._state, self._word, tuple(self._log)) if repeatable else None
        found = self._known.get(key) if repeatable else None
        if found is None:
            state, hazards = self._analyse(self._log, self._values, None)
            found = (self._number_of_state(state), hazards)
            if repeatable and not self._compared:
                self._known[key] = found
        self._state, hazards = found
        self._tell(hazards)

    def _tell(self, hazards: Counter) -> None:
        for hazard, times in hazards.items():
            self._report(self._wave, hazard, times)

    def _analyse(self, log: Sequence[Entry], values: Sequence[tuple], rows: np.ndarray | None):
        """(the state after a log, the hazards with how often each was found)."""
        state = self._states[self._state]
        arrays = [self._array(number) for entry in log for number in (entry.addresses, entry.mask)]
        arrays += [array for copy, lanes in state.pending for array in (self._array(copy.addresses), lanes)]
        heights = [len(array) for array in arrays if array is not None]
        together = rows is None and len(state.initialised) == 1 and max(heights, default=1) == 1
        blocks = self._wave.shape[0]
        initialised = state.initialised.copy()
        if not together and len(initialised) != blocks:
            initialised = np.repeat(initialised, blocks, axis=0)
        epoch = Epoch(
            (1 if together else blocks, self._wave.threads),
            blocks if together else 1,
            self._word,
            log,
            self._array,
            values,
            initialised,
            state.pending,
            rows,
        )
        result = epoch.analyse()
        self._compared = result.depends_on_values
        initialised = result.initialised
        if len(initialised) > 1 and rows is None and (initialised == initialised[0]).all():
            initialised = initialised[:1]
        return _State(initialised, tuple(result.pending)), Counter(result.hazards)
