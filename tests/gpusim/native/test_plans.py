"""Launches of one kernel, which share a plan: none finds anything of another one, and each can be interrupted."""

import _thread
import signal
import threading
import time

import numpy as np
import pytest

import gemm_kernels
import gpusim
from gpusim import errors
from gpusim.counters.recorded import RecordedLaunch
from gpusim.engine import compiled, plans
from helpers import gpu, run
from tests.gpusim.native.test_launches import traced

pytestmark = pytest.mark.skipif(compiled.library() is None, reason="there is no compiled engine here")

COUNTS_UP = """
extern "C" __global__ void count_up(unsigned* last, unsigned most) {
    unsigned number = threadIdx.x;
    for (unsigned i = 0; i < most; ++i) number = number * 1664525u + 1013904223u;
    last[blockIdx.x * blockDim.x + threadIdx.x] = number;
}
"""


# Each element of C and D goes up by one, and threads of two blocks write the same element of `where`.
ADDS_ONE = """
extern "C" __global__ void add_one(int n, int* C, int* where, double* D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { C[i] += 1; D[i] += 1; }
    if (threadIdx.x == 0) where[0] = blockIdx.x;
}
"""


def product(function: gpusim.Kernel, shape: tuple[int, int, int], **how) -> tuple[RecordedLaunch, np.ndarray]:
    """(what was recorded, C) of a product by the naive kernel."""
    M, N, K = shape
    random = np.random.default_rng(K)
    A, B, C = (random.standard_normal(s, np.float32) for s in ((M, K), (K, N), (M, N)))
    with gpusim.record(level="sass", **how) as recording:
        run.start(function, gemm_kernels.get("naive").launch(*shape), A, B, C)
    return recording.launches[0], C


def facts(launch: RecordedLaunch) -> tuple:
    return dict(launch.counts), launch.guarded_lanes, launch.block_warps.tolist(), launch.block_lanes.tolist()


@pytest.fixture
def naive() -> gpusim.Kernel:
    """Compiled under a name of its own, so that nobody has launched it."""
    kernel = gemm_kernels.get("naive")
    return run.simulated(f"{kernel.source}\n// {time.time_ns()}", kernel.entry)


@pytest.mark.parametrize("checks", [False, True])
@pytest.mark.parametrize("cores", [1, 2])
def test_a_launch_is_recorded_as_it_would_be_as_the_first_one(monkeypatch, naive, cores, checks):
    monkeypatch.setattr(plans, "CORES", cores)
    shapes = [(64, 64, 64), (64, 64, 33), (63, 61, 64), (64, 64, 64), (64, 64, 33)]
    later = [product(naive, shape, checks=checks) for shape in shapes]
    for shape, (launch, C) in zip(shapes, later, strict=True):
        kernel = gemm_kernels.get("naive")
        first, expected = product(
            run.simulated(f"{kernel.source}\n// {time.time_ns()}", kernel.entry), shape, checks=checks
        )
        assert np.array_equal(C, expected)
        assert facts(launch) == facts(first)
        assert traced(launch) == traced(first)


def test_recording_stays_unchanged_when_the_kernel_runs_again(naive):
    launch, _ = product(naive, (64, 64, 64))
    product(naive, (64, 64, 32))
    counts, accesses = facts(launch), traced(launch)
    again, _ = product(naive, (64, 64, 64))
    assert (counts, accesses) == (facts(again), traced(again))


def test_launch_repeated_in_numpy_starts_from_the_same_arrays():
    function = run.simulated(ADDS_ONE, "add_one")
    for n in (64, 4096, 100, 7000, 33):  # more bytes are kept than of the launch before, and fewer
        C, where, D = np.arange(n, dtype=np.int32), np.full(1, -1, np.int32), np.arange(n) / 7
        with pytest.raises(errors.RaceError), gpusim.record(level="sass", checks=True):
            function((-(-n // 32),), (32,), (np.int32(n), C, where, D))
        assert np.array_equal(C, np.arange(n) + 1)
        assert np.array_equal(D, np.arange(n) / 7 + 1)


def test_launch_asked_for_other_blocks_gives_them(naive):
    blocks = [((0, 0, 0),), ((1, 1, 0),), "all", ((0, 0, 0), (1, 0, 0))]
    traced = [{trace.block for trace in product(naive, (64, 64, 64), blocks=wanted)[0].traces} for wanted in blocks]
    every = {(x, y, 0) for x in (0, 1) for y in (0, 1)}
    assert traced == [{(0, 0, 0)}, {(1, 1, 0)}, every, {(0, 0, 0), (1, 0, 0)}]


def test_as_many_plans_are_kept_as_the_next_launches_may_want(naive):
    for size in range(32, 32 * (plans.MOST_PLANS + 3), 32):
        product(naive, (size, size, 32))
    assert len(naive.prepared("sass").machine.plans._free) == plans.MOST_PLANS


@pytest.fixture
def hears_interrupts():
    """A process that a shell started in the background does not, unless it says that it wants to."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_interrupts")
@pytest.mark.parametrize("blocks", [1, 64])
def test_an_interrupt_ends_a_launch_and_the_next_one_is_right(blocks):
    count_up = gpu.RawKernel(COUNTS_UP, "count_up")
    last = gpu.zeros(64 * blocks, np.uint32)
    with gpusim.sanitize("off"):  # compiled before the clock runs
        count_up((blocks,), (64,), (last, np.uint32(0)))
    timer = threading.Timer(0.2, _thread.interrupt_main)
    started = time.process_time()
    with gpusim.sanitize("off", max_instructions=10**10), pytest.raises(KeyboardInterrupt):
        timer.start()
        count_up((blocks,), (64,), (last, np.uint32(2**31)))
    assert time.process_time() - started < 10, "the launch would have taken minutes"
    with gpusim.sanitize("off"):
        count_up((blocks,), (64,), (last, np.uint32(1)))
    expected = np.arange(64, dtype=np.uint32) * np.uint32(1664525) + np.uint32(1013904223)
    assert gpu.asnumpy(last).reshape(blocks, 64).tolist() == [expected.tolist()] * blocks


@pytest.mark.usefixtures("hears_interrupts")
def test_an_interrupt_ends_many_short_blocks():
    """Blocks that end in their first turn used to be executed all before Python had a word: 10^6 of them took 40 s."""
    last = gpu.zeros(1024, np.uint32)
    elsewhere = "last[threadIdx.x]"  # so that a million blocks need no memory
    count_up = gpu.RawKernel(COUNTS_UP.replace("last[blockIdx.x * blockDim.x + threadIdx.x]", elsewhere), "count_up")
    with gpusim.sanitize("off"):
        count_up((1,), (1024,), (last, np.uint32(0)))
    timer = threading.Timer(0.2, _thread.interrupt_main)
    started = time.process_time()
    with gpusim.sanitize("off"), pytest.raises(KeyboardInterrupt):
        timer.start()
        count_up((10**6,), (1024,), (last, np.uint32(1)))
    assert time.process_time() - started < 4, "the launch would have taken 40 seconds"
