"""Exercises of notebook 11, autotuning: what the rules allow, good configurations, rounds of blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

from gemm_kernels import get
from helpers import devices
from helpers.analysis import landscape
from helpers.draw import theme
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.questions import question
from helpers.exercises.framework.values import ValueExercise, WrongValue, written
from helpers.models.traffic import shared_loads_per_fma
from helpers.models.tuning import predict as predicted

DEVICE = devices.DEFAULT
OCCUPANCY, FLOATS = 0.25, 0.10  # goals of `check_configuration`


def predict_legal() -> Prediction:
    """How much of the space obeys the kernel's rules. The answer is counted."""
    share = sum(not one.broken for one in landscape.space()) / len(landscape.space())
    options = {
        "nearly all": "The rules are many, and most of them say that one number divides another.",
        "about a half": "A single rule, 32 lanes in a warp's tile, already forbids more than a half.",
        "about a quarter": "That is what is left after one or two of the rules. There are more.",
        "less than a tenth": "Each rule halves what is left, or worse: a warp has 32 lanes, tiles must divide tiles, "
        "and all threads must have something to load.",
    }
    answer = next(name for name, least in zip(options, (0.75, 0.375, 0.1, 0.0), strict=True) if share >= least)
    return predict("How much of the space is legal?", options, answer)


@question("legal_configuration", "A configuration that keeps the rules")
def check_configuration(**params: int) -> Verdict:
    """Parameters that obey the rules and are predicted to reach both goals."""
    try:
        kernel = get(landscape.KERNEL).replace(**params)
    except ValueError as error:
        return Verdict(None if params == START else False, str(error))
    found = predicted(DEVICE, kernel)
    told = f"Legal. Predicted: {found.occupancy:.1%} of the warps, {found.floats_a_fma:.3f} floats a FMA, "
    told += f"limited by {found.limiter}."
    if found.spills:
        return Verdict(False, f"{told} Registers spill: smaller patches need fewer.")
    if found.occupancy < OCCUPANCY:
        return Verdict(False, f"{told} At least {OCCUPANCY:.0%} of the warps are wanted.")
    if found.floats_a_fma > FLOATS:
        return Verdict(False, f"{told} At most {FLOATS:.2f} floats a FMA are wanted: larger warp tiles read less.")
    return Verdict(True, told)


START = {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 64, "TM": 8, "TN": 8, "SLICES": 1, "STAGES": 2, "BLOCKS": 1}


KERNEL = "block_tile_2d"

# --- what the rules allow

SIDES = (32, 64, 128, 256)


def _legal() -> tuple[tuple[int, int], ...]:
    """The (BM, BN) of SIDES that the kernel accepts with BK = TM = TN = 8."""
    found = []
    for BM, BN in product(SIDES, SIDES):
        try:
            get(KERNEL, BM=BM, BN=BN, BK=8, TM=8, TN=8)
        except ValueError:
            continue
        found.append((BM, BN))
    return tuple(found)


LEGAL = len(_legal())
BECAUSE_LEGAL = (
    f"THREADS is BM / 8 · BN / 8, and must be a multiple of BN, the length of a row of Bs: so BM must be at least 64. "
    f"That leaves {LEGAL} of {len(SIDES) ** 2}; none has more than 1024 threads, and all tiles fit."
)
LEGAL_SLIPS = (
    Slip(16, "Not all: count the threads of 32 × 32, and how many elements a row of Bs has. Can they load it in whole "
         "passes?"),
    Slip(9, "That rules out BN = 32, too. What must the number of threads be a multiple of?"),
    Slip(15, "32 × 32 is out, but it is not alone: the rule that forbids it does not depend on BN."),
    Slip(3, "That is how many values of BM are left. With how many of BN?"),
    Slip(8, "Two values of BM are too few for four of them: which one does the rule forbid?"),
)  # fmt: skip

LEGAL_TILES = ValueExercise(
    name="legal_tiles",
    notebook="11",
    title="What do the rules leave?",
    difficulty=1,
    task="BM and BN are each one of 32, 64, 128 and 256, with BK = TM = TN = 8. How many of the 16 pairs does "
    "block_tile_2d accept? Its rules are in the source, as static_asserts; a short loop may count for you.",
    hints=(
        "get(\"block_tile_2d\", BM=…, BN=…, BK=8, TM=8, TN=8) raises a ValueError for a pair that is not allowed.",
        "Two rules matter here: at most 1024 threads, and whole passes over both tiles.",
        "THREADS = BM / 8 · BN / 8 must be a multiple of BN, so BM / 64 must be a whole number.",
    ),
    variable="my_answer",
    starter=None,
    solved=LEGAL,
    because=BECAUSE_LEGAL,
    judge=lambda answer: check_number(answer, LEGAL, unit="pairs", because=BECAUSE_LEGAL, slips=LEGAL_SLIPS),
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in LEGAL_SLIPS),
)  # fmt: skip


# --- rounds of blocks

SIZE, TILE_ROWS, TILE_COLUMNS = 4096, 128, 256
BLOCKS = SIZE // TILE_ROWS * (SIZE // TILE_COLUMNS)
ROUNDS = math.ceil(BLOCKS / DEVICE.sms)
BECAUSE_ROUNDS = (
    f"{BLOCKS} blocks on {DEVICE.sms} SMs: {ROUNDS - 1} full rounds, and in the last one "
    f"{ROUNDS * DEVICE.sms - BLOCKS} SMs have nothing to do."
)
ROUNDS_SLIPS = (
    Slip(BLOCKS // DEVICE.sms, "That many rounds are full. Who computes the blocks that are left?"),
    Slip(BLOCKS, "That is the number of blocks. How many of them run at a time?"),
    Slip(SIZE // TILE_COLUMNS, "That is the number of tiles in a row of C."),
    Slip(SIZE // TILE_ROWS, "That is the number of tiles in a column of C."),
    Slip(DEVICE.sms, "That is the number of SMs, of blocks in one round."),
)

ROUNDS_OF_BLOCKS = ValueExercise(
    name="rounds_of_blocks",
    notebook="11",
    title="How many rounds?",
    difficulty=2,
    task="C has 4096 × 4096 elements, a block computes a tile of 128 × 256, and an SM has room for one block. How many "
    f"rounds of blocks does an {DEVICE.short} with its {DEVICE.sms} SMs need?",
    hints=(
        "How many tiles cover C: how many along its rows, how many along its columns?",
        f"32 · 16 = 512 blocks, of which {DEVICE.sms} run at a time.",
        f"512 / {DEVICE.sms} is {512 / DEVICE.sms:.1f}, and there is no part of a round.",
    ),
    variable="my_answer",
    starter=None,
    solved=ROUNDS,
    because=BECAUSE_ROUNDS,
    judge=lambda answer: check_number(answer, ROUNDS, unit="rounds", because=BECAUSE_ROUNDS, slips=ROUNDS_SLIPS),
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in ROUNDS_SLIPS),
)


# --- tiles for a small matrix

SMALL, MOST_LOADS = 512, 0.5
GUESS = {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8}


def _judge_small(params: Any) -> Verdict:
    """A block for every SM, and still enough use of what is loaded."""
    if not isinstance(params, Mapping) or not params or any(not isinstance(name, str) for name in params):
        return Verdict(False, f"The tile sizes are a dict such as {written(GUESS)}, not {params!r}.")
    kernel = get(KERNEL, **params)
    x, y, _ = kernel.grid(SMALL, SMALL)
    loads = shared_loads_per_fma(kernel.params["TM"], kernel.params["TN"])
    text = (
        f"{theme.plural(x * y, 'block')} for {DEVICE.sms} SMs (at least as many), {loads:.2f} loads per FMA "
        f"(at most {MOST_LOADS:g})"
    )
    if x * y < DEVICE.sms:
        return Verdict(False, f"{text}: {DEVICE.sms - x * y} SMs have nothing to do. Smaller tiles make more blocks.")
    if loads > MOST_LOADS:
        return Verdict(False, f"{text}: the patch of a thread is too small, shared memory becomes the limit.")
    return Verdict(True, f"{text}: done.")


SMALL_MATRIX = ValueExercise(
    name="small_matrix",
    notebook="11",
    title="Stretch: the best for 4096 is not the best for 512",
    difficulty=3,
    task=f"The tiles that are good at 4096 leave most of an {DEVICE.short} idle when C is 512 × 512. Choose tile sizes "
    f"of block_tile_2d so that all {DEVICE.sms} SMs get a block, with at most 0.5 loads from shared memory for an FMA.",
    hints=(
        "512 · 512 elements in tiles of BM × BN: how many blocks are that, and how large may a tile be?",
        f"A tile may have at most 512 · 512 / {DEVICE.sms} = {512 * 512 // DEVICE.sms} elements, so 32 × 32 will do. "
        "Which patch costs 0.5 loads?",
        "TM = TN = 4: 8 loads for 16 FMAs, and 64 threads a block.",
    ),
    variable="tiles",
    starter=GUESS,
    solved={"BM": 32, "BN": 32, "BK": 8, "TM": 4, "TN": 4},
    because="256 blocks of 64 threads: nearly two for every SM, and a patch of 4 × 4 needs 0.5 loads for an FMA.",
    judge=_judge_small,
    wrong=(
        WrongValue({"BM": 64, "BN": 64, "BK": 8, "TM": 4, "TN": 4}, "68 SMs have nothing to do"),
        WrongValue({"BM": 32, "BN": 64, "BK": 8, "TM": 4, "TN": 4}, "4 SMs have nothing to do"),
        WrongValue({"BM": 32, "BN": 32, "BK": 8, "TM": 2, "TN": 2}, "1.00 loads per FMA"),
        WrongValue({"BM": 32, "BN": 32, "BK": 8, "TM": 8, "TN": 8}, "to load Bs in whole passes"),
        WrongValue({"BM": 32, "BN": 32, "BK": 8, "TM": 4, "TN": 3}, "BN of TN"),
    ),
)


PREDICTIONS = (predict_legal,)
QUESTIONS = (check_configuration,)
EXERCISES = (LEGAL_TILES, ROUNDS_OF_BLOCKS, SMALL_MATRIX)
