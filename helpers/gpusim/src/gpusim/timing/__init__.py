"""How long would it take on a GPU, and what would it wait for? Predicted from machine code, without that GPU.

    found = timing.predict(recording)            # or what `gpusim.capture` caught
    found.ms, found.range_ms, found.cycles       # with a cold L2; cold=False for a warm one
    found.limiter                                # a sentence with its number
    found.stalls                                 # in Nsight Compute's names, per issued instruction
    found.lost                                   # the cycles in which nothing is issued, shared out by reason
    found.by_line(), found.timeline()

The functional simulator executes the blocks that one SM holds at first (`trace`); sm.c, in
helpers/gpusim/src/gpusim/native/cycles, then executes their instructions cycle by cycle, with the compiler's control
bits, the ports of the register file, queues, caches and memory. What an instruction or a sector takes was measured on
the GPU (`machine`). Not modelled: power and clocks, TLBs, clusters, mbarriers and copies in bulk, blocks that wait for
others.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from gpusim import Captured, Recording, SimulatorError, devices
from gpusim.compiler import CompilerError
from gpusim.native import NoLibrary
from gpusim.timing.machine import Machine, NoConstants, machine
from gpusim.timing.prediction import READY, STALLS, TITLES, WAITS, Prediction, predict as _predict
from gpusim.timing.trace import Trace, trace as _trace

__all__ = [
    "CANNOT",
    "STALLS",
    "TITLES",
    "READY",
    "WAITS",
    "Machine",
    "NoConstants",
    "Prediction",
    "Trace",
    "captured",
    "machine",
    "predict",
    "predict_trace",
    "traced",
]

CANNOT = (NoConstants, NoLibrary, CompilerError, SimulatorError)
"""What `predict` raises for a launch whose time cannot be predicted."""


def predict(
    launch: Recording | Captured,
    device: str = devices.DEFAULT.name,
    *,
    cold: bool = True,
    built_on: Collection[str] = (),
) -> Prediction:
    """The time of a launch on a GPU.

    launch: a recording, whose last launch counts, or what `gpusim.capture` caught.  device: the GPU, as its driver
    calls it.  cold: see `Prediction.cold`.  built_on: sources of kernels that the model was built on, whose range is
    narrower.

    Raises NoConstants for a GPU on which nothing was measured; what the compiler and the simulator raise; and
    `gpusim.native.NoLibrary` where the compiled model cannot be loaded.
    """
    check(device, cold)
    return predict_trace(traced(launch, device), device, cold, built_on)


def check(device: str, cold: bool) -> None:
    """Refuse a device that is not named by a string, UnknownDevice, and a cold that is neither, SimulatorError."""
    if not isinstance(device, str):
        raise devices.UnknownDevice(f"A GPU is known by its name, such as {devices.DEFAULT.name!r}; found {device!r}.")
    if not isinstance(cold, bool | np.bool_):
        raise SimulatorError(f"cold={cold!r}: choose True, for an L2 that holds nothing of the launch, or False.")


def predict_trace(trace: Trace, device: str, cold: bool = True, built_on: Collection[str] = ()) -> Prediction:
    """The time of a launch whose first blocks were traced; a trace serves one prediction at a time."""
    prediction = _predict(trace, machine(device), cold)
    return replace(prediction, seen=trace.compiled.source in built_on)


def traced(launch: Recording | Captured, device: str = devices.DEFAULT.name) -> Trace:
    """What the first blocks on one SM of a GPU do."""
    capture, gpu = captured(launch), devices.get(device)
    arch = capture.compiled.arch
    if arch.rstrip("af") != gpu.arch:
        raise SimulatorError(
            f"This is machine code of {arch}, and the {gpu.name} executes {gpu.arch}: no time is predicted of one GPU "
            f"from another's code. Compile the kernel for {gpu.arch}."
        )
    return _trace(capture, gpu)


def captured(launch: Recording | Captured) -> Captured:
    """A launch as it can be executed in parts. SimulatorError if the recording holds none, or PTX."""
    if isinstance(launch, Captured):
        return launch
    if not isinstance(launch, Recording):
        raise SimulatorError(
            f"A time is predicted of a launch, as kernel.launch(M, N, K) gives it, or of a recording; found "
            f"{launch!r:.80}."
        )
    if not launch.launches:
        raise SimulatorError("This recording is empty: launch a kernel inside `with gpusim.record()`.")
    capture = launch.launches[-1].captured
    if capture.run.program.level != "sass":
        raise SimulatorError(f"A time is predicted from machine code, and this was recorded in PTX. {launch.note}")
    return capture
