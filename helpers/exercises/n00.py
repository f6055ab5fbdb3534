"""Exercises of notebook 00: how many blocks an array needs, a kernel with a wrong index, and one to write.

`show(source)` draws which thread writes which element, `check(source)` holds every element against the expected one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from helpers import run
from helpers.analysis.elements import Strip, strip
from helpers.compiler import CompileError
from helpers.draw import theme
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.maps import MapSlip, MatrixMap
from helpers.exercises.framework.pictures import StripOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.questions import question
from helpers.exercises.framework.values import ValueExercise, WrongValue
from helpers.explore import first_launch
from helpers.explore.live import CannotShow
from helpers.simulator.errors import OutOfBounds, SimulatorError

Numbers = np.ndarray

BLOCK, ELEMENTS = 128, 1000  # of HOW_MANY_BLOCKS
SHOWN = (3, 16, 40)  # blocks, threads of a block, elements
SHAPES = (SHOWN, (1, 32, 1), (5, 8, 40), (3, 4, 9))  # a tail, a single element, no tail, and a short grid
FACTOR = 3.0

START = """
extern "C" __global__ void scale_matrix(float *A, int N, float c) {
    const int index = threadIdx.x;
    if (index < N) A[index] = c * A[index];
}
"""

# What a wrong index expression writes: (thread in its block, block, threads of a block, blocks) -> element.
SLIPS: tuple[tuple[Callable[[Numbers, Numbers, int, int], Numbers], str], ...] = (
    (
        lambda thread, block, block_dim, grid_dim: thread,
        "In every block threadIdx.x begins at 0 again, so all blocks write the same elements. "
        "What tells a thread which block it is in?",
    ),
    (
        lambda thread, block, block_dim, grid_dim: block + thread,
        "Block 1 begins only one element after block 0. How many elements does one block take care of?",
    ),
    (
        lambda thread, block, block_dim, grid_dim: block * grid_dim + thread,
        "Each block begins gridDim.x elements after the one before it. How many elements does one block take care of?",
    ),
    (
        lambda thread, block, block_dim, grid_dim: block * block_dim,
        "All threads of a block write the same element. What tells a thread which one of its block it is?",
    ),
    (
        lambda thread, block, block_dim, grid_dim: block,
        "A thread's element depends on its block alone. What tells a thread which one of its block it is?",
    ),
)


def predict_last_threads(source: str) -> Prediction:
    """What do the threads behind the end of the array do, in the launch of SHOWN? The answer is what was recorded."""
    written = first_launch.launch(source, *SHOWN)
    spare = written.threads - written.elements
    behind = f"scale elements {written.elements} to {written.threads - 1}"
    again = f"scale elements 0 to {spare - 1} once more"
    return predict(
        f"The last {spare} of {written.threads} threads, with N = {written.elements}:",
        reasons={
            behind: "There are no such elements, and the kernel asks for that before it touches the array.",
            again: f"They would need the index 0 again, but theirs is {written.elements} or more.",
            "nothing": f"Their index is {written.elements} or more, so index < N is false and the line is skipped.",
            "end the launch with an error": "A thread that has nothing to do is no error; it ends early.",
        },
        answer="nothing" if written.idle[-spare:].all() else behind,
        picture=lambda: first_launch.picture(source, *SHOWN),
    )


# --- how many blocks?

NEEDED, FULL = -(-ELEMENTS // BLOCK), ELEMENTS // BLOCK
LEFT = ELEMENTS - FULL * BLOCK
BECAUSE_NEEDED = (
    f"{FULL} full blocks take care of {FULL * BLOCK} elements, and the last {LEFT} need a block as well. "
    f"In code: (N + {BLOCK} - 1) // {BLOCK}."
)
BLOCKS_SLIPS = (
    Slip(FULL, f"{FULL} blocks have {FULL * BLOCK} threads: who takes care of the last {LEFT} elements?"),
    Slip(ELEMENTS / BLOCK, "There is no fraction of a block: which whole number is enough?"),
    Slip(ELEMENTS, f"That would be a block for every element; each block brings {BLOCK} threads."),
    Slip(NEEDED * BLOCK, "That is the number of threads. How many blocks are they?"),
)

HOW_MANY_BLOCKS = ValueExercise(
    name="how_many_blocks",
    notebook="00",
    title="How many blocks?",
    difficulty=1,
    task=f"An array has {ELEMENTS} elements, and your blocks have {BLOCK} threads. How many blocks must the grid have?",
    hints=(
        f"How many elements do {FULL} blocks take care of?",
        "Elements that are left over need a block as well, even if most of its threads have nothing to do.",
        "Divide, and round up.",
    ),
    variable="my_answer",
    starter=None,
    solved=NEEDED,
    because=BECAUSE_NEEDED,
    judge=lambda answer: check_number(answer, NEEDED, unit="blocks", because=BECAUSE_NEEDED, slips=BLOCKS_SLIPS),
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in BLOCKS_SLIPS),
)


# --- a kernel with a wrong index


def show(source: str = START) -> theme.Figure:
    """Which thread writes which element, in the launch that the exercise begins with."""
    return first_launch.picture(source, *SHOWN)


@question("every_element", "Every element, once")
def check(source: str) -> Verdict:
    """Is every element scaled exactly once, for every launch of SHAPES?"""
    for number, (grid, block, elements) in enumerate(SHAPES):
        where = f"With {theme.plural(grid, 'block')} of {block} and N = {elements}"
        try:
            wrong = _wrong(source, grid, block, elements)
        except OutOfBounds as error:
            sentence = f"{error}\nThe grid has more threads than the array has elements: let the others do nothing."
            return Verdict(False, f"{where}: {sentence}")
        except (SimulatorError, CompileError, CannotShow) as error:
            return Verdict(False, str(error))
        if wrong:
            if source.strip() == START.strip():
                return Verdict(None, f"{where}: {wrong.sentence} Change the kernel and run the cell again.")
            because = wrong.because
            if not because and number:
                because = "The launch before was right: is there a number in the kernel that fits one launch only?"
            return Verdict(False, f"{where}: {wrong.sentence} {because}".strip())
    return Verdict(True, f"Every element is scaled once, in {len(SHAPES)} launches with and without a tail: done.")


@dataclass(frozen=True)
class _Wrong:
    """sentence: the first wrong element.  because: the slip that explains all that was written, if one does."""

    sentence: str
    because: str


def _wrong(source: str, grid: int, block: int, elements: int) -> _Wrong | None:
    """What is wrong with one launch; None if every element was scaled once."""
    before = np.arange(elements, dtype=np.float32) + 5  # no two alike, none that scaling leaves as it is
    array = before.copy()
    function = run.simulated(source, first_launch.entry_of(source))
    recording = run.recorded(function, (grid,), (block,), (array, np.int32(elements), np.float32(FACTOR)))
    written = strip(recording, elements, "", first_launch.ARRAY)
    expected = np.float32(FACTOR) * before
    bad = ~np.equal(array, expected) | (written.writers != 1)
    if not bad.any():
        return None
    first = int(np.argmax(bad))
    writes = int(written.writers[first])
    if writes != 1:
        who = f"{writes} threads" if writes else "no thread"
        return _Wrong(f"A[{first}] should be written by one thread, but {who} wrote it.", _diagnosis(written))
    added = np.array_equal(array, before + np.float32(FACTOR))
    return _Wrong(
        f"A[{first}] is {array[first]:g}, expected {expected[first]:g}.",
        "That is A + c in every element; to scale is to multiply." if added else "",
    )


def _diagnosis(written: Strip) -> str:
    """The sentence of the slip that reproduces every write exactly; empty if none does."""
    threads = np.arange(written.threads)
    for element, because in SLIPS:
        index = element(threads % written.block, threads // written.block, written.block, written.blocks)
        index = np.broadcast_to(index, threads.shape)
        inside = index < written.elements
        slip = np.stack([threads[inside], index[inside]], axis=1)
        if np.array_equal(slip, written.writes[np.argsort(written.writes[:, 0], kind="stable")]):
            return because
    if np.flatnonzero(written.writers != 1).tolist() == [written.elements - 1]:
        return "All the others are right: what does your condition say when index is N - 1?"
    return ""


# --- the learner's own kernel

ADD_SCALED = Blank(
    name="add_scaled",
    notebook="00",
    title="Write it: a kernel of your own",
    difficulty=1,
    task="Write a kernel that computes C = c · A + B for arrays of N floats, one element per thread. It is launched "
    "with blocks of 64 threads, and with enough of them for N elements; the last block may have threads to spare.",
    hints=(
        "It has two parts, as the kernel above: find out which element is mine, and compute it if it exists.",
        "blockIdx.x says how many blocks come before mine, blockDim.x how many threads a block has, threadIdx.x which "
        "of them I am.",
        "const int index = blockIdx.x * blockDim.x + threadIdx.x; and one line that begins with if (index < N).",
    ),
    problem=MatrixMap(
        "add_scaled",
        tuple(Case({"N": N}, alpha=1.25) for N in (256, 200, 65, 64, 63, 7, 1)),
        lambda i: i.case.alpha * i.source + i.second,
        (
            MapSlip("Only c · A is there: B is missing.", lambda i: i.case.alpha * i.source),
            MapSlip("Only A + B is there: c is missing.", lambda i: i.source + i.second),
            MapSlip("A and B are multiplied where they should be added.", lambda i: i.case.alpha * i.source * i.second),
            MapSlip("B is subtracted where it should be added.", lambda i: i.case.alpha * i.source - i.second),
        ),
        output="C",
        block=(64, 1),
        scaled=True,
        inputs=2,
    ),
    picture=StripOf(Case({"N": 40}, alpha=1.25)),
    wrong=(
        Wrong("thread_alone", "Every block computes the same elements: blockIdx is missing."),
        Wrong("block_alone", "All threads of a block compute the same element: threadIdx is missing."),
        Wrong("blocks_overlap", "The next block begins blockDim.x elements further on, not one."),
        Wrong("grid_for_block", "gridDim.x is the number of blocks; a block has blockDim.x threads."),
        Wrong("no_guard", "Threads whose index is N or more must do nothing: the last element has the index N - 1."),
        Wrong(
            "one_too_many", "Threads whose index is N or more must do nothing: the last element has the index N - 1."
        ),
        Wrong("last_missing", "The last element has the index N - 1, and index < N - 1 leaves it out."),
        Wrong("scales_both", "c multiplies A alone, not the sum."),
        Wrong("scales_B", "c multiplies B here; it belongs to A."),
        Wrong("adds_to_C", "The result is added to what was in C (+=): it must replace it."),
    ),
)


PREDICTIONS = (predict_last_threads,)
QUESTIONS = (check,)
EXERCISES = (ADD_SCALED, HOW_MANY_BLOCKS)
