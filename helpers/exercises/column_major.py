"""An exercise of notebook 03: a kernel for column-major matrices that runs, is right, and is slow.

`show(source)` draws what one warp asks for, `check(source)` holds its results and its sectors against the goal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers import simulator
from helpers.compiler import CompileError
from helpers.draw import theme
from helpers.draw.access import warp_access
from helpers.draw.sectors import sectors_figure
from helpers.exercises.answers import Verdict
from helpers.explore.launches import sectors_per_request
from helpers.simulator.errors import SimulatorError

ENTRY = "sgemm_columns"
BLOCK = (32, 8)
GOAL = 2.6  # sectors a request
SHAPES = (
    (64, 40, 8),
    (33, 65, 17),
    (5, 37, 3),
    (1, 1, 1),
)  # no two sizes alike, none a multiple of the block throughout
JUDGED = (128, 128, 32)

START = """
extern "C" __global__ void sgemm_columns(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += A[row + k * M] * B[k + col * K];
    C[row + col * M] = acc;
}
"""


@dataclass(frozen=True)
class _Run:
    """One launch: the inputs, and C as the kernel left it, as matrices."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    recording: simulator.Recording


def show(source: str = START) -> theme.Figure:
    """The sectors of warp 0 at k = 0, with column-major matrices of 128 rows."""
    run = _run(source, *JUDGED)
    accesses = [warp_access(run.recording, array, op) for array, op in (("A", "ld"), ("B", "ld"), ("C", "st"))]
    return sectors_figure(accesses, f"{ENTRY}, column-major, block ({BLOCK[0]}, {BLOCK[1]}): warp 0, k = 0")


def check(source: str) -> Verdict:
    """Is C right for every shape, and do the loads cost at most GOAL sectors a request?"""
    try:
        for shape in SHAPES:
            wrong = _wrong(_run(source, *shape))
            if wrong:
                return Verdict(False, f"{' × '.join(map(str, shape))}: {wrong}")
        cost = sectors_per_request(_run(source, *JUDGED).recording)
    except (SimulatorError, CompileError) as error:
        return Verdict(False, str(error))
    mean = theme.thousands(cost, 1)
    found = f"C is right for {len(SHAPES)} shapes, tails included, and the loads cost {mean} sectors a request"
    if cost <= GOAL:
        return Verdict(True, f"{found}: done.")
    waiting = None if source.strip() == START.strip() else False
    return Verdict(waiting, f"{found}; the goal is at most {GOAL:g}. Which index is contiguous here?")


def _run(source: str, M: int, N: int, K: int) -> _Run:
    """Launch on small whole numbers, so that every sum is exact, into a C full of NaN.

    The grid covers C whichever way the block's axes run.
    """
    rows, columns, steps = np.arange(M), np.arange(N), np.arange(K)
    A = (1 + (3 * rows[:, None] + 5 * steps) % 7).astype(np.float32)
    B = (1 + (2 * steps[:, None] + 7 * columns) % 11).astype(np.float32)
    A_columns, B_columns = np.ascontiguousarray(A.T), np.ascontiguousarray(B.T)  # column-major memory
    C_columns = np.full((N, M), np.nan, np.float32)
    grid = tuple(-(-max(M, N) // size) for size in BLOCK)
    function = simulator.RawModule(code=source, options=("-std=c++17",)).get_function(ENTRY)
    with simulator.record(level="ptx") as recording:
        function(grid, BLOCK, (np.int32(M), np.int32(N), np.int32(K), A_columns, B_columns, C_columns))
    return _Run(A, B, C_columns.T, recording)


def _wrong(run: _Run) -> str:
    """Empty if C is right, else the first wrong element, and the slip if one reproduces all of C."""
    expected = run.A @ run.B
    bad = ~np.equal(run.C, expected)  # NaN, an element that no thread wrote, equals nothing
    if not bad.any():
        return ""
    row, col = (int(index) for index in np.argwhere(bad)[0])
    got = "nothing (no thread wrote it)" if np.isnan(run.C[row, col]) else f"{run.C[row, col]:g}"
    wrong = theme.plural(int(bad.sum()), "wrong element")
    sentence = f"C[{row}, {col}] is {got}, expected {expected[row, col]:g}; {wrong} in all."
    if min(run.C.shape) > 1 and np.array_equal(run.C.T.reshape(run.C.shape), expected):
        return sentence + " C is right if it is read row by row: the store writes row-major, but C is column-major."
    return sentence
