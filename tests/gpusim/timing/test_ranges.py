"""The range of a predicted time: as wide as the errors for launches of other kernels say, tried with each in turn."""

import math
from dataclasses import replace

import pytest

from gemm_kernels import get
from gpusim.timing.machine import machine
from gpusim.timing.ranges import FEWEST, SHARE, Compared, range_for
from helpers import cycles, recordings

GPU = "NVIDIA H200"
CHANCE = 0.05  # of 51 launches of 20 kernels; ranges of all launches together, as there were once, hold half of them
KINDS = ("latency", "dram", "shared", "fp32", "l2", "xu", "issue", "launch")


def held(launches, kernel, seen):
    """(inside, all) of a kernel's launches, with the ranges that all other kernels give."""
    others = [launch for launch in launches if launch.kernel != kernel]
    own = [launch for launch in launches if launch.kernel == kernel and launch.seen == seen]
    ranges = {launch.kind: range_for(others, launch.kind, seen).factor for launch in own}
    return sum(1 / ranges[launch.kind] <= launch.factor <= ranges[launch.kind] for launch in own), len(own)


@pytest.mark.parametrize("seen", [True, False])
def test_ranges_hold_their_share_of_unseen_kernels(seen):
    launches = machine(GPU).compared
    kernels = {launch.kernel for launch in launches if launch.seen == seen}
    inside, all_ = (sum(pair) for pair in zip(*(held(launches, kernel, seen) for kernel in kernels), strict=True))
    assert len(kernels) >= 20
    assert inside / all_ > SHARE - CHANCE


@pytest.mark.parametrize("kind", KINDS)
def test_sentence_says_how_many_and_which_kernels_were_tested(kind):
    launches = machine(GPU).compared
    unseen, seen = (range_for(launches, kind, was_seen) for was_seen in (False, True))
    alike = " with the same kind of limit" if kind in ("latency", "dram") else ""  # the others are few
    assert unseen.reason == (
        f"Of {unseen.launches} timed launches of other kernels{alike}, {unseen.inside} fell within the range that was "
        "predicted for them in the same way."
    )
    assert "the course's own kernels" in seen.reason
    assert unseen.inside < unseen.launches  # a range that holds all of them promises more than was seen


def test_unseen_kernels_have_wider_ranges_from_test_launches():
    rows = recordings.raw(GPU, "cycles")["launches"]
    launches = machine(GPU).compared
    assert sum(not launch.seen for launch in launches) == sum(row[0] == "held back" for row in rows)
    assert not any(
        launch.kernel == row[1].split(" ")[0] for row in rows if row[0] == "calibration" for launch in launches
    )
    assert range_for(launches, "latency", False).factor > range_for(launches, "latency", True).factor


def test_course_kernel_has_the_narrow_range_changed_ones_wide():
    launch = get("coalesced").launch(64, 64, 64)
    predicted = cycles.predict(launch)
    changed = cycles.predict(launch.with_source(f"{launch.source}\n// changed"))
    assert predicted.range.seen
    assert not changed.range.seen
    assert changed.ms == predicted.ms
    assert changed.range_ms == (changed.ms / changed.range.factor, changed.ms * changed.range.factor)
    assert changed.range.reason in str(changed)


def test_a_limiter_that_few_kernels_have_takes_the_errors_of_all():
    few = [Compared(str(number), "dram", False, 2) for number in range(FEWEST - 1)]
    many = [Compared(str(number), "latency", False, 1.1) for number in range(50)]
    assert range_for(few + many, "dram", False).factor == pytest.approx(1.1)
    enough = [*few, replace(few[0], kernel="another")]
    assert range_for(enough + many, "dram", False).factor == pytest.approx(2)


def test_a_few_launches_give_a_range_with_room_for_the_next_one():
    errors = [0.01 * number for number in range(1, 10)]
    launches = [Compared(str(number), "dram", False, math.exp(error)) for number, error in enumerate(errors)]
    assert range_for(launches, "dram", False).factor == pytest.approx(math.exp(0.08))  # eight of ten gaps


def test_without_measurements_the_range_says_so():
    assert "No launch on this GPU" in range_for([], "dram", False).reason
