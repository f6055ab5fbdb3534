"""Loops that are traced in part: the trace is the one of the whole loop."""

import numpy as np
import pytest

import gpusim
from gemm_kernels import get
from gpusim import devices
from gpusim.timing import ahead, prediction, trace
from helpers import cycles, run

LAUNCHES = (
    ("block_tile_2d", (256, 256, 1024)),  # a line of A holds four iterations
    ("async_copy", (256, 256, 1024)),  # the stage comes back after three
    ("vectorized", (130, 131, 1001)),  # rows that are not aligned, and a short last tile
    ("naive", (64, 64, 1000)),
    ("interleaved", (256, 255, 512)),  # sums seem to lead to addresses that are written under guards
    ("staged_epilogue", (1024, 1024, 1024)),  # the first iteration sets a register
    ("sliced_k", (256, 192, 4096)),
)
PERSISTENT = ("stream_k", "persistent")  # whose loops over tiles are left by what a scheduler says in shared memory
COUNTED = """
extern "C" __global__ void counted(const float *from, float *to, int n, int step) {
    float sum = 0;
    #pragma unroll 1
    for (int i = 0; i != n; i += step) sum += from[i * 32 + threadIdx.x] * (i < n / 2 ? 2 : 3);
    to[threadIdx.x] = sum;
}
"""
# After the loop, what it summed up says whether another loop is entered.
LED_BY_A_SUM = """
extern "C" __global__ void led(const float *from, float *to, int n, int other) {
    float sum = 0;
    #pragma unroll 1
    for (int i = 0; i < n; ++i) sum += from[i * 32 + threadIdx.x];
    if (sum > (other ? 1 : n / 2)) for (int i = 0; i < 100; ++i) to[i * 32 + threadIdx.x] = sum;
}
"""
# The same with a number that is loaded, and one that threads leave to each other in shared memory.
LED_BY_A_LOAD = """
extern "C" __global__ void led(const int *from, float *to, int n, int other) {
    __shared__ int last[32];
    int found = 0;
    #pragma unroll 1
    for (int i = 0; i < n; ++i) {
        found = max(found, from[i * 32 + threadIdx.x]);
        last[threadIdx.x] = found;
    }
    __syncthreads();
    if ((other ? last[31 - threadIdx.x] : found) == 1) for (int i = 0; i < 100; ++i) to[i * 32 + threadIdx.x] = found;
}
"""


def both(captured, monkeypatch):
    """The trace, and the one of a whole execution."""
    short = trace.trace(captured, devices.DEFAULT)
    monkeypatch.setattr(trace, "_in_short", lambda *_: None)
    return short, trace.trace(captured, devices.DEFAULT)


@pytest.mark.table(keep=2)
@pytest.mark.parametrize(("name", "shape"), LAUNCHES)
def test_repeated_loop_issues_and_asks_for_the_same(name, shape, monkeypatch):
    executed = [0, 0]

    class Counting(trace._Tracer):
        def executed(self, event):
            executed[self._ahead is None] += 1
            super().executed(event)

    monkeypatch.setattr(trace, "_Tracer", Counting)
    short, whole = both(cycles.captured(get(name).launch(*shape)), monkeypatch)
    known = cycles.machine("NVIDIA H200")
    short_prediction, other = (prediction.predict(trace, known) for trace in (short, whole))
    assert short.warp_instructions == whole.warp_instructions
    assert (
        short_prediction.cycles == other.cycles
        and short_prediction.simulated.result.l1_sectors == other.simulated.result.l1_sectors
    )
    monkeypatch.undo()
    assert 0 < executed[0] < 0.7 * executed[1]  # basic blocks


SPILLED = {"BM": 128, "BN": 64, "BK": 16, "WM": 32, "WN": 32, "TM": 8, "TN": 4, "STAGES": 3, "BLOCKS": 4}


def test_address_spilled_to_local_memory_is_restored(monkeypatch):
    """Its 128 registers do not hold it. What is stored there matters as soon as something that is loaded does."""
    short, whole = both(cycles.captured(get("autotuned", **SPILLED).launch(256, 192, 512)), monkeypatch)
    assert short.warp_instructions == whole.warp_instructions
    assert any(instruction.opcode.startswith("LDL") for instruction in short.program.instructions)


def test_other_blocks_are_traced_in_part_as_the_first_ones_were(monkeypatch):
    """What stands for unknown values begins with zeros at each of them."""
    short, traces = trace._in_short, []
    monkeypatch.setattr(trace, "_in_short", lambda *about: traces.append(short(*about)) or traces[-1])
    trace.trace(cycles.captured(get("autotuned", **SPILLED).launch(2048, 1024, 512)), devices.DEFAULT)
    assert len(traces) > 1 and None not in traces


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("name", PERSISTENT)
def test_persistent_kernel_traced_in_part_takes_as_long(name, monkeypatch):
    short, whole = both(cycles.captured(get(name).launch(512, 384, 1024)), monkeypatch)
    known = cycles.machine("NVIDIA H200")
    short_prediction, other = (prediction.predict(trace, known) for trace in (short, whole))
    assert short.warp_instructions == whole.warp_instructions and short_prediction.cycles == other.cycles


@pytest.mark.parametrize("other", [0, 1])
@pytest.mark.parametrize(("source", "dtype"), [(LED_BY_A_SUM, np.float32), (LED_BY_A_LOAD, np.int32)])
def test_loop_whose_values_lead_to_later_branches_runs_whole(source, dtype, other, monkeypatch):
    n = 1000
    numbers = np.random.default_rng(1).integers(0, 2, (n, 32)).astype(dtype)
    with gpusim.capture() as caught:
        run.simulated(source, "led")((1,), (32,), (numbers, np.zeros(32 * n, np.float32), np.int32(n), np.int32(other)))
    short, whole = both(caught[0], monkeypatch)
    known = cycles.machine("NVIDIA H200")
    short_prediction, other = (prediction.predict(trace, known) for trace in (short, whole))
    assert short.warp_instructions == whole.warp_instructions > n and short_prediction.cycles == other.cycles


@pytest.mark.parametrize(("n", "step"), [(999, 1), (3000, 3)])
def test_loop_ending_at_equality_that_changes_is_followed(n, step, monkeypatch):
    kernel = run.simulated(COUNTED, "counted")
    with gpusim.capture() as caught:
        kernel((1,), (32,), (np.zeros(32 * n, np.float32), np.zeros(32, np.float32), np.int32(n), np.int32(step)))
    short, whole = both(caught[0], monkeypatch)
    assert short.warp_instructions == whole.warp_instructions > n // step


def test_a_stage_that_comes_back_is_no_number_that_grows():
    steps = [ahead._step(*(np.array(value) for value in values)) for values in ((0, 4, 8), (0, 1, 0), (2, 2, 2))]
    assert steps[0] == 4 and steps[1] is None and steps[2] == 0
    assert ahead._until_it_wraps(np.array([10], np.int32), np.array([-4])) == 2
