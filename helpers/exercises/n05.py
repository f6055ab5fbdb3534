"""Exercises of notebook 05: the limits as a function, a block that fills an SM, a kernel that does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from gemm_kernels import get
from gpusim import Kernel, devices
from gpusim.devices import WARP, Device
from gpusim.occupancy import DoesNotFit, occupancy
from helpers.exercises.framework import functions, goals, texts
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.functions import FunctionExercise, Version, judged
from helpers.exercises.framework.gemm import AnyTile, Gemm
from helpers.exercises.framework.pictures import Drawn, TilePhasesOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case, Problem
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.values import WrongValue
from helpers.measure import profiles
from helpers.pictures import theme
from helpers.pictures.occupancy.facts import resources_of
from helpers.pictures.occupancy.figure import filling, occupancy_figure

A6000, ADA = (devices.get(name) for name in ("NVIDIA RTX A6000", "NVIDIA RTX 6000 Ada Generation"))
H200 = devices.DEFAULT


@dataclass(frozen=True)
class Block:
    """What a block of an example takes. threads: of the block.  registers: of a thread.  shared_bytes: of the block."""

    threads: int
    registers: int
    shared_bytes: int


TILED = Block(256, 32, 2048)  # the kernel that notebook 04 writes, as compiled for an H200
SMALL = replace(H200, threads_per_sm=8 * WARP, blocks_per_sm=4, registers_per_sm=6144, carve_outs=(6144,))
BY_HAND = Block(80, 30, 1000)  # what the notebook works out by hand, on an SM of SMALL
WORKED = Block(1024, 37, 8192)  # on an RTX A6000; S. Boehm, "How to Optimize a CUDA Matmul Kernel"
ESTIMATED = Block(256, 8 * 8 + 8 + 8, 8192)  # an 8 × 8 patch of sums, a column of A and a row of B
SHARE = "occupancy, %"
# What Nsight Compute showed for a kernel with these tiles on an RTX 6000 Ada, in the worklog "SGEMM CUDA kernel".
PUBLISHED: Mapping[str, float] = {"blocks": 24, "warps": 6, "registers": 2, "shared": 7, SHARE: 33.33}


def predict_blocks() -> Prediction:
    """How many blocks of the worked example does an SM of an A6000 hold? The answer is the model's."""
    worked = occupancy(A6000, WORKED.threads, WORKED.registers, WORKED.shared_bytes)
    limits, warps = worked.limits, A6000.registers_per_sm // worked.registers_per_warp
    by_registers = (
        f"{WORKED.registers} · {WARP} = {WORKED.registers * WARP}, rounded up to {worked.registers_per_warp} for a "
        f"warp: {warps} warps, in fours {warps // 4 * 4}, {limits['registers']} block"
    )
    return predict(
        f"Blocks of {WORKED.threads} threads with {WORKED.registers} registers each, and {WORKED.shared_bytes} bytes "
        f"of shared memory, that fit on an SM of the {A6000.short}:",
        reasons={
            1: f"{worked.warps_per_block} warps per block, and room for {A6000.warps_per_sm}: {limits['warps']} "
            f"block. Registers: {by_registers}. Shared memory has room for {limits['shared']}, and there are "
            f"{limits['blocks']} slots. {worked.warps} of {A6000.warps_per_sm} warps are "
            f"{theme.percent(worked.fraction)}.",
            2: f"Those are {2 * WORKED.threads} threads. The SM has room for {A6000.threads_per_sm}.",
            limits[
                "shared"
            ]: "So many fit into the shared memory. But each resource sets a limit, and the smallest one decides.",
            A6000.blocks_per_sm: "That is the number of block slots. But each resource sets a limit, and the "
            "smallest one decides.",
        },
        answer=worked.blocks,
        picture=lambda: occupancy_figure(
            filling(A6000, A6000.name, "the published kernel", WORKED.threads, WORKED.registers, WORKED.shared_bytes)
        ),
    )


# --- the function

_SIGNATURE = "def blocks_that_fit(gpu, threads, registers, shared_bytes):"
EMPTY = Version(
    "starter",
    f"""{_SIGNATURE}
    # 1. Warps of a block: 32 threads each; one that is not full counts as a whole warp.
    # 2. Limit by warps: the SM has room for gpu.warps_per_sm.
    # 3. Registers of a warp: those of 32 threads, rounded up to a multiple of 256.
    # 4. Limit by registers: how many warps can gpu.registers_per_sm supply? Round down
    #    to a multiple of 4. How many blocks are these?
    # 5. Shared memory of a block: 1024 bytes more, rounded up to a multiple of 128.
    # 6. Limit by shared memory: the SM has gpu.shared_bytes_per_sm.
    # 7. Limit by block slots: gpu.blocks_per_sm. Which of the four limits decides?
    return None""",
)
WRITTEN = Version(
    "solution",
    f"""{_SIGNATURE}
    warps = math.ceil(threads / 32)
    by_warps = gpu.warps_per_sm // warps
    registers_of_a_warp = math.ceil(registers * 32 / 256) * 256
    warps_with_registers = gpu.registers_per_sm // registers_of_a_warp // 4 * 4
    by_registers = warps_with_registers // warps
    shared_of_a_block = math.ceil((shared_bytes + 1024) / 128) * 128
    by_shared = gpu.shared_bytes_per_sm // shared_of_a_block
    return min(by_warps, by_registers, by_shared, gpu.blocks_per_sm)""",
)
_ROUNDED = "math.ceil(registers * 32 / 256) * 256"
_LIMITS = "by_warps, by_registers, by_shared, gpu.blocks_per_sm"
_ONE_GPU = f"A number is that of the {H200.short}: take what an SM has from gpu, then the function holds for others."
MISTAKES: tuple[tuple[Version, str], ...] = tuple(
    (WRITTEN.replace(name, *changes), because)
    for name, changes, because in (
        ("registers_as_asked", [(_ROUNDED, "registers * 32")],
         "A warp gets registers in units of 256: round up what its 32 threads need."),
        ("registers_rounded_down", [(_ROUNDED, "max(registers * 32 // 256, 1) * 256")],
         "The registers of a warp are rounded down; then some of its threads would have too few. Round up."),
        ("thread_by_thread", [("registers_of_a_warp // 4 * 4", "(registers * threads)"),
                              ("warps_with_registers // warps", "warps_with_registers")],
         "You divide by the registers of all threads. They are handed out warp by warp, each warp's rounded up."),
        ("block_by_block", [("registers_of_a_warp // 4 * 4", "(math.ceil(registers / 8) * 8 * threads)"),
                            ("warps_with_registers // warps", "warps_with_registers")],
         "You hand registers out block by block. But each of the four schedulers owns a quarter of them, so the warps "
         "that they supply are a multiple of 4."),
        ("not_in_fours", [(" // 4 * 4", "")],
         "The registers belong to four schedulers, a quarter to each: the warps that they supply are a multiple of 4."),
        ("warps_rounded_down", [("math.ceil(threads / 32)", "max(threads // 32, 1)")],
         "The threads that are left over need a warp, too: round the warps of a block up."),
        ("parts_of_warps", [("math.ceil(threads / 32)", "threads / 32")],
         "You count parts of a warp. One that is not full takes the place of a whole one: round the warps of a block "
         "up."),
        ("threads_for_warps", [("math.ceil(threads / 32)", "threads")],
         "You divide by the threads of a block where its warps are asked for: a warp is 32 threads."),
        ("reserved_missing", [("(shared_bytes + 1024)", "shared_bytes")],
         "The system keeps 1024 bytes of shared memory for itself in each block: add them. So a block that asks for "
         "none takes some."),
        ("shared_as_asked", [("math.ceil((shared_bytes + 1024) / 128) * 128", "shared_bytes + 1024")],
         "Shared memory is handed out in steps of 128 bytes: round up what a block takes."),
        ("slots_missing", [(_LIMITS, "by_warps, by_registers, by_shared")],
         "The block slots never decide here, and small blocks run out of them first: is their limit among those that "
         "you compare?"),
        ("shared_missing", [(_LIMITS, "by_warps, by_registers, gpu.blocks_per_sm")],
         "Shared memory never decides here: its limit is missing, or it is too large."),
        ("registers_missing", [(_LIMITS, "by_warps, by_shared, gpu.blocks_per_sm")],
         "Registers never decide here: their limit is missing, or it is too large. A warp has those of 32 threads, and "
         "units of 256 count 256 registers each."),
        ("warps_missing", [(_LIMITS, "by_registers, by_shared, gpu.blocks_per_sm")],
         "Warps never decide here: their limit is missing, or it is too large."),
        ("thread_in_units", [(_ROUNDED, "math.ceil(registers / 256) * 256 * 32")],
         "You round the registers of each thread up to units of 256. They are handed out to a warp: first times 32, "
         "then round up."),
        ("one_warp_more", [("math.ceil(threads / 32)", "(threads // 32 + 1)")],
         "+ 1 counts a warp too many where 32 divides the threads: math.ceil(threads / 32) rounds up."),
        ("warps_for_blocks", [("warps_with_registers // warps", "warps_with_registers")],
         "Your limit by registers is a number of warps: divide it by the warps of a block."),
        ("up_to_fours", [("gpu.registers_per_sm // registers_of_a_warp // 4 * 4",
                          "math.ceil(gpu.registers_per_sm // registers_of_a_warp / 4) * 4")],
         "You round the warps that have registers up to a multiple of 4. No scheduler has more than its quarter: round "
         "down."),
        ("bracket_of_reserved", [("(shared_bytes + 1024) / 128", "shared_bytes + 1024 / 128")],
         "/ comes before +: only the 1024 bytes are divided by 128. The sum belongs in brackets."),
        ("blocks_in_fours", [("registers_of_a_warp // 4 * 4", "registers_of_a_warp"),
                             ("warps_with_registers // warps", "warps_with_registers // warps // 4 * 4")],
         "You round the blocks down to a multiple of 4. The schedulers share out warps: round down the warps that have "
         "registers, and divide then by those of a block."),
        ("threads_of_the_sm", [("gpu.warps_per_sm // warps", "gpu.warps_per_sm * 32 // threads")],
         "You divide the threads of the SM by those of a block. A warp that is not full takes the place of a whole "
         "one: divide warps by warps."),
        ("largest", [("min(", "max(")],
         "Every resource must suffice: the smallest of the four limits decides, not the largest."),
        ("whole_sm_in_warps", [("return min", "return warps * min")],
         "Those are the warps on the SM. The function returns blocks."),
        ("a_share", [("return min", "return warps / gpu.warps_per_sm * min")],
         "That is the share of the SM's warps. The function returns blocks."),
        ("true_division", [("gpu.warps_per_sm // warps", "gpu.warps_per_sm / warps"),
                           ("warps_with_registers // warps", "warps_with_registers / warps"),
                           ("gpu.shared_bytes_per_sm // ", "gpu.shared_bytes_per_sm / ")],
         "Blocks come whole or not at all: divide with //, which rounds down."),
        ("always_an_h200", [("gpu.warps_per_sm", str(H200.warps_per_sm)),
                            ("gpu.shared_bytes_per_sm", str(H200.shared_bytes_per_sm))],
         _ONE_GPU),
        ("warps_of_an_h200", [("gpu.warps_per_sm", str(H200.warps_per_sm))], _ONE_GPU),
        ("room_of_an_h200", [("gpu.shared_bytes_per_sm", str(H200.shared_bytes_per_sm))], _ONE_GPU),
        ("slots_of_an_h200", [("gpu.blocks_per_sm", str(H200.blocks_per_sm))], _ONE_GPU),
        ("reserved_once", [("(shared_bytes + 1024)", "max(shared_bytes, 1)"),
                           ("gpu.shared_bytes_per_sm //", "(gpu.shared_bytes_per_sm - 1024) //")],
         "The system keeps 1024 bytes in each block, not once on the SM: add them to what a block asks for."),
        ("registers_of_all_warps", [("math.ceil(registers * 32 / 256) * 256",
                                     "math.ceil(registers * threads / 256) * 256"),
                                    ("registers_of_a_warp // 4 * 4", "registers_of_a_warp"),
                                    ("warps_with_registers // warps", "warps_with_registers")],
         "You hand registers out block by block. They are handed out warp by warp, each warp's rounded up."),
        ("one_quarter", [("gpu.registers_per_sm // registers_of_a_warp // 4 * 4",
                          "gpu.registers_per_sm // 4 // registers_of_a_warp")],
         "That is what a quarter of the registers supplies, one scheduler's. There are four: times 4."),
    )
)  # fmt: skip
TELLING = (
    (H200, TILED), (H200, Block(80, 30, 1000)), (H200, Block(64, 37, 0)), (H200, Block(1024, 32, 8192)),
    (H200, Block(32, 16, 0)), (H200, Block(80, 16, 0)), (H200, Block(64, 32, 45670)), (A6000, TILED),
    (A6000, Block(64, 32, 8192)), (A6000, Block(32, 16, 0)), (H200, Block(256, 33, 0)),
)  # fmt: skip


@cache
def function_cases() -> tuple[functions.Case, ...]:
    """Telling blocks first, answered by the model, then all that a driver was asked about."""
    _, answers = profiles.driver_answers(H200.name)
    asked = [
        (Block(answer.threads, answer.registers, answer.shared_bytes), answer.blocks)
        for answer in answers
        if answer.blocks
    ]
    telling = [
        (gpu, block, occupancy(gpu, block.threads, block.registers, block.shared_bytes)) for gpu, block in TELLING
    ]
    return (
        *(_case(gpu, block, fitting.blocks, "fit") for gpu, block, fitting in telling),
        *(_case(H200, block, blocks, "fit, says the driver") for block, blocks in asked),
    )


def _case(gpu: Device, block: Block, blocks: int, says: str) -> functions.Case:
    limits = occupancy(gpu, block.threads, block.registers, block.shared_bytes).limits
    each = ", ".join(f"{name} {limit}" for name, limit in limits.items())
    return functions.Case(
        (gpu, block.threads, block.registers, block.shared_bytes),
        blocks,
        f"{block.threads} threads, {block.registers} registers per thread, {block.shared_bytes} bytes of shared memory "
        f"per block on the {gpu.short}",
        f"{theme.plural(blocks, 'block')} {says}",
        f"The four limits are: {each}.",
    )


def _judge_function(function: Any) -> Verdict:
    """The learner's function against the model and against what the driver of an H200 answered."""
    cases = function_cases()
    others = sum(gpu is not H200 for gpu, _ in TELLING)
    right = (
        f"Your function agrees with the driver of the {H200.short} about all "
        f"{theme.thousands(len(cases) - len(TELLING))} launches that it was asked about, and is right for {others} on "
        f"an {A6000.short}, too."
    )
    return judged(function, cases, MISTAKES, right)


BLOCKS_THAT_FIT = FunctionExercise(
    **texts.of("05", "occupancy_function"),
    difficulty=1,
    variable="blocks_that_fit",
    starter=EMPTY,
    solved=WRITTEN,
    because="Each limit is rounded down. What is handed out in units, as warps, registers and shared memory are, is "
    "rounded up to them first.",
    judge=_judge_function,
    wrong=tuple(WrongValue(version, because) for version, because in MISTAKES),
)


# --- the trade: blocks on an SM for registers of a thread

_TRADE_SIGNATURE = "def most_registers(gpu, threads, blocks):"
TRADE_EMPTY = Version(
    "starter",
    f"""{_TRADE_SIGNATURE}
    # 1. Warps of all these blocks together. Is there no room for them, or are there too few
    #    block slots (gpu.warps_per_sm, gpu.blocks_per_sm)? Then the answer is 0.
    # 2. Registers of a warp: round the number of warps up to a multiple of 4, and divide
    #    gpu.registers_per_sm by it. Round down to a multiple of 256.
    # 3. Registers of a thread: a warp has 32 threads, and no thread has more than 255.
    return None""",
)
TRADE_WRITTEN = Version(
    "solution",
    f"""{_TRADE_SIGNATURE}
    warps = math.ceil(threads / 32) * blocks
    if warps > gpu.warps_per_sm or blocks > gpu.blocks_per_sm:
        return 0
    registers_of_a_warp = gpu.registers_per_sm // (math.ceil(warps / 4) * 4) // 256 * 256
    return min(registers_of_a_warp // 32, 255)""",
)
TRADE_MISTAKES: tuple[tuple[Version, str], ...] = tuple(
    (TRADE_WRITTEN.replace(name, *changes), because)
    for name, changes, because in (
        ("not_in_units", [(" // 256 * 256", "")],
         "A warp gets registers in units of 256: round what each can have down to a multiple of it."),
        ("in_parts", [("gpu.registers_per_sm // (math.ceil(warps / 4) * 4) // 256 * 256",
                       "gpu.registers_per_sm / (math.ceil(warps / 4) * 4)"), ("registers_of_a_warp // 32",
                                                                              "registers_of_a_warp / 32")],
         "You share out parts of registers. A warp gets registers in units of 256: round down to a multiple of it."),
        ("warps_of_all_threads", [("math.ceil(threads / 32) * blocks", "math.ceil(threads * blocks / 32)")],
         "Threads of two blocks never share a warp: round up the warps of one block, and take them as often as there "
         "are blocks."),
        ("warps_of_all_threads_down", [("math.ceil(threads / 32) * blocks", "max(threads * blocks // 32, 1)")],
         "Threads of two blocks never share a warp: round up the warps of one block, and take them as often as there "
         "are blocks."),
        ("rounded_up", [("gpu.registers_per_sm // (math.ceil(warps / 4) * 4) // 256 * 256",
                         "math.ceil(gpu.registers_per_sm / (math.ceil(warps / 4) * 4) / 256) * 256")],
         "Rounded up, the warps together would need more registers than the SM has: round down."),
        ("not_in_fours", [("(math.ceil(warps / 4) * 4)", "warps")],
         "Each of the four schedulers owns a quarter of the registers, so the one with the most warps decides: count "
         "the warps as a multiple of 4, rounded up."),
        ("fours_rounded_down", [("math.ceil(warps / 4)", "max(warps // 4, 1)")],
         "You leave out the warps that are no whole group of four. They need registers, too: round up."),
        ("warps_rounded_down", [("math.ceil(threads / 32)", "max(threads // 32, 1)")],
         "The threads that are left over need a warp, too: round the warps of a block up."),
        ("thread_by_thread", [("gpu.registers_per_sm // (math.ceil(warps / 4) * 4) // 256 * 256",
                               "gpu.registers_per_sm // (threads * blocks) * 32")],
         "You share out the registers thread by thread. They are handed out to whole warps, in units of 256."),
        ("one_block", [("math.ceil(threads / 32) * blocks", "math.ceil(threads / 32)")],
         "That is what one block could have if it were alone: all the blocks share the registers."),
        ("of_a_warp", [("min(registers_of_a_warp // 32, 255)", "registers_of_a_warp")],
         "Those are the registers of a warp. The function returns those of one thread."),
        ("of_a_warp_capped", [("min(registers_of_a_warp // 32, 255)", "min(registers_of_a_warp, 255)")],
         "The registers of a warp are compared with 255. Its 32 threads share them: divide by 32 first."),
        ("of_a_warp_by_a_block", [("registers_of_a_warp // 32", "registers_of_a_warp // threads")],
         "You divide the registers of a warp by the threads of a block: the 32 threads of the warp share them."),
        ("no_full_sm", [("warps > gpu.warps_per_sm", "warps >= gpu.warps_per_sm")],
         "As many warps as the SM has room for do fit: only more of them do not."),
        ("no_full_slots", [("blocks > gpu.blocks_per_sm", "blocks >= gpu.blocks_per_sm")],
         "As many blocks as the SM has slots for do fit: only more of them do not."),
        ("no_most", [("min(registers_of_a_warp // 32, 255)", "registers_of_a_warp // 32")],
         "A thread can have at most 255 registers, however many are left."),
        ("no_room", [("warps > gpu.warps_per_sm or ", "")],
         "The SM has no room for so many warps, whatever their registers: then the answer is 0."),
        ("always_room", [("    if warps > gpu.warps_per_sm or blocks > gpu.blocks_per_sm:\n        return 0\n", "")],
         "The SM may have no room for so many warps, or too few block slots, whatever their registers: then the answer "
         "is 0."),
        ("no_slots", [(" or blocks > gpu.blocks_per_sm", "")],
         "The SM has too few block slots for so many blocks, whatever their registers: then the answer is 0."),
        ("always_an_h200", [("gpu.warps_per_sm", str(H200.warps_per_sm))],
         _ONE_GPU),
        ("thread_by_thread_in_eights", [("gpu.registers_per_sm // (math.ceil(warps / 4) * 4) // 256 * 256",
                                         "gpu.registers_per_sm // (threads * blocks) // 8 * 256")],
         "You share out the registers thread by thread. A warp that is not full has those of 32 threads, too: count "
         "warps."),
        ("larger", [("min(", "max(")], "Two limits hold at once, a thread's share and 255: the smaller one decides."),
        ("fours_of_a_block", [("(math.ceil(warps / 4) * 4)", "(math.ceil(math.ceil(threads / 32) / 4) * 4 * blocks)")],
         "You round the warps of each block up to a multiple of 4. The schedulers share out those of all blocks "
         "together: first times blocks, then round up."),
        ("to_the_nearest", [("gpu.registers_per_sm // (math.ceil(warps / 4) * 4) // 256 * 256",
                             "round(gpu.registers_per_sm / (math.ceil(warps / 4) * 4) / 256) * 256")],
         "You round to the nearest multiple of 256. Where that is up, the warps together would need more registers "
         "than the SM has: round down."),
    )
)  # fmt: skip
TRADES = (
    (H200, 256, 4), (H200, 256, 8), (H200, 256, 3), (H200, 256, 1), (H200, 80, 5), (H200, 80, 7), (H200, 96, 7),
    (H200, 256, 9), (H200, 32, 33), (H200, 32, 32), (H200, 1024, 2), (A6000, 256, 6), (A6000, 256, 7),
    (A6000, 128, 5), (A6000, 32, 16), (A6000, 32, 17),
)  # fmt: skip


def registers_that_fit(gpu: Device, threads: int, blocks: int) -> int:
    """The most registers per thread with which so many blocks fit on an SM, tried out on the model; 0 if none do."""

    def fit(registers: int) -> bool:
        try:
            return occupancy(gpu, threads, registers).blocks >= blocks
        except DoesNotFit:  # not even one
            return False

    return next(filter(fit, range(gpu.registers_per_thread, 0, -1)), 0)


@cache
def trade_cases() -> tuple[functions.Case, ...]:
    """Each of TRADES, answered by trying every number of registers on the model of the occupancy."""
    return tuple(
        functions.Case(
            (gpu, threads, blocks),
            registers_that_fit(gpu, threads, blocks),
            f"{theme.plural(blocks, 'block')} of {threads} threads on an SM of the {gpu.short}",
            f"{theme.plural(registers_that_fit(gpu, threads, blocks), 'register')} per thread are the most",
            f"They are {theme.plural(-(-threads // WARP) * blocks, 'warp')}.",
        )
        for gpu, threads, blocks in TRADES
    )


MOST_REGISTERS = FunctionExercise(
    **texts.of("05", "register_budget"),
    difficulty=2,
    variable="most_registers",
    starter=TRADE_EMPTY,
    solved=TRADE_WRITTEN,
    because="The registers of the SM, shared out among whole groups of four warps and rounded down to the units in "
    "which they are handed out.",
    judge=lambda function: judged(
        function,
        trade_cases(),
        TRADE_MISTAKES,
        f"Your function is right for {len(TRADES)} launches on two GPUs.",
    ),
    wrong=tuple(WrongValue(version, because) for version, because in TRADE_MISTAKES),
)


# --- a kernel whose launch decides about its tiles

ROOM_AT_LAUNCH = Blank(
    **texts.of("05", "room_at_launch"),
    difficulty=2,
    problem=AnyTile("sgemm", (8, 8), (8, 8), Tiles(BM=8, BN=8, BK=8), scaled=False, shared_bytes=2 * 8 * 8 * 4),
    picture=TilePhasesOf(Case({"M": 32, "N": 32, "K": 48}, block=(16, 16)), "your kernel, T = 16"),
    goals=(goals.floats_loaded(4096),),
    judged=Case({"M": 32, "N": 32, "K": 32}, block=(16, 16)),
    wrong=(
        Wrong("fixed_T", "T is 16 here, whatever the launch says: take it from blockDim.x."),
        Wrong("fixed_room", "This room has 2 · 16 · 16 floats, whatever the launch gives: extern __shared__ float "
              "room[] has as many as the launch says."),
        Wrong("one_room", "As and Bs begin at the same float, so that the tile of B overwrites that of A: Bs begins "
              "T * T floats further."),
        Wrong("one_row_apart", "Bs begins one row behind As: a tile has T rows, T * T floats."),
        Wrong("counted_in_bytes", "Bs begins 4 · T · T floats behind As. A pointer to float counts floats, not bytes."),
        Wrong("wide_rows", "A row of As has T floats, not K: As[y * T + x]."),
        Wrong("transposed_A", "As is stored as (row, k) and read as (k, row), or the other way round: store "
              "As[y * T + x], and read As[y * T + k]."),
        Wrong("k_moves_by_1", "From tile to tile k0 moves on by 1: it must move on by T, the depth of a tile.",
              (("k0 += T", "++k0"),)),
        Wrong("row_of_Bs", "The sum needs column x of Bs, Bs[k * T + x]; Bs[x * T + k] is row x."),
        Wrong("no_first_barrier", "No thread waits between loading and multiplying: a thread reads elements that "
              "others have not stored yet."),
        Wrong("no_second_barrier", "No thread waits between the last read of a tile and the next load over it."),
    ),
)  # fmt: skip


# --- an estimate, the compiler, a profiler


def asked_three_times() -> dict[str, dict[str, float]]:
    """Blocks that fit on an SM of an RTX 6000 Ada, by resource, and the occupancy: of ESTIMATED, of the course's kernel
    with the same tiles as compiled, and as published."""
    compiled = resources_of(get("transposed"), ADA.arch)
    columns: dict[str, dict[str, float]] = {}
    for name, taken in (("estimated", ESTIMATED), ("compiled", compiled)):
        fitting = occupancy(ADA, taken.threads, taken.registers, taken.shared_bytes)
        columns[f"{name}: {taken.registers} registers"] = {**fitting.limits, SHARE: 100 * fitting.fraction}
    return {**columns, "Nsight Compute": dict(PUBLISHED)}


# --- a kernel that leaves room

ENTRY, SIDE = "sgemm_deep", 8


def _sm_with(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """The SM of an H200, filled with blocks of the learner's kernel."""
    data = filling(H200, H200.name, title, SIDE * SIDE, kernel.num_regs, kernel.compiled.shared_bytes)
    return occupancy_figure(data)


TOO_MUCH = (
    "The tiles take so much shared memory that few blocks fit. 75 % of 64 warps are 24 blocks of two: how many bytes "
    "may each of them have?"
)

DEEP_TILES = KernelExercise(
    **texts.of("05", "deep_tiles"),
    difficulty=2,
    # One shape has several phases however deep the tiles are.
    problem=Gemm(
        ENTRY, (SIDE, SIDE), (SIDE, SIDE), Tiles(BM=SIDE, BN=SIDE),  # how deep they are is the learner's
        shapes=((8, 16, 24), (16, 8, 300), (11, 21, 10), (15, 7, 25), (1, 9, 15), (9, 1, 7), (7, 10, 1), (1, 1, 1)),
    ),
    picture=Drawn(_sm_with),
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
        Wrong("one_barrier", "No thread waits between the last read of the tiles and the next load over them."),
    ),
)  # fmt: skip


PREDICTIONS = (predict_blocks,)
QUESTIONS = ()
EXERCISES = (BLOCKS_THAT_FIT, ROOM_AT_LAUNCH, MOST_REGISTERS, DEEP_TILES)
