"""What the sanitizer has found in a launch: each hazard with its sentences, once for a kind and its source lines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from gpusim.checks.cluster_checks import ClusterHazard
from gpusim.checks.global_checks import GlobalHazard
from gpusim.checks.hazard_messages import Messages
from gpusim.checks.shared_epoch import Hazard
from gpusim.checks.undefined_values import Absence, NeverSet, Use
from gpusim.engine.ir import Program
from gpusim.engine.memory import Allocation, product
from gpusim.engine.run import apart_in_words
from gpusim.errors import (
    ASYNC_COPY,
    BARRIERS,
    GLOBAL_RACE,
    NEVER_SET,
    SHARED_RACE,
    UNWRITTEN_GLOBAL,
    UNWRITTEN_LOCAL,
    UNWRITTEN_SHARED,
    WARP_MASK,
    OutOfBounds,
    coordinates,
)
from gpusim.symbols.shared_arrays import SharedNames

MOST_FINDINGS = 20  # different ones; more of the same are counted
Index = tuple[int, int, int]


class LocalHazard(NamedTuple):
    """A thread, by its row of the wave, has read a byte of its local memory that it had not written."""

    instruction: int
    row: int
    thread: int
    byte: int


@dataclass(frozen=True)
class Finding:
    """One hazard: a pair of source lines, or one line, where it was first found.

    `lines` holds the source lines concerned, the earlier access's first, each followed by the lines that its function
    was called from; `block` and `thread` belong to the later access, `other_block` and `other_thread` to the earlier
    one of a pair. `index` is the element of `array` (row and column for two dimensions). `count` tells how often it was
    found.
    """

    kind: str
    lines: tuple[int, ...]
    block: Index
    thread: Index
    array: str
    index: tuple[int, ...]
    message: str
    other_block: Index | None = None
    other_thread: Index | None = None
    count: int = 1

    @property
    def line(self) -> int:
        """The first source line."""
        return self.lines[0] if self.lines else 0


class Findings:
    """The findings of one launch, to which the parts of a Checker report.

    It refers to none of them, nor to the launch: so all of a launch goes as soon as no caller holds it, and what it
    has in memory does not wait for Python's collector.

    Args: `program`, `grid` and `block` of the launch, and the `names` of its shared memory.
    """

    def __init__(self, program: Program, grid: Index, block: Index, names: SharedNames) -> None:
        self._program, self._names, self._threads = program, names, product(block)
        self.messages = Messages(program, grid, block, names.strengths)
        self.by_key: dict[tuple, Finding] = {}

    def warps_apart(self, block: Index, threads: Mapping[int, np.ndarray]) -> None:
        """The same of a block, (x, y, z), by the indices of the barriers."""
        lines, text = apart_in_words(self._program, self.messages.size, threads)

        def make() -> Finding:
            first, other = sorted(self.messages.thread_index(int(each[0])) for each in list(threads.values())[:2])
            message = self.messages.warps_apart(block, lines, text)
            return Finding(BARRIERS, tuple(lines), block, first, "", (), message, block, other)

        self.keep((BARRIERS, *lines), 1, make)

    def not_come(self, wave, instruction: int, row: int, thread: int, absent: int) -> None:
        """A thread waits for another one of its warp, which goes past."""
        is_barrier = wave.launch.prepared.gathers_for_barrier(instruction)
        message = self.messages.not_at_barrier if is_barrier else self.messages.not_come
        write = partial(message, absent=self.messages.thread_index(absent))
        self.warp_mask(wave, instruction, row, thread, write)

    def undefined_value(self, wave, use: Use) -> None:
        """A thread uses a value that is not defined."""
        if isinstance(use.origin, NeverSet):
            self._never_set(wave, use)
            return
        not_named = use.taken[2] == Absence.NOT_NAMED
        message = self.messages.unnamed_lane if not_named else self.messages.absent_lane
        self.warp_mask(wave, use.origin.instruction, use.row, use.thread, partial(message, use=use))

    def _never_set(self, wave, use: Use) -> None:
        """A thread uses what was computed from a variable that is never set."""
        first = use.instruction if use.origin.instruction < 0 else use.origin.instruction
        lines = tuple(dict.fromkeys((*self.messages.lines(first), *self.messages.lines(use.instruction))))
        block, index = wave.block_index(use.row), self.messages.thread_index(use.thread)

        def make() -> Finding:
            name, message = self.messages.never_set(first, use, block, index)
            return Finding(NEVER_SET, lines, block, index, name, (), message)

        self.keep((NEVER_SET, self.messages.lines(first)), 1, make)

    def warp_mask(self, wave, instruction: int, row: int, thread: int, write: partial[str]) -> None:
        lines, block, index = (
            self.messages.lines(instruction),
            wave.block_index(row),
            self.messages.thread_index(thread),
        )

        def make() -> Finding:
            return Finding(WARP_MASK, lines, block, index, "", (), write(instruction, block, index))

        self.keep((WARP_MASK, write.func.__func__, *lines), 1, make)

    def keep(self, key: tuple, count: int, make: Callable[[], Finding]) -> None:
        """Make a finding of the first hazard of a kind and a pair of lines, and count the others."""
        known = self.by_key.get(key)
        if known is not None:
            self.by_key[key] = replace(known, count=known.count + count)
        elif len(self.by_key) < MOST_FINDINGS:
            self.by_key[key] = replace(make(), count=count)

    def shared_hazard(self, wave, hazard: Hazard | LocalHazard | OutOfBounds, times: int) -> None:
        """A hazard of shared memory, or of local memory, becomes a finding; an error is raised."""
        if isinstance(hazard, OutOfBounds):
            raise hazard
        if isinstance(hazard, LocalHazard):
            self._local_hazard(wave, hazard)
            return
        second = hazard.second
        sides = [side.instruction for side in (hazard.first, second) if side is not None and hazard.kind == "race"]
        if any(self._names.only_puts_back(self._program.instructions[side], hazard.byte) for side in sides):
            return
        name, index, element = self._names.locate(second.instruction, hazard.byte)
        lines = self.messages.lines(second.instruction)
        if hazard.first is not None:
            lines = tuple(dict.fromkeys((*self.messages.lines(hazard.first.instruction), *lines)))
        kind = {
            "race": SHARED_RACE, "unwritten": UNWRITTEN_SHARED, "pending": ASYNC_COPY, "left over": ASYNC_COPY,
            "bulk early": ASYNC_COPY, "bulk over": SHARED_RACE, "bulk unread": ASYNC_COPY,
        }[hazard.kind]  # fmt: skip

        def make() -> Finding:
            block = wave.block_index(second.row)
            thread = self.messages.thread_index(second.thread)
            other = None if hazard.first is None else self.messages.thread_index(hazard.first.thread)
            write = {
                "race": self.messages.shared_race, "unwritten": self.messages.shared_unwritten,
                "pending": self.messages.copy_too_early, "left over": self.messages.copy_left_over,
                "bulk early": self.messages.bulk_too_early, "bulk over": self.messages.bulk_over,
                "bulk unread": self.messages.bulk_unread,
            }[hazard.kind]  # fmt: skip
            message = write(hazard, element, block)
            return Finding(kind, lines, block, thread, name, index, message, None if other is None else block, other)

        self.keep((kind, hazard.kind, name, *lines), hazard.words * times, make)

    def cluster_hazard(self, wave, hazard: ClusterHazard) -> None:
        """A hazard between blocks of a cluster becomes a finding."""
        second, first = hazard.second, hazard.first
        name, index, element = self._names.locate(-1, hazard.byte)
        lines = self.messages.lines(second.instruction)
        if first is not None:
            lines = tuple(dict.fromkeys((*self.messages.lines(first.instruction), *lines)))
        kind = UNWRITTEN_SHARED if hazard.kind == "unwritten" else SHARED_RACE

        def make() -> Finding:
            owner, block = wave.block_index(hazard.row), wave.block_index(second.row)
            other = None if first is None else (wave.block_index(first.row), self.messages.thread_index(first.thread))
            thread = self.messages.thread_index(second.thread)
            write = {
                "race": self.messages.cluster_race, "unwritten": self.messages.cluster_unwritten,
                "ended": self.messages.cluster_ended,
            }[hazard.kind]  # fmt: skip
            message = write(hazard, f"{element} of block {coordinates(owner)}", other, (block, thread))
            return Finding(kind, lines, block, thread, name, index, message, *(other or (None, None)))

        self.keep((kind, hazard.kind, name, *lines), hazard.bytes_, make)

    def _local_hazard(self, wave, hazard: LocalHazard) -> None:
        lines = self.messages.lines(hazard.instruction)

        def make() -> Finding:
            block, thread = wave.block_index(hazard.row), self.messages.thread_index(hazard.thread)
            message = self.messages.local_unwritten(hazard.instruction, block, thread)
            return Finding(UNWRITTEN_LOCAL, lines, block, thread, "local memory", (hazard.byte,), message)

        self.keep((UNWRITTEN_LOCAL, *lines), 1, make)

    def global_hazard(self, wave, allocation: Allocation, hazard: GlobalHazard, count: int) -> None:
        """A hazard of global memory becomes a finding."""
        second, first = hazard.second, hazard.first
        lines = self.messages.lines(second.instruction)
        if first is not None:
            lines = tuple(dict.fromkeys((*self.messages.lines(first.instruction), *lines)))
        kind = GLOBAL_RACE if hazard.kind == "race" else UNWRITTEN_GLOBAL

        def make() -> Finding:
            block, thread = (
                self.messages.block_index(second.thread // self._threads),
                self.messages.thread_index(second.thread % self._threads),
            )
            element = hazard.byte // allocation.dtype.itemsize
            size = product(allocation.shape)
            inside = element < size and len(allocation.shape) > 1
            index = tuple(int(i) for i in np.unravel_index(element, allocation.shape)) if inside else (element,)
            element_name = f"{allocation.name}[{', '.join(map(str, index))}]"
            if first is None:
                message = self.messages.global_unwritten(hazard, allocation.name, element_name, block, thread)
                return Finding(kind, lines, block, thread, allocation.name, index, message)
            other_block = self.messages.block_index(first.thread // self._threads)
            other_thread = self.messages.thread_index(first.thread % self._threads)
            message = self.messages.global_race(hazard, element_name, (other_block, other_thread), (block, thread))
            return Finding(kind, lines, block, thread, allocation.name, index, message, other_block, other_thread)

        self.keep((kind, allocation.name, *lines), count, make)
