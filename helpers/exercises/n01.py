"""Exercises of notebook 01: operations, cache lines, loop orders, the least time, and where arithmetic takes over."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpusim import devices
from helpers.exercises.framework import texts
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.functions import Case, FunctionExercise, Version, answers_of, judged
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.values import ValueExercise, WrongValue
from helpers.pictures import theme
from helpers.pictures.cpu_loops import explorer as cpu_loops, model as loop_order
from helpers.pictures.roofline import model as roofline
from helpers.pictures.tables import Table
from helpers.pictures.traffic import flops

COUNTED = (512, 512, 64)  # M, N, K of `predict_flops`
WALKED = 1024  # floats of `predict_lines`
VECTOR = (4096, 1, 4096)  # M, N, K of a matrix times a vector
CUBE = (4096, 4096, 4096)
A6000 = devices.get("RTX A6000")


def predict_flops() -> Prediction:
    """How many floating-point operations does A (512 × 64) times B (64 × 512) take?"""
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


def predict_slack() -> Prediction:
    """How many times the least number of bytes may a kernel move before memory is its limit? By the model."""
    floor = roofline.fastest_time(A6000, *CUBE, beta=1.0)
    slack = floor.compute_ms / floor.memory_ms
    reasons = {
        1: "Then the bytes would take as long as the operations already.",
        2: "There are two matrices to multiply. But the question is about two times: divide one by the other.",
        10: f"The operations take {floor.compute_ms:.2f} ms and the bytes {floor.memory_ms:.2f} ms: {slack:.1f} times "
        "as long. Up to there the bytes are still moved while the multipliers work.",
        1000: "A float is used 4096 times, but that says how often it is needed, not what the memory has time for.",
    }
    return predict(
        f"4096 × 4096 × 4096 with the old C, on an {A6000.short} with {A6000.peak_fp32_gflops / 1e3:.1f} TFLOPS and "
        f"{A6000.memory_gb_per_s} GB/s. About how many times the least number of bytes can a kernel move before memory "
        "becomes its limit?",
        reasons=reasons,
        answer=min(reasons, key=lambda times: abs(math.log(times / slack))),
    )


FIVE = ("A100 80GB", "RTX A6000", "RTX 6000 Ada", "H20", devices.DEFAULT.name)


def floors() -> Table:
    """Both floors of CUBE with the old C on FIVE GPUs, and how many times the one is the other."""
    rows = []
    for name in FIVE:
        gpu = devices.get(name)
        least = roofline.fastest_time(gpu, *CUBE, beta=1.0)
        peak, memory = f"{gpu.peak_fp32_gflops / 1e3:.1f}", f"{gpu.memory_gb_per_s:.0f}"
        times = f"{least.compute_ms / least.memory_ms:.0f} ×"
        rows.append((gpu.short, peak, memory, f"{least.compute_ms:.2f}", f"{least.memory_ms:.3f}", times))
    header = ("GPU", "TFLOPS", "GB/s", "arithmetic, ms", "memory, ms", "slack")
    return Table(header, tuple(rows), "The two least times of 4096 × 4096 × 4096 with the old C", words=frozenset({0}))


# --- the order of the loops

NAIVE_ORDER = ("row", "col", "k")


def _judge_order(order: Any) -> Verdict:
    """Do the three loops, outermost first, touch as few cache lines as any order?"""
    names = order if isinstance(order, Sequence) and not isinstance(order, str) else ()
    if sorted(map(str, names)) != sorted(loop_order.LOOPS):
        return Verdict(
            False, f'The order names each loop once, outermost first, such as ("row", "col", "k"); found {order!r}.'
        )
    innermost = order[-1]
    each = loop_order.lines(innermost)
    count = f"With {innermost} innermost {loop_order.STEPS} iterations touch {sum(each.values())} lines"
    if sum(each.values()) == min(sum(loop_order.lines(loop).values()) for loop in loop_order.LOOPS):
        return Verdict(
            True, f"{count}, the fewest possible: B and C are read along their rows, and A stays at one element."
        )
    worst = [array for array, lines in each.items() if lines == loop_order.STEPS]
    return Verdict(False, f"{count}: every iteration touches a new line of {' and of '.join(worst)}.")


ORDER_OF_LOOPS = ValueExercise(
    **texts.of("01", "order_of_loops", steps=loop_order.STEPS),
    difficulty=1,
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


# --- the roof as a function

_GPU = devices.DEFAULT
_SIGNATURE = "def least_ms(gpu, M, N, K):"
EMPTY = Version(
    "starter",
    f"""{_SIGNATURE}
    # 1. The operations of A · B, and the milliseconds that they take at the peak:
    #    gpu.peak_fp32_gflops is in 10⁹ FLOP per second.
    # 2. The bytes, 4 per float: A (M × K) and B (K × N) are read, C (M × N) is written. And
    #    the milliseconds that they take: gpu.memory_gb_per_s is in 10⁹ bytes per second.
    # 3. Both happen at the same time. So what is the least time?
    return None""",
)
WRITTEN = Version(
    "solution",
    f"""{_SIGNATURE}
    arithmetic = 2 * M * N * K / gpu.peak_fp32_gflops / 1e6
    memory = 4 * (M * K + K * N + M * N) / gpu.memory_gb_per_s / 1e6
    return max(arithmetic, memory)""",
)
_BYTES = "4 * (M * K + K * N + M * N)"
UNITS = {  # how many times a time is what it should be in milliseconds
    1e-3: "That is in seconds; the function returns milliseconds.",
    1e3: "That is in microseconds; the function returns milliseconds.",
    1e6: "That is 10⁶ times too large: an amount divided by 10⁹ per second is in nanoseconds. The function returns "
    "milliseconds.",
    1e12: "That is 10¹² times too large: 10⁹ per second are 10⁶ per millisecond, so divide by 10⁶ once.",
    1e-6: "That is 10⁶ times too small. To get milliseconds from seconds you multiply by 1000.",
}
ONE_OPERATION = "Each product is also added: 2 operations, not one."
FLOATS, NOT_C = "That is the number of floats. Each has 4 bytes.", "C is written, too: M · N floats more."
OLD_C, C_ALONE = "C = A · B does not read the old C: it moves once.", "A and B have to be read."
FOR_EACH_PRODUCT = "That is two floats for every product. The least is to move each element of the matrices once."
NO_BYTES, NO_OPERATIONS = "How long do the bytes take?", "How long do the operations take?"
ONE_GPU = "The time is the same for every GPU: take peak and bandwidth from gpu."
MISTAKES: tuple[tuple[Version, str], ...] = tuple(
    (WRITTEN.replace(name, *changes), because)
    for name, changes, because in (
        ("products_only", [("2 * M", "M")], ONE_OPERATION),
        ("floats", [("4 * (", "(")], FLOATS),
        ("not_C", [(" + M * N)", ")")], NOT_C),
        ("old_C", [(" + M * N)", " + 2 * M * N)")], OLD_C),
        ("C_alone", [(_BYTES, "4 * M * N")], C_ALONE),
        ("for_each_product", [(_BYTES, "4 * (2 * M * N * K + M * N)")], FOR_EACH_PRODUCT),
        ("sum", [("max(arithmetic, memory)", "arithmetic + memory")],
         "Memory and arithmetic work at the same time: the longer one counts, not the sum."),
        ("smaller", [("max(", "min(")], "Both have to be finished: the longer one counts, not the shorter."),
        ("arithmetic_alone", [("max(arithmetic, memory)", "arithmetic")], NO_BYTES),
        ("memory_alone", [("max(arithmetic, memory)", "memory")], NO_OPERATIONS),
        ("seconds", [("/ 1e6", "/ 1e9")], UNITS[1e-3]),
        ("microseconds", [("/ 1e6", "/ 1e3")], UNITS[1e3]),
        ("nanoseconds", [(" / 1e6", "")], UNITS[1e6]),
        ("units_multiplied", [("/ 1e6", "* 1e6")], UNITS[1e12]),
        ("divided_by_1000_again", [("/ 1e6", "/ 1e12")], UNITS[1e-6]),
        ("speeds_exchanged", [("K / gpu.peak_fp32_gflops", "K / gpu.memory_gb_per_s"),
                              ("M * N) / gpu.memory_gb_per_s", "M * N) / gpu.peak_fp32_gflops")],
         "Peak and bandwidth are exchanged: operations must be divided by the peak, and bytes by the bandwidth."),
        ("no_brackets", [("4 * (M * K + K * N + M * N) /", "4 * M * K + K * N + M * N /")],
         "* and / come before +: the sum of the three matrices belongs in brackets."),
        ("always_an_h200", [("gpu.peak_fp32_gflops", repr(_GPU.peak_fp32_gflops)),
                            ("gpu.memory_gb_per_s", repr(_GPU.memory_gb_per_s))],
         ONE_GPU),
    )
)  # fmt: skip

Count = Callable[[int, int, int], float]


@dataclass(frozen=True)
class Limit:
    """One of the two times, which a function gives alone on a GPU whose other speed has no end.

    gpu: that GPU.  slow: one whose other speed is next to nothing.  speed: of both, in 10⁹ a second.  right: what is
    divided by the speed.  counts: known wrong ones, and why.  missing: said of a function without this time.
    other_speed: the one without end.
    """

    what: str
    gpu: devices.Device
    slow: devices.Device
    speed: float
    right: Count
    counts: tuple[tuple[str, Count], ...]
    missing: str
    other_speed: str


OPERATIONS = Limit(
    "operations",
    replace(_GPU, memory_gb_per_s=math.inf),
    replace(_GPU, memory_gb_per_s=1e-9),
    _GPU.peak_fp32_gflops,
    flops,
    (
        (ONE_OPERATION, lambda M, N, K: M * N * K),
        ("The operations lack the factor N: C has M · N elements.", lambda M, N, K: 2 * M * K),
        ("The operations lack the factor M: C has M · N elements.", lambda M, N, K: 2 * N * K),
        ("The operations lack the factor K: each element takes K products.", lambda M, N, K: 2 * M * N),
        ("C has M · N elements, not M + N.", lambda M, N, K: (M + N) * K),
        ("C has M · N elements, not M + N.", lambda M, N, K: 2 * (M + N) * K),
        ("Each product is 2 operations, and you count 8.", lambda M, N, K: 8 * M * N * K),
        ("Each product is 2 operations, and you count 4: a factor of 2 too many.", lambda M, N, K: 4 * M * N * K),
        ("The first product is added, too, to 0: K additions for each element.", lambda M, N, K: M * N * (2 * K - 1)),
        ("The matrices need not be square: M · N · K, not M³.", lambda M, N, K: 2 * M**3),
        ("The matrices need not be square: M · N · K, not N³.", lambda M, N, K: 2 * N**3),
    ),
    NO_OPERATIONS,
    "bandwidth",
)
BYTES = Limit(
    "bytes",
    replace(_GPU, clock_mhz=math.inf),  # type: ignore[arg-type]
    replace(_GPU, clock_mhz=1e-9),  # type: ignore[arg-type]
    _GPU.memory_gb_per_s,
    lambda M, N, K: 4 * (M * K + K * N + M * N),
    (
        (FLOATS, lambda M, N, K: M * K + K * N + M * N),
        (NOT_C, lambda M, N, K: 4 * (M * K + K * N)),
        (OLD_C, lambda M, N, K: 4 * (M * K + K * N + 2 * M * N)),
        (C_ALONE, lambda M, N, K: 4 * M * N),
        (FOR_EACH_PRODUCT, lambda M, N, K: 4 * (2 * M * N * K + M * N)),
        ("The 4 multiplies the floats of A alone: it belongs to the sum of all three.",
         lambda M, N, K: 4 * M * K + K * N + M * N),
        ("That is 5 · M · N + K · N bytes: A has M · K floats, B K · N and C M · N, of 4 bytes each.",
         lambda M, N, K: 4 * M * N + K * N + M * N),
        ("That is 4 · (2 · M · N + K · N) bytes: A has M · K floats.", lambda M, N, K: 4 * (M * N + K * N + M * N)),
        ("That is 2 · M · N + K · N bytes: A has M · K floats, and each float 4 bytes.",
         lambda M, N, K: M * N + K * N + M * N),
        ("That is 4 · (2 · M · K + M · N) bytes: B has K · N floats.", lambda M, N, K: 4 * (M * K + K * M + M * N)),
        ("A matrix of M rows and K columns has M · K floats, not M + K.", lambda M, N, K: M + N + K),
        ("A matrix of M rows and K columns has M · K floats, not M + K.", lambda M, N, K: 4 * (M + N + K)),
        ("A matrix of M rows and K columns has M · K floats, not M + K.", lambda M, N, K: 8 * (M + N + K)),
        ("That is twice the bytes: a float has 4, and moves once.", lambda M, N, K: 8 * (M * K + K * N + M * N)),
        ("That is 8 times the bytes: a float has 4. 32 are its bits.", lambda M, N, K: 32 * (M * K + K * N + M * N)),
        ("That is half of the bytes: a float has 4.", lambda M, N, K: 2 * (M * K + K * N + M * N)),
        ("Three matrices move, and none has M · N · K floats.", lambda M, N, K: 4 * M * N * K),
    ),
    NO_BYTES,
    "peak",
)  # fmt: skip
PROBED = ((96, 80, 64), (7, 11, 13), (4096, 1, 4096), (1, 5, 3), (2**20, 2**20, 2**20))  # M, N, K


def _probed(function: Callable[..., Any]) -> tuple[str, ...]:
    """What is wrong with each of the two times, taken alone; () if both are right, or if they cannot be had alone."""
    given = [_probes(function, gpu) for gpu in (_GPU, devices.get("NVIDIA H20"), OPERATIONS.gpu, BYTES.gpu)]
    if not all(isinstance(time, int | float) for times in given for time in times) or not any(given[2] + given[3]):
        return ()
    if given[0] == given[1] == given[2] == given[3]:
        return (ONE_GPU,) if len(set(given[0])) > 1 else ()
    finite = all(map(math.isfinite, given[2] + given[3]))
    if finite and given[0] != [max(times) for times in zip(given[2], given[3], strict=True)]:
        return ()  # then the two times are not all that there is
    each = [_judged_alone(limit, times) for limit, times in zip((OPERATIONS, BYTES), given[2:], strict=True)]
    units = [unit for unit, _ in each]
    if units[0] == units[1] in UNITS:
        return (UNITS[units[0]], *(why for _, why in each if why))
    reasons = []
    for limit, (unit, why) in zip((OPERATIONS, BYTES), each, strict=True):
        reasons += [f"The time of the {limit.what}: {UNITS[unit][0].lower()}{UNITS[unit][1:]}"] if unit in UNITS else []
        reasons += [why] if why else []
    if reasons or None not in units:
        return tuple(reasons)
    if units == [None, None]:
        return ()
    wrong = OPERATIONS if units[0] is None else BYTES
    if given[0] == _probes(function, wrong.gpu) == _probes(function, wrong.slow):
        here = [roofline.fastest_time(_GPU, *shape).ms for shape in PROBED]
        if not all(map(math.isclose, given[0], here)):  # then it is not what is wrong on this GPU
            return ()
        return (f"With a {wrong.other_speed} without end the time is the same: take the {wrong.other_speed} from gpu.",)
    return (f"On a GPU whose {wrong.other_speed} has no limit, your function's time is not that of the {wrong.what}.",)


def _probes(function: Callable[..., Any], gpu: devices.Device) -> list[Any]:
    """The answers for PROBED on a GPU."""
    return list(answers_of(function, [Case((gpu, *shape), 0, "", "") for shape in PROBED]))


def _judged_alone(limit: Limit, times: Sequence[float]) -> tuple[float | None, str]:
    """(how many times what it should be in milliseconds, why its amount is wrong); None for what is not known."""
    if not any(times):
        return 1.0, limit.missing
    if all(math.isinf(time) for time in times):
        return 1.0, (
            f"With a {limit.other_speed} without end your time has no end, either. An amount divided by a speed is a "
            "time."
        )
    for unit in (1.0, *UNITS):
        for why, count in (("", limit.right), *limit.counts):
            due = [unit * count(*shape) / limit.speed / 1e6 for shape in PROBED]
            if all(math.isclose(time, other, rel_tol=1e-9) for time, other in zip(times, due, strict=True)):
                return unit, why
    return None, ""


TELLING = (
    (_GPU, VECTOR), (_GPU, (4096, 4096, 4096)), (_GPU, (4096, 4096, 16)), (_GPU, (2048, 512, 128)),
    (_GPU, (1, 4096, 4096)), (_GPU, (96, 80, 64)), (devices.get("NVIDIA H20"), (4096, 4096, 4096)),
    (devices.get("RTX 6000 Ada"), (4096, 4096, 128)),
)  # fmt: skip


def _case(gpu: devices.Device, shape: tuple[int, int, int]) -> Case:
    floor = roofline.fastest_time(gpu, *shape)
    return Case(
        (gpu, *shape),
        floor.ms,
        f"M, N, K = {', '.join(map(str, shape))} on the {gpu.short}",
        f"the least time is {floor.ms:.6g} ms",
        f"The operations take {floor.compute_ms:.4g} ms, the bytes {floor.memory_ms:.4g} ms.",
    )


FUNCTION_CASES = tuple(_case(gpu, shape) for gpu, shape in TELLING)

LEAST_TIME = FunctionExercise(
    **texts.of("01", "roof_function"),
    difficulty=2,
    variable="least_ms",
    starter=EMPTY,
    solved=WRITTEN,
    because="Both limits are amounts divided by speeds; 10⁹ per second are 10⁶ per millisecond.",
    judge=lambda function: judged(
        function,
        FUNCTION_CASES,
        MISTAKES,
        f"The least time is right for {len(FUNCTION_CASES)} shapes on 3 GPUs: matrix times vector, squares, flat ones.",
        _probed,
    ),
    wrong=tuple(WrongValue(version, because) for version, because in MISTAKES),
)


# --- where arithmetic takes over

RIDGE = roofline.ridge_point(_GPU)
SMALLEST = math.ceil(6 * RIDGE)  # 2·n³ operations over 3·n² floats of 4 bytes are n / 6 FLOP per byte
BECAUSE_SMALLEST = (
    f"2·n³ / (3·n² · 4 bytes) = n / 6 FLOP per byte. The roof bends at {RIDGE:.1f} FLOP per byte: n / 6 ≥ {RIDGE:.1f} "
    f"from n = {SMALLEST} on."
)
SMALLEST_SLIPS = (
    Slip(SMALLEST - 1, f"n / 6 is still a little less than {RIDGE:.2f} there."),
    *(
        Slip(ridge, "That is about the intensity at which the roof bends. Which n has this intensity?")
        for ridge in (math.ceil(RIDGE), round(RIDGE, 1), round(RIDGE, 2))
    ),
    Slip(math.ceil(4 * RIDGE), "That would be with two matrices: A and B are read, and C is written."),
    Slip(math.ceil(1.5 * RIDGE), "That would be with floats in place of bytes. Each float has 4."),
    *(
        Slip(rounded(12 * RIDGE), "That would be with n³ operations: each step is a multiplication and an addition.")
        for rounded in (math.ceil, math.floor)
    ),
    Slip(math.ceil(8 * RIDGE), "That would be with four matrices: C is written, and the old one is not read."),
)

SMALLEST_SQUARE = ValueExercise(
    **texts.of("01", "smallest_square"),
    difficulty=3,
    variable="smallest_n",
    starter=None,
    solved=SMALLEST,
    because=BECAUSE_SMALLEST,
    judge=lambda n: check_number(n, SMALLEST, because=BECAUSE_SMALLEST, slips=SMALLEST_SLIPS),
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in SMALLEST_SLIPS),
)


PREDICTIONS = (predict_flops, predict_lines, predict_slack)
QUESTIONS = ()
EXERCISES = (ORDER_OF_LOOPS, LEAST_TIME, SMALLEST_SQUARE)
