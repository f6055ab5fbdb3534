"""The prediction of notebook 06: what must a thread read that computes several elements?"""

from __future__ import annotations

from gemm_kernels import get
from helpers.exercises.framework.predict import Prediction, predict
from helpers.explore import register_tile

COLUMN = get("block_tile_1d", BM=64, BN=64, BK=8, TM=8)


def predict_loads() -> Prediction:
    """Floats that a thread with eight elements of one column reads at a step k. The answer comes from a recording."""
    tiled = register_tile.Tiled.of(COLUMN)
    reads = register_tile.tile_of(tiled, 0).reads[0]
    return predict(
        "Floats that the thread must read from shared memory at one step k, for its 8 FMAs:",
        reasons={
            16: "Two for each FMA: that would be eight threads with one element each. Do the FMAs share a factor?",
            9: "One float of A for each of the 8 rows, and a single float of B, because all 8 are in one column.",
            8: "That is the floats of A, one for each row. And B?",
            2: "All 8 elements share the float of B. But each of them is in a row of its own.",
        },
        answer=len(reads),
        picture=lambda: register_tile.picture_of(register_tile.Choice(tiled)),
    )
