"""Modules, their kernels and their variables, as `cupy.RawModule` has them."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Event

import numpy as np
import pytest

import gpusim
from gpusim import compiler, errors
from gpusim.compiler import build, nvrtc
from gpusim.cupy import raw_module
from gpusim.cupy.levels import forms_of
from helpers import gpu

LEVELS = ("sass", "ptx")
COUNTER = """
__device__ int total = 5;
__device__ float table[4];
extern "C" __global__ void add(int n) { atomicAdd(&total, n); table[threadIdx.x] += n; }
extern "C" __global__ void read(int *out, float *values) {
    out[0] = total;
    values[threadIdx.x] = table[threadIdx.x];
}
extern "C" __global__ void reset() { total = 0; }
"""


def total_and_table(module: gpusim.RawModule) -> list[float]:
    total, values = np.zeros(1, np.int32), np.zeros(4, np.float32)
    module.get_function("read")((1,), (4,), (total, values))
    return [*total.tolist(), *values.tolist()]


def test_module_variables_are_shared_by_kernels_and_keep_values(level):
    module = gpusim.RawModule(code=COUNTER)
    with gpusim.record(level=level):
        assert total_and_table(module) == [5, 0, 0, 0, 0]
        for n in (2, 10):
            module.get_function("add")((1,), (4,), (np.int32(n),))
        assert total_and_table(module) == [5 + 4 * 12, 12, 12, 12, 12]
        module.get_function("reset")((1,), (1,), ())
        assert total_and_table(module)[0] == 0


def test_levels_share_variables_and_modules_of_one_source_do_not():
    module, other = (gpusim.RawModule(code=COUNTER) for _ in range(2))
    for level in LEVELS:
        with gpusim.record(level=level):
            module.get_function("add")((1,), (4,), (np.int32(1),))
    assert total_and_table(module) == [5 + 4 * 2, 2, 2, 2, 2]
    assert total_and_table(other) == [5, 0, 0, 0, 0]


def test_a_kernel_without_parameters_runs(level, capsys):
    source = 'extern "C" __global__ void hello() { printf("hello from %d\\n", threadIdx.x); }'
    module = gpusim.RawModule(code=source)
    with gpusim.record(level=level):
        module.get_function("hello")((1,), (2,), ())
    assert capsys.readouterr().out == "hello from 0\nhello from 1\n"


@pytest.fixture
def compilations(monkeypatch):
    """The kernels that each call of the compiler was asked for."""
    monkeypatch.setenv("GEMM_COURSE_CACHE", "off")
    build._compiled.cache_clear()
    asked, run = [], nvrtc.run

    def counted(source, filename, options, names, headers):
        if source:  # the empty one asks for the compiler's version
            asked.append(names)
        return run(source, filename, options, names, headers)

    monkeypatch.setattr(nvrtc, "run", counted)
    return asked


def test_module_compiles_once_for_all_kernels_and_variables(compilations):
    module = gpusim.RawModule(code=COUNTER)
    gpu.ndarray(4, np.float32, module.get_global("table")).fill(3)
    module.get_function("add")((1,), (4,), (np.int32(2),))
    assert total_and_table(module) == [5 + 4 * 2, 5, 5, 5, 5]
    assert compilations == [("add", "read", "reset")]


def test_omitted_or_namespaced_kernels_let_others_compile(compilations):
    module = gpusim.RawModule(
        code="""
#if 0
__global__ void left_out(int *x) { *x = 0; }
#endif
__global__ void one(int *x) { *x = 1; }
namespace inner { __global__ void two(int *x) { *x = 2; } }
__global__ void three(int *x) { *x = 3; }
"""
    )
    prepared_ = []
    for name in ("one", "inner::two", "three"):
        x = np.zeros(1, np.int32)
        module.get_function(name)((1,), (1,), (x,))
        prepared_ += x.tolist()
    assert prepared_ == [1, 2, 3] and compilations[1:] == [("one", "three"), ("inner::two",)]
    with pytest.raises(compiler.UnknownKernel, match="the compiler did not see left_out: does it stand between #if"):
        module.get_function("left_out")


FILL = 'extern "C" __global__ void fill(float *x) { x[threadIdx.x] = 1; }'


@pytest.mark.parametrize("wrong", (16.0, "16", None))
def test_fractional_dynamic_shared_memory_is_refused(wrong):
    kernel = gpusim.RawModule(code=FILL).get_function("fill")
    with pytest.raises(errors.LaunchError) as caught:
        kernel((1,), (4,), (np.zeros(4, np.float32),), shared_mem=wrong)
    assert str(caught.value) == (
        f"fill was not launched: shared_mem is {wrong!r}, of type {type(wrong).__name__}; expected a whole number of "
        "bytes, such as shared_mem=4 * 256."
    )
    x = np.zeros(4, np.float32)
    kernel((1,), (4,), (x,), shared_mem=np.int64(16))
    assert x.tolist() == [1, 1, 1, 1]


def test_architecture_without_known_limits_is_refused():
    kernel = gpusim.RawModule(code=FILL, arch="sm_60").get_function("fill")
    with pytest.raises(gpusim.SimulatorError, match=r"compiled for sm_60, and .*not in the table.*Compile it for"):
        kernel((1,), (4,), (np.zeros(4, np.float32),))


def test_an_array_in_another_byte_order_is_refused_in_a_sentence():
    kernel = gpusim.RawModule(code=FILL).get_function("fill")
    with pytest.raises(errors.ArgumentError, match=r"bytes are in reverse order.*astype\(numpy.float32\)"):
        kernel((1,), (4,), (np.zeros(4, ">f4"),))


@pytest.mark.usefixtures("only_what_a_test_makes")
def test_forgotten_kernel_without_references_leaves_nothing(level):
    source = """
        extern "C" __global__ void turn(float *x) {
            __shared__ float s[64];
            s[threadIdx.x] = x[threadIdx.x];
            if (threadIdx.x < 64) __syncthreads();
            x[threadIdx.x] = s[63 - threadIdx.x];
        }"""
    module = gpusim.RawModule(code=source)
    kernel = module.get_function("turn")
    with gpusim.record(level=level, checks=True):
        kernel((1,), (64,), (np.zeros(64, np.float32),))
    prepared = weakref.ref(kernel.prepared(level))
    del module, kernel
    forms_of.clear()
    gc.collect()
    assert prepared() is None


@pytest.mark.usefixtures("only_what_a_test_makes", "prepared_afresh")
def test_prepared_code_is_dropped_though_its_kernel_is_held(monkeypatch):
    monkeypatch.setattr("gpusim.cupy.levels.MOST_INSTRUCTIONS", 1)
    source = 'extern "C" __global__ void add(int *x) { x[threadIdx.x] += NUMBER; }'
    kernels = [gpusim.RawModule(code=source.replace("NUMBER", number)).get_function("add") for number in "123"]
    prepared = [weakref.ref(kernel.prepared("sass")) for kernel in kernels]
    gc.collect()
    assert [reference() is not None for reference in prepared] == [False, False, True]
    x = np.zeros(32, np.int32)
    for kernel in kernels:
        kernel((1,), (32,), (x,))
    assert (x == 1 + 2 + 3).all()


def test_recompiled_kernel_runs_what_was_prepared_before():
    source = 'extern "C" __global__ void one(int *x) { x[threadIdx.x] = 1; }'
    first, second = (gpusim.RawModule(code=source).get_function("one") for _ in range(2))
    assert first is not second and first.prepared("sass") is second.prepared("sass")
    other = gpusim.RawModule(code=source.replace("= 1", "= 2")).get_function("one")
    assert other.prepared("sass") is not first.prepared("sass")


def test_two_host_threads_run_the_same_prepared_machine_code(monkeypatch):
    source = 'extern "C" __global__ void seven(int *x) { x[threadIdx.x] = 7; }'
    prepared = gpusim.RawModule(code=source).get_function("seven").prepared("sass")
    decode, begun = prepared.program.decode, Barrier(2)

    def slowly(of):
        with suppress(BrokenBarrierError):  # where one waits until the other has decoded, nobody else comes
            begun.wait(0.1)
        return decode(of)

    monkeypatch.setattr(prepared.program, "decode", slowly)
    with ThreadPoolExecutor(2) as threads:
        first, other = threads.map(lambda _: prepared.machine, range(2))
    assert first is not None and first is other


def test_executors_load_while_the_compiler_works(monkeypatch):
    asked, all_are = [], Event()

    def load(name):
        asked.append(name)
        if len(asked) == len(raw_module.EXECUTORS):
            all_are.set()

    raw_module._load_executors.cache_clear()
    monkeypatch.setattr(raw_module, "import_module", load)
    monkeypatch.setattr(compiler, "compile_module", lambda *_, **__: {"waited for it": all_are.wait(10)})
    monkeypatch.setattr(raw_module, "Kernel", lambda compiled, *_: compiled)
    module = gpusim.RawModule(code=COUNTER, name_expressions=["waited for it"])
    assert module.get_function("waited for it") is True and tuple(asked) == raw_module.EXECUTORS
