"""Exercises of notebook 16: a sum in five steps, then a scan, votes, a histogram, and the place of the smallest."""

from helpers.exercises.n16.beyond_sums import ARGMIN, HISTOGRAM, KEEP_POSITIVE, PREFIX
from helpers.exercises.n16.sums import BLOCK_TREE, LAST_BLOCK, LOCKSTEP, ONE_ATOMIC, TWO_LEVELS, WARP_TREE

__all__ = ["EXERCISES", "PREDICTIONS", "QUESTIONS"]

PREDICTIONS = ()
QUESTIONS = ()
EXERCISES = (
    ONE_ATOMIC, BLOCK_TREE, LOCKSTEP, WARP_TREE, TWO_LEVELS, LAST_BLOCK, PREFIX, KEEP_POSITIVE, HISTOGRAM, ARGMIN,
)  # fmt: skip
