"""Exercises of notebook 11, warptiling: what a warp's tile saves, and which lanes merge their loads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from gemm_kernels import Kernel, Launch
from gpusim import Kernel as Compiled
from gpusim.compiler import CompileError
from gpusim.errors import SimulatorError
from helpers import measure, run
from helpers.exercises.framework import feedback, goals, integers, texts, trial
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.pictures import BankBoardOf, Drawn, ThreadMapOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case, Guess, Setup
from helpers.exercises.framework.questions import question
from helpers.exercises.framework.slips import Tiles
from helpers.measure.problem import WrongResult
from helpers.pictures import CannotTell, theme
from helpers.pictures.hierarchy import explorer as hierarchy
from helpers.pictures.hierarchy.facts import Loads, levels_of
from helpers.pictures.lane_maps.figure import NO_LANE, LaneMap, warp_maps_figure

PATCH = (8, 4)  # of `check_floats`
TILE = hierarchy.warptiled((128, 128, 64, 32, 8, 8))  # patches of 8 x 8, as in the kernels before, in warp tiles
SIZES = (64, 96, 10)  # M, N, K of the launch that `check_lane_map` compares with NumPy


def predict_floats() -> Prediction:
    """Different floats that a warp of TILE needs at one k. The answer comes from a recording."""
    data = levels_of(hierarchy.shown(TILE))
    return predict(
        "Different floats of A and B that the warp needs at one k, with its threads in 8 rows of 4:",
        reasons={
            512: "16 floats for each of 32 lanes. But lanes of one row need the same floats of A.",
            144: "That is the long strip of 2 × 16 threads: 16 rows and 128 columns. Now the warp has 8 · 8 rows.",
            96: "8 · 8 = 64 rows, so 64 floats of A; 4 · 8 = 32 columns, so 32 floats of B.",
            64: "That is the floats of A, one for each row of the warp's tile. And B?",
        },
        answer=sum(data.needs(0)),
        picture=lambda: hierarchy.picture_of(hierarchy.shown(TILE)),
    )


@question("cheapest_warp_tile", "The cheapest warp tile")
def check_floats(WM: int | None, WN: int | None) -> Verdict:
    """The warp tile for patches of PATCH that needs the fewest different floats at one k."""
    TM, TN = PATCH
    if WM is None or WN is None:
        return Verdict(None, "Not answered yet: put your numbers in place of None and run the cell again.")
    for name, value, side in (("WM", WM, TM), ("WN", WN, TN)):
        if isinstance(value, bool) or not isinstance(value, int):
            return Verdict(False, f"{name} = {value!r} is no int: take a whole number without a point.")
        if value < side or value % side:
            patches = f"but a warp's tile consists of whole patches of {TM} × {TN}: take a multiple of {side}."
            return Verdict(False, f"{name} = {value!r}, {patches}")
    lanes = WM // TM * (WN // TN)
    if lanes != 32:
        return Verdict(False, f"({WM} / {TM}) · ({WN} / {TN}) is {lanes}, but a warp has 32 lanes.")
    fewest = min(TM * down + TN * (32 // down) for down in (1, 2, 4, 8, 16, 32))
    counted = f"{WM} × {WN}: {WM} + {WN} = {WM + WN} floats for {WM * WN} FMAs."
    if fewest == WM + WN:
        return Verdict(True, f"{counted} No warp tile with patches of {TM} × {TN} needs fewer.")
    return Verdict(False, f"{counted} Another one needs fewer: the nearer to a square, the shorter its edges.")


@question("own_lane_map", "A lane map of your own")
def check_lane_map(lane_y: str, lane_x: str, kernel: Kernel = TILE) -> Verdict:
    """A learner's formulas for a lane's place in its warp's tile: compiled, run, compared, counted.

    They are C++ expressions of `lane`, LANES_Y and LANES_X.
    """
    if not isinstance(lane_y, str) or not isinstance(lane_x, str):
        return Verdict(False, 'Give both formulas as text, such as "lane / LANES_X".')
    refusal = _cannot_be(lane_y, lane_x, kernel)
    if refusal:
        return Verdict(False, refusal)
    line = f"lane_y = {lane_y}, lane_x = {lane_x}"
    launch = hierarchy.shown(kernel)
    launch = launch.with_source(launch.source.replace(hierarchy.LANE_MAP, line))
    try:
        wrong = _wrong(kernel.launch(*SIZES).with_source(launch.source))
        if wrong:
            return Verdict(False, wrong)
        data = levels_of(launch)
    except (CompileError, SimulatorError, CannotTell) as error:
        return Verdict(False, feedback.without_launch(str(error).split("\n\n")[0]))
    loads = data.loads[0]
    counted = f"C is right. The loads of A take {_each(loads['As'])} wavefronts each, those of B {_each(loads['Bs'])}."
    if _places(lane_y, lane_x, kernel) == _places(*_ZIGZAG_FORMULAS, kernel):
        return Verdict(
            False, f"{counted} But that is our zigzag: every lane stands where it stands there. Find another."
        )
    if loads["As"].each == loads["Bs"].each == 2:
        return Verdict(True, f"{counted} Both are merged.")
    which = (
        "In each half of the warp lanes i and i ^ 1, or else i and i ^ 2, must all read the same floats for a load to "
        "take two wavefronts."
    )
    return Verdict(None if line == _ROW_BY_ROW else False, f"{counted} {which}")


_ROW_BY_ROW = hierarchy.LANE_MAPS["row by row"]
_ZIGZAG_FORMULAS = tuple(part.partition(" = ")[2] for part in hierarchy.LANE_MAP.split(", "))


def _cannot_be(lane_y: str, lane_x: str, kernel: Kernel) -> str:
    """What is wrong with two formulas that can be seen without the compiler, or nothing."""
    sizes = kernel.params
    down, across = sizes["WM"] // sizes["TM"], sizes["WN"] // sizes["TN"]
    for name, formula, size in (("lane_y", lane_y, down), ("lane_x", lane_x, across)):
        if "//" in formula:
            return f"{name} = {formula}: in C++ // begins a comment. Whole numbers are divided by /."
        threads = np.arange(kernel.threads)
        names = {"lane": (threads % 32).astype(np.uint32), "threadIdx.x": threads, "LANES_Y": down, "LANES_X": across}
        places = integers.value(formula, names)
        outside = [] if places is None else np.flatnonzero(np.broadcast_to(places, threads.shape) // size != 0)
        if len(outside):
            first = int(outside[0])
            which, number = "lane" if first < 32 else "thread", int(np.broadcast_to(places, threads.shape)[first])
            return f"{name} must be 0 … {size - 1}, and {formula} is {number} for {which} {first}."
    return ""


def _places(lane_y: str, lane_x: str, kernel: Kernel) -> list[object]:
    """Where both formulas put the lanes; the formulas themselves where they are more than whole numbers."""
    sizes = kernel.params
    down, across = sizes["WM"] // sizes["TM"], sizes["WN"] // sizes["TN"]
    names = {"lane": np.arange(32), "LANES_Y": down, "LANES_X": across}
    lanes = [integers.value(formula, names) for formula in (lane_y, lane_x)]
    return [
        text if value is None else np.broadcast_to(value, 32).tolist()
        for text, value in zip((lane_y, lane_x), lanes, strict=True)
    ]


def _each(loads: Loads) -> str:
    return f"{loads.each:g}"


def _wrong(launch: Launch) -> str:
    """What is wrong with the C of a launch, or nothing."""
    A, B, C = measure.problem(*launch.shape)
    C.fill(np.nan)
    run.start(run.simulated(launch.source, launch.entry), launch, A, B, C)
    try:
        measure.verify(C, A, B)
    except WrongResult as error:
        missing = int(np.isnan(C).sum())
        if missing:
            return f"{missing} elements of C are computed by no lane: each of the 32 lanes needs a place of its own."
        return str(error)
    return ""


# --- where a warp's tile lies

BM, BN, BK = 64, 32, 8

WARP_PLACE = KernelExercise(
    **texts.of("11", "warp_place"),
    difficulty=2,
    problem=Gemm("sgemm_warp_place", (256,), (BM, BN), Tiles(BM=BM, BN=BN, BK=BK, TM=4, TN=2)),
    picture=ThreadMapOf("C", Case({"M": 2 * BM, "N": BN, "K": 2 * BK}), "your kernel", thread=132),
    wrong=(
        Wrong("starter", "Row and column are both remainders, so that two warps have the same tile, and half of the "
              "tiles have no warp."),
        Wrong("rows_of_four", "A row of warp tiles has BN / WN = 2 of them, not BM / WM = 4: warps reach beyond the "
              "block's tile."),
        Wrong("lanes_by_rows", "A row of lanes has WN / TN = 8 of them, not WM / TM = 4."),
        Wrong("warp_not_scaled", "Warp tiles begin WM rows and WN columns apart, not one."),
        Wrong("lane_not_scaled", "A lane's patch begins TM rows and TN columns after its neighbour's, not one."),
        Wrong("sizes_traded", "TM and TN trade places: a patch has TM rows and TN columns."),
    ),
)  # fmt: skip


# --- which lanes merge their loads

ONE_TILE = Case({"M": 16, "N": 32, "K": 8})

LANE_MAP = KernelExercise(
    **texts.of("11", "lane_map"),
    difficulty=2,
    problem=Gemm("sgemm_lane_map", (32,), (16, 32), Tiles(BM=16, BN=32, BK=8, TM=4, TN=4)),
    picture=BankBoardOf(ONE_TILE, "your kernel", op="ld"),
    goals=(goals.load_wavefronts(32),),
    judged=ONE_TILE,
    wrong=(
        Wrong("starter", "Eight neighbouring lanes lie in one row: A is shared by neighbours, but no lane shares its "
              "column with lane i ^ 1 or i ^ 2, and so B needs all four wavefronts."),
        Wrong("by_columns", "Four neighbouring lanes lie in one column: B is shared by neighbours, but no lane shares "
              "its row with lane i ^ 1 or i ^ 2, and so A needs all four wavefronts."),
        Wrong("rotated", "Each row of lanes is turned, but its eight lanes are still eight neighbours: no lane shares "
              "its column with lane i ^ 1 or i ^ 2, and so B needs all four wavefronts."),
        Wrong("four_rows", "Four neighbouring lanes share their row, and the next four are one row lower: no lane "
              "shares its column with lane i ^ 1 or i ^ 2, and so B needs all four wavefronts."),
        Wrong("not_all", "lane_x must run from 0 to 7: lane / 8 counts pairs of columns, so it must be doubled."),
        Wrong("traded", "The warp is 4 lanes down and 8 across: lane_y must stay below 4, lane_x below 8."),
    ),
)  # fmt: skip


# --- three maps of a warp

LANES = (8, 4)  # rows and columns of lanes
MAP_NAMES = ("row by row", "column by column", "zigzag")


@dataclass(frozen=True)
class ThreeMaps:
    """One warp writes each lane's number where the lane stands, in three maps side by side."""

    entry: str = "three_maps"
    output: str = field(default="P", init=False)
    scalars: tuple[str, ...] = field(default=(), init=False)
    tile: tuple[int, int] = field(default=(LANES[0], len(MAP_NAMES) * LANES[1]), init=False)
    cases: tuple[Case, ...] = (Case({"rows": LANES[0], "columns": len(MAP_NAMES) * LANES[1]}),)

    def prepare(self, case: Case) -> Setup:
        down, across = LANES
        lane = np.arange(down * across)
        places = (
            (lane // across, lane % across),
            (lane % down, lane // down),
            (lane // 2 % down, lane // 2 // down * 2 + lane % 2),
        )
        expected = np.empty(self.tile, np.float32)
        for number, (row, column) in enumerate(places):
            expected[row, number * across + column] = lane
        P = np.full(self.tile, np.nan, np.float32)
        return Setup((1, 1), (down * across,), 0, (P,), P, expected)

    def index(self, index: tuple[int, ...]) -> tuple[int, ...]:
        return index

    def as_matrix(self, output: np.ndarray) -> np.ndarray:
        return output

    def guesses(self) -> Iterator[Guess]:
        return iter(())


def _drawn_maps(kernel: Compiled, problem: ThreeMaps, title: str) -> theme.Figure:
    """The maps as the learner's lanes have drawn them; a lane that stands nowhere is missing."""
    setup = problem.prepare(problem.cases[0])
    trial.launch(kernel, setup)
    maps = np.where(np.isnan(setup.output), NO_LANE, setup.output).astype(int)
    parts = np.split(maps, len(MAP_NAMES), axis=1)
    return warp_maps_figure(
        tuple(map(LaneMap, MAP_NAMES, parts)), f"A warp of {title} draws itself: where each lane stands"
    )


_ZIGZAG = "const int y = lane / 2 % LANES_Y, x = lane / 2 / LANES_Y * 2 + lane % 2;"
_COLUMN_FULL = "After LANES_Y pairs the column is full: the row is the remainder, lane / 2 % LANES_Y."

THREE_MAPS = Blank(
    **texts.of("11", "three_maps"),
    difficulty=1,
    problem=ThreeMaps(),
    picture=Drawn(_drawn_maps),
    wrong=(
        Wrong("rows_of_eight", "Row by row, a row has LANES_X = 4 lanes, not LANES_Y = 8."),
        Wrong("row_and_column_traded", "Row by row, the quotient is the row and the remainder the column; here they "
              "trade places."),
        Wrong("first_by_columns", "The first map is column by column. Row by row, the quotient by LANES_X is the row "
              "and the remainder the column.", (("row = lane / LANES_X, col = lane % LANES_X",
                                         "row = lane % LANES_Y, col = lane / LANES_Y"),)),
        Wrong("one_behind_the_other", "A row of P has 3 * LANES_X = 12 numbers, four of each map: the maps stand side "
              "by side. Here each has rows of its own, one map behind the other.",
              (("row * 3 * LANES_X + col", "row * LANES_X + col"),
               ("down * 3 * LANES_X + LANES_X + across", "32 + down * LANES_X + across"),
               ("y * 3 * LANES_X + 2 * LANES_X + x", "64 + y * LANES_X + x"))),
        Wrong("columns_of_four", "Column by column, a column has LANES_Y = 8 lanes, not LANES_X = 4."),
        Wrong("over_the_first", "The second map begins at column LANES_X of P; here it is drawn over the first one."),
        Wrong("pairs_below", "In each pair one lane stands below the other there: lanes 0 and 1 should share their "
              "row."),
        Wrong("pairs_in_one_place", "Both lanes of a pair stand in the same place: lane % 2 is missing in the column."),
        Wrong("columns_not_doubled", "A pair takes two columns: the quotient by LANES_Y must be doubled."),
        Wrong("lanes_for_pairs", "The pairs go down the rows, so that the row is lane / 2 % LANES_Y; here every lane "
              "goes one row further."),
        Wrong("by_columns_again", "The third map is column by column once more: in the zigzag lanes 0 and 1 share "
              "their row."),
        Wrong("rows_there_and_back", "Every other row runs backwards there. In this zigzag no row does: lanes 0 and 1 "
              "stand side by side, and lanes 2 and 3 below them.",
              ((_ZIGZAG, "const int y = lane / LANES_X, "
               "x = y % 2 ? LANES_X - 1 - lane % LANES_X : lane % LANES_X;"),)),
        Wrong("columns_there_and_back", "Every other column runs upwards there. In this zigzag no column does: lanes "
              "0 and 1 stand side by side, and lanes 2 and 3 below them.",
              ((_ZIGZAG, "const int x = lane / LANES_Y, "
               "y = x % 2 ? LANES_Y - 1 - lane % LANES_Y : lane % LANES_Y;"),)),
        Wrong("pairs_go_up_again", "The second two columns run upwards there: lanes 16 and 17 begin at the top, like "
              "lanes 0 and 1.",
              ((_ZIGZAG, "const int p = lane / 2, x = p / LANES_Y * 2 + lane % 2, "
               "y = p / LANES_Y % 2 ? LANES_Y - 1 - p % LANES_Y : p % LANES_Y;"),)),
        Wrong("row_by_row_again", "The third map is row by row once more: lanes 2 and 3 stand below lanes 0 and 1, "
              "not beside them.",
              ((_ZIGZAG, "const int y = lane / LANES_X, x = lane % LANES_X;"),)),
        Wrong("squares_of_four", "Lanes 4 to 7 stand beside lanes 0 to 3 there; the zigzag goes down the whole two "
              "columns first.",
              ((_ZIGZAG, "const int q = lane / 4, "
               "y = q / 2 * 2 + lane / 2 % 2, x = q % 2 * 2 + lane % 2;"),)),
        Wrong("lanes_counted", "The quotient by LANES_Y counts the pairs, lane / 2 / LANES_Y: here it counts the "
              "lanes, so that x goes to 7.",
              ((_ZIGZAG, "const int y = lane / 2 % LANES_Y, x = lane / LANES_Y * 2 + lane % 2;"),)),
        Wrong("third_too_far", "The third map begins at column 2 * LANES_X = 8 of P, for there are two maps before it.",
              (("2 * LANES_X + x", "3 * LANES_X + x"),)),
        Wrong("from_one", "Lanes are numbered from 0: the number of a lane is lane, not lane + 1.",
              (("= lane;\n", "= lane + 1;\n"),), text=r"= \w+ \+ 1 ?;"),
        Wrong("columns_of_four_pairs", "In the zigzag a column of pairs has LANES_Y = 8 of them, not LANES_X = 4.",
              ((_ZIGZAG, "const int y = lane / 2 % LANES_X, "
               "x = lane / 2 / LANES_X * 2 + lane % 2;"),)),
        Wrong("first_columns_twice", "Lanes 16 and 17 stand where lanes 0 and 1 do: after LANES_Y pairs the column "
              "moves on by two.",
              ((_ZIGZAG, "const int y = lane / 2 % LANES_Y, x = lane % 2;"),)),
        Wrong("no_end_of_the_column", _COLUMN_FULL,
              ((_ZIGZAG, "const int y = lane / 2, x = lane % 2;"),)),
        Wrong("row_beyond_the_column", _COLUMN_FULL,
              ((_ZIGZAG, "const int y = lane / 2, x = lane / 2 / LANES_Y * 2 + lane % 2;"),)),
        Wrong("pairs_turned_round", "In each pair the two lanes have changed places: lane % 2 is the column of a lane "
              "inside its pair.",
              ((_ZIGZAG, "const int y = lane / 2 % LANES_Y, "
               "x = lane / 2 / LANES_Y * 2 + 1 - lane % 2;"),)),
    ),
)  # fmt: skip


# --- the whole warp tile

WARP_TILE = Blank(
    **texts.of("11", "warp_tile"),
    difficulty=2,
    problem=Gemm("sgemm", (256,), (64, 64), Tiles(BM=64, BN=64, BK=8, TM=4, TN=4), scaled=False,
                 shapes=((64, 128, 24), (128, 192, 8), (64, 64, 16))),
    picture=ThreadMapOf("C", Case({"M": 64, "N": 64, "K": 8}), "your kernel", thread=100),
    goals=(goals.rows_and_columns_of_a_warp((64, 64), 48), goals.load_wavefronts(768)),
    judged=Case({"M": 64, "N": 64, "K": 16}),
    before="turned",
    wrong=(
        Wrong("no_warp_tiles", "Every patch has its thread, but a warp takes two whole rows of patches, 8 × 64 "
              "elements, and so reads more of B than a tile of 16 × 32 needs."),
        Wrong("warps_down", "A row of warp tiles has BN / WN = 2 of them, not BM / WM = 4."),
        Wrong("quotient_by_BM", "The row of a warp's tile is the quotient by the warp tiles in a row, BN / WN = 2. "
              "BM / WM = 4 is how many of them stand below each other.",
              (("warp / (BN / WN) * WM", "warp / (BM / WM) * WM"),)),
        Wrong("divided_by_size", "Divide the number of the warp by how many warp tiles stand in a row, BN / WN, not by "
              "how many elements do.", (("warp / (BN / WN)", "warp / BN"), ("warp % (BN / WN)", "warp % BN"))),
        Wrong("tiles_turned", "A warp's tile has WM rows and WN columns; here its row is counted in WN and its column "
              "in WM.", (("warp / (BN / WN) * WM", "warp / (BN / WN) * WN"),
                         ("warp % (BN / WN) * WN", "warp % (BN / WN) * WM"))),
        Wrong("strewn", "C is right, but the 32 threads of a warp are neighbours in number: their warp is thread / 32. "
              "With thread % 8 the threads of each warp are strewn over all eight warp tiles, where their loads meet "
              "in the same banks.", (("thread / 32, lane = thread % 32", "thread % 8, lane = thread / 8"),)),
        Wrong("lanes_down", "A row of lanes has WN / TN = 8 of them, not WM / TM = 4."),
        Wrong("lane_remainder_by_WM", "The column of a lane's patch is the remainder by the patches in a row, "
              "WN / TN = 8. WM / TM = 4 is how many of them stand below each other.",
              (("lane % (WN / TN)", "lane % (WM / TM)"),)),
        Wrong("tile_twice", "row and col are places inside the block's tile: tile_row and tile_col are added where A, "
              "B and C are indexed.",
              (("row = warp_row", "row = tile_row + warp_row"), ("col = warp_col", "col = tile_col + warp_col")),
              text=r"\w \+?= tile_(?:row|col)\b"),
        Wrong("thread_for_lane", "A lane's patch is found by its number in the warp, thread % 32; by thread itself the "
              "warp is counted twice.", (("lane / (WN", "thread / (WN"), ("lane % (WN", "thread % (WN"))),
        Wrong("warp_unscaled", "Warp tiles begin WM rows and WN columns apart, not one."),
        Wrong("lane_unscaled", "A lane's patch begins TM rows and TN columns after its neighbour's, not one."),
        Wrong("warp_from_lane", "The warp is thread / 32 and the lane is thread % 32; here the two trade places."),
        Wrong("warp_forgotten", "All warps compute the same warp tile: the warp's own place is missing."),
        Wrong("no_second_barrier", "A warp that is done may load the next tiles while others still read these: a "
              "barrier belongs at the end of the loop, too."),
        Wrong("not_transposed", "As is filled as if it were not transposed: the first index is k, the second the row."),
        Wrong("fragments_traded", "The rows of my patch choose the floats of A, its columns those of B: row belongs to "
              "As, col to Bs."),
        Wrong("first_k_alone", "Each k of the tile has floats of its own: As[k] and Bs[k], not As[0] and Bs[0]."),
    ),
)  # fmt: skip


PREDICTIONS = (predict_floats,)
QUESTIONS = (check_floats, check_lane_map)
EXERCISES = (THREE_MAPS, WARP_TILE, WARP_PLACE, LANE_MAP)
