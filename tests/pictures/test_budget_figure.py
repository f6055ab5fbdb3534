"""Pictures of time: bars of cycles, warps cycle by cycle, the host and its streams."""

import pytest

from helpers.pictures import marks, theme
from helpers.pictures.budget.facts import Budget
from helpers.pictures.budget.figure import OTHER_WAITS, budgets_figure
from helpers.pictures.faults import faults
from helpers.pictures.host_timeline.facts import Recorded, Span
from helpers.pictures.host_timeline.figure import timelines_figure
from helpers.pictures.warp_states.facts import states_of
from helpers.pictures.warp_states.figure import warp_states_figure

BAR = Budget("mine", 60, 20, {"barrier": 12, "long_scoreboard": 6, "sleeping": 1, "drain": 1}, 10, "cycles", "made up")


def words(figure):
    return [mark.words for mark in marks.of(figure)]


def test_a_bar_has_its_parts_in_order_and_small_reasons_in_one():
    shown = words(budgets_figure([BAR], "A bar", "A caption."))
    assert [word.split(": ")[1].rsplit(", ", 1) for word in shown] == [
        ["an FMA is issued", "60"], ["another instruction is issued", "20"], ["Long Scoreboard", "6"],
        ["Barrier", "12"], [OTHER_WAITS, "2"], ["no warp is there", "10"],
    ]  # fmt: skip


def test_a_bar_is_as_long_as_its_total():
    figure = budgets_figure([BAR, BAR.scaled(55, "cycles")], "Two bars", "A caption.", 30, pairs=True)
    marks_drawn = marks.of(figure)
    whole, half = marks_drawn[:6], marks_drawn[6:]
    length = sum(mark.width for mark in whole)
    assert sum(mark.width for mark in half) == pytest.approx(length / 2, rel=1e-6)
    assert whole[0].width == pytest.approx(length * 60 / 110, rel=1e-6)


@pytest.mark.parametrize("points", [0.0, 14.0])
def test_the_number_of_a_long_bar_is_not_cut_off(points):
    with theme.at_least(points):
        assert faults(budgets_figure([BAR.scaled(1_624_800, "cycles")], "A bar", "A caption.")) == []


def test_without_a_bar_there_is_a_sentence():
    with pytest.raises(ValueError, match="no bar to draw"):
        budgets_figure([], "Nothing", "A caption.")


def test_each_cycle_of_a_warp_says_what_it_is():
    states = states_of({"F": "fma", "l": "long_scoreboard", "n": "not_selected"}, ("Fll", "nFl"))
    shown = set(words(warp_states_figure(states, "Two warps", "A caption.")))
    assert {"warp 0, cycle 1: an FMA is issued", "warp 1, cycle 3: Long Scoreboard"} <= shown
    assert "warp 1, cycle 1: ready, but another one issues" in shown and len(shown) == 6


def test_a_span_of_a_timeline_is_where_it_was_in_time():
    timeline = Recorded("one", (Span("host", "call", 0, 4), Span("stream 1", "kernel", 1, 3)), "made up")
    call, kernel = marks.of(timelines_figure([timeline], "A timeline", "A caption."))
    assert call.words == "the host: call, 4.00 ms" and kernel.words == "kernel, 2.00 ms"
    assert kernel.width == pytest.approx(call.width / 2, rel=1e-6)
    assert kernel.left == pytest.approx(call.left + call.width / 4, rel=1e-6) and kernel.top > call.top
