"""How long a launch takes on the GPU: CUDA events around it, the rivals taking turns.

Everything in this file needs a GPU; CuPy is imported when a function is called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from helpers import gpu

MIN_ROUNDS, MAX_ROUNDS = 5, 201
WARM_UP_S = 0.15  # an idle GPU runs at a fraction of its clock; it takes about this long to reach the boost clock


READ, WRITE = "read", "write"  # how the L2 is filled with other data before a launch
SHUFFLED = 17  # the seed of the order in which rivals take turns
READER = """
extern "C" __global__ void read(const float4 *data, size_t count, float *never) {
    float sum = 0.0f;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        const float4 v = data[i];
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == 1.0f) *never = sum;   // data is full of zeros: the loads are kept, and nothing is written
}
"""


def interleave(
    launches: Sequence[Callable[[], None]], budget_s: float = 1.0, warm_up_s: float = WARM_UP_S, flush: str = READ
) -> np.ndarray:
    """Milliseconds of each launch with a cold L2, (rounds, len(launches)): every round times each launch once.

    Before each launch a buffer four times the L2 is read, so that no launch finds its inputs in the L2; that also keeps
    the GPU busy while Python queues the two events and the launch between them, so the interval holds no time of the
    host's. `budget_s`, in seconds, decides the number of rounds.  flush: WRITE for what is compared with the model of
    `helpers.cycles`, which expects another program's dirty lines in the L2: memory takes them back while the launch is
    timed, and a launch that reads as fast as memory can takes a third longer.
    """
    import cupy

    return take_turns(launches, cupy.cuda.get_current_stream(), budget_s, flusher(flush), warm_up_s)


def take_turns(
    launches: Sequence[Callable[[], None]],
    stream: Any,
    budget_s: float,
    before: Callable[[], None] | Sequence[Callable[[], None]] = lambda: None,
    warm_up_s: float = WARM_UP_S,
) -> np.ndarray:
    """Milliseconds between two events around each launch, (rounds, len(launches)): every round times each once.

    Taking turns puts rivals in the same conditions (clock, temperature). launches: each queues its work on `stream`.
    before: called ahead of each, not timed; or one for each of the launches.  `budget_s`, in seconds, decides the
    number of rounds.  warm_up_s: for so many seconds they are launched before; 0 if the GPU has just been at work.
    """
    import cupy

    def launch_each() -> None:
        for launch in launches:
            launch()

    launch_each()  # the first call compiles and loads
    gpu.synchronize()
    start = time.perf_counter()
    launch_each()
    gpu.synchronize()
    round_s = time.perf_counter() - start
    rounds = int(np.clip(budget_s / max(round_s, 1e-6), MIN_ROUNDS, MAX_ROUNDS))

    warm_until = time.perf_counter() + warm_up_s
    while time.perf_counter() < warm_until:
        launch_each()
        gpu.synchronize()

    order = np.random.default_rng(SHUFFLED)  # who follows whom changes from round to round
    turns = [(turn, which) for turn in range(rounds) for which in order.permutation(len(launches))]
    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in turns]
    befores = [before] * len(launches) if callable(before) else before
    launch_each()  # keeps the GPU busy while the first of those that count are queued
    for (_, which), (begin, end) in zip(turns, events, strict=True):
        befores[which]()
        begin.record(stream)
        launches[which]()
        end.record(stream)
    gpu.synchronize()
    milliseconds = np.empty((rounds, len(launches)))
    for turn, (begin, end) in zip(turns, events, strict=True):
        milliseconds[turn] = cupy.cuda.get_elapsed_time(begin, end)
    return milliseconds


def sustained(launch: Callable[[], None], seconds: float) -> tuple[float, int, float]:
    """(milliseconds of a launch, MHz, watts) while it is launched again and again, after as long a time of the same."""
    import cupy

    from helpers.measure.provenance import clock_and_power

    events = [cupy.cuda.Event() for _ in range(4)]
    launch()
    events[0].record()
    launch()
    events[1].record()
    events[1].synchronize()
    count = max(3, round(1e3 * seconds / cupy.cuda.get_elapsed_time(*events[:2])))
    for event in events[2:]:
        for _ in range(count):
            launch()
        event.record()
    events[2].synchronize()
    mhz, watts = clock_and_power()
    events[3].synchronize()
    return cupy.cuda.get_elapsed_time(*events[2:]) / count, mhz, watts


def flusher(how: str = READ) -> Callable[[], None]:
    """A function that reads, or overwrites, four times the L2 of the current GPU."""
    import cupy

    l2_bytes = cupy.cuda.Device().attributes["L2CacheSize"]
    buffer = cupy.zeros(max(4 * l2_bytes, 128 * 2**20), dtype=np.uint8)
    return partial(buffer.data.memset_async, 0, buffer.nbytes) if how == WRITE else reader(buffer)


def reader(buffer: Any) -> Callable[[], None]:
    """A function that reads an array of zeros, whose bytes are a multiple of 16, once from one end to the other."""
    import cupy

    kernel, never = cupy.RawKernel(READER, "read"), cupy.empty(1, np.float32)
    blocks = 8 * cupy.cuda.Device().attributes["MultiProcessorCount"]
    return partial(kernel, (blocks,), (256,), (buffer, np.uint64(buffer.nbytes // 16), never))
