"""The banks of L1's tags: what was measured at some pitches says what others take, to a hundredth of a cycle."""

import numpy as np
import pytest

from gpusim import devices
from gpusim.timing import tags
from helpers import cycles, recordings
from helpers.tools.fitting import errors
from helpers.tools.measuring.calibrate import PITCH


@pytest.fixture(scope="module")
def measured():
    rows = recordings.raw(devices.DEFAULT.name, "machine")["measured"]
    return {int(name.removeprefix(PITCH)): cost for name, cost in rows.items() if PITCH in name}


@pytest.fixture(scope="module")
def fitted():
    return errors.tag_banks()


def farthest_off(measured, masks):
    pitches = [floats for floats, cost in measured.items() if cost > tags.LOOP]
    return np.abs(tags.cycles(pitches, tags.changes(masks)) - [measured[floats] for floats in pitches]).max()


def test_two_parities_of_a_line_explain_every_measured_pitch(measured, fitted):
    assert farthest_off(measured, (fitted["tag_bank_0"], fitted["tag_bank_1"])) < 0.02


def test_half_of_the_pitches_predict_the_other_half(measured):
    far = max(measured)  # no other one reaches the last lines
    half = {floats: cost for number, (floats, cost) in enumerate(measured.items()) if number % 2 or floats > far - 30}
    rest = {floats: cost for floats, cost in measured.items() if floats not in half}
    assert len(rest) > 25
    assert farthest_off(rest, tags.banks(half)) < 0.02


def test_consecutive_banks_are_off_by_over_two_cycles(measured):
    assert farthest_off(measured, (1, 2)) > 2


def test_constants_of_the_model_follow_from_the_measurements(fitted):
    known = cycles.machine(devices.DEFAULT.name).constants
    assert {name: known[name] for name in ("tag_bank_0", "tag_bank_1")} == fitted
