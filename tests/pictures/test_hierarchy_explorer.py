"""The explorer of block, warp and thread."""

import numpy as np
import pytest

from gemm_kernels import OwnKernel, get
from helpers import recordings
from helpers.pictures import theme
from helpers.pictures.hierarchy import explorer as hierarchy
from helpers.pictures.hierarchy.explorer import LANE_MAPS, SHAPES, ZIGZAG, warptiled, with_lane_map
from helpers.pictures.hierarchy.facts import levels_of
from tests.pictures.driving import drive, shown

OWN_SOURCE = """
extern "C" __global__ void
mine(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    int row = threadIdx.x / 16, col = threadIdx.x % 16;
    C[row * N + col] = alpha;
}
"""
OWN = OwnKernel(OWN_SOURCE, "mine", (64,))
SMALL = hierarchy.shown(warptiled(SHAPES[3]))


@pytest.fixture
def explorer(monkeypatch):
    monkeypatch.setattr(hierarchy, "SHAPES", (SHAPES[3],))
    monkeypatch.setattr(hierarchy, "OTHERS", ())
    return hierarchy.explore(OWN)


def test_settings_show_picture_or_sentence_and_free_figures(explorer, monkeypatch):
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 30 and seen["sentence"] > 3


def test_the_zigzag_saves_half_the_wavefronts_of_one_fragment():
    each = {}
    for lane_map in LANE_MAPS:
        data = levels_of(with_lane_map(SMALL, lane_map))
        each[lane_map] = {tile: loads.each for tile, loads in data.loads[0].items()}
    assert each[ZIGZAG] == {"As": 2, "Bs": 2}
    assert each["row by row"] == {"As": 2, "Bs": 4}
    assert each["column by column"] == {"As": 4, "Bs": 2}


def test_every_lane_map_covers_the_same_tile():
    tiles = [levels_of(with_lane_map(SMALL, lane_map)) for lane_map in LANE_MAPS]
    for data in tiles:
        assert data.tile == (64, 128)
        assert (np.bincount(data.owner.ravel()) == 8 * 4).all()
    assert not np.array_equal(tiles[0].owner, tiles[1].owner)


def test_the_lane_map_of_the_kernel_is_the_one_that_is_replaced():
    assert hierarchy.LANE_MAP in get("warptiled").source


def test_kernel_with_own_lane_map_gets_a_sentence(explorer):
    explorer.lane_map.value = "row by row"
    assert shown(explorer) == "sentence"
    assert "mine does not say where its lanes are" in explorer.stage.sentence.value
    explorer.lane_map.value = ZIGZAG
    assert shown(explorer) == "picture"
    assert explorer.warp.max == 1


def test_every_shape_keeps_the_rules_of_the_kernel():
    assert [tuple(warptiled(shape).params[name] for name in ("WM", "WN")) for shape in SHAPES] == [
        shape[2:4] for shape in SHAPES
    ]
    with pytest.raises(ValueError, match="must be"):
        warptiled((64, 64, 48, 64, 8, 8))


def test_the_static_twin_compares_the_lane_maps():
    caption = hierarchy.small_multiples(SHAPES[3]).caption
    assert "zigzag: A 2, B 2; row by row: A 2, B 4; column by column: A 4, B 2" in caption


def test_the_note_says_how_fast_the_kernel_is_with_its_own_lanes():
    explorer = hierarchy.explore()
    speed = theme.thousands(recordings.gflops(get("warptiled"), 4096, 4096, 4096).gflops)
    assert f"{speed} GFLOPS" in explorer.later()().replace("\u00a0", "\u202f")
    explorer.lane_map.value = "row by row"
    assert explorer.later() is None
