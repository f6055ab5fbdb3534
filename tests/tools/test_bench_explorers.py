"""The benchmark of the explorers."""

import pytest

from helpers.tools.bench import explorers as bench

pytestmark = pytest.mark.usefixtures("only_what_a_test_makes")


@pytest.mark.table(keep=2)
@pytest.mark.parametrize("name", ["thread_map", "occupancy", "tile_phases", "ladder"])
def test_every_control_is_moved_and_timed(name):
    slowest = {}
    for move in bench.moves_of(name, 2):  # a picture is shown at once the second time, and so is a sentence
        slowest[move.control] = max(slowest.get(move.control, 0), min(move.milliseconds, 2 * move.processor))
    assert len(slowest) == len(bench.EXPLORERS[name].explore().controls) >= 3
    assert min(slowest.values()) > 0 and sum(milliseconds > 1 for milliseconds in slowest.values()) >= 3


def test_a_control_is_moved_from_end_to_end_and_back():
    explorer = bench.EXPLORERS["scheduler"].explore()
    moves = [move for move in bench.moves_of("scheduler", 3) if move.control == "warps"]
    first, last = explorer.warps.min, explorer.warps.max
    assert [move.value for move in moves] == [(first + last) // 2, last, first] and explorer.warps.value == first


def test_an_unknown_explorer_is_answered_in_a_sentence():
    with pytest.raises(SystemExit, match="There is no explorer chess; there are roofline, thread_map"):
        bench.main(["chess"])


def test_random_settings_and_memory_are_reported():
    moves = bench.endurance("scheduler", 20)
    assert moves.shown == {"picture": 20} and 1 < moves.milliseconds < 5000
    assert moves.grown is None or abs(moves.grown) < 100


def test_a_table_of_random_settings_has_a_row_for_each_explorer(capsys):
    bench.main(["--random", "5", "scheduler"])
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["explorer", "pictures", "sentences"]
    assert row.split()[:3] == ["scheduler", "5", "0"]


@pytest.mark.parametrize("wrong", [["--random"], ["--random", "four"], ["--random", "2"]])
def test_number_of_settings_that_is_none_gets_a_sentence(wrong):
    with pytest.raises(SystemExit, match="Say how many settings, at least 5: --random 200"):
        bench.main(wrong)
