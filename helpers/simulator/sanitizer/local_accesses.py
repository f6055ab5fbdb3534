"""Which array of its own a thread accesses, at both levels: an index beyond one array ends in the next.

PTX declares all of a thread's arrays as one variable, and makes every address in it from where one of them begins:
`add.u64 %rd1, %SPL, 128`. So those numbers are the beginnings of the arrays (of a struct or a union, as a whole; two of
which the one is used no more when the other begins to be may share their bytes), and an access belongs to the array
whose beginning has flowed into its address.

In machine code `a[i]` and `b[i - 32]` may be the same address. There an access belongs to the array of the source line
that it comes from; if these are several, `same_places` compares its address with those in the PTX. For that it must be
known where the variable lies in the memory of a thread. That is certain if it is all that lies there. Beside what the
compiler keeps there for lack of registers, or for functions that it calls, it is expected at the lower end, and
believed to be there if addresses that differ with the arguments are the same at both levels.

Nothing is said where a pointer was in memory, of functions that are called, and of what machine code accesses at a line
without the PTX having one array there. Bytes that are left free behind an array, so that the next one is aligned, count
as its own, and so do, in code for a debugger, variables behind it whose address is never computed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from helpers.compiler import CompiledKernel, cubin, ptx, sass
from helpers.compiler.ptx import Address, Immediate, Register, Statement, Symbol, Vector
from helpers.simulator.engine.ir import Instruction, Program, uncollected
from helpers.simulator.frontends.ptx.flow import READ_ONLY, registers_of
from helpers.simulator.frontends.ptx.layout import local_layout
from helpers.simulator.sanitizer.local_arrays import NO_ARRAYS, LocalArray, LocalArrays

OTHER_SPACES = frozenset(("global", "shared", "const", "param", "tex"))
DIRECTIONS = {"ld": (False,), "ldu": (False,), "st": (True,), "atom": (False, True), "red": (False, True)}  # a write?
MACHINE_ACCESSES = ("LDL", "STL", "LD.", "ST.")  # to local memory, and those that may lead there
WIDTHS = {"128": 16, "64": 8, "U8": 1, "S8": 1, "U16": 2, "S16": 2}
AT_A_CONSTANT = re.compile(r"\[(?:R1|RZ)?\+?(?:0x[0-9a-f]+)?\]")  # of the stack
ALIGNMENT = 8  # of the stack
POINTER_BYTES = 8
ANYTHING = -1  # what may have flowed into an address besides beginnings of arrays
Place = tuple[int, bool]  # a source line, and whether an access there writes


@dataclass(frozen=True)
class Access:
    """A statement that accesses local memory: its bytes, and the array; None if that is not known. `is_placed`: whether
    the machine code has it at its line."""

    place: Place
    is_placed: bool
    width: int
    array: LocalArray | None


@dataclass(frozen=True)
class Declared:
    """What PTX says: the arrays, the bytes of all, the kernel's accesses by the index of the statement, and `others` of
    which it is not asked what they access: atomic operations, and all that called functions do."""

    arrays: tuple[LocalArray, ...]
    bytes: int
    accesses: dict[int, Access]
    others: tuple[Access, ...]

    @property
    def found(self) -> LocalArrays:
        """The arrays, and those that the statements access where that is known."""
        used = {index: access.array for index, access in self.accesses.items() if access.array is not None}
        return LocalArrays(self.arrays, used)


# ---- PTX


@uncollected
def declared(kernel: CompiledKernel) -> Declared | None:
    """The arrays of a kernel's threads; None if it has none in local memory, or their beginnings are not known."""
    if ".local" not in kernel.ptx:
        return None
    module = ptx.parse(kernel.ptx)
    function = module.functions.get(kernel.lowered_name)
    offsets, size = local_layout(module, function) if function is not None else ({}, 0)
    origins = _Origins.of(function, offsets) if offsets else None
    if origins is None:
        return None
    bounds = sorted({*origins.beginnings, *offsets.values(), size})
    arrays = tuple(LocalArray(start, stop - start) for start, stop in zip(bounds, bounds[1:], strict=False))
    accesses: dict[int, Access] = {}
    others = [access for other in module.called.values() for each in _accesses(other).values() for access in each]
    for index, (access, *more) in _accesses(function).items():
        reached = origins.reached(_address(function.statements[index]), access.width)
        if more:
            others += (access, *more)
        elif reached:  # what is made from nothing of these comes from a parameter
            accesses[index] = replace(access, array=_array(arrays, reached))
    return Declared(arrays, size, accesses, tuple(others))


def _accesses(function: ptx.Function) -> dict[int, list[Access]]:
    """By the index of a statement its access to what may be local memory, two where it both reads and writes."""
    return {
        index: [
            Access((one.line, writes), index not in function.unplaced, _width(one), None)
            for writes in DIRECTIONS[one.name]
        ]
        for index, one in enumerate(function.statements)
        if one.name in DIRECTIONS and OTHER_SPACES.isdisjoint(part.partition("::")[0] for part in one.opcode[1:])
    }


def _address(statement: Statement) -> Address | None:
    return next((operand for operand in statement.operands if isinstance(operand, Address)), None)


def _width(statement: Statement) -> int:
    """The bytes that a load or a store moves."""
    vector = next((operand for operand in statement.operands if isinstance(operand, Vector)), None)
    return ptx.TYPE_BYTES.get(statement.type, 0) * (1 if vector is None else len(vector.items))


def _array(arrays: tuple[LocalArray, ...], reached: set[int]) -> LocalArray | None:
    """All bytes from the first to the last of the arrays that have these bytes."""
    if ANYTHING in reached:
        return None
    touched = [array for array in arrays if any(array.offset <= byte < array.end for byte in reached)]
    return LocalArray(touched[0].offset, touched[-1].end - touched[0].offset) if touched else None


class _Origins:
    """Which beginnings of arrays may have flowed into each register of a function, whatever the order of execution."""

    def __init__(self, frames: dict[str, int]) -> None:
        self.beginnings: set[int] = set()
        self._frames = frames  # by variable, and by register that holds its address
        self._found: dict[str, set[int]] = {}

    @classmethod
    def of(cls, function: ptx.Function, offsets: Mapping[str, int]) -> "_Origins | None":
        """Those of a function whose local variables lie at `offsets`; None if something else is done with these."""
        origins = cls(dict(offsets))
        return origins if origins._follow(function) else None

    def _follow(self, function: ptx.Function) -> bool:
        """Whether all that is done with the address of a local variable is known."""
        flows: dict[str, list[str]] = {}  # by register those that are made from it
        for statement in function.statements:
            name, operands = statement.name, statement.operands
            if name == "alloca":
                return False
            of_frame = [each for each in operands if self._frame(each) is not None]
            if of_frame:
                if not self._begins(statement):
                    return False
                continue
            if name in READ_ONLY or not operands:
                continue
            sources = {register for operand in operands[1:] for register in registers_of(operand)}
            targets = [
                each
                for each in registers_of(operands[0])
                if ptx.TYPE_BYTES.get(function.registers.get(each, ""), 0) >= 4
            ]
            for target in targets:
                if _brings_anything(statement, function, target):
                    self._found.setdefault(target, set()).add(ANYTHING)
                for source in sources if name not in ("ld", "ldu", "atom") else ():
                    flows.setdefault(source, []).append(target)
        todo = list(self._found)
        while todo:
            source = todo.pop()
            for target in flows.get(source, ()):
                known = self._found.setdefault(target, set())
                if not self._found[source] <= known:
                    known |= self._found[source]
                    todo.append(target)
        return True

    def _frame(self, operand) -> int | None:
        """The byte of local memory that is the value of an operand which names a variable."""
        return self._frames.get(operand.name) if isinstance(operand, Register | Symbol) else None

    def _begins(self, statement: Statement) -> bool:
        """Note what a statement makes of the address of a variable; False if that is not known."""
        first, *others = statement.operands
        at = self._frame(others[0]) if others else None
        if at is None or not isinstance(first, Register):
            return False
        if statement.name == "cvta" or (statement.name == "mov" and isinstance(others[0], Symbol)):
            self._frames[first.name] = at
            return True
        if statement.name != "add" or not isinstance(others[1], Immediate):
            return False
        self.beginnings.add(at + int(others[1].value))
        self._found.setdefault(first.name, set()).add(at + int(others[1].value))
        return True

    def reached(self, address: Address | None, width: int) -> set[int]:
        """The beginnings of arrays, or bytes of them, that an address of an access may come from."""
        if address is None:
            return {ANYTHING}
        at = self._frame(address.base)
        if at is not None:
            return {at + address.offset, at + address.offset + width - 1}
        return self._found.get(address.base.name, set()) if isinstance(address.base, Register) else {ANYTHING}


def _brings_anything(statement: Statement, function: ptx.Function, target: str) -> bool:
    """Whether a result may be a pointer that is not made from the registers that its statement names."""
    if ptx.TYPE_BYTES[function.registers[target]] < POINTER_BYTES:
        return False
    if statement.name in ("ld", "ldu") and "param" in statement.opcode:
        given = {name for name, _, _ in function.parameters}
        base = getattr(_address(statement), "base", None)
        return not isinstance(base, Symbol) or base.name not in given
    return statement.name in ("ld", "ldu", "atom") or any(isinstance(each, Vector) for each in statement.operands[1:])


# ---- machine code


def in_machine_code(kernel: CompiledKernel, program: Program, source: Declared) -> LocalArrays:
    """The arrays where the machine code has them, and which of its accesses belong to which, where that is certain."""
    image = cubin.read(kernel.cubin)
    frame = cubin.kernel_resources(image)[kernel.lowered_name].frame_bytes
    is_alone = source.bytes <= frame < source.bytes + ALIGNMENT
    own = _own_accesses(image, kernel.lowered_name, program)
    moved = _moved(source, own)
    wanted = {
        index: ours
        for index, ours in _candidates(source, own).items()
        if own[index].place[1] not in moved and (is_alone or not AT_A_CONSTANT.search(program.instructions[index].text))
    }
    of_places = {id(ours): _only(ours) for ours in wanted.values()}
    found: dict[int, LocalArray] = {}
    for index, ours in wanted.items():
        array, widths = of_places[id(ours)]
        if array is not None and _has_one_of(widths, own[index]):
            found[index] = array
    undecided = {index: ours for index, ours in wanted.items() if index not in found}
    base = program.local_bytes - frame
    if undecided or (wanted and not is_alone):
        from helpers.simulator.sanitizer import local_places  # few kernels need it, and it loads PTX's rules

        places = local_places.sampled(kernel, program, base, undecided if is_alone else wanted)
        if not is_alone and not places.agree():
            return NO_ARRAYS
        found |= places.arrays(undecided)
    return LocalArrays(
        tuple(array.moved(base) for array in source.arrays),
        {index: array.moved(base) for index, array in found.items()},
    )


def _moved(source: Declared, own: Mapping[int, Access]) -> set[bool]:
    """The directions, reads or writes, in which none of the lines of some array is left.

    It is accessed at lines of others then, which say nothing of theirs any more either.
    """
    lines = {access.place for access in own.values()}
    accesses = [each for each in source.accesses.values() if each.is_placed]
    left = {(each.place[1], each.array) for each in accesses if each.place in lines}
    return {each.place[1] for each in accesses if (each.place[1], each.array) not in left}


def _candidates(source: Declared, own: Mapping[int, Access]) -> dict[int, dict[int, Access]]:
    """By the index of an access of the machine code the statements that it may come from: those of its place, and those
    of no place; `others` have numbers below 0. (It is one dictionary for all accesses of a place.)"""
    everything = source.accesses | {-1 - number: each for number, each in enumerate(source.others)}
    by_place: dict[Place, dict[int, Access]] = {each.place: {} for each in source.accesses.values() if each.is_placed}
    for index, access in everything.items():
        if access.is_placed and access.place in by_place:
            by_place[access.place][index] = access
        elif not access.is_placed:
            for place in by_place:
                if place[1] is access.place[1]:
                    by_place[place][index] = access
    return {index: by_place[access.place] for index, access in own.items() if access.place in by_place}


def _only(candidates: Mapping[int, Access]) -> tuple[LocalArray | None, set[int]]:
    """(the one array that is accessed at a place, None if it may be another one; the widths of these accesses)."""
    array, *others = {each.array for each in candidates.values()}
    return None if others else array, {each.width for each in candidates.values()}


def _has_one_of(widths: set[int], access: Access) -> bool:
    """Whether an access of the machine code is one of so many bytes. If it is wider it may be several, also of other
    lines; a load may be of that part of a value that is used."""
    return access.width in widths or (not access.place[1] and access.width < max(widths))


def own_instructions(image: cubin.Cubin, kernel: str, program: Program) -> list[Instruction]:
    """The instructions of a kernel's own code, without those of functions that it calls."""
    section = f".text.{kernel}"
    functions = [each.offset for each in image.symbols if each.section == section and each.offset]
    return program.instructions[: min((*functions, len(image.data(section)))) // sass.INSTRUCTION_BYTES]


def _own_accesses(image: cubin.Cubin, kernel: str, program: Program) -> dict[int, Access]:
    """The loads and stores of the kernel's own code, also of what the compiler keeps at fixed places of the stack."""
    return {
        each.index: Access((each.line, each.opcode.startswith("ST")), True, _bytes(each), None)
        for each in own_instructions(image, kernel, program)
        if each.opcode.startswith(MACHINE_ACCESSES)
    }


def _bytes(instruction: Instruction) -> int:
    parts = instruction.opcode.split(".")
    return next((WIDTHS[part] for part in parts[1:] if part in WIDTHS), 4)
