"""Controls: a list, a slider with both ends, a switch; and the explorer that redraws when one comes to rest."""

import html
import re

import ipywidgets
import pytest

from helpers.pictures import live, theme
from helpers.pictures.controls import Switches, choice_list, range_slider, stepped, switch
from helpers.pictures.live import CannotShow, LiveExplorer
from helpers.pictures.widgets import Stage, choice_slider, labelled
from tests.pictures.driving import shown


def test_an_option_of_a_list_may_stand_for_none():
    chosen = choice_list("x", [("by hand", None), ("one", 1)], None)
    assert (chosen.index, chosen.label, chosen.value) == (0, "by hand", None)
    chosen.value = 1
    assert (chosen.index, chosen.label) == (1, "one")
    chosen.value = None
    assert (chosen.index, chosen.label) == (0, "by hand")
    chosen.index = 1
    assert chosen.value == 1


def test_a_list_begins_at_the_given_entry():
    assert choice_list("x", [("a", "A"), ("b", "B")], "B").index == 1


def test_a_slider_over_words_has_more_room_to_read_them():
    words, numbers = choice_slider("x", [("float4, at once", 4), ("float", 1)], 4), choice_slider("x", [64, 128], 64)
    assert "gemm-words" in words._dom_classes and "gemm-words" not in numbers._dom_classes


def test_buttons_beside_a_list_step_through_it_round_and_round():
    chosen = choice_list("letter", [("none", None), ("a", "A"), ("b", "B")], None)
    width = chosen.layout.width
    row = stepped(chosen)
    before, after = row.children[1:]
    assert row.layout.width == width and [button.tooltip for button in (before, after)] == [
        "previous: letter",
        "next: letter",
    ]
    seen = []
    chosen.observe(lambda change: seen.append(change.new), names="value")
    for button in (after, after, after, before):
        button.click()
    assert seen == ["A", "B", None, "B"]
    chosen.disabled = True
    assert before.disabled and after.disabled


def test_switches_report_the_pressed_names_in_their_order():
    switches = Switches("axes", ("x", "y", "z"), ("z",))
    assert [button.tooltip for button in switches.buttons] == ["axes: x", "axes: y", "axes: z"]
    seen = []
    switches.observe(lambda change: seen.append(change.new), names="value")
    switches.buttons[0].value = True
    switches.buttons[2].value = False
    switches.value = ("x", "y", "z")
    assert seen == [("x", "z"), ("x",), ("x", "y", "z")]
    assert all(button.value for button in switches.buttons)
    switches.value = ()
    assert not any(button.value for button in switches.buttons) and switches.options == ("x", "y", "z")


def test_every_list_of_an_explorer_has_its_buttons():
    explorer = Lists()
    assert explorer.controls == (explorer.letter,)
    (cell,) = explorer.children[1].children
    beside = [child for child in cell.children[0].children if child is not explorer.letter]
    beside[1].click()
    assert explorer.letter.value == "B"


def test_a_slider_has_both_ends_and_reports_while_it_moves():
    slider = range_slider("x", 32, 1024, 64, step=32)
    assert (slider.min, slider.max, slider.value, slider.step, slider.continuous_update) == (32, 1024, 64, 32, True)


class Lists(LiveExplorer):
    """Draws nothing; has a list."""

    def __init__(self) -> None:
        self.letter = choice_list("letter", [("a", "A"), ("b", "B")], "A")
        super().__init__("letters", [[self.letter]], 100)

    def draw(self) -> tuple[theme.Figure, str]:
        raise CannotShow(self.letter.value)


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

    def needs(self) -> list[str]:
        return ["seven"] if self.number.value == 7 else []

    def draw(self) -> tuple[theme.Figure, str]:
        self.drawn.append(self.number.value)
        self.notes.append(self.stage.busy.value)
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


def test_impossible_setting_gets_a_sentence_the_next_is_drawn():
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
    assert explorer.stage.busy.value == ""


def test_the_lines_of_a_message_after_the_first_are_set_as_code():
    stage = Stage(100)
    stage.say("k.cu:4: error: <x>\n    4 | x = 1;\n      | ^")
    first, code = stage.sentence.value.split("k.cu:4: error: &lt;x&gt;")
    assert "monospace" not in first and "pre-wrap" in first
    assert re.search(r"monospace.*>    4 \| x = 1;<br>      \| \^</div></div>$", code)
    stage.say("One sentence alone.")
    assert "monospace" not in stage.sentence.value


def test_a_slow_setting_says_so_before_it_begins():
    explorer = Numbers()
    explorer.number.value = 7
    assert html.escape(live.WORKING) in explorer.notes[-1] and "<svg" in explorer.notes[-1]
    assert (explorer.stage.busy.value, explorer.stage.note.value) == ("", "a note")
    explorer.number.value = 6
    assert "Drawing" in explorer.notes[-1] and "visibility: hidden; animation" in explorer.notes[-1]


def test_every_control_is_found_also_inside_boxes():
    explorer = Numbers()
    assert explorer.controls == (explorer.flag, explorer.number, explorer.twice)
    explorer.flag.value = True
    assert len(explorer.drawn) == 2


def test_explorers_controls_are_named_and_report_while_moving():
    from helpers.pictures.ladder import explorer as ladder
    from helpers.pictures.occupancy import explorer as occupancy
    from helpers.pictures.register_tile import explorer as register_tile
    from helpers.pictures.roofline import explorer as roofline
    from helpers.pictures.thread_map import explorer as thread_map
    from helpers.pictures.tile_phases import explorer as tile_phases

    for module in (ladder, occupancy, register_tile, roofline, thread_map, tile_phases):
        for control in module.explore().controls:
            assert control.description or control.tooltips
            assert getattr(control, "continuous_update", True) is True
