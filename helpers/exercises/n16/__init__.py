"""Exercises of notebook 16: a sum in five steps, then a scan, votes, a histogram, and the place of the smallest."""

from helpers.exercises.n16.beyond_sums import ARGMIN, HISTOGRAM, KEEP_POSITIVE, PREFIX
from helpers.exercises.n16.predictions import (
    MEMORY_ORDERS,
    bits_table,
    check_atomics,
    paths_picture,
    predict_banks,
    predict_bits,
    predict_paths,
    without_fence,
)
from helpers.exercises.n16.sums import BLOCK_TREE, LAST_BLOCK, LOCKSTEP, ONE_ATOMIC, TWO_LEVELS, WARP_TREE

__all__ = [
    "ARGMIN",
    "BLOCK_TREE",
    "EXERCISES",
    "HISTOGRAM",
    "LAST_BLOCK",
    "MEMORY_ORDERS",
    "ONE_ATOMIC",
    "PREDICTIONS",
    "QUESTIONS",
    "TWO_LEVELS",
    "WARP_TREE",
    "bits_table",
    "check_atomics",
    "paths_picture",
    "predict_banks",
    "predict_bits",
    "predict_paths",
    "without_fence",
]

PREDICTIONS = (predict_banks, predict_paths, predict_bits)
QUESTIONS = (check_atomics,)
EXERCISES = (
    ONE_ATOMIC,
    BLOCK_TREE,
    LOCKSTEP,
    WARP_TREE,
    TWO_LEVELS,
    LAST_BLOCK,
    KEEP_POSITIVE,
    HISTOGRAM,
    ARGMIN,
    PREFIX,
)
