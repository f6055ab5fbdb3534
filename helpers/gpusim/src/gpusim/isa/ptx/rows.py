"""Where the compiled engine holds the registers of PTX, of which a kernel has as many as its compiler likes.

Registers whose values are never needed at the same time share a row of the engine, or one of its predicates: the rows
of a warp then stay in the processor's cache. (M. Poletto and V. Sarkar, Linear Scan Register Allocation, 1999.)
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpusim.engine.ir import Program
from gpusim.isa.decoded import ALWAYS, NEVER_KEPT, UNIFORM_PREDICATES, NotDecoded

PREDICATES = 128  # as in machine.h
VOTES = 17
RESERVED = (ALWAYS, UNIFORM_PREDICATES + ALWAYS, NEVER_KEPT, VOTES)


@dataclass(slots=True)
class Places:
    """By slot: the rows of a register, two for 64 bits, or the number of a predicate; `rows` are needed in all."""

    rows_of: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    predicate_of: Mapping[int, int] = field(default_factory=dict)
    rows: int = 0


def allocate(program: Program, sizes: Sequence[int], always: Sequence[int] = ()) -> Places:
    """A place for each register.

    sizes: by slot its bytes, 0 for a predicate.  always: slots that are needed throughout.

    NotDecoded if more predicates are needed at the same time than the engine has.
    """
    places = Places()
    free = {1: _Free((1 << PREDICATES) - 1 & ~sum(1 << number for number in RESERVED)), 0: _Free(-1)}
    ending: list[tuple[int, int]] = []  # (the last instruction that needs it, slot)
    for first, last, slot in _intervals(program, len(sizes), always):
        while ending and ending[0][0] < first:
            _, over = heapq.heappop(ending)
            if sizes[over]:
                free[0].give_back(places.rows_of[over])
            else:
                free[1].give_back((places.predicate_of[over],))
        heapq.heappush(ending, (last, slot))
        if sizes[slot]:
            rows = free[0].take(-(-sizes[slot] // 4))
            places.rows_of[slot] = rows
            places.rows = max(places.rows, rows[-1] + 1)
        else:
            (places.predicate_of[slot],) = free[1].take(1)
    return places


def _intervals(program: Program, slots: int, always: Sequence[int]) -> list[tuple[int, int, int]]:
    """(the first instruction that needs a register, the last one, its slot), in order."""
    first, last = [len(program.instructions)] * slots, [-1] * slots

    def needed(slot: int, at: int) -> None:
        first[slot] = min(first[slot], at)
        last[slot] = max(last[slot], at)

    for slot in always:
        needed(slot, 0)
        needed(slot, len(program.instructions))
    for block in program.blocks:
        for slot in _slots(block.live):
            needed(slot, block.start)
        after = 0
        for successor in block.successors:
            after |= program.blocks[successor].live
        for slot in _slots(after):
            needed(slot, block.stop - 1)
        for instruction in program.instructions[block.start : block.stop]:
            guard = () if instruction.guard is None else (instruction.guard[0],)
            for slot in (*instruction.reads, *guard, *instruction.writes):
                if slot is not None:
                    needed(slot, instruction.index)
    return sorted((first[slot], last[slot], slot) for slot in range(slots) if last[slot] >= 0)


def _slots(live: int) -> list[int]:
    """The bits that are set."""
    data = np.frombuffer(live.to_bytes(live.bit_length() // 8 + 1, "little"), np.uint8)
    return np.flatnonzero(np.unpackbits(data, bitorder="little")).tolist()


class _Free:
    """What is not taken, as bits."""

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def take(self, count: int) -> tuple[int, ...]:
        """The first so many in a row; two begin at an even one."""
        bits = self._bits
        if count == 2:
            bits &= bits >> 1
            row = 0
            while not bits >> row & 1:  # the bits at even places only
                row += 2
        elif bits:
            row = (bits & -bits).bit_length() - 1
        else:
            raise NotDecoded(f"more than {PREDICATES - len(RESERVED)} predicates at the same time")
        taken = tuple(range(row, row + count))
        self._bits &= ~sum(1 << number for number in taken)
        return taken

    def give_back(self, taken: Sequence[int]) -> None:
        for number in taken:
            self._bits |= 1 << number
