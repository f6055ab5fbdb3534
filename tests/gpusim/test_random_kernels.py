"""Random right kernels run and give NumPy's numbers, and a fault that is planted in one is found."""

import numpy as np
import pytest

from tests.gpusim.random_kernels import shapes, trial
from tests.gpusim.random_kernels.language import Assign, Barrier, Fault, Kernel, Shared
from tests.gpusim.random_kernels.trial import Task

BOTH = ("sass", "ptx")


ARCHITECTURES = ("sm_75", "sm_90", "sm_120")


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_random_right_kernels_give_the_numbers_of_numpy(arch):
    seeds = tuple(range(ARCHITECTURES.index(arch), 12, 3))
    assert [result.outcome for result in trial.tried(Task(seeds, False, arch, BOTH, False))] == ["right"] * 8


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_planted_faults_are_found_at_both_levels(arch):
    seeds = tuple(range(ARCHITECTURES.index(arch), 12, 3))
    outcomes = trial.tried(Task(seeds, True, arch, BOTH, False))
    assert len(outcomes) == 8
    assert [outcome for outcome in outcomes if not outcome.is_good] == []


def test_faults_of_every_kind_are_planted():
    kinds = {shapes.planted(seed)[2] for seed in range(20)}
    assert kinds == {"an index too large", "a negative index", "too many rounds", "a barrier left out"}


def small(*body) -> Kernel:
    x, w = np.arange(64, dtype=np.float32), np.arange(64, dtype=np.int32)
    return Kernel(32, 1, 32, x, w, [Shared("a", "float", (32,)), Shared("b", "float", (4, 8))], list(body))


TURNED = (Assign("a[«0:t»]", "x[t]"), Barrier(0), Assign("s", "a[«1:31 - t»]", "+="))


def test_a_random_kernel_is_executed_in_numpy():
    result = small(*TURNED).run()
    assert result.y.tolist() == list(range(31, -1, -1))
    assert (result.left, result.races, result.twice, result.unwritten) == ([], False, False, False)


def test_a_shifted_index_leaves_its_array_in_numpy():
    assert small(*TURNED).run(Fault("site", 1, 1)).left == ["a"]
    assert small(*TURNED).run(Fault("site", 1, -31)).left == ["a"]
    assert "a[(31 - t) - 31]" in small(*TURNED).source("k", Fault("site", 1, -31))


def test_an_index_beyond_a_row_stays_in_the_array():
    first = Assign("b[t / 8][«0:t % 8»]", "x[t]")
    assert small(first, Barrier(0), Assign("s", "b[«1:0»][«2:t % 8»]", "+=")).run(Fault("site", 2, 8)).left == []
    assert small(first, Barrier(0), Assign("s", "b[«1:3»][«2:t % 8»]", "+=")).run(Fault("site", 2, 8)).left == ["b"]


def test_without_the_barrier_the_threads_race_in_numpy():
    assert small(*TURNED).run(Fault("barrier", 0)).races
    own = (Assign("a[t]", "x[t]"), Barrier(0), Assign("s", "a[t]", "+="))
    assert not small(*own).run(Fault("barrier", 0)).races


def test_random_kernels_have_the_shapes_that_failed():
    texts = [shapes.right(seed)[0].source("k") for seed in range(60)]
    for words in (
        "else",
        "? ",
        "atomicAdd",
        "atomic_ref",
        "__half",
        "double",
        "#pragma unroll",
        ".v",
        "][tx]",
        "/= 2",
    ):
        assert sum(words in text for text in texts) > 1, words


def test_a_right_kernel_that_is_stopped_counts():
    stopped = trial.Outcome(0, "right", "sm_90", "sass", "OutOfBounds")
    missed = trial.Outcome(0, "a negative index", "sm_90", "sass", "right")
    found_bug = trial.Outcome(0, "a negative index", "sm_90", "sass", "OutOfBounds")
    assert [outcome.is_good for outcome in (stopped, missed, found_bug)] == [False, False, True]
