"""Runs of instructions that compute: which are put together, and the axes of what they give."""

from types import SimpleNamespace

import numpy as np
import pytest

import gpusim
from gpusim.compiler import sass
from gpusim.engine.ir import Instruction, Kind, Registers
from gpusim.engine.lanewise import Run
from gpusim.engine.runs import gather
from gpusim.isa import rules
from gpusim.isa.sass import opcodes
from gpusim.isa.sass.operands import Code, Operands

BLOCKS, THREADS = 3, 70
OPERANDS = Operands("sm_90", code=Code())


def instruction(index: int, text: str, guard: str = "") -> Instruction:
    (statement,) = sass.parse(f"        /*0000*/                   {text} ;", "kernel.cu").statements
    instruction = Instruction(index, text, ".".join(statement.opcode), 0, Kind.ALU)
    rules.complete(instruction, opcodes.outcome(OPERANDS, statement, since=100))
    instruction.reads = tuple(OPERANDS.read_now)
    instruction.guard = (OPERANDS.slot(guard), False) if guard else None
    return instruction


def effect(text: str) -> rules.Effect:
    (statement,) = sass.parse(f"        /*0000*/                   {text} ;", "kernel.cu").statements
    return opcodes.outcome(OPERANDS, statement, since=100)


def order(*texts: str) -> list:
    some = [instruction(index, *text.split("@")) for index, text in enumerate(texts)]
    return [
        [instruction.index for instruction in item] if isinstance(item, list) else item.index for item in gather(some)
    ]


def results(*texts: str, **values) -> dict[str, np.ndarray]:
    """By register what a run of instructions leaves in it."""
    run = Run([instruction(index, text).computation for index, text in enumerate(texts)])
    registers = Registers(OPERANDS.initial)
    for name, value in values.items():
        registers[OPERANDS.slot(name)] = value
    names = {slot: name for name, slot in OPERANDS.slots.items()}
    run.execute(registers)
    return {names[slot]: registers[slot] for slot in run.outputs}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["MOV R0, R1", "SEL R2, R3, R4, P0", "MOV R5, R6"], [1, [0, 2]]),
        (["MOV R0, R1", "IADD3 R2, R0, R0, RZ", "MOV R0, R3"], [[0, 1, 2]]),
        (["MOV R0, R1", "SEL R2, R0, R4, P0", "MOV R5, R6"], [[0], 1, [2]]),
        (["MOV R0, R1", "SEL R1, R2, R4, P0", "MOV R5, R6"], [[0], 1, [2]]),
        (["MOV R0, R1", "SEL R0, R2, R4, P0", "MOV R5, R6"], [[0], 1, [2]]),
        (["ISETP.LT.AND P0, P1, R1, R2, PT", "MOV R5, R6@P0"], [[0], 1]),
        (["MOV R5, R6@P0", "MOV R7, R8@P0"], [0, 1]),
    ],
)
def test_what_computes_waits_until_another_one_needs_it(texts, expected):
    assert order(*texts) == expected


def test_results_have_the_axes_of_what_they_depend_on():
    rng = np.random.default_rng(1)
    shapes = {"R1": (1, THREADS), "R2": (BLOCKS, 1), "R3": (BLOCKS, THREADS)}
    values = {name: rng.integers(-99, 99, shape, np.int32) for name, shape in shapes.items()}
    got = results(
        "IADD3 R4, R1, 0x5, RZ", "IADD3 R5, R2, R9, RZ", "IMAD R6, R1, R2, R3", "IADD3 R7, R9, 0x1, RZ",
        "ISETP.LT.AND P0, P1, R4, R5, PT", "IADD3 R1, R1, R7, RZ", **values, R9=np.int32(7),
    )  # fmt: skip
    a, b, c = values.values()
    assert got["R7"] == 8 and got["R7"].ndim == 0
    for name, expected in {
        "R4": a + 5, "R5": b + 7, "R6": a * b + c, "P0": a + 5 < b + 7, "P1": a + 5 >= b + 7,
        "R1": a + 8,
    }.items():  # fmt: skip
        assert got[name].shape == expected.shape and (got[name] == expected).all(), name


def test_lanes_of_a_warp_answer_together():
    rng = np.random.default_rng(2)
    mask = rng.random((BLOCKS, THREADS)) < 0.6
    mask[1, 32:64] = False
    truth, values = rng.random((BLOCKS, THREADS)) < 0.5, rng.integers(-9, 9, (1, THREADS), np.int32)
    texts = {"vote": "VOTE.ANY R10, P5, P4", "redux": "REDUX.MAX.S32 R11, R12"}
    effects = {name: effect(text) for name, text in texts.items()}
    wave, registers = SimpleNamespace(shape=(BLOCKS, THREADS)), Registers(OPERANDS.initial)
    registers[OPERANDS.slot("P4")], registers[OPERANDS.slot("R12")] = truth, values
    ballot, some = effects["vote"].execute(wave, registers, mask)
    (largest,) = effects["redux"].execute(wave, registers, mask)
    for block in range(BLOCKS):
        for first in range(0, THREADS, 32):
            lanes = [t for t in range(first, min(first + 32, THREADS)) if mask[block, t]]
            yes = [t - first for t in lanes if truth[block, t]]
            for t in lanes:
                assert int(ballot[block, t]) & 0xFFFFFFFF == sum(1 << lane for lane in yes)
                assert some[block, t] == bool(yes)
                assert largest[block, t] == max(values[0, t] for t in lanes)


def test_uniform_warp_answers_once_for_all_blocks():
    vote = effect("VOTE.ALL R10, P5, P4")
    wave, registers = SimpleNamespace(shape=(BLOCKS, THREADS)), Registers(OPERANDS.initial)
    registers[OPERANDS.slot("P4")] = np.ones((1, THREADS), bool)
    ballot, every = vote.execute(wave, registers, None)
    assert ballot.shape == (1, THREADS)
    assert ballot[0].view(np.uint32).tolist() == [0xFFFFFFFF] * 64 + [0x3F] * 6
    assert every.all()


def test_predicates_become_bits_of_a_register_and_come_back():
    truth = {f"P{k}": np.random.default_rng(k).random((1, THREADS)) < 0.5 for k in range(7)}
    got = results("P2R R0, PR, RZ, 0x7f", "LOP3.LUT R0, R0, 0x55, RZ, 0x3c, !PT", "R2P PR, R0, 0x7f", **truth)
    for name, before in truth.items():
        assert (got[name] == (before ^ (int(name[1]) % 2 == 0))).all()


def test_small_and_large_waves_give_the_same_bits():
    source = """extern "C" __global__ void tile(const float *a, const float *b, float *c) {
        float x[8], y[8], acc[8][8] = {};
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        for (int k = 0; k < 5; ++k) {
            for (int i = 0; i < 8; ++i) { x[i] = a[t + i + 8 * k]; y[i] = b[t + 3 * i + k]; }
            for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) acc[i][j] += x[i] * y[j];
        }
        for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) if (t % 3) c[64 * t + 8 * i + j] = acc[i][j];
    }"""
    kernel = gpusim.RawModule(code=source).get_function("tile")
    random = np.random.default_rng(5)
    threads = 16384
    a, b = random.normal(size=(2, threads + 64)).astype(np.float32)
    whole, parts = np.zeros((2, threads, 64), np.float32)
    kernel((32,), (512,), (a, b, whole))
    for start in range(0, 300, 100):
        kernel((1,), (100,), (a[start : start + 200], b[start : start + 200], parts[start : start + 100]))
    phase = np.array([start + t for start in range(0, 300, 100) for t in range(100) if t % 3 and (start + t) % 3])
    assert len(phase) > 100
    assert (whole[phase] == parts[phase]).all()
