"""Notebook 16: its tree by hand is right, and its claims are those of what was executed or recorded."""

import re

import numpy as np
import pytest

from helpers import exercises
from helpers.exercises import reductions
from helpers.pictures.shuffle import explorer as shuffle
from helpers.pictures.tree import explorer as tree
from tests.notebooks.support import prose, sources


def test_the_tree_by_hand_adds_what_it_shows():
    (text,) = re.findall(r"```text\n(lane .*?)```", "\n".join(sources("16", "markdown")), re.DOTALL)
    rows = [[int(n) for n in re.findall(r"\d+", line.split("lane + ")[-1][1 if "+ lane" in line else 0 :])]
            for line in text.strip().splitlines()]  # fmt: skip
    numbers, half = np.array(rows[1]), 4
    for shown in rows[2:]:
        numbers = numbers[:half] + numbers[half : 2 * half]
        assert shown == numbers.tolist()
        half //= 2


def test_whole_warps_fall_out_as_the_prose_says():
    half, every = "the first half adds", "every second thread adds"
    assert [tree.busy_warps(tree.Choice(128, half, step)) for step in range(1, 8)] == [2, 1, 1, 1, 1, 1, 1]
    assert [tree.busy_warps(tree.Choice(128, every, step)) for step in range(1, 8)] == [4, 4, 4, 4, 4, 2, 1]
    assert "all four warps issue the additions of five steps" in prose("16")


def test_what_a_lane_without_a_lane_above_it_gets():
    assert "gets its own v" in prose("16")
    got, _ = shuffle.executed(shuffle.Choice("down", 8))
    assert got[24:].tolist() == [*range(24, 32)]
    halves, _ = shuffle.executed(shuffle.Choice("xor", 4, 16))
    assert (halves // 16 == np.arange(32) // 16).all()


def test_barriers_and_rounds_of_two_levels_match_the_picture():
    problem = exercises.get("two_levels").problem
    n, blocks = problem.cases[1].sizes["n"], problem.blocks
    assert "The picture is of 1000 elements and three blocks" in prose("16") and (n, blocks) == (1000, 3)
    left = n - blocks * 256
    assert left <= 256 and left % 32 == 8, "only block 0 finds something, and its last warp eight elements"
    tree_source = exercises.get("block_tree").solved
    assert tree_source.count("__syncthreads()") == 2 and np.log2(128) + 1 == 8


def test_reads_of_the_bug_hunt_come_before_its_first_store():
    picture = exercises.get("lockstep").show()
    assert "there are 5 reads from shared memory" in picture.caption.replace("\u00a0", " ")


@pytest.mark.parametrize("name", [exercise.name for exercise in exercises.of_notebook("16")])
def test_the_cell_of_an_exercise_is_its_starter(name):
    (cell,) = (source for source in sources("16", "code") if source.startswith(f"%%cuda {name}\n"))
    assert cell.partition("\n")[2].strip() == exercises.get(name).starter.strip()


RECORDED = reductions.recorded()


def test_the_fast_sum_is_no_slower_than_cupys():
    assert "*sum at memory speed* is no slower than `cupy.sum`" in prose("16")
    mine, cupys = map(RECORDED.find, ("sum at memory speed", "cupy.sum"))
    assert mine.time.median_ms < 1.03 * cupys.time.median_ms
    assert RECORDED.of_copy(mine) > 0.8


@pytest.mark.parametrize(
    ("mine", "cupys"),
    [
        ("scan at memory speed", "cupy.cumsum"),
        ("argmin at memory speed", "cupy.argmin"),
        ("histogram at memory speed", "cupy.histogram"),
    ],
)
def test_the_others_are_faster_than_cupys_own(mine, cupys):
    assert RECORDED.find(mine).time.median_ms < RECORDED.find(cupys).time.median_ms
    assert RECORDED.of_copy(RECORDED.find(mine)) > 0.8


def test_one_atomic_per_element_stops_at_two_to_the_24():
    assert "its result is 2²⁴, about half of the sum" in prose("16")
    x = reductions._inputs(2**12)[0]
    assert x.min() > 0 and x.max() < 1 and np.float32(2**24) + x.max() == np.float32(2**24)
    exact = 2**26 / 2  # the mean of so many is nearly a half
    assert RECORDED.find("one_atomic").error == pytest.approx(1 - 2**24 / exact, abs=0.001)


def test_four_times_as_many_blocks_take_four_times_as_long():
    warps, blocks = (RECORDED.find(name).time.median_ms for name in ("warp_tree", "block_tree"))
    assert warps / blocks == pytest.approx(128 / 32, rel=0.05)


def test_every_other_sum_is_near_float64():
    assert all(way.error < 1e-6 for way in RECORDED.ways if way.task == "sum" and way.name != "one_atomic")


def test_a_fixed_order_has_one_result_and_atomics_have_several():
    different = {name: len(set(ones)) for name, ones in RECORDED.bits.items()}
    assert different["last_block"] == 1 < different[reductions.ATOMIC_PARTS]
