"""The exercises of notebook 00: the right answers pass, each known slip gets its own sentence."""

import pytest

from helpers.exercises import n00
from helpers.exercises.n00 import START

RIGHT = START.replace("threadIdx.x;", "blockIdx.x * blockDim.x + threadIdx.x;")


def index(expression: str) -> str:
    return START.replace("threadIdx.x;", f"{expression};")


def test_the_kernel_that_it_begins_with_runs_is_wrong_and_gets_no_hint():
    verdict = n00.check(START)
    assert verdict.passed is None
    assert "A[0] should be written by one thread, but 3 threads wrote it." in verdict.sentence
    assert "which block" not in verdict.sentence


@pytest.mark.parametrize(
    "kernel",
    [
        RIGHT,
        index("threadIdx.x + blockDim.x * blockIdx.x"),
        index("threadIdx.x * gridDim.x + blockIdx.x"),  # another order, as good
        RIGHT.replace("if (index < N) ", "if (index >= N) return;\n    "),
    ],
)
def test_every_right_kernel_passes(kernel):
    verdict = n00.check(kernel)
    assert verdict.passed is True and "in 4 launches" in verdict.sentence


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (START.replace("const int", "int"), "threadIdx.x begins at 0 again"),
        (index("blockIdx.x + threadIdx.x"), "only one element after block 0"),
        (index("blockIdx.x * gridDim.x + threadIdx.x"), "begins gridDim.x elements after"),
        (index("blockIdx.x * blockDim.x"), "All threads of a block write the same element"),
        (index("blockIdx.x"), "depends on its block alone"),
        (RIGHT.replace("index < N", "index < N - 1"), "what does your condition say when index is N - 1?"),
        (RIGHT.replace("c * A", "c + A"), "A[0] is 8, expected 15. That is A + c"),
        (RIGHT.replace("blockDim.x", "16"), "The launch before was right"),
        (RIGHT.replace("if (index < N) ", ""), "let the others do nothing"),
        (RIGHT.replace("<", "<="), "index 40 of A"),
        (RIGHT.replace("c * A", "2.0f * A"), "A[0] is 10, expected 15."),
        (RIGHT.replace("const int", "const it"), 'identifier "it" is undefined'),
        (RIGHT.replace("__global__", "__device__"), "One kernel (a __global__ function) is expected"),
        (RIGHT.replace("float *A, int N", "float *A, int M, int N"), "takes 4 arguments"),
    ],
)
def test_each_wrong_kernel_is_told_what_is_wrong(kernel, sentence):
    verdict = n00.check(kernel)
    assert verdict.passed is False and sentence in verdict.sentence


def test_a_mistake_that_no_slip_explains_gets_the_element_and_no_guess():
    verdict = n00.check(index("2 * (blockIdx.x * blockDim.x + threadIdx.x)"))
    assert verdict.sentence == (
        "With 3\u00a0blocks of 16 and N = 40: A[1] should be written by one thread, but no thread wrote it."
    )


def test_what_the_last_threads_do_is_read_from_a_recording():
    assert n00.predict_last_threads(RIGHT).answer == "nothing"


def test_the_picture_shows_the_kernel_as_it_stands():
    assert "nobody wrote 24\u00a0elements" in n00.show(START).caption
    assert "8\u00a0threads wrote nothing" in n00.show(RIGHT).caption
