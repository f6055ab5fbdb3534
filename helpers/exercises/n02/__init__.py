"""Exercises of notebook 02, threads and indices: which thread, which warp, which element, and the whole formula."""

from helpers.exercises.n02.blanks import BETA, NAIVE
from helpers.exercises.n02.kernels import FLAT_BLOCK, ROWS_AND_COLUMNS, WARP_NUMBERS
from helpers.exercises.n02.launches import (
    PLACE_IN_LINE,
    WHOLE_LAUNCH,
    active_lanes,
    predict_idle_lanes,
    predict_owner,
)

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUESTIONS",
    "active_lanes",
    "predict_idle_lanes",
    "predict_owner",
]

PREDICTIONS = (predict_owner, predict_idle_lanes)
QUESTIONS = ()
EXERCISES = (NAIVE, BETA, PLACE_IN_LINE, WARP_NUMBERS, WHOLE_LAUNCH, ROWS_AND_COLUMNS, FLAT_BLOCK)
