"""The questions of notebook 01 beyond what every exercise promises: answers are counted, rounding is allowed."""

import pytest

from helpers.exercises import n01
from helpers.exercises.framework import progress


@pytest.fixture(autouse=True)
def no_progress_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(tmp_path / "progress.json"))


def test_predictions_are_answered_by_counting():
    flops, lines = n01.predict_flops(), n01.predict_lines()
    assert flops.answer == "16\u202f777\u202f216" and len(flops.reasons) == 4
    assert lines.answer == 16 and list(lines.reasons) == [1, 4, 16, 1024]


@pytest.mark.parametrize("outer", [("row", "k"), ("k", "row")])
def test_any_order_with_col_innermost_is_right(outer):
    assert n01.ORDER_OF_LOOPS.check((*outer, "col")).passed is True


@pytest.mark.parametrize(("answer", "passed"), [(14, True), (13.9, True), (13.988, True), (13, False), (15, False)])
def test_a_time_by_hand_may_be_rounded(answer, passed):
    assert n01.LEAST_TIME.check(answer).passed is passed


def test_the_floors_are_those_of_the_bytes_and_of_the_operations():
    assert pytest.approx((4096 * 4096 + 2 * 4096) * 4 / 4800e9 * 1e6) == n01.LEAST_US
    assert pytest.approx(2 * 4096 * 4096 / 66.9e12 * 1e6, rel=1e-3) == n01.COMPUTE_US


def test_the_ridge_is_crossed_between_83_and_84():
    assert 83 / 6 < n01.RIDGE <= 84 / 6 and n01.SMALLEST == 84
