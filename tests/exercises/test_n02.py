"""The questions and the launch of notebook 02: right answers pass, each slip has its own sentence."""

import pytest

from helpers.exercises import n02
from helpers.exercises.framework.values import NO_PICTURE
from helpers.pictures import theme


def test_the_predictions_take_their_answers_from_recordings():
    owner, idle = n02.predict_owner(), n02.predict_idle_lanes()
    assert owner.answer == "C[3, 33]" and idle.answer == 16
    assert len(owner.reasons) == len(idle.reasons) == 4


@pytest.mark.parametrize(("threads", "lanes"), [(1, [1]), (32, [32]), (33, [32, 1]), (100, [32, 32, 32, 4])])
def test_lanes_that_take_part_are_counted_in_a_recording(threads, lanes):
    assert [int(warp.sum()) for warp in n02.active_lanes(threads)] == lanes


def test_the_place_in_the_line_is_that_of_the_formula():
    assert n02.PLACE_IN_LINE.solved == 5 + 8 * (2 + 4 * 1) == 53
    assert "warp 1, lane 21" in n02.PLACE_IN_LINE.check(53).sentence
    assert "That is 5 + 8 · 4 · 1." in n02.PLACE_IN_LINE.check(5 + 8 * 2 + 4 * 4).sentence
    assert "bx · by threads, not bx · bx" in n02.PLACE_IN_LINE.check(5 + 8 * 2 + 8 * 8).sentence


@pytest.mark.parametrize(
    ("block", "grid"), [((32, 8), (3, 5)), ((16, 2), (6, 20)), ((96, 1), (1, 40)), ([32, 1, 1], [3, 40, 1])]
)
def test_every_launch_that_wastes_nothing_passes(block, grid):
    verdict = n02.WHOLE_LAUNCH.check({"block": block, "grid": grid})
    assert verdict.passed is True and "all 3\u202f840 elements" in verdict.sentence


@pytest.mark.parametrize(
    ("launch", "sentence"),
    [
        ({"block": (16, 16)}, "expected dict(block=(x, y), grid=(x, y))"),
        ({"block": (16, 16), "grid": (5.0, 3)}, "whole number"),
        ({"block": (16, 16), "grid": "63"}, "expected (x, y)"),
        ((16, 16), "expected dict(block=(x, y), grid=(x, y))"),
    ],
)
def test_what_is_no_launch_is_said_to_be_none(launch, sentence):
    verdict = n02.WHOLE_LAUNCH.check(launch)
    assert verdict.passed is False and sentence in verdict.sentence
    assert n02.WHOLE_LAUNCH.show(launch).sentence == NO_PICTURE


@pytest.mark.parametrize(
    ("block", "grid", "sentence"),
    [
        ((32, 8, 2), (3, 5), "3\u202f840\u00a0threads repeat what another one computes."),
        ((32, 8), (96, 40), "The grid has the sizes of C, and it counts blocks, not elements."),
        ((8, 32), (3, 5), "With x and y of the block exchanged it would be complete"),
        ((8, 4), (5, 24), "With x and y of the block and the grid exchanged"),
    ],
)
def test_a_wasteful_launch_is_answered_by_what_it_wastes(block, grid, sentence):
    verdict = n02.WHOLE_LAUNCH.check({"block": block, "grid": grid})
    assert verdict.passed is False and sentence in verdict.sentence


def test_a_refused_launch_does_not_give_the_answer_away():
    verdict = n02.WHOLE_LAUNCH.check({"block": (96, 40), "grid": (1, 1)})
    assert "3840 threads is more than the 1024" in verdict.sentence and "try" not in verdict.sentence


def test_first_launch_is_right_but_wasteful_and_no_failure():
    verdict = n02.WHOLE_LAUNCH.check()
    assert verdict.passed is None and "768\u00a0threads lie outside C" in verdict.sentence
    shown = n02.WHOLE_LAUNCH.show()
    assert isinstance(shown, theme.Figure) and "768 of 4\u202f608 threads lie outside C and" in shown.caption


def test_grid_of_single_threads_has_the_sizes_of_C_for_a_reason():
    sentence = n02.WHOLE_LAUNCH.check({"block": (1, 1), "grid": (96, 40)}).sentence
    assert sentence.endswith("31\u00a0lanes of each block's warps are empty.")
