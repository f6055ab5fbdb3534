"""The roofline: how fast can a GPU be at this many operations a byte? (Williams, Waterman, Patterson, CACM 2009.)

GFLOPS are 10⁹ floating-point operations a second, GB/s are 10⁹ bytes a second, intensity is in FLOP a byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from helpers.pictures.traffic import compulsory, flops

if TYPE_CHECKING:
    from gpusim.devices import Device

Bound = Literal["memory", "compute"]


def ridge_point(device: Device) -> float:
    """The intensity at which memory and arithmetic take equally long: below it memory is the limit, FLOP/B."""
    return device.peak_fp32_gflops / device.memory_gb_per_s


def attainable_gflops(device: Device, intensity: float) -> float:
    """The roof over this intensity: what the memory can feed, and never more than the arithmetic units can do."""
    if intensity <= 0:
        raise ValueError(f"The intensity is {intensity} FLOP/B, expected more than 0.")
    return min(device.peak_fp32_gflops, intensity * device.memory_gb_per_s)


@dataclass(frozen=True)
class FastestTime:
    """The two times below which no kernel can get, in milliseconds; the longer one is the floor."""

    compute_ms: float
    memory_ms: float

    @property
    def ms(self) -> float:
        return max(self.compute_ms, self.memory_ms)

    @property
    def bound(self) -> Bound:
        return "memory" if self.memory_ms > self.compute_ms else "compute"


def fastest_time(device: Device, M: int, N: int, K: int, beta: float = 0.0) -> FastestTime:
    """The floor of alpha·A·B + beta·C: all operations at peak, all bytes once at the memory's datasheet rate."""
    return FastestTime(
        compute_ms=flops(M, N, K) / device.peak_fp32_gflops / 1e6,
        memory_ms=compulsory(M, N, K, beta).total / device.memory_gb_per_s / 1e6,
    )
