"""The recorded speeds of notebook 13's template: of the solution as it is shown, at all settings, each verified."""

import pytest

from helpers import devices
from helpers.exercises import settings
from helpers.exercises.framework import rungs
from helpers.exercises.n13 import TUNABLE
from helpers.measure import recordings
from helpers.measure.problem import tolerance


def test_all_settings_were_recorded_at_all_sizes_and_every_result_was_right():
    content = recordings.raw(devices.DEFAULT.name, settings.SUITE)
    for size in settings.SIZES:
        assert set(settings.speeds(size)) == set(settings.settings())
    assert all(row["error"] <= tolerance(row["size"]) for row in content["rows"])


def test_the_recording_is_of_the_solution_that_the_course_shows():
    content = recordings.raw(devices.DEFAULT.name, settings.SUITE)
    assert content["sha256"] == rungs.sha256(TUNABLE), "record again: python -m helpers.exercises --record"


def test_every_setting_keeps_the_rules_of_the_template_and_divides_the_sizes():
    for setting in settings.settings():
        kernel = settings.kernel_of(setting)  # raises if a static_assert is broken
        assert 32 <= kernel.threads <= 1024
        assert all(size % side == 0 for size in settings.SIZES for side in setting[:3])


@pytest.mark.parametrize("size", settings.SIZES)
def test_the_numbers_are_worth_a_factor(size):
    speeds = settings.speeds(size).values()
    assert max(speeds) > 2 * min(speeds)
