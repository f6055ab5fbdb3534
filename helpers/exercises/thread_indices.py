"""Questions of notebook 02: who computes what, linear ids, idle lanes, and a launch that wastes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gemm_kernels import get
from helpers.draw import theme
from helpers.draw.access import warp_access
from helpers.draw.thread_map import LANES, ThreadMap, thread_map_figure
from helpers.exercises.answers import Slip, Verdict, check_number
from helpers.exercises.predict import Prediction, predict
from helpers.explore import launches, thread_map
from helpers.explore.launches import Program
from helpers.simulator.errors import SimulatorError

NAIVE = "naive"
Dims = tuple[int, int, int]

# The thread of `predict_owner`, in a launch over C of 64 × 64.
OWNER_BLOCK_DIM, OWNER_SHAPE = (16, 16, 1), (64, 64)
OWNER_BLOCK, OWNER_THREAD = (0, 2), (3, 1)

# The thread of `check_linear_id`.
ID_THREAD, ID_BLOCK = (5, 2, 1), (8, 4, 4)

COVERED = (96, 40)  # C of `check_cover`
COVER_BLOCK, COVER_GRID = (16, 16), (6, 3)  # what it begins with


def predict_owner() -> Prediction:
    """Which element does the naive kernel's thread OWNER_THREAD of block OWNER_BLOCK compute? From a recording."""
    program = Program.of(get(NAIVE))
    grid = thread_map.covering_grid(program, OWNER_BLOCK_DIM, OWNER_SHAPE)
    data = thread_map.map_of(program, OWNER_SHAPE, OWNER_BLOCK_DIM, grid)
    block = OWNER_BLOCK[0] + grid[0] * OWNER_BLOCK[1]
    thread = OWNER_THREAD[0] + OWNER_BLOCK_DIM[0] * OWNER_THREAD[1]
    row, col = data.elements(block, thread)[0].tolist()
    return predict(
        f"Thread {OWNER_THREAD} of block {OWNER_BLOCK} in the naive kernel, blocks of 16 × 16:",
        reasons={
            "C[3, 1]": "That would be the same for every block: blockIdx is missing.",
            "C[3, 33]": "row = 0 · 16 + 3 from the x members, col = 2 · 16 + 1 from the y members.",
            "C[33, 3]": "Row and column have traded places: in this kernel x runs down the rows.",
            "C[1, 35]": "Here the x of the thread went with the y of the block.",
        },
        answer=f"C[{row}, {col}]",
    )


def predict_idle_lanes() -> Prediction:
    """How many lanes idle in a block of 48 threads? Counted over the lanes that took part in a recorded store."""
    threads = 48
    lanes = active_lanes(threads)
    return predict(
        f"Lanes that have nothing to do in a block of {threads} threads:",
        reasons={
            0: "Warps are not made to measure: each has 32 lanes.",
            16: "48 threads are one full warp and half of another.",
            48: "That is how many have work.",
            976: "The limit of 1024 threads is no size that a block is filled up to.",
        },
        answer=int(sum((~warp).sum() for warp in lanes)),
    )


def active_lanes(threads: int) -> list[np.ndarray]:
    """For each warp of a one-dimensional block, (32,) bool: which lanes stored an element of C, as recorded."""
    run = launches.record_launch(get(NAIVE), block=(threads, 1), M=threads, N=1, K=1)
    return [warp_access(run, "C", "st", warp=warp).active for warp in range(-(-threads // LANES))]


def check_linear_id(answer: float | None) -> Verdict:
    """The linear id of thread ID_THREAD in a block of ID_BLOCK."""
    (x, y, z), (bx, by, bz) = ID_THREAD, ID_BLOCK
    linear = x + bx * (y + by * z)
    return check_number(
        answer,
        linear,
        because=f"{x} + {bx} · ({y} + {by} · {z}) = {linear}: warp {linear // LANES}, lane {linear % LANES}.",
        slips=(
            Slip(z + bz * (y + by * x), "You began with z. Neighbours in the line differ in x."),
            Slip(x + bx * y + by * z, "A step along z passes whole layers of bx · by threads, not by."),
            Slip(x + bx * y, "Which layer is z = 1? There are as many threads before it as layer 0 holds."),
            Slip(x + by * (y + bx * z), "bx and by have traded places: one row of the block holds bx threads."),
            Slip(linear + 1, "Ids begin at 0."),
        ),
    )


def show_cover(block: Sequence[int] = COVER_BLOCK, grid: Sequence[int] = COVER_GRID) -> theme.Figure | Verdict:
    """Who computes C of COVERED in this launch of the naive kernel; the sentence of the launch if it is refused."""
    try:
        return thread_map_figure(_cover(block, grid))
    except (SimulatorError, ValueError) as error:
        return Verdict(False, str(error))


def check_cover(block: Sequence[int], grid: Sequence[int]) -> Verdict:
    """Does the naive kernel, launched so, compute all of C with no thread and no lane idle?"""
    try:
        data = _cover(block, grid)
    except (SimulatorError, ValueError) as error:
        return Verdict(False, str(error))
    rows, columns = COVERED
    found = f"Block {tuple(block)} and grid {tuple(grid)}"
    if data.uncomputed:
        row, col = np.argwhere(data.writers == 0)[0].tolist()
        missing = theme.plural(data.uncomputed, "element")
        sentence = f"{found} leave {missing} of C without a thread, the first is C[{row}, {col}]."
        return Verdict(False, f"{sentence} {_turned(block, grid)}".strip())
    idle = data.blocks * data.threads - int((data.writers > 0).sum())
    lanes = data.warps * LANES - data.threads
    facts = []
    if idle:
        facts.append(f"{theme.plural(idle, 'thread')} lie outside C")
    if lanes:
        facts.append(f"{theme.plural(lanes, 'lane')} of each block's warps {'is' if lanes == 1 else 'are'} empty")
    if not facts:
        return Verdict(True, f"{found}: all {theme.thousands(rows * columns)} elements, and every lane works. Done.")
    sentence = f"{found} compute all of C, but {' and '.join(facts)}."
    if (tuple(block)[:2], tuple(grid)[:2]) == (COVER_BLOCK, COVER_GRID):
        return Verdict(None, f"{sentence} Change block and grid and run the cell again.")
    return Verdict(False, sentence)


def _turned(block: Sequence[int], grid: Sequence[int]) -> str:
    """The sentence of a grid whose axes have traded places; empty if that does not explain it."""
    if len(grid) < 2 or grid[0] == grid[1]:
        return ""
    try:
        turned = _cover(block, (grid[1], grid[0]))
    except SimulatorError:
        return ""
    if turned.uncomputed:
        return ""
    return "With x and y of the grid exchanged it would be complete: in this kernel x runs down the rows."


def _cover(block: Sequence[int], grid: Sequence[int]) -> ThreadMap:
    dims = []
    for name, sizes in (("block", block), ("grid", grid)):
        if not isinstance(sizes, Sequence) or isinstance(sizes, str) or not 1 <= len(sizes) <= 3:
            raise ValueError(f"The {name} is {sizes!r}; expected (x, y), such as (16, 16).")
        if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
            raise ValueError(f"The {name} is {sizes!r}; each of its sizes is a whole number of at least 1.")
        dims.append((*sizes, 1, 1)[:3])
    if int(np.prod(dims[1])) > 4000:
        raise ValueError(f"A grid of {dims[1]} is far more than C of {COVERED[0]} × {COVERED[1]} needs.")
    return thread_map.map_of(Program.of(get(NAIVE)), COVERED, dims[0], dims[1])
