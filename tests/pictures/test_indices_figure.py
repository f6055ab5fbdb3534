"""The pictures of notebook 02: the line of threads, the line of memory, and how full warps are."""

import numpy as np
import pytest

from helpers.pictures import theme
from helpers.pictures.layouts import figure as layouts
from helpers.pictures.numbering import figure as numbering
from helpers.pictures.warp_fill import figure as warp_fill
from tests.pictures.figure_data import boxes_of


def artists(figure: theme.Figure, label: str) -> list:
    return [artist for artist in figure.axes[0].get_children() if artist.get_label() == label]


def block_ids(x: int, y: int, z: int) -> np.ndarray:
    return np.arange(x * y * z).reshape(z, y, x)


# --- the line of threads


def test_caption_says_the_next_threads_distance_on_each_axis():
    caption = numbering.numbering_figure(block_ids(8, 4, 2), "title").caption
    assert caption == (
        "A block of 8 × 4 × 2 is 64\u00a0threads in 2\u00a0warps; "
        "the linear id grows by 1 along x, 8 along y, 32 along z."
    )
    assert "grows by 1 along x." in numbering.numbering_figure(block_ids(32, 1, 1), "title").caption


def test_warp_has_one_colour_and_neighbouring_warps_differ():
    figure = numbering.numbering_figure(block_ids(16, 4, 1), "title")
    (layer,) = artists(figure, "layer 0")
    colours = [tuple(colour) for colour in layer.get_facecolors()]
    assert len(set(colours[:32])) == 1 and len(set(colours[32:])) == 1 and colours[0] != colours[32]


def test_the_picture_is_drawn_from_the_ids_that_it_is_given():
    wrong = block_ids(8, 4, 1).transpose(0, 2, 1).reshape(1, 4, 8)  # a learner's function that counts along y first
    assert "grows by" in numbering.numbering_figure(wrong, "title").caption
    assert numbering.numbering_figure(wrong, "t").caption != numbering.numbering_figure(block_ids(8, 4, 1), "t").caption


def test_a_block_too_large_to_read_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="32 × 32 × 1 is too large to read its numbers"):
        numbering.numbering_figure(block_ids(32, 32, 1), "title")


# --- the line of memory


@pytest.mark.parametrize(("order", "expected"), [("C", 2 * 5 + 1), ("F", 2 + 1 * 3)])
def test_an_element_has_the_place_that_its_formula_gives(order, expected):
    assert layouts.places(3, 5, order)[2, 1] == expected


def test_ribbon_shows_memory_order_in_the_rows_colours():
    figure = layouts.layout_figure(3, 5)
    (row_major,), (column_major,) = artists(figure, "memory C"), artists(figure, "memory F")
    by_row = [tuple(colour) for colour in row_major.get_facecolors()]
    by_column = [tuple(colour) for colour in column_major.get_facecolors()]
    assert len(set(by_row[:5])) == 1 and len(set(by_row)) == 3
    assert by_column == [by_row[5 * (index % 3)] for index in range(15)]


def test_the_caption_counts_floats_to_the_next_row_and_column():
    assert layouts.caption(3, 5) == (
        "Row-major: the next row is 5\u00a0floats away, the next column 1. "
        "Column-major: the next row is 1\u00a0float away, the next column 3."
    )


def test_a_matrix_too_large_to_read_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="5 × 5 elements do not fit"):
        layouts.layout_figure(5, 5)


# --- warps


def lanes(threads: int) -> list[np.ndarray]:
    filled = np.arange(-(-threads // 32) * 32) < threads
    return list(filled.reshape(-1, 32))


def test_idle_lanes_are_hatched_and_working_ones_filled():
    figure = warp_fill.warp_fill_figure({48: lanes(48)}, "title")
    assert (len(boxes_of(figure, "working 48")), len(boxes_of(figure, "idle 48"))) == (48, 16)


@pytest.mark.parametrize(("threads", "share"), [(16, 0.5), (32, 1.0), (48, 0.75), (100, 100 / 128)])
def test_share_of_lanes_is_of_the_warps_the_block_occupies(threads, share):
    assert warp_fill.used_share(lanes(threads)) == share


def test_the_caption_names_the_full_blocks_and_the_emptiest():
    sizes = {threads: lanes(threads) for threads in (16, 32, 64, 100)}
    assert warp_fill.warp_fill_figure(sizes, "title").caption == (
        "Full warps: blocks of 32, 64. A block of 16 uses 50\u202f% of the lanes that it occupies."
    )


def test_more_warps_than_fit_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="the largest given has 32"):
        warp_fill.warp_fill_figure({1024: lanes(1024)}, "title")
