"""The explorer of a scheduler, and what its pictures say."""

import base64

import numpy as np
import pytest

from helpers.pictures import theme
from helpers.pictures.scheduler import explorer as scheduler
from helpers.pictures.scheduler.explorer import MOST_WARPS, Choice
from helpers.pictures.scheduler.figure import FIGURE_HEIGHT, schedulers_figure
from tests.pictures.driving import drive
from tests.pictures.figure_data import boxes_of, plain


def labelled(drawn, label: str) -> int:
    """How many shapes the artist with this label has."""
    return len(boxes_of(drawn, label))


def test_too_few_warps_idle_and_the_caption_says_how_many_do():
    drawn = scheduler.picture_of(Choice(8, 1, 30))
    assert (labelled(drawn, "busy"), labelled(drawn, "idle")) == (16, 44)
    assert plain(drawn.caption) == (
        "8 warps, a result after 30 cycles: the scheduler issues in 16 of 60 cycles, 27 %. 30 warps would keep it busy."
    )
    assert plain(scheduler.picture_of(Choice(8, 2, 30)).caption).startswith(
        "8 warps, 2 independent instructions each, "
    )


def test_warps_row_shows_issue_wait_and_not_selected():
    drawn = scheduler.picture_of(Choice(3, 1, 4))
    assert labelled(drawn, "warp 0 issues") == 15  # every fourth of 60 cycles
    assert labelled(drawn, "warp 0 waits") == 45
    assert labelled(drawn, "warp 2 ready") == 2  # cycles 0 and 1, in which warps 0 and 1 were chosen


@pytest.mark.parametrize("choice", [Choice(16, 1, 23), Choice(4, 2, 23), Choice(3, 1, 7), Choice(9, 1, 40)])
def test_share_of_cycles_is_warps_times_ilp_by_latency(choice):
    issued = scheduler.timeline_of(choice).issued
    assert (
        len([warp for warp in issued if warp >= 0]) / len(issued) == choice.warps * choice.independent / choice.latency
    )


def test_the_explorers_picture_keeps_its_height():
    heights = {scheduler.picture_of(Choice(warps), MOST_WARPS).css_size()[1] for warps in (1, 7, MOST_WARPS)}
    assert heights == {FIGURE_HEIGHT}


def test_the_twin_goes_from_an_idle_scheduler_to_a_busy_one():
    assert plain(scheduler.small_multiples().caption) == (
        "From 4 % of the cycles (1 warp, 1 independent) to 100 % (4 warps, 8 independent each)."
    )
    warps_alone = [scheduler.Choice(warps, 1) for warps in (1, 4)]
    assert plain(scheduler.small_multiples(warps_alone).caption) == "From 4 % of the cycles (1 warp) to 17 % (4 warps)."
    with pytest.raises(ValueError, match="at least one"):
        schedulers_figure([], "none")


def test_every_setting_of_the_explorer_shows_a_picture(monkeypatch):
    shown = drive(scheduler.explore(), monkeypatch, settings=30)
    assert shown["sentence"] == 0 and shown["picture"] > 30


def test_the_picture_is_of_the_courses_width():
    assert np.isclose(scheduler.picture_of(Choice()).get_size_inches()[0], theme.WIDTH)


def test_an_output_keeps_the_picture_for_the_next_day():
    explorer = scheduler.explore()
    kept = explorer._repr_mimebundle_()["image/png"]
    assert base64.b64decode(kept) == bytes(explorer.stage.picture.value)
    assert len(kept) < 100_000


def test_a_full_unit_stops_the_scheduler_and_the_caption_says_so():
    assert plain(scheduler.picture_of(Choice(16, 1, 23, 4)).caption).endswith(
        "25 %. The unit takes one in 4 cycles, at most 25 %. 6 warps are enough to keep it busy."
    )
