"""Numbers and predictions: right answers pass, wrong ones are explained, no answer lets the notebook go on."""

import numpy as np
import pytest

from helpers.exercises import Slip, check_number, predict

# --- numbers


def test_no_answer_is_no_failure():
    verdict = check_number(None, 9)
    assert verdict.passed is None and "None" in verdict.sentence


def test_the_right_number_passes_with_its_reason():
    verdict = check_number(9, 9, unit="sectors", because="Because.")
    assert verdict.passed is True and verdict.sentence == "9 sectors: right. Because."


def test_a_whole_number_of_numpy_is_a_number():
    assert check_number(np.int64(9), 9).passed is True and check_number(True, 1).passed is False


def test_known_slip_is_explained_without_giving_the_answer():
    verdict = check_number(8, 9, slips=[Slip(8, "Look at the first byte.")])
    assert verdict.passed is False and verdict.sentence == "8: not yet. Look at the first byte."


def test_another_wrong_number_learns_its_direction_only():
    assert check_number(20, 9).sentence == "20: not yet, it is less than that."
    assert check_number(2, 9).sentence == "2: not yet, it is more than that."
    assert check_number(float("inf"), 9).sentence == "inf: not yet, it is less than that."


@pytest.mark.parametrize(("answer", "said"), [(2**29, "536 870 912"), (2.0**29, "536 870 912"), (2.5, "2.5")])
def test_a_whole_number_is_repeated_with_all_its_digits(answer, said):
    assert check_number(answer, answer).sentence.replace("\u202f", " ") == f"{said}: right."


@pytest.mark.parametrize("answer", ["9", True, [9], float("nan")])
def test_what_is_no_number_is_said_to_be_none(answer):
    assert "is not a number" in check_number(answer, 9).sentence


# --- predictions


def test_prediction_is_answered_only_after_it_is_committed():
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


def test_a_number_that_lacks_only_its_rounding_is_said_to():
    for answer in (83.4, 84.6):
        assert "The answer is a whole number" in check_number(answer, 84).sentence
    assert "A whole number" not in check_number(82.4, 84).sentence
