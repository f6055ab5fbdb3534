"""`RawModule.get_global`: a module's variables filled and read from Python, as `cupy.RawModule` lets it be done."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from helpers import gpu

LEVELS = ("sass", "ptx", "auto")
RANDOM = np.random.default_rng(5)
N = 40
CONVOLUTION = """
__constant__ float coefficients[9] = {0, 0, 0, 0, 1};
__device__ int total = 5;
extern "C" __global__ void convolve(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 9; k++) {
        int at = i + k - 4;
        if (at >= 0 && at < n) sum += coefficients[k] * x[at];
    }
    y[i] = sum;
    atomicAdd(&total, 1);
}
extern "C" __global__ void first(float *y) { y[threadIdx.x] = coefficients[3]; }
"""


def convolved(module: gpusim.RawModule, x: np.ndarray) -> np.ndarray:
    y = gpu.zeros(len(x), np.float32)
    module.get_function("convolve")((-(-len(x) // 16),), (16,), (gpu.asarray(x), y, np.int32(len(x))))
    return y.get()


@pytest.mark.parametrize("level", LEVELS)
def test_constants_are_filled_before_and_between_launches(level):
    x = RANDOM.integers(-8, 8, N).astype(np.float32)
    module = gpu.RawModule(code=CONVOLUTION)
    coefficients = gpu.ndarray((9,), np.float32, module.get_global("coefficients"))
    with gpusim.record(level=level):
        for _ in range(3):
            values = RANDOM.integers(-4, 4, 9).astype(np.float32)
            coefficients[...] = gpu.asarray(values)
            assert convolved(module, x).tolist() == np.convolve(x, values[::-1], "same").tolist()
        coefficients.set(np.full(9, 7, np.float32))  # a word that the code does not index is read by the same road
        y = gpu.zeros(2, np.float32)
        module.get_function("first")((1,), (2,), (y,))
        assert y.tolist() == [7, 7]


@pytest.mark.parametrize("level", LEVELS)
def test_a_counter_is_read_back_and_reset(level):
    module = gpu.RawModule(code=CONVOLUTION)
    with gpusim.record(level=level):
        convolved(
            module, np.ones(N, np.float32)
        )  # its kernel is compiled, and has run, before the pointer is asked for
        total = gpu.ndarray((), np.int32, module.get_global("total"))
        assert int(total) == 5 + N
        total[...] = 0
        convolved(module, np.ones(N, np.float32))
        assert int(total) == N == int(gpu.ndarray((1,), np.int32, module.get_global("total"))[0])


def test_initial_values_exist_before_compiling_one_per_module():
    module, other = (gpu.RawModule(code=CONVOLUTION) for _ in range(2))
    coefficients = gpu.ndarray((3, 3), np.float32, module.get_global("coefficients"))
    assert coefficients.get().tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    coefficients[...] = 2
    x = np.arange(N, dtype=np.float32)
    assert convolved(other, x).tolist() == x.tolist() != convolved(module, x).tolist()


def test_an_array_of_a_variable_is_an_argument_like_any_other(level):
    source = """
    __device__ float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    extern "C" __global__ void move(float *to, int k) { to[threadIdx.x] = 10 * table[threadIdx.x + k]; }"""
    module = gpu.RawModule(code=source)
    table = gpu.ndarray((8,), np.float32, module.get_global("table"))
    with gpusim.record(level=level):
        module.get_function("move")((1,), (4,), (table, np.int32(4)))
        assert table.tolist() == [50, 60, 70, 80, 5, 6, 7, 8]
        module.get_function("move")((1,), (4,), (table[4:], np.int32(0)))
    assert table.tolist() == [50, 60, 70, 80, 500, 600, 700, 800]


NAMED = """
#include <cooperative_groups.h>
namespace conv { __constant__ float weights[3] = {1, 2, 3}; namespace inner { __device__ int n = 4; } }
namespace other { __device__ float weights[2] = {8, 9}; }
namespace { __device__ int hidden = 6; }
static __constant__ double alone = 2.5;
__device__ int twice(int x) { return 2 * x; }
__device__ int (*function)(int) = twice;
template <typename T> __device__ T zero;
template <int K> __global__ void count(float *y) {
    static __device__ int calls;
    atomicAdd(&calls, K);
    y[threadIdx.x] = conv::weights[threadIdx.x] + conv::inner::n + hidden + alone + zero<int> + function(0);
}
"""


@pytest.mark.parametrize(
    ("name", "dtype", "values"),
    [
        ("conv::weights", np.float32, [1, 2, 3]),
        ("_ZN4conv7weightsE", np.float32, [1, 2, 3]),  # what CuPy takes on a GPU
        ("other::weights", np.float32, [8, 9]),
        ("n", np.int32, [4]),
        ("conv::inner::n", np.int32, [4]),
        ("hidden", np.int32, [6]),
        ("alone", np.float64, [2.5]),
    ],
)
def test_a_variable_is_found_by_its_name_in_the_source(name, dtype, values):
    pointer = gpusim.RawModule(code=NAMED).get_global(name)
    assert gpusim.DeviceArray(len(values), dtype, pointer).tolist() == values


def test_template_variables_exist_once_instantiated():
    module = gpusim.RawModule(code=NAMED, name_expressions=["count<3>"])
    y = np.zeros(3, np.float32)
    module.get_function("count<3>")((2,), (3,), (y,))
    assert int(gpusim.DeviceArray((), np.int32, module.get_global("calls"))) == 2 * 3 * 3
    assert gpusim.DeviceArray((1,), np.int32, module.get_global("zero")).tolist() == [0]
    two = gpusim.RawModule(code=NAMED, name_expressions=["count<3>", "count<4>"])
    with pytest.raises(gpusim.SimulatorError, match=r"calls is the name of 2 variables.*_ZZ5countILi3EE.* or _ZZ5"):
        two.get_global("calls")


@pytest.mark.parametrize(
    ("code", "name", "said"),
    [
        (
            CONVOLUTION,
            "coefficient",
            "The module has no variable coefficient. It has: coefficients (__constant__, 36 bytes), "
            "total (__device__, 4 bytes).",
        ),
        (
            'extern "C" __global__ void k(float *x) { __shared__ float s[4]; s[0] = 1; x[0] = s[0]; }',
            "s",
            "The module has no variable s, and no other: only those that are declared outside of all functions, "
            "__device__ or __constant__, can be reached from Python.",
        ),
        (NAMED, "weights", "weights is the name of 2 variables: say which one, conv::weights or other::weights."),
        (
            NAMED,
            "function",
            "function holds addresses of functions, which have none outside of a launch: it can be neither read nor "
            "filled from Python. Let a kernel use it.",
        ),
    ],
)
def test_unknown_variable_is_answered_with_the_existing_ones(code, name, said):
    with pytest.raises(gpusim.SimulatorError) as caught:
        gpusim.RawModule(code=code).get_global(name)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("shape", "dtype", "said"),
    [
        ((10,), np.float32, r"coefficients has 36 bytes, and an array of shape \(10,\) and type float32 needs 40. Of "
         r"this type 9 elements fit: shape \(9,\)"),
        (9, np.float64, r"needs 72. Of this type 4 elements fit: shape \(4,\)"),
        ((), "S40", "needs 40. Choose a smaller type"),
    ],
)  # fmt: skip
def test_array_larger_than_its_variable_is_refused_in_a_sentence(shape, dtype, said):
    pointer = gpusim.RawModule(code=CONVOLUTION).get_global("coefficients")
    with pytest.raises(errors.ArgumentError, match=said):
        gpusim.DeviceArray(shape, dtype, pointer)
    assert gpusim.DeviceArray((3,), np.float32, memptr=pointer).tolist() == [0, 0, 0]


def test_an_array_in_place_of_a_pointer_is_refused_in_a_sentence():
    with pytest.raises(errors.ArgumentError, match=r"is the memory that module.get_global\(name\) gives, and this is"):
        gpusim.DeviceArray((3,), np.float32, np.zeros(3, np.float32))


@pytest.mark.parametrize("level", LEVELS)
def test_constants_are_read_four_words_at_a_time(level):
    source = """
    __constant__ float4 quads[4];
    extern "C" __global__ void k(float4 *y, int i) {
        float4 a = quads[2], b = quads[i];
        y[0] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }"""
    module, y = gpu.RawModule(code=source), gpu.zeros((1, 4), np.float32)
    gpu.ndarray((4, 4), np.float32, module.get_global("quads"))[...] = np.arange(16).reshape(4, 4)
    with gpusim.record(level=level):
        module.get_function("k")((1,), (1,), (y, np.int32(1)))
    assert y.tolist() == [[12, 14, 16, 18]]


# Their attributes as CuPy 14.2 gives them on an H200.
ATTRIBUTES = """
__constant__ float w[9];
__constant__ int v[5];
extern "C" __global__ void __launch_bounds__(192) bound(float *y) {
    __shared__ float s[100];
    s[threadIdx.x % 100] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[5] + w[threadIdx.x % 9];
}
extern "C" __global__ void wide(float *y) {
    float a[200];
#pragma unroll
    for (int j = 0; j < 200; j++) a[j] = y[j * 32 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 200; j++) y[(199 - j) * 32 + threadIdx.x] = a[j] * a[(j * 7) % 200];
}
"""


def test_the_attributes_of_a_kernel_are_those_that_cupy_gives():
    module = gpusim.RawModule(code=ATTRIBUTES)
    bound, wide = (module.get_function(name).attributes for name in ("bound", "wide"))
    assert 0 < bound.pop("num_regs") < 64
    assert bound == {
        "max_threads_per_block": 192, "shared_size_bytes": 400, "const_size_bytes": 56, "local_size_bytes": 0,
        "ptx_version": 90, "binary_version": 90, "max_dynamic_shared_size_bytes": 48752,
    }  # fmt: skip
    assert wide["num_regs"] > 248 and wide["max_threads_per_block"] == 256


def test_raw_kernel_has_attributes_and_allows_more_shared_memory():
    kernel = gpu.RawKernel(ATTRIBUTES, "bound")
    assert kernel.attributes == kernel.kernel.attributes
    kernel.max_dynamic_shared_size_bytes = 100_000
    assert kernel.attributes["max_dynamic_shared_size_bytes"] == kernel.max_dynamic_shared_size_bytes == 100_000
