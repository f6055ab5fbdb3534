"""How long a launch takes on the GPU: CUDA events around it, the rivals taking turns.

Everything in this file needs a GPU; CuPy is imported when a function is called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers import gpu

MIN_ROUNDS, MAX_ROUNDS = 5, 201
WARM_UP_S = 0.15  # an idle GPU runs at a fraction of its clock; it takes about this long to reach the boost clock


def interleave(
    launches: Sequence[Callable[[], None]], budget_s: float = 1.0, warm_up_s: float = WARM_UP_S
) -> np.ndarray:
    """Milliseconds of each launch with a cold L2, (rounds, len(launches)): every round times each launch once.

    Before each launch a buffer four times the L2 is written, so that no launch finds its inputs in the L2; that write
    also keeps the GPU busy while Python queues the two events and the launch between them, so the interval holds no
    time of the host's. `budget_s`, in seconds, decides the number of rounds.
    """
    import cupy

    return take_turns(launches, cupy.cuda.get_current_stream(), budget_s, flusher(), warm_up_s)


def take_turns(
    launches: Sequence[Callable[[], None]],
    stream: Any,
    budget_s: float,
    before: Callable[[], None] = lambda: None,
    warm_up_s: float = WARM_UP_S,
) -> np.ndarray:
    """Milliseconds between two events around each launch, (rounds, len(launches)): every round times each once.

    Taking turns puts rivals in the same conditions (clock, temperature). launches: each queues its work on `stream`.
    before: called ahead of each, not timed.  `budget_s`, in seconds, decides the number of rounds.  warm_up_s: for so
    many seconds they are launched before; 0 if the GPU has just been at work.
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

    turns = [(turn, which) for turn in range(rounds) for which in np.roll(np.arange(len(launches)), turn)]
    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in turns]
    launch_each()  # keeps the GPU busy while the first of those that count are queued
    for (_, which), (begin, end) in zip(turns, events, strict=True):
        before()
        begin.record(stream)
        launches[which]()
        end.record(stream)
    gpu.synchronize()
    milliseconds = np.empty((rounds, len(launches)))
    for place, (begin, end) in zip(turns, events, strict=True):
        milliseconds[place] = cupy.cuda.get_elapsed_time(begin, end)
    return milliseconds


def flusher() -> Callable[[], None]:
    """A function that overwrites four times the L2 of the current GPU."""
    import cupy

    l2_bytes = cupy.cuda.Device().attributes["L2CacheSize"]
    buffer = cupy.empty(max(4 * l2_bytes, 128 * 2**20), dtype=np.uint8)

    def flush() -> None:
        buffer.data.memset_async(0, buffer.nbytes)

    return flush
