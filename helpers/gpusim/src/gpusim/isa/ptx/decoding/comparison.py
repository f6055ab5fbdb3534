"""Comparisons, and choices by what they found."""

from __future__ import annotations

from gpusim.compiler.ptx import TYPE_BYTES, Statement
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, Decoded, NotDecoded
from gpusim.isa.ptx.decoding.decoder import (
    BRAIN,
    FLOATS,
    FLUSHES,
    UNSIGNED,
    Decoder,
    bits_of,
    format_of,
    is_integer,
    refuse_unknown,
)
from gpusim.isa.ptx.decoding.integer import whole_number
from gpusim.isa.ptx.operands import items_of


def _comparison(t: Decoder, i: Decoded, s: Statement, types: int) -> None:
    """The comparison and how it is combined with a third predicate, which follows the operands."""
    modifiers = s.opcode[2:-types]
    refuse_unknown(modifiers, (*COMBINATIONS, "ftz"))
    combination = next((m for m in modifiers if m in COMBINATIONS), None)
    third = s.operands[3:]
    if bool(third) != (combination is not None):
        raise NotDecoded("a comparison with four operands" if third else f"the modifier .{combination}")
    name = s.opcode[1]
    name = name if s.type in (*FLOATS, *PAIRS) else UNSIGNED_COMPARISONS.get(name, name)
    known = form.COMPARE if s.type in (*FLOATS, *PAIRS) else form.COMPARE_INTEGERS
    if name.upper() not in known:
        raise NotDecoded(f"the comparison .{name} of {s.type}")
    if "ftz" in modifiers and s.type != "f32":
        raise NotDecoded(f"the modifier .ftz of {s.type}")
    i.number[0], i.number[1] = form.COMPARE[name.upper()], form.COMBINE[combination.upper()] if combination else 0
    i.p_in[0] = t.predicate(third[0]) if third else ALWAYS


COMBINATIONS = ("and", "or", "xor")
UNSIGNED_COMPARISONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}  # names of their own, for unsigned numbers
PAIRS = ("f16x2", "bf16x2")
ONES = {"f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C003C00, "bf16x2": 0x3F803F80}  # 1.0 as bits
QUICK_COMPARISONS = {"f32": "float compare", "f64": "double compare"}


def _compared_format(s: Statement) -> int:
    """The format of what is compared; names of their own are those of comparisons of unsigned numbers."""
    if s.type in FLOATS:
        return FLOATS[s.type]
    return bits_of(s.type) if s.opcode[1] in UNSIGNED_COMPARISONS else format_of(s.type)


def set_predicate(t: Decoder, s: Statement) -> Decoded:
    destinations, a, b, *_ = s.operands
    items = items_of(destinations)
    type_ = s.type
    flags = FLUSHES * ("ftz" in s.modifiers)
    unsigned = type_[0] != "s" or s.opcode[1] in UNSIGNED_COMPARISONS
    if type_ in PAIRS:
        i = Decoded("half compare", flags=BRAIN * type_.startswith("bf16"))
    elif type_ in QUICK_COMPARISONS:
        i = Decoded(QUICK_COMPARISONS[type_], flags=flags)
    elif is_integer(type_) and bits_of(type_) > 16:
        i = Decoded("compare" if bits_of(type_) == 32 else "compare wide", flags=UNSIGNED * unsigned)
    else:
        i = Decoded("compare typed", flags=flags)
        i.number[2] = _compared_format(s)
    t.read_all(i, (a, b), type_)
    _comparison(t, i, s, 1)
    i.p_out[: len(items)] = [t.kept(item) for item in items]
    return i


TRUE = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


def set_register(t: Decoder, s: Statement) -> Decoded:
    refuse_unknown(s.opcode[2:-2], (*COMBINATIONS, "ftz"))
    destination, a, b, *_ = s.operands
    to = s.opcode[-2]
    if s.type in PAIRS:
        if to not in ("u32", "s32", *PAIRS):
            raise NotDecoded(f"a comparison of {s.type} to {to}")
        i = Decoded("half compare to register", flags=BRAIN * s.type.startswith("bf16"))
        i.number[2] = ONES.get(to, 0xFFFF) & 0xFFFF
    else:
        i = Decoded("compare typed to register", flags=FLUSHES * ("ftz" in s.modifiers))
        i.number[2:] = [_compared_format(s), TRUE.get(to, -1)]
    t.read_all(i, (a, b), s.type)
    _comparison(t, i, s, 2)
    t.writes(i, destination, TYPE_BYTES[to])
    return i


def test_number(t: Decoder, s: Statement) -> Decoded:
    refuse_unknown(s.modifiers, form.CLASSES)
    destination, a = s.operands
    i = Decoded("test number", number=[form.CLASSES[s.opcode[1]], 0, FLOATS[s.type], 0])
    t.read(i, 0, a, s.type)
    i.p_out[0] = t.kept(destination)
    return i


def select(t: Decoder, s: Statement) -> Decoded:
    destination, a, b, choice = s.operands
    wide = bits_of(s.type) == 64
    i = Decoded("select wide" if wide else "select")
    t.read_all(i, (a, b), s.type)
    i.p_in[0] = t.predicate(choice)
    t.writes(i, destination, TYPE_BYTES[s.type])
    return i


def select_by_sign(t: Decoder, s: Statement) -> Decoded:
    refuse_unknown(s.opcode[1:-2], ("ftz",) if s.type == "f32" else ())
    destination, a, b, c = s.operands
    type_ = s.opcode[-2]
    choice = 0 if s.type == "s32" else 1 + ("ftz" in s.modifiers)
    own = f"b{bits_of(type_)}"
    return whole_number(t, "slct", destination, [(a, own), (b, own), (c, s.type)], own, own, choice)
