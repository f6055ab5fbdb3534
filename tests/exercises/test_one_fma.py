"""The explorer of one FMA: who computes what, from recorded addresses, and what the banks do with an order."""

import numpy as np
import pytest

from helpers.exercises import lane_speeds, one_fma
from helpers.measure import registers
from helpers.pictures.fma_lanes.facts import lanes_of
from tests.pictures.driving import drive


@pytest.mark.parametrize("name", ["row by row", "zigzag", "unmerged"])
def test_the_lanes_of_an_fma_are_in_32_places_of_the_warp_s_tile(name):
    data = one_fma.lanes(name)
    assert data.patch == (8, 4) and data.tile == (32, 32)
    for y, x in ((0, 0), (7, 3)):
        assert len({tuple(element) for element in data.elements(y, x)}) == 32
        assert data.needs(y, x) == (4, 8)


def test_lane_13_of_the_unmerged_map_is_where_its_formula_says():
    lane = 13
    row, column = (lane // 4 % 4 ^ (lane ^ lane // 2) % 2) * 8, (lane % 4 + lane // 16 * 4) * 4
    assert one_fma.lanes("unmerged").elements(2, 1)[lane].tolist() == [row + 2, column + 1]


def test_nested_loops_lose_cycles_that_going_back_saves():
    captions = {name: one_fma.picture_of(one_fma.Choice("unmerged", name)).caption for name in one_fma.ORDERS}
    assert "lose 8\u00a0cycles" in captions["row by row"] and "1.25 cycles for each" in captions["row by row"]
    assert "lose 8" in captions["rows, there and back"] and "lose no cycle" in captions["rows, back and there"]


def test_every_setting_of_the_explorer_shows_a_picture(monkeypatch):
    explorer = one_fma.explore()
    seen = drive(explorer, monkeypatch, settings=12)
    assert seen["sentence"] == 0 and seen["picture"] >= 12
    explorer.lanes.value = "zigzag"
    assert f"{registers.recorded('zigzag', kind='own').tflops:.1f} TFLOPS at 4096³, recorded" in explorer.draw()[1]


def test_speeds_of_lane_maps_without_a_gpu_are_the_recorded_ones():
    speeds, label = lane_speeds.tflops()
    assert speeds["zigzag"] == registers.recorded("zigzag", kind="own").tflops and label == "recorded on NVIDIA H200"


def test_lanes_are_numbered_as_the_recorded_stores_say():
    data = lanes_of(lane_speeds.launches()["row by row"].covering((64, 64, 8), 128, 1, 1))
    assert np.array_equal(data.rows[9], np.arange(8, 16)) and np.array_equal(data.columns[9], np.arange(4, 8))
