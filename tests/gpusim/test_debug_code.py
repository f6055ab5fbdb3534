"""Code for a debugger, compiled with -G: variables lie in memory, and functions of the system are called by name."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from helpers import gpu

SOURCE = """
struct Bits { unsigned low : 3; unsigned high : 5; int sign : 7; unsigned long long wide : 40; };
extern "C" __global__ void bits(int *out, int n) {
    int t = threadIdx.x;
    Bits b;
    b.low = t; b.high = n; b.sign = -t; b.wide = 1ull << 35 | t;
    out[4 * t] = b.low; out[4 * t + 1] = b.high; out[4 * t + 2] = b.sign; out[4 * t + 3] = b.wide >> 33;
}
extern "C" __global__ void masked(int *out, int n) {
    int nobody_wrote[2];
    if (n > 3) nobody_wrote[0] = n;
    out[threadIdx.x] = nobody_wrote[0] & 7;
}
extern "C" __global__ void leaves_early(float *x, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t >= n) return;
    s[t] = x[t];
    __syncthreads();
    x[t] = s[n - 1 - t];
}
extern "C" __global__ void half_meets(float *x) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 16) __syncthreads();
    x[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void says(int n) {
    int *kept = new int(n);
    assert(*kept < 100);
    printf("%d and %s\\n", *kept, "text");
    delete kept;
}
struct Shape { __device__ virtual int corners() const { return 0; } };
struct Square : Shape { __device__ int corners() const override { return 4; } };
__device__ int one_more(int x) { return x + 1; }
__device__ int twice(int x) { return 2 * x; }
__device__ int (*const table[])(int) = {one_more, twice};
extern "C" __global__ void stops(int at, int which) {
    if (threadIdx.x == at)
        if (which) __brkpt();
        else __trap();
}
extern "C" __global__ void through_pointers(int *out) {
    Shape none;
    Square square;
    const Shape *shape = threadIdx.x < 2 ? &none : &square;
    out[threadIdx.x] = 10 * shape->corners() + table[threadIdx.x % 2](5);
}
"""


def launch(name: str, level: str, threads: int, *args) -> None:
    with gpusim.record(level=level):
        gpusim.RawModule(code=SOURCE, options=("-G",)).get_function(name)((1,), (threads,), args)


def test_bits_of_a_word_are_stored_one_after_the_other(level):
    out, t = np.zeros((8, 4), np.int32), np.arange(8)
    launch("bits", level, 8, out, np.int32(37))
    assert out.T.tolist() == [t.tolist(), [37 % 32] * 8, (-t).tolist(), [4] * 8]


def test_unwritten_bits_are_still_found_where_they_are_used(level):
    out = gpu.zeros(4, np.int32)
    launch("masked", level, 4, out, np.int32(13))
    assert out.tolist() == [5] * 4
    with pytest.raises(
        errors.UninitializedRead, match="a variable of its own, or an element of one, which it has not written"
    ):
        launch("masked", level, 4, out, np.int32(2))


@pytest.mark.parametrize("n", [32, 40, 64])
def test_returned_threads_are_not_awaited_at_a_barrier(level, n):
    x = np.arange(64, dtype=np.float32)
    launch("leaves_early", level, 64, x, np.int32(n))
    assert x.tolist() == [*range(n - 1, -1, -1), *range(n, 64)]


def test_threads_that_go_past_a_barrier_are_named(level):
    with pytest.raises(errors.KernelError, match=r"__syncthreads\(\)"):
        launch("half_meets", level, 32, np.zeros(32, np.float32))


def test_functions_of_the_system_are_called_by_their_names(level, capsys):
    launch("says", level, 1, np.int32(42))
    assert capsys.readouterr().out == "42 and text\n"
    with pytest.raises(errors.DeviceAssertion, match="kept < 100"):
        launch("says", level, 1, np.int32(142))


def test_functions_that_pointers_say_are_called_in_ptx():
    out = np.zeros(4, np.int32)
    launch("through_pointers", "auto", 4, out)
    assert out.tolist() == [6, 10, 46, 50]
    with pytest.raises(errors.UnsupportedInstruction, match=r'a call through a pointer in .*choose level="ptx"'):
        launch("through_pointers", "sass", 4, out)


@pytest.mark.parametrize("options", [(), ("-G",)])
@pytest.mark.parametrize("name", ["__trap", "__brkpt"])
def test_a_kernel_that_stops_itself_is_quoted_where_it_does(name, options, level):
    with gpusim.record(level=level), pytest.raises(errors.DeviceAssertion) as caught:
        kernel = gpusim.RawModule(code=SOURCE, options=options).get_function("stops")
        kernel((1,), (8,), (np.int32(5), np.int32(name == "__brkpt")))
    assert f"thread (5, 0, 0) of block (0, 0, 0) stopped the kernel with {name}()" in str(caught.value)
    assert f"{name}();" in SOURCE.splitlines()[caught.value.line - 1]


GROUPS = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void sums(int *out, const int *x, int n) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<TILE>(block);
    int value = block.thread_rank() < n ? x[block.thread_rank()] : 0;
    SUM
    block.sync();
    if (tile.thread_rank() == 0) atomicAdd(out, value);
}
"""
SHUFFLES = "for (int step = tile.size() / 2; step; step /= 2) value += tile.shfl_down(value, step);"


def test_cooperative_groups_run_in_code_for_a_debugger(level):
    x, out = np.arange(61, dtype=np.int32), gpu.zeros(1, np.int32)
    source = GROUPS.replace("TILE", "16").replace("SUM", SHUFFLES)
    with gpusim.record(level=level):
        gpusim.RawModule(code=source, options=("-G",)).get_function("sums")((1,), (64,), (out, x, np.int32(61)))
    assert int(out[0]) == x.sum()


@pytest.mark.parametrize("options", [(), ("-G",)])
def test_tiles_beyond_a_warp_are_answered_with_their_needs(options, level):
    source = GROUPS.replace("TILE", "64").replace("SUM", "tile.sync();")
    with gpusim.record(level=level), pytest.raises(errors.UnsupportedInstruction, match=r"more than 32 threads"):
        kernel = gpusim.RawModule(code=source, options=options).get_function("sums")
        kernel((1,), (64,), (np.zeros(1, np.int32), np.arange(64, dtype=np.int32), np.int32(64)))
