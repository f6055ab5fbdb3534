"""The speed of a launch that nobody recorded, predicted for a sentence below a picture."""

from __future__ import annotations

from functools import lru_cache

from gemm_kernels import Launch
from helpers import cycles
from helpers.draw import theme


@lru_cache(maxsize=64)
def predicted(launch: Launch) -> str:
    """'3 120 GFLOPS, predicted for NVIDIA H200 (2 900 to 3 400)'; "" where it cannot be predicted.

    launch: a multiplication.  At sizes up to 2048 it takes less than a second.
    """
    try:
        found = cycles.predict(launch)
    except cycles.CANNOT:
        return ""
    M, N, K = launch.shape
    likely, most, least = (theme.thousands(2e-6 * M * N * K / ms) for ms in (found.ms, *found.range_ms))
    return f"{likely} GFLOPS, {found.label} ({least} to {most})"
