"""Exercises whose goal is a time: the notebook's own idea reaches it, the kernel before it does not."""

import pytest

from helpers import exercises
from helpers.exercises.framework import speed
from helpers.run import simulated

AGAINST_THE_CLOCK = {"wide": "patch", "few_warps": "two_groups"}


def predicted_us(name: str) -> float:
    exercise = exercises.get(name)
    return 1e3 * speed.predicted_ms(simulated(exercise.solved, "sgemm"), exercise.problem)


@pytest.mark.table(keep=1)
@pytest.mark.parametrize(("name", "before"), AGAINST_THE_CLOCK.items())
def test_the_idea_meets_the_time_and_the_kernel_before_misses(name, before):
    (goal,) = (goal for goal in exercises.get(name).goals if "µs" in goal.what)
    assert predicted_us(name) <= goal.limit < predicted_us(before)
    assert exercises.get(name).before == before
