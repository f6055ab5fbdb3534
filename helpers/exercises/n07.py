"""Exercises of notebook 07, reading a profile: what shrinks, which change helps, and a kernel to mend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from helpers import cycles, run, simulator
from helpers.analysis import budget
from helpers.analysis.budget import Budget
from helpers.analysis.warp_states import WarpStates, states_of
from helpers.draw import theme
from helpers.draw.budget import budgets_figure
from helpers.exercises.framework import goals
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case, Guess, Problem, Setup, blocks, values
from helpers.simulator import Kernel

# --- by hand

LETTERS = {"F": "fma", "I": "other", "l": "long_scoreboard", "b": "barrier", "w": "wait", "n": "not_selected"}
BY_HAND = ("IllllllllllFFnnF", "nFnFnFbbbbbbbFwn", "nnFnFnFbbbbbbnFw")


def by_hand() -> WarpStates:
    """Sixteen cycles of a scheduler with three warps, made up so that they can be counted."""
    return states_of(LETTERS, BY_HAND)


# --- what shrinks

GROUPS: Mapping[str, tuple[str, ...]] = {
    "cycles that issue FMAs": ("fma",),
    "cycles that issue other instructions": ("other",),
    "waiting for shared memory": ("short_scoreboard", "mio_throttle"),
    "waiting for global memory": ("long_scoreboard", "lg_throttle"),
}
BEFORE, AFTER = "shared_memory", "block_tile_2d"


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
EXERCISES = (COLUMN_SUMS,)
