"""Questions of notebook 10: what a warp's tile saves, and where its lanes must lie so that their loads are merged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gemm_kernels import Kernel
from helpers import measure, simulator
from helpers.compiler import CompileError
from helpers.draw.hierarchy import Loads
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.progress import noted
from helpers.explore import hierarchy
from helpers.explore.hierarchy import LANE_MAP, ZIGZAG, Tiled
from helpers.explore.live import CannotShow
from helpers.measure.problem import WrongResult
from helpers.simulator.errors import SimulatorError

TILE = hierarchy.warptiled((128, 128, 64, 32, 8, 8))  # patches of 8 x 8, as in the kernels before, in warp tiles
SMALL = hierarchy.warptiled((64, 64, 16, 32, 4, 4))  # of `check_wavefronts`
SIZES = (64, 96, 10)  # M, N, K of the launch that `check_lane_map` holds against NumPy


def predict_floats() -> Prediction:
    """Different floats that a warp of TILE needs at one k. The answer comes from a recording."""
    data, _ = hierarchy.levels_of(Tiled.of(TILE))
    return predict(
        "Different floats of A and B that the warp needs at one k, with its lanes as 8 × 4 threads:",
        reasons={
            512: "16 floats for each of 32 lanes. But lanes of one row need the same floats of A.",
            144: "That is the long strip of 2 × 16 threads: 16 rows and 128 columns. Now the warp has 8 · 8 rows.",
            96: "8 · 8 = 64 rows, so 64 floats of A; 4 · 8 = 32 columns, so 32 floats of B.",
            64: "That is the floats of A, one for each row of the warp's tile. And B?",
        },
        answer=sum(data.needs(0)),
        picture=lambda: hierarchy.picture_of(Tiled.of(TILE)),
    )


@noted("cheapest_warp_tile")
def check_floats(WM: int | None, WN: int | None) -> Verdict:
    """The warp tile for patches of 8 x 8 that needs the fewest different floats at one k; two of them are best."""
    if WM is None or WN is None:
        return Verdict(None, "Not answered yet: put your numbers in place of None and run the cell again.")
    for name, value in (("WM", WM), ("WN", WN)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 8 or value % 8:
            return Verdict(False, f"{name} = {value!r}, but a warp's tile consists of whole patches of 8 × 8: try 8.")
    lanes = WM // 8 * (WN // 8)
    if lanes != 32:
        return Verdict(False, f"({WM} / 8) · ({WN} / 8) = {lanes} threads, but a warp has 32 lanes.")
    fewest = min(8 * (down + 32 // down) for down in (1, 2, 4, 8, 16, 32))
    told = f"{WM} × {WN}: {WM} + {WN} = {WM + WN} floats for {WM * WN} FMAs."
    if fewest == WM + WN:
        return Verdict(True, f"{told} No warp tile with patches of 8 × 8 needs fewer.")
    return Verdict(False, f"{told} Another one needs fewer: the nearer to a square, the shorter its edges.")


@noted("wavefronts_row_by_row")
def check_wavefronts(answer: float | None) -> Verdict:
    """Wavefronts of a warp of SMALL at one k, lanes row by row."""
    costs = {}
    for name in hierarchy.LANE_MAPS:
        data, _ = hierarchy.levels_of(hierarchy.with_lane_map(Tiled.of(SMALL), name))
        costs[name] = {tile: one.wavefronts for tile, one in data.loads[0].items()}
    expected, zigzag = sum(costs["row by row"].values()), sum(costs[ZIGZAG].values())
    return check_number(
        answer,
        expected,
        unit="wavefronts",
        because="Lanes i and i ^ 1, and so on along a row, share their row: the load of A is merged. No two neighbours "
        "share a column, and lanes i and i ^ 2 do not either: the load of B takes all four quarter-warps.",
        slips=(
            Slip(zigzag, "That is the zigzag. Row by row, do lanes i and i ^ 2 share a column?"),
            Slip(costs["row by row"]["Bs"], "That is one of the two loads alone."),
            Slip(8, "That is both loads without any merging. Do lanes 0 and 1 read the same floats of A?"),
            Slip(2, "That is the number of loads. A load of 128 bits takes two wavefronts or four."),
        ),
    )


@noted("own_lane_map")
def check_lane_map(lane_y: str, lane_x: str, kernel: Kernel = TILE) -> Verdict:
    """A learner's formulas for a lane's place in its warp's tile: compiled, run, compared, counted.

    They are C++ expressions of `lane`, LANES_Y and LANES_X.
    """
    if not isinstance(lane_y, str) or not isinstance(lane_x, str):
        return Verdict(False, 'Give both formulas as text, such as "lane / LANES_X".')
    line = f"lane_y = {lane_y}, lane_x = {lane_x}"
    tiled = Tiled.of(kernel)
    program = replace(tiled.staged.program, source=kernel.source.replace(LANE_MAP, line))
    try:
        wrong = _wrong(program.source, kernel)
        if wrong:
            return Verdict(False, wrong)
        data, _ = hierarchy.levels_of(replace(tiled, staged=replace(tiled.staged, program=program)))
    except (CompileError, SimulatorError, CannotShow) as error:
        return Verdict(False, str(error).split("\n\n")[0])
    loads = data.loads[0]
    told = f"C is right. The loads of A take {_each(loads['As'])} wavefronts each, those of B {_each(loads['Bs'])}."
    if loads["As"].each == loads["Bs"].each == 2:
        return Verdict(True, f"{told} Both are merged.")
    which = "Lanes i and i ^ 1, or else i and i ^ 2, must all read the same floats for a load to be merged."
    return Verdict(None if line == _ROW_BY_ROW else False, f"{told} {which}")


_ROW_BY_ROW = hierarchy.LANE_MAPS["row by row"]


def _each(loads: Loads) -> str:
    return f"{loads.each:g}"


def _wrong(source: str, kernel: Kernel) -> str:
    """What is wrong with the C of a launch, or nothing."""
    M, N, K = SIZES
    A, B, _ = measure.problem(M, N, K)
    function = simulator.RawModule(code=source, name_expressions=[kernel.entry]).get_function(kernel.entry)
    C = np.full((M, N), np.nan, np.float32)
    args = (np.int32(M), np.int32(N), np.int32(K), np.float32(1), A, B, np.float32(0), C)
    function(kernel.grid(M, N), kernel.block, args, shared_mem=kernel.shared_bytes)
    try:
        measure.verify(C, A, B)
    except WrongResult as error:
        missing = int(np.isnan(C).sum())
        if missing:
            return f"{missing} elements of C are computed by nobody: each of the 32 lanes needs a place of its own."
        return str(error)
    return ""
