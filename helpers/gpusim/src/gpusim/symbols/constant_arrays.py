"""Which `__constant__` array a load of machine code reads: it has all of a module in one bank, one behind the other.

PTX names the variable. In machine code a load belongs to the variable of the source line that it comes from, if all
loads of that line whose address is computed read one; of a line with several `match_by_address` compares the addresses.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gpusim.compiler import CompiledKernel, cubin, ptx
from gpusim.compiler.ptx import Address, Register
from gpusim.engine.ir import Program
from gpusim.symbols.local_accesses import own_instructions
from gpusim.symbols.pointers import ANYTHING, origins_of

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

    def check(self, wave, places, mask, width: int, verb: str) -> None:
        """OutOfBounds if active threads reach bytes of the bank outside the variable of the current instruction, where
        that is known. A wide load may begin before it, or end behind it."""
        limits = self.limits(wave.instruction.index)
        if limits is None:
            return
        wrong = np.broadcast_to((places.astype(np.int64) + width <= limits[0]) | (places >= limits[1]), wave.shape)
        wrong = wrong if mask is None else wrong & mask
        if wrong.any():
            block, thread = (int(i) for i in np.argwhere(wrong)[0])
            _, slot = wave.program.global_variables[self.used[wave.instruction.index].name]
            offset = int(np.broadcast_to(places, wave.shape)[block, thread])
            address = dict(wave.launch.variables)[slot] + offset - limits[0]
            wave.global_memory.refuse(wave, address, width, verb, block, thread)


NO_CONSTANTS = ConstantArrays()


def in_machine_code(kernel: CompiledKernel, program: Program) -> ConstantArrays:
    """The variables that the loads of a kernel's own code read, as far as that is certain."""
    if ".const" not in kernel.ptx:
        return NO_CONSTANTS
    image = cubin.read(kernel.cubin)
    loads = [each for each in own_instructions(image, kernel.lowered_name, program) if WITH_AN_INDEX.search(each.text)]
    reads = _reads(kernel) if loads else {}
    lines = {each.line for each in loads}
    names = {name for ours in reads.values() for name in ours.values()} - {None}
    if any(lines.isdisjoint(line for line, ours in reads.items() if name in ours.values()) for name in names):
        return NO_CONSTANTS  # one is read at lines of others
    variables = {variable.name: variable for variable in image.variables(SECTION)}
    arrays, undecided = {}, {}
    for each in loads:
        ours = reads.get(each.line, {})
        if len({*ours.values()}) == 1:
            arrays[each.index] = variables.get(next(iter(ours.values())) or "")
        elif ours:
            undecided[each.index] = ours
    if undecided:
        arrays |= _by_address(kernel, program, undecided, variables)
    return ConstantArrays({index: variable for index, variable in arrays.items() if variable is not None})


def _by_address(
    kernel: CompiledKernel, program: Program, undecided: Mapping[int, Mapping[int, str | None]],
    variables: Mapping[str, cubin.Symbol],
) -> dict[int, cubin.Symbol]:  # fmt: skip
    """By the index of a load of machine code the variable that it reads, where one statement has its address."""
    from gpusim.isa.ptx.program import addresses_alone  # few kernels need it, and it loads PTX's rules
    from gpusim.symbols.match_by_address import Reaches, reached_by

    statements = {statement for ours in undecided.values() for statement in ours}
    text = addresses_alone(kernel, statements, {name: each.offset for name, each in variables.items()})
    of_lines = {
        id(ours): {statement: variables.get(name or "") for statement, name in ours.items()}
        for ours in undecided.values()
    }
    return reached_by(
        Reaches(program, undecided, "const").places, Reaches(text, statements, "const").places,
        {index: of_lines[id(ours)] for index, ours in undecided.items()},
    )  # fmt: skip


def _reads(kernel: CompiledKernel) -> dict[int, dict[int, str | None]]:
    """By line the loads of constants whose address is computed, by the index of the statement, each with its variable;
    None if it may be several."""
    module = ptx.parse(kernel.ptx)
    function = module.functions[kernel.lowered_name]
    origins = origins_of(function, {}, {variable.name for variable in module.variables})
    reads: dict[int, dict[int, str | None]] = {}
    anywhere: dict[int, str | None] = {}  # those at whose line the machine code need not have them
    for index, statement in enumerate(function.statements):
        address = next((each for each in statement.operands if isinstance(each, Address)), None)
        if statement.name in ("ld", "ldu") and "const" in statement.opcode and isinstance(address.base, Register):
            reached = origins.get(address.base.name, {ANYTHING})
            name = next(iter(reached)) if len(reached) == 1 else None
            reads.setdefault(statement.line, {})[index] = name
            if index in function.unplaced:
                anywhere[index] = name
    return {line: ours | anywhere for line, ours in reads.items()}
