"""Conversions between formats of numbers."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.sass.decoding.bits import whole_register
from gpusim.isa.sass.decoding.decoder import CHANGEABLE, Decoder
from gpusim.isa.sass.decoding.floating import rounding_of
from gpusim.isa.sass.operands import chosen, is_zero


def _converted(t: Decoder, i: Decoded, operand: sass.Operand, format_: str) -> None:
    """Source 0 in a format of integers or floats; number[3] is where it begins in its register."""
    if format_ in ("F64", "U64", "S64"):
        t.read(i, 0, operand, "d" if format_ == "F64" else "w")
    elif format_ in ("F16", "BF16"):
        t.read(i, 0, operand, "h")
    elif format_ == "F32":
        t.read(i, 0, operand, "f")
    else:
        modifiers = operand.modifiers if isinstance(operand, CHANGEABLE) else ()
        part = next((m for m in modifiers if m[0] in "BH" and m[1:2].isdigit()), None)
        if part is not None:
            i.number[3] = int(part[1]) * (8 if part[0] == "B" else 16)
            if operand.negated or operand.inverted or operand.absolute or not isinstance(operand, sass.Register):
                raise NotDecoded("the sign of a part of a register")
            operand = whole_register(operand)
        t.read(i, 0, operand)


def _float_format(s: sass.Statement) -> str:
    return next((name for name in ("F64", "F16", "BF16") if s.has(name)), "F32")


def integer_to_float(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("integer to float")
    origin = next((part for part in s.opcode[:0:-1] if part in form.FORMATS and part[0] in "US"), "S32")
    to = _float_format(s)
    _converted(t, i, a, origin)
    i.number[:3] = [form.FORMATS[to], form.FORMATS[origin], rounding_of(s)]
    t.writes(i, destination, 2 if to == "F64" else 1)
    return i


def float_to_integer(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    i = Decoded("float to integer", flags=int(s.has("FTZ")))
    to = next((part for part in s.opcode[1:] if part in form.FORMATS and part[0] in "US"), "S32")
    origin = _float_format(s)
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
    format_ = _float_format(s)
    _converted(t, i, a, format_)
    i.number[0], i.number[2] = form.FORMATS[format_], chosen(s, form.WHOLE, 0)
    t.writes(i, destination, 2 if format_ == "F64" else 1)
    return i


def float_to_float(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    types = [part for part in s.opcode[1:] if part in ("F16", "F32", "F64", "BF16")]
    if len(types) != 2 or types[1] == "BF16" or types == ["BF16", "F16"]:
        raise NotDecoded("a conversion between other types")
    to, origin = types
    i = Decoded("float to float", flags=int(s.has("FTZ")))
    _converted(t, i, a, origin)
    i.number[:3] = [form.FORMATS[to], form.FORMATS[origin], rounding_of(s)]
    t.writes(i, destination, 2 if to == "F64" else 1)
    return i


def pack_halves(t: Decoder, s: sass.Statement) -> Decoded:
    """F2FP: two float32 to two 16-bit floats in one register, and the other conversions to and from narrow formats.

    F2FP{.BF16,.F16}{.F32}.PACK_AB{.RZ} d, high, low; F2FP.TF32.F32.PACK_B{.RZ} d, a; and see `_eight_bits`.
    """
    if s.has("E4M3", "E5M2"):
        return _eight_bits(t, s)
    destination, high, low, *_ = (*s.operands, sass.Register("R", None))
    if s.has("TF32"):
        i = Decoded("float to float", flags=64 * s.has("RELU"))
        i.number[:3] = [form.FORMATS["TF32"], form.FORMATS["F32"], rounding_of(s)]
        t.writes(i, destination)
        t.read(i, 0, high, "f")
        return i
    if s.has("MERGE_C"):
        if not is_zero(low):
            raise NotDecoded("a half that stays what it was")
        high, low = low, high
    elif not s.has("PACK_AB"):
        raise NotDecoded("other ways of packing")
    i = Decoded("pack halves", flags=32 * s.has("BF16") | 64 * s.has("RELU"))
    i.number[2] = rounding_of(s)
    t.writes(i, destination)
    t.read(i, 0, high, "f")
    t.read(i, 1, low, "f")
    return i


def _eight_bits(t: Decoder, s: sass.Statement) -> Decoded:
    """Two numbers of 8 bits in the low half of a register, to and from two float16, and from two float32.

    F2FP.F16.E4M3.UNPACK_B d, a{.H1}; F2FP.SATFINITE.E4M3.F16.UNPACK_B_MERGE_C d, a, c;
    F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C d, high, low, c. The low half of c becomes the high one of d.
    """
    is_e5m2 = int(not s.has("E4M3"))
    if s.has("UNPACK_B"):
        destination, a = s.operands
        if a.modifiers not in ((), ("H0",), ("H1",)):
            raise NotDecoded(f"the part {a.modifiers[0]}")
        i = Decoded("unpack eights", number=[is_e5m2, 16 * (a.modifiers == ("H1",)), 0, 0])
        t.writes(i, destination)
        t.read(i, 0, whole_register(a))
        return i
    if not s.has("SATFINITE"):
        raise NotDecoded("its form that does not saturate")
    destination, *sources, merged = s.operands
    if len(sources) != (2 if s.has("F32") else 1):
        raise NotDecoded(f"its form with {len(sources)} numbers")
    origin = "F32" if s.has("F32") else "F16"
    i = Decoded("pack eights", flags=64 * s.has("RELU"), number=[is_e5m2, form.FORMATS[origin], 0, 0])
    t.writes(i, destination)
    for position, operand in enumerate(sources):
        t.read(i, position, operand, "f" if origin == "F32" else "h")
    t.read(i, 2, merged)
    return i
