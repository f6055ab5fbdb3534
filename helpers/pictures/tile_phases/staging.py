"""What a block stages in shared memory, out of a recording: which element lies in which word, and who reads it.

A recording has addresses, not names: that word 33 of shared memory holds A[1, 8] follows from the thread that loaded
A[1, 8] and stored to word 33. A store is paired with the load that filled its register. Where none did, because the
float has passed through another register, loads and stores of a thread are paired in their order. Those of one source
line are paired with each other where the lines agree (`As[…] = A[…];`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gpusim import Recording
from gpusim.devices import FLOAT_BYTES
from helpers.pictures import CannotTell
from helpers.pictures.threads import UNKNOWN, BlockAccess, block_accesses

EMPTY = -1


@dataclass(frozen=True, eq=False)
class Copies:
    """One float for each entry (threads,): a thread moves element `element` of `array` to the shared word `word`."""

    array: str
    line: int
    element: np.ndarray
    word: np.ndarray


@dataclass(frozen=True, eq=False)
class SharedRead:
    """One float that every active thread reads from shared memory. word: (threads,), EMPTY where a thread does not."""

    line: int
    word: np.ndarray


@dataclass(frozen=True, eq=False)
class Phase:
    """What a block stages before it reads, and what it then reads, until it stages again."""

    copies: tuple[Copies, ...]
    reads: tuple[SharedRead, ...]

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """The arrays that are staged, in the order of the first copy of each."""
        return tuple(dict.fromkeys(copy.array for copy in self.copies))

    def elements(self, array: str) -> np.ndarray:
        """(n,) the elements of an array that are staged, ascending."""
        stored = [copy.element for copy in self.copies if copy.array == array]
        return np.unique(np.concatenate(stored)) if stored else np.zeros(0, np.int64)

    @cached_property
    def floats_loaded(self) -> int:
        """Floats that the block's threads load from global memory for this phase."""
        return sum(len(copy.element) for copy in self.copies)

    @cached_property
    def floats_read(self) -> int:
        """Floats that its threads read from shared memory."""
        return sum(int((read.word != EMPTY).sum()) for read in self.reads)

    @cached_property
    def _holds(self) -> dict[str, np.ndarray]:
        """For each array, (words,) the element that each shared word holds, EMPTY where it holds none of this array."""
        words = 1 + max((int(copy.word.max()) for copy in self.copies), default=0)
        words = max(words, 1 + max((int(read.word.max()) for read in self.reads), default=0))
        holds = {array: np.full(words, EMPTY, np.int64) for array in self.arrays}
        for copy in self.copies:
            for array, elements in holds.items():
                elements[copy.word] = copy.element if array == copy.array else EMPTY
        return holds

    def read_by(self, thread: int, array: str) -> np.ndarray:
        """(n,) the elements of an array that a thread reads from shared memory, in the order of its reads."""
        return self.readings(array)[thread]

    def readings(self, array: str) -> list[np.ndarray]:
        """For each thread the elements of an array that it reads from shared memory, in the order of its reads."""
        holds = self._holds[array]
        table = np.stack([np.where(read.word == EMPTY, EMPTY, holds[read.word]) for read in self.reads], axis=1)
        return [row[row != EMPTY] for row in table]


def staged_phases(recording: Recording, block: tuple[int, ...] = (0, 0, 0)) -> tuple[Phase, ...]:
    """The phases of one traced block. Raises CannotTell, in a sentence, for a kernel whose phases cannot be told.

    The launch should have whole tiles only: a thread that stores a zero without a load has nothing to pair.
    """
    accesses = block_accesses(recording, block)
    stores = [access for access in accesses if access.space == "shared" and access.op == "st"]
    if not stores:
        raise CannotTell("The kernel stores nothing to shared memory, so there is no tile to show.")
    copies = _paired([access for access in accesses if access.space == "global" and access.op == "ld"], stores)
    phases: list[tuple[list[Copies], list[SharedRead]]] = []
    for access in accesses:
        if access.space != "shared":
            continue
        if access.op == "st":
            if not phases or phases[-1][1]:
                phases.append(([], []))
            phases[-1][0].extend(copies.pop(0) for _ in range(access.width // FLOAT_BYTES))
        elif phases:
            phases[-1][1].extend(_reads(access))
    readers = {np.any([read.word != EMPTY for read in reads], axis=0).tobytes() for _, reads in phases if reads}
    if len(readers) > 1:
        raise CannotTell(
            "Some warps store more often than others before they read, so the picture cannot tell where a phase of the "
            "block ends and the next one begins. Let all threads store equally often: i = thread, and i += THREADS."
        )
    return tuple(Phase(tuple(loaded), tuple(reads)) for loaded, reads in phases)


def _paired(loads: Sequence[BlockAccess], stores: Sequence[BlockAccess]) -> list[Copies]:
    """One entry for every float that a store writes, in the order of the stores."""
    lines_of_loads, lines_of_stores = _floats_by_line(loads), _floats_by_line(stores)
    by_line = all(lines_of_loads[line] == count for line, count in lines_of_stores.items())
    queues: dict[int, list[tuple[BlockAccess, int]]] = {}
    for load in loads:
        for part in range(load.width // FLOAT_BYTES):
            queues.setdefault(load.line if by_line else 0, []).append((load, part))
    copies = []
    for store in stores:
        for part in range(store.width // FLOAT_BYTES):
            waiting = queues.get(store.line if by_line else 0, [])
            if not waiting:
                raise CannotTell(
                    f"Line {store.line} stores to shared memory more often than the kernel loads from global memory, "
                    "so the picture cannot tell which element lies where. Load each element right where it is stored: "
                    "As[y][x] = A[…];"
                )
            load, loaded = waiting.pop(_source(waiting, store, part))
            if not (load.active == store.active).all():
                raise CannotTell(
                    f"Line {store.line} stores to shared memory with threads that did not load in line {load.line} "
                    "(at an edge of the matrix?). Choose sizes that are multiples of the tile."
                )
            active = store.active
            copies.append(
                Copies(load.array, load.line, load.offset[active] // FLOAT_BYTES + loaded,
                       store.offset[active] // FLOAT_BYTES + part)
            )  # fmt: skip
    return copies


def _source(waiting: Sequence[tuple[BlockAccess, int]], store: BlockAccess, part: int) -> int:
    """Which of the waiting loads filled the register that a part of a store comes from; the first one if none did."""
    taken = store.register + part
    filled = (
        number
        for number, (load, loaded) in enumerate(waiting)
        if load.step < store.step and UNKNOWN not in (load.register, store.register) and load.register + loaded == taken
    )
    return next(filled, 0)


def _floats_by_line(accesses: Sequence[BlockAccess]) -> Counter[int]:
    floats: Counter[int] = Counter()
    for access in accesses:
        floats[access.line] += access.width // FLOAT_BYTES
    return floats


def _reads(access: BlockAccess) -> list[SharedRead]:
    words = np.where(access.active, access.offset // FLOAT_BYTES, EMPTY)
    return [
        SharedRead(access.line, np.where(access.active, words + part, EMPTY))
        for part in range(access.width // FLOAT_BYTES)
    ]
