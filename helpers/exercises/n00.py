"""Exercises of notebook 00: how many blocks an array needs, a kernel with a wrong index, and one to write."""

from __future__ import annotations

from helpers.exercises.framework import goals, texts
from helpers.exercises.framework.answers import Slip, check_number
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import MANY_STORES, KernelExercise, Wrong, moved_per_thread
from helpers.exercises.framework.judge import Judged
from helpers.exercises.framework.maps import MapSlip, MatrixMap
from helpers.exercises.framework.pictures import StripOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.values import ValueExercise, WrongValue
from helpers.pictures import theme
from helpers.pictures.first_launch import explorer as first_launch
from helpers.pictures.live import CannotShow
from helpers.pictures.software.figure import software_figure
from helpers.pictures.tables import Table

BLOCK, ELEMENTS = 128, 1000  # of HOW_MANY_BLOCKS
SHOWN = (3, 16, 40)  # blocks, threads of a block, elements


def predict_last_threads(source: str) -> Prediction:
    """What do the threads behind the end of the array do, in the launch of SHOWN? CannotShow of a kernel in which
    they do something."""
    written = first_launch.launch(source, *SHOWN)
    spare = written.threads - written.elements
    if not written.idle[-spare:].all():
        raise CannotShow(f"In this kernel the last {spare} threads do something: the question is about the one above.")
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
        answer="nothing",
        picture=lambda: first_launch.picture(source, *SHOWN),
    )


# --- why matrices are multiplied

# Llama 3 8B (Meta, The Llama 3 Herd of Models, 2024, its table of architectures), for a text of TOKENS tokens
TOKENS, WIDTH, HIDDEN = 2048, 4096, 14336  # rows of numbers, their length, and a longer one inside the layer
HEADS, KV_HEADS, HEAD, LAYERS = 32, 8, 128, 32
LAYER = {  # rows of the result, its columns, products added up for each element, how often
    "queries": (TOKENS, HEADS * HEAD, WIDTH, 1),
    "keys and values": (TOKENS, KV_HEADS * HEAD, WIDTH, 2),
    "compare tokens with tokens": (TOKENS, TOKENS, HEAD, HEADS),
    "mix what was found": (TOKENS, HEAD, TOKENS, HEADS),
    "back to the width": (TOKENS, WIDTH, HEADS * HEAD, 1),
    "to the hidden size": (TOKENS, HIDDEN, WIDTH, 2),
    "and back": (TOKENS, WIDTH, HIDDEN, 1),
}
ELSEWHERE = {  # when -> rows of the result, its columns, products added up for each element
    "a layer, while the model reads a text (prefill)": (TOKENS, HIDDEN, WIDTH),
    "the same layer, while it writes, token by token (decode)": (1, HIDDEN, WIDTH),
    "the same layer in training: how should its weights change?": (WIDTH, HIDDEN, TOKENS),
    "regression: XᵀX of 10 000 points with 100 numbers each": (100, 100, 10_000),
    "a 3 × 3 convolution, 56 × 56 pixels, 64 to 64 channels": (56 * 56, 64, 3 * 3 * 64),
    "factorisation: 32 tastes of 1 000 000 people, 10 000 films": (1_000_000, 10_000, 32),
}


def products() -> dict[str, int]:
    """The products of each multiplication of one layer."""
    return {name: M * N * K * times for name, (M, N, K, times) in LAYER.items()}


def seconds(gflops: float) -> float:
    """For all layers of the model at one speed. A product and its addition are two operations."""
    return LAYERS * 2 * sum(products().values()) / (1e9 * gflops)


def layer_table() -> Table:
    """The multiplications of one layer."""
    whole = sum(products().values())
    rows = tuple(
        (name, *map(str, LAYER[name]), f"{count / 1e9:.0f}", f"{count / whole:.0%}")
        for name, count in products().items()
    )
    header = ("multiplication", "rows", "columns", "products each", "how often", "10⁹ products", "share")
    caption = f"One layer: {whole / 1e9:.0f} · 10⁹ products to compute and to add up"
    return Table(header, rows, caption, words=frozenset({0}))


def elsewhere_table() -> Table:
    """The same layer at other times, and other programs."""
    rows = tuple((when, *map(theme.thousands, sizes)) for when, sizes in ELSEWHERE.items())
    header = ("when", "rows", "columns", "products each")
    return Table(header, rows, "One operation, many shapes", words=frozenset({0}))


def software() -> theme.Figure:
    """What runs when PyTorch multiplies two matrices."""
    return software_figure()


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
    **texts.of("00", "how_many_blocks", elements=ELEMENTS, block=BLOCK, full=FULL),
    difficulty=1,
    variable="my_answer",
    starter=None,
    solved=NEEDED,
    because=BECAUSE_NEEDED,
    judge=lambda answer: check_number(answer, NEEDED, unit="blocks", because=BECAUSE_NEEDED, slips=BLOCKS_SLIPS),
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in BLOCKS_SLIPS),
)


# --- a kernel with a wrong index

BEGINS_AGAIN = (
    "In every block threadIdx.x begins at 0 again, so all blocks write the same elements. What tells a thread which "
    "block it is in?"
)
_INDEX = "blockIdx.x * blockDim.x + threadIdx.x"
EVERY_THREAD_ALL = (
    "Every thread goes through the whole array, so that each element is computed once by every thread of the launch: "
    "let a thread take care of one element, its own."
)
BEYOND = (
    "The grid may have more threads than the array has elements: a thread whose index is N or more must do nothing."
)


def _scaled(N: int, block: int) -> Case:
    return Case({"N": N}, alpha=1.25, block=(block, 1))


def takes_several(judged: Judged) -> str:
    """That a thread of a right kernel takes several elements, where the task is one; of many all exercises speak."""
    most = int(moved_per_thread(judged, "st").max())
    return (
        f"Right, but a thread stores up to {most} elements, and the task is one element per thread."
        if 1 < most < MANY_STORES
        else ""
    )


SHOWN_OF_SCALE = _scaled(48, 16)  # no thread idles: that is asked in step 4

SCALE = KernelExercise(
    **texts.of("00", "scale"),
    difficulty=1,
    problem=MatrixMap(
        "scale",
        (SHOWN_OF_SCALE, _scaled(40, 16), _scaled(1, 32), _scaled(40, 8), _scaled(300, 64)),
        lambda i: i.case.alpha * i.source,
        (
            MapSlip("That is A + c in every element; to scale is to multiply.", lambda i: i.case.alpha + i.source),
            MapSlip("B holds A as it is, not c times as much.", lambda i: i.source),
        ),
        block=(16, 1),
        scaled=True,
        scalar="c",
    ),
    picture=StripOf(SHOWN_OF_SCALE),
    goals=(goals.stored_once(),),
    judged=_scaled(40, 16),
    remark=takes_several,
    wrong=(
        Wrong("starter", BEGINS_AGAIN),
        Wrong("every_thread_all", EVERY_THREAD_ALL,
              (("    const int index = blockIdx.x * blockDim.x + threadIdx.x;\n    if (index < N) B[index] = c * "
                "A[index];",
                "    for (int i = 0; i < N; ++i) B[i] = c * A[i];"),)),
        Wrong("blocks_overlap", "Block 1 begins only one element after block 0. How many elements does one block take "
              "care of?", ((_INDEX, "blockIdx.x + threadIdx.x"),)),
        Wrong("grid_for_block", "Each block begins gridDim.x elements after the one before it, and gridDim.x is the "
              "number of blocks. How many elements does one block take care of?",
              ((_INDEX, "blockIdx.x * gridDim.x + threadIdx.x"),)),
        Wrong("block_start", "All threads of a block write the same element. What tells a thread which one of its "
              "block it is?", ((_INDEX, "blockIdx.x * blockDim.x"),)),
        Wrong("block_alone", "A thread's element depends on its block alone. What tells a thread which one of its "
              "block it is?", ((_INDEX, "blockIdx.x"),)),
        Wrong("one_width", "The first launch was right: 16 is the number of threads in its blocks, and other launches "
              "have others. Which name stands for it?", ((_INDEX, "blockIdx.x * 16 + threadIdx.x"),)),
        Wrong("last_missing", "All elements are right but the last: its index is N - 1, and the condition leaves it "
              "out.", (("index < N", "index < N - 1"),)),
        Wrong("one_too_many", BEYOND, (("index < N", "index <= N"),)),
        Wrong("no_guard", BEYOND, (("if (index < N) ", ""),)),
    ),
)  # fmt: skip


# --- the learner's own kernel

ADD_SCALED = Blank(
    **texts.of("00", "add_scaled"),
    difficulty=1,
    problem=MatrixMap(
        "add_scaled",
        tuple(Case({"N": N}, alpha=1.25) for N in (1024, 200, 65, 64, 63, 7, 1)),
        lambda i: i.case.alpha * i.source + i.second,
        (
            MapSlip("C holds c · A alone: nothing of B is added.", lambda i: i.case.alpha * i.source),
            MapSlip("C holds A + B: A is not multiplied by c.", lambda i: i.source + i.second),
            MapSlip("A and B are multiplied where they should be added.", lambda i: i.case.alpha * i.source * i.second),
            MapSlip("B is subtracted where it should be added.", lambda i: i.case.alpha * i.source - i.second),
        ),
        output="C",
        block=(64, 1),
        scaled=True,
        scalar="c",
        inputs=2,
    ),
    picture=StripOf(Case({"N": 40}, alpha=1.25)),
    goals=(goals.stored_once(),),
    judged=Case({"N": 200}, alpha=1.25),
    remark=takes_several,
    wrong=(
        Wrong(
            "every_thread_all",
            EVERY_THREAD_ALL,
            (
                (
                    f"    const int index = {_INDEX};\n\n    // 2. If there is such an element: C = c * A + B\n"
                    "    if (index < N) C[index] = c * A[index] + B[index];",
                    "    for (int i = 0; i < N; ++i) C[i] = c * A[i] + B[i];",
                ),
            ),
        ),
        Wrong("thread_alone", "Every block computes the same elements: blockIdx is missing."),
        Wrong("block_alone", "All threads of a block compute the same element: threadIdx is missing."),
        Wrong("blocks_overlap", "Each block begins one element after the one before it; it takes care of blockDim.x."),
        Wrong(
            "grid_for_block",
            "Blocks begin gridDim.x elements apart, and gridDim.x is the number of blocks: a block has blockDim.x "
            "threads.",
        ),
        Wrong(
            "width_times_x",
            "blockDim.x multiplies threadIdx.x, and it belongs to the block: blockIdx.x whole blocks of "
            "blockDim.x threads come before mine, and threadIdx.x threads in my block.",
            ((_INDEX, "blockDim.x * threadIdx.x + blockIdx.x"),),
        ),
        Wrong("no_guard", "Threads whose index is N or more must do nothing: the last element has the index N - 1."),
        Wrong(
            "one_too_many", "Threads whose index is N or more must do nothing: the last element has the index N - 1."
        ),
        Wrong("last_missing", "The last element has the index N - 1, and index < N - 1 leaves it out."),
        Wrong("scales_both", "c multiplies the sum here; it must multiply A alone."),
        Wrong("scales_B", "c multiplies B here; it belongs to A."),
        Wrong("adds_to_C", "The result is added to what was in C: it must replace it."),
    ),
)


PREDICTIONS = (predict_last_threads,)
QUESTIONS = ()
EXERCISES = (SCALE, ADD_SCALED, HOW_MANY_BLOCKS)
