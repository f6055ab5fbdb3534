"""PTX instructions by the compiled engine and by their rules in NumPy: the same bits, on random and odd operands."""

import ast
import ctypes
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.compiler import ptx
from helpers.compiler.ptx import TYPE_BYTES
from helpers.simulator.arithmetic import integer
from helpers.simulator.engine import compiled, machine_layout
from helpers.simulator.engine.ir import Registers
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.decoded import ALWAYS, NEGATED, NEVER_KEPT, NotDecoded
from helpers.simulator.frontends.ptx import decoding, opcodes
from helpers.simulator.frontends.ptx.decoding.decoder import Decoder
from helpers.simulator.frontends.ptx.decoding.opcodes import OPCODES, decode
from helpers.simulator.frontends.ptx.linking import Linked
from helpers.simulator.frontends.ptx.operands import Operands, dtype_of
from helpers.simulator.frontends.ptx.rows import PREDICATES
from helpers.simulator.frontends.rules import Compute
from tests.native.test_instructions import SPECIAL, SPECIAL64

pytestmark = pytest.mark.skipif(machine_layout.library() is None, reason="there is no compiled engine here")

ROUNDS = 6  # of 32 lanes each; the last one for some lanes only
SPECIAL16 = [0, 1, 2, 15, 16, 17, 31, 63, 255, 0x7FFF, 0x8000, 0xFFFF, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7C01,
             0xFE12, 0x0400, 0x8400, 0x03FF, 0x0001, 0x8001, 0x7BFF, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7F81, 0xFFC1,
             0x0080, 0x007F, 0x807F, 0x7F7F, 0x4F00, 0x4380]  # fmt: skip

# ---- forms

ROUNDINGS = ("", "rn", "rz", "rm", "rp")
WHOLE = ("rni", "rzi", "rmi", "rpi")
INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
EVERY_INTEGER = ("u8", "s8", *INTEGERS)
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")
HALVES = ("f16", "f16x2", "bf16", "bf16x2")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
COMPARISONS_OF_FLOATS = (*COMPARISONS, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}


def register(type_: str, number: int) -> str:
    """A register for a type, by number: %p, %h (16 bits), %r, %f, %d (64 bits) or %g (float64)."""
    if type_ in ("pred", "f32", "f64"):
        return f"%{ {'pred': 'p', 'f32': 'f', 'f64': 'g'}[type_] }{number}"
    return f"%{ {1: 'h', 2: 'h', 4: 'r', 8: 'd'}[dtype_of(type_).itemsize] }{number}"


def constants(type_: str) -> tuple[str, ...]:
    """Some immediate operands of a type."""
    if type_ == "f32":
        return ("0f3FC00000", "0f80000001")
    if type_ == "f64":
        return ("0dBFF8000000000000",)
    if type_ == "pred" or type_ in HALVES:
        return ()
    return ("7",) if type_[0] != "s" else ("-3",)


def lists(result: str, sources: Sequence[str]) -> Iterator[str]:
    """Operands of these types: registers, the result in the first one read, and each source as a constant."""
    names = [register(type_, 1 + k) for k, type_ in enumerate(sources)]
    yield ", ".join([register(result, 0), *names])
    if names and register(result, 1) == names[0]:
        yield ", ".join([names[0], *names])
    for place, type_ in enumerate(sources):
        for constant in constants(type_):
            yield ", ".join([register(result, 0), *names[:place], constant, *names[place + 1 :]])


def forms(
    name: str, modifiers: Sequence[Sequence[str]], types: Sequence[str], sources: str, result: str = "t"
) -> list[str]:
    """All combinations of modifiers (one of each tuple, "" for none) and types.

    sources, result: the type of each operand: t that of the instruction, w twice as wide, u u32, p a predicate.
    """
    found = []
    for *chosen, type_ in itertools.product(*modifiers, types):
        word = ".".join(filter(None, (name, *chosen, type_)))
        known = {"t": type_, "u": "u32", "p": "pred", "w": f"{type_[0]}{16 * dtype_of(type_).itemsize}"}
        found += [f"{word} {list_}" for list_ in lists(known[result], [known[one] for one in sources])]
    return found


def floating(name: str, sources: str) -> list[str]:
    """An arithmetic function with all its modifiers."""
    return [
        *forms(name, (ROUNDINGS, ("", "ftz"), ("", "sat")), ("f32",), sources),
        *forms(name, (ROUNDINGS,), ("f64",), sources),
        *forms(name, (("", "rn"), ("", "ftz"), ("", "sat", "relu")), HALVES, sources),
        *forms(name, (ROUNDINGS, ("", "ftz")), ("f32x2",), sources),
    ]


def approximate(*names: str) -> dict[str, list[str]]:
    return {
        name: [
            *forms(name, (("approx", *ROUNDINGS), ("", "ftz")), FLOATS, "t"),
            *forms(name, (("approx",), ("", "ftz")), HALVES, "t"),
        ]
        for name in names
    }


def conversions() -> Iterator[str]:
    types = (*EVERY_INTEGER, "f16", "bf16", "f32", "f64")
    for to, origin in itertools.product(types, types):
        roundings = ("", "rn", "rz", "rm", "rp", *WHOLE)
        for rounding, ftz, sat in itertools.product(roundings, ("", "ftz"), ("", "sat")):
            word = ".".join(filter(None, ("cvt", rounding, ftz, sat, to, origin)))
            yield f"{word} {register(to, 0)}, {register(origin, 1)}"
            if rounding in ("", "rni", "rzi") and to in EVERY_INTEGER:  # either may be wider
                for wide in ("%r0", "%d0")[TYPE_BYTES[to] == 4 : 4 - TYPE_BYTES[to].bit_length()]:
                    yield f"{word} {wide}, {register(origin, 1)}"
                if origin in EVERY_INTEGER and TYPE_BYTES[origin] < 8:
                    yield f"{word} {register(to, 0)}, %d1"
            if rounding == "" and to == origin == "f32":
                yield f"{word} %f0, 0f80000001"
    for to, relu, rounding in itertools.product(("f16x2", "bf16x2"), ("", "relu"), ("rn", "rz")):
        yield ".".join(filter(None, ("cvt", rounding, relu, to, "f32"))) + " %r0, %f1, %f2"
        yield ".".join(filter(None, ("cvt", rounding, relu, PAIRS[to], "f32"))) + " %h0, %f1"
    for to in ("u16", "s16"):
        yield f"cvt.pack.sat.{to}.s32 %r0, %r1, %r2"
    for to in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield f"cvt.pack.sat.{to}.s32.b32 %r0, %r1, %r2, %r3"
    for rounding in ("rna", "rn", "rz"):
        yield f"cvt.{rounding}.tf32.f32 %r0, %f1"
    for eight, relu in itertools.product(("e4m3x2", "e5m2x2"), ("", "relu")):
        words = ".".join(filter(None, ("cvt", "rn", "satfinite", relu)))
        yield f"{words}.{eight}.f32 %h0, %f1, %f2"
        yield f"{words}.{eight}.f16x2 %h0, %r1"
        yield ".".join(filter(None, ("cvt", "rn", relu, "f16x2", eight))) + " %r0, %h1"


def comparisons() -> Iterator[str]:
    kinds = (
        (BITS, COMPARISONS[:2], ("",)),
        (INTEGERS, (*COMPARISONS, "lo", "ls", "hi", "hs"), ("",)),
        ((*FLOATS, *HALVES), COMPARISONS_OF_FLOATS, ("", "ftz")),
    )
    for types, names, flushing in kinds:
        for type_, name, ftz in itertools.product(types, names, flushing):
            a, b = register(type_, 1), register(type_, 2)
            for combine, third in (("", ""), ("and", ", %p1"), ("or", ", !%p1"), ("xor", ", %p2")):
                word = ".".join(filter(None, (name, combine, ftz, type_)))
                for results in ("%p0", "%p0|%p3", "_|%p3", "%p1|%p0")[: 4 if name in ("lt", "ne", "geu") else 2]:
                    yield f"setp.{word} {results}, {a}, {b}{third}"
                for constant in constants(type_):
                    yield f"setp.{word} %p0, {a}, {constant}{third}"
                for to in (
                    ("u32", "s32", type_) if type_ in PAIRS else ("u16", "s16", "u32", "s32", "f16", "bf16", "f32")
                ):
                    if combine in ("", "xor"):
                        word = ".".join(filter(None, (name, combine, ftz, to, type_)))
                        yield f"set.{word} {register(to, 0)}, {a}, {b}{third}"


def moves() -> Iterator[str]:
    for type_ in (*BITS, *INTEGERS, *FLOATS, "pred"):
        yield from forms("mov", (), (type_,), "t")
    yield from ("mov.b32 %f0, %r1", "mov.b32 %r0, %f1", "mov.b64 %g0, %d1", "mov.b64 %d0, %g1", "mov.u32 %r0, WARP_SZ")
    yield from ("mov.b64 {%r0, %r1}, %d1", "mov.b64 {_, %r5}, %g1", "mov.b64 {%r3, _}, %d1", "mov.b64 {%f0, %f4}, %d2")
    yield from (
        "mov.b64 %d0, {%r1, %r2}",
        "mov.b64 %d0, {%f1, %r2}",
        "mov.b64 %g0, {%r2, %r1}",
        "mov.b64 %d0, {%r1, 7}",
    )
    yield from ("mov.b32 {%h0, %h1}, %r1", "mov.b32 {_, %h0}, %r1", "mov.b32 %r0, {%h1, %h2}", "mov.b32 %f0, {%h2, 3}")
    yield from (
        "mov.b64 {%h0, %h1, %h4, %h5}, %d1",
        "mov.b64 %d0, {%h1, %h2, %h3, %h1}",
        "mov.b64 {%h0, _, _, %h5}, %g1",
    )
    yield from ("cvta.to.global.u64 %d0, %d1", "cvta.global.u64 %d0, %d1", "cvta.to.shared.u64 %d0, %d1")
    yield from (
        "cvta.shared.u64 %d0, %d1",
        "cvta.local.u64 %d0, %d1",
        "cvta.to.local.u64 %d0, %d1",
        "cvta.const.u64 %d0, %d1",
    )
    yield from ("isspacep.global %p0, %d1", "isspacep.local %p0, %d1", "isspacep.shared::cluster %p0, %d1")


def videos(count: int) -> Iterator[str]:
    names = ("vadd", "vsub", "vabsdiff", "vavrg", "vmin", "vmax")
    signs = list(itertools.product(("u32", "s32"), repeat=3))
    low, high = ("h10", "h32") if count == 2 else ("b3210", "b7654")
    other = "h31" if count == 2 else "b5072"
    places = ("%r0, %r1, %r2, %r3", f"%r0.{low[:2]}, %r1.{other}, %r2.{low}, %r3", f"%r0, %r1.{high}, 7, %r3")
    for name, types, last in itertools.product(names, signs, ("", "sat", "add")):
        word = ".".join(filter(None, (f"{name}{count}", *types, last)))
        yield from (f"{word} {list_}" for list_ in places)
    for types, name, last in itertools.product(itertools.product(("u32", "s32"), repeat=2), COMPARISONS, ("", "add")):
        word = ".".join(filter(None, (f"vset{count}", *types, name, last)))
        yield from (f"{word} {list_}" for list_ in places)


def videos_of_one() -> Iterator[str]:
    names = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr")
    signs = list(itertools.product(("u32", "s32"), repeat=3))
    places = ("%r0, %r1, %r2", "%r0, %r1.b1, %r2.h1", "%r0, %r1.h0, %r2.b3")
    with_third = (
        "%r0.b2, %r1, %r2.b0, %r3",
        "%r0.h1, %r1.h1, %r2, %r3",
        "%r0.h0, %r1, %r2, %r3",
        "%r0.b0, %r1, 7, %r3",
    )
    for name, types, sat in itertools.product(names, signs, ("", "sat")):
        for mode in ("clamp", "wrap") if name in ("vshl", "vshr") else ("",):
            words = (name, *types, sat, mode)
            for list_ in (*places, *with_third):
                yield f"{'.'.join(filter(None, words))} {list_}"
            for second in ("add", "min", "max"):
                yield f"{'.'.join(filter(None, (*words, second)))} %r0, %r1, %r2.h1, %r3"
    for types, name in itertools.product(itertools.product(("u32", "s32"), repeat=2), COMPARISONS):
        for list_ in (*places, *with_third):
            yield f"{'.'.join(('vset', *types, name))} {list_}"
        for second in ("add", "min", "max"):
            yield f"{'.'.join(('vset', *types, name, second))} %r0, %r1, %r2.h1, %r3"
    for types, po, sat, right in itertools.product(signs, ("", "po"), ("", "sat"), ("", "shr7", "shr15")):
        word = ".".join(filter(None, ("vmad", *types, po, sat, right)))
        yield from (f"{word} {list_}" for list_ in ("%r0, %r1, %r2, %r3", "%r0, %r1.h1, %r2.b2, %r3"))
        yield from (f"{word} {list_}" for list_ in ("%r0, -%r1, %r2, %r3", "%r0, %r1.h0, %r2, -%r3"))


TWO, THREE, ALL_KINDS = "tt", "ttt", ("lo", "hi", "wide")
DOTS = (("u32", "s32"), ("u32", "s32"))
BY_OPCODE: dict[str, list[str]] = {
    "add": [
        *forms("add", (("", "sat", "cc"),), INTEGERS, TWO), *forms("add", (), ("u16x2", "s16x2"), TWO),
        *floating("add", TWO),
    ],
    "sub": [*forms("sub", (("", "sat", "cc"),), INTEGERS, TWO), *floating("sub", TWO)],
    "addc": forms("addc", (("", "cc"),), INTEGERS[2:], TWO),
    "subc": forms("subc", (("", "cc"),), INTEGERS[2:], TWO),
    "mul": [
        *forms("mul", (("lo", "hi"),), INTEGERS, TWO), *forms("mul", (("wide",),), INTEGERS[:4], TWO, "w"),
        *floating("mul", TWO),
    ],
    "mad": [
        *forms("mad", (("lo", "hi"), ("", "sat", "cc")), INTEGERS, THREE),
        *forms("mad", (("wide",),), INTEGERS[:4], "ttw", "w"), *floating("mad", THREE),
    ],
    "madc": forms("madc", (("lo", "hi"), ("", "cc")), INTEGERS[2:], THREE),
    "mul24": forms("mul24", (("lo", "hi"),), ("u32", "s32"), TWO),
    "mad24": forms("mad24", (("lo", "hi"),), ("u32", "s32"), THREE),
    "fma": floating("fma", THREE),
    "div": [
        *forms("div", (), INTEGERS, TWO), *forms("div", (("approx", "full", *ROUNDINGS), ("", "ftz")), FLOATS, TWO)
    ],
    "rem": forms("rem", (), INTEGERS, TWO),
    **{
        name: [
            *forms(name, (), (*INTEGERS, "u16x2", "s16x2"), TWO),
            *forms(name, (("", "ftz"), ("", "NaN")), (*FLOATS, *HALVES), TWO),
        ]
        for name in ("min", "max")
    },
    **{
        name: [*forms(name, (), ("s16", "s32", "s64"), "t"), *forms(name, (("", "ftz"),), (*FLOATS, *HALVES), "t")]
        for name in ("abs", "neg")
    },
    "sad": forms("sad", (), INTEGERS, THREE),
    "dp4a": forms("dp4a", DOTS[:1], ("u32", "s32"), "uuu", "u"),
    "dp2a": forms("dp2a", (("lo", "hi"), *DOTS[:1]), ("u32", "s32"), "uuu", "u"),
    **approximate("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"),
    "copysign": forms("copysign", (), FLOATS, TWO),
    "testp": forms("testp", (("finite", "infinite", "number", "notanumber", "normal", "subnormal"),), FLOATS, "t", "p"),
    **{name: [*forms(name, (), BITS, TWO), *forms(name, (), ("pred",), TWO)] for name in ("and", "or", "xor")},
    "not": [*forms("not", (), BITS, "t"), *forms("not", (), ("pred",), "t")],
    "cnot": forms("cnot", (), BITS, "t"),
    "lop3": [f"lop3.b32 %r0, %r1, %r2, {c}, {table}" for table in range(256) for c in ("%r3", "7")],
    "shl": forms("shl", (), BITS, "tu"),
    "shr": [f"shr.{type_} {register(type_, 0)}, {register(type_, 1)}, {by}" for type_ in (*BITS, *INTEGERS)
            for by in ("%r2", "0", "5", "15", "16", "31", "32", "63", "64", "200")],
    "shf": [f"shf.{way}.{mode}.b32 %r0, %r1, %r2, {by}" for way in "lr" for mode in ("wrap", "clamp")
            for by in ("%r3", "0", "7", "32", "33")],
    "bfe": forms("bfe", (), INTEGERS[2:], "tuu"),
    "bfi": forms("bfi", (), BITS[1:], "ttuu"),
    "bfind": forms("bfind", (("", "shiftamt"),), INTEGERS[2:], "t", "u"),
    "bmsk": forms("bmsk", (("clamp", "wrap"),), ("b32",), "uu"),
    "szext": forms("szext", (("clamp", "wrap"),), ("u32", "s32"), "tu"),
    **{name: forms(name, (), BITS[1:], "t", "u") for name in ("popc", "clz")},
    "brev": forms("brev", (), BITS[1:], "t"),
    "prmt": [f"prmt.b32{mode} %r0, %r1, %r2, {by}" for mode in ("", *(f".{m}" for m in integer.PERMUTATIONS))
             for by in ("%r3", "0x5410", "0x9bdf", "2")],
    "fns": [f"fns.b32 %r0, %r1, {list_}" for list_ in ("%r2, %r3", "0, 3", "31, -2", "5, 0", "%r2, 1")],
    "setp": [form for form in comparisons() if form.startswith("setp")],
    "set": [form for form in comparisons() if form.startswith("set.")],
    "selp": [
        f"selp.{type_} {register(type_, 0)}, {a}, {register(type_, 2)}, {p}" for type_ in (*BITS, *INTEGERS, *FLOATS)
        for a in (register(type_, 1), *constants(type_)) for p in ("%p0", "%p1")
    ],
    "slct": [
        f"slct{ftz}.{type_}.{c} {register(type_, 0)}, {register(type_, 1)}, {register(type_, 2)}, {register(c, 3)}"
        for type_ in (*BITS, *INTEGERS, *FLOATS) for c in ("s32", "f32") for ftz in ("", ".ftz")
    ],
    "mov": list(moves()),
    "cvt": list(conversions()),
    **{f"vadd{count}": list(videos(count)) for count in (2, 4)},
    "vadd": list(videos_of_one()),
    "createpolicy": ["createpolicy.fractional.L2::evict_first.b64 %d0, 0f3F800000"],
}  # fmt: skip

DECLARATIONS = """
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k() {
    .reg .pred %p<6>; .reg .b16 %h<6>; .reg .b32 %r<6>; .reg .f32 %f<6>; .reg .b64 %d<6>; .reg .f64 %g<6>;
"""


class Forms:
    """Some statements, as the rules in NumPy and the compiled engine know them."""

    def __init__(self, texts: Sequence[str]) -> None:
        module = ptx.parse(DECLARATIONS + "".join(f"    {text};\n" for text in texts) + "}\n")
        function = module.functions["k"]
        kernel = SimpleNamespace(arch="sm_90a", cubin=b"", lowered_name="k", source="", parameters=(), debug=False)
        self.operands = Operands(kernel, module, Linked(function))
        self.rules: dict[str, Compute] = {}  # those of the forms that there are
        statements = []
        for statement in function.statements:
            try:
                rule = opcodes.OPCODES[statement.name].outcome(self.operands, statement)
            except Unknown:
                continue
            if isinstance(rule, Compute):
                statements.append(statement)
                self.rules[statement.text] = rule
        self.operands.carry()
        slots = len(self.operands.types)
        everywhere = SimpleNamespace(start=0, stop=1, live=(1 << slots) - 1, successors=())
        program = SimpleNamespace(blocks=[everywhere], instructions=[], global_variables={}, cluster=None)
        self.decoder = Decoder(self.operands, program)
        self.not_decoded: dict[str, str] = {}
        self.place: dict[str, int] = {}
        decoded = []
        for statement in statements:
            try:
                decoded.append(decode(self.decoder, statement, SimpleNamespace(index=0, target=0, targets=())))
            except NotDecoded as reason:
                self.not_decoded[statement.text] = str(reason)
            else:
                self.place[statement.text] = len(decoded) - 1
        self.machine = compiled.assemble(
            SimpleNamespace(blocks=[]), decoded, self.decoder.words.all, {}, self.decoder.nowhere, self.decoder.lists
        )
        self.constants = machine_layout.aligned((len(self.machine.words), 32), np.uint32)
        self.constants[...] = np.array([word.value for word in self.machine.words], np.uint32)[:, None]
        self.launch, self.results = machine_layout.CLaunch(rows=self.machine.rows), machine_layout.CResults()
        self.launch.constants, self.launch.jumps = self.constants.ctypes.data, self.machine.jumps.ctypes.data

    def run(self, text: str, rows: np.ndarray, predicates: np.ndarray, mask: int) -> None:
        """Execute one form."""
        code = self.machine.code
        self.launch.code = code.ctypes.data + code.itemsize * self.place[text]
        machine_layout.library().execute_one(
            ctypes.byref(self.launch), ctypes.byref(self.results), ctypes.c_void_p(rows.ctypes.data),
            ctypes.c_void_p(predicates.ctypes.data), ctypes.c_uint32(mask),
        )  # fmt: skip


class Values:
    """What all registers hold in ROUNDS times 32 lanes, half of them special.

    `rows` and `predicates` are those of the compiled engine, by round; `counts`: the bits of them that registers have.
    """

    def __init__(self, forms: Forms, random: np.random.Generator) -> None:
        operands, places = forms.operands, forms.decoder.places
        lanes = 32 * ROUNDS
        self.registers = Registers(operands.initial, subnormal=True)
        self.rows = machine_layout.aligned((ROUNDS, forms.machine.rows, 32), np.uint32)
        self.rows[...] = random.integers(0, 2**32, self.rows.shape, np.uint32)
        self.predicates = np.zeros((ROUNDS, PREDICATES), np.uint32)
        self.predicates[:, ALWAYS] = 0xFFFFFFFF
        self.counts = np.zeros((forms.machine.rows, 32), np.uint32)
        for slot, type_ in enumerate(operands.types):
            if type_ == "pred":
                self.registers[slot] = random.random(lanes) < 0.5
            else:
                size = TYPE_BYTES[type_]
                dtype = np.dtype(f"u{size}")
                held = random.integers(0, 1 << 8 * size, lanes, dtype)
                chosen = random.random(lanes) < 0.5
                special = {2: SPECIAL16, 4: SPECIAL, 8: SPECIAL64}[size]
                held[chosen] = random.choice(np.array(special, dtype), int(chosen.sum()))
                small = random.random(lanes) < 0.2  # lengths, shifts, places
                held[small] = random.integers(0, 70, int(small.sum()), dtype)
                self.registers[slot] = held.view(operands.initial[slot].dtype)
                # What is above a short number in its row is no part of it.
                self.counts[list(places.rows_of[slot])] = 0xFFFF if size == 2 else 0xFFFFFFFF
            put(forms, self.rows, self.predicates, slot, self.registers[slot])


def put(forms: Forms, rows: np.ndarray, predicates: np.ndarray, slot: int, value: np.ndarray) -> None:
    """Let a register hold values of all rounds, as NumPy has them."""
    places = forms.decoder.places
    if value.dtype == bool:
        predicates[:, places.predicate_of[slot]] = np.packbits(value, bitorder="little").view("<u4")
        return
    bits = value.view(f"u{value.dtype.itemsize}").astype(np.uint64).reshape(ROUNDS, 32)
    for number, row in enumerate(places.rows_of[slot]):
        part = (bits >> np.uint64(32 * number)).astype(np.uint32)
        rows[:, row] = part | rows[:, row] & np.uint32(0xFFFF0000) if value.dtype.itemsize == 2 else part


def by_rule(forms: Forms, text: str, values: Values) -> dict[int, np.ndarray]:
    """By slot what the rule writes."""
    rule = forms.rules[text]
    with np.errstate(all="ignore"):
        results = rule.evaluate(values.registers)
    results = results if isinstance(results, tuple) else (results,)
    written = {}
    for slot, result in zip(rule.writes, results, strict=False):
        if slot is not None:
            result = np.ascontiguousarray(np.broadcast_to(np.asarray(result), 32 * ROUNDS))
            own = forms.operands.initial[slot].dtype
            assert (result.dtype.kind == "b") == (own.kind == "b"), text
            assert result.dtype.itemsize == own.itemsize, f"{text}: the rule answers {result.dtype}"
            written[slot] = result
    return written


def compare(forms: Forms, text: str, values: Values, random: np.random.Generator) -> str:
    """Execute a form both ways; "" if all bits agree, those outside of the lanes that execute it too."""
    masks = np.full(ROUNDS, 0xFFFFFFFF, np.uint32)
    masks[-1] = random.integers(0, 2**32)
    rows, predicates = machine_layout.aligned(values.rows.shape, np.uint32), values.predicates.copy()
    rows[...] = values.rows
    for round_, mask in enumerate(masks.tolist()):
        forms.run(text, rows[round_], predicates[round_], mask)
    wanted_rows, wanted_predicates = values.rows.copy(), values.predicates.copy()
    written = by_rule(forms, text, values)
    for slot, value in written.items():
        put(forms, wanted_rows, wanted_predicates, slot, value)
    lanes = np.unpackbits(masks.view(np.uint8), bitorder="little").astype(bool).reshape(ROUNDS, 1, 32)
    wanted_rows = np.where(lanes, wanted_rows, values.rows)
    wanted_predicates = wanted_predicates & masks[:, None] | values.predicates & ~masks[:, None]
    for number in forms.decoder.places.predicate_of.values():
        if not np.array_equal(predicates[:, number], wanted_predicates[:, number]):
            return f"{text}: other predicates than by the rule"
    wrong = (rows ^ wanted_rows) & values.counts
    if not wrong.any():
        return ""
    round_, row, lane = (int(place[0]) for place in np.nonzero(wrong))
    read = {
        name: f"{values.registers[slot].view(f'u{values.registers[slot].dtype.itemsize}')[32 * round_ + lane]:#x}"
        for name, slot in forms.operands.slots.items()
        if name in text
    }
    found, wanted = (int(some[round_, row, lane] & values.counts[row, lane]) for some in (rows, wanted_rows))
    return f"{text}: {found:#x}, by the rule {wanted:#x}; {read}, mask {int(masks[round_]):#x}"


@pytest.mark.parametrize("opcode", BY_OPCODE)
def test_the_compiled_engine_computes_the_bits_of_the_rule(opcode):
    random = np.random.default_rng(sum(map(ord, opcode)))
    forms = Forms(BY_OPCODE[opcode])
    values = Values(forms, random)
    assert forms.place, "no form is known"
    assert not forms.not_decoded  # those would be executed by NumPy
    wrong = [found for text in forms.place if (found := compare(forms, text, values, random))]
    assert not wrong, f"{len(wrong)} of {len(forms.place)}\n" + "\n".join(wrong[:20])


# What whole launches execute (test_ptx_launches and the tests of PTX beside those of the simulator), and what NumPy's
# engine alone executes still.
IN_LAUNCHES = {
    "ld", "ldu", "st", "atom", "red", "cp", "membar", "fence", "shfl", "vote", "match", "redux", "activemask", "elect",
    "ldmatrix", "stmatrix", "movmatrix", "mma", "wmma", "tex", "tld4", "suld", "sust", "bra", "brx", "ret", "exit",
    "bar", "barrier", "trap", "brkpt", "prefetch", "prefetchu", "discard", "applypriority", "nanosleep",
    "griddepcontrol", "pmevent", "setmaxnreg", "call", "mbarrier", "mapa", "getctarank", "cvta", "isspacep",
}  # fmt: skip


def test_every_opcode_with_a_rule_is_decoded_and_compared():
    compared = {form.partition(" ")[0].partition(".")[0] for forms in BY_OPCODE.values() for form in forms}
    assert compared | IN_LAUNCHES == set(OPCODES)
    assert set(opcodes.OPCODES) == set(OPCODES)


def test_every_operation_that_decoding_names_is_one_of_the_c_program():
    files = Path(decoding.__file__).parent.glob("*.py")
    calls = [node for one in files for node in ast.walk(ast.parse(one.read_text(encoding="utf-8")))]
    named = {
        *decoding.floating.FUSED.values(),
        *decoding.floating.DOUBLE.values(),
        *decoding.comparison.QUICK_COMPARISONS.values(),
    }
    for call in calls:
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Decoded" and call.args:
            choices = [call.args[0]]
            for one in choices:
                if isinstance(one, ast.IfExp):
                    choices += [one.body, one.orelse]
                elif isinstance(one, ast.Constant):
                    named.add(one.value)
    assert len(named) > 60
    assert named <= set(machine_layout.operations())


def test_a_guard_and_what_nobody_wants_are_decoded():
    texts = ["@%p1 add.u32 %r0, %r1, %r2", "@!%p2 add.u32 %r0, %r1, %r2", "setp.lt.u32 _|%p3, %r1, %r2"]
    forms = Forms(texts)
    places, slots = forms.decoder.places.predicate_of, forms.operands.slots
    guards = forms.machine.code["guard"].tolist()
    assert guards == [places[slots["%p1"]], places[slots["%p2"]] | NEGATED, ALWAYS]
    assert forms.machine.code["p_out"][2].tolist() == [NEVER_KEPT, places[slots["%p3"]]]
