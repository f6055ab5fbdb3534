"""Exercises of notebook 17: the two smallest elements of A · B, fused into the multiplication in four steps; and for
each row the numbers of a softmax, fused in the same way."""

from helpers.exercises.n17.explorer import explore
from helpers.exercises.n17.fused import STEPS, TWO_OF_ALL, TWO_OF_BLOCK, TWO_OF_THREAD, TWO_OF_WARP
from helpers.exercises.n17.questions import (
    check_written,
    given,
    predict_length,
    predict_merge,
    score,
    stages,
)
from helpers.exercises.n17.softmax import ROW_STATISTICS

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUESTIONS",
    "ROW_STATISTICS",
    "STEPS",
    "TWO_OF_ALL",
    "TWO_OF_BLOCK",
    "TWO_OF_THREAD",
    "TWO_OF_WARP",
    "check_written",
    "explore",
    "given",
    "predict_length",
    "predict_merge",
    "score",
    "stages",
]

PREDICTIONS = (predict_length, predict_merge)
QUESTIONS = (check_written,)
EXERCISES = (*STEPS, ROW_STATISTICS)
