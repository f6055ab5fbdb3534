"""Exercises of notebook 04, shared memory: barriers, edges, more reuse."""

from __future__ import annotations

from helpers.exercises.exercise import KernelExercise, Wrong
from helpers.exercises.gemm import Gemm
from helpers.exercises.pictures import TilePhasesOf
from helpers.exercises.problems import Case
from helpers.exercises.slips import Tiles

T = 16

NOBODY_WAITS = (
    "In each round of the loop, nobody waits between the last read of a tile and the next load over it. (A barrier "
    "after the loop comes too late.)"
)

BARRIERS = KernelExercise(
    name="barriers",
    notebook="04",
    title="Bug hunt: right by luck",
    difficulty=1,
    task="This tiled kernel passed every test that its author ran. On a GPU it is sometimes wrong. Find out what may "
    "happen in the wrong order, and forbid it.",
    hints=(
        "A block has 8 warps, and they do not march in step: one may be a whole round of the loop ahead of another.",
        "Which threads still read As and Bs while a fast warp is already back at the top of the loop?",
        "Two orders must be forced in each round: all loads before the first read, and all reads before the next load.",
    ),
    problem=Gemm("sgemm_barriers", (T, T), (T, T), Tiles(BM=T, BN=T, BK=T)),
    picture=TilePhasesOf(Case({"M": 2 * T, "N": 2 * T, "K": 3 * T}), "your kernel"),
    wrong=(
        Wrong(
            "only_second",
            "The barrier between loading and multiplying is missing: a thread reads elements that others have not "
            "stored yet.",
        ),
        Wrong("after_loop", NOBODY_WAITS),
        Wrong("starter", NOBODY_WAITS),
        Wrong(
            "inside_branch",
            "Every thread of the block must reach the barrier, also those whose element lies outside C: keep the "
            "barrier out of the if.",
        ),
        Wrong(
            "returns_early",
            "Threads outside C must not leave before the loop: they load elements that others need, and the barrier "
            "waits for them.",
        ),
        Wrong(
            "only_warps",
            "__syncwarp() holds the 32 threads of a warp together, but a tile is loaded by 8 warps: only "
            "__syncthreads() waits for them all.",
        ),
    ),
)

EXERCISES = (BARRIERS,)
