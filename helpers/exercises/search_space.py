"""Questions of notebook 11: how much of the space is legal, and which configurations are predicted to be good."""

from __future__ import annotations

from gemm_kernels import get
from helpers import devices
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.progress import noted
from helpers.explore import tuning
from helpers.measure import recordings
from helpers.models.tuning import predict as predicted

DEVICE = devices.get(recordings.DEFAULT_GPU)
OCCUPANCY, FLOATS = 0.25, 0.10  # goals of `check_configuration`


def predict_legal() -> Prediction:
    """How much of the space obeys the kernel's rules. The answer is counted."""
    share = sum(not one.broken for one in tuning.space()) / len(tuning.space())
    options = {
        "nearly all": "The rules are many, and most of them say that one number divides another.",
        "about a half": "A single rule, 32 lanes in a warp's tile, already forbids more than a half.",
        "about a quarter": "That is what is left after one or two of the rules. There are more.",
        "less than a tenth": "Each rule halves what is left, or worse: a warp has 32 lanes, tiles must divide tiles, "
        "and all threads must have something to load.",
    }
    answer = next(name for name, least in zip(options, (0.75, 0.375, 0.1, 0.0), strict=True) if share >= least)
    return predict("How much of the space is legal?", options, answer)


@noted("legal_configuration")
def check_configuration(**params: int) -> Verdict:
    """Parameters that obey the rules and are predicted to reach both goals."""
    try:
        kernel = get(tuning.KERNEL).replace(**params)
    except ValueError as error:
        return Verdict(None if params == START else False, str(error))
    found = predicted(DEVICE, kernel)
    told = f"Legal. Predicted: {found.occupancy:.1%} of the warps, {found.floats_a_fma:.3f} floats a FMA, "
    told += f"limited by {found.limiter}."
    if found.spills:
        return Verdict(False, f"{told} Registers spill: smaller patches need fewer.")
    if found.occupancy < OCCUPANCY:
        return Verdict(False, f"{told} At least {OCCUPANCY:.0%} of the warps are wanted.")
    if found.floats_a_fma > FLOATS:
        return Verdict(False, f"{told} At most {FLOATS:.2f} floats a FMA are wanted: larger warp tiles read less.")
    return Verdict(True, told)


START = {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 64, "TM": 8, "TN": 8, "SLICES": 1, "STAGES": 2, "BLOCKS": 1}
