"""The exercises of notebook 00: the right answers pass, each known slip gets its own sentence."""

import re

import pytest

from helpers.exercises import n00
from helpers.exercises.n00 import SCALE

RIGHT = SCALE.solved


def index(expression: str) -> str:
    return SCALE.starter.replace("threadIdx.x;", f"{expression};")


@pytest.mark.parametrize(
    "kernel",
    [
        index("threadIdx.x + blockDim.x * blockIdx.x"),
        index("threadIdx.x * gridDim.x + blockIdx.x"),  # another order, as good
        RIGHT.replace("if (index < N) ", "if (index >= N) return;\n    "),
    ],
)
def test_every_right_kernel_passes(kernel):
    verdict = SCALE.check(kernel)
    assert verdict.passed is True and "right for 5 shapes" in verdict.sentence.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (RIGHT.replace("c * A", "c + A"), "“That is A + c in every element"),
        (RIGHT.replace("c * A", "A"), "“B holds A as it is"),
        (RIGHT.replace("<", "<="), "index 40 of A"),
        (RIGHT.replace("const int", "const it"), 'identifier "it" is undefined'),
    ],
)
def test_verdict_says_what_is_wrong(kernel, sentence):
    verdict = SCALE.check(kernel)
    assert verdict.passed is False and sentence in verdict.sentence


def test_element_that_no_index_reaches_is_named_without_a_guess():
    sentence = SCALE.check(index("2 * (blockIdx.x * blockDim.x + threadIdx.x)")).sentence
    assert "B[1] was not written by any thread; expected " in sentence
    assert re.search(
        r"Clue: No thread's index in line \d+ is that of B\[1\]: over all threads `index` is 0, 2, 4, …, 94, "
        "and B has 48.elements",
        sentence,
    )


def test_what_the_last_threads_do_is_read_from_a_recording():
    source = """
    extern "C" __global__ void scale_matrix(float *A, int N, float c) {
        const int index = blockIdx.x * blockDim.x + threadIdx.x;
        if (index < N) A[index] = c * A[index];
    }
    """
    assert n00.predict_last_threads(source).answer == "nothing"


def test_the_picture_shows_the_kernel_as_it_stands():
    assert "32\u00a0elements were not written" in SCALE.show().caption
    assert "every thread wrote one element" in SCALE.show(RIGHT).caption


def test_a_thread_with_two_elements_is_remarked():
    kernel = SCALE.solved.replace("blockIdx.x * blockDim.x", "blockIdx.x * 2 * blockDim.x").replace(
        "B[index] = c * A[index];",
        "B[index] = c * A[index];\n    if (index + blockDim.x < N) B[index + blockDim.x] = c * A[index + blockDim.x];",
    )
    verdict = SCALE.check(kernel)
    assert verdict.passed and "up to 2 elements" in verdict.sentence, verdict.sentence
    assert "one element per thread" not in SCALE.check(SCALE.solved).sentence
