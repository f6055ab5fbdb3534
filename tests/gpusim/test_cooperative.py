"""Cooperative launches: all blocks are on the device at once, and meet at `grid.sync()`."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.cupy.names import RawKernel, asarray

SUM_OF_ALL = """#include <cooperative_groups.h>
extern "C" __global__ void kernel(const int *x, int *parts, int *out, int n) {
    const auto grid = cooperative_groups::this_grid();
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) parts[blockIdx.x] = 0;
    __syncthreads();
    if (at < n) atomicAdd(&parts[blockIdx.x], x[at]);
    grid.sync();
    int sum = 0;
    for (int block = 0; block < gridDim.x; ++block) sum += parts[block];
    grid.sync();
    if (threadIdx.x == 0) parts[blockIdx.x] = -1;
    if (at < n) out[at] = sum - x[at];
}"""


def kernel(arch: str = "sm_90", cooperative: bool = True):
    module = gpusim.RawModule(code=SUM_OF_ALL, arch=arch, enable_cooperative_groups=cooperative)
    return module.get_function("kernel")


@pytest.mark.parametrize("blocks", [1, 3, 132])
def test_all_blocks_see_what_all_wrote_before_they_met(level, blocks):
    n = 128 * blocks - 5
    x, parts = np.random.default_rng(blocks).integers(-99, 99, n, dtype=np.int32), np.full(blocks, 77, np.int32)
    out = np.zeros(n, np.int32)
    with gpusim.record(level=level, checks="raise"):
        kernel()((blocks,), (128,), (x, parts, out, np.int32(n)))
    np.testing.assert_array_equal(out, x.sum() - x)


@pytest.mark.parametrize("arch", ["sm_80", "sm_75"])
def test_older_architectures_keep_the_barrier_elsewhere(arch):
    x, parts, out = np.arange(64, dtype=np.int32), np.zeros(2, np.int32), np.zeros(64, np.int32)
    with gpusim.record(level="sass", checks="raise"):
        kernel(arch)((2,), (32,), (x, parts, out, np.int32(64)))
    np.testing.assert_array_equal(out, x.sum() - x)


def test_more_blocks_than_the_device_holds_are_refused():
    # 2048 threads of an SM are 2 blocks of 1024, and an H200 has 132 SMs.
    x = np.zeros(1, np.int32)
    with pytest.raises(errors.LaunchError, match=r"it holds 264, not 265"):
        kernel()((265,), (1024,), (x, np.zeros(265, np.int32), x, np.int32(1)))


def test_a_kernel_of_cupy_takes_the_same_word():
    x, parts, out = np.arange(64, dtype=np.int32), np.zeros(2, np.int32), np.zeros(64, np.int32)
    args = (*map(asarray, (x, parts)), result := asarray(out), np.int32(64))
    RawKernel(SUM_OF_ALL, "kernel", enable_cooperative_groups=True)((2,), (32,), args)
    np.testing.assert_array_equal(result.get(), x.sum() - x)


def test_without_a_barrier_between_blocks_it_is_a_race():
    source = SUM_OF_ALL.replace("    grid.sync();\n    int sum", "    int sum")
    x, parts, out = np.arange(64, dtype=np.int32), np.zeros(2, np.int32), np.zeros(64, np.int32)
    function = gpusim.RawModule(code=source, enable_cooperative_groups=True).get_function("kernel")
    with gpusim.record(checks="raise"), pytest.raises(errors.RaceError, match="parts"):
        function((2,), (32,), (x, parts, out, np.int32(64)))
