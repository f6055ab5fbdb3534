"""The second capstone: of each row of A · B its maximum and its sum of exponentials, fused in the same way."""

from __future__ import annotations

from helpers.exercises.framework import goals, texts
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.pictures import Drawn
from helpers.exercises.framework.problems import Case
from helpers.exercises.n17 import pictures
from helpers.exercises.n17.matrices import EXPONENT, RowStatistics

CASES = tuple(
    Case(dict(zip("MNK", shape, strict=True)))
    for shape in ((32, 64, 4), (40, 70, 9), (64, 128, 12), (1, 1, 1), (1, 130, 6))
)
CASES += (Case({"M": 67, "N": 1, "K": 8, EXPONENT: 100}),)  # elements that no finite maximum to begin with is below

# Two mistakes that leave the same.
OLD_SUM = (
    "The old sum was made with the old maximum: multiply it by exp2f(old - new), before the maximum is overwritten."
)
ALONE = "An element alone is its own maximum, so its power is exp2(0) = 1."

ROW_STATISTICS = Blank(
    **texts.of("17", "row_statistics"),
    difficulty=3,
    problem=RowStatistics("row_statistics", CASES),
    picture=Drawn(pictures.of_row_lanes),
    goals=(goals.store_sectors(300),),
    judged=Case({"M": 64, "N": 128, "K": 8}),
    wrong=(
        Wrong("not_rescaled", OLD_SUM,
              (("soft.sum * exp2f(soft.most - most)", "soft.sum"),)),
        Wrong("other_not_rescaled", "The other sum was made with its own maximum: multiply it by exp2f(other.most - "
              "most).",
              (("other.sum * exp2f(other.most - most)", "other.sum"),)),
        Wrong("upside_down", "The sum must become smaller when the maximum grows: old - new, not new - old.",
              (("exp2f(soft.most - most)", "exp2f(most - soft.most)"),)),
        Wrong("maximum_stays", "The new maximum is not kept.", (("    soft.most = most;\n", ""),)),
        Wrong("kept_too_early", OLD_SUM,
              (("    soft.sum = soft.sum", "    soft.most = most;\n    soft.sum = soft.sum"),)),
        Wrong("nothing_and_nothing", "Where both sides are empty, -INFINITY - (-INFINITY) is NaN, and stays: return.",
              (("    if (most == -INFINITY) return;\n", ""),)),
        Wrong("base_e", "The sum is of powers of two, not of e: exp2f.", (("exp2f", "expf"),)),
        Wrong("zero_for_nothing", "A maximum that begins at 0 is larger than every negative element: begin at "
              "-INFINITY.",
              (("Soft soft = {-INFINITY, 0.0f}", "Soft soft = {0.0f, 0.0f}"),)),
        Wrong("element_for_one", ALONE,
              (("{acc[y][x], 1.0f}", "{acc[y][x], exp2f(acc[y][x])}"),)),
        Wrong("nothing_for_one", ALONE, (("{acc[y][x], 1.0f}", "{acc[y][x], 0.0f}"),)),
        Wrong("itself_for_one", ALONE, (("{acc[y][x], 1.0f}", "{acc[y][x], acc[y][x]}"),)),
        Wrong("one_for_all_rows", "The maximum and the sum of one row go on into the next: each row begins with "
              "nothing, inside of the loop over y.",
              (("    for (int y = 0; y < TM; ++y) {\n        Soft soft = {-INFINITY, 0.0f};\n",
                "    Soft soft = {-INFINITY, 0.0f};\n    for (int y = 0; y < TM; ++y) {\n"),)),
        Wrong("half_of_the_lanes", "The upper 8 of the 16 lanes of a row are never joined: the first offset is 8.",
              (("offset = 8", "offset = 4"),)),
        Wrong("maximum_not_joined", "The other lanes' sums are joined without their maximum: join both as one Soft.",
              (("join(soft, {most, sum})", "join(soft, {most, 0.0f});\n            join(soft, {-INFINITY, sum})"),)),
        Wrong("no_edge", "Right of the last column C has no elements: ask for first_col + x < N.",
              (("            if (first_col + x < N) join", "            join"),)),
        Wrong("all_lanes", "32 lanes have two different rows: 16 lanes share one, so the first offset is 8.",
              (("offset = 8", "offset = 16"),)),
        Wrong("one_step_short", "The last step, with offset 1, is missing.", (("offset > 0", "offset > 1"),)),
        Wrong("late_shuffle", "The sum is fetched after the other lane's maximum may have changed: shuffle both, "
              "then join.",
              (("            const float sum = __shfl_down_sync(FULL, soft.sum, offset);\n", ""),
               ("join(soft, {most, sum})", "join(soft, {most, 0.0f});\n            join(soft, {most, "
                "__shfl_down_sync(FULL, soft.sum, offset)})"))),
        Wrong("no_last_row", "Below the last row there is nothing to store: ask for row < M.", ((" && row < M", ""),)),
        Wrong("one_lane_of_32", "A warp has two rows at a time: lanes 0 and 16 store.",
              (("threadIdx.x % 16 == 0", "threadIdx.x % 32 == 0"),)),
    ),
)  # fmt: skip
