"""Small multiples: one row per setting, the boxes and bars as long as the numbers."""

import pytest

from helpers.pictures.block_shapes.facts import BlockShape
from helpers.pictures.coalescing.settings import BOX_HEIGHT, GFLOPS_WIDTH, Setting, settings_figure
from tests.pictures.figure_data import LANES, access, coalesced, naive

SOURCE = "recorded on NVIDIA H200"
SLOW = BlockShape("naive", (32, 1), 16.5, 16.5, 500.0)
FAST = BlockShape("coalesced", (32, 1), 2.5, 1.0, 5000.0)


def figure(*settings):
    return settings_figure(settings, "Two settings", SOURCE)


def bars(drawn):
    return [artist for artist in drawn.axes[0].collections if artist.get_label() == "gflops"]


def test_each_sector_is_a_box_filled_as_far_as_it_is_used():
    drawn = figure(Setting(SLOW, tuple(naive())), Setting(FAST, tuple(coalesced())))
    used = [artist for artist in drawn.axes[0].collections if artist.get_label() == "used"]
    heights = [[path.get_extents().height / BOX_HEIGHT for path in artist.get_paths()] for artist in used]
    assert [len(row) for row in heights] == [32, 1, 32, 1, 4, 4]
    assert heights[0] == pytest.approx([1 / 8] * 32)
    assert heights[4] == pytest.approx([1.0] * 4)


def test_a_sector_that_is_used_in_part_is_filled_in_part():
    shifted = access("C", "st", LANES + 3)
    drawn = figure(Setting(FAST, (shifted,)))
    (used,) = (artist for artist in drawn.axes[0].collections if artist.get_label() == "used")
    shares = [path.get_extents().height / BOX_HEIGHT for path in used.get_paths()]
    assert shares == pytest.approx([5 / 8, 1, 1, 1, 3 / 8])


def test_bars_are_as_long_as_the_gflops():
    drawn = figure(Setting(SLOW, tuple(naive())), Setting(FAST, tuple(coalesced())))
    lengths = [path.get_extents().width for bar in bars(drawn) for path in bar.get_paths()]
    assert lengths == pytest.approx([GFLOPS_WIDTH / 10, GFLOPS_WIDTH])


def test_what_was_not_measured_is_said_and_has_no_bar():
    unknown = BlockShape("coalesced", (3, 5), 4.0, 2.0)
    drawn = figure(Setting(unknown, tuple(coalesced())))
    assert "not timed" in [text.get_text() for text in drawn.axes[0].texts]
    assert bars(drawn) == []
    assert "GFLOPS" not in drawn.caption


def test_caption_names_fewest_sectors_slowest_and_fastest():
    drawn = figure(Setting(SLOW, tuple(naive())), Setting(FAST, tuple(coalesced())))
    assert drawn.caption == (
        "Fewest sectors: coalesced (32,\u00a01) with 2.5 per request, 5\u202f000 GFLOPS. "
        "Slowest: naive (32,\u00a01) with 16.5 per request, 500 GFLOPS. "
        "Fastest: coalesced (32,\u00a01) with 2.5 per request, 5\u202f000 GFLOPS (GFLOPS recorded on NVIDIA H200)."
    )


def test_nothing_to_draw_is_said():
    with pytest.raises(ValueError, match="at least one Setting"):
        figure()
