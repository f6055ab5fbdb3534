"""The flat form of an instruction that the compiled engine executes (`helpers/gpusim/src/gpusim/native/engine`), of
whichever front end.

A source or a destination is a row of 32 lanes: the registers first, behind them what else a front end has; what never
changes (constants, immediates) are rows of a table of their own, -1, -2, … Python fills that table for each launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpusim.arithmetic import tensor_core

# What machine.h calls these.
ALWAYS, NEVER_KEPT, NEGATED = 7, 16, 128
UNIFORM_PREDICATES = 8
NEGATE, INVERT, FLOAT_NEGATE, FLOAT_ABSOLUTE, HALF_NEGATE, HALF_ABSOLUTE = 1, 2, 4, 8, 16, 32
LOW_TWICE, HIGH_TWICE, NEGATE_HIGH, SWAPPED, OF_FLOAT = 64, 128, 256, 512, 1024
(COMPUTES, BRANCHES, JUMPS, EXITS, WAITS, MEETS, WAITS_FOR_LANES, PARTS, LEAVES, ARRIVES, WAITS_FOR_CLUSTER,
 WAITS_FOR_PHASE, CALLS, RETURNS, TAKES_TIME) = range(15)  # fmt: skip
GLOBAL, SHARED, LOCAL, GENERIC = range(4)
SPACE = 3  # the bits of `flags` that say it
SPACES = {"global": GLOBAL, "shared": SHARED, "local": LOCAL, "generic": GENERIC}
SEES_BLOCK, SEES_GRID = 1, 2
ROUNDING = {"RZ": 1, "RM": 2, "RP": 3}
WHOLE = {"TRUNC": 1, "FLOOR": 2, "CEIL": 3}
COMPARISONS = ("LT", "LE", "EQ", "NE", "GE", "GT", "LTU", "LEU", "EQU", "NEU", "GEU", "GTU", "NUM", "NAN")
COMPARE = {name: number for number, name in enumerate(COMPARISONS)}
COMPARE_INTEGERS = {name: COMPARE[name] for name in ("EQ", "NE", "LT", "LE", "GT", "GE")}
COMBINE = {"AND": 0, "OR": 1, "XOR": 2}
FORMATS = {"U8": 8, "S8": -8, "U16": 16, "S16": -16, "U32": 32, "S32": -32, "U64": 64, "S64": -64, "F16": 100,
           "F32": 101, "F64": 102, "BF16": 103, "TF32": 104}  # fmt: skip
MATRIX_TYPES = ("f16", "bf16", "tf32", "e4m3", "e5m2")  # as exchange.c numbers them
ATOMICS = {
    name: number for number, name in enumerate(["ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAS"])
}
HALVES = {"F16": 6, "BF16": 7}  # of copies in bulk: two in 32 bits
TYPES = {"F64": 5, "F32": 4, "F32x2": 4, "F32x4": 4, "F16x2": 6, "BF16x2": 7, "S64": 3, "U64": 2, "64": 2, "S32": 1,
         "128": 11}  # fmt: skip
SIGNED_TERM = 8
SIGNED_VALUE, RETURNS_OLD, FLUSHES, SETS, FILLS, TRANSPOSED = (1 << bit for bit in range(12, 18))
WIDE_ADDRESS = 4
FOR_WARP = 8
# How many threads arrive at an mbarrier and how many bytes come, as bulk.c numbers it.
ARRIVALS = {"A1T0": 1, "ART0": 2, "A0TR": 3, "A0TX": 4, "A0T1": 5}
COMPLETES_ONE, AT_AMPERE = 6, 7
OF_AN_AMOUNT = (ARRIVALS["ART0"], ARRIVALS["A0TR"], ARRIVALS["A0TX"])  # which a source says
LEAVES_FOR_GOOD, ANYWHERE, MULTICAST, FOR_THE_WARP, BEHIND_COPIES, AT_MBARRIER = (1 << bit for bit in range(18, 24))
BULK_FETCHES, BULK_SENDS, BULK_PUTS, BULK_COMBINES = range(4)
SPECIAL_REGISTERS = {
    name: number
    for number, name in enumerate((
        "TID.X", "TID.Y", "TID.Z", "CTAID.X", "CTAID.Y", "CTAID.Z", "NTID.X", "NTID.Y", "NTID.Z", "NCTAID.X",
        "NCTAID.Y", "NCTAID.Z", "LANEID", "WARPID", "EQMASK", "LTMASK", "LEMASK", "GTMASK", "GEMASK", "CgaCtaId",
        "DYNAMIC_SMEM_SIZE", "SMID", "VIRTID",
    ))
}  # fmt: skip
# PTX's functions by their numbers in typed.c
WHOLE_NUMBERS = {
    name: number
    for number, name in enumerate((
        "add", "sub", "mul.lo", "mul.hi", "mul.wide", "div", "rem", "min", "max", "abs", "neg", "sad", "and",
        "or", "xor", "not", "cnot", "shl", "shr", "bfe", "bfi", "bfind", "popc", "clz", "brev", "cvt", "slct",
        "mul24", "mapa", "isspacep", "fns",
    ))
}  # fmt: skip
CARRIES = {"add": 0, "sub": 1, "mad.lo": 2, "mad.hi": 3}
FLOAT_FUNCTIONS = {
    name: number
    for number, name in enumerate((
        "div", "sqrt", "rcp.approx", "sqrt.approx", "rsqrt.approx", "ex2.approx", "lg2.approx", "sin.approx",
        "cos.approx", "tanh.approx", "div.approx", "div.full", "abs", "neg",
    ))
}  # fmt: skip
DOUBLE_FUNCTIONS = {
    name: number
    for number, name in enumerate(("div", "sqrt", "min", "max", "rcp.approx.ftz", "rsqrt.approx.ftz", "rsqrt.approx"))
}
ONE_OF_HALF, ONE_OF_BRAIN = 0x3C00, 0x3F80  # 1.0 as bits
HALF_FUNCTIONS = {"add": 0, "sub": 0, "mul": 1, "fma": 2, "ex2": 3, "tanh": 4}
CLASSES = {
    name: number for number, name in enumerate(("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
}
VIDEO = {
    name: number
    for number, name in enumerate(("add", "sub", "absdiff", "avrg", "min", "max", "shl", "shr", *COMPARISONS[:6]))
}
(VIDEO_A_SIGNED, VIDEO_B_SIGNED, VIDEO_SIGNED, VIDEO_LIMITED, VIDEO_WRAPS, VIDEO_PRODUCT_NEGATED, VIDEO_C_NEGATED,
 VIDEO_ONE_MORE) = (1 << bit for bit in range(8))  # fmt: skip
VIDEO_RESULTS = {"": 0, "inserted": 1, "add": 2, "min": 3, "max": 4}
OF_THREADS, IN_BULK = 1, 2  # what is awaited
EXTENDS, SIZED, UNWATCHED, OF_PTX = (1 << bit for bit in range(24, 28))
ELEMENTS_BIT = 28
ELEMENTS = 1 << ELEMENTS_BIT
UNPACKS, SPARSE, SELECTOR_BIT = 1 << 8, 1 << 9, 10  # of a product
SAMPLES, FETCHES, GATHERS = range(3)  # what is read of a texture; a channel is added to the last
OUTSIDE = {"trap": 0, "clamp": 1, "zero": 2}  # what a surface does outside of itself
FENCE_BEFORE, FENCE_AFTER, FENCE_OF_BLOCK = 1, 2, 4
NOWHERE = "nowhere"  # a destination that is not kept
BY_POINTER = 1  # of a jump, or of a trap: where a pointer says; nothing may be there
SYSTEM_FUNCTIONS = {  # by name their addresses, where no array lies
    name: (1 << 62) + 16 * number
    for number, name in enumerate(("vprintf", "__assertfail", "malloc", "free", "__trap", "__brkpt"), 1)
}
LISTS = 1 << 24  # from this row on: the rows are listed among the jumps
# What the modes of PRMT choose, by the selector: of the eight bytes of two registers four, the lowest first.
BYTE_PERMUTATIONS = {
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


def byte_selectors(mode: str) -> list[int]:
    """The four selectors that a mode of BYTE_PERMUTATIONS stands for."""
    return [sum(byte << 4 * index for index, byte in enumerate(row)) for row in BYTE_PERMUTATIONS[mode]]


class NotDecoded(Exception):
    """A form of an instruction that the compiled engine does not execute; the message says which."""


_FOUR, _NONE_WRITTEN, _NONE_READ = [0] * 4, [NEVER_KEPT] * 2, [ALWAYS] * 3


@dataclass(slots=True)
class Decoded:
    """One instruction; the fields are those of `Instruction` in machine.h, where they are explained."""

    operation: str = ""
    kind: int = COMPUTES
    d: int | None = None
    d_width: int = 0
    source: list[int] = field(default_factory=_FOUR.copy)
    width: list[int] = field(default_factory=_FOUR.copy)
    mode: list[int] = field(default_factory=_FOUR.copy)
    number: list[int] = field(default_factory=_FOUR.copy)
    p_out: list[int] = field(default_factory=_NONE_WRITTEN.copy)
    p_in: list[int] = field(default_factory=_NONE_READ.copy)
    guard: int = ALWAYS
    flags: int = 0
    offset: int = 0
    target: int = 0
    uniform: bool = False
    strong: int = 0
    is_strong: bool = False
    block_scope: bool = False
    space: int = -1  # of a memory instruction
    op: str = ""  # how its requests are called: "ld", "ldsm", "st", "atom", "red"; "copy"
    jumps: tuple[int, ...] = ()
    registers: tuple[int, ...] = ()  # how many each source has, where that is not `width`
    replayed: str = ""  # why the C program does not execute it; NumPy does

    @property
    def counts(self) -> Sequence[int]:
        """How many registers each source has."""
        return (*self.registers, 0, 0)[:4] if self.registers else self.width


def product_of(arch: str, shape: tensor_core.Form, differing: bool = False, selector: int = 0) -> Decoded:
    """The product of matrices, without its operands.

    differing: of bits those are counted that differ.  selector: of a sparse A, whose places are the fourth operand.
    """
    if shape.result == "f64":
        return Decoded("multiply doubles", number=[shape.k, shape.m // 8, 64, 0])
    sparse = SPARSE * shape.sparse | selector << SELECTOR_BIT
    if shape.result == "s32":
        flags = int(shape.a[0] == "s") | (shape.b[0] == "s") << 1 | shape.saturates << 2 | differing << 3
        bits = tensor_core.BITS[shape.a]
        return Decoded("multiply integers", flags=flags | sparse, number=[shape.k, shape.m // 8, bits, 0])
    adds = tensor_core.terms_at_once(arch, shape)
    a, b = (MATRIX_TYPES.index(type_) for type_ in (shape.a, shape.b))
    flags = int(shape.result == "f16") | b << 1 | UNPACKS * shape.unpacked | sparse
    return Decoded("multiply matrices", flags=flags, number=[shape.k, a, adds.products, adds.extra_bits])


def of_parts(i: Decoded, function: str, bits: int, result: str = "inserted") -> Decoded:
    """A function of each part of two registers; `result`: what becomes of those and the third source."""
    count = 32 // bits
    places = sum(k << 3 * k | count + k << 12 + 3 * k | 1 << 24 + k for k in range(count))
    i.operation = "video parts"
    i.number = [VIDEO[function], places, bits, VIDEO_RESULTS[result]]
    return i


@dataclass(frozen=True, slots=True)
class Word:
    """32 bits that are the same for all threads and known when a launch begins: of a constant bank, or a number."""

    bank: int  # -1: a number
    value: int  # the number, or the offset in the bank


class Words:
    """The constants of a kernel: its rows from -1 downwards."""

    def __init__(self) -> None:
        self.all: list[Word] = [Word(-1, 0)] * 8  # zeros, as wide as they may be read: the C of a product
        self._places: dict[tuple[Word, ...], int] = {}

    def row(self, *words: Word) -> int:
        """The row of some words, one after the other."""
        if all(word == Word(-1, 0) for word in words):
            return -1
        if words not in self._places:
            self._places[words] = -1 - len(self.all)
            self.all.extend(words)
        return self._places[words]
