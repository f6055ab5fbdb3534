"""What a measurement is: a kernel's time at one shape, beside cuBLAS's in the same run, and where it was measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusim.devices import DEVICES
from helpers.recordings.rows import from_row, to_row

SIMULATED = "simulated"
MEASURED = "measured here"


def recorded_on(gpu: str) -> str:
    """The label of a number that comes from a recording."""
    return f"recorded on {gpu}"


@dataclass(frozen=True)
class Timing:
    """Milliseconds of one launch: the median of `repeats` launches, and the quartiles that half of them lie between."""

    median_ms: float
    lower_ms: float
    upper_ms: float
    repeats: int

    @classmethod
    def of(cls, milliseconds: Sequence[float] | np.ndarray) -> Timing:
        """Summarise repeated timings of the same launch."""
        lower, median, upper = np.percentile(milliseconds, (25, 50, 75))
        return cls(*(round(float(ms), 6) for ms in (median, lower, upper)), len(milliseconds))

    @property
    def spread(self) -> float:
        """The distance between the quartiles as a fraction of the median."""
        return (self.upper_ms - self.lower_ms) / self.median_ms


@dataclass(frozen=True)
class Measurement:
    """A kernel at one shape, verified, with cuBLAS timed in between in the same run.

    error: against float64, see `Reference.error`.  gpu: the GPU's name.  label: `measured here` or `recorded on …`.
    """

    kernel: str
    params: Mapping[str, int] = field(hash=False)
    block: tuple[int, int, int]
    M: int
    N: int
    K: int
    time: Timing
    cublas: Timing
    error: float
    gpu: str
    label: str

    @property
    def flops(self) -> int:
        """2·M·N·K: one multiplication and one addition for each of the M·N·K products."""
        return 2 * self.M * self.N * self.K

    @property
    def median_ms(self) -> float:
        return self.time.median_ms

    @property
    def spread(self) -> float:
        return self.time.spread

    @property
    def repeats(self) -> int:
        return self.time.repeats

    @property
    def gflops(self) -> float:
        """10⁹ floating-point operations a second, from the median."""
        return self.flops / self.time.median_ms / 1e6

    @property
    def cublas_median_ms(self) -> float:
        return self.cublas.median_ms

    @property
    def cublas_gflops(self) -> float:
        """cuBLAS's GFLOPS in the same run."""
        return self.flops / self.cublas.median_ms / 1e6

    @property
    def of_cublas(self) -> float:
        """This kernel's GFLOPS over cuBLAS's, 1.0 is equal."""
        return self.cublas.median_ms / self.time.median_ms

    @property
    def of_peak(self) -> float | None:
        """Share of the FP32 peak of its GPU; None for a GPU that gpusim.devices does not know."""
        device = DEVICES.get(self.gpu)
        return self.gflops / device.peak_fp32_gflops if device else None

    @property
    def shares(self) -> str:
        """'72% of the peak, 95% of cuBLAS'; of cuBLAS alone where the GPU's peak is not known."""
        peak = "" if self.of_peak is None else f"{self.of_peak:.0%} of the peak, "
        return f"{peak}{self.of_cublas:.0%} of cuBLAS"

    def row(self) -> dict[str, Any]:
        """This measurement as plain JSON values; `from_row` reads it back."""
        return to_row(self, leave_out=("gpu", "label"))

    @classmethod
    def from_row(cls, row: Mapping[str, Any], gpu: str) -> Measurement:
        """A recorded row, labelled with the GPU that it was recorded on."""
        return from_row(cls, row, gpu=gpu, label=recorded_on(gpu))


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean, the right average of ratios: the mean of r and 1/r is 1."""
    if not ratios:
        raise ValueError("There is no ratio to average.")
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
