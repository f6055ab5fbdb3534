"""Exercises of notebook 07, reading a profile: what shrinks, which change helps, and a kernel to mend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from helpers import cycles, devices, run, simulator
from helpers.analysis import budget
from helpers.analysis.budget import NAMES, Budget
from helpers.analysis.warp_states import WarpStates, states_of
from helpers.draw import theme
from helpers.draw.budget import budgets_figure
from helpers.exercises.framework import functions, goals
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.functions import FunctionExercise, Version, judged
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case, Guess, Problem, Setup, blocks, values
from helpers.exercises.framework.values import ValueExercise, WrongValue
from helpers.simulator import Kernel

H200 = devices.DEFAULT
BEFORE, AFTER = "shared_memory", "block_tile_2d"

# --- by hand

LETTERS = {"F": "fma", "I": "other", "l": "long_scoreboard", "b": "barrier", "w": "wait", "n": "not_selected"}
BY_HAND = ("IllllllllllFFnnF", "nFnFnFbbbbbbbFwn", "nnFnFnFbbbbbbnFw")


def by_hand() -> WarpStates:
    """Sixteen cycles of a scheduler with three warps, made up so that they can be counted."""
    return states_of(LETTERS, BY_HAND)


# --- the share of a reason, as a function

_SIGNATURE = "def cycles_for(reason, cycles, issued, warps):"
EMPTY = Version(
    "starter",
    f"""{_SIGNATURE}
    # 1. In how many cycles is nothing issued?
    # 2. How many warps wait, for all reasons together? Those that are "selected" or
    #    "not_selected" do not wait.
    # 3. The share that this reason has of these cycles. Without waiting warps it is 0.
    return None""",
)
WRITTEN = Version(
    "solution",
    f"""{_SIGNATURE}
    idle = cycles - issued
    waiting = sum(warps[one] for one in warps if one not in ("selected", "not_selected"))
    return idle * warps[reason] / waiting if waiting else 0""",
)
MISTAKES: tuple[tuple[Version, str], ...] = tuple(
    (WRITTEN.replace(name, *changes), because)
    for name, changes, because in (
        ("all_cycles", [("idle = cycles - issued", "idle = cycles")],
         "You share out all cycles. Those in which an instruction is issued are accounted for already."),
        ("issued_cycles", [("idle = cycles - issued", "idle = issued")],
         "You share out the cycles in which something is issued: nobody has to explain those."),
        ("everybody", [('if one not in ("selected", "not_selected")', "")],
         "Warps that are selected, or ready and not selected, do not wait: leave both out of the sum."),
        ("selected_too", [('("selected", "not_selected")', '("not_selected",)')],
         "The warp that is selected issues; it does not wait. Leave it out of the sum."),
        ("ready_too", [('("selected", "not_selected")', '("selected",)')],
         "A warp that is not selected is ready, so it does not wait. Leave it out of the sum."),
        ("a_share", [("idle * warps", "warps")],
         "That is the share, a number between 0 and 1. How many cycles are they?"),
        ("per_reason", [("idle * warps[reason] / waiting", "idle / len(warps)")],
         "You give every reason the same number of cycles. More warps wait for one reason than for another."),
        ("others", [("warps[reason] / waiting", "(waiting - warps[reason]) / waiting")],
         "Those are the cycles of all the other reasons."),
    )
)  # fmt: skip


@cache
def share_cases() -> tuple[functions.Case, ...]:
    """The example by hand, then kernels of the ladder as Nsight Compute counted them, and one that never waits."""
    small = by_hand()
    warps = Counter(state for row in small.rows for state in row)
    states = {"selected": warps["fma"] + warps["other"], "not_selected": warps["not_selected"], **small.waits}
    found = [("the sixteen cycles of step 2", small.cycles, warps["fma"] + warps["other"], states)]
    for name in (BEFORE, "block_tile_1d", AFTER):
        one = budget.counted(name)
        found.append((name, one.cycles, one.issued, dict(one.stalls)))
    asked = [(*one, reason) for one in found for reason in ("long_scoreboard", "barrier")]
    asked.append(("a scheduler that issues in every cycle", 100, 100, {"selected": 1, "not_selected": 3, "barrier": 0},
                  "barrier"))  # fmt: skip
    cases = []
    for name, cycles_, issued, warps_, reason in asked:
        right = budget.shared_out(cycles_, issued, warps_).get(reason, 0)
        words = f"{name}, {NAMES[reason]}"
        cases.append(functions.Case((reason, cycles_, issued, warps_), right, words, f"{right:,.2f} cycles"))
    return tuple(cases)


SHARE = FunctionExercise(
    name="share_of_cycles",
    notebook="07",
    title="Write it: how many cycles does a reason cost?",
    difficulty=1,
    task="Write the rule of step 2 as a Python function, for any profile: cycles and issued are those of a scheduler, "
    "warps says how many warps were in which state, by its name. It returns the cycles without an instruction that "
    "belong to one reason.",
    hints=(
        "Begin with the cycles that are to be shared: those in which nothing is issued.",
        "warps also counts warps that do not wait, under the names selected and not_selected. The sum over all others "
        "is what the reason has a share of.",
        'idle = cycles - issued; waiting = sum(warps[one] for one in warps if one not in ("selected", '
        '"not_selected")); what is returned is idle * warps[reason] / waiting, or 0 if nobody waits.',
    ),
    variable="cycles_for",
    starter=EMPTY,
    solved=WRITTEN,
    because="The cycles in which nothing is issued, times the reason's share of the warps that wait.",
    judge=lambda function: judged(
        function, share_cases(), MISTAKES, "Your function gives the parts of the example and of three recorded kernels."
    ),
    wrong=tuple(WrongValue(version, because) for version, because in MISTAKES),
)


# --- four kernels that nobody has seen

UNKNOWN = """
extern "C" __global__ void one(int n, float *to) {
    __shared__ float tile[32 * 32];
    const int t = threadIdx.x;
    for (int i = t; i < 32 * 32; i += blockDim.x) tile[i] = i;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += tile[t % 32 * 32 + (i + t / 32) % 32];
    to[blockIdx.x * blockDim.x + t] = sum;
}

extern "C" __global__ void two(int n, const int *next, float *to) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < n; ++i) at = next[at];
    to[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

extern "C" __global__ void three(int n, float *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += __sinf(i + k) * __cosf(i + k);
    to[i] = sum;
}

extern "C" __global__ void four(int n, float *to) {
    __shared__ float shared;
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        if (threadIdx.x == 0) {
            float part = 0;
            for (int k = 0; k < 32; ++k) part = part * 0.5f + i;
            shared = part;
        }
        __syncthreads();
        sum += shared;
        __syncthreads();
    }
    to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""
UNKNOWN_LAUNCHES = {"one": 256, "two": 128, "three": 512, "four": 256}  # the kernel and its n
UNKNOWN_GRID, UNKNOWN_BLOCK = 4 * H200.sms, 256


@cache
def unknown_profiles() -> tuple[Budget, ...]:
    """The predicted profiles of the four, in hundredths of their time."""
    threads = UNKNOWN_GRID * UNKNOWN_BLOCK
    found = []
    for name, n in UNKNOWN_LAUNCHES.items():
        kernel = run.simulated(UNKNOWN, name)
        to = np.zeros(threads, np.float32)
        following = (np.arange(threads, dtype=np.int32) + 4096) % threads
        with simulator.capture() as caught_:
            args = (np.int32(n), following, to) if name == "two" else (np.int32(n), to)
            run.call(kernel, (UNKNOWN_GRID,), (UNKNOWN_BLOCK,), args, 0)
        found.append(budget.predicted(cycles.predict(caught_[0]), name).scaled(100, "per cent of the time"))
    return tuple(found)


CURES = {
    "A": ("fewer reads from shared memory", ("mio_throttle", "short_scoreboard")),
    "B": ("more loads from global memory on the way", ("long_scoreboard", "lg_throttle")),
    "C": ("fewer instructions for a unit that is scarce", ("math_pipe_throttle",)),
    "D": ("work between two barriers for all warps", ("barrier",)),
}


def cure(profile: Budget) -> str:
    """The letter of what helps most."""
    return max(CURES, key=lambda letter: sum(profile.waits.get(reason, 0) for reason in CURES[letter][1]))


def _drawn_unknown(_: object) -> theme.Figure:
    found = unknown_profiles()
    return budgets_figure(found, "Four kernels", f"Each bar is the whole time of a launch ({found[0].label}).")


def _judge_cures(answer: object) -> Verdict:
    names = tuple(UNKNOWN_LAUNCHES)
    if not isinstance(answer, Mapping) or set(answer) != set(names):
        return Verdict(False, f"The answer is a dict with a letter for each of {', '.join(names)}.")
    if any(letter not in (*CURES, None) for letter in answer.values()):
        return Verdict(False, f"Each letter is one of {', '.join(CURES)}, in quotation marks.")
    if None in answer.values():
        return Verdict(None, "Not answered yet: put a letter in place of each None and run the cell again.")
    for one in unknown_profiles():
        if answer[one.name] != cure(one):
            words, reasons = CURES[answer[one.name]]
            gained = sum(one.waits.get(reason, 0) for reason in reasons)
            told = " and ".join(NAMES[reason] for reason in reasons)
            return Verdict(
                False, f"{one.name}: {answer[one.name]}, {words}, touches {told}, and these are {gained:.0f} % of its "
                f"time. Most of what {one.name} waits for is {NAMES[one.largest]}."
            )  # fmt: skip
    return Verdict(True, "Right, all four: what is largest, and what makes it smaller.")


FOUR_KERNELS = ValueExercise(
    name="four_kernels",
    notebook="07",
    title="What helps these four?",
    difficulty=1,
    task="You have the profiles of four kernels, and not their sources. Which change helps which of them most? "
    + "; ".join(f"{letter}: {words}" for letter, (words, _) in CURES.items())
    + ". Each is right for one.",
    hints=(
        "Look for the largest part of each bar that is neither dark nor light slate.",
        "Purple is shared memory, blue is global memory, red is the other warps, orange is the core.",
        "Two of the colours are each in one bar only: the blue and the purple one. Of the other two bars, one is red.",
    ),
    variable="my_answer",
    starter=dict.fromkeys(UNKNOWN_LAUNCHES),
    solved={"one": "A", "two": "B", "three": "C", "four": "D"},
    because="one reads a column of a tile, two follows a chain of loads, three computes sines and cosines, and in four "
    "a single thread works between two barriers.",
    judge=_judge_cures,
    wrong=(
        WrongValue({"one": "B", "two": "A", "three": "C", "four": "D"}, "Most of what one waits for is MIO Throttle"),
        WrongValue(
            {"one": "A", "two": "C", "three": "B", "four": "D"}, "Most of what two waits for is Long Scoreboard"
        ),
        WrongValue({"one": "A", "two": "B", "three": "D", "four": "C"}, "what three waits for is Math Pipe Throttle"),
        WrongValue({"one": "A", "two": "B", "three": "C", "four": "C"}, "Most of what four waits for is Barrier"),
        WrongValue({"one": "A", "two": "B", "three": "C"}, "a letter for each of one, two, three, four"),
        WrongValue({"one": "A", "two": "B", "three": "C", "four": "E"}, "Each letter is one of A, B, C, D"),
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
    one, other = (budget.k_step(name).parts for name in (BEFORE, AFTER))
    return sum(one.get(name, 0) - other.get(name, 0) for name in GROUPS[group])


def patch_bars() -> theme.Figure:
    """A k-step of the kernels from BEFORE to AFTER, as recorded."""
    found = [budget.k_step(name) for name in (BEFORE, "block_tile_1d", AFTER)]
    first, *_, last = found
    caption = (
        f"A k-step of {last.name} takes {last.total:.0f} cycles, one of {first.name} {first.total:.0f}; the FMAs take "
        f"{budget.K_STEP} in each ({last.label})."
    )
    return budgets_figure(found, "Where the cycles of a k-step go", caption, budget.K_STEP)


def predict_shrinking() -> Prediction:
    """Which part of a k-step shrinks most from one thread per element to a patch of 8 × 8? The answer was recorded."""
    fmas, other, shared, far = (f"{saved(group):.0f}" for group in GROUPS)
    return predict(
        f"From {BEFORE} to {AFTER} each thread gets 64 sums instead of one. Which part of the bar shrinks by the most "
        "cycles?",
        reasons={
            "cycles that issue FMAs": f"By {fmas}: both kernels compute the same products, and each takes its place.",
            "cycles that issue other instructions": f"By {other}, and that is much: fewer loads, fewer addresses. But "
            "each of these loads also had to wait for its place in a queue.",
            "waiting for shared memory": f"By {shared}: an eighth of the loads, so the queue to shared memory is "
            "hardly ever full any more.",
            "waiting for global memory": f"By {far}, so it even grows a little: the tiles come from the same place as "
            "before, and there are fewer warps to fill the wait.",
        },
        answer=max(GROUPS, key=saved),
        picture=patch_bars,
    )


# --- a kernel of another kind: the sums of the columns of a matrix

SLOW = """
extern "C" __global__ void column_sums(int M, int N, const float *A, float *sums) {   // A: (M, N), sums: (N)
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= N) return;
    float sum = 0;
    for (int row = 0; row < M; ++row) sum += A[row * N + col];
    sums[col] = sum;
}
"""
EIGHT_SUMS = """
extern "C" __global__ void column_sums(int M, int N, const float *A, float *sums) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= N) return;
    float sum[8] = {};
    int row = 0;
    for (; row + 8 <= M; row += 8)
        for (int i = 0; i < 8; ++i) sum[i] += A[(row + i) * N + col];
    for (; row < M; ++row) sum[0] += A[row * N + col];
    sums[col] = sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}
"""
M, N = 2048, 4096  # of the matrix whose columns are added up
SIZES = f"{M} × {N}"
BLOCK, LARGE = 32, 256  # threads of a block of SLOW, and of a larger one
WIDE, TALL = 32, 32  # columns and threads for each column, of a block of the mended kernel
LARGE_BLOCKS = f"blocks of {LARGE} threads"
EIGHT, SHARED_OUT = "eight sums for each thread", f"{TALL} threads for each column"


@cache
def caught(source: str, block: tuple[int, ...]) -> simulator.Captured:
    """A launch that adds up the columns of a matrix (M, N), not executed.

    block: its threads along x, which is the number of its columns, and along y.
    """
    kernel = run.simulated(source, "column_sums")
    A, sums = np.zeros((M, N), np.float32), np.zeros(N, np.float32)
    with simulator.capture() as found:
        run.call(kernel, (blocks(N, block[0]),), block, (np.int32(M), np.int32(N), A, sums), 0)
    return found[0]


@cache
def predicted(source: str, block: tuple[int, ...]) -> cycles.Prediction:
    """What such a launch is predicted to take."""
    return cycles.predict(caught(source, block))


def microseconds(source: str, block: tuple[int, ...], name: str) -> Budget:
    """The same as parts of its time."""
    found = predicted(source, block)
    return budget.predicted(found, name).scaled(found.ms * 1e3, "microseconds")


def changes() -> tuple[Budget, ...]:
    """The slow kernel and what three changes make of it."""
    return (
        microseconds(SLOW, (BLOCK,), "as it is"),
        microseconds(SLOW, (LARGE,), LARGE_BLOCKS),
        microseconds(EIGHT_SUMS, (BLOCK,), EIGHT),
        microseconds(COLUMN_SUMS.solved, (WIDE, TALL), SHARED_OUT),
    )


def _drawn_changes() -> theme.Figure:
    found = changes()
    slow, *_, mended = found
    return budgets_figure(
        found,
        f"Column sums of a {SIZES} matrix",
        f"{SHARED_OUT.capitalize()}: {mended.total:.0f} µs in place of {slow.total:.0f} µs ({slow.label}).",
    )


def predict_change() -> Prediction:
    """Which of three changes makes the column sums fastest? The answer is predicted from machine code."""
    slow, large, eight, mended = changes()
    return predict(
        "Which of these changes makes the column sums much faster?",
        reasons={
            LARGE_BLOCKS: f"{large.total:.0f} µs in place of {slow.total:.0f}: an SM gets eight times as many warps, "
            "but only an eighth of the SMs gets any. The threads are the same, and so are the loads on the way.",
            EIGHT: f"{eight.total:.0f} µs: the compiler had already put more than eight loads side by side. The waits "
            "are the same, and the loop that it makes of this one is worse.",
            SHARED_OUT: f"{mended.total:.0f} µs: 32 times as many threads, so 32 times as many loads are on the way "
            "while each of them waits.",
        },
        answer=min((LARGE_BLOCKS, large), (EIGHT, eight), (SHARED_OUT, mended), key=lambda one: one[1].total)[0],
        picture=_drawn_changes,
    )


@dataclass(frozen=True)
class ColumnSums:
    """sums (N): the columns of A (M, N) added up, by blocks of WIDE × TALL threads."""

    entry: str = "column_sums"
    output: str = field(default="sums", init=False)
    scalars: tuple[str, ...] = field(default=(), init=False)
    tile: tuple[int, int] = field(default=(1, WIDE), init=False)
    block: tuple[int, int] = field(default=(WIDE, TALL), init=False)
    cases: tuple[Case, ...] = tuple(
        Case({"M": rows, "N": columns}, launches=launches)
        for rows, columns, launches in ((64, 32, 1), (50, 37, 1), (5, 64, 2), (101, 3, 1), (33, 70, 1), (1, 1, 1))
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


def _drawn_profile(kernel: Kernel, problem: Problem) -> theme.Figure:
    """The slow kernel's time above the learner's."""
    slow = microseconds(SLOW, (BLOCK,), "as it was")
    mine = microseconds(kernel.compiled.source, (WIDE, TALL), "your kernel")
    caption = (
        f"Your kernel takes {mine.total:.0f} µs, the one that you began with {slow.total:.0f} µs: "
        f"{slow.total / mine.total:.1f} times as fast ({mine.label})."
    )
    return budgets_figure((slow, mine), f"Column sums of a {SIZES} matrix", caption)


MOST_MICROSECONDS = 20

COLUMN_SUMS = Blank(
    name="column_sums",
    notebook="07",
    title="Mend it: many loads on the way",
    difficulty=2,
    task=f"Write the column sums so that {TALL} threads share each column: a block of {WIDE} × {TALL} threads takes "
    f"care of {WIDE} columns. Each thread adds up its rows; then one thread for each column adds the {TALL} parts. M "
    f"and N are any numbers. The goal: at most {MOST_MICROSECONDS} µs for a {SIZES} matrix, predicted for an "
    "H200.",
    hints=(
        "Neighbouring threads along x should read neighbouring columns, so that loads stay coalesced. Which rows are "
        "left for thread y, if it begins at row y and the others begin at theirs?",
        "row = y, y + TALL, y + 2 * TALL, … below M. A thread whose column is beyond N adds up nothing, but it must "
        "still come to the barrier.",
        "for (int row = y; row < M; row += TALL) sum += A[row * N + col]; parts[y][x] = sum; __syncthreads(); then "
        "thread y == 0 adds parts[0][x] to parts[TALL - 1][x] in a loop and stores the total.",
    ),
    problem=ColumnSums(),
    picture=_drawn_profile,
    goals=(goals.predicted_us(predicted, (WIDE, TALL), MOST_MICROSECONDS, f"{SIZES}"),),
    judged=Case({"M": 64, "N": 64}),
    wrong=(
        Wrong("one_column", "Every block takes the first 32 columns: block number blockIdx.x begins at column "
              "blockIdx.x * WIDE."),
        Wrong("all_rows", f"Every thread of a column adds up all of its rows, so each float is counted {TALL} times: "
              "thread y has every TALL-th row, from row y on."),
        Wrong("neighbouring_rows", "M / TALL is rounded down, so the last rows of A belong to nobody."),
        Wrong("no_edge", "The last block has threads beyond column N, and they read past the end of A."),
        Wrong("step_by_width", "From one row of A to the next it is N floats, not M."),
        Wrong("one_row_each", "Each thread takes one row only. The rows from TALL on are missing: it needs a loop."),
        Wrong("one_thread", "Right, but thread y = 0 adds up the whole column, and the others have nothing to do: the "
              "loads are as few as before."),
        Wrong("no_barrier", "Thread y = 0 reads parts that other warps have not stored yet: a barrier belongs in "
              "between."),
        Wrong("traded", "parts is filled as [x][y] and read as [part][x]: the two indices have changed places."),
        Wrong("own_part", "Each thread stores its own part as the sum of the column, and one of them stays: add the "
              "parts first."),
        Wrong("one_part_short", "The loop over the parts begins at 1: thread y = 0 has a part, too."),
    ),
)  # fmt: skip


PREDICTIONS = (predict_shrinking, predict_change)
QUESTIONS = ()
EXERCISES = (SHARE, FOUR_KERNELS, COLUMN_SUMS)
