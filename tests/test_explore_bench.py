"""The benchmark of the explorers."""

import pytest

from helpers.explore import bench


@pytest.mark.parametrize("name", ["thread_map", "occupancy", "tile_phases", "ladder"])
def test_every_explorer_is_moved_and_timed(name):
    moves = list(bench.EXPLORERS[name](1))
    assert len({move.control for move in moves}) == len(moves) >= 3
    assert all(move.explorer == name and move.milliseconds > 1 for move in moves)


def test_moves_that_compile_are_told_apart():
    moves = list(bench.tile_phases_moves(1))
    assert [move.compiles for move in moves] == [False, False, True]


def test_controls_are_found_by_their_path():
    moves = list(bench.register_tile_moves(1))
    assert {"sizes.TM", "k"} <= {move.control for move in moves}


def test_an_unknown_explorer_is_answered_in_a_sentence():
    with pytest.raises(SystemExit, match="There is no explorer chess; there are roofline, thread_map"):
        bench.main(["chess"])
