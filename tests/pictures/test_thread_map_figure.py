"""Picture 2: who stores which element of C."""

import numpy as np
import pytest

from gpusim import Recording
from helpers import exercises
from helpers.exercises.framework import trial
from helpers.pictures import theme
from helpers.pictures.thread_map import figure as picture
from helpers.pictures.thread_map.facts import thread_map
from helpers.pictures.thread_map.figure import Corner, thread_map_figure, thread_maps_figure
from helpers.run import simulated
from tests.pictures.facts_data import map_by_hand as by_hand, recorded_stores as record
from tests.pictures.figure_data import boxes_of


@pytest.fixture(scope="module")
def tall() -> Recording:
    """naive, (32, 8) threads on 64 × 64: x runs down the rows."""
    return record("naive", (32, 8, 1), (2, 8, 1), (64, 64))


def artist(drawn, label: str):
    return next(a for a in drawn.axes[0].get_children() if a.get_label() == label)


def test_the_caption_leads_from_the_thread_to_its_element(tall):
    data = thread_map(tall, (64, 64), "naive")
    drawn = thread_map_figure(data, block=1, thread=35)
    said = drawn.caption.replace("\u00a0", " ")
    assert said == "Thread (3, 1) of block (1, 0): linear id 35 = warp 1, lane 3 → C[35, 1]."


def test_formula_is_filled_in_and_the_warps_next_thread_is_a_row(tall):
    drawn = thread_map_figure(thread_map(tall, (64, 64), "naive"), block=1, thread=35)
    words = [text.get_text() for text in drawn.axes[0].texts]
    assert "    = 3 + 32·(1 + 8·0) = 35" in words
    assert "lane 4 is 64\u00a0floats further: C[36, 1]" in words


def test_magnifying_glass_colours_the_selected_warp_only():
    data = by_hand(False, (16, 16, 1), (4, 4, 1), (64, 64))
    drawn = thread_map_figure(data, block=5, thread=35)
    cells = np.asarray(artist(drawn, "cells").get_array())
    purple = np.isclose(cells, np.array([int(theme.WARP[i : i + 2], 16) / 255 for i in (1, 3, 5)])).all(axis=2)
    # Warp 1 of a (16, 16) block is its rows 2 and 3; the glass begins at the block's corner.
    expected = np.zeros((32, 32), bool)
    expected[2:4, :16] = True
    assert (purple == expected).all()


def test_every_selected_element_is_under_the_glass():
    for block in ((1024, 1, 1), (1, 1024, 1), (24, 8, 1), (5, 3, 1), (32, 32, 1)):
        shape = (100, 90)
        grid = (-(-90 // block[0]), -(-100 // block[1]), 1)
        data = by_hand(False, block, grid, shape)
        for thread in range(0, data.threads, 7):
            for number in (0, data.blocks - 1):
                cells = data.elements(number, thread)
                rows, columns = picture._window(data, number, thread)
                assert rows.stop - rows.start == columns.stop - columns.start == 32
                for row, col in cells:
                    assert rows.start <= row < rows.stop and columns.start <= col < columns.stop


def test_too_small_grid_leaves_hatched_cells_and_counts_them():
    data = thread_map(record("coalesced", (24, 8, 1), (2, 4, 1), (40, 48)), (40, 48), "coalesced")
    drawn = thread_map_figure(data, 0, 0)
    assert data.uncomputed == 8 * 48
    assert "No thread computes 384 of C's 1\u202f920 elements" in drawn.caption
    assert len(boxes_of(drawn, "nobody")) == 8


def test_threads_outside_of_c_are_counted():
    data = thread_map(record("coalesced", (64, 1, 1), (1, 10, 1), (10, 48)), (10, 48), "coalesced")
    assert "160 of 640 threads lie outside C" in thread_map_figure(data, 0, 0).caption
    assert "→ nothing: it lies outside C." in thread_map_figure(data, 0, 63).caption


def test_groups_that_share_out_k_do_not_lie_outside_of_c():
    slices = exercises.get("slices")
    setup = slices.problem.prepare(slices.picture.case)
    data = thread_map(trial.record(simulated(slices.solved, slices.problem.entry), setup), (16, 24), "slices")
    drawn = thread_map_figure(data, 0, 64)
    assert "→ nothing: it works, but stores nothing of C." in drawn.caption
    assert drawn.caption.endswith("1\u202f152 of 1\u202f536 threads work, but store nothing of C.")


def test_ignored_third_dimension_does_the_work_twice():
    data = thread_map(record("coalesced", (16, 8, 2), (1, 2, 1), (16, 16)), (16, 16), "coalesced")
    assert (data.writers == 2).all()
    assert "256\u00a0elements are computed by 2 threads each" in thread_map_figure(data, 0, 128).caption


def test_a_warp_that_is_not_full_is_mentioned():
    data = by_hand(False, (24, 2, 1), (2, 8, 1), (16, 48))
    assert "fills 48 of the 64 lanes of its 2\u00a0warps, 75\u202f%" in picture.caption(data, 0, 0)


def test_thread_outside_the_launch_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match="no thread 256 in block 0: the launch has 16 blocks of 256"):
        thread_map_figure(by_hand(False, (16, 16, 1), (4, 4, 1), (64, 64)), 0, 256)


def test_small_multiples_show_the_distance_from_lane_to_lane(tall):
    along = by_hand(False, (16, 16, 1), (4, 4, 1), (64, 64))
    down = thread_map(tall, (64, 64), "naive")
    drawn = thread_maps_figure([Corner(along, "along"), Corner(down, "down")], "two")
    assert drawn.caption == "From lane to lane – along: 1\u00a0float, and 49 at a jump; down: 64\u00a0floats."


def test_doubly_computed_elements_are_not_laid_to_the_grid():
    shown = exercises.get("warp_place").show()
    assert "No thread computes 2\u202f048" in shown.caption and "grid too small" not in shown.caption


def test_no_border_is_drawn_over_the_name_of_a_block():
    drawn = exercises.get("warp_place").show()
    names, plates, borders = (artist(drawn, label).zorder for label in ("blocks", "plates", "block borders"))
    assert names == plates > borders
