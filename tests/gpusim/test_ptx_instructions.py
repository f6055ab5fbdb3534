"""Every arithmetic PTX instruction that the simulator knows against a scalar reference, on random and nasty operands.

The instruction of a case stands in a kernel as inline PTX, four times: all operands differ by thread; the first alone
does; none does; and one operand depends on the thread, one on the block. That is how the simulator's registers come in
their four shapes. The references are written from the PTX ISA, section 9.7.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import gpusim
from gpusim import errors
from tests.gpusim import exact

BLOCKS, THREADS = 3, 64
LANES = BLOCKS * THREADS
UNIFORM_CHOICES = 4
CASES_A_KERNEL = 24
SLOT_BYTES = 8 * LANES  # room for one operand or one result of all threads, whatever its type
DTYPES = {
    "s16": np.int16, "u16": np.uint16, "s32": np.int32, "u32": np.uint32, "s64": np.int64, "u64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": np.uint16,
}  # fmt: skip
C_TYPES = {
    "s16": "short", "u16": "unsigned short", "s32": "int", "u32": "unsigned int", "s64": "long long",
    "u64": "unsigned long long", "f16": "unsigned short", "f32": "float", "f64": "double", "bf16": "unsigned short",
}  # fmt: skip
CONSTRAINTS = {"16": "h", "32": "r", "64": "l", "f32": "f", "f64": "d"}


@dataclass(frozen=True)
class Case:
    """One instruction: `asm` with %0 for the result, %1 … for operands; types of operands and result; the reference.

    `inputs` and `output` are types ("s32 s32", "s64"); a predicate result is given by a u32. The reference takes and
    returns Python numbers. `pools` replaces the operands that a type gets by default. `ulps` allows that many.
    """

    asm: str
    inputs: str
    output: str
    reference: Callable
    pools: tuple = ()
    ulps: int = 0

    @property
    def types(self) -> list[str]:
        return self.inputs.split()


# ---- operands -----------------------------------------------------------------------------------------------------


def integers(type_: str, rng) -> list[int]:
    limits = np.iinfo(DTYPES[type_])
    edges = [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, limits.min + 1, limits.max // 3]
    edges += [-1, -2, -7] if limits.min else [1 << (limits.bits - 1)]
    edges += [1 << k for k in range(0, limits.bits - 1, 5)]
    edges += [int(x) for x in rng.integers(limits.min, limits.max, 40, DTYPES[type_], endpoint=True)]
    return edges


def floats(type_: str, rng) -> list[float]:
    limits = np.finfo(DTYPES[type_])
    edges = [0.0, -0.0, 1.0, -1.0, 1.5, 0.5, -0.5, 2.5, -2.5, 3.0, 1 / 3, 100.25, 1e4, -6e4, math.inf, -math.inf]
    edges += [math.nan, float(limits.max), float(-limits.max), float(limits.tiny), float(limits.smallest_subnormal)]
    edges += [float(-limits.smallest_subnormal) * 5, float(limits.tiny) / 2, 1 + float(limits.eps), 2.0**15 + 0.5]
    edges += rng.standard_normal(30).tolist() + (rng.standard_normal(20) * 10.0 ** rng.integers(-3, 5, 20)).tolist()
    edges += [2.0**31, -(2.0**31), 2.0**32, 2.0**63, 2.0**64] if type_ != "f16" else []
    with np.errstate(over="ignore"):
        return np.array(edges).astype(DTYPES[type_]).astype(float).tolist()


def operands(case: Case, rng) -> list[list]:
    """A list of LANES values for each operand, drawn independently from its pool."""
    columns = []
    for position, type_ in enumerate(case.types):
        pool = case.pools[position] if position < len(case.pools) else None
        if pool is None:
            pool = floats(type_, rng) if type_ in ("f16", "f32", "f64") else integers(type_, rng)
        pool = list(pool)
        # Every value appears at least once; the rest is drawn.
        chosen = list(rng.permutation(len(pool))) + list(rng.integers(0, len(pool), LANES))
        columns.append([pool[i] for i in chosen[:LANES]])
    return columns


# ---- kernels, and their launch ------------------------------------------------------------------------------------


def constraint(type_: str) -> str:
    return CONSTRAINTS["16" if type_ in ("f16", "bf16") else type_ if type_[0] == "f" else type_[1:]]


def case_body(case: Case, slot: int, result_slot: int) -> str:
    """The four forms of a case; operand k of all threads is in slot + k of `data`, the results in slots of `out`."""
    indices = [["i"] * 9, ["i", *["uniform"] * 8], ["uniform"] * 9, ["threadIdx.x", "blockIdx.x", "i"] * 3]
    body = ""
    for form, index in enumerate(indices):
        given = ", ".join(
            f'"{constraint(type_)}"((({C_TYPES[type_]} *)(data + {(slot + k) * SLOT_BYTES}))[{index[k]}])'
            for k, type_ in enumerate(case.types)
        )
        out = C_TYPES[case.output]
        body += (
            f'    {{ {out} value; asm volatile("{case.asm}" : "={constraint(case.output)}"(value) : {given});\n'
            f"      (({out} *)(out + {(result_slot + form) * SLOT_BYTES}))[i] = value; }}\n"
        )
    return body


@dataclass
class Run:
    """The operands of a case, the lanes whose operands were the uniform ones, and the results of the four forms."""

    columns: list[list]
    uniform: list[int]
    results: list[np.ndarray]  # for each choice of the uniform operands, (4, LANES)


def run(cases: list[Case], seed: int) -> list[Run]:
    """One kernel for some cases, launched once for each choice of the uniform operands."""
    rng = np.random.default_rng(seed)
    body, columns, data = "", [], []
    for number, case in enumerate(cases):
        body += case_body(case, len(data), 4 * number)
        columns.append(operands(case, rng))
        data += [
            as_array(t, column).tobytes().ljust(SLOT_BYTES) for t, column in zip(case.types, columns[-1], strict=True)
        ]
    source = (
        f'extern "C" __global__ void cases(const char *data, char *out, int uniform) {{\n'
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n{body}}}\n"
    )
    kernel = gpusim.RawModule(code=source).get_function("cases")
    uniform = rng.integers(0, LANES, UNIFORM_CHOICES).tolist()
    runs = [Run(column, uniform, []) for column in columns]
    for choice in uniform:
        out = np.zeros((len(cases), 4, SLOT_BYTES), np.int8)
        with gpusim.record(level="ptx"):
            kernel((BLOCKS,), (THREADS,), (np.frombuffer(b"".join(data), np.int8), out, np.int32(choice)))
        for case, case_run, slots in zip(cases, runs, out, strict=True):
            dtype = np.dtype(DTYPES[case.output])
            case_run.results.append(slots[:, : LANES * dtype.itemsize].copy().view(dtype))
    return runs


def as_array(type_: str, values) -> np.ndarray:
    if type_ in ("f16", "f32", "f64"):
        return np.array(values, DTYPES[type_])
    bits = np.iinfo(DTYPES[type_]).bits
    return np.array([value & ((1 << bits) - 1) for value in values], f"u{bits // 8}").view(DTYPES[type_])


def assert_equal(case: Case, got: np.ndarray, columns: list[list], form: str) -> None:
    expected = as_array(case.output, [case.reference(*lane) for lane in zip(*columns, strict=True)])
    if expected.dtype.kind == "f":
        bits = f"i{expected.dtype.itemsize}"
        same = got.view(bits) == expected.view(bits)
        if case.ulps:
            same |= np.abs(got.view(bits).astype(float) - expected.view(bits).astype(float)) <= case.ulps
        # Float32 arithmetic has one NaN; a conversion from float64 hands on the operand's.
        keeps_nan = case.output != "f32" or case.types == ["f64"]
        right_nan = np.isnan(got) if keeps_nan else got.view(np.uint32) == 0x7FFFFFFF
        same = np.where(np.isnan(expected), right_nan, same)
    else:
        same = got == expected
    if not same.all():
        lane = int(np.flatnonzero(~same)[0])
        values = ", ".join(str(column[lane]) for column in columns)
        pytest.fail(
            f"{case.asm} ({form}): {np.count_nonzero(~same)} of {len(same)} lanes differ; "
            f"first: ({values}) -> {got[lane]!r}, expected {expected[lane]!r}"
        )


def check(case: Case, case_run: Run) -> None:
    """Compare all four forms with the reference."""
    columns = case_run.columns
    index = ([lane % THREADS for lane in range(LANES)], [lane // THREADS for lane in range(LANES)], range(LANES))
    mixed = [[column[i] for i in index[k % 3]] for k, column in enumerate(columns)]
    assert_equal(case, case_run.results[0][0], columns, "operands differ by thread")
    assert_equal(case, case_run.results[0][3], mixed, "operands by thread, by block, by both")
    for uniform, result in zip(case_run.uniform, case_run.results, strict=True):
        same = [[column[uniform]] * LANES for column in columns]
        assert_equal(case, result[1], [columns[0], *same[1:]], "only the first operand differs")
        assert (result[2].view(np.uint8).reshape(LANES, -1) == result[2][:1].view(np.uint8)).all(), "not uniform"
        assert_equal(case, result[2][:1], [column[:1] for column in same], "all operands uniform")


# ---- references: integers -----------------------------------------------------------------------------------------


def truncated_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def unsigned(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def shift_left(bits: int):
    return lambda a, n: a << n if n < bits else 0


def shift_right(bits: int):
    return lambda a, n: a >> min(n, bits)  # Python's shift of a negative number is arithmetic


def find_highest(bits: int, shift_amount: bool):
    def reference(a):
        magnitude = ~a if a < 0 else a
        bit = magnitude.bit_length() - 1
        return 0xFFFFFFFF if bit < 0 else bits - 1 - bit if shift_amount else bit

    return reference


def extract_field(bits: int, is_signed: bool):
    def reference(a, position, length):
        position, length = position & 255, length & 255
        pattern = unsigned(a, bits)
        sign = 0
        if is_signed and length:
            sign = pattern >> min(position + length - 1, bits - 1) & 1
        result = 0
        for i in range(bits):
            inside = i < length and position + i < bits
            result |= (pattern >> (position + i) & 1 if inside else sign) << i
        return result

    return reference


def insert_field(bits: int):
    def reference(field, base, position, length):
        position, length = position & 255, length & 255
        for i in range(min(length, bits - position) if position < bits else 0):
            base = base & ~(1 << (position + i)) | (field >> i & 1) << (position + i)
        return base

    return reference


def permute(a, b, selector):
    source = [(b << 32 | a) >> (8 * i) & 255 for i in range(8)]
    result = 0
    for position in range(4):
        nibble = selector >> (4 * position) & 15
        byte = source[nibble & 7]
        if nibble & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << (8 * position)
    return result


def funnel(direction: str, wrap: bool):
    def reference(low, high, n):
        n = n & 31 if wrap else min(n, 32)
        both = high << 32 | low
        return both << n >> 32 if direction == "l" else both >> n

    return reference


def logic3(table: int):
    def reference(a, b, c):
        result = 0
        for i in range(32):
            index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1
            result |= (table >> index & 1) << i
        return result

    return reference


def dot4(signed_a: bool, signed_b: bool):
    def octets(value, is_signed):
        return [signed(value >> s, 8) if is_signed else value >> s & 255 for s in (0, 8, 16, 24)]

    return lambda a, b, c: c + sum(x * y for x, y in zip(octets(a, signed_a), octets(b, signed_b), strict=True))


AMOUNTS = [0, 1, 2, 5, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 100, 255, 256, 0x80000000, 0xFFFFFFFF]
FIELDS = [0, 1, 3, 4, 8, 15, 16, 24, 31, 32, 33, 40, 63, 64, 65, 128, 200, 255, 256, 260]


def integer_cases() -> dict[str, Case]:
    cases = {}
    for type_ in ("s16", "u16", "s32", "u32", "s64", "u64"):
        bits, sign = int(type_[1:]), type_[0] == "s"
        two, three = f"{type_} {type_}", f"{type_} {type_} {type_}"
        nonzero = [x for x in integers(type_, np.random.default_rng(1)) if x]
        for name, reference in {
            "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul.lo": lambda a, b: a * b, "min": min, "max": max,
            "mul.hi": lambda a, b, bits=bits: a * b >> bits,
        }.items():  # fmt: skip
            cases[f"{name}.{type_}"] = Case(f"{name}.{type_} %0, %1, %2;", two, type_, reference)
        for name, reference in {
            "mad.lo": lambda a, b, c: a * b + c, "mad.hi": lambda a, b, c, bits=bits: (a * b >> bits) + c,
            "sad": lambda a, b, c: abs(a - b) + c,
        }.items():  # fmt: skip
            cases[f"{name}.{type_}"] = Case(f"{name}.{type_} %0, %1, %2, %3;", three, type_, reference)
        for name, reference in {
            "div": truncated_quotient, "rem": lambda a, b: a - b * truncated_quotient(a, b)
        }.items():  # fmt: skip
            cases[f"{name}.{type_}"] = Case(f"{name}.{type_} %0, %1, %2;", two, type_, reference, (None, nonzero))
        if bits < 64:
            wide = f"{type_[0]}{2 * bits}"
            cases[f"mul.wide.{type_}"] = Case(f"mul.wide.{type_} %0, %1, %2;", two, wide, lambda a, b: a * b)
            cases[f"mad.wide.{type_}"] = Case(
                f"mad.wide.{type_} %0, %1, %2, %3;", f"{two} {wide}", wide, lambda a, b, c: a * b + c
            )
        if sign:
            cases[f"abs.{type_}"] = Case(f"abs.{type_} %0, %1;", type_, type_, abs)
            cases[f"neg.{type_}"] = Case(f"neg.{type_} %0, %1;", type_, type_, lambda a: -a)
        cases[f"shr.{type_}"] = Case(
            f"shr.{type_} %0, %1, %2;", f"{type_} u32", type_, shift_right(bits), (None, AMOUNTS)
        )
        for amount in (1, bits - 1, bits, bits + 8):
            cases[f"shr.{type_} by {amount}"] = Case(
                f"shr.{type_} %0, %1, {amount};", type_, type_, lambda a, n=amount, bits=bits: a >> min(n, bits)
            )
        for comparison, reference in {
            "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
            "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
        }.items():  # fmt: skip
            cases[f"setp.{comparison}.{type_}"] = Case(
                f"{{ .reg .pred p; setp.{comparison}.{type_} p, %1, %2; selp.u32 %0, 1, 0, p; }}", two, "u32", reference
            )
            if type_ in ("s32", "u64"):
                cases[f"set.{comparison}.u32.{type_}"] = Case(
                    f"set.{comparison}.u32.{type_} %0, %1, %2;", two, "u32",
                    lambda a, b, reference=reference: 0xFFFFFFFF if reference(a, b) else 0,
                )  # fmt: skip
        cases[f"set.lt.f32.{type_}"] = Case(f"set.lt.f32.{type_} %0, %1, %2;", two, "f32", lambda a, b: float(a < b))
        cases[f"selp.{type_}"] = Case(
            f"{{ .reg .pred p; setp.ne.u32 p, %3, 0; selp.{type_} %0, %1, %2, p; }}", f"{two} u32", type_,
            lambda a, b, p: a if p else b, (None, None, [0, 1, 5]),
        )  # fmt: skip
        cases[f"slct.{type_}.s32"] = Case(
            f"slct.{type_}.s32 %0, %1, %2, %3;", f"{two} s32", type_, lambda a, b, c: a if c >= 0 else b
        )
        cases[f"slct.{type_}.f32"] = Case(
            f"slct.{type_}.f32 %0, %1, %2, %3;", f"{two} f32", type_, lambda a, b, c: a if c >= 0 else b
        )
    for bits in (16, 32, 64):
        kind = f"u{bits}"
        for name, reference in {
            "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
        }.items():  # fmt: skip
            cases[f"{name}.b{bits}"] = Case(f"{name}.b{bits} %0, %1, %2;", f"{kind} {kind}", kind, reference)
        cases[f"not.b{bits}"] = Case(f"not.b{bits} %0, %1;", kind, kind, lambda a: ~a)
        cases[f"cnot.b{bits}"] = Case(f"cnot.b{bits} %0, %1;", kind, kind, lambda a: int(a == 0))
        cases[f"shl.b{bits}"] = Case(f"shl.b{bits} %0, %1, %2;", f"{kind} u32", kind, shift_left(bits), (None, AMOUNTS))
        cases[f"shl.b{bits} by {bits}"] = Case(f"shl.b{bits} %0, %1, {bits};", kind, kind, lambda a: 0)
        cases[f"shl.b{bits} by 3"] = Case(f"shl.b{bits} %0, %1, 3;", kind, kind, lambda a: a << 3)
    for bits in (32, 64):
        kind = f"u{bits}"
        cases[f"popc.b{bits}"] = Case(f"popc.b{bits} %0, %1;", kind, "u32", int.bit_count)
        cases[f"clz.b{bits}"] = Case(f"clz.b{bits} %0, %1;", kind, "u32", lambda a, bits=bits: bits - a.bit_length())
        cases[f"brev.b{bits}"] = Case(
            f"brev.b{bits} %0, %1;", kind, kind, lambda a, bits=bits: int(format(a, f"0{bits}b")[::-1], 2)
        )
        cases[f"bfi.b{bits}"] = Case(
            f"bfi.b{bits} %0, %1, %2, %3, %4;", f"{kind} {kind} u32 u32", kind, insert_field(bits),
            (None, None, FIELDS, FIELDS),
        )  # fmt: skip
        for type_ in (f"s{bits}", f"u{bits}"):
            for suffix in ("", ".shiftamt"):
                cases[f"bfind{suffix}.{type_}"] = Case(
                    f"bfind{suffix}.{type_} %0, %1;", type_, "u32", find_highest(bits, bool(suffix))
                )
            cases[f"bfe.{type_}"] = Case(
                f"bfe.{type_} %0, %1, %2, %3;", f"{type_} u32 u32", type_, extract_field(bits, type_[0] == "s"),
                (None, FIELDS, FIELDS),
            )  # fmt: skip
    for direction, mode in itertools.product("lr", ("wrap", "clamp")):
        cases[f"shf.{direction}.{mode}"] = Case(
            f"shf.{direction}.{mode}.b32 %0, %1, %2, %3;", "u32 u32 u32", "u32", funnel(direction, mode == "wrap"),
            (None, None, AMOUNTS),
        )  # fmt: skip
    cases["prmt.b32"] = Case("prmt.b32 %0, %1, %2, %3;", "u32 u32 u32", "u32", permute)
    for table in (0x00, 0x01, 0x80, 0x96, 0xCA, 0xE8, 0xF8, 0x3C, 0xFF):
        cases[f"lop3.b32 {table:#04x}"] = Case(
            f"lop3.b32 %0, %1, %2, %3, {table};", "u32 u32 u32", "u32", logic3(table)
        )
    for a, b in itertools.product("su", repeat=2):
        output = "u32" if a == b == "u" else "s32"
        cases[f"dp4a.{a}32.{b}32"] = Case(
            f"dp4a.{a}32.{b}32 %0, %1, %2, %3;", f"u32 u32 {output}", output, dot4(a == "s", b == "s")
        )
    return cases


# ---- references: carries, narrow numbers, fields given by registers -----------------------------------------------


def halves16(function, is_signed: bool):
    """A function of 16-bit integers on the halves of registers."""

    def reference(*registers):
        number = (lambda x: signed(x, 16)) if is_signed else (lambda x: unsigned(x, 16))
        low, high = (unsigned(function(*(number(r >> s) for r in registers)), 16) for s in (0, 16))
        return high << 16 | low

    return reference


def extended_cases() -> dict[str, Case]:
    cases = {}
    for bits in (32, 64):
        kind, letter = f"u{bits}", f".u{bits}"
        two, four = f"{kind} {kind}", " ".join([kind] * 4)
        split = f"{{ .reg {letter} low; "
        # Numbers of twice the width (%1 + %2 * 2^bits), of which the upper half is the result.
        double = lambda low, high, bits=bits: high << bits | low  # noqa: E731
        cases[f"add.cc and addc of {kind}"] = Case(
            f"{split} add.cc{letter} low, %1, %3; addc{letter} %0, %2, %4; }}", four, kind,
            lambda a, b, c, d, double=double, bits=bits: unsigned(double(a, b) + double(c, d) >> bits, bits),
        )  # fmt: skip
        cases[f"sub.cc and subc of {kind}"] = Case(
            f"{split} sub.cc{letter} low, %1, %3; subc{letter} %0, %2, %4; }}", four, kind,
            lambda a, b, c, d, double=double, bits=bits: unsigned(double(a, b) - double(c, d) >> bits, bits),
        )  # fmt: skip
        cases[f"a carry through three words of {kind}"] = Case(
            f"{split} add.cc{letter} low, %1, %2; addc.cc{letter} low, %1, %2; addc{letter} %0, 0, 0; }}", two, kind,
            lambda a, b, double=double, bits=bits: double(a, a) + double(b, b) >> 2 * bits,
        )  # fmt: skip
        cases[f"a borrow through three words of {kind}"] = Case(
            f"{split} sub.cc{letter} low, %1, %2; subc.cc{letter} low, %1, %2; subc{letter} %0, 0, 0; }}", two, kind,
            lambda a, b, double=double, bits=bits: unsigned(double(a, a) - double(b, b) >> 2 * bits, bits),
        )  # fmt: skip
        cases[f"mad.lo.cc and madc.hi of {kind}"] = Case(
            f"{split} mad.lo.cc{letter} low, %1, %2, %3; madc.hi{letter} %0, %1, %2, %4; }}", four, kind,
            lambda a, b, c, d, double=double, bits=bits: unsigned(a * b + double(c, d) >> bits, bits),
        )  # fmt: skip
    for name, function in {"add": lambda a, b: a + b, "min": min, "max": max}.items():
        for type_ in ("u16x2", "s16x2"):
            cases[f"{name}.{type_}"] = Case(
                f"{name}.{type_} %0, %1, %2;", "u32 u32", "u32", halves16(function, type_[0] == "s")
            )
    for part, (a, b) in itertools.product(("lo", "hi"), itertools.product("su", repeat=2)):
        output, shift = "u32" if a == b == "u" else "s32", 16 if part == "hi" else 0

        def dot2(x, y, c, sign=(signed if a == "s" else unsigned, signed if b == "s" else unsigned), shift=shift):
            return c + sum(sign[0](x >> 16 * k, 16) * sign[1](y >> shift + 8 * k, 8) for k in (0, 1))

        cases[f"dp2a.{part}.{a}32.{b}32"] = Case(
            f"dp2a.{part}.{a}32.{b}32 %0, %1, %2, %3;", f"u32 u32 {output}", output, dot2
        )
    for mode, limited in {"clamp": lambda n: min(n, 32), "wrap": lambda n: n & 31}.items():
        cases[f"bmsk.{mode}.b32"] = Case(
            f"bmsk.{mode}.b32 %0, %1, %2;", "u32 u32", "u32",
            lambda at, width, limited=limited: unsigned((1 << limited(width)) - 1 << limited(at), 32),
            (AMOUNTS, AMOUNTS),
        )  # fmt: skip
        cases[f"szext.{mode}.u32"] = Case(
            f"szext.{mode}.u32 %0, %1, %2;", "u32 u32", "u32",
            lambda a, n, limited=limited: unsigned(a, limited(n)), (None, AMOUNTS),
        )  # fmt: skip
        cases[f"szext.{mode}.s32"] = Case(
            f"szext.{mode}.s32 %0, %1, %2;", "s32 u32", "s32",
            lambda a, n, limited=limited: signed(a, limited(n)) if limited(n) else 0, (None, AMOUNTS),
        )  # fmt: skip
    cases["mad24.lo.s32"] = Case(
        "mad24.lo.s32 %0, %1, %2, %3;", "s32 s32 s32", "s32", lambda a, b, c: signed(a, 24) * signed(b, 24) + c
    )
    for mode in ("rz", "rm", "rp"):
        for name, function, count in (("add", exact.add, 2), ("mul", exact.mul, 2), ("fma", exact.fma, 3)):
            cases[f"{name}.{mode}.f64"] = Case(
                f"{name}.{mode}.f64 %0, {', '.join(('%1', '%2', '%3')[:count])};", " ".join(["f64"] * count), "f64",
                rounding_to(function, "f64", mode, False, False),
            )  # fmt: skip
    return cases


# ---- references: moves and predicates -----------------------------------------------------------------------------


def predicate_cases() -> dict[str, Case]:
    bits = ([0, 1], [0, 1], [0, 1])
    cases = {}

    def with_predicates(text: str) -> str:
        return f"{{ .reg .pred p, q, r, s; setp.ne.u32 p, %1, 0; setp.ne.u32 q, %2, 0; {text} }}"

    for name, reference in {
        "and": lambda p, q: p & q, "or": lambda p, q: p | q, "xor": lambda p, q: p ^ q,
    }.items():  # fmt: skip
        cases[f"{name}.pred"] = Case(
            with_predicates(f"{name}.pred r, p, q; selp.u32 %0, 1, 0, r;"), "u32 u32", "u32", reference, bits
        )
        cases[f"setp.lt.{name}.s32"] = Case(
            f"{{ .reg .pred p, q; setp.ne.u32 p, %3, 0; setp.lt.{name}.s32 q, %1, %2, p; selp.u32 %0, 1, 0, q; }}",
            "s32 s32 u32", "u32", lambda a, b, p, reference=reference: reference(a < b, bool(p)), (None, None, [0, 1]),
        )  # fmt: skip
        cases[f"setp.lt.{name}.s32 of !p, both results"] = Case(
            f"{{ .reg .pred p, q, r; .reg .u32 t; setp.ne.u32 p, %3, 0; setp.lt.{name}.s32 q|r, %1, %2, !p; "
            "selp.u32 t, 1, 0, q; selp.u32 %0, 2, 0, r; add.u32 %0, %0, t; }",
            "s32 s32 u32", "u32",
            lambda a, b, p, reference=reference: reference(a < b, not p) + 2 * reference(not a < b, not p),
            (None, None, [0, 1]),
        )  # fmt: skip
    cases["not.pred"] = Case(with_predicates("not.pred r, p; selp.u32 %0, 1, 0, r;"), "u32 u32", "u32",
                             lambda p, q: 1 - p, bits)  # fmt: skip
    cases["mov.pred"] = Case(with_predicates("mov.pred r, p; selp.u32 %0, 1, 0, r;"), "u32 u32", "u32",
                             lambda p, q: p, bits)  # fmt: skip
    cases["setp of both results"] = Case(
        "{ .reg .pred q, r; .reg .u32 t; setp.ge.s32 q|r, %1, %2; selp.u32 t, 1, 0, q; selp.u32 %0, 2, 0, r; "
        "add.u32 %0, %0, t; }", "s32 s32", "u32", lambda a, b: 1 if a >= b else 2,
    )  # fmt: skip
    for comparison, reference in {
        "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b, "hi": lambda a, b: a > b, "hs": lambda a, b: a >= b
    }.items():  # fmt: skip
        cases[f"setp.{comparison}.u32"] = Case(
            f"{{ .reg .pred p; setp.{comparison}.u32 p, %1, %2; selp.u32 %0, 1, 0, p; }}", "u32 u32", "u32", reference
        )
    cases["a guarded add"] = Case(
        "{ .reg .pred p; setp.gt.s32 p, %1, %2; mov.u32 %0, %1; @p add.s32 %0, %1, %2; @!p sub.s32 %0, %1, %2; }",
        "s32 s32", "s32", lambda a, b: a + b if a > b else a - b,
    )  # fmt: skip
    cases["a guarded write of one side keeps the other"] = Case(
        "{ .reg .pred p; setp.gt.s32 p, %1, %2; mov.u32 %0, 17; @p mov.u32 %0, %2; }", "s32 s32", "s32",
        lambda a, b: b if a > b else 17,
    )  # fmt: skip
    cases["a branch around an instruction"] = Case(
        "{ .reg .pred p; setp.gt.s32 p, %1, %2; mov.u32 %0, %2; @p bra DONE; mul.lo.s32 %0, %1, 3; DONE: }", "s32 s32",
        "s32", lambda a, b: b if a > b else 3 * a,
    )  # fmt: skip
    cases["mov.b64 packs"] = Case("mov.b64 %0, {%1, %2};", "u32 u32", "u64", lambda a, b: b << 32 | a)
    cases["mov.b64 unpacks low"] = Case("{ .reg .u32 t; mov.b64 {%0, t}, %1; }", "u64", "u32", lambda a: a)
    cases["mov.b64 unpacks high"] = Case("{ .reg .u32 t; mov.b64 {t, %0}, %1; }", "u64", "u32", lambda a: a >> 32)
    cases["mov.b32 packs"] = Case("mov.b32 %0, {%1, %2};", "u16 u16", "u32", lambda a, b: b << 16 | a)
    cases["mov.b32 unpacks"] = Case("{ .reg .u16 t; mov.b32 {t, %0}, %1; }", "u32", "u16", lambda a: a >> 16)
    cases["mov.b64 packs four"] = Case(
        "mov.b64 %0, {%1, %2, %3, %4};", "u16 u16 u16 u16", "u64", lambda a, b, c, d: d << 48 | c << 32 | b << 16 | a
    )
    cases["mov between float and integer bits"] = Case(
        "mov.b32 %0, %1;", "f32", "u32", lambda a: int(np.float32(a).view(np.uint32)),
        ([x for x in floats("f32", np.random.default_rng(0)) if not math.isnan(x)],),
    )  # fmt: skip
    return cases


# ---- references: floating point -----------------------------------------------------------------------------------


def rounding_to(function: Callable, format_: str, mode: str, ftz: bool, sat: bool) -> Callable:
    """An exact operation as an instruction with its modifiers."""

    def reference(*values):
        if ftz:
            values = [exact.flushed(x) for x in values]
        result = function(*values, format_, mode)
        if ftz:
            result = exact.flushed(result)
        if sat:
            result = 0.0 if math.isnan(result) else min(max(result, 0.0), 1.0) + 0.0
        return result

    return reference


def float_cases() -> dict[str, Case]:
    cases = {}
    arithmetic = {"add": exact.add, "sub": exact.sub, "mul": exact.mul, "fma": exact.fma, "div": exact.div}
    for (name, function), mode, ftz, sat in itertools.product(
        arithmetic.items(), ("rn", "rz", "rm", "rp"), (False, True), (False, True)
    ):
        if name == "div" and sat or mode != "rn" and ftz and sat:
            continue
        opcode = f"{name}.{mode}{'.ftz' * ftz}{'.sat' * sat}.f32"
        count = 3 if name == "fma" else 2
        cases[opcode] = Case(
            f"{opcode} %0, {', '.join(('%1', '%2', '%3')[:count])};", " ".join(["f32"] * count), "f32",
            rounding_to(function, "f32", mode, ftz, sat),
        )  # fmt: skip
    for mode, ftz in itertools.product(("rn", "rz", "rm", "rp"), (False, True)):
        flush = ".ftz" * ftz
        cases[f"sqrt.{mode}{flush}.f32"] = Case(
            f"sqrt.{mode}{flush}.f32 %0, %1;", "f32", "f32", rounding_to(exact.sqrt, "f32", mode, ftz, False)
        )
        cases[f"rcp.{mode}{flush}.f32"] = Case(
            f"rcp.{mode}{flush}.f32 %0, %1;", "f32", "f32",
            rounding_to(lambda a, format_, mode: exact.div(1.0, a, format_, mode), "f32", mode, ftz, False),
        )  # fmt: skip
    for name, function in arithmetic.items():
        count = 3 if name == "fma" else 2
        cases[f"{name}.rn.f64"] = Case(
            f"{name}.rn.f64 %0, {', '.join(('%1', '%2', '%3')[:count])};", " ".join(["f64"] * count), "f64",
            rounding_to(function, "f64", "rn", False, False),
        )  # fmt: skip
        if name != "div":
            rounded = rounding_to(function, "f16", "rn", False, False)
            cases[f"{name}.rn.f16"] = Case(
                f"{name}.rn.f16 %0, {', '.join(('%1', '%2', '%3')[:count])};", " ".join(["f16"] * count), "f16", rounded
            )
    for name in ("add", "mul", "sub"):
        cases[f"{name}.f32 without a mode"] = Case(
            f"{name}.f32 %0, %1, %2;", "f32 f32", "f32", rounding_to(arithmetic[name], "f32", "rn", False, False)
        )
    cases["sqrt.rn.f64"] = Case("sqrt.rn.f64 %0, %1;", "f64", "f64", lambda a: exact.sqrt(a, "f64"))
    cases["rcp.rn.f64"] = Case("rcp.rn.f64 %0, %1;", "f64", "f64", lambda a: exact.div(1.0, a, "f64"))
    for type_ in ("f32", "f64", "f16"):
        two = f"{type_} {type_}"
        cases[f"min.{type_}"] = Case(f"min.{type_} %0, %1, %2;", two, type_, exact.smaller)
        cases[f"max.{type_}"] = Case(f"max.{type_} %0, %1, %2;", two, type_, exact.larger)
        numbers = [x for x in floats(type_, np.random.default_rng(2)) if not math.isnan(x)]
        cases[f"neg.{type_}"] = Case(f"neg.{type_} %0, %1;", type_, type_, lambda a: -a, (numbers,))
        cases[f"abs.{type_}"] = Case(f"abs.{type_} %0, %1;", type_, type_, abs, (numbers,))
        for comparison, reference in COMPARISONS.items():
            cases[f"setp.{comparison}.{type_}"] = Case(
                f"{{ .reg .pred p; setp.{comparison}.{type_} p, %1, %2; selp.u32 %0, 1, 0, p; }}", two, "u32", reference
            )
    for kind, reference in {
        "finite": math.isfinite, "infinite": math.isinf, "notanumber": math.isnan,
        "number": lambda a: not math.isnan(a),
        "normal": lambda a: math.isfinite(a) and (a == 0 or abs(a) >= 2.0**-126),
        "subnormal": lambda a: 0 < abs(a) < 2.0**-126,
    }.items():  # fmt: skip
        cases[f"testp.{kind}.f32"] = Case(
            f"{{ .reg .pred p; testp.{kind}.f32 p, %1; selp.u32 %0, 1, 0, p; }}", "f32", "u32", reference
        )
    number = [x for x in floats("f32", np.random.default_rng(3)) if not math.isnan(x)]
    cases["copysign.f32"] = Case("copysign.f32 %0, %1, %2;", "f32 f32", "f32", lambda a, b: math.copysign(b, a),
                                 (number, number))  # fmt: skip
    cases["min.NaN.f32"] = Case("min.NaN.f32 %0, %1, %2;", "f32 f32", "f32", either_nan(exact.smaller))
    cases["max.NaN.f32"] = Case("max.NaN.f32 %0, %1, %2;", "f32 f32", "f32", either_nan(exact.larger))
    cases["min.ftz.f32"] = Case("min.ftz.f32 %0, %1, %2;", "f32 f32", "f32",
                                lambda a, b: exact.smaller(exact.flushed(a), exact.flushed(b)))  # fmt: skip
    cases["setp.lt.ftz.f32"] = Case(
        "{ .reg .pred p; setp.lt.ftz.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", "f32 f32", "u32",
        lambda a, b: exact.flushed(a) < exact.flushed(b),
    )  # fmt: skip
    cases["selp.f32"] = Case("{ .reg .pred p; setp.ne.u32 p, %3, 0; selp.f32 %0, %1, %2, p; }", "f32 f32 u32", "f32",
                             lambda a, b, p: a if p else b, (number, number, [0, 1]))  # fmt: skip
    cases["an immediate operand"] = Case("fma.rn.f32 %0, %1, 0f40490FDB, %2;", "f32 f32", "f32",
                                         lambda a, b: exact.fma(a, float(np.float32(math.pi)), b, "f32"))  # fmt: skip
    return cases


def either_nan(function: Callable) -> Callable:
    return lambda a, b: math.nan if math.isnan(a) or math.isnan(b) else function(a, b)


def unordered(function: Callable) -> Callable:
    return lambda a, b: math.isnan(a) or math.isnan(b) or function(a, b)


ORDERED = {
    "eq": lambda a, b: a == b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "ne": lambda a, b: a < b or a > b,
}  # fmt: skip
COMPARISONS = {
    **ORDERED, **{f"{name}u": unordered(function) for name, function in ORDERED.items()},
    "num": lambda a, b: not (math.isnan(a) or math.isnan(b)), "nan": lambda a, b: math.isnan(a) or math.isnan(b),
}  # fmt: skip


def approximation_cases() -> dict[str, Case]:
    """The special function unit: within the error that the PTX ISA states, special values exact."""

    def nearest(function):
        def reference(a):
            try:
                value = function(a)
            except (ValueError, ZeroDivisionError):
                value = math.copysign(math.inf, a) if function in (inverse,) else -math.inf if a == 0 else math.nan
            except OverflowError:
                value = math.inf
            return float(np.float32(value)) if abs(value) < 2.0**128 or not math.isfinite(value) else math.inf

        return reference

    def inverse(a):
        return 1 / a

    def inverse_root(a):
        return math.inf if a == 0 and math.copysign(1, a) > 0 else 1 / math.sqrt(a)

    table = {
        "rcp.approx": (inverse, 1), "sqrt.approx": (math.sqrt, 2), "rsqrt.approx": (inverse_root, 2),
        "ex2.approx": (lambda a: 2.0**a, 2), "lg2.approx": (math.log2, 4),
    }  # fmt: skip
    positive = [0.0, 1.0, 2.0, 3.0, 0.5, 1e-30, 1e30, 1e-40, math.inf, math.nan, -1.0, -math.inf, 10.0, 0.7]
    cases = {}
    for name, (function, ulps) in table.items():
        cases[f"{name}.f32"] = Case(
            f"{name}.f32 %0, %1;", "f32", "f32", nearest(function), ([float(np.float32(x)) for x in positive],), ulps
        )
        normal = [float(np.float32(x)) for x in positive if x != 1e-40 and (name, x) != ("rcp.approx", 1e38)]
        cases[f"{name}.ftz.f32"] = Case(f"{name}.ftz.f32 %0, %1;", "f32", "f32", nearest(function), (normal,), ulps)
    angles = [0.0, 0.5, 1.0, -1.0, 3.0, -3.0, 6.0]
    for name, function in {"sin": math.sin, "cos": math.cos, "tanh": math.tanh}.items():
        cases[f"{name}.approx.f32"] = Case(
            f"{name}.approx.f32 %0, %1;", "f32", "f32", nearest(function), (angles,), 2**13 if name == "tanh" else 64
        )
    divisors = [1.0, 3.0, -7.0, 0.1, 1e30, 1e-30]
    for name in ("div.approx", "div.full", "div.approx.ftz", "div.full.ftz"):
        cases[f"{name}.f32"] = Case(
            f"{name}.f32 %0, %1, %2;", "f32 f32", "f32", lambda a, b: exact.div(a, b, "f32"),
            ([1.0, -2.0, 1 / 3, 1e5, 0.0], [float(np.float32(x)) for x in divisors]), 2,
        )  # fmt: skip
    return cases


# ---- references: conversions --------------------------------------------------------------------------------------

WHOLE = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def float_to_integer(to: str, source: str, mode: str, ftz: bool = False) -> Callable:
    bits, low = int(to[1:]), -(1 << (int(to[1:]) - 1)) if to[0] == "s" else 0
    high = (1 << bits - (to[0] == "s")) - 1

    def reference(a):
        if math.isnan(a):
            top_bit = 1 << (bits - 1)
            return (low or top_bit) if source == "f64" or bits == 64 else 0
        if math.isinf(a):
            return high if a > 0 else low
        return min(max(WHOLE[mode](exact.flushed(a) if ftz else a), low), high)

    return reference


def whole_float(mode: str, ftz: bool = False) -> Callable:
    def reference(a):
        a = exact.flushed(a) if ftz else a
        return math.copysign(float(WHOLE[mode](a)), a) if math.isfinite(a) else a

    return reference


def narrowed(to: str, mode: str = "rn") -> Callable:
    def reference(a):
        if not math.isfinite(a) or a == 0:
            return float(a)
        return exact.rounded(exact.Fraction(a), to, mode)

    return reference


def bfloat16_bits(a: float, mode: str = "rn") -> int:
    if math.isnan(a):
        return 0x7FFF
    return int(np.float32(narrowed("bf16", mode)(a)).view(np.uint32)) >> 16


def register_of(type_: str) -> str:
    """8-bit values live in 32-bit registers of inline PTX."""
    return f"{type_[0]}32" if type_[1:] == "8" else type_


def reaches_beyond(source: str, low: int, high: int) -> bool:
    """Whether an integer type has values outside [low, high]: only then the assembler allows .sat."""
    bits = int(source[1:])
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if source[0] == "s" else (0, (1 << bits) - 1)
    return least < low or most > high


def conversion_cases() -> dict[str, Case]:
    cases = {}
    whole = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")
    for to, source in itertools.product(whole, whole):
        bits = int(source[1:])
        cut = signed if source[0] == "s" else unsigned
        result = signed if to[0] == "s" else unsigned
        width = int(to[1:])
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if to[0] == "s" else (0, (1 << width) - 1)
        cases[f"cvt.{to}.{source}"] = Case(
            f"cvt.{to}.{source} %0, %1;", register_of(source), register_of(to),
            lambda a, cut=cut, bits=bits, result=result, width=width: result(cut(a, bits), width),
        )  # fmt: skip
        if reaches_beyond(source, low, high):
            cases[f"cvt.sat.{to}.{source}"] = Case(
            f"cvt.sat.{to}.{source} %0, %1;", register_of(source), register_of(to),
            lambda a, cut=cut, bits=bits, low=low, high=high: min(max(cut(a, bits), low), high),
        )  # fmt: skip
    for to, source in itertools.product(whole, ("f16", "f32", "f64")):
        for mode in WHOLE if to in ("s32", "u64") else ("rzi",):
            cases[f"cvt.{mode}.{to}.{source}"] = Case(
                f"cvt.{mode}.{to}.{source} %0, %1;", source, register_of(to), float_to_integer(to, source, mode)
            )
    cases["cvt.rpi.ftz.s32.f32"] = Case(
        "cvt.rpi.ftz.s32.f32 %0, %1;", "f32", "s32", float_to_integer("s32", "f32", "rpi", True)
    )
    for to, source in itertools.product(("f16", "f32", "f64"), whole):
        cut = signed if source[0] == "s" else unsigned
        for mode in ("rn", "rz", "rm", "rp") if source in ("s32", "u64") else ("rn",):
            cases[f"cvt.{mode}.{to}.{source}"] = Case(
                f"cvt.{mode}.{to}.{source} %0, %1;", register_of(source), to,
                lambda a, cut=cut, bits=int(source[1:]), to=to, mode=mode: narrowed(to, mode)(cut(a, bits)),
            )  # fmt: skip
    for to, source in (("f32", "f64"), ("f16", "f32"), ("f16", "f64")):
        for mode in ("rn", "rz", "rm", "rp"):
            if to == "f16" and mode in ("rm", "rp") and source == "f32":
                continue
            cases[f"cvt.{mode}.{to}.{source}"] = Case(
                f"cvt.{mode}.{to}.{source} %0, %1;", source, to, narrowed(to, mode)
            )
    for to, source in (("f64", "f32"), ("f32", "f16"), ("f64", "f16")):
        cases[f"cvt.{to}.{source}"] = Case(f"cvt.{to}.{source} %0, %1;", source, to, float)
    for type_ in ("f16", "f32", "f64"):
        for mode in WHOLE:
            cases[f"cvt.{mode}.{type_}.{type_}"] = Case(
                f"cvt.{mode}.{type_}.{type_} %0, %1;", type_, type_, whole_float(mode)
            )
    cases["cvt.rni.ftz.f32.f32"] = Case("cvt.rni.ftz.f32.f32 %0, %1;", "f32", "f32", whole_float("rni", True))
    cases["cvt.sat.f32.f32"] = Case("cvt.sat.f32.f32 %0, %1;", "f32", "f32",
                                    lambda a: 0.0 if math.isnan(a) else min(max(a, 0.0), 1.0) + 0.0)  # fmt: skip
    cases["cvt.rn.bf16.f32"] = Case("cvt.rn.bf16.f32 %0, %1;", "f32", "u16", bfloat16_bits)
    cases["cvt.rz.bf16.f32"] = Case("cvt.rz.bf16.f32 %0, %1;", "f32", "u16", lambda a: bfloat16_bits(a, "rz"))
    numbers = [x for x in integers("u16", np.random.default_rng(4)) if x & 0x7FFF <= 0x7F80]
    cases["cvt.f32.bf16"] = Case("cvt.f32.bf16 %0, %1;", "u16", "f32",
                                 lambda a: float(np.uint32(a << 16).view(np.float32)), (numbers,))  # fmt: skip
    cases["cvt.rn.bf16x2.f32"] = Case("cvt.rn.bf16x2.f32 %0, %1, %2;", "f32 f32", "u32",
                                      lambda a, b: bfloat16_bits(a) << 16 | bfloat16_bits(b))  # fmt: skip
    finite = [x for x in floats("f32", np.random.default_rng(5)) if not math.isnan(x)]
    cases["cvt.ftz.f32.f32"] = Case("cvt.ftz.f32.f32 %0, %1;", "f32", "f32", exact.flushed, (finite,))
    cases["cvt.rn.f16x2.f32"] = Case(
        "cvt.rn.f16x2.f32 %0, %1, %2;", "f32 f32", "u32",
        lambda a, b: half_bits(narrowed("f16")(a)) << 16 | half_bits(narrowed("f16")(b)), (finite, finite),
    )  # fmt: skip
    return cases


def half_bits(a: float) -> int:
    return int(np.float16(a).view(np.uint16))


# ---- packed halves and bfloat16 -----------------------------------------------------------------------------------


def bfloat16_value(bits: int) -> float:
    return float(np.uint32(bits << 16).view(np.float32))


def half_value(bits: int) -> float:
    return float(np.uint16(bits).view(np.float16))


def packed_cases() -> dict[str, Case]:
    rng = np.random.default_rng(6)
    halves = [x for x in floats("f16", rng) if not math.isnan(x) and abs(x) < 200]
    half_pool = [half_bits(a) | half_bits(b) << 16 for a, b in zip(halves, halves[::-1], strict=True)]
    brains = [bfloat16_bits(x) for x in floats("f32", rng) if math.isfinite(x) and abs(x) < 1e30] + [0x0001, 0x8003]
    brain_pool = [a | b << 16 for a, b in zip(brains, brains[::-1], strict=True)]
    # A bfloat16 tie plus something that float64 forgets: 1.0078125 = 0x3F81 squared is no tie, but 1.5 * 2^-8 + 1 is.
    near_tie = [0x3F80, 0x3F81, 0x3C00, 0x3B80, 0xBB80, 0x0100, 0x8100, 0x3FC0]
    cases = {}

    def halfwise(function, value, encode):
        def reference(*registers):
            low = encode(function(*(value(r & 0xFFFF) for r in registers)))
            high = encode(function(*(value(r >> 16) for r in registers)))
            return high << 16 | low

        return reference

    for name, function, count in (
        ("add", exact.add, 2), ("sub", exact.sub, 2), ("mul", exact.mul, 2), ("fma", exact.fma, 3),
    ):  # fmt: skip
        given = ", ".join(("%1", "%2", "%3")[:count])
        mode = ".rn" if name == "fma" else ""
        half = lambda *x, function=function: function(*x, "f16", "rn")  # noqa: E731
        brain = lambda *x, function=function: function(*x, "bf16", "rn")  # noqa: E731
        cases[f"{name}.f16x2"] = Case(
            f"{name}{mode}.f16x2 %0, {given};", " ".join(["u32"] * count), "u32", halfwise(half, half_value, half_bits),
            (half_pool,) * count,
        )  # fmt: skip
        encode = bfloat16_bits
        cases[f"{name}.bf16x2"] = Case(
            f"{name}{mode or '.rn'}.bf16x2 %0, {given};", " ".join(["u32"] * count), "u32",
            halfwise(brain, bfloat16_value, encode), (brain_pool,) * count,
        )  # fmt: skip
        cases[f"{name}.bf16"] = Case(
            f"{name}{mode or '.rn'}.bf16 %0, {given};", " ".join(["u16"] * count), "u16",
            lambda *r, brain=brain: bfloat16_bits(brain(*(bfloat16_value(x) for x in r))), (near_tie + brains,) * count,
        )  # fmt: skip
    for name, function in {"min": exact.smaller, "max": exact.larger}.items():
        cases[f"{name}.f16x2"] = Case(
            f"{name}.f16x2 %0, %1, %2;", "u32 u32", "u32", halfwise(function, half_value, half_bits), (half_pool,) * 2
        )
    for name, function in {"neg": lambda a: -a, "abs": abs}.items():
        cases[f"{name}.f16x2"] = Case(
            f"{name}.f16x2 %0, %1;", "u32", "u32", halfwise(function, half_value, half_bits), (half_pool,)
        )
        cases[f"{name}.bf16x2"] = Case(
            f"{name}.bf16x2 %0, %1;", "u32", "u32", halfwise(function, bfloat16_value, bfloat16_bits), (brain_pool,)
        )
    for name, function in {"ex2": lambda a: 2.0**a if a < 16 else math.inf, "tanh": math.tanh}.items():
        cases[f"{name}.approx.f16"] = Case(f"{name}.approx.f16 %0, %1;", "f16", "f16", function, (halves,))
        cases[f"{name}.approx.f16x2"] = Case(
            f"{name}.approx.f16x2 %0, %1;", "u32", "u32", halfwise(function, half_value, half_bits), (half_pool,)
        )
    cases["fma.rn.sat.f16"] = Case(
        "fma.rn.sat.f16 %0, %1, %2, %3;", "f16 f16 f16", "f16", rounding_to(exact.fma, "f16", "rn", False, True)
    )
    cases["fma.rn.relu.f16"] = Case(
        "fma.rn.relu.f16 %0, %1, %2, %3;", "f16 f16 f16", "f16",
        lambda a, b, c: max(exact.fma(a, b, c, "f16"), 0.0) + 0.0, (halves,) * 3,
    )  # fmt: skip
    return cases


# ---- what may be unknown, but not wrong ----------------------------------------------------------------------------


def rare_cases() -> dict[str, Case]:
    """Instructions with modifiers that are easily overlooked."""

    def limited(value):
        return min(max(value, -(1 << 31)), (1 << 31) - 1)

    numbers = [x for x in floats("f32", np.random.default_rng(7)) if not math.isnan(x)]
    brains = [bfloat16_bits(x) for x in numbers if math.isfinite(x)]
    cases = {
        "add.sat.s32": Case("add.sat.s32 %0, %1, %2;", "s32 s32", "s32", lambda a, b: limited(a + b)),
        "sub.sat.s32": Case("sub.sat.s32 %0, %1, %2;", "s32 s32", "s32", lambda a, b: limited(a - b)),
        "mad.hi.sat.s32": Case(
            "mad.hi.sat.s32 %0, %1, %2, %3;", "s32 s32 s32", "s32", lambda a, b, c: limited((a * b >> 32) + c)
        ),
        "mul24.lo.s32": Case(
            "mul24.lo.s32 %0, %1, %2;", "s32 s32", "s32", lambda a, b: signed(a, 24) * signed(b, 24)
        ),
        "mul24.hi.u32": Case(
            "mul24.hi.u32 %0, %1, %2;", "u32 u32", "u32", lambda a, b: unsigned(a, 24) * unsigned(b, 24) >> 16
        ),
        "add with carry": Case(
            "add.cc.u32 %0, %1, %2; addc.u32 %0, %0, 0;", "u32 u32", "u32",
            lambda a, b: (a + b) % 2**32 + (a + b >> 32),
        ),
        "set.lt.and.u32.s32": Case(
            "{ .reg .pred p; setp.ne.u32 p, %3, 0; set.lt.and.u32.s32 %0, %1, %2, p; }", "s32 s32 u32", "u32",
            lambda a, b, p: 0xFFFFFFFF if a < b and p else 0, (None, None, [0, 1]),
        ),
        "set.gt.ftz.u32.f32": Case(
            "set.gt.ftz.u32.f32 %0, %1, %2;", "f32 f32", "u32",
            lambda a, b: 0xFFFFFFFF if exact.flushed(a) > exact.flushed(b) else 0,
        ),
        "setp.lt.bf16": Case(
            "{ .reg .pred p; setp.lt.bf16 p, %1, %2; selp.u32 %0, 1, 0, p; }", "u16 u16", "u32",
            lambda a, b: bfloat16_value(a) < bfloat16_value(b), (brains, brains),
        ),
        "setp.lt.f16x2": Case(
            "{ .reg .pred p, q; .reg .u32 t; setp.lt.f16x2 p|q, %1, %2; selp.u32 t, 2, 0, q; selp.u32 %0, 1, 0, p; "
            "add.u32 %0, %0, t; }", "u32 u32", "u32",
            lambda a, b: sum(
                (half_value(a >> s & 0xFFFF) < half_value(b >> s & 0xFFFF)) << s // 16 for s in (0, 16)
            ),
        ),
        "slct.ftz.s32.f32": Case(
            "slct.ftz.s32.f32 %0, %1, %2, %3;", "s32 s32 f32", "s32", lambda a, b, c: a if exact.flushed(c) >= 0 else b
        ),
        "min.xorsign.abs.f32": Case(
            "min.xorsign.abs.f32 %0, %1, %2;", "f32 f32", "f32",
            lambda a, b: math.copysign(min(abs(a), abs(b)), math.copysign(1, a) * math.copysign(1, b)),
            (numbers, numbers),
        ),
        "abs.ftz.f32": Case("abs.ftz.f32 %0, %1;", "f32", "f32", lambda a: abs(exact.flushed(a)), (numbers,)),
        "neg.ftz.f32": Case("neg.ftz.f32 %0, %1;", "f32", "f32", lambda a: -exact.flushed(a), (numbers,)),
        "add.rz.f64": Case("add.rz.f64 %0, %1, %2;", "f64 f64", "f64", lambda a, b: exact.add(a, b, "f64", "rz")),
        "sqrt.rp.f64": Case("sqrt.rp.f64 %0, %1;", "f64", "f64", lambda a: exact.sqrt(a, "f64", "rp")),
        "mul.ftz.f16": Case(
            "mul.ftz.f16 %0, %1, %2;", "f16 f16", "f16",
            lambda a, b: flushed_half(exact.mul(flushed_half(a), flushed_half(b), "f16")),
        ),
        "fma.rn.relu.bf16": Case(
            "fma.rn.relu.bf16 %0, %1, %2, %3;", "u16 u16 u16", "u16",
            lambda *r: bfloat16_bits(max(exact.fma(*map(bfloat16_value, r), "bf16"), 0.0) + 0.0), (brains,) * 3,
        ),
        "cvt.rn.relu.f16.f32": Case(
            "cvt.rn.relu.f16.f32 %0, %1;", "f32", "f16", lambda a: max(narrowed("f16")(a), 0.0) + 0.0, (numbers,)
        ),
        "cvt.rna.tf32.f32": Case(
            "cvt.rna.tf32.f32 %0, %1;", "f32", "u32",
            lambda a: (int(np.float32(a).view(np.uint32)) + 0x1000) & 0xFFFFE000, (numbers,),
        ),
        "cvt.sat.f32.s32": Case(
            "cvt.rn.sat.f32.s32 %0, %1;", "s32", "f32", lambda a: min(max(float(a), 0.0), 1.0)
        ),
        "prmt.b32.f4e": Case(
            "prmt.b32.f4e %0, %1, %2, %3;", "u32 u32 u32", "u32",
            lambda a, b, n: unsigned((b << 32 | a) >> 8 * (n & 3), 32),
        ),
        "shl of 16 bits by a register": Case(
            "shl.b16 %0, %1, %2;", "u16 u32", "u16", lambda a, n: a << n if n < 16 else 0, (None, AMOUNTS)
        ),
        "dp2a.lo.s32.s32": Case(
            "dp2a.lo.s32.s32 %0, %1, %2, %3;", "u32 u32 s32", "s32",
            lambda a, b, c: c + signed(a, 16) * signed(b, 8) + signed(a >> 16, 16) * signed(b >> 8, 8),
        ),
    }  # fmt: skip
    return cases


def flushed_half(a: float) -> float:
    return math.copysign(0.0, a) if abs(a) < 2.0**-14 else a


FAMILIES = {
    "integer": integer_cases(), "predicate": predicate_cases(), "float": float_cases(),
    "extended": extended_cases(),
    "approximation": approximation_cases(), "conversion": conversion_cases(), "packed": packed_cases(),
}  # fmt: skip


@pytest.fixture(scope="module")
def finished() -> dict[tuple[str, int], Run]:
    """The runs of all cases so far; a kernel runs when the first of its cases is asked for."""
    return {}


@pytest.mark.parametrize(
    ("family", "number"),
    [(family, number) for family, cases in FAMILIES.items() for number in range(len(cases))],
    ids=[name for cases in FAMILIES.values() for name in cases],
)
def test_the_instruction_does_what_the_ptx_manual_says(finished, family, number):
    cases = list(FAMILIES[family].values())
    if (family, number) not in finished:
        first = number // CASES_A_KERNEL * CASES_A_KERNEL
        together = cases[first : first + CASES_A_KERNEL]
        try:
            runs = run(together, seed=first)
        except errors.UnsupportedInstruction:  # alone, so that only the one that is not known fails
            first, runs = number, run(cases[number : number + 1], seed=number)
        finished.update({(family, first + k): case_run for k, case_run in enumerate(runs)})
    check(cases[number], finished[family, number])


RARE = rare_cases()


@pytest.mark.parametrize("name", RARE)
def test_a_rare_instruction_is_right_or_refused_but_never_wrong(name):
    try:
        (case_run,) = run([RARE[name]], seed=1)
    except errors.UnsupportedInstruction as refusal:
        assert name.split()[0].split(".")[0] in str(refusal)
        return
    check(RARE[name], case_run)


# ---- the carry, which additions and subtractions share

CARRIES = """extern "C" __global__ void kernel(const unsigned *x, const unsigned *y, int *z) {
    const unsigned t = threadIdx.x;
    unsigned low, high;
    asm("sub.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(x[t]), "r"(y[t]));
    z[3 * t] = high;
    asm("add.cc.u32 %0, %2, %3; subc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(x[t]), "r"(y[t]));
    z[3 * t + 1] = high;
    asm("sub.cc.u32 %0, %2, %3; subc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(x[t]), "r"(y[t]));
    z[3 * t + 2] = high;
}"""


@pytest.mark.parametrize("level", ["ptx", "sass"])
def test_a_subtraction_leaves_the_carry_of_its_adder(level):
    x, y = np.uint32([5, 7, 9, 0xFFFFFFFF]), np.uint32([5, 9, 7, 1])
    z = np.zeros((4, 3), np.int32)
    with gpusim.record(level=level):
        gpusim.RawModule(code=CARRIES).get_function("kernel")((1,), (4,), (x, y, z))
    # x - y carries where x >= y, which the adder of a difference takes for "no borrow"
    assert z.tolist() == [[1, -1, 0], [0, -1, -1], [1, -1, 0], [1, 0, 0]]


@pytest.mark.parametrize("level", ["ptx", "sass"])
def test_two_numbers_pack_into_narrow_ones_below_a_third(level):
    kinds = [("u16", 0, 65535), ("s16", -32768, 32767), ("u8", 0, 255), ("s8", -128, 127), ("u4", 0, 15), ("s4", -8, 7),
             ("u2", 0, 3), ("s2", -2, 1)]  # fmt: skip
    lines = "".join(
        f'asm("cvt.pack.sat.{kind}.s32 %0, %1, %2;" : "=r"(d[{n} * 512 + i]) : "r"(a[i]), "r"(b[i]));\n'
        if kind[1:] == "16"
        else f'asm("cvt.pack.sat.{kind}.s32.b32 %0, %1, %2, %3;" : "=r"(d[{n} * 512 + i])'
        ' : "r"(a[i]), "r"(b[i]), "r"(c[i]));\n'
        for n, (kind, _, _) in enumerate(kinds)
    )
    source = f"""extern "C" __global__ void k(const int *a, const int *b, const unsigned *c, unsigned *d) {{
        int i = threadIdx.x;
        {lines}
    }}"""
    rng = np.random.default_rng(16)
    a, b = ((rng.integers(-(2**31), 2**31, 512) >> rng.integers(0, 32, 512)).astype(np.int32) for _ in range(2))
    c, d = rng.integers(0, 2**32, 512).astype(np.uint32), np.zeros((8, 512), np.uint32)
    with gpusim.record(level=level):
        gpusim.RawModule(code=source).get_function("k")((1,), (512,), (a, b, c, d))
    for (kind, low, high), packed in zip(kinds, d.tolist(), strict=True):
        size = high - low + 1
        for x, y, above, result in zip(a.tolist(), b.tolist(), c.tolist(), packed, strict=True):
            first, second = (min(max(number, low), high) % size for number in (x, y))
            above = 0 if kind[1:] == "16" else above
            assert result == ((above * size + first) * size + second) % 2**32, kind


@pytest.mark.parametrize("level", ["ptx", "sass"])
def test_numbers_of_128_bits_are_divided(level):
    source = """typedef unsigned __int128 u128;
    extern "C" __global__ void kernel(const unsigned long long *x, unsigned long long *y) {
        const unsigned t = threadIdx.x;
        const u128 a = static_cast<u128>(x[4 * t]) << 64 | x[4 * t + 1];
        const u128 b = static_cast<u128>(x[4 * t + 2]) << 64 | x[4 * t + 3];
        y[4 * t] = static_cast<unsigned long long>(a / b >> 64);
        y[4 * t + 1] = static_cast<unsigned long long>(a / b);
        y[4 * t + 2] = static_cast<unsigned long long>(a % b >> 64);
        y[4 * t + 3] = static_cast<unsigned long long>(a % b);
    }"""
    x = np.random.default_rng(1).integers(1, 2**64, (32, 4), dtype=np.uint64)
    x[::2, 2] = 0
    x[1::4, 2] >>= np.uint64(50)
    x[3, :] = 0, 5, 0, 7
    y = np.zeros_like(x)
    with gpusim.record(level=level):
        kernel = gpusim.RawModule(code=source, options=("--device-int128",)).get_function("kernel")
        kernel((1,), (32,), (x, y))
    for row, result in zip(x.tolist(), y.tolist(), strict=True):
        quotient, rest = divmod(row[0] << 64 | row[1], row[2] << 64 | row[3])
        assert result == [quotient >> 64, quotient % 2**64, rest >> 64, rest % 2**64]


def test_reciprocal_root_of_a_double_has_the_bits_of_sass():
    source = """extern "C" __global__ void k(double *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        asm("rsqrt.approx.f64 %0, %1;" : "=d"(x[i]) : "d"(x[i]));
    }"""
    rng = np.random.default_rng(15)
    x = rng.integers(0, 1 << 64, 4096, np.uint64).view(np.float64)
    x[1024:3072] = np.abs(x[1024:3072])
    x[:512] = rng.integers(0, 1 << 53, 512, np.uint64).view(np.float64)  # subnormal, and the smallest normal numbers
    bits = (0x7FF0000000000001, 0xFFF8000000000123, 0x7FEFFFFFFFFFFFFF, 0x0010000000000000, 0x000FFFFFFFFFFFFF, 1)
    x[-14:] = [0.0, -0.0, np.inf, -np.inf, -1e-310, 1.0, 4.0, 0.5, *np.array(bits, np.uint64).view(np.float64)]
    kernel, results = gpusim.RawModule(code=source).get_function("k"), {}
    for level in ("ptx", "sass"):
        results[level] = x.copy()
        with gpusim.record(level=level):
            kernel((32,), (128,), (results[level],))
    np.testing.assert_array_equal(results["ptx"].view(np.uint64), results["sass"].view(np.uint64))
    positive = (x > 0) & np.isfinite(x)
    assert positive.sum() > 2000
    np.testing.assert_allclose(results["ptx"][positive], 1 / np.sqrt(x[positive]), rtol=2.0**-52)
