"""CUDA kernels executed on the CPU, with everything that the memory system would do recorded."""

from helpers.simulator.arrays import DeviceArray, empty
from helpers.simulator.checks import Finding, Report
from helpers.simulator.errors import (
    ArgumentError,
    AsyncCopyError,
    BarrierError,
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
)
from helpers.simulator.module import Kernel, RawModule, record, sanitize
from helpers.simulator.recording import Counts, InstructionCounts, LineCounts, Recording

load = Recording.load

__all__ = [
    "ArgumentError",
    "AsyncCopyError",
    "BarrierError",
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
    "empty",
    "load",
    "record",
    "sanitize",
]
