"""Floating-point instructions and conversions of SASS: which function of `float32` and its siblings each one is.

Float32 instructions keep subnormal numbers unless they carry .FTZ. Float64 values are pairs of registers; two float16
or bfloat16 numbers share a register, and .H0_H0 or .H1_H1 chooses one of them for both places.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, reduce

import numpy as np

from helpers.compiler import sass
from helpers.simulator.arithmetic import comparisons, float8, float32, float64, special_functions
from helpers.simulator.arithmetic.conversions import conversion
from helpers.simulator.arithmetic.operations import operation
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.evaluation import applied, flushing
from helpers.simulator.frontends.rules import Compute, Reader
from helpers.simulator.frontends.sass.integer import COMBINE, predicate_pair
from helpers.simulator.frontends.sass.operands import F4, F8, I4, U4, Operands, at_least, chosen, exactly, is_zero

F2 = np.dtype(np.float16)
ROUNDINGS = {"RM": "rm", "RP": "rp", "RZ": "rz"}
WHOLE = {"TRUNC": "rzi", "FLOOR": "rmi", "CEIL": "rpi"}
COMPARE = {name.upper(): function for name, function in comparisons.FLOAT.items()}
SCALES = {"M2": 2.0, "M4": 4.0, "M8": 8.0, "D2": 0.5, "D4": 0.25, "D8": 0.125}
INTEGER_TYPES = {
    "U8": np.uint8, "S8": np.int8, "U16": np.uint16, "S16": np.int16, "U32": np.uint32, "S32": np.int32,
    "U64": np.uint64, "S64": np.int64,
}  # fmt: skip


def _rounding(s: sass.Statement) -> str:
    return chosen(s, ROUNDINGS, "rn")


# ---- float32


def arithmetic(t: Operands, s: sass.Statement) -> Compute:
    """FADD, FMUL, FFMA{.FTZ}{.SAT}{.RM,.RP,.RZ} d, a, b {, c}; FMUL{.M2,.M4,.M8,.D2,.D4,.D8}: times or by 2, 4, 8."""
    name, modifiers, scale = _operation_of(s.opcode)
    if scale:
        return _scaled_product(t, s, np.float64(scale))
    destination, *sources = exactly(s, 4 if name == "fma" else 3)
    readers = [t.read(source, F4) for source in sources]
    if "ftz" not in modifiers:
        return Compute((t.target(destination),), applied(operation(name, modifiers, "f32"), readers))
    fma = tuple(readers) if s.opcode == ("FFMA", "FTZ") else None
    return Compute((t.target(destination),), flushing(name, modifiers, readers), fma=fma)


@cache
def _operation_of(opcode: tuple[str, ...]) -> tuple[str, tuple[str, ...], float]:
    """The name and the modifiers of FADD, FMUL or FFMA as `operation` knows them, and what it scales by or 0."""
    name = {"FADD": "add", "FMUL": "mul", "FFMA": "fma"}[opcode[0].removeprefix("U")]
    rounding = next((ROUNDINGS[part] for part in opcode if part in ROUNDINGS), "rn")
    scale = next((SCALES[part] for part in opcode if part in SCALES), 0.0)
    return name, (rounding, *(part.lower() for part in opcode if part in ("FTZ", "SAT"))), scale


def pair_arithmetic(t: Operands, s: sass.Statement) -> Compute:
    """FADD2, FMUL2, FFMA2{.FTZ}{.RM,.RP,.RZ} d, a, b {, c}: FADD and so on of two registers each.

    A source is a pair, R4.F32x2.HI_LO, its halves in turn, R4.F32x2.LO_HI, or one number for both, R4.F32 or 1.5.
    """
    name, modifiers, _ = _operation_of((s.base.removesuffix("2"), *s.opcode[1:]))
    single = operation(name, modifiers, "f32")
    destination, *sources = exactly(s, 4 if name == "fma" else 3)
    both = [[_of_pair(t, source, part) for source in sources] for part in (0, 1)]

    def evaluate(registers):
        return tuple(single(*(read(registers) for read in readers)) for readers in both)

    return Compute(t.targets(destination, 2), evaluate)


def _of_pair(t: Operands, operand: sass.Operand, part: int) -> Reader:
    """The lower or the upper float32 of a pair, as arithmetic takes it."""
    if isinstance(operand, sass.Immediate):
        return t.read(operand, F4)
    match operand.modifiers:
        case ("F32x2", "HI_LO"):
            distance = part
        case ("F32x2", "LO_HI"):
            distance = 1 - part
        case ("F32",):
            distance = 0
        case other:
            raise Unknown(f"the pair {' '.join(other)}")
    return t.read(replace(operand, modifiers=()), F4, distance)


def _scaled_product(t: Operands, s: sass.Statement, scale: np.float64) -> Compute:
    """FMUL.M8{.FTZ} d, a, b: a · b · 8, rounded once: the product of two float32 is exact in float64."""
    destination, *sources = exactly(s, 3)
    a, b = (_flushed(s, t.read(source, F4)) for source in sources)
    rounding, flushes = _rounding(s), s.has("FTZ")
    if s.has("SAT"):
        raise Unknown("a scaled product that is limited to 0 … 1")

    def evaluate(registers):
        exact = a(registers).astype(np.float64) * b(registers).astype(np.float64) * scale
        result = float32.from_float64(exact, rounding)
        return float32.flush(result) if flushes else result

    return Compute((t.target(destination),), evaluate)


def minimum_maximum(t: Operands, s: sass.Statement) -> Compute:
    """FMNMX{.FTZ}{.NAN} d, a, b, p: the smaller where p, else the larger; FMNMX3 of three.

    .XORSIGN gives the result the product of the signs that a and b have in their registers.
    """
    destination, *sources, condition = exactly(s, 5 if s.base == "FMNMX3" else 4)
    modifiers = [name for part, name in (("NAN", "NaN"), ("FTZ", "ftz")) if s.has(part)]
    smaller = operation("min", modifiers, "f32")
    larger = operation("max", modifiers, "f32")
    readers, p = [t.read(source, F4) for source in sources], t.truth(condition)

    def evaluate(registers):
        choice, values = p(registers), [read(registers) for read in readers]
        if choice.ndim == 0:
            return reduce(smaller if choice else larger, values)
        return np.where(choice, reduce(smaller, values), reduce(larger, values))

    if not s.has("XORSIGN"):
        return Compute((t.target(destination),), evaluate)
    first, second = (t.read(_without_sign(operand)) for operand in sources)

    def with_sign(registers):
        number = evaluate(registers)
        sign = (first(registers) ^ second(registers)) & np.int32(-(2**31))
        return np.abs(number).view(I4) | np.where(np.isnan(number), np.int32(0), sign)

    return Compute((t.target(destination),), with_sign)


def _without_sign(operand: sass.Operand) -> sass.Operand:
    if isinstance(operand, sass.Register | sass.Constant):
        return replace(operand, negated=False, absolute=False)
    return operand


def compare(t: Operands, s: sass.Statement) -> Compute:
    """FSETP.cmp{.FTZ}.bool p, q, a, b, c: as ISETP."""
    first, second, a, b, c = exactly(s, 5)
    function, combine = chosen(s, COMPARE), chosen(s, COMBINE)
    x, y = _flushed(s, t.read(a, F4)), _flushed(s, t.read(b, F4))
    return predicate_pair(t, first, second, lambda r: function(x(r), y(r)), combine, c, (a, b))


def _flushed(s: sass.Statement, reader: Reader) -> Reader:
    return (lambda registers: float32.flush(reader(registers))) if s.has("FTZ") else reader


def compare_to_register(t: Operands, s: sass.Statement) -> Compute:
    """FSET.BF.cmp{.FTZ}.bool d, a, b, c: 1.0 (without .BF all ones) or zero."""
    destination, a, b, c = exactly(s, 4)
    function, combine = chosen(s, COMPARE), chosen(s, COMBINE)
    x, y, other = _flushed(s, t.read(a, F4)), _flushed(s, t.read(b, F4)), t.truth(c)
    yes, no = (np.float32(1), np.float32(0)) if s.has("BF") else (np.int32(-1), np.int32(0))
    return Compute((t.target(destination),), lambda r: np.where(combine(function(x(r), y(r)), other(r)), yes, no))


def check_division(t: Operands, s: sass.Statement) -> Compute:
    """FCHK p, a, b: whether a / b needs the slow path of the division."""
    first, a, b = exactly(s, 3)
    x, y = t.read(a, F4), t.read(b, F4)
    return Compute((t.target(first),), lambda r: special_functions.division_needs_care(x(r), y(r)))


def special_function(t: Operands, s: sass.Statement) -> Compute:
    """MUFU.function d, a: the special function unit; MUFU.EX2.F16 of the low half of a register."""
    destination, a = exactly(s, 2)
    upper = chosen(s, special_functions.UPPER_HALVES, None)
    if upper is not None:
        half = np.uint32(t.raw_immediate()).view(F4)  # an immediate is printed as the float64 that it is the half of
        high = (lambda registers: half) if isinstance(a, sass.Immediate) else t.read(a, F4)
        return Compute((t.target(destination),), lambda registers: upper(high(registers)))
    if s.has("F16"):
        of_half, low = operation(chosen(s, {"EX2": "ex2", "TANH": "tanh"}), (), "f16"), _half(t, a)
        return Compute((t.target(destination),), lambda registers: _bits16(of_half(low(registers))))
    x = t.read(a, F4)
    function = chosen(s, special_functions.FUNCTIONS)
    return Compute((t.target(destination),), lambda registers: function(x(registers)))


# ---- float64


def arithmetic64(t: Operands, s: sass.Statement) -> Compute:
    """DADD, DMUL, DFMA{.RM,.RP,.RZ} on pairs of registers."""
    destination, *sources = exactly(s, 4 if s.base == "DFMA" else 3)
    readers = [t.wide(source, F8) for source in sources]
    rounding = _rounding(s)
    function = {"DADD": float64.add, "DMUL": float64.mul, "DFMA": float64.fma}[s.base]
    if rounding != "rn":
        rounded = function
        function = lambda *operands: rounded(*operands, rounding=rounding)  # noqa: E731
    compute = applied(function, readers)
    # Neither - nor | | changes a NaN, which is handed on as it stands in its register.
    registers_of = [t.wide(_without_sign(source), F8) for source in sources]
    return t.split(destination, lambda r: float64.hand_on_nan(compute(r), tuple(read(r) for read in registers_of)))


def compare64(t: Operands, s: sass.Statement) -> Compute:
    """DSETP.cmp.bool p, q, a, b, c: as ISETP. .MIN and .MAX: p = a is the result of fmin or fmax, q = both are NaN."""
    first, second, a, b, c = exactly(s, 5)
    combine = chosen(s, COMBINE)
    x, y = t.wide(a, F8), t.wide(b, F8)
    if s.has("MIN", "MAX"):
        if not (isinstance(c, sass.Register) and c.name == "PT" and not c.negated):
            raise Unknown("a condition of DSETP.MIN")
        first_wins = float64.is_minimum if s.has("MIN") else float64.is_maximum

        def choose(registers):
            left, right = x(registers), y(registers)
            return first_wins(left, right), np.isnan(left) & np.isnan(right)

        return Compute((t.target(first), t.target(second)), choose)
    function = chosen(s, COMPARE)
    return predicate_pair(t, first, second, lambda r: function(x(r), y(r)), combine, c)


# ---- conversions


def integer_to_float(t: Operands, s: sass.Statement) -> Compute:
    """I2F{.F64,.F16,.BF16}{.U32, .S64, …}{.RP, …} d, a; I2FP.F32.S32 d, a."""
    destination, a = exactly(s, 2)
    origin = next((part for part in s.opcode[:0:-1] if part in INTEGER_TYPES), "S32")
    to = chosen(s, {"F64": "f64", "F16": "f16", "BF16": "bf16"}, "f32")
    x = _integer(t, a, np.dtype(INTEGER_TYPES[origin]))
    convert = conversion(to, origin.lower(), [_rounding(s)])
    return _narrow_or_wide(t, destination, to, lambda registers: convert(x(registers)))


def _narrow_or_wide(t: Operands, destination: sass.Operand, type_: str, value: Reader) -> Compute:
    """A result of any floating-point type: a pair of registers, one, or the low half of one."""
    if type_ == "f64":
        return t.split(destination, value)
    if type_ == "f32":
        return Compute((t.target(destination),), value)
    return Compute((t.target(destination),), lambda registers: _bits16(value(registers)))


def _integer(t: Operands, operand: sass.Operand, dtype: np.dtype) -> Reader:
    """An integer operand of 8 to 64 bits; .B1 and .H1 choose a part of the register."""
    if dtype.itemsize == 8:
        return t.wide(operand, dtype)
    if dtype.itemsize == 4:
        return t.read(operand, dtype)
    modifiers = operand.modifiers if isinstance(operand, sass.Register | sass.Constant) else ()
    part = next((m for m in modifiers if m[0] in "BH" and m[1:2].isdigit()), "B0")
    shift = np.int32(int(part[1]) * (8 if part[0] == "B" else 16))
    x = t.read(replace(operand, modifiers=()) if modifiers else operand)
    return lambda registers: (x(registers) >> shift).astype(dtype)


def float_to_integer(t: Operands, s: sass.Statement) -> Compute:
    """F2I{.FTZ}{.U32, .S64, …}{.F64,.F16,.BF16}{.TRUNC, .FLOOR, .CEIL}{.NTZ} d, a."""
    destination, a = exactly(s, 2)
    names = [part for part in s.opcode[1:] if part in INTEGER_TYPES]
    dtype = INTEGER_TYPES[names[0]] if names else np.int32
    whole = chosen(s, WHOLE, "rni")
    if s.has("F64"):
        x = t.wide(a, F8)
    elif s.has("F16"):
        x = _half(t, a)
    elif s.has("BF16"):
        x = _brain(t, a)
    else:
        x = _flushed(s, t.read(a, F4))
    convert = lambda registers: float32.to_integer(x(registers), dtype, whole)  # noqa: E731
    if np.dtype(dtype).itemsize == 8:
        return t.split(destination, convert)
    return Compute((t.target(destination),), lambda registers: convert(registers).astype(np.dtype(dtype)).astype(I4))


def float_to_byte(t: Operands, s: sass.Statement) -> Compute:
    """F2IP.U8.F32.TRUNC.NTZ d, RZ, a, RZ: a as a byte; other forms put several bytes together."""
    destination, above, a, rest = exactly(s, 4)
    if not (is_zero(above) and is_zero(rest)):
        raise Unknown("several bytes in a register")
    dtype = np.uint8 if s.has("U8") else np.int8
    x = t.read(a, F4)
    return Compute(
        (t.target(destination),), lambda r: float32.to_integer(x(r), dtype, "rzi").astype(np.uint8).astype(I4)
    )


def round_to_whole(t: Operands, s: sass.Statement) -> Compute:
    """FRND{.FTZ}{.F64,.F16,.BF16}{.TRUNC, .FLOOR, .CEIL} d, a."""
    destination, a = exactly(s, 2)
    type_ = chosen(s, {"F64": "f64", "F16": "f16", "BF16": "bf16"}, "f32")
    convert = conversion(type_, type_, [chosen(s, WHOLE, "rni")])
    read = {"f64": lambda: t.wide(a, F8), "f16": lambda: _half(t, a), "bf16": lambda: _parts(t, a)[0]}
    x = read[type_]() if type_ in read else _flushed(s, t.read(a, F4))
    return _narrow_or_wide(t, destination, type_, lambda registers: convert(x(registers)))


def float_to_float(t: Operands, s: sass.Statement) -> Compute:
    """F2F.to.from{.FTZ}{.RZ, …} d, a."""
    destination, a = exactly(s, 2)
    types = [part.lower() for part in s.opcode[1:] if part in ("F16", "F32", "F64", "BF16")]
    if len(types) != 2 or types[1] == "bf16":
        raise Unknown("a conversion between other types")
    to, origin = types
    convert = conversion(to, origin, [_rounding(s), *(["ftz"] if s.has("FTZ") else [])])
    read = {"f64": lambda: t.wide(a, F8), "f16": lambda: _half(t, a), "f32": lambda: t.read(a, F4)}
    x = read[origin]()
    return _narrow_or_wide(t, destination, to, lambda registers: convert(x(registers)))


def pack_halves(t: Operands, s: sass.Statement) -> Compute:
    """F2FP: two float32 to two 16-bit floats in one register, and the other conversions to and from narrow formats.

    F2FP{.BF16,.F16}{.F32}.PACK_AB{.RZ} d, high, low; F2FP.TF32.F32.PACK_B{.RZ} d, a; and see `_eight_bits`.
    """
    if s.has("E4M3", "E5M2"):
        return _eight_bits(t, s)
    relu = s.has("RELU")
    if s.has("TF32"):
        destination, a = exactly(s, 2)
        single, how = t.read(a, F4), "rz" if s.has("RZ") else "rn"
        return Compute((t.target(destination),), lambda r: float32.to_tf32(_not_negative(single(r), relu), how))
    rounding = _rounding(s)
    narrow = float32.to_bfloat16 if s.has("BF16") else float32.to_float16

    def convert(value):
        return _bits16(narrow(_not_negative(value, relu), rounding)).view(U4)

    if s.has("MERGE_C"):
        destination, a, merged = exactly(s, 3)
        if not is_zero(merged):
            raise Unknown("a half that stays what it was")
        single = t.read(a, F4)
        return Compute((t.target(destination),), lambda r: convert(single(r)).view(I4))
    if not s.has("PACK_AB"):
        raise Unknown("other ways of packing")
    destination, high, low, *_ = at_least(s, 3, 4)
    x, y = t.read(high, F4), t.read(low, F4)

    sixteen = np.uint32(16)
    return Compute((t.target(destination),), lambda r: ((convert(x(r)) << sixteen) | convert(y(r))).view(I4))


def _not_negative(value, relu: bool):
    """.RELU of float32 numbers: NaN stays what it is."""
    return np.where(value > 0, value, np.where(np.isnan(value), value, F4.type(0))) if relu else value


def _eight_bits(t: Operands, s: sass.Statement) -> Compute:
    """Two numbers of 8 bits in the low half of a register, to and from two float16, and from two float32.

    F2FP.F16.E4M3.UNPACK_B d, a{.H1}; F2FP.SATFINITE.E4M3.F16.UNPACK_B_MERGE_C d, a, c;
    F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C d, high, low, c. The low half of c becomes the high one of d.
    """
    name, relu = "e4m3" if s.has("E4M3") else "e5m2", s.has("RELU")
    if s.has("UNPACK_B"):
        destination, a = exactly(s, 2)
        shift = np.uint32(16 if a.modifiers == ("H1",) else 0)
        if a.modifiers not in ((), ("H0",), ("H1",)):
            raise Unknown(f"the part {a.modifiers[0]}")
        word = t.read(replace(a, modifiers=()), U4)
        return Compute((t.target(destination),), lambda r: float8.to_halves(word(r) >> shift, name).view(I4))
    *operands, merged = at_least(s, 3, 4)
    if not s.has("SATFINITE"):
        raise Unknown("its form that does not saturate")
    destination, *sources = operands
    if len(sources) != (2 if s.has("F32") else 1):
        raise Unknown(f"its form with {len(sources)} numbers")
    if s.has("F32"):
        high, low = (t.read(operand, F4) for operand in sources)
    else:
        low, high = ((lambda r, part=part: _as_half(part(r))) for part in _parts(t, sources[0]))
    above, sixteen = t.read(merged, U4), np.uint32(16)
    return Compute(
        (t.target(destination),),
        lambda r: (float8.from_pair(high(r), low(r), name, relu) | (above(r) << sixteen)).view(I4),
    )


def _bits16(value):
    """A float16, or bfloat16 bits as uint16, in the low half of an int32."""
    return value.view(np.uint16).astype(I4)


# ---- float16 and bfloat16


def _parts(t: Operands, operand: sass.Operand) -> tuple[Reader, Reader]:
    """The (low, high) 16 bits of an operand as uint16, without its signs."""
    if is_zero(operand):
        zero = lambda registers: np.uint16(0)  # noqa: E731
        return zero, zero
    if not isinstance(operand, sass.Register | sass.Constant):
        raise Unknown("an operand that is neither a register nor a constant")
    plain = t.read(replace(operand, negated=False, absolute=False, modifiers=()), U4)
    low = lambda registers: (plain(registers) & np.uint32(0xFFFF)).astype(np.uint16)  # noqa: E731
    high = lambda registers: (plain(registers) >> np.uint32(16)).astype(np.uint16)  # noqa: E731
    match operand.modifiers:
        case () | ("H1_H0",):
            return low, high
        case ("H0_H0",) | ("H0",):
            return low, low
        case ("H1_H1",) | ("H1",):
            return high, high
        case ("H0_NH1",):
            return low, lambda registers: high(registers) ^ np.uint16(0x8000)
        case ("F32",):  # of Turing, a constant
            number = t.read(replace(operand, negated=False, absolute=False, modifiers=()), F4)
            half = lambda registers: float32.to_float16(number(registers), "rn").view(np.uint16)  # noqa: E731
            return half, half
    raise Unknown(f"the halves {' '.join(operand.modifiers)}")


def _signed(operand: sass.Operand, reader: Reader) -> Reader:
    """|x| and -x of 16-bit floats by their sign bit."""
    if operand.absolute:
        plain = reader
        reader = lambda registers: plain(registers) & np.uint16(0x7FFF)  # noqa: E731
    if operand.negated:
        positive = reader
        return lambda registers: positive(registers) ^ np.uint16(0x8000)
    return reader


def _half(t: Operands, operand: sass.Operand) -> Reader:
    """The low (or chosen) float16 of an operand."""
    low = _signed(operand, _parts(t, operand)[0])
    return lambda registers: low(registers).view(F2)


def _brain(t: Operands, operand: sass.Operand) -> Reader:
    """The low (or chosen) bfloat16 of an operand, as a float32."""
    low = _signed(operand, _parts(t, operand)[0])
    return lambda registers: float32.from_bfloat16(low(registers))


def _sources16(t: Operands, operands: Sequence[sass.Operand], count: int) -> list[tuple[Reader, Reader]]:
    """(low, high) of `count` sources; an immediate is printed as two numbers, high first, and read from the code."""
    sources, position = [], 0
    while position < len(operands):
        operand = operands[position]
        if isinstance(operand, sass.Immediate):
            raw = t.raw_immediate()
            low, high = np.uint16(raw & 0xFFFF), np.uint16(raw >> 16)
            sources.append((lambda r, low=low: low, lambda r, high=high: high))
            position += 2
            continue
        sources.append(tuple(_signed(operand, part) for part in _parts(t, operand)))
        position += 1
    if len(sources) != count or position != len(operands):
        raise Unknown(f"its form with {len(operands)} sources")
    return sources


def arithmetic16(t: Operands, s: sass.Statement) -> Compute:
    """HADD2, HMUL2, HFMA2{.MMA}{.BF16_V2}{.FTZ}{.RELU}{.SAT} d, a, b {, c}; HADD2.F32 gives one float32."""
    destination, *operands = at_least(s, 3)
    sources = _sources16(t, operands, 3 if s.base == "HFMA2" else 2)
    if s.base == "HADD2" and s.has("F32"):
        a, b = (source[0] for source in sources)

        def wide_sum(registers):
            return float32.add(float32.from_float16(a(registers).view(F2)), float32.from_float16(b(registers).view(F2)))

        return Compute((t.target(destination),), wide_sum)
    if s.base == "HFMA2" and all(is_zero(operand) for operand in operands[:2]) and len(operands) == 4:
        low, high = sources[2]  # a constant, which comes through as it is
        return Compute((t.target(destination),), lambda r: _packed(low(r), high(r)))
    name = {"HADD2": "add", "HMUL2": "mul", "HFMA2": "fma"}[s.base]
    modifiers = [part.lower() for part in s.opcode if part in ("FTZ", "RELU", "SAT")]
    type_ = "bf16" if s.has("BF16_V2") else "f16"
    single = _on_bits(operation(name, modifiers, type_), type_)

    def evaluate(registers):
        return _packed(*(single(*(source[part](registers) for source in sources)) for part in (0, 1)))

    return Compute((t.target(destination),), evaluate)


def _packed(low, high):
    return (low.astype(U4) | (high.astype(U4) << np.uint32(16))).view(I4)


def minimum_maximum16(t: Operands, s: sass.Statement) -> Compute:
    """HMNMX2{.BF16_V2}{.NAN} d, a, b, p: the smaller where p, else the larger; .NAN gives NaN if one of them is.
    VHMNMX d, a, b, c, p: of three.
    """
    destination, *operands, condition = at_least(s, 4)
    sources, p = _sources16(t, operands, 3 if s.base == "VHMNMX" else 2), t.truth(condition)
    number, type_ = (float32.from_bfloat16, "bf16") if s.has("BF16_V2") else (_as_half, "f16")
    smaller, larger = (_on_bits(operation(name, (), type_), type_) for name in ("min", "max"))
    keeps_nan = s.has("NAN")

    def evaluate(registers):
        parts = []
        for part in (0, 1):
            numbers = [source[part](registers) for source in sources]
            chosen = np.where(p(registers), reduce(smaller, numbers), reduce(larger, numbers))
            if keeps_nan:
                nan = reduce(np.logical_or, [np.isnan(number(one)) for one in numbers])
                chosen = np.where(nan, np.uint16(0x7FFF), chosen)
            parts.append(chosen)
        return _packed(*parts)

    return Compute((t.target(destination),), evaluate)


def _as_half(bits):
    return bits.view(F2)


def _on_bits(function: Callable, type_: str) -> Callable:
    """A function of 16-bit floats as one of their bits, uint16."""
    return function if type_ == "bf16" else (lambda *bits: function(*(b.view(F2) for b in bits)).view(np.uint16))


def compare16(t: Operands, s: sass.Statement) -> Compute:
    """HSETP2{.BF16_V2}.cmp.bool p, q, a, b, c: p for the low halves, q for the high ones."""
    first, second, *operands, c = at_least(s, 5)
    low, high = _comparisons16(t, s, operands, c)
    return Compute((t.target(first), t.target(second)), lambda registers: (low(registers), high(registers)))


def compare_to_register16(t: Operands, s: sass.Statement) -> Compute:
    """HSET2{.BF16_V2}{.BF}.cmp.bool d, a, b, c: in each half 1.0 (without .BF all ones) or zero."""
    destination, *operands, c = at_least(s, 4)
    low, high = _comparisons16(t, s, operands, c)
    one = np.uint16(0xFFFF if not s.has("BF") else 0x3F80 if s.has("BF16_V2") else 0x3C00)
    zero = np.uint16(0)
    return Compute(
        (t.target(destination),), lambda r: _packed(np.where(low(r), one, zero), np.where(high(r), one, zero))
    )


def _comparisons16(
    t: Operands, s: sass.Statement, operands: Sequence[sass.Operand], c: sass.Operand
) -> tuple[Reader, Reader]:
    """The comparison of the low halves and that of the high ones, each combined with a predicate."""
    function, combine = chosen(s, COMPARE), chosen(s, COMBINE)
    number = float32.from_bfloat16 if s.has("BF16_V2") else _as_half
    (a, b), other = _sources16(t, operands, 2), t.truth(c)
    return tuple(
        lambda r, x=x, y=y: combine(function(number(x(r)), number(y(r))), other(r)) for x, y in zip(a, b, strict=True)
    )
