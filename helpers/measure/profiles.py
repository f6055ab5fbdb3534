"""What Nsight Compute and the CUDA driver said about the kernels on a real GPU, read back from the recordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gemm_kernels import LADDER, Kernel
from gpusim import devices
from helpers import recordings
from helpers.recordings.measurement import recorded_on


@dataclass(frozen=True)
class Profile:
    """Nsight Compute's counters of one launch, under its names.  label: where they were recorded."""

    kernel: str
    shape: tuple[int, int, int]
    counters: Mapping[str, float] = field(hash=False)
    label: str

    @property
    def occupancy(self) -> float:
        """Theoretical occupancy, 1.0 is 100 %."""
        return self.counters["sm__maximum_warps_per_active_cycle_pct"] / 100


@dataclass(frozen=True)
class DriverAnswer:
    """Resident blocks of an SM according to the CUDA driver, for one launch. shared_bytes: static and dynamic."""

    registers: int
    threads: int
    shared_bytes: int
    blocks: int


def profile(kernel: Kernel, M: int, N: int, K: int, gpu: str = devices.DEFAULT.name) -> Profile:
    """The recorded counters of this kernel with these parameters at this shape. Raises NoRecording in a sentence."""
    content = recordings.raw(gpu, "counters")
    rows = [row for row in content["rows"] if row["kernel"] == kernel.name and row["params"] == dict(kernel.params)]
    for row in rows:
        if (row["M"], row["N"], row["K"]) == (M, N, K):
            label = f"{recorded_on(content['provenance']['gpu'])} by Nsight Compute"
            return Profile(kernel.name, (M, N, K), row["counters"], label)
    shapes = ", ".join(f"{row['M']}×{row['N']}×{row['K']}" for row in rows) or "none with these parameters"
    raise recordings.NoRecording(
        f"{kernel.name} was not profiled at {M}×{N}×{K}; the recorded shapes are: {shapes}. "
        f"{recordings.how_to('counters')}"
    )


def ladder(M: int, N: int, K: int, gpu: str = devices.DEFAULT.name) -> Iterator[tuple[Kernel, Profile]]:
    """Every kernel of the ladder, with its default parameters, that was profiled at this shape."""
    for kernel in LADDER:
        try:
            yield kernel, profile(kernel, M, N, K, gpu)
        except recordings.NoRecording:
            continue


def driver_answers(gpu: str = devices.DEFAULT.name) -> tuple[str, tuple[DriverAnswer, ...]]:
    """(architecture, answers): the driver's resident blocks for many launches, 0 where it would refuse one."""
    content = recordings.raw(gpu, "occupancy")
    rows = (dict(zip(content["columns"], values, strict=True)) for values in content["rows"])
    answers = tuple(
        DriverAnswer(
            row["registers"], row["threads"], row["static_shared_bytes"] + row["dynamic_shared_bytes"], row["blocks"]
        )
        for row in rows
    )
    return content["arch"], answers
