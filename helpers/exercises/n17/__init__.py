"""Exercises of notebook 17: the two smallest elements of A · B, fused into the multiplication in four steps."""

from helpers.exercises.n17.fused import STEPS, TWO_OF_ALL, TWO_OF_BLOCK, TWO_OF_THREAD, TWO_OF_WARP

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUESTIONS",
    "STEPS",
    "TWO_OF_ALL",
    "TWO_OF_BLOCK",
    "TWO_OF_THREAD",
    "TWO_OF_WARP",
]

EXERCISES = STEPS
PREDICTIONS = QUESTIONS = ()
