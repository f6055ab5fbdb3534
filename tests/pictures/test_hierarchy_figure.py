"""Picture 10: block, warp and thread."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from helpers.pictures import theme
from helpers.pictures.hierarchy import figure as picture
from helpers.pictures.hierarchy.facts import NO_THREAD, Hierarchy
from helpers.pictures.hierarchy.figure import hierarchy_figure, lane_maps_figure, rectangles
from tests.pictures.facts_data import hierarchy as tiled
from tests.pictures.figure_data import plain


def image(drawn, label: str) -> np.ndarray:
    return next(i.get_array() for i in drawn.axes[0].images if i.get_label() == label)


def strips(drawn, label: str) -> np.ndarray:
    """(strips, 2) upper left corners in pixels."""
    artists = [artist for artist in drawn.axes[0].collections if artist.get_label() == label]
    return np.array([path.vertices.min(axis=0) for artist in artists for path in artist.get_paths()])


def test_only_the_selected_lane_is_green():
    lanes = image(hierarchy_figure(tiled(), warp=1, lane=9), "lanes")
    green = np.argwhere((lanes == to_rgb(theme.C)).all(axis=2))
    assert green.tolist() == [[2, 2], [2, 3], [3, 2], [3, 3]]  # lane 9: row 1, column 1 of the lanes


def test_the_selected_warp_is_purple_in_its_block():
    warps = image(hierarchy_figure(tiled(), warp=2), "warps")
    purple = (warps == to_rgb(theme.WARP)).all(axis=2)
    assert np.argwhere(purple).min(axis=0).tolist() == [8, 0]
    assert purple.sum() == 128


def test_the_strips_lie_along_the_lanes_rows_and_columns():
    drawn = hierarchy_figure(tiled(), warp=1, lane=9)
    scale = picture.WARP_SIZE / 16
    rows = strips(drawn, f"A {theme.A}")
    columns = strips(drawn, f"B {theme.B}")
    of_lane = rows[rows[:, 0] > picture.WARP_X - 30][:, 1]
    assert of_lane.tolist() == pytest.approx([picture.TOP + scale * 2, picture.TOP + scale * 3])
    of_lane = columns[columns[:, 0] > picture.WARP_X][:, 0]
    assert of_lane.tolist() == pytest.approx([picture.WARP_X + scale * 2, picture.WARP_X + scale * 3])
    assert len(strips(drawn, f"A {picture.FAINT_A}")) == 8
    assert len(strips(drawn, f"B {picture.FAINT_B}")) == 16


def test_the_caption_counts_floats_fmas_and_wavefronts():
    assert plain(picture.caption(tiled(), 1)) == (
        "At each k warp 1 needs 8 floats of A and 16 of B for 128 FMAs. "
        "It loads As by 4 requests of 2 wavefronts and Bs by 2 requests of 4 wavefronts."
    )


def test_floats_per_fma_are_worked_out_for_thread_and_warp():
    texts = [plain(text.get_text()) for text in hierarchy_figure(tiled()).axes[0].texts]
    assert "thread: 2 + 2 floats for 2 × 2 FMAs, 1.000 per FMA" in texts
    assert "warp: 8 + 16 floats for 8 × 16 FMAs, 0.188 per FMA" in texts


def test_rectangles_are_found_with_their_numbers():
    numbers = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [2, 2, 2, 2]])
    assert rectangles(numbers) == [(0, 0, 0, 2, 2), (1, 0, 2, 2, 1), (0, 0, 3, 2, 1), (2, 2, 0, 1, 4)]


def test_elements_that_are_not_stored_belong_to_no_lane():
    data = tiled()
    owner = data.owner.copy()
    owner[0, 0] = NO_THREAD
    lanes = image(hierarchy_figure(Hierarchy("k", (64, 64), (0, 0), owner, data.loads)), "lanes")
    assert (lanes[0, 0] == np.array([0xEF] * 3) / 255).all()


def test_lane_maps_stand_side_by_side_with_their_wavefronts():
    drawn = lane_maps_figure([("zigzag", tiled()), ("row by row", tiled())], "t")
    assert plain(drawn.caption) == "Wavefronts per request – zigzag: A 2, B 4; row by row: A 2, B 4."
    assert [i.get_label() for i in drawn.axes[0].images] == ["lanes", "lanes"]
    with pytest.raises(ValueError, match="Between 1 and 4"):
        lane_maps_figure([], "none")


def test_what_is_not_there_cannot_be_selected():
    with pytest.raises(ValueError, match="no lane 0 of warp 4"):
        hierarchy_figure(tiled(), warp=4)
