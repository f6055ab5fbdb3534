"""How fast a kernel is, for a sentence below a picture: recorded, or else predicted."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from gemm_kernels import Kernel, Launch, OwnKernel
from helpers import cycles
from helpers.draw import theme
from helpers.measure import recordings

RECORDED_SIZE = 4096  # M = N = K
PREDICTED_SIZE = 2048  # of what nobody timed: larger ones would keep the reader waiting


def speed_of(kernel: Kernel | OwnKernel) -> str:
    """'4 096³: 57 000 GFLOPS, recorded on …', or what is predicted at a smaller size; "" where neither is known.

    kernel: a multiplication.
    """
    if isinstance(kernel, Kernel):
        with suppress(recordings.NoRecording):
            measured = recordings.find(kernel, *(RECORDED_SIZE,) * 3)
            if measured is not None:
                return f"{theme.thousands(RECORDED_SIZE)}³: {theme.thousands(measured.gflops)} GFLOPS, {measured.label}"
    own = getattr(kernel, "shape", None)
    found = predicted(kernel.launch(*(own or (PREDICTED_SIZE,) * 3)))
    size = " × ".join(map(theme.thousands, own)) if own else f"{theme.thousands(PREDICTED_SIZE)}³"
    return found and f"{size}: {found}"


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
