"""Pairs of halves."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded, Word
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.operands import chosen, is_zero


def _halves(t: Decoder, i: Decoded, operands: Sequence[sass.Operand], count: int) -> None:
    """Read `count` sources; an immediate is printed as two numbers, and read from the code."""
    count_read = position = 0
    while position < len(operands):
        operand = operands[position]
        if count_read == count:
            raise NotDecoded(f"its form with {len(operands)} sources")
        if isinstance(operand, sass.Immediate):
            i.source[count_read], i.width[count_read] = t.words.row(Word(-1, t.raw_immediate())), 1
            position += 2
        else:
            t.read(i, count_read, operand, "h")
            position += 1
        count_read += 1
    if count_read != count or position != len(operands):
        raise NotDecoded(f"its form with {len(operands)} sources")


def arithmetic(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *operands = s.operands
    i = Decoded("half arithmetic", flags=32 * s.has("BF16_V2") | 64 * s.has("RELU") | 2 * s.has("SAT"))
    i.flags |= int(s.has("FTZ"))
    _halves(t, i, operands, 3 if s.base == "HFMA2" else 2)
    t.writes(i, destination)
    if s.base == "HADD2" and s.has("F32"):
        i.flags = 128
    elif s.base == "HFMA2" and all(is_zero(operand) for operand in operands[:2]) and len(operands) == 4:
        i.flags = 256
    elif s.has("BF16_V2") and s.has("SAT"):
        raise NotDecoded("the modifier .SAT")
    i.number[0] = {"HADD2": 0, "HMUL2": 1, "HFMA2": 2}[s.base]
    return i


def extreme(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *operands, condition = s.operands
    three = s.base == "VHMNMX"
    i = Decoded("half extreme", flags=32 * s.has("BF16_V2") | 4 * s.has("NAN") | 64 * three)
    _halves(t, i, operands, 2 + three)
    i.p_in[0] = t.predicate(condition)
    t.writes(i, destination)
    return i


def compare(t: Decoder, s: sass.Statement) -> Decoded:
    first, second, *operands, c = s.operands
    i = Decoded("half compare", flags=32 * s.has("BF16_V2"))
    _halves(t, i, operands, 2)
    i.p_out, i.p_in[0] = [t.kept(first), t.kept(second)], t.predicate(c)
    i.number[0], i.number[1] = chosen(s, form.COMPARE), chosen(s, form.COMBINE)
    return i


def compare_to_register(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *operands, c = s.operands
    i = Decoded("half compare to register", flags=32 * s.has("BF16_V2"))
    _halves(t, i, operands, 2)
    i.p_in[0] = t.predicate(c)
    true_value = 0xFFFF if not s.has("BF") else form.ONE_OF_BRAIN if s.has("BF16_V2") else form.ONE_OF_HALF
    i.number[:3] = [chosen(s, form.COMPARE), chosen(s, form.COMBINE), true_value]
    t.writes(i, destination)
    return i
