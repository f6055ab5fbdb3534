"""The instructions of the PTX manual's section 9.7 that the simulator knows, as inline PTX, in families.

What they answer stands in `goldens.instructions`: an H200's bits, on operands of every kind.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

C_TYPES = {
    "s16": "short", "u16": "unsigned short", "s32": "int", "u32": "unsigned int", "s64": "long long",
    "u64": "unsigned long long", "f16": "unsigned short", "f32": "float", "f64": "double", "bf16": "unsigned short",
}  # fmt: skip
CONSTRAINTS = {"16": "h", "32": "r", "64": "l", "f32": "f", "f64": "d"}


@dataclass(frozen=True)
class Case:
    """One instruction: `asm` with %0 for the result, %1 … for operands; types of operands ("s32 s32") and result.

    A predicate result is given by a u32.
    """

    name: str
    asm: str
    inputs: str
    output: str

    @property
    def types(self) -> list[str]:
        return self.inputs.split()


def constraint(type_: str) -> str:
    """The letter of inline PTX for an operand of a type."""
    return CONSTRAINTS["16" if type_ in ("f16", "bf16") else type_ if type_[0] == "f" else type_[1:]]


def plain(opcode: str, inputs: str, output: str = "", name: str = "", last: str = "") -> Case:
    """An instruction of its inputs in their order, and of one more operand if `last` is given.

    The result has the type of the first operand, and the name is the opcode, unless they are given.
    """
    given = ", ".join([*(f"%{k}" for k in range(1 + len(inputs.split()))), *last.split()])
    return Case(name or opcode, f"{opcode} {given};", inputs, output or inputs.split()[0])


def predicate(opcode: str, inputs: str) -> Case:
    """An instruction whose result is a predicate."""
    given = ", ".join(f"%{k + 1}" for k in range(len(inputs.split())))
    return Case(opcode, f"{{ .reg .pred p; {opcode} p, {given}; selp.u32 %0, 1, 0, p; }}", inputs, "u32")


def chosen(opcode: str, type_: str) -> Case:
    """A choice between two operands by a third."""
    asm = f"{{ .reg .pred p; setp.ne.u32 p, %3, 0; {opcode} %0, %1, %2, p; }}"
    return Case(opcode, asm, f"{type_} {type_} u32", type_)


def integer_cases() -> Iterator[Case]:
    for type_ in ("s16", "u16", "s32", "u32", "s64", "u64"):
        bits, two, three = int(type_[1:]), f"{type_} {type_}", f"{type_} {type_} {type_}"
        for name in ("add", "sub", "mul.lo", "min", "max", "mul.hi"):
            yield plain(f"{name}.{type_}", two)
        for name in ("mad.lo", "mad.hi", "sad"):
            yield plain(f"{name}.{type_}", three)
        for name in ("div", "rem"):
            yield plain(f"{name}.{type_}", two)
        if bits < 64:
            wide = f"{type_[0]}{2 * bits}"
            yield plain(f"mul.wide.{type_}", two, wide)
            yield plain(f"mad.wide.{type_}", f"{two} {wide}", wide)
        if type_[0] == "s":
            yield plain(f"abs.{type_}", type_)
            yield plain(f"neg.{type_}", type_)
        yield plain(f"shr.{type_}", f"{type_} u32")
        for amount in (1, bits - 1, bits, bits + 8):
            yield plain(f"shr.{type_}", type_, name=f"shr.{type_} by {amount}", last=str(amount))
        for comparison in ("eq", "ne", "lt", "le", "gt", "ge"):
            yield predicate(f"setp.{comparison}.{type_}", two)
            if type_ in ("s32", "u64"):
                yield plain(f"set.{comparison}.u32.{type_}", two, "u32")
        yield plain(f"set.lt.f32.{type_}", two, "f32")
        yield chosen(f"selp.{type_}", type_)
        for sign in ("s32", "f32"):
            yield plain(f"slct.{type_}.{sign}", f"{two} {sign}")
    for bits in (16, 32, 64):
        kind = f"u{bits}"
        for name in ("and", "or", "xor"):
            yield plain(f"{name}.b{bits}", f"{kind} {kind}")
        for name in ("not", "cnot"):
            yield plain(f"{name}.b{bits}", kind)
        yield plain(f"shl.b{bits}", f"{kind} u32")
        for amount in (bits, 3):
            yield plain(f"shl.b{bits}", kind, name=f"shl.b{bits} by {amount}", last=str(amount))
    for bits in (32, 64):
        kind = f"u{bits}"
        for name, output in {"popc": "u32", "clz": "u32", "brev": kind}.items():
            yield plain(f"{name}.b{bits}", kind, output)
        yield plain(f"bfi.b{bits}", f"{kind} {kind} u32 u32")
        for type_ in (f"s{bits}", f"u{bits}"):
            for suffix in ("", ".shiftamt"):
                yield plain(f"bfind{suffix}.{type_}", type_, "u32")
            yield plain(f"bfe.{type_}", f"{type_} u32 u32")
    for direction, mode in itertools.product("lr", ("wrap", "clamp")):
        yield plain(f"shf.{direction}.{mode}.b32", "u32 u32 u32", name=f"shf.{direction}.{mode}")
    yield plain("prmt.b32", "u32 u32 u32")
    for table in (0x00, 0x01, 0x80, 0x96, 0xCA, 0xE8, 0xF8, 0x3C, 0xFF):
        yield plain("lop3.b32", "u32 u32 u32", name=f"lop3.b32 {table:#04x}", last=str(table))
    for a, b in itertools.product("su", repeat=2):
        output = "u32" if a == b == "u" else "s32"
        yield plain(f"dp4a.{a}32.{b}32", f"u32 u32 {output}", output)


def extended_cases() -> Iterator[Case]:
    for bits in (32, 64):
        # Numbers of twice the width (%1 + %2 * 2^bits), of which the upper half is the result.
        kind, t = f"u{bits}", f".u{bits}"
        for name, inputs, asm in (
            ("add.cc and addc of", 4, f"add.cc{t} low, %1, %3; addc{t} %0, %2, %4;"),
            ("sub.cc and subc of", 4, f"sub.cc{t} low, %1, %3; subc{t} %0, %2, %4;"),
            ("a carry through three words of", 2,
             f"add.cc{t} low, %1, %2; addc.cc{t} low, %1, %2; addc{t} %0, 0, 0;"),
            ("a borrow through three words of", 2,
             f"sub.cc{t} low, %1, %2; subc.cc{t} low, %1, %2; subc{t} %0, 0, 0;"),
            ("mad.lo.cc and madc.hi of", 4, f"mad.lo.cc{t} low, %1, %2, %3; madc.hi{t} %0, %1, %2, %4;"),
        ):  # fmt: skip
            yield Case(f"{name} {kind}", f"{{ .reg {t} low;  {asm} }}", " ".join([kind] * inputs), kind)
    for name, type_ in itertools.product(("add", "min", "max"), ("u16x2", "s16x2")):
        yield plain(f"{name}.{type_}", "u32 u32")
    for part, a, b in itertools.product(("lo", "hi"), "su", "su"):
        output = "u32" if a == b == "u" else "s32"
        yield plain(f"dp2a.{part}.{a}32.{b}32", f"u32 u32 {output}", output)
    for mode in ("clamp", "wrap"):
        yield plain(f"bmsk.{mode}.b32", "u32 u32")
        for type_ in ("u32", "s32"):
            yield plain(f"szext.{mode}.{type_}", f"{type_} u32")
    yield plain("mad24.lo.s32", "s32 s32 s32")
    for mode, (name, count) in itertools.product(("rz", "rm", "rp"), (("add", 2), ("mul", 2), ("fma", 3))):
        yield plain(f"{name}.{mode}.f64", " ".join(["f64"] * count))


def predicate_cases() -> Iterator[Case]:
    """Moves, too."""

    def of_predicates(text: str) -> str:
        return f"{{ .reg .pred p, q, r, s; setp.ne.u32 p, %1, 0; setp.ne.u32 q, %2, 0; {text} selp.u32 %0, 1, 0, r; }}"

    for name in ("and", "or", "xor"):
        yield Case(f"{name}.pred", of_predicates(f"{name}.pred r, p, q;"), "u32 u32", "u32")
        yield Case(
            f"setp.lt.{name}.s32",
            f"{{ .reg .pred p, q; setp.ne.u32 p, %3, 0; setp.lt.{name}.s32 q, %1, %2, p; selp.u32 %0, 1, 0, q; }}",
            "s32 s32 u32", "u32",
        )  # fmt: skip
        yield Case(
            f"setp.lt.{name}.s32 of !p, both results",
            f"{{ .reg .pred p, q, r; .reg .u32 t; setp.ne.u32 p, %3, 0; setp.lt.{name}.s32 q|r, %1, %2, !p; "
            "selp.u32 t, 1, 0, q; selp.u32 %0, 2, 0, r; add.u32 %0, %0, t; }", "s32 s32 u32", "u32",
        )  # fmt: skip
    for name in ("not", "mov"):
        yield Case(f"{name}.pred", of_predicates(f"{name}.pred r, p;"), "u32 u32", "u32")
    yield Case(
        "setp of both results",
        "{ .reg .pred q, r; .reg .u32 t; setp.ge.s32 q|r, %1, %2; selp.u32 t, 1, 0, q; selp.u32 %0, 2, 0, r; "
        "add.u32 %0, %0, t; }", "s32 s32", "u32",
    )  # fmt: skip
    for comparison in ("lo", "ls", "hi", "hs"):
        yield predicate(f"setp.{comparison}.u32", "u32 u32")
    guard = "{ .reg .pred p; setp.gt.s32 p, %1, %2;"
    for name, asm in {
        "a guarded add": "mov.u32 %0, %1; @p add.s32 %0, %1, %2; @!p sub.s32 %0, %1, %2;",
        "a guarded write of one side keeps the other": "mov.u32 %0, 17; @p mov.u32 %0, %2;",
        "a branch around an instruction": "mov.u32 %0, %2; @p bra DONE; mul.lo.s32 %0, %1, 3; DONE:",
    }.items():
        yield Case(name, f"{guard} {asm} }}", "s32 s32", "s32")
    yield Case("mov.b64 packs", "mov.b64 %0, {%1, %2};", "u32 u32", "u64")
    yield Case("mov.b64 unpacks low", "{ .reg .u32 t; mov.b64 {%0, t}, %1; }", "u64", "u32")
    yield Case("mov.b64 unpacks high", "{ .reg .u32 t; mov.b64 {t, %0}, %1; }", "u64", "u32")
    yield Case("mov.b32 packs", "mov.b32 %0, {%1, %2};", "u16 u16", "u32")
    yield Case("mov.b32 unpacks", "{ .reg .u16 t; mov.b32 {t, %0}, %1; }", "u32", "u16")
    yield Case("mov.b64 packs four", "mov.b64 %0, {%1, %2, %3, %4};", "u16 u16 u16 u16", "u64")
    yield plain("mov.b32", "f32", "u32", name="mov between float and integer bits")


def float_cases() -> Iterator[Case]:
    arithmetic, modes = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "div": 2}, ("rn", "rz", "rm", "rp")
    of = lambda type_, count: " ".join([type_] * count)  # noqa: E731
    for (name, count), mode, ftz, sat in itertools.product(arithmetic.items(), modes, (False, True), (False, True)):
        if not (name == "div" and sat or mode != "rn" and ftz and sat):
            yield plain(f"{name}.{mode}{'.ftz' * ftz}{'.sat' * sat}.f32", of("f32", count))
    for mode, ftz, name in itertools.product(modes, ("", ".ftz"), ("sqrt", "rcp")):
        yield plain(f"{name}.{mode}{ftz}.f32", "f32")
    for name, count in arithmetic.items():
        yield plain(f"{name}.rn.f64", of("f64", count))
        if name != "div":
            yield plain(f"{name}.rn.f16", of("f16", count))
    for name in ("add", "mul", "sub"):
        yield plain(f"{name}.f32", "f32 f32", name=f"{name}.f32 without a mode")
    for name in ("sqrt", "rcp"):
        yield plain(f"{name}.rn.f64", "f64")
    ordered = ("eq", "lt", "le", "gt", "ge", "ne")
    for type_ in ("f32", "f64", "f16"):
        for name, count in {"min": 2, "max": 2, "neg": 1, "abs": 1}.items():
            yield plain(f"{name}.{type_}", of(type_, count))
        for comparison in (*ordered, *(f"{name}u" for name in ordered), "num", "nan"):
            yield predicate(f"setp.{comparison}.{type_}", of(type_, 2))
    for kind in ("finite", "infinite", "notanumber", "number", "normal", "subnormal"):
        yield predicate(f"testp.{kind}.f32", "f32")
    for name in ("copysign", "min.NaN", "max.NaN", "min.ftz"):
        yield plain(f"{name}.f32", "f32 f32")
    yield predicate("setp.lt.ftz.f32", "f32 f32")
    yield chosen("selp.f32", "f32")
    yield Case("an immediate operand", "fma.rn.f32 %0, %1, 0f40490FDB, %2;", "f32 f32", "f32")


def approximation_cases() -> Iterator[Case]:
    """The special function unit."""
    for name, ftz in itertools.product(("rcp", "sqrt", "rsqrt", "ex2", "lg2"), ("", ".ftz")):
        yield plain(f"{name}.approx{ftz}.f32", "f32")
    for name in ("sin", "cos", "tanh"):
        yield plain(f"{name}.approx.f32", "f32")
    for name in ("approx", "full", "approx.ftz", "full.ftz"):
        yield plain(f"div.{name}.f32", "f32 f32")


def conversion_cases() -> Iterator[Case]:
    whole, floats = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"), ("f16", "f32", "f64")
    register = lambda type_: type_.replace("8", "32")  # noqa: E731  # 8-bit values live in 32-bit registers of inline PTX
    all_modes, to_whole = ("rn", "rz", "rm", "rp"), ("rni", "rzi", "rmi", "rpi")
    for to, source in itertools.product(whole, whole):
        yield plain(f"cvt.{to}.{source}", register(source), register(to))
        # Only where the source has values beyond the result's the assembler allows .sat.
        width, reach = int(to[1:]), int(source[1:])
        if (to[0] == "u" and source[0] == "s") or reach - (source[0] == "s") > width - (to[0] == "s"):
            yield plain(f"cvt.sat.{to}.{source}", register(source), register(to))
    for to, source in itertools.product(whole, floats):
        for mode in to_whole if to in ("s32", "u64") else ("rzi",):
            yield plain(f"cvt.{mode}.{to}.{source}", source, register(to))
    yield plain("cvt.rpi.ftz.s32.f32", "f32", "s32")
    for to, source in itertools.product(floats, whole):
        for mode in all_modes if source in ("s32", "u64") else ("rn",):
            yield plain(f"cvt.{mode}.{to}.{source}", register(source), to)
    for to, source, modes in (("f32", "f64", all_modes), ("f16", "f32", ("rn", "rz")), ("f16", "f64", all_modes)):
        for mode in modes:
            yield plain(f"cvt.{mode}.{to}.{source}", source, to)
    for to, source in (("f64", "f32"), ("f32", "f16"), ("f64", "f16")):
        yield plain(f"cvt.{to}.{source}", source, to)
    for type_, mode in itertools.product(floats, to_whole):
        yield plain(f"cvt.{mode}.{type_}.{type_}", type_)
    for name in ("rni.ftz", "sat"):
        yield plain(f"cvt.{name}.f32.f32", "f32")
    for mode in ("rn", "rz"):
        yield plain(f"cvt.{mode}.bf16.f32", "f32", "u16")
    yield plain("cvt.f32.bf16", "u16", "f32")
    yield plain("cvt.rn.bf16x2.f32", "f32 f32", "u32")
    yield plain("cvt.ftz.f32.f32", "f32")
    yield plain("cvt.rn.f16x2.f32", "f32 f32", "u32")


def packed_cases() -> Iterator[Case]:
    for name, count in {"add": 2, "sub": 2, "mul": 2, "fma": 3}.items():
        mode, words = ".rn" * (name == "fma"), " ".join(["u32"] * count)
        yield plain(f"{name}{mode}.f16x2", words, name=f"{name}.f16x2")
        yield plain(f"{name}.rn.bf16x2", words, name=f"{name}.bf16x2")
        yield plain(f"{name}.rn.bf16", " ".join(["u16"] * count), name=f"{name}.bf16")
    for name in ("min", "max"):
        yield plain(f"{name}.f16x2", "u32 u32")
    for name, type_ in itertools.product(("neg", "abs"), ("f16x2", "bf16x2")):
        yield plain(f"{name}.{type_}", "u32")
    for name in ("ex2", "tanh"):
        yield plain(f"{name}.approx.f16", "f16")
        yield plain(f"{name}.approx.f16x2", "u32")
    for name in ("sat", "relu"):
        yield plain(f"fma.rn.{name}.f16", "f16 f16 f16")


def rare_cases() -> Iterator[Case]:
    """Instructions with modifiers that are easily overlooked."""
    for name in ("add", "sub", "mad.hi"):
        yield plain(f"{name}.sat.s32", "s32 s32 s32" if name == "mad.hi" else "s32 s32")
    yield plain("mul24.lo.s32", "s32 s32")
    yield plain("mul24.hi.u32", "u32 u32")
    yield Case("add with carry", "add.cc.u32 %0, %1, %2; addc.u32 %0, %0, 0;", "u32 u32", "u32")
    yield Case(
        "set.lt.and.u32.s32", "{ .reg .pred p; setp.ne.u32 p, %3, 0; set.lt.and.u32.s32 %0, %1, %2, p; }",
        "s32 s32 u32", "u32",
    )  # fmt: skip
    yield plain("set.gt.ftz.u32.f32", "f32 f32", "u32")
    yield predicate("setp.lt.bf16", "u16 u16")
    yield Case(
        "setp.lt.f16x2",
        "{ .reg .pred p, q; .reg .u32 t; setp.lt.f16x2 p|q, %1, %2; selp.u32 t, 2, 0, q; selp.u32 %0, 1, 0, p; "
        "add.u32 %0, %0, t; }", "u32 u32", "u32",
    )  # fmt: skip
    yield plain("slct.ftz.s32.f32", "s32 s32 f32")
    yield plain("min.xorsign.abs.f32", "f32 f32")
    for name in ("abs", "neg"):
        yield plain(f"{name}.ftz.f32", "f32")
    yield plain("add.rz.f64", "f64 f64")
    yield plain("sqrt.rp.f64", "f64")
    yield plain("mul.ftz.f16", "f16 f16")
    yield plain("fma.rn.relu.bf16", "u16 u16 u16")
    yield plain("cvt.rn.relu.f16.f32", "f32", "f16")
    yield plain("cvt.rna.tf32.f32", "f32", "u32")
    yield plain("cvt.rn.sat.f32.s32", "s32", "f32", name="cvt.sat.f32.s32")
    yield plain("prmt.b32.f4e", "u32 u32 u32")
    yield plain("shl.b16", "u16 u32", name="shl of 16 bits by a register")
    yield plain("dp2a.lo.s32.s32", "u32 u32 s32", "s32")


# By name, in the order in which they are recorded: of two with one name the first one's place, the last one's text.
CASES = {
    case.name: case
    for cases in (rare_cases, integer_cases, predicate_cases, float_cases, extended_cases, approximation_cases,
                  conversion_cases, packed_cases)
    for case in cases()
}  # fmt: skip
