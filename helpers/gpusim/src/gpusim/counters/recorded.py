"""What a recorded launch consists of: counts by instruction, addresses of traced blocks, geometry, the code itself."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gpusim import compiler
from gpusim.compiler import CompiledKernel
from gpusim.counters.trace import Trace
from gpusim.engine.ir import Program
from gpusim.errors import SimulatorError

if TYPE_CHECKING:
    from gpusim.engine.run import Launch


def place_of(block: Iterable[int] | int) -> tuple[int, int, int]:
    """A block given as x, (x,), (x, y) or (x, y, z). SimulatorError for what names none."""
    try:
        index = tuple(map(operator.index, block)) if isinstance(block, Iterable) else (operator.index(block),)
    except TypeError:
        index = ()
    if not 1 <= len(index) <= 3:
        raise SimulatorError(f"block={block!r}: name a block by whole numbers, as (x,), (x, y) or (x, y, z).")
    x, y, z = (*index, 0, 0)[:3]
    return x, y, z


@dataclass(slots=True)
class Counts:
    """Sums over requests. `lanes` counts active threads; `useful_bytes` the distinct bytes that each request asks for,
    `ideal_sectors` the sectors that they would fill if they lay side by side from the start of one.

    Sectors and tags (distinct 128-byte lines) are global and local memory's, wavefronts are shared memory's;
    `ideal_wavefronts` is the smallest number for the width and the active lanes. `uncertain` counts requests whose
    wavefronts the hardware may count otherwise (`counting.is_certain`). `copy_wavefronts` are those of asynchronous
    copies, reading the source included (`counting.copy_wavefronts`).
    """

    requests: int = 0
    lanes: int = 0
    sectors: int = 0
    tags: int = 0
    useful_bytes: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    uncertain: int = 0
    ideal_sectors: int = 0
    copy_wavefronts: int = 0

    def add(self, other: Counts, times: int = 1) -> None:
        """Add `times` × other."""
        self.requests += times * other.requests
        self.lanes += times * other.lanes
        self.sectors += times * other.sectors
        self.tags += times * other.tags
        self.useful_bytes += times * other.useful_bytes
        self.wavefronts += times * other.wavefronts
        self.ideal_wavefronts += times * other.ideal_wavefronts
        self.uncertain += times * other.uncertain
        self.ideal_sectors += times * other.ideal_sectors
        self.copy_wavefronts += times * other.copy_wavefronts


K, V = TypeVar("K"), TypeVar("V")
QUANTITIES = tuple(field.name for field in fields(Counts))
Key = tuple[int, str, str, str]  # instruction, space, op, array


class OnDemand(Mapping[K, V]):
    """A mapping that `find` puts together when it is looked at for the first time."""

    def __init__(self, find: Callable[[], dict[K, V]]) -> None:
        self._find = find

    @cached_property
    def _content(self) -> dict[K, V]:
        return self._find()

    def __getitem__(self, key: K) -> V:
        return self._content[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)


@dataclass(frozen=True, slots=True)
class LineCounts:
    """One source line of a kernel: how many warp instructions it became and what its accesses cost."""

    line: int
    text: str
    instructions: int
    accesses: dict[tuple[str, str], Counts]

    def total(self, quantity: str, space: str | None = None, op: str | None = None) -> int:
        """The sum of a quantity of `Counts` over the line's accesses, of one space ("global") or op ("ld") if given."""
        return _total(self.accesses, quantity, space, op)


@dataclass(frozen=True, slots=True)
class InstructionCounts:
    """One instruction of a kernel's code: `warps` that executed it, `threads`, and those of them whose guard was true.

    `text` is as the compiler wrote it; `line` is the source line that it was made from, 0 if none is known.
    """

    index: int
    text: str
    opcode: str
    line: int
    warps: int
    threads: int
    predicated_on: int
    accesses: dict[tuple[str, str], Counts]

    def total(self, quantity: str, space: str | None = None, op: str | None = None) -> int:
        """The sum of a quantity of `Counts` over its accesses, of one space ("global") or op ("ld") if given."""
        return _total(self.accesses, quantity, space, op)


def _total(accesses: dict[tuple[str, str], Counts], quantity: str, space: str | None, op: str | None) -> int:
    return sum(
        getattr(counts, quantity)
        for (where, what), counts in accesses.items()
        if space in (None, where) and op in (None, what)
    )


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """The geometry and the resources of one recorded launch, and what its kernel was compiled with.

    `shared_bytes` of a block are static and dynamic together, without the ones that the system reserves. `registers` of
    a thread are the machine code's, at PTX level too. `note` says why PTX was executed in place of the machine code, ""
    if it was not.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    registers: int
    executed_blocks: int
    dynamic_shared_bytes: int = 0
    arch: str = ""
    compiler_version: tuple[int, int] = (0, 0)
    options: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """A launch as it can be executed, again or in parts: what runs, what it was compiled from, its dynamic shared
    memory in bytes. Arrays are those of the caller, with what they hold by then."""

    run: Launch
    compiled: CompiledKernel
    shared_mem: int


@dataclass(frozen=True, slots=True)
class RecordedLaunch:
    """One launch as it was recorded.

    `block_warps` and `block_lanes` hold by basic block how many warps and threads executed it, `guarded_lanes` by
    instruction with a guard how many threads had a true one; `counts` are by (instruction, space, op, array).
    `traced` are the linear numbers of the blocks whose addresses are in `traces`, None for all blocks. `captured` is
    the launch itself.
    """

    program: Program
    facts: LaunchFacts
    traced: frozenset[int] | None
    block_warps: np.ndarray
    block_lanes: np.ndarray
    guarded_lanes: Mapping[int, int]
    counts: Mapping[Key, Counts]
    traces: Sequence[Trace]
    captured: Captured
    listings: dict[str, dict[int, tuple[str, ...]]] = field(default_factory=dict)

    def traces_of(self, block: Iterable[int] | int) -> list[Trace]:
        """The accesses of one traced block, given as x, (x,), (x, y) or (x, y, z), in the order of execution.

        SimulatorError if its addresses were not kept.
        """
        wanted = place_of(block)
        grid = self.facts.grid
        number = wanted[0] + grid[0] * (wanted[1] + grid[1] * wanted[2])
        if self.traced is not None and number not in self.traced:
            raise SimulatorError(
                f"The addresses of block {wanted} were not kept. Name it when recording: "
                f"gpusim.record(blocks=[{wanted}])."
            )
        return [trace for trace in self.traces if trace.block == wanted]

    def all_listings(self) -> dict[str, dict[int, tuple[str, ...]]]:
        """The listings that are to be had, by level: that of the machine code is missing where nvdisasm is."""
        for level in ("ptx", "sass"):
            with suppress(compiler.CompilerError, SimulatorError):
                self.listing(level)
        return self.listings

    def listing(self, level: str) -> dict[int, tuple[str, ...]]:
        """The kernel's instructions by source line, of the compiler's PTX ("ptx") or its machine code ("sass").

        Raises NvdisasmMissing.
        """
        if level not in self.listings:
            read = {"ptx": compiler.ptx_by_line, "sass": compiler.sass_by_line}[level]
            self.listings[level] = {line: tuple(texts) for line, texts in read(self.captured.compiled).items()}
        return self.listings[level]
