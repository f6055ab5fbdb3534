"""Tiles by hand as lines of time: as many units as the sum says, and idle time hatched."""

import numpy as np
import pytest

from helpers.pictures.pipeline.model import ByHand
from helpers.pictures.pipeline.time_lines import LEFT, RIGHT, time_lines_figure
from tests.pictures.figure_data import boxes_of


def test_bars_stand_at_their_times():
    drawn = time_lines_figure([ByHand(4, 4, 3, 1), ByHand(4, 4, 3, 2)], "four tiles")
    boxes = np.array(boxes_of(drawn, "bars"))
    assert len(boxes) == 2 * 8
    unit = (RIGHT - LEFT) / 28
    assert np.ptp(boxes[0, :, 0]) == pytest.approx(4 * unit) and np.ptp(boxes[1, :, 0]) == pytest.approx(3 * unit)
    assert len(boxes_of(drawn, "idle")) == 4 + 4
    assert "28 units" in drawn.caption.replace("\u00a0", " ") and "19 units" in drawn.caption.replace("\u00a0", " ")


def test_nothing_is_no_picture():
    with pytest.raises(ValueError, match="nothing to draw"):
        time_lines_figure([], "nothing")
