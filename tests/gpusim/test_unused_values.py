"""Who loads what nobody wrote is right as long as nobody uses it, and wrong as soon as somebody does."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine.run import Launch
from helpers import gpu


def launch(body: str, parameters: str, *args, level: str, threads: int = 32, blocks: int = 1, before: str = "") -> None:
    source = f'{before}extern "C" __global__ void k({parameters}) {{\n{body}\n}}\n'
    with gpusim.record(level=level):
        gpusim.RawModule(code=source).get_function("k")((blocks,), (threads,), args)


@pytest.mark.parametrize(("guard", "is_right"), [("inside ? v : 0.0f", True), ("inside ? 0.0f : v", False)])
def test_of_two_values_the_one_that_is_not_taken_may_be_anything(level, guard, is_right):
    n, x, out = np.int32(40), gpu.asarray(np.arange(1, 65, dtype=np.float32)), gpu.zeros(64, np.float32)
    body = f"""
        __shared__ float s[64];
        int t = threadIdx.x;
        if (t < n) s[t] = x[t];
        __syncthreads();
        float v = s[63 - t];
        bool inside = 63 - t < n;
        o[t] = {guard};"""
    arguments = ("float* o, const float* x, int n", out, x, n)
    if is_right:
        launch(body, *arguments, level=level, threads=64)
        assert np.array_equal(out, np.where(np.arange(63, -1, -1) < 40, x[::-1], 0))
    else:
        with pytest.raises(errors.UninitializedRead, match=r"reads s\[\d+\], which no thread has written"):
            launch(body, *arguments, level=level, threads=64)


@pytest.mark.parametrize(
    ("condition", "is_right"),
    [
        ("inside & (v < s[t])", True),
        ("!inside | (v < s[t])", True),
        ("!(inside & (v < s[t]))", True),
        ("!inside & (v < s[t])", False),
        ("inside | (v < s[t])", False),
        ("inside ^ (v < s[t])", False),
        ("v < s[t]", False),
    ],
)
def test_comparison_may_be_of_anything_if_another_decides_alone(level, condition, is_right):
    x, out = gpu.asarray(np.arange(64, 0, -1, dtype=np.int32)), gpu.zeros(64, np.int32)
    body = f"""
        __shared__ int s[65];
        int t = threadIdx.x;
        s[t] = x[t];
        __syncthreads();
        int v = s[t + 1];
        bool inside = t < n;
        o[t] = {condition};"""
    arguments = ("int* o, const int* x, int n", out, x, np.int32(63))
    if is_right:
        launch(body, *arguments, level=level, threads=64)
        assert out.tolist() == [condition[:2] != "!("] * 63 + [condition[0] == "!"]
    else:
        with pytest.raises(errors.UninitializedRead, match=r"reads s\[64\], which no thread has written"):
            launch(body, *arguments, level=level, threads=64)


@pytest.mark.parametrize("use", ["o[t] = (v > 0) & (w > 0);", "if (v > 0) o[t] = 1;", "if (w > v) return; o[t] = 1;"])
def test_neither_of_two_unwritten_values_excuses_the_other(level, use):
    body = f"""
        __shared__ int a[32], b[32];
        int t = threadIdx.x, v = a[t], w = b[t];
        {use}"""
    with pytest.raises(errors.UninitializedRead, match="which no thread has written"):
        launch(body, "int* o", gpu.zeros(32, np.int32), level=level)


@pytest.mark.parametrize("last", ["v.z", "v.w"])
def test_of_four_floats_at_the_end_of_an_array_two_may_be_used(level, last):
    out = gpu.zeros(4, np.float32)
    body = f"""
        __shared__ float4 s[1];
        float* one = reinterpret_cast<float*>(s);
        if (threadIdx.x < 3) one[threadIdx.x] = threadIdx.x + 1;
        __syncthreads();
        float4 v = s[0];
        if (threadIdx.x == 0) {{ o[0] = v.x; o[1] = v.y; o[2] = {last}; }}"""
    if last == "v.z":
        launch(body, "float* o", out, level=level)
        assert out.tolist() == [1, 2, 3, 0]
    else:
        with pytest.raises(errors.UninitializedRead, match=r"reads s\[0\]"):
            launch(body, "float* o", out, level=level)


@pytest.mark.parametrize("sets_number", [True, False])
def test_struct_is_copied_with_padding_but_not_without_a_member(level, sets_number):
    out = gpu.zeros(64, np.int32)
    body = f"""
        __shared__ Pair s[32];
        s[threadIdx.x].letter = 'a';
        {"s[threadIdx.x].number = threadIdx.x;" if sets_number else ""}
        __syncthreads();
        o[threadIdx.x] = s[31 - threadIdx.x];"""
    arguments = {"level": level, "before": "struct Pair { char letter; int number; };\n"}
    if sets_number:
        launch(body, "Pair* o", out, **arguments)
        assert np.array_equal(out.reshape(32, 2)[:, 1], np.arange(31, -1, -1))
    else:
        with pytest.raises(errors.UninitializedRead, match=r"byte 4 of s\[\d+\], which no thread has written"):
            launch(body, "Pair* o", out, **arguments)


def test_wide_load_may_begin_before_the_array_if_that_is_unused():
    # The compiler puts `last` before `s` and sums s by loads of four floats, the first of which begins at `last`.
    x, total, count, parts = (gpu.asarray(np.ones(256, np.float32)), *(gpu.zeros(n, np.float32) for n in (1, 1, 4)))
    body = """
        __shared__ bool last;
        __shared__ float s[64];
        int t = threadIdx.x;
        s[t] = x[blockIdx.x * 64 + t];
        __syncthreads();
        if (t == 0) {
            float sum = 0;
            for (int i = 0; i < 64; ++i) sum += s[i];
            parts[blockIdx.x] = sum;
            __threadfence();
            last = atomicAdd(count, 1.0f) == gridDim.x - 1;
        }
        __syncthreads();
        if (last && t == 0) {
            float sum = 0;
            for (int i = 0; i < gridDim.x; ++i) sum += static_cast<volatile float*>(parts)[i];
            total[0] = sum;
        }"""
    parameters = "const float* x, float* total, float* count, float* parts"
    launch(body, parameters, x, total, count, parts, level="sass", threads=64, blocks=4)
    assert total[0] == 256


def test_unwritten_halves_are_found_as_floats_are(level):
    with pytest.raises(errors.UninitializedRead, match=r"reads x\[0\], which was never written"):
        launch("o[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x]);", "__half* o, const __half* x",
               gpu.zeros(32, np.float16), gpu.empty(32, np.float16), level=level,
               before="#include <cuda_fp16.h>\n")  # fmt: skip


EXCHANGES = """
    __shared__ int flag;
    int was = atomicExch(&flag, 7);
    __syncthreads();
    o[threadIdx.x] = flag{used};
    was = atomicExch(&a[threadIdx.x], 5);
    __syncthreads();
    o[threadIdx.x] += a[31 - threadIdx.x]{used};"""


def test_an_exchange_whose_old_value_is_unused_is_a_store(level):
    body, out = EXCHANGES, gpu.zeros(32, np.int32)
    launch(body.format(used=""), "int* o, int* a", out, gpu.empty(32, np.int32), level=level)
    assert (out == 12).all()
    with pytest.raises(errors.UninitializedRead, match="updates flag, which no thread has written"):
        launch(body.format(used=" + was"), "int* o, int* a", out, gpu.zeros(32, np.int32), level=level)
    with pytest.raises(errors.UninitializedRead, match=r"updates a\[0\], which was never written"):
        launch("o[threadIdx.x] = atomicExch(&a[threadIdx.x], 1);", "int* o, int* a", out, gpu.empty(32, np.int32),
               level=level)  # fmt: skip


MERGES = """#include <cub/block/block_merge_sort.cuh>
struct Less { __device__ bool operator()(int a, int b) const { return a < b; } };
extern "C" __global__ void k(int* data) {
    using Sort = cub::BlockMergeSort<int, 64, 3>;
    __shared__ typename Sort::TempStorage storage;
    int keys[3];
    for (int i = 0; i < 3; i++) keys[i] = data[3 * threadIdx.x + i];
    Sort(storage).Sort(keys, Less());
    for (int i = 0; i < 3; i++) data[3 * threadIdx.x + i] = keys[i];
}
"""


def test_merge_may_compare_the_key_behind_the_last_if_unused(level):
    keys = np.random.default_rng(0).permutation(192).astype(np.int32)
    with gpusim.record(level=level):
        gpusim.RawModule(code=MERGES, options=("-std=c++17",)).get_function("k")((1,), (64,), (keys,))
    assert keys.tolist() == list(range(192))


SOLVE = """
extern "C" __global__ void solve(const float* L, float* x, int n) {{
    {shared}
    int t = threadIdx.x;
    if (t < n) w[t] = x[t];
    __syncthreads();
    for (int i = 0; i < n; i++) {{
        {meanwhile}
        if (t == i) {{
            float sum = 0;
            for (int j = 0; {goes_on}; j++) sum += L[i * n + j] * w[j];
            w[i] -= sum;
        }}
        __syncthreads();
    }}
    if (t < n) x[t] = w[t];
}}
"""


def solve(n: int, level: str, checks: bool = True, **parts: str) -> tuple[np.ndarray, np.ndarray]:
    """What the kernel gives for a triangular system, and NumPy."""
    parts = {"shared": "extern __shared__ float w[];", "goes_on": "j < i", "meanwhile": ""} | parts
    rng = np.random.default_rng(n)
    L, right = np.tril(rng.random((n, n)), -1).astype(np.float32), rng.random(n).astype(np.float32)
    x = right.copy()
    with gpusim.record(level=level, checks=checks):
        kernel = gpusim.RawModule(code=SOLVE.format(**parts)).get_function("solve")
        bytes_ = 4 * n if "extern" in parts["shared"] else 0
        kernel((1,), (32,), (np.append(L, np.zeros((2, n), np.float32)), x, np.int32(n)), shared_mem=bytes_)
    return x, np.linalg.solve(np.eye(n) + L, right)


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("n", [3, 5, 6, 22])
def test_unused_loads_beyond_an_arrays_end_are_no_error(n, checks, level, monkeypatch):
    monkeypatch.setattr(Launch, "run", lambda launch: pytest.fail("the engine in NumPy runs it, too"))
    for shared in ("extern __shared__ float w[];", f"__shared__ float w[{n}];"):
        x, expected = solve(n, level, checks, shared=shared)
        assert np.allclose(x, expected, atol=1e-5)


def test_wide_load_ignores_an_unused_neighbour_under_write():
    x, expected = solve(6, "sass", shared="__shared__ float w[6]; __shared__ int turns[6];",
                        meanwhile="if (t < 6) turns[t] = 1; if (t < 6 && turns[t] == n) break;")  # fmt: skip
    assert np.allclose(x, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("shared", "said"), [("__shared__ float w[6];", r"outside w: w\[6\], but w has 6 elements"),
                         ("extern __shared__ float w[];", "at byte 24 of shared memory, which has 24 bytes")],
)  # fmt: skip
def test_used_part_of_a_wide_load_behind_the_array_is_reported(shared, said, level):
    with pytest.raises(errors.OutOfBounds, match=said):
        solve(6, level, shared=shared, goes_on="j <= i + 1")
