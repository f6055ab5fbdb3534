"""GFLOPS bars: lengths, labels and the factor between them."""

import pytest

from helpers import course
from helpers.pictures.bars import UNTOLD, Bar, gflops_figure

BARS = [Bar("naive", 500.0), Bar("coalesced", 6250.0)]


def test_bars_begin_at_zero_and_are_as_long_as_the_gflops():
    (axes,) = gflops_figure(BARS, "Two kernels", "measured here").axes
    assert [(patch.get_x(), patch.get_width()) for patch in axes.patches] == [(0, 500.0), (0, 6250.0)]
    assert axes.get_xlim()[0] == 0
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["naive", "coalesced"]


def test_caption_states_the_factor_and_the_numbers_source():
    drawn = gflops_figure(BARS, "Two kernels", "recorded on NVIDIA H200")
    assert drawn.caption == (
        "coalesced is 12.5 times as fast as naive: 6\u202f250 against 500 GFLOPS (recorded on NVIDIA H200)."
    )
    assert drawn.axes[0].get_xlabel() == "GFLOPS (recorded on NVIDIA H200)"


def test_caption_compares_the_two_given_bars():
    drawn = gflops_figure([*BARS, Bar("cuBLAS", 50000.0)], "Three", "measured here", compared=("coalesced", "naive"))
    assert drawn.caption.startswith("coalesced is 12.5 times as fast as naive")


def test_numbers_stay_inside_the_picture():
    drawn = gflops_figure(BARS, "Two kernels", "measured here")
    renderer = drawn.canvas.get_renderer()
    assert max(text.get_window_extent(renderer).x1 for text in drawn.axes[0].texts) < 1296


def test_one_kernel_is_stated_alone():
    assert gflops_figure(BARS[:1], "One", "measured here").caption == "naive reaches 500 GFLOPS (measured here)."


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="at least one Bar"):
        gflops_figure([], "x", "y")


def test_hidden_bar_has_a_question_mark_and_no_caption():
    drawn = gflops_figure([*BARS, Bar("secret", None)], "Three", "measured here")
    (axes,) = drawn.axes
    assert len(axes.patches) == 2 and axes.texts[-1].get_text() == UNTOLD
    assert "secret" in [label.get_text() for label in axes.get_yticklabels()] and "secret" not in drawn.caption


def test_way_through_the_course_reveals_no_predictions_answer():
    (axes,) = course.way().axes
    texts = [text.get_text() for text in axes.texts]
    assert [gflops == UNTOLD for gflops in texts] == [False, *[True] * (len(course.WAY) - 2), False, False]
