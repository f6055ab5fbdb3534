"""What can be said about a warp-tiled kernel's parameters without compiling or running it: predictions by hand.

They order the search and explain its results; they do not replace it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gemm_kernels.architecture import refused
from gpusim.devices import FLOAT_BYTES
from gpusim.occupancy import DoesNotFit, Occupancy, occupancy

if TYPE_CHECKING:
    from gemm_kernels import Kernel
    from gpusim.devices import LaunchLimits

# Registers beside the accumulators and the two pairs of fragments: addresses, counters, copies on their way. NVRTC 12.9
# took between 28 and 80 for ten configurations on sm_90, the more the deeper the K-block; the tests compile some again.
OTHER_REGISTERS = 40


class CannotRun(ValueError):
    """A kernel cannot be compiled for a GPU, so that nothing can be predicted for it; the message is a sentence."""


@dataclass(frozen=True)
class Prediction:
    """What a configuration will probably take and be limited by.

    registers: of a thread.  spills: whether the accumulators and fragments alone do not fit into what __launch_bounds__
    leaves.  result: the occupancy, None where no block fits.  intensity: FLOP for each byte that a block loads from
    global memory.  floats_a_fma: what a warp loads from shared memory.
    """

    registers: int
    spills: bool
    result: Occupancy | None
    intensity: float
    floats_a_fma: float

    @property
    def limiter(self) -> str:
        """What stops the next block: "registers", "shared", "warps", "blocks", "spills", or "nothing fits"."""
        if self.spills:
            return "spills"
        return self.result.limiters[0] if self.result else "nothing fits"

    @property
    def occupancy(self) -> float:
        """Resident warps over the most that an SM can hold, 0 … 1."""
        return self.result.fraction if self.result else 0.0


def predict(device: LaunchLimits, kernel: Kernel) -> Prediction:
    """The prediction for a kernel with the parameters BM BN BK WM WN TM TN STAGES BLOCKS on a GPU.

    Raises CannotRun for a GPU that lacks an instruction which the kernel is written with.
    """
    if reason := refused(kernel.source, device.arch):
        raise CannotRun(f"{kernel.name} does not run on {device.arch}, because it {reason}.")
    p = kernel.params
    needed = p["TM"] * p["TN"] + 2 * (p["TM"] + p["TN"])
    allowed = min(device.registers_per_thread, device.registers_per_sm // (p["BLOCKS"] * kernel.threads) // 8 * 8)
    registers = min(needed + OTHER_REGISTERS, allowed)
    try:
        result = occupancy(device, kernel.threads, registers, kernel.shared_bytes)
    except DoesNotFit:
        result = None
    return Prediction(
        registers=registers,
        spills=needed > allowed,
        result=result,
        intensity=2 * p["BM"] * p["BN"] / (FLOAT_BYTES * (p["BM"] + p["BN"])),
        floats_a_fma=(p["WM"] + p["WN"]) / (p["WM"] * p["WN"]),
    )
