"""Lanes that a `_sync` function of a warp names and that do not come, at PTX level.

There the lanes that are together carry such a function out, and none waits: so the lanes that the mask names are noted,
too. These may come by another way to a call of their own. If instead they go on to what lies behind the call, they have
gone past it. (At the level of machine code lanes do wait for each other, and `convergence` knows which are missing.)
Between calls in different branches no values are exchanged at PTX level: a launch in which they would be stops with a
sentence.

Of a mask that is the same for all lanes nothing is left in machine code, as ptxas trusts it. A constant one stands in
the PTX; one that a launch is given, as an argument or in memory, and one of a vote are known there only while it runs
(`has_computed_masks`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpusim.compiler import ptx
from gpusim.devices import WARP
from gpusim.errors import ExchangeApart
from gpusim.isa.ptx.flow import registers_of, written

WARP_FUNCTIONS = ("shfl", "vote", "match", "redux")
LOADS = ("ld", "ldu")
VOTES = ("vote", "match", "activemask")


def has_computed_masks(function: ptx.Function) -> bool:
    """Whether a function of the warp is called with a mask that is loaded, or made by a vote of the lanes.

    What atomic operations return depends on the order of threads: a mask made of that is left out.
    """
    masks = [
        name
        for statement in function.statements
        if (statement.name in WARP_FUNCTIONS and "sync" in statement.opcode) or "warp" in statement.opcode
        for name in registers_of(statement.operands[-1])
    ]
    if not masks:
        return False
    made_by: dict[str, list[ptx.Statement]] = {}
    for statement in function.statements:
        for name in written(statement):
            made_by.setdefault(name, []).append(statement)
    return any(_is_computed(name, made_by) for name in set(masks))


def _is_computed(mask: str, made_by: dict[str, list[ptx.Statement]]) -> bool:
    known, todo, makers = {mask}, [mask], set()
    while todo:
        for statement in made_by.get(todo.pop(), ()):
            makers.add(statement.name)
            if statement.name not in LOADS:
                sources = {name for operand in statement.operands[1:] for name in registers_of(operand)} - known
                todo += sources
                known |= sources
    return not makers.isdisjoint(LOADS + VOTES) and "atom" not in makers


@dataclass
class _Missed:
    """Lanes that a call names, and those of them that have gone past it, as bits (blocks, warps).

    `callers` are those that call, and `asked` the lanes whose values they ask for.
    """

    lanes: np.ndarray
    past: np.ndarray
    callers: np.ndarray
    asked: np.ndarray


class MissedLanes:
    """Follows the calls of a wave; `report(wave, instruction, row, caller, absent)` tells of one that was missed."""

    def __init__(self, report: Callable[[object, int, int, int, int], None]) -> None:
        self._report = report
        self._missed: dict[tuple[str, int], _Missed] = {}
        self._called_before = np.uint32(0)  # lanes that have called what is called now, elsewhere

    def begin(self) -> None:
        """A new wave."""
        self._missed = {}

    def called(self, wave, instruction: int, mask: np.ndarray | None, named: np.ndarray) -> None:
        """The threads of `mask` call a function of their warp that names lanes by these bits."""
        if not self._missed and mask is None:
            return  # all are here
        here = np.broadcast_to(wave.alive() if mask is None else mask, wave.shape)
        active = _bits(here)
        kind = wave.program.instructions[instruction].opcode.partition(".")[0]
        there = active.copy()  # and those that have called before, elsewhere, and named these
        wanted = np.bitwise_or.reduce(_by_warp(np.where(here, named, np.uint32(0)), np.uint32(0)), axis=2)
        for (other, index), missed in self._missed.items():
            if other == kind:
                if index != instruction:
                    self._exchange_apart(
                        wave, np.where(wanted & missed.callers, missed.asked & missed.lanes & active, 0)
                    )
                there |= np.where(missed.lanes & active, missed.callers, np.uint32(0))
                missed.lanes &= ~active
                missed.past &= ~active
        self._called_before = wanted & there & ~active
        lanes = wanted & _bits(wave.alive()) & ~there
        if not lanes.any():
            return
        none = np.zeros_like(lanes)
        # A shuffle names the lanes that it reads: `taken`.
        asked = none if kind in ("shfl", "bar", "barrier") else lanes
        new = _Missed(lanes, none.copy(), np.where(lanes, active, np.uint32(0)), asked.copy())
        known = self._missed.setdefault((kind, instruction), new)
        if known is not new:
            known.lanes |= new.lanes
            known.callers |= new.callers
            known.asked |= new.asked

    def taken(self, wave, instruction: int, mask: np.ndarray | None, lanes: np.ndarray) -> None:
        """The threads of `mask` ask by a shuffle for the values of these lanes, (blocks, warps, 32)."""
        missed = self._missed.get((wave.program.instructions[instruction].opcode.partition(".")[0], instruction))
        if missed is None and not np.any(self._called_before):
            return
        here = _by_warp(np.broadcast_to(wave.alive() if mask is None else mask, wave.shape), False)
        asked = np.bitwise_or.reduce(np.where(here, np.uint32(1) << lanes.astype(np.uint32), np.uint32(0)), axis=2)
        self._exchange_apart(wave, asked & self._called_before)
        if missed is not None:
            missed.asked |= asked & missed.lanes

    @staticmethod
    def _exchange_apart(wave, lanes: np.ndarray) -> None:
        """Stop the launch if lanes of a warp exchange values with these ones, which call from another branch."""
        for row, warp in np.argwhere(lanes)[:1].tolist():
            wave.fail(
                ExchangeApart,
                "exchanges values by a _sync function with lanes of its warp that call it in another branch, which "
                "only machine code shows",
                'Execute that: gpusim.record(level="sass").',
                row,
                warp * WARP + _lowest(int(lanes[row, warp])),
            )

    def executed(self, wave, block: int, mask: np.ndarray | None) -> None:
        """The threads of `mask` go on with a basic block."""
        prepared = wave.launch.prepared
        if not self._missed or prepared.only_exits[block]:
            return
        active = _bits(np.broadcast_to(wave.alive() if mask is None else mask, wave.shape))
        for (_, index), missed in self._missed.items():
            if prepared.reaches(block)[prepared.block_of(index)]:
                missed.past |= missed.lanes & active

    def end(self, wave) -> None:
        """All threads have exited: threads that went past will not come any more."""
        for (_, index), missed in self._missed.items():
            for row, warp in np.argwhere(missed.past)[:1].tolist():
                caller, absent = (
                    warp * WARP + _lowest(int(lanes[row, warp])) for lanes in (missed.callers, missed.past)
                )
                self._report(wave, index, row, caller, absent)
        self._missed = {}


def _lowest(bits: int) -> int:
    """The number of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1


def _by_warp(values: np.ndarray, filling) -> np.ndarray:
    """(blocks, warps, lanes) of (blocks, threads)."""
    padded = np.pad(values, ((0, 0), (0, -values.shape[1] % WARP)), constant_values=filling)
    return padded.reshape(values.shape[0], -1, WARP)


def _bits(lanes: np.ndarray) -> np.ndarray:
    """The lanes of each warp as bits, (blocks, warps)."""
    return (_by_warp(lanes, False).astype(np.uint32) << np.arange(WARP, dtype=np.uint32)).sum(axis=2, dtype=np.uint32)
