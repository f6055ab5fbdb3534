"""The kernel of notebook 02 that is right as long as blocks are square: right, wrong in known ways, and in others."""

import pytest

from helpers.draw import theme
from helpers.exercises import square_blocks
from helpers.exercises.square_blocks import START

RIGHT = START.replace("blockIdx.y * blockDim.x", "blockIdx.y * blockDim.y").replace(
    "blockIdx.x * blockDim.y", "blockIdx.x * blockDim.x"
)


def exchanged(text: str, one: str, other: str) -> str:
    return text.replace(one, "?").replace(other, one).replace("?", other)


def test_the_kernel_that_it_begins_with_is_right_for_square_blocks_only_and_gets_no_hint():
    verdict = square_blocks.check(START)
    assert verdict.passed is None
    assert verdict.sentence.startswith("Right with square blocks. With blocks of (32, 8)")
    assert "advance by the other one" not in verdict.sentence


@pytest.mark.parametrize("kernel", [RIGHT, RIGHT.replace("const int", "const size_t").replace("int k", "size_t k")])
def test_right_kernels_pass(kernel):
    verdict = square_blocks.check(kernel)
    assert verdict.passed is True and "3 block shapes and 4 sizes" in verdict.sentence


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (START.replace("acc = 0.0f", "acc = 0"), "advance by the other one"),
        (RIGHT.replace("blockIdx.y * blockDim.y", "blockIdx.y * blockDim.x"), "The columns are right."),
        (RIGHT.replace("blockIdx.x * blockDim.x", "blockIdx.x * blockDim.y"), "The rows are right."),
        (exchanged(RIGHT, ".x", ".y"), "Your x runs down the rows"),
        (exchanged(RIGHT, "threadIdx.x", "threadIdx.y"), "threadIdx.x and threadIdx.y have traded places"),
        (exchanged(RIGHT, "blockIdx.x", "blockIdx.y"), "blockIdx.x and blockIdx.y have traded places"),
        (RIGHT.replace("blockDim", "gridDim"), "gridDim is the number of blocks"),
        (RIGHT.replace(" * blockDim.y", "").replace(" * blockDim.x", ""), "only one row and one column after block 0"),
        (
            RIGHT.replace("blockIdx.y * blockDim.y + ", "").replace("blockIdx.x * blockDim.x + ", ""),
            "Every block computes the same elements",
        ),
        (RIGHT.replace("k < K", "k < K - 1"), "The last step of k is missing"),
        (RIGHT.replace("int k = 0", "int k = 1"), "The first step of k is missing"),
        (RIGHT.replace("B[k * N", "B[k * K"), "the next row of B is N floats further, not K"),
        (RIGHT.replace("if (row >= M || col >= N) return;", ""), "outside the arrays"),
        (RIGHT.replace("||", "&&"), "outside the arrays"),
        (RIGHT.replace("float acc", "flot acc"), "flot"),
        (RIGHT.replace("sgemm_blocks", "sgemm_other"), "sgemm_blocks"),
    ],
)
def test_each_wrong_kernel_is_told_what_is_wrong(kernel, sentence):
    verdict = square_blocks.check(kernel)
    assert verdict.passed is False and sentence in verdict.sentence


def test_a_mistake_that_no_slip_explains_gets_the_element_and_no_guess():
    verdict = square_blocks.check(RIGHT.replace("acc = 0.0f", "acc = 1.0f"))
    assert verdict.passed is False
    assert verdict.sentence.endswith("C[0, 0] is 182, expected 181; 2\u202f560\u00a0elements of C are wrong.")


def test_the_picture_shows_what_nobody_computes_and_then_nothing_of_the_kind():
    assert "No thread computes 1\u202f728 of C's 2\u202f048 elements." in square_blocks.show(START).caption
    shown = square_blocks.show(RIGHT)
    assert isinstance(shown, theme.Figure) and "No thread" not in shown.caption
    assert "flot" in square_blocks.show(RIGHT.replace("float acc", "flot acc")).sentence
