"""Controls: a list, a slider with both ends, a switch; and the explorer that redraws when one comes to rest."""

import ipywidgets
import pytest
from driving import shown

from helpers.draw import theme
from helpers.explore import live
from helpers.explore.controls import choice_list, range_slider, switch
from helpers.explore.live import CannotShow, LiveExplorer
from helpers.explore.widgets import labelled


def test_an_option_of_a_list_may_stand_for_none():
    chosen = choice_list("x", [("by hand", None), ("one", 1)], None)
    assert (chosen.index, chosen.label, chosen.value) == (0, "by hand", None)
    chosen.value = 1
    assert (chosen.index, chosen.label) == (1, "one")
    chosen.value = None
    assert (chosen.index, chosen.label) == (0, "by hand")
    chosen.index = 1
    assert chosen.value == 1


def test_a_list_begins_where_it_is_told():
    assert choice_list("x", [("a", "A"), ("b", "B")], "B").index == 1


def test_a_slider_has_both_ends_and_reports_when_it_comes_to_rest():
    slider = range_slider("x", 32, 1024, 64, step=32)
    assert (slider.min, slider.max, slider.value, slider.step, slider.continuous_update) == (32, 1024, 64, 32, False)


class Numbers(LiveExplorer):
    """Draws the number that its slider says, and answers for 3, 4 and 5 otherwise."""

    def __init__(self) -> None:
        self.number = range_slider("number", 0, 9, 0)
        self.twice = range_slider("twice", 0, 20, 0)
        self.flag = switch("flag")
        self.drawn: list[int] = []
        self.notes: list[str] = []
        super().__init__("numbers", [[labelled("a label", self.flag)], [self.number, self.twice]], 100)

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        if moved in (None, self.number):
            self.twice.value = 2 * self.number.value

    def is_slow(self) -> bool:
        return self.number.value == 7

    def draw(self) -> tuple[theme.Figure, str]:
        self.drawn.append(self.number.value)
        self.notes.append(self.stage.note.value)
        if self.number.value == 3:
            raise CannotShow("Three cannot be shown; try two.")
        if self.number.value == 4:
            raise KeyboardInterrupt
        if self.number.value == 5:
            raise ZeroDivisionError("a fault of the explorer")
        return theme.Figure(0.3, f"number {self.number.value}"), "a note"


def test_a_move_settles_the_other_controls_and_draws_once():
    explorer = Numbers()
    assert explorer.drawn == [0]
    explorer.number.value = 2
    assert explorer.twice.value == 4
    assert explorer.drawn == [0, 2]
    assert explorer.stage.note.value == "a note"


def test_a_setting_that_cannot_be_shown_is_answered_by_its_sentence_and_the_next_draws_again():
    explorer = Numbers()
    explorer.number.value = 3
    assert shown(explorer) == "sentence" and "Three cannot be shown" in explorer.stage.sentence.value
    explorer.number.value = 2
    assert shown(explorer) == "picture"


def test_an_interrupt_leaves_a_sentence():
    explorer = Numbers()
    explorer.number.value = 4
    assert shown(explorer) == "sentence" and live.INTERRUPTED in explorer.stage.sentence.value


def test_a_fault_of_the_explorer_is_not_dressed_up():
    explorer = Numbers()
    with pytest.raises(ZeroDivisionError):
        explorer.number.value = 5


def test_a_slow_setting_says_so_before_it_begins():
    explorer = Numbers()
    explorer.number.value = 7
    assert explorer.notes[-1] == live.WORKING
    assert explorer.stage.note.value == "a note"


def test_every_control_is_found_also_inside_boxes():
    explorer = Numbers()
    assert explorer.controls == (explorer.flag, explorer.number, explorer.twice)
    explorer.flag.value = True
    assert len(explorer.drawn) == 2


def test_every_explorers_controls_have_a_name_and_report_at_rest():
    from helpers.explore import ladder, occupancy, register_tile, roofline, thread_map, tile_phases

    for module in (ladder, occupancy, register_tile, roofline, thread_map, tile_phases):
        for control in module.explore().controls:
            assert control.description or control.tooltips
            assert getattr(control, "continuous_update", False) is False
