"""A launch leaves nothing to Python's collector, nor to an error that is kept: its memory goes when it has ended."""

import gc
from collections.abc import Callable
from weakref import ref

import numpy as np
import pytest

import gpusim
from gpusim.engine import run
from gpusim.engine.memory import GlobalMemory

SOURCE = r"""#define KERNEL extern "C" __global__ void
KERNEL good(const float *x, float *y) {
    __shared__ float s[64]; int t = threadIdx.x; s[t] = x[t]; __syncthreads(); y[t] = s[63 - t];
}
KERNEL diverges(const float *x, float *y) {
    __shared__ float s[64]; int t = threadIdx.x;
    s[t] = x[t]; if (t % 3 == 0) s[t] += 1;
    __syncthreads();
    if (x[t] > 5) atomicAdd(y + 1, s[t]); else for (int i = 0; i < t; ++i) y[t] += s[i];
}
KERNEL outside(const float *x, float *y) { y[threadIdx.x + 1] = x[threadIdx.x]; }
KERNEL beside(const float *x, float *y) {
    __shared__ float a[64], s[64]; int t = threadIdx.x;
    a[t] = s[t] = x[t]; __syncthreads(); y[t] = s[63 - t] + a[t + 1];
}
KERNEL races(const float *x, float *y) {
    __shared__ float s[64]; int t = threadIdx.x; s[t] = x[t]; y[t] = s[63 - t];
}
KERNEL unset(const float *x, float *y) { __shared__ float4 s[64]; y[threadIdx.x] = s[threadIdx.x].y; }
KERNEL lanes(const float *x, float *y) {
    float v = x[threadIdx.x];
    if (threadIdx.x < 40) v = __shfl_sync(0xff, v, threadIdx.x + 9);
    y[threadIdx.x] = v;
}
KERNEL endless(const float *x, float *y) { while (((volatile float *)y)[0] == 0); }
KERNEL text(const float *x, float *y) { printf("%s\n", (const char *)0); }
KERNEL clocks(const float *x, float *y) { y[threadIdx.x] = clock(); }
"""
KERNELS = gpusim.RawModule(code=SOURCE)
NAMES = ("good", "diverges", "outside", "beside", "races", "unset", "lanes", "endless", "text", "clocks")


def launched(kernel, level: str, **how) -> str:
    """The name of the error that a launch raised, if any."""
    arguments = np.ones(64, np.float32), np.zeros(64, np.float32)
    try:
        with gpusim.record(level=level, max_instructions=10_000, **{"checks": "raise", **how}):
            kernel((1,), (64,), arguments)
    except gpusim.SimulatorError as error:
        return type(error).__name__
    return ""


def left_by(launch: Callable[[], object]) -> list[str]:
    """The types of this project whose objects only the collector finds after a launch."""
    launch()
    gc.collect()
    gc.disable()
    try:
        launch()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return sorted(
            {type(left).__name__ for left in gc.garbage if type(left).__module__.startswith(("helpers.", "gpusim."))}
        )
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("name", NAMES)
def test_a_launch_leaves_nothing_to_the_collector(name, level, only_what_a_test_makes):
    kernel = KERNELS.get_function(name)
    assert left_by(lambda: launched(kernel, level)) == []


@pytest.mark.parametrize("how", ({"blocks": ((0,),), "checks": "report"}, {"checks": "off"}))
def test_a_recorded_launch_leaves_nothing_either(how, only_what_a_test_makes):
    kernel = KERNELS.get_function("races")
    assert left_by(lambda: launched(kernel, "sass", **how)) == []


def test_a_captured_launch_leaves_nothing_either(only_what_a_test_makes):
    kernel = KERNELS.get_function("good")

    def capture() -> None:
        with gpusim.capture() as captured:
            kernel((1,), (64,), (np.ones(64, np.float32), np.zeros(64, np.float32)))
        assert len(captured) == 1

    assert left_by(capture) == []


@pytest.mark.parametrize("name", ("outside", "beside", "races"))
def test_an_error_that_is_kept_keeps_no_memory(name, monkeypatch, prepared_afresh, only_what_a_test_makes):
    made = []
    for kind in (run.Wave, GlobalMemory):

        def begin(self, *arguments, _init=kind.__init__):
            made.append(ref(self))
            _init(self, *arguments)

        monkeypatch.setattr(kind, "__init__", begin)
    kernel = gpusim.RawModule(code=SOURCE).get_function(name)
    with pytest.raises(gpusim.SimulatorError) as caught:
        kernel((1,), (64,), (np.ones(64, np.float32), np.zeros(64, np.float32)))
    assert caught.tb is not None
    assert len(made) > 1
    assert [reference for reference in made if reference() is not None] == []
