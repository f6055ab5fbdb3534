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
    found: list[Cycle] = []
    to_return: list[tuple[tuple[tuple[int, int], ...], int]] = []  # registers that return together, and cycles waited
    fma = 0
    while fma < len(banks) or to_return:
        if fma in loads and not any(one.fma == fma or one.waits == fma for one in found):
            order = [(number % 2, number) for number in range(REGISTERS)]
            pairs = [tuple(order[:2]), tuple(order[2:])] if loads[fma] else [(one,) for one in order]
            to_return += [(registers, 0) for registers in pairs]
        bank = banks[fma] if fma < len(banks) else None
        returned: tuple[tuple[int, int], ...] = ()
        waits = None
        if to_return:
            registers, waited = to_return[0]
            meets = bank is not None and bank in [to for to, _ in registers]
            other = next((one for one in to_return[1:2] if len(one[0]) == 1 and one[0][0][0] != bank), None)
            if meets and not waited and other is not None:
                to_return[0], to_return[1] = (registers, 1), to_return[0]
                returned = other[0]
                del to_return[1]
            elif meets and not waited and len(registers) == 1:
                to_return[0] = (registers, 1)
            else:
                returned = registers
                del to_return[0]
                waits = fma if meets else None
        if fma >= len(banks):
            found.append(Cycle(None, None, returned))
        elif waits is not None:
            found.append(Cycle(None, None, returned, fma))
        else:
            found.append(Cycle(fma, bank, returned))
            fma += 1
    return tuple(found)


def collisions(banks: Sequence[int | None], loads: Mapping[int, bool]) -> int:
    """Cycles in which an FMA could not write its sum."""
    return sum(one.waits is not None for one in cycles(banks, loads))
