"""What a block of a kernel takes of an SM, as the compiler made it."""

from __future__ import annotations

from dataclasses import dataclass

from gemm_kernels import Kernel, Launch, OwnKernel
from gpusim.devices import Device
from gpusim.occupancy import Occupancy, occupancy
from helpers import run


@dataclass(frozen=True)
class Resources:
    """What a block of a kernel takes. threads: of the block.  registers: of a thread.  shared_bytes: of the block."""

    threads: int
    registers: int
    shared_bytes: int

    def occupancy(self, device: Device) -> Occupancy:
        """How many such blocks fit on an SM. Raises DoesNotFit if none does."""
        return occupancy(device, self.threads, self.registers, self.shared_bytes)


def resources_of(kernel: Kernel | OwnKernel | Launch, arch: str) -> Resources:
    """What a block takes of a kernel that is compiled for an architecture, "sm_90". Raises CompileError."""
    compiled = run.compiled(kernel, arch)
    return Resources(kernel.threads, compiled.registers, compiled.shared_bytes + kernel.shared_bytes)
