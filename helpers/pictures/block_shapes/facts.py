"""What a block's shape costs a request, in sectors and in lines, beside the GFLOPS that it reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gemm_kernels import Kernel
from gpusim import Recording, devices
from helpers import recordings, run
from helpers.recordings.measurement import Measurement

FAR_APART = 1.25  # shapes of one cost whose GFLOPS differ by more than this factor are labelled
Cost = Literal["sectors", "tags"]
# Steps of the loop where the loop itself is not the subject. A's rows are then two lines apart, so that a load of A
# costs what it costs in a matrix of any width of whole lines.
SHORT_K = 64


@dataclass(frozen=True)
class BlockShape:
    """One kernel launched with one block shape.

    kernel: its name.  block: threads along x and y.  sectors_per_request: mean over its global loads, counted.
    tags_per_request: 128-byte lines, likewise.  gflops: 10⁹ floating-point operations a second; None if not measured.
    """

    kernel: str
    block: tuple[int, int]
    sectors_per_request: float
    tags_per_request: float
    gflops: float | None = None

    @property
    def label(self) -> str:
        """'(16, 16)', with a no-break space."""
        return f"({self.block[0]},\u00a0{self.block[1]})"

    @property
    def speed(self) -> float:
        """GFLOPS, 0 if they were not measured."""
        return self.gflops or 0.0

    def cost(self, kind: Cost) -> float:
        """Sectors or tags a request."""
        return self.sectors_per_request if kind == "sectors" else self.tags_per_request


def block_shape(
    recording: Recording, kernel: Kernel, block: tuple[int, int], speed_at: int | None = None
) -> BlockShape:
    """What the global loads of a recorded launch cost, and the recorded GFLOPS of its kernel with its block.

    speed_at: M = N = K of the measurement to look up. gflops is None without it, or if that was not measured.
    """
    measured = recorded(kernel, block, speed_at) if speed_at else None
    return BlockShape(
        kernel=kernel.name,
        block=block,
        sectors_per_request=sectors_per_request(recording),
        tags_per_request=tags_per_request(recording),
        gflops=measured.gflops if measured else None,
    )


def counted(kernel: Kernel, block: tuple[int, int], width: int, speed_at: int | None = None) -> BlockShape:
    """What a kernel's global loads cost with this block, counted on one block, and its recorded GFLOPS.

    width: columns of A, B and C.  speed_at: M = N = K of the measurement to look up, None for `width`.
    """
    launch = kernel.launch(max(width, *block), width, SHORT_K).in_blocks(*block)
    return block_shape(run.record(launch), kernel, block, speed_at or width)


def sectors_per_request(recording: Recording) -> float:
    """32-byte sectors of a global load, the mean over all that were executed."""
    return recording.total("sectors", "global", "ld") / recording.total("requests", "global", "ld")


def tags_per_request(recording: Recording) -> float:
    """128-byte lines of a global load, one tag look-up each, the mean over all that were executed."""
    return recording.total("tags", "global", "ld") / recording.total("requests", "global", "ld")


def recorded(kernel: Kernel, block: tuple[int, int], size: int, gpu: str = devices.DEFAULT.name) -> Measurement | None:
    """The recorded Measurement of this kernel with this block at M = N = K = size, or None."""
    if block[0] * block[1] > devices.get(gpu).max_threads_per_block:
        return None
    return recordings.find(kernel.replace(block_x=block[0], block_y=block[1]), size, size, size, gpu)


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's rank correlation, −1 … 1: the correlation of the ranks, ties sharing the mean of their ranks."""
    if len(x) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        raise ValueError("A rank correlation needs three points, and two different values along each axis.")
    return float(np.corrcoef(_ranks(x), _ranks(y))[0, 1])


def exceptions(shapes: Sequence[BlockShape], kind: Cost) -> list[tuple[BlockShape, BlockShape]]:
    """Pairs (slowest, fastest) of equal cost whose GFLOPS lie far apart: what the cost alone does not explain.

    The pair that is farthest apart comes first.
    """
    pairs = []
    for cost in sorted({shape.cost(kind) for shape in shapes}):
        alike = sorted((shape for shape in shapes if shape.cost(kind) == cost), key=lambda shape: shape.speed)
        if alike[-1].speed > FAR_APART * alike[0].speed:
            pairs.append((alike[0], alike[-1]))
    return sorted(pairs, key=lambda pair: -pair[1].speed / pair[0].speed)


def _ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks from 0, ties at their mean."""
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(size) - (size + 1) / 2)[group]
