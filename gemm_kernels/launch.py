"""A launch: a kernel with everything that it is launched with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

Dims = tuple[int, int, int]

OPTIONS = ("-std=c++20",)  # every kernel of the course is C++20, which has structs as template arguments


@dataclass(frozen=True, eq=False)
class Arguments:
    """The arguments of a kernel that is no multiplication: arrays and numbers, in the order of its parameters.

    Two of them never compare equal, because what an array holds may change.
    """

    given: tuple[Any, ...]


@dataclass(frozen=True)
class Launch:
    """C = alpha * A * B + beta * C by one kernel on matrices of one shape.

    The kernel's parameters are (int M, int N, int K, float alpha, const float *A, const float *B, float beta,
    float *C) with A: (M, K), B: (K, N), C: (M, N), row-major; without alpha and beta if it is not scaled.

    name: what pictures and sentences call it.
    source, entry: CUDA C++, and what to ask the compiled module for: a function's name or a template instantiation.
    block, grid: threads of a block, and blocks, along x, y, z.
    shared_bytes: dynamic shared memory of a block.
    shape: (M, N, K).
    tile: (rows, columns) of C that one block computes.
    depth: steps k of one phase of the main loop; 1 for a kernel without tiles in shared memory.
    buffers: tiles of A, and as many of B, that a block holds at a time; 0 for a kernel without them.
    rows_along: the grid axis along which blocks lie below each other in C.
    scaled: whether the kernel takes alpha and beta; without them C = A * B.
    options: of the compiler.
    arguments: of a kernel that is no such multiplication; None for one that is.
    workspace_bytes: of global memory, zeros, that the kernel takes as its last argument; None if it takes none.
    """

    name: str
    source: str
    entry: str
    block: Dims
    grid: Dims
    shared_bytes: int
    shape: Dims
    tile: tuple[int, int]
    depth: int = 1
    buffers: int = 0
    rows_along: str = "y"
    scaled: bool = True
    options: tuple[str, ...] = OPTIONS
    arguments: Arguments | None = None
    workspace_bytes: int | None = None

    @property
    def threads(self) -> int:
        """Threads of a block."""
        x, y, z = self.block
        return x * y * z

    def with_source(self, source: str, name: str = "") -> Launch:
        """The same launch of a changed source. name: of the changed kernel, "" for the same."""
        return replace(self, source=source, name=name or self.name)

    def covering(self, shape: Dims, x: int, y: int, z: int = 1) -> Launch:
        """The launch as it is if shape and block are its own, otherwise `in_blocks` on matrices of that shape."""
        if (shape, (x, y, z)) == (self.shape, self.block):
            return self
        return replace(self, shape=shape).in_blocks(x, y, z)

    def in_blocks(self, x: int, y: int, z: int = 1) -> Launch:
        """The same kernel in blocks of another shape, and a grid that covers C.

        Every thread is taken to compute as many elements of C as it does now.
        """
        (rows, columns), (old_x, old_y, _), (M, N, _) = self.tile, self.block, self.shape
        sizes, olds = ((x, y), (old_x, old_y)) if self.rows_along == "x" else ((y, x), (old_y, old_x))
        # Elements of C along its rows and columns, as fractions of whole threads: (numerator, denominator).
        down, across = ((tile * size, old) for tile, size, old in zip((rows, columns), sizes, olds, strict=True))
        blocks_down, blocks_across = -(-M * down[1] // down[0]), -(-N * across[1] // across[0])
        grid = (blocks_down, blocks_across, 1) if self.rows_along == "x" else (blocks_across, blocks_down, 1)
        tile = (max(1, down[0] // down[1]), max(1, across[0] // across[1]))
        return replace(self, block=(x, y, z), grid=grid, tile=tile)
