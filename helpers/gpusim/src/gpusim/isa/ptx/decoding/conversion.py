"""Conversions between formats of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler.ptx import TYPE_BYTES, Immediate, Statement
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.ptx.decoding.decoder import (
    BRAIN,
    FLOATS,
    FLUSHES,
    RELU,
    ROUNDING,
    SATURATES,
    Decoder,
    bits_of,
    format_of,
    is_integer,
    refuse_unknown,
)
from gpusim.isa.ptx.decoding.integer import whole_number
from gpusim.isa.ptx.decoding.moves import moved
from gpusim.isa.ptx.operands import dtype_of

WHOLE = {"rni": 0, "rzi": 1, "rmi": 2, "rpi": 3}
EIGHTS = ("e4m3x2", "e5m2x2")


LIMITED_BELOW = (("f16", "f32"), ("bf16", "f32"))  # to and from what negative numbers may become zero
WITH_BRAINS = (("bf16", "f32"), ("bf16", "f64"), ("f32", "bf16"))


def _refuse_unknown(to: str, origin: str, modifiers: Sequence[str]) -> None:
    """NotDecoded for a pair of types of which one is floating, or a modifier, that there is not."""
    # A float is always limited to the range of an integer, with or without .sat.
    own = ("sat",) if to == "f32" or is_integer(to) else ("relu",) if (to, origin) in LIMITED_BELOW else ()
    refuse_unknown(modifiers, ("rn", "rz", "rm", "rp", *WHOLE, "ftz", *own))
    whole = next((m for m in modifiers if m in WHOLE), None)
    floats = ("f16", "f32", "f64", "bf16")
    if is_integer(to) or is_integer(origin):
        is_known = to in floats or origin in floats
    elif whole is not None:
        is_known = to == origin and to in floats
    else:
        is_known = (to, origin) in WITH_BRAINS or {to, origin} <= {"f16", "f32", "f64"}
    if not is_known:
        raise NotDecoded(f"a conversion from {origin} to {to}" + (f" with .{whole}" if whole else ""))


def _convert_and_pack(t: Decoder, s: Statement) -> Decoded:
    to, *types = s.opcode[3:]
    destination, *sources = s.operands
    counts = len(sources) == (2 if to in ("s16", "u16") else 3)
    if s.opcode[2] != "sat" or types != ["s32", *["b32"] * (len(sources) - 2)] or not counts:
        raise NotDecoded(f"the conversion {'.'.join(s.opcode)}")
    i = Decoded("pack limited", number=[format_of(s.opcode[3]), 0, 0, 0])
    t.read_all(i, sources, "b32")
    t.writes(i, destination, 4)
    return i


def convert(t: Decoder, s: Statement) -> Decoded:
    if s.opcode[1] == "pack":
        return _convert_and_pack(t, s)
    to, origin, modifiers = s.opcode[-2], s.opcode[-1], s.opcode[1:-2]
    destination, *sources = s.operands
    if to in EIGHTS or origin in EIGHTS:
        return _convert_eights(t, s)
    if to in ("f16x2", "bf16x2"):
        if len(sources) != 2 or origin != "f32":
            raise NotDecoded(f"a conversion from {origin} to {to}")
        _refuse_unknown(to.removesuffix("x2"), origin, modifiers)
        i = Decoded("pack halves", flags=BRAIN * to.startswith("bf16") | RELU * ("relu" in modifiers))
        i.number[2] = ROUNDING.get(modifiers[0], 0)
        t.read_all(i, sources, "f32")
        t.writes(i, destination, 4)
        return i
    if len(sources) != 1:
        raise NotDecoded(f"a conversion to {to}")
    (a,) = sources
    dtype_of(origin)  # refuses a type that is not modelled under its own name
    if is_integer(to) and is_integer(origin):
        return _convert_integer(t, destination, a, to, origin, modifiers)
    if to == "tf32":
        refuse_unknown(modifiers, ("rna", "rn", "rz"))
    else:
        _refuse_unknown(to, origin, modifiers)
    flags = FLUSHES * ("ftz" in modifiers) | SATURATES * ("sat" in modifiers) | RELU * ("relu" in modifiers)
    rounding = next((ROUNDING[m] for m in modifiers if m in ROUNDING), 0)
    whole = next((WHOLE[m] for m in modifiers if m in WHOLE), None)
    formats = [FLOATS.get(type_) or format_of(type_) for type_ in (to, origin)]
    if is_integer(to):
        i = Decoded("float to integer", flags=flags, number=[*formats, 1 if whole is None else whole, 0])
    elif ("sat" in modifiers and to != "f32") or origin == "tf32":
        raise NotDecoded(f"a conversion from {origin} to {to}")
    elif is_integer(origin):
        i = Decoded("integer to float", flags=flags, number=[*formats, rounding, 0])
    elif whole is not None:
        if to != origin:
            raise NotDecoded("its form")
        i = Decoded("round to whole", flags=flags, number=[formats[0], 0, whole, 0])
    else:
        i = Decoded("float to float", flags=flags, number=[*formats, rounding, 0])
    t.read(i, 0, a, origin)
    if is_integer(to):
        t.writes_any(i, destination)
    else:
        t.writes(i, destination, TYPE_BYTES[to])
    return i


def _convert_eights(t: Decoder, s: Statement) -> Decoded:
    to, origin = s.opcode[-2:]
    refuse_unknown(s.opcode[1:-2], ("rn", "satfinite", "relu"))
    destination, *sources = s.operands
    if origin in EIGHTS:
        if to != "f16x2" or "relu" in s.opcode:
            raise NotDecoded(f"a conversion from {origin} to {to}")
        i = Decoded("unpack eights", number=[int(origin == "e5m2x2"), 0, 0, 0])
        t.read(i, 0, sources[0], "b16")
        t.writes(i, destination, 4)
        return i
    if origin not in ("f32", "f16x2"):
        raise NotDecoded(f"a conversion from {origin} to {to}")
    i = Decoded("pack eights", number=[int(to == "e5m2x2"), FLOATS[origin.removesuffix("x2")], 0, 0])
    i.flags = RELU * ("relu" in s.opcode)
    t.read_all(i, sources, origin)
    t.writes(i, destination, 2)
    return i


def _convert_integer(t: Decoder, destination, a, to: str, origin: str, modifiers: Sequence[str]) -> Decoded:
    refuse_unknown(modifiers, ("sat",))
    bits = 8 * t.bytes_of(destination)
    if not modifiers and bits == bits_of(to):
        if bits == 32 and bits_of(origin) >= 32:
            return moved(t, destination, t.value(a, origin)[:1])
        if bits == 64 and origin == "u32":
            return moved(t, destination, (*t.value(a, origin), -1))
        if bits == 64 and origin == "s32":
            i = Decoded("multiply-add wide")
            t.read_all(i, (a, Immediate(1, 1)), "s32")
            t.zero(i, 2, wide=True)
            t.writes(i, destination, 8)
            return i
    return whole_number(t, "cvt", destination, [(a, origin)], origin, to, len(modifiers))
