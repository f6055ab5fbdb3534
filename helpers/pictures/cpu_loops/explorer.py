"""Multiplications on this machine's CPU: timed as they stand, and by the loop that is innermost.

Times differ from run to run and from machine to machine: cells that show them are tagged nbval-ignore-output.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.measure import MEASURED, problem
from helpers.pictures import theme
from helpers.pictures.cpu_loops import model as loop_order
from helpers.pictures.cpu_loops.figure import loop_order_figure
from helpers.pictures.tables import Table
from helpers.pictures.traffic import flops

DRAWN = {"M": 64, "N": 64, "K": 64}  # of the picture of loops
CORNER = loop_order.STEPS, 48
FINE_S = 1e-5  # resolution of a clock that tells tenths of a millisecond apart
# The processor time of this thread, where it is fine enough (not on Windows): on a busy machine the time on the wall
# counts the work of others, too.
CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution <= FINE_S else time.perf_counter


@dataclass(frozen=True, eq=False)
class Timed:
    """One way to multiply.  result: its C.  seconds: the fastest of its runs."""

    result: Any
    seconds: float


def timed(function: Callable[..., Any], *args: Any, budget_s: float = 0.4) -> Timed:
    """Call function(*args) at least once and until the budget is used up; the fastest run counts.

    The fastest, because whatever else the machine does can only make a run slower. CLOCK counts this thread alone, so
    the function should compute in one.
    """
    seconds, started = [], time.perf_counter()
    while True:
        before = CLOCK()
        result = function(*args)
        seconds.append(CLOCK() - before)
        if time.perf_counter() - started >= budget_s:
            return Timed(result, min(seconds))


def beside_blas(loops: Callable[[list[list[float]], list[list[float]]], Any], A: np.ndarray, B: np.ndarray) -> Table:
    """Loops written in Python beside NumPy's BLAS, on the same float32 matrices A (M, K) and B (K, N).

    The loops are given lists, on which they are faster than on arrays.
    """
    runs = {"triple loop": timed(loops, A.tolist(), B.tolist()), "BLAS": timed(np.matmul, A, B)}
    return speed_table(runs, len(A), B.shape[1], len(B))


def doubled(loops: Callable[[list[list[float]], list[list[float]]], Any], small: int = 64, blas: int = 768) -> Table:
    """How much longer a product takes on matrices of twice the side: by loops in Python from `small` on, and by NumPy's
    BLAS from `blas` on."""
    rows = []
    for name, side in (("triple loop", small), ("BLAS", blas)):
        times = []
        for n in (side, 2 * side):
            A, B, _ = problem(n, n, n)
            run = timed(loops, A.tolist(), B.tolist()) if name == "triple loop" else timed(np.matmul, A, B)
            times.append(run.seconds)
        sides = f"{side} → {2 * side}"
        rows.append((name, sides, *(_significant(1000 * seconds) for seconds in times), f"{times[1] / times[0]:.1f} ×"))
    header = ("", "side", "ms", "ms, twice the side", "times as long")
    return Table(header, tuple(rows), f"Twice the side ({MEASURED}, on the CPU)", words=frozenset({0}))


def speed_table(runs: Mapping[str, Timed], M: int, N: int, K: int) -> Table:
    """Milliseconds, GFLOPS and how many times as fast as the first, a row for each way to multiply."""
    slowest = next(iter(runs.values())).seconds
    rows = tuple(
        (
            name,
            _significant(1000 * run.seconds),
            _significant(flops(M, N, K) / run.seconds / 1e9),
            f"{_significant(slowest / run.seconds)} ×",
        )
        for name, run in runs.items()
    )
    fastest = min(runs, key=lambda name: runs[name].seconds)
    factor = _significant(slowest / runs[fastest].seconds)
    caption = f"{fastest} is {factor} times as fast as {next(iter(runs))} ({MEASURED}, on the CPU)."
    return Table((f"{M} × {N} × {K}", "ms", "GFLOPS", "times as fast"), rows, caption)


def innermost_nanoseconds(innermost: str, size: int = 2000, calls: int = 800, repeats: int = 3) -> float:
    """Nanoseconds per multiply-add where the innermost loop is this one, on matrices of size × size.

    NumPy does the innermost loop as one operation; of the two loops around it only `calls` iterations are made, at
    places spread over the matrices, which is enough to tell one order from another. The fastest of `repeats` counts.
    """
    step = _STEPS.get(innermost)
    if step is None:
        raise ValueError(f"There is no loop {innermost!r}; the loops run over {', '.join(_STEPS)}.")
    random = np.random.default_rng(0)
    A, B = (random.random((size, size), np.float32) for _ in range(2))
    C = np.zeros((size, size), np.float32)
    places = random.integers(0, size, (calls, 2))
    fastest = min(timed(_walk, step, A, B, C, places, budget_s=0.0).seconds for _ in range(repeats))
    return 1e9 * fastest / (calls * size)


def _walk(step: Callable[..., None], A: np.ndarray, B: np.ndarray, C: np.ndarray, places: np.ndarray) -> None:
    for step_of_a, other in places:
        step(A, B, C, step_of_a, other)


def _over_k(A: np.ndarray, B: np.ndarray, C: np.ndarray, row: int, col: int) -> None:
    C[row, col] += (A[row, :] * B[:, col]).sum()


def _over_row(A: np.ndarray, B: np.ndarray, C: np.ndarray, col: int, k: int) -> None:
    C[:, col] += A[:, k] * B[k, col]


def _over_col(A: np.ndarray, B: np.ndarray, C: np.ndarray, row: int, k: int) -> None:
    C[row, :] += A[row, k] * B[k, :]


_STEPS: Mapping[str, Callable[..., None]] = {"k": _over_k, "row": _over_row, "col": _over_col}


def order_table(size: int = 2000) -> Table:
    """For each innermost loop the lines that STEPS iterations touch, and the time of an iteration, measured."""
    rows = []
    for innermost in loop_order.LOOPS:
        lines = sum(loop_order.lines(innermost).values())
        rows.append((innermost, str(lines), f"{innermost_nanoseconds(innermost, size):.2f}"))
    best = min(rows, key=lambda row: float(row[2]))[0]
    worst = max(rows, key=lambda row: float(row[2]))[0]
    factor = max(float(row[2]) for row in rows) / min(float(row[2]) for row in rows)
    caption = (
        f"With {worst} innermost an iteration takes {factor:.1f} times as long as with {best} innermost "
        f"({MEASURED}, on the CPU, {size} × {size})."
    )
    return Table(
        ("innermost loop", f"lines for {loop_order.STEPS} iterations", "ns per iteration"), tuple(rows), caption
    )


def picture(loops: Sequence[str] = loop_order.LOOPS) -> theme.Figure:
    """What each choice of the innermost loop pulls out of memory, on small matrices."""
    walks = {
        loop: [loop_order.walk(array, loop, loop_order.STEPS, **DRAWN) for array in loop_order.INDICES]
        for loop in loops
    }
    return loop_order_figure(walks, loop_order.STEPS, CORNER)


def _significant(value: float) -> str:
    """Two significant digits below 10, whole numbers with thousands marked above."""
    return f"{value:.2g}" if value < 10 else theme.thousands(value)
