"""Exercises of notebook 07, reading a profile: what shrinks, which change helps, and a kernel to mend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

import gpusim
from gpusim import Kernel, devices
from helpers import cycles, run
from helpers.cycles import TITLES
from helpers.exercises.framework import functions, goals, texts
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.functions import FunctionExercise, Version, judged
from helpers.exercises.framework.pictures import Drawn
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case, Guess, Problem, Setup, blocks, values
from helpers.exercises.framework.values import ValueExercise, WrongValue
from helpers.measure import profiled
from helpers.pictures import theme
from helpers.pictures.budget import facts as budget
from helpers.pictures.budget.facts import Budget
from helpers.pictures.budget.figure import budgets_figure
from helpers.pictures.host_timeline import facts as host_timeline
from helpers.pictures.host_timeline.figure import timelines_figure
from helpers.pictures.warp_states.facts import WarpStates, states_of

H200 = devices.DEFAULT
BEFORE, AFTER = "shared_memory", "block_tile_2d"

# --- by hand

LETTERS = {"F": "fma", "I": "other", "l": "long_scoreboard", "b": "barrier", "w": "wait", "n": "not_selected"}
BY_HAND = ("IllllllllllFFnnF", "nFnFnFbbbbbbbFwn", "nnFnFnFbbbbbbnFw")


def by_hand() -> WarpStates:
    """Sixteen cycles of a scheduler with three warps, made up so that they can be counted."""
    return states_of(LETTERS, BY_HAND)


# --- the share of a reason, as a function

_SIGNATURE = "def cycles_for(reason, cycles, issued, closed, samples):"
EMPTY = Version(
    "starter",
    f"""{_SIGNATURE}
    # 1. In how many cycles does every warp wait? In the others something is issued,
    #    or the way into the core is closed.
    # 2. How many samples are there, for all reasons together?
    # 3. The share that this reason has of those cycles. Without samples it is 0.
    return None""",
)
WRITTEN = Version(
    "solution",
    f"""{_SIGNATURE}
    waiting = cycles - issued - closed
    together = sum(samples.values())
    return waiting * samples[reason] / together if together else 0""",
)
MISTAKES: tuple[tuple[Version, str], ...] = tuple(
    (WRITTEN.replace(name, *changes), because)
    for name, changes, because in (
        ("all_cycles", [(" - issued - closed", "")],
         "You share out all cycles. Those in which an instruction is issued are accounted for already."),
        ("issued_cycles", [("cycles - issued - closed", "issued")],
         "You share out the cycles in which something is issued: those need no explanation."),
        ("closed_too", [(" - closed", "")],
         "The cycles in which the way into the core is closed are accounted for already: take them off, too."),
        ("only_closed", [(" - issued", "")],
         "The cycles in which an instruction is issued are accounted for already: take them off, too."),
        ("a_share", [("waiting * samples", "samples")],
         "That is the share, a number between 0 and 1. How many cycles are they?"),
        ("per_reason", [("waiting * samples[reason] / together", "waiting / len(samples)")],
         "You give every reason the same number of cycles. There are more samples of one reason than of another."),
        ("others", [("samples[reason] / together", "(together - samples[reason]) / together")],
         "Those are the cycles of all the other reasons."),
        ("closed_added", [("- closed", "+ closed")],
         "You add the cycles in which the way into the core is closed. They are accounted for already: take them off."),
        ("nothing_sampled", [(" if together else 0", "")],
         "You divide by a number that is 0 for a kernel that never waits: ask for that first, and return 0."),
        ("whole_cycles", [("/ together", "// together")],
         "You leave out the fractions of cycles. A reason may well have a third of a cycle."),
        ("rounded", [("waiting * samples[reason] / together", "round(waiting * samples[reason] / together)")],
         "You round to whole cycles. A reason may well have a third of a cycle."),
        ("never_divided", [(" / together", "")],
         "You multiply by the samples of the reason. Its share is that number divided by all samples together."),
        ("number_of_reasons", [("sum(samples.values())", "len(samples)")],
         "You divide by the number of reasons. All samples together are the sum of samples.values()."),
        ("without_its_own", [("sum(samples.values())", "sum(samples.values()) - samples[reason]")],
         "You divide by the samples of the other reasons. All samples together are the reason's own, too."),
        ("of_the_largest", [("sum(samples.values())", "max(samples.values())")],
         "You divide by the samples of the most frequent reason: divide by all samples together."),
        ("of_the_cycles", [("/ together", "/ cycles")],
         "You divide by cycles. The share of a reason is its part of the samples: divide by all samples together."),
        ("a_sample_a_cycle", [("waiting * samples[reason] / together", "samples[reason]")],
         "That is a number of samples. Not every cycle is sampled, and sometimes several warps are."),
    )
)  # fmt: skip


@cache
def share_cases() -> tuple[functions.Case, ...]:
    """The example by hand, then kernels of the ladder as Nsight Compute counted them, and one that never waits."""
    small = by_hand()
    asked: list[tuple[str, float, float, float, Mapping[str, float]]] = [
        ("the sixteen cycles of step 2", small.cycles, small.cycles - small.idle, 0, small.waits_while_idle)
    ]
    for name in (BEFORE, "block_tile_1d", AFTER):
        counted = budget.counted(name)
        asked.append((name, counted.cycles, counted.issued, counted.dispatch, dict(counted.samples)))
    cases = []
    for name, cycles_, issued, closed, samples in asked:
        for reason in ("long_scoreboard", "barrier"):
            right = budget.shared_out(cycles_ - issued - closed, samples)[reason]
            arguments = (reason, cycles_, issued, closed, samples)
            cases.append(functions.Case(arguments, right, f"{name}, {TITLES[reason]}", f"{right:,.2f} cycles"))
    never = ("barrier", 100, 100, 0, {"barrier": 0, "wait": 0})
    return (*cases, functions.Case(never, 0, "a scheduler that issues in every cycle", "0 cycles"))


SHARE = FunctionExercise(
    **texts.of("07", "share_of_cycles"),
    difficulty=1,
    variable="cycles_for",
    starter=EMPTY,
    solved=WRITTEN,
    because="The cycles in which every warp waits, times the reason's share of the samples.",
    judge=lambda function: judged(
        function, share_cases(), MISTAKES, "Your function gives the parts of the example and of three recorded kernels."
    ),
    wrong=tuple(WrongValue(version, because) for version, because in MISTAKES),
)


# --- four unknown kernels

UNKNOWN = profiled.source("unknown")


def unknown_profiles() -> tuple[Budget, ...]:
    """The recorded profiles of the four, in hundredths of their time."""
    return tuple(budget.of_launch(name).scaled(100, "per cent of the time") for name in profiled.UNKNOWN)


CURES = {
    "A": ("fewer instructions for a unit that is scarce", ("math_pipe_throttle",)),
    "B": ("fewer reads from shared memory", ("mio_throttle", "short_scoreboard")),
    "C": ("work between two barriers for all warps", ("barrier",)),
    "D": ("more loads from global memory on the way", ("long_scoreboard", "lg_throttle")),
}


def cure(profile: Budget) -> str:
    """The letter of what helps most."""
    return max(CURES, key=lambda letter: sum(profile.waits.get(reason, 0) for reason in CURES[letter][1]))


def _drawn_unknown(_: object) -> theme.Figure:
    profiles = unknown_profiles()
    return budgets_figure(
        profiles,
        "Four kernels",
        f"Each bar is the whole time of a launch; FMAs are all that their pipe executes ({profiles[0].label}).",
    )


def _judge_cures(answer: object) -> Verdict:
    names = tuple(profiled.UNKNOWN)
    if not isinstance(answer, Mapping) or set(answer) != set(names):
        return Verdict(False, f"The answer is a dict with a letter for each of {', '.join(names)}.")
    if any(letter not in (*CURES, None) for letter in answer.values()):
        return Verdict(False, f"Each letter is one of the capitals {', '.join(CURES)}, in quotation marks.")
    if None in answer.values():
        return Verdict(None, "Not answered yet: put a letter in place of each None and run the cell again.")
    for profile in unknown_profiles():
        if answer[profile.name] != cure(profile):
            words, reasons = CURES[answer[profile.name]]
            gained = sum(profile.waits.get(reason, 0) for reason in reasons)
            titles = " and ".join(TITLES[reason] for reason in reasons)
            return Verdict(
                False, f"Kernel {profile.name}: {answer[profile.name]}, {words}, aims at {titles}, "
                f"{gained:.0f} % of its time. Its longest wait is {TITLES[profile.largest]}."
            )  # fmt: skip
    return Verdict(True, "Right, all four: what is largest, and what makes it smaller.")


FOUR_KERNELS = ValueExercise(
    **texts.of("07", "four_kernels", changes="; ".join((f"{letter}: {words}" for letter, (words, _) in CURES.items()))),
    difficulty=1,
    variable="my_answer",
    starter=dict.fromkeys(profiled.UNKNOWN),
    solved={"one": "B", "two": "D", "three": "A", "four": "C"},
    because="one reads a column of a tile, two follows a chain of loads, three shifts and "
    "combines bits, for which there are half as many units as for FMAs, and in four "
    "a single thread works between two barriers.",
    judge=_judge_cures,
    wrong=(
        WrongValue({"one": "D", "two": "B", "three": "A", "four": "C"}, "Its longest wait is Short Scoreboard"),
        WrongValue({"one": "B", "two": "A", "three": "D", "four": "C"}, "Its longest wait is Long Scoreboard"),
        WrongValue({"one": "B", "two": "D", "three": "C", "four": "A"}, "Its longest wait is Math Pipe Throttle"),
        WrongValue({"one": "B", "two": "D", "three": "A", "four": "A"}, "Its longest wait is Barrier"),
        WrongValue({"one": "A", "two": "B", "three": "C", "four": "D"}, "Its longest wait is Short Scoreboard"),
        WrongValue({"one": "A", "two": "B", "three": "C"}, "a letter for each of one, two, three, four"),
        WrongValue(
            {"one": "A", "two": "B", "three": "C", "four": "E"}, "Each letter is one of the capitals A, B, C, D"
        ),
    ),
    picture=_drawn_unknown,
)


# --- what shrinks

GROUPS: Mapping[str, tuple[str, ...]] = {
    "cycles that issue FMAs": ("fma",),
    "cycles that issue other instructions": ("other",),
    "waiting for shared memory": ("short_scoreboard", "mio_throttle"),
    "waiting for global memory": ("long_scoreboard", "lg_throttle"),
}


def saved(group: str) -> float:
    """Cycles of a k-step by which a part shrinks from BEFORE to AFTER, as recorded."""
    before, other = (budget.k_step(name).parts for name in (BEFORE, AFTER))
    return sum(before.get(name, 0) - other.get(name, 0) for name in GROUPS[group])


def patch_bars() -> theme.Figure:
    """A k-step of the kernels from BEFORE to AFTER, as recorded."""
    steps = [budget.k_step(name) for name in (BEFORE, "block_tile_1d", AFTER)]
    first, *_, last = steps
    caption = (
        f"A k-step of {last.name} takes {last.total:.0f} cycles, one of {first.name} {first.total:.0f}; the FMAs take "
        f"{budget.K_STEP} in each ({last.label})."
    )
    return budgets_figure(steps, "Where the cycles of a k-step go", caption, budget.K_STEP)


def predict_shrinking() -> Prediction:
    """Which part of a k-step shrinks most from one thread per element to a patch of 8 × 8? The answer was recorded."""
    fmas, other, shared, far = (f"{abs(saved(group)):.0f}" for group in GROUPS)
    return predict(
        f"From {BEFORE} to {AFTER} each thread gets 64 sums instead of one. Which part of the bar shrinks by the most "
        "cycles?",
        reasons={
            "cycles that issue FMAs": f"By {fmas}: both kernels compute the same products, and each takes its place.",
            "cycles that issue other instructions": f"By {other}, and that is much: fewer loads, fewer addresses. But "
            "each of these loads also had to wait for its place in a queue.",
            "waiting for shared memory": f"By {shared}: fewer loads, so the queue to shared memory is "
            "hardly ever full any more.",
            "waiting for global memory": f"By {far} only: the tiles come from the same place as before.",
        },
        answer=max(GROUPS, key=saved),
        picture=patch_bars,
    )


# --- a kernel of another kind: the sums of the columns of a matrix

SLOW, EIGHT_SUMS = profiled.source("slow"), profiled.source("eight_sums")
M, N = profiled.M, profiled.N  # of the matrix whose columns are added up
SIZES = f"{M} × {N}"
BLOCK, LARGE = 32, 256  # threads of a block of SLOW, and of a larger one
WIDE, TALL = 32, 32  # columns and threads for each column, of a block of the mended kernel
LARGE_BLOCKS = f"blocks of {LARGE} threads"
EIGHT, SHARED_OUT = "eight sums for each thread", f"{TALL} threads for each column"
CHANGES = {"as it is": "as it is", LARGE_BLOCKS: "large blocks", EIGHT: "eight sums", SHARED_OUT: "shared out"}


@cache
def caught(source: str, block: tuple[int, ...]) -> gpusim.Captured:
    """A launch that adds up the columns of a matrix (M, N), not executed.

    block: its threads along x, which is the number of its columns, and along y.
    """
    kernel = run.simulated(source, "column_sums")
    A, sums = np.zeros((M, N), np.float32), np.zeros(N, np.float32)
    with gpusim.capture() as captured:
        run.call(kernel, (blocks(N, block[0]),), block, (np.int32(M), np.int32(N), A, sums), 0)
    return captured[0]


@cache
def predicted(source: str, block: tuple[int, ...]) -> cycles.Prediction:
    """What such a launch is predicted to take."""
    return cycles.predict(caught(source, block))


def microseconds(source: str, block: tuple[int, ...], name: str) -> Budget:
    """The same as parts of its time."""
    prediction = predicted(source, block)
    return budget.predicted(prediction, name).scaled(prediction.ms * 1e3, "microseconds")


def changes() -> tuple[Budget, ...]:
    """The slow kernel and what three changes make of it, as recorded."""
    return tuple(budget.named(budget.of_launch(recorded), name) for name, recorded in CHANGES.items())


def _drawn_changes() -> theme.Figure:
    predictions = changes()
    slow, *_, mended = predictions
    return budgets_figure(
        predictions,
        f"Column sums of a {SIZES} matrix",
        f"{SHARED_OUT.capitalize()}: {mended.total:.0f} µs in place of {slow.total:.0f} µs ({slow.label}).",
    )


def _for_global_memory(launch: Budget) -> str:
    return f"{launch.parts['long_scoreboard']:.0f}"


def predict_change() -> Prediction:
    """Which of three changes makes the column sums fastest? The answer was recorded."""
    slow, large, eight, mended = changes()
    return predict(
        "Which of these changes makes the column sums much faster?",
        reasons={
            LARGE_BLOCKS: f"{large.total:.0f} µs in place of {slow.total:.0f}: an SM gets eight times as many warps, "
            "but only an eighth of the SMs gets any. The threads are the same, and so are the loads on the way.",
            EIGHT: f"{eight.total:.0f} µs: the compiler had already put more than eight loads side by side. With its "
            f"loop for this kernel a scheduler waits {_for_global_memory(eight)} µs for global memory on average, in "
            f"place of {_for_global_memory(slow)}.",
            SHARED_OUT: f"{mended.total:.0f} µs: 32 times as many threads, so that more loads are on the way while "
            "each of them waits.",
        },
        answer=min((LARGE_BLOCKS, large), (EIGHT, eight), (SHARED_OUT, mended), key=lambda pair: pair[1].total)[0],
        picture=_drawn_changes,
    )


# M, N, launches. TALL rows for each thread are enough for TALL * TALL of them; the last matrix has more.
SHAPES = ((64, 32, 1), (50, 37, 1), (5, 64, 2), (101, 3, 1), (33, 70, 1), (1, 1, 1), (TALL * TALL + 6, 5, 1))


@dataclass(frozen=True)
class ColumnSums:
    """sums (N): the columns of A (M, N) added up, by blocks of WIDE × TALL threads."""

    entry: str = "column_sums"
    output: str = field(default="sums", init=False)
    scalars: tuple[str, ...] = field(default=(), init=False)
    tile: tuple[int, int] = field(default=(1, WIDE), init=False)
    block: tuple[int, int] = field(default=(WIDE, TALL), init=False)
    cases: tuple[Case, ...] = tuple(
        Case({"M": rows, "N": columns}, launches=launches) for rows, columns, launches in SHAPES
    )

    def prepare(self, case: Case) -> Setup:
        rows, columns = case.sizes["M"], case.sizes["N"]
        A = values(rows, columns, 1)
        sums = np.full(columns, np.nan, np.float32)
        expected = A.sum(axis=0, dtype=np.float64).astype(np.float32)
        args = (np.int32(rows), np.int32(columns), A, sums)
        return Setup((blocks(columns, WIDE),), self.block, 0, args, sums, expected)

    def index(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return index

    def as_matrix(self, output: np.ndarray) -> np.ndarray:
        return output.reshape(1, -1)

    def guesses(self) -> Iterator[Guess]:
        return iter(())


def _drawn_profile(kernel: Kernel, problem: Problem, title: str) -> theme.Figure:
    """The slow kernel's time above the learner's."""
    slow = microseconds(SLOW, (BLOCK,), "as it was")
    mine = microseconds(kernel.compiled.source, (WIDE, TALL), title)
    caption = (
        f"{title.capitalize()} takes {mine.total:.0f} µs, the one that you began with {slow.total:.0f} µs: "
        f"{slow.total / mine.total:.1f} times as fast ({mine.label})."
    )
    return budgets_figure((slow, mine), f"Column sums of a {SIZES} matrix", caption)


MOST_MICROSECONDS = 20

COLUMN_SUMS = Blank(
    **texts.of("07", "column_sums", tall=TALL, wide=WIDE, most_microseconds=MOST_MICROSECONDS, sizes=SIZES),
    difficulty=2,
    problem=ColumnSums(),
    picture=Drawn(_drawn_profile),
    goals=(goals.predicted_us(predicted, (WIDE, TALL), MOST_MICROSECONDS, f"{SIZES}"), goals.stored_once()),
    judged=Case({"M": 64, "N": 64}),
    wrong=(
        Wrong("one_column", "Every block takes the first 32 columns: block number blockIdx.x begins at column "
              "blockIdx.x * WIDE."),
        Wrong("all_rows", f"Every thread of a column adds up all of its rows, so each float is counted {TALL} times: "
              "thread y has every TALL-th row, from row y on."),
        Wrong("neighbouring_rows", "M / TALL is rounded down: where M is no multiple of TALL, the last rows of A "
              "belong to no thread."),
        Wrong("no_edge", "Where N is no multiple of WIDE, the last block has threads beyond column N: in the last "
              "row of A they read past its end."),
        Wrong("step_by_width", "From one row of A to the next it is N floats, not M."),
        Wrong("one_row_each", "Each thread takes one row only: the rows from TALL on are missing."),
        Wrong("some_rows_each", "Each thread takes TALL rows only: those from TALL * TALL on belong to no thread.",
              (("int row = y; row < M; row += TALL",
                "int row = y * TALL; row < (y + 1) * TALL && row < M; ++row"),)),
        Wrong("one_thread", "Right, but thread y = 0 adds up the whole column, and the other threads load nothing."),
        Wrong("no_barrier", "Thread y = 0 may read parts that other warps have not stored yet: a barrier belongs in "
              "between."),
        Wrong("rows_of_others", "Thread y goes on with row y + 1, which is the next thread's: from one of its rows to "
              "the next it is TALL rows.", (("row += TALL", "++row"),)),
        Wrong("one_part_for_a_row", "parts has one float for each y, and the WIDE columns of the block all store into "
              "it: each column needs TALL parts of its own.",
              (("parts[TALL][WIDE]", "parts[TALL]"), ("parts[y][x]", "parts[y]"), ("parts[part][x]", "parts[part]"))),
        Wrong("traded", "The parts are stored with their two indices in one order, and read with them in the other."),
        Wrong("own_part", "Each thread stores its own part as the sum of the column, and one of them stays: add the "
              "parts first."),
        Wrong("one_part_short", "Part 0 is not added: thread y = 0 has a part, too."),
    ),
)  # fmt: skip


# --- the seven steps on one axis of time


def timelines() -> theme.Figure:
    """The seven steps of a multiplication in two ways, as recorded."""
    single, several = map(host_timeline.recorded, (host_timeline.ONE_STREAM, host_timeline.SEVERAL_STREAMS))
    lengths, kernel = f"From {single.length:.0f} to {several.length:.1f} ms", f"{_of_kernel(single):.1f} ms"
    caption = f"{lengths}, although the kernel alone takes {kernel} ({single.label})."
    return timelines_figure([single, several], "The seven steps of a multiplication", caption)


def _of_kernel(timeline: host_timeline.Recorded) -> float:
    return sum(span.end - span.start for span in timeline.of("kernel"))


def predict_faster_kernel() -> Prediction:
    """What a kernel twice as fast saves of the seven steps in one stream. The answer was recorded."""
    single = host_timeline.recorded(host_timeline.ONE_STREAM)
    kernel = _of_kernel(single)
    options = {
        f"{single.length / 2:.0f} ms": "That would be so if the kernel were all of it. What else happens between "
        "two NumPy arrays?",
        f"{0.75 * single.length:.0f} ms": "That needs a kernel that takes half of the time. The copies take most of "
        "it.",
        f"{single.length - kernel / 2:.0f} ms": f"The kernel takes {kernel:.1f} of {single.length:.0f} ms; half of "
        "that is saved. Nearly all of the time is copying.",
    }
    return predict(
        f"Two {host_timeline.SIZE} × {host_timeline.SIZE} matrices are copied to the GPU, multiplied, and the product "
        f"is copied back: {single.length:.0f} ms with ordinary NumPy arrays. With a kernel twice as fast it takes "
        "about",
        reasons=options,
        answer=f"{single.length - kernel / 2:.0f} ms",
        picture=timelines,
    )


PREDICTIONS = (predict_shrinking, predict_change, predict_faster_kernel)
QUESTIONS = ()
EXERCISES = (SHARE, FOUR_KERNELS, COLUMN_SUMS)
