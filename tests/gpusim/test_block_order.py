"""The order in which diverged threads go through PTX: together again where paths meet."""

import pytest

from gpusim import errors
from gpusim.engine.block_order import meeting_order
from tests.gpusim import random_programs


@pytest.mark.parametrize(
    ("successors", "order"),
    [
        pytest.param([(1,), (1, 2), ()], [0, 1, 2], id="a loop of one block"),
        pytest.param([(2, 1), (3,), (3,), ()], [0, 1, 2, 3], id="if and else"),
        pytest.param([(3, 1), (2,), (), (1,)], [0, 3, 1, 2], id="a rare path behind the code where it comes back"),
        pytest.param([(1,), (4, 2), (1, 3), (), (2,)], [0, 1, 4, 2, 3], id="the same inside a loop"),
        pytest.param([(1,), (2,), (2, 1, 3), ()], [0, 1, 2, 3], id="a loop in a loop"),
        pytest.param([(2, 1), (), (1,), (1,)], [0, 2, 3, 1], id="a block that nobody reaches"),
        pytest.param([(1,), (3, 2), (1,), ()], [0, 1, 2, 3], id="a loop that is left in its first block"),
    ],
)
def test_block_comes_after_its_predecessors_except_loop_ends(successors, order):
    assert meeting_order(successors) == order


def test_order_of_text_is_kept_unless_jumps_go_back():
    # Block 2 is the way out of the loop, in the middle of it; it would come after the loop, but nobody comes back.
    assert meeting_order([(1,), (2, 3), (4,), (1,), ()]) == [0, 1, 2, 3, 4]


SEED = 1302  # a random program whose PTX has a path that the compiler placed behind a vote


def test_vote_includes_lanes_whose_path_is_placed_behind_it():
    assert random_programs.disagreement(SEED) == ""


def test_in_text_order_a_vote_would_miss_a_lane(monkeypatch, prepared_afresh):
    monkeypatch.setattr("gpusim.engine.ir.meeting_order", lambda successors: list(range(len(successors))))
    with pytest.raises(errors.KernelError, match="exchanges values by a _sync function with lanes"):
        random_programs.disagreement(SEED)
