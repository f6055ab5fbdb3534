"""Conversions between formats of numbers."""

from __future__ import annotations

from helpers.compiler import sass
from helpers.simulator.frontends import decoded as form
from helpers.simulator.frontends.decoded import Decoded, NotDecoded
from helpers.simulator.frontends.sass.decoding.bits import whole_register
from helpers.simulator.frontends.sass.decoding.decoder import Decoder
from helpers.simulator.frontends.sass.decoding.floating import rounding_of
from helpers.simulator.frontends.sass.operands import chosen, is_zero


def _converted(t: Decoder, i: Decoded, operand: sass.Operand, format_: str) -> None:
    """Source 0 in a format of integers or floats; number[3] is where it begins in its register."""
    if format_ in ("F64", "U64", "S64"):
        t.read(i, 0, operand, "d" if format_ == "F64" else "w")
    elif format_ == "F16":
        t.read(i, 0, operand, "h")
    elif format_ == "F32":
        t.read(i, 0, operand, "f")
    else:
        modifiers = operand.modifiers if isinstance(operand, sass.Register | sass.Constant) else ()
        part = next((m for m in modifiers if m[0] in "BH" and m[1:2].isdigit()), None)
        if part is not None:
            i.number[3] = int(part[1]) * (8 if part[0] == "B" else 16)
            if operand.negated or operand.inverted or operand.absolute or not isinstance(operand, sass.Register):
                raise NotDecoded("the sign of a part of a register")
            operand = whole_register(operand)
        t.read(i, 0, operand)


def integer_to_float(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("integer to float")
    origin = next((part for part in s.opcode[:0:-1] if part in form.FORMATS and part[0] in "US"), "S32")
    to = "F64" if s.has("F64") else "F16" if s.has("F16") else "F32"
    _converted(t, i, a, origin)
    i.number[:3] = [form.FORMATS[to], form.FORMATS[origin], rounding_of(s)]
    t.writes(i, destination, 2 if to == "F64" else 1)
    return i


def float_to_integer(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("float to integer", flags=int(s.has("FTZ")))
    to = next((part for part in s.opcode[1:] if part in form.FORMATS and part[0] in "US"), "S32")
    origin = "F64" if s.has("F64") else "F16" if s.has("F16") else "F32"
    _converted(t, i, a, origin)
    i.number[:3] = [form.FORMATS[to], form.FORMATS[origin], chosen(s, form.WHOLE, 0)]
    t.writes(i, destination, 2 if to in ("U64", "S64") else 1)
    return i


def float_to_byte(t: Decoder, s: sass.Statement) -> Decoded:
    destination, above, a, rest = s.operands
    if not (is_zero(above) and is_zero(rest)):
        raise NotDecoded("several bytes in a register")
    i = Decoded("float to byte")
    i.number[0] = 8 if s.has("U8") else -8
    t.writes(i, destination)
    t.read(i, 0, a, "f")
    return i


def round_to_whole(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("round to whole", flags=int(s.has("FTZ")))
    format_ = "F64" if s.has("F64") else "F16" if s.has("F16") else "F32"
    _converted(t, i, a, format_)
    i.number[0], i.number[2] = form.FORMATS[format_], chosen(s, form.WHOLE, 0)
    t.writes(i, destination, 2 if format_ == "F64" else 1)
    return i


def float_to_float(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    types = [part for part in s.opcode[1:] if part in ("F16", "F32", "F64", "BF16")]
    if len(types) != 2 or types[1] == "BF16" or types[0] == "BF16" and types[1] != "F32":
        raise NotDecoded("a conversion between other types")
    to, origin = types
    i = Decoded("float to float", flags=int(s.has("FTZ")))
    _converted(t, i, a, origin)
    i.number[:3] = [form.FORMATS[to], form.FORMATS[origin], rounding_of(s)]
    t.writes(i, destination, 2 if to == "F64" else 1)
    return i


def pack_halves(t: Decoder, s: sass.Statement) -> Decoded:
    if not s.has("PACK_AB"):
        raise NotDecoded("other ways of packing")
    destination, high, low, *_ = s.operands
    i = Decoded("pack halves", flags=32 * s.has("BF16") | 64 * s.has("RELU"))
    i.number[2] = rounding_of(s)
    t.writes(i, destination)
    t.read(i, 0, high, "f")
    t.read(i, 1, low, "f")
    return i
