"""Which of several races a learner is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpusim.devices import WARP

if TYPE_CHECKING:
    from gpusim import Finding


def easiest(findings: Sequence[Finding], block: Sequence[int]) -> Finding:
    """The race that is easiest to believe: one between two warps where there is one. block: its threads along x, …"""
    size = np.array((*block, 1, 1)[:3])
    return next(
        (finding for finding in findings if _warp(finding.thread, size) != _warp(finding.other_thread, size)),
        findings[0],
    )


def _linear(thread: tuple[int, int, int], block: np.ndarray) -> int:
    return int(thread[0] + block[0] * (thread[1] + block[1] * thread[2]))


def _warp(thread: tuple[int, int, int] | None, block: np.ndarray) -> int:
    return -1 if thread is None else _linear(thread, block) // WARP
