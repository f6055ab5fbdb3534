"""The blanks that multiply matrices: the rungs of the learner's ladder, and a launch of each of them."""

from __future__ import annotations

from gemm_kernels import OwnKernel
from helpers.exercises.framework import catalogue
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.gemm import Gemm

SHOWN = 2048  # M = N = K at which the ladder is shown
LAST = "11"  # the last notebook whose kernel is a rung; those of notebook 14 show one idea on a small kernel


def rungs() -> tuple[Blank, ...]:
    """The blanks that multiply matrices, in the order of the course. One with alpha and beta, or with another room for
    its tiles, completes the rung before it, and is none of its own."""
    blanks = (exercise for exercise in catalogue.EXERCISES if isinstance(exercise, Blank) and exercise.notebook <= LAST)
    return tuple(blank for blank in blanks if type(blank.problem) is Gemm and not blank.problem.scaled)


def kernel_of(blank: Blank, source: str) -> OwnKernel:
    """A source for a blank, with the launch that the blank has. blank: one of a multiplication."""
    problem_ = blank.problem
    assert isinstance(problem_, Gemm)
    return OwnKernel(
        source, problem_.entry, problem_.block, problem_.tile, problem_.tiles.BK or 1, None, problem_.shared_bytes,
        name=blank.name, rows_along=problem_.rows_along, scaled=problem_.scaled,
    )  # fmt: skip
