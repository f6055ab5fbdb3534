"""Exercises: commit to a prediction, give a number, reach a counter, change a kernel; each answered with a reason."""

from helpers.exercises.answers import Slip, Verdict, check_number
from helpers.exercises.goals import check_block
from helpers.exercises.predict import Prediction, predict

__all__ = ["Prediction", "Slip", "Verdict", "check_block", "check_number", "predict"]
