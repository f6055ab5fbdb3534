"""Questions of notebook 09: what a second buffer hides, what it takes, and how many stages hide everything."""

from __future__ import annotations

from dataclasses import replace

from gemm_kernels import get
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.progress import noted
from helpers.explore.pipeline import DEFAULT, picture_of
from helpers.models.pipeline import Pipeline, Work, steady_state

TILE = get("double_buffered")  # of `check_shared_bytes`
PADDING = 4  # floats that end each row of its A tile
DEEP = Pipeline(Work(copy=20, store=0, multiply=180), latency=500)  # of `check_stages`


def predict_idle() -> Prediction:
    """Cycles in which a double-buffered warp waits at each K-block. The answer comes from the pipeline model."""
    work, latency = DEFAULT.work, DEFAULT.latency
    return predict(
        "Cycles in which the warp still waits at each K-block, with two buffers:",
        reasons={
            0: f"That needs {latency} cycles of work while the copy is on its way. How long does it multiply?",
            work.multiply: "That is how long it multiplies: these cycles are hidden. Which are left?",
            latency - work.multiply: "The copy is on its way while the warp multiplies; then the warp waits for the "
            "rest.",
            latency: "That is the single buffer, where nothing happens while the copy is on its way.",
        },
        answer=round(steady_state(replace(DEFAULT, stages=2)).idle),
        picture=lambda: picture_of(replace(DEFAULT, stages=2)),
    )


def shared_bytes(buffers: int) -> int:
    """Bytes of TILE's shared memory with this many buffers."""
    BM, BN, BK = (TILE.params[name] for name in ("BM", "BN", "BK"))
    return buffers * BK * (BM + PADDING + BN) * 4


@noted("bytes_of_buffers")
def check_shared_bytes(answer: float | None) -> Verdict:
    """Shared memory of the double-buffered kernel's block in bytes."""
    BM, BN, BK = (TILE.params[name] for name in ("BM", "BN", "BK"))
    return check_number(
        answer,
        shared_bytes(2),
        unit="bytes",
        because=f"2 buffers · {BK} rows · ({BM} + {PADDING} + {BN}) floats · 4 bytes.",
        slips=(
            Slip(shared_bytes(1), "That is one buffer."),
            Slip(shared_bytes(2) // 4, "That is floats. A float has 4 bytes."),
            Slip(2 * BK * (BM + BN) * 4, f"The {PADDING} unused floats in each row of As are missing."),
            Slip(2 * BK * (BM + PADDING) * 4, "That is As alone. What about Bs?"),
            Slip(2 * BK * (BM + BN + 2 * PADDING) * 4, "Only As is padded, Bs is not."),
        ),
    )


def fewest_stages() -> int:
    """The fewest stages above two with which DEEP never waits, by the model."""
    return next(stages for stages in range(3, 20) if steady_state(replace(DEEP, stages=stages)).idle == 0)


@noted("stages_that_never_wait")
def check_stages(answer: float | None) -> Verdict:
    """Stages that hide DEEP's whole latency."""
    work, latency = DEEP.work, DEEP.latency
    each = work.copy + work.multiply
    return check_number(
        answer,
        fewest_stages(),
        unit="stages",
        because=f"S stages have S − 1 K-blocks on their way, and each round is {each} cycles of work. A copy that is "
        f"issued at the beginning of a round is needed S − 1 rounds later.",
        slips=(
            Slip(fewest_stages() - 1, "That many K-blocks must be on their way. One more buffer is being multiplied."),
            Slip(2, f"With two, {work.multiply} of {latency} cycles are hidden."),
            Slip(latency / each, "A number of stages is whole, and the K-block that is multiplied needs one, too."),
        ),
    )
