"""Whole launches by both engines: the same results, and the same facts about every instruction and request."""

import gc
import weakref
from operator import attrgetter

import numpy as np
import pytest

import gemm_kernels
import gpusim
from gpusim.counters.recorded import RecordedLaunch
from gpusim.cupy import levels
from gpusim.engine import compiled
from helpers import gpu, run

pytestmark = pytest.mark.skipif(compiled.library() is None, reason="there is no compiled engine here")
# What its blocks do depends on which comes first.
BY_TURNS = ("stream_k",)
KERNELS = [kernel.name for kernel in gemm_kernels.LADDER if kernel.name not in BY_TURNS]
ACCESS = attrgetter("step", "block", "instruction", "space", "op", "array", "base", "width")


def recorded(name: str, shape: tuple[int, int, int], level: str = "sass") -> tuple[RecordedLaunch, np.ndarray]:
    """(what was recorded, C) of a product of random matrices, with α and β."""
    kernel, (M, N, K) = gemm_kernels.get(name), shape
    random = np.random.default_rng(M + 2 * N + 3 * K)
    A, B, C = (random.standard_normal(s, np.float32) for s in ((M, K), (K, N), (M, N)))
    function, launch = run.simulated(kernel.source, kernel.entry), kernel.launch(M, N, K)
    with gpusim.record(level=level, checks=False) as recording:
        run.start(function, launch, A, B, C)
    return recording.launches[0], C


def traced(launch: RecordedLaunch) -> list[tuple]:
    """The accesses of the traced blocks; where inactive threads point does not matter.

    (At PTX level the engine in NumPy traces an access of other blocks too, with no active thread.)
    """
    rows = []
    for trace in launch.traces:
        active = np.ones(len(trace.addresses), bool) if trace.active is None else trace.active
        if not active.any():
            continue
        addresses = tuple(np.where(active, trace.addresses, -1).tolist())
        rows.append((*ACCESS(trace), addresses))
    return rows


WALK = """extern "C" __global__ void walk(const float *from, float *to, int K, int writes) {
    // Each thread along a row of its own; the store may change what is loaded next.
    float sum = 0;
    for (int k = 0; k < K; ++k) {
        sum += from[threadIdx.x * K + k];
        if (writes) to[threadIdx.x * K + (k ^ 1)] = k;
    }
    to[threadIdx.x * K] = sum;
}"""


@pytest.mark.parametrize("writes", (0, 1))
@pytest.mark.parametrize("first", (0, 5))  # floats before the matrix in memory: its lines end beside those of the cache
def test_a_column_is_loaded_anew_after_a_store(writes, first):
    K = 256  # a row is 1 KiB long
    matrix = np.random.default_rng(first).integers(0, 9, first + 32 * K).astype(np.float32)[first:]
    expected, rows = np.zeros(32, np.float32), matrix.reshape(32, K).copy()
    for k in range(K):
        expected += rows[:, k]
        if writes:
            rows[:, k ^ 1] = k
    gpusim.RawModule(code=WALK).get_function("walk")((1,), (32,), (matrix, matrix, np.int32(K), np.int32(writes)))
    assert matrix.reshape(32, K)[:, 0].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("level", "shape"), [("sass", (64, 64, 64)), ("sass", (70, 37, 41)), ("ptx", (64, 64, 64)), ("ptx", (70, 37, 41))]
)
@pytest.mark.parametrize("name", KERNELS, scope="module")  # one after the other, each prepared once
def test_both_engines_record_the_same(monkeypatch, name, shape, level):
    first, C = recorded(name, shape, level=level)
    monkeypatch.setattr(compiled, "library", lambda: None)
    second, expected = recorded(name, shape, level=level)
    assert np.array_equal(C.view(np.uint32), expected.view(np.uint32))
    assert first.counts == second.counts
    assert first.guarded_lanes == second.guarded_lanes
    assert first.block_warps.tolist() == second.block_warps.tolist()
    assert first.block_lanes.tolist() == second.block_lanes.tolist()
    assert sorted(row[1:] for row in traced(first)) == sorted(row[1:] for row in traced(second))
    if level == "sass" and shape == (64, 64, 64):
        assert traced(first) == traced(second)


def test_kernel_releases_the_statements_it_was_decoded_from():
    naive = gemm_kernels.get("naive")
    prepared = run.simulated(naive.source + "\n// its statements", naive.entry).prepared("sass")
    assert prepared.machine is prepared.machine is not None
    assert prepared.program.decode is None


@pytest.mark.parametrize("level", ("sass", "ptx"))
def test_dropped_kernel_is_freed_at_once(level):
    naive = gemm_kernels.get("naive")
    forms = levels.Forms(run.simulated(naive.source, naive.entry).compiled)
    held = weakref.ref(forms.at(level)[0].program), weakref.ref(forms.at(level)[0].machine.plans)
    gc.disable()
    try:
        del forms
        assert [each() for each in held] == [None, None]
    finally:
        gc.enable()


STORED = """extern "C" __global__ void k(const unsigned *a, unsigned *sums) {
    __shared__ __align__(16) unsigned rows[2][128];
    asm volatile("griddepcontrol.wait;" ::: "memory");
    for (int way = 0; way < 2; ++way) {
        unsigned at = (unsigned)__cvta_generic_to_shared(rows[way] + 4 * threadIdx.x);
        if (way) asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" :: "r"(at),
            "r"(a[threadIdx.x]), "r"(a[threadIdx.x + 32]), "r"(a[threadIdx.x + 64]), "r"(a[threadIdx.x + 96])
            : "memory");
        else asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" :: "r"(at),
            "r"(a[threadIdx.x]), "r"(a[threadIdx.x + 32]) : "memory");
    }
    asm volatile("griddepcontrol.launch_dependents;");
    __syncwarp();
    for (int i = threadIdx.x; i < 64; i += 32) sums[i] = rows[0][i];
    for (int i = threadIdx.x; i < 128; i += 32) sums[64 + i] = rows[1][i];
}"""


def test_compiled_engine_stores_matrices_to_shared_memory(level):
    a, sums = np.arange(256, dtype=np.uint16).view(np.uint32), np.zeros(192, np.uint32)
    kernel = gpusim.RawModule(code=STORED, arch="sm_90").get_function("k")
    with gpusim.record(level=level):
        kernel((1,), (32,), (a, sums))
    assert kernel.prepared(level).machine is not None
    assert sums[:64].tolist() == a[:64].tolist()  # lane i holds row i / 4, and there it is stored
    columns = a.view(np.uint16).reshape(4, 8, 8).transpose(0, 2, 1)
    assert np.array_equal(sums[64:].view(np.uint16).reshape(4, 8, 8), columns)


def test_traces_are_read_one_by_one_as_from_a_list():
    traces = recorded("shared_memory", (64, 64, 64))[0].traces
    every = list(traces)
    assert len(traces) == len(every) > 20
    assert [trace.step for trace in every] == list(range(1, len(every) + 1))
    for number in (0, 7, -1):
        assert traces[number].step == every[number].step
        assert np.array_equal(traces[number].addresses, every[number].addresses)
    assert [trace.step for trace in traces[2:9:3]] == [3, 6, 9]
    with pytest.raises(IndexError):
        traces[len(every)]


def test_requests_of_a_pattern_count_for_the_array_they_reach():
    source = """
        extern "C" __global__ void k(const float* a, const float* b, float* sums) {
            float sum = 0;
            #pragma unroll 1
            for (int i = 0; i < 6; ++i) sum += (i < 4 ? a : b)[32 * i + threadIdx.x];
            sums[threadIdx.x] = sum;
        }"""
    a, b, sums = (gpu.ones(256, np.float32) for _ in range(3))
    with gpusim.record(level="sass", checks="off") as recording:
        gpu.RawKernel(source, "k")((1,), (32,), (a, b, sums))
    loads = {array: counts for (_, _, op, array), counts in recording.launches[0].counts.items() if op == "ld"}
    assert {array: (load.requests, load.sectors) for array, load in loads.items()} == {"a": (4, 16), "b": (2, 8)}
    assert gpu.asnumpy(sums)[:32].tolist() == [6] * 32


# Each lane leaves the loop in a round of its own.
TRIANGLE = r"""
extern "C" __global__ void k(const int *x, int *y) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    #pragma unroll 1
    for (int i = 0; i <= threadIdx.x; ++i) atomicAdd(&total, x[i]);
    __syncwarp();
    y[threadIdx.x] = total * x[threadIdx.x + 1] + x[threadIdx.x + 2];
}"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_thirty_two_lanes_apart_become_one_warp_again(monkeypatch, arch):
    x, function = np.arange(34, dtype=np.int32), gpusim.RawModule(code=TRIANGLE, arch=arch).get_function("k")
    recordings = []
    for library in (compiled.library, lambda: None):
        monkeypatch.setattr(compiled, "library", library)
        y = np.zeros(32, np.int32)
        with gpusim.record(level="sass", checks="off") as recording:
            function(1, 32, (x, y))
        assert y.tolist() == [5456 * (t + 1) + t + 2 for t in range(32)]  # the 32nd tetrahedral number, from 0 on
        recordings.append(recording.launches[0])
    assert recordings[0].block_warps.tolist() == recordings[1].block_warps.tolist()
    for recording in recordings:  # the warp makes one request
        assert [count.requests for (_, *what, _), count in recording.counts.items() if what == ["global", "st"]] == [1]


# For Blackwell ptxas counts the rounds in a uniform register, though lanes that add to the same bin diverge.
SUMS = r"""
extern "C" __global__ void k(const double *x, double *y, int rounds) {
    __shared__ double bins[4];
    if (threadIdx.x < 4) bins[threadIdx.x] = 0;
    __syncthreads();
    #pragma unroll 1
    for (int round = 0; round < rounds; ++round) atomicAdd_block(&bins[int(x[threadIdx.x]) % 4], x[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x < 4) y[threadIdx.x] = bins[threadIdx.x];
}"""


@pytest.mark.parametrize("engine", ["C", "NumPy"])
@pytest.mark.parametrize("arch", ["sm_90", "sm_100", "sm_120"])
def test_each_lane_counts_its_own_rounds(monkeypatch, arch, engine):
    if engine == "NumPy":
        monkeypatch.setattr(compiled, "library", lambda: None)
    x, y = np.arange(64.0), np.zeros(4)
    function = gpusim.RawModule(code=SUMS, arch=arch).get_function("k")
    with gpusim.record(level="sass", checks="raise"):
        function(1, 64, (x, y, np.int32(5)))
    assert y.tolist() == [5 * x[first::4].sum() for first in range(4)]
