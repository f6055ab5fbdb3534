"""The recorded speeds of notebook 13's template: of the solution as it is shown, at all settings, each verified."""

import pytest

from gpusim import devices
from helpers import recordings
from helpers.exercises import settings
from helpers.exercises.framework import rungs
from helpers.exercises.n13 import TUNABLE
from helpers.measure.problem import WrongResult, tolerance
from helpers.pictures import theme
from helpers.pictures.live import CannotShow


def test_all_settings_were_recorded_right_at_all_sizes():
    content = recordings.raw(devices.DEFAULT.name, settings.SUITE)
    for size in settings.SIZES:
        assert set(settings.speeds(size)) == set(settings.settings())
    assert all(row["error"] <= tolerance(row["size"]) for row in content["rows"])


def test_the_recording_is_of_the_solution_that_the_course_shows():
    content = recordings.raw(devices.DEFAULT.name, settings.SUITE)
    assert content["sha256"] == rungs.sha256(TUNABLE), "record again: python -m helpers.exercises --record"


def test_settings_keep_the_templates_rules_and_divide_the_sizes():
    for setting in settings.settings():
        kernel = settings.kernel_of(setting)  # raises if a static_assert is broken
        assert 32 <= kernel.threads <= 1024
        assert all(size % side == 0 for size in settings.SIZES for side in setting[:3])


@pytest.mark.parametrize("size", settings.SIZES)
def test_the_numbers_are_worth_a_factor(size):
    speeds = settings.speeds(size).values()
    assert max(speeds) > 2 * min(speeds)


def test_a_search_without_a_gpu_asks_for_what_was_recorded():
    measure = settings.measure_at(512)
    assert measure((64, 64, 16, 4, 4)) == settings.speeds(512)[64, 64, 16, 4, 4]
    assert measure.label == "recorded on NVIDIA H200" and measure.budgets == (10, len(settings.speeds(512)))


def test_setting_is_measured_once_and_a_wrong_result_gives_none(monkeypatch):
    asked = []

    def timed(launches, budget_s):
        asked.append(launches[0].entry)
        raise WrongResult("wrong")

    monkeypatch.setattr(rungs, "timed", timed)
    measure = settings.Measure(512, {}, "", (10,))
    assert measure((64, 64, 8, 4, 4)) is None and measure((64, 64, 8, 4, 4)) is None
    assert asked == ["sgemm<64, 64, 8, 4, 4>"]


def test_explorer_draws_a_tile_with_its_recorded_speed():
    explorer = settings.explore()
    picture, note = explorer.draw()
    speeds = settings.speeds(4096)
    speed = speeds[64, 64, 8, 4, 4]
    faster = sum(other > speed for other in speeds.values())
    assert note.startswith(f"{theme.thousands(speed)} GFLOPS at 4\u202f096³, recorded on NVIDIA H200")
    assert note.endswith(f"{faster} of {len(speeds)} settings are faster.")
    assert "for 512 FMAs" in picture.caption.replace("\u00a0", " ")
    explorer.sizes["BM"].value, explorer.sizes["BN"].value, explorer.sizes["TM"].value = 32, 32, 8
    explorer.sizes["TN"].value = 8
    with pytest.raises(CannotShow, match="32 × 32 in patches of 8 × 8 makes 16 threads"):
        explorer.setting  # noqa: B018
