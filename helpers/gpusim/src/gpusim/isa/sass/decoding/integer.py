"""Whole numbers: sums, products, the smaller and the larger one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, NEGATED, NEVER_KEPT, Decoded, NotDecoded
from gpusim.isa.sass import operands as operand_rules
from gpusim.isa.sass.decoding.decoder import CHANGEABLE, Decoder, is_false, number_of
from gpusim.isa.sass.operands import chosen, is_predicate, is_zero


def _negated(operand: sass.Operand) -> bool:
    return isinstance(operand, CHANGEABLE) and operand.negated


def _addition(s: sass.Statement):
    destination, *rest = s.operands
    carries, rest = operand_rules.leading_predicates(tuple(rest))
    if len(rest) < 3 or len(carries) > 2:
        raise NotDecoded(f"its form with {len(s.operands)} operands")
    return destination, carries, rest


def _carries(t: Decoder, i: Decoded, carries_in: Sequence[sass.Operand]) -> bool:
    """Read the carries at the end of an addition; whether there are any."""
    wanted = [operand for operand in carries_in if not is_false(operand)]
    if len(wanted) > 2:
        raise NotDecoded("three carries")
    for position in (0, 1):
        i.p_in[position] = t.predicate(wanted[position]) if position < len(wanted) else ALWAYS | NEGATED
    return bool(wanted)


def add3(t: Decoder, s: sass.Statement) -> Decoded:
    destination, carries, (a, b, c, *carries_in) = _addition(s)
    if s.has("64"):
        if carries_in or any(carry.number is not None for carry in carries):
            raise NotDecoded("a carry of a sum of pairs")
        return _add_wide(t, destination, (a, b, c))
    i = Decoded("add3")
    t.writes(i, destination)
    i.p_out = [t.kept(carries[k]) if k < len(carries) else NEVER_KEPT for k in (0, 1)]
    carries_out = any(p != NEVER_KEPT for p in i.p_out)
    has_carry = _carries(t, i, carries_in)
    for position, operand in enumerate((a, b, c)):
        t.read(i, position, operand)
        if carries_out and _negated(operand) and not is_zero(operand):
            i.mode[position] = form.INVERT  # -x is ~x and one more, which carries as in any adder
            i.number[0] += 1
    if not carries_out and not has_carry:
        i.operation = "add"
    return i


def _add_wide(t: Decoder, destination, sources) -> Decoded:
    i = Decoded("add wide")
    t.writes(i, destination, 2)
    for position, operand in enumerate(sources):
        t.read(i, position, operand, "w")
    _carries(t, i, ())
    return i


def add_pairs(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *rest = s.operands
    carries, (a, b, *carries_in) = operand_rules.leading_predicates(tuple(rest))
    i = _add_wide(t, destination, (a, b))
    i.p_out[0] = t.kept(carries[0]) if carries else NEVER_KEPT
    has_carry = _carries(t, i, carries_in)
    if i.p_out[0] != NEVER_KEPT:
        for position in (0, 1):
            if i.mode[position] & form.NEGATE:  # a + ~b + 1, as in any adder
                i.mode[position] = form.INVERT
                i.number[0] += 1
        if i.number[0] + has_carry > 1:
            raise NotDecoded("a carry of a sum less a number")
    return i


def add2(t: Decoder, s: sass.Statement) -> Decoded:
    """VIADD d, a, b; .16x2, .U8x4: of halves and of bytes; .S32.ISAT: the nearest number of 32 bits."""
    destination, a, b = s.operands
    i, bits = Decoded("add"), chosen(s, {"16x2": 16, "U8x4": 8}, 0)
    t.writes(i, destination)
    if bits or s.has("ISAT"):
        function = "sub" if _negated(b) else "add"
        t.read(i, 0, a)
        t.read(i, 1, replace(b, negated=False) if _negated(b) else b)
        if bits:
            return form.of_parts(i, function, bits)
        i.operation, i.number = "whole number", [form.WHOLE_NUMBERS[function], -32, -32, 1]
        return i
    t.read(i, 0, a)
    t.read(i, 1, b)
    i.source[2], i.width[2] = -1, 1
    return i


def multiply_add(t: Decoder, s: sass.Statement) -> Decoded:
    destination, carries, (a, b, c, *carries_in) = _addition(s)
    carry_out = t.kept(carries[0]) if carries else NEVER_KEPT
    i = Decoded(flags=1 if s.has("U32") else 0)
    i.p_out[0] = carry_out
    t.read(i, 0, a)
    t.read(i, 1, b)
    if s.has("WIDE", "HI"):
        high = s.has("HI")
        t.writes(i, destination, 1 if high else 2)
        t.read(i, 2, c, "w")
        if high and carry_out != NEVER_KEPT and not s.has("U32"):
            raise NotDecoded("a signed multiplication with a carry out")
        carry_in = _carries(t, i, carries_in)
        if high:
            i.flags |= 2
        plain = carry_out == NEVER_KEPT and not carry_in and not high and not i.mode[2] and i.d_width
        i.operation = "multiply-add wide" if plain else "multiply-add wide with carry"
        return i
    t.writes(i, destination)
    t.read(i, 2, c)
    if carry_out != NEVER_KEPT:
        raise NotDecoded("a multiplication with a carry out")
    carry_in = _carries(t, i, carries_in)
    i.operation = "multiply-add with carry" if carry_in else "multiply-add"
    if not carry_in and (is_zero(a) or is_zero(b)):
        i.operation, i.source[0], i.mode[0] = "move", i.source[2], i.mode[2]
        i.width = [1, 0, 0, 0]
    return i


def dot_product(t: Decoder, s: sass.Statement) -> Decoded:
    types = [part for part in s.opcode if part in ("S8", "U8", "S16", "U16")]
    destination, *sources = s.operands
    i = Decoded("dot4" if s.has("4A") else "dot2")
    if not types:
        raise NotDecoded("its form without types")
    if not s.has("4A", "2A"):
        raise NotDecoded("other products of vectors")
    t.writes(i, destination)
    t.read_all(i, sources, 3)
    i.number[:3] = [types[0][0] == "S", types[-1][0] == "S", s.has("HI")]
    return i


def shift_add(t: Decoder, s: sass.Statement) -> Decoded:
    destination, carries, rest = _addition(s)
    carry_out = t.kept(carries[0]) if carries else NEVER_KEPT
    if s.has("HI"):
        i = Decoded("shift-add high")
        if s.has("SX32"):
            (a, b, amount, *following), c = rest, None
            i.flags = 16
        else:
            a, b, c, amount, *following = rest
        t.read(i, 0, a)
        t.read(i, 1, b)
        if c is not None:
            t.read(i, 2, c)
        carry_in = _carries(t, i, following)
        if carry_out != NEVER_KEPT and carry_in and _negated(b):
            raise NotDecoded("a carry into and out of LEA.HI less a number")
        i.number[1] = int(_negated(b))
    else:
        a, b, amount, *carries_in = rest
        i = Decoded("shift-add" if carry_out == NEVER_KEPT else "shift-add with carry")
        if _carries(t, i, carries_in):
            if _negated(a) or _negated(b):
                raise NotDecoded("a carry into LEA of a negated number")
            i.operation = "shift-add with carry"
        t.read(i, 0, a)
        t.read(i, 1, b)
        i.number[1] = 2 if _negated(a) else int(_negated(b))
        if carry_out != NEVER_KEPT and _negated(a) and _negated(b):
            raise NotDecoded("a carry out of a sum of two negated numbers")
    i.number[0] = number_of(amount) & 31
    i.p_out[0] = carry_out
    t.writes(i, destination)
    return i


def funnel_shift(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, amount, c = s.operands
    left, wraps, upper = s.has("L"), s.has("W"), s.has("HI")
    width = 64 if s.has("U64", "S64") else 32
    signed = s.has("S32", "S64") and not left
    i = Decoded("funnel shift", flags=4 * left | 8 * wraps | 16 * signed | 2 * upper)
    t.writes(i, destination)
    if isinstance(amount, sass.Immediate):
        by = number_of(amount) & 0xFFFFFFFF
        by = by % width if wraps else min(by, width)
        shift = None
        if 0 < by < 32 and left and not upper:
            shift = "shift left", a
        elif 0 < by < 32 and not left and upper:
            shift = "shift right signed" if signed else "shift right", c
        if shift:
            i.operation, i.number[0] = shift[0], by
            t.read(i, 0, shift[1])
            return i
    t.read(i, 0, a)
    t.read(i, 1, amount)
    t.read(i, 2, c)
    i.number[0] = width
    return i


def compare(t: Decoder, s: sass.Statement) -> Decoded:
    first, second, a, b, c, *lower = s.operands
    extended, wide = s.has("EX"), s.has("U64", "S64")
    if extended and wide:
        raise NotDecoded("a comparison of more than 64 bits")
    operation = "compare extended" if extended else "compare wide" if wide else "compare"
    i = Decoded(operation, flags=int(s.has("U32", "U64")) | 32 * extended)
    i.p_out = [t.kept(first), t.kept(second)]
    i.uniform = first.file == "UP"
    t.read(i, 0, a, "w" if wide else "i")
    t.read(i, 1, b, "w" if wide else "i")
    i.p_in[0] = t.predicate(c)
    if extended:
        i.p_in[1] = t.predicate(lower[0])
    i.number[0], i.number[1] = chosen(s, form.COMPARE_INTEGERS), chosen(s, form.COMBINE)
    return i


def _without_second_answers(operands: Sequence[sass.Operand]) -> Sequence[sass.Operand]:
    """Blackwell's VIMNMX names two predicates behind its destination; PT, PT where nothing reads them."""
    return (operands[0], *operands[3:]) if list(operands[1:3]) == [sass.Register("P", None)] * 2 else operands


def _of_pairs(s: sass.Statement) -> tuple[sass.Operand, ...]:
    """(d, a, b, p) of IMNMX.U64; nothing reads the predicates before its destination and behind them."""
    first, second, *operands, last = s.operands
    if [first, second] != [sass.Register("P", None)] * 2 or not is_false(last) or len(operands) != 4:
        raise NotDecoded("its form with predicates")
    return tuple(operands)


def minimum_maximum(t: Decoder, s: sass.Statement) -> Decoded:
    if s.has("U64", "S64"):
        destination, a, b, condition = _of_pairs(s)
        i = Decoded("minimum maximum wide", flags=int(s.has("U64")))
        t.writes(i, destination, 2)
        t.read(i, 0, a, "w")
        t.read(i, 1, b, "w")
        i.p_in[0] = t.predicate(condition)
        return i
    destination, *sources, condition = _without_second_answers(s.operands)
    three = s.base.removeprefix("U") in ("VIMNMX3", "VIADDMNMX")
    flags = int(s.has("U32", "U16x2", "U8x4")) | 64 * (s.base == "VIMNMX3") | 128 * (s.base == "VIADDMNMX")
    bits = chosen(s, {"S16x2": 16, "U16x2": 16, "U8x4": 8}, 32)
    i = Decoded("minimum maximum", flags=flags, number=[bits, int(s.has("RELU")), 0, 0])
    t.writes(i, destination)
    t.read_all(i, sources, 3 if three else 2)
    i.p_in[0] = t.predicate(condition)
    return i


def unary(operation: str, unsigned: str = "", high: str = "") -> Callable:
    def decode(t: Decoder, s: sass.Statement) -> Decoded:
        destination, *between, a = s.operands
        if between and not (is_predicate(between[0]) and between[0].number is None):
            raise NotDecoded("a second destination")
        i = Decoded(operation, flags=int(s.has(unsigned)) | 2 * s.has(high))
        t.writes(i, destination)
        t.read(i, 0, a)
        return i

    return decode


def absolute_difference(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded("absolute difference", flags=int(s.has("U32")))
    t.writes(i, destination)
    t.read_all(i, sources, 3)
    return i


def absolute_differences(t: Decoder, s: sass.Statement) -> Decoded:
    """VABSDIFF4{.U8} d, a, b, c: |a - b| of each byte, whatever c is; with .ACC their sum, added to c."""
    destination, a, b, c = s.operands
    i = Decoded(flags=0 if s.has("U8") else form.VIDEO_A_SIGNED | form.VIDEO_B_SIGNED)
    t.writes(i, destination)
    for position, operand in enumerate((a, b, c) if s.has("ACC") else (a, b)):
        t.read(i, position, operand)
    return form.of_parts(i, "absdiff", 8, "add" if s.has("ACC") else "inserted")


def saturate(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    to, origin = (*s.opcode, "", "")[1:3]
    limits = {"S8": (-128, 127), "U8": (0, 255), "S16": (-32768, 32767), "U16": (0, 65535)}.get(to)
    if limits is None or not s.has("SAT") or origin not in ("S32", "U32"):
        raise NotDecoded("a conversion between integers")
    i = Decoded("saturate", flags=int(origin == "U32"))
    i.number[:2] = limits
    t.writes(i, destination)
    t.read(i, 0, a)
    return i


def saturate_and_pack(t: Decoder, s: sass.Statement) -> Decoded:
    """I2IP.to.S32.SAT d, high, low, above: cvt.pack of PTX."""
    destination, *sources = s.operands
    to, origin = (*s.opcode, "", "")[1:3]
    if to[1:] not in ("2", "4", "8", "16") or origin != "S32" or not s.has("SAT") or len(sources) != 3:
        raise NotDecoded("a conversion between integers")
    bits = int(to[1:])
    i = Decoded("pack limited", number=[-bits if to[0] == "S" else bits, 0, 0, 0])
    t.writes(i, destination)
    for position, operand in enumerate(sources):
        has_room = isinstance(operand, sass.Register) and operand.modifiers == (str(32 - 2 * bits),)
        t.read(i, position, replace(operand, modifiers=()) if has_room else operand)  # it may say how many bits fit
    return i
