"""The type of one step of the ladder: a CUDA source, its parameters, the rules they obey and the launch they need."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from numbers import Integral
from pathlib import Path
from types import MappingProxyType

from gemm_kernels.launch import Launch
from gemm_kernels.refused import Refused
from gemm_kernels.rules import Params, Rule, Rules, broken, instantiation, read

CUDA_FOLDER = Path(__file__).parent / "cuda"

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the same for every GPU since CC 3.0.
MAX_GRID_X = 2**31 - 1
MAX_GRID_Y = 65535
MOST_ROWS = 2**31 - 1


def check_sizes(**sizes: int) -> None:
    """Refuse, with a sentence, a matrix's size that is not a whole number of at least 1: `check_sizes(M=M, N=N)`."""
    for name, size in sizes.items():
        if not isinstance(size, Integral) or isinstance(size, bool):
            raise Refused(f"{name} = {size!r} is no whole number, such as {name}=128")
        if size < 1:
            raise Refused(f"{name} = {size}, but a matrix has at least one row and one column")
        if size > MOST_ROWS:
            raise Refused(f"{name} = {size} is more than the kernels' int parameters hold, {MOST_ROWS}")


@dataclass(frozen=True)
class Family:
    """What kernels that are launched alike share: the launch as functions of the parameters.

    tile: (rows, columns) of C that one block computes.
    columns: how many columns those are in a C that has so many, where that depends on it; None: the tile's.
    depth: steps k of one phase of the main loop; 1 without tiles in shared memory.
    buffers: tiles of A, and as many of B, that a block holds in shared memory at a time; 0 without them.
    shared_bytes: dynamic shared memory of a block in bytes (static shared memory is the compiler's to count).
    rows_along: the grid axis along which blocks lie below each other in C: "y", or "x" for the naive kernel alone.
    blocks: for kernels whose blocks share out the tiles themselves: how many to launch, in one row, for so many tiles.
    workspace_bytes: for kernels whose blocks leave each other parts of C: global memory for them, which a launch finds
        and leaves full of zeros where it counts; None for kernels without that ninth argument.
    template: True if the parameters are template parameters, in this order; False if they are chosen at the launch.
    block: (x, y, z) threads of a block; None: as many along x as the source's `__launch_bounds__` says.
    rules: of parameters that are chosen at the launch; those of template parameters stand in the source.
    widths: for kernels with a version of their code for each alignment of the rows of B and C: of how many floats each
        row must be a multiple for it, the widest first. The last parameter of the template, which has a default, says
        which is the widest that is compiled.
    """

    tile: Callable[[Params], tuple[int, int]]
    columns: Callable[[Params, int], int] | None = None
    depth: Callable[[Params], int] = lambda p: p["BK"]
    buffers: Callable[[Params], int] = lambda p: 1
    shared_bytes: Callable[[Params], int] = lambda p: 0
    rows_along: str = "y"
    blocks: Callable[[Params, int], int] | None = None
    workspace_bytes: Callable[[Params], int] | None = None
    template: bool = True
    block: Callable[[Params], tuple[int, int, int]] | None = None
    rules: tuple[Rule, ...] = ()
    widths: tuple[int, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """One step of the ladder: C = alpha * A * B + beta * C in FP32, row-major, for any M, N, K >= 1.

    Every kernel takes (int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
    with A: (M, K), B: (K, N), C: (M, N). With beta = 0 C is written without being read.

    name: what `gemm_kernels.get` finds it by.
    title, idea: what it is called in the course, and in one sentence what is new in it.
    after: the name of the kernel that this one is a change to (the diff between their sources is the lesson), or None.
    params: parameter name -> value. Use `replace` to change them.
    family: the launch that follows from the parameters.
    file: its source is cuda/<file>.cu. It is the name, except for a kernel that is another one's source with
        other parameters.
    chosen_by_shape: whether its parameters are chosen for each shape (see `gemm_kernels.by_shape`).
    widest: the widest of its family's `widths` that is compiled, see `for_rows`; 0 for all of them.
    """

    name: str
    title: str
    idea: str
    after: str | None
    params: Params
    family: Family = field(repr=False)
    file: str = ""
    chosen_by_shape: bool = False
    widest: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", MappingProxyType(dict(self.params)))
        object.__setattr__(self, "file", self.file or self.name)
        for name, value in self.params.items():
            if not isinstance(value, int) or isinstance(value, bool):
                raise Refused(f"{self.name}: {name} = {value!r} is not a whole number; try {name}=8")

    def __hash__(self) -> int:
        return hash((self.name, *sorted(self.params.items())))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What the parameters must obey, read from the source's static_asserts (see `gemm_kernels.rules`)."""
        return self.family.rules or self._read.asserted

    @cached_property
    def _read(self) -> Rules:
        """What the source says about the parameters."""
        return read(self.source, self.function)

    @property
    def template(self) -> bool:
        """True if the parameters are template parameters; False if they are the block's shape, chosen at the launch."""
        return self.family.template

    @property
    def source(self) -> str:
        """The text of the CUDA source: complete, what a notebook shows is what is compiled. Where the file includes
        headers beside it, their texts are in their places."""
        return _complete(f"{self.file}.cu")

    @property
    def function(self) -> str:
        """The name of the CUDA function, without template arguments: "sgemm_shared_memory"."""
        return f"sgemm_{self.file}"

    @property
    def entry(self) -> str:
        """What to ask the compiled module for: "sgemm_naive", or a template instantiation, "sgemm_shared_memory<32>",
        or "sgemm_pinned<Params{.BM = 128, …}>" where the source has its parameters in a struct."""
        if not self.template:
            return self.function
        return instantiation(self._read, self.function, self.params, [self.widest] if self.widest else [])

    @property
    def short(self) -> str:
        """The kernel and its parameters' values in their order, as tables write them: "sliced_k<32, 64, …>"."""
        values = [*self.params.values(), *([self.widest] if self.widest else [])]
        return f"{self.name}<{', '.join(map(str, values))}>"

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block along x, y, z."""
        return self.family.block(self.params) if self.family.block else (self._read.threads(self.params), 1, 1)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        x, y, z = self.block
        return x * y * z

    @property
    def tile(self) -> tuple[int, int]:
        """(rows, columns) of C that one block computes."""
        return self.family.tile(self.params)

    @property
    def depth(self) -> int:
        """Steps k of one phase of the main loop; 1 for a kernel without tiles in shared memory."""
        return self.family.depth(self.params)

    @property
    def buffers(self) -> int:
        """Tiles of A, and as many of B, that a block holds in shared memory at a time; 0 for a kernel without them."""
        return self.family.buffers(self.params)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory to launch with, in bytes. Above 48 KB the launch must first raise the function's limit
        (CuPy: `function.max_dynamic_shared_size_bytes = kernel.shared_bytes`)."""
        return self.family.shared_bytes(self.params)

    @property
    def workspace_bytes(self) -> int | None:
        """Bytes of global memory for what blocks leave each other, 0 if these parameters leave nothing.

        None for a kernel that takes no workspace. It is all zeros before the first launch, and launches that may run at
        the same time need one each.
        """
        return self.family.workspace_bytes(self.params) if self.family.workspace_bytes else None

    def grid(self, M: int, N: int) -> tuple[int, int, int]:
        """Blocks along x, y, z that cover a C of shape (M, N). ValueError if the GPU cannot launch so many.

        Each has one tile, unless the kernel's family says that they share out the tiles themselves.
        """
        check_sizes(M=M, N=N)
        rows, columns = self.tile
        columns = self.family.columns(self.params, N) if self.family.columns else columns
        blocks_down, blocks_across = -(-M // rows), -(-N // columns)
        if self.family.blocks:
            grid = (self.family.blocks(self.params, blocks_down * blocks_across), 1, 1)
        elif self.family.rows_along == "y":
            grid = (blocks_across, blocks_down, 1)
        else:
            grid = (blocks_down, blocks_across, 1)
        for axis, blocks, limit in (("x", grid[0], MAX_GRID_X), ("y", grid[1], MAX_GRID_Y)):
            if blocks > limit:
                raise Refused(
                    f"{self.name}: C of {M} x {N} in tiles of {rows} x {columns} needs {blocks} blocks along {axis}, "
                    f"and a grid has at most {limit} there. Try a larger tile."
                )
        return grid

    def launch(self, M: int, N: int, K: int) -> Launch:
        """A launch on matrices of this shape. ValueError if the GPU cannot launch so many blocks."""
        return Launch(
            self.name, self.source, self.entry, self.block, self.grid(M, N), self.shared_bytes, (M, N, K), self.tile,
            self.depth, self.buffers, self.family.rows_along, workspace_bytes=self.workspace_bytes,
        )  # fmt: skip

    def for_rows(self, N: int) -> Kernel:
        """The same kernel, right for any shape, without those versions of its code that B and C with N columns never
        run: what is not between the entry and the version that runs need not come from DRAM first."""
        if not self.family.widths:
            return self
        widest = next(width for width in self.family.widths if N % width == 0)
        return replace(self, widest=0 if widest == self.family.widths[0] else widest)

    def within(self, shared_bytes: int) -> Kernel:
        """The same kernel with parameters that need at most so much dynamic shared memory: itself, if it does, or else
        with fewer stages and then with tiles of half the rows or columns, as often as it takes.

        A block of an H200 has up to 232 448 bytes, one of compute capability 8.6, 8.9 or 12.0 has 101 376. ValueError,
        with a sentence, if nothing fits.
        """
        if self.shared_bytes <= shared_bytes:
            return self
        tried = [self.params]
        for params in tried:  # grows: the nearest change first
            for name, pair in (("STAGES", None), ("BM", "WM"), ("BN", "WN")):
                if name not in params:
                    continue
                smaller = dict(params, **{name: params[name] - 1 if pair is None else params[name] // 2})
                if pair and pair in params and smaller[name] % params[pair]:
                    smaller[pair] = smaller[name]
                if smaller in tried or broken(self.rules, smaller):
                    continue
                smaller_kernel = self.replace(**smaller)
                if smaller_kernel.shared_bytes <= shared_bytes:
                    return smaller_kernel
                tried.append(smaller)
        raise Refused(
            f"{self.name} needs {self.shared_bytes:,} bytes of shared memory for each block, and there are "
            f"{shared_bytes:,}; fewer stages and smaller tiles do not fit either. Choose other parameters by replace."
        )

    def replace(self, **params: int) -> Kernel:
        """The same kernel with other parameters: `get("shared_memory").replace(T=16)`.

        ValueError, with the broken rule as a sentence, if there is no such parameter or no such kernel.
        """
        for name in params:
            if name not in self.params:
                raise Refused(f"{self.name} has no parameter {name}; it has {', '.join(self.params)}")
        if not params:
            return self
        params = {**self.params, **params}
        changed = replace(self, params=params)
        rule = broken(self.rules, params)
        if rule:
            given = ", ".join(f"{name} = {value}" for name, value in params.items())
            raise Refused(f"{self.name}: {rule.sentence}. Found {given}.")
        changed.__dict__["_read"] = self._read  # of the same source
        return changed


_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"\n', re.MULTILINE)


def _complete(name: str) -> str:
    """The text of a file of CUDA_FOLDER with those that it includes; read again when one of them has changed."""
    modified = _modified(name)
    included = _included(name, modified)
    return _joined(name, modified, tuple(map(_modified, included))) if included else _text(name, modified)


def _modified(name: str) -> int:
    return os.stat(f"{CUDA_FOLDER}/{name}").st_mtime_ns


@cache
def _text(name: str, modified: int) -> str:
    return (CUDA_FOLDER / name).read_text(encoding="utf-8")


@cache
def _included(name: str, modified: int) -> tuple[str, ...]:
    return tuple(_INCLUDE.findall(_text(name, modified)))


@cache
def _joined(name: str, modified: int, headers_modified: tuple[int, ...]) -> str:
    times = iter(headers_modified)
    return _INCLUDE.sub(lambda match: f"{_text(match[1], next(times))}\n", _text(name, modified))
