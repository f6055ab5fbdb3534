"""Sources that differ in one thing: what was timed is what the course shows, and both compute the same."""

from dataclasses import replace

import numpy as np
import pytest

from gpusim import devices
from helpers import gpu, recordings, run
from helpers.exercises import pairs
from helpers.exercises.framework import speed
from helpers.measure import problem

NAMES = list(pairs.launches())


@pytest.mark.parametrize("name", NAMES)
def test_what_was_timed_is_the_source_that_is_shown(name):
    suites = (recordings.raw(devices.DEFAULT.name, suite)["rows"] for suite in (pairs.SUITE, speed.SUITE))
    (row,) = (row for rows in suites for row in rows if row["M"] == pairs.SIZE and row["sha256"] == hash_of(name))
    assert pairs.speeds(name)[0].median_ms == row["time"][0]


def hash_of(name):
    return pairs.sha256(pairs.launches()[name])


@pytest.mark.parametrize(("first", "other"), [*zip(NAMES[:6:2], NAMES[1:6:2], strict=True), NAMES[5:]])
def test_both_of_a_pair_compute_the_same_bits(first, other):
    A, B, _ = problem(64, 64, 16)
    results = []
    for name in (first, other):
        dC = gpu.full((64, 64), np.nan, np.float32)
        launch = pairs.launches(64)[name]
        run.run(replace(launch, shape=(64, 64, 16)), gpu.asarray(A), gpu.asarray(B), dC)
        results.append(gpu.asnumpy(dC))
    assert not np.isnan(results[0]).any() and np.array_equal(*results)
    assert pairs.launches(64)[first].source != pairs.launches(64)[other].source
