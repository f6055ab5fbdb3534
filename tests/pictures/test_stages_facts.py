"""The stages of an iteration, recorded and predicted."""

import numpy as np
import pytest

from helpers import recordings
from helpers.measure import stamps
from helpers.pictures import marks
from helpers.pictures.stages import facts as stages
from helpers.pictures.stages.figure import stages_figure


@pytest.fixture(scope="module")
def double():
    return stages.recorded("double_buffered"), stages.predicted("double_buffered")


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("kernel", ["vectorized", "double_buffered"])
def test_iteration_is_predicted_within_an_eighth_of_the_recorded(kernel):
    assert stages.predicted(kernel).cycles == pytest.approx(stages.recorded(kernel).cycles, rel=0.125)


def test_double_buffered_stages_are_predicted_within_a_tenth(double):
    recorded, predicted = double
    assert recorded.names == predicted.names == ("load", "multiply", "store", "barrier")
    for name in recorded.names:
        assert predicted.mean(name) == pytest.approx(recorded.mean(name), abs=0.1 * recorded.cycles)


@pytest.mark.parametrize("kernel", stamps.KERNELS)
def test_warps_take_stages_in_order_and_leave_barriers_together(kernel):
    recorded = stages.recorded(kernel)
    assert (np.diff(recorded.begins, axis=1) > 0).all()
    for number in range(recorded.begins.shape[1] - 1):
        if recorded.names[number % len(recorded.names)] == "barrier":
            assert recorded.begins[:, number + 1].min() >= recorded.begins[:, number].max()


def test_double_buffered_warp_waits_less_at_barriers(double):
    assert stages.recorded("vectorized").mean("barrier") > 3 * double[0].mean("barrier")


def test_the_picture_has_a_bar_for_each_stage_of_each_warp(double):
    drawn = stages_figure(double, "Two iterations", "A caption.")
    assert len(marks.of(drawn)) == sum(stage.begins[:, 1:].size for stage in double)


def test_changed_source_or_kernel_without_stamps_gets_a_sentence(monkeypatch):
    monkeypatch.setitem(stamps.KERNELS, "naive", ("k", (("load", "no such line"),)))
    with pytest.raises(ValueError, match="no mark can be put there"):
        stamps.marked("naive")
    with pytest.raises(recordings.NoRecording, match="double_buffered"):
        stamps.stamps("naive")
