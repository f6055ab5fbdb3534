"""Which arrays a kernel's instructions may touch, read off its PTX before it runs.

A pointer gets into a register from a parameter or from the name of a variable, and from there into other registers by
arithmetic. Following that, whatever the order of execution, gives for every address the arrays that it may point into.
"""

import re
from dataclasses import dataclass, field

from gpusim.compiler import CompiledKernel, ptx
from gpusim.compiler.ptx import Address, Immediate, Register, Symbol, Vector
from gpusim.engine.ir import Instruction, Program, uncollected
from gpusim.isa.ptx.layout import shared_layout
from gpusim.isa.ptx.linking import link
from gpusim.symbols.memory_order import Strength, of_statements
from gpusim.symbols.shared_arrays import SharedArray

ANYTHING = "?"  # a pointer that was itself loaded from memory
WARP_FUNCTIONS = ("shfl", "vote", "match", "redux")
EVERY_LANE = 0xFFFFFFFF
ATOMIC = ("atom", "red")
WRITES = ("st", *ATOMIC)
HALVES = ("f16", "bf16", "b16")
IN_ONE_STEP = ("b32", "u32", "s32")  # types of atomic operations that machine code has for shared memory
OF_THREADS = ("ld", "ldu", *WRITES)
OTHER_SPACES = frozenset(("global", "local", "const"))
MACHINE_ACCESSES = ("LDS", "LD.", "STS", "ST.", "ATOM")  # to shared memory, and those that may lead there
LARGEST_VARIABLE = 16  # bytes; what is larger is an array, which has an index
OF_MATRICES = ("ldmatrix", "stmatrix", "wmma")
ACCESSES = ("ld", "ldu", "cp", "mbarrier", *OF_MATRICES, *WRITES)
WITHOUT_RESULT = ("st", "red", "bar", "barrier", "bra", "brx", "ret", "exit", "cp", "call", "setp")
FLOATS, ARITHMETIC = ("f32", "f64"), ("fma", "mul", "add", "sub")  # what these make of a pointer is none
Site = tuple[int, bool]  # a source line, and whether an access there writes


@dataclass(frozen=True)
class Pointers:
    """`written`: the names of parameters and variables that the kernel may write through, None if it may be any.

    `updated`: the names in the source of the module's variables that atomic operations may work on, and of parameters
    that blocks meet at: atomic operations return what was there, and the kernel looks at it.

    `shared_arrays`: the __shared__ arrays in the order of their offsets; `shared`: by the index of a PTX instruction,
    the one array that its address is made from, where there is only one; `accesses`: by place in the source the PTX
    instructions there that may access shared memory, each with its array (None: not known); `by_lanes` are those whose
    lanes access what they name, no rows of a matrix.

    `updated_beside_halves`: if there are atomic operations on 16 bits, the arrays of all (None: not known), else none.

    `masks`: by line, the constant mask of the lanes that its functions of the warp name, where it is not all of them.
    `has_lines_of_masks`: some line has different ones, as of an unrolled loop: which is whose only the PTX shows.

    `strengths`: by the index of a PTX instruction, that of a volatile or ordered access to shared memory;
    `strengths_at`: the same of all accesses of a place in the source, where there are such.
    """

    written: frozenset[str] | None = frozenset()
    shared_arrays: tuple[SharedArray, ...] = ()
    shared: dict[int, SharedArray] = field(default_factory=dict)
    accesses: dict[Site, dict[int, SharedArray | None]] = field(default_factory=dict)
    by_lanes: frozenset[int] = frozenset()
    updated_beside_halves: frozenset[SharedArray | None] = frozenset()
    updated: tuple[str, ...] = ()
    masks: dict[int, int] = field(default_factory=dict)
    has_lines_of_masks: bool = False
    strengths: dict[int, Strength] = field(default_factory=dict)
    strengths_at: dict[Site, dict[int, Strength]] = field(default_factory=dict)

    def named_lanes(self, program: Program) -> dict[int, int]:
        """By the index of an instruction of machine code by which lanes meet, the constant mask of those that it names.

        At PTX level the mask is an operand.
        """
        meets = ("SHFL", "VOTE", "MATCH", "REDUX", "NOP") if program.level == "sass" else ()
        return {
            i.index: self.masks[i.line]
            for i in program.instructions
            if i.line in self.masks and i.guard is None and i.opcode.startswith(meets)
        }

    def used_by(self, program: Program) -> dict[int, SharedArray]:
        """By the index of an instruction of `program`, the one __shared__ array that it accesses, where there is one.

        Machine code does not say which array an address is made from. There it is the one that the PTX accesses at the
        same place in the source, if it is one: no proof, since the compiler merges what branches do, and gives the
        result the place of one of them (see `launch._decide`).

        What is lost at both levels: of `if (c) s += a[i]; else s += b[j];` the compiler may make one read of an address
        that is chosen before. An index of one that leads into the other is then not found, as `j + 64` of the planted
        fault 40015 of `tests.gpusim.random_kernels`.
        """
        if program.level == "ptx":
            return self.shared
        arrays = {location: set(of.values()) for location, of in self.accesses.items()}
        alone = {location: array for location, (array, *others) in arrays.items() if not others}
        return {
            index: alone[location]
            for index, location in self._places_in(program).items()
            if alone.get(location) is not None and not _may_reach_beyond(program.instructions[index], alone[location])
        }

    def undecided(self, program: Program) -> dict[int, dict[int, SharedArray | None]]:
        """By the index of an access of the machine code at a place of several variables, some of them arrays, what it
        may come from.

        ptxas moves accesses, also to places where the PTX has none: such a one may come from any of its kind.
        """
        may_be = {location: self._by_lanes(of) for location, of in self.accesses.items() if len(set(of.values())) > 1}
        of_kind = {writes: self._of_kind(writes) for writes in (False, True)}
        undecided = {
            index: may_be[location] if location in may_be else of_kind[location[1]]
            for index, location in self._places_in(program).items()
            if (location in may_be or location not in self.accesses) and _has_address(program.instructions[index])
        }
        return {
            index: of
            for index, of in undecided.items()
            if any(array is not None and array.bytes > LARGEST_VARIABLE for array in of.values())
        }

    def alike(self, program: Program, index: int) -> dict[int, dict[int, SharedArray | None]]:
        """By the index of each access of the machine code at the place of this one, the accesses of that kind in the
        whole of the PTX."""
        places = self._places_in(program)
        of_kind = self._of_kind(places[index][1])
        return {
            other: of_kind
            for other, location in places.items()
            if location == places[index] and _has_address(program.instructions[other])
        }

    def may_be_of_strength(self, program: Program) -> dict[int, dict[int, Strength]]:
        """By the index of an access of the machine code, where that does not say how strong it is, what it may come
        from: by the index of a PTX instruction the strength of that."""
        may_be = {}
        for index, location in self._places_in(program).items() if self.strengths_at else ():
            instruction = program.instructions[index]
            if location in self.strengths_at and not instruction.opcode.startswith("ATOM"):
                may_be[index] = {
                    number: strength
                    for number, strength in self.strengths_at[location].items()
                    if number in self.strengths or not instruction.strong
                }
        return may_be

    def _of_kind(self, writes: bool) -> dict[int, SharedArray | None]:
        """The accesses of the whole PTX that write, or that read, each with its array."""
        of_kind: dict[int, SharedArray | None] = {}
        for (_, of_place), accesses in self.accesses.items():
            if of_place == writes:
                of_kind |= self._by_lanes(accesses)
        return of_kind

    def _by_lanes(self, accesses: dict[int, SharedArray | None]) -> dict[int, SharedArray | None]:
        return {index: array for index, array in accesses.items() if index in self.by_lanes}

    @staticmethod
    def _places_in(program: Program) -> dict[int, Site]:
        return {
            i.index: (i.line, not i.opcode.startswith("LD"))
            for i in program.instructions
            if i.opcode.startswith(MACHINE_ACCESSES)
        }


@uncollected
def find(kernel: CompiledKernel) -> Pointers:
    """The pointers of a kernel, whichever level it is executed at."""
    module = ptx.parse(kernel.ptx)
    function = module.functions.get(kernel.lowered_name)
    if function is None:
        return Pointers(written=None)
    variables = {v.name: v for v in (*module.variables, *function.variables)}
    text = link(module, function)
    offsets, _ = shared_layout(module, function, text.starts, kernel.debug)
    shared_variables = [v for v in variables.values() if v.space == "shared"]
    end = max((offsets[v.name] + v.bytes_ for v in shared_variables if v.bytes_ and v.name in offsets), default=0)
    # The compiler may end with what the largest alignment asks for, of a variable that is used or not.
    if not end <= kernel.shared_bytes < end + max((16, *(v.align for v in shared_variables))):
        offsets = {}  # the machine code does not keep the variables that PTX declares
    arrays = {
        name: SharedArray(name, offset, variables[name].bytes_) for name, offset in offsets.items() if name in variables
    }
    parameters = {
        name: parameter.name for (name, _, _), parameter in zip(function.parameters, kernel.parameters, strict=True)
    }
    origins = origins_of(function, parameters, set(variables))
    passed = {parameter.name for parameter in kernel.parameters if parameter.is_pointer}
    written: set[str] = set()
    updated: dict[str, None] = {}
    shared: dict[int, SharedArray] = {}
    accesses: dict[Site, dict[int, SharedArray | None]] = {}
    by_lanes: set[int] = set()
    of_atomics: set[SharedArray | None] = set()
    has_halves = False
    in_shared_memory: dict[int, Site] = {}
    masks: dict[int, set[int]] = {}
    constants: dict[str, Immediate] | None = None
    for index, statement in enumerate(function.statements):
        if statement.opcode[0] in WARP_FUNCTIONS and "sync" in statement.opcode or "warp" in statement.opcode:
            last = statement.operands[-1] if statement.operands else None
            if isinstance(last, Register):
                constants = _constants(function) if constants is None else constants
                last = constants.get(last.name)
            known = int(last.value) & EVERY_LANE if isinstance(last, Immediate) else EVERY_LANE
            masks.setdefault(statement.line, set()).add(known)
        if statement.opcode[0] not in ACCESSES or "param" in statement.opcode:
            continue
        address = next((o for o in statement.operands if isinstance(o, Address)), None)
        if address is None:
            continue
        reached = _of(address, origins, parameters, variables)
        touched = [arrays[name] for name in reached if name in arrays]
        only = touched[0] if len(touched) == 1 and ANYTHING not in reached and touched[0].bytes else None
        if only is not None:
            shared[index] = only
        if touched or ANYTHING in reached or not reached:
            place_in_source = (statement.line, not _loads(statement))
            accesses.setdefault(place_in_source, {})[index] = only
            if statement.name == "mbarrier" or _becomes_a_loop(statement):
                accesses.setdefault((statement.line, False), {})[index] = only
            if statement.name in OF_THREADS:
                by_lanes.add(index)
            if statement.name in ATOMIC:
                of_atomics.add(only)
                has_halves |= statement.opcode[-1] in HALVES
            if statement.name in OF_THREADS and not OTHER_SPACES.intersection(statement.opcode):
                in_shared_memory[index] = place_in_source
        if _puts_in_bulk(statement.opcode):
            written |= reached or {ANYTHING}
        in_shared = any(part.split("::")[0] in ("shared", "local") for part in statement.opcode)
        if (statement.opcode[0] in WRITES or statement.opcode[:2] == ("wmma", "store")) and not in_shared:
            written |= reached or {ANYTHING}
            if statement.opcode[0] in ATOMIC:
                met = reached & {*variables, *(passed if _answer_is_used(statement, function) else ())}
                updated |= dict.fromkeys(name_in_source(symbol) for symbol in sorted(met))
    if any(s.opcode[0] == "call" and not _harmless(s) for s in function.statements):
        written.add(ANYTHING)  # what the called function writes is not looked at
    ordered = tuple(sorted(arrays.values(), key=lambda array: array.offset))
    for index in range(len(function.statements), len(text.function.statements)):  # of functions that are called
        statement = text.function.statements[index]
        if statement.name in OF_THREADS and not OTHER_SPACES.intersection(statement.opcode):
            in_shared_memory[index] = (statement.line, not _loads(statement))
    reached_by = {index: shared.get(index) for index in in_shared_memory}
    strengths = of_statements(text.function, reached_by, text.starts.values())
    strengths_at: dict[Site, dict[int, Strength]] = {in_shared_memory[index]: {} for index in strengths}
    for index, where in in_shared_memory.items() if strengths else ():
        if where in strengths_at and text.function.statements[index].name not in ATOMIC:
            strengths_at[where][index] = strengths.get(index, Strength.PLAIN)
    differ = any(len(of_line) > 1 for of_line in masks.values())
    constant = {line: mask for line, (mask, *others) in masks.items() if not others and mask != EVERY_LANE}
    return Pointers(
        None if ANYTHING in written else frozenset(written), ordered, shared, accesses, frozenset(by_lanes),
        frozenset(of_atomics if has_halves else ()), tuple(updated), constant, differ, strengths, strengths_at,
    )  # fmt: skip


def _may_reach_beyond(access: Instruction, array: SharedArray) -> bool:
    """Whether an access of machine code may be to more than the array that its line names.

    The compiler makes one store of several, and what is atomic for 16 bits updates a word, whatever else lies in it.
    """
    parts = access.opcode.split(".")
    width = next((bits // 8 for bits in (64, 128) if str(bits) in parts), 4)
    return width > max(4, array.bytes) or (parts[0].startswith("ATOM") and (array.offset | array.bytes) % 4 != 0)


def _has_address(access: Instruction) -> bool:
    """Whether it is the lanes' own addresses in shared memory that are accessed, not rows that some of them name."""
    return not access.opcode.startswith(("LDSM", "STSM", "ATOMG"))


def _becomes_a_loop(access: ptx.Statement) -> bool:
    """Whether machine code does this atomic operation by a loop of a load and a compare-and-swap, as it has none on
    numbers of these types in shared memory."""
    return access.opcode[0] in ATOMIC and access.opcode[-1] not in IN_ONE_STEP


def _puts_in_bulk(opcode: tuple[str, ...]) -> bool:
    """Whether a copy in bulk goes to global memory: cp.async.bulk.global.…, cp.reduce.async.bulk.global.…"""
    return opcode[0] == "cp" and "bulk" in opcode and opcode[opcode.index("bulk") + 1 :][:1] == ("global",)


def _loads(access: ptx.Statement) -> bool:
    return access.opcode[0].startswith("ld") or access.opcode[:2] == ("wmma", "load")


def _answer_is_used(atomic: ptx.Statement, function: ptx.Function) -> bool:
    """Whether another instruction names the register that an atomic operation returns into."""
    answer = atomic.operands[0] if atomic.opcode[0] == "atom" else None
    if not isinstance(answer, Register):
        return False
    name = re.compile(re.escape(answer.name) + r"\b")
    return any(name.search(other.text) for other in function.statements if other is not atomic)


def name_in_source(variable: str) -> str:
    """A variable's own name: `parts` for `_ZZ4workILi32EEvPfE5parts`, which is static in the function work<32>.

    One of a namespace has that before it: `conv::weights` for `_ZN4conv7weightsE`.
    """
    for match in re.finditer(r"E(\d+)", variable) if variable.startswith("_ZZ") else ():
        length, rest = int(match[1]), variable[match.end() :]
        if re.fullmatch(r"(_\d+)?", rest[length:]) and len(rest) >= length > 0:
            return rest[:length]
    if variable.startswith("_ZN"):
        parts, rest = [], variable[3:]
        while match := re.match(r"\d+", rest):
            end = match.end() + int(match[0])
            parts.append(rest[match.end() : end])
            rest = rest[end:]
        named = [part for part in parts if not part.startswith(("_INTERNAL_", "_GLOBAL__N_"))]  # the rest has a name
        if named and re.fullmatch(r"E|I.*EE", rest):
            return "::".join(named)
    if match := re.match(r"_Z(\d+)", variable):  # of a template
        return variable[match.end() : match.end() + int(match[1])] or variable
    return variable


def _symbols(statement: ptx.Statement):
    for operand in statement.operands:
        base = operand.base if isinstance(operand, Address) else operand
        if isinstance(base, Symbol):
            yield base


def _harmless(call: ptx.Statement) -> bool:
    """Whether a call is printf's or assert's."""
    return any(symbol.name in ("vprintf", "__assertfail") for symbol in _symbols(call))


def _of(operand, origins: dict[str, set[str]], parameters: dict[str, str], variables) -> set[str]:
    """The arrays that an operand may carry a pointer into."""
    if isinstance(operand, Register):
        return origins.get(operand.name, set())
    if isinstance(operand, Symbol):
        return {parameters.get(operand.name, operand.name)} if operand.name in (*parameters, *variables) else set()
    if isinstance(operand, Address):
        return _of(operand.base, origins, parameters, variables)
    if isinstance(operand, Vector):
        return set().union(*(_of(item, origins, parameters, variables) for item in operand.items))
    return set()


def _constants(function: ptx.Function) -> dict[str, Immediate]:
    """By register the constant that it holds, of those that are written once."""
    written: dict[str, list] = {}
    for statement in function.statements:
        for register in _registers(statement.operands[0]) if statement.operands else ():
            written.setdefault(register, []).append(statement)
    moves = {
        register: only.operands[1]
        for register, (only, *more) in written.items()
        if not more and only.opcode[0] == "mov"
    }
    return {register: value for register, value in moves.items() if isinstance(value, Immediate)}


def origins_of(function: ptx.Function, parameters: dict[str, str], variables: set[str]) -> dict[str, set[str]]:
    """By register, everything that may have flowed into it, whatever the order of execution."""
    origins: dict[str, set[str]] = {}
    flows: dict[str, list[list[str]]] = {}  # by register, the targets of the statements that read it
    for statement in function.statements:
        name = statement.opcode[0]
        if name in WITHOUT_RESULT or (statement.opcode[-1] in FLOATS and name in ARITHMETIC) or not statement.operands:
            continue
        target, *sources = statement.operands
        targets = [r for r in _registers(target) if ptx.TYPE_BYTES.get(function.registers.get(r, ""), 0) >= 4]
        if not targets:
            continue
        if name in ("ld", "ldu", "atom", "shfl") and "param" not in statement.opcode:
            reached = {ANYTHING} if any(ptx.TYPE_BYTES[function.registers[r]] == 8 for r in targets) else set()
        else:
            reached = set().union(*(_of(source, {}, parameters, variables) for source in sources))
            for source in sources:
                for register in _registers(source.base if isinstance(source, Address) else source):
                    flows.setdefault(register, []).append(targets)
        for register in targets if reached else ():
            origins.setdefault(register, set()).update(reached)
    changed = list(origins)
    while changed:
        register = changed.pop()
        for targets in flows.get(register, ()):
            for target in targets:
                known = origins.setdefault(target, set())
                if not origins[register] <= known:
                    known |= origins[register]
                    changed.append(target)
    return origins


def _registers(operand) -> list[str]:
    if isinstance(operand, Vector):
        return [name for item in operand.items for name in _registers(item)]
    return [operand.name] if isinstance(operand, Register) else []
