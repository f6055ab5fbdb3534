"""Floating-point numbers of 16, 32 and 64 bits."""

from __future__ import annotations

from functools import cache

from gpusim.compiler.ptx import TYPE_BYTES, Immediate, Statement
from gpusim.isa import decoded as form
from gpusim.isa.decoded import ALWAYS, NEGATED, Decoded, NotDecoded
from gpusim.isa.ptx.decoding.bits import LOGIC, logic_of_three
from gpusim.isa.ptx.decoding.decoder import (
    BRAIN,
    FLUSHES,
    KEEPS_NAN,
    RELU,
    ROUNDING,
    SATURATES,
    Decoder,
    bits_of,
    refuse_unknown,
)
from gpusim.isa.ptx.decoding.integer import whole_number

SIGN = {"f16": 0x8000, "bf16": 0x8000, "f16x2": 0x80008000, "bf16x2": 0x80008000, "f32": 1 << 31, "f64": 1 << 63}


# By type, the modifiers that there are, and the functions of float32 and float64 by how they round.
ROUNDINGS = ("rn", "rz", "rm", "rp")
MODIFIERS = {
    "f32": {*ROUNDINGS, "ftz", "sat", "approx", "full", "NaN"},
    "f32x2": {*ROUNDINGS, "ftz"},
    "f64": {*ROUNDINGS, "approx", "ftz"},
    **dict.fromkeys(("f16", "f16x2"), {"rn", "ftz", "sat", "relu", "approx"}),
    **dict.fromkeys(("bf16", "bf16x2"), {"rn", "ftz", "relu", "approx"}),
}
ROUNDED = ("add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt")
APPROXIMATE = ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "div")
OF_HALVES = ("add", "sub", "mul", "fma", "min", "max", "ex2", "tanh")


@cache
def _refuse_unknown(name: str, modifiers: tuple[str, ...], type_: str) -> None:
    """NotDecoded for a function, or a modifier of it, that numbers of a type do not have."""
    refuse_unknown(modifiers, MODIFIERS.get(type_, ()))
    if name in ("neg", "abs"):
        if "ftz" in modifiers and type_ not in ("f32", "f16", "f16x2"):
            raise NotDecoded(f"the modifier .ftz of {type_}")
    elif name != "copysign":
        _REFUSE.get(type_, _refuse_type)(name, modifiers, type_)


def _refuse_type(name: str, modifiers: tuple[str, ...], type_: str) -> None:
    raise NotDecoded(f"{name} of {type_} numbers")


def _refuse_float32(name: str, modifiers: tuple[str, ...], type_: str) -> None:
    way = modifiers[0] if modifiers else ""
    is_approximate = (way == "approx" and name in APPROXIMATE) or (way, name) == ("full", "div")
    if not is_approximate and name not in (*ROUNDED, "min", "max"):
        raise NotDecoded(f"{name}.f32")


def _refuse_float64(name: str, modifiers: tuple[str, ...], type_: str) -> None:
    if modifiers == ("approx", "ftz"):
        if name not in ("rcp", "rsqrt"):
            raise NotDecoded(f"{name}.approx.ftz.f64")
    elif "approx" in modifiers or "ftz" in modifiers:
        if (name, *modifiers) != ("rsqrt", "approx"):
            raise NotDecoded(f"{'.'.join((name, *modifiers))}.f64")
    else:
        rounding = next((m for m in modifiers if m in ROUNDINGS), "rn")
        if name not in (ROUNDED if rounding != "rn" else (*ROUNDED, "min", "max")):
            raise NotDecoded(f"{name}.{rounding}.f64" if rounding != "rn" else f"{name}.f64")


def _refuse_halves(name: str, modifiers: tuple[str, ...], type_: str) -> None:
    if name not in OF_HALVES:
        raise NotDecoded(f"{name} of 16-bit floating-point numbers")
    if "ftz" in modifiers and type_.startswith("bf16") and name != "ex2":
        raise NotDecoded(f"{name}.ftz of bfloat16 numbers")


_REFUSE = {
    **dict.fromkeys(("f32", "f32x2"), _refuse_float32),
    "f64": _refuse_float64,
    **dict.fromkeys(("f16", "f16x2", "bf16", "bf16x2"), _refuse_halves),
}


def arithmetic(t: Decoder, s: Statement) -> Decoded:
    """name{.rounding}{.ftz}{.sat}.type d, a {, b, c}"""
    if s.type in ("f16", "bf16") and "f32" in s.modifiers and s.name in ("add", "sub", "fma"):
        return _mixed(t, s)
    _refuse_unknown(s.name, s.modifiers, s.type)
    if s.name in ("neg", "abs", "copysign"):
        return _sign(t, s)
    if s.type == "f32":
        return _float32(t, s)
    if s.type == "f64":
        return _float64(t, s)
    if s.type in SIGN:
        return _halves(t, s)
    if s.type == "f32x2":
        return _pair_of_floats(t, s)
    raise NotDecoded(f"{s.name} of {s.type} numbers")


def _mixed(t: Decoder, s: Statement) -> Decoded:
    """name{.rounding}{.sat}.f32.type d, a {, b}, c: a and b are of the type, of 16 bits, c and d float32."""
    destination, *factors, c = s.operands
    wanted = 2 if s.name == "fma" else 1
    if len(factors) != wanted or any(m not in ("f32", "sat", "rn", *ROUNDING) for m in s.modifiers):
        raise NotDecoded("its form")
    is_brain = s.type == "bf16"
    i = Decoded("mixed fused", flags=SATURATES * ("sat" in s.modifiers) | BRAIN * is_brain)
    i.number[0] = next((ROUNDING[m] for m in s.modifiers if m in ROUNDING), 0)
    for position, operand in enumerate(factors):
        t.read(i, position, operand, s.type)
    if s.name != "fma":
        i.source[1], i.width[1] = t.number(form.ONE_OF_BRAIN if is_brain else form.ONE_OF_HALF)[0], 1
    t.read(i, 2, c, "f32")
    i.mode[2] = form.FLOAT_NEGATE * (s.name == "sub")
    t.writes(i, destination, 4)
    return i


def _sign(t: Decoder, s: Statement) -> Decoded:
    destination, a, *others = s.operands
    if s.type not in SIGN or (s.modifiers and s.type not in ("f32", "f16", "f16x2")):
        raise NotDecoded("its form")
    if s.modifiers and s.type == "f32":
        return _float_function(t, s, s.name)
    if s.modifiers:  # it is a sum with -0
        i = Decoded("half arithmetic", flags=FLUSHES, number=[form.HALF_FUNCTIONS["add"], 0, 0, 0])
        i.mode[0] = form.HALF_NEGATE if s.name == "neg" else form.HALF_ABSOLUTE
        t.read(i, 0, a, s.type)
        i.source[1], i.width[1] = t.number(SIGN["f16x2"])[0], 1
        t.writes(i, destination, TYPE_BYTES[s.type])
        return i
    sign = SIGN[s.type]
    if s.name == "copysign" and s.type == "f64":
        fields = [(others[0], "b64"), (a, "b64"), (Immediate(0, 0), "u32"), (Immediate(63, 63), "u32")]
        return whole_number(t, "bfi", destination, fields, "b64", "b64")
    if s.name == "copysign":
        return logic_of_three(t, destination, (a, *others, Immediate(sign, sign)), 0xE4)
    bits = max(32, bits_of(s.type))
    mask = sign if s.name == "neg" else sign ^ ((1 << bits_of(s.type)) - 1)
    if bits == 64:
        name, own = "xor" if s.name == "neg" else "and", "b64"
        return whole_number(t, name, destination, [(a, own), (Immediate(mask, mask), own)], own, own)
    i = Decoded("logic3", number=[LOGIC["xor" if s.name == "neg" else "and"], 0, 0, 0])
    t.read(i, 0, a, s.type)
    i.source[1:3], i.width[1:3] = [t.number(mask)[0], -1], [1, 1]
    t.writes(i, destination, TYPE_BYTES[s.type])
    return i


FUSED = {"fma": "float fused", "mad": "float fused", "mul": "float multiply", "add": "float add", "sub": "float add"}


def _float32(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    rounding = next((ROUNDING[m] for m in s.modifiers if m in ROUNDING), 0)
    flags = FLUSHES * ("ftz" in s.modifiers) | SATURATES * ("sat" in s.modifiers)
    if s.name in ("min", "max"):
        if any(m not in ("ftz", "NaN") for m in s.modifiers) or len(sources) != 2:
            raise NotDecoded("its form")
        i = Decoded("float extreme", flags=flags | KEEPS_NAN * ("NaN" in s.modifiers))
        i.p_in[0] = ALWAYS if s.name == "min" else ALWAYS | NEGATED
    elif s.name in FUSED:
        i = Decoded(FUSED[s.name], flags=flags, number=[rounding, 0, 0, 0])
        i.mode[1] = form.FLOAT_NEGATE * (s.name == "sub")
        if rounding or "sat" in s.modifiers:
            i.operation += " with modifiers"
    else:
        return _float_function(t, s, s.name)
    t.read_all(i, sources, "f32")
    t.writes(i, destination, 4)
    return i


def _float_function(t: Decoder, s: Statement, name: str) -> Decoded:
    destination, *sources = s.operands
    way = next((m for m in s.modifiers if m in ("approx", "full")), None)
    key = f"{name}.{way}" if way else name
    i = Decoded("float function", flags=FLUSHES * ("ftz" in s.modifiers) | SATURATES * ("sat" in s.modifiers))
    i.number[1] = next((ROUNDING[m] for m in s.modifiers if m in ROUNDING), 0)
    if key == "rcp":
        key, sources = "div", [Immediate(1.0, 0x3F800000), *sources]
    if key not in form.FLOAT_FUNCTIONS:
        raise NotDecoded("its form")
    i.number[0] = form.FLOAT_FUNCTIONS[key]
    t.read_all(i, sources, "f32")
    t.writes(i, destination, 4)
    return i


DOUBLE = {
    "add": "double add",
    "sub": "double add",
    "mul": "double multiply",
    "fma": "double fused",
    "mad": "double fused",
}


def _float64(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    rounding = next((ROUNDING[m] for m in s.modifiers if m in ROUNDING), 0)
    if s.name in DOUBLE:
        i = Decoded(DOUBLE[s.name], number=[rounding, 0, form.FLOAT_NEGATE * (s.name == "sub"), 0])
    else:
        name = ".".join((s.name, *(m for m in s.modifiers if m in ("approx", "ftz"))))
        if name == "rcp":
            name, sources = "div", [Immediate(1.0, 0x3FF0000000000000), *sources]
        if name not in form.DOUBLE_FUNCTIONS:
            raise NotDecoded("its form")
        i = Decoded("double function", number=[form.DOUBLE_FUNCTIONS[name], rounding, 0, 0])
    t.read_all(i, sources, "f64")
    t.writes(i, destination, 8)
    return i


def _halves(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    flags = BRAIN * s.type.startswith("bf16") | FLUSHES * ("ftz" in s.modifiers)
    if s.name in ("min", "max"):
        i = Decoded("half extreme", flags=flags | KEEPS_NAN * ("NaN" in s.modifiers))
        i.p_in[0] = ALWAYS if s.name == "min" else ALWAYS | NEGATED
    elif s.name in form.HALF_FUNCTIONS:
        i = Decoded("half arithmetic", number=[form.HALF_FUNCTIONS[s.name], 0, 0, 0])
        i.flags = flags | RELU * ("relu" in s.modifiers) | SATURATES * ("sat" in s.modifiers)
        i.mode[1] = form.HALF_NEGATE * (s.name == "sub")
    else:
        raise NotDecoded(f"{s.name} of {s.type} numbers")
    t.read_all(i, sources, s.type)
    t.writes(i, destination, TYPE_BYTES[s.type])
    return i


def _pair_of_floats(t: Decoder, s: Statement) -> Decoded:
    destination, *sources = s.operands
    rounding = next((ROUNDING[m] for m in s.modifiers if m in ROUNDING), 0)
    functions = {"add": 0, "sub": 1, "mul": 2, "fma": 3, "mad": 3}
    if s.name not in functions:
        raise NotDecoded(f"{s.name} of {s.type} numbers")
    i = Decoded("float pair", flags=FLUSHES * ("ftz" in s.modifiers), number=[rounding, 0, functions[s.name], 0])
    t.read_all(i, sources, "b64")
    t.writes(i, destination, 8)
    return i
