"""The sanitizer's watch over shared memory: a log of every access, analysed at each barrier.

Kernels repeat themselves. What happened between two barriers is kept as a log of small numbers (which instruction,
which addresses, which threads); a log that was analysed before, from the same state of memory, need not be analysed
again. So a loop over tiles costs little more than looking up a log for each tile.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gpusim.checks.shared_epoch import (
    ACQUIRE,
    ALL_GROUPS,
    ATOMIC,
    COMMIT,
    COPY,
    FENCE,
    LOAD,
    MEET,
    POLLED,
    RELEASE,
    STORE,
    STRONG_LOAD,
    STRONG_STORE,
    UNPOLLED,
    VOLATILE_STORE,
    WAIT,
    WARP_BARRIER,
    Entry,
    Epoch,
    Hazard,
    Pending,
    Side,
)
from gpusim.engine.ir import Instruction, Registers, is_dead_exchange
from gpusim.symbols.live_loads import LoadedValues, Uses
from gpusim.symbols.memory_order import Strength
from gpusim.symbols.shared_arrays import SharedNames

KINDS = {"ld": LOAD, "ldsm": LOAD, "st": STORE, "stsm": STORE, "atom": ATOMIC, "red": ATOMIC}
BY_STRENGTH = {
    LOAD: {Strength.PLAIN: LOAD, Strength.UNPOLLED: UNPOLLED, Strength.STRONG: STRONG_LOAD},
    STORE: {Strength.PLAIN: STORE, Strength.VOLATILE: VOLATILE_STORE, Strength.STRONG: STRONG_STORE},
}
ALL_LANES = -1  # the number of the mask None
MOST_ENTRIES = 50_000  # of a log without a barrier
MOST_LOG_BYTES = 64 << 20  # of what a log keeps alive
MOST_PATTERN_BYTES = 16 << 20  # of what a kernel's patterns keep alive
WIDEST = 4  # bytes of a word, where there is no narrower access


@dataclass(frozen=True)
class State:
    """Shared memory at a barrier: which words hold something, and which copies are under way (with their lanes)."""

    initialised: np.ndarray
    pending: tuple[tuple[Pending, np.ndarray | None], ...] = ()


class Patterns:
    """What is known about a kernel's logs, from launch to launch: arrays and states by number, and logs by state.

    `word` is the size of the smallest access so far, in bytes.
    """

    def __init__(self, word: int = WIDEST) -> None:
        self.word = word
        self._finer: dict[int, Patterns] = {}
        self.arrays: list[np.ndarray] = []
        self.states: list[State] = []
        self.known: dict[tuple, tuple[int, Counter]] = {}
        self.bytes = 0
        self._numbers: dict[tuple, int] = {}
        self._state_numbers: dict[tuple, int] = {}

    def number(self, array: np.ndarray) -> int:
        """Arrays with equal contents have one number."""
        key = (array.shape, array.dtype.char, array.tobytes())
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.arrays)
            self.arrays.append(array.copy())
            self.bytes += 2 * array.nbytes
        return number

    def state_number(self, state: State) -> int:
        """States with equal contents have one number."""
        key = (
            state.initialised.shape,
            np.packbits(state.initialised).tobytes(),
            tuple((copy, None if lanes is None else (lanes.shape, lanes.tobytes())) for copy, lanes in state.pending),
        )
        number = self._state_numbers.get(key)
        if number is None:
            number = self._state_numbers[key] = len(self.states)
            self.states.append(state)
            self.bytes += state.initialised.nbytes
        return number

    def refined(self, state: State, word: int, words: int) -> tuple["Patterns", int]:
        """The same arrays, but smaller words, `words` in all; and the number of `state` there."""
        new = self._finer.get(word)
        if new is None:
            new = self._finer[word] = Patterns(word)
            new.arrays, new._numbers, new.bytes = self.arrays, self._numbers, self.bytes
        initialised = np.repeat(state.initialised, self.word // word, axis=1)[:, :words]
        return new, new.state_number(State(initialised, state.pending))

    def emptied(self, state: State) -> tuple["Patterns", int]:
        """Patterns that know `state` alone, and its number."""
        new = Patterns(self.word)
        pending = tuple(
            (copy._replace(addresses=new.number(self.arrays[copy.addresses])), lanes) for copy, lanes in state.pending
        )
        return new, new.state_number(State(state.initialised, pending))


class SharedChecks:
    """Watches the shared memory of one launch. `report(wave, hazard, times)` is called for what is found.

    `names` tells how strong accesses are, `uses` of which loads the value may go unused.
    """

    def __init__(
        self,
        report: Callable[[object, Hazard, int], None],
        names: SharedNames,
        patterns: Patterns | None = None,
        uses: Uses | None = None,
    ) -> None:
        self.cut = 0  # how often a log became too long to keep
        self._use(patterns or Patterns())
        self._report = report
        self._names = names
        self._compared = False  # whether the last analysis had to compare stored values
        self.doubtful = frozenset() if uses is None else uses.doubtful
        self._copies = {} if uses is None else uses.copies
        self._overwriting: set[int] = set()
        self._loaded = LoadedValues(uses, report) if self.doubtful else None

    # ---- the life of a wave
    def begin(self, wave) -> None:
        """A new wave of blocks, whose shared memory is uninitialised."""
        self._wave = wave
        self._size = wave.shared.size
        self._fenced = False
        if self.patterns.bytes > MOST_PATTERN_BYTES:
            self._use(Patterns(self.patterns.word))
        self._mask: np.ndarray | None = None
        self._mask_number = ALL_LANES
        self._starts: np.ndarray | None = None  # of each block, where its epoch starts in the log, once blocks differ
        self._state = self.patterns.state_number(State(np.zeros((1, self._words()), bool)))
        if self._loaded is not None:
            self._loaded.begin(wave)
        self._clear()

    def _use(self, patterns: Patterns) -> None:
        """From now on these are the patterns. Each launch begins with the widest words, `first`, so that it counts what
        it finds as the one before."""
        self.patterns = patterns
        self.first = patterns if patterns.word == WIDEST else Patterns()

    def _words(self) -> int:
        return -(-self._size // self.patterns.word)

    def _clear(self) -> None:
        self._log: list[Entry] = []
        self._values: list[tuple] = []
        self._loose: list[np.ndarray] = []  # arrays that differ from block to block: they hardly come twice
        self._log_bytes = 0
        if self._loaded is not None:
            self._loaded.forget()

    def end(self, wave) -> None:
        """All threads have exited: the last epoch, and copies that no thread waited for."""
        if self._size:
            self._close(None)
        if self._loaded is not None:
            self._loaded.end()
        for copy, lanes in self.patterns.states[self._state].pending:
            lanes = np.ones((1, wave.threads), bool) if lanes is None else lanes
            row, thread = (int(i) for i in np.argwhere(lanes)[0])
            addresses = np.broadcast_to(self._array(copy.addresses), (wave.shape[0], wave.threads))
            copies = int(lanes.sum()) * (wave.shape[0] // len(lanes))
            side = Side(copy.instruction, row, thread, "copies")
            words = copies * copy.width // self.patterns.word
            self._report(wave, Hazard("left over", None, side, int(addresses[row, thread]), words), 1)

    # ---- what happens
    def executed(self, block: int, mask: np.ndarray | None) -> None:
        """The threads of `mask` execute a basic block."""
        if self._loaded is not None:
            self._loaded.executed(len(self._log), block, mask)

    def guarded(self, index: int, some: bool, mask: np.ndarray | None) -> None:
        """The threads of `mask` have a true guard at an instruction, or none unless `some`."""
        if self._loaded is not None:
            self._loaded.guarded(index, some, mask)

    def chosen(self, instruction: Instruction, registers: Registers) -> None:
        """An instruction is about to answer what may not depend on all that it reads."""
        if self._loaded is not None:
            self._loaded.chosen(instruction, registers)

    def access(self, wave, op: str, width: int, addresses, mask, values: tuple) -> bool:
        """A load, a store or an atomic operation. Whether it was one by which threads hand on what they did."""
        if width < self.patterns.word:
            self._refine(width)
        kind = KINDS[op]
        if kind == ATOMIC and wave.instruction.is_observed:
            kind = POLLED
        elif kind in BY_STRENGTH:
            kind = BY_STRENGTH[kind][self._names.strength(wave.instruction)]
        if kind == ATOMIC and is_dead_exchange(wave.program, wave.instruction):
            self._overwriting.add(wave.instruction.index)
        self._append(kind, wave.instruction.index, addresses, mask, width, values)
        return kind not in BY_STRENGTH

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

    def fence(self, mask) -> None:
        """A fence of any scope: behind it threads may hand on what they did."""
        if self._size:
            self._fenced = True
            self._append(FENCE, -1, None, mask, 0, ())

    def meet(self, mask, op: str) -> None:
        """An atomic operation, or another strong access, on global memory."""
        if self._fenced:
            self._append({"ld": ACQUIRE, "st": RELEASE}.get(op, MEET), -1, None, mask, 0, ())

    def barrier(self, wave, blocks: np.ndarray | None) -> None:
        """`__syncthreads()`, of all blocks or of those that are set in `blocks`."""
        if not self._size:
            return
        if blocks is not None and wave.exited is not None:
            blocks = blocks | wave.exited.all(axis=1)
        self._close(None if blocks is None or blocks.all() else blocks)

    def write_from_outside(self, rows: np.ndarray, first: np.ndarray, width: int) -> None:
        """Another block of the cluster has stored into the shared memory of these blocks, from these bytes on."""
        state = self.patterns.states[self._state]
        if state.initialised.all():
            return
        initialised = np.broadcast_to(state.initialised, (self._wave.shape[0], state.initialised.shape[1])).copy()
        for byte in range(width):
            initialised[rows, (first + byte) // self.patterns.word] = True
        self._state = self.patterns.state_number(State(initialised, state.pending))

    def is_written(self, rows: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Whether something was stored at these bytes of the blocks before the last barrier."""
        initialised = self.patterns.states[self._state].initialised
        return initialised[rows if len(initialised) > 1 else 0, first // self.patterns.word]

    def once_used(self, what: tuple, load: int, lanes: np.ndarray, share: Fraction) -> None:
        """Report `what`, a hazard and how often it was found, if the value that `lanes` loaded just now is used."""
        if load in self.doubtful:
            self._loaded.hold_now(what, load, lanes, share)
        else:
            self._report(self._wave, *what)

    def stored_locally(self, index: int) -> None:
        """An instruction stores to local memory."""
        if self._loaded is not None:
            self._loaded.stored_locally(index)

    # ---- the log
    def _append(self, kind: int, instruction: int, addresses, mask, width: int, values: tuple) -> None:
        # A copy may outlive its log, and so must its addresses.
        operand = ALL_LANES if addresses is None else self._number(addresses, keep=kind == COPY)
        if mask is not self._mask:
            self._mask, self._mask_number = mask, ALL_LANES if mask is None else self._number(mask, keep=True)
        self._log.append(Entry(kind, instruction, operand, self._mask_number, width))
        self._values.append(values)
        if values:
            self._log_bytes += sum(value.nbytes for value in values)
        if self._log_bytes > MOST_LOG_BYTES or len(self._log) > MOST_ENTRIES:
            self.cut += 1
            self._close(None)

    def _number(self, array, keep: bool) -> int:
        """A number for the contents of addresses or a mask. Unless `keep`, it may be one that only this log knows."""
        array = np.asarray(array)
        if array.ndim < 2:
            array = array.reshape(1, -1)
        elif array.shape[0] > 1 and array.shape[1] > 1:
            if (array[1:] == array[0]).all():
                array = array[:1]
            elif not keep:
                self._loose.append(array.astype(np.int32))
                self._log_bytes += self._loose[-1].nbytes
                return ALL_LANES - len(self._loose)
        return self.patterns.number(array)

    def _array(self, number: int) -> np.ndarray | None:
        if number >= 0:
            return self.patterns.arrays[number]
        return None if number == ALL_LANES else self._loose[ALL_LANES - 1 - number]

    def _refine(self, word: int) -> None:
        """From now on a word has fewer bytes, because there are narrower accesses: logs must be analysed anew."""
        state, words = self.patterns.states[self._state], -(-self._size // word)
        self.patterns, self._state = self.patterns.refined(state, word, words)

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
            self._state = self.patterns.state_number(state)
            self._release(hazards, start)
        self._starts[ending] = len(self._log)
        if (self._starts == len(self._log)).all():
            self._clear()
            self._starts[:] = 0

    def _close_together(self) -> None:
        """All blocks pass a barrier together, as they always did: look the log up, or analyse it."""
        if self.patterns.bytes > MOST_PATTERN_BYTES:
            known = None
        else:
            key = (self._state, self._wave.shape, tuple(self._log))
            known = None if self._loose else self.patterns.known.get(key)
        if known is None:
            state, hazards = self._analyse(self._log, self._values, None)
            if self.patterns.bytes > MOST_PATTERN_BYTES:
                emptied, self._state = self.patterns.emptied(state)
                self._use(emptied)
                self._mask, self._mask_number = None, ALL_LANES
                self._release(hazards)
                return
            known = (self.patterns.state_number(state), hazards)
            if not self._loose and not self._compared:
                self.patterns.known[key] = known
        self._state, hazards = known
        self._release(hazards)

    def _release(self, hazards: Counter, start: int = 0) -> None:
        """Report hazards of a log that starts at `start`, or hold them back until a value is used."""
        for hazard, times in hazards.items():
            if hazard.lanes is None:
                self._report(self._wave, hazard, times)
                continue
            rows, packed = hazard.lanes
            lanes = np.unpackbits(np.frombuffer(packed, np.uint8), count=rows * self._wave.threads).astype(bool)
            lanes = np.broadcast_to(lanes.reshape(rows, -1), self._wave.shape)
            self._loaded.hold((hazard, times), hazard.second.instruction, start + hazard.time, lanes, hazard.share)

    def _analyse(self, log: Sequence[Entry], values: Sequence[tuple], rows: np.ndarray | None) -> tuple[State, Counter]:
        """The state after a log, and the hazards with how often each was found."""
        state = self.patterns.states[self._state]
        arrays = [self._array(number) for entry in log for number in (entry.addresses, entry.mask)]
        arrays += [array for copy, lanes in state.pending for array in (self._array(copy.addresses), lanes)]
        together = rows is None and len(state.initialised) == 1 and all(a is None or len(a) == 1 for a in arrays)
        blocks = self._wave.shape[0]
        initialised = state.initialised.copy()
        if not together and len(initialised) != blocks:
            initialised = np.repeat(initialised, blocks, axis=0)
        epoch = Epoch(
            (1 if together else blocks, self._wave.threads),
            blocks if together else 1,
            self.patterns.word,
            log,
            self._array,
            values,
            initialised,
            state.pending,
            rows,
            self.doubtful,
            self._overwriting,
            self._copies,
        )
        result = epoch.analyse()
        self._compared = result.depends_on_values
        if len(initialised) > 1 and rows is None and (initialised == initialised[0]).all():
            initialised = initialised[:1]
        return State(initialised, tuple(result.pending)), Counter(result.hazards)
