"""Loops that never end are named in a second, whichever engine executes them; and those that do end are not."""

import time

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine import compiled

ENGINES = ("machine code", "PTX", "machine code in NumPy", "PTX in NumPy")
# A kernel(int *x) that no thread, or not every thread, comes to the end of.
ENDLESS = {
    "an empty loop": "while (true) { }",
    "a flag that nobody sets": "volatile int *flag = x; while (*flag >= 0) { }",
    "an atomic sum that adds nothing": "while (atomicAdd(x, 0) >= 0) { }",
    "an exchange of equal values": "while (atomicExch(x, 0) == 0) { }",
    "a comparison that fails": "while (atomicCAS(x, 5, 6) != 5) { }",
    "a lock that nobody gives back": "while (atomicCAS(x, 0, 1) != 0) { } x[1] += 1;",
    "one thread of many": "if (threadIdx.x == 37) while (atomicAdd(x, 0) >= 0) { }",
    "stores of what is there": "volatile int *y = x + threadIdx.x; while (true) *y = 0;",
    "an atomic sum in shared memory": """__shared__ int s; s = 0; __syncthreads();
        while (atomicAdd(&s, 0) >= 0) { }""",
    "a circle of several places": """volatile int *y = x;
        while (true) { if (*y) break; if (y[1]) continue; if (y[2]) return; }""",
    "a double that is read again": "volatile double *d = (double *)x; while (*d + 1.0 < 100.0) { }",
    "a local array": """int own[8] = {};
        for (int i = 0; *(volatile int *)x == 0; i = (i + 1) % 8) own[(i + *x) & 7] = i;""",
}
# The same of many warps that go on counting in memory, so that something changes all the time.
COUNTS = {
    "a lock that nobody gives back": "while (atomicCAS(x, 0, 1)) atomicAdd(x + 2, 1); x[1] += 1;",
    "a lock that is taken twice": """while (atomicCAS(x, 0, 1)) atomicAdd(x + 2, 1);
        while (atomicCAS(x, 0, 1)) atomicAdd(x + 3, 1); atomicExch(x, 0);""",
    "a flag that nobody sets": "while (*(volatile int *)x == 0) x[threadIdx.x + 4] += 1;",
    "a time-out that begins anew": """volatile int *flag = x; int n = 0; long long start = clock64();
        while (*flag >= 0) if (clock64() - start > 100000) start = clock64(), ++n; x[1] = n;""",
    "work without an end": "while (true) atomicAdd(x + threadIdx.x, 1);",
}
# These come to an end after many rounds in which most of what there is does not change; x[0] is 1200 then.
LONG = {
    "a counter in memory": "if (threadIdx.x == 0) for (volatile int *n = x; *n < 1200; ) atomicAdd(x, 1);",
    "a warp that waits for another": """volatile int *n = x;
        if (threadIdx.x == 0) { while (*n < 1200) *n = *n + 1; }
        else if (threadIdx.x >= 32) { while (*n < 1200) { } }""",
    "lanes that wait for a lane": """volatile int *n = x;
        if (threadIdx.x == 5) { while (*n < 1200) *n = *n + 1; } else { while (*n < 1200) { } }""",
    "bits that go round in memory": """if (threadIdx.x == 0) {
        volatile int *n = x;
        do { atomicXor(x + 1, 1); if (!n[1]) *n = *n + 1; } while (*n < 1200); }""",
}
# Who waits for a thread of its own warp counts the rounds: no state of the warp is ever the same. x[1] is 64 then.
WAITS = {
    "a lock": """int tries = 0;
        while (atomicCAS(x, 0, 1) != 0) ++tries;
        x[1] += 1; x[2] = tries; __threadfence(); atomicExch(x, 0);""",
    "each for the next one": """int *cell = x + 2 + 31 * blockIdx.x, lane = threadIdx.x, rounds = 0;
        while (lane < 31 && *(volatile int *)(cell + lane) == 0) ++rounds;
        if (lane) atomicExch(cell + lane - 1, 1 + rounds);
        atomicAdd(x + 1, 1);""",
}


def prepared(body: str, engine: str, monkeypatch) -> tuple[gpusim.Kernel, str]:
    """A kernel that is compiled, so that only its execution takes time; and the level of the engine."""
    is_compiled = not engine.endswith("NumPy")
    if not is_compiled:
        monkeypatch.setattr(compiled, "library", lambda: None)
    elif compiled.library() is None:
        pytest.skip("there is no compiled engine here")
    source = f'extern "C" __global__ void kernel(int *x) {{\n{body}\n}}'
    kernel = gpusim.RawModule(code=source).get_function("kernel")
    level = "ptx" if engine.startswith("PTX") else "sass"
    assert not is_compiled or kernel.prepared(level).machine is not None
    kernel.prepared(level)
    return kernel, level


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_an_endless_loop_is_named_in_a_second(body, engine, monkeypatch):
    kernel, level = prepared(body, engine, monkeypatch)
    started = time.process_time()
    with pytest.raises(errors.StepLimitExceeded) as caught, gpusim.record(level=level):
        kernel((2,), (40,), (np.zeros(64, np.int32),))
    # At most 0.5 s on a machine that nobody else uses; in NumPy the machine code of threads that part takes longest.
    assert time.process_time() - started < {"machine code in NumPy": 20, "PTX in NumPy": 6}.get(engine, 4)
    assert caught.value.line in (2, 3)
    if engine.endswith("NumPy"):  # the compiled one has its own sentences (test_schedule), and is soon at its limit
        assert "goes round a loop for ever: nothing changes any more" in str(caught.value)


@pytest.mark.table(keep=3)
@pytest.mark.parametrize("engine", ENGINES[:2])
@pytest.mark.parametrize("body", COUNTS.values(), ids=COUNTS)
def test_many_warps_counting_without_end_are_named_in_a_second(body, engine, monkeypatch):
    kernel, level = prepared(body, engine, monkeypatch)
    started = time.process_time()
    still_running = pytest.raises(errors.StepLimitExceeded, match="still running")
    with still_running, gpusim.record(level=level, checks="off"):
        kernel((16,), (128,), (np.zeros(256, np.int32),))
    # 0.3 to 0.9 s on a machine that nobody else uses.
    assert time.process_time() - started < 8


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("body", LONG.values(), ids=LONG)
def test_loop_that_ends_after_many_rounds_is_not_called_endless(body, engine, monkeypatch):
    kernel, level = prepared(body, engine, monkeypatch)
    x = np.zeros(64, np.int32)
    with gpusim.record(level=level, checks="off"):
        kernel((1,), (64,), (x,))
    assert x[0] == 1200


@pytest.mark.parametrize("waits", WAITS.values(), ids=WAITS)
def test_counting_pollers_give_way_to_lanes_they_wait_for(waits, monkeypatch):
    kernel, level = prepared(waits, "PTX", monkeypatch)
    x = np.zeros(64, np.int32)
    with gpusim.record(level=level, checks="off"):
        kernel((2,), (32,), (x,))
    assert x[1] == 64


def test_race_is_named_with_the_endless_loop_it_may_have_caused():
    source = """extern "C" __global__ void kernel(int *x) {
        __shared__ int s[64];
        s[threadIdx.x] = x[threadIdx.x];
        int n = s[63 - threadIdx.x];
        __syncthreads();
        for (int i = 1; i != n; i += 2) x[threadIdx.x] += i;
    }"""
    kernel = gpusim.RawModule(code=source).get_function("kernel")
    kernel.prepared("sass")
    started = time.process_time()
    with pytest.raises(errors.StepLimitExceeded, match="still running after 1,000,000") as caught:
        kernel((1,), (64,), (np.zeros(64, np.int32),))
    assert time.process_time() - started < 1
    (note,) = caught.value.__notes__
    assert note.startswith("Before that: kernel: race in shared memory, lines 3 and 4")
