"""Exercises of notebook 02 without a kernel: who computes what, linear ids, idle lanes, a launch without waste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gemm_kernels import get
from gpusim.devices import WARP
from gpusim.errors import SimulatorError
from helpers import run
from helpers.exercises.framework import texts
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.values import ValueExercise, WrongValue
from helpers.pictures import theme
from helpers.pictures.coalescing.facts import warp_access
from helpers.pictures.thread_map import explorer as thread_map
from helpers.pictures.thread_map.facts import ThreadMap, map_of
from helpers.pictures.thread_map.figure import thread_map_figure
from helpers.pictures.warp_fill.figure import warp_fill_figure

NAIVE = "naive"

# The thread of `predict_owner`, in a launch over C of 64 × 64.
OWNER_BLOCK_DIM, OWNER_SHAPE = (16, 16, 1), (64, 64)
OWNER_BLOCK, OWNER_THREAD = (0, 2), (3, 1)

# The thread of PLACE_IN_LINE.
ID_THREAD, ID_BLOCK = (5, 2, 1), (8, 4, 4)

COVERED = (96, 40)  # C of WHOLE_LAUNCH
MOST_BLOCKS = 4000


def predict_owner() -> Prediction:
    """Which element does the naive kernel's thread OWNER_THREAD of block OWNER_BLOCK compute? From a recording."""
    launch = get(NAIVE).launch(*OWNER_SHAPE, thread_map.DEPTH).in_blocks(*OWNER_BLOCK_DIM)
    data = map_of(launch)
    block = OWNER_BLOCK[0] + launch.grid[0] * OWNER_BLOCK[1]
    thread = OWNER_THREAD[0] + OWNER_BLOCK_DIM[0] * OWNER_THREAD[1]
    row, col = data.elements(block, thread)[0].tolist()
    return predict(
        f"Thread {OWNER_THREAD} of block {OWNER_BLOCK} in the naive kernel, blocks of 16 × 16:",
        reasons={
            "C[3, 1]": "That would be the same for every block: blockIdx is missing.",
            "C[3, 33]": "row = 0 · 16 + 3 from the x members, col = 2 · 16 + 1 from the y members.",
            "C[33, 3]": "Row and column have traded places: in this kernel x is the row index.",
            "C[1, 35]": "Here the x of the thread went with the y of the block.",
        },
        answer=f"C[{row}, {col}]",
        picture=lambda: thread_map_figure(data, block, thread),
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
        picture=lambda: warp_fill_figure({threads: lanes}, f"The warps of a block of {threads} threads"),
    )


def active_lanes(threads: int) -> list[np.ndarray]:
    """For each warp of a one-dimensional block, (32,) bool: which lanes stored an element of C, as recorded."""
    recording = run.record(get(NAIVE).launch(M=threads, N=1, K=1).in_blocks(threads, 1))
    return [warp_access(recording, "C", "st", warp=warp).active for warp in range(-(-threads // WARP))]


# --- a thread's place in the line

(_x, _y, _z), (_bx, _by, _bz) = ID_THREAD, ID_BLOCK
LINEAR_ID = _x + _bx * (_y + _by * _z)
BECAUSE_ID = f"{_x} + {_bx} · ({_y} + {_by} · {_z}) = {LINEAR_ID}: warp {LINEAR_ID // WARP}, lane {LINEAR_ID % WARP}."
ID_SLIPS = (
    Slip(_z + _bz * (_y + _by * _x), "That would be with z first. Neighbours in the line differ in x."),
    Slip(_x + _bx * _y + _by * _z, "A step along z passes whole layers of bx · by threads, not by."),
    Slip(_x + _bx * _y, "Which layer is z = 1? There are as many threads before it as layer 0 holds."),
    Slip(
        _x + _by * (_y + _bx * _z),
        "That would be with by for bx, and bx for by: one row of the block holds bx threads.",
    ),
    Slip(_x + _bx * _y + _z, "z = 1 is not one thread further, but a whole layer of bx · by threads."),
    Slip(_x + _bx * (_y + _z), "z = 1 is not one row further, but a whole layer of by rows."),
    Slip(_x + _y + _z, "That is their sum. A step along y passes bx threads, one along z a whole layer."),
    Slip(
        _x + _bx * _by * _z,
        f"That is {_x} + {_bx} · {_by} · {_z}. A step along y passes bx threads, one along z bx · by.",
    ),
    Slip(_x + _bx * (_y + _bx * _z), "A layer of the block has bx · by threads, not bx · bx."),
    Slip(LINEAR_ID + 1, "Ids begin at 0."),
)

PLACE_IN_LINE = ValueExercise(
    **texts.of("02", "place_in_line", id_block=ID_BLOCK, id_thread=ID_THREAD, bx=_bx, by=_by, x=_x),
    difficulty=1,
    variable="my_answer",
    starter=None,
    solved=LINEAR_ID,
    because=BECAUSE_ID,
    judge=lambda answer: check_number(answer, LINEAR_ID, because=BECAUSE_ID, slips=ID_SLIPS),
    wrong=tuple(WrongValue(slip.answer, slip.because) for slip in ID_SLIPS),
)


# --- a launch that wastes nothing


def _picture_of_launch(launch: Any) -> theme.Figure:
    """Who computes C of COVERED in this launch of the naive kernel."""
    return thread_map_figure(_cover(*_dims(launch)))


def _judge_launch(launch: Any) -> Verdict:
    """Does the naive kernel, launched so, compute all of C with no thread and no lane idle?"""
    block, grid = _dims(launch)
    data = _cover(block, grid)
    rows, columns = COVERED
    launched = f"Block {block} and grid {grid}"
    if data.uncomputed:
        row, col = np.argwhere(data.writers == 0)[0].tolist()
        missing = theme.plural(data.uncomputed, "element")
        sentence = f"{launched} leave {missing} of C without a thread, the first is C[{row}, {col}]."
        return Verdict(False, f"{sentence} {_turned(block, grid)}".strip())
    idle = data.blocks * data.threads - int(data.writers.sum())
    again = int(data.writers.sum()) - rows * columns
    lanes = data.warps * WARP - data.threads
    facts = []
    if idle:
        facts.append(f"{theme.plural(idle, 'thread')} lie outside C")
    if again:
        facts.append(f"{theme.plural(again, 'thread')} repeat what another one computes")
    if lanes:
        facts.append(f"{theme.plural(lanes, 'lane')} of each block's warps {'is' if lanes == 1 else 'are'} empty")
    if facts:
        sizes_of_C = idle and grid[:2] == COVERED
        why = " The grid has the sizes of C, and it counts blocks, not elements." if sizes_of_C else ""
        return Verdict(False, f"{launched} compute all of C, but {' and '.join(facts)}.{why}")
    return Verdict(True, f"{launched}: all {theme.thousands(rows * columns)} elements, and every lane works. Done.")


def _turned(block: Sequence[int], grid: Sequence[int]) -> str:
    """The sentence of a grid, a block, or both, whose axes have traded places; empty if that does not explain it."""
    if len(grid) < 2 or len(block) < 2:
        return ""
    other_block, other_grid = ((sizes[1], sizes[0], *sizes[2:]) for sizes in (block, grid))
    ways = {
        "the grid": (block, other_grid),
        "the block": (other_block, grid),
        "the block and the grid": (other_block, other_grid),
    }
    for what, launch in ways.items():
        try:
            turned = _cover(*launch)
        except ValueError:
            continue
        if not turned.uncomputed:
            return f"With x and y of {what} exchanged it would be complete: in this kernel x is the row index."
    return ""


def _dims(launch: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The block and the grid of an answer. ValueError with a sentence if they are none."""
    if not isinstance(launch, Mapping) or set(launch) != {"block", "grid"}:
        raise ValueError(f"The launch is {launch!r}; expected dict(block=(x, y), grid=(x, y)).")
    for name, sizes in launch.items():
        if not isinstance(sizes, Sequence) or isinstance(sizes, str) or not 1 <= len(sizes) <= 3:
            raise ValueError(f"The {name} is {sizes!r}; expected (x, y), such as (16, 16).")
        if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
            raise ValueError(f"The {name} is {sizes!r}; each of its sizes is a whole number of at least 1.")
    return tuple(launch["block"]), tuple(launch["grid"])


def _cover(block: Sequence[int], grid: Sequence[int]) -> ThreadMap:
    block, grid = ((*sizes, 1, 1)[:3] for sizes in (block, grid))
    if int(np.prod(grid)) > MOST_BLOCKS:
        raise ValueError(f"A grid of {grid} has more blocks than C of {COVERED[0]} × {COVERED[1]} has elements.")
    launch = get(NAIVE).launch(*COVERED, thread_map.DEPTH)
    try:
        return map_of(replace(launch, block=block, grid=grid))
    except SimulatorError as error:
        raise ValueError(str(error).partition("; try ")[0]) from None  # a block that it proposes may be the answer


WHOLE_LAUNCH = ValueExercise(
    **texts.of("02", "whole_launch", rows=COVERED[0], columns=COVERED[1]),
    difficulty=2,
    variable="launch",
    starter={"block": (16, 16), "grid": (6, 3)},
    solved={"block": (32, 8), "grid": (3, 5)},
    because=f"{COVERED[0]} = 3 · 32 and {COVERED[1]} = 5 · 8, and 32 · 8 threads are 8 full warps.",
    judge=_judge_launch,
    wrong=(
        WrongValue({"block": (32, 32), "grid": (3, 2)}, "2\u202f304\u00a0threads lie outside C"),
        WrongValue({"block": (8, 5), "grid": (12, 8)}, "24\u00a0lanes of each block's warps are empty"),
        WrongValue({"block": (32, 8), "grid": (5, 3)}, "With x and y of the grid exchanged it would be complete"),
        WrongValue({"block": (40, 24), "grid": (1, 4)}, "With x and y of the block and the grid exchanged"),
        WrongValue({"block": (8, 4, 4), "grid": (12, 10)}, "11\u202f520\u00a0threads repeat what another one"),
        WrongValue({"block": (16, 8), "grid": (6, 4)}, "the first is C[0, 32]."),
        WrongValue({"block": (64, 64), "grid": (2, 1)}, "4096 threads is more than the 1024"),
        WrongValue({"block": 32, "grid": (3, 5)}, "The block is 32; expected (x, y)"),
        WrongValue({"block": (32, 8), "grid": (3, 0)}, "at least 1"),
        WrongValue({"block": (1, 1), "grid": (960, 40)}, "has more blocks than C of 96 × 40 has elements"),
    ),
    picture=_picture_of_launch,
)
