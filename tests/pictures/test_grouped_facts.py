"""Blocks of a grouped product: who stores what, and how many turns they take."""

import pytest

from helpers import run
from helpers.exercises import n18
from helpers.exercises.n18 import pictures
from helpers.pictures import CannotTell
from helpers.pictures.grouped.facts import Block, Shares, in_turns, length


def test_each_block_stores_rows_of_one_expert():
    kernel = run.simulated(n18.GROUPED.solved, "gemm_grouped")
    shares = pictures.shares_of(kernel, n18.GROUPED.problem)
    assert shares.offsets == (0, 20, 25, 25, 62, 78, 81)
    assert [block.count for block in shares.blocks] == [16, 4, 5, 16, 16, 5, 16, 3, 0, 0, 0, 0]
    assert [block.group for block in shares.blocks] == [0, 0, 1, 3, 3, 3, 4, 5, -1, -1, -1, -1]
    assert shares.tiles == (2, 1, 0, 3, 1, 1) and shares.used == 81 / (8 * 16)


def test_one_launch_fills_the_slots_that_experts_leave():
    tiles = (2, 1, 0, 3, 1, 1)
    together, apart = (in_turns(tiles, 4, way) for way in (True, False))
    assert (length(together), length(apart)) == (2, 5)
    for placed in (together, apart):
        assert len({(turn, slot) for _, turn, slot in placed}) == len(placed) == sum(tiles)


@pytest.mark.parametrize("slots", [1, 3, 8])
def test_many_launches_take_as_many_turns_as_their_tails(slots):
    tiles = (5, 0, 3, 8)
    assert length(in_turns(tiles, slots, True)) == -(-16 // slots)
    assert length(in_turns(tiles, slots, False)) == sum(-(-tile // slots) for tile in tiles)


def test_rows_of_two_experts_in_a_block_are_said():
    slip = next(slip for slip in n18.GROUPED.wrong if slip.version == "rows_of_all")
    kernel = run.simulated(n18.GROUPED.wrong_source(slip), "gemm_grouped")
    with pytest.raises(CannotTell, match="not of one group's tile"):
        pictures.shares_of(kernel, n18.GROUPED.problem)


def test_no_tile_is_no_turn():
    assert length(in_turns((0, 0), 4, True)) == 0
    assert Shares((Block(0),), (0, 0), 16).used == 0
