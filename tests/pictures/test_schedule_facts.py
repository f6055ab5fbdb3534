"""Schedules: tiles dealt out whole, cut along k, or noted by a kernel, and how long the last SM works."""

import numpy as np
import pytest

from helpers.pictures.schedule.facts import Piece, of_pieces, whole_tiles


def test_five_whole_tiles_on_four_sms_take_two_turns_and_idle_3():
    schedule = whole_tiles(5, 8, 4)
    assert schedule.length == 16 and schedule.parts == 0
    assert schedule.busy == pytest.approx(5 / 8)
    assert schedule.work[0] == (Piece(0, 0, 8), Piece(4, 0, 8)) and schedule.work[3] == (Piece(3, 0, 8),)


def test_halved_tiles_make_twice_the_blocks_of_half_the_length():
    schedule = whole_tiles(5, 8, 4, parts=2)
    assert schedule.length == 12 and schedule.parts == 10
    assert schedule.busy == pytest.approx(5 * 8 / (4 * 12))
    assert schedule.work[1][0] == Piece(0, 4, 8)


def test_iterations_without_equal_parts_are_refused():
    with pytest.raises(ValueError, match="8 iterations cannot be cut into 3 equal parts"):
        whole_tiles(5, 8, 4, parts=3)


def test_pieces_that_a_kernel_did_not_note_are_left_out():
    nothing = (np.nan,) * 3
    pieces = np.array([[(0, 0, 8), (1, 0, 2)], [(1, 2, 8), nothing]])
    schedule = of_pieces(pieces, 8, "mine")
    assert schedule.work == ((Piece(0, 0, 8), Piece(1, 0, 2)), (Piece(1, 2, 8),))
    assert (schedule.length, schedule.parts) == (10, 2)
