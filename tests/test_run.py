"""A launch that is run, recorded or sanitized: its addresses, its costs, its result, and what is said of a failure."""

import dataclasses

import numpy as np
import pytest

from gemm_kernels import OwnKernel, get
from gpusim.errors import LaunchError
from helpers import gpu, run
from helpers.measure import ALPHA, BETA, problem, verify
from helpers.pictures.block_shapes.facts import sectors_per_request, tags_per_request
from helpers.pictures.coalescing.facts import gemm_accesses

pytestmark = pytest.mark.usefixtures("on_the_simulator")


def set_backend(monkeypatch, value):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, value)


@pytest.mark.parametrize(("name", "sectors", "tags"), [("naive", 16.5, 16.5), ("coalesced", 2.5, 1.0)])
def test_one_block_costs_per_request_what_the_whole_launch_costs(name, sectors, tags):
    whole = run.record_whole(get(name).launch(64, 64, 64))
    one_block = run.record(get(name).launch(64, 64, 64))
    for recording in (whole, one_block):
        assert sectors_per_request(recording) == sectors
        assert tags_per_request(recording) == tags
    assert whole.total("requests", "global", "ld") == 64 * 64 // 32 * 64 * 2


def test_the_counters_are_the_ones_that_nsight_compute_names():
    counters = run.record_whole(get("coalesced").launch(64, 64, 64)).counters
    requests = counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]
    assert (requests, counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]) == (16384, 16384 * 2.5)


def test_far_block_is_reached_without_running_earlier_ones():
    recording = run.record(get("coalesced").launch(8, 1024, 4).in_blocks(32, 1), blocks=((31, 5, 0),))
    store = gemm_accesses(recording, block=(31, 5, 0))[2]
    assert (store.offset // 4 == 5 * 1024 + 31 * 32 + np.arange(32)).all()
    assert recording.total("requests", "global", "st") == 1


def test_the_three_accesses_are_a_b_and_c():
    recording = run.record(get("naive").launch(64, 64, 16).in_blocks(4, 8))
    a, b, c = gemm_accesses(recording, k=3)
    lanes = np.arange(32)
    assert (a.offset // 4 == lanes % 4 * 16 + 3).all()
    assert (b.offset // 4 == 3 * 64 + lanes // 4).all()
    assert (c.offset // 4 == lanes % 4 * 64 + lanes // 4).all()
    assert [access.name for access in (a, b, c)] == ["load of A", "load of B", "store of C"]


def test_a_learners_own_kernel_is_recorded_like_the_ladders():
    kernel = get("coalesced")
    source = kernel.source.replace("blockIdx.x * blockDim.x", "1 + blockIdx.x * blockDim.x")
    own = OwnKernel(source, kernel.entry, (32, 1))
    (_, b, _) = gemm_accesses(run.record(own.launch(8, 64, 8)))
    assert (b.offset[0] // 4, b.sectors) == (1, 5)


def test_a_launch_beyond_the_limits_is_the_simulators_sentence():
    with pytest.raises(LaunchError, match="64 × 64 × 1 = 4096 threads"):
        run.record(get("naive").launch(64, 64, 8).in_blocks(64, 64))


# --- one launch, checked --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["naive", "coalesced", "shared_memory"])
def test_multiply_computes_alpha_a_b_plus_beta_c(name):
    A, B, C = problem(33, 20, 17)
    before = C.copy()
    assert verify(run.multiply(get(name), A, B, C, ALPHA, BETA), A, B, C, ALPHA, BETA) < 1e-6
    assert np.array_equal(C, before)
    assert verify(run.multiply(get(name), A, B), A, B) < 1e-6


class TooFewBlocks:
    """A kernel of the ladder, launched with a grid that leaves the last rows of C out."""

    def __init__(self, kernel):
        self._kernel = kernel

    def __getattr__(self, attribute):
        return getattr(self._kernel, attribute)

    def launch(self, M, N, K):
        launch = self._kernel.launch(M, N, K)
        x, y, z = launch.grid
        return dataclasses.replace(launch, grid=(x, y - 1, z))


def test_elements_that_no_thread_writes_are_counted_and_named():
    A, B, _ = problem(40, 33, 8)
    with pytest.raises(run.LaunchFailed) as error:
        run.multiply(TooFewBlocks(get("coalesced")), A, B)
    assert str(error.value) == (
        "coalesced left 264 of 1320 elements of C unwritten (still NaN), the first at C[32, 0]. The launch had grid "
        "(2, 1, 1) and block (32, 32, 1): check that the grid covers all of C, and that every thread inside C reaches "
        "its store."
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda A, B, C: (A.astype(np.float64), B, C),
            "A is float64, the kernels read float32: use A.astype(np.float32).",
        ),
        (lambda A, B, C: (A, B[:-1], C), "A has 5 columns and B has 4 rows; both are K and must be equal."),
        (lambda A, B, C: (A, B, C[:-1]), "C has shape (2, 4), expected (M, N) = (3, 4)."),
        (lambda A, B, C: (A, B[0], C), "B has 1 dimension(s), expected a matrix (2)."),
        (lambda A, B, C: (A, B, None), "beta is 0.5 but no C was given: pass C, or use beta=0."),
    ],
)
def test_matrices_that_do_not_fit_are_refused_with_their_shapes(change, sentence):
    with pytest.raises(ValueError) as error:
        run.multiply(get("naive"), *change(*problem(3, 4, 5)), alpha=1.0, beta=0.5)
    assert str(error.value) == sentence


def test_kernel_with_over_48_kb_of_shared_memory_is_allowed_it():
    @dataclasses.dataclass(frozen=True)
    class Big:
        source = """
            extern "C" __global__ void big(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                           float *C) {
                extern __shared__ float tile[];
                tile[15000 + threadIdx.x] = A[threadIdx.x];
                __syncthreads();
                C[threadIdx.x] = tile[15000 + threadIdx.x];
            }"""
        name = entry = "big"
        block = (4, 1, 1)
        shared_bytes = 60016
        workspace_bytes = None

        def grid(self, M, N):
            return (1, 1, 1)

    A, C = gpu.asarray(np.arange(4, dtype=np.float32)), gpu.zeros(4, np.float32)
    run.load(Big())(1, 4, 1, 1.0, A, A, 0.0, C)
    gpu.synchronize()
    assert C.get().tolist() == [0, 1, 2, 3]


# --- a launch that a GPU refuses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            "CUDA_ERROR_INVALID_VALUE: invalid argument",
            "was refused (CUDA_ERROR_INVALID_VALUE: invalid argument). A block",
        ),
        ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested", "do not fit on one SM"),
        ("cudaErrorIllegalAddress: an illegal memory access", "After a fault the GPU refuses every later call"),
    ],
)
def test_a_cuda_error_becomes_a_sentence_with_the_launch(monkeypatch, message, sentence):
    A, B, _ = problem(64, 64, 8)

    def fail(*args, shared_mem):
        raise RuntimeError(message)

    array, asarray, asnumpy = gpu.array, gpu.asarray, gpu.asnumpy
    monkeypatch.setattr(run, "function", lambda source, entry: fail)
    monkeypatch.setattr(gpu, "backend", lambda: "gpu")
    for name, function in (("array", array), ("asarray", asarray), ("asnumpy", asnumpy)):
        monkeypatch.setitem(vars(gpu), name, function)
    with pytest.raises(run.LaunchFailed) as error:
        run.multiply(get("naive"), A, B)
    assert str(error.value).startswith("naive with grid (2, 2, 1), block (32, 32, 1), 0 shared bytes ")
    assert sentence in str(error.value)


# --- on a GPU -----------------------------------------------------------------------------------------------------

on_a_gpu = pytest.mark.skipif(not gpu.probe().usable, reason=gpu.probe().reason)


@on_a_gpu
@pytest.mark.parametrize("name", ["naive", "coalesced", "shared_memory"])
def test_on_a_gpu_the_result_is_bit_for_bit_the_simulators(monkeypatch, name):
    A, B, C = problem(100, 90, 77)
    simulated = run.multiply(get(name), A, B, C, ALPHA, BETA)
    set_backend(monkeypatch, "gpu")
    assert (run.multiply(get(name), A, B, C, ALPHA, BETA) == simulated).all()


@on_a_gpu
def test_block_of_4096_threads_on_a_gpu_gets_a_sentence(monkeypatch):
    class TooLarge(TooFewBlocks):
        def launch(self, M, N, K):
            return dataclasses.replace(self._kernel.launch(M, N, K), block=(64, 64, 1))

    set_backend(monkeypatch, "gpu")
    A, B, _ = problem(64, 64, 8)
    with pytest.raises(run.LaunchFailed, match="A block may have 1024 threads"):
        run.multiply(TooLarge(get("naive")), A, B)
