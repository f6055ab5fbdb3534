"""The SMs as lines of time: pieces as long as their iterations, idle time hatched, all panels on one axis."""

import numpy as np
import pytest

from helpers.pictures.schedule.facts import whole_tiles
from helpers.pictures.schedule.figure import LEFT, RIGHT, schedules_figure
from tests.pictures.figure_data import boxes_of


def test_picture_has_pieces_at_their_times_and_hatches_idling():
    drawn = schedules_figure([whole_tiles(5, 8, 4)], "five tiles")
    boxes = np.array(boxes_of(drawn, "pieces"))
    assert len(boxes) == 5
    lengths = np.ptp(boxes[:, :, 0], axis=1)
    assert lengths == pytest.approx((RIGHT - LEFT) / 2)
    assert sum(artist.get_label() == "idle" for artist in drawn.axes[0].get_children()) == 3


def test_panels_share_one_axis_of_time():
    drawn = schedules_figure([whole_tiles(2, 8, 4), whole_tiles(2, 8, 4, parts=2)], "two ways")
    boxes = np.array(boxes_of(drawn, "pieces"))
    assert np.ptp(boxes[0, :, 0]) == pytest.approx(2 * np.ptp(boxes[-1, :, 0]))


def test_the_caption_counts_iterations_and_busy_sms():
    said = schedules_figure([whole_tiles(5, 8, 4)], "five tiles").caption.replace("\u00a0", " ").replace("\u202f", " ")
    assert "whole tiles: 16 iterations, SMs busy for 62 %" in said


def test_nothing_is_no_picture():
    with pytest.raises(ValueError, match="no schedule"):
        schedules_figure([], "nothing")
