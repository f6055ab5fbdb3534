"""How fast a kernel is, for a sentence below a picture: recorded, or else predicted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from gemm_kernels import Kernel, Launch, OwnKernel, get
from helpers import cycles
from helpers.analysis.block_shapes import recorded
from helpers.draw import theme
from helpers.measure import recordings

RECORDED_SIZE = 4096  # M = N = K
PREDICTED_SIZE = 2048  # of what nobody timed: larger ones would keep the reader waiting
BLOCKS_SIZE = 2048  # of block shapes that were recorded
MOST_SAID = 64  # launches whose sentence is kept

_said: dict[Launch, str] = {}


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


def known(launch: Launch) -> str:
    """What `predicted` said of a launch before, "" if it was not asked: a note that has it at once."""
    return _said.get(launch, "")


def predicted(launch: Launch) -> str:
    """'3 120 GFLOPS, predicted for NVIDIA H200 (2 900 to 3 400)'; "" where it cannot be predicted.

    launch: a multiplication.  At sizes up to 2048 it takes less than a second.
    """
    if launch not in _said:
        while len(_said) >= MOST_SAID:
            _said.pop(next(iter(_said)), None)
        _said[launch] = _predicted(launch)
    return _said[launch]


def _predicted(launch: Launch) -> str:
    try:
        found = cycles.predict(launch)
    except cycles.CANNOT:
        return ""
    M, N, K = launch.shape
    likely, most, least = (theme.thousands(2e-6 * M * N * K / ms) for ms in (found.ms, *found.range_ms))
    return f"{likely} GFLOPS, {found.label} ({least} to {most})"


def speed_of_block(launch: Launch, predict: Callable[[Launch], str] = predicted) -> str:
    """The recorded GFLOPS of a launch's block shape as a sentence, or the predicted ones, or why there are none.

    predict: `predicted`, or `known`, which does not take its time.
    """
    x, y, z = launch.block
    size = f"{theme.thousands(BLOCKS_SIZE)}³"
    try:
        measured = recorded(get(launch.name), (x, y), BLOCKS_SIZE) if z == 1 else None
        nobody = f"Block ({x}, {y})" if z == 1 else f"Block ({x}, {y}, {z})"
    except ValueError:  # a learner's own kernel
        measured, nobody = None, launch.name
    if measured is None:
        one = launch.arguments is None and predict(launch.covering((BLOCKS_SIZE,) * 3, x, y, z))
        return f"{nobody} was not recorded on a GPU{f'. At {size}: {one}' if one else ''}."
    gflops = theme.thousands(measured.gflops)
    return f"{launch.name} with block ({x}, {y}) at {size}: {gflops} GFLOPS, {measured.label}."
