"""An access of machine code is outside an array only if the PTX, which names its arrays, goes there, too."""

from collections import Counter

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.cupy import launch, levels
from gpusim.engine import compiled

# The compiler merges the stores to v of both branches, and gives the result the line of a store to c.
MERGED = """extern "C" __global__ void kernel(const int *x, float *y, int n) {
    __shared__ int c[32];
    __shared__ float v[32];
    const int t = threadIdx.x;
    float s = 0;
    BEGIN
    for (int k = 0; k < n; k += 32) {
        if (k + t < n) {
            c[t + WRONG] = x[k + t];
            v[t] = x[k + t];
        } else {
            c[t] = -1;
            v[t] = 0;
        }
        __syncthreads();
        for (int j = 0; j < 32; ++j) if (c[j] >= 0) s += v[j] * c[j];
        __syncthreads();
    }
    y[t] += s;
}"""
# One line reads tile and adds to bins; where the machine has no such operation it is a loop that reads bins, too.
ADDED = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda/atomic>
extern "C" __global__ void kernel(const int *x, float *y, int n) {
    __shared__ TYPE tile[64], bins[8];
    const int t = threadIdx.x;
    tile[t] = TYPE(float(x[t]));
    if (t < 8) bins[t] = TYPE(0.0f);
    __syncthreads();
    STATEMENT
    __syncthreads();
    y[t] = float(bins[t % 8]);
}"""
TYPES = ("float", "double", "__half", "__nv_bfloat16", "unsigned long")
PLACES = {
    "a load": "atomicAdd(&bins[t % 8], tile[63 - t]);", "two loads": "atomicAdd(&bins[t % 8], tile[63 - t] * tile[1]);",
    "an index": "atomicAdd(&bins[int(tile[t]) % 8], tile[63 - t]);",
}  # fmt: skip
READS = """extern "C" __global__ void kernel(const int *x, float *y, int n) {
    __shared__ float a[64], b[64];
    const int t = threadIdx.x;
    float s = 0;
    a[t] = x[t]; b[t] = x[63 - t];
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
        s += b[(t + k) % 64];
        if (x[k] % 2) s += b[63 - (t + k) % 64];
        else s += a[(t + k) % 64];
    }
    y[t] = s;
}"""
X = np.arange(50, dtype=np.int32)
SUM = float((X * X).sum())


def merged(wrong: int = 0, begin: str = "") -> np.ndarray:
    y = np.ones(32, np.float32)
    source = MERGED.replace("WRONG", str(wrong)).replace("BEGIN", begin)
    gpusim.RawModule(code=source).get_function("kernel")((1,), (32,), (X, y, np.int32(50)))
    return y


def added(type_: str, statement: str, arch: str) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.arange(64, dtype=np.int32) % 3, np.zeros(64, np.float32)
    source = ADDED.replace("TYPE", type_).replace("STATEMENT", statement.replace("unsigned long", "int"))
    if type_ == "unsigned long":
        source = source.replace("unsigned long", "u64").replace("extern", "using u64 = unsigned long long;\nextern")
    kernel = gpusim.RawModule(code=source, options=("-std=c++17",), arch=arch).get_function("kernel")
    kernel((1,), (64,), (x, y, np.int32(64)))
    return x, y


@pytest.fixture
def asked(prepared_afresh, monkeypatch) -> list[int]:
    """The instructions that the PTX was asked about."""
    decisions, decide = [], launch._decide

    def decided(*arguments) -> None:
        decisions.append(arguments[-1].instruction)
        decide(*arguments)

    monkeypatch.setattr(launch, "_decide", decided)
    return decisions


def test_a_merged_store_belongs_to_the_other_array(asked):
    assert merged().tolist() == [1 + SUM] * 32
    assert len(asked) == 1


def test_the_ptx_is_asked_once_for_a_kernel(asked):
    merged()
    assert merged().tolist() == [1 + SUM] * 32
    assert len(asked) == 1


def test_a_merged_store_in_numpy_leaves_the_arrays_alone(asked, monkeypatch, capsys):
    monkeypatch.setattr(compiled, "library", lambda: None)
    assert merged(begin='if (t == 0) printf("once");').tolist() == [1 + SUM] * 32
    assert len(asked) == 1 and capsys.readouterr().out == "once"


def test_a_merged_store_needs_no_ptx_level(prepared_afresh, monkeypatch):
    def ptx(forms: levels.Forms) -> None:
        raise errors.UnsupportedInstruction("not modelled")

    monkeypatch.setattr(levels.Forms, "ptx", property(ptx))
    assert merged().tolist() == [1 + SUM] * 32
    with pytest.raises(errors.OutOfBounds, match=r"outside c: c\[32\], but c has 32 elements"):
        merged(wrong=1)


@pytest.mark.parametrize("wrong, index", ((1, 32), (-1, -1), (33, 33)))
def test_a_wrong_index_where_stores_merge_is_found(wrong, index):
    with pytest.raises(errors.OutOfBounds, match=rf"outside c: c\[{index}\], but c has 32 elements") as caught:
        merged(wrong)
    assert caught.value.line == 9


@pytest.mark.parametrize("arch", ("sm_75", "sm_90"))
@pytest.mark.parametrize("type_", TYPES)
def test_an_atomic_beside_a_load_of_its_line_is_right(type_, arch):
    x, y = added(type_, PLACES["a load"], arch)
    assert y.tolist() == np.tile(x[::-1].reshape(8, 8).sum(axis=0), 8).tolist()


@pytest.mark.parametrize("name", PLACES)
def test_an_atomic_of_floats_beside_loads_is_right(name):
    x, y = added("float", PLACES[name], "sm_90")
    index, value = {
        "a load": (np.arange(64), x[::-1]),
        "two loads": (np.arange(64), x[::-1]),
        "an index": (x, x[::-1]),
    }[name]
    assert y.tolist() == np.tile(np.bincount(index % 8, value, 8), 8).tolist()


@pytest.mark.parametrize("statement, out_of_bounds", (
    ("atomicAdd(&bins[t % 8], tile[64 - t]);", r"tile\[64\]"), ("atomicAdd(&bins[t % 9], tile[t]);", r"bins\[8\]"),
    ("atomicAdd(&bins[t % 8], tile[int(tile[t]) + t - 1]);", r"tile\[-1\]"),
))  # fmt: skip
def test_an_overrun_beside_an_atomic_is_found(statement, out_of_bounds):
    with pytest.raises(errors.OutOfBounds, match=f"outside .*: {out_of_bounds}"):
        added("float", statement, "sm_90")


def test_reads_in_branches_of_an_unrolled_loop_are_right():
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.float32)
    gpusim.RawModule(code=READS).get_function("kernel")((1,), (64,), (x, y, np.int32(64)))
    t, k = np.mgrid[:64, :8]
    a, b = (t + k) % 64, 63 - (t + k) % 64
    assert y.tolist() == (b + np.where(k % 2, a, a)).sum(axis=1).tolist()


# The compiler moves the loads of the unrolled loop to the barrier in front of it, and gives them its line.
MOVED = """extern "C" __global__ void kernel(const float *x, float *y) {
    __shared__ float a[64], b[64];
    const int t = threadIdx.x;
    float s = 0;
    a[t] = x[t];
    __syncthreads();
    b[t] = a[t];
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 16; ++j) {
        if (j % 3 == 1)
            s += a[j % 64];
        else
            s += b[(t / 4 + j) % 64];
    }
    y[t] = s;
}"""


def loads_by_array(source: str, opcode: str) -> Counter:
    """How many loads of the machine code with this opcode are attributed to which array."""
    kernel = gpusim.RawModule(code=source, arch="sm_90").get_function("kernel")
    program, used = kernel.prepared("sass").program, kernel.shared_names("sass").used
    of_opcode = (used.get(instruction.index) for instruction in program.instructions if instruction.opcode == opcode)
    return Counter(array and array.name for array in of_opcode)


def test_the_word_of_an_atomic_half_belongs_to_its_array():
    source = ADDED.replace("TYPE", "__half").replace("STATEMENT", PLACES["two loads"])
    assert loads_by_array(source, "LD.E") == {"bins": 1}


def test_loads_that_were_moved_to_a_barrier_have_arrays():
    assert loads_by_array(MOVED, "LDS") == {"a": 5, "b": 12}


def test_a_captured_launch_holds_accesses_to_proven_arrays(prepared_afresh):
    source = MOVED.replace("a[j % 64]", "a[j % 64 + 64]")
    kernel = gpusim.RawModule(code=source, arch="sm_90").get_function("kernel")
    arguments = (1,), (64,), (np.ones(64, np.float32), np.zeros(64, np.float32))

    def captured() -> gpusim.Captured:
        with gpusim.capture() as launches:
            kernel(*arguments)
        return launches[0]

    captured().run.run()
    with pytest.raises(errors.OutOfBounds, match=r"outside a: a\[\d+\]"):
        kernel(*arguments)
    with pytest.raises(errors.OutOfBounds, match=r"outside a: a\[\d+\]"):
        captured().run.run()
