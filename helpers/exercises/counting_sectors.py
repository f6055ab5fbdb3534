"""Questions of notebook 03 about the sectors of one request: a prediction, and a count by hand."""

from __future__ import annotations

import numpy as np

from gemm_kernels import get
from helpers.draw.access import warp_access
from helpers.exercises.answers import Slip, Verdict, check_number
from helpers.exercises.predict import Prediction, predict
from helpers.explore import launches
from helpers.simulator import counting

# Lane i of `check_strided` reads the float with this index plus i times this stride.
FIRST, STRIDE = 3, 2


def predict_naive_load() -> Prediction:
    """How many sectors does the naive kernel's load of A cost a warp? The answer comes from a recording."""
    run = launches.record_launch(get("naive"), block=(32, 32), M=1024, N=1024, K=1024)
    return predict(
        "Sectors for one load of A by one warp of the naive kernel:",
        reasons={
            1: "That needs all 32 lanes to read floats of the same 32 bytes.",
            4: "32 floats are 128 bytes, and 128 / 32 = 4: that needs the 32 floats to be neighbours in memory.",
            16: "That needs the lanes to share sectors in pairs.",
            32: "The lanes' floats are a whole row of A apart, so no two of them lie in the same sector.",
        },
        answer=warp_access(run, "A").sectors,
    )


def check_strided(answer: float | None) -> Verdict:
    """The sectors of a request in which lane i reads the float with index FIRST + STRIDE * i of an aligned array."""
    addresses = 4 * (FIRST + STRIDE * np.arange(32, dtype=np.int64))[None, :]
    sectors = int(counting.sectors(addresses, np.ones((1, 32), bool), 4)[0])
    last_byte = int(addresses[0, -1]) + 3
    return check_number(
        answer,
        sectors,
        unit="sectors",
        because=f"The lanes' bytes reach from {addresses[0, 0]} to {last_byte}, which is from sector "
        f"{addresses[0, 0] // 32} to sector {last_byte // 32}, and none in between is left out.",
        slips=(
            Slip(32, "Neighbouring lanes are so close that several of them share a sector."),
            Slip(4, "That would be 32 floats without holes; here every second float is skipped."),
            Slip(8, "Every second float of 8 whole sectors would do, but where does the first one stand?"),
        ),
    )
