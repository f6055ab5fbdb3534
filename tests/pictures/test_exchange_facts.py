"""Who gives a value to whom: the rule of a shuffle against its execution, trees from recorded addresses."""

import numpy as np
import pytest

from helpers import run
from helpers.pictures import CannotTell
from helpers.pictures.exchange import facts as exchange
from helpers.pictures.reads.facts import reads
from helpers.pictures.shuffle import explorer as shuffle
from helpers.pictures.tree import explorer as tree
from helpers.pictures.warp_paths import facts as warp_paths


@pytest.mark.parametrize("mode", exchange.MODES)
def test_the_rule_of_a_shuffle_is_what_is_executed(mode):
    for offset in (0, 1, 7, 16, 31):
        for width in (2, 8, 32):
            got, sentence = shuffle.executed(shuffle.Choice(mode, offset, width))
            assert sentence == "" and (got == exchange.givers(mode, offset, width)).all(), (offset, width)


def test_a_lane_that_asks_an_absent_one_is_reported():
    choice = shuffle.Choice("down", 8, 32, "lanes 0 to 19")
    got, sentence = shuffle.executed(choice)
    assert np.flatnonzero(exchange.absent(np.where(got < 0, np.arange(32), got), 0xFFFFF)).tolist() == [*range(12, 20)]
    assert "took it by a shuffle from lane 20 of its warp" in sentence


@pytest.mark.parametrize("order", tree.ORDERS)
def test_every_order_of_a_tree_needs_the_same_steps(order):
    exchange = tree.exchanged(64, order)
    assert len(exchange.steps) == 6 and exchange.keep == (0,)
    reached = {0}
    for step in reversed(exchange.needed()):
        reached |= {giver for giver, _ in step}
    assert len(reached) >= 32


def test_only_neighbours_first_queues_at_the_banks():
    waves = {order: [step.wavefronts for step in tree.exchanged(128, order).steps] for order in tree.ORDERS}
    assert waves["the first threads add neighbours"] == [2, 4, 4, 4, 4, 2, 1]
    assert waves["the first half adds"] == waves["every second thread adds"] == [1] * 7


def test_whole_warps_fall_out_when_the_first_half_adds():
    first, second = "the first half adds", "every second thread adds"
    assert [tree.busy_warps(tree.Choice(128, first, step)) for step in (1, 2, 3, 7)] == [2, 1, 1, 1]
    assert [tree.busy_warps(tree.Choice(128, second, step)) for step in (1, 5, 6, 7)] == [4, 4, 2, 1]


def test_a_kernel_without_an_exchange_says_so():
    source = 'extern "C" __global__ void k(float *x) { x[threadIdx.x] = 1; }'
    recording = run.recorded(run.simulated(source, "k"), (1,), (32,), (np.zeros(32, np.float32),))
    with pytest.raises(CannotTell, match="no shuffle"):
        exchange.shuffles(recording)
    with pytest.raises(CannotTell, match="shared memory"):
        exchange.tree(recording)
    with pytest.raises(CannotTell, match="loads an element of x"):
        reads(recording, "x", 32)


def test_a_branch_inside_a_warp_issues_both_paths():
    by_lane, by_warp = (warp_paths.paths(shift) for shift in (warp_paths.BY_LANE, warp_paths.BY_WARP))
    common = by_lane[0].path.count("")
    apart = sum(warp.issued - common for warp in by_warp)
    assert by_lane[0].issued == by_lane[1].issued == common + apart
    assert all(warp.use == 1 for warp in by_warp)
    assert (by_lane[0].lanes[common:].sum(axis=1) == 16).all()
