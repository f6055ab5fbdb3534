"""Which FMAs find two of their operands in the same bank of registers, read from a kernel's machine code.

A scheduler of Volta and all GPUs since keeps the registers of a thread in two banks: the even ones and the odd ones
(Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018). On a GPU that starts an FMA
every cycle, as Hopper does, a bank delivers one operand in that time. An operand that the instruction before has marked
`.reuse` in the same position is still at hand and asks no bank. So of an FMA's three operands two can be read, one from
each bank, and one must be at hand.

The count is a hint and not a time. If every conflict cost a cycle, nine conflicts in ten FMAs would cost far more than
the eleven per cent that gemm_kernels/cuda/stream_k.md has for them: an FMA can fall behind, and a later one that asks
the other bank makes it good. What costs is one bank that is asked more often than the other over many FMAs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from helpers.compiler import sass

_FMA = re.compile(r"FFMA(?:\.\w+)* R\d+, (\w+)(\.reuse)?, (\w+)(\.reuse)?, (\w+)(\.reuse)?$")
_REGISTER = re.compile(r"R(\d+)$")


@dataclass(frozen=True)
class Banks:
    """How many FMAs there are in the machine code, and how many of them ask one bank for two or three operands."""

    fmas: int
    conflicts: int

    @property
    def share(self) -> float:
        """Conflicts of all FMAs, 0 … 1; 0 if there is none."""
        return self.conflicts / self.fmas if self.fmas else 0.0


def banks(text: str) -> Banks:
    """Count them in what `helpers.compiler.disassemble` gives. Other instructions are taken to leave nothing behind."""
    at_hand: dict[int, str] = {}
    fmas = conflicts = 0
    for row in sass.rows(text, filename="")[0]:
        fma = _FMA.match(row.text)
        if fma is None:
            at_hand = {}
            continue
        operands = [(fma[1], fma[2]), (fma[3], fma[4]), (fma[5], fma[6])]
        asked = [
            int(register[1]) % 2
            for position, (name, _) in enumerate(operands)
            if (register := _REGISTER.match(name)) and at_hand.get(position) != name
        ]
        at_hand = {position: name for position, (name, reuse) in enumerate(operands) if reuse}
        fmas += 1
        conflicts += max(asked.count(0), asked.count(1)) > 1
    return Banks(fmas, conflicts)
