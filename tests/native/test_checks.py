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


@pytest.fixture
def alone(monkeypatch):
    """The compiled engine has nobody to ask."""

    def refuse(*_):
        raise AssertionError("executed by the engine in NumPy")

    monkeypatch.setattr("helpers.simulator.engine.run._run_wave", refuse)


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


# The load of the round after the last one finds what nobody wrote.
LOADS_AHEAD = """
    __device__ float shared_at(const float* from) {
        float value;
        asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(value) : "r"((unsigned)__cvta_generic_to_shared(from)));
        return value;
    }
    extern "C" __global__ void k(float* sums, int rounds) {
        __shared__ float s[160];
        for (int i = 0; i < rounds; ++i) s[32 * i + threadIdx.x] = 1;
        __syncthreads();
        float sum = 0, next = shared_at(s + threadIdx.x);
        #pragma unroll 1
        for (int i = 1; i <= rounds; ++i) {
            sum += next;
            next = shared_at(s + 32 * i + threadIdx.x);
        }
        sums[threadIdx.x] = sum;
    }"""


@pytest.mark.usefixtures("alone")
def test_a_value_that_is_loaded_ahead_and_dropped_needs_no_second_look():
    sums = gpu.zeros(32, np.float32)
    watched(LOADS_AHEAD, 1, 32, sums, np.int32(4))
    assert gpu.asnumpy(sums).tolist() == [4] * 32


def test_a_value_that_is_loaded_ahead_and_used_is_found():
    with pytest.raises(simulator.UninitializedRead, match="next"):
        watched(LOADS_AHEAD.replace("= sum;", "= sum + next;"), 1, 32, gpu.zeros(32, np.float32), np.int32(4))


# Each block stores a part, and the one that comes last adds them.
HANDS_OVER = """
    extern "C" __global__ void k(float* parts, unsigned* arrived, float* sums) {
        __shared__ bool last;
        parts[blockIdx.x * blockDim.x + threadIdx.x] = 1 + blockIdx.x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) last = atomicAdd(arrived, 1) == gridDim.x - 1;
        __syncthreads();
        if (!last) return;
        float sum = 0;
        for (unsigned block = 0; block < gridDim.x; ++block) sum += parts[block * blockDim.x + threadIdx.x];
        sums[threadIdx.x] = sum;
    }"""


def arrays() -> tuple[object, ...]:
    return gpu.zeros(256, np.float32), gpu.zeros(1, np.uint32), gpu.zeros(64, np.float32)


@pytest.mark.usefixtures("alone")
def test_parts_that_blocks_hand_over_by_a_fence_and_an_atomic_operation_need_no_second_look():
    parts, arrived, sums = arrays()
    watched(HANDS_OVER, 4, 64, parts, arrived, sums)
    assert gpu.asnumpy(sums).tolist() == [10] * 64


@pytest.mark.parametrize(
    "slip",
    [
        ("        __threadfence();\n", ""),  # what was stored may come after the count
        ("        __threadfence();\n        __syncthreads();\n        if", "        __threadfence();\n        if"),
        ("= atomicAdd(arrived, 1) == gridDim.x - 1", "= blockIdx.x == gridDim.x - 1"),
        (
            "        __threadfence();\n",
            "        __threadfence();\n        parts[blockIdx.x * blockDim.x + threadIdx.x] += 1;\n",
        ),
    ],
    ids=["no fence", "no barrier before the count", "nobody counts", "a store behind the fence"],
)
def test_parts_that_are_handed_over_without_one_of_the_steps_are_a_race(slip):
    assert HANDS_OVER.count(slip[0]) == 1
    with pytest.raises(simulator.RaceError, match="parts"):
        watched(HANDS_OVER.replace(*slip), 4, 64, *arrays())
