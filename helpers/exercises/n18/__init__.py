"""Exercises of notebook 18: one tile, many products."""

from helpers.exercises.n18.blanks import (
    BATCH,
    COLUMN_SCALES,
    DOUBLE_FRAGMENTS,
    DROPOUT,
    FUSED_STEPS,
    GROUP_SCALES,
    GROUPED,
    IMPLICIT,
    TRANSPOSED_OPERAND,
)
from helpers.exercises.n18.pictures import digits
from helpers.exercises.n18.questions import (
    bytes_table,
    check_place,
    check_saved,
    check_tiles,
    convolution_table,
    formats_table,
    fused_table,
    grouped_table,
    layer_parts,
    predict_loop,
    predict_patches,
    predict_scale,
    predict_turned,
)
from helpers.exercises.n18.tile import given

__all__ = [
    "BATCH",
    "COLUMN_SCALES",
    "DOUBLE_FRAGMENTS",
    "DROPOUT",
    "EXERCISES",
    "FUSED_STEPS",
    "GROUPED",
    "GROUP_SCALES",
    "IMPLICIT",
    "PREDICTIONS",
    "QUESTIONS",
    "TRANSPOSED_OPERAND",
    "bytes_table",
    "check_place",
    "check_saved",
    "check_tiles",
    "convolution_table",
    "digits",
    "formats_table",
    "fused_table",
    "given",
    "grouped_table",
    "layer_parts",
    "predict_loop",
    "predict_patches",
    "predict_scale",
    "predict_turned",
]

PREDICTIONS = (predict_turned, predict_loop, predict_scale, predict_patches)
QUESTIONS = (check_place, check_saved, check_tiles)
EXERCISES = (
    TRANSPOSED_OPERAND, BATCH, FUSED_STEPS, DROPOUT, COLUMN_SCALES, GROUP_SCALES, GROUPED, IMPLICIT, DOUBLE_FRAGMENTS,
)  # fmt: skip
