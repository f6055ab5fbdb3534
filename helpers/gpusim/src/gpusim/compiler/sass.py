"""SASS text, as nvdisasm prints it → statements: the syntax of the machine code, none of its meaning.

    /*0380*/  @!P1 LEA.HI.X R9, R14, R9.reuse, -R25, 0x2, P2 ;

is one statement: an address, a guard, an opcode with modifiers, and operands. Registers are R (32 bits a thread), UR
(32 bits a warp), P and UP (predicates of a thread and of a warp) and B (convergence barriers). NVIDIA documents the
opcodes ('CUDA Binary Utilities', Instruction Set Reference), not the operands; what they mean is in the simulator.
"""

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import NamedTuple

INSTRUCTION_BYTES = 16  # since compute capability 7.0


@cache
def _register_name(file: str, number: int | None) -> str:
    if number is not None:
        return f"{file}{number}"
    return f"{file}T" if file.endswith("P") else f"{file}Z"


@dataclass(frozen=True, slots=True)
class Register:
    """`-|R5.H0_H0|`, `~R4`, `!P0`, `UR4`, `PR`. `number` is None for RZ, URZ, PT, UPT (and for PR, all predicates)."""

    file: str  # "R", "UR", "P", "UP", "B"
    number: int | None
    negated: bool = False  # -R5, !P0
    absolute: bool = False  # |R5|
    inverted: bool = False  # ~R5
    modifiers: tuple[str, ...] = ()  # ("64",), ("H0_H0",), ("B1",), ("X4",)

    @property
    def name(self) -> str:
        """The register without its modifiers: "R5", "RZ", "UP0", "PT"."""
        return _register_name(self.file, self.number)

    @property
    def is_changed(self) -> bool:
        """Whether it is not read as it is: some part of it, or with another sign."""
        return bool(self.negated or self.absolute or self.inverted or self.modifiers)

    def next(self, distance: int) -> "Register":
        """The register `distance` further: R5 → R6. RZ stays RZ."""
        return self if self.number is None else Register(self.file, self.number + distance)


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number as it is printed: `0x1f`, `-0x1`, `0.5`, `+INF`, `-QNAN`."""

    text: str
    negated: bool = False
    inverted: bool = False

    @property
    def integer(self) -> int:
        """Its value; ValueError for `0.5`."""
        return int(self.text, 0)


@dataclass(frozen=True, slots=True)
class Constant:
    """`c[0x0][0x160]`, or with a register `c[0x3][R0+0x10]`: a word of a constant bank."""

    bank: int
    offset: int
    register: Register | None = None
    negated: bool = False
    absolute: bool = False
    inverted: bool = False
    modifiers: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """As of a Register."""
        return bool(self.negated or self.absolute or self.inverted or self.modifiers)


@dataclass(frozen=True, slots=True)
class Address:
    """`[R2.64+UR4+0x10]`, `desc[UR6][R2.64]`: the sum of registers and an offset. A descriptor changes no address."""

    registers: tuple[Register, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Special:
    """A special register: `SR_TID.X`, `SRZ`."""

    name: str


@dataclass(frozen=True, slots=True)
class Label:
    """A place in the code, `` `(.L_x_1) ``, or the name of a function."""

    name: str


@dataclass(frozen=True, slots=True)
class Name:
    """Anything else, as it stands in the text: `SB0`, `gsb0`, or what is not read here."""

    text: str


Operand = Register | Immediate | Constant | Address | Special | Label | Name


class Statement(NamedTuple):
    """One instruction. `line` is its source line, 0 if it has none.

    In a function that was inlined, `called_from` holds the lines of its call, of that function's call, and so on.
    """

    address: int
    guard: Register | None
    opcode: tuple[str, ...]
    operands: tuple[Operand, ...]
    line: int
    text: str
    called_from: tuple[int, ...] = ()

    @property
    def base(self) -> str:
        """The opcode without modifiers: "IMAD" of IMAD.WIDE.U32."""
        return self.opcode[0]

    def has(self, *modifiers: str) -> bool:
        """Whether the opcode has one of these modifiers."""
        return any(map(self.opcode[1:].__contains__, modifiers))


@dataclass(slots=True)
class Function:
    """The code of a kernel and of the functions that it calls; `labels` maps a name to the index of a statement."""

    statements: list[Statement] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")
_LINE = re.compile(r'\s*//## File "(.*?)", line (\d+)( inlined at)?')
_LABEL = re.compile(r"\s*([.$\w]+):\s*$")
_SECTION = "//----"
_FOR_THE_LINKER = re.compile(r"32@(lo|hi)\((?:\([.$\w]+ \+ ([.$\w]+)@srel\)|([.$\w]+))\)")
_COMMENT = re.compile(r'\(\*".*?"\*\)')
_SEPARATOR = re.compile(r",| (?=[-`]|0x)")
_GUARD = re.compile(r"@(!?)(U?P)(\d|T)\s+")
_REGISTER = re.compile(r"(UR|UP|R|P|B)(\d+|Z|T|R)((?:\.\w+)*)$")
_CONSTANT = re.compile(r"c\[(0x[0-9a-f]+)\]\s*\[(.*)\]((?:\.\w+)*)$")
_NUMBER = re.compile(r"[-+]?(0x[0-9a-f]+|\d+(\.\d+)?(e[-+]?\d+)?|INF|QNAN|SNAN)$", re.IGNORECASE)
_LABEL_OPERAND = re.compile(r"`\((.*)\)$")


class Row(NamedTuple):
    """One instruction as it is printed, with its source line and those of its calls, as in a Statement."""

    address: int
    text: str
    line: int
    called_from: tuple[int, ...]


def rows(text: str, filename: str) -> tuple[list[Row], dict[str, int]]:
    """(the instructions, name → index of the instruction) of a section, as `compiler.disassemble` returns it.

    Code of a header that was inlined belongs to the line of `filename` that called it, as at PTX level. The compiler's
    own functions (the slow paths of division and square root) belong to no line. What fills the code up after the last
    instruction (NOPs and a jump to itself) is kept: nothing reaches it. Where functions have sections of their own,
    addresses go on from one to the next, as a linker would put them.
    """
    found_rows: list[Row] = []
    labels: dict[str, int] = {}
    lines: list[int] = []  # the source line and those of the calls that it was inlined at, in the user's file
    start = 0  # of the section
    is_caller = False  # a location and what it is inlined at are printed on lines of their own
    for printed in text.splitlines():
        if match := _LINE.match(printed):
            if not is_caller:
                lines = []
            if match[1] == filename:
                lines.append(int(match[2]))
            is_caller = bool(match[3])
        elif match := _INSTRUCTION.match(printed):
            instruction = " ".join(_COMMENT.sub("", match[2]).split())
            line, *callers = lines or [0]
            found_rows.append(Row(start + int(match[1], 16), instruction, line, tuple(callers)))
        elif printed.startswith(_SECTION):
            start = len(found_rows) * INSTRUCTION_BYTES
        elif match := _LABEL.match(printed):
            labels[match[1]] = len(found_rows)
            if not match[1].startswith(".L"):
                lines = []  # another function starts
    return [_linked(row, labels) for row in found_rows], labels


def _linked(row: Row, labels: dict[str, int]) -> Row:
    """With the address of a label or of a function where the text leaves it to the linker."""
    if "32@" not in row.text:
        return row

    def address(match: re.Match) -> str:
        if (index := labels.get(match[2] or match[3])) is None:
            return match[0]
        target_byte = index * INSTRUCTION_BYTES
        return hex(target_byte & 0xFFFFFFFF if match[1] == "lo" else target_byte >> 32)

    return row._replace(text=_FOR_THE_LINKER.sub(address, row.text))


def parse(text: str, filename: str) -> Function:
    """The statements of a section, as `rows` finds them."""
    return statements(*rows(text, filename))


def statements(found_rows: list[Row], labels: dict[str, int]) -> Function:
    """The statements of instructions, and the labels of both."""
    statements = []
    for address, text, line, called_from in found_rows:
        guard, opcode, operands = _parts(text)
        statements.append(Statement(address, guard, opcode, operands, line, text, called_from))
    return Function(statements, labels)


@lru_cache(maxsize=1 << 14)  # in a kernel of which a line was changed most instructions are as they were
def _parts(text: str) -> tuple[Register | None, tuple[str, ...], tuple[Operand, ...]]:
    """The guard, the opcode and the operands of an instruction."""
    body, guard = text, None
    if match := _GUARD.match(body):
        guard = Register(match[2], None if match[3] == "T" else int(match[3]), negated=bool(match[1]))
        body = body[match.end() :]
    opcode, _, operands = body.partition(" ")
    return guard, tuple(opcode.split(".")), tuple(map(parse_operand, split_operands(operands)))


def split_operands(text: str) -> list[str]:
    """Split at the commas that are not inside brackets. `BRX R4 -0x100`, `RET.ABS R4 0x0` have two without a comma."""
    if "[" not in text and "(" not in text:
        return [part for part in map(str.strip, _SEPARATOR.split(text)) if part]
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character in "[(":
            depth += 1
        elif character in "])":
            depth -= 1
        elif depth == 0 and (
            character == "," or (character == " " and text[position + 1 : position + 2] in ("-", "`"))
        ):
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


@lru_cache(maxsize=4096)  # a kernel has thousands of operands, but few different ones
def parse_operand(text: str) -> Operand:
    """One operand; a Name for what is not read here."""
    text = text.replace(".reuse", "").strip()
    if match := _LABEL_OPERAND.match(text):
        return Label(match[1])
    if _NUMBER.match(text):
        return Immediate(text)
    if "[" in text and not text.lstrip("-~|").startswith(("c[", "cx[")):
        return _address(text)
    if text.startswith("SR"):
        return Special(text)
    sign, text = _sign(text)
    if _NUMBER.match(text):
        return Immediate(text, negated="-" in sign, inverted="~" in sign)
    flags = {"negated": "-" in sign or "!" in sign, "absolute": "|" in sign, "inverted": "~" in sign}
    if match := _REGISTER.match(text):
        number = int(match[2]) if match[2].isdigit() else None
        modifiers = tuple(match[3].split(".")[1:])
        if match[2] == "R":
            modifiers = ("PR", *modifiers)
        return Register(match[1], number, modifiers=modifiers, **flags)
    if (match := _CONSTANT.match(text)) and (total := _sum(match[2])) and len(total.registers) <= 1:
        bank, register = int(match[1], 16), total.registers[0] if total.registers else None
        return Constant(bank, total.offset, register, modifiers=tuple(match[3].split(".")[1:]), **flags)
    return Name(text)


def _sign(text: str) -> tuple[str, str]:
    """("-|", "R5.H0_H0") of "-|R5|.H0_H0": the signs before an operand, and the operand without them."""
    signs = ""
    while text and text[0] in "-~!+|":
        signs += text[0]
        text = text[1:]
    return signs, text.replace("|", "")


def _address(text: str) -> Address | Name:
    """`[…]`, after a descriptor `desc[UR4]` if there is one."""
    match = re.match(r"(?:g?desc\[\w+\])?\[(.*)\]$", text)
    return (_sum(match[1]) if match else None) or Name(text)


def _sum(text: str) -> Address | None:
    """`R2.64+UR4+-0x10`; None if a term is neither a register nor a number."""
    registers, offset = [], 0
    for item in re.findall(r"[+-]*[^+-]+", text.replace(" ", "")):
        item = item.lstrip("+")
        if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", item):
            offset += int(item, 0)
        elif isinstance(register := parse_operand(item), Register):
            registers.append(register)
        else:
            return None
    return Address(tuple(registers), offset)
