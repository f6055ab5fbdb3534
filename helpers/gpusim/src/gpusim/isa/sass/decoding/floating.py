"""Floating-point numbers of 32 and 64 bits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, Decoded, NotDecoded, Word
from gpusim.isa.sass.decoding.decoder import Decoder
from gpusim.isa.sass.operands import chosen

SCALES = {"M2": 1, "M4": 2, "M8": 3, "D2": -1, "D4": -2, "D8": -3}


def rounding_of(s: sass.Statement) -> int:
    return chosen(s, form.ROUNDING, 0)


def arithmetic(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *sources = s.operands
    operation, flags, rounding, scale = _operation_of(s.opcode)
    i = Decoded(operation, flags=flags)
    t.writes(i, destination)
    t.read_all(i, sources, 3 if "fused" in operation else 2, "f")
    i.number[0], i.number[1] = rounding, scale
    return i


@cache
def _operation_of(opcode: tuple[str, ...]) -> tuple[str, int, int, int]:
    """(operation, flags, rounding, scale) of FADD, FMUL or FFMA."""
    name = {"FADD": "float add", "FMUL": "float multiply", "FFMA": "float fused"}[opcode[0].removeprefix("U")]
    rounding, scale = (next((n[part] for part in opcode if part in n), 0) for n in (form.ROUNDING, SCALES))
    plain = not (rounding or scale or "SAT" in opcode)
    return name if plain else f"{name} with modifiers", int("FTZ" in opcode) | 2 * ("SAT" in opcode), rounding, scale


def mixed(t: Decoder, s: sass.Statement) -> Decoded:
    """FHADD and FHFMA{.BF16}{.SAT}{.RM,.RP,.RZ} d, a {, b}, c: a and b are halves of registers, c is a float32."""
    destination, *factors, c = s.operands
    if len(factors) != (2 if s.base == "FHFMA" else 1):
        raise NotDecoded(f"its form with {len(s.operands)} operands")
    i = Decoded("mixed fused", flags=2 * s.has("SAT") | 32 * s.has("BF16"), number=[rounding_of(s), 0, 0, 0])
    t.writes(i, destination)
    for position, operand in enumerate(factors):
        t.read(i, position, operand, "h")
    if s.base == "FHADD":
        i.source[1], i.width[1] = t.words.row(Word(-1, form.ONE_OF_BRAIN if s.has("BF16") else form.ONE_OF_HALF)), 1
    t.read(i, 2, c, "f")
    return i


def extreme(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, b, *third, condition = s.operands
    if len(third) != (s.base == "FMNMX3"):
        raise NotDecoded("a minimum of other operands")
    flags = int(s.has("FTZ")) | 4 * s.has("NAN") | 8 * s.has("XORSIGN") | 64 * len(third)
    i = Decoded("float extreme", flags=flags)
    t.writes(i, destination)
    for position, operand in enumerate((a, b, *third)):
        t.read(i, position, operand, "f")
    if s.has("XORSIGN"):
        for position, operand in ((2, a), (3, b)):
            t.read(i, position, operand, "f")
            i.mode[position] = 0
    i.p_in[0] = t.predicate(condition)
    return i


def _compared(t: Decoder, s: sass.Statement, i: Decoded, a, b, c) -> Decoded:
    """How a and b are compared, and what is combined with c."""
    t.read(i, 0, a, "f")
    t.read(i, 1, b, "f")
    i.p_in[0] = t.predicate(c)
    i.number[0], i.number[1] = chosen(s, form.COMPARE), chosen(s, form.COMBINE)
    return i


def compare(t: Decoder, s: sass.Statement) -> Decoded:
    first, second, a, b, c = s.operands
    i = Decoded("float compare", flags=int(s.has("FTZ")))
    i.p_out = [t.kept(first), t.kept(second)]
    i.uniform = first.file == "UP"
    return _compared(t, s, i, a, b, c)


def compare_to_register(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a, b, c = s.operands
    i = Decoded("float compare to register", flags=int(s.has("FTZ")) | 16 * s.has("BF"))
    t.writes(i, destination)
    return _compared(t, s, i, a, b, c)


def check_division(t: Decoder, s: sass.Statement) -> Decoded:
    first, a, b = s.operands
    i = Decoded("check division")
    i.p_out[0] = t.kept(first)
    t.read(i, 0, a, "f")
    t.read(i, 1, b, "f")
    return i


SPECIAL_FUNCTIONS = {
    name: number
    for number, name in enumerate(["RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH", "RCP64H", "RSQ64H"])
}


def _of_pair(t: Decoder, i: Decoded, position: int, operand: sass.Operand) -> None:
    """A source of FADD2: a pair, R4.F32x2.HI_LO, its halves in turn, .LO_HI, or one number for both, R4.F32 or 1.5."""
    if isinstance(operand, sass.Immediate):
        t.read(i, position, operand, "f")
        word = t.words.all[-1 - i.source[position]]
        i.source[position], i.width[position] = t.words.row(word, word), 2
        return
    order = {("F32x2", "HI_LO"): 0, ("F32x2", "LO_HI"): form.SWAPPED, ("F32",): form.LOW_TWICE}
    if operand.modifiers not in order:
        raise NotDecoded(f"the pair {' '.join(operand.modifiers)}")
    t.read(i, position, replace(operand, modifiers=(), negated=False, absolute=False), "w")
    i.mode[position] = (
        order[operand.modifiers] | form.HALF_ABSOLUTE * operand.absolute | form.HALF_NEGATE * operand.negated
    )


def pair_arithmetic(t: Decoder, s: sass.Statement) -> Decoded:
    """FADD2, FMUL2, FFMA2{.FTZ}{.RM,.RP,.RZ} d, a, b {, c}: FADD and so on of two registers each."""
    destination, *sources = s.operands
    function = {"FADD2": 0, "FMUL2": 2, "FFMA2": 3}[s.base]
    if len(sources) != (3 if s.base == "FFMA2" else 2):
        raise NotDecoded(f"its form with {len(s.operands)} operands")
    i = Decoded("float pair", flags=int(s.has("FTZ")), number=[rounding_of(s), 0, function, 0])
    t.writes(i, destination, 2)
    for position, operand in enumerate(sources):
        _of_pair(t, i, position, operand)
    return i


def special_function(t: Decoder, s: sass.Statement) -> Decoded:
    destination, a = s.operands
    if s.has("F16"):
        i = Decoded("half arithmetic", number=[chosen(s, {"EX2": 3, "TANH": 4}), 1, 0, 0])
        t.writes(i, destination)
        t.read(i, 0, a, "h")
        return i
    i = Decoded("special function")
    i.number[0] = chosen(s, SPECIAL_FUNCTIONS)
    t.writes(i, destination)
    if i.number[0] >= SPECIAL_FUNCTIONS["RCP64H"] and isinstance(a, sass.Immediate):
        i.source[0], i.width[0] = t.words.row(Word(-1, t.raw_immediate())), 1
    else:
        t.read(i, 0, a, "f")
    return i


def double_arithmetic(t: Decoder, s: sass.Statement) -> Decoded:
    destination, *sources = s.operands
    i = Decoded({"DADD": "double add", "DMUL": "double multiply", "DFMA": "double fused"}[s.base])
    t.writes(i, destination, 2)
    t.read_all(i, sources, 3 if s.base == "DFMA" else 2, "d")
    # Neither - nor | | changes a NaN, which is handed on as it stands in its register: the operation carries them out.
    i.number[0], i.number[1:], i.mode = rounding_of(s), i.mode[:3], [0] * 4
    return i


def double_compare(t: Decoder, s: sass.Statement) -> Decoded:
    first, second, a, b, c = s.operands
    i = Decoded("double compare", flags=1024 * s.has("MIN") | 2048 * s.has("MAX"))
    i.p_out = [t.kept(first), t.kept(second)]
    t.read(i, 0, a, "d")
    t.read(i, 1, b, "d")
    i.p_in[0] = t.predicate(c)
    i.number[1] = chosen(s, form.COMBINE)
    if s.has("MIN", "MAX"):
        if i.p_in[0] != ALWAYS:
            raise NotDecoded("a condition of DSETP.MIN")
    else:
        i.number[0] = chosen(s, form.COMPARE)
    return i
