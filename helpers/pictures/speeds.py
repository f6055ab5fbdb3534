"""How fast a kernel is, for a sentence below a picture: recorded, or else predicted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from gemm_kernels import LADDER, Kernel, Launch, OwnKernel, get
from helpers import cycles, recordings
from helpers.pictures import theme
from helpers.pictures.block_shapes.facts import recorded as recorded_block
from helpers.recordings.measurement import Measurement

RECORDED_SIZES = (4096, 2048)  # M = N = K, in this order: tiles other than the ladder's were timed at 2048 alone
PREDICTED_SIZE = 2048  # of what nobody timed: larger ones would keep the reader waiting
BLOCKS_SIZE = 2048  # of block shapes that were recorded
MOST_SAID = 64  # launches whose sentence is kept

_said: dict[Launch, str] = {}


def speed_of(kernel: Kernel | OwnKernel) -> str:
    """'4 096³: 57 000 GFLOPS, recorded on …', or what is predicted at a smaller size; "" where neither is known.

    kernel: a multiplication.
    """
    if isinstance(kernel, Kernel) and (measured := recorded(kernel)):
        return f"{theme.thousands(measured.M)}³: {theme.thousands(measured.gflops)} GFLOPS, {measured.label}"
    own = getattr(kernel, "shape", None)
    speed = predicted(kernel.launch(*(own or (PREDICTED_SIZE,) * 3)))
    size = " × ".join(map(theme.thousands, own)) if own else f"{theme.thousands(PREDICTED_SIZE)}³"
    return speed and f"{size}: {speed}"


def speed_of_launch(launch: Launch) -> str:
    """`speed_of` the kernel of a launch that shows one block or two, as a sentence with the kernel's name; "" where it
    is not known. A launch of a changed source, or of a learner's kernel, is predicted."""
    kernel = next((rung for rung in LADDER if (rung.entry, rung.source) == (launch.entry, launch.source)), None)
    if kernel is not None:
        speed = speed_of(kernel)
    else:
        speed = predicted(launch.covering((PREDICTED_SIZE,) * 3, *launch.block))
        speed = speed and f"{theme.thousands(PREDICTED_SIZE)}³: {speed}"
    return speed and f"{launch.name} at {speed}."


def recorded(kernel: Kernel) -> Measurement | None:
    """What was measured of a kernel with its parameters at the first of RECORDED_SIZES that was recorded."""
    for size in RECORDED_SIZES:
        with suppress(recordings.NoRecording):
            if measured := recordings.find(kernel, size, size, size):
                return measured
    return None


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
        prediction = cycles.predict(launch)
    except cycles.CANNOT:
        return ""
    M, N, K = launch.shape
    likely, most, least = (theme.thousands(2e-6 * M * N * K / ms) for ms in (prediction.ms, *prediction.range_ms))
    return f"{likely} GFLOPS, {prediction.label} ({least} to {most})"


def speed_of_block(launch: Launch, predict: Callable[[Launch], str] = predicted) -> str:
    """The recorded GFLOPS of a launch's block shape as a sentence, or the predicted ones, or why there are none.

    predict: `predicted`, or `known`, which does not take its time.
    """
    x, y, z = launch.block
    size = f"{theme.thousands(BLOCKS_SIZE)}³"
    try:
        measured = recorded_block(get(launch.name), (x, y), BLOCKS_SIZE) if z == 1 else None
        subject = f"Block ({x}, {y})" if z == 1 else f"Block ({x}, {y}, {z})"
    except ValueError:  # a learner's own kernel
        measured, subject = None, launch.name
    if measured is None:
        speed = launch.arguments is None and predict(launch.covering((BLOCKS_SIZE,) * 3, x, y, z))
        return f"{subject} was not recorded on a GPU{f'. At {size}: {speed}' if speed else ''}."
    gflops = theme.thousands(measured.gflops)
    return f"{launch.name} with block ({x}, {y}) at {size}: {gflops} GFLOPS, {measured.label}."
