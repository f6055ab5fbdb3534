"""Exercises of notebook 10, warptiling: what a warp reads, where its tile lies, which lanes merge their loads."""

from __future__ import annotations

from helpers.exercises.framework import goals
from helpers.exercises.framework.answers import Slip, check_number
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.pictures import BankBoardOf, ThreadMapOf
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.values import ValueExercise, WrongValue

# --- what a warp reads: LANES_Y x LANES_X lanes with patches of PATCH x PATCH

LANES_Y, LANES_X, PATCH = 4, 8, 8
READ = (LANES_Y + LANES_X) * PATCH
BECAUSE_READ = (
    f"The tile is {LANES_Y * PATCH} rows and {LANES_X * PATCH} columns: {LANES_Y * PATCH} elements of A and "
    f"{LANES_X * PATCH} of B, whichever lane reads them, and however many do."
)
READ_SLIPS = (
    Slip(32 * 2 * PATCH, "That counts every lane's 8 + 8 elements; lanes of one row of the warp read the same 8 of A."),
    Slip(LANES_Y * LANES_X * PATCH * PATCH, "That is the number of results, or of FMAs."),
    Slip(2 * PATCH, "That is what one lane reads. What do the others read?"),
    Slip(LANES_Y * PATCH * LANES_X, "Is one of the two sides multiplied where it should be added?"),
    Slip(LANES_Y + LANES_X, "Each lane's side is 8 elements long."),
    Slip(33 * PATCH, "That would be 32 lanes in one row. Here they are 4 rows of 8."),
)

WARP_READS = ValueExercise(
    name="warp_reads",
    notebook="10",
    title="Floats by hand",
    difficulty=1,
    task="The 32 lanes of a warp are 4 rows of 8 lanes, and each computes a patch of 8 × 8 elements of C. How many "
    "different floats does the warp need from shared memory for one k, of A and of B together?",
    hints=(
        "How many rows and how many columns has the warp's tile?",
        "For one k a row of the tile needs one element of A, and a column one element of B.",
        "4 · 8 rows and 8 · 8 columns.",
    ),
    variable="my_answer",
    starter=None,
    solved=READ,
    because=BECAUSE_READ,
    judge=lambda answer: check_number(answer, READ, unit="floats", because=BECAUSE_READ, slips=READ_SLIPS),
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in READ_SLIPS),
)  # fmt: skip


# --- where a warp's tile lies

BM, BN, BK = 64, 32, 8

WARP_PLACE = KernelExercise(
    name="warp_place",
    notebook="10",
    title="Bug hunt: where does my warp live?",
    difficulty=2,
    task="The block's tile of 64 × 32 is cut into warp tiles of 16 × 16. The kernel was tested with square blocks "
    "only. Find the line that is wrong for this one.",
    hints=(
        "Look at the picture: which warp tiles does nobody compute, and which do two warps compute?",
        "The warp tiles of a block are numbered along its rows, like the elements of a matrix. How many stand in a "
        "row?",
        "BN / WN of them: warp / (BN / WN) is the row, warp % (BN / WN) the column.",
    ),
    problem=Gemm("sgemm_warp_place", (256,), (BM, BN), Tiles(BM=BM, BN=BN, BK=BK, TM=4, TN=2)),
    picture=ThreadMapOf("C", Case({"M": 2 * BM, "N": 2 * BN, "K": 8}), "your kernel", thread=100),
    wrong=(
        Wrong("starter", "Row and column are both remainders, so that two warps have the same tile, and half of the "
              "tiles have no warp."),
        Wrong("rows_of_four", "A row of warp tiles has BN / WN = 2 of them, not BM / WM = 4: warps reach beyond the "
              "block's tile, and its lower half has no warp."),
        Wrong("lanes_by_rows", "A row of lanes has WN / TN = 8 of them, not WM / TM = 4."),
        Wrong("warp_not_scaled", "Warp tiles begin WM rows and WN columns apart, not one."),
        Wrong("lane_not_scaled", "A lane's patch begins TM rows and TN columns after its neighbour's, not one."),
        Wrong("sizes_traded", "TM and TN trade places: a patch has TM rows and TN columns."),
    ),
)  # fmt: skip


# --- which lanes merge their loads

ONE_TILE = Case({"M": 16, "N": 32, "K": 8})

LANE_MAP = KernelExercise(
    name="lane_map",
    notebook="10",
    title="Stretch: two loads in four wavefronts",
    difficulty=3,
    task="For each k a lane makes two 128-bit loads from shared memory. Lanes of one row read the same floats of As, "
    "lanes of one column the same floats of Bs, and still the two loads cost 6 wavefronts. Renumber the lanes so that "
    "they cost 4: at most 32 wavefronts for the 8 steps.",
    hints=(
        "A 128-bit load is served in four phases of 8 lanes. Phases are merged if every lane i reads what lane i ^ 1 "
        "reads, or every lane i what lane i ^ 2 reads.",
        "Let lanes i and i ^ 1 share their row, and lanes i and i ^ 2 their column: blocks of 2 × 2 lanes.",
        "lane_x takes the lowest bit of lane, lane_y the two above it: lane_y = lane / 2 % 4.",
    ),
    problem=Gemm("sgemm_lane_map", (32,), (16, 32), Tiles(BM=16, BN=32, BK=8, TM=4, TN=4)),
    picture=BankBoardOf(ONE_TILE, "your kernel", op="ld"),
    goals=(goals.load_wavefronts(32),),
    judged=ONE_TILE,
    wrong=(
        Wrong("starter", "Eight neighbouring lanes lie in one row: A is shared by neighbours, but no lane shares its "
              "column with lane i ^ 1 or i ^ 2, and so B needs all four phases."),
        Wrong("by_columns", "Four neighbouring lanes lie in one column: B is shared by neighbours, but no lane shares "
              "its row with lane i ^ 1 or i ^ 2, and so A needs all four phases."),
        Wrong("rotated", "Each row of lanes is turned, but its eight lanes are still eight neighbours: no lane shares "
              "its column with lane i ^ 1 or i ^ 2, and so B needs all four phases."),
        Wrong("four_rows", "Four neighbouring lanes share their row, and the next four are one row lower: no lane "
              "shares its column with lane i ^ 1 or i ^ 2, and so B needs all four phases."),
        Wrong("not_all", "lane_x must run from 0 to 7: lane / 8 counts pairs of columns, so it is taken twice."),
        Wrong("traded", "The warp is 4 lanes down and 8 across: lane_y must stay below 4, lane_x below 8."),
    ),
)  # fmt: skip

EXERCISES = (WARP_READS, WARP_PLACE, LANE_MAP)
