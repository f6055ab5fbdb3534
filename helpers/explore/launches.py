"""Small launches for pictures: a kernel on matrices of true width, but only the blocks that the picture shows.

The addresses of a block depend on the matrices' widths and not on how many other blocks there are, so a picture of one
warp needs one block. Matrices hold zeros: nobody looks at the values, so that the sanitizer need not look either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from gemm_kernels import Kernel
from helpers import simulator
from helpers.analysis import block_shapes
from helpers.analysis.block_shapes import BlockShape

ORIGIN = ((0, 0, 0),)
# Steps of the loop where the loop itself is not the subject. A's rows are then two lines apart, so that a load of A
# costs what it costs in a matrix of any width of whole lines.
SHORT_K = 64


class Named(Protocol):
    """What a Program is made from: the ladder's Kernel is one, OwnKernel another."""

    @property
    def name(self) -> Any: ...
    @property
    def source(self) -> str: ...
    @property
    def entry(self) -> str: ...


@dataclass(frozen=True)
class Program:
    """A kernel to explore: the ladder's, or a learner's own with the ladder's parameters
    (int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C).

    name: what the pictures call it.  source: CUDA C++.  entry: the kernel's name, or a template instantiation.
    """

    name: str
    source: str
    entry: str

    @classmethod
    def of(cls, kernel: Named) -> Program:
        """A kernel of the ladder, or a learner's."""
        return cls(kernel.name, kernel.source, kernel.entry)


def record_launch(
    program: Program | Kernel,
    block: Sequence[int],
    M: int,
    N: int,
    K: int,
    *,
    blocks: Sequence[tuple[int, int, int]] = ORIGIN,
    shared_bytes: int = 0,
    level: str = "ptx",
) -> simulator.Recording:
    """What the given blocks of a launch do, in the simulator: A is (M, K), B (K, N), C (M, N), alpha 1 and beta 0.

    block: threads along x, y (and z).  blocks: those to execute and to look at; the grid reaches as far as they do.
    shared_bytes: dynamic shared memory.  level: "ptx", or "sass" for what the hardware runs.
    Raises the simulator's errors, whose messages are sentences to a learner.
    """
    program = program if isinstance(program, Program) else Program.of(program)
    threads = (*map(int, block), 1, 1)[:3]
    return _record(program, threads, (M, N, K), tuple(blocks), shared_bytes, level)


@lru_cache(maxsize=12)
def _record(
    program: Program,
    threads: tuple[int, int, int],
    shape: tuple[int, int, int],
    blocks: tuple[tuple[int, int, int], ...],
    shared_bytes: int,
    level: str,
) -> simulator.Recording:
    M, N, K = shape
    grid = tuple(1 + max(index[axis] for index in blocks) for axis in range(3))
    function = _function(program.source, program.entry)
    A, B, C = (np.zeros(size, np.float32) for size in ((M, K), (K, N), (M, N)))
    args = (np.int32(M), np.int32(N), np.int32(K), np.float32(1), A, B, np.float32(0), C)
    function.max_dynamic_shared_size_bytes = max(function.max_dynamic_shared_size_bytes, shared_bytes)
    with simulator.record(level=level, blocks=blocks, only_traced=True, checks="off") as recording:
        function(grid, threads, args, shared_mem=shared_bytes)
    return recording


def record_whole_launch(kernel: Kernel, M: int, N: int, K: int) -> simulator.Recording:
    """Every block of a launch of the ladder's kernel, for counters of the whole launch; alpha 1 and beta 0."""
    A, B, C = (np.zeros(size, np.float32) for size in ((M, K), (K, N), (M, N)))
    args = (np.int32(M), np.int32(N), np.int32(K), np.float32(1), A, B, np.float32(0), C)
    function = _function(kernel.source, kernel.entry)
    function.max_dynamic_shared_size_bytes = max(function.max_dynamic_shared_size_bytes, kernel.shared_bytes)
    with simulator.record(level="ptx", checks="off") as recording:
        function(kernel.grid(M, N), kernel.block, args, shared_mem=kernel.shared_bytes)
    return recording


def forget() -> None:
    """Drop the recordings that are kept for the next move of a slider."""
    _record.cache_clear()


@lru_cache(maxsize=32)
def _function(source: str, entry: str) -> Any:
    return simulator.RawModule(code=source, options=("-std=c++17",), name_expressions=[entry]).get_function(entry)


def block_shape(kernel: Kernel, block: tuple[int, int], width: int, *, speed_at: int | None = None) -> BlockShape:
    """A block shape's cost per request, counted on one block, and its recorded GFLOPS.

    width: columns of A, B and C.  speed_at: M = N = K of the recording to look up, None for `width`. gflops is None if
    that was not recorded.
    """
    recording = record_launch(kernel, block, M=max(width, max(block)), N=width, K=SHORT_K)
    return block_shapes.block_shape(recording, kernel, block, speed_at or width)
