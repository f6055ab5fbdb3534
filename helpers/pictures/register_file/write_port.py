"""Where what a load returns meets what an FMA writes: the write ports of the two banks of registers, cycle by cycle.

A bank of registers takes one write per cycle. FMAs that start one per cycle write one sum per cycle, into the bank of
its register. A 128-bit load from shared memory returns four registers: one per cycle, the two banks in turn, or, if its
lanes share addresses in pairs and it is merged, two per cycle, one into each bank. A register that is returned can wait
for one cycle; if its bank is busy then, too, the FMA has to wait.

It counts collisions and no more. On an H200 each of the two of a merged load costs 0.8 cycles, and each of the two of
one that is not merged, where all sums are in one bank, 1.5 (recordings/<gpu>/registers.json, kind "loads").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

EVEN, ODD = 0, 1
REGISTERS = 4  # of a 128-bit load


@dataclass(frozen=True)
class Cycle:
    """What is written in one cycle.

    fma: the number of the FMA whose sum is written, None if none is.  bank: of that sum.  returned: (bank, number of
    the register, 0 to 3) of what a load returns.  waits: the number of the FMA that cannot write.
    """

    fma: int | None
    bank: int | None
    returned: tuple[tuple[int, int], ...] = ()
    waits: int | None = None


def cycles(banks: Sequence[int | None], loads: Mapping[int, bool]) -> tuple[Cycle, ...]:
    """Writes of FMAs that start one per cycle.

    banks: of the sum of each FMA, None for one that writes no register.  loads: (number of the FMA in whose cycle a
    load begins to return, whether the load is merged).
    """
    timeline: list[Cycle] = []
    to_return: list[tuple[tuple[int, int], ...]] = []  # (bank, number) of the registers that return together
    begun: set[int] = set()
    late = False  # whether the first of them has waited for a cycle
    fma = 0
    while fma < len(banks) or to_return:
        if fma in loads and fma not in begun:
            begun.add(fma)
            order = [(number % 2, number) for number in range(REGISTERS)]
            to_return += [tuple(order[:2]), tuple(order[2:])] if loads[fma] else [(operand,) for operand in order]
        bank = banks[fma] if fma < len(banks) else None
        free = next((result for result in to_return[:2] if bank not in [to for to, _ in result]), None)
        returned: tuple[tuple[int, int], ...] = ()
        waits = None
        if free is not None:
            late = free is not to_return[0]
            to_return.remove(free)
            returned = free
        elif to_return and (late or len(to_return[0]) > 1):
            returned, waits, late = to_return.pop(0), fma, False
        elif to_return:
            late = True
        writes = waits is None and fma < len(banks)
        timeline.append(Cycle(fma if writes else None, bank if writes else None, returned, waits))
        fma += writes
    return tuple(timeline)


def collisions(banks: Sequence[int | None], loads: Mapping[int, bool]) -> int:
    """Cycles in which an FMA could not write its sum."""
    return sum(cycle.waits is not None for cycle in cycles(banks, loads))
