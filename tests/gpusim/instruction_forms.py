"""Instructions in the forms that the compiler makes of them, with operands of every kind.

A form is an expression of CUDA C++, or inline PTX, over one to five operands. A kernel computes it for LANES sets of
operands: NaNs with payloads, infinities, zeros of both signs, subnormal numbers, the limits of integers, random bits,
and numbers near each other. `goldens.instructions` holds what an NVIDIA H200 answers, bit for bit.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.gpusim import ptx_cases as ptx

LANES = 1024
THREADS = 256
FORMS_A_KERNEL = 40
HEADERS = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n"
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
BITS = {"pred": 32, "bf16": 16, "f16x2": 32, "bf16x2": 32, "e4m3": 8, "e5m2": 8}
C_TYPES = {
    **ptx.C_TYPES, "f16": "__half", "bf16": "__nv_bfloat16", "f16x2": "__half2", "bf16x2": "__nv_bfloat162",
    "u8": "unsigned char", "s8": "signed char",
}  # fmt: skip
# (bits of the exponent, bits of the fraction)
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


@dataclass(frozen=True)
class Form:
    """`body` computes `result` from a, b, c …. Types are those of C_TYPES.

    approximate: the special function unit's, of which the simulator knows the value and not the last bits.
    """

    name: str
    body: str
    inputs: tuple[str, ...]
    output: str
    approximate: bool = False


def size(type_: str) -> int:
    """Bytes of a value."""
    return BITS.get(type_, int("".join(filter(str.isdigit, type_)) or 0)) // 8 if type_ != "f16x2" else 4


def _inline(case: ptx.Case) -> Form:
    """A case of the PTX manual's table, on operands of every kind."""
    types = [*case.types]
    given = ", ".join(
        f'"{ptx.constraint(t)}"({_as_bits(t, letter)})' for t, letter in zip(types, "abcdefgh", strict=False)
    )
    out = f'"={ptx.constraint(case.output)}"(value)'
    raw = ptx.C_TYPES[case.output]
    body = f'{raw} value; asm volatile("{case.asm}" : {out} : {given}); result = {_from_bits(case.output)};'
    approximate = "approx" in case.name or "div.full" in case.name
    return Form(case.name, body, tuple(types), case.output, approximate)


def _as_bits(type_: str, letter: str) -> str:
    return f"*reinterpret_cast<unsigned short*>(&{letter})" if type_ in ("f16", "bf16") else letter


def _from_bits(type_: str) -> str:
    return f"*reinterpret_cast<{C_TYPES[type_]}*>(&value)" if type_ in ("f16", "bf16") else "value"


def _expression(name: str, expression: str, inputs: str, output: str, approximate: bool = False) -> Form:
    return Form(name, f"result = {expression};", tuple(inputs.split()), output, approximate)


def _signs(*letters: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Operands as they are, negated, without their sign, and both: each in one place at a time."""
    yield "", letters
    for position, letter in enumerate(letters):
        for word, written in {"-": "neg({})", "|": "abs_({})", "-|": "neg(abs_({}))"}.items():
            changed = tuple(written.format(x) if i == position else x for i, x in enumerate(letters))
            yield f" {word}{letter}", changed


def _floats() -> Iterator[Form]:
    for mode in ("rn", "rz", "ru", "rd"):
        for name, count in {"fadd": 2, "fmul": 2, "fmaf": 3}.items():
            yield _expression(f"__{name}_{mode}", f"__{name}_{mode}({', '.join('abc'[:count])})", "f32 " * count, "f32")
        for name, count in {"dadd": 2, "dmul": 2, "fma": 3}.items():
            called = f"__{name}_{mode}" if name != "fma" else f"__fma_{mode}"
            yield _expression(f"{called} f64", f"{called}({', '.join('abc'[:count])})", "f64 " * count, "f64")
        for to, source in (("f32", "f64"), ("s32", "f32"), ("u32", "f32"), ("s64", "f32"), ("u64", "f32"),
                           ("s32", "f64"), ("u32", "f64"), ("s64", "f64"), ("u64", "f64")):  # fmt: skip
            words = {"f32": "float", "f64": "double", "s32": "int", "u32": "uint", "s64": "ll", "u64": "ull"}
            call = f"__{words[source]}2{words[to]}_{mode}"
            yield _expression(call, f"{call}(a)", source, to)
        for source in ("s32", "u32", "s64", "u64"):
            word = {"s32": "int", "u32": "uint", "s64": "ll", "u64": "ull"}[source]
            yield _expression(f"__{word}2float_{mode}", f"__{word}2float_{mode}(a)", source, "f32")
            if source[1:] == "64":
                yield _expression(f"__{word}2double_{mode}", f"__{word}2double_{mode}(a)", source, "f64")
    for text, (a, b, c) in _signs("a", "b", "c"):
        yield _expression(f"fma of{text or ' all'}", f"__fmaf_rn({a}, {b}, {c})", "f32 f32 f32", "f32")
        yield _expression(f"fma of{text or ' all'} f64", f"__fma_rn({a}, {b}, {c})", "f64 f64 f64", "f64")
    for text, (a, b) in _signs("a", "b"):
        for type_ in ("f32", "f64"):
            for symbol in "+*":
                yield _expression(
                    f"a {symbol} b of{text or ' both'} {type_}", f"{a} {symbol} {b}", f"{type_} {type_}", type_
                )
            suffix = "f" if type_ == "f32" else ""
            for name in ("fmin", "fmax"):
                called = f"{name}{suffix}({a}, {b})"
                yield _expression(f"{name} of{text or ' both'} {type_}", called, f"{type_} {type_}", type_)
            for symbol in ("<", "<=", "==", "!="):
                yield _expression(
                    f"a {symbol} b of{text or ' both'} {type_}", f"{a} {symbol} {b}", f"{type_} {type_}", "u32"
                )
            yield _expression(f"!(a < b) of{text or ' both'} {type_}", f"!({a} < {b})", f"{type_} {type_}", "u32")
            yield _expression(
                f"a < b ? a : b of{text or ' both'} {type_}", f"a < b ? {a} : {b}", f"{type_} {type_}", type_
            )
    yield _expression("__saturatef", "__saturatef(a)", "f32", "f32")
    yield _expression("saturated fma", "__saturatef(a * b + c)", "f32 f32 f32", "f32")
    for name in ("truncf", "floorf", "ceilf", "rintf", "roundf", "nearbyintf"):
        yield _expression(name, f"{name}(a)", "f32", "f32")
        yield _expression(name[:-1], f"{name[:-1]}(a)", "f64", "f64")
    yield _expression("copysignf", "copysignf(a, b)", "f32 f32", "f32")
    yield _expression("signbit", "signbit(a)", "f32", "u32")
    yield _expression("isnan", "isnan(a)", "f32", "u32")
    yield _expression("division", "__fdiv_rn(a, b)", "f32 f32", "f32")
    yield _expression("square root", "__fsqrt_rn(a)", "f32", "f32")
    yield _expression("division f64", "a / b", "f64 f64", "f64")
    yield _expression("square root f64", "sqrt(a)", "f64", "f64")
    yield _expression("remainder", "fmodf(a, b)", "f32 f32", "f32")
    for name in ("sinf", "cosf", "expf", "logf", "tanhf", "erff", "cbrtf", "atanf"):
        yield _expression(name, f"{name}(a)", "f32", "f32", approximate=True)


def _halves() -> Iterator[Form]:
    for half, pair, word in (("f16", "f16x2", "half"), ("bf16", "bf16x2", "bfloat16")):
        two = {"f16": "half2", "bf16": "bfloat162"}[half]
        for name in ("__hadd2", "__hsub2", "__hmul2", "__hmin2", "__hmax2", "__hmin2_nan", "__hmax2_nan", "__hadd2_rn"):
            yield _expression(f"{name} {pair}", f"{name}(a, b)", f"{pair} {pair}", pair)
        for name in ("__hadd2_sat", "__hsub2_sat", "__hmul2_sat"):
            yield _expression(f"{name} {pair}", f"{name}(a, b)", f"{pair} {pair}", pair)
        for name in ("__hfma2", "__hfma2_sat", "__hfma2_relu"):
            yield _expression(f"{name} {pair}", f"{name}(a, b, c)", f"{pair} {pair} {pair}", pair)
        for name in ("__hneg2", "__habs2"):
            yield _expression(f"{name} {pair}", f"{name}(a)", pair, pair)
            yield _expression(f"min of {name} {pair}", f"__hmin2({name}(a), b)", f"{pair} {pair}", pair)
            yield _expression(
                f"fma of {name} {pair}", f"__hfma2({name}(a), b, {name}(c))", f"{pair} {pair} {pair}", pair
            )
            yield _expression(f"comparison of {name} {pair}", f"__hgt2({name}(a), b)", f"{pair} {pair}", pair)
        for test in ("heq", "hne", "hle", "hge", "hlt", "hgt", "hequ", "hneu", "hleu", "hgeu", "hltu", "hgtu"):
            yield _expression(f"__{test}2 {pair}", f"__{test}2(a, b)", f"{pair} {pair}", pair)
            yield _expression(f"__{test}2_mask {pair}", f"__{test}2_mask(a, b)", f"{pair} {pair}", "u32")
            yield _expression(f"__{test} {half}", f"__{test}(a, b)", f"{half} {half}", "u32")
        for name in ("__hadd", "__hsub", "__hmul", "__hmin", "__hmax", "__hmin_nan", "__hmax_nan", "__hadd_sat"):
            yield _expression(f"{name} {half}", f"{name}(a, b)", f"{half} {half}", half)
        for name in ("__hfma", "__hfma_sat", "__hfma_relu"):
            yield _expression(f"{name} {half}", f"{name}(a, b, c)", f"{half} {half} {half}", half)
        yield _expression(f"ReLU {half}", f"__hmax(a, __float2{word}(0.0f))", half, half)
        yield _expression(f"ReLU6 {half}", f"__hmin(__hmax(a, __float2{word}(0.0f)), __float2{word}(6.0f))", half, half)
        for letters in ("lows", "highs", "low_high"):
            call = f"__{letters}2{two}(a, b)" if letters != "low_high" else "__lowhigh2highlow(__hadd2(a, b))"
            yield _expression(f"{letters} {pair}", call, f"{pair} {pair}", pair)
        yield _expression(f"mixed halves {pair}", "__hmul2(__low2half2(a), __high2half2(b))" if half == "f16"
                          else "__hmul2(__low2bfloat162(a), __high2bfloat162(b))", f"{pair} {pair}", pair)  # fmt: skip
        yield _expression(f"to float {half}", f"__{word}2float(a)", half, "f32")
        for mode in ("rn", "rz", "rd", "ru"):
            yield _expression(f"__float2{word}_{mode}", f"__float2{word}_{mode}(a)", "f32", half)
            for to, kind in (("int", "s32"), ("uint", "u32"), ("short", "s16"), ("ushort", "u16"), ("ll", "s64"),
                             ("ull", "u64")):  # fmt: skip
                yield _expression(f"__{word}2{to}_{mode}", f"__{word}2{to}_{mode}(a)", half, kind)
                yield _expression(f"__{to}2{word}_{mode}", f"__{to}2{word}_{mode}(a)", kind, half)
        yield _expression(f"two floats to {pair}", f"__floats2{two}_rn(a, b)", "f32 f32", pair)
        yield _expression(f"double to {half}", f"__double2{word}(a)", "f64", half)
        for name in ("hfloor", "hceil", "htrunc", "hrint"):
            yield _expression(f"{name} {half}", f"{name}(a)", half, half)
        for name in ("hsqrt", "hrcp", "hrsqrt", "hexp", "hexp2", "hlog", "hlog2", "hsin", "hcos", "htanh"):
            yield _expression(f"{name} {half}", f"{name}(a)", half, half, approximate=True)
    for kind, name in (("e4m3", "__NV_E4M3"), ("e5m2", "__NV_E5M2")):
        for saturation in ("__NV_SATFINITE", "__NV_NOSAT"):
            for source in ("float", "double", "halfraw", "bfloat16raw"):
                type_ = {"float": "f32", "double": "f64", "halfraw": "f16", "bfloat16raw": "bf16"}[source]
                call = f"__nv_cvt_{source}_to_fp8(a, {saturation}, {name})"
                yield _expression(f"{source} to {kind} {saturation}", call, type_, "u8")
        yield Form(
            f"{kind} to half", f"__half_raw r = __nv_cvt_fp8_to_halfraw(a, {name}); result = __half(r);", ("u8",), "f16"
        )


def _integers() -> Iterator[Form]:
    for signs in ("s", "u"):
        for bits in (32, 64):
            type_ = f"{signs}{bits}"
            for symbol in "+-*&|^":
                yield _expression(f"a {symbol} b {type_}", f"a {symbol} b", f"{type_} {type_}", type_)
            for symbol in ("<<", ">>"):
                yield _expression(f"a {symbol} b {type_}", f"a {symbol} (b & {bits - 1})", f"{type_} u32", type_)
            for symbol in "/%":
                nonzero = "(b == 0 || b == -1 ? 3 : b)" if signs == "s" else "(b | 1)"
                yield _expression(f"a {symbol} b {type_}", f"a {symbol} {nonzero}", f"{type_} {type_}", type_)
                for constant in (3, 7, 10, 641, 1000):
                    yield _expression(f"a {symbol} {constant} {type_}", f"a {symbol} {constant}", type_, type_)
            for symbol in ("<", "<=", "==", ">="):
                yield _expression(f"a {symbol} b {type_}", f"a {symbol} b", f"{type_} {type_}", "u32")
            yield _expression(f"min of three {type_}", "min(min(a, b), c)", f"{type_} {type_} {type_}", type_)
            yield _expression(f"clamp {type_}", "min(max(a, b), c)", f"{type_} {type_} {type_}", type_)
            yield _expression(f"min of a sum {type_}", "min(a + b, c)", f"{type_} {type_} {type_}", type_)
            yield _expression(f"multiply and add {type_}", "a * b + c", f"{type_} {type_} {type_}", type_)
            yield _expression(f"shifted sum {type_}", "(a << 5) + b", f"{type_} {type_}", type_)
        for name, bits in ((f"__{'u' * (signs == 'u')}mulhi", 32), (f"__{'u' * (signs == 'u')}mul64hi", 64)):
            yield _expression(name, f"{name}(a, b)", f"{signs}{bits} {signs}{bits}", f"{signs}{bits}")
        for type_ in (f"{signs}8", f"{signs}16"):
            yield _expression(f"a * b + c of {type_}", "a * b + c", f"{type_} {type_} {type_}", "s32")
            yield _expression(f"a - b of {type_}", "a - b", f"{type_} {type_}", type_)
            yield _expression(f"a / b of {type_}", "a / (b | 1)", f"{type_} {type_}", type_)
        yield _expression(f"{signs}8 by {signs}16", "a * b", f"{signs}8 {signs}16", "s32")
        yield _expression(f"__dp4a {signs}", "__dp4a(a, b, c)", f"{signs}32 {signs}32 {signs}32", f"{signs}32")
        for name in ("__dp2a_lo", "__dp2a_hi"):
            yield _expression(f"{name} {signs}", f"{name}(a, b, c)", f"{signs}32 {signs}32 {signs}32", f"{signs}32")
    for name in ("__popc", "__clz", "__ffs", "__brev"):
        yield _expression(name, f"{name}(a)", "s32" if name in ("__clz", "__ffs") else "u32", "u32")
        yield _expression(f"{name}ll", f"{name}ll(a)", "s64" if name in ("__clz", "__ffs") else "u64", "u64")
    for name in ("__byte_perm", "__funnelshift_l", "__funnelshift_r", "__funnelshift_lc", "__funnelshift_rc", "__usad"):
        yield _expression(name, f"{name}(a, b, c)", "u32 u32 u32", "u32")
    for name in ("__hadd", "__rhadd", "__mul24"):
        yield _expression(f"{name} s32", f"{name}(a, b)", "s32 s32", "s32")
    for name in ("__uhadd", "__urhadd", "__umul24"):
        yield _expression(name, f"{name}(a, b)", "u32 u32", "u32")
    yield _expression("three-way logic", "(a & b) ^ (~b | c)", "u32 u32 u32", "u32")
    yield _expression("majority", "(a & b) | (b & c) | (a & c)", "u32 u32 u32", "u32")
    for lanes in "24":
        for name in ("add", "addss", "addus", "sub", "subss", "subus", "abs", "absss", "absdiffs", "absdiffu", "avgs",
                     "avgu", "haddu", "maxs", "maxu", "mins", "minu", "cmpeq", "cmpges", "cmpgeu",
                     "cmpgts", "cmpgtu", "cmples", "cmpleu", "cmplts", "cmpltu", "cmpne", "neg", "negss", "sads",
                     "sadu", "seteq", "setges", "setgtu", "setltu", "setne"):  # fmt: skip
            count = 1 if name in ("abs", "absss", "neg", "negss") else 2
            yield _expression(
                f"__v{name}{lanes}", f"__v{name}{lanes}({', '.join('ab'[:count])})", "u32 " * count, "u32"
            )
    for name in ("__viaddmax_s32", "__viaddmin_s32", "__vimax3_s32", "__vimin3_s32", "__viaddmax_s32_relu",
                 "__vimax_s32_relu", "__vimin3_s32_relu"):  # fmt: skip
        count = 2 if name == "__vimax_s32_relu" else 3
        yield _expression(name, f"{name}({', '.join('abc'[:count])})", "s32 " * count, "s32")
    for name in ("__viaddmax_u16x2", "__viaddmin_s16x2", "__vimax3_u16x2", "__vimin3_s16x2", "__viaddmax_s16x2_relu"):
        yield _expression(name, f"{name}(a, b, c)", "u32 u32 u32", "u32")


def _lanes() -> Iterator[Form]:
    everybody = "0xffffffffu"
    for name in ("shfl", "shfl_up", "shfl_down", "shfl_xor"):
        for width in (32, 16, 4):
            call = f"__{name}_sync({everybody}, a, b & 31, {width})"
            yield _expression(f"{name} of {width}", call, "u32 u32", "u32")
    yield _expression("shfl f64", f"__shfl_xor_sync({everybody}, a, 5)", "f64", "f64")
    yield _expression("ballot", f"__ballot_sync({everybody}, a & 1)", "u32", "u32")
    for name in ("all", "any"):
        yield _expression(name, f"__{name}_sync({everybody}, a < (1u << 30))", "u32", "u32")
    yield _expression("match any", f"__match_any_sync({everybody}, a & 3)", "u32", "u32")
    for name, type_ in itertools.product(("add", "min", "max"), ("u32", "s32")):
        yield _expression(f"reduce {name} {type_}", f"__reduce_{name}_sync({everybody}, a)", type_, type_)
    for name in ("and", "or", "xor"):
        yield _expression(f"reduce {name}", f"__reduce_{name}_sync({everybody}, a)", "u32", "u32")


def all_forms() -> tuple[Form, ...]:
    """In the order in which they are recorded; names are unique."""
    forms = (*map(_inline, ptx.CASES.values()), *_floats(), *_halves(), *_integers(), *_lanes())
    names = [form.name for form in forms]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    return forms


# ---- operands


def operands(form: Form) -> list[np.ndarray]:
    """LANES values for each operand, as unsigned integers of their bits. The same on every machine."""
    seed = int.from_bytes(form.name.encode(), "little") % (1 << 63)
    rng = np.random.Generator(np.random.PCG64(seed))
    columns: list[np.ndarray] = []
    for type_ in form.inputs:
        columns.append(_column(type_, rng))
        if len(columns) > 1 and type_ == form.inputs[0]:
            _place_near(columns[0], columns[-1], rng)
    return columns


def _column(type_: str, rng: np.random.Generator) -> np.ndarray:
    if type_.endswith("x2"):
        low, high = (_column(type_[:-2], rng).astype(np.uint32) for _ in range(2))
        return low | high << np.uint32(16)
    width = size(type_)
    kind = UNSIGNED[width]
    values = (
        rng.integers(0, 1 << 8 * width, LANES, np.uint64 if width == 8 else np.int64).astype(kind)
        if width < 8
        else (rng.integers(0, 1 << 63, LANES, np.uint64) << np.uint64(1) | rng.integers(0, 2, LANES, np.uint64))
    )
    edges = _float_edges(*FORMATS[type_]) if type_ in FORMATS else _integer_edges(8 * width)
    chosen = rng.permutation(LANES)
    third = LANES // 3
    values[chosen[:third]] = np.array(edges, np.uint64).astype(kind)[rng.integers(0, len(edges), third)]
    middle = chosen[third : 2 * third]
    values[middle] = _moderate(type_, values[middle], rng)
    return values


def _float_edges(exponent: int, fraction: int) -> list[int]:
    """Zero, the subnormal and normal numbers at the limits, one and its neighbours, infinity, NaNs; of both signs."""
    unit = ((1 << exponent - 1) - 1) << fraction
    infinity = ((1 << exponent) - 1) << fraction
    quiet = 1 << fraction - 1
    edges = [0, 1, 2, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1, unit - 1, unit, unit + 1]
    edges += [unit + (quiet << 1), unit + quiet, unit + (4 << fraction), infinity - 1, infinity - (1 << fraction)]
    edges += [infinity, infinity + 1, infinity + quiet, infinity + quiet + 5, infinity + (1 << fraction) - 1]
    edges += [unit + ((fraction - 1) << fraction)]
    return [edge | sign << exponent + fraction for edge in edges for sign in (0, 1)]


def _integer_edges(bits: int) -> list[int]:
    top = 1 << bits - 1
    edges = [0, 1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 127, 128, 255, top - 2, top - 1, top, top + 1]
    edges += [2 * top - 2, 2 * top - 1]
    return [edge % (1 << bits) for edge in edges]


def _moderate(type_: str, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Floats of ordinary size, small integers of both signs: what programs compute with."""
    if type_ not in FORMATS:
        small = rng.integers(-300, 300, len(values))
        return small.astype(np.int64).astype(values.dtype)
    exponent, fraction = FORMATS[type_]
    bias = (1 << exponent - 1) - 1
    range_ = min(12, bias - 1)
    exponents = rng.integers(bias - range_, bias + range_ + 1, len(values)).astype(values.dtype)
    keep = values.dtype.type(1 << exponent + fraction | (1 << fraction) - 1)
    return values & keep | exponents << values.dtype.type(fraction)


def _place_near(first: np.ndarray, other: np.ndarray, rng: np.random.Generator) -> None:
    """Some values of an operand become the first one's, one more or less, or the same with the sign changed."""
    lanes = rng.permutation(LANES)[: LANES // 8]
    near = first[lanes] + rng.integers(-1, 2, len(lanes)).astype(first.dtype)
    top = first.dtype.type(1 << 8 * first.dtype.itemsize - 1)
    other[lanes] = np.where(rng.integers(0, 2, len(lanes)) > 0, near ^ top, near)


# ---- kernels


@dataclass(frozen=True)
class Module:
    """Some forms in one kernel, `forms(in, out)`: all operands in one array of bytes, all results in another."""

    forms: tuple[Form, ...]

    @property
    def source(self) -> str:
        helpers = "".join(
            f"__device__ {t} neg({t} x) {{ return -x; }}\n__device__ {t} abs_({t} x) {{ return fabs(x); }}\n"
            for t in ("float", "double")
        )
        body, read, written = "", 0, 0
        for form in self.forms:
            body += "    {\n"
            for letter, type_ in zip("abcdefgh", form.inputs, strict=False):
                body += (
                    f"        {C_TYPES[type_]} {letter} = reinterpret_cast<const {C_TYPES[type_]}*>(in + {read})[i];\n"
                )
                read += LANES * size(type_)
            out = C_TYPES[form.output]
            body += f"        {out} result;\n        {{ {form.body} }}\n"
            body += f"        reinterpret_cast<{out}*>(out + {written})[i] = result;\n    }}\n"
            written += LANES * size(form.output)
        kernel = 'extern "C" __global__ void forms(const unsigned char* in, unsigned char* out) {\n'
        return f"{HEADERS}{helpers}{kernel}    int i = blockIdx.x * blockDim.x + threadIdx.x;\n{body}}}\n"

    @property
    def operands(self) -> np.ndarray:
        """What the kernel reads."""
        return np.concatenate([column.view(np.uint8) for form in self.forms for column in operands(form)])

    @property
    def room(self) -> np.ndarray:
        """What the kernel writes into; nothing of it is 0 or 1 before."""
        return np.full(sum(LANES * size(form.output) for form in self.forms), 0xA5, np.uint8)

    def results(self, written: np.ndarray) -> dict[str, np.ndarray]:
        """By the name of a form: the bits of its results."""
        forms, start = {}, 0
        for form in self.forms:
            width = size(form.output)
            forms[form.name] = written[start : start + LANES * width].view(UNSIGNED[width])
            start += LANES * width
        return forms


def modules() -> list[Module]:
    """All forms, cut into kernels."""
    forms = all_forms()
    return [Module(forms[first : first + FORMS_A_KERNEL]) for first in range(0, len(forms), FORMS_A_KERNEL)]
