"""Which `__constant__` array a load of machine code reads: it has all of a module in one bank, one behind the other.

PTX names the variable. In machine code a load belongs to the variable of the source line that it comes from, if all
loads of that line whose address is computed read one. A line with several says nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from helpers.compiler import CompiledKernel, cubin, ptx
from helpers.compiler.ptx import Address, Register
from helpers.simulator.engine.ir import Program
from helpers.simulator.sanitizer.local_accesses import own_instructions
from helpers.simulator.sanitizer.pointers import ANYTHING, origins_of

SECTION = ".nv.constant3"
WITH_AN_INDEX = re.compile(r"\b(?:U?LDC|LDCU)\b.*\bc\[0x3\]\[U?R\d")


@dataclass(frozen=True)
class ConstantArrays:
    """By the index of an instruction the variable that it reads: its name in the code, and where its bank has it."""

    used: Mapping[int, cubin.Symbol] = field(default_factory=dict)

    def limits(self, instruction: int) -> tuple[int, int] | None:
        """The bytes [start, stop) of the bank that an instruction may read; None if that is not known."""
        variable = self.used.get(instruction)
        return None if variable is None else (variable.offset, variable.offset + variable.size)


NO_CONSTANTS = ConstantArrays()


def in_machine_code(kernel: CompiledKernel, program: Program) -> ConstantArrays:
    """The variables that the loads of a kernel's own code read, as far as that is certain."""
    if ".const" not in kernel.ptx:
        return NO_CONSTANTS
    image = cubin.read(kernel.cubin)
    loads = [each for each in own_instructions(image, kernel.lowered_name, program) if WITH_AN_INDEX.search(each.text)]
    by_line = _by_line(kernel) if loads else {}
    lines = {each.line for each in loads}
    names = set(by_line.values())
    if any(lines.isdisjoint(line for line, one in by_line.items() if one == name) for name in names):
        return NO_CONSTANTS  # one is read at lines of others
    variables = {variable.name: variable for variable in image.variables(SECTION)}
    found = {each.index: variables.get(by_line.get(each.line) or "") for each in loads}
    return ConstantArrays({index: variable for index, variable in found.items() if variable is not None})


def _by_line(kernel: CompiledKernel) -> dict[int, str | None]:
    """By line the variable that the loads read whose address is computed, None if there are several."""
    module = ptx.parse(kernel.ptx)
    function = module.functions[kernel.lowered_name]
    origins = origins_of(function, {}, {variable.name for variable in module.variables})
    found: dict[int, set[str]] = {}
    anywhere: set[str] = set()
    for index, statement in enumerate(function.statements):
        place = next((each for each in statement.operands if isinstance(each, Address)), None)
        if statement.name in ("ld", "ldu") and "const" in statement.opcode and isinstance(place.base, Register):
            reached = origins.get(place.base.name, {ANYTHING})
            if index in function.unplaced:
                anywhere |= reached
            found.setdefault(statement.line, set()).update(reached)
    together = {line: reached | anywhere for line, reached in found.items()}
    return {line: next(iter(reached)) if len(reached) == 1 else None for line, reached in together.items()}
