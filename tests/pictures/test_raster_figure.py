"""Orders of the tiles side by side: numbers in their tiles, and one panel for each row and column that is needed."""

import pytest

from helpers.pictures.raster.facts import grouped
from helpers.pictures.raster.figure import rasters_figure
from tests.pictures.figure_data import boxes_of


def test_each_row_and_column_of_the_running_blocks_has_a_panel():
    drawn = rasters_figure([grouped(4, 8, 8, 16)], "order")
    assert len(boxes_of(drawn, "A")) == 4 and len(boxes_of(drawn, "B")) == 4
    assert len(boxes_of(drawn, "running")) == 16


def test_the_caption_adds_up_the_panels_of_both_orders():
    said = rasters_figure([grouped(1, 4, 4, 4), grouped(2, 4, 4, 4)], "order").caption.replace("\u00a0", " ")
    assert "row by row: 1 panel of A and 4 of B, 5 together" in said
    assert "2 rows of tiles together: 2 panels of A and 2 of B, 4 together" in said


def test_more_than_two_orders_do_not_fit():
    with pytest.raises(ValueError, match="not 3"):
        rasters_figure([grouped(1, 2, 2, 2)] * 3, "order")
