"""Bits of registers: logic, shifts, fields, permutations."""

from __future__ import annotations

from dataclasses import replace

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, NEGATED, Decoded, NotDecoded
from gpusim.isa.sass import operands as operand_rules
from gpusim.isa.sass.decoding.decoder import Decoder, is_false, number_of
from gpusim.isa.sass.operands import chosen


def move(t: Decoder, s: sass.Statement) -> Decoded:
    destination, source, *_ = s.operands
    if s.has("64"):
        return _move_wide(t, destination, source)
    i = Decoded("move")
    t.writes(i, destination)
    t.read(i, 0, source)
    return i


def _move_wide(t: Decoder, destination: sass.Operand, source: sass.Operand) -> Decoded:
    i = Decoded("move two")
    t.writes(i, destination, 2)
    t.read(i, 0, source, "w")
    if i.mode[0]:
        raise NotDecoded("a pair of registers that is changed as it is moved")
    low = i.source[0]
    if isinstance(low, tuple):
        i.source[1] = low[0], low[1] + 1
    else:
        i.source[1] = low + 1 if low >= 0 else low - 1
    i.width[:2] = [1, 1]
    return i


def logic3(t: Decoder, s: sass.Statement) -> Decoded:
    predicates, rest = operand_rules.leading_predicates(s.operands)
    destination, a, b, c, table, *last = rest
    i = Decoded("logic3", flags=512 * s.has("PAND"))
    t.writes(i, destination)
    for position, operand in enumerate((a, b, c)):
        t.read(i, position, operand)
    i.number[0] = number_of(table) & 0xFF
    if predicates:
        if len(predicates) > 1:
            raise NotDecoded("two predicates")
        i.operation = "logic3 with predicate"
        i.p_out[0] = t.kept(predicates[0])
        # The rule leaves a false predicate out, also where .PAND would combine with it.
        use = last and not is_false(last[0])
        i.p_in[0] = t.predicate(last[0]) if use else ALWAYS if s.has("PAND") else ALWAYS | NEGATED
    return i


def permute_bytes(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded("permute bytes")
    t.writes(i, destination)
    if mode := chosen(s, {name.upper(): name for name in form.BYTE_PERMUTATIONS}, ""):
        i.flags, i.number = 1, form.byte_selectors(mode)
    t.read_all(i, sources, 3)
    return i


def sign_extend(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, width = s.operands
    i = Decoded("sign extend", flags=8 * s.has("W") | int(s.has("U32")))
    t.writes(i, destination)
    t.read(i, 0, a)
    t.read(i, 1, width)
    return i


def bit_mask(t: Decoder, s: sass.Statement) -> Decoded:
    destination, position, width = s.operands
    i = Decoded("bit mask", flags=8 * s.has("W"))
    t.writes(i, destination)
    t.read(i, 0, position)
    t.read(i, 1, width)
    return i


def select(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, b, condition = s.operands
    kind = "f" if s.base in ("FSEL", "UFSEL") else "w" if s.has("64") else "i"
    i = Decoded("select wide" if kind == "w" else "select")
    t.writes(i, destination, 2 if kind == "w" else 1)
    t.read(i, 0, a, kind)
    t.read(i, 1, b, kind)
    i.p_in[0] = t.predicate(condition)
    return i


def predicate_logic3(t: Decoder, s: sass.Statement) -> Decoded:
    first, second, a, b, c, *tables = s.operands
    i = Decoded("predicate logic3")
    i.p_out = [t.kept(first), t.kept(second)]
    i.uniform = first.file == "UP"
    for position, operand in enumerate((a, b, c)):
        if isinstance(operand, sass.Register) and operand.modifiers == ("SIGN",):  # true for a negative register
            t.read(i, position, whole_register(operand))
        else:
            i.p_in[position] = t.predicate(operand)
    i.number[0], i.number[1] = (number_of(table) & 0xFF for table in tables)
    return i


def _byte_shift(s: sass.Statement) -> int:
    modifiers = [*s.opcode, *(m for o in s.operands if isinstance(o, sass.Register) for m in o.modifiers)]
    return 8 * next((int(m[1]) for m in modifiers if m in ("B0", "B1", "B2", "B3")), 0)


def whole_register(operand: sass.Operand) -> sass.Operand:
    """The register of which an operand names a part."""
    return replace(operand, modifiers=()) if isinstance(operand, sass.Register) else operand


def pack_predicates(t: Decoder, s: sass.Statement) -> Decoded:
    destination, _, a, mask = s.operands
    i = Decoded("pack predicates")
    t.writes(i, destination)
    t.read(i, 0, whole_register(a))
    i.number[:3] = _which_predicates(s, mask)
    return i


def unpack_predicates(t: Decoder, s: sass.Statement) -> Decoded:
    _, a, *mask = s.operands
    if len(mask) > 1:
        raise NotDecoded(f"its form with {len(s.operands)} operands")
    i = Decoded("unpack predicates", uniform=s.base == "UR2UP")
    t.read(i, 0, whole_register(a))
    i.number[:3] = _which_predicates(s, *mask)
    return i


def _which_predicates(s: sass.Statement, *mask: sass.Operand) -> list[int]:
    return [
        number_of(*mask) & 0x7F if mask else 0x7F,
        _byte_shift(s),
        form.UNIFORM_PREDICATES if s.base in ("UP2UR", "UR2UP") else 0,
    ]
