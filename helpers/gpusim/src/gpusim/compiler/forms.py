"""The text of machine instructions without starting nvdisasm, which spends 0.2 s on its own tables at every start.

A form is what many instructions have in common: the bits that are fixed, and the text that nvdisasm prints, with fields
for what the other bits say:

    00000000000000000000000000000223 {@P}FFMA.FTZ {R16}, {R24}, {R32}, {R64}

NVIDIA does not document the encoding, and nothing of it is guessed here. `python -m helpers.tools.forms` takes the
instructions of compiled kernels, and keeps a form only if nvdisasm itself prints what the form says for random values
in all its fields. An instruction without a form has no text here, and then nvdisasm is asked.

The bits that schedule an instruction (105 to 121: stalls, barriers) are in no text. Places are named by what stands
there, the lowest bit and, for numbers, how many bits there are:

- `{@P}`, `{@UP}`: the guard, "@!P0 ", or nothing where it is PT
- `{R16}`, `{U32}`, `{P81}`, `{Q81}`, `{B16}`: R, UR, P, UP or B with a number. The names RZ, URZ, PT and UPT stand in
  the form itself: they often belong to another opcode, such as IMAD.MOV.
- `{x38.16}`, `{s40.24}`: an unsigned or a signed number in hexadecimal digits
- `{f32.32}`, `{h32.16}`, `{d32.32}`: a float, a half, the upper word of a double
- `{t34.48}`, `{b32.32}`: how far it is from the next instruction to the one that is named, `(+0x20)`; the lowest bits
  of a `t` are apart from the others, at 16, and those of a `b` are 0: on Turing they make BRA.CONV of a BRA
- `{o34.48}`: a number with its bits where a `t` has them, which a register is added to, `-0x100`

A place may say what the form is not valid for, such as `{x32.32!1,2,4}`: those belong to another opcode, too.
"""

from __future__ import annotations

import math
import re
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from gpusim.compiler.sass import INSTRUCTION_BYTES

PATH = Path(__file__).with_name("forms.zip")

UNPRINTED = ((1 << 17) - 1) << 105
_USUAL_SCHEDULING = 0xFE200 << 96  # one cycle until the next, no barrier
GUARD_AT, NO_GUARD = 12, 7
GUARD = 0xF << GUARD_AT
_OPCODE, _OPCODE_DIGITS = 0xFFF, 3

_ALL = (1 << 128) - 1
_PRINTED = _ALL & ~UNPRINTED
_REMEMBERED = 1 << 14  # texts: of a kernel of which a line was changed most instructions are as they were
_FIELD = re.compile(r"\{([RUPQBxsfhdtbo])(\d+)(?:\.(\d+))?(?:!([\d,]+))?\}")
_NAMES = {"R": ("R", 8), "U": ("UR", 6), "P": ("P", 3), "Q": ("UP", 3), "B": ("B", 4)}
_NO_NUMBER = {"R": 255, "U": 63, "P": 7, "Q": 7}  # RZ, URZ, PT, UPT
_IN_WORDS = "to"  # kinds that count in words of 4 bytes; their
_LOW_BITS, _LOW_AT = 8, 16  # are apart from the others
_LARGE = 1e9  # from here on nvdisasm prints numbers with an exponent and all their digits


@dataclass(frozen=True, slots=True)
class BitField:
    """A part of a form's text that bits of the instruction say; `but` are values for which the form is not valid."""

    kind: str
    first: int
    bits: int
    but: frozenset[int] = frozenset()

    @property
    def mask(self) -> int:
        """The bits that say it."""
        low = (1 << _LOW_BITS) - 1 << _LOW_AT if self.kind in _IN_WORDS else 0
        return (1 << self.bits) - 1 << self.first | low

    def value(self, instruction: int) -> int:
        """What the bits say, as an unsigned number."""
        value = instruction >> self.first & (1 << self.bits) - 1
        if self.kind in _IN_WORDS:
            return value << _LOW_BITS | instruction >> _LOW_AT & (1 << _LOW_BITS) - 1
        return value

    def put(self, instruction: int, value: int) -> int:
        """The instruction, whose bits for this are 0, with those that say a value."""
        if self.kind in _IN_WORDS:
            value, low = value >> _LOW_BITS, value & (1 << _LOW_BITS) - 1
            instruction |= low << _LOW_AT
        return instruction | value << self.first

    def text(self, value: int) -> str | None:
        """What nvdisasm prints for a value; None for a value that the form is not valid for."""
        if value in self.but:
            return None
        if self.kind in _NAMES:
            return None if value == _NO_NUMBER.get(self.kind) else f"{_NAMES[self.kind][0]}{value}"
        if self.kind == "x":
            return hex(value)
        if self.kind == "s":
            return hex(_signed(value, self.bits))
        if self.kind in _IN_WORDS:
            distance = 4 * _signed(value, self.bits + _LOW_BITS)
            return f"({distance:+#x})" if self.kind == "t" else hex(distance)
        if self.kind == "b":
            return None if value % INSTRUCTION_BYTES else f"({_signed(value, self.bits):+#x})"
        return _number(self.kind, value)

    def __str__(self) -> str:
        bits = "" if self.kind in _NAMES else f".{self.bits}"
        but = "!" + ",".join(map(str, sorted(self.but))) if self.but else ""
        return f"{{{self.kind}{self.first}{bits}{but}}}"


@dataclass(frozen=True, slots=True)
class Form:
    """`fixed` are the bits that all its instructions share; `words` stand before, between and behind the fields.

    guard: the letters of the guard's register, "P" or "UP"; "" if the guard is PT.
    """

    fixed: int
    guard: str
    words: tuple[str, ...]
    fields: tuple[BitField, ...]

    @property
    def mask(self) -> int:
        """The bits that are fixed."""
        free = UNPRINTED | GUARD
        for bit_field in self.fields:
            free |= bit_field.mask
        return _ALL & ~free

    @property
    def example(self) -> int:
        """An instruction of this form, with the scheduling that most instructions have."""
        return self.fixed | _USUAL_SCHEDULING | NO_GUARD << GUARD_AT

    def text(self, instruction: int) -> str | None:
        """What nvdisasm prints for an instruction with the fixed bits; None if the form is not valid for it."""
        guard = _guard(instruction >> GUARD_AT & 0xF, self.guard)
        if guard is None:
            return None
        parts = [guard, self.words[0]]
        for bit_field, word in zip(self.fields, self.words[1:], strict=True):
            said = bit_field.text(bit_field.value(instruction))
            if said is None:
                return None
            parts += (said, word)
        return "".join(parts)

    def __str__(self) -> str:
        guard = f"{{@{self.guard}}}" if self.guard else ""
        rest = (f"{bit_field}{word}" for bit_field, word in zip(self.fields, self.words[1:], strict=True))
        return f"{self.fixed:032x} {guard}{self.words[0]}{''.join(rest)}"


def parse(line: str) -> Form:
    """The form that a line tells, as `str` of a form writes it."""
    fixed, text = line.rstrip("\n").split(" ", 1)
    guard = ""
    if text.startswith("{@"):
        guard, text = text[2:].split("}", 1)
    words, fields, end = [], [], 0
    for match in _FIELD.finditer(text):
        kind, first, bits, but = match.groups()
        number = int(bits) if bits else _NAMES[kind][1]
        fields.append(BitField(kind, int(first), number, frozenset(map(int, but.split(","))) if but else frozenset()))
        words.append(text[end : match.start()])
        end = match.end()
    return Form(int(fixed, 16), guard, (*words, text[end:]), tuple(fields))


class Forms:
    """The known forms of an architecture, given as lines. Those of an opcode are read when it is met: a kernel has few
    of the opcodes."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: dict[int, list[str]] = {}
        self._by_opcode: dict[int, dict[int, dict[int, Form]]] = {}
        for line in lines:
            fixed, _, _ = line.partition(" ")
            self._lines.setdefault(int(fixed[-_OPCODE_DIGITS:], 16), []).append(line)
        self._said = lru_cache(_REMEMBERED)(self._text)

    def text(self, instruction: int) -> str | None:
        """What nvdisasm prints for an instruction of 128 bits; None if no form is known."""
        return self._said(instruction & _PRINTED)

    def _text(self, instruction: int) -> str | None:
        opcode = instruction & _OPCODE
        known = self._by_opcode.get(opcode)
        if known is None:
            known = self._by_opcode[opcode] = {}
            for form in map(parse, self._lines.get(opcode, ())):
                known.setdefault(form.mask, {})[form.fixed] = form
        for mask, forms in known.items():
            form = forms.get(instruction & mask)
            if form is not None and (text := form.text(instruction)) is not None:
                return text
        return None


def split(code: bytes) -> Iterator[int]:
    """The instructions of machine code."""
    for start in range(0, len(code), INSTRUCTION_BYTES):
        yield int.from_bytes(code[start : start + INSTRUCTION_BYTES], "little")


@cache
def of(arch: str) -> Forms | None:
    """The forms of an architecture such as "sm_90"; None if none are known."""
    lines = stored(arch).get(arch)
    return Forms(lines) if lines else None


def stored(*architectures: str) -> dict[str, list[str]]:
    """The lines by architecture, of all or of some."""
    if not PATH.exists():
        return {}
    with zipfile.ZipFile(PATH) as archive:
        names = [name for name in archive.namelist() if not architectures or name in architectures]
        return {name: archive.read(name).decode().splitlines() for name in names}


def _signed(value: int, bits: int) -> int:
    return value - (value >> (bits - 1) << bits)


def _guard(bits: int, letters: str) -> str | None:
    """ "@!P0 " of a guard's four bits; "" for PT; None for another one than PT if it has no letters."""
    if bits == NO_GUARD:
        return ""
    if not letters:
        return None
    number = "T" if bits & 7 == 7 else str(bits & 7)
    return f"@{'!' if bits & 8 else ''}{letters}{number} "


def _number(kind: str, value: int) -> str | None:
    """A floating-point number as nvdisasm prints it; None for infinities and NaNs."""
    number = _FLOATS[kind](value)
    if not math.isfinite(number):
        return None
    return f"{number:.20e}" if abs(number) >= _LARGE else f"{number:.20g}"


_FLOATS: dict[str, Callable[[int], float]] = {
    "f": lambda value: struct.unpack("<f", value.to_bytes(4, "little"))[0],
    "h": lambda value: struct.unpack("<e", value.to_bytes(2, "little"))[0],
    "d": lambda value: struct.unpack("<d", (value << 32).to_bytes(8, "little"))[0],
}
