"""The compiled engine's watch over memory: requests that reach several arrays, or none at all."""

import numpy as np
import pytest

from helpers import gpu, simulator
from helpers.simulator.engine import compiled

pytestmark = pytest.mark.skipif(compiled.library() is None, reason="there is no compiled engine here")
BETWEEN = 1 << 24  # floats: whoever looks up a place of the one array in the other finds nothing that is ours


def watched(source: str, grid: int, threads: int, *arguments: object) -> None:
    with simulator.record(level="sass", checks=True):
        gpu.RawKernel(source, "k")((grid,), (threads,), arguments)


def test_lanes_of_one_request_are_watched_in_the_array_that_each_of_them_reaches():
    near, between, far = gpu.zeros(64, np.float32), gpu.empty(BETWEEN, np.float32), gpu.zeros(64, np.float32)
    source = """
        extern "C" __global__ void k(float* near, const float* between, float* far) {
            float* mine = threadIdx.x & 1 ? far : near;
            mine[blockIdx.x * 32 + threadIdx.x] = 1 + blockIdx.x;
        }"""
    watched(source, 2, 32, near, between, far)
    both = np.stack([gpu.asnumpy(near), gpu.asnumpy(far)]).reshape(2, 2, 32)
    expected = np.zeros((2, 2, 32), np.float32)
    expected[0, :, ::2] = expected[1, :, 1::2] = [[1], [2]]
    assert np.array_equal(both, expected)


def test_a_race_in_the_second_array_of_a_request_is_found():
    near, between, far = gpu.zeros(64, np.float32), gpu.empty(BETWEEN, np.float32), gpu.zeros(64, np.float32)
    source = """
        extern "C" __global__ void k(float* near, const float* between, float* far) {
            float* mine = threadIdx.x & 1 ? far : near + 32 * blockIdx.x;
            mine[threadIdx.x] = 1 + blockIdx.x;
        }"""
    with pytest.raises(simulator.RaceError, match="far"):
        watched(source, 2, 32, near, between, far)


def test_a_copy_of_no_bytes_is_not_watched_where_its_source_would_be():
    given, result = gpu.ones(32, np.float32), gpu.zeros(32, np.float32)
    source = """
        extern "C" __global__ void k(const float* given, float* result) {
            __shared__ float s[32];
            unsigned to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
            bool inside = threadIdx.x < 20;
            const float* from = given + (inside ? threadIdx.x : 1 << 24);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(to), "l"(from), "r"(inside ? 4 : 0));
            asm volatile("cp.async.wait_all;" ::: "memory");
            __syncthreads();
            result[threadIdx.x] = s[threadIdx.x];
        }"""
    watched(source, 1, 32, given, result)
    assert gpu.asnumpy(result).tolist() == [1] * 20 + [0] * 12
