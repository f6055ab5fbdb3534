"""Exercises of notebook 09, vectorization: four floats by one instruction, and where alignment forbids it."""

from __future__ import annotations

from functools import cache

import numpy as np

from gemm_kernels import get
from helpers import cycles
from helpers.exercises.framework import goals, texts
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.maps import MapInputs, MapSlip, MatrixMap
from helpers.exercises.framework.pictures import SectorsOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles
from helpers.pictures.budget import facts as budget
from helpers.pictures.budget.facts import Budget
from helpers.pictures.vector_width import explorer as vector_width
from helpers.pictures.vector_width.facts import WIDTHS, Copy, way_of

SCALAR, AT_ONCE = WIDTHS[0], WIDTHS[-1]


def predict_sectors() -> Prediction:
    """Sectors of a warp's copy of 128 floats with float4, where four passes of float take 16. From a recording."""
    copy = Copy()
    before, after = (way_of(width, copy) for width in (SCALAR, AT_ONCE))
    return predict(
        f"Sectors for one request of float4, where {before.requests} requests of float cost {before.cost} together:",
        reasons={
            4: "That is one request of float. But this request moves four times as many bytes.",
            8: "That would be half of the bytes. All 512 are needed.",
            16: "512 bytes are 16 times 32, however many requests ask for them.",
            64: "That would be four times the bytes: a sector would be delivered for every two floats.",
        },
        answer=after.cost,
        picture=lambda: vector_width.picture_of(AT_ONCE, copy),
    )


# --- scaling a vector

LONG = Case({"N": 4099}, alpha=1.25)


# --- two changes in one kernel, taken apart

TAKEN_APART_AT = 2048  # M = N = K, for which vectorized's cycles were recorded


def with_one_change(changed: str) -> str:
    """The source of vectorized_ptx with inline PTX in one of its two functions only; the other loads as C++ does.

    changed: "load4_read_only", from global memory and with a hint, or "load4_shared".
    """
    source = get("vectorized_ptx").source
    plain = {"load4_read_only": ("ld.global.nc", "p"), "load4_shared": ("ld.shared", "&first")}
    ((start, address),) = (operand for name, operand in plain.items() if name != changed)
    before, rest = source.split(f'    float4 v;\n    asm volatile("{start}')
    _, after = rest.split("    return v;\n", 1)
    return f"{before}    return *reinterpret_cast<const float4 *>({address});\n{after}"


@cache
def taken_apart() -> dict[str, Budget]:
    """The predicted cycles of a k-step: vectorized, each of the two changes of vectorized_ptx alone, and both."""
    shape = (TAKEN_APART_AT,) * 3
    launch = get("vectorized_ptx").launch(*shape)
    launches = {
        "vectorized": get("vectorized").launch(*shape),
        "PTX for global memory alone": launch.with_source(with_one_change("load4_read_only")),
        "PTX for shared memory alone": launch.with_source(with_one_change("load4_shared")),
        "vectorized_ptx: both": launch,
    }
    return {name: budget.predicted(cycles.predict(launch), name, shape) for name, launch in launches.items()}


def _scaled(i: MapInputs) -> np.ndarray:
    return i.case.alpha * i.source


FOUR_AT_ONCE = KernelExercise(
    **texts.of("09", "four_at_once"),
    difficulty=1,
    problem=MatrixMap(
        "scale",
        tuple(Case({"N": N}, alpha=2.5 if N == 1022 else 1.25) for N in (512, 2048, 515, 1021, 1022, 7, 3, 1)),
        _scaled,
        (
            MapSlip("alpha is missing.", lambda i: i.source),
        ),
        output="y",
        block=(128, 1),
        block_tile=(1, 512),
        scaled=True,
    ),
    picture=SectorsOf(((2, "ld"), (3, "st")), LONG, "your kernel"),
    goals=(goals.load_requests(36), goals.store_requests(36)),
    judged=LONG,
    wrong=(
        Wrong("starter", "Each request moves one float for each lane, where one of float4 moves four."),
        Wrong("tail_dropped", "The last one to three floats are not written where N is no multiple of four: what "
              "happens to a group that is not whole?"),
        Wrong("beyond_the_end", "Where N is no multiple of four, the last group is not whole, and a float4 reaches "
              "beyond the end: all four floats must exist, i + 3 < N."),
        Wrong("next_float", "Neighbouring threads begin one float apart: their groups overlap, and most of them do "
              "not begin at a multiple of 16 bytes. Begin four floats apart."),
        Wrong("only_multiples_of_four", "A vector is a single row: its groups all begin at multiples of 16 bytes, and "
              "only the last one can lack floats. Asked for N % 4, a vector of 4 099 floats goes float by float as a "
              "whole.",
              (("if (i + 3 < N)", "if (N % 4 == 0 && i + 3 < N)"),)),
        Wrong("counted_in_float4", "The float4 is read from float 4 * i on, not from float i: an index into a "
              "pointer to float4 counts groups of four."),
        Wrong("one_component", "All four floats are made from v.x: the others are v.y, v.z and v.w."),
        Wrong("moved_twice", "Right, but the loop moves the floats of whole groups once more, and is needed for the "
              "group that is not whole: an else is missing.",
              (("    } else {\n        for (int j = i; j < N; ++j)",
                "    }\n    {\n        for (int j = i; j < N && j < i + 4; ++j)"),)),
        Wrong("tail_not_scaled", "alpha is missing in the last group, the one that is not whole."),
        Wrong("tail_to_four", "The loop over the last group counts from i: it must end at N, not at 4.",
              (("j < N; ++j)", "j < 4; ++j) if (j < N)"),), text=r"\b4;"),
    ),
)  # fmt: skip


# --- rows of A

ALIGNED = Case({"M": 16, "N": 32, "K": 60})  # no multiple of 8, which a stricter question would ask for

ALIGNED_ROWS = KernelExercise(
    **texts.of("09", "aligned_rows"),
    difficulty=2,
    problem=Gemm(
        "sgemm_rows", (16, 8), (8, 16), Tiles(BM=8, BN=16),
        shapes=((8, 32, 12), (23, 17, 8), (11, 37, 6), (12, 36, 10), (1, 17, 7), (9, 1, 7), (7, 18, 5), (1, 1, 1)),
    ),
    picture=SectorsOf(((4, "ld"), (5, "ld")), ALIGNED, "your kernel"),
    goals=(goals.load_requests(240, 4, "A"),),
    judged=ALIGNED,
    wrong=(
        Wrong("starter", "If K is no multiple of four, some rows of A begin in the middle of 16 bytes, and a float4 "
              "may not be read there."),
        Wrong("unaligned_groups", "The k that are left are right, but the groups before them are still read as float4, "
              "also where rows do not begin at a multiple of 16 bytes."),
        Wrong("scalar_only", "With K = 60 each load of A brings a thread one float, where one load could bring "
              "it four."),
        Wrong("every_fourth_row", "Right, for row 0, 4, 8, … begins at a multiple of 16 bytes whatever K is. But where "
              "K is a multiple of four, every row does, and three of four are read float by float here.",
              (("K % 4 == 0", "row % 4 == 0"),)),
        Wrong("group_not_whole", "A row that begins at a multiple of 16 bytes need not end in a whole group: all four "
              "floats must be in it, k + 3 < K.",
              (("K % 4 == 0", "reinterpret_cast<size_t>(a) % 16 == 0"), ("k + 3 < K", "k < K"))),
        Wrong("rows_of_N", "The rows of A are K floats long: whether they all begin at multiples of 16 bytes depends "
              "on K, not on N.", (("K % 4 == 0", "N % 4 == 0"),)),
        Wrong("whole_groups_only", "The last K % 4 products are missing: the loop over what is left must run to K."),
        Wrong("same_component", "All four products take v.x: the others are v.y, v.z and v.w."),
        Wrong("same_row_of_B", "All four products take row k of B: the others belong to rows k + 1, k + 2 and k + 3."),
        Wrong("counted_twice", "The loop over what is left begins at 0 again: where K is a multiple of four, "
              "everything is counted twice."),
    ),
)  # fmt: skip


# --- the store of C


WIDE_SHAPE = Case({"M": 64, "N": 128, "K": 16})
NOT_OF_16 = Case({"M": 64, "N": 100, "K": 16})  # rows of whole float4s, but not of 16 floats

MOST_US = 950  # the kernel of notebook 06 takes longer
FOUR_WIDE = Gemm("sgemm", (16, 16), (64, 64), Tiles(BM=64, BN=64, BK=8, TM=4, TN=4), scaled=False,
                 shapes=((64, 128, 16), (64, 100, 8), (128, 67, 24), (64, 130, 8), (64, 1, 16)))  # fmt: skip

WIDE = Blank(
    **texts.of("09", "wide", most_us=MOST_US),
    difficulty=1,
    problem=FOUR_WIDE,
    picture=SectorsOf(((4, "ld"), (5, "st")), WIDE_SHAPE, "your kernel"),
    goals=(goals.load_requests(16, 4, "B"), goals.store_requests(64), goals.at_most_us(FOUR_WIDE, MOST_US)),
    judged=NOT_OF_16,
    before="patch",
    wrong=(
        Wrong("always_wide", "Where N is no multiple of 4, not all rows of B begin at multiples of 16 bytes, and in "
              "the others no float4 may be read."),
        Wrong("never_wide", "Right, but with N = 100 each load of B moves one float of a thread, where one load could "
              "move four."),
        Wrong("one_of_four", "Where the four floats are not loaded at once, only the first of them is loaded."),
        Wrong("same_float", "Where the four floats are not loaded at once, all four are the same one: float i is at "
              "column tile_col + c + i."),
        Wrong("rows_of_K", "Rows of B are N floats long: whether they all begin at multiples of 16 bytes depends on "
              "N alone."),
        Wrong("bytes_for_floats", "16 bytes are four floats: every row begins at a multiple of 16 bytes where N is a "
              "multiple of 4, and this kernel asks for more.",
              (("N % 4 == 0", "N % 16 == 0"),), text=r"\bN % (?:8|16|32|64)\b"),
        Wrong("store_never_wide", "Right, but with N = 100 each store moves one sum of a thread, where one store could "
              "move four."),
        Wrong("store_unguarded", "In the last tile some of the four columns may lie outside C: each float needs its "
              "own question."),
        Wrong("loaded_twice", "Right, but the four floats of B that one instruction has loaded are loaded once more, "
              "one by one: an else is missing.", (("            else\n", ""),)),
        Wrong("stored_twice", "Right, but the four sums that one instruction has stored are stored once more, one by "
              "one: an else is missing.", (("        } else {\n            for", "        } {\n            for"),)),
        Wrong("tail_dropped", "A group of four that is not whole is not stored at all: store those that are inside C."),
        Wrong("loaded_beyond_the_row", "All rows begin at multiples of 16 bytes, and in the last tile a group may lie "
              "behind the end of its row, as a whole: ask for tile_col + c < N, too.",
              (("N % 4 == 0 && tile_col + c < N", "N % 4 == 0"),)),
        Wrong("stored_beyond_the_row", "All rows begin at multiples of 16 bytes, and in the last tile a group may lie "
              "behind the end of its row, as a whole: ask for tile_col + col < N, too.",
              (("            if (tile_col + col < N)\n    ", ""),)),
    ),
)  # fmt: skip

PREDICTIONS = (predict_sectors,)
QUESTIONS = ()
EXERCISES = (WIDE, FOUR_AT_ONCE, ALIGNED_ROWS)
