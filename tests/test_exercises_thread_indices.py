"""The questions and the launch of notebook 02: right answers pass, each slip has its own sentence."""

import pytest

from helpers.draw import theme
from helpers.exercises import thread_indices


def test_the_predictions_take_their_answers_from_recordings():
    owner, idle = thread_indices.predict_owner(), thread_indices.predict_idle_lanes()
    assert owner.answer == "C[3, 33]" and idle.answer == 16
    assert len(owner.reasons) == len(idle.reasons) == 4


@pytest.mark.parametrize(("threads", "lanes"), [(1, [1]), (32, [32]), (33, [32, 1]), (100, [32, 32, 32, 4])])
def test_lanes_that_take_part_are_counted_in_a_recording(threads, lanes):
    assert [int(warp.sum()) for warp in thread_indices.active_lanes(threads)] == lanes


@pytest.mark.parametrize(
    ("answer", "passed", "sentence"),
    [
        (53, True, "warp 1, lane 21"),
        (89, False, "You began with z"),
        (25, False, "whole layers"),
        (21, False, "Which layer is z = 1?"),
        (45, False, "bx and by have traded places"),
        (54, False, "Ids begin at 0"),
        (50, False, "it is more than that"),
        (None, None, "Not answered yet"),
    ],
)
def test_the_linear_id_of_a_thread_in_three_dimensions(answer, passed, sentence):
    verdict = thread_indices.check_linear_id(answer)
    assert verdict.passed is passed and sentence in verdict.sentence


@pytest.mark.parametrize(
    ("block", "grid"), [((32, 8), (3, 5)), ((16, 2), (6, 20)), ((96, 1), (1, 40)), ((32, 1, 1), (3, 40, 1))]
)
def test_launches_that_waste_nothing_pass(block, grid):
    verdict = thread_indices.check_cover(block, grid)
    assert verdict.passed is True and "all 3\u202f840 elements" in verdict.sentence


@pytest.mark.parametrize(
    ("block", "grid", "sentence"),
    [
        ((32, 32), (3, 2), "2\u202f304\u00a0threads lie outside C"),
        ((8, 5), (12, 8), "24\u00a0lanes of each block's warps are empty"),
        ((16, 8), (6, 4), "leave 768\u00a0elements of C without a thread, the first is C[0, 32]."),
        ((32, 8), (5, 3), "With x and y of the grid exchanged it would be complete"),
        ((64, 64), (2, 1), "4096 threads is more than the 1024"),
        (16, (6, 3), "The block is 16; expected (x, y)"),
        ((16, 0), (6, 3), "at least 1"),
        ((16, 16), (6.0, 3), "whole number"),
        ((16, 16), "63", "expected (x, y)"),
        ((1, 1), (960, 40), "far more than C of 96 × 40 needs"),
    ],
)
def test_launches_that_waste_something_are_told_what(block, grid, sentence):
    verdict = thread_indices.check_cover(block, grid)
    assert verdict.passed is False and sentence in verdict.sentence


def test_the_launch_that_it_begins_with_is_right_and_wasteful_and_no_failure():
    verdict = thread_indices.check_cover(thread_indices.COVER_BLOCK, thread_indices.COVER_GRID)
    assert verdict.passed is None and "768\u00a0threads lie outside C" in verdict.sentence


def test_the_picture_shows_the_launch_or_says_why_it_cannot():
    shown = thread_indices.show_cover()
    assert isinstance(shown, theme.Figure) and "768 of 4\u202f608 threads lie outside C" in shown.caption
    assert "4096 threads" in thread_indices.show_cover((64, 64), (2, 1)).sentence
