"""One warp's requests to shared memory: which bank serves which word to which lanes, in which wavefront."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from gemm_kernels import Launch
from gpusim import Recording, SharedNames, counting, pointers
from gpusim.devices import BANKS, WARP, WORD_BYTES
from helpers import run
from helpers.pictures import CannotTell

TILES = ("As", "Bs")
NAMES = {"ld": "load from", "ldsm": "load of matrices from", "st": "store to", "atom": "atomic update of",
         "copy": "asynchronous copy to"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SharedAccess:
    """One request of a warp to shared memory.

    name: what the pictures call it: "store to As".  op: "copy" is cp.async, "ldsm" is ldmatrix.  width: bytes a lane.
    address: (32,) int64 byte addresses in the block's shared memory.  active: (32,) bool.
    array: "A" or "B", whose tile it is, or "".
    """

    name: str
    op: Literal["ld", "ldsm", "st", "atom", "copy"]
    width: int
    address: np.ndarray
    active: np.ndarray
    array: str = ""

    def __post_init__(self) -> None:
        for name in ("address", "active"):
            if np.shape(getattr(self, name)) != (WARP,):
                raise ValueError(f"A warp has {WARP} lanes, but {name} has the shape {np.shape(getattr(self, name))}.")

    @property
    def stores(self) -> bool:
        """Whether the banks serve it by the rules of stores and of ldmatrix: nothing merges."""
        return self.op != "ld"

    def _wavefronts(self, active: np.ndarray) -> int:
        return int(counting.wavefronts(self.address[None, :], active[None, :], self.width, self.stores)[0])

    @cached_property
    def wavefronts(self) -> int:
        """Steps in which the banks serve the request."""
        return self._wavefronts(self.active)

    @cached_property
    def needed(self) -> int:
        """Wavefronts if no two words met in a bank: one for each phase."""
        address, active = self.address[None, :], self.active[None, :]
        return self.wavefronts - int(counting.bank_conflicts(address, active, self.width)[0])

    @property
    def usual(self) -> int:
        """Wavefronts of a request of this width without conflicts and without lanes that share addresses."""
        return int(counting.ideal_wavefronts(self.active[None, :], self.width)[0])

    @cached_property
    def phases(self) -> tuple[tuple[int, ...], ...]:
        """The lanes that are served together, phase by phase; phases without an active lane are left out."""
        quarters = np.arange(WARP).reshape(max(1, self.width // WORD_BYTES), -1)
        parts = [part for half in self._halves(quarters) for part in half]
        return tuple(tuple(part[self.active[part]].tolist()) for part in parts if self.active[part].any())

    def _halves(self, quarters: np.ndarray) -> list[list[np.ndarray]]:
        """The phases of each half of the warp: its quarters, or all of it where one wavefront serves them together."""
        if len(quarters) == 1 or self.stores:
            return [list(quarters)]
        if self.wavefronts == 1:
            return [[np.arange(WARP)]]
        if len(quarters) == 2:
            return [list(quarters)]
        second = self._wavefronts(self.active & (np.arange(WARP) >= WARP // 2))
        halves = []
        for half, fronts in ((quarters[:2], self.wavefronts - second), (quarters[2:], second)):
            halves.append([half.ravel()] if fronts == 1 else list(half))
        return halves

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """What each bank serves in each wavefront."""
        wide = max(self.width, WORD_BYTES)
        banks = BANKS * WORD_BYTES // wide
        cells, first = [], 0
        for phase, lanes in enumerate(self.phases):
            wanted: dict[int, list[int]] = {}
            for lane in lanes:
                wanted.setdefault(int(self.address[lane]) // wide, []).append(lane)
            queues: dict[int, int] = {}  # words of this phase that a bank has served
            for word, served in wanted.items():
                bank = word % banks
                row = queues[bank] = queues.get(bank, -1) + 1
                span = wide // WORD_BYTES
                cells.append(Cell(phase, first + row, row, bank * span, span, word * span, tuple(served)))
            first += max(queues.values()) + 1
        return tuple(cells)


@dataclass(frozen=True)
class Cell:
    """A word, or the `span` neighbouring words of a wide access, that one wavefront serves.

    wavefront: its number in the request.  turn: its number in the phase; 0 does not wait.  bank: the first of `span`.
    word: byte address // 4.  lanes: those that it goes to.
    """

    phase: int
    wavefront: int
    turn: int
    bank: int
    span: int
    word: int
    lanes: tuple[int, ...]


def shared_accesses(
    recording: Recording, block: tuple[int, ...] = (0, 0, 0), warp: int = 0
) -> list[tuple[int, SharedAccess]]:
    """(source line, request) for every request of a warp to shared memory, in the order of their execution."""
    texts = {line.line: line.text for line in recording.by_line()}
    rows = recording.requests(space="shared", block=block, warp=warp)
    accesses, arrays = [], None
    for row in rows[np.argsort(rows["step"], kind="stable")]:
        line, op = int(row["line"]), str(row["op"])
        named = _named(texts.get(line, ""))
        if len(named) > 1:  # both tiles in one line: the address tells which
            arrays = arrays or _arrays(recording)
            around = map(arrays.around, row["address"][row["active"]].tolist())
            named &= {array.name for array in around if array is not None}
        tile = named.pop() if len(named) == 1 else ""
        name = f"{NAMES.get(op, op)} {tile or 'shared memory'}"
        access = SharedAccess(
            name, op, int(row["width"]), np.array(row["address"]), np.array(row["active"]), tile.removesuffix("s")
        )
        accesses.append((line, access))
    return accesses


def _named(text: str) -> set[str]:
    """Which of the tiles a source line names."""
    return {tile for tile in TILES if re.search(rf"\b{tile}\b", text)}


def _arrays(recording: Recording) -> SharedNames:
    """The static arrays in shared memory of a recorded kernel."""
    return SharedNames(pointers.find(recording.launches[-1].captured.compiled).shared_arrays)


@dataclass(frozen=True)
class SharedInstruction:
    """A source line that accesses shared memory. op: "ld", "ldsm" or "st".  code: its text."""

    line: int
    op: str
    width: int
    name: str
    code: str

    @property
    def label(self) -> str:
        """'line 34: store to As, 32 bits'."""
        return f"line {self.line}: {self.name}, {8 * self.width} bits"


@lru_cache(maxsize=16)
def places(launch: Launch, warp: int = 0) -> dict[SharedInstruction, tuple[SharedAccess, ...]]:
    """Every line of a kernel with which a warp accesses shared memory, and its requests in the order of execution.

    Raises the simulator's and the compiler's errors, and CannotTell for a warp without such requests.
    """
    recording = run.record(launch)
    texts = {row.line: row.text.strip() for row in recording.by_line()}
    accesses: dict[SharedInstruction, list[SharedAccess]] = {}
    for line, access in shared_accesses(recording, warp=warp):
        instruction = SharedInstruction(line, access.op, access.width, access.name, texts.get(line, ""))
        accesses.setdefault(instruction, []).append(access)
    if not accesses:
        raise CannotTell(f"Warp {warp} of {launch.name} makes no request to shared memory. Choose another kernel.")
    return {
        instruction: tuple(accesses[instruction])
        for instruction in sorted(accesses, key=lambda instruction: (instruction.line, instruction.op))
    }
