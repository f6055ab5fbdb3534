"""Where the cycles go: the parts add up, and the cycles that issue nothing divide as the recorded samples say."""

import numpy as np
import pytest

from gemm_kernels import LADDER, get
from gpusim import devices
from helpers import cycles, recordings
from helpers.measure import profiled
from helpers.pictures.budget import facts as budget
from helpers.pictures.warp_states import facts as warp_states

KERNELS = [kernel.name for kernel in LADDER]
H200 = devices.DEFAULT


def test_k_step_has_an_fma_per_sum_split_by_lane_and_scheduler():
    assert budget.K_STEP * devices.WARP * devices.SCHEDULERS == budget.SIDE**2


@pytest.mark.parametrize("name", KERNELS)
def test_the_parts_of_a_k_step_add_up_to_the_recorded_time(name):
    (row,) = (
        row for row in recordings.raw(H200.name, "states")["rows"]
        if (row["kernel"], row["size"]) == (name, profiled.SIZE)
    )  # fmt: skip
    fmas = profiled.SIZE**3 / devices.WARP / H200.sms / devices.SCHEDULERS
    cycles_ = row["metrics"]["gpu__time_duration.sum"] / 1e3 * H200.clock_mhz
    found = budget.k_step(name)
    assert found.total == pytest.approx(cycles_ / fmas * budget.K_STEP, rel=1e-6)
    assert found.fma == pytest.approx(budget.K_STEP) and min(found.parts.values()) >= 0


def spread(per_kernel):
    """The standard deviation of the logarithms: 0.1 is about 10 %."""
    return float(np.std(np.log(per_kernel)))


def test_samples_without_issue_follow_cycles_without_dispatch():
    large = [name for name in KERNELS if name != "naive"]  # whose sampler takes longer steps
    found = {name: budget.counted(name) for name in large}
    samples = np.array([sum(one.samples.values()) for one in found.values()])
    idle = np.array([one.cycles - one.issued for one in found.values()])
    closed = np.array([one.dispatch for one in found.values()])
    assert spread(samples / (idle - closed)) < 0.1
    assert spread(samples / idle) > 3 * spread(samples / (idle - closed))


def test_a_kernel_that_was_not_profiled_gets_a_sentence():
    with pytest.raises(recordings.NoRecording, match=r"warps of matrix_vector wait for was not recorded"):
        budget.counted("matrix_vector")


def test_prediction_has_the_products_fmas_and_duration():
    found = cycles.predict(get("coalesced").launch(512, 512, 512))
    whole = budget.predicted(found, "coalesced")
    clock = found.machine.constants["clock_mhz"]
    assert whole.total == pytest.approx(found.ms * 1e3 * clock, rel=1e-6)
    one = budget.predicted(found, "coalesced", (512, 512, 512))
    assert one.fma == pytest.approx(budget.K_STEP)
    assert one.total / one.fma == pytest.approx(whole.total / whole.fma, rel=0.03)


def test_schedulers_without_a_warp_are_no_waits():
    found = cycles.predict(get("coalesced").launch(32, 32, 512))  # one block of 1024 threads on one SM
    whole = budget.predicted(found, "coalesced")
    assert whole.empty > whole.total * (1 - 1.01 / H200.sms)


def test_a_recorded_launch_is_as_long_as_it_was_timed():
    for one in profiled.launches():
        found = budget.of_launch(one.name)
        assert found.total == pytest.approx(profiled.measured(one.name)["ms"][0] * 1e3)
        assert sum(found.parts.values()) == pytest.approx(found.total)


def test_states_by_hand_say_what_issues_or_what_is_waited_for():
    letters = {"F": "fma", "I": "other", "l": "long_scoreboard", "b": "barrier", "n": "not_selected"}
    found = warp_states.states_of(letters, ("IllF", "nFbb"))
    assert found.issued == ("other", "fma", "", "fma") and found.idle == 1
    assert found.waits == {"long_scoreboard": 2, "barrier": 2}
    assert found.waits_while_idle == {"long_scoreboard": 1, "barrier": 1}
