"""What a program does around its launches: it has threads, goes on after errors, and pickles things."""

import copy
import pickle
import threading

import numpy as np
import pytest

import gpusim
from gpusim import errors
from helpers import gpu

F32, I32 = np.float32, np.int32
SOURCE = """
extern "C" __global__ void add(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}"""


@pytest.fixture(scope="module")
def module() -> gpusim.RawModule:
    compiled = gpusim.RawModule(code=SOURCE)
    compiled.compile()
    return compiled


def add(module, x: np.ndarray) -> None:
    module.get_function("add")((-(-x.size // 32),), (32,), (I32(x.size), x))


def test_exception_in_a_recording_ends_the_recording(module):
    x = np.zeros(40, F32)
    with pytest.raises(ZeroDivisionError), gpusim.record() as recording:
        add(module, x)
        _ = 1 // 0
    add(module, x)
    assert len(recording.launches) == 1 and (x == 2).all()


def test_an_inner_recording_takes_the_launches_of_its_own(module):
    x = np.zeros(40, F32)
    with gpusim.record() as outer:
        add(module, x)
        with gpusim.record() as inner:
            add(module, x)
            add(module, x)
        add(module, x)
    assert (len(outer.launches), len(inner.launches)) == (2, 2)


def test_threads_record_their_own_launches_and_say_if_none(module):
    arrays, counts = np.zeros((4, 96), F32), {}

    def work(number: int) -> None:
        with gpusim.record() as recording:
            for _ in range(number + 1):
                add(module, arrays[number])
        counts[number] = len(recording.launches)

    with gpusim.record() as ours:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counts == {0: 1, 1: 2, 2: 3, 3: 4}
    assert arrays.tolist() == [[number + 1] * 96 for number in range(4)]
    with pytest.raises(gpusim.SimulatorError, match="no kernel was launched inside"):
        _ = ours.counters


def test_host_writes_between_launches_and_modules_stay_apart(module):
    other, x = gpusim.RawModule(code=SOURCE), gpu.zeros(40, F32)
    for kernel in (module, other, module):
        add(kernel, x)
        x[3] *= 10
    assert x[0] == 3 and x[3] == ((1 * 10 + 1) * 10 + 1) * 10


def test_what_cannot_be_pickled_says_what_to_do_instead(module):
    x = np.zeros(40, F32)
    with gpusim.record() as recording:
        add(module, x)
    compile_it = "compile it there"
    things = ((recording, "Record the launch again"), (module.get_function("add"), compile_it), (module, compile_it))
    for thing, advice in things:
        for make in (pickle.dumps, copy.deepcopy):
            with pytest.raises(gpusim.SimulatorError, match=advice):
                make(thing)


@pytest.mark.parametrize("dtype", ("float32", "int8", "bool"))
def test_a_copy_made_by_pickle_still_knows_unwritten_elements(dtype):
    x = gpusim.empty((2, 8), dtype)
    x[1] = 1
    copied = pickle.loads(pickle.dumps(x))
    assert type(copied) is gpusim.DeviceArray and copied.shape == (2, 8)
    assert copied.unwritten.tolist() == [True] * 8 + [False] * 8
    whole = pickle.loads(pickle.dumps(gpu.zeros(8, F32)))
    assert whole.unwritten is None and (whole == 0).all()


def test_one_argument_too_few_is_counted_in_words(module):
    with pytest.raises(errors.ArgumentError, match=r"takes 2 arguments \(int n, float \* x\), but 1 was given"):
        module.get_function("add")((1,), (32,), (I32(1),))


@pytest.mark.parametrize(
    ("array", "advice"),
    [
        (np.zeros((2, 64), F32)[:, ::2], "ascontiguousarray"),
        (np.zeros(8), r"astype\(numpy.float32\)"),
        (np.zeros(8, np.complex64), r"astype\(numpy.float32\)"),
        (np.array(["a"]), "an array of str"),
        ([1, 2], "pass an array, not a list"),
        (np.zeros(8, ">f4"), "in reverse order"),
    ],
    ids=["strided", "float64", "complex64", "text", "list", "big-endian"],
)
def test_non_array_argument_is_answered_by_what_to_pass(module, array, advice):
    with pytest.raises(errors.ArgumentError, match=f"Argument 2 of add(.|\\n)*{advice}"):
        module.get_function("add")((1,), (32,), (I32(4), array))


def test_an_empty_array_and_no_array_are_answered_at_the_access(module):
    for array, what in ((np.zeros(0, F32), "which has 0 elements"), (None, "a null pointer")):
        with pytest.raises(errors.OutOfBounds, match=what):
            module.get_function("add")((1,), (32,), (I32(4), array))
        module.get_function("add")((1,), (32,), (I32(0), array))
