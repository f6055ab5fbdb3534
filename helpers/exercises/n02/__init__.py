"""Exercises of notebook 02, threads and indices: which thread, which warp, which element, and the whole formula."""

from helpers.exercises.n02.blanks import NAIVE
from helpers.exercises.n02.kernels import BETA, FLAT_BLOCK, ROWS_AND_COLUMNS, WARP_NUMBERS
from helpers.exercises.n02.launches import (
    PLACE_IN_LINE,
    WHOLE_LAUNCH,
    active_lanes,
    predict_idle_lanes,
    predict_owner,
)

__all__ = ["EXERCISES", "PREDICTIONS", "QUESTIONS", "active_lanes", "predict_idle_lanes", "predict_owner"]

PREDICTIONS = (predict_owner, predict_idle_lanes)
QUESTIONS = ()
EXERCISES = (NAIVE, PLACE_IN_LINE, WARP_NUMBERS, WHOLE_LAUNCH, ROWS_AND_COLUMNS, BETA, FLAT_BLOCK)
