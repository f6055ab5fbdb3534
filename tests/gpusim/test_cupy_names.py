"""CuPy's names on the simulator: arrays, streams, events and kernels from one expression, as a learner meets them."""

import sys

import numpy as np
import pytest

import gpusim
from gpusim import DeviceArray, SimulatorError, devices, errors, sentences
from gpusim.cupy import names
from helpers import gpu

SQUARES = """
extern "C" __global__ void squares(const float *x, float *y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}
"""


def test_arrays_are_made_as_by_numpy_and_lie_on_the_device():
    made = {
        "arange": gpu.arange(6, dtype=gpu.float32), "linspace": gpu.linspace(0, 1, 5), "eye": gpu.eye(3),
        "zeros_like": gpu.zeros_like(np.ones((2, 3), np.int32)), "matmul": gpu.matmul(gpu.eye(2), gpu.ones((2, 2))),
        "random": gpu.random.rand(4, 2),
    }  # fmt: skip
    assert all(isinstance(array, DeviceArray) for array in made.values())
    assert made["arange"].tolist() == [0, 1, 2, 3, 4, 5] and made["zeros_like"].dtype == np.int32
    assert made["matmul"].get().tolist() == [[1, 1], [1, 1]] and made["random"].shape == (4, 2)
    assert float(gpu.sum(gpu.arange(5))) == 10
    assert gpu.empty((2, 3), np.float32, order="F").flags.f_contiguous
    assert gpu.array([1, 2], "float32", copy=True, ndmin=2).shape == (1, 2)


def test_scalar_result_is_an_array_without_axes_as_in_cupy():
    x = gpu.arange(6.0).reshape(2, 3)
    for number in (gpu.sum(x), gpu.max(x), gpu.dot(x[0], x[1]), gpu.allclose(x, x), gpu.linalg.norm(x)):
        assert isinstance(number, DeviceArray) and number.shape == () and number.get() == number.item()
    assert gpu.allclose(x, x) and not gpu.allclose(x, x + 1) and f"{gpu.mean(x):.1f}" == "2.5"
    q, r = gpu.linalg.qr(gpu.eye(3))
    assert isinstance(q, DeviceArray) and all(isinstance(array, DeviceArray) for array in gpu.split(x, 2, axis=0))
    assert gpu.shape(x) == (2, 3)
    gpu.testing.assert_allclose(q @ r, np.eye(3))
    with pytest.raises(SimulatorError, match=r"gpu\.linalg\.inv cannot make this array: Singular matrix"):
        gpu.linalg.inv(gpu.zeros((2, 2)))


def test_a_copy_on_the_host_may_go_into_an_array_that_there_is():
    x, out = gpu.arange(6.0).reshape(2, 3), np.zeros((2, 3))
    assert x.get(out=out) is out and np.array_equal(out, x)
    assert x.get(stream=gpu.cuda.Stream(), order="F").flags.f_contiguous and np.array_equal(gpu.asnumpy(x, None), x)
    x.set(2 * out, stream=gpu.cuda.Stream.null)
    assert np.array_equal(x, 2 * out)
    with pytest.raises(ValueError, match="float64 .2, 3. does not fit into a float32 array"):
        x.get(out=np.zeros((2, 3), np.float32))


def test_reading_empty_like_unwritten_is_reported():
    y = gpu.empty_like(gpu.zeros(4, np.float32))
    kernel = gpusim.RawModule(code=SQUARES).get_function("squares")
    with pytest.raises(errors.UninitializedRead):
        kernel((1,), (4,), (y, gpu.zeros(4, np.float32), np.int32(4)))


def test_a_raw_kernel_is_compiled_at_its_launch():
    squares = gpu.RawKernel(SQUARES, "squares")
    x, y = gpu.arange(5, dtype=np.float32), gpu.zeros(5, np.float32)
    squares((1,), (32,), (x, y, np.int32(5)))
    assert y.tolist() == [0, 1, 4, 9, 16]
    assert squares.kernel.num_regs > 0


def test_expression_kernel_is_right_and_recorded():
    scaled = gpu.ElementwiseKernel("float32 x, float32 c", "float32 y", "y = c * x + i", "scaled")
    x = gpu.arange(300, dtype=np.float32)
    with gpusim.record() as recording:
        y = scaled(x, np.float32(3))
    assert np.array_equal(y, 4 * np.arange(300))
    assert recording.total("useful_bytes", "global", "st") == 4 * 300


def test_one_letter_types_broadcast_shapes_and_raw_parameters():
    add = gpu.ElementwiseKernel("T x, T y", "T z", "z = x + y", "add")
    assert add(gpu.ones((2, 3)), gpu.arange(3.0)).tolist() == [[1, 2, 3], [1, 2, 3]]
    assert add(gpu.ones(3, np.int32), np.int32(4)).dtype == np.int32
    mirrored = gpu.ElementwiseKernel("raw T x, int32 n", "T y", "y = x[n - 1 - i]", "mirrored")
    assert mirrored(gpu.arange(4), np.int32(4), size=4).tolist() == [3, 2, 1, 0]


def test_expression_has_preamble_options_and_element_count():
    mirrored = gpu.ElementwiseKernel(
        "raw T x, T y", "T z", "z = twice(x[_ind.size() - 1 - i]) + y + offset", "mirrored",
        preamble="template <class T> __device__ T twice(T x) { return FACTOR * x; }", options=("-DFACTOR=2",),
        loop_prep="const float offset = 100;",
    )  # fmt: skip
    x = gpu.arange(5, dtype=np.float32)
    assert mirrored(x, x, block_size=64).tolist() == [108, 107, 106, 105, 104]
    doubled = gpu.ElementwiseKernel("T x", "T y", "y = 2 * x", "doubled", no_return=True)
    y = gpu.zeros(5, np.float32)
    assert doubled(x, y) is None and y.tolist() == [0, 2, 4, 6, 8]
    turned = gpu.ElementwiseKernel("complex64 x", "complex64 y", "y = x * complex<float>(0, 1)", "turned")
    assert turned(gpu.array([1, 2j], np.complex64)).tolist() == [1j, -2]


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 5), (3, 300), (2, 3, 4)])
def test_reduction_is_over_all_elements_or_along_an_axis(shape):
    length = gpu.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
    x = gpu.random.default_rng(1).random(shape, dtype=np.float32)
    for axis in (None, *range(len(shape)), (0, len(shape) - 1) if len(shape) > 1 else 0):
        assert np.allclose(length(x, axis=axis), np.sqrt((x.get() ** 2).sum(axis=axis)), rtol=1e-5)
    assert length(x, axis=-1, keepdims=True).shape == (*shape[:-1], 1)


def test_reduction_takes_several_inputs_types_and_an_output():
    dot = gpu.ReductionKernel("T x, T y, float32 c", "float64 z", "c * x * y", "a + b", "z = a", "0", "dot")
    x, out = gpu.arange(4, dtype=np.int32), gpu.zeros((), np.float64)
    assert dot(x, x, np.float32(0.5), out) is out and out == 7
    largest = gpu.ReductionKernel(
        "T x", "int64 y", "_large(x, i)", "a.value < b.value ? b : a", "y = a.at", "_large(-1e30f, -1)",
        reduce_type="_large",
        preamble="struct _large { float value; long long at; __device__ _large() {}"
        " __device__ _large(float value, long long at) : value(value), at(at) {} };",
    )  # fmt: skip
    assert largest(gpu.array([3, 9, 4], np.float32)) == 1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gpu.ElementwiseKernel("float x y", "float32 z", "z = x"), "'float x y' among the inputs"),
        (lambda: gpu.ElementwiseKernel("float32 x", "float32 z", "z = x")(), "takes 1 inputs"),
        (lambda: gpu.ElementwiseKernel("float32 x", "float32 z", "z = x")(np.float32(1)), "no array to take its size"),
        (lambda: gpu.ElementwiseKernel("quad x", "float32 z", "z = x")(gpu.zeros(2)), "'quad', the type of x"),
        (lambda: gpu.ReductionKernel("T x", "T y", "x", "a + b", "y = a", None), "has no identity"),
        (lambda: gpu.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")(1.0), "no array to take its size"),
        (lambda: gpu.RawModule(path="kernels.cubin"), "machine code of a file, path=…, runs on a GPU alone"),
        (lambda: gpu.RawModule(code=SQUARES, jitify=True), "jitify is not simulated. Leave it out"),
        (lambda: gpu.cuda.Device(1).use(), "There is no device 1: one GPU is simulated"),
        (lambda: gpu.cuda.runtime.getDeviceProperties(0)["pciBusID"], "'pciBusID' of a GPU is not simulated"),
        (lambda: gpu.cuda.alloc(-1), "a number of bytes, and this is -1"),
        (lambda: gpu.cuda.get_elapsed_time(gpu.cuda.Event(), gpu.cuda.Event()), "does not measure time"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(call, said):
    with pytest.raises(SimulatorError, match=said):
        call()


def test_a_name_of_cupys_that_is_not_simulated_says_which_are():
    with pytest.raises(AttributeError, match=r"gpu.fuse is not simulated. Here are .*ElementwiseKernel.*zeros"):
        gpu.fuse  # noqa: B018
    assert not hasattr(gpu, "__path__")


def test_streams_and_events_stand_where_gpu_programs_have_them():
    with gpu.cuda.Stream(non_blocking=True) as stream:
        event = stream.record()
    stream.wait_event(event)
    event.synchronize()
    gpu.cuda.Device(0).synchronize()
    assert event.done and names.names()["cuda"] is not None


def test_streams_have_numbers_and_call_functions_of_the_host():
    stream, calls = gpu.cuda.Stream(priority=-1), []
    assert gpu.cuda.Stream(null=True) == gpu.cuda.Stream.null != stream and stream == stream
    assert gpu.cuda.Stream.null.ptr == 0 < stream.ptr and len({stream, gpu.cuda.Stream(), gpu.cuda.Stream.null}) == 3
    stream.launch_host_func(calls.append, 1)
    stream.add_callback(lambda *arguments: calls.append(arguments), 2)
    assert calls == [1, (stream, 0, 2)]


def test_devices_of_one_number_are_one():
    assert gpu.cuda.Device() == gpu.cuda.Device(0) != gpu.cuda.Device(1) and int(gpu.cuda.Device(1)) == 1
    assert len({gpu.cuda.Device(), gpu.cuda.Device(0)}) == 1 and repr(gpu.cuda.Device(0)) == "<CUDA Device 0>"


def test_memory_may_be_taken_by_the_byte():
    pointer = gpu.cuda.alloc(4 * 5)
    x = gpu.ndarray((5,), np.float32, pointer)
    gpu.RawKernel(SQUARES, "squares")((1,), (32,), (gpu.arange(5, dtype=np.float32), x, np.int32(5)))
    assert x.tolist() == [0, 1, 4, 9, 16] and pointer.ptr == x.data.ptr
    pinned = np.frombuffer(gpu.cuda.alloc_pinned_memory(20), np.float32, 5)
    assert x.get(out=pinned).tolist() == x.tolist()
    gpu.get_default_memory_pool().free_all_blocks()


def test_the_device_says_what_a_launch_may_have():
    with gpu.cuda.Device(0) as device:
        device.synchronize()
    limits = devices.DEFAULT
    assert device.compute_capability == "90" and device.attributes["MultiProcessorCount"] == limits.sms
    assert device.attributes["MaxSharedMemoryPerBlockOptin"] == 232448 and device.attributes["MaxBlockDimZ"] == 64
    properties = gpu.cuda.runtime.getDeviceProperties(device.id)
    assert properties["name"] == limits.name.encode() and properties["sharedMemPerBlockOptin"] == 232448
    assert properties["multiProcessorCount"] == limits.sms and properties["maxThreadsDim"] == (1024, 1024, 64)
    gpu.cuda.runtime.deviceSynchronize()
    assert gpu.cuda.is_available() and gpu.cuda.runtime.getDeviceCount() == 1


@pytest.mark.parametrize(
    "name", ("cuda.nvtx", "cuda.runtime.memGetInfo", "cuda.texture.TextureReference", "random.beta")
)
def test_nested_name_that_is_not_simulated_gets_a_sentence(name):
    within, last = name.rsplit(".", 1)
    member = gpu
    for part in within.split("."):
        member = getattr(member, part)
    assert not hasattr(member, last)
    with pytest.raises(sentences.NotSimulated, match=rf"gpu\.{name} is not simulated\. Here are "):
        getattr(member, last)


@pytest.mark.parametrize(
    ("made", "name"),
    [(lambda: gpu.cuda.Device(), "mem_info"), (lambda: gpu.cuda.Stream(), "begin_capture"),
     (lambda: gpu.cuda.Event(), "query"), (lambda: gpu.get_default_memory_pool(), "used_bytes")],
)  # fmt: skip
def test_what_a_part_of_cupys_lacks_is_answered_by_a_sentence(made, name):
    array = made()
    with pytest.raises(sentences.NotSimulated, match=rf"{type(array).__name__}\.{name} is not simulated\. A .* has "):
        getattr(array, name)


def test_generator_draws_as_numpys_does_onto_the_device():
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
def test_random_numbers_have_the_requested_type_as_in_cupy(call):
    gpu.random.seed(5)
    wide = call(np.float64)
    gpu.random.seed(5)
    narrow = call(gpu.float32)
    assert isinstance(narrow, DeviceArray) and narrow.dtype == np.float32 and narrow.shape == (3,)
    assert np.array_equal(narrow, wide.get().astype(np.float32))


def test_bad_argument_of_random_is_named_with_its_function():
    with pytest.raises(SimulatorError, match=r"gpu\.random\.rand cannot make this array: .*negative"):
        gpu.random.rand(-1)


def test_the_null_stream_is_the_current_one():
    gpu.cuda.Stream.null.synchronize()
    assert gpu.cuda.get_current_stream() is gpu.cuda.Stream.null and gpu.cuda.Stream.null.done


def test_a_raw_kernel_says_what_the_compiler_says_of_it():
    squares = gpu.RawKernel(SQUARES, "squares", ("-lineinfo",), translate_cucomplex=False)
    squares.compile(log_stream=sys.stdout)
    assert squares.options == ("-lineinfo",) and squares.backend == "nvrtc" and squares.code == SQUARES
    squares.max_dynamic_shared_size_bytes, squares.preferred_shared_memory_carveout = 100_000, 50
    assert (
        squares.kernel.max_dynamic_shared_size_bytes == squares.attributes["max_dynamic_shared_size_bytes"] == 100_000
    )
    assert squares.num_regs == squares.attributes["num_regs"] == squares.kernel.num_regs
    with pytest.raises(AttributeError, match="'RawKernel' object has no attribute 'registers'"):
        squares.registers  # noqa: B018


def array(*shape: int) -> gpu.ndarray:
    return gpu.ones(shape, np.float32)


REFUSED = {
    "product": (
        lambda: array(3, 4) @ array(3, 4),
        r"columns of the first array, 4, and the rows of the second, 3, whi",
    ),
    "sum": (lambda: array(3, 4) + array(2, 5), r"shapes \(3,4\) \(2,5\). The arrays are float32 \(3, 4\) and float32"),
    "in place": (lambda: array(3).__iadd__(array(4)), r"The arrays are float32 \(3,\) and float32 \(4,\)\.$"),
    "reshape": (lambda: array(3, 4).reshape(5, 5), r"^Cannot reshape .*\. The array is float32 \(3, 4\)\.$"),
    "index": (lambda: array(3)[7], "^Index 7 is out of bounds for axis 0 with size 3. The array is"),
    "item": (lambda: array(3).__setitem__(0, "a"), r"The array is float32 \(3,\)\.$"),
    "truth": (lambda: bool(array(3)), "truth value of an array"),
    "order": (lambda: gpu.empty(3, order="Z"), "order='Z': choose 'C'"),
    "set": (lambda: array(3).set(np.ones(4)), r"A float64 array of shape \(4,\) does not fit into float32 \(3,\)\."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_arrays_that_do_not_fit_are_named(case):
    compute, said = REFUSED[case]
    with pytest.raises(gpusim.SimulatorError, match=said):
        compute()


def test_results_of_operations_are_on_the_device():
    a = gpu.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    for result in (a + 1, 2 * a, a @ a.T, -a, a < 3, np.add(a, a), *np.divmod(a, 2)):
        assert type(result) is gpu.ndarray
    before, a = a, a.__iadd__(1)
    assert a is before and a.get().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert a.sum() == 21 and np.multiply.reduce(a, axis=0).get().tolist() == [4, 10, 18]
