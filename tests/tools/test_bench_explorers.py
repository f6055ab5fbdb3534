"""The benchmark of the explorers."""

import pytest

from helpers.tools.bench import explorers as bench

pytestmark = pytest.mark.usefixtures("only_what_a_test_makes")


@pytest.mark.table(keep=2)
@pytest.mark.parametrize("name", ["thread_map", "occupancy", "tile_phases", "ladder"])
def test_every_explorer_is_moved_and_timed(name):
    moves = list(bench.EXPLORERS[name](1))
    assert len({move.control for move in moves}) == len(moves) >= 3
    assert all(move.explorer == name and move.milliseconds > 1 and move.processor > 0.5 for move in moves)


def test_moves_that_compile_are_counted_apart():
    moves = list(bench.tile_phases_moves(1))
    assert [move.compiles for move in moves] == [False, False, True]


def test_controls_are_found_by_their_path():
    moves = list(bench.register_tile_moves(1))
    assert {"sizes.TM", "k"} <= {move.control for move in moves}


def test_an_unknown_explorer_is_answered_in_a_sentence():
    with pytest.raises(SystemExit, match="There is no explorer chess; there are roofline, thread_map"):
        bench.main(["chess"])


def test_every_explorer_can_be_timed_and_set_at_random():
    assert bench.EXPLORERS.keys() == bench.MODULES.keys()


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
