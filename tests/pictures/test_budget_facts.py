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
    step = budget.k_step(name)
    assert step.total == pytest.approx(cycles_ / fmas * budget.K_STEP, rel=1e-6)
    assert step.fma == pytest.approx(budget.K_STEP) and min(step.parts.values()) >= 0


def spread(per_kernel):
    """The standard deviation of the logarithms: 0.1 is about 10 %."""
    return float(np.std(np.log(per_kernel)))


def test_samples_without_issue_follow_cycles_without_dispatch():
    large = [name for name in KERNELS if name != "naive"]  # whose sampler takes longer steps
    budgets = {name: budget.counted(name) for name in large}
    samples = np.array([sum(kernel_budget.samples.values()) for kernel_budget in budgets.values()])
    idle = np.array([kernel_budget.cycles - kernel_budget.issued for kernel_budget in budgets.values()])
    closed = np.array([kernel_budget.dispatch for kernel_budget in budgets.values()])
    assert spread(samples / (idle - closed)) < 0.1
    assert spread(samples / idle) > 3 * spread(samples / (idle - closed))


def test_a_kernel_that_was_not_profiled_gets_a_sentence():
    with pytest.raises(recordings.NoRecording, match=r"warps of matrix_vector wait for was not recorded"):
        budget.counted("matrix_vector")


def test_prediction_has_the_products_fmas_and_duration():
    predicted = cycles.predict(get("coalesced").launch(512, 512, 512))
    whole = budget.predicted(predicted, "coalesced")
    clock = predicted.machine.constants["clock_mhz"]
    assert whole.total == pytest.approx(predicted.ms * 1e3 * clock, rel=1e-6)
    bar = budget.predicted(predicted, "coalesced", (512, 512, 512))
    assert bar.fma == pytest.approx(budget.K_STEP)
    assert bar.total / bar.fma == pytest.approx(whole.total / whole.fma, rel=0.03)


def test_schedulers_without_a_warp_are_no_waits():
    predicted = cycles.predict(get("coalesced").launch(32, 32, 512))  # one block of 1024 threads on one SM
    whole = budget.predicted(predicted, "coalesced")
    assert whole.empty > whole.total * (1 - 1.01 / H200.sms)


def test_a_recorded_launch_is_as_long_as_it_was_timed():
    for launch in profiled.launches():
        bar = budget.of_launch(launch.name)
        assert bar.total == pytest.approx(profiled.measured(launch.name)["ms"][0] * 1e3)
        assert sum(bar.parts.values()) == pytest.approx(bar.total)


def test_states_by_hand_say_what_issues_or_what_is_waited_for():
    letters = {"F": "fma", "I": "other", "l": "long_scoreboard", "b": "barrier", "n": "not_selected"}
    states = warp_states.states_of(letters, ("IllF", "nFbb"))
    assert states.issued == ("other", "fma", "", "fma") and states.idle == 1
    assert states.waits == {"long_scoreboard": 2, "barrier": 2}
    assert states.waits_while_idle == {"long_scoreboard": 1, "barrier": 1}
