"""Exercises of notebook 12, the register file: an order that waits for no bank, and lanes that do not merge."""

from __future__ import annotations

from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.slips import Tiles

UNMERGED_LANES = Blank(
    name="unmerged_lanes",
    notebook="12",
    title="Write it: lanes that do not merge",
    difficulty=3,
    task="…",
    hints=("", "", ""),
    problem=Gemm("sgemm", (128,), (64, 64), Tiles(BM=64, BN=64, BK=8, TM=8, TN=4), scaled=False,
                 shapes=((64, 128, 24), (128, 64, 16), (64, 64, 8))),
    picture=None,
    wrong=(),
)  # fmt: skip


PREDICTIONS = ()
QUESTIONS = ()
EXERCISES = (UNMERGED_LANES,)
