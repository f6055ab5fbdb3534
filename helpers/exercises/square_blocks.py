"""An exercise of notebook 02: a kernel whose index expressions are right as long as blocks are square.

`show(source)` draws who computes which element, `check(source)` holds C and every store against the right ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from helpers import simulator
from helpers.compiler import CompileError
from helpers.draw import theme
from helpers.draw.thread_map import FLOAT_BYTES, thread_map, thread_map_figure
from helpers.draw.threads import accesses_by_block
from helpers.exercises.answers import Verdict
from helpers.simulator.errors import SimulatorError

ENTRY = "sgemm_blocks"
BLOCKS = ((16, 16), (32, 8), (8, 32))
SHAPES = ((64, 40, 8), (33, 65, 17), (5, 37, 3), (1, 1, 1))  # no two sizes alike, tails in every one but the first
SHOWN_BLOCK, SHOWN_SHAPE = (32, 8), (32, 64, 1)

START = """
extern "C" __global__ void sgemm_blocks(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * blockDim.x + threadIdx.y;
    const int col = blockIdx.x * blockDim.y + threadIdx.x;
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = acc;
}
"""


@dataclass(frozen=True, eq=False)
class Threads:
    """Every thread of a launch: its place, and the sizes. Arrays of one shape (threads of the launch,)."""

    tx: np.ndarray
    ty: np.ndarray
    bx: np.ndarray
    by: np.ndarray
    Bx: int
    By: int
    Gx: int
    Gy: int


Index = Callable[[Threads], np.ndarray]

# (row, col, the sentence) of index expressions that people write instead of the right ones.
SLIPS: tuple[tuple[Index, Index, str], ...] = (
    (
        lambda t: t.by * t.Bx + t.ty,
        lambda t: t.bx * t.By + t.tx,
        "A block has blockDim.y rows and blockDim.x columns, but yours advance by the other one.",
    ),
    (
        lambda t: t.by * t.Bx + t.ty,
        lambda t: t.bx * t.Bx + t.tx,
        "The columns are right. How many rows does one block have, before the next block's begin?",
    ),
    (
        lambda t: t.by * t.By + t.ty,
        lambda t: t.bx * t.By + t.tx,
        "The rows are right. How many columns does one block have, before the next block's begin?",
    ),
    (
        lambda t: t.bx * t.Bx + t.tx,
        lambda t: t.by * t.By + t.ty,
        "Your x runs down the rows, as in the naive kernel; this grid was made for x along the columns.",
    ),
    (
        lambda t: t.by * t.By + t.tx,
        lambda t: t.bx * t.Bx + t.ty,
        "threadIdx.x and threadIdx.y have traded places: a block's rows go with y, its columns with x.",
    ),
    (
        lambda t: t.bx * t.By + t.ty,
        lambda t: t.by * t.Bx + t.tx,
        "blockIdx.x and blockIdx.y have traded places: the grid's y counts blocks of rows.",
    ),
    (
        lambda t: t.by * t.Gy + t.ty,
        lambda t: t.bx * t.Gx + t.tx,
        "gridDim is the number of blocks. How many rows and columns are there in one block?",
    ),
    (
        lambda t: t.by + t.ty,
        lambda t: t.bx + t.tx,
        "Block 1 begins only one row and one column after block 0. How many does one block take care of?",
    ),
    (
        lambda t: t.ty,
        lambda t: t.tx,
        "Every block computes the same elements: what tells a thread which block it is in?",
    ),
)


@dataclass(frozen=True, eq=False)
class _Run:
    """One launch: its inputs, C as the kernel left it, and its stores.

    stores: (n, 2), thread of the launch and linear index of the element, sorted.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    stores: np.ndarray
    threads: Threads
    recording: simulator.Recording

    @property
    def expected(self) -> np.ndarray:
        return self.A @ self.B


def show(source: str = START) -> theme.Figure | Verdict:
    """Who computes which element with a block of 32 × 8; a sentence if the kernel does not run."""
    try:
        run = _run(source, SHOWN_BLOCK, *SHOWN_SHAPE)
    except (SimulatorError, CompileError) as error:
        return Verdict(False, str(error))
    return thread_map_figure(thread_map(run.recording, run.C.shape, ENTRY))


def check(source: str) -> Verdict:
    """Is every element of C right and computed by one thread, for every block shape and every size?"""
    for block in BLOCKS:
        for shape in SHAPES:
            where = f"With blocks of {block} and M, N, K = {', '.join(map(str, shape))}"
            try:
                run = _run(source, block, *shape)
            except (SimulatorError, CompileError) as error:
                return Verdict(False, f"{where}: {error}")
            wrong = _wrong(run)
            if not wrong:
                continue
            if source.strip() == START.strip():
                return Verdict(None, f"Right with square blocks. {where}: {wrong} Change the kernel and run it again.")
            return Verdict(False, f"{where}: {wrong} {_diagnosis(run)}".strip())
    return Verdict(True, f"C is right for {len(BLOCKS)} block shapes and {len(SHAPES)} sizes, tails included: done.")


def _run(source: str, block: tuple[int, int], M: int, N: int, K: int) -> _Run:
    """Launch on small whole numbers, so that every sum is exact, into a C full of NaN; x along the columns."""
    rows, columns, steps = np.arange(M), np.arange(N), np.arange(K)
    A = (1 + (3 * rows[:, None] + 5 * steps) % 7).astype(np.float32)
    B = (1 + (2 * steps[:, None] + 7 * columns) % 11).astype(np.float32)
    C = np.full((M, N), np.nan, np.float32)
    grid = (-(-N // block[0]), -(-M // block[1]))
    function = simulator.RawModule(code=source, options=("-std=c++17",)).get_function(ENTRY)
    with simulator.record(blocks="all", checks="off") as recording:
        function(grid, block, (np.int32(M), np.int32(N), np.int32(K), A, B, C))
    threads = _threads(grid, block)
    return _Run(A, B, C, _stores(recording, grid, block), threads, recording)


def _threads(grid: tuple[int, int], block: tuple[int, int]) -> Threads:
    """All threads, block after block, numbered inside a block along x first."""
    number = np.arange(grid[0] * grid[1] * block[0] * block[1])
    in_block, of_block = number % (block[0] * block[1]), number // (block[0] * block[1])
    return Threads(
        in_block % block[0], in_block // block[0], of_block % grid[0], of_block // grid[0], *block, *grid
    )  # fmt: skip


def _stores(recording: simulator.Recording, grid: tuple[int, int], block: tuple[int, int]) -> np.ndarray:
    """(n, 2) int64: the thread of the launch and the element of every store to C, sorted."""
    found = [np.empty((0, 2), np.int64)]
    for (x, y, _), stores in accesses_by_block(recording, space="global", op="st", array="C").items():
        first = (x + grid[0] * y) * block[0] * block[1]
        for store in stores:
            active = np.flatnonzero(store.active)
            found.append(np.stack([first + active, store.offset[active] // FLOAT_BYTES], axis=1))
    pairs = np.concatenate(found)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _wrong(run: _Run) -> str:
    """The first element that is wrong, or computed by no thread or by several; empty if there is none."""
    writers = np.bincount(run.stores[:, 1], minlength=run.C.size).reshape(run.C.shape)
    bad = ~np.equal(run.C, run.expected) | (writers != 1)
    if not bad.any():
        return ""
    row, col = np.argwhere(bad)[0].tolist()
    count = theme.plural(int(bad.sum()), "element")
    if not writers[row, col]:
        return f"no thread wrote C[{row}, {col}]; {count} of C are not as they should be."
    if run.C[row, col] == run.expected[row, col]:
        many = f"{writers[row, col]} threads compute C[{row}, {col}], where one would do"
        return f"{many}; {count} of C are not as they should be."
    return f"C[{row}, {col}] is {run.C[row, col]:g}, expected {run.expected[row, col]:g}; {count} of C are wrong."


def _diagnosis(run: _Run) -> str:
    """The sentence of the slip that explains every store, or every value, exactly; empty if none does."""
    t = run.threads
    if not np.array_equal(_pairs(run, t.by * t.By + t.ty, t.bx * t.Bx + t.tx), run.stores):
        for row_of, col_of, because in SLIPS:
            if np.array_equal(_pairs(run, row_of(t), col_of(t)), run.stores):
                return because
        return ""
    for guess, because in _value_slips(run):
        if np.array_equal(guess, run.C):
            return because
    return ""


def _pairs(run: _Run, row: np.ndarray, col: np.ndarray) -> np.ndarray:
    """(n, 2): the stores of a kernel whose threads have these rows and columns."""
    M, N = run.C.shape
    row, col = (np.broadcast_to(index, run.threads.tx.shape) for index in (row, col))
    inside = (row < M) & (col < N)
    return np.stack([np.flatnonzero(inside), (row * N + col)[inside]], axis=1)


def _value_slips(run: _Run) -> Iterator[tuple[np.ndarray, str]]:
    """What C would hold if another product had been computed, as far as that stays inside the arrays."""
    A, B = run.A, run.B
    (M, K), N = A.shape, B.shape[1]
    yield A[:, :-1] @ B[:-1], "The last step of k is missing: k runs from 0 to K - 1."
    yield A[:, 1:] @ B[1:], "The first step of k is missing: k runs from 0 to K - 1."
    for name, stride in (("M", M), ("K", K)):
        index = np.arange(K)[:, None] * stride + np.arange(N)
        if stride != N and index.max() < B.size:
            yield A @ B.ravel()[index], f"B has N columns, so the next row of B is N floats further, not {name}."
    for name, stride in (("M", M), ("N", N)):
        index = np.arange(M)[:, None] * stride + np.arange(K)
        if stride != K and index.max() < A.size:
            yield A.ravel()[index] @ B, f"A has K columns, so the next row of A is K floats further, not {name}."
