"""PTX text → statements: the syntax of the language, none of its meaning.

Reference: PTX ISA, chapters 4 (syntax), 5 (state spaces and types) and 10 (directives).
"""

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod

TYPE_BYTES = {
    **dict.fromkeys(("b8", "u8", "s8"), 1),
    **dict.fromkeys(("b16", "u16", "s16", "f16", "bf16"), 2),
    **dict.fromkeys(("b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32"), 4),
    **dict.fromkeys(("b64", "u64", "s64", "f64", "f32x2"), 8),
    "b128": 16,
    "pred": 1,
}


@dataclass(frozen=True, slots=True)
class Register:
    """A register; of video instructions maybe some `part` of it, "b0" of `%r1.b0`."""

    name: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Special:
    """A special register, `%tid.x` or `%laneid`."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant; `value` is an int, or a float for `0f3F800000` and `0d…` (`bits` then holds the pattern)."""

    value: int | float
    bits: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """The name of a label, a parameter, a function or a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Vector:
    """`{%f1, %f2}`; also the two destinations of `setp … %p|%q`, as `pair=True`."""

    items: tuple
    pair: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`; `base` is a Register, a Symbol or an Immediate.

    `coordinates` are what textures, surfaces and tensors have after it, `[%rd1, {%f2, %f3}]`.
    """

    base: "Operand"
    offset: int
    coordinates: tuple["Operand", ...] = ()


@dataclass(frozen=True, slots=True)
class Not:
    """`!%p`, the negated predicate."""

    register: Register


@dataclass(frozen=True, slots=True)
class Minus:
    """`-%r1`, the negated factor or addend of a video instruction."""

    register: Register


@dataclass(frozen=True, slots=True)
class Other:
    """An operand whose syntax is not read here, as it stands in the text."""

    text: str


Operand = Register | Special | Immediate | Symbol | Vector | Address | Not | Minus | Other


class Statement:
    """One PTX instruction: `@guard opcode operands;` and the source line it was compiled from (0: unknown).

    In a function that was inlined, `called_from` holds the lines of its call, of that function's call, and so on.
    Operands are parsed when they are first read: a search for pointers reads few of a kernel's.
    """

    __slots__ = ("_operands", "called_from", "guard", "line", "opcode", "text")

    def __init__(
        self,
        opcode: tuple[str, ...],
        operands: str | tuple[Operand, ...],
        guard: Register | Not | None,
        line: int,
        text: str,
        called_from: tuple[int, ...] = (),
    ) -> None:
        self.opcode = opcode
        self._operands = operands
        self.guard = guard
        self.line = line
        self.text = text
        self.called_from = called_from

    @property
    def operands(self) -> tuple[Operand, ...]:
        """What stands behind the opcode."""
        if isinstance(self._operands, str):
            self._operands = tuple(map(parse_operand, split_operands(self._operands)))
        return self._operands

    def with_operands(self, operands: tuple[Operand, ...], guard: Register | Not | None) -> "Statement":
        """The same instruction with other operands and another guard."""
        return Statement(self.opcode, operands, guard, self.line, self.text, self.called_from)

    def rename(self, names: Mapping[str, str], kind: type) -> None:
        """Put the names of a scope, as operands of `kind`, in place of those in the text."""
        self._operands = tuple(_renamed(operand, names, kind) for operand in self.operands)

    @property
    def name(self) -> str:
        """The instruction's name: "add" of add.rn.f32."""
        return self.opcode[0]

    @property
    def type(self) -> str:
        """The last word of the opcode, which is the type of most instructions: "f32" of add.rn.f32."""
        return self.opcode[-1]

    @property
    def modifiers(self) -> tuple[str, ...]:
        """The words between the name and the type: ("rn",) of add.rn.f32."""
        return self.opcode[1:-1]


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address in a variable's initial value, which is not known before the module is loaded.

    In the `bytes_` bytes from `offset` on stand the lowest of (the address of `name` + `addend`) >> `shift`.
    """

    offset: int
    name: str
    addend: int = 0
    bytes_: int = 8
    shift: int = 0

    def put(self, data, address: int) -> None:
        """Write the address of `name` into a variable's bytes: a bytearray or an array of uint8."""
        value = (address + self.addend) >> self.shift & ((1 << 8 * self.bytes_) - 1)
        data[self.offset : self.offset + self.bytes_] = bytearray(value.to_bytes(self.bytes_, "little"))


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a state space: `bytes_` long (0: sized by the launch), with its initial contents if it has any.

    `pointers` are the addresses of functions and variables among its contents, in whose place `data` has zeros;
    `unread` is the first element of the text that is not understood, "" if all are; `type` is that of an element.
    """

    name: str
    space: str
    align: int
    bytes_: int
    data: bytes | None = None
    pointers: tuple[Pointer, ...] = ()
    unread: str = ""
    type: str = "b8"

    @property
    def may_hold_pointers(self) -> bool:
        """Whether kernels may keep addresses in it; of a struct that is not known."""
        return self.space == "global" and self.type in ("u64", "s64", "b64")


def reached_from(names: Iterable[str], variables: Mapping[str, Variable]) -> Iterator[Variable]:
    """The variables of these names, and those whose addresses their initial values lead to, each once."""
    todo, seen = list(names), set()
    while todo:
        name = todo.pop()
        if name in variables and name not in seen:
            seen.add(name)
            yield variables[name]
            todo += [pointer.name for pointer in variables[name].pointers]


@dataclass(slots=True)
class Function:
    """A kernel (`.entry`), or a function that kernels call (`.func`): registers by name, statements and labels.

    `parameters` are in order, as (name, type, bytes). `passed` holds what a called function returns and after it what
    it is given; `arguments`, by name, what a text that calls others declares for that: variables of the space param.
    `unplaced` are the statements, by index, at whose line the machine code need not have them: those that the compiler
    made for no line of the source, such as the loop of a memset, have that of the statement before, and those of a
    header that of the call, which nvdisasm may leave out.
    """

    name: str
    parameters: list[tuple[str, str, int]] = field(default_factory=list)
    passed: list[Variable] = field(default_factory=list)
    arguments: dict[str, Variable] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branch_tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unplaced: set[int] = field(default_factory=set)
    max_threads: int | None = None
    file: int = 0  # number of the `.file` that the kernel is written in


@dataclass(slots=True)
class Module:
    """All kernels of one PTX text, the functions that they call and the variables that they share."""

    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    called: dict[str, Function] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)


_SPECIAL = re.compile(
    r"%(?:n?tid|n?ctaid|cluster_n?ctaid|n?clusterid)\.[xyz]$"
    r"|%(?:cluster_n?ctarank|is_explicit_cluster|laneid|warpid|nwarpid|smid|nsmid|gridid|envreg[12]|clock|clock64|clock_hi|globaltimer|globaltimer_lo|globaltimer_hi"
    r"|lanemask_(?:eq|le|lt|ge|gt)|dynamic_smem_size|total_smem_size|reserved_smem_offset_1)$|WARP_SZ$"
)
_OF_COMPILER = re.compile(r"%(?:p|rs|r|rd|f|fd)\d+$")  # a register as NVRTC names them
_VARIABLE = re.compile(
    r"(?:\.(?:visible|weak|extern|common)\s+)*\.(global|const|shared|local)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)"
    r"\s*(?:\[(\d*)\])?\s*(?:=\s*(.*))?$",
    re.S,
)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr\S*\s+(?:\.\w+\s+(?:\d+\s+)?)*)?([\w$]+)(?:\[(\d+)\])?"
)
_LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*inlined_at\s+(\d+)\s+(\d+))?")
_GUARDED = re.compile(r"@(!?)([%\w$]+)\s+(.*)$")
_REGISTER = re.compile(r"\.reg\s*\.(\w+)\s+(.+)$", re.S)


_BRACKET = re.compile(r"[{\[(]")


def split_operands(text: str) -> list[str]:
    """Split at the commas that are not inside brackets."""
    if not _BRACKET.search(text):
        flat = [part.strip() for part in text.split(",")]
        return flat if flat[-1] else flat[:-1]
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    if text[start:].strip():
        parts.append(text[start:].strip())
    return parts


@lru_cache(maxsize=1 << 14)  # all kernels have registers of the same names
def parse_operand(text: str) -> Operand:
    """One operand; `Other` for what is not read here."""
    text = text.strip()
    if _OF_COMPILER.match(text):
        return Register(text)
    if text.startswith(("{", "(")):
        return Vector(tuple(parse_operand(item) for item in split_operands(text[1:-1])))
    if text.startswith("["):
        base, *coordinates = split_operands(text[1:-1])
        match = re.fullmatch(r"([%\w$.]+)\s*(?:\+\s*(-?\w+))?", base)
        if match is None:
            return Other(text)
        offset = int(match[2].removesuffix("U"), 0) if match[2] else 0
        return Address(parse_operand(match[1]), offset, tuple(parse_operand(item) for item in coordinates))
    if "|" in text:
        return Vector(tuple(parse_operand(item) for item in text.split("|")), pair=True)
    if text.startswith("!"):
        return Not(Register(text[1:].strip()))
    if _SPECIAL.match(text):
        return Special(text)
    if text.startswith("%") or text == "_":
        name, _, part = text.partition(".")
        return Register(name, part)
    if text.startswith("-%"):
        return Minus(parse_operand(text[1:]))
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", text):
        bits = int(text[2:], 16)
        return Immediate(struct.unpack("<f", struct.pack("<I", bits))[0], bits)
    if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", text):
        bits = int(text[2:], 16)
        return Immediate(struct.unpack("<d", struct.pack("<Q", bits))[0], bits)
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?", text):
        literal = text.removesuffix("U")
        octal = re.fullmatch(r"-?0\d+", literal)
        value = int(literal, 8) if octal else int(literal, 0)
        return Immediate(value, value & (2**64 - 1))
    return Symbol(text) if re.fullmatch(r"[\w$.]+", text) else Other(text)


_ADDRESS = re.compile(
    r"(?:(0[xX][fF]+0*)\()?(?:generic\()?\s*([A-Za-z_$][\w$]*)\s*\)?\s*(?:([+-])\s*(-?\w+))?\s*\)?$"
)  # 0xFF00(generic(name)+4)


def _pointer(item: str, offset: int, width: int) -> Pointer | None:
    """The address that an element of an initial value is; None if it is something else."""
    match = _ADDRESS.match(item)
    if match is None:
        return None
    mask, name, sign, number = match.groups()
    addend = int(number, 0) * (-1 if sign == "-" else 1) if number else 0
    shift = 0
    if mask:  # the bits that it has, moved to the lowest place
        shift = (int(mask, 16) & -int(mask, 16)).bit_length() - 1
    return Pointer(offset, name, addend, width, shift)


def _parse_variable(text: str) -> Variable | None:
    match = _VARIABLE.match(text)
    if match is None:
        return None
    space, align, type_, name, count, initial = match.groups()
    if type_ not in TYPE_BYTES:  # a texture, a sampler or a surface
        return None
    width = TYPE_BYTES[type_]
    bytes_ = width if count is None else width * int(count or 0)
    if initial is None:
        return Variable(name, space, int(align or width), bytes_, type=type_)
    data, pointers, unread = bytearray(), [], ""
    for item in split_operands(initial.strip().removeprefix("{").removesuffix("}")):
        operand = parse_operand(item)
        if not isinstance(operand, Immediate):
            pointer = _pointer(item, len(data), width)
            pointers += [pointer] if pointer is not None else []
            unread = unread or ("" if pointer is not None else item)
            operand = Immediate(0, 0)
        data += (operand.bits & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return Variable(name, space, int(align or width), bytes_, bytes(data).ljust(bytes_, b"\0"), tuple(pointers), unread)


def _statements(text: str) -> Iterator[str]:
    """The statements of a module's or a function's text in order, without their `;`; `{`, `}` and labels too."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    # Newlines matter only for the directives that have no semicolon (.loc, .file, .version, …).
    position, length, between = 0, len(text), re.compile(r"[\s;]*")
    one_line = re.compile(
        r"\.(?:loc|file|version|target|address_size|section|maxntid|reqntid|minnctapersm|maxnctapersm|maxnreg|noreturn"
        r"|explicitcluster|reqnctapercluster|maxclusterrank|blocksareclusters)\b[^\n]*"
    )
    label = re.compile(r"[\w$]+:(?!:)")
    without_brackets = re.compile(r"([a-z@][^;:{}()\[\]]*);")  # as most instructions are
    while (position := between.match(text, position).end()) < length:  # type: ignore[union-attr]
        if match := without_brackets.match(text, position):
            yield match[1]
            position = match.end()
            continue
        match = one_line.match(text, position) or label.match(text, position)
        if match:
            yield match.group().strip()
            position = match.end()
            continue
        if text[position] in "{}()":
            yield text[position]
            position += 1
            continue
        depth, end = 0, length
        for bracket in _STRUCTURE.finditer(text, position):
            character, at = bracket[0], bracket.start()
            if character in "{[(":
                # `.entry name(` and a scope's brace are handled by the caller, one piece at a time.
                if depth == 0 and character == "(" and _is_head(text[position:at]):
                    end = at
                    break
                depth += 1
            elif depth == 0:  # a semicolon, or the end of what is around
                end = at
                break
            elif character != ";":
                depth -= 1
        yield text[position:end].strip()
        position = end


def _is_head(text: str) -> bool:
    """Whether what stands before a round bracket is the head of a kernel or of a function."""
    return ".entry" in text or _FUNCTION_HEAD.match(text) is not None


_STRUCTURE = re.compile(r"[{}\[\]();]")
_ENTRY = re.compile(r"[.\w\s]*\.entry\s+([\w$]+)")
_DEVICE_FUNCTION = re.compile(r"[.\w\s]*\.func\b\s*([\w$]+)?")
_FUNCTION_HEAD = re.compile(r"[.\w\s]*\.func\b|(?!call\b)[\w$]+\s*$")  # `.func` before what it returns, then its name
_PROTOTYPE = re.compile(r"(?:[\w$]+\s*:\s*)?\.call(?:prototype|targets)\b")  # of a call through a pointer


@lru_cache(maxsize=8)
def parse(text: str) -> Module:
    """Parse a whole PTX module. The result is shared by all callers with the same text: do not change it."""
    module = Module()
    body: _Body | None = None  # what is being read
    for statement in _statements(text):
        if body is not None and body.scopes:
            if statement == "{":
                body.open_scope()
            elif statement != "}":
                body.add(statement)
            elif body.close_scope():
                body.functions[body.function.name] = body.function
                body = None
        elif match := re.match(r'\.file\s+(\d+)\s+"([^"]+)"', statement):
            module.files[int(match[1])] = match[2]
        elif match := _ENTRY.match(statement):
            body = _Body(Function(match[1]), module.functions)
        elif match := _DEVICE_FUNCTION.match(statement):
            body = _Body(Function(match[1] or ""), module.called)
        elif body is not None and statement == "{":
            body.open_scope()
        elif body is not None and body.add_header(statement):
            pass
        elif statement.startswith(".target"):
            module.target = statement.split()[1].rstrip(",")
        elif variable := _parse_variable(statement):
            module.variables.append(variable)
    return module


_BEGINNINGS = (".global", ".const", ".shared", ".local", ".visible", ".weak", ".extern", ".common", ".target")


def _passed(match: re.Match) -> Variable:
    """A parameter that _PARAMETER has found."""
    align, type_, name, count = match.groups()
    width = TYPE_BYTES.get(type_, 0)
    return Variable(name, "param", int(align or width or 1), width * int(count or 1))


class _Body:
    """The statements of one kernel or function, read one after the other; it belongs to `functions`.

    Braces open a scope, as inline PTX does for registers and labels of its own. Their names are made unique as
    `name@scope`, because every use of such a piece declares the same names again.
    """

    def __init__(self, function: Function, functions: dict[str, Function]) -> None:
        self.function = function
        self.functions = functions
        self.line = 0
        self.is_placed = True
        self.called_from: tuple[int, ...] = ()
        self.calls: dict[int, tuple[int, ...]] = {}  # by line, where its function was called from the last time
        self.scopes: list[_Scope] = []
        self.count = 0

    def open_scope(self) -> None:
        self.count += 1
        self.scopes.append(_Scope(self.count, len(self.function.statements)))

    def close_scope(self) -> bool:
        """True at the end of the body. Labels may be used before they are defined: they are renamed here."""
        scope = self.scopes.pop()
        if scope.labels:
            for statement in self.function.statements[scope.start :]:
                statement.rename(scope.labels, Symbol)
        return not self.scopes

    def add_header(self, statement: str) -> bool:
        """What stands between `.entry` or `.func` and the body; False for what does not belong to it any more."""
        if statement.startswith((".maxntid", ".reqntid")):
            self.function.max_threads = prod(int(size) for size in re.findall(r"\d+", statement))
        elif statement.startswith(".param"):
            for piece in split_operands(statement):
                if match := _PARAMETER.match(piece):
                    passed = _passed(match)
                    self.function.parameters.append((passed.name, match[2], passed.bytes_))
                    self.function.passed.append(passed)
        elif not self.function.name and re.fullmatch(r"[\w$]+", statement):
            self.function.name = statement
            self.function.parameters.clear()  # that was what it returns
        else:
            return not statement.startswith(_BEGINNINGS)
        return True

    def add(self, statement: str) -> None:
        """One statement."""
        function = self.function
        if (
            statement[0] not in "._$()"
            and statement[-1] != ":"
            and not (".call" in statement and _PROTOTYPE.match(statement))
        ):
            self._instruction(" ".join(statement.split()))
        elif match := _LOCATION.match(statement):
            self._location(match)
        elif statement.endswith(":"):
            name = statement[:-1]
            if len(self.scopes) > 1:
                self.scopes[-1].labels[name] = name = f"{name}@{self.scopes[-1].number}"
            function.labels[name] = len(function.statements)
        elif match := _REGISTER.match(statement):
            for piece in split_operands(match[2]):
                self._declare(piece, match[1])
        elif match := _PARAMETER.match(statement):
            self._declare_argument(_passed(match))
        elif statement.startswith((".pragma", ".maxntid")) or statement in "()" or _PROTOTYPE.match(statement):
            pass
        elif variable := _parse_variable(statement):
            function.variables.append(variable)
        elif match := re.match(r"\.branchtargets\s+(.*)$", statement, re.S):
            name = next(label for label, at in reversed(function.labels.items()) if at == len(function.statements))
            function.branch_tables[name] = tuple(split_operands(match[1]))
        else:
            self._instruction(" ".join(statement.split()))

    def _location(self, match: re.Match) -> None:
        file, number, inlined_file, inlined_line = (int(part or 0) for part in match.groups())
        self.function.file = self.function.file or file
        own, inlined_own = file == self.function.file, inlined_file == self.function.file and inlined_line > 0
        called_from = (inlined_line, *self.calls.get(inlined_line, ())) if inlined_own else ()
        if own:
            self.calls[number] = called_from
        else:
            # Code of a header that was inlined belongs to the line of the kernel's own file that called it.
            number, called_from = inlined_line if inlined_own else 0, called_from[1:]
        self.is_placed = own and number > 0
        if number:
            self.line, self.called_from = number, called_from

    def _declare(self, piece: str, type_: str) -> None:
        if ranged := re.fullmatch(r"([%\w$]+)<(\d+)>", piece):
            names = [f"{ranged[1]}{i}" for i in range(int(ranged[2]))]
        else:
            names = [piece]
        for name in names:
            unique = name
            if len(self.scopes) > 1:
                self.scopes[-1].registers[name] = unique = f"{name}@{self.scopes[-1].number}"
            elif not name.startswith("%"):  # otherwise read as the name of something else
                self.scopes[-1].registers[name] = name
            self.function.registers[unique] = type_

    def _declare_argument(self, argument: Variable) -> None:
        """What a call passes. Every call has a scope of its own, and in it the same names."""
        scope = self.scopes[-1]
        scope.arguments[argument.name] = unique = f"{argument.name}@{scope.number}"
        self.function.arguments[unique] = replace(argument, name=unique)

    def _instruction(self, text: str) -> None:
        names: dict[str, str] = {}
        arguments: dict[str, str] = {}
        for scope in self.scopes:
            if scope.registers:
                names |= scope.registers
            if scope.arguments:
                arguments |= scope.arguments
        guard, body = None, text
        if text[0] == "@" and (match := _GUARDED.match(text)):
            register = Register(names.get(match[2], match[2]))
            guard, body = (Not(register) if match[1] else register), match[3]
        opcode, _, operands = body.partition(" ")
        statement = Statement(_words(opcode), operands, guard, self.line, text, self.called_from)
        if names:
            statement.rename(names, Register)
        if arguments:
            statement.rename(arguments, Symbol)
        if not self.is_placed:
            self.function.unplaced.add(len(self.function.statements))
        self.function.statements.append(statement)


@lru_cache(maxsize=1024)
def _words(opcode: str) -> tuple[str, ...]:
    return tuple(opcode.split("."))


@dataclass(slots=True)
class _Scope:
    """The names that a pair of braces declares, and the statement that it starts with."""

    number: int
    start: int
    registers: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)


def _renamed(operand: Operand, names: Mapping[str, str], kind: type) -> Operand:
    """The operand with the names of a scope in place of those in the text, as operands of `kind`."""
    if isinstance(operand, Register) and operand.part:
        return replace(operand, name=names.get(operand.name, operand.name))
    if isinstance(operand, Minus):
        return Minus(_renamed(operand.register, names, Register))
    if isinstance(operand, Symbol | Register):
        return kind(names[operand.name]) if operand.name in names else operand
    if isinstance(operand, Not):
        return Not(_renamed(operand.register, names, Register))
    if isinstance(operand, Vector):
        return Vector(tuple(_renamed(item, names, kind) for item in operand.items), operand.pair)
    if isinstance(operand, Address):
        coordinates = tuple(_renamed(item, names, kind) for item in operand.coordinates)
        return Address(_renamed(operand.base, names, kind), operand.offset, coordinates)
    return operand
