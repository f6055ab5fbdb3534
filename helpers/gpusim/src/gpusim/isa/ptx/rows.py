"""Where the compiled engine holds the registers of PTX, of which a kernel has as many as its compiler likes.

Registers whose values are never needed at the same time share a row of the engine, or one of its predicates: the rows
of a warp then stay in the processor's cache. (M. Poletto and V. Sarkar, Linear Scan Register Allocation, 1999.)
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
    for first, last, slot in _intervals(program, always):
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


def _intervals(program: Program, always: Sequence[int]) -> list[tuple[int, int, int]]:
    """(the first instruction that needs a register, the last one, its slot), in order."""
    first, last = dict.fromkeys(always, 0), {}
    for index, instruction in enumerate(program.instructions):
        for slot in instruction.reads:
            first.setdefault(slot, index)
            last[slot] = index
        if instruction.guard is not None:
            first.setdefault(instruction.guard[0], index)
            last[instruction.guard[0]] = index
        for slot in instruction.writes:
            first.setdefault(slot, index)
            last[slot] = index
    live = []
    for block in program.blocks:
        after = 0
        for successor in block.successors:
            after |= program.blocks[successor].live
        live += [(block.start, block.live), (block.stop - 1, after)]
    live.sort()
    for at, slot in _newly_live(live):
        first[slot] = min(first.get(slot, at), at)
    for at, slot in _newly_live(reversed(live)):
        last[slot] = max(last.get(slot, at), at)
    last |= dict.fromkeys(always, len(program.instructions))
    return sorted((at, last[slot], slot) for slot, at in first.items() if slot is not None)


def _newly_live(live: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """(instruction, slot) of the registers that are live at an instruction and at none before it."""
    known = 0
    for at, slots in live:
        for slot in _slots(slots & ~known):
            yield at, slot
        known |= slots


def _slots(live: int) -> Iterator[int]:
    """The bits that are set."""
    while live:
        slot = (live & -live).bit_length() - 1
        yield slot
        live ^= 1 << slot


class _Free:
    """What is not taken, as bits."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._even = 1  # every other bit, from the lowest to one behind all that was taken

    def take(self, count: int) -> tuple[int, ...]:
        """The first so many in a row; two begin at an even one."""
        bits = self._bits
        if count == 2:
            while self._even.bit_length() <= bits.bit_length():
                self._even |= self._even << self._even.bit_length() + 1
            bits &= bits >> 1 & self._even
        if not bits:
            raise NotDecoded(f"more than {PREDICATES - len(RESERVED)} predicates at the same time")
        row = (bits & -bits).bit_length() - 1
        self._bits ^= (1 << count) - 1 << row
        return tuple(range(row, row + count))

    def give_back(self, taken: Sequence[int]) -> None:
        """Let them be taken again; they lie in a row."""
        self._bits |= (1 << len(taken)) - 1 << taken[0]
