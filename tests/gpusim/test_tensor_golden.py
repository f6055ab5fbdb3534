"""Kernels for tensor cores in the simulator and on a GPU: every counter and every byte of the results is equal."""

import pytest

from tests.gpusim import kernel_launches
from tests.gpusim.sass_goldens import compare_with_recorded, tensor_goldens

AGAIN = "record again on a GPU, with the commands of tests/gpusim/goldens/record.py and `tensor`"
LAUNCHES = {launch.name: launch for launch in kernel_launches.tensor()}


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_counters_and_results_of_tensor_cores_are_the_gpus(launch):
    assert compare_with_recorded(launch, tensor_goldens(), AGAIN).counters > 95


def test_every_launch_for_tensor_cores_was_recorded_and_no_other():
    assert [*tensor_goldens()] == [*LAUNCHES], AGAIN
    assert len(LAUNCHES) > 100


def test_the_tensor_pipe_counts_products_of_every_kind():
    kinds = {"hmma": "wmma<1> 128x128x128", "imma": "m8n8k16 s32 s8 s8", "dmma": "m8n8k4 f64 f64 f64"}
    for kind, name in kinds.items():
        counters = tensor_goldens()[name]["counters"]
        assert (
            counters[f"smsp__inst_executed_pipe_tensor_op_{kind}.sum"]
            == counters["smsp__inst_executed_pipe_tensor.sum"]
        )
