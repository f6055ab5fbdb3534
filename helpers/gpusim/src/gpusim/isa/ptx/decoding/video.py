"""Video instructions of PTX: on halves or bytes of registers, as `__vabsdiffu4` and its family use them, or on one
number of each, which may be a part of a register.

Reference: PTX ISA, 'Video Instructions'. Each part is computed as an exact number, then limited (.sat) or cut to its
width. With .add the parts, none of them cut, are summed up.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler.ptx import Minus, Register, Statement
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.ptx.decoding.decoder import Decoder, refuse_unknown

PARTS = {"": (0, 32), **{f"b{n}": (8 * n, 8) for n in range(4)}, **{f"h{n}": (16 * n, 16) for n in range(2)}}
SECOND = ("add", "min", "max")
TYPES = ("s32", "u32")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _selection(operand) -> str:
    """The part of a register that an operand names, "" for the whole one."""
    return operand.part if isinstance(operand, Register) else ""


def _numbers(operand, count: int, first: int) -> list[int]:
    """The numbers of the parts that an operand selects, the lowest first; those from `first` on if it says nothing."""
    if not _selection(operand):
        return list(range(first, first + count))
    return [int(digit) for digit in reversed(_selection(operand)[1:])]


def _part_of(operand) -> tuple[int, int]:
    """(the first bit, how many) of the part that an operand names."""
    if _selection(operand) not in PARTS:
        raise NotDecoded(f"the part .{_selection(operand)}")
    return PARTS[_selection(operand)]


def _whole_register(operand):
    """The register of which an operand names a part."""
    return Register(operand.name) if isinstance(operand, Register) else operand


def _video(t: Decoder, s: Statement, operation: str, types: Sequence[str], words: Sequence[str]) -> Decoded:
    """An instruction with results of the first of the types and operands of the others."""
    destination, *sources = s.operands
    i = Decoded(operation)
    signs = (form.VIDEO_SIGNED, form.VIDEO_A_SIGNED, form.VIDEO_B_SIGNED)
    i.flags = sum(flag for flag, type_ in zip(signs, types, strict=True) if type_ == "s32")
    i.flags |= form.VIDEO_LIMITED * ("sat" in words) | form.VIDEO_WRAPS * ("wrap" in words)
    t.read_all(i, [_whole_register(source) for source in sources], "u32")
    t.writes(i, _whole_register(destination), 4)
    return i


def _parts_of_statement(s: Statement, named: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """(the function, the types of the result and of the operands, the other words); `named`: the name without v."""
    if named == "set":
        _, *types, name = s.opcode[:4]
        refuse_unknown(types, TYPES)
        refuse_unknown((name,), COMPARISONS)
        return name.upper(), ("u32", *types), s.opcode[4:]
    refuse_unknown(s.opcode[1:4], TYPES)
    return named, s.opcode[1:4], s.opcode[4:]


def video_parts(t: Decoder, s: Statement) -> Decoded:
    count = int(s.name[-1])
    function, types, words = _parts_of_statement(s, s.name[1:-1])
    refuse_unknown(words, ("add",) if s.name.startswith("vset") else ("sat", "add"))
    i = _video(t, s, "video parts", types, words)
    destination, a, b, _ = s.operands
    chosen = [_numbers(operand, count, first) for operand, first in ((a, 0), (b, count))]
    kept = _numbers(destination, count, 0)
    packed = sum(which << 12 * k + 3 * n for k, row in enumerate(chosen) for n, which in enumerate(row))
    packed |= sum(1 << 24 + number for number in kept)
    i.number = [form.VIDEO[function], packed, 32 // count, form.VIDEO_RESULTS["add" if "add" in words else "inserted"]]
    return i


def _places(operands: Sequence) -> int:
    """Where the parts of two operands lie, for the C program."""
    places = map(_part_of, operands)
    return sum((first_bit | bits << 8) << 16 * k for k, (first_bit, bits) in enumerate(places))


def video_one(t: Decoder, s: Statement) -> Decoded:
    function, types, words = _parts_of_statement(s, s.name[1:])
    if s.name == "vset":
        types = (types[1], *types[1:])
    i = _video(t, s, "video one", types, words)
    destination, a, b, *third = s.operands
    refuse_unknown(words, SECOND if s.name == "vset" else ("sat", "clamp", "wrap", *SECOND))
    _refuse_detours(s, _selection(destination), types[1:], words)
    first_bit, bits = _part_of(destination)
    second = next((word for word in words if word in SECOND), "inserted" if third else "")
    written = first_bit | bits << 8 | (0 if bits == 16 else first_bit) << 16
    i.number = [form.VIDEO[function], _places((a, b)), written, form.VIDEO_RESULTS[second]]
    return i


def _refuse_detours(s: Statement, part: str, origins: Sequence[str], words: Sequence[str]) -> None:
    """NotDecoded for what ptxas puts together of steps that do not come to what the PTX ISA says."""
    exceptions = part or s.name in ("vshl", "vshr") or "add" in words or (s.name, len(set(origins))) == ("vabsdiff", 2)
    if "sat" in words and exceptions:
        raise NotDecoded(f"the limit of {s.name} in this form; without .sat it runs")
    if s.name not in ("vmin", "vmax", "vset") and {"min", "max"} & set(words):
        raise NotDecoded(f"{s.name} with .min or .max; in two instructions it runs")


def video_multiply_add(t: Decoder, s: Statement) -> Decoded:
    types, words = s.opcode[2:4], s.opcode[4:]
    refuse_unknown(s.opcode[1:4], TYPES)
    refuse_unknown(words, ("po", "sat", "shr7", "shr15"))
    if {"sat", "shr7", "shr15"} & set(words) and types != ("s32", "s32"):
        raise NotDecoded("a limited or shifted product of numbers without signs; of signed ones it runs")
    destination, *sources = s.operands
    negated = [isinstance(operand, Minus) for operand in sources]
    plain = tuple(operand.register if isinstance(operand, Minus) else operand for operand in sources)
    signed = "s32" in types or negated[0] != negated[1] or negated[2]
    own = s.with_operands((destination, *plain), s.guard)
    i = _video(t, own, "video multiply-add", ("s32" if signed else "u32", *types), words)
    i.flags |= form.VIDEO_PRODUCT_NEGATED * (negated[0] != negated[1]) | form.VIDEO_C_NEGATED * negated[2]
    i.flags |= form.VIDEO_ONE_MORE * ("po" in words)
    i.number[1:3] = [_places(plain[:2]), 7 if "shr7" in words else 15 if "shr15" in words else 0]
    return i
