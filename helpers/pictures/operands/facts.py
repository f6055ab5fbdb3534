"""A member of the family launched and recorded: what a block's tile is in memory, and what the launch moves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gpusim import Recording
from gpusim.devices import FLOAT_BYTES, SECTOR_BYTES
from helpers import run
from helpers.pictures.coalescing.facts import WarpAccess, warp_access

SOURCE = Path(__file__).parent / "member.cu"
ENTRIES = MEMBER, AFTERWARDS = "member", "afterwards"  # of the source
T, BLOCK = 16, (16, 16)  # as the source has them
M, N, K = 32, 48, 32
TILE = (1, 1)  # blockIdx of the drawn block
K0 = T  # of the drawn iteration
EPILOGUES = ("none", "+ bias", "+ bias, GELU", "+ bias, GELU, + R")
NUMBER = np.int32


@dataclass(frozen=True)
class Member:
    """What is asked for.

    op_a, op_b: "N" or "T".  gap: floats between the rows of A, B and C as they are stored.  products: in the batch.
    shared: all of them have the same B.  along_memory: neighbours in x load neighbours in memory.  epilogue: how many
    steps of EPILOGUES.  fused: they are in the same kernel.
    """

    op_a: str = "N"
    op_b: str = "N"
    gap: int = 0
    products: int = 1
    shared: bool = False
    along_memory: bool = True
    epilogue: int = 0
    fused: bool = True

    def stored(self, name: str) -> tuple[int, int]:
        """Rows and columns of A, B or C as it is stored."""
        rows, columns = {"A": (M, K), "B": (K, N), "C": (M, N)}[name]
        op = {"A": self.op_a, "B": self.op_b, "C": "N"}[name]
        return (rows, columns) if op == "N" else (columns, rows)

    def leading(self, name: str) -> int:
        """Floats from the begin of a stored row to that of the next."""
        return self.stored(name)[1] + self.gap

    def strides(self, name: str) -> tuple[int, int]:
        """Floats from a row of the factor to the next, and from a column to the next."""
        turned = {"A": self.op_a, "B": self.op_b, "C": "N"}[name] == "T"
        return (1, self.leading(name)) if turned else (self.leading(name), 1)

    def step(self, name: str) -> int:
        """Floats from a product's matrix to the next one's."""
        return 0 if name == "B" and self.shared else self.stored(name)[0] * self.leading(name)


@dataclass(frozen=True, eq=False)
class Operand:
    """One array.

    stored: rows, columns.  leading: floats from row to row.  tile: (first row, first column, rows, columns) of what the
    drawn block loads or stores, as it lies in memory.  request: of warp 0, in the drawn iteration.  sheets: matrices of
    the batch, 1 where all products share one.
    """

    name: str
    stored: tuple[int, int]
    leading: int
    tile: tuple[int, int, int, int]
    request: WarpAccess
    sheets: int = 1

    @property
    def lanes(self) -> np.ndarray:
        """(lanes, 2): row and column, as stored, of what warp 0 asks for, counted from the product's matrix."""
        places = self.request.offset[self.request.active] // FLOAT_BYTES % (self.stored[0] * self.leading)
        return np.stack(np.divmod(places, self.leading), axis=1)


@dataclass(frozen=True, eq=False)
class Moved:
    """What all launches ask memory for, in bytes of whole sectors.  needed: least that any kernel must."""

    operands: tuple[Operand, ...]
    loaded: int
    stored: int
    needed: int
    launches: int


@lru_cache(maxsize=128)
def moved(member: Member) -> Moved:
    """Launch a member in the simulator, and look."""
    arrays = {
        name: np.zeros(max(1, member.products * member.step(name)) if member.step(name)
                       else member.stored(name)[0] * member.leading(name), np.float32) for name in "ABC"
    }  # fmt: skip
    bias, R = np.zeros(N, np.float32), np.zeros((M, N), np.float32)
    steps = NUMBER(member.epilogue if member.fused else 0)
    args: list[Any] = [NUMBER(M), NUMBER(N), NUMBER(K)]
    for name in "AB":
        args += [arrays[name], *map(NUMBER, (*member.strides(name), member.step(name)))]
    args += [
        arrays["C"],
        *map(NUMBER, (member.leading("C"), member.step("C"))),
        NUMBER(member.along_memory),
        steps,
        bias,
        R,
    ]
    grid = N // T, M // T, member.products
    recordings = [_recorded(MEMBER, grid, args)]
    if member.epilogue and not member.fused:
        more = [NUMBER(M), NUMBER(N), arrays["C"], NUMBER(member.leading("C")), NUMBER(member.step("C")),
                NUMBER(member.epilogue), bias, R]  # fmt: skip
        recordings.append(_recorded(AFTERWARDS, grid, more))
    bytes_ = {
        op: SECTOR_BYTES * int(sum(recording.total("sectors", "global", op) for recording in recordings))
        for op in ("ld", "st")
    }
    extra = (N if member.epilogue else 0) + (M * N if member.epilogue > 2 else 0)
    both = member.products * (M * K + M * N) + (1 if member.shared else member.products) * K * N
    return Moved(tuple(_operand(member, name, recordings[0]) for name in "ABC"), bytes_["ld"], bytes_["st"],
                 FLOAT_BYTES * (both + extra), len(recordings))  # fmt: skip


def _recorded(entry: str, grid: tuple[int, ...], args: list[Any]) -> Recording:
    kernel = run.simulated(SOURCE.read_text(encoding="utf-8"), entry)
    return run.recorded(kernel, grid, BLOCK, args, blocks=((*TILE, 0),))


def _operand(member: Member, name: str, recording: Recording) -> Operand:
    first = {"A": (TILE[1] * T, K0), "B": (K0, TILE[0] * T), "C": (TILE[1] * T, TILE[0] * T)}[name]
    turned = {"A": member.op_a, "B": member.op_b, "C": "N"}[name] == "T"
    op, iteration = ("st", 0) if name == "C" else ("ld", K0 // T)
    request = warp_access(recording, name, op, iteration, (*TILE, 0))
    tile = (*(first[::-1] if turned else first), T, T)
    sheets = member.products if member.step(name) else 1
    return Operand(name, member.stored(name), member.leading(name), tile, request, sheets)
