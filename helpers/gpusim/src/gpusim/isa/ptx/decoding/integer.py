"""Whole numbers: sums, products, the smaller and the larger one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpusim.compiler.ptx import TYPE_BYTES, Statement
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, NEGATED, Decoded, NotDecoded
from gpusim.isa.ptx.decoding.decoder import UNSIGNED, Decoder, bits_of, format_of, refuse_unknown


def whole_number(
    t: Decoder, name: str, destination, sources: Sequence[tuple], type_: str, result: str, choice: int = 0
):
    """A function of typed.c: sources are (operand, type)."""
    i = Decoded("whole number", number=[form.WHOLE_NUMBERS[name], format_of(type_), format_of(result), choice])
    for position, (operand, own) in enumerate(sources):
        t.read(i, position, operand, own)
    t.writes_any(i, destination)
    return i


def of_one_type(name: str, result: str | None = None) -> Callable:
    """A function of operands that have the instruction's type."""

    def decode(t: Decoder, s: Statement) -> Decoded:
        refuse_unknown(s.modifiers, ())
        destination, *sources = s.operands
        return whole_number(t, name, destination, [(source, s.type) for source in sources], s.type, result or s.type)

    return decode


def is_plain(t: Decoder, s: Statement, bits: int) -> bool:
    """Whether it works on so many bits, and its destination has as many."""
    return bits_of(s.type) == bits and 8 * t.bytes_of(s.operands[0]) == bits


def add(t: Decoder, s: Statement) -> Decoded:
    destination, a, b = s.operands
    if s.name in ("addc", "subc") or "cc" in s.modifiers:
        return _with_carry(t, s, s.name[:3])
    if s.modifiers == ("sat",) and s.type == "s32":
        return whole_number(t, s.name, destination, [(a, s.type), (b, s.type)], s.type, s.type, 1)
    refuse_unknown(s.modifiers, ())
    if s.type in ("u16x2", "s16x2"):
        i = form.of_parts(Decoded(), "add", 16)
        t.read_all(i, (a, b), "b32")
        t.writes(i, destination, 4)
        return i
    wide = bits_of(s.type) == 64
    if not wide and not is_plain(t, s, 32):
        return of_one_type(s.name)(t, s)
    i = Decoded("add wide" if wide else "add")
    t.read_all(i, (a, b), s.type)
    t.zero(i, 2, wide)
    i.mode[1] = form.NEGATE * (s.name == "sub")
    i.p_in = [ALWAYS | NEGATED] * 2 + [ALWAYS]
    t.writes(i, destination, 8 if wide else 4)
    return i


def _with_carry(t: Decoder, s: Statement, name: str) -> Decoded:
    """add{c}{.cc}, sub{c}{.cc}, mad{c}{.cc}.

    PTX ISA calls CC.CF a borrow after a difference. What ptxas makes of it is the carry of a + ~b + 1, the opposite,
    and an addc after a sub.cc sees that: the compiler's division of 128-bit numbers counts on it.
    """
    refuse_unknown(s.modifiers, ("cc", name.removeprefix("mad.")))
    destination, *sources = s.operands
    i = Decoded("with carry", number=[form.CARRIES[name], format_of(s.type), 0, 0])
    for position, operand in enumerate(sources):
        t.read(i, position, operand, s.type)
    carry = t.operands.carry()
    takes = s.name in ("addc", "subc", "madc")
    none = ALWAYS if name == "sub" else ALWAYS | NEGATED
    i.p_in[0] = t.places.predicate_of[carry] if takes else none
    if "cc" in s.modifiers:
        i.p_out[0] = t.places.predicate_of[carry]
    t.writes(i, destination, TYPE_BYTES[s.type])
    return i


def multiply(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    part = s.opcode[1]
    if s.name == "madc" or "cc" in s.modifiers:
        refuse_unknown((part,), ("lo", "hi"))
        return _with_carry(t, s, f"mad.{part}")
    saturates = "sat" in s.modifiers
    refuse_unknown((part,), ("lo", "hi", "wide"))
    refuse_unknown(s.modifiers[1:], ("sat",) if (s.name, part, s.type) == ("mad", "hi", "s32") else ())
    result = f"{s.type[0]}{2 * bits_of(s.type)}" if part == "wide" else s.type
    adds = len(sources) == 3
    types = [s.type, s.type, result]
    if bits_of(s.type) == 32 and part == "wide":
        i = Decoded("multiply-add wide", flags=UNSIGNED * (s.type[0] != "s"))
    elif part == "lo" and is_plain(t, s, 32):
        i = Decoded("multiply-add")
    else:
        pairs = list(zip(sources, types, strict=False))
        return whole_number(t, f"mul.{part}", destination, pairs, s.type, result, int(saturates))
    t.read_all(i, sources[:2], s.type)
    if adds:
        t.read(i, 2, sources[2], result)
    else:
        t.zero(i, 2, part == "wide")
    t.writes(i, destination, TYPE_BYTES[result])
    return i


def multiply24(t: Decoder, s: Statement) -> Decoded:
    refuse_unknown(s.modifiers, ("lo", "hi"))
    destination, *sources = s.operands
    high = 16 * ("hi" in s.modifiers)
    return whole_number(t, "mul24", destination, [(source, s.type) for source in sources], s.type, s.type, high)


def extreme(t: Decoder, s: Statement) -> Decoded:
    """min, max; those of .s32 and .s16x2 with .relu, which stands before the type or behind it."""
    limited = "relu" in s.opcode
    type_, *others = [word for word in s.opcode[1:][::-1] if word != "relu"]
    if limited and type_ not in ("s32", "s16x2"):
        raise NotDecoded("the modifier .relu")
    refuse_unknown(others, ())
    pairs = type_ in ("u16x2", "s16x2")
    destination, a, b = s.operands
    own = 8 * t.bytes_of(destination)
    if not pairs and (bits_of(type_) != own or own < 32):
        return of_one_type(s.name)(t, s)
    wide = not pairs and own == 64
    i = Decoded("minimum maximum wide" if wide else "minimum maximum", flags=UNSIGNED * (type_[0] != "s"))
    i.number[:2] = 16 if pairs else 32, int(limited)
    t.read_all(i, (a, b), "b32" if pairs else type_)
    i.p_in[0] = ALWAYS if s.name == "min" else ALWAYS | NEGATED
    t.writes(i, destination, 8 if wide else 4)
    return i


def dot(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    four = s.name == "dp4a"
    types = s.opcode[1:] if four else s.opcode[2:]
    i = Decoded("dot4" if four else "dot2", number=[types[0] == "s32", types[1] == "s32", s.opcode[1] == "hi", 0])
    t.read_all(i, sources, "u32")
    t.writes(i, destination, 4)
    return i
