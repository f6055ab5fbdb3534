"""Sampled recordings: some blocks are executed and count for all, exactly as if all had been executed."""

import functools

import numpy as np
import pytest

import gemm_kernels
import gpusim
from gemm_kernels import LADDER, Kernel
from gemm_kernels.launch import OPTIONS
from gpusim import devices, errors
from gpusim.counters import sampling
from helpers import recordings, run
from helpers.measure import problem

SMALL = (200, 333, 12)
PROFILED = (1024, 1024, 1024)
# Whose machine code the recorded profile and the course's compiler have in common, and which are quick.
SAME_CODE = ("naive", "coalesced", "sliced_k")


@functools.cache
def loaded(kernel: Kernel):
    module = gpusim.RawModule(code=kernel.source, options=OPTIONS, name_expressions=[kernel.entry])
    return run.launcher(kernel, module.get_function(kernel.entry))


def record(kernel: Kernel, shape, arrays=None, level="sass", **options) -> gpusim.Recording:
    M, N, K = shape
    A, B, C = problem(M, N, K) if arrays is None else arrays
    with gpusim.record(level=level, checks="off", **options) as recording:
        loaded(kernel)(M, N, K, 1.25, A, B, 0.5, C)
    return recording


def lines(recording: gpusim.Recording) -> list:
    return [(line.line, line.instructions, line.accesses) for line in recording.by_line()]


def assert_same(kernel: Kernel, shape, level="sass") -> gpusim.Recording:
    whole, sampled = record(kernel, shape, level=level), record(kernel, shape, level=level, blocks="sampled")
    assert sampled.counters == whole.counters
    assert lines(sampled) == lines(whole)
    assert whole.sampled is None
    return sampled


# Blocks that share out tiles meet, unless every tile has its own.
SAMPLED = [kernel.replace(WORKERS=0) if "WORKERS" in kernel.params else kernel for kernel in LADDER]


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("kernel", SAMPLED, ids=lambda kernel: kernel.name)
def test_sampled_ladder_launch_counts_what_the_whole_one_does(kernel):
    sampled = assert_same(kernel, SMALL)
    blocks = int(np.prod(kernel.grid(*SMALL[:2])))
    assert sampled.sampled.startswith("Sampled: ") and f" {blocks} blocks" in sampled.sampled


@pytest.mark.parametrize(
    ("name", "params", "shape", "level", "executed"),
    [
        # Blocks of half a cache line, whose rows start anywhere in one: kinds differ by where they start.
        ("coalesced", {"block_x": 16, "block_y": 16}, (301, 333, 77), "sass", 33),
        ("naive", {"block_x": 16, "block_y": 8}, (257, 131, 8), "ptx", None),
        # The order of blocks is not that of the tiles, and the grid's number of blocks is divided by: guards differ.
        ("rasterized", {"BM": 64, "BN": 64, "WM": 32, "WN": 32, "TM": 8, "TN": 4}, (600, 700, 9), "sass", None),
    ],
)
def test_kinds_of_blocks_are_found_by_what_blocks_do(name, params, shape, level, executed):
    sampled = assert_same(gemm_kernels.get(name, **params), shape, level)
    sampling = sampled.launches[-1].sampling
    assert sampling.executed < sampling.blocks / 2
    assert executed in (None, sampling.executed)


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("name", SAME_CODE)
def test_sampled_counters_at_1024_cubed_are_nsight_computes(name):
    rows = recordings.raw(devices.DEFAULT.name, "counters")["rows"]
    row = next(r for r in rows if r["kernel"] == name and (r["M"], r["N"], r["K"]) == PROFILED)
    sampled = record(gemm_kernels.get(name).replace(**row["params"]), PROFILED, blocks="sampled")
    both = row["counters"].keys() & sampled.counters.keys()
    assert len(both) >= 13
    assert {counter: sampled.counters[counter] for counter in both} == {c: row["counters"][c] for c in both}
    assert sampled.launches[-1].sampling.executed == 9


def test_executed_blocks_decide_for_all_what_is_linear_in_index():
    rng = np.random.default_rng(1)
    for _ in range(100):
        indices = np.unique(rng.integers(0, 40, (rng.integers(1, 30), 3)) * rng.integers(1, 9, 3), axis=0)
        chosen = indices[sampling._generators(indices)]
        for _ in range(20):
            steps = rng.integers(0, 128, 3) * 2 ** rng.integers(0, 7)
            if len(np.unique(chosen @ steps % 128)) == 1:
                assert len(np.unique(indices @ steps % 128)) == 1
    grid = np.stack(np.meshgrid(range(9), range(7), [0], indexing="ij"), axis=-1).reshape(-1, 3)
    assert grid[sampling._generators(grid)].tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 0]]


def test_arrays_are_touched_only_where_blocks_are_executed():
    n, K = 8192, 8
    C = np.zeros((n, n), np.float32)
    A, B = np.ones((n, K), np.float32), np.ones((K, n), np.float32)
    recording = record(gemm_kernels.get("coalesced"), (n, n, K), (A, B, C), blocks="sampled")
    sampling = recording.launches[-1].sampling
    tiles = C[::32, ::32] != 0
    assert (tiles.sum(), sampling.executed, sampling.blocks) == (9, 9, tiles.size)
    assert not sampling.by_start and "as far as their places in the grid" in recording.sampled
    assert C[-1, -1] == np.float32(1.25 * K) and C[0, 0] == C[-1, -1]
    ffma = recording.counters["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"]
    assert ffma == n * n * (K + 1)


def test_a_recording_says_how_it_was_sampled():
    kernel = gemm_kernels.get("coalesced")
    recording = record(kernel, (256, 256, 4), blocks="sampled")
    sentence = (
        "Sampled: 9 of 64 blocks were executed. There is 1 kind of block, as far as their first steps and their places "
        "in the grid (first, between or last along an axis) tell. Those executed of a kind did the same, and count for "
        "all of it. Arrays hold the results of the executed blocks alone."
    )
    assert recording.sampled == sentence
    assert repr(recording) == (
        "<Recording at SASS level: sgemm_coalesced for sm_90 on a grid of 8 × 8 × 1 blocks of 32 × 32 × 1 threads. "
        f"{sentence}>"
    )
    with pytest.raises(gpusim.SimulatorError, match=r"record\(blocks=\[\(0, 0, 0\)\], only_traced=True\)"):
        recording.requests("global")


def launch_sampled(source: str, grid, block, *args, level="ptx", checks="off") -> gpusim.Recording:
    kernel = gpusim.RawModule(code=source).get_function("kernel")
    with gpusim.record(level=level, blocks="sampled", checks=checks) as recording:
        kernel(grid, block, args)
    return recording


def test_counts_that_depend_on_other_blocks_are_called_not_exact():
    source = """extern "C" __global__ void kernel(int n, const int *keys, int *bins) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) atomicAdd(&bins[keys[i]], 1);
    }"""
    recording = launch_sampled(source, 100, 32, np.int32(3200), np.zeros(3200, np.int32), np.zeros(8, np.int32))
    assert "Not exact: the blocks update bins atomically, and most did not run." in recording.sampled

    source = """extern "C" __global__ void kernel(float *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        x[i] = x[i + 1] * 2.0f;
    }"""
    recording = launch_sampled(source, 100, 32, np.ones(3201, np.float32))
    assert "Not exact: blocks read elements of x that they do not write themselves" in recording.sampled
    recording = launch_sampled(source.replace("i + 1", "i"), 100, 32, np.ones(3201, np.float32))
    assert "Not exact" not in recording.sampled
    recording = launch_sampled(source, 3, 32, np.ones(97, np.float32))
    assert recording.sampled == "Sampled: all 3 blocks were executed, as there are few of each kind."


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("stream_k", {"BM": 32, "BN": 32, "WM": 32, "WN": 16, "TM": 4, "TN": 4, "WORKERS": 6}),
        ("vector_matrix", {}),
        ("matrix_vector", {}),
    ],
)
def test_kernels_sharing_work_between_blocks_are_refused_first(name, params):
    A, B, C = problem(*SMALL)
    before = C.copy()
    with pytest.raises(gpusim.SimulatorError) as caught:
        record(gemm_kernels.get(name, **params), SMALL, (A, B, C), blocks="sampled")
    assert str(caught.value).endswith(
        " cannot be sampled: its blocks meet at workspace, which they update atomically, so that what a block does "
        'depends on the others. Record a smaller problem, whole: leave out blocks="sampled".'
    )
    assert np.array_equal(C, before)


def test_atomic_module_counter_is_refused_plain_access_is_not():
    source = """__device__ unsigned tickets[4], other[4];
    extern "C" __global__ void kernel(unsigned *x) {
        unsigned mine = other[threadIdx.x % 4];
        if (threadIdx.x == 0) mine = atomicAdd(&tickets[1], 1);
        x[blockIdx.x * 32 + threadIdx.x] = mine;
    }"""
    x = np.zeros(3200, np.uint32)
    with pytest.raises(gpusim.SimulatorError, match="its blocks meet at tickets, which they update atomically"):
        launch_sampled(source, 100, 32, x)
    recording = launch_sampled(source.replace("atomicAdd(&tickets[1], 1)", "tickets[1]"), 100, 32, x)
    assert recording.launches[-1].sampling.executed < 100


def test_blocks_that_go_by_the_data_are_refused():
    source = """extern "C" __global__ void kernel(const int *steps, int *out) {
        int sum = 0;
        for (int i = 0; i < 3 + steps[blockIdx.x]; ++i) sum += out[threadIdx.x] * sum + i;
        out[blockIdx.x * 32 + threadIdx.x] = sum;
    }"""
    steps = np.random.default_rng(0).integers(0, 50, 20_000, dtype=np.int32)
    out = np.zeros(640_000, np.int32)
    with pytest.raises(gpusim.SimulatorError, match=r"kernel cannot be sampled: .* leave out blocks=\"sampled\""):
        launch_sampled(source, 20_000, 32, steps, out)


RARE = """extern "C" __global__ void kernel(const int *rounds, const float *x, float *y) {
    if (rounds[blockIdx.x] == 0) return;
    float sum = 0;
    for (int j = 0; j < rounds[blockIdx.x]; ++j) sum += x[32 * j + threadIdx.x];
    y[32 * blockIdx.x + threadIdx.x] = sum;
}"""


@pytest.mark.parametrize("rare", (0, 40), ids=("leaves early", "has a longer loop"))
def test_deviating_block_among_hundreds_is_counted_as_it_is(rare):
    rounds = np.full(600, 4, np.int32)
    rounds[377] = rare
    arguments = (rounds, np.ones(32 * 40, np.float32), np.zeros(600 * 32, np.float32))
    kernel = gpusim.RawModule(code=RARE).get_function("kernel")
    with gpusim.record() as whole:
        kernel((600,), (32,), arguments)
    with gpusim.record(blocks="sampled") as sampled:
        kernel((600,), (32,), arguments)
    assert sampled.launches[-1].sampling.executed < 600
    for what in ("requests", "sectors"):
        assert sampled.total(what) == whole.total(what)


def test_block_that_goes_astray_at_its_start_is_found_anywhere():
    source = """extern "C" __global__ void kernel(float *x) {
        int i = blockIdx.x * 32 + threadIdx.x;
        x[blockIdx.x == 377 ? i + 1000000 : i] = 1.0f;
    }"""
    with pytest.raises(errors.OutOfBounds) as caught:
        launch_sampled(source, 1000, 32, np.zeros(32_000, np.float32))
    assert caught.value.block == (377, 0, 0)


def test_sanitizer_checks_the_executed_blocks_and_says_so():
    source = """extern "C" __global__ void kernel(float *x) {
        __shared__ float s[64];
        s[threadIdx.x] = threadIdx.x;
        x[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
    }"""
    recording = launch_sampled(source, 100, 64, np.zeros(6400, np.float32), checks="report")
    assert [finding.kind for finding in recording.checks.findings] == ["race in shared memory"]
    assert "Sampled: 4 of 100 blocks were executed." in str(recording.checks)


def test_sampling_chooses_the_blocks_itself():
    with (
        pytest.raises(gpusim.SimulatorError, match="leave out only_traced"),
        gpusim.record(blocks="sampled", only_traced=True),
    ):
        pass
