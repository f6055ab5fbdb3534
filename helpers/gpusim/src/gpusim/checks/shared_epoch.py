"""What happened in shared memory between two barriers, and which of it is a hazard.

A *word* here is the smallest piece that the kernel accesses: 4 bytes, or 1 or 2 if it has narrower accesses. Blocks of
a wave are rows; if all of them did the same, one row stands for all.

The rules:

- Between two barriers the order of two threads is not defined. If both access a word and one of them writes, the
  result depends on it: a race. Atomic operations do not race with each other, nor with strong loads and stores (what
  these are, and what an unpolled load is, says `memory_order`), and threads that store the same value do not either
  (compute-sanitizer's racecheck says so, too). The plain load with which an atomicCAS begins (`mark_cas_loads`) is
  taken for a strong one: loops that build an atomic function from it begin with such a load (CUDA guide, 'Atomic
  Functions'). What is stored in a word first is never strong: who might come before would find anything.
- Lanes of one warp need not run in step (CUDA guide, 'Independent Thread Scheduling'), so that they race with each
  other as well, unless `__syncwarp()` lies between (racecheck: "Warp Level Programming").
- A thread may hand on what it did: by a fence and then an atomic operation or another strong store, after which another
  thread makes an atomic operation or another strong load (CUDA guide, 'Memory Fence Functions'). Each may leave that to
  a lane of its warp with `__syncwarp()` between. Which variable it was is not looked at.
- `cp.async` writes at some time between its start and the wait for its group, for the thread that started it; other
  threads see it after a barrier that follows the wait (PTX ISA, 'Asynchronous copy').
"""

from collections.abc import Callable, Container, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gpusim.devices import WARP

(
    LOAD, UNPOLLED, STORE, ATOMIC, POLLED, STRONG_LOAD, STRONG_STORE, VOLATILE_STORE, COPY, WARP_BARRIER, COMMIT, WAIT,
    FENCE, MEET, ACQUIRE, RELEASE,
) = range(16)  # fmt: skip
# By kind the one that races with the same others
LIKE = np.array([LOAD, UNPOLLED, STORE, ATOMIC, POLLED, POLLED, ATOMIC, VOLATILE_STORE, COPY])
LOADS, STORES = (LOAD, UNPOLLED, STRONG_LOAD), (STORE, STRONG_STORE, VOLATILE_STORE)
UPDATES = (ATOMIC, POLLED, MEET)
ACQUIRES, RELEASES = (UNPOLLED, STRONG_LOAD, ACQUIRE, *UPDATES), (STRONG_STORE, VOLATILE_STORE, RELEASE, *UPDATES)
REGISTER = 4  # bytes
ALL_GROUPS = -1  # what a WAIT for everything holds instead of the number of groups that may be pending
UNCOMMITTED = -1  # the age of a copy that is in no group yet
WRITTEN, UPDATED, READ, MAY_SEED_CAS = 1, 2, 4, 8  # flags of a word: plain or asynchronous stores, atomics, loads
WRITES = {STORE: WRITTEN, ATOMIC: UPDATED, VOLATILE_STORE: UPDATED, POLLED: MAY_SEED_CAS}
MOST_PER_INSTRUCTION = 3  # events of one instruction that are looked at when a pair is chosen for the message
MOST_HANDED_ON = 64  # the same, and words, where threads hand on what they did, so that some pairs are in order
NEVER = np.iinfo(np.int64).max


class Entry(NamedTuple):
    """One event of the log. `addresses` and `mask` are numbers of arrays; `width` is bytes a lane, or a WAIT's groups.

    `instruction` is its index in the program.
    """

    kind: int
    instruction: int
    addresses: int
    mask: int
    width: int


class Pending(NamedTuple):
    """A copy that no thread has waited for yet: `age` groups have been committed since its own."""

    instruction: int
    addresses: int
    width: int
    age: int


class Side(NamedTuple):
    """One of the accesses of a hazard: instruction, thread and kind. `what`: "reads", "writes", "updates" or
    "copies"."""

    instruction: int
    row: int
    thread: int
    what: str


class Hazard(NamedTuple):
    """kind: "race", "unwritten", "pending" (used before the wait), "left over". `second` is the later access; `byte` is
    an offset in shared memory; `words` tells how many words are concerned.

    Of an unwritten one that is wrong only if its value is used, `lanes` are all who read, as a number of rows and
    packed bits, `time` is the place in the log, and `share` the place in what the load reads.
    """

    kind: str
    first: Side | None
    second: Side
    byte: int
    words: int
    time: int = -1
    lanes: tuple[int, bytes] | None = None
    share: Fraction = Fraction(0)


class Result(NamedTuple):
    """What an analysis found; if it `depends_on_values`, stores had to be compared, and it holds for these only."""

    pending: list[tuple[Pending, np.ndarray | None]]
    hazards: list[Hazard]
    depends_on_values: bool


class _Copy(NamedTuple):
    """Lanes of a copy: started at log position `start` (-1: before this epoch), waited for at `end` (or never)."""

    instruction: int
    addresses: int
    lanes: np.ndarray | None
    width: int
    start: int
    end: int


class Epoch:
    """The analysis of one log. Arrays are flat over rows × words; a thread is a number within its block.

    Args: `shape` (rows, threads); `blocks` how many blocks one row stands for; `word` bytes; `array(number)` gives the
    addresses and masks that entries name; `values[i]` are what entry i stored, (blocks of the wave, threads) each;
    `rows` selects rows, None for all; `initialised` (rows, words) is changed in place; `doubtful` are loads whose value
    may go unused, `overwriting` are exchanges whose old value is dead, `copies` are stores of what a load has
    loaded, each with its load.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        blocks: int,
        word: int,
        log: Sequence[Entry],
        array: Callable[[int], np.ndarray | None],
        values: Sequence[tuple],
        initialised: np.ndarray,
        pending: Sequence[tuple[Pending, np.ndarray | None]],
        rows: np.ndarray | None = None,
        doubtful: Container[int] = (),
        overwriting: Container[int] = (),
        copies: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.shape = shape
        self.doubtful, self.overwriting, self.copies = doubtful, overwriting, copies
        self.blocks = blocks
        self.word = word
        self.log = log
        self.array = array
        self.values = values
        self.initialised = initialised
        self.pending_before = pending
        self.rows = None if rows is None else np.broadcast_to(rows[:, None], shape)
        self.words = initialised.shape[1]
        self.size = initialised.size
        self.position = np.arange(shape[0] * shape[1])
        self.thread = np.tile(np.arange(shape[1], dtype=np.int32), shape[0])
        self.row_start = (np.arange(shape[0]) * self.words)[:, None]
        self.hazards: list[Hazard] = []
        self.depends_on_values = False

    def analyse(self) -> Result:
        """Find the hazards of the log."""
        copies, pending = self._follow_copies()
        flags, multiple = self._who_writes(copies)
        self._in_order(copies, flags, multiple)
        raced = multiple & (((flags & WRITTEN) != 0) | ((flags & (UPDATED | READ)) == UPDATED | READ))
        if raced.any():
            self._races(raced, copies)
        return Result(pending, self.hazards, self.depends_on_values)

    # ---- lanes and words
    def _lanes(self, mask: np.ndarray | None) -> np.ndarray | None:
        """A mask of the selected rows, bool of the full shape; None for everybody."""
        if mask is None:
            return self.rows
        mask = np.broadcast_to(mask, self.shape)
        return mask if self.rows is None else mask & self.rows

    def _touched(self, addresses: int, lanes: np.ndarray | None, width: int) -> tuple[np.ndarray, np.ndarray]:
        """(flat word, lane position) of every word that the lanes access, one lane after the other."""
        first = self.array(addresses) // self.word
        if self.shape[0] > 1:
            first = first + self.row_start
        first = np.broadcast_to(first, self.shape)
        if lanes is None:
            index, position = first.reshape(-1), self.position
        else:
            index, position = first[lanes], np.flatnonzero(lanes)
        count = width // self.word
        if count > 1:
            index = (index[:, None] + np.arange(count)).reshape(-1)
            position = np.repeat(position, count)
        return index, position

    def _side(self, instruction: int, position: int, what: str) -> Side:
        row, thread = divmod(int(position), self.shape[1])
        return Side(instruction, row, thread, what)

    def _add(self, kind: str, first: Side | None, second: Side, index: int, words: int) -> None:
        byte = int(index) % self.words * self.word
        self.hazards.append(Hazard(kind, first, second, byte, words * self.blocks))

    # ---- asynchronous copies: when does each of them start and end?
    def _follow_copies(self) -> tuple[list[_Copy], list[tuple[Pending, np.ndarray | None]]]:
        """All copies that were under way in this epoch, and those that still are at its end."""
        under_way = [[-1, old, self._lanes(mask)] for old, mask in self.pending_before]
        under_way = [copy for copy in under_way if _any_lane(copy[2])]  # not those of blocks that are not looked at now
        foreign = [] if self.rows is None else self._of_other_rows()
        done: list[_Copy] = []
        for time, entry in enumerate(self.log):
            if entry.kind == COPY:
                lanes = self._lanes(self.array(entry.mask))
                copy = Pending(entry.instruction, entry.addresses, entry.width, UNCOMMITTED)
                if _any_lane(lanes):
                    under_way.append([time, copy, lanes])
            elif entry.kind in (COMMIT, WAIT):
                named = self._lanes(self.array(entry.mask))
                staying = []
                for start, copy, lanes in under_way:
                    if entry.kind == COMMIT:
                        now = copy._replace(age=copy.age + 1)
                    elif entry.width == ALL_GROUPS or (copy.age != UNCOMMITTED and copy.age >= entry.width):
                        now = None
                    else:
                        now = copy
                    concerned = _both(lanes, named)
                    others = _without(lanes, named, self.shape)
                    if concerned is not _NO_LANES:
                        if now is None:
                            done.append(self._copy(copy, concerned, start, time))
                        else:
                            staying.append([start, now, concerned])
                    if others is not _NO_LANES:
                        staying.append([start, copy, others])
                under_way = staying
        end = len(self.log)
        done += [self._copy(copy, lanes, start, end) for start, copy, lanes in under_way]
        return done, foreign + [(copy, lanes) for _, copy, lanes in under_way]

    def _of_other_rows(self) -> list[tuple[Pending, np.ndarray | None]]:
        """Copies of blocks that are not looked at now stay as they are."""
        kept = []
        for copy, mask in self.pending_before:
            lanes = np.broadcast_to(True if mask is None else mask, self.shape) & ~self.rows
            if lanes.any():
                kept.append((copy, lanes))
        return kept

    @staticmethod
    def _copy(copy: Pending, lanes: np.ndarray | None, start: int, end: int) -> _Copy:
        return _Copy(copy.instruction, copy.addresses, lanes, copy.width, start, end)

    # ---- first look, in any order: which words are written, and which are touched by several threads?
    def _who_writes(self, copies: Sequence[_Copy]) -> tuple[np.ndarray, np.ndarray]:
        flags = np.zeros(self.size, np.uint8)
        self.owner = np.full(self.size, -1, np.int32)
        multiple = np.zeros(self.size, bool)
        self.begun: dict[int, np.ndarray] = {}  # by time the words that a strong store is the first to write
        fresh = ~self.initialised.reshape(-1)
        for time, entry in enumerate(self.log):
            if UNPOLLED < entry.kind < COPY:
                index, position = self._touched(entry.addresses, self._lanes(self.array(entry.mask)), entry.width)
                flags[index] |= WRITES[int(LIKE[entry.kind])]
                if entry.kind in (STRONG_STORE, VOLATILE_STORE) and fresh[index].any():
                    self.begun[time] = index[fresh[index]]
                    flags[self.begun[time]] |= WRITTEN
                fresh[index] = False
                self._note(index, position, multiple)
        for copy in copies:
            if copy.start >= 0 or copy.end < len(self.log):
                index, position = self._touched(copy.addresses, copy.lanes, copy.width)
                flags[index] |= WRITTEN
                self._note(index, position, multiple)
        self.any_lane_writes = bool(flags.any())
        return flags, multiple

    def _note(self, index: np.ndarray, position: np.ndarray, multiple: np.ndarray) -> None:
        """Remember the first thread of each word, and whether there is another one."""
        thread = self.thread[position]
        owner = self.owner[index]
        fresh = owner < 0
        if fresh.any():
            self.owner[index[fresh]] = thread[fresh]
            owner = self.owner[index]
        other = owner != thread
        if other.any():
            multiple[index[other]] = True

    # ---- second pass, in order: reads of uninitialised words, and reads of words that others write
    def _in_order(self, copies: Sequence[_Copy], flags: np.ndarray, multiple: np.ndarray) -> None:
        known = self.initialised.reshape(-1)
        pending = np.zeros(self.size, np.int32) if copies else None
        starts: dict[int, list[int]] = {}
        ends: dict[int, list[int]] = {}
        for number, copy in enumerate(copies):
            starts.setdefault(copy.start, []).append(number)
            ends.setdefault(copy.end, []).append(number)
        for number in starts.get(-1, ()):
            self._start(copies, number, pending)
        all_known = bool(known.all())
        copied = frozenset(self.copies.values())
        unset: dict[int, np.ndarray] = {}  # by load, of those that are stored again, the words that a lane found unset
        if all_known and not copies and not self.any_lane_writes:
            return
        for time, entry in enumerate(self.log):
            if entry.kind <= COPY:
                index, position = self._touched(entry.addresses, self._lanes(self.array(entry.mask)), entry.width)
                early = None
                if pending is not None:
                    early = pending[index] > 0
                    if early.any():
                        self._too_early(entry, index[early], position[early], copies, pending)
                if not all_known and entry.kind != COPY:
                    if entry.instruction in copied:
                        of_lanes = np.zeros((len(self.position), entry.width // self.word), bool)
                        of_lanes[position, np.arange(len(position)) % of_lanes.shape[1]] = ~known[index]
                        unset[entry.instruction] = of_lanes
                    if entry.kind not in STORES:
                        missing = self._unwritten(~known[index], entry)
                        if missing.any():
                            # Where another thread writes between the same barriers, the race says more.
                            missing &= (flags[index] == 0) | (self.owner[index] == self.thread[position])
                            missing = missing if early is None else missing & ~early
                            self._missing(time, entry, index, position, missing)
                    if (load := self.copies.get(entry.instruction)) in unset:
                        known[index] = ~unset[load][position, np.arange(len(position)) % unset[load].shape[1]]
                    elif entry.kind not in LOADS:
                        known[index] = True
                if entry.kind <= UNPOLLED and self.any_lane_writes:
                    hit = flags[index] != 0
                    if hit.any():
                        index, position = index[hit], position[hit]
                        flags[index] |= READ
                        self._note(index, position, multiple)
            for number in starts.get(time, ()):
                self._start(copies, number, pending)
            for number in ends.get(time, ()):
                index, _ = self._touched(copies[number].addresses, copies[number].lanes, copies[number].width)
                pending[index] = 0
                known[index] = True

    def _unwritten(self, missing: np.ndarray, entry: Entry) -> np.ndarray:
        """Which words of an access count as unwritten: of narrow words that make a register none, if one is written.

        The rest is padding between the members of a struct that is copied as a whole.
        """
        together = min(entry.width, REGISTER) // self.word
        if together <= 1 or not missing.any():
            return missing
        return np.repeat(missing.reshape(-1, together).all(axis=1), together)

    def _missing(self, time: int, entry: Entry, index, position, missing: np.ndarray) -> None:
        """A thread reads words that was never written."""
        if not missing.any() or entry.instruction in self.overwriting:
            return
        if entry.kind != LOAD or entry.instruction not in self.doubtful:
            self._add_unwritten(entry, index, position, missing)
            self.initialised.reshape(-1)[index[missing]] = True  # once is enough
            return
        # The next reader of the words may use them. Here each register that is loaded may be used or not.
        count, registers = entry.width // self.word, max(1, entry.width // REGISTER)
        for number in range(registers):
            of_register = missing & (np.arange(len(missing)) % count * registers // count == number)
            if of_register.any():
                lanes = np.zeros(len(self.position), bool)
                lanes[position[of_register]] = True
                self._add_unwritten(entry, index, position, of_register)
                self.hazards[-1] = self.hazards[-1]._replace(
                    time=time, lanes=(self.shape[0], np.packbits(lanes).tobytes()), share=Fraction(number, registers)
                )

    def _add_unwritten(self, entry: Entry, index, position, missing: np.ndarray) -> None:
        where = int(missing.argmax())
        side = self._side(entry.instruction, position[where], _WHAT[entry.kind])
        self._add("unwritten", None, side, index[where], int(missing.sum()))

    def _start(self, copies: Sequence[_Copy], number: int, pending: np.ndarray) -> None:
        copy = copies[number]
        index, _ = self._touched(copy.addresses, copy.lanes, copy.width)
        pending[index] = 1 + number

    def _too_early(self, entry: Entry, index, position, copies, pending: np.ndarray) -> None:
        """Threads use words while a copy into them is in flight."""
        copy = copies[int(pending[index[0]]) - 1]
        target, source = self._touched(copy.addresses, copy.lanes, copy.width)
        starter = source[int((target == index[0]).argmax())]
        first = self._side(copy.instruction, starter, "copies")
        second = self._side(entry.instruction, position[0], _WHAT[entry.kind])
        self._add("pending", first, second, index[0], len(index))

    # ---- races: the two accesses
    def _races(self, raced: np.ndarray, copies: Sequence[_Copy]) -> None:
        """Look at all accesses of the suspicious words, drop those that are in order, and name the others."""
        events = self._events(raced, copies)
        order = np.lexsort((events["time"], events["word"]))
        events = {name: values[order] for name, values in events.items()}
        racing = self._racing_words(events)
        if len(racing):
            self._name_pairs(events, racing)

    def _events(self, raced: np.ndarray, copies: Sequence[_Copy]) -> dict[str, np.ndarray]:
        """Every access of the words that are set in `raced`, as columns."""
        columns: dict[str, list[np.ndarray]] = {name: [] for name in _COLUMNS}
        synchronised = np.full(self.shape[0] * self.shape[1], -1)
        released, met = self._handed_on()
        end = len(self.log)
        ends: dict[int, list[_Copy]] = {}
        for copy in copies:
            ends.setdefault(copy.end, []).append(copy)

        def add(time: int, kind: int, of: Entry | _Copy, lanes, hides_until: int = -1, hides_from: int = -1) -> None:
            index, position = self._touched(of.addresses, lanes, of.width)
            chosen = raced[index]
            if not chosen.any():
                return
            part = np.arange(len(index)) % (of.width // self.word)
            position = position[chosen]
            of_lanes = (index[chosen], self.thread[position], position, part[chosen], synchronised[position],
                        np.full(len(position), NEVER) if kind == COPY else released[time][position],
                        met[time][position])  # fmt: skip
            for name, values in zip(_COLUMNS[:7], of_lanes, strict=True):
                columns[name].append(values)
            facts = (time, kind, of.instruction, hides_until, hides_from)
            for name, value in zip(_COLUMNS[7:], facts, strict=True):
                columns[name].append(np.full(len(position), value))
            if time in self.begun:
                columns["kind"][-1][np.isin(index[chosen], self.begun[time])] = STORE

        for time, entry in enumerate(self.log):
            if entry.kind <= COPY:
                # Between the start of a copy and the wait accesses are "pending", and were named as such already.
                add(
                    time, entry.kind, entry, self._lanes(self.array(entry.mask)), end if entry.kind == COPY else -1, end
                )
            elif entry.kind == WARP_BARRIER:
                lanes = self._lanes(self.array(entry.mask))
                synchronised[slice(None) if lanes is None else lanes.reshape(-1)] = time
            for copy in ends.get(time, ()):
                add(time, COPY, copy, copy.lanes, -1, copy.start)
        return {name: np.concatenate(pieces) for name, pieces in columns.items()}

    def _handed_on(self) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
        """By time and lane position: when what was done before is known to others, and the time up to which the thread
        knows of others.

        Of two accesses the first comes before the second if its `released` is before the other's `met`.
        """
        count = self.shape[0] * self.shape[1]
        self.hands_on = any(entry.kind == FENCE for entry in self.log)
        if not self.hands_on:
            return [np.full(count, NEVER)] * len(self.log), [np.full(count, -1)] * len(self.log)
        released, met = np.empty((len(self.log), count), np.int64), np.empty((len(self.log), count), np.int64)
        now = np.full(count, -1)
        for time, entry in enumerate(self.log):
            met[time] = now
            lanes = self._positions(entry)
            if entry.kind in ACQUIRES:  # of lanes that update at once each may come behind any other
                now[lanes] = time + (entry.kind in UPDATES)
            elif entry.kind == WARP_BARRIER:
                now[lanes] = self._of_warps(now, lanes, np.maximum, -1)
        # Backwards: when a thread next meets others, itself or by its warp, and when it does so behind a fence.
        meets, now = np.full(count, NEVER), np.full(count, NEVER)
        for time in range(len(self.log) - 1, -1, -1):
            released[time] = now
            entry = self.log[time]
            lanes = self._positions(entry)
            if entry.kind in RELEASES:
                meets[lanes] = time
            elif entry.kind == FENCE:
                now[lanes] = meets[lanes]
            elif entry.kind == WARP_BARRIER:
                for next_time in (meets, now):
                    next_time[lanes] = self._of_warps(next_time, lanes, np.minimum, NEVER)
        return released, met

    def _positions(self, entry: Entry):
        lanes = self._lanes(self.array(entry.mask))
        return slice(None) if lanes is None else lanes.reshape(-1)

    def _of_warps(self, times: np.ndarray, lanes, combine: np.ufunc, none: int) -> np.ndarray:
        """For `lanes`, the latest or the earliest time of those of their warp that are among them."""
        here = np.full(times.shape, none)
        here[lanes] = times[lanes]
        padded = np.pad(here.reshape(self.shape), ((0, 0), (0, -self.shape[1] % WARP)), constant_values=none)
        of_warps = combine.reduce(padded.reshape(self.shape[0], -1, WARP), axis=2).repeat(WARP, axis=1)
        return of_warps[:, : self.shape[1]].reshape(-1)[lanes]

    @cached_property
    def _warp_barriers(self) -> tuple[tuple[int, np.ndarray], ...]:
        """(time, the positions of the lanes that met) of every barrier of a warp."""
        met = ((time, self._positions(entry)) for time, entry in enumerate(self.log) if entry.kind == WARP_BARRIER)
        return tuple((time, self.position[positions]) for time, positions in met)

    @cached_property
    def _whole_warps_meet(self) -> bool:
        """Whether all lanes of a warp come to each of its barriers: then the last one orders them."""
        warps = -(-self.shape[1] // WARP)
        of_lane = self.position // self.shape[1] * warps + self.thread // WARP
        lanes = np.bincount(of_lane)
        met = (np.bincount(of_lane[positions], minlength=len(lanes)) for _, positions in self._warp_barriers)
        return all(((count == 0) | (count == lanes)).all() for count in met)

    def _meet(self, first: int, since: int, other: int, until: int) -> bool:
        """Whether barriers of the warp lead from what a lane did at one time to what another did later."""
        row = first // self.shape[1]
        warp, reached = first % self.shape[1] // WARP, {first}
        for time, positions in self._warp_barriers:
            if since < time < until:
                rows, threads = np.divmod(positions, self.shape[1])
                met = set(positions[(rows == row) & (threads // WARP == warp)].tolist())
                reached |= met if reached & met else set()
        return other in reached

    def _racing_words(self, events: dict[str, np.ndarray]) -> np.ndarray:
        """The words with a pair of accesses that no barrier orders and that do not store the same value."""
        word, thread = events["word"], events["thread"]
        between_warps = self._conflicts(events, (word,), thread // WARP)
        since = events["synchronised"] if self._whole_warps_meet else np.zeros_like(word)
        inside_warps = self._conflicts(events, (word, thread // WARP, since), thread)
        return np.unique(word[between_warps | inside_warps])

    def _conflicts(
        self, events: dict[str, np.ndarray], keys: tuple[np.ndarray, ...], accessors: np.ndarray
    ) -> np.ndarray:
        """By event: whether its group (equal `keys`) has accesses of several `accessors` that depend on their order."""
        order = np.lexsort(keys[::-1])
        changes = np.zeros(len(order), bool)
        for key in keys:
            sorted_key = key[order]
            changes[1:] |= sorted_key[1:] != sorted_key[:-1]
        starts = np.r_[0, np.flatnonzero(changes)]
        kind, accessors = LIKE[events["kind"][order]], accessors[order]
        several = np.minimum.reduceat(accessors, starts) != np.maximum.reduceat(accessors, starts)
        copies = np.logical_or.reduceat(kind == COPY, starts)
        stores = np.logical_or.reduceat(kind == STORE, starts)
        reads = np.logical_or.reduceat(kind == LOAD, starts)
        updates = np.logical_or.reduceat(kind == ATOMIC, starts)
        unpolled = np.logical_or.reduceat(kind == UNPOLLED, starts)
        volatile = np.logical_or.reduceat(kind == VOLATILE_STORE, starts)
        conflict = several & (stores | copies | (reads & (updates | volatile)) | (unpolled & volatile))
        polled = np.logical_or.reduceat(kind == POLLED, starts)
        only_stores = conflict & stores & ~copies & ~reads & ~updates & ~polled & ~unpolled & ~volatile
        group = np.cumsum(np.r_[0, changes[1:]])
        if only_stores.any():
            self.depends_on_values = True
            chosen = only_stores[group]
            values = self._stored({name: column[order][chosen] for name, column in events.items()})
            starts = np.r_[0, np.flatnonzero(np.diff(group[chosen])) + 1]
            same = (np.minimum.reduceat(values, starts) == np.maximum.reduceat(values, starts)).all(axis=1)
            conflict[np.flatnonzero(only_stores)[same]] = False
        result = np.empty(len(order), bool)
        result[order] = conflict[group]
        return result

    def _stored(self, events: dict[str, np.ndarray]) -> np.ndarray:
        """The words that stores wrote, as integers (events, blocks): all blocks that a row stands for."""
        blocks = self.blocks if self.shape[0] == 1 else 1
        result = np.zeros((len(events["word"]), blocks), f"u{self.word}")
        for time in np.unique(events["time"]).tolist():
            chosen = np.flatnonzero(events["time"] == time)
            items = self.values[time]
            if not items:  # the values are not known: take them for different
                result[chosen] = (np.arange(len(chosen)) + 1)[:, None]
                continue
            shape = (blocks, self.shape[1]) if self.shape[0] == 1 else self.shape
            columns = [np.broadcast_to(item, shape) for item in items]
            if self.shape[0] == 1:
                stacked = np.stack([column[:, events["position"][chosen]].T for column in columns], axis=-1)
            else:
                stacked = np.stack([column.reshape(-1)[events["position"][chosen]] for column in columns], axis=-1)
                stacked = stacked[:, None, :]
            words = np.ascontiguousarray(stacked).view(np.uint8).view(f"u{self.word}")
            result[chosen] = np.take_along_axis(words, events["part"][chosen][:, None, None], axis=2)[:, :, 0]
        return result

    def _name_pairs(self, events: dict[str, np.ndarray], racing: np.ndarray) -> None:
        """A hazard for every pair of instructions that meet in a racing word; `events` are sorted by word and time."""
        keep = np.isin(events["word"], racing)
        events = {name: values[keep] for name, values in events.items()}
        concerned: dict[tuple[int, int], set[int]] = {}
        chosen: dict[tuple[int, int], tuple[int, int]] = {}
        for word in self._sample(events, racing):
            start, stop = np.searchsorted(events["word"], (word, word + 1))
            of_word = {name: values[start:stop] for name, values in events.items()}
            for first, other in self._pairs(of_word):
                pair = (int(of_word["instruction"][first]), int(of_word["instruction"][other]))
                chosen.setdefault(pair, (start + first, start + other))
                concerned.setdefault(pair, set()).add(int(word))
        for pair, (second, other) in chosen.items():
            sides = [
                self._side(
                    int(events["instruction"][i]), int(events["position"][i]), _WHAT[int(events["kind"][i])]
                )
                for i in (second, other)
            ]  # fmt: skip
            words = [np.unique(events["word"][events["instruction"] == instruction]) for instruction in pair]
            self._add("race", *sides, events["word"][second], len(np.intersect1d(*words)))

    def _sample(self, events: dict[str, np.ndarray], racing: np.ndarray) -> np.ndarray:
        """A few words such that every instruction is among their accesses."""
        _, first = np.unique(events["instruction"], return_index=True)
        reversed_ = events["instruction"][::-1]
        _, last = np.unique(reversed_, return_index=True)
        few = racing[:MOST_HANDED_ON] if self.hands_on or not self._whole_warps_meet else racing[:1]
        return np.unique(np.r_[few, events["word"][first], events["word"][::-1][last]])

    def _pairs(self, events: dict[str, np.ndarray]) -> list[tuple[int, int]]:
        """Pairs of accesses of one word that conflict, at most one for two instructions: (earlier, later)."""
        keep = []
        most = MOST_HANDED_ON if self.hands_on else MOST_PER_INSTRUCTION
        for instruction in np.unique(events["instruction"]).tolist():
            mine = np.flatnonzero(events["instruction"] == instruction)
            times = np.unique(events["time"][mine])
            for time in (*times[: most - 1], *times[most - 1 :][-1:]):
                now = mine[events["time"][mine] == time]
                threads = events["thread"][now]
                keep += [now[threads.argmin()], now[threads.argmax()]]
                if len(now) > 2 and events["kind"][now[0]] == STORE:
                    values = self._stored({name: column[now] for name, column in events.items()})
                    keep += [now[0], now[(values != values[0]).any(axis=1).argmax()]]
        keep = np.unique(keep)
        first, other = (keep[indices] for indices in np.triu_indices(len(keep), 1))
        thread, kind, time = events["thread"], LIKE[events["kind"]], events["time"]
        warp = thread // WARP
        conflict = thread[first] != thread[other]
        inside = conflict & (warp[first] == warp[other])
        conflict &= ~inside | (events["synchronised"][first] == events["synchronised"][other])
        if not self._whole_warps_meet:
            position = events["position"]
            for pair in np.flatnonzero(inside & ~conflict):
                at = [(position[event], time[event]) for event in (first[pair], other[pair])]
                conflict[pair] = not self._meet(*at[0], *at[1])
        plain = [(kind[side] == STORE) | (kind[side] == COPY) for side in (first, other)]
        low, high = np.minimum(kind[first], kind[other]), np.maximum(kind[first], kind[other])
        mixed = ((low == LOAD) & (high == ATOMIC)) | ((low <= UNPOLLED) & (high == VOLATILE_STORE))
        conflict &= plain[0] | plain[1] | mixed
        conflict &= time[other] >= time[first]
        conflict &= events["released"][first] >= events["met"][other]
        conflict &= (events["hides_until"][first] < time[other]) & (time[first] <= events["hides_from"][other])
        stores = (kind[first] == STORE) & (kind[other] == STORE) & conflict
        for pair in np.flatnonzero(stores):
            both = np.array([first[pair], other[pair]])
            left, right = self._stored({name: values[both] for name, values in events.items()})
            conflict[pair] = (left != right).any()
        pairs: dict[tuple[int, int], tuple[int, int]] = {}
        first, other = first[conflict], other[conflict]
        # Two warps say more than two lanes of one, and a short time more than a long one.
        best = np.lexsort((time[other] - time[first], warp[first] == warp[other]))
        for a, b in zip(first[best].tolist(), other[best].tolist(), strict=True):
            pairs.setdefault((int(events["instruction"][a]), int(events["instruction"][b])), (a, b))
        return list(pairs.values())


_WHAT = {
    LOAD: "reads", UNPOLLED: "reads", STRONG_LOAD: "reads", STORE: "writes", STRONG_STORE: "writes",
    VOLATILE_STORE: "writes", ATOMIC: "updates", POLLED: "updates", COPY: "copies",
}  # fmt: skip
_COLUMNS = (
    "word",
    "thread",
    "position",
    "part",
    "synchronised",
    "released",
    "met",
    "time",
    "kind",
    "instruction",
    "hides_until",
    "hides_from",
)
_NO_LANES = object()


def _any_lane(lanes: np.ndarray | None) -> bool:
    """Whether a mask has any lane."""
    return lanes is None or bool(lanes.any())


def _both(lanes: np.ndarray | None, named: np.ndarray | None):
    """The lanes in both masks; _NO_LANES if there are none."""
    both = named if lanes is None else lanes if named is None else lanes & named
    return both if both is None or both.any() else _NO_LANES


def _without(lanes: np.ndarray | None, named: np.ndarray | None, shape: tuple[int, int]):
    """The lanes that are not named; _NO_LANES if there are none."""
    if named is None:
        return _NO_LANES
    rest = np.broadcast_to(True if lanes is None else lanes, shape) & ~named
    return rest if rest.any() else _NO_LANES
