"""PTX text → statements: the syntax of the language, none of its meaning.

Reference: PTX ISA, chapters 4 (syntax), 5 (state spaces and types) and 10 (directives).
"""

import re
import struct
from dataclasses import dataclass, field

TYPE_BYTES = {
    **dict.fromkeys(("b8", "u8", "s8"), 1),
    **dict.fromkeys(("b16", "u16", "s16", "f16", "bf16"), 2),
    **dict.fromkeys(("b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32"), 4),
    **dict.fromkeys(("b64", "u64", "s64", "f64"), 8),
    "b128": 16,
    "pred": 1,
}


@dataclass(frozen=True, slots=True)
class Register:
    name: str


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
    """`[base + offset]`; `base` is a Register, a Symbol or an Immediate."""

    base: "Operand"
    offset: int


@dataclass(frozen=True, slots=True)
class Not:
    """`!%p`, the negated predicate."""

    register: Register


Operand = Register | Special | Immediate | Symbol | Vector | Address | Not


@dataclass(frozen=True, slots=True)
class Statement:
    """One PTX instruction: `@guard opcode operands;` and the source line it was compiled from (0: unknown)."""

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | Not | None
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a state space: `bytes_` long (0: sized by the launch), with its initial contents if it has any."""

    name: str
    space: str
    align: int
    bytes_: int
    data: bytes | None = None


@dataclass(slots=True)
class Function:
    """A kernel (`.entry`): parameters in order as (name, type, bytes), registers by name, statements and labels."""

    name: str
    parameters: list[tuple[str, str, int]] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branch_tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    max_threads: int | None = None
    file: int = 0  # number of the `.file` that the kernel is written in


@dataclass(slots=True)
class Module:
    """All kernels of one PTX text and the variables that they share."""

    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)


_SPECIAL = re.compile(
    r"%(?:n?tid|n?ctaid|cluster_n?ctaid|n?clusterid)\.[xyz]$"
    r"|%(?:laneid|warpid|nwarpid|smid|nsmid|gridid|clock|clock64|clock_hi|globaltimer|globaltimer_lo|globaltimer_hi"
    r"|lanemask_(?:eq|le|lt|ge|gt)|dynamic_smem_size|total_smem_size)$|WARP_SZ$"
)
_VARIABLE = re.compile(
    r"(?:\.(?:visible|weak|extern|common)\s+)*\.(global|const|shared|local)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+([\w$]+)"
    r"\s*(?:\[(\d*)\])?\s*(?:=\s*(.*))?$",
    re.S,
)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr\S*\s+(?:\.\w+\s+)*)?([\w$]+)(?:\[(\d+)\])?"
)
_LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*inlined_at\s+(\d+)\s+(\d+))?")
_REGISTER = re.compile(r"\.reg\s+\.(\w+)\s+(.+)$", re.S)


def split_operands(text: str) -> list[str]:
    """Split at the commas that are not inside brackets."""
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


def parse_operand(text: str) -> Operand:
    """One operand; ValueError if it is none."""
    text = text.strip()
    if text.startswith(("{", "(")):
        return Vector(tuple(parse_operand(item) for item in split_operands(text[1:-1])))
    if text.startswith("["):
        inner = text[1:-1].strip()
        match = re.fullmatch(r"([%\w$.]+)\s*(?:\+\s*(-?\w+))?", inner)
        if match is None:
            raise ValueError(f"not an address: {text}")
        return Address(parse_operand(match[1]), int(match[2], 0) if match[2] else 0)
    if "|" in text:
        return Vector(tuple(parse_operand(item) for item in text.split("|")), pair=True)
    if text.startswith("!"):
        return Not(Register(text[1:].strip()))
    if _SPECIAL.match(text):
        return Special(text)
    if text.startswith("%") or text == "_":
        return Register(text)
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
    return Symbol(text)


def _parse_initial(text: str | None, type_: str, bytes_: int) -> bytes | None:
    """The bytes of `{1, 2, 3}` or of a single constant; None if the variable has no initial value."""
    if text is None:
        return None
    items = split_operands(text.strip().removeprefix("{").removesuffix("}"))
    width = TYPE_BYTES[type_]
    data = bytearray()
    for item in items:
        operand = parse_operand(item)
        if not isinstance(operand, Immediate):
            raise ValueError(f"an initial value that is an address ({item})")
        data += (operand.bits & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return bytes(data).ljust(bytes_, b"\0")


def _parse_variable(text: str) -> Variable | None:
    match = _VARIABLE.match(text)
    if match is None:
        return None
    space, align, type_, name, count, initial = match.groups()
    width = TYPE_BYTES[type_]
    bytes_ = width if count is None else width * int(count or 0)
    return Variable(name, space, int(align or width), bytes_, _parse_initial(initial, type_, bytes_))


def _statements(text: str):
    """Yield (statement text without its `;`, in order) of a module's or a function's text; `{`, `}` and labels too."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    # Newlines matter only for the directives that have no semicolon (.loc, .file, .version, …).
    position, length = 0, len(text)
    one_line = re.compile(
        r"\.(?:loc|file|version|target|address_size|maxntid|reqntid|minnctapersm|maxnreg|section)\b[^\n]*"
    )
    label = re.compile(r"[\w$]+:(?!:)")
    while position < length:
        if text[position].isspace() or text[position] == ";":
            position += 1
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
        end, depth = position, 0
        while end < length:
            character = text[end]
            if character in "{[(":
                # `.entry name(` and a scope's brace are handled by the caller, one piece at a time.
                if depth == 0 and character == "(" and ".entry" in text[position:end] + " ":
                    break
                if depth == 0 and character == "(" and re.match(r"[.\w\s]*\.func\b", text[position:end]):
                    break
                depth += 1
            elif character in "}])":
                if depth == 0:
                    break
                depth -= 1
            elif character == ";" and depth == 0:
                break
            end += 1
        yield text[position:end].strip()
        position = end


def parse(text: str) -> Module:
    """Parse a whole PTX module."""
    module = Module()
    function: Function | None = None
    state, depth, line = "module", 0, 0
    header = ""
    for statement in _statements(text):
        if statement.startswith(".file"):
            match = re.match(r'\.file\s+(\d+)\s+"([^"]+)"', statement)
            if match:
                module.files[int(match[1])] = match[2]
        elif state == "module":
            if statement.startswith(".target"):
                module.target = statement.split()[1].rstrip(",")
            elif ".entry" in statement:
                function = Function(re.search(r"\.entry\s+([\w$]+)", statement)[1])
                state = "header"
            elif re.match(r"[.\w\s]*\.func\b", statement):
                state, header = "prototype", statement
            elif variable := _parse_variable(statement):
                module.variables.append(variable)
        elif state == "prototype":
            # A device function that was not inlined (or a declaration such as vprintf): skipped up to its end.
            if statement == "{":
                depth += 1
            elif statement == "}":
                depth -= 1
                state = "module" if depth == 0 else state
            elif depth == 0 and (".entry" in statement or re.match(r"[.\w\s]*\.(?:global|shared|const)\b", statement)):
                state = "module"
                if ".entry" in statement:
                    function = Function(re.search(r"\.entry\s+([\w$]+)", statement)[1])
                    state = "header"
                elif variable := _parse_variable(statement):
                    module.variables.append(variable)
            elif depth == 0 and header and statement not in "()" and not statement.startswith(".param"):
                header = ""
        elif state == "header":
            if statement == "{":
                state, depth, line = "body", 1, 0
            elif statement.startswith((".maxntid", ".reqntid")):
                sizes = [int(size) for size in re.findall(r"\d+", statement)]
                function.max_threads = (
                    sizes[0] * (sizes[1] if len(sizes) > 1 else 1) * (sizes[2] if len(sizes) > 2 else 1)
                )
            else:
                for piece in split_operands(statement):
                    if match := _PARAMETER.match(piece):
                        _, type_, name, count = match.groups()
                        function.parameters.append((name, type_, TYPE_BYTES[type_] * int(count or 1)))
        elif statement == "{":
            depth += 1
        elif statement == "}":
            depth -= 1
            if depth == 0:
                module.functions[function.name] = function
                state = "module"
        else:
            line = _parse_body(function, statement, line)
    return module


def _parse_body(function: Function, statement: str, line: int) -> int:
    """Add one statement of a kernel's body; returns the source line that is valid from here on."""
    if match := _LOCATION.match(statement):
        file, number, inlined_file, inlined_line = (int(part or 0) for part in match.groups())
        function.file = function.file or file
        # Code of a header that was inlined belongs to the line of the kernel's own file that called it.
        if file != function.file:
            number = inlined_line if inlined_file == function.file else 0
        return number or line
    if statement.endswith(":"):
        function.labels[statement[:-1]] = len(function.statements)
    elif match := _REGISTER.match(statement):
        for piece in split_operands(match[2]):
            if ranged := re.fullmatch(r"(%[\w$]+)<(\d+)>", piece):
                function.registers |= {f"{ranged[1]}{i}": match[1] for i in range(int(ranged[2]))}
            else:
                function.registers[piece] = match[1]
    elif statement.startswith((".pragma", ".param", ".maxntid")) or statement in "()":
        pass
    elif variable := _parse_variable(statement):
        function.variables.append(variable)
    elif match := re.match(r"\.branchtargets\s+(.*)$", statement, re.S):
        name = next(label for label, at in reversed(function.labels.items()) if at == len(function.statements))
        function.branch_tables[name] = tuple(split_operands(match[1]))
    else:
        guard = None
        text = " ".join(statement.split())
        if match := re.match(r"@(!?)(%[\w$]+)\s+(.*)$", text):
            guard = Not(Register(match[2])) if match[1] else Register(match[2])
            body = match[3]
        else:
            body = text
        opcode, _, operands = body.partition(" ")
        function.statements.append(
            Statement(
                tuple(opcode.split(".")),
                tuple(parse_operand(item) for item in split_operands(operands)),
                guard,
                line,
                text,
            )
        )
    return line
