"""Exercises of notebook 18: one tile, many products."""

from helpers.exercises.n18.blanks import (
    BATCH,
    COLUMN_SCALES,
    FUSED_STEPS,
    GROUP_SCALES,
    GROUPED,
    IMPLICIT,
    TRANSPOSED_OPERAND,
)

__all__ = [
    "BATCH",
    "COLUMN_SCALES",
    "EXERCISES",
    "FUSED_STEPS",
    "GROUP_SCALES",
    "GROUPED",
    "IMPLICIT",
    "PREDICTIONS",
    "QUESTIONS",
    "TRANSPOSED_OPERAND",
]

PREDICTIONS = ()
QUESTIONS = ()
EXERCISES = (TRANSPOSED_OPERAND, BATCH, FUSED_STEPS, COLUMN_SCALES, GROUP_SCALES, GROUPED, IMPLICIT)
