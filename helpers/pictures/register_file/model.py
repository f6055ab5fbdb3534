"""How many cycles FMAs lose because they find their operands in the same bank of registers, read from machine code.

A scheduler of Volta and all GPUs since keeps the registers of a thread in two banks: the even ones and the odd ones
(Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018). On a GPU that starts an FMA
every cycle, as Hopper does, a bank delivers one operand in that time. An operand that the instruction before has marked
`.reuse` in the same position is still at hand and asks no bank. So of an FMA's three operands two can be read, one from
each bank, and one must be at hand.

An FMA that asks one bank twice has not lost a cycle yet: it may fall behind by one, and a later one that asks that bank
less makes it good. Only a bank that is two behind stops the scheduler. `lost_cycles` counts those stops; measured on an
H200 they are what FMAs in such patterns take longer (tests/pictures/test_register_file_model.py has the table).
`banks` counts the FMAs that ask a bank twice, which is not what costs: if all do, but of banks in turn, hardly
anything is lost.

The banks are written to, too. A load of 128 bits that neighbouring lanes have in common returns two registers in a
cycle, one into each bank, and no FMA can write its sum then: 1.5 to 1.9 cycles for each such load, by which this model
falls short of kernels whose lanes share addresses in pairs (gemm_kernels/cuda/unmerged.cu says which do not).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpusim.compiler import sass
from gpusim.compiler.patch import REUSE_A, REUSE_B, Fma

SLACK = 1  # cycles that a bank may be behind
_FMA = re.compile(r"FFMA(?:\.\w+)* R\w+, (\w+)(\.reuse)?, (\w+)(\.reuse)?, (\w+)(\.reuse)?$")
_REGISTER = re.compile(r"R(\d+)$")

Asked = tuple[int, int]  # operands that an instruction asks the even and the odd bank for


@dataclass(frozen=True)
class Banks:
    """How many FMAs there are in the machine code, and how many of them ask one bank for two or three operands.

    lost: cycles in which the scheduler waits for a bank, if nothing else does.
    """

    fmas: int
    conflicts: int
    lost: int = 0

    @property
    def share(self) -> float:
        """Conflicts of all FMAs, 0 … 1; 0 if there is none."""
        return self.conflicts / self.fmas if self.fmas else 0.0


def banks(text: str) -> Banks:
    """Count them in what `gpusim.compiler.disassemble` gives. Other instructions are taken to leave nothing behind."""
    operands = list(_asked(row.text for row in sass.rows(text, filename="")[0]))
    fmas = [asked for asked in operands if asked is not None]
    conflicts = sum(max(asked) > 1 for asked in fmas)
    return Banks(len(fmas), conflicts, lost_cycles(asked or (0, 0) for asked in operands))


@dataclass(frozen=True)
class Step:
    """One instruction in the queue.

    asked: operands that it asks the even and the odd bank for.  behind: how many of all that was asked the banks still
    owe when it has started.  lost: cycles for which it stopped the scheduler.
    """

    asked: Asked
    behind: Asked
    lost: int


def queue(asked: Iterable[Asked], slack: int = SLACK) -> tuple[Step, ...]:
    """Instructions started one after the other, a cycle each, and what the two banks are behind after each of them.

    A bank serves one of its requests in a cycle; the scheduler stops, for as long as it takes, when one is more than
    `slack` behind.
    """
    steps = []
    behind = (0, 0)
    for requests in asked:
        even, odd = (max(waiting + new - 1, 0) for waiting, new in zip(behind, requests, strict=True))
        lost = max(even - slack, odd - slack, 0)
        behind = (max(even - lost, 0), max(odd - lost, 0))
        steps.append(Step(requests, behind, lost))
    return tuple(steps)


def lost_cycles(asked: Iterable[Asked], slack: int = SLACK) -> int:
    """Cycles that instructions lose to the banks. asked: what each of them asks of the even and the odd bank."""
    return sum(step.lost for step in queue(asked, slack))


def asked_of(instructions: Iterable[str]) -> tuple[Asked, ...]:
    """What each instruction, as nvdisasm prints it, asks of the two banks; one that is no FMA asks for nothing."""
    return tuple(banks_read or (0, 0) for banks_read in _asked(instructions))


def in_order(registers: Iterable[tuple[int, int, int]]) -> tuple[Fma, ...]:
    """FMAs one after the other, each given by the registers of a, b and its sum. What the next one has in the same
    position stays at hand, as the compiler would mark it."""
    order = list(registers)
    following = [*order, (-1, -1, -1)][1:]
    return tuple(
        Fma(a, b, to, REUSE_A * (a == next_a) | REUSE_B * (b == next_b))
        for (a, b, to), (next_a, next_b, _) in zip(order, following, strict=True)
    )


def _asked(instructions: Iterable[str]) -> Iterator[Asked | None]:
    """What each instruction asks of the banks; None for one that is no FMA."""
    at_hand: dict[int, str] = {}
    for text in instructions:
        fma = _FMA.match(text)
        if fma is None:
            at_hand = {}
            yield None
            continue
        operands = [(fma[1], fma[2]), (fma[3], fma[4]), (fma[5], fma[6])]
        asked = [
            int(register[1]) % 2
            for position, (name, _) in enumerate(operands)
            if (register := _REGISTER.match(name)) and at_hand.get(position) != name
        ]
        at_hand = {position: name for position, (name, reuse) in enumerate(operands) if reuse}
        yield asked.count(0), asked.count(1)
