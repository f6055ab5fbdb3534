"""The questions of notebook 11: answers come from recorded addresses; lane maps are compiled, run and counted."""

import pytest

from helpers.exercises import n11

ZIGZAG = ("lane / 2 % LANES_Y", "lane / 2 / LANES_Y * 2 + lane % 2")
OTHER_ZIGZAG = ("lane / 2 / LANES_X * 2 + lane % 2", "lane / 2 % LANES_X")
ROW_BY_ROW = ("lane / LANES_X", "lane % LANES_X")


def test_answer_is_counted_and_every_option_has_a_reason():
    prediction = n11.predict_floats()
    assert prediction.answer == 64 + 32
    assert all(prediction.reasons.values())


@pytest.mark.parametrize(("WM", "WN", "passed"), [(None, None, None), (32, 32, True), (64, 16, False), (8, 128, False)])
def test_the_square_warp_tile_needs_the_fewest_floats(WM, WN, passed):
    assert n11.check_floats(WM, WN).passed is passed


@pytest.mark.parametrize(
    ("WM", "WN", "reason"),
    [(64, 32, "32 lanes"), (12, 8, "whole patches of 8 × 4: take a multiple of 8"), (True, 8, "WM = True")],
)
def test_a_warp_tile_that_cannot_be_is_refused_in_a_sentence(WM, WN, reason):
    verdict = n11.check_floats(WM, WN)
    assert verdict.passed is False
    assert reason in verdict.sentence


@pytest.mark.parametrize(("formulas", "passed"), [(OTHER_ZIGZAG, True), (ROW_BY_ROW, None)])
def test_a_lane_map_passes_if_both_loads_are_merged(formulas, passed):
    assert n11.check_lane_map(*formulas).passed is passed


@pytest.mark.parametrize(
    ("formulas", "reason"),
    [
        (ZIGZAG, "that is our zigzag"),
        (("(lane >> 1) % 8", "lane / 16 * 2 + lane % 2"), "that is our zigzag"),
        (("lane // 4", "lane % 4"), "// begins a comment"),
        (("lane / 4", "lane % 5"), "lane_x must be 0 … 3"),
        (("threadIdx.x / 4", "threadIdx.x % 4"), "threadIdx.x / 4 is 8 for thread 32."),
        (("-lane / 4 + 7", "lane % 4"), "-lane / 4 + 7 is 1073741830 for lane 1."),  # lane is unsigned
        (("0", "lane % LANES_X"), "by no lane"),
        (("lan / 4", "lane % 4"), "undefined"),
        ((1, 2), "as text"),
    ],
)
def test_lane_map_that_does_not_work_is_refused_with_the_reason(formulas, reason):
    verdict = n11.check_lane_map(*formulas)
    assert verdict.passed is False
    assert reason in verdict.sentence
