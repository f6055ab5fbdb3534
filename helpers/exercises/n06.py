"""Exercises of notebook 06, register tiling: a strip per thread, a patch per thread, and tile sizes that pay."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from gemm_kernels import get
from gpusim import devices
from gpusim.compiler import compile as compile_kernel
from gpusim.occupancy import occupancy
from helpers import recordings
from helpers.exercises.framework import goals, slips, texts
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.pictures import TilePhasesOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles
from helpers.exercises.framework.values import ValueExercise, WrongValue, written
from helpers.measure.performance import performance
from helpers.pictures import bars, theme
from helpers.pictures.register_tile import explorer as register_tile
from helpers.pictures.register_tile.facts import tile_of
from helpers.pictures.register_tile.figure import register_tile_figure
from helpers.pictures.traffic import shared_loads_per_fma
from helpers.recordings.measurement import Measurement
from helpers.recordings.suites import TILES_SIZE

COLUMN = get("block_tile_1d", BM=64, BN=64, BK=8, TM=8)
SMALL, MEDIUM = 256, 1024  # M = N = K of the prediction about a small C, and of one that lies between


def predict_loads() -> Prediction:
    """Floats that a thread with eight elements of one column reads at a step k. The answer comes from a recording."""
    launch = register_tile.shown(COLUMN)
    reads = tile_of(launch, 0).reads[0]
    return predict(
        "Floats that the thread must read from shared memory at one k, for its 8 FMAs:",
        reasons={
            16: "Two for each FMA: that would be eight threads with one element each. Do the FMAs share a factor?",
            9: "One float of A for each of the 8 rows, and a single float of B, because all 8 are in one column.",
            8: "That is the floats of A, one for each row. And B?",
            2: "All 8 elements share the float of B. But each of them is in a row of its own.",
        },
        answer=len(reads),
        picture=lambda: register_tile.picture_of(register_tile.Choice(launch)),
    )


def predict_small() -> Prediction:
    """How fast the 2-D block tile is beside the kernel with one element per thread where C is small, as recorded."""
    single, many = get("shared_memory"), get("block_tile_2d")
    large, medium, small = (
        recordings.gflops(many, *(size,) * 3).gflops / recordings.gflops(single, *(size,) * 3).gflops
        for size in (4096, MEDIUM, SMALL)
    )
    few, several = (math.prod(kernel.grid(SMALL, SMALL)) for kernel in (many, single))
    sms = devices.DEFAULT.sms
    options = {f"{large:.1f} times as fast": large, "twice as fast": 2, "as fast": 1, "a quarter as fast": 1 / 4}
    reasons = (
        "A thread reads an eighth of the floats per FMA at every size. But how many tiles of 128 × 128 has C?",
        f"With {MEDIUM}, where C has {math.prod(many.grid(MEDIUM, MEDIUM))} tiles for {sms} SMs, it is {medium:.1f} "
        f"times as fast. Here C has {few}.",
        f"block_tile_2d has {few} blocks here, and shared_memory {several}. With a block of block_tile_2d an SM would "
        f"have to be {several // few} times as fast.",
        f"C has {few} tiles of 128 × 128, so {few} of {sms} SMs have a block; shared_memory has {several} blocks.",
    )
    return predict(
        f"With M = N = K = 4096 block_tile_2d is {large:.1f} times as fast as shared_memory. With {SMALL} it is",
        reasons=dict(zip(options, reasons, strict=True)),
        answer=min(options, key=lambda option: abs(options[option] - small)),
    )


TILE = {"BM": 64, "BN": 64}  # of the patches that are compared
PATCHES = ((2, 16), (4, 8), (4, 16), (8, 8), (8, 16))  # TM = TN and BK; 2 × 2 has too many threads for a BK of 8


def patches() -> list[bars.Bar]:
    """GFLOPS of square patches with tiles of two depths, measured here on a GPU and else recorded."""
    return [bars.Bar(f"{side} × {side}, BK {depth}", _patch_speed(side, depth).gflops) for side, depth in PATCHES]


def patches_figure() -> theme.Figure:
    """The bars of `patches`."""
    source = _patch_speed(*PATCHES[0]).label
    return bars.gflops_figure(patches(), f"Patches in a tile of 64 × 64: M = N = K = {TILES_SIZE}", source)


@cache
def _patch_speed(side: int, depth: int) -> Measurement:
    kernel = get("block_tile_2d", **TILE, BK=depth, TM=side, TN=side)
    return performance(kernel, TILES_SIZE, TILES_SIZE, TILES_SIZE).measurement


def predict_depth() -> Prediction:
    """What a tile that is twice as deep gains, with patches of 8 × 8. The answer was recorded."""
    shallow, deep = (
        recordings.gflops(get("block_tile_2d", **TILE, BK=depth, TM=8, TN=8), *(TILES_SIZE,) * 3).gflops
        for depth in (8, 16)
    )
    return predict(
        f"A tile of 64 × 64 with patches of 8 × 8 gets BK = 16 in place of 8. At M = N = K = {TILES_SIZE} it is",
        reasons={
            "slower": "The tiles take twice the shared memory, but that is not what limits the blocks on an SM here.",
            "as fast as before": "The loads and the products are the same. But all warps of a block wait at each "
            "barrier for the last one, and there are half as many barriers.",
            "a few per cent faster": f"By {deep / shallow - 1:.0%}: the same loads and products, in half as many "
            "iterations with half as many barriers.",
            "twice as fast": "That would be so if a block did nothing but wait at its barriers.",
        },
        answer="a few per cent faster",
        picture=patches_figure,
    )


PATCH_CASE = Case({"M": 32, "N": 64, "K": 24})

OUTER_PRODUCT = KernelExercise(
    **texts.of("06", "outer_product"),
    difficulty=2,
    problem=Gemm("sgemm_patch", (64,), (32, 32), Tiles(BM=32, BN=32, BK=8, TM=4, TN=4)),
    picture=TilePhasesOf(PATCH_CASE, "your kernel", block=(0, 0, 0), phase=0, thread=10),
    goals=(goals.floats_loaded(3072),),
    judged=PATCH_CASE,
    wrong=(
        Wrong("starter", "The fragment of B begins one column after that of the thread to the left; its patch "
              "begins at col, TN columns after the patch to the left."),
        Wrong("columns_apart", "The columns that are read lie BN / TN apart, the columns that are stored are "
              "neighbours: both must be the same."),
        Wrong("a_stands_still", slips.sentence("one_row_of_A")),
        Wrong("b_stands_still", slips.sentence("one_column_of_B")),
        Wrong("traded", slips.sentence("patch_flipped")),
        Wrong("diagonal", "acc[y][x] takes the element of B that belongs to y: a_frag goes with y, b_frag with x."),
        Wrong("replaced", "Each k replaces the sum (=) instead of adding to it (+=)."),
    ),
)  # fmt: skip


# --- tile sizes

LADDER_KERNEL = "block_tile_2d"
H200 = devices.DEFAULT
MOST_LOADS, LEAST_OCCUPANCY = 0.25, 0.25
GUESS = {"BM": 64, "BN": 64, "BK": 8, "TM": 4, "TN": 4}


def _judge_tiles(params: Any) -> Verdict:
    """Few loads for an FMA, no spills, and enough warps on an SM."""
    if not isinstance(params, Mapping) or any(not isinstance(name, str) for name in params):
        return Verdict(False, f"The tile sizes are a dict such as {written(GUESS)}, not {params!r}.")
    if not params:
        return Verdict(False, f"Name the tile sizes, such as {written(GUESS)}.")
    kernel = get(LADDER_KERNEL, **params)
    loads = shared_loads_per_fma(kernel.params["TM"], kernel.params["TN"])
    compiled = compile_kernel(kernel.source, kernel.entry)
    taken = occupancy(H200, kernel.threads, compiled.registers, compiled.shared_bytes)
    text = (
        f"{loads:.2f} floats per FMA (at most {MOST_LOADS:g}); {compiled.registers} registers, {kernel.threads} "
        f"threads per block: {100 * taken.fraction:.0f} % occupancy on an H200 (at least {100 * LEAST_OCCUPANCY:.0f} %)"
    )
    if compiled.local_bytes:
        return Verdict(False, f"{text}; {compiled.local_bytes} bytes per thread are kept in memory, not in registers.")
    if loads > MOST_LOADS:
        TM, TN = kernel.params["TM"], kernel.params["TN"]
        return Verdict(False, f"{text}. A patch of {TM} × {TN} reads {TM + TN} floats for {TM * TN} FMAs.")
    if taken.fraction < LEAST_OCCUPANCY:
        return Verdict(False, f"{text}. {goals.what_fits(taken)}.")
    return Verdict(True, f"{text}: done.")


def _tile_picture(params: Mapping[str, int]) -> theme.Figure:
    """What a thread with these tile sizes reads and computes in one step."""
    kernel = get(LADDER_KERNEL, **params)
    return register_tile_figure(tile_of(register_tile.shown(kernel), 0))


PATCH_SIZE = ValueExercise(
    **texts.of("06", "patch_size"),
    difficulty=2,
    variable="tiles",
    starter=GUESS,
    solved={"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8},
    because="8 × 8: 16 floats for 64 FMAs, and 128 registers per thread.",
    judge=_judge_tiles,
    wrong=(
        WrongValue({"BM": 64, "BN": 64, "BK": 8, "TM": 8, "TN": 4}, "0.38 floats per FMA"),
        WrongValue({"BM": 32, "BN": 32, "BK": 8, "TM": 2, "TN": 2}, "1.00 floats per FMA"),
        WrongValue({"BM": 128, "BN": 128, "BK": 8, "TM": 16, "TN": 8}, "so 2\u00a0blocks of 4\u00a0warps fit"),
        WrongValue({"BM": 100, "BN": 128, "BK": 8, "TM": 8, "TN": 8}, "BM must be a multiple of TM"),
        WrongValue({"BM": 256, "BN": 256, "BK": 8, "TM": 4, "TN": 4}, "must be at most 1024"),
        WrongValue({"BM": 128, "BN": 128, "BK": 8, "TM": 8, "WN": 8}, "has no parameter WN"),
    ),
    picture=_tile_picture,
)  # fmt: skip


STRIP = Blank(
    **texts.of("06", "strip"),
    difficulty=1,
    problem=Gemm("sgemm", (32, 8), (32, 32), Tiles(BM=32, BN=32, BK=8, TM=4), scaled=False,
                 shapes=((32, 64, 24), (64, 32, 16), (32, 32, 8), (96, 64, 40))),
    picture=TilePhasesOf(Case({"M": 64, "N": 64, "K": 24}), "your kernel"),
    goals=(goals.shared_loads_per_fma(0.60), goals.floats_loaded(2048), goals.strip_of_a_thread((32, 32), 4)),
    judged=Case({"M": 32, "N": 32, "K": 32}),
    before="tiled",
    wrong=(
        Wrong("rows_apart", "Thread y has rows y * TM to y * TM + 3 of the tile, but reads rows y to y + 3 of As."),
        Wrong("one_sum", "All products go to the first sum: row i has its own, sums[i]."),
        Wrong("same_row", slips.sentence("one_row_of_A")),
        Wrong("b_from_row", "Bs is read at (y, x), which is where the thread stored: the product of k needs Bs[k][x]."),
        Wrong("too_few_k", "A tile has BK = 8 k, and the loop over k ends after TM = 4 of them."),
        Wrong("no_second_barrier", "A warp that is done loads the next tiles while others still read these: a barrier "
              "belongs at the end of the loop, too."),
        Wrong("one_row_loaded", "As[a_row][a_k] is filled from row y of the tile of A, and it should be row a_row: "
              "what a thread loads is not what it computes."),
        Wrong("stores_apart", "The thread computes four rows that are neighbours, but stores them BK rows apart."),
        Wrong("stores_one", slips.sentence("one_row_of_patch")),
        Wrong("rows_eight_apart", "Right, but the four elements of a thread lie BK rows apart. They should lie one "
              "below the other: thread y has rows y * TM to y * TM + 3.", (("y * TM + i", "y + BK * i"),)),
        Wrong("strips_overlap", "Thread y begins at row y, and thread y + 1 only one row below: their strips "
              "overlap, and most rows of the tile belong to no thread. It must begin at row y * TM.",
              (("y * TM + i", "y + i"),)),
        Wrong("stores_overlap", "The thread computes rows y * TM to y * TM + 3 and stores to rows y to y + 3, where "
              "its neighbours store, too.", (("tile_row + y * TM + i", "tile_row + y + i"),)),
        Wrong("strips_of_x", "The strip's rows are counted from x: thread (x, y) has column x, and its rows begin at "
              "y * TM.", (("y * TM + i", "x * TM + i"),)),
        Wrong("stores_along", "The four elements lie one below the other: i belongs to the row, not to the column."),
    ),
)  # fmt: skip

OF_A = "A row of A's tile has BK floats, so element i is in row i / BK, at k = i % BK."
OF_B = "A row of B's tile has BN floats, so element i is at k = i / BN, in column i % BN."

PATCH = Blank(
    **texts.of("06", "patch"),
    difficulty=2,
    problem=Gemm("sgemm", (16, 16), (64, 64), Tiles(BM=64, BN=64, BK=8, TM=4, TN=4), scaled=False,
                 shapes=((64, 128, 24), (128, 192, 8), (64, 64, 16))),
    picture=TilePhasesOf(Case({"M": 128, "N": 128, "K": 24}), "your kernel"),
    goals=(goals.shared_loads_per_fma(0.45), goals.floats_loaded(2048)),
    judged=Case({"M": 64, "N": 64, "K": 16}),
    before="strip",
    wrong=(
        Wrong("patches_overlap", "A patch is four rows and four columns: thread (x, y) begins at row y * TM, column "
              "x * TN."),
        Wrong("half_loaded", "256 threads load 256 elements of each tile, and a tile has 512: each thread must load "
              "two of each."),
        Wrong("no_second_barrier", "No thread waits between the last read of a tile and the next load over it."),
        Wrong("diagonal_alone", "Only the four products on the diagonal are there: each a[i] meets every b[j]."),
        Wrong("widths_swapped", "Element i of the A tile is stored at As[i % BM][i / BM]; it belongs to "
              "As[i / BK][i % BK]."),
        Wrong("b_at_row", "The floats of Bs are taken from column `row`; the patch's columns begin at `col`."),
        Wrong("no_fragments", "Every product reads both of its factors from shared memory again: first copy the "
              "floats of one k into a[] and b[]."),
        Wrong("stores_traded", slips.sentence("patch_flipped")),
        Wrong("stores_without_tile_col", "All blocks of a row store to the same columns of C: tile_col, the column "
              "where the block's tile begins, is missing in the store.",
              (("tile_col + col + j]", "col + j]"),)),
        Wrong("stores_without_tile_row", "All blocks of a column store to the same rows of C: tile_row, the row where "
              "the block's tile begins, is missing in the store.", (("(tile_row + row + i)", "(row + i)"),)),
        Wrong("first_columns_alone", "All blocks of a row compute the same tile of C: its first column is tile_col = "
              "blockIdx.x * BN.", (("tile_col = blockIdx.x * BN", "tile_col = 0"),)),
        Wrong("first_rows_alone", "All blocks of a column compute the same tile of C: its first row is "
              "tile_row = blockIdx.y * BM.", (("tile_row = blockIdx.y * BM", "tile_row = 0"),)),
        Wrong("tile_not_scaled", "Tiles begin one column apart; the next one must begin BN columns further: "
              "tile_col = blockIdx.x * BN.",
              (("tile_col = blockIdx.x * BN", "tile_col = blockIdx.x"),)),
        Wrong("loads_my_rows", "The rows of A are counted from the patch of this thread, tile_row + row. All threads "
              "load for the whole tile: element i is in row tile_row + i / BK.",
              (("(tile_row + i / BK)", "(tile_row + row + i / BK)"),)),
        Wrong("loads_my_columns", "The columns of B are counted from the patch of this thread, tile_col + col. All "
              "threads load for the whole tile: element i is in column tile_col + i % BN.",
              (("tile_col + i % BN]", "tile_col + col + i % BN]"),)),
        Wrong("A_loaded_traded", f"{OF_A} In what is read from A the two have changed places.",
              (("(tile_row + i / BK) * K + k0 + i % BK", "(tile_row + i % BK) * K + k0 + i / BK"),)),
        Wrong("A_loaded_by_BM", f"{OF_A} BM is the number of rows, not their length.",
              (("(tile_row + i / BK) * K + k0 + i % BK", "(tile_row + i / BM) * K + k0 + i % BM"),)),
        Wrong("k_of_A_by_BM", f"{OF_A} The column is i % BM, which runs far beyond the tile.",
              (("k0 + i % BK]", "k0 + i % BM]"),)),
        Wrong("A_loaded_with_N", slips.sentence("A_width_N"), (("i / BK) * K", "i / BK) * N"),)),
        Wrong("A_kept_traded", "As has BM rows of BK floats: element i belongs to As[i / BK][i % BK]. Here its two "
              "indices have changed places.", (("As[i / BK][i % BK]", "As[i % BK][i / BK]"),)),
        Wrong("B_loaded_traded", f"{OF_B} In what is read from B the two have changed places.",
              (("(k0 + i / BN) * N + tile_col + i % BN", "(k0 + i % BN) * N + tile_col + i / BN"),)),
        Wrong("B_loaded_by_BK", f"{OF_B} BK is the number of rows, not their length.",
              (("(k0 + i / BN) * N + tile_col + i % BN", "(k0 + i / BK) * N + tile_col + i % BK"),)),
        Wrong("B_kept_by_BK", "Element i is stored at Bs[i / BK][i % BK]. Bs has BK rows of BN floats: it belongs to "
              "Bs[i / BN][i % BN].",
              (("Bs[i / BN][i % BN]", "Bs[i / BK][i % BK]"),)),
        Wrong("B_from_tile_row", "The columns of B are counted from tile_row, where the block's tile begins in the "
              "rows of C. Its columns begin at tile_col.", (("tile_col + i % BN]", "tile_row + i % BN]"),)),
        Wrong("k_moves_by_1", "From tile to tile k0 moves on by 1: it must move on by BK, the depth of a tile.",
              (("k0 += BK", "++k0"),)),
        Wrong("no_first_barrier", "No thread waits between loading and multiplying: a thread reads elements that "
              "others have not stored yet.",
              (("__syncthreads();\n        for (int k = 0;", "for (int k = 0;"),)),
        Wrong("first_columns_of_Bs", "b[] holds the first columns of the tile for every thread: it begins at column "
              "col, Bs[k][col + j].", (("Bs[k][col + j]", "Bs[k][j]"),)),
        Wrong("first_rows_of_As", "a[] holds the first rows of the tile for every thread: it begins at row row, "
              "As[row + i][k].", (("As[row + i][k]", "As[i][k]"),)),
        Wrong("numbered_by_x", "The number of a thread counts along x first and then along y: threadIdx.y * blockDim.x "
              "+ threadIdx.x. With threadIdx.x alone the 256 threads have only 16 different numbers.",
              (("threadIdx.y * blockDim.x + threadIdx.x", "threadIdx.x"),)),
    ),
)  # fmt: skip


PREDICTIONS = (predict_loads, predict_depth, predict_small)
QUESTIONS = ()
EXERCISES = (STRIP, PATCH, OUTER_PRODUCT, PATCH_SIZE)
