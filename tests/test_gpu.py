"""The one door to a device: choosing it, CuPy's names on the simulator, and sentences when a launch goes wrong."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from gemm_kernels import get
from helpers import gpu, simulator
from helpers.devices import DEVICES
from helpers.measure import ALPHA, BETA, problem, verify

NO_GPU = gpu.Probe(False, "no NVIDIA driver was found (libcuda.so.1 cannot be loaded).")


@pytest.fixture(autouse=True)
def on_the_simulator(monkeypatch):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "simulator")


@pytest.fixture
def without_gpu(monkeypatch):
    monkeypatch.setattr(gpu, "probe", lambda: NO_GPU)


def set_backend(monkeypatch, value):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, value)


# --- choosing -------------------------------------------------------------------------------------------------------


def test_auto_is_the_default_and_means_the_simulator_without_a_gpu(monkeypatch, without_gpu):
    monkeypatch.delenv(gpu.BACKEND_VARIABLE)
    assert gpu.backend() == "simulator"
    set_backend(monkeypatch, "auto")
    assert gpu.backend() == "simulator"
    assert gpu.reason() == "No NVIDIA driver was found (libcuda.so.1 cannot be loaded)."


def test_auto_means_the_gpu_where_cupy_sees_one(monkeypatch):
    set_backend(monkeypatch, "auto")
    monkeypatch.setattr(gpu, "probe", lambda: gpu.Probe(True, "CuPy sees 1 GPU(s)."))
    assert gpu.backend() == "gpu"


def test_asking_for_a_gpu_that_is_not_there_says_what_was_found_and_what_to_do(monkeypatch, without_gpu):
    set_backend(monkeypatch, "gpu")
    with pytest.raises(gpu.BackendError) as error:
        gpu.backend()
    assert str(error.value) == (
        "GEMM_COURSE_BACKEND=gpu asks for a GPU, but no NVIDIA driver was found (libcuda.so.1 cannot be loaded). "
        "Set GEMM_COURSE_BACKEND=auto (or simulator) to run the same cells on the simulator."
    )


def test_an_unknown_backend_is_answered_with_the_three_that_exist(monkeypatch):
    set_backend(monkeypatch, "cuda")
    with pytest.raises(gpu.BackendError, match="GEMM_COURSE_BACKEND='cuda' is not known: choose auto, gpu or simul"):
        gpu.backend()


def test_the_simulator_can_be_asked_for_where_there_is_a_gpu(monkeypatch):
    monkeypatch.setattr(gpu, "probe", lambda: gpu.Probe(True, "CuPy sees 1 GPU(s)."))
    assert gpu.backend() == "simulator"
    assert gpu.reason() == "GEMM_COURSE_BACKEND=simulator asks for the simulator."


def test_a_gpu_without_cupy_is_told_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(gpu, "_driver_devices", lambda: 2)
    monkeypatch.setitem(sys.modules, "cupy", None)  # so that importing it fails
    found = gpu.probe.__wrapped__()
    assert not found.found
    assert found.reason.startswith(
        "a driver with 2 GPU(s) is here, but CuPy, which `make setup GPU=yes` installs, cannot"
    )


def test_importing_the_door_loads_neither_cupy_nor_the_simulator_and_prints_nothing():
    code = (
        "import sys; from helpers import gpu; "
        "heavy = {'cupy', 'helpers.simulator', 'helpers.compiler'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# --- CuPy's names on the simulator ----------------------------------------------------------------------------------


def test_the_description_names_the_simulated_architecture():
    assert gpu.describe() == "simulator, compiling for sm_90 (NVIDIA H200)"
    assert gpu.device() is DEVICES["NVIDIA H200"]
    assert gpu.name() == "NVIDIA H200"


def test_the_names_are_the_simulators_and_are_listed():
    assert gpu.RawModule is simulator.RawModule
    assert gpu.ndarray is simulator.DeviceArray
    assert {"RawModule", "asarray", "empty", "full", "asnumpy", "zeros", "ones", "array"} <= set(dir(gpu))
    with pytest.raises(AttributeError, match="no attribute 'asarry'"):
        _ = gpu.asarry


def test_a_device_array_is_a_copy_until_it_is_one():
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    on_device = gpu.asarray(host)
    host[0, 0] = 9
    assert gpu.asnumpy(on_device)[0, 0] == 0
    assert gpu.asarray(on_device) is on_device
    assert gpu.array(on_device) is not on_device
    back = gpu.asnumpy(on_device)
    back[0, 0] = 7
    assert type(back) is np.ndarray and on_device.get()[0, 0] == 0


def test_arrays_have_cupys_shapes_and_types():
    assert gpu.zeros((2, 3), np.float32).get().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert gpu.ones(2).dtype == np.float64
    assert gpu.empty((4, 5), np.int32).shape == (4, 5)
    assert np.isnan(gpu.full((2, 2), np.nan, np.float32).get()).all()
    assert gpu.asarray(np.asfortranarray(np.eye(3, 2))).flags.c_contiguous


def test_a_kernel_runs_by_cupys_calling_convention():
    source = 'extern "C" __global__ void scale(int n, float x, float *y) { if (threadIdx.x < n) y[threadIdx.x] *= x; }'
    scale = gpu.RawModule(code=source, options=("-std=c++17",)).get_function("scale")
    y = gpu.ones(8, np.float32)
    scale((1,), (32,), (np.int32(5), np.float32(3.0), y))
    gpu.synchronize()
    assert gpu.asnumpy(y).tolist() == [3] * 5 + [1] * 3


def test_reading_an_empty_array_before_anybody_has_written_it_is_found():
    source = 'extern "C" __global__ void k(float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }'
    k = gpu.RawModule(code=source).get_function("k")
    x, y = gpu.empty(32, np.float32), gpu.empty(32, np.float32)
    with pytest.raises(simulator.UninitializedRead, match=r"reads x\[0\], which nobody has written"):
        k((1,), (32,), (x, y))
    x[:] = 2
    k((1,), (32,), (x, y))
    assert (y.get() == 2).all()


def test_recording_is_the_simulators():
    A, B, _ = problem(32, 32, 8)
    with gpu.record() as recording:
        gpu.multiply(get("coalesced"), A, B)
    assert recording.counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 2 * 8 * 32


def test_recording_on_a_gpu_is_answered_with_the_way_to_do_it(monkeypatch):
    set_backend(monkeypatch, "gpu")
    monkeypatch.setattr(gpu, "probe", lambda: gpu.Probe(True, "CuPy sees 1 GPU(s)."))
    with pytest.raises(gpu.BackendError, match="Launch with helpers.simulator.RawModule inside helpers.simulator.rec"):
        gpu.record()


# --- one launch, checked --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["naive", "coalesced", "shared_memory"])
def test_multiply_computes_alpha_a_b_plus_beta_c(name):
    A, B, C = problem(33, 20, 17)
    before = C.copy()
    assert verify(gpu.multiply(get(name), A, B, C, ALPHA, BETA), A, B, C, ALPHA, BETA) < 1e-6
    assert np.array_equal(C, before)
    assert verify(gpu.multiply(get(name), A, B), A, B) < 1e-6


class TooFewBlocks:
    """A kernel of the ladder, launched with a grid that leaves the last rows of C out."""

    def __init__(self, kernel):
        self._kernel = kernel

    def __getattr__(self, attribute):
        return getattr(self._kernel, attribute)

    def grid(self, M, N):
        x, y, z = self._kernel.grid(M, N)
        return x, y - 1, z


def test_elements_that_no_thread_writes_are_counted_and_named():
    A, B, _ = problem(40, 33, 8)
    with pytest.raises(gpu.LaunchFailed) as error:
        gpu.multiply(TooFewBlocks(get("coalesced")), A, B)
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
        gpu.multiply(get("naive"), *change(*problem(3, 4, 5)), alpha=1.0, beta=0.5)
    assert str(error.value) == sentence


def test_a_kernel_with_more_than_48_kb_of_shared_memory_is_allowed_it():
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
        entry = "big"
        block = (4, 1, 1)
        shared_bytes = 60016

        def grid(self, M, N):
            return (1, 1, 1)

    A, C = gpu.asarray(np.arange(4, dtype=np.float32)), gpu.zeros(4, np.float32)
    gpu.load(Big())(1, 4, 1, 1.0, A, A, 0.0, C)
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

    def fail(*args):
        raise RuntimeError(message)

    array, asarray, asnumpy = gpu.array, gpu.asarray, gpu.asnumpy
    monkeypatch.setattr(gpu, "load", lambda kernel: fail)
    monkeypatch.setattr(gpu, "backend", lambda: "gpu")
    for name, function in (("array", array), ("asarray", asarray), ("asnumpy", asnumpy)):
        monkeypatch.setitem(vars(gpu), name, function)
    with pytest.raises(gpu.LaunchFailed) as error:
        gpu.multiply(get("naive"), A, B)
    assert str(error.value).startswith("naive with grid (2, 2, 1), block (32, 32, 1), 0 shared bytes ")
    assert sentence in str(error.value)


# --- on a GPU -------------------------------------------------------------------------------------------------------

on_a_gpu = pytest.mark.skipif(not gpu.probe().found, reason=gpu.probe().reason)


@on_a_gpu
def test_on_a_gpu_the_names_are_cupys_own(monkeypatch):
    import cupy

    set_backend(monkeypatch, "gpu")
    assert gpu.RawModule is cupy.RawModule
    assert gpu.asarray is cupy.asarray
    assert gpu.ndarray is cupy.ndarray
    assert "CuPy" in gpu.describe()


@on_a_gpu
@pytest.mark.parametrize("name", ["naive", "coalesced", "shared_memory"])
def test_on_a_gpu_the_result_is_bit_for_bit_the_simulators(monkeypatch, name):
    A, B, C = problem(100, 90, 77)
    simulated = gpu.multiply(get(name), A, B, C, ALPHA, BETA)
    set_backend(monkeypatch, "gpu")
    assert (gpu.multiply(get(name), A, B, C, ALPHA, BETA) == simulated).all()


@on_a_gpu
def test_on_a_gpu_a_block_of_4096_threads_is_refused_in_a_sentence(monkeypatch):
    class TooLarge(TooFewBlocks):
        block = (64, 64, 1)

    set_backend(monkeypatch, "gpu")
    A, B, _ = problem(64, 64, 8)
    with pytest.raises(gpu.LaunchFailed, match="A block may have 1024 threads"):
        gpu.multiply(TooLarge(get("naive")), A, B)
