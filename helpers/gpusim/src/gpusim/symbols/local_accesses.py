"""Which array of its own a thread accesses, at both levels: an index beyond one array ends in the next.

PTX declares all of a thread's arrays as one variable, and makes every address in it from where one of them begins:
`add.u64 %rd1, %SPL, 128`. So those numbers are the beginnings of the arrays (of a struct or a union, as a whole; two of
which the one is used no more when the other begins to be may share their bytes), and an access belongs to the array
whose beginning has flowed into its address.

In machine code `a[i]` and `b[i - 32]` may be the same address. There an access belongs to the array of the source line
that it comes from; if these are several, `match_by_address` compares its address with those in the PTX. For that it
must be known where the variable lies in the memory of a thread. That is certain if it is all that lies there. Beside
what the compiler keeps there for lack of registers, or for functions that it calls, it is expected at the lower end,
and believed to be there if addresses that differ with the arguments are the same at both levels.

Functions that are called have arrays of their own, and pointers to those of others: what is passed flows on. ptxas lays
their variables out behind those of all that may call them, if no function may call itself and none is called by a
pointer; that this is so shows in how many bytes the kernel has. Of others only what they do with the kernel's arrays is
known in machine code.

Nothing is said where a pointer was in memory, and of what machine code accesses at a line without the PTX having one
array there. Bytes that are left free behind an array, so that the next one is aligned, count as its own, and so do, in
code for a debugger, variables behind it whose address is never computed.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpusim.compiler import CompiledKernel, cubin, ptx, sass
from gpusim.compiler.ptx import Address, Immediate, Register, Statement, Symbol, Vector
from gpusim.engine.ir import Instruction, Program, uncollected
from gpusim.isa.ptx.flow import READ_ONLY, registers_of
from gpusim.isa.ptx.layout import local_layout
from gpusim.isa.ptx.linking import Linked, link
from gpusim.symbols.local_arrays import NO_ARRAYS, LocalArray, LocalArrays

OTHER_SPACES = frozenset(("global", "shared", "const", "param", "tex"))
DIRECTIONS = {"ld": (False,), "ldu": (False,), "st": (True,), "atom": (False, True), "red": (False, True)}  # a write?
MACHINE_ACCESSES = ("LDL", "STL", "LD.", "ST.")  # to local memory, and those that may lead there
WIDTHS = {"128": 16, "64": 8, "U8": 1, "S8": 1, "U16": 2, "S16": 2}
AT_A_CONSTANT = re.compile(r"\[(?:R1|RZ)?\+?(?:0x[0-9a-f]+)?\]")  # of the stack
MOVES_STACK = re.compile(r"\bR1, R1, ")
ALIGNMENT = 8  # of the stack
POINTER_BYTES = 8
ANYTHING = -1  # what may have flowed into an address besides beginnings of arrays
Site = tuple[int, bool]  # a source line, and whether an access there writes


@dataclass(frozen=True)
class Access:
    """A statement that accesses local memory: its bytes, and the array; None if that is not known. `is_placed`: whether
    the machine code has it at its line."""

    site: Site
    is_placed: bool
    width: int
    array: LocalArray | None


@dataclass(frozen=True)
class Frame:
    """A variable of local memory. Its bytes are called by numbers from `start` on, which no other one has."""

    start: int
    bytes: int
    in_machine: int  # where it begins in machine code that keeps nothing else there
    in_ptx: int | None  # the same in PTX; None if that depends on the caller of its function
    is_kernels: bool = True

    def has(self, array: LocalArray) -> bool:
        """Whether an array lies in it."""
        return self.start <= array.offset < self.start + self.bytes


@dataclass(frozen=True)
class Declared:
    """What PTX says: the frames, the arrays in them, and the accesses by the index of the statement, the first `own` of
    which are the kernel's; `others` are those of which it is not asked what they access, atomic operations."""

    frames: tuple[Frame, ...]
    arrays: tuple[LocalArray, ...]
    accesses: dict[int, Access]
    others: tuple[Access, ...]
    own: int
    called: tuple[str, ...]

    def bytes(self, of_kernel: bool) -> int:
        """Of all frames in machine code, or of those of the kernel."""
        counted = (each for each in self.frames if each.is_kernels or not of_kernel)
        return max((each.in_machine + each.bytes for each in counted), default=0)

    @property
    def known(self) -> LocalArrays:
        """The arrays in PTX, and those that the statements access where that is known."""
        return self.moved(
            {each: each.in_ptx for each in self.frames if each.in_ptx is not None},
            {index: access.array for index, access in self.accesses.items() if access.array is not None},
        )

    def moved(self, frames: Mapping[Frame, int], used: Mapping[int, LocalArray]) -> LocalArrays:
        """The arrays, and those that are used, where these frames begin at these bytes; without those of others."""
        moved = {
            array: array.moved(at - frame.start)
            for array in {*self.arrays, *used.values()}
            for frame, at in frames.items()
            if frame.has(array)
        }
        return LocalArrays(
            tuple(sorted(moved[array] for array in self.arrays if array in moved)),
            {index: moved[array] for index, array in used.items() if array in moved},
        )


# ---- PTX


@uncollected
def declared(kernel: CompiledKernel) -> Declared | None:
    """The arrays of a kernel's threads; None if it has none in local memory, or their beginnings are not known."""
    if ".local" not in kernel.ptx:
        return None
    module = ptx.parse(kernel.ptx)
    function = module.functions.get(kernel.lowered_name)
    if function is None:
        return None
    linked = link(module, function)
    frames = _frames(module, function, linked)
    origins = _Origins.of(linked, module, {name: frame.start for name, frame in frames.items()}) if frames else None
    if origins is None:
        return None
    arrays = tuple(array for frame in frames.values() for array in _arrays(frame, origins.beginnings))
    accesses: dict[int, Access] = {}
    others: list[Access] = []
    for index, (access, *more) in _accesses(linked.function).items():
        reached = origins.reached(_address(linked.function.statements[index]), access.width)
        if more:
            others += (access, *more)
        elif reached:  # what is made from nothing of these comes from a parameter
            accesses[index] = replace(access, array=_array(frames.values(), arrays, reached))
    own = len(function.statements)
    return Declared(tuple(frames.values()), arrays, accesses, tuple(others), own, tuple(linked.starts))


def _frames(module: ptx.Module, kernel: ptx.Function, linked: Linked) -> dict[str, Frame]:
    """The frames by the name of the variable, as the text of all functions calls it."""
    offsets, free = local_layout(module, kernel)
    sizes = {variable.name: variable.bytes_ for variable in (*module.variables, *kernel.variables)}
    frames = {name: Frame(start, sizes[name], start, start) for name, start in offsets.items()}
    in_ptx, behind = linked.depths(), {"": free}
    for name in linked.in_order():
        end = max(behind[call.caller] for call in linked.returns_to(name))
        for variable in module.called[name].variables:
            if variable.space == "local":
                at, own = -(-end // variable.align) * variable.align, f"{variable.name}@{name}"
                offset = in_ptx[name] + linked.places[own] if name in in_ptx else None
                frames[own] = Frame(free, variable.bytes_, at, offset, is_kernels=False)
                end, free = at + variable.bytes_, free + variable.bytes_
        behind[name] = end
    return frames


def _arrays(frame: Frame, beginnings: set[int]) -> list[LocalArray]:
    """The arrays of a frame, which lie between the places where they begin."""
    end = frame.start + frame.bytes
    bounds = sorted({frame.start, *(each for each in beginnings if frame.start <= each < end), end})
    return [LocalArray(start, stop - start) for start, stop in zip(bounds, bounds[1:], strict=False)]


def _accesses(function: ptx.Function) -> dict[int, list[Access]]:
    """By the index of a statement its access to what may be local memory, two where it both reads and writes."""
    return {
        index: [
            Access((statement.line, writes), index not in function.unplaced, _width(statement), None)
            for writes in DIRECTIONS[statement.name]
        ]
        for index, statement in enumerate(function.statements)
        if statement.name in DIRECTIONS
        and OTHER_SPACES.isdisjoint(part.partition("::")[0] for part in statement.opcode[1:])
    }


def _address(statement: Statement) -> Address | None:
    return next((operand for operand in statement.operands if isinstance(operand, Address)), None)


def _width(statement: Statement) -> int:
    """The bytes that a load or a store moves."""
    vector = next((operand for operand in statement.operands if isinstance(operand, Vector)), None)
    return ptx.TYPE_BYTES.get(statement.type, 0) * (1 if vector is None else len(vector.items))


def _array(frames: Iterable[Frame], arrays: Sequence[LocalArray], reached: set[int]) -> LocalArray | None:
    """All bytes from the first to the last of the arrays that have these bytes, if all are of one frame."""
    if ANYTHING in reached:
        return None
    touched = [array for array in arrays if any(array.offset <= byte < array.end for byte in reached)]
    of_frames = {frame for frame in frames for array in touched if frame.has(array)}
    return LocalArray(touched[0].offset, touched[-1].end - touched[0].offset) if len(of_frames) == 1 else None


class _Origins:
    """Which beginnings of arrays may have flowed into each register, and into what is passed, whatever the order of
    execution."""

    def __init__(self, linked: Linked, module: ptx.Module, frames: Mapping[str, int]) -> None:
        self.beginnings: set[int] = set()
        self._function = linked.function
        self._frames = dict(frames)  # by variable, and by register that holds its address
        self._reached: dict[str, set[int]] = {}
        self._elsewhere = {  # variables of functions that may call themselves
            f"{variable.name}@{name}"
            for name in linked.starts
            for variable in module.called[name].variables
            if variable.space == "local"
        } - self._frames.keys()
        self._given = {name for name, _, _ in linked.function.parameters}
        self._passed = {
            (at, name): [f"{variable.name}@{name}" for variable in module.called[name].passed]
            for at, call in linked.calls.items()
            for name in call.callees
        }
        self._flows: dict[str, list[str]] = {}  # by register, or what is passed, those that are made from it

    @classmethod
    def of(cls, linked: Linked, module: ptx.Module, frames: Mapping[str, int]) -> "_Origins | None":
        """Those of all functions, whose variables lie at `frames`; None if something else is done with these."""
        origins = cls(linked, module, frames)
        return origins if origins._follow() else None

    def _follow(self) -> bool:
        """Whether all that is done with the address of a local variable is known."""
        known = self._follow_calls()
        for statement in self._function.statements:
            name, operands = statement.name, statement.operands
            if name == "alloca":
                return False
            if any(self._frame(each) is not None for each in operands):
                if not self._begins(statement):
                    return False
                continue
            if name in ("st", "ld") and _passes(statement):
                self._follow_passed(statement, known)
                continue
            if name in READ_ONLY or not operands:
                continue
            sources = {register for operand in operands[1:] for register in registers_of(operand)}
            for target in self._pointers(operands[0]):
                if _brings_anything(statement, self._function, target) or self._is_elsewhere(operands[1:]):
                    self._reached.setdefault(target, set()).add(ANYTHING)
                for source in sources if name not in ("ld", "ldu", "atom") else ():
                    self._flows.setdefault(source, []).append(target)
        todo = list(self._reached)
        while todo:
            source = todo.pop()
            for target in self._flows.get(source, ()):
                reached = self._reached.setdefault(target, set())
                if not self._reached[source] <= reached:
                    reached |= self._reached[source]
                    todo.append(target)
        return True

    def _is_elsewhere(self, operands: Iterable) -> bool:
        return any(isinstance(each, Symbol) and each.name in self._elsewhere for each in operands)

    def _pointers(self, operand) -> list[str]:
        """The registers of an operand that may hold a pointer, or its lower half."""
        types = self._function.registers
        return [each for each in registers_of(operand) if ptx.TYPE_BYTES.get(types.get(each, ""), 0) >= 4]

    def _follow_calls(self) -> set[str]:
        """Let what a call names flow to the parameters of functions, and their results back; returns all of these."""
        known: set[str] = set()
        for (at, _), inside in self._passed.items():
            vectors = [each for each in self._function.statements[at].operands if isinstance(each, Vector)]
            outside = [item.name for vector in vectors for item in vector.items if isinstance(item, Symbol)]
            for outer, other in zip(outside, inside, strict=False):
                self._flows.setdefault(outer, []).append(other)
                self._flows.setdefault(other, []).append(outer)
                known |= {outer, other}
        return known

    def _follow_passed(self, statement: Statement, known: set[str]) -> None:
        """Let what is passed flow from a register, or into it."""
        name = _address(statement).base.name
        for operand in statement.operands:
            for register in self._pointers(operand) if not isinstance(operand, Address) else ():
                if statement.name == "st":
                    self._flows.setdefault(register, []).append(name)
                elif name in known:
                    self._flows.setdefault(name, []).append(register)
                elif name not in self._given and ptx.TYPE_BYTES[self._function.registers[register]] >= POINTER_BYTES:
                    self._reached.setdefault(register, set()).add(ANYTHING)

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
        self._reached.setdefault(first.name, set()).add(at + int(others[1].value))
        return True

    def reached(self, address: Address | None, width: int) -> set[int]:
        """The beginnings of arrays, or bytes of them, that an address of an access may come from."""
        if address is None:
            return {ANYTHING}
        at = self._frame(address.base)
        if at is not None:
            return {at + address.offset, at + address.offset + width - 1}
        return self._reached.get(address.base.name, set()) if isinstance(address.base, Register) else {ANYTHING}


def _passes(statement: Statement) -> bool:
    """Whether a load or store is of a parameter, or of what is passed."""
    return "param" in statement.opcode and isinstance(getattr(_address(statement), "base", None), Symbol)


def _brings_anything(statement: Statement, function: ptx.Function, target: str) -> bool:
    """Whether a result may be a pointer that is not made from the registers that its statement names."""
    if ptx.TYPE_BYTES[function.registers[target]] < POINTER_BYTES:
        return False
    return statement.name in ("ld", "ldu", "atom") or any(isinstance(each, Vector) for each in statement.operands[1:])


# ---- machine code


def in_machine_code(kernel: CompiledKernel, program: Program, source: Declared) -> LocalArrays:
    """The arrays where the machine code has them, and which of its accesses belong to which, where that is certain."""
    image = cubin.read(kernel.cubin)
    frame = cubin.kernel_resources(image)[kernel.lowered_name].frame_bytes
    parts = _parts(image, kernel.lowered_name, program, source.called)
    moves_stack = any(MOVES_STACK.search(each.text) for part in parts[1:] for each in part)
    whole, own_bytes = source.bytes(of_kernel=False), source.bytes(of_kernel=True)
    has_all = whole <= frame < whole + ALIGNMENT and not moves_stack
    is_alone = has_all or own_bytes <= frame < own_bytes + ALIGNMENT
    fixed = {each.index for part in parts[: None if has_all else 1 if is_alone else 0] for each in part}
    own = _own_accesses(each for part in parts for each in part)
    moved = _moved(source, own)
    wanted = {
        index: ours
        for index, ours in _candidates(source, own).items()
        if own[index].site[1] not in moved
        and (index in fixed or not AT_A_CONSTANT.search(program.instructions[index].text))
    }
    of_places = {id(ours): _only(ours) for ours in wanted.values()}
    arrays: dict[int, LocalArray] = {}
    for index, ours in wanted.items():
        array, widths = of_places[id(ours)]
        if array is not None and _has_one_of(widths, own[index]):
            arrays[index] = array
    of_kernel = {each.index for each in parts[0]}
    sampled = {
        index: ours
        for index, ours in wanted.items()
        if index in of_kernel
        and all(statement < source.own for statement in ours)
        and (index not in arrays or not is_alone)
    }
    base = program.local_bytes - frame
    if sampled or (wanted and not is_alone):
        from gpusim.symbols import local_addresses  # few kernels need it, and it loads PTX's rules

        places = local_addresses.sampled(kernel, program, base, sampled)
        if not is_alone and not places.agree():
            return NO_ARRAYS
        arrays |= places.arrays({index: ours for index, ours in sampled.items() if index not in arrays})
    return source.moved({each: base + each.in_machine for each in source.frames if has_all or each.is_kernels}, arrays)


def _moved(source: Declared, own: Mapping[int, Access]) -> set[bool]:
    """The directions, reads or writes, in which none of the lines of some array is left.

    It is accessed at lines of others then, which say nothing of theirs any more either.
    """
    lines = {access.site for access in own.values()}
    accesses = [each for each in source.accesses.values() if each.is_placed]
    left = {(each.site[1], each.array) for each in accesses if each.site in lines}
    return {each.site[1] for each in accesses if (each.site[1], each.array) not in left}


def _candidates(source: Declared, own: Mapping[int, Access]) -> dict[int, dict[int, Access]]:
    """By the index of an access of the machine code the statements that it may come from: those of its site, and those
    of no site; `others` have numbers below 0. (It is one dictionary for all accesses of a site.)"""
    everything = source.accesses | {-1 - number: each for number, each in enumerate(source.others)}
    by_site: dict[Site, dict[int, Access]] = {each.site: {} for each in source.accesses.values() if each.is_placed}
    for index, access in everything.items():
        if access.is_placed and access.site in by_site:
            by_site[access.site][index] = access
        elif not access.is_placed:
            for location in by_site:
                if location[1] is access.site[1]:
                    by_site[location][index] = access
    return {index: by_site[access.site] for index, access in own.items() if access.site in by_site}


def _only(candidates: Mapping[int, Access]) -> tuple[LocalArray | None, set[int]]:
    """(the one array that is accessed at a site, None if it may be another one; the widths of these accesses)."""
    array, *others = {each.array for each in candidates.values()}
    return None if others else array, {each.width for each in candidates.values()}


def _has_one_of(widths: set[int], access: Access) -> bool:
    """Whether an access of the machine code is one of so many bytes. If it is wider it may be several, also of other
    lines; a load may be of that part of a value that is used."""
    return access.width in widths or (not access.site[1] and access.width < max(widths))


def own_instructions(image: cubin.Cubin, kernel: str, program: Program) -> list[Instruction]:
    """The instructions of a kernel's own code, without those of functions that it calls."""
    return _parts(image, kernel, program, ())[0]


def _parts(image: cubin.Cubin, kernel: str, program: Program, called: Iterable[str]) -> list[list[Instruction]]:
    """The instructions of a kernel's own code, then those of each of the functions that its section has behind it."""
    section = f".text.{kernel}"
    starts = {each.offset: each.name for each in image.symbols if each.section == section and each.offset}
    bounds = [0, *sorted(starts), len(image.data(section))]
    parts = [
        program.instructions[start // sass.INSTRUCTION_BYTES : stop // sass.INSTRUCTION_BYTES]
        for start, stop in zip(bounds, bounds[1:], strict=False)
        if not start or any(starts[start].endswith(f"${name}") for name in called)
    ]
    return parts


def _own_accesses(instructions: Iterable[Instruction]) -> dict[int, Access]:
    """The loads and stores among instructions, also of what the compiler keeps at fixed places of the stack."""
    return {
        each.index: Access((each.line, each.opcode.startswith("ST")), True, _bytes(each), None)
        for each in instructions
        if each.opcode.startswith(MACHINE_ACCESSES)
    }


def _bytes(instruction: Instruction) -> int:
    parts = instruction.opcode.split(".")
    return next((WIDTHS[part] for part in parts[1:] if part in WIDTHS), 4)
