"""Each instruction by the compiled engine and by its rule in NumPy: the same bits, on random and special operands."""

import ctypes
import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.compiler import sass
from helpers.simulator.arithmetic import tensor_core
from helpers.simulator.arithmetic.float32 import NAN
from helpers.simulator.engine import compiled, machine_layout
from helpers.simulator.engine.ir import Registers
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends import decoded
from helpers.simulator.frontends.ptx.rows import PREDICATES
from helpers.simulator.frontends.rules import Compute
from helpers.simulator.frontends.sass import matrix, opcodes
from helpers.simulator.frontends.sass.decoding.decoder import Decoder
from helpers.simulator.frontends.sass.decoding.opcodes import decode
from helpers.simulator.frontends.sass.operands import Code, Operands

RECORDED = Path(__file__).parents[1] / "simulator" / "goldens" / "system_sm_90.json"
pytestmark = pytest.mark.skipif(machine_layout.library() is None, reason="there is no compiled engine here")

SPECIAL = [
    0, 1, 2, 31, 32, 33, 63, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFF0000, 0x7FFF8000, 0x00FF00FF,
    0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345, 0x00000001, 0x00400000,
    0x007FFFFF, 0x00800000, 0x80800000, 0x7F7FFFFF, 0x4B000000, 0x4F000000, 0xCF000000, 0x3F000000, 0x7C007C00,
    0xFC017E00, 0x00018001, 0x3C00BC00, 0x7BFF7BFF, 0x7F807F80, 0x04000400,
]  # fmt: skip
SPECIAL64 = [0, 1, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FF0000000000000,
             0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000001, 0x000FFFFFFFFFFFFF, 0x0010000000000000,
             0x7FEFFFFFFFFFFFFF, 0x36A0000000000000, 0x3810000000000000, 0x47EFFFFFF0000000, 0x43E0000000000000,
             0x41DFFFFFFFC00000, 0x3FE0000000000000]  # fmt: skip
RAW = 0x3E99F3B8  # what stands in the machine code where an immediate operand is
CODE = Code(binary=b"\0" * 4 + RAW.to_bytes(4, "little") + b"\0" * 8)
ROUNDS = 6  # of 32 lanes each

SOURCES = ("R8", "-R8", "RZ", "0x3", "c[0x0][0x160]")
FLOATS = ("R8", "-|R8|", "|R8|", "0.5", "-QNAN", "+INF", "c[0x0][0x160]", "1e-40")
HALVES = ("R8", "-|R8|.H0_H0", "R8.H1_H1", "|R8|", "RZ", "1, -0.5")
COMPARISONS = ("LT", "LE", "EQ", "NE", "GE", "GT")
COMPARISONS_OF_FLOATS = (*COMPARISONS, "LTU", "LEU", "EQU", "NEU", "GEU", "GTU", "NUM", "NAN")
COMBINE = ("AND", "OR", "XOR")
ROUNDINGS = ("", "RM", "RP", "RZ")
INTEGERS = ("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64")


def forms(opcode: str, modifiers=(), operands=()) -> list[str]:
    """All combinations of modifiers (one of each tuple, "" for none) and of operand lists."""
    words = [".".join(filter(None, (opcode, *chosen))) for chosen in itertools.product(*modifiers)]
    return [f"{word} {list_}" for word in words for list_ in operands]


def with_each(template: str, *choices) -> list[str]:
    """`template` with {0} … replaced by each choice in turn, the others at their first."""
    lists = []
    for place, some in enumerate(choices):
        for one in some:
            lists.append(template.format(*(one if k == place else c[0] for k, c in enumerate(choices))))
    return list(dict.fromkeys(lists))


THREE = with_each("R0, {}, {}, {}", ("R2", "-R2", "~R2", "RZ"), ("R4", "-R4", "0x7", "-0x1", "c[0x0][0x164]"), SOURCES)
FORMS: dict[str, list[str]] = {
    "IADD3": forms(
        "IADD3",
        (("", "X"),),
        [
            *THREE,
            *with_each("R0, P1, P2, {}, {}, {}", ("R2", "-R2", "RZ"), ("R4", "-R4", "0x7"), SOURCES),
            "R0, R2, R4, RZ, P0, !PT",
            "R0, P1, R2, ~R4, RZ, P0, !PT",
            "R0, P1, P2, R2, R4, R6, P0, P3",
            "R0, P1, R2, -R4, R6, !P0, !PT",
            "R0, P1, -R2, -R4, RZ",
        ],
    ),
    "UIADD3": [
        "UIADD3.64 UR0, UR2, UR4, UR6",
        "UIADD3.64 UR0, UR2, UR4, URZ",
        "UIADD3.64 UR0, UR2, -UR4, UR6",
        "UIADD3.64 UR0, UPT, UPT, UR2, 0x10, URZ",
    ],
    "IADD": [
        *forms(
            "IADD",
            (("64",),),
            [
                f"R0, {a}, {b}"
                for a in ("R2", "-R2", "RZ")
                for b in ("R4", "-R4", "UR2", "-0x2a80", "0x10", "c[0x0][0x160]")
            ],
        ),
        *("IADD.64 R0, P1, R2, R4", "IADD.64 RZ, P1, R2, -R4", "IADD.64 R0, P1, -R2, R4", "IADD.64.X R0, R2, R4, P0"),
        *("IADD.64.X R0, R2, ~R4, !P0", "IADD.64.X RZ, P1, R2, R4, P0", "IADD.64.X R0, P1, R2, ~R4, P0"),
        "IADD.64.X R0, RZ, -0x1, P0",
    ],
    "VIADD": forms("VIADD", (("", "16x2"),), ["R0, R2, R4", "R0, R2, -0x5", "R0, R2, RZ"]),
    "IMAD": [
        *forms(
            "IMAD",
            (("", "U32", "MOV", "IADD", "SHL", "X"),),
            [
                *THREE,
                "R0, R2, 0x1, R4",
                "R0, RZ, RZ, -R4",
                "R0, R2, R4, R6, P0",
                "R0, RZ, RZ, R6, P0",
                "R0, RZ, RZ, ~R6, !P0",
            ],
        ),
        *forms(
            "IMAD",
            (("WIDE",), ("", "U32"), ("", "X")),
            [
                "R0, R2, R4, R8",
                "R0, R2, 0x4, R8",
                "R0, R2, R4, RZ",
                "R0, RZ, R4, R8",
                "R0, R2, R4, c[0x0][0x160]",
                "R0, P1, R2, R4, R8",
                "R0, P1, R2, R4, R8, P0",
                "R0, R2, R4, R8, P0",
                "R0, R2, -0x7, R8",
            ],
        ),
        *forms("IMAD", (("HI",), ("", "U32")), ["R0, R2, R4, R8", "R0, R2, R4, RZ", "R0, P1, R2, R4, R8"]),
    ],
    "LEA": [
        *forms(
            "LEA",
            (),
            [
                "R0, R2, R4, 0x5",
                "R0, R2, -R4, 0x0",
                "R0, P1, R2, R4, 0x2",
                "R0, P1, R2, -R4, 0x2",
                "R0, P1, -R2, R4, 0x3",
                "R0, R2, RZ, 0x1f",
                "UR0, UR2, UR4, 0x4",
            ],
        ),
        *forms(
            "LEA",
            (("HI",), ("", "X")),
            [
                "R0, R2, R4, R6, 0x5",
                "R0, R2, R4, R6, 0x0",
                "R0, R2, R4, RZ, 0x1b",
                "R0, P1, R2, R4, R6, 0x3",
                "R0, P1, R2, -R4, R6, 0x3",
                "R0, R2, R4, R6, 0x3, P0",
            ],
        ),
        *forms("LEA", (("HI",), ("SX32",)), ["R0, R2, R4, 0x1e", "R0, R2, R4, 0x0", "R0, R2, -R4, 0x3"]),
    ],
    "SHF": forms(
        "SHF",
        (("L", "R"), ("", "W"), ("U32", "S32", "U64", "S64"), ("", "HI")),
        [
            f"R0, {low}, {by}, {high}"
            for low in ("R2", "RZ")
            for by in ("R4", "0x5", "0x0", "0x1f", "0x20")
            for high in ("R6", "RZ")
        ],
    ),
    "ISETP": [
        *forms(
            "ISETP",
            (COMPARISONS, ("", "U32"), COMBINE),
            ["P1, P2, R2, R4, P0", "P1, PT, R2, -0x3, PT", "PT, P1, R2, c[0x0][0x160], !P0"],
        ),
        *forms(
            "ISETP",
            (COMPARISONS, ("", "U32"), ("AND", "OR"), ("EX",)),
            ["P1, P2, R2, R4, P0, P3", "P1, PT, R2, RZ, PT, P3"],
        ),
        *forms(
            "ISETP",
            (COMPARISONS, ("U64", "S64"), COMBINE),
            ["P1, P2, R2, R4, P0", "P1, PT, R2, -0x3, PT", "PT, P1, R2, RZ, !P0", "P1, P2, R2, UR2, P0"],
        ),
    ],
    "IMNMX": forms("IMNMX", (("", "U32"),), ["R0, R2, R4, P0", "R0, R2, 0x64, !PT", "R0, R2, -R4, PT"])
    + forms(
        "IMNMX", (("U64", "S64"),), [f"PT, PT, R0, R2, {b}, {p}, !PT" for b in ("R4", "0x60") for p in ("P0", "PT")]
    ),
    "VIMNMX": forms("VIMNMX", (("", "U32", "S32", "S16x2", "U16x2"),), ["R0, R2, R4, P0", "R0, R2, R4, PT"]),
    "VIMNMX3": forms("VIMNMX3", (("", "U32"),), ["R0, R2, R4, R6, P0", "R0, R2, 0x64, R6, !PT"]),
    "VIADDMNMX": forms("VIADDMNMX", (("", "U32", "S16x2", "U16x2"),), ["R0, R2, R4, R6, P0", "R0, R2, -0x3, R6, PT"]),
    "IABS": ["IABS R0, R2", "IABS R0, -R2"],
    "VABSDIFF": forms("VABSDIFF", (("", "U32"),), ["R0, R2, R4, R6", "R0, R2, R4, RZ"]),
    "IDP": forms("IDP", (("4A",), ("U8", "S8"), ("U8", "S8")), ["R0, R2, R4, R6"])
    + forms("IDP", (("2A",), ("LO", "HI"), ("U16", "S16"), ("U8", "S8")), ["R0, R2, R4, R6"]),
    "I2IP": [
        "I2IP.U16.S32.SAT R0, R2, R4, RZ",
        "I2IP.S16.S32.SAT R0, R2, -R4, RZ",
        "I2IP.S8.S32.SAT R0, R2, R4, R6",
        "I2IP.U8.S32.SAT R0, R2, R4, RZ",
        "I2IP.U4.S32.SAT R0, R2, R4, R6.24",
        "I2IP.S2.S32.SAT R0, R2, R4, R6.28",
    ],
    "I2I": forms("I2I", (("S8", "U8", "S16", "U16"), ("S32", "U32"), ("SAT",)), ["R0, R2"]),
    "MOV": ["MOV R0, R2", "MOV R0, -0x5", "MOV R0, c[0x0][0x160]", "UMOV UR0, UR2", "MOV R0, RZ"]
    + [f"MOV.64 R0, {a}" for a in ("R2", "UR2", "RZ", "0x100", "0x3fb999999999999a", "-0x1", "c[0x0][0x160]")]
    + ["UMOV.64 UR0, UR2"],
    "LOP3": [
        f"LOP3.LUT {list_}"
        for table in range(256)
        for list_ in (f"R0, R2, R4, R6, {table:#x}, !PT", f"P1, R0, R2, 0xff00ff, R6, {table:#x}, P0")
    ]
    + ["LOP3.LUT.PAND P1, R0, R2, R4, R6, 0xc0, P0", "LOP3.LUT R0, R2, ~R4, R6, 0xe8, !PT"],
    "PRMT": [f"PRMT {x}" for x in with_each("R0, {}, {}, {}", ("R2", "RZ"), ("R4", "0x7654", "0x9bdf"), ("R6", "RZ"))],
    "POPC": ["POPC R0, R2", "POPC R0, ~R2"],
    "FLO": forms("FLO", (("", "U32"), ("", "SH")), ["R0, R2", "R0, ~R2"]),
    "BREV": ["BREV R0, R2"],
    "SGXT": forms("SGXT", (("", "W"), ("", "U32")), ["R0, R2, R4", "R0, R2, 0x5", "R0, R2, 0x20", "R0, R2, 0x0"]),
    "BMSK": forms("BMSK", (("", "W"),), ["R0, R2, R4", "R0, 0x5, R4", "R0, R2, 0x5"]),
    "SEL": [
        "SEL R0, R2, R4, P0",
        "SEL R0, R2, -0x1, !P0",
        *(f"SEL.64 R0, {a}, {b}, {p}" for a in ("R2", "RZ") for b in ("R4", "-0x1", "UR2") for p in ("P0", "!P3")),
        "FSEL R0, R2, -R4, P0",
        "FSEL R0, RZ, +QNAN, !P0",
        "FSEL R0, |R2|, +INF, P0",
    ],
    "PLOP3": [f"PLOP3.LUT P1, P2, P0, !P3, P4, {table:#x}, {255 - table:#x}" for table in range(0, 256, 5)],
    "P2R": ["P2R R0, PR, R2, 0x7f", "P2R.B1 R0, PR, R2, 0x15"],
    "R2P": ["R2P PR, R2, 0x7f", "R2P PR, R2.B1, 0x25"],
    "UP2UR": ["UP2UR UR0, UPR, UR2, 0x7f", "UP2UR UR0, UPR, URZ, 0x15"],
    "UR2UP": ["UR2UP UPR, UR2, 0x7f", "UR2UP UPR, UR2, 0x25"],
    "FMNMX3": forms(
        "FMNMX3", (("", "FTZ"), ("", "NAN")), [f"R0, R2, {b}, -R4, {p}" for b in FLOATS for p in ("P0", "PT")]
    ),
    "UFADD": ["UFADD.FTZ UR0, UR2, -UR4", "UFADD UR0, -|UR2|, 0.5"],
    "UFMUL": ["UFMUL.FTZ UR0, UR2, UR4", "UFMUL.RP UR0, UR2, -UR4"],
    "UFFMA": ["UFFMA UR0, UR2, -6, UR4", "UFFMA.FTZ UR0, UR2, -UR4, 1e-40"],
    "UFSEL": ["UFSEL UR0, -UR2, 1, !UP1"],
    "UFSETP": forms("UFSETP", (COMPARISONS_OF_FLOATS, ("", "FTZ"), COMBINE), ["UP1, UP2, |UR2|, UR4, UP0"]),
    "UI2F": ["UI2F.U32.RP UR0, UR2", "UI2F.S8 UR0, UR2", "UI2FP.F32.U32 UR0, UR2"],
    "UF2I": ["UF2I.FTZ.U32.TRUNC.NTZ UR0, UR2"],
    "UFRND": ["UFRND.FTZ.CEIL UR0, UR2", "UFRND.TRUNC UR0, +INF"],
    "FADD": forms("FADD", (("", "FTZ"), ("", "SAT"), ROUNDINGS), [f"R0, R2, {b}" for b in FLOATS]),
    "FMUL": forms("FMUL", (("", "FTZ"), ("", "SAT"), ROUNDINGS), [f"R0, -R2, {b}" for b in FLOATS])
    + forms("FMUL", (("M2", "M4", "M8", "D2", "D4", "D8"), ("", "FTZ"), ROUNDINGS), ["R0, R2, R8"]),
    "FFMA": forms(
        "FFMA",
        (("", "FTZ"), ("", "SAT"), ROUNDINGS),
        [*(f"R0, R2, {b}, R6" for b in FLOATS), *(f"R0, R2, R4, {c}" for c in FLOATS), "R0, -R2, R4, -R6"],
    ),
    "FMNMX": forms(
        "FMNMX",
        (("", "FTZ"), ("", "NAN"), ("", "XORSIGN")),
        ["R0, R2, R4, P0", "R0, -R2, |R4|, !PT", "R0, R2, -R4, PT"],
    )
    + ["FMNMX R0, R2, +INF, P0", "FMNMX.FTZ R0, R2, RZ, !PT"],
    "FSETP": forms(
        "FSETP", (COMPARISONS_OF_FLOATS, ("", "FTZ"), COMBINE), ["P1, P2, R2, -|R4|, P0", "P1, PT, R2, +INF, PT"]
    ),
    "FSET": forms("FSET", (("", "BF"), COMPARISONS_OF_FLOATS, ("", "FTZ"), COMBINE), ["R0, R2, R4, P0"]),
    "FCHK": ["FCHK P0, R2, R4", "FCHK P0, R2, -R4", "FCHK P0, R2, 3"],
    "MUFU": forms(
        "MUFU",
        (("RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH", "RCP64H", "RSQ64H"),),
        ["R0, R2", "R0, -R2", "R0, |R2|"],
    ),
    "DADD": forms("DADD", (ROUNDINGS,), ["R0, R2, R4", "R0, -R2, |R4|", "R0, R2, 1", "R0, R2, c[0x0][0x160]"]),
    "DMUL": forms("DMUL", (ROUNDINGS,), ["R0, R2, R4", "R0, -R2, R4", "R0, R2, 1"]),
    "DFMA": forms("DFMA", (ROUNDINGS,), ["R0, R2, R4, R6", "R0, -R2, R4, -R6", "R0, R2, R4, 1", "R0, R2, R4, RZ"]),
    "DSETP": forms("DSETP", ((*COMPARISONS_OF_FLOATS,), COMBINE), ["P1, P2, R2, R4, P0", "P1, PT, |R2|, +INF, PT"])
    + forms("DSETP", (("MIN", "MAX"), ("AND",)), ["P1, P2, R2, R4, PT"]),
    "I2F": forms("I2F", (("", "F64", "F16"), ("", *INTEGERS), ROUNDINGS), ["R0, R2"])
    + ["I2F.U8 R0, R2.B3", "I2F.S16 R0, R2.H1", "I2F.U16 R0, R2.H0"],
    "I2FP": forms("I2FP", (("F32",), ("U32", "S32"), ROUNDINGS), ["R0, R2", "R0, -R2"]),
    "F2I": forms(
        "F2I",
        (("", "FTZ"), ("", *INTEGERS), ("", "F64", "F16"), ("", "TRUNC", "FLOOR", "CEIL"), ("", "NTZ")),
        ["R0, R2", "R0, -R2"],
    ),
    "F2IP": forms("F2IP", (("U8", "S8"), ("F32",), ("TRUNC",), ("NTZ",)), ["R0, RZ, R2, RZ"]),
    "F2F": [
        *forms("F2F", (("F16",), ("F32",), ("", "FTZ"), ROUNDINGS), ["R0, R2", "R0, -|R2|"]),
        *forms("F2F", (("BF16",), ("F32",), ("", "FTZ"), ("", "RZ")), ["R0, R2"]),
        *forms("F2F", (("F32",), ("F64",), ("", "FTZ"), ROUNDINGS), ["R0, R2", "R0, -R2"]),
        *forms("F2F", (("F32", "F64", "F16"), ("F32", "F64", "F16"), ("", "FTZ"), ROUNDINGS), ["R0, R2"]),
    ],
    "F2FP": forms(
        "F2FP", (("BF16", "F16"), ("F32",), ("PACK_AB",), ("", "RELU"), ("", "RZ")), ["R0, R2, R4", "R0, RZ, -R4"]
    ),
    "FRND": forms("FRND", (("", "FTZ"), ("", "F64", "F16"), ("", "TRUNC", "FLOOR", "CEIL")), ["R0, R2", "R0, |R2|"]),
    "HADD2": forms("HADD2", (("", "BF16_V2"), ("", "RELU", "SAT")), [f"R0, R2, {b}" for b in HALVES])
    + ["HADD2.F32 R0, -RZ, R2.H0_H0", "HADD2.F32 R0, -RZ, R2.H1_H1"],
    "HMUL2": forms("HMUL2", (("", "BF16_V2"), ("", "RELU", "SAT")), [f"R0, R2, {b}" for b in HALVES]),
    "HFMA2": forms(
        "HFMA2",
        (("", "MMA"), ("", "BF16_V2"), ("", "RELU", "SAT")),
        [*(f"R0, R2, {b}, R6" for b in HALVES), "R0, R2, R4.H0_NH1, -R6", "R0, -RZ, RZ, 1, 2", "R0, -RZ, RZ, R6"],
    ),
    "HMNMX2": forms(
        "HMNMX2", (("", "BF16_V2"), ("", "NAN")), [*(f"R0, R2, {b}, P0" for b in HALVES), "R0, -R2, |R4|, !PT"]
    ),
    "HSETP2": forms(
        "HSETP2",
        (("", "BF16_V2"), COMPARISONS_OF_FLOATS, COMBINE),
        ["P1, P2, R2, R4, P0", "P1, PT, R2.H0_H0, 1, 2, PT"],
    ),
    "HSET2": forms("HSET2", (("", "BF16_V2"), ("", "BF"), COMPARISONS_OF_FLOATS, ("AND",)), ["R0, R2, -R4, P0"]),
    "CS2R": ["CS2R R0, SRZ", "CS2R.32 R0, SRZ"],
}


def parsed(text: str) -> sass.Statement:
    (statement,) = sass.parse(f"        /*0000*/                   {text} ;", "kernel.cu").statements
    return statement


def registers(random: np.random.Generator, names: list[str]) -> dict[str, np.ndarray]:
    """32 lanes of each of an even number of registers in their order: half of them special, also as pairs."""
    shape = len(names), 32
    lanes = random.integers(0, 2**32, shape, dtype=np.uint32)
    lanes = np.where(random.random(shape) < 0.5, random.choice(np.array(SPECIAL, np.uint32), shape), lanes)
    shape = len(names) // 2, 32
    pairs, chosen = random.choice(np.array(SPECIAL64, np.uint64), shape), random.random(shape) < 0.5
    lanes[::2] = np.where(chosen, pairs & np.uint64(0xFFFFFFFF), lanes[::2])
    lanes[1::2] = np.where(chosen, pairs >> np.uint64(32), lanes[1::2])
    return dict(zip(names, lanes, strict=True))


def predicates_of(random: np.random.Generator, names: list[str]) -> dict[str, np.ndarray]:
    """32 lanes of each predicate."""
    return dict(zip(names, random.random((len(names), 32)) < 0.5, strict=True))


def constants_of(random: np.random.Generator) -> dict[int, np.uint32]:
    """The words of the constant bank that operands name, by their offsets."""
    return dict(zip(range(0x160, 0x170, 4), random.choice(np.array(SPECIAL, np.uint32), 4), strict=True))


def by_numpy(s: sass.Statement, values: dict, predicates: dict, words: dict) -> dict[str, np.ndarray] | None:
    """The registers that the rule writes; None if it is no rule that computes. Unknown if there is no such form."""
    operands = Operands("sm_90", code=CODE)
    outcome = opcodes.outcome(operands, s, since=100)
    if not isinstance(outcome, Compute):
        return None
    slots = Registers(operands.initial, subnormal=True)
    for name, value in {**values, **predicates}.items():
        if name in operands.slots:
            slots[operands.slots[name]] = value.view(np.int32) if value.dtype == np.uint32 else value
    for (_, offset, dtype), slot in operands.constants.items():
        data = words[offset].tobytes() + words[offset + 4].tobytes()
        slots[slot] = np.frombuffer(data, dtype, 1)[0]
    with np.errstate(all="ignore"):
        results = outcome.evaluate(slots)
    results = results if isinstance(results, tuple) else (results,)
    names = {slot: name for name, slot in operands.slots.items()}
    written = {}
    for slot, result in zip(outcome.writes, results, strict=False):
        if slot is not None:
            result = np.asarray(result)
            written[names[slot]] = np.broadcast_to(result if result.dtype == bool else result.view(np.uint32), 32)
    return written


class Compiled:
    """One decoded instruction."""

    def __init__(self, s: sass.Statement) -> None:
        self.decoder = Decoder("sm_90", 0, CODE)
        one = decode(self.decoder, s, opcodes.of(s.base).space)
        self.decoder.settle([one])
        self.machine = compiled.assemble(
            SimpleNamespace(blocks=[]), [one], self.decoder.words.all, {}, self.decoder.nowhere
        )

    def row(self, name: str) -> int:
        first = self.decoder.registers if name.startswith("U") else 0
        return first + int(name.lstrip("UR"))

    def run(self, values: dict, predicates: dict, words: dict, mask: int = 0xFFFFFFFF):
        """(the rows of all registers, the predicates by number) after it was executed for the lanes of `mask`."""
        rows = machine_layout.aligned((self.machine.rows, 32), np.uint32)
        for name, value in values.items():
            count = self.decoder.uniform_registers if name.startswith("U") else self.decoder.registers
            if int(name.lstrip("UR")) < count:
                rows[self.row(name)] = value
        bits = np.zeros(PREDICATES, np.uint32)
        bits[[decoded.ALWAYS, decoded.ALWAYS + 8]] = 0xFFFFFFFF
        for name, value in predicates.items():
            bits[place(name)] = np.packbits(value, bitorder="little").view(np.uint32)[0]
        constants = machine_layout.aligned((len(self.machine.words), 32), np.uint32)
        constants[...] = np.array(
            [word.value if word.bank < 0 else words[word.value] for word in self.machine.words], np.uint32
        )[:, None]
        launch, results = machine_layout.CLaunch(rows=self.machine.rows), machine_layout.CResults()
        launch.code, launch.constants = self.machine.code.ctypes.data, constants.ctypes.data
        machine_layout.library().execute_one(
            ctypes.byref(launch), ctypes.byref(results), ctypes.c_void_p(rows.ctypes.data),
            ctypes.c_void_p(bits.ctypes.data), ctypes.c_uint32(mask),
        )  # fmt: skip
        return rows, bits


def place(predicate: str) -> int:
    """Where P0 … P6 and UP0 … UP6 are kept."""
    return int(predicate.lstrip("UP")) + (decoded.UNIFORM_PREDICATES if predicate.startswith("U") else 0)


def held(name: str, one: Compiled, rows: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """A register, uint32, or a predicate, bool, after an instruction."""
    if name.startswith(("P", "UP")):
        return np.unpackbits(bits[[place(name)]].view(np.uint8), bitorder="little").astype(bool)
    return rows[one.row(name)]


@pytest.mark.parametrize("opcode", FORMS)
def test_the_compiled_engine_computes_the_bits_of_the_rule(opcode):
    random = np.random.default_rng(sum(map(ord, opcode)))
    compared = 0
    for text in FORMS[opcode]:
        statement, one = parsed(text), None
        for is_last in (*[False] * (ROUNDS if len(FORMS[opcode]) < 200 else 2), True):
            values = registers(random, [f"R{k}" for k in range(12)] + [f"UR{k}" for k in range(6)])
            predicates = predicates_of(random, [f"{file}{k}" for file in ("P", "UP") for k in range(7)])
            if is_last:  # the same in all lanes, which is computed once
                values, predicates = ({name: np.repeat(lanes[:1], 32) for name, lanes in each.items()}
                                      for each in (values, predicates))  # fmt: skip
            words = constants_of(random)
            try:
                expected = by_numpy(statement, values, predicates, words)
            except Unknown:
                break
            one = one or Compiled(statement)  # NotDecoded fails the test: the form would go to NumPy
            rows, bits = one.run(values, predicates, words)
            found = {name: held(name, one, rows, bits) for name in expected}
            for name, value in expected.items():
                equal = found[name] == value
                lane = int(np.argmin(equal))
                assert equal.all(), (
                    f"{text}: {name} of lane {lane} is {found[name][lane]:#x}, and {value[lane]:#x} by the rule; "
                    + ", ".join(
                        f"{register}={bits_[lane]:#x}" for register, bits_ in values.items() if f"{register}" in text
                    )
                )
            compared += 1
    assert compared, "no form was known"


@pytest.mark.parametrize(
    "opcode", ["FFMA", "IMAD", "IADD3", "ISETP", "LOP3", "SHF", "DFMA", "I2F", "SEL", "PLOP3", "R2P"]
)
def test_lanes_outside_of_the_mask_keep_what_they_hold(opcode):
    random = np.random.default_rng(7)
    for text in FORMS[opcode][:40]:
        statement = parsed(text)
        try:
            one = Compiled(statement)
        except decoded.NotDecoded:
            continue
        values = registers(random, [f"R{k}" for k in range(12)])
        predicates = predicates_of(random, [f"P{k}" for k in range(7)])
        words = constants_of(random)
        mask = int(random.integers(0, 2**32))
        outside = ~np.unpackbits(np.array([mask], np.uint32).view(np.uint8), bitorder="little").astype(bool)
        before, _ = one.run(values, predicates, words, mask=0)
        whole, all_bits = one.run(values, predicates, words)
        rows, bits = one.run(values, predicates, words, mask)
        start = np.zeros(20, np.uint32)
        for name, value in predicates.items():
            start[int(name[1:])] = np.packbits(value, bitorder="little").view(np.uint32)[0]
        assert (rows[: one.machine.rows - 4, outside] == before[: one.machine.rows - 4, outside]).all(), text
        assert (rows[: one.machine.rows - 4, ~outside] == whole[: one.machine.rows - 4, ~outside]).all(), text
        for number in range(7):
            assert int(bits[number]) == (int(all_bits[number]) & mask) | (int(start[number]) & ~mask & 0xFFFFFFFF), text


def test_a_nan_is_the_one_that_gpus_answer():
    one = Compiled(parsed("FADD R0, R2, R8"))
    infinite = np.full(32, 0x7F800000, np.uint32)
    rows, _ = one.run({"R2": infinite, "R8": infinite | np.uint32(1 << 31)}, {}, {})
    assert (rows[0] == NAN.view(np.uint32)).all()


SPECIAL_FUNCTIONS = {"rcp": "RCP", "rsqrt": "RSQ", "sqrt": "SQRT", "ex2": "EX2", "lg2": "LG2", "sin": "SIN",
                     "cos": "COS", "tanh": "TANH"}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL_FUNCTIONS)
def test_special_functions_of_special_operands_are_those_of_an_h200(name):
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["special functions"][name]
    operands, answers = (np.resize([int(text, 16) for text in row], 32) for row in (recorded, recorded.values()))
    if name in ("sin", "cos"):  # of the recorded kernels' FMUL.RZ with 1 / 2 pi, which comes before them
        operands = np.where(np.isnan(operands.astype(np.uint32).view(np.float32)), NAN.view(np.uint32), operands)
    statement = parsed(f"MUFU.{SPECIAL_FUNCTIONS[name]} R0, R2")
    values = {"R2": operands.astype(np.uint32)}
    rows, _ = Compiled(statement).run(values, {}, {})
    assert rows[0].tolist() == answers.tolist()
    assert by_numpy(statement, values, {}, {})["R0"].tolist() == answers.tolist()


def test_every_operation_that_decoding_names_is_one_of_the_c_program():
    files = Path(decoded.__file__).parent.glob("*/decoding/*.py")
    text = "".join(one.read_text(encoding="utf-8") for one in (Path(decoded.__file__), *files))
    named = {word for word in machine_layout.operations() if f'"{word}"' in text}
    unused = (
        set(machine_layout.operations())
        - named
        - {"float add with modifiers", "float multiply with modifiers", "float fused with modifiers"}
        - {"ordered load", "ordered store", "ordered atomic"}
    )
    assert not unused


MATRICES = ["HMMA.16816.F32", "HMMA.16816.F16", "HMMA.1688.F32", "HMMA.1688.F16", "HMMA.16816.F32.BF16",
            "HMMA.1688.F32.BF16", "HMMA.1688.F32.TF32", "HMMA.1684.F32.TF32", "IMMA.8816.S8.S8", "IMMA.16816.U8.S8",
            "IMMA.16832.S8.U8.SAT", "IMMA.16832.U8.U8", "DMMA.8x8x4", "DMMA.16x8x4", "DMMA.16x8x8",
            "IMMA.8832.S4.U4", "IMMA.16864.S4.S4.SAT", "BMMA.88128.AND.POPC", "BMMA.168256.AND.POPC",
            "HMMA.SP.16816.F32", "HMMA.SP.16816.F16", "HMMA.SP.16832.F32.BF16", "HMMA.SP.16832.F16",
            "HMMA.SP.1688.F32.TF32", "HMMA.SP.16816.F32.TF32", "IMMA.SP.16832.S8.U8", "IMMA.SP.16864.U8.S8.SAT",
            "IMMA.SP.16864.S4.U4", "IMMA.SP.168128.U4.S4.SAT"]  # fmt: skip


@pytest.mark.parametrize("opcode", MATRICES)
def test_matrices_are_multiplied_as_by_the_rule(opcode):
    random = np.random.default_rng(sum(map(ord, opcode)))
    sparse = "SP" in opcode
    selector = sum(map(ord, opcode)) % 2 if sparse else 0
    statement = parsed(f"{opcode} R0, R8, R16, R20" + f", R24, {selector:#x}" * sparse)
    one, form = Compiled(statement), matrix.form_of(statement)
    addition = tensor_core.terms_at_once("sm_90", form)
    counts = (form.a_registers, form.b_registers, form.c_registers)
    for turn in range(60):
        values = registers(random, [f"R{k}" for k in range(28)])
        if turn % 3:  # numbers of a like size, which are not lost in one another
            small = 1 if opcode.endswith("TF32") or turn % 3 == 1 else 0
            for name in values:
                numbers = random.standard_normal(64).astype(np.float16).view(np.uint32)
                wide = random.standard_normal(32).astype(np.float32)
                halves = int(name[1:]) >= 20 and form.result == "f32" or small
                values[name] = wide.view(np.uint32) if halves else numbers
        if turn % 10 == 9:  # zeros of both signs
            values = {name: bits & np.uint32(0x80008000) for name, bits in values.items()}
        parts = [
            [values[f"R{first + k}"] for k in range(count)] for first, count in zip((8, 16, 20), counts, strict=True)
        ]
        with np.errstate(all="ignore"):
            expected = tensor_core.multiply(form, *parts, addition, [values["R24"]] * sparse, selector)
        rows, _ = one.run(values, {}, {})
        for k, value in enumerate(expected):
            assert rows[k].tolist() == value.view(np.uint32).tolist(), (turn, k)
