"""CUDA kernels executed on the CPU, with everything that the memory system would do recorded."""

from helpers.simulator.errors import (
    ArgumentError,
    BarrierError,
    DeviceAssertion,
    KernelError,
    LaunchError,
    Misaligned,
    OutOfBounds,
    SimulatorError,
    StepLimitExceeded,
    UnsupportedInstruction,
)
from helpers.simulator.module import DeviceArray, Kernel, RawModule, record
from helpers.simulator.recording import Counts, LineCounts, Recording

__all__ = [
    "ArgumentError",
    "BarrierError",
    "Counts",
    "DeviceAssertion",
    "DeviceArray",
    "Kernel",
    "KernelError",
    "LaunchError",
    "LineCounts",
    "Misaligned",
    "OutOfBounds",
    "RawModule",
    "Recording",
    "SimulatorError",
    "StepLimitExceeded",
    "UnsupportedInstruction",
    "record",
]
