"""How long would it take on a GPU, and what would it wait for? Predicted from machine code, without that GPU.

    found = cycles.predict(launch)               # of gemm_kernels, or a recording of the simulator
    found.ms, found.range_ms, found.cycles       # with a cold L2, as the course measures; cold=False for a warm one
    found.limiter                                # a sentence with its number
    found.stalls                                 # in Nsight Compute's names, per issued instruction
    found.lost                                   # the cycles in which nothing is issued, shared out by reason
    found.by_line(), found.timeline()

The functional simulator executes the blocks that one SM holds at first (`trace`); sm.c, in helpers/native/cycles, then
executes their instructions cycle by cycle, with the compiler's control bits, the ports of the register file, queues,
caches and memory. What an instruction or a sector takes was measured on the GPU (`machine`). `errors` says how far the
predictions are from what was measured. Not modelled: power and clocks, TLBs, clusters, mbarriers and copies in bulk,
blocks that wait for others.
"""

from __future__ import annotations

from functools import lru_cache
from threading import RLock

import numpy as np

from gemm_kernels import Launch
from helpers import devices, run, simulator
from helpers.compiler import CompilerError
from helpers.cycles.machine import Machine, NoConstants, machine
from helpers.cycles.prediction import STALLS, TITLES, WAITS, Prediction
from helpers.cycles.prediction import predict as _predict
from helpers.cycles.trace import Trace
from helpers.cycles.trace import trace as _trace
from helpers.measure.problem import ALPHA, BETA
from helpers.native import NoLibrary
from helpers.simulator import Captured, Recording, SimulatorError

__all__ = [
    "CANNOT",
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

_ONE = RLock()  # a cell predicts while an explorer's thread does: traces that are kept belong to one of them at a time

CANNOT = (NoConstants, NoLibrary, CompilerError, SimulatorError)
"""What `predict` raises for a launch whose time cannot be predicted."""


def predict(
    launch: Launch | Recording | Captured, device: str = devices.DEFAULT.name, *, cold: bool = True
) -> Prediction:
    """The time of a launch on a GPU.

    launch: a multiplication, with the alpha and the beta of the recorded times, for which C is read; a recording, whose
    last launch counts; or what `simulator.capture` caught.  device: the GPU, as its driver calls it.
    cold: see `Prediction.cold`.

    Raises NoConstants for a GPU on which nothing was measured; what the compiler and the simulator raise; and
    `helpers.native.NoLibrary` where the compiled model cannot be loaded.
    """
    if not isinstance(device, str):
        raise devices.UnknownDevice(f"A GPU is known by its name, such as {devices.DEFAULT.name!r}; found {device!r}.")
    if not isinstance(cold, bool | np.bool_):
        raise SimulatorError(f"cold={cold!r}: choose True, for an L2 that holds nothing of the launch, or False.")
    known = machine(device)
    with _ONE:
        return _predict(traced(launch, device), known, cold)


def traced(launch: Launch | Recording | Captured, device: str = devices.DEFAULT.name) -> Trace:
    """What the first blocks on one SM of a GPU do; kept for the next question about the same multiplication."""
    return _traced(launch, device) if isinstance(launch, Launch) else _trace_of(launch, device)


@lru_cache(maxsize=8)
def _traced(launch: Launch, device: str) -> Trace:
    return _trace_of(launch, device)


def _trace_of(launch: Launch | Recording | Captured, device: str) -> Trace:
    found, gpu = captured(launch), devices.get(device)
    arch = found.compiled.arch
    if arch.rstrip("af") != gpu.arch:
        raise SimulatorError(
            f"This is machine code of {arch}, and the {gpu.name} executes {gpu.arch}: no time is predicted of one GPU "
            f"from another's code. Compile the kernel for {gpu.arch}."
        )
    return _trace(found, gpu)


def captured(launch: Launch | Recording | Captured) -> Captured:
    """A launch as it can be executed in parts. SimulatorError if the recording does not hold it, or holds PTX."""
    if isinstance(launch, Captured):
        return launch
    if isinstance(launch, Launch):
        kernel = run.simulated(launch.source, launch.entry, launch.options)
        with simulator.capture() as caught:
            run.start(kernel, launch, *run.operands(*launch.shape), *((ALPHA, BETA) if launch.scaled else ()))
        return caught[0]
    if not isinstance(launch, Recording):
        raise SimulatorError(
            f"A time is predicted of a launch, as kernel.launch(M, N, K) gives it, or of a recording; found "
            f"{launch!r:.80}."
        )
    found = launch.launches[-1].captured if launch.launches else None
    if found is None:
        raise SimulatorError(
            "This recording has no launch that can be executed again: it was read from a file, or is empty. Record the "
            "launch here with `simulator.record()`."
        )
    if found.run.program.level != "sass":
        raise SimulatorError(f"A time is predicted from machine code, and this was recorded in PTX. {launch.note}")
    return found
