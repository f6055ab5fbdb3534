"""How long a multiplication of the course would take on a GPU, predicted without that GPU.

    found = cycles.predict(kernel.launch(M, N, K))   # or a recording, or what `gpusim.capture` caught
    found.ms, found.range_ms, found.limiter

The model is `gpusim.timing`; here it meets a `Launch` of gemm_kernels, with the alpha and the beta of the recorded
times, for which C is read.
"""

from __future__ import annotations

from functools import cache, lru_cache
from threading import RLock

import gpusim
from gemm_kernels import Launch, get
from gpusim import Captured, Recording, devices, timing
from gpusim.timing import CANNOT, READY, STALLS, TITLES, WAITS, Machine, NoConstants, Prediction, Trace, machine
from helpers import run
from helpers.measure.problem import ALPHA, BETA

__all__ = [
    "CANNOT",
    "READY",
    "STALLS",
    "TITLES",
    "WAITS",
    "Machine",
    "NoConstants",
    "Prediction",
    "Trace",
    "captured",
    "machine",
    "predict",
    "traced",
]

_TRACES = RLock()  # a cell predicts while an explorer's thread does, and a cached trace serves one prediction at a time


def predict(
    launch: Launch | Recording | Captured, device: str = devices.DEFAULT.name, *, cold: bool = True
) -> Prediction:
    """The time of a launch on a GPU, by `timing.predict`, which says what it raises."""
    timing.check(device, cold)
    built_on = _sources(machine(device).built_on)
    with _TRACES:
        return timing.predict_trace(traced(launch, device), device, cold, built_on)


@cache
def _sources(kernels: frozenset[str]) -> frozenset[str]:
    """The sources of the course's kernels with these names."""
    return frozenset(get(name).source for name in kernels)


def traced(launch: Launch | Recording | Captured, device: str = devices.DEFAULT.name) -> Trace:
    """What the first blocks on one SM of a GPU do; cached for the next question about the same multiplication."""
    return _traced(launch, device) if isinstance(launch, Launch) else timing.traced(launch, device)


@lru_cache(maxsize=8)
def _traced(launch: Launch, device: str) -> Trace:
    return timing.traced(captured(launch), device)


def captured(launch: Launch | Recording | Captured) -> Captured:
    """A launch as it can be executed in parts, by `timing.captured`, which says what it raises."""
    if not isinstance(launch, Launch):
        return timing.captured(launch)
    kernel = run.simulated(launch.source, launch.entry, launch.options)
    with gpusim.capture() as caught:
        run.start(kernel, launch, *run.operands(*launch.shape), *((ALPHA, BETA) if launch.scaled else ()))
    return caught[0]
