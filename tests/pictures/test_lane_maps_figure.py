"""Maps of a warp's lanes: who shares a row, who a column, and no line crosses a number."""

import numpy as np
import pytest

from helpers.pictures.lane_maps.figure import CELL, NO_LANE, LaneMap, warp_maps_figure

LANES = np.arange(32)
ROWS = LaneMap("row by row", LANES.reshape(8, 4))
COLUMNS = LaneMap("column by column", LANES.reshape(4, 8).T)


def zigzag() -> LaneMap:
    lanes = np.empty((8, 4), int)
    lanes[LANES // 2 % 8, LANES // 2 // 8 * 2 + LANES % 2] = LANES
    return LaneMap("zigzag", lanes)


def test_only_zigzag_partners_share_one_row_and_one_column():
    assert zigzag().shared(1, axis=0) and zigzag().shared(2, axis=1)
    assert not zigzag().shared(1, axis=1) and not zigzag().shared(2, axis=0)
    assert ROWS.shared(1, axis=0) and ROWS.shared(2, axis=0) and not ROWS.shared(2, axis=1)
    assert COLUMNS.shared(1, axis=1) and COLUMNS.shared(2, axis=1)


def test_only_adjacent_lanes_are_joined_by_a_line():
    drawn = warp_maps_figure([COLUMNS], "maps")
    steps = [path for artist in drawn.axes[0].collections for path in artist.get_paths() if len(path.vertices) == 2]
    assert len(steps) == 4 * 7
    assert all(np.hypot(*np.ptp(path.vertices, axis=0)) < CELL for path in steps)


def test_a_lane_that_stands_nowhere_is_left_out():
    lanes = ROWS.lanes.copy()
    lanes[3, 2] = NO_LANE
    lane_map = LaneMap("mine", lanes)
    assert not lane_map.shared(1, axis=0)
    assert "share neither" in warp_maps_figure([lane_map], "maps").caption


def test_maps_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="do not fit side by side"):
        warp_maps_figure([ROWS] * 6, "maps")
