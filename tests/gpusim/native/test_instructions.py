"""Instructions that compute, executed by the C program alone: masks, special values, tensor cores."""

import ctypes
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gpusim.arithmetic.float32 import NAN
from gpusim.compiler import sass
from gpusim.engine import compiled, machine_layout
from gpusim.isa import decoded
from gpusim.isa.ptx.rows import PREDICATES
from gpusim.isa.sass import opcodes
from gpusim.isa.sass.operands import Code, Operands

RECORDED = Path(__file__).parents[1] / "goldens" / "system_sm_90.json"
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

# Of each way in which the C program carries out an operation, with all lanes at once or one after the other.
FORMS = (
    "FFMA R0, R2, R8, R6", "FFMA.FTZ.SAT.RP R0, R2, -|R8|, R6", "IMAD R0, R2, -R4, R8", "IMAD.WIDE.U32 R0, R2, R4, R8",
    "IADD3 R0, P1, P2, R2, R4, R6", "IADD3.X R0, P1, R2, ~R4, RZ, P0, !PT", "ISETP.LT.OR P1, P2, R2, R4, P0",
    "ISETP.GE.U32.AND.EX P1, PT, R2, RZ, PT, P3", "LOP3.LUT P1, R0, R2, R4, R6, 0xe8, P0",
    "SHF.R.S64.HI R0, R2, R4, R6",
    "DFMA.RM R0, -R2, R4, -R6", "I2F.F64.S64 R0, R2", "SEL.64 R0, R2, R4, !P3", "FSEL R0, |R2|, +INF, P0",
    "PLOP3.LUT P1, P2, P0, !P3, P4, 0x81, 0x7e", "R2P PR, R2, 0x7f",
)  # fmt: skip


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


class Compiled:
    """One decoded instruction."""

    def __init__(self, s: sass.Statement) -> None:
        operands = Operands("sm_90", 0, CODE)
        opcodes.outcome(operands, s, since=100)
        self.decoder, made = operands.decoder, [operands.decoded[s.address]]
        self.decoder.settle(made)
        self.machine = compiled.assemble(
            SimpleNamespace(blocks=[]), made, self.decoder.words.all, {}, self.decoder.nowhere
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
            bits[predicate_number(name)] = np.packbits(value, bitorder="little").view(np.uint32)[0]
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


def predicate_number(predicate: str) -> int:
    """Where P0 … P6 and UP0 … UP6 are kept."""
    return int(predicate.lstrip("UP")) + (decoded.UNIFORM_PREDICATES if predicate.startswith("U") else 0)


@pytest.mark.parametrize("text", FORMS)
def test_lanes_outside_of_the_mask_keep_what_they_hold(text):
    random, compiled = np.random.default_rng(7), Compiled(parsed(text))
    for _ in range(3):
        values = registers(random, [f"R{k}" for k in range(12)])
        predicates = predicates_of(random, [f"P{k}" for k in range(7)])
        words = constants_of(random)
        mask = int(random.integers(0, 2**32))
        outside = ~np.unpackbits(np.array([mask], np.uint32).view(np.uint8), bitorder="little").astype(bool)
        before, _ = compiled.run(values, predicates, words, mask=0)
        whole, all_bits = compiled.run(values, predicates, words)
        rows, bits = compiled.run(values, predicates, words, mask)
        start = np.zeros(20, np.uint32)
        for name, value in predicates.items():
            start[int(name[1:])] = np.packbits(value, bitorder="little").view(np.uint32)[0]
        assert (rows[: compiled.machine.rows - 4, outside] == before[: compiled.machine.rows - 4, outside]).all(), text
        assert (rows[: compiled.machine.rows - 4, ~outside] == whole[: compiled.machine.rows - 4, ~outside]).all(), text
        for number in range(7):
            assert int(bits[number]) == (int(all_bits[number]) & mask) | (int(start[number]) & ~mask & 0xFFFFFFFF), text


SPECIAL_FUNCTIONS = {"rcp": "RCP", "rsqrt": "RSQ", "sqrt": "SQRT", "ex2": "EX2", "lg2": "LG2", "sin": "SIN",
                     "cos": "COS", "tanh": "TANH"}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL_FUNCTIONS)
def test_special_functions_of_special_operands_match_an_h200(name):
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["special functions"][name]
    operands, answers = (np.resize([int(text, 16) for text in row], 32) for row in (recorded, recorded.values()))
    if name in ("sin", "cos"):  # of the recorded kernels' FMUL.RZ with 1 / 2 pi, which comes before them
        operands = np.where(np.isnan(operands.astype(np.uint32).view(np.float32)), NAN.view(np.uint32), operands)
    statement = parsed(f"MUFU.{SPECIAL_FUNCTIONS[name]} R0, R2")
    values = {"R2": operands.astype(np.uint32)}
    rows, _ = Compiled(statement).run(values, {}, {})
    assert rows[0].tolist() == answers.tolist()


def test_every_decoded_operation_is_one_of_the_c_program():
    frontends = Path(decoded.__file__).parent
    files = (*frontends.glob("*/decoding/*.py"), *frontends.glob("*/opcodes.py"))
    text = "".join(file.read_text(encoding="utf-8") for file in (Path(decoded.__file__), *files))
    named = {word for word in machine_layout.operations() if f'"{word}"' in text}
    unused = (
        set(machine_layout.operations())
        - named
        - {"float add with modifiers", "float multiply with modifiers", "float fused with modifiers"}
        - {"ordered load", "ordered store", "ordered atomic"}
    )
    assert not unused
