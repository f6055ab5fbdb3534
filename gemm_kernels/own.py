"""A learner's own kernel, as every explorer of kernels takes it: `coalescing.explore(OwnKernel(source, "mine"))`.

OwnKernel(source, "sgemm", block=(32, 32), grid=(4, 4), shape=(128, 128, 128))      # multiplies matrices
OwnKernel(source, "softmax", block=256, grid=64, args=(x, y, 64, 1000))             # does anything else
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gemm_kernels import rules
from gemm_kernels.kernel import Kernel
from gemm_kernels.launch import Arguments, Launch
from gemm_kernels.refused import Refused

AXES = "x, y, z"
USUAL_K = 64


class NoLaunch(Refused):
    """This cannot be launched; the message is a sentence, and all that a notebook shows of the error."""

    def _render_traceback_(self) -> list[str]:
        return [f"OwnKernel: {self}"]


@dataclass(frozen=True)
class OwnKernel:
    """A kernel, and the launch to look at.

    A multiplication has the ladder's parameters, (int M, int N, int K, float alpha, const float *A, const float *B,
    float beta, float *C), with or without alpha and beta, or the same ones under these names in another order. Any
    other kernel says its `args`.

    source: CUDA C++.  entry: the kernel's name, or a template instantiation such as "sgemm<32>"; may be left out if the
    source has one kernel alone, which is no template.
    block: threads along x, y, z, the last ones may be left out.  shared_bytes: dynamic shared memory.
    tile: (rows, columns) of C that a block computes; None: explorers find it out from what the first blocks store.
    depth: steps k of one phase of its loop.  buffers: tiles of A and of B that it holds at a time.
    shape: (M, N, K) of the launch; None: what suits the picture.  name: what pictures call it; None: the entry.
    rows_along: the grid axis along which blocks lie below each other in C, "y" or "x".
    grid: blocks along x, y, z; None: as many as cover C.
    args: arrays and numbers in the order of the parameters, of a kernel that is no multiplication; it needs a grid.
    guessed: whether the tile was left out, so that one element per thread is assumed.

    Raises NoLaunch with a sentence for what cannot be launched, and for template arguments that break a static_assert
    of the source. Whether the source compiles otherwise, and the launch runs, the explorer says.
    """

    source: str
    entry: str = ""
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
    grid: tuple[int, ...] | None = None
    args: Arguments | Sequence[Any] | None = None
    guessed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if isinstance(self.entry, str) and self.entry == "" and isinstance(self.source, str):
            object.__setattr__(self, "entry", _only_kernel(self.source))
        for name in ("source", "entry"):
            text = getattr(self, name)
            if not isinstance(text, str) or not text.strip():
                raise NoLaunch(f"{name} is {_short(text)}; it must be the text of {_WHAT[name]}.")
        for name in ("block", "grid"):
            given = getattr(self, name)
            if given is None and name == "grid":
                continue
            sizes = given if isinstance(given, Sequence) else (given,)
            if len(sizes) not in (1, 2, 3):
                raise NoLaunch(f"{name} is {_short(given)}; it must be one to three sizes along {AXES}, as (32, 8).")
            object.__setattr__(self, name, _whole(name, sizes) + (1,) * (3 - len(sizes)))
        if self.args is not None:
            if self.grid is None:
                raise NoLaunch("args without a grid: say how many blocks are launched, as grid=(4, 4).")
            if not isinstance(self.args, Arguments):
                if isinstance(self.args, str) or not isinstance(self.args, Sequence):
                    raise NoLaunch(
                        f"args is {_short(self.args)}; it must be a tuple of arrays and numbers, as (x, y, 64)."
                    )
                object.__setattr__(self, "args", Arguments(tuple(self.args)))
        for name, count in (("tile", 2), ("shape", 3)):
            given = getattr(self, name)
            if given is None:
                continue
            if not isinstance(given, Sequence) or len(given) != count:
                raise NoLaunch(f"{name} is {_short(given)}; it must be {_WHAT[name]}.")
            object.__setattr__(self, name, _whole(name, given))
        if self.tile is None:
            x, y, _ = self.block
            object.__setattr__(self, "tile", (x, y) if self.rows_along == "x" else (y, x))
            object.__setattr__(self, "guessed", True)
        for name, least in (("depth", 1), ("buffers", 1), ("shared_bytes", 0)):
            object.__setattr__(self, name, *_whole(name, [getattr(self, name)], least))
        object.__setattr__(self, "name", self.name or self.function)
        stated, params = rules.of(self.source, self.entry)
        rule = rules.broken(stated.asserted, params)
        if rule:
            raise NoLaunch(f"{self.entry}: {rule.sentence}. It is a static_assert of the source.")

    @classmethod
    def of(cls, kernel: Kernel, shape: tuple[int, int, int] | None = None) -> OwnKernel:
        """A kernel of the ladder with parameters of one's own: OwnKernel.of(get("block_tile_2d").replace(BM=32))."""
        return cls(
            kernel.source, kernel.entry, kernel.block, kernel.tile, kernel.depth, shape, kernel.shared_bytes,
            max(1, kernel.buffers), kernel.name, kernel.idea, kernel.family.rows_along,
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

    def blocks(self, M: int, N: int) -> tuple[int, int, int]:
        """The grid that it has, or else the blocks that cover C of (M, N)."""
        if self.grid is not None:
            return self.grid[0], self.grid[1], self.grid[2]
        rows, columns = self.tile or (1, 1)
        down, across = -(-M // rows), -(-N // columns)
        return (down, across, 1) if self.rows_along == "x" else (across, down, 1)

    def launch(self, M: int, N: int, K: int) -> Launch:
        """A launch on matrices of this shape."""
        return Launch(
            self.name, self.source, self.entry, self.block, self.blocks(M, N), self.shared_bytes, (M, N, K), self.tile,
            self.depth, self.buffers, self.rows_along, self.scaled, arguments=self.args,
        )  # fmt: skip


def _only_kernel(source: str) -> str:
    """The name of the one kernel of a source. NoLaunch where there is none, or more than one, or a template."""
    names = rules.kernels(source)
    if not names:
        raise NoLaunch(
            "entry was left out, and the source shows no kernel: a function that begins with __global__ void."
        )
    if len(names) > 1:
        raise NoLaunch(
            f"entry was left out, and the source has {', '.join(names)}: say which one, as entry={names[0]!r}."
        )
    if rules.read(source, names[0]).parameters:
        raise NoLaunch(f"{names[0]} is a template: say its arguments, too, as in entry='{names[0]}<32>'.")
    return names[0]


def launch_of(kernel: Kernel | OwnKernel, M: int, N: int, K: int) -> Launch:
    """A kernel's launch on matrices of this shape, or of the shape that a learner's own kernel names.

    A learner's kernel may step through k by any tile, and without a shape it gets a K that all usual ones divide.
    """
    if isinstance(kernel, OwnKernel):
        return kernel.launch(*(kernel.shape or (M, N, -(-K // USUAL_K) * USUAL_K)))
    return kernel.launch(M, N, K)


_WHAT = {
    "source": "a CUDA C++ program",
    "entry": 'a kernel\'s name in the source, as in "sgemm_mine" or "sgemm<32>"',
    "tile": "(rows, columns) of C that a block computes, as (64, 64)",
    "shape": "(M, N, K), as (100, 70, 33)",
}


def _is_index(value: Any) -> bool:
    """Whether a value may count something: an array of several elements has `__index__`, too."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def _whole(field: str, given: Sequence[Any], least: int = 1) -> tuple[int, ...]:
    """The sizes as whole numbers, each at least `least`. Raises ValueError."""
    for size in given:
        if isinstance(size, bool) or not _is_index(size) or int(size) < least:
            shown = given[0] if len(given) == 1 else tuple(given)
            raise NoLaunch(f"{field} is {_short(shown)}; {_short(size)} is no whole number of at least {least}.")
    return tuple(int(size) for size in given)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
