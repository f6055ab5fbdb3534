"""PTX statements → a Program ready for the engine.

`compiler.ptx` reads the text, `opcodes` has a row for each instruction, which `decoding` has a function for, and
`operands` says what an operand is. Here they are put together.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial

import numpy as np

from gpusim.compiler import CompiledKernel, ptx
from gpusim.compiler.ptx import Address, Register, Statement, Symbol
from gpusim.engine.ir import Instruction, Kind, Program, basic_blocks, mark_cas_loads, uncollected
from gpusim.engine.schedule import BELOW
from gpusim.errors import Unknown, UnsupportedInstruction
from gpusim.isa import reserved_memory
from gpusim.isa.decoded import NotDecoded
from gpusim.isa.instead import instead_of
from gpusim.isa.ptx.decoding.decoder import Decoder, address_places, banks_of
from gpusim.isa.ptx.flow import registers_of, written
from gpusim.isa.ptx.linking import ORIGIN, STACK, Linked, called, link
from gpusim.isa.ptx.opcodes import OPCODES, decode
from gpusim.isa.ptx.operands import Operands
from gpusim.isa.rules import complete

ENDS_OF_BLOCKS = ("bra", "brx", "ret", "exit", "bar", "barrier")


@uncollected
def translate(kernel: CompiledKernel) -> Program:
    """The executable program of a compiled kernel at PTX level.

    Raises:
        UnsupportedInstruction: an instruction is not modelled; the message names it and its source line.
    """
    may_be_reserved = reserved_memory.may_come_there(kernel)
    module = ptx.parse(kernel.ptx)
    function = module.functions[kernel.lowered_name]
    text = link(module, function)
    operands = Operands(kernel, module, text)
    instructions = [
        _instruction(operands, statement, index) for index, statement in enumerate(text.function.statements)
    ]
    program = Program(
        name=kernel.entry,
        level="ptx",
        arch=kernel.arch,
        instructions=instructions,
        initial=operands.initial,
        parameters=kernel.parameters,
        shared_bytes=operands.shared_bytes,
        # Dynamic shared memory has no bytes of its own: what is placed behind all static variables is that.
        dynamic_shared_offset=max((operands.shared_bytes, *operands.shared_offsets.values())),
        local_bytes=operands.local_bytes,
        registers_per_thread=kernel.registers,
        max_threads=function.max_threads,
        source_lines=tuple(kernel.source.splitlines()),
        global_variables={
            name: (variable, operands.slots.get(f"&{name}")) for name, variable in operands.global_variables.items()
        },
        blocks=basic_blocks(instructions, in_meeting_order=True, returning=_returning(text)),
        cluster=kernel.cluster,
        debug=kernel.debug,
        may_be_reserved=may_be_reserved,
        registers={name: slot for name, slot in operands.slots.items() if name in function.registers},
    )
    mark_cas_loads(program)
    if text.calls:
        program.order = _order(program, operands)
    program.start = _starter(operands)
    program.banks = partial(banks_of, address_places(program))
    program.decode = lambda prepared: _machine(prepared, text, operands)
    return program


@uncollected
def _machine(prepared, text: Linked, operands: Operands):
    """The kernel as the compiled engine executes it; None if there is an instruction that it does not know."""
    from gpusim.engine import compiled

    program: Program = prepared.program
    try:
        decoder = Decoder.of(operands, program)
    except NotDecoded as reason:
        prepared.not_decoded = str(reason)
        return None
    decoded = []
    for statement, instruction in zip(text.function.statements, program.instructions, strict=True):
        try:
            decoded.append(decode(decoder, statement, instruction))
        except NotDecoded as reason:
            prepared.not_decoded = f"`{statement.text}`: {reason}"
            return None
    machine = compiled.assemble(
        program, decoded, decoder.words.all, decoder.places.rows_of, decoder.nowhere, decoder.lists
    )
    if text.calls:
        machine.stack, machine.origin = (decoder.rows(Register(name))[0] for name in (STACK, ORIGIN))
    compiled.describe_atomics(machine, program)
    compiled.guard_barriers(machine, program, prepared)
    compiled.let_meet_anywhere(machine, program, prepared)
    return machine


def _starter(operands: Operands) -> Callable | None:
    """The function that fills the slots of addresses that a launch has beside those of variables, if one is used."""
    if "addresses_of_launch" not in operands.__dict__:
        return None
    parameters, barrier = operands.addresses_of_launch

    def start(wave) -> None:
        wave.registers[parameters] = np.int64(wave.launch.parameters_at or 0)
        wave.registers[barrier] = np.int64(wave.launch.grid_barrier or 0)

    return start


def _returning(text: Linked) -> dict[int, tuple[int, ...]]:
    """What comes after calls and returns in the same function, by their index."""
    returns = (
        index
        for index, s in enumerate(text.function.statements)
        if s.name == "ret" and text.calls and text.owner(index)
    )
    return {index: (index + 1,) for index in text.calls} | dict.fromkeys(returns, ())


def _order(program: Program, operands: Operands) -> Callable:
    """The order of diverged threads of a kernel that calls functions, as if these were inlined.

    First are those at the lowest place of the kernel, where threads in a function are at the call. Of these first are
    those that have yet to call, then the deepest, so that all return before one goes on.
    """
    stack, origin = operands.slots[STACK], operands.slots[ORIGIN]
    block_of = np.zeros(len(program.instructions), np.int64)
    for block in program.blocks:
        block_of[block.start : block.stop] = block.index

    def order(wave):
        depth = wave.registers[stack]
        called = np.broadcast_to(depth > 0, wave.shape)
        block = np.where(called, block_of[wave.registers[origin]], wave.pcs)
        above = np.where(called, (1 << BELOW - 21) - 1 - depth, 0)
        return block << BELOW | above << 21 | np.minimum(wave.pcs, (1 << 21) - 1)

    return order


def addresses_alone(
    kernel: CompiledKernel, accesses: Iterable[int], variables: Mapping[str, int] | None = None
) -> Program:
    """Of the program only what the addresses of some statements are made from, and where branches go.

    Its instructions have the numbers that they have in the whole program; what is left out, or cannot be executed, is
    nothing there. variables: by name the addresses of the module's variables.
    """
    module = ptx.parse(kernel.ptx)
    function = module.functions[kernel.lowered_name]
    operands, accesses = Operands(kernel, module, Linked(function)), frozenset(accesses)
    needed = _needed_for_addresses(function, accesses) | accesses
    instructions = []
    for index, statement in enumerate(function.statements):
        instruction = Instruction(index, statement.text, ".".join(statement.opcode), statement.line, Kind.NOTHING)
        if index in needed or statement.name in ENDS_OF_BLOCKS:
            with suppress(UnsupportedInstruction):
                instruction = _instruction(operands, statement, index)
        if not instruction.writes:
            instruction.writes = tuple(
                operands.slots[name] for name in written(statement) if index in needed and name in operands.slots
            )
        instructions.append(instruction)
    for name, address in (variables or {}).items():
        if f"&{name}" in operands.slots:
            operands.initial[operands.slots[f"&{name}"]] = np.int64(address)
    return Program(
        kernel.entry, "ptx", kernel.arch, instructions, operands.initial, kernel.parameters, operands.shared_bytes,
        max_threads=function.max_threads, blocks=basic_blocks(instructions),
    )  # fmt: skip


def _needed_for_addresses(function: ptx.Function, accesses: frozenset[int]) -> set[int]:
    """The statements from which values may flow into the addresses of some others."""
    writers: dict[str, list[int]] = {}
    for index, statement in enumerate(function.statements):
        for name in written(statement):
            writers.setdefault(name, []).append(index)
    needed: set[int] = set()
    names = {
        name
        for index in accesses
        for operand in function.statements[index].operands
        if isinstance(operand, Address)
        for name in registers_of(operand)
    }
    done: set[str] = set()
    while names - done:
        name = (names - done).pop()
        done.add(name)
        for index in writers.get(name, ()):
            needed.add(index)
            statement = function.statements[index]
            operands = (*statement.operands[1:], *(() if statement.guard is None else (statement.guard,)))
            names |= {read for operand in operands for read in registers_of(operand)}
    return needed


def _instruction(t: Operands, s: Statement, index: int) -> Instruction:
    instruction = Instruction(index, s.text, ".".join(s.opcode), s.line, Kind.ALU, called_from=s.called_from)
    t.at, t.read_now = index, set()
    try:
        if s.name not in OPCODES:
            raise Unknown(f"the opcode {s.name}")
        complete(instruction, OPCODES[s.name].outcome(t, s))
        instruction.guard = t.guard(s.guard)
    except Unknown as reason:
        raise _refusal(s, reason) from None
    instruction.reads = tuple(t.read_now)
    return instruction


def _refusal(s: Statement, reason: Unknown) -> UnsupportedInstruction:
    """The error for an instruction that is not modelled, as a sentence to a learner."""
    if s.name == "call":
        where = f"line {s.line} of your source calls" if s.line else "the kernel calls"
        return UnsupportedInstruction(f"At PTX level {where} {_called_function(s)}, {reason}.")
    where = f" (line {s.line} of your source)" if s.line else ""
    return UnsupportedInstruction(
        f"The PTX instruction `{s.text}`{where} is not modelled by the simulator: {reason}. "
        + (instead_of(".".join((*s.opcode, s.type))) or "Write it with ordinary arithmetic and loads.")
    )


def _called_function(s: Statement) -> str:
    """The name that a called function has in the source; "a function" for one called through a pointer."""
    function = called(s)
    mangled = function.name if isinstance(function, Symbol) else ""
    if match := re.match(r"_Z(\d+)", mangled):
        return mangled[match.end() : match.end() + int(match[1])]
    return mangled or "a function"
