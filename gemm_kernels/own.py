"""A learner's own kernel, as every explorer of kernels takes it: `coalescing.explore(OwnKernel(source, "mine"))`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gemm_kernels import rules
from gemm_kernels.kernel import Kernel
from gemm_kernels.launch import Launch

AXES = "x, y, z"


@dataclass(frozen=True)
class OwnKernel:
    """A kernel with the ladder's parameters, and the launch to look at.

    The parameters are (int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C), or the
    same without alpha and beta if it is not scaled.

    source: CUDA C++.  entry: the kernel's name, or a template instantiation such as "sgemm<32>".
    block: threads along x, y, z, the last ones may be left out.  shared_bytes: dynamic shared memory.
    tile: (rows, columns) of C that a block computes; None: an element a thread, x along the columns.
    depth: steps k of one phase of its loop.  buffers: tiles of A and of B that it holds at a time.
    shape: (M, N, K) of the launch; None: what suits the picture.  name: what pictures call it; None: the entry.
    rows_along: the grid axis that runs down the rows of C, "y" or "x".

    Raises ValueError with a sentence for what can be no launch, and for template arguments that break a static_assert
    of the source. Whether the source compiles otherwise, and the launch runs, the explorer says.
    """

    source: str
    entry: str
    block: tuple[int, ...] = (16, 16, 1)
    tile: tuple[int, int] | None = None
    depth: int = 16
    shape: tuple[int, int, int] | None = None
    shared_bytes: int = 0
    buffers: int = 1
    name: str | None = None
    idea: str = "A kernel of your own."
    rows_along: str = "y"
    scaled: bool = True

    def __post_init__(self) -> None:
        for field in ("source", "entry"):
            text = getattr(self, field)
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"{field} is {_short(text)}; it must be the text of {_WHAT[field]}.")
        block = self.block if isinstance(self.block, Sequence) else (self.block,)
        if len(block) not in (1, 2, 3):
            raise ValueError(f"block is {_short(self.block)}; it must be one to three sizes along {AXES}, as (32, 8).")
        object.__setattr__(self, "block", _whole("block", block) + (1,) * (3 - len(block)))
        for field, count in (("tile", 2), ("shape", 3)):
            given = getattr(self, field)
            if given is None:
                continue
            if not isinstance(given, Sequence) or len(given) != count:
                raise ValueError(f"{field} is {_short(given)}; it must be {_WHAT[field]}.")
            object.__setattr__(self, field, _whole(field, given))
        if self.tile is None:
            x, y, _ = self.block
            object.__setattr__(self, "tile", (x, y) if self.rows_along == "x" else (y, x))
        for field, least in (("depth", 1), ("buffers", 1), ("shared_bytes", 0)):
            _whole(field, [getattr(self, field)], least)
        object.__setattr__(self, "name", self.name or self.function)
        stated, params = rules.of(self.source, self.entry)
        rule = rules.broken(stated.asserted, params)
        if rule:
            raise ValueError(f"{self.entry}: {rule.sentence}. It is a static_assert of the source.")

    @classmethod
    def of(cls, kernel: Kernel, shape: tuple[int, int, int] | None = None) -> OwnKernel:
        """A kernel of the ladder with parameters of one's own: OwnKernel.of(get("block_tile_2d").replace(BM=32))."""
        return cls(
            kernel.source, kernel.entry, kernel.block, kernel.tile, kernel.depth, shape, kernel.shared_bytes,
            max(1, kernel.buffers), kernel.name, kernel.idea,
        )  # fmt: skip

    @property
    def function(self) -> str:
        """The name of the CUDA function, without template arguments."""
        return self.entry.split("<")[0].strip()

    @property
    def threads(self) -> int:
        """Threads of a block."""
        x, y, z = self.block
        return x * y * z

    def grid(self, M: int, N: int) -> tuple[int, int, int]:
        """The blocks that cover C of (M, N)."""
        rows, columns = self.tile or (1, 1)
        down, across = -(-M // rows), -(-N // columns)
        return (down, across, 1) if self.rows_along == "x" else (across, down, 1)

    def launch(self, M: int, N: int, K: int) -> Launch:
        """A launch on matrices of this shape."""
        return Launch(
            self.name, self.source, self.entry, self.block, self.grid(M, N), self.shared_bytes, (M, N, K), self.tile,
            self.depth, self.buffers, self.rows_along, self.scaled,
        )  # fmt: skip


def launch_of(kernel: Kernel | OwnKernel, M: int, N: int, K: int) -> Launch:
    """A kernel's launch on matrices of this shape, or of the shape that a learner's own kernel names."""
    named = kernel.shape if isinstance(kernel, OwnKernel) else None
    return kernel.launch(*(named or (M, N, K)))


_WHAT = {
    "source": "a CUDA C++ program",
    "entry": 'a kernel\'s name in the source, as in "sgemm_mine" or "sgemm<32>"',
    "tile": "(rows, columns) of C that a block computes, as (64, 64)",
    "shape": "(M, N, K), as (100, 70, 33)",
}


def _whole(field: str, given: Sequence[Any], least: int = 1) -> tuple[int, ...]:
    """The sizes as whole numbers, each at least `least`. Raises ValueError."""
    for size in given:
        if isinstance(size, bool) or not hasattr(size, "__index__") or int(size) < least:
            shown = given[0] if len(given) == 1 else tuple(given)
            raise ValueError(f"{field} is {_short(shown)}; {_short(size)} is no whole number of at least {least}.")
    return tuple(int(size) for size in given)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
