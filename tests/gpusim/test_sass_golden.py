"""Machine code in the simulator and on a GPU: every counter and every byte of the results of all launches is equal."""

import pytest

from tests.gpusim.sass_goldens import (
    EVERYTHING,
    INSTRUCTIONS,
    NOT_DECIDED,
    PATCHED,
    compare,
    compare_with_recorded,
    goldens,
    not_decided,
    record,
)

LAUNCHES = {launch.name: launch for launch in record.all_launches()}
FIRST = {
    (launch.file, launch.entry): name for name, launch in reversed(LAUNCHES.items())
}  # each kernel's, which all runs take
AGAIN = "record again on a GPU: `make record`, or the commands of tests/gpusim/goldens/record.py alone"


@pytest.mark.parametrize(
    "launch",
    [
        pytest.param(launch, id=name, marks=() if name in FIRST.values() else pytest.mark.table(keep=60))
        for name, launch in LAUNCHES.items()
    ],
)
def test_counters_and_results_are_the_gpus(launch):
    comparison = compare_with_recorded(launch, goldens(), AGAIN, not_decided(launch))
    assert comparison.counters > 80 or EVERYTHING in not_decided(launch)


def test_every_launch_was_recorded_with_exactly_its_metrics():
    assert [*goldens()] == [*LAUNCHES], AGAIN
    assert len({(launch.file, launch.entry) for launch in LAUNCHES.values()}) > 21 + 30  # the ladder, further kernels
    metrics = {*record.METRICS, *record.MORE_METRICS}
    incomplete = {name: sorted(metrics - {*row["counters"]}) for name, row in goldens().items()}
    assert not {name: missing for name, missing in incomplete.items() if missing}


@pytest.mark.table(keep=3)
@pytest.mark.parametrize("name", NOT_DECIDED)
def test_what_is_not_compared_differs(name):
    wrong = compare(LAUNCHES[name], goldens()[name]).wrong
    assert set(wrong) == set(not_decided(LAUNCHES[name])) or (wrong and not_decided(LAUNCHES[name]) == (EVERYTHING,))


def test_only_uncompared_counts_differ_between_two_gpu_runs():
    twice = {(name, metric) for name, row in goldens().items() for metric in row.get("unsteady", ())}
    for name, row in goldens().items():
        if row["counters"][INSTRUCTIONS] != row["counters"][PATCHED]:
            twice.add((name, INSTRUCTIONS))
    assert {name for name, _ in twice} <= {*NOT_DECIDED}


def test_a_counter_that_is_wrong_by_one_is_found():
    launch, golden = LAUNCHES["saxpy"], goldens()["saxpy"]
    for name in (INSTRUCTIONS, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"):
        wrong = {**golden, "counters": {**golden["counters"], name: golden["counters"][name] + 1}}
        assert compare(launch, wrong).wrong == (name,)
    other = {**golden, "results_sha256": dict.fromkeys(golden["results_sha256"], "0")}
    assert "other bytes" in compare(launch, other).differences[0]
