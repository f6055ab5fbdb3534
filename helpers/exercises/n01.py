"""Exercises of notebook 01: operations, cache lines, loop orders, the least time, and where arithmetic takes over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from helpers import devices
from helpers.devices import FLOAT_BYTES
from helpers.draw import theme
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.values import ValueExercise, WrongValue
from helpers.explore import cpu_loops
from helpers.models import loop_order, roofline
from helpers.models.traffic import compulsory, flops

COUNTED = (256, 256, 128)  # M, N, K of `predict_flops`
WALKED = 1024  # floats of `predict_lines`
VECTOR = (4096, 1, 4096)  # M, N, K of LEAST_TIME: a matrix times a vector
CLOSE = 0.02  # a time by hand may be off by so much: everybody rounds differently
LOOP_SIZE = 2048  # matrices of ORDER_OF_LOOPS


def predict_flops() -> Prediction:
    """How many floating-point operations does A (256 × 128) times B (128 × 256) take?"""
    M, N, K = COUNTED
    options = {
        M * N: "That is the number of elements of C. How much work is one of them?",
        M * N * K: "Each of these is a multiplication and an addition.",
        flops(M, N, K): f"{theme.thousands(M * N)} elements, {K} multiplications and {K} additions for each.",
        2 * M * N * (M + N): "That would be with M + N steps for an element; it has K.",
    }
    return predict(
        f"Multiplications and additions for a C of {M} × {N} with K = {K}:",
        reasons={theme.thousands(count): reason for count, reason in options.items()},
        answer=theme.thousands(flops(M, N, K)),
    )


def predict_lines() -> Prediction:
    """How many times as many cache lines does a walk down a column touch as one along a row? Counted."""
    down, along = (loop_order.walk("B", innermost, WALKED, WALKED, WALKED, WALKED).lines for innermost in ("k", "col"))
    return predict(
        f"Lines for {theme.thousands(WALKED)} floats down a column, as a multiple of those along a row:",
        reasons={
            1: "As many floats, but are they neighbours in memory?",
            4: "A float has 4 bytes, but how many of them does a line hold?",
            16: "Along a row 16 neighbours share a line of 64 bytes; down a column every float has a line of its own.",
            WALKED: "Down the column that is the number of lines. And along the row?",
        },
        answer=down // along,
        picture=cpu_loops.picture,
    )


# --- the order of the loops

NAIVE_ORDER = ("row", "col", "k")


def _lines(innermost: str) -> dict[str, float]:
    """Cache lines that each multiply-add enters of A, B and C with this loop innermost."""
    size = LOOP_SIZE
    return {array: loop_order.lines_per_step(array, innermost, size, size, size) for array in loop_order.INDICES}


def _judge_order(order: Any) -> Verdict:
    """Do the three loops, outermost first, enter as few cache lines as any order?"""
    names = order if isinstance(order, Sequence) and not isinstance(order, str) else ()
    if sorted(map(str, names)) != sorted(loop_order.LOOPS):
        return Verdict(
            False, f'The order names each loop once, outermost first, such as ("row", "col", "k"); found {order!r}.'
        )
    innermost = order[-1]
    each = _lines(innermost)
    found = f"With {innermost} innermost a multiply-add enters {sum(each.values()):.3f} lines"
    if sum(each.values()) == min(sum(_lines(loop).values()) for loop in loop_order.LOOPS):
        return Verdict(True, f"{found}, the least there is: B and C along their rows, and A stays where it is.")
    worst = [array for array, lines in each.items() if lines == 1]
    return Verdict(False, f"{found}: every trip enters a new line of {' and of '.join(worst)}.")


ORDER_OF_LOOPS = ValueExercise(
    name="order_of_loops",
    notebook="01",
    title="A kinder order",
    difficulty=1,
    task="Put the three loops, the outermost first, into an order that enters as few cache lines as any.",
    hints=(
        "Only the innermost loop matters. Which index of A[row, k], B[k, col] and C[row, col] does it change?",
        "The last index of a matrix moves along a row, to a neighbour. The first one moves to another line.",
        "Which index is never the first one of any of the three?",
    ),
    variable="order",
    starter=NAIVE_ORDER,
    solved=("row", "k", "col"),
    because="col is the last index of B and of C, and A does not have it. What the two outer loops do matters less.",
    judge=_judge_order,
    wrong=(
        WrongValue(("col", "row", "k"), "a new line of B."),
        WrongValue(("k", "col", "row"), "a new line of A and of C."),
        WrongValue(("i", "j", "k"), "found ('i', 'j', 'k')"),
        WrongValue("kji", "found 'kji'"),
    ),
)


# --- the least time

_GPU = devices.DEFAULT
_FLOOR = roofline.fastest_time(_GPU, *VECTOR)
LEAST_US, COMPUTE_US = 1000 * _FLOOR.memory_ms, 1000 * _FLOOR.compute_ms
BECAUSE_LEAST = (
    f"{theme.thousands(compulsory(*VECTOR).total / 1e6)} MB, nearly all of them A, at "
    f"{theme.thousands(_GPU.memory_gb_per_s)} GB/s. The arithmetic alone would take {COMPUTE_US:.1f} µs: memory is the "
    "limit."
)
LEAST_SLIPS = (
    Slip(COMPUTE_US, "That is the time of the arithmetic. How long do the bytes take?"),
    Slip(LEAST_US / FLOAT_BYTES, "You counted floats. Each has 4 bytes."),
    Slip(LEAST_US / 1000, "That is in milliseconds; the question asks for microseconds."),
    Slip(LEAST_US + COMPUTE_US, "Memory and arithmetic work at the same time: the longer one counts, not the sum."),
)


def _judge_time(microseconds: Any) -> Verdict:
    """The least time, right within CLOSE."""
    near = (LEAST_US, *(slip.answer for slip in LEAST_SLIPS))
    answer = microseconds
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        answer = next((value for value in near if abs(answer - value) <= CLOSE * value), answer)
    return check_number(answer, LEAST_US, unit="µs", because=BECAUSE_LEAST, slips=LEAST_SLIPS)


LEAST_TIME = ValueExercise(
    name="least_time",
    notebook="01",
    title="The least time",
    difficulty=2,
    task="A matrix of 4096 × 4096 floats times a vector of 4096, beta = 0, on the H200 "
    f"({_GPU.peak_fp32_gflops / 1000:.0f} TFLOPS, {theme.thousands(_GPU.memory_gb_per_s)} GB/s). What is the least "
    "time, in microseconds? By hand; 2 % is close enough.",
    hints=(
        "There are two floors, one for the operations and one for the bytes. The longer one is the least time.",
        "The bytes: A is 4096 · 4096 floats, and each float has 4 bytes. The vectors hardly count.",
        "1 GB/s is 10⁹ bytes a second, which is 1000 bytes in a microsecond.",
    ),
    variable="microseconds",
    starter=None,
    solved=round(LEAST_US, 1),
    because=BECAUSE_LEAST,
    judge=_judge_time,
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in LEAST_SLIPS),
)


# --- where arithmetic takes over

RIDGE = roofline.ridge_point(_GPU)
SMALLEST = math.ceil(6 * RIDGE)  # 2·n³ operations over 3·n² floats of 4 bytes are n / 6 FLOP a byte
BECAUSE_SMALLEST = (
    f"2·n³ / (3·n² · 4 bytes) = n / 6 FLOP a byte, and the roof bends at {RIDGE:.1f} FLOP a byte: n / 6 ≥ {RIDGE:.1f} "
    f"from n = {SMALLEST} on."
)
SMALLEST_SLIPS = (
    Slip(SMALLEST - 1, f"n / 6 is still a little less than {RIDGE:.2f} there."),
    Slip(math.ceil(RIDGE), "That is the intensity at which the roof bends. Which n has this intensity?"),
    Slip(math.ceil(4 * RIDGE), "A and B are read, and C is written, too: three matrices, not two."),
    Slip(math.ceil(1.5 * RIDGE), "You counted floats. Each has 4 bytes."),
    Slip(math.ceil(12 * RIDGE), "Each step is a multiplication and an addition: 2·n³ operations."),
    Slip(math.ceil(8 * RIDGE), "With beta = 0, C is written and not read: three matrices move, not four."),
)

SMALLEST_SQUARE = ValueExercise(
    name="smallest_square",
    notebook="01",
    title="Where arithmetic takes over",
    difficulty=3,
    task="Square matrices, n × n × n with beta = 0, on the H200. From which n on is arithmetic the limit, if every "
    "byte moves once?",
    hints=(
        "Write down the operations and the bytes as formulas with n, and divide: that is the intensity.",
        "2·n³ operations; A and B are read and C is written, three matrices of n² floats of 4 bytes.",
        "The intensity is n / 6. It must be at least the ridge, peak divided by bandwidth.",
    ),
    variable="smallest_n",
    starter=None,
    solved=SMALLEST,
    because=BECAUSE_SMALLEST,
    judge=lambda n: check_number(n, SMALLEST, because=BECAUSE_SMALLEST, slips=SMALLEST_SLIPS),
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in SMALLEST_SLIPS),
)


PREDICTIONS = (predict_flops, predict_lines)
QUESTIONS = ()
EXERCISES = (ORDER_OF_LOOPS, LEAST_TIME, SMALLEST_SQUARE)
