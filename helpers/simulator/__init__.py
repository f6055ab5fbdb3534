"""CUDA kernels executed on the CPU, with everything that the memory system would do recorded.

    with simulator.record() as recording:                   # executes the machine code that the hardware runs
        kernel(grid, block, args)                           # NumPy arrays are written in place
    recording.level, recording.note                         # "sass", or "ptx" and why the machine code was not executed
    recording.counters                                      # under Nsight Compute's names
    recording.by_line(), recording.by_instruction()         # where they come from
    recording.requests("global", block=(0, 0), warp=0)      # addresses
    recording.occupancy, recording.unique_sectors("A", block=(0, 0))
    recording.save("launch.npz"); simulator.load("launch.npz")

`record(blocks="sampled")` is for big problems: it executes some blocks of every kind and counts for all of them.
"""

# ruff: noqa: E402
from helpers.compiler import nvrtc

nvrtc.prepare()  # it gets ready while the rest is imported

from helpers.simulator.cuda.arrays import DeviceArray, empty
from helpers.simulator.cuda.raw_module import Kernel, RawModule
from helpers.simulator.cuda.settings import capture, record, sanitize
from helpers.simulator.errors import (
    ArgumentError,
    ArrayError,
    AsyncCopyError,
    BarrierError,
    BarrierWarning,
    DeviceAssertion,
    HazardError,
    KernelError,
    LaunchError,
    Misaligned,
    OutOfBounds,
    RaceError,
    SimulatorError,
    StepLimitExceeded,
    UninitializedRead,
    UnsupportedInstruction,
    WarpMaskError,
)
from helpers.simulator.recording.questions import Counts, InstructionCounts, LineCounts, Recording
from helpers.simulator.recording.recorded import Captured
from helpers.simulator.sanitizer.checks import Finding, Report

load = Recording.load

__all__ = [
    "ArgumentError",
    "ArrayError",
    "AsyncCopyError",
    "BarrierError",
    "BarrierWarning",
    "Captured",
    "Counts",
    "DeviceArray",
    "DeviceAssertion",
    "Finding",
    "HazardError",
    "InstructionCounts",
    "Kernel",
    "KernelError",
    "LaunchError",
    "LineCounts",
    "Misaligned",
    "OutOfBounds",
    "RaceError",
    "RawModule",
    "Recording",
    "Report",
    "SimulatorError",
    "StepLimitExceeded",
    "UninitializedRead",
    "UnsupportedInstruction",
    "WarpMaskError",
    "capture",
    "empty",
    "load",
    "record",
    "sanitize",
]
