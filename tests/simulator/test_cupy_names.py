"""CuPy's names on the simulator: arrays, streams, events and kernels from one expression, as a learner meets them."""

import numpy as np
import pytest

from helpers import devices, gpu, sentences, simulator
from helpers.simulator import DeviceArray, SimulatorError
from helpers.simulator.cuda import names

SQUARES = """
extern "C" __global__ void squares(const float *x, float *y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}
"""


@pytest.fixture(autouse=True)
def on_the_simulator(monkeypatch):
    monkeypatch.setenv("GEMM_COURSE_BACKEND", "simulator")


def test_arrays_are_made_as_numpy_makes_them_and_lie_on_the_device():
    made = {
        "arange": gpu.arange(6, dtype=gpu.float32), "linspace": gpu.linspace(0, 1, 5), "eye": gpu.eye(3),
        "zeros_like": gpu.zeros_like(np.ones((2, 3), np.int32)), "matmul": gpu.matmul(gpu.eye(2), gpu.ones((2, 2))),
        "random": gpu.random.rand(4, 2),
    }  # fmt: skip
    assert all(isinstance(one, DeviceArray) for one in made.values())
    assert made["arange"].tolist() == [0, 1, 2, 3, 4, 5] and made["zeros_like"].dtype == np.int32
    assert made["matmul"].get().tolist() == [[1, 1], [1, 1]] and made["random"].shape == (4, 2)
    assert float(gpu.sum(gpu.arange(5))) == 10 and not isinstance(gpu.sum(gpu.arange(5)), np.ndarray)


def test_what_empty_like_holds_is_nobodys_and_the_sanitizer_says_so():
    y = gpu.empty_like(gpu.zeros(4, np.float32))
    kernel = simulator.RawModule(code=SQUARES).get_function("squares")
    with pytest.raises(simulator.UninitializedRead):
        kernel((1,), (4,), (y, gpu.zeros(4, np.float32), np.int32(4)))


def test_a_raw_kernel_is_compiled_at_its_launch():
    squares = gpu.RawKernel(SQUARES, "squares")
    x, y = gpu.arange(5, dtype=np.float32), gpu.zeros(5, np.float32)
    squares((1,), (32,), (x, y, np.int32(5)))
    assert y.tolist() == [0, 1, 4, 9, 16]
    assert squares.kernel.num_regs > 0


def test_a_kernel_from_one_expression_computes_every_element_and_is_recorded_like_any_other():
    scaled = gpu.ElementwiseKernel("float32 x, float32 c", "float32 y", "y = c * x + i", "scaled")
    x = gpu.arange(300, dtype=np.float32)
    with simulator.record() as recording:
        y = scaled(x, np.float32(3))
    assert np.array_equal(y, 4 * np.arange(300))
    assert recording.total("useful_bytes", "global", "st") == 4 * 300


def test_types_of_one_letter_shapes_that_broadcast_and_raw_parameters():
    add = gpu.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add")
    assert add(gpu.ones((2, 3)), gpu.arange(3.0)).tolist() == [[1, 2, 3], [1, 2, 3]]
    assert add(gpu.ones(3, np.int32), np.int32(4)).dtype == np.int32
    mirrored = gpu.ElementwiseKernel("raw T x, int32 n", "T y", "y = x[n - 1 - i]", "mirrored")
    assert mirrored(gpu.arange(4), np.int32(4), size=4).tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gpu.ElementwiseKernel("float x y", "float32 z", "z = x"), "'float x y' among the inputs"),
        (lambda: gpu.ElementwiseKernel("float32 x", "float32 z", "z = x")(), "takes 1 inputs"),
        (lambda: gpu.ElementwiseKernel("float32 x", "float32 z", "z = x")(np.float32(1)), "no array to take its size"),
        (lambda: gpu.ElementwiseKernel("quad x", "float32 z", "z = x")(gpu.zeros(2)), "'quad', the type of x"),
        (lambda: gpu.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0"), "not simulated"),
        (lambda: gpu.cuda.get_elapsed_time(gpu.cuda.Event(), gpu.cuda.Event()), "does not measure time"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(call, said):
    with pytest.raises(SimulatorError, match=said):
        call()


def test_a_name_of_cupys_that_is_not_simulated_says_which_are():
    with pytest.raises(AttributeError, match=r"gpu.fft is not simulated. Here are .*ElementwiseKernel.*zeros"):
        gpu.fft  # noqa: B018
    assert not hasattr(gpu, "__path__")


def test_streams_and_events_stand_where_a_program_for_a_gpu_has_them():
    with gpu.cuda.Stream(non_blocking=True) as stream:
        event = stream.record()
    stream.wait_event(event)
    event.synchronize()
    gpu.cuda.Device(0).synchronize()
    assert event.done and names.names()["cuda"] is not None


def test_the_device_says_what_a_launch_may_have():
    with gpu.cuda.Device(0) as device:
        device.synchronize()
    limits = devices.DEFAULT
    assert device.compute_capability == "90" and device.attributes["MultiProcessorCount"] == limits.sms
    assert device.attributes["MaxSharedMemoryPerBlockOptin"] == 232448 and device.attributes["MaxBlockDimZ"] == 64
    gpu.cuda.runtime.deviceSynchronize()
    assert gpu.cuda.is_available() and gpu.cuda.runtime.getDeviceCount() == 1


@pytest.mark.parametrize(
    "name", ("cuda.nvtx", "cuda.runtime.memGetInfo", "cuda.texture.TextureReference", "random.beta")
)
def test_a_name_within_another_that_is_not_simulated_is_answered_by_a_sentence(name):
    within, last = name.rsplit(".", 1)
    one = gpu
    for part in within.split("."):
        one = getattr(one, part)
    assert not hasattr(one, last)
    with pytest.raises(sentences.NotSimulated, match=rf"gpu\.{name} is not simulated\. Here are "):
        getattr(one, last)


def test_numbers_are_drawn_by_a_generator_as_numpys_does_and_lie_on_the_device():
    drawn = gpu.random.default_rng(7).random((3, 4), dtype=np.float32)
    assert isinstance(drawn, DeviceArray)
    assert np.array_equal(drawn, np.random.default_rng(7).random((3, 4), dtype=np.float32))


@pytest.mark.parametrize(
    "call",
    [
        lambda dtype: gpu.random.rand(3, dtype=dtype),
        lambda dtype: gpu.random.randn(3, dtype=dtype),
        lambda dtype: gpu.random.random_sample((3,), dtype=dtype),
        lambda dtype: gpu.random.standard_normal((3,), dtype=dtype),
        lambda dtype: gpu.random.uniform(-1, 1, 3, dtype=dtype),
        lambda dtype: gpu.random.normal(0, 1, (3,), dtype=dtype),
    ],
)
def test_numbers_are_drawn_of_the_type_that_is_asked_for_as_by_cupy(call):
    gpu.random.seed(5)
    wide = call(np.float64)
    gpu.random.seed(5)
    narrow = call(gpu.float32)
    assert isinstance(narrow, DeviceArray) and narrow.dtype == np.float32 and narrow.shape == (3,)
    assert np.array_equal(narrow, wide.get().astype(np.float32))


def test_an_argument_of_random_that_cannot_be_is_named_with_its_function():
    with pytest.raises(SimulatorError, match=r"gpu\.random\.rand cannot make this array: .*negative"):
        gpu.random.rand(-1)


def test_the_null_stream_is_the_current_one():
    gpu.cuda.Stream.null.synchronize()
    assert gpu.cuda.get_current_stream() is gpu.cuda.Stream.null and gpu.cuda.Stream.null.done


def test_a_raw_kernel_says_what_the_compiler_says_of_it():
    squares = gpu.RawKernel(SQUARES, "squares")
    squares.compile()
    assert squares.num_regs == squares.attributes["num_regs"] == squares.kernel.num_regs
    with pytest.raises(AttributeError, match="'RawKernel' object has no attribute 'registers'"):
        squares.registers  # noqa: B018
