"""The model of a scheduler against counts made by hand."""

import pytest

from helpers.pictures.scheduler.model import NO_WARP, issue_rate, timeline, warps_to_hide


def test_one_warp_issues_once_in_every_latency():
    assert timeline(1, 1, 4, 9).issued == (0, NO_WARP, NO_WARP, NO_WARP, 0, NO_WARP, NO_WARP, NO_WARP, 0)


def test_as_many_warps_as_the_latency_take_turns_without_a_gap():
    assert timeline(4, 1, 4, 10).issued == (0, 1, 2, 3, 0, 1, 2, 3, 0, 1)


def test_independent_instructions_fill_the_gap_as_warps_do():
    assert timeline(1, 3, 4, 8).issued == (0, 0, 0, NO_WARP, 0, 0, 0, NO_WARP)
    assert timeline(1, 4, 4, 40).busy == timeline(4, 1, 4, 40).busy == 40


def test_warp_waits_between_its_issue_and_its_result():
    assert timeline(1, 1, 4, 6).waits(0) == (False, True, True, True, False, True)
    assert not any(timeline(1, 4, 4, 12).waits(0))


@pytest.mark.parametrize(
    ("warps", "independent", "latency"), [(1, 1, 4), (3, 2, 20), (5, 3, 30), (8, 4, 24), (7, 1, 9)]
)
def test_the_long_run_is_littles_law(warps, independent, latency):
    cycles = 40 * latency
    assert timeline(warps, independent, latency, cycles).busy / cycles == pytest.approx(
        issue_rate(warps, independent, latency), abs=0.01
    )


@pytest.mark.parametrize(("latency", "independent"), [(4, 1), (30, 1), (30, 8), (30, 7), (500, 64)])
def test_the_fewest_warps_are_enough_and_one_less_is_not(latency, independent):
    enough = warps_to_hide(latency, independent)
    assert issue_rate(enough, independent, latency) == 1.0
    assert enough == 1 or issue_rate(enough - 1, independent, latency) < 1.0


def test_nonsense_is_refused_with_its_name():
    with pytest.raises(ValueError, match="independent is 0, expected at least 1"):
        timeline(1, 0, 4, 8)


@pytest.mark.parametrize(("warps", "independent"), [(1, 1), (4, 1), (6, 1), (16, 1), (16, 8)])
def test_more_warps_help_only_until_the_unit_is_full(warps, independent):
    cycles = 40 * 23
    share = timeline(warps, independent, 23, cycles, every=4).busy / cycles
    assert share == pytest.approx(min(0.25, warps * independent / 23), abs=0.01)
    assert share == pytest.approx(issue_rate(warps, independent, 23, every=4), abs=0.01)
    assert warps_to_hide(23, 1, every=4) == 6
