"""Picture 14, complete: a diff with the counters that it moved."""

import pytest

from helpers.pictures.diff.figure import Moved, step
from helpers.pictures.source_diff import source_diff
from tests.pictures.figure_data import plain

NAMES = ("one", "two")
DIFF = source_diff("a\nb\nc", "a\nB\nc", NAMES)
OLD = {"instructions": 1000, "sectors": 320, "conflicts": 70, "registers": 32, "copies": 0}
NEW = {"instructions": 1002, "sectors": 40, "conflicts": 0, "registers": 60, "copies": 5}


def test_moved_counters_are_listed_by_distance_the_rest_counted():
    change = step(DIFF, NAMES, OLD, NEW, "a launch")
    assert [counter.name for counter in change.moved] == ["conflicts", "copies", "sectors", "registers"]
    assert change.still == 1  # 0.2 % more instructions


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (320, 40, "8 times fewer"),
        (32, 60, "1.88 times more"),
        (655360, 196608, "3.3 times fewer"),
        (7, 0, "none any more"),
        (0, 7, "new"),
        (200, 400, "2 times more"),
        (100, 150, "1.5 times more"),
        (9216, 92160, "10 times more"),
    ],
)
def test_how_far_a_counter_moved_is_said_in_words(old, new, words):
    assert Moved("x", old, new).factor == words


def test_caption_says_the_lines_and_the_furthest_counter():
    old, new = {"shared loads: requests": 655360}, {"shared loads: requests": 196608}
    change = step(DIFF, NAMES, old, new, "4096³, simulated")
    assert plain(change.caption) == (
        "From one to two: 1 of 3 lines changed. Shared loads: requests 655 360 → 196 608, 3.3 times fewer "
        "(4096³, simulated)."
    )


def test_caption_names_the_largest_change_among_far_moves():
    old = {"instructions": 10_000, "loads": 4000, "stores": 80, "copies": 0}
    new = {"instructions": 13_000, "loads": 1000, "stores": 10, "copies": 1}
    assert step(DIFF, NAMES, old, new, "a launch").leading.name == "loads"
    assert step(DIFF, NAMES, {"a": 100, "b": 10}, {"a": 120, "b": 11}, "a launch").leading.name == "a"


def test_a_step_that_moves_nothing_says_so():
    change = step(DIFF, NAMES, OLD, OLD, "a launch")
    assert change.caption.endswith("No counter moved (a launch).")
    assert "<table>" not in change.html() and "5\u00a0counters did not move." in change.html()


def test_bars_are_as_long_as_the_counters():
    html = step(DIFF, NAMES, {"sectors": 320}, {"sectors": 40}, "a launch").html()
    assert html.count("width: 120px") == 1 and html.count("width: 15px") == 1
    assert "Every counter moved." in html
    assert html.count("From one to two") == 1  # the diff's own caption is not said twice


def test_the_text_has_the_diff_and_the_counters():
    text = plain(step(DIFF, NAMES, {"sectors": 320}, {"sectors": 40}, "a launch").text())
    assert "- b\n+ B" in text
    assert any(line.split() == ["sectors", "320", "40", "8", "times", "fewer"] for line in text.splitlines())


def test_different_counters_cannot_be_compared():
    with pytest.raises(ValueError, match="one counts"):
        step(DIFF, NAMES, {"a": 1}, {"b": 1}, "a launch")
