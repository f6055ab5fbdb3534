"""Predictions and a question of notebook 17, its table of stages, and the score of its open end."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from gpusim import devices
from gpusim.errors import SimulatorError
from helpers import gpu, headers, recordings, run
from helpers.exercises.framework import kept, on_gpu
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.blank import Plain
from helpers.exercises.framework.exercise import code_of
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.questions import question
from helpers.exercises.n17.fused import SIDE, STEPS, TWO_OF_ALL, alone, predicted_ms
from helpers.exercises.n17.matrices import BM, BN, PAIR_WORDS, THREADS
from helpers.measure.timing import interleave
from helpers.pictures import theme
from helpers.pictures.pairs.facts import two_of
from helpers.pictures.tables import Table
from helpers.recordings.measurement import MEASURED, Timing

DEVICE = devices.DEFAULT
LARGE = 4096  # M = N = K of the questions

# --- two lanes


def predict_merge() -> Prediction:
    """What a lane has when it takes only the smallest of another lane, whose both are smaller than its own."""
    mine, other = ((4.0, 0), (9.0, 1)), ((2.0, 2), (3.0, 3))
    words = lambda pair: " and ".join(f"{value:g}" for value, _ in pair)  # noqa: E731
    return predict(
        f"Lane 0 has found {words(mine)}, lane 16 has found {words(other)}. Lane 0 takes the smallest of lane 16, and "
        "that alone. Which two has it then?",
        reasons={
            "2 and 3": "So it should be. But the 3 was never sent.",
            "2 and 4": "The 3 is lost: both smallest were in lane 16. So both must be sent, each with its place.",
            "2 and 9": "4 is smaller than 9, and was there already.",
            "4 and 9": "2 is smaller than both.",
        },
        answer=words(two_of(mine, other[:1])),
    )


# --- what the second kernel costs


@cache
def share_of_reading() -> float:
    """The time that memory needs to read C again, as a share of that of the fastest product: M = N = K = LARGE."""
    rows = recordings.raw(DEVICE.name, "ladder")["rows"]
    sizes = {"kernel": "stream_k", "M": LARGE, "N": LARGE, "K": LARGE}
    product = next(row["time"][0] for row in rows if sizes.items() <= row.items())
    return 4 * LARGE**2 / (DEVICE.memory_gb_per_s * 1e6) / product


def predict_length() -> Prediction:
    """How much longer two kernels take than the product alone. The bytes of C and the recorded product answer."""
    share = share_of_reading()
    options = {"less than 2 %": 0.01, "about 10 %": 0.1, "about half as long again": 0.5, "about twice as long": 1.0}
    answer = min(options, key=lambda option: abs(math.log(options[option] / share)))
    reasons = {
        "less than 2 %": f"C has {4 * LARGE**2 >> 20} MiB, and memory reads them in {share:.1%} of the time of the "
        "product, which needs every element of A and B thousands of times.",
        "about 10 %": "So it would be with a K of a few hundred.",
        "about half as long again": "The second kernel reads only C, and each of its elements once.",
        "about twice as long": "So it would be if the product did as little for each element of C as the second "
        "kernel.",
    }
    return predict(
        f"The plain solution has two kernels: one stores C, the next one reads it and finds the two smallest. M = N = "
        f"K = {LARGE}, on an {DEVICE.short}. How much longer does it take than the product alone?",
        reasons=reasons,
        answer=answer,
    )


BLOCKS = LARGE // BM * (LARGE // BN)


@question("n17_written", "bytes that blocks leave")
def check_written(answer: int | None) -> Verdict:
    """The bytes that the blocks of step 4 leave in parts, with M = N = LARGE."""
    return check_number(
        answer, 4 * PAIR_WORDS * BLOCKS, unit="bytes",
        because=f"{theme.thousands(BLOCKS)} blocks leave {4 * PAIR_WORDS} bytes each. C would have had "
        f"{theme.thousands(4 * LARGE**2)}.",
        slips=(
            Slip(4 * LARGE**2, "That is C, which is not stored."),
            Slip(BLOCKS, "So many blocks there are, and each leaves a pair."),
            Slip(4 * PAIR_WORDS, "That is one pair. Every block leaves one."),
            Slip(2 * PAIR_WORDS * BLOCKS, "That is one element of each block, a value and a place. It leaves two."),
        ),
    )  # fmt: skip


# --- what is given, and how far one is


def given(file: str) -> Plain:
    """What a step includes, to be unfolded: "product.cuh", "pair.cuh", "patch.cuh", "lanes.cuh" or "warps.cuh".

    LookupError for any other.
    """
    files = {path.name: path for path in sorted((headers.FOLDER / "two_smallest").glob("*.cuh"))}
    if file not in files:
        raise LookupError(f"{file!r} is none of what the steps include: {', '.join(files)}.")
    return Plain(files[file].read_text(encoding="utf-8"), f"two_smallest/{file}")


BEGINS_WITH = ("the product", "our step 1", "our steps 1 and 2", "our steps 1 to 3")
CAN_FAIL = (
    "ties, NaN, infinity, the edge",
    "the other lane's second",
    "who brings nothing",
    "the last block's own pair",
)


def stages() -> Table:
    """The four steps: what each begins with, so that every one can be left out, and how far the reader is."""
    rows = []
    for number, (step, begins, can_fail) in enumerate(zip(STEPS, BEGINS_WITH, CAN_FAIL, strict=True), 1):
        source = kept.source(step.name)
        mine = "open" if source is None else "ours" if code_of(source) == code_of(step.solved) else "yours"
        rows.append((f"{number}", f"{step.lines}", begins, can_fail, f"{step.name}.skip()", mine))
    head = ("step", "lines", "begins with", "what it is about", "stuck?", "done by")
    caption = "Every step begins with our solution of those before it: none depends on yours"
    return Table(head, tuple(rows), caption, words=frozenset({2, 3, 4, 5}))


# --- the open end


def score(source: str, tile: tuple[int, int] = (BM, BN), threads: int = THREADS) -> Verdict:
    """Judge a whole kernel, `two_smallest`, and compare its time with that of the product alone.

    Its main loop and its tile may be others than ours. tile: rows and columns of C of a block.  threads: of a block.
    The score is its time as a multiple of that of the product alone of `product_alone.cu`: smaller is better.
    """
    problem = replace(TWO_OF_ALL.problem, tile_of_block=tile, block=(threads,))
    exercise = replace(TWO_OF_ALL, problem=problem, goals=())
    examination = exercise.examine(source)
    if examination.kernel is None or examination.first_failure is not None:
        return exercise.check(source)
    device = on_gpu.run(source, problem)
    if not device.passed:
        return Verdict(False, device.sentence)
    try:
        sentences = [_predicted(source, tile, threads)]
    except SimulatorError as error:
        sentences = [str(error)]
    if gpu.backend() == "gpu":
        sentences.append(_measured(source, tile, threads))
    return Verdict(True, f"Right for {len(problem.cases)} shapes.{device.sentence}\n" + "\n".join(sentences))


def _predicted(source: str, tile: tuple[int, int], threads: int) -> str:
    """'0.98 × the product alone, M = N = K = 1024, predicted for an H200.'"""
    mine, other = predicted_ms(source, "two_smallest", tile, threads), predicted_ms(alone(), "product")
    return f"Score {mine / other:.2f}: times the product alone, M = N = K = {SIDE}, predicted for an {DEVICE.short}."


def _measured(source: str, tile: tuple[int, int], threads: int) -> str:
    """The same, measured at LARGE."""
    launches = [_start(alone(), "product", (BM, BN), THREADS), _start(source, "two_smallest", tile, threads)]
    times = interleave(launches, 0.3)
    product, mine = (Timing.of(times[:, column]).median_ms for column in (0, 1))
    return f"Score {mine / product:.2f}: {mine:.2f} ms, M = N = K = {LARGE}, {MEASURED}."


def _start(source: str, entry: str, tile: tuple[int, int], threads: int) -> Any:
    """A launch at LARGE on random numbers, ready to be timed."""
    generator = np.random.default_rng(17)
    A, B = (gpu.asarray(generator.standard_normal((LARGE, LARGE), np.float32)) for _ in "AB")
    grid = -(-LARGE // tile[1]), -(-LARGE // tile[0])
    if entry == "product":
        output: tuple[Any, ...] = (gpu.zeros((LARGE, LARGE), np.float32),)
    else:
        parts, arrived = gpu.zeros(PAIR_WORDS * grid[0] * grid[1], np.float32), gpu.zeros(1, np.uint32)
        output = parts, arrived, gpu.zeros(2, np.float32), gpu.zeros(2, np.int32)
    arguments = (*(np.int32(LARGE),) * 3, A, B, *output)
    return partial(run.call, run.function(source, entry), grid, (threads,), arguments, 0)
