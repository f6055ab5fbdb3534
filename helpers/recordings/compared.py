"""What the fastest kernel of a shape reaches beside cuBLAS, in several runs: the suite `fastest` as a table.

Nothing here needs a GPU: `fastest_suite` measures, this file counts and writes.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpusim.devices import DEVICES
from helpers.recordings.measurement import geometric_mean, recorded_on
from helpers.recordings.rows import from_row, to_row

GRAPH, EVENTS = "graph", "events"  # ways to time, see `way`
GRAPH_BELOW_FLOPS = 2 * 1024**3


def way(M: int, N: int, K: int) -> str:
    """How a shape is timed, both sides alike.

    "graph": launches in a row, replayed from a CUDA graph, for shapes with less work than 1024 × 1024 × 1024, where
    a launch by itself takes as long as the multiplication. "events": one launch between two events, with a cold L2.
    """
    return GRAPH if 2 * M * N * K < GRAPH_BELOW_FLOPS else EVENTS


@dataclass(frozen=True)
class Run:
    """One run at one shape: the medians, in milliseconds, of rivals that took turns.

    best_ms: the fastest of all algorithms that cuBLASLt offers.  algorithms: how many it offers, and with none of them
    best_ms is cuBLAS's.  autotuned_ms: the ladder's `autotuned` with the parameters for this shape.  repeats: launches,
    or replays of a graph, that each median is of.  error: the kernel's, see `Reference.error`.
    """

    ms: float
    cublas_ms: float
    best_ms: float
    algorithms: int
    autotuned_ms: float
    repeats: int
    error: float

    @property
    def ratio(self) -> float:
        """cuBLAS's time over ours, 1.0 is equal, more is faster than cuBLAS."""
        return self.cublas_ms / self.ms

    @property
    def ratio_to_best(self) -> float:
        """The same with cuBLASLt's fastest algorithm, or with what cuBLAS takes by itself where that is faster."""
        return min(self.best_ms, self.cublas_ms) / self.ms


@dataclass(frozen=True)
class Compared:
    """The kernel that `gemm_kernels.fastest` gives for a shape, beside cuBLAS, in several runs over all shapes."""

    group: str
    M: int
    N: int
    K: int
    kernel: str
    params: Mapping[str, int] = field(hash=False)
    way: str
    runs: tuple[Run, ...]
    gpu: str
    label: str

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.M, self.N, self.K

    @property
    def flops(self) -> int:
        """2·M·N·K."""
        return 2 * self.M * self.N * self.K

    @property
    def median_ms(self) -> float:
        """The median over the runs of our time."""
        return statistics.median(run.ms for run in self.runs)

    @property
    def cublas_median_ms(self) -> float:
        return statistics.median(run.cublas_ms for run in self.runs)

    @property
    def autotuned_median_ms(self) -> float:
        return statistics.median(run.autotuned_ms for run in self.runs)

    @property
    def gflops(self) -> float:
        return self.flops / self.median_ms / 1e6

    @property
    def cublas_gflops(self) -> float:
        return self.flops / self.cublas_median_ms / 1e6

    @property
    def ratios(self) -> tuple[float, ...]:
        """cuBLAS's time over ours in each run."""
        return tuple(run.ratio for run in self.runs)

    @property
    def of_cublas(self) -> float:
        """The median of the ratios: this kernel's speed over cuBLAS's."""
        return statistics.median(self.ratios)

    @property
    def of_best(self) -> float:
        """The median of the runs' ratios to the fastest that cuBLAS and cuBLASLt have."""
        return statistics.median(run.ratio_to_best for run in self.runs)

    @property
    def of_autotuned(self) -> float:
        """The median of the runs' ratios to the ladder's `autotuned`."""
        return statistics.median(run.autotuned_ms / run.ms for run in self.runs)

    @property
    def of_peak(self) -> float | None:
        """Share of the GPU's FP32 peak; None for a GPU that gpusim.devices does not know."""
        device = DEVICES.get(self.gpu)
        return self.gflops / device.peak_fp32_gflops if device else None

    @property
    def short(self) -> str:
        """The kernel and its parameters in their order: "sliced_k<32, 64, …>"."""
        return f"{self.kernel}<{', '.join(map(str, self.params.values()))}>"

    def only(self, run: int) -> Compared:
        """The same as if there had been this run (0, 1, …) alone."""
        return replace(self, runs=(self.runs[run],))

    def row(self) -> dict[str, Any]:
        """This comparison as plain JSON values; `from_row` reads it back."""
        return to_row(self, leave_out=("gpu", "label"))

    @classmethod
    def from_row(cls, row: Mapping[str, Any], gpu: str) -> Compared:
        """A recorded row, labelled with the GPU that it was recorded on."""
        return from_row(cls, row, gpu=gpu, label=recorded_on(gpu))


HEADER = (
    f"{'group':<9}{'M×N×K':>16}{'timed':>8}{'median ms':>12}{'cuBLAS ms':>12}{'ratio':>8}{'lowest':>8}{'highest':>9}"
    f"{'of best':>9}{'peak':>7}{'autotuned':>11}  kernel"
)


def line(row: Compared) -> str:
    """One line of the table: times, the ratio with its extremes over the runs, share of peak, the gain on autotuned."""
    peak = f"{row.of_peak:.1%}" if row.of_peak is not None else "–"
    return (
        f"{row.group:<9}{_size(row):>16}{row.way:>8}{row.median_ms:>12.5f}{row.cublas_median_ms:>12.5f}"
        f"{row.of_cublas:>8.3f}{min(row.ratios):>8.3f}{max(row.ratios):>9.3f}{row.of_best:>9.3f}{peak:>7}{row.of_autotuned:>11.3f}"
        f"  {row.short}"
    )


@dataclass(frozen=True)
class Summary:
    """A group of shapes in numbers.

    of_cublas, of_best, of_autotuned: geometric means of the ratios.  faster: shapes with a ratio to cuBLAS above 1.
    lowest: the shape with the lowest ratio to cuBLAS.
    """

    group: str
    shapes: int
    of_cublas: float
    of_best: float
    of_autotuned: float
    faster: int
    lowest: Compared


def summaries(rows: Sequence[Compared]) -> list[Summary]:
    """One summary a group, in the order in which the groups first appear."""
    summaries = []
    for group in dict.fromkeys(row.group for row in rows):
        members = [row for row in rows if row.group == group]
        summaries.append(
            Summary(
                group=group,
                shapes=len(members),
                of_cublas=geometric_mean([row.of_cublas for row in members]),
                of_best=geometric_mean([row.of_best for row in members]),
                of_autotuned=geometric_mean([row.of_autotuned for row in members]),
                faster=sum(row.of_cublas > 1 for row in members),
                lowest=min(members, key=lambda row: row.of_cublas),
            )
        )
    return summaries


def group_line(summary: Summary) -> str:
    """A summary in words."""
    return (
        f"{summary.group}: geometric mean {summary.of_cublas:.3f} of cuBLAS over {summary.shapes} shape(s), faster at "
        f"{summary.faster}, lowest {summary.lowest.of_cublas:.3f} at {_size(summary.lowest)}; "
        f"{summary.of_best:.3f} of the best of cuBLASLt, {summary.of_autotuned:.3f} of autotuned"
    )


def _size(row: Compared) -> str:
    return f"{row.M}×{row.N}×{row.K}"
