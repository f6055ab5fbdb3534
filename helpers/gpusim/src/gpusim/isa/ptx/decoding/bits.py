"""Bits of registers: logic, shifts, fields, permutations."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler.ptx import Immediate, Statement
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded
from gpusim.isa.ptx.decoding.decoder import UNSIGNED, Decoder, refuse_unknown
from gpusim.isa.ptx.decoding.integer import is_plain, of_one_type, whole_number

LEFT, WRAPS, UPPER = 4, 8, 2
LOGIC = {"and": 0xC0, "or": 0xFC, "xor": 0x3C, "not": 0x0F}  # of a, b, c as the bits of 0xf0, 0xcc, 0xaa


def logic(t: Decoder, s: Statement) -> Decoded:
    refuse_unknown(s.modifiers, ())
    destination, *sources = s.operands
    if s.type == "pred":
        return logic_of_predicates(t, s)
    if not is_plain(t, s, 32):
        return of_one_type(s.name)(t, s)
    return logic_of_three(t, destination, [*sources, *[Immediate(0, 0)] * (3 - len(sources))], LOGIC[s.name])


def logic_of_three(t: Decoder, destination, sources: Sequence, table: int) -> Decoded:
    i = Decoded("logic3", number=[table & 0xFF, 0, 0, 0])
    t.read_all(i, sources, "u32")
    t.writes(i, destination, 4)
    return i


def logic_of_predicates(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded("predicate logic3", number=[LOGIC.get(s.name, 0xF0), 0, 0, 0])
    i.p_out[0] = t.kept(destination)
    for position, operand in enumerate(sources):
        i.p_in[position] = t.predicate(operand)
    return i


def any_logic(t: Decoder, s: Statement) -> Decoded:
    refuse_unknown(s.modifiers, ())
    destination, *sources, table = s.operands
    return logic_of_three(t, destination, sources, t.operands.constant(table))


def shift(t: Decoder, s: Statement) -> Decoded:
    refuse_unknown(s.modifiers, ())
    destination, a, amount = s.operands
    left = s.name == "shl"
    if isinstance(amount, Immediate) and 0 < amount.bits < 32 and is_plain(t, s, 32):
        signed = s.type[0] == "s"
        i = Decoded("shift left" if left else "shift right signed" if signed else "shift right")
        i.number[0] = amount.bits
        t.read(i, 0, a, s.type)
        t.writes(i, destination, 4)
        return i
    return whole_number(t, s.name, destination, [(a, s.type), (amount, "u32")], s.type, s.type)


def funnel_shift(t: Decoder, s: Statement) -> Decoded:
    destination, low, high, amount = s.operands
    left = s.opcode[1] == "l"
    i = Decoded("funnel shift", flags=(LEFT | UPPER) * left | WRAPS * (s.opcode[2] == "wrap"), number=[32, 0, 0, 0])
    t.read_all(i, (low, amount, high), "u32")
    t.writes(i, destination, 4)
    return i


def extract(t: Decoder, s: Statement) -> Decoded:
    destination, a, position, length = s.operands
    return whole_number(t, "bfe", destination, [(a, s.type), (position, "u32"), (length, "u32")], s.type, s.type)


def insert(t: Decoder, s: Statement) -> Decoded:
    destination, field, base, position, length = s.operands
    sources = [(field, s.type), (base, s.type), (position, "u32"), (length, "u32")]
    return whole_number(t, "bfi", destination, sources, s.type, s.type)


def find(t: Decoder, s: Statement) -> Decoded:
    refuse_unknown(s.modifiers, ("shiftamt",))
    destination, a = s.operands
    return whole_number(t, "bfind", destination, [(a, s.type)], s.type, "u32", int("shiftamt" in s.modifiers))


def bit_mask(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded("bit mask" if s.name == "bmsk" else "sign extend", flags=WRAPS * ("wrap" in s.modifiers))
    i.flags |= UNSIGNED * (s.name == "szext" and s.type[0] == "u")
    t.read_all(i, sources, "u32")
    t.writes(i, destination, 4)
    return i


def permute(t: Decoder, s: Statement) -> Decoded:
    refuse_unknown(s.opcode[2:], form.BYTE_PERMUTATIONS)
    destination, a, b, selector = s.operands
    i = Decoded("permute bytes")
    if s.type in form.BYTE_PERMUTATIONS:
        i.flags, i.number = 1, form.byte_selectors(s.type)
    t.read_all(i, (a, selector, b), "u32")
    t.writes(i, destination, 4)
    return i


def nth_set_bit(t: Decoder, s: Statement) -> Decoded:
    refuse_unknown(s.modifiers, ())
    destination, mask, base, offset = s.operands
    return whole_number(t, "fns", destination, [(mask, "u32"), (base, "u32"), (offset, "s32")], "b32", "u32")
