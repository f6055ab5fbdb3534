"""Picture 3: what is drawn equals what was counted."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection

from helpers.pictures import theme
from helpers.pictures.coalescing.figure import FIGURE_HEIGHT, SECTOR, caption, is_trouble, ribbon_of, sectors_figure
from tests.pictures.figure_data import LANES, access, coalesced, naive


def labelled(drawn, label):
    return [artist for artist in drawn.axes[0].collections if artist.get_label() == label]


def boxes_of(collection: PolyCollection) -> list[np.ndarray]:
    return [path.get_extents() for path in collection.get_paths()]


def test_each_sector_has_a_box_and_each_distinct_float_a_fill():
    drawn = sectors_figure(naive(), "naive")
    assert [len(boxes_of(artist)) for artist in labelled(drawn, "sectors")] == [32, 1, 32]
    assert [len(boxes_of(artist)) for artist in labelled(drawn, "used")] == [32, 1, 32]
    assert [len(artist.get_segments()) for artist in labelled(drawn, "lines")] == [32, 1, 32]


def test_neighbours_are_four_filled_boxes_under_one_bracket():
    drawn = sectors_figure(coalesced(), "coalesced")
    boxes = boxes_of(labelled(drawn, "sectors")[1])
    assert np.allclose(np.diff([box.x0 for box in boxes]), SECTOR)
    used = boxes_of(labelled(drawn, "used")[1])
    assert sum(box.width for box in used) == pytest.approx(4 * SECTOR)
    assert len(labelled(drawn, "lines")[1].get_segments()) == 1


def test_float_width_is_constant_and_32_scattered_sectors_fit():
    drawn = sectors_figure([*naive(), *coalesced()], "both")
    widths = {round(box.width, 6) for artist in labelled(drawn, "used") for box in boxes_of(artist)}
    assert widths == {round(SECTOR / 8, 6)}
    scattered = boxes_of(labelled(drawn, "sectors")[0])
    assert scattered[0].x0 > 0 and scattered[-1].x1 < 900


def test_a_ray_ends_in_the_float_of_its_lane():
    reverse = access("B", "ld", 31 - LANES)
    (rays,) = labelled(sectors_figure([reverse], "reversed"), "rays")
    assert isinstance(rays, LineCollection)
    ends = np.array([segment[1][0] for segment in rays.get_segments()])
    assert np.allclose(np.diff(ends), -SECTOR / 8)


def test_only_active_lanes_have_rays():
    half = access("B", "ld", LANES, active=LANES % 2 == 0)
    drawn = sectors_figure([half], "every second lane")
    (rays,) = labelled(drawn, "rays")
    assert len(rays.get_segments()) == 16
    assert len(boxes_of(labelled(drawn, "used")[0])) == 16


def test_a_vector_load_fills_its_sectors_with_wide_boxes():
    wide = access("B", "ld", LANES * 4, width=16)
    drawn = sectors_figure([wide], "float4")
    assert {round(box.width, 6) for box in boxes_of(labelled(drawn, "used")[0])} == {round(SECTOR / 2, 6)}
    assert len(boxes_of(labelled(drawn, "sectors")[0])) == 16


def test_a_request_of_no_lane_is_drawn_without_a_ribbon():
    no_lanes = access("A", "ld", LANES, active=np.zeros(32))
    drawn = sectors_figure([no_lanes], "nobody")
    assert labelled(drawn, "sectors") == []
    assert drawn.caption == "Load of A: no lane takes part."


def test_jump_in_memory_leaves_a_gap_with_its_distance():
    two_rows = access("C", "st", LANES % 16 + 1024 * (LANES // 16))
    ribbon = ribbon_of(two_rows)
    assert ribbon.jumps.tolist() == [32, 4064, 32]
    assert ribbon.left[2] - ribbon.left[1] > SECTOR
    texts = [text.get_text() for text in sectors_figure([two_rows], "x").axes[0].texts]
    assert "from byte 0 of C, then 1\u00a0jump of 4\u202f064 bytes" in texts


def test_sectors_on_both_sides_of_a_line_have_two_brackets():
    across = access("B", "ld", LANES + 16)
    assert len(labelled(sectors_figure([across], "x"), "lines")[0].get_segments()) == 2


def test_the_caption_states_the_numbers():
    assert caption(naive()) == (
        "Load of A: 32\u00a0sectors for 128\u00a0useful bytes – 12.5\u202f% used. "
        "Load of B: 1\u00a0sector, one word broadcast to 32 lanes. "
        "Store of C: 32\u00a0sectors for 128\u00a0useful bytes – 12.5\u202f% used. "
        "Mean of the 2 loads: 16.5 sectors."
    )


def test_the_array_colours_keep_their_meaning():
    drawn = sectors_figure(coalesced(), "x")
    colours = [artist.get_facecolor()[0] for artist in labelled(drawn, "used")]
    wanted = [tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)) for colour in (theme.A, theme.B, theme.C)]
    assert np.allclose([colour[:3] for colour in colours], wanted)


def test_trouble_is_over_twice_the_sectors_that_bytes_would_fill():
    assert is_trouble(access("A", "ld", LANES * 1024))
    assert not is_trouble(access("B", "ld", 0))
    assert not is_trouble(access("B", "ld", LANES))
    assert not is_trouble(access("B", "ld", LANES * 2))  # 8 sectors for 4
    assert is_trouble(access("B", "ld", LANES * 3))  # 12 or 13 sectors for 4


def test_three_accesses_have_the_height_an_explorer_reserves():
    assert sectors_figure(naive(), "x").css_size()[1] == sectors_figure(coalesced(), "x").css_size()[1] == FIGURE_HEIGHT


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="at least one WarpAccess"):
        sectors_figure([], "x")
