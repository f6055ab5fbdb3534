"""SASS statements → a Program: the machine code of a CUBIN, ready for the engine.

`compiler.listing` reads the instructions, `opcodes` has a row for each opcode with its decoding; `operands` makes slots
of registers and constants. Here they are put together; what constants are in a launch says `constant_banks`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from gpusim.compiler import CompiledKernel, cubin, listing, ptx, sass
from gpusim.compiler.ptx import Variable
from gpusim.engine.clusters import RANK_SHIFT
from gpusim.engine.ir import BasicBlock, Instruction, Kind, Program, basic_blocks, mark_cas_loads, uncollected
from gpusim.engine.memory import product
from gpusim.errors import Unknown, UnsupportedInstruction
from gpusim.isa import reserved_memory, rules
from gpusim.isa.decoded import Decoded
from gpusim.isa.instead import instead_of
from gpusim.isa.sass import opcodes
from gpusim.isa.sass.constant_banks import LINKED_BANK, ConstantBanks
from gpusim.isa.sass.opcodes import FAMILIES, Family, family
from gpusim.isa.sass.operands import Code, Operands

# Bytes of local memory a thread beyond what the compiler states, as the driver gives them (`cudaLimitStackSize`): for
# functions of the system, and for functions that call themselves, whose need is not known.
STACK_RESERVE = 1024
# What stands for an address that the linker puts in, with -G: a word of LINKED_BANK
FOR_THE_LINKER = re.compile(r"32@(lo|hi)\(([.$\w]+)\)$")
CHECKS_STACK = "SR_LMEMHIOFF"  # only code for a debugger does
BANK_4, ADDRESS_OF_BANK_4 = "[0x4][", re.compile(r"\[0x4\]\[(?:U?RZ\+?)?(0x[0-9a-f]+)?\]")
# `__syncwarp()`, what all lanes of a warp execute together, and the fence behind the beginning of an mbarrier, which
# ptxas lets the whole warp begin: it leaves NOPs for them
WORDS_OF_SYNCS = ("bar.warp.", "fence.mbarrier_init", "mma.", "matrix.")  # a search for the pattern takes milliseconds
SYNCS_WARPS = re.compile(r"\bbar\.warp\.sync\b|\bfence\.mbarrier_init\b|\b(?:wmma|mma|ldmatrix|stmatrix)\.[\w.]*sync\b")
UNKNOWN = "?"  # the opcode of an instruction that is not modelled
NEAR = 16  # instructions


@uncollected
def translate(kernel: CompiledKernel) -> Program:
    """The executable program of a compiled kernel at SASS level.

    Raises:
        UnsupportedInstruction: an instruction or the architecture is not modelled; the message names the
            instruction and its source line.
        NvdisasmMissing, DisassemblyError: the machine code cannot be printed.
    """
    kind = family(kernel.arch)
    if kind is None:
        known = ", ".join(name for each in FAMILIES for name in each.architectures)
        newest = next(each for each in reversed(FAMILIES) if each.seen)
        raise UnsupportedInstruction(
            f"{kernel.entry} was compiled for {kernel.arch}, whose machine code is not modelled by the simulator. "
            f'Compile for one of {known}, for example RawModule(…, arch="{newest.architectures[0]}").'
        )
    may_be_reserved = reserved_memory.may_come_there(kernel)
    function = listing.parse(kernel)
    image = cubin.read(kernel.cubin)
    linked = _link_variables(function)
    bases = {statement.base for statement in function.statements}
    translator = Operands(kernel.arch, kind.shared_base, _code(function, image, kernel, bases))
    instructions = [_instruction(translator, statement, kind, kernel.entry) for statement in function.statements]
    # Without it an index below a local array is outside; what the compiler states is enough where no other is called.
    reserve = STACK_RESERVE if not kernel.local_bytes or "CALL" in bases else 0
    local_bytes = kernel.local_bytes + reserve if kernel.local_bytes or bases & {"LDL", "STL"} else 0
    checks_stack = any(CHECKS_STACK in s.text for s in function.statements)
    if checks_stack or "CALL" in bases:
        local_bytes = -(-local_bytes // 16) * 16  # functions expect their part of the stack to begin so
    program = Program(
        name=kernel.entry,
        level="sass",
        arch=kernel.arch,
        instructions=instructions,
        initial=translator.initial,
        parameters=kernel.parameters,
        shared_bytes=kernel.shared_bytes,
        dynamic_shared_offset=-(-kernel.shared_bytes // 16) * 16,
        local_bytes=local_bytes,
        stack_reserve=reserve,
        debug=kernel.debug,
        may_be_reserved=may_be_reserved,
        registers_per_thread=kernel.registers,
        max_threads=kernel.max_threads_per_block,
        source_lines=tuple(kernel.source.splitlines()),
        shared_base=kind.shared_base,
        cluster=kernel.cluster,
    )
    program.blocks = basic_blocks(instructions)
    _reachable_only(program)
    if any(instruction.swaps for instruction in instructions):
        mark_cas_loads(program, _swaps_of_source(kernel, instructions))
    if "ARRIVES" in bases:
        _mark_counts_of_copies(instructions)
    addresses = _read(instructions, image.addresses(4, kernel.lowered_name))
    symbols = {symbol.name: symbol for symbol in image.symbols}
    linked = {offset: (symbols[name], 0) for name, offset in linked.items() if name in symbols}
    program.global_variables = _variables(translator, image, kernel.ptx, (*addresses.values(), *linked.values()))
    banks = ConstantBanks(image, kernel, program.global_variables, linked)
    program.banks, program.constant_bytes = banks.of, banks.bytes_pointed_at(program)
    _check_constant_pointers(program)
    program.start = _starter(translator, program.banks)
    program.decode = lambda prepared: _machine(prepared, function.statements, translator)
    return program


def _swaps_of_source(kernel: CompiledKernel, instructions: list[Instruction]) -> set[int]:
    """The compare-and-swaps that the source has, and not only an atomic operation that becomes one.

    The compiler may give one the line of something else. Of such a line it is the source's if that has any.
    """
    functions = ptx.parse(kernel.ptx).functions.values()
    lines: dict[bool, set[int]] = {True: set(), False: set()}  # of compare-and-swaps, and of other atomic operations
    for function in functions:
        for statement in function.statements:
            if statement.opcode[0] in ("atom", "red"):
                lines["cas" in statement.opcode].add(statement.line)
    swaps = [
        instruction
        for instruction in instructions
        if instruction.swaps and "CAST" not in instruction.opcode and lines[True]
    ]
    return {swap.index for swap in swaps if swap.line in lines[True] or swap.line not in lines[False]}


@uncollected
def _machine(prepared, statements: list[sass.Statement], translator: Operands):
    """The kernel as the compiled engine executes it; None if there is an instruction that it does not know."""
    from gpusim.engine import compiled

    decoder, decoded = translator.decoder, [Decoded("trap")] * len(statements)
    for block in _reachable(prepared.program):
        for index in range(block.start, block.stop):
            statement = statements[index]
            decoded[index] = translator.decoded[statement.address]
            if decoded[index].replayed:
                prepared.not_decoded = f"`{statement.text}`: {decoded[index].replayed}"
                return None
    decoder.settle(decoded)
    rows_of = {
        slot: (int(name[1:]),) for name, slot in translator.slots.items() if name[0] == "R" and name[1:].isdecimal()
    }
    machine = compiled.assemble(prepared.program, decoded, decoder.words.all, rows_of, decoder.nowhere)
    compiled.describe_atomics(machine, prepared.program)
    compiled.guard_barriers(machine, prepared.program, prepared)
    return machine


def _mark_counts_of_copies(instructions: list[Instruction]) -> None:
    """On Ampere a thread whose copies shall arrive at an mbarrier makes it wait for one more, `ATOMS.ADD.S32 RZ,
    [barrier+4], -1; …; ARRIVES.LDGSTSBAR.64 [barrier]`: at what that changes plain loads look, too."""
    for index, arrives in enumerate(instructions):
        if arrives.opcode.startswith("ARRIVES") and arrives.is_observed:
            for before in instructions[max(0, index - NEAR) : index]:
                if (
                    before.opcode.startswith("ATOMS.ADD.S32")
                    and set(before.writes) <= {None}
                    and before.line == arrives.line
                ):
                    before.is_observed = True


def _code(function: sass.Function, image: cubin.Cubin, kernel: CompiledKernel, bases: Collection[str]) -> Code:
    statements = function.statements
    calls = [
        i + 1
        for i, s in enumerate(statements if "CALL" in bases else ())
        if s.base == "CALL" and any(isinstance(o, sass.Label) for o in s.operands)
    ]
    copies, ends = _collectives(function) if "ENDCOLLECTIVE" in bases else ({}, {})
    return Code(
        labels=function.labels,
        addresses={s.address: i for i, s in enumerate(statements)},
        return_points=tuple(dict.fromkeys(calls)),
        collective_ends=ends,
        collective_copies=copies,
        functions=tuple(dict.fromkeys(at for name, at in function.labels.items() if at and not name.startswith("."))),
        branch_targets=image.branch_targets(kernel.lowered_name),
        reductions=_reductions(statements) if "B2R" in bases else {},
        makers=_makers(statements) if "SYNCS" in bases else {},
        clusters=product(kernel.cluster or ()) > 1,
        debug=kernel.debug,
        binary=image.code(kernel.lowered_name),
        syncs_warps=any(word in kernel.ptx for word in WORDS_OF_SYNCS) and bool(SYNCS_WARPS.search(kernel.ptx)),
    )


def _collectives(function: sass.Function) -> tuple[dict[int, int], dict[int, tuple[int, ...]]]:
    """What lanes execute together between WARPSYNC.COLLECTIVE and ENDCOLLECTIVE: `Code.collective_copies` and
    `Code.collective_ends`."""
    statements = function.statements
    copies: dict[int, int] = {}
    ended: list[tuple[int, int, tuple[str, ...]]] = []  # (address, where to go on, what was executed)
    first: dict[tuple[str, ...], int] = {}
    begin = end = -1
    for i, s in enumerate(statements):
        if s.base == "WARPSYNC" and s.has("COLLECTIVE"):
            label = s.operands[-1] if s.operands else None
            begin, end = i + 1, function.labels.get(label.name, -1) if isinstance(label, sass.Label) else -1
        elif s.base == "ENDCOLLECTIVE" and end >= 0:
            text = tuple(statement.text for statement in statements[begin:i])
            copies[statements[begin - 1].address] = first.setdefault(text, begin)
            ended.append((s.address, end, text))
    return copies, {
        address: (end, *(other for _, other, of in ended if of == text and other != end))
        for address, end, text in ended
    }


def _reductions(statements: list[sass.Statement]) -> dict[int, sass.Statement]:
    """By the address of a B2R: the BAR.RED before it, whose result it reads."""
    result: dict[int, sass.Statement] = {}
    last: sass.Statement | None = None
    for statement in statements:
        if statement.base == "BAR":
            last = statement if statement.has("RED") else None
        elif statement.base == "B2R" and last is not None:
            result[statement.address] = last
    return result


def _makers(statements: list[sass.Statement]) -> dict[int, sass.Register]:
    """By the address of a SYNCS.EXCH, which a warp executes once: the predicate of the lanes that make the mbarrier.

    Its guard `@!UP0` is the answer of a vote before it, `VOTEU.ALL UP0, P2`: lanes whose P2 is false make it.
    """
    result: dict[int, sass.Register] = {}
    for at, statement in enumerate(statements):
        guard = statement.guard
        if statement.base != "SYNCS" or not statement.has("EXCH") or guard is None or guard.file != "UP":
            continue
        for before in reversed(statements[max(0, at - NEAR) : at]):
            written = [operand.name for operand in before.operands[:2] if isinstance(operand, sass.Register)]
            if before.base == "VOTEU" and guard.name in written:
                condition = before.operands[-1]
                if before.has("ALL" if guard.negated else "ANY") and isinstance(condition, sass.Register):
                    result[statement.address] = replace(condition, negated=condition.negated != guard.negated)
                break
            if guard.name in written or any(name.startswith("P") for name in written):
                break
    return result


def _instruction(t: Operands, s: sass.Statement, kind: Family, entry: str) -> Instruction:
    """One statement; what is not modelled becomes an instruction that raises if it is reached (see _reachable_only)."""
    instruction = Instruction(s.address // sass.INSTRUCTION_BYTES, s.text, ".".join(s.opcode), s.line, Kind.ALU)
    instruction.called_from = s.called_from
    instruction.guard = t.guard(s.guard)
    try:
        rules.complete(instruction, opcodes.outcome(t, s, kind.since))
    except Unknown as unknown:
        where = f" (line {s.line} of your source)" if s.line else ""
        instruction.text = (
            f"{entry}: the {t.arch} machine instruction `{s.text}`{where} is not modelled by the simulator: {unknown}. "
            f"{instead_of(instruction.opcode)}"
        ).rstrip()
        instruction.opcode = UNKNOWN
        rules.complete(instruction, rules.Effect((), _raise_unsupported))
        return instruction
    instruction.reads = tuple(t.read_now)
    if uniform := t.uniform_slots.intersection(instruction.writes):
        instruction.uniform = frozenset(uniform)
    return instruction


def _raise_unsupported(wave, registers, mask):
    raise UnsupportedInstruction(wave.instruction.text)


def _reachable_only(program: Program) -> None:
    """Raise for the first unknown instruction that can be reached; what cannot be is never executed."""
    if all(instruction.opcode != UNKNOWN for instruction in program.instructions):
        return
    for block in _reachable(program):
        for instruction in program.instructions[block.start : block.stop]:
            if instruction.opcode == UNKNOWN:
                raise UnsupportedInstruction(instruction.text)


def _reachable(program: Program) -> list[BasicBlock]:
    """The basic blocks that can be reached from the first one, in the order of the text."""
    todo, seen = [0], {0}
    while todo:
        following = set(program.blocks[todo.pop()].successors) - seen
        seen |= following
        todo += following
    return [program.blocks[number] for number in sorted(seen)]


# ---- constant banks


def _link_variables(function: sass.Function) -> dict[str, int]:
    """Make words of a constant bank of the addresses that the text leaves to the linker: name → offset in the bank."""
    offsets: dict[str, int] = {}
    for number, statement in enumerate(function.statements):
        if "32@" not in statement.text:
            continue
        operands = list(statement.operands)
        for position, operand in enumerate(operands):
            if isinstance(operand, sass.Name) and (match := FOR_THE_LINKER.match(operand.text)):
                offset = offsets.setdefault(match[2], 8 * len(offsets)) + 4 * (match[1] == "hi")
                operands[position] = sass.Constant(LINKED_BANK, offset)
        function.statements[number] = statement._replace(operands=tuple(operands))
    return offsets


def _read(
    instructions: list[Instruction], addresses: Mapping[int, tuple[cubin.Symbol, int]]
) -> dict[int, tuple[cubin.Symbol, int]]:
    """Those of bank 4's addresses that the code reads: with one header of libcu++ the bank holds a thousand.

    They are all kept where an offset is computed.
    """
    texts = [instruction.text for instruction in instructions if BANK_4 in instruction.text]
    read: set[int] = set()
    for text in texts:
        offsets = [int(offset or "0", 16) for offset in ADDRESS_OF_BANK_4.findall(text)]
        if not offsets:
            return dict(addresses)
        for offset in offsets:  # -4: the upper half of an address is read alone
            read |= {offset, offset - 4, offset + 8 if ".128" in text else offset}
    return {offset: address for offset, address in addresses.items() if offset in read}


def _variables(
    t: Operands, image: cubin.Cubin, declared: str, addresses: Iterable[tuple[cubin.Symbol, int]]
) -> dict[str, tuple[Variable, int]]:
    """The module's variables that the code can reach, each with a slot for its address. declared: the module's PTX."""
    wanted = [symbol.name for symbol, _ in addresses if symbol.section]
    wanted += [symbol.name for symbol in image.variables(".nv.constant3")]
    if not wanted:
        return {}
    symbols = {symbol.name: symbol for symbol in image.symbols}
    in_ptx = {variable.name: variable for variable in ptx.parse(declared).variables}
    variables: dict[str, Variable] = {}
    while wanted:
        name = wanted.pop()
        if name not in variables:
            variables[name] = _variable(image, symbols[name], in_ptx.get(name))
            wanted += [pointer.name for pointer in variables[name].pointers]
    return {name: (variable, t.slot(f"&{name}", np.int64(0))) for name, variable in sorted(variables.items())}


def _check_constant_pointers(program: Program) -> None:
    """UnsupportedInstruction where variables hold pointers to `__constant__` ones and code makes such pointers, too:
    these are to places in the bank and those to places in variables, so that they could not be compared."""
    if program.constant_bytes:
        for variable, _ in program.global_variables.values():
            for pointer in variable.pointers:
                if program.global_variables[pointer.name][0].space == "const":
                    raise UnsupportedInstruction(
                        f"{program.name} makes pointers to __constant__ variables, and the initial value of "
                        f"{variable.name} holds one to {pointer.name}: together these are not modelled at SASS level."
                    )


def _variable(image: cubin.Cubin, symbol: cubin.Symbol, declared: Variable | None) -> Variable:
    """declared: how PTX has it, which says how it is aligned, and the type of its elements."""
    align, type_ = (1, "b8") if declared is None else (declared.align, declared.type)
    space = "const" if symbol.section.startswith(".nv.constant") else "global"
    data = image.data(symbol.section)[symbol.offset : symbol.offset + symbol.size] or None
    try:
        return Variable(symbol.name, space, align, symbol.size, data, image.pointers(symbol), type=type_)
    except ValueError as error:
        raise UnsupportedInstruction(
            f"The initial value of {symbol.name} has an address that is not modelled at SASS level: {error}."
        ) from None


def _starter(t: Operands, banks_of: Callable) -> Callable:
    """The function that fills the constant banks of a wave and the slots that hold their words."""
    slots = tuple(t.constants.items())

    def start(wave) -> None:
        registers = wave.registers
        banks = wave.constant_banks = banks_of(wave.launch)
        if t.own_rank is not None:
            registers[t.own_rank] = wave.special["cluster_ctarank"] << np.int32(RANK_SHIFT)
        for (bank, offset, dtype), slot in slots:
            data = banks.get(bank, b"")[offset : offset + dtype.itemsize].ljust(dtype.itemsize, b"\0")
            value = np.frombuffer(data, dtype)[0]
            registers[slot] = value

    return start
