"""The exercises of notebook 03: right answers pass, wrong ones are explained, no answer lets the notebook go on."""

import pytest

from gemm_kernels import get
from helpers.exercises import Slip, check_block, check_number, column_major, counting_sectors, predict

NAIVE = get("naive")
START = (32, 32)


# --- numbers


def test_no_answer_is_no_failure():
    verdict = check_number(None, 9)
    assert verdict.passed is None and "None" in verdict.sentence


def test_the_right_number_passes_with_its_reason():
    verdict = check_number(9, 9, unit="sectors", because="Because.")
    assert verdict.passed is True and verdict.sentence == "9 sectors: right. Because."


def test_a_known_slip_is_explained_and_the_answer_is_not_given_away():
    verdict = check_number(8, 9, slips=[Slip(8, "Look at the first byte.")])
    assert verdict.passed is False and verdict.sentence == "8: not yet. Look at the first byte."


def test_another_wrong_number_learns_its_direction_only():
    assert check_number(20, 9).sentence == "20: not yet, it is fewer than that."
    assert check_number(2, 9).sentence == "2: not yet, it is more than that."


@pytest.mark.parametrize("answer", ["9", True, [9]])
def test_what_is_no_number_is_said_to_be_none(answer):
    assert "is not a number" in check_number(answer, 9).sentence


@pytest.mark.parametrize(("answer", "passed"), [(9, True), (8, False), (32, False), (4, False), (None, None)])
def test_the_strided_load_costs_nine_sectors(answer, passed):
    assert counting_sectors.check_strided(answer).passed is passed


# --- predictions


def test_a_prediction_is_answered_after_it_is_committed_and_not_before():
    question = predict("How many?", {1: "one", 4: "four"}, answer=4)
    assert question.button.disabled and question.committed is None
    question.options.value = 1
    assert not question.button.disabled and question.feedback.value == ""
    question.commit()
    assert question.committed == 1
    assert "1: one" in question.feedback.value and "The answer is 4: four" in question.feedback.value


def test_a_right_prediction_gets_its_reason_alone():
    question = predict("How many?", {1: "one", 4: "four"}, answer=4)
    question.options.value = 4
    question.commit()
    assert "4: four" in question.feedback.value and "The answer is" not in question.feedback.value


def test_committing_without_a_choice_asks_for_one():
    question = predict("How many?", {1: "one", 4: "four"}, answer=4)
    question.commit()
    assert question.committed is None and "Choose one" in question.feedback.value


def test_an_answer_that_is_no_option_is_refused():
    with pytest.raises(ValueError, match="none of the options 1, 4"):
        predict("How many?", {1: "one", 4: "four"}, answer=5)


def test_the_prediction_of_notebook_03_takes_its_answer_from_a_recording():
    question = counting_sectors.predict_naive_load()
    assert question.answer == 32 and list(question.reasons) == [1, 4, 16, 32]
    assert repr(question).startswith("Predict. Sectors for one load of A")


# --- a counter goal


def test_the_block_that_the_exercise_begins_with_is_no_failure():
    verdict = check_block(NAIVE, START, 2.6, START)
    assert verdict.passed is None and "costs 16.5 sectors a request" in verdict.sentence


@pytest.mark.parametrize("block", [(1, 32), (2, 64), (4, 8)])
def test_blocks_that_are_narrow_in_x_reach_the_goal(block):
    assert check_block(NAIVE, block, 2.6, START).passed is True


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        ((16, 16), "8.5 sectors a request"),
        ((64, 64), "4096 threads"),
        ((1, 8), "24 lanes of the warp idle"),
        ((1, 0), "at least 1"),
        ((1, 2, 3), "two whole numbers"),
        (32, "two whole numbers"),
    ],
)
def test_blocks_that_miss_it_are_told_why(block, sentence):
    verdict = check_block(NAIVE, block, 2.6, START)
    assert verdict.passed is False and sentence in verdict.sentence


# --- a kernel to change


def swapped() -> str:
    x, y = "blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.y * blockDim.y + threadIdx.y"
    return column_major.START.replace(x, "?").replace(y, x).replace("?", y)


def test_the_kernel_to_change_is_right_and_slow():
    verdict = column_major.check(column_major.START)
    assert (
        verdict.passed is None and "C is right for 4 shapes" in verdict.sentence and "16.5 sectors" in verdict.sentence
    )


def test_swapping_the_axes_solves_it():
    verdict = column_major.check(swapped())
    assert verdict.passed is True and "2.5 sectors a request: done." in verdict.sentence


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("C[row + col * M]", "C[row * N + col]", "the store writes row-major"),
        ("B[k + col * K]", "B[k * N + col]", "expected"),
        ("k < K", "k < K - 1", "expected"),
        ("if (row >= M || col >= N) return;", "if (row >= M || col >= N - 1) return;", "no thread wrote it"),
        ("if (row >= M || col >= N) return;", "", "outside the arrays"),
        ("float acc", "flot acc", "flot"),
        ("sgemm_columns", "sgemm_other", "sgemm_columns"),
    ],
)
def test_wrong_kernels_are_told_what_is_wrong(old, new, sentence):
    verdict = column_major.check(swapped().replace(old, new))
    assert verdict.passed is False and sentence in verdict.sentence


def test_right_but_still_slow_is_not_done():
    verdict = column_major.check(column_major.START.replace("float acc = 0.0f;", "float acc = 0;"))
    assert verdict.passed is False and "the goal is at most 2.6" in verdict.sentence


def test_the_picture_shows_the_kernel_as_it_stands():
    assert "Load of B: 32\u00a0sectors" in column_major.show().caption
    assert "Load of B: 1\u00a0sector, one word broadcast" in column_major.show(swapped()).caption
