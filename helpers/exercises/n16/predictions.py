"""Predictions and a question of notebook 16, and what decides them: banks, paths, bits, a missing fence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusim.devices import WARP
from helpers.exercises.framework import trial
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.questions import question
from helpers.exercises.n16.sums import LAST_BLOCK
from helpers.pictures import theme
from helpers.pictures.tables import Table
from helpers.pictures.tree import explorer as tree
from helpers.pictures.warp_paths import facts as warp_paths
from helpers.pictures.warp_paths.figure import paths_figure
from helpers.run import simulated

# --- banks of a tree

SHOWN = tree.Choice(128, "the first threads add neighbours", 3)


def predict_banks() -> Prediction:
    """Wavefronts of a load in the third step of a tree that adds neighbours first. Recorded addresses answer."""
    step = tree.exchanged(SHOWN.threads, SHOWN.order).steps[SHOWN.step - 1]
    distance = 2**SHOWN.step
    return predict(
        "In another tree thread t adds s[2\u00a0·\u00a0step\u00a0·\u00a0t\u00a0+\u00a0step] to "
        "s[2\u00a0·\u00a0step\u00a0·\u00a0t], with step = 1, 2, 4, …. In its third "
        f"step, with step = {distance // 2}, 16 lanes of a warp load floats that lie {distance} apart. How many "
        "wavefronts does such a load take?",
        reasons={
            1: "That needs 16 floats in 16 different banks.",
            2: f"With {distance} floats from one to the next, lanes 0 and 4 want words of the same bank already.",
            4: f"16 floats that lie {distance} apart are in {32 // distance} banks, {16 // (32 // distance)} in each.",
            16: "That would be so if all of them were in one bank, 32 floats apart.",
        },
        answer=step.wavefronts,
        picture=tree.small_multiples,
    )


# --- a branch as time


def paths_picture() -> theme.Figure:
    """What two warps issue, if lanes go different ways, and if warps do."""
    groups = [("By lane", warp_paths.paths(warp_paths.BY_LANE)), ("By warp", warp_paths.paths(warp_paths.BY_WARP))]
    return paths_figure(groups, "Two paths of a branch, as time")


def predict_paths() -> Prediction:
    """What a branch within a warp costs beside one between warps. The executed machine code answers."""
    inside = warp_paths.paths(warp_paths.BY_LANE)[0]
    between = warp_paths.paths(warp_paths.BY_WARP)[1]
    common = sum(not name for name in inside.path)
    long, short = (counted.issued - common for counted in (inside, between))
    reasons = {
        f"{short} instructions, as there are now": "So it is if all lanes of a warp go the same way.",
        f"{round(short / 2)} instructions: each lane needs only half": "A warp issues an instruction for all of its "
        "lanes. Those that do not need it wait.",
        f"{long} instructions: both paths": f"First one path with half of the lanes, then the other one: {long} in "
        f"place of {short}.",
    }
    return predict(
        f"In a branch with two paths all threads of a warp take the same one, and the warp issues {short} instructions "
        "in it. Now the even lanes take one path and the odd lanes the other. How many does the warp issue?",
        reasons=reasons,
        answer=next(name for name in reasons if name.startswith(f"{long} ")),
        picture=paths_picture,
    )


# --- the order of a float sum

COUNT = 2**16  # random floats from 0 to 1


def numbers() -> np.ndarray:
    """(COUNT,) float32, the same everywhere."""
    return np.random.default_rng(16).random(COUNT, np.float32)


def in_orders(x: np.ndarray) -> dict[str, np.float32]:
    """The sum of x in float32, added in five orders."""
    half = x.copy()
    while len(half) > 1:
        half = half[: len(half) // 2] + half[len(half) // 2 :]
    shuffled = np.random.default_rng(1).permutation(x)
    return {
        "first to last": np.cumsum(x, dtype=np.float32)[-1],
        "last to first": np.cumsum(x[::-1], dtype=np.float32)[-1],
        "any order": np.cumsum(shuffled, dtype=np.float32)[-1],
        "32 at a time, then their sums": np.cumsum(_by_rows(x.reshape(-1, WARP)), dtype=np.float32)[-1],
        "halves, as a tree": half[0],
    }


def _by_rows(rows: np.ndarray) -> np.ndarray:
    return np.cumsum(rows, axis=1, dtype=np.float32)[:, -1]


def bits_table() -> Table:
    """Each order with its sum, its bits, and how far it is from the sum in float64."""
    x = numbers()
    exact = x.sum(dtype=np.float64)
    rows = [
        (name, f"{total:.3f}", f"{int(total.view(np.uint32)):032b}", f"{total - exact:+.4f}")
        for name, total in in_orders(x).items()
    ]
    caption = f"{theme.thousands(COUNT)} random floats from 0 to 1; in float64 their sum is {exact:.3f}"
    return Table(("added", "sum", "its 32 bits", "error"), tuple(rows), caption, words=frozenset({0}))


def predict_bits() -> Prediction:
    """How many of five orders give the same bits. NumPy's float32 answers."""
    totals = list(in_orders(numbers()).values())
    different = len({total.tobytes() for total in totals})
    reasons = {
        "all five give the same bits": "That is so for whole numbers with sums up to 2^24. A float rounds after each "
        "addition, and what is rounded off depends on the sum so far.",
        "two different results": "Why two? Each order has other sums on the way, and each of them is rounded.",
        f"{different} different results": "Each order has other sums on the way, and each of them is rounded. The tree "
        "is nearest: its sums are of equal size.",
    }
    return predict(
        f"The same {theme.thousands(COUNT)} random floats from 0 to 1 are added in five orders, in float32. How many "
        "different results come out?",
        reasons=reasons,
        answer=f"{different} different results",
    )


# --- atomics, counted

ELEMENTS, BLOCKS, THREADS = 2**26, 1056, 256


@question("atomics_of_blocks", "Atomics, when each block adds first")
def check_atomics(answer: float | None) -> Verdict:
    """How many atomics reach *total, if every block of BLOCKS adds its part once."""
    return check_number(
        answer,
        BLOCKS,
        unit="atomics",
        because=f"One for each block, where there was one for each of {theme.thousands(ELEMENTS)} elements.",
        slips=(
            Slip(ELEMENTS, "That is one for each element. The elements of a block are added before."),
            Slip(BLOCKS * THREADS, "That is one for each thread. The threads of a block add up first."),
            Slip(BLOCKS * THREADS // WARP, "That is one for each warp. The warps of a block add up, too."),
            Slip(ELEMENTS // THREADS, "So many blocks there would be with one element for each thread. Here it is "
                 "fewer, and each thread has many."),
        ),
    )  # fmt: skip


# --- the fence that is missing


def without_fence() -> str:
    """What the sanitizer says of the last block's kernel when nothing keeps the part before the count."""
    kernel = simulated(LAST_BLOCK.solved.replace("        __threadfence();\n", ""), LAST_BLOCK.problem.entry)
    report = trial.run(kernel, LAST_BLOCK.problem, LAST_BLOCK.problem.cases[0]).report
    return report.findings[0].message


MEMORY_ORDERS: Mapping[str, str] = {
    "relaxed": "this update is one piece; nothing is said of other places",
    "release": "what I wrote before is there for all that acquire this",
    "acquire": "what was written before the release that I read is there for me",
    "acq_rel": "both, for an update that reads and writes",
    "seq_cst": "both, and all such operations have one order that all threads agree on",
}
