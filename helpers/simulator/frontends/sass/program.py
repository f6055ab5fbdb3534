"""SASS statements → a Program: the machine code of a CUBIN, ready for the engine.

`sass` reads the text, `sass_tables` knows the opcodes, and their rules are in `sass_integer`, `sass_float`,
`sass_memory` and `sass_control`. Here they are put together: registers and constants become slots, and a launch fills
the constant banks as the driver does:

- bank 0 holds the block's and the grid's dimensions, the windows of generic addresses, the top of the stack and, from
  `CompiledKernel.parameter_base` on, the parameters;
- bank 2 holds literals, bank 3 the module's `__constant__` variables, bank 4 addresses of variables and functions.
"""

import struct
from collections.abc import Callable

import numpy as np

from helpers import compiler
from helpers.compiler import CompiledKernel, cubin, sass
from helpers.compiler.ptx import Variable
from helpers.simulator.arithmetic.float32 import SMALLEST_NORMAL
from helpers.simulator.engine.ir import Instruction, Kind, Program, basic_blocks, uncollected
from helpers.simulator.engine.memory import LOCAL_WINDOW, SHARED_WINDOW
from helpers.simulator.errors import Unknown, UnsupportedInstruction
from helpers.simulator.frontends.sass import integer as integers
from helpers.simulator.frontends.sass import memory
from helpers.simulator.frontends.sass.control import Code
from helpers.simulator.frontends.sass.opcodes import (
    ARITHMETIC,
    CONTROL,
    EFFECTS,
    FAMILIES,
    NO_EFFECT,
    UNIFORM,
    Family,
    family,
    refuse_unknown_modifiers,
)
from helpers.simulator.frontends.sass.operands import F4, Operands, float_immediate, is_nan

# Where things are in constant bank 0, the same for all families.
BLOCK_DIMENSIONS, GRID_DIMENSIONS, SHARED_WINDOW_AT, LOCAL_WINDOW_AT, STACK_TOP = 0x0, 0xC, 0x18, 0x20, 0x28
# Bytes of local memory a thread beyond what the compiler states, as the driver gives them (`cudaLimitStackSize`): for
# functions of the system, and for functions that call themselves, whose need is not known.
STACK_RESERVE = 1024
FLOAT_OPCODES = frozenset(
    ("FADD", "FMUL", "FFMA", "FMNMX", "FSETP", "FSET", "FCHK", "MUFU", "F2I", "F2F", "F2FP", "FRND")
)
FLUSHING = frozenset(("FADD", "FMUL", "FFMA"))


class Translator(Operands):
    """Operands, with what is known of the kernel: its architecture, its code, and how its registers are used."""

    def __init__(self, kernel: CompiledKernel, kind: Family, image: cubin.Cubin, function: sass.Function) -> None:
        super().__init__(image.code(kernel.lowered_name))
        self.kernel = kernel
        self.arch = kernel.arch
        self.shared_base = kind.shared_base
        self._next_use = _next_uses(function.statements)

    def is_read_as_float(self, s: sass.Statement, destination: sass.Operand, count: int) -> bool:
        """Whether the next instruction in the text that reads what `s` loads is one of float32 arithmetic."""
        if not isinstance(destination, sass.Register) or destination.number is None:
            return False
        uses = self._next_use[s.address // sass.INSTRUCTION_BYTES]
        return any(uses.get(destination.next(distance).name, False) for distance in range(count))


def _next_uses(statements: list[sass.Statement]) -> list[dict[str, bool]]:
    """For each load: register → whether the next reader of it in the text is float32 arithmetic.

    A load at the end of a loop is read at its beginning: then it counts how the register is used at all.
    """
    anywhere: dict[str, bool] = {}
    for statement in statements:
        if statement.base in FLOAT_OPCODES:
            for operand in statement.operands:
                if isinstance(operand, sass.Register):
                    anywhere[operand.name] = True
    nearest = dict(anywhere)
    result: list[dict[str, bool]] = []
    for statement in reversed(statements):
        is_load = statement.base in ("LDG", "LDS", "LDL", "LD")
        result.append(dict(nearest) if is_load else {})
        is_float = statement.base in FLOAT_OPCODES
        for position, operand in enumerate(statement.operands):
            if isinstance(operand, sass.Register):
                if position == 0 and not statement.base.startswith("ST"):
                    nearest[operand.name] = anywhere.get(operand.name, False)
                else:
                    nearest[operand.name] = is_float
    return result[::-1]


@uncollected
def translate(kernel: CompiledKernel) -> Program:
    """The executable program of a compiled kernel at SASS level.

    Raises:
        UnsupportedInstruction: an instruction or the architecture is not known here; the message names the instruction
            and its source line.
        NvdisasmMissing, DisassemblyError: the machine code cannot be printed.
    """
    kind = family(kernel.arch)
    if kind is None:
        known = ", ".join(name for each in FAMILIES for name in each.architectures)
        raise UnsupportedInstruction(
            f"{kernel.entry} was compiled for {kernel.arch}, whose machine code the simulator does not know; it knows "
            f'{known}. Compile for one of these, for example RawModule(…, arch="sm_90").'
        )
    try:
        function = sass.parse(compiler.disassemble(kernel), kernel.filename)
    except ValueError as error:
        what = f"{kernel.entry}: nvdisasm printed what the simulator cannot read: {error}"
        raise UnsupportedInstruction(what) from error
    image = cubin.read(kernel.cubin)
    translator = Translator(kernel, kind, image, function)
    code = _code(function, image.branch_targets(kernel.lowered_name))
    instructions = [_instruction(translator, statement, code, kind) for statement in function.statements]
    _reachable_only(instructions)
    program = Program(
        name=kernel.entry,
        level="sass",
        arch=kernel.arch,
        instructions=instructions,
        initial=translator.initial,
        parameters=kernel.parameters,
        shared_bytes=kernel.shared_bytes,
        dynamic_shared_offset=-(-kernel.shared_bytes // 16) * 16,
        local_bytes=kernel.local_bytes + STACK_RESERVE if kernel.local_bytes or _uses_stack(function) else 0,
        stack_reserve=STACK_RESERVE,
        registers_per_thread=kernel.registers,
        max_threads=kernel.max_threads_per_block,
        subnormal=_may_be_subnormal(function.statements),
        source_lines=tuple(kernel.source.splitlines()),
        shared_base=kind.shared_base,
    )
    program.blocks = basic_blocks(instructions)
    program.global_variables = _variables(translator, image, kernel)
    program.start = _starter(translator, image, kernel, program)
    return program


def _uses_stack(function: sass.Function) -> bool:
    return any(statement.base in ("LDL", "STL") for statement in function.statements)


def _code(function: sass.Function, branch_targets: dict[int, tuple[int, ...]]) -> Code:
    statements = function.statements
    calls = [i + 1 for i, s in enumerate(statements) if s.base == "CALL" and s.has("REL")]
    ends: dict[int, int] = {}
    collective = -1
    for i, s in enumerate(statements):
        if s.base == "WARPSYNC" and s.has("COLLECTIVE"):
            collective = function.labels[s.operands[-1].name]
        elif s.base == "ENDCOLLECTIVE":
            ends[i] = collective
    addresses = {s.address: i for i, s in enumerate(statements)}
    functions = [at for name, at in function.labels.items() if not name.startswith(".")]
    return Code(
        function.labels, addresses, tuple(dict.fromkeys(calls)), ends, tuple(dict.fromkeys(functions)), branch_targets
    )  # fmt: skip


def _instruction(t: Translator, s: sass.Statement, code: Code, kind: Family) -> Instruction:
    """One statement; what is not known becomes an instruction that raises if it is reached (see _reachable_only)."""
    instruction = Instruction(s.address // sass.INSTRUCTION_BYTES, s.text, ".".join(s.opcode), s.line, Kind.ALU)
    instruction.called_from = s.called_from
    t.begin(s)
    base = UNIFORM.get(s.base, s.base)
    try:
        instruction.guard = t.guard(s.guard)
        if s.base not in kind.opcodes:
            raise ValueError(f"{s.base} is no instruction of {kind.name}")
        refuse_unknown_modifiers(s)
        if base == "CALL" and s.has("ABS"):
            _effect(instruction, memory.call(t, s))
        elif base in CONTROL:
            CONTROL[base](t, s, instruction, code)
        elif base in NO_EFFECT:
            _effect(instruction, ((), memory.together if base == "NOP" else memory.nothing))
        elif base in EFFECTS:
            _effect(instruction, EFFECTS[base](t, s))
        elif base == "LDC" and s.operands[1].register is not None:
            _effect(instruction, memory.load_constant(t, s))
        elif base == "LDC":
            instruction.writes, instruction.evaluate = integers.load_constant(t, s)
        elif base == "CS2R":
            instruction.writes, instruction.evaluate = integers.zeros(t, s)
        else:
            instruction.writes, instruction.evaluate = ARITHMETIC[base](t, s)
            if instruction.opcode == "FFMA.FTZ":
                instruction.fma = tuple(t.read(operand, F4) for operand in s.operands[1:])
    except (Unknown, KeyError, ValueError, IndexError, AttributeError, StopIteration, TypeError) as error:
        _unknown(t, s, instruction, error)
    instruction.reads = tuple(t.read_now)
    first = s.operands[0] if s.operands else None
    instruction.uniform = isinstance(first, sass.Register) and first.file in ("UR", "UP") and bool(instruction.writes)
    return instruction


def _effect(instruction: Instruction, effect: tuple) -> None:
    instruction.kind = Kind.EFFECT
    instruction.writes, instruction.execute = effect


def _unknown(t: Translator, s: sass.Statement, instruction: Instruction, error: Exception) -> None:
    where = f" (line {s.line} of your source)" if s.line else ""
    message = (
        f"{t.kernel.entry}: the simulator does not know the {t.arch} machine instruction `{s.text}`{where}: {error}."
    )

    def execute(wave, registers, mask):
        raise UnsupportedInstruction(message)

    instruction.kind, instruction.writes, instruction.execute = Kind.EFFECT, (), execute
    instruction.evaluate = instruction.condition = instruction.select = None
    instruction.opcode = "?"
    instruction.text = message


def _reachable_only(instructions: list[Instruction]) -> None:
    """Raise for the first unknown instruction that can be reached; what cannot be is never executed."""
    todo, seen = [0], set()
    while todo:
        index = todo.pop()
        while index < len(instructions) and index not in seen:
            seen.add(index)
            instruction = instructions[index]
            if instruction.opcode == "?":
                raise UnsupportedInstruction(instruction.text)
            if instruction.kind is Kind.BRANCH:
                todo.extend(instruction.targets or (instruction.target,))
                if instruction.guard is None and instruction.condition is None:
                    break
            if instruction.kind is Kind.EXIT and instruction.guard is None and instruction.condition is None:
                break
            index += 1


def _may_be_subnormal(statements: list[sass.Statement]) -> bool:
    """Whether float32 arithmetic without .FTZ, or a subnormal constant, can bring subnormal numbers into registers."""
    for s in statements:
        if s.base in FLUSHING and not s.has("FTZ"):
            return True
        if s.base == "F2F" and s.opcode[1:3] == ("F32", "F64") and not s.has("FTZ"):
            return True
        if s.base in FLOAT_OPCODES and s.base != "FSETP":
            for operand in s.operands:
                is_number = isinstance(operand, sass.Immediate)
                if is_number and not is_nan(operand.text) and 0 < abs(float_immediate(operand.text)) < SMALLEST_NORMAL:
                    return True
    return False


# ---- constant banks


def _variables(t: Translator, image: cubin.Cubin, kernel: CompiledKernel) -> dict[str, tuple[Variable, int]]:
    """The module's variables that the code can reach, each with a slot for its address."""
    wanted = {symbol.name: symbol for symbol, _ in image.addresses(4, kernel.lowered_name).values() if symbol.section}
    wanted |= {symbol.name: symbol for symbol in image.variables(".nv.constant3")}
    variables = {}
    for name, symbol in sorted(wanted.items()):
        space = "const" if symbol.section.startswith(".nv.constant") else "global"
        data = image.data(symbol.section)[symbol.offset : symbol.offset + symbol.size] or None
        variables[name] = (Variable(name, space, 1, symbol.size, data), t.slot(f"&{name}", np.int64(0)))
    return variables


def _starter(t: Translator, image: cubin.Cubin, kernel: CompiledKernel, program: Program) -> Callable:
    """The function that fills the constant banks of a wave and the slots that hold their words."""
    literals = {2: image.bank(2, kernel.lowered_name)}
    addresses = image.addresses(4, kernel.lowered_name)
    bank4 = image.bank(4, kernel.lowered_name)
    constants3 = image.variables(".nv.constant3")
    bank3 = image.bank(3, kernel.lowered_name)
    variables = program.global_variables
    slots = tuple(t.constants.items())

    def start(wave) -> None:
        registers = wave.registers
        banks = {0: _bank_zero(wave, kernel), **literals}
        if addresses:
            data = bytearray(bank4)
            for offset, (symbol, addend) in addresses.items():
                known = memory.FUNCTION_ADDRESSES.get(symbol.name, 0)
                place = int(registers[variables[symbol.name][1]]) if symbol.name in variables else known
                struct.pack_into("<q", data, offset, place + addend)
            banks[4] = bytes(data)
        if bank3:
            data = bytearray(bank3)
            for symbol in constants3:
                allocation = wave.global_memory.find(int(registers[variables[symbol.name][1]]))
                data[symbol.offset : symbol.offset + symbol.size] = allocation.bytes_.tobytes()[: symbol.size]
            banks[3] = bytes(data)
        wave.constant_banks = banks
        for (bank, offset, dtype), slot in slots:
            data = banks.get(bank, b"")[offset : offset + dtype.itemsize].ljust(dtype.itemsize, b"\0")
            value = np.frombuffer(data, dtype)[0]
            registers[slot] = value
            if dtype is F4:
                registers.note(value)

    return start


def _bank_zero(wave, kernel: CompiledKernel) -> bytes:
    """What the driver puts before the parameters, and the parameters."""
    end = kernel.parameter_base + len(wave.parameters)
    data = bytearray(max(end, STACK_TOP + 4))  # there may be no parameters
    struct.pack_into("<3I", data, BLOCK_DIMENSIONS, *wave.launch.block)
    struct.pack_into("<3I", data, GRID_DIMENSIONS, *wave.launch.grid)
    struct.pack_into("<q", data, SHARED_WINDOW_AT, SHARED_WINDOW)
    struct.pack_into("<q", data, LOCAL_WINDOW_AT, LOCAL_WINDOW)
    struct.pack_into("<I", data, STACK_TOP, wave.program.local_bytes)
    data[kernel.parameter_base : end] = wave.parameters
    return bytes(data)
