"""Exercises of notebook 05, occupancy: four limits by hand, a block that fills the SM, a kernel that leaves room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helpers import devices
from helpers.devices import WARP
from helpers.draw import theme
from helpers.draw.occupancy import filling, occupancy_figure
from helpers.exercises.framework import goals
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Problem
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.values import ValueExercise, WrongValue
from helpers.occupancy import occupancy
from helpers.simulator import Kernel

A6000, ADA = (devices.get(name) for name in ("NVIDIA RTX A6000", "NVIDIA RTX 6000 Ada Generation"))
H200 = devices.DEFAULT


@dataclass(frozen=True)
class Block:
    """What a block of an example takes. threads: of the block.  registers: of a thread.  shared_bytes: of the block."""

    threads: int
    registers: int
    shared_bytes: int


WORKED = Block(1024, 37, 8192)  # on an RTX A6000; S. Boehm, "How to Optimize a CUDA Matmul Kernel"
ESTIMATED = Block(256, 8 * 8 + 8 + 8, 8192)  # an 8 × 8 patch of sums, a column of A and a row of B
# What Nsight Compute showed for a kernel with these tiles on an RTX 6000 Ada, in the worklog "SGEMM CUDA kernel".
PUBLISHED: Mapping[str, float] = {"blocks": 24, "warps": 6, "registers": 2, "shared": 7, "occupancy, %": 33.33}


def predict_blocks() -> Prediction:
    """How many blocks of the worked example does an SM of an A6000 hold? The answer is the model's."""
    found = occupancy(A6000, WORKED.threads, WORKED.registers, WORKED.shared_bytes)
    return predict(
        f"Blocks of {WORKED.threads} threads with {WORKED.registers} registers each, and {WORKED.shared_bytes} bytes "
        "of shared memory, that fit on an SM of an A6000:",
        reasons={
            1: f"A second block would need {2 * found.warps_per_block} warps, and the SM has room for "
            f"{A6000.warps_per_sm}. Its registers would not do, either.",
            2: "That needs room for 2048 threads on an SM. Some GPUs have it, this one has not.",
            5: "That divides the 48 KB that one block may ask for. What counts is what the SM has.",
            11: "So many fit into the shared memory, with the reserved kilobyte. But each resource sets a limit, and "
            "the smallest decides.",
        },
        answer=found.blocks,
        picture=lambda: occupancy_figure(
            filling(
                A6000, A6000.name, "the block of the example", WORKED.threads, WORKED.registers, WORKED.shared_bytes
            )
        ),
    )


# --- four limits by hand

_BY_HAND = occupancy(ADA, ESTIMATED.threads, ESTIMATED.registers, ESTIMATED.shared_bytes)
LIMIT_SLIPS = {
    "blocks": (Slip(1, "How many blocks has an SM slots for, however small they are?"),),
    "warps": (
        Slip(ADA.warps_per_sm, "That is the number of warps. How many warps has a block?"),
        Slip(ADA.threads_per_sm, "That is the number of threads that an SM holds. A block has 256 of them."),
    ),
    "registers": (
        Slip(ADA.registers_per_sm // ESTIMATED.registers, "That many threads. How many blocks are they?"),
        Slip(ADA.registers_per_sm // (ESTIMATED.registers * WARP), "That many warps. How many blocks are they?"),
        Slip(
            ADA.registers_per_sm / (ESTIMATED.registers * ESTIMATED.threads),
            "Blocks come whole, or not at all: round down.",
        ),
    ),
    "shared": (
        Slip(
            ADA.shared_bytes_per_block // (ESTIMATED.shared_bytes + ADA.reserved_shared_bytes_per_block),
            "You divided what one block may ask for. What has the SM?",
        ),
        Slip(ADA.shared_bytes_per_sm // ESTIMATED.shared_bytes, "Each block costs one kilobyte more than it asks for."),
    ),
}


def _judge_limits(answers: Any) -> Verdict:
    """The first of the four limits that is wrong, with the slip that gives it."""
    limits = _BY_HAND.limits
    if not isinstance(answers, Mapping) or set(answers) != set(limits):
        return Verdict(False, f"The four limits are called {', '.join(limits)}: dict(blocks=…, …); found {answers!r}.")
    if any(answer is None for answer in answers.values()):
        return Verdict(None, "Not answered yet: put your numbers in place of None and run the cell again.")
    for name, limit in limits.items():
        verdict = check_number(answers[name], limit, unit="blocks", slips=LIMIT_SLIPS[name])
        if not verdict.passed:
            return Verdict(False, f"{name}: {verdict.sentence}")
    told = f"{_BY_HAND.blocks} blocks of {_BY_HAND.warps_per_block} warps, {theme.percent(_BY_HAND.fraction, 2)}"
    return Verdict(True, f"All four are right. {' and '.join(_BY_HAND.limiters).capitalize()} decide: {told}.")


def _wrong_limit(name: str, slip: Slip) -> WrongValue:
    return WrongValue({**_BY_HAND.limits, name: slip.answer}, slip.because)


LIMITS_BY_HAND = ValueExercise(
    name="limits_by_hand",
    notebook="05",
    title="Four limits by hand",
    difficulty=1,
    task="Blocks of 256 threads, an estimated 80 registers for each thread, 8192 bytes of shared memory for a block. "
    "How many of them does each resource of an RTX 6000 Ada's SM leave room for?",
    hints=(
        "Each resource for itself: what the SM has, divided by what one block takes, rounded down.",
        "A block is 8 warps. Its registers are handed out by the warp; its shared memory costs 1024 bytes more.",
        "80 · 32 = 2560 registers for a warp, which is a multiple of 256; 8192 + 1024 = 9216 bytes for a block.",
    ),
    variable="my_limits",
    starter=dict.fromkeys(_BY_HAND.limits),
    solved=dict(_BY_HAND.limits),
    because="The block slots are what the GPU has; 48 // 8; 65536 // 2560 = 25 warps, of which 24 come in fours, and "
    "24 // 8; 102400 // 9216.",
    judge=_judge_limits,
    wrong=tuple(_wrong_limit(name, slip) for name, slips in LIMIT_SLIPS.items() for slip in slips),
)


# --- a block for many registers

REGISTERS, GOAL = 96, 0.3
_FOUR = H200.warp_allocation_granularity
_START = 256


def _judge_threads(threads: Any) -> Verdict:
    """Does this block size bring a kernel of REGISTERS registers to an occupancy of GOAL on an H200?"""
    if isinstance(threads, bool) or not isinstance(threads, int):
        return Verdict(False, f"threads is a whole number such as 128, not {threads!r}.")
    found = occupancy(H200, threads, REGISTERS)
    room = f"room for {theme.plural(found.blocks, 'block')} of {theme.plural(found.warps_per_block, 'warp')}"
    text = f"{threads} threads: {room}, {found.warps} of {found.max_warps} warps, {theme.percent(found.fraction, 2)}"
    if threads % WARP:
        return Verdict(False, f"{text}. But {-threads % WARP} lanes of the last warp of each block have no thread.")
    most = H200.registers_per_sm // found.registers_per_warp // _FOUR * _FOUR
    if found.fraction >= GOAL:
        return Verdict(True, f"{text}. The registers would do for {most} warps, and so many are there.")
    why = f"The registers would do for {theme.plural(most, 'warp')}; {most - found.warps} of them are not enough for "
    return Verdict(False, f"{text}; the goal is at least {theme.percent(GOAL, 2)}. {why}another block.")


def _threads_picture(threads: int) -> theme.Figure:
    """The SM, filled with blocks of this size."""
    return occupancy_figure(filling(H200, H200.name, f"{REGISTERS} registers", threads, REGISTERS, 0))


THREADS_OF_A_BLOCK = ValueExercise(
    name="threads_of_a_block",
    notebook="05",
    title="A block that leaves nothing over",
    difficulty=2,
    task="A kernel needs 96 registers for each thread and no shared memory. With 256 threads a block it reaches 25 % "
    "occupancy on an H200. Choose the threads of a block so that it is at least 30 %.",
    hints=(
        "How many registers does one warp take, and how many warps do the SM's registers suffice for?",
        "20 warps would fit. How many of them are left over, if blocks of 8 warps move in whole?",
        "The warps of a block must divide 20: blocks of 1, 2, 4, 5, 10 or 20 warps.",
    ),
    variable="threads",
    starter=_START,
    solved=128,
    because="96 · 32 = 3072 registers for a warp; 65536 // 3072 = 21 warps, of which 20 come in fours: 5 blocks of 4.",
    judge=_judge_threads,
    wrong=(
        WrongValue(512, "4 of them are not enough"),
        WrongValue(192, "2 of them are not enough"),
        WrongValue(100, "28 lanes of the last warp"),
        WrongValue(1024, "registers run out"),
        WrongValue(2048, "a block has 1 to 1024 threads"),
    ),
    picture=_threads_picture,
)


# --- a kernel that leaves room

ENTRY, SIDE = "sgemm_deep", 8


def _sm_with(kernel: Kernel, problem: Problem) -> theme.Figure:
    """The SM of an H200, filled with blocks of the learner's kernel."""
    data = filling(H200, H200.name, "your kernel", SIDE * SIDE, kernel.num_regs, kernel.compiled.shared_bytes)
    return occupancy_figure(data)


TOO_MUCH = (
    "The tiles take so much shared memory that few blocks fit. 75 % of 64 warps are 24 blocks of two: how many bytes "
    "may each of them have?"
)

DEEP_TILES = KernelExercise(
    name="deep_tiles",
    notebook="05",
    title="Make room",
    difficulty=2,
    task="The author of this kernel wanted few barriers, and made the tiles 256 steps deep. It is right, and leaves "
    "more than half of the SM empty: 40.6 % occupancy on an H200. Bring it to at least 75 %.",
    hints=(
        "Look at the picture: which of the four stacks is full?",
        "A block has two warps. 48 warps are 24 blocks, and 233472 // 24 = 9728 bytes, with the reserved kilobyte.",
        "As and Bs together take 2 · 8 · DEPTH · 4 bytes, and DEPTH must stay a multiple of T: 128 will do.",
    ),
    # One shape has several phases however deep the tiles are.
    problem=Gemm(
        ENTRY, (SIDE, SIDE), (SIDE, SIDE), Tiles(BM=SIDE, BN=SIDE, BK=SIDE),
        shapes=((8, 16, 24), (16, 8, 300), (11, 21, 10), (15, 7, 25), (1, 9, 15), (9, 1, 7), (7, 10, 1), (1, 1, 1)),
    ),
    picture=_sm_with,
    goals=(goals.occupied(0.75),),
    wrong=(
        Wrong("starter", TOO_MUCH),
        Wrong("a_little_less", TOO_MUCH),
        Wrong("only_A", "As was made smaller, but the loops still go through DEPTH steps: they leave the array."),
        Wrong("not_a_multiple", "DEPTH is no multiple of T, so that the last pass of the loads goes beyond the tiles."),
        Wrong("one_pass", "Each thread must load DEPTH / T elements of each tile; here most of the tiles is never "
              "written."),
        Wrong("next_phase_too_early", "The tiles are DEPTH deep, and the next phase begins only T steps further: "
              "products are added more than once."),
        Wrong("one_barrier", "Nobody waits between the last read of the tiles and the next load over them."),
    ),
)  # fmt: skip


PREDICTIONS = (predict_blocks,)
QUESTIONS = ()
EXERCISES = (LIMITS_BY_HAND, THREADS_OF_A_BLOCK, DEEP_TILES)
