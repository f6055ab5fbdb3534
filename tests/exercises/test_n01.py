"""The questions of notebook 01 beyond what every exercise promises: answers are counted, rounding is allowed."""

import pytest

from helpers.exercises import n01
from helpers.exercises.framework.functions import answers_of


def test_predictions_are_answered_by_counting():
    flops, lines = n01.predict_flops(), n01.predict_lines()
    assert flops.answer == "33\u202f554\u202f432" and len(flops.reasons) == 4
    assert lines.answer == 16 and list(lines.reasons) == [1, 4, 16, 1024]


@pytest.mark.parametrize("outer", [("row", "k"), ("k", "row")])
def test_any_order_with_col_innermost_is_right(outer):
    assert n01.ORDER_OF_LOOPS.check((*outer, "col")).passed is True


def test_mistakes_are_distinguished_by_their_results():
    results = {answers_of(wrong, n01.FUNCTION_CASES) for wrong, _ in n01.MISTAKES}
    assert len(results) == len(n01.MISTAKES) >= 6


def test_wrong_least_time_is_named_with_shape_and_both_numbers():
    wrong = n01.LEAST_TIME.solved.replace("floats", ("4 * (", "("))
    sentence = n01.LEAST_TIME.check(wrong).sentence
    assert sentence.startswith("M, N, K = 4096, 1, 4096 on the H200: the least time is 0.0139")
    assert sentence.endswith("returns 0.00349696.\nWhy: You counted floats. Each has 4 bytes.")
    assert "The operations take 0.0005015 ms, the bytes 0.01399 ms." in n01.LEAST_TIME.check(lambda *_: 1.0).sentence


def test_the_ridge_is_crossed_between_83_and_84():
    assert 83 / 6 < n01.RIDGE <= 84 / 6 and n01.SMALLEST == 84
