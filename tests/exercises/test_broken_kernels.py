"""Broken kernels of learners never reach the GPU and never harm it; without a GPU the simulator stands in for one."""

import pytest

from helpers import exercises, gpu, run
from helpers.exercises.framework import on_gpu, progress
from helpers.exercises.framework.exercise import KernelExercise
from tests.exercises.broken_kernels import FAULTS, Door, broken, submit_all

KERNELS = [exercise for exercise in exercises.EXERCISES if isinstance(exercise, KernelExercise)]
# test_kernel_exercises.py tries as much on the simulator; here the counting itself is held.
SUBMITTED = KERNELS if gpu.backend() == "gpu" else [exercises.get("padding")]
TRIED = FAULTS if gpu.backend() == "gpu" else ("a store far away", "a race", "NaN", "a compile error")


@pytest.fixture
def door(monkeypatch, tmp_path):
    monkeypatch.setenv(progress.ENVIRONMENT_VARIABLE, str(tmp_path / "progress.json"))
    counted = Door()
    for module in (on_gpu, run):
        monkeypatch.setattr(module, "gpu", counted)
    return counted


@pytest.mark.parametrize("exercise", SUBMITTED, ids=lambda exercise: exercise.name)
def test_no_broken_kernel_is_launched_and_the_right_one_is(exercise, door):
    submit_all(exercise, door, TRIED)


def test_the_count_sees_a_kernel_that_is_let_through(door):
    exercise = exercises.get("beta")
    answer = on_gpu.run(broken(exercise, "NaN"), exercise.problem)
    assert not answer.passed
    assert door.launches > 0


@pytest.mark.parametrize("exercise", KERNELS, ids=lambda exercise: exercise.name)
def test_a_fault_goes_into_the_body_of_every_kernel(exercise):
    source = broken(exercise, "a store far away")
    before, line, after = source.partition("[1 << 30] = 1.0f;")
    assert line and before.rsplit("if (", 1)[0].rstrip().endswith("{")
    output = exercise.problem.prepare(exercise.problem.cases[0]).output
    assert output.dtype.itemsize % 4 == 0  # so many bytes as what the faults write, or two of them
