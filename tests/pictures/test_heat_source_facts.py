"""A recorded kernel's source with what each of its lines did."""

import numpy as np
import pytest

import gpusim
from helpers.pictures.heat_source.facts import source_costs

SOURCE = """extern "C" __global__ void add(float *x) {
    x[(blockIdx.y * 2 + blockIdx.x) * 32 + threadIdx.x] += 1.0f;
}"""


@pytest.fixture(scope="module")
def recording() -> gpusim.Recording:
    kernel = gpusim.RawModule(code=SOURCE).get_function("add")
    with gpusim.record(blocks=[(0, 0, 0), (1, 0, 0)], only_traced=True) as recording:
        kernel((2, 3), (32,), (np.zeros(6 * 32, np.float32),))
    return recording


def test_it_is_called_as_the_kernel_or_as_it_is_asked_to_be(recording):
    assert source_costs(recording).name == "add"
    assert source_costs(recording, "mine").name == "mine"


def test_it_says_how_many_blocks_of_the_grid_were_executed(recording):
    costs = source_costs(recording)
    assert (costs.blocks, costs.executed) == (6, 2)


def test_line_has_the_requests_of_the_executed_blocks(recording):
    requests = [line.global_requests for line in source_costs(recording).lines]
    assert requests == [0, 2 * 2, 0]
