"""Questions of notebook 04 about what a tile saves: a prediction, and bytes counted by hand."""

from __future__ import annotations

from gemm_kernels import get
from helpers.draw import theme
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.progress import noted
from helpers.explore import tile_phases
from helpers.models import traffic

SIZE, TILE = 1024, 16  # of `check_bytes`: M = N = K, and T


def predict_uses() -> Prediction:
    """How often is a float read after it was fetched once, with 32 × 32 tiles? The answer comes from a recording."""
    tiled = tile_phases.Tiled.of(get("shared_memory", T=32))
    phase = tile_phases.phases_of(tiled).phases[0]
    return predict(
        "A float that was fetched into shared memory once is read from there this many times:",
        reasons={
            1: "That would save nothing; each float would still be fetched for one thread alone.",
            2: "One for A and one for B? A float belongs to one of the two tiles only.",
            32: "A float of A's tile serves one row of C's tile, and a row is 32 threads. For B it is a column.",
            1024: "All 1024 threads of the block can read it, but only those of one row (or column) of C need it.",
        },
        answer=phase.floats_read // phase.floats_loaded,
        picture=lambda: tile_phases.picture_of(tile_phases.Choice(tiled)),
    )


@noted("bytes_of_tiles")
def check_bytes(answer: float | None) -> Verdict:
    """Bytes of A and B that the kernel's threads ask global memory for, at M = N = K = SIZE with tiles of TILE."""
    loads = traffic.tiled(SIZE, SIZE, SIZE, TILE, TILE).loads
    alone = traffic.tiled(SIZE, SIZE, SIZE, 1, 1).loads
    return check_number(
        answer,
        loads,
        unit="bytes",
        because=f"Without tiles every element of C asks for {2 * SIZE} floats, {theme.thousands(alone)} bytes in all; "
        f"each float of a tile serves {TILE} threads.",
        slips=(
            Slip(alone, "That is what the threads ask for without tiles."),
            Slip(loads // 2, "That is one of the two matrices."),
            Slip(loads // 4, "That is the number of floats. How many bytes has a float?"),
            Slip(alone // TILE**2, "A float does not serve all threads of the block, only a row or a column of them."),
            Slip(traffic.compulsory(SIZE, SIZE, SIZE).loads, "That would be each float once in the whole launch: the "
                 "blocks share nothing with each other."),
        ),
    )  # fmt: skip
