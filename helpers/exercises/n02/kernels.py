"""Exercises of notebook 02 whose answer is a kernel to change: which warp, and which element."""

from __future__ import annotations

import numpy as np

from helpers.exercises.framework import goals, slips, texts
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.maps import MapInputs, MapSlip, MatrixMap, only
from helpers.exercises.framework.pictures import ThreadMapOf
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles


def _thread(i: MapInputs) -> tuple[np.ndarray, np.ndarray]:
    """threadIdx.x and threadIdx.y of the thread that owns each element."""
    return i.col % i.block[0], i.row % i.block[1]


def _block(i: MapInputs) -> np.ndarray:
    """The linear number of the block that owns each element."""
    return i.col // i.block[0] + i.grid[0] * (i.row // i.block[1])


def _linear(i: MapInputs) -> np.ndarray:
    x, y = _thread(i)
    return x + i.block[0] * y


def _shapes(*shapes: tuple[int, int, tuple[int, int]]) -> tuple[Case, ...]:
    return tuple(Case({"M": M, "N": N}, block=block) for M, N, block in shapes)


W_SLIPS = {
    "threads": MapSlip("This is the number of the thread; a warp is 32 of them.", _linear),
    "lanes": MapSlip("This is the lane, the thread's place in its warp (% 32); the warp's number is / 32.",
                     lambda i: _linear(i) % 32),
    "y_first": MapSlip("Threads are counted along x first, then along y; here y comes first.",
                       lambda i: (_thread(i)[1] + i.block[1] * _thread(i)[0]) // 32),
    "rows_of_block_y": MapSlip("A step in y skips blockDim.y threads, and that is the number of rows: a row of the "
                               "block has blockDim.x threads.",
                               lambda i: (_thread(i)[0] + i.block[1] * _thread(i)[1]) // 32),
    "rounded_up": MapSlip("This counts rounded up; the first warp has the number 0.",
                          lambda i: (_linear(i) + 31) // 32),
    "without_y": MapSlip("y is missing: a block of 16 × 16 threads has 8 warps, not one.",
                         lambda i: _thread(i)[0] // 32 + 0 * i.row),
    "without_x": MapSlip("x is missing: only whole rows of the block are counted.",
                         lambda i: i.block[0] * _thread(i)[1] // 32 + 0 * i.col),
    "whole_grid": MapSlip("This number goes on from block to block; warps are counted anew in every block.",
                          lambda i: (_linear(i) + i.block[0] * i.block[1] * _block(i)) // 32),
    "block": MapSlip("This is the block's number in the grid, not the warp's in its block.", lambda i: _block(i)),
    "fraction": MapSlip("A warp's number is a whole number, and 32.0f makes a fraction of it: divide by 32, which "
                        "rounds down.",
                        lambda i: _linear(i) / 32),
    "fixed_width": MapSlip("A step in y skips 16 threads: a row of the block has blockDim.x, and 16 is right for one "
                           "width only.",
                           lambda i: (_thread(i)[0] + 16 * _thread(i)[1]) // 32),
    "warp_for_row": MapSlip("A step in y skips 32 threads, a warp: a row of the block has blockDim.x threads, which "
                            "may be more or fewer.",
                            lambda i: (_thread(i)[0] + 32 * _thread(i)[1]) // 32),
    "grid_for_block": MapSlip("A step in y skips gridDim.x threads, and that is the number of blocks along x: a row "
                              "of the block has blockDim.x threads.",
                              lambda i: (_thread(i)[0] + i.grid[0] * _thread(i)[1]) // 32),
    "width_of_W": MapSlip("A step in y skips N threads, the width of W: a row of the block has blockDim.x "
                          "threads.",
                          lambda i: (_thread(i)[0] + i.case.sizes["N"] * _thread(i)[1]) // 32),
    "block_for_row": MapSlip("A step in y skips as many threads as the block has: a row of it has blockDim.x.",
                             lambda i: (_thread(i)[0] + i.block[0] * i.block[1] * _thread(i)[1]) // 32),
    "x_and_y_added": MapSlip("x and y are added as they are, but a step in y skips a whole row of the block: "
                             "blockDim.x threads.",
                             lambda i: (_thread(i)[0] + _thread(i)[1]) // 32),
    "x_times_y": MapSlip("x and y are multiplied: all threads with x = 0 or y = 0 get the number 0. Add blockDim.x "
                         "threads for each row before mine, and x.",
                         lambda i: _thread(i)[0] * _thread(i)[1] // 32),
    "width_times_x": MapSlip("blockDim.x belongs to y: a step in x goes to the next thread, a step in y skips a row of "
                             "blockDim.x threads.",
                             lambda i: (i.block[0] * _thread(i)[0] + _thread(i)[1]) // 32),
    "by_row": MapSlip("This is the row of the block that the thread is in. A warp is 32 threads, however long a row "
                      "is.",
                      lambda i: _linear(i) // i.block[0]),
    "x_and_y_apart": MapSlip("x / 32 and y / 32 are rounded down one by one. First number the threads of the whole "
                             "block, then divide that number by 32.",
                             lambda i: _thread(i)[0] // 32 + _thread(i)[1] // 32),
    "parts_apart": MapSlip("x and blockDim.x * y are divided by 32 and rounded down one by one: add them first, then "
                           "divide the sum.",
                           lambda i: _thread(i)[0] // 32 + i.block[0] * _thread(i)[1] // 32),
    "width_divided": MapSlip("blockDim.x / 32 is rounded down before it is multiplied. First number the threads of the "
                             "whole block, then divide that number by 32.",
                             lambda i: _thread(i)[0] // 32 + i.block[0] // 32 * _thread(i)[1]),
    "sum_not_divided": MapSlip("/ comes before +: only blockDim.x * y is divided by 32. The sum belongs in brackets.",
                               lambda i: _thread(i)[0] + i.block[0] * _thread(i)[1] // 32),
    "x_alone_divided": MapSlip("/ comes before +: only threadIdx.x is divided by 32. The sum belongs in brackets.",
                               lambda i: _thread(i)[0] // 32 + i.block[0] * _thread(i)[1]),
    "pairs_of_rows": MapSlip("This counts pairs of rows. They are a warp where a row has 16 threads; other blocks have "
                             "rows of other lengths.",
                             lambda i: _thread(i)[1] // 2 + 0 * i.col),
    "block_along_x": MapSlip("This is the block's number along x, the same for all of its threads.",
                             lambda i: i.col // i.block[0] + 0 * i.row),
    "no_x": MapSlip("x is missing: threadIdx.y alone says which row of the block a thread is in.",
                    lambda i: _thread(i)[1] // 32 + 0 * i.col),
    "width_added": MapSlip("blockDim.x is added once; it must be multiplied by the number of rows before mine, "
                           "threadIdx.y.",
                           lambda i: (_thread(i)[0] + i.block[0] + _thread(i)[1]) // 32),
    "from_1": MapSlip("The threads of a block are numbered from 0.", lambda i: (_linear(i) + 1) // 32),
}  # fmt: skip
# Numbers of threads that are no warp.
GROUPS = tuple(
    MapSlip(f"This counts groups of {threads} threads; a warp is 32 of them.", lambda i, n=threads: _linear(i) // n)
    for threads in (8, 16, 31, 33, 64, 128)
)
# Other ways to number a thread in the grid, or its element in W, instead of in its block.
IN_THE_GRID = tuple(
    MapSlip(W_SLIPS["whole_grid"].sentence, formula)
    for formula in (
        lambda i: (i.row * i.case.sizes["N"] + i.col) // 32,
        lambda i: (i.col + i.block[0] * i.row) // 32,
        lambda i: (i.row + i.block[0] * i.col) // 32,
        lambda i: (_linear(i) + i.block[0] * (i.col // i.block[0])) // 32,
        lambda i: (_linear(i) + i.block[0] * i.block[1] * (i.col // i.block[0])) // 32,
    )
)

WARP_NUMBERS = KernelExercise(
    **texts.of("02", "warp_numbers"),
    difficulty=1,
    problem=MatrixMap(
        "warp_numbers",
        _shapes(
            (4, 128, (128, 1)),
            (32, 48, (16, 16)),  # the launch of the picture, and the first in which the starter is wrong
            (16, 32, (32, 8)),
            (24, 24, (8, 8)),
            (8, 48, (24, 4)),  # a row of the block ends in the middle of a warp
            (19, 37, (16, 8)),
            (50, 3, (2, 64)),
            (1, 70, (64, 2)),
            (7, 1, (5, 7)),
        ),
        lambda i: _linear(i) // 32,
        (*W_SLIPS.values(), *IN_THE_GRID, *GROUPS),
        output="W",
        inputs=0,
    ),
    picture=ThreadMapOf("W", Case({"M": 32, "N": 48}, block=(16, 16)), "your kernel", thread=37),
    wrong=tuple(
        Wrong(name, W_SLIPS[name].sentence)
        for name in (
            "lanes", "threads", "y_first", "rows_of_block_y", "rounded_up", "whole_grid", "x_and_y_added",
            "width_times_x", "by_row",
        )
    ),
)  # fmt: skip


def _scaled(i: MapInputs) -> np.ndarray:
    return i.case.alpha * i.source


X_ALONG_ROWS = MapSlip(
    "Blocks run along x for N columns and along y for M rows, but rows are taken from x: rows beyond the blocks along "
    "x, and columns beyond those along y, have no thread.",
    only(lambda i: (i.row < i.grid[0] * i.block[0]) & (i.col < i.grid[1] * i.block[1]), _scaled),
)

ROWS_AND_COLUMNS = KernelExercise(
    **texts.of("02", "rows_and_columns"),
    difficulty=2,
    problem=MatrixMap(
        "scale_matrix",
        tuple(
            Case({"M": M, "N": N}, alpha=1.25)
            for M, N in ((16, 16), (64, 64), (19, 37), (8, 64), (64, 16), (50, 21), (1, 40), (30, 1), (1, 1))
        ),
        _scaled,
        (
            X_ALONG_ROWS,
            MapSlip(slips.sentence("last_row_unwritten").replace(" of C", " of B"),
                    only(lambda i: i.row < i.case.sizes["M"] - 1, _scaled)),
            MapSlip(slips.sentence("last_column_unwritten").replace(" of C", " of B"),
                    only(lambda i: i.col < i.case.sizes["N"] - 1, _scaled)),
            MapSlip("alpha is missing.", lambda i: i.source),
        ),
        scaled=True,
    ),
    picture=ThreadMapOf("B", Case({"M": 19, "N": 37}), "your kernel", thread=5),
    wrong=(
        Wrong("starter", X_ALONG_ROWS.sentence),
        Wrong("guard_swapped", slips.GUARD_SWAPPED),
        Wrong("pitch_M", "A and B are taken to have rows of M elements; they have N, so the element's place is "
              "row * N + col."),
        Wrong("one_row_too_many", "The rows are 0 to M − 1 and the columns 0 to N − 1: compare with <, not with <=."),
        Wrong("no_guard", "The grid is rounded up to whole blocks, so that some threads have no element: the guard "
              "must keep all of them from writing beyond B."),
        Wrong("both_from_y", "row and col both come from the y members: only the diagonal is written."),
    ),
)  # fmt: skip


SIXTEEN_ROWS = (
    "This makes 16 rows of 8 columns: the tile has 8 rows of 16. Rows reach into the next block's tile, and half of "
    "the columns have no thread."
)

FLAT_BLOCK = KernelExercise(
    **texts.of("02", "flat_block"),
    difficulty=3,
    problem=Gemm("sgemm_flat", (128,), (8, 16), Tiles(BM=8, BN=16)),
    picture=ThreadMapOf("C", Case({"M": 24, "N": 16, "K": 32}), "your kernel", thread=37),
    goals=(goals.neighbours_of_a_warp((8, 16), 30),),
    judged=Case({"M": 16, "N": 32, "K": 8}),
    wrong=(
        Wrong("starter", SIXTEEN_ROWS),
        Wrong("traded", SIXTEEN_ROWS),
        Wrong("down_columns", "The ids are counted down the columns of the tile: thread 1 is below thread 0. Every "
              "element is computed, but neighbouring threads shall have neighbouring columns. A row of the tile has "
              "16 elements: divide by 16."),
        Wrong("mask", "x & 7 keeps three bits, columns 0 to 7: a row of the tile has 16.", text=r"&\s*7"),
        Wrong("both_remainders", "row and column are both remainders, so that most of the tile has no thread."),
        Wrong("tile_not_scaled", "A block's tile begins at blockIdx.y * 8 and blockIdx.x * 16; here blocks begin one "
              "row or one column apart."),
    ),
)  # fmt: skip
