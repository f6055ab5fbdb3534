"""The one door to a device: choosing it, CuPy's names on the simulator, and sentences when a launch goes wrong."""

import subprocess
import sys

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.devices import DEVICES
from helpers import gpu

pytestmark = pytest.mark.usefixtures("on_the_simulator")

NO_GPU = gpu.Probe(False, "no NVIDIA driver was found (libcuda.so.1 cannot be loaded).")


@pytest.fixture
def without_gpu(monkeypatch):
    monkeypatch.setattr(gpu, "probe", lambda: NO_GPU)


def set_backend(monkeypatch, value):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, value)


# --- choosing -------------------------------------------------------------------------------------------------------


def test_auto_is_the_default_and_simulates_without_a_gpu(monkeypatch, without_gpu):
    monkeypatch.delenv(gpu.BACKEND_VARIABLE)
    assert gpu.backend() == "simulator"
    set_backend(monkeypatch, "auto")
    assert gpu.backend() == "simulator"
    assert gpu.reason() == "No NVIDIA driver was found (libcuda.so.1 cannot be loaded)."


def test_auto_means_the_gpu_where_cupy_sees_one(monkeypatch):
    set_backend(monkeypatch, "auto")
    monkeypatch.setattr(gpu, "probe", lambda: gpu.Probe(True, "CuPy sees 1 GPU(s)."))
    assert gpu.backend() == "gpu"


def test_missing_gpu_says_what_was_found_and_what_to_do(monkeypatch, without_gpu):
    set_backend(monkeypatch, "gpu")
    with pytest.raises(gpu.BackendError) as error:
        gpu.backend()
    assert str(error.value) == (
        "GEMM_COURSE_BACKEND=gpu asks for a GPU, but no NVIDIA driver was found (libcuda.so.1 cannot be loaded). "
        "Set GEMM_COURSE_BACKEND=auto (or simulator) to run the same cells on the simulator."
    )


def test_unknown_backend_is_answered_with_the_three_existing(monkeypatch):
    set_backend(monkeypatch, "cuda")
    with pytest.raises(gpu.BackendError, match="GEMM_COURSE_BACKEND='cuda' is not known: choose auto, gpu or simul"):
        gpu.backend()


def test_the_simulator_can_be_asked_for_where_there_is_a_gpu(monkeypatch):
    monkeypatch.setattr(gpu, "probe", lambda: gpu.Probe(True, "CuPy sees 1 GPU(s)."))
    assert gpu.backend() == "simulator"
    assert gpu.reason() == "GEMM_COURSE_BACKEND=simulator asks for the simulator."


def test_gpu_without_cupy_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(gpu, "_driver_devices", lambda: 2)
    monkeypatch.setitem(sys.modules, "cupy", None)  # so that importing it fails
    probed = gpu.probe.__wrapped__()
    assert not probed.usable
    assert probed.reason.startswith(
        "a driver with 2 GPU(s) is here, but CuPy, which `make setup GPU=yes` installs, cannot"
    )


def test_importing_the_door_loads_no_backend_and_prints_nothing():
    code = (
        "import sys; from helpers import gpu; "
        "heavy = {'cupy', 'gpusim.cupy', 'gpusim.compiler'} & set(sys.modules); "
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
    assert issubclass(gpu.RawModule, gpusim.RawModule)
    assert gpu.ndarray is gpusim.DeviceArray
    assert {"RawModule", "asarray", "empty", "full", "asnumpy", "zeros", "ones", "array"} <= set(dir(gpu))
    with pytest.raises(AttributeError, match="gpu.asarry is not simulated"):
        _ = gpu.asarry


def test_a_kernel_refuses_an_array_of_the_host_as_cupy_does():
    source = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'
    host = np.ones(4, np.float32)
    for kernel in (gpu.RawModule(code=source).get_function("twice"), gpu.RawKernel(source, "twice")):
        with pytest.raises(TypeError, match="Unsupported type <class 'numpy.ndarray'>.*gpu.asarray"):
            kernel((1,), (4,), (host,))
        device = gpu.asarray(host)
        kernel((1,), (4,), (device,))
        assert gpu.asnumpy(device).tolist() == [2] * 4 and host.tolist() == [1] * 4


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


def test_reading_an_unwritten_empty_array_is_found():
    source = 'extern "C" __global__ void k(float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }'
    k = gpu.RawModule(code=source).get_function("k")
    x, y = gpu.empty(32, np.float32), gpu.empty(32, np.float32)
    with pytest.raises(errors.UninitializedRead, match=r"reads x\[0\], which was never written"):
        k((1,), (32,), (x, y))
    x[:] = 2
    k((1,), (32,), (x, y))
    assert (y.get() == 2).all()


# --- on a GPU -------------------------------------------------------------------------------------------------------

on_a_gpu = pytest.mark.skipif(not gpu.probe().usable, reason=gpu.probe().reason)


@on_a_gpu
def test_on_a_gpu_the_names_are_cupys_own(monkeypatch):
    import cupy

    set_backend(monkeypatch, "gpu")
    assert issubclass(gpu.RawModule, cupy.RawModule)
    assert gpu.asarray is cupy.asarray
    assert gpu.ndarray is cupy.ndarray
    assert "CuPy" in gpu.describe()
