"""What a block's shape costs a request, in sectors and in lines, beside the GFLOPS that it reaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

FAR_APART = 1.25  # shapes of one cost whose GFLOPS differ by more than this factor are labelled
Cost = Literal["sectors", "tags"]


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
