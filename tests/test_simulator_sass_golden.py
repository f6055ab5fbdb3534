"""Machine code in the simulator and on a GPU: every counter and every byte of the results of all launches is equal."""

import pytest
from sass_goldens import EVERYTHING, NOT_DECIDED, RECORDING, compare, goldens, kernel_of, record

LAUNCHES = record.all_launches()
AGAIN = (
    "record again on a GPU: python tests/goldens/record.py prepare FOLDER, then record FOLDER tests/goldens/sm_90.json"
)
pytestmark = pytest.mark.skipif(not RECORDING.exists(), reason=f"{RECORDING.name} is not there; {AGAIN}")


@pytest.mark.parametrize("launch", LAUNCHES, ids=lambda launch: launch.name)
def test_counters_and_results_are_the_gpus(launch):
    golden = goldens().get(launch.name)
    assert golden is not None, f"not recorded; {AGAIN}"
    assert record.sass_digest(kernel_of(launch).compiled) == golden["sass_sha256"], f"other machine code; {AGAIN}"
    comparison = compare(launch, golden)
    assert not comparison.differences
    assert comparison.counters > 40 or EVERYTHING in NOT_DECIDED[launch.name][0]
    assert comparison.result_bytes > 0


def test_every_launch_was_recorded_with_every_metric_and_nothing_else_was():
    assert [*goldens()] == [launch.name for launch in LAUNCHES]
    metrics = {*record.METRICS, *record.MORE_METRICS}
    incomplete = {name: sorted(metrics - {*row["counters"]}) for name, row in goldens().items()}
    assert not {name: missing for name, missing in incomplete.items() if missing}


def test_what_the_gpu_itself_counts_differently_twice_is_what_is_not_compared():
    unsteady = {(name, metric) for name, row in goldens().items() for metric in row.get("unsteady", ())}
    for name, metric in unsteady:
        excluded, _ = NOT_DECIDED[name]
        assert EVERYTHING in excluded or metric in excluded, (name, metric)


def test_a_counter_that_is_wrong_by_one_is_found():
    launch = next(launch for launch in LAUNCHES if launch.name == "saxpy")
    golden = goldens()["saxpy"]
    for name in ("smsp__inst_executed.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"):
        wrong = {**golden, "counters": {**golden["counters"], name: golden["counters"][name] + 1}}
        assert [name in text for text in compare(launch, wrong).differences] == [True]
    other = {**golden, "results_sha256": dict.fromkeys(golden["results_sha256"], "0")}
    assert "other bytes" in compare(launch, other).differences[0]
