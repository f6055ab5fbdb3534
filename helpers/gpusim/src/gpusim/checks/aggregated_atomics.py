"""Atomic operations that one thread does for all of its warp that come to them together.

Where threads of a warp update one place, ptxas lets one of them do it, once: a vote finds the active lanes (VOTEU.ANY
of true), the last lane makes the fences and the atomic operation, and the others get their share by a shuffle. The
source has them all make the fence and the operation, and so it is taken."""

import numpy as np

from gpusim.engine.ir import Program
from gpusim.engine.schedule import by_warps

VOTES, FENCE, ATOMICS = ("VOTE.ANY", "VOTEU.ANY"), "MEMBAR", ("ATOM", "RED.", "REDG.")
NEAR = 64  # instructions from the vote to the operation


class Aggregated:
    """Knows the threads on behalf of which a fence or an atomic operation is made."""

    def __init__(self, program: Program) -> None:
        block_of = {index: block.index for block in program.blocks for index in range(block.start, block.stop)}
        self._vote_of = {index: block_of[vote] for index, vote in votes_of(program).items()}  # in which block
        self._blocks = set(self._vote_of.values())
        self._voted: dict[int, np.ndarray] = {}

    def begin(self) -> None:
        """A new wave."""
        self._voted = {}

    def executed(self, wave, block: int, mask: np.ndarray | None) -> None:
        """The threads of a mask execute a basic block."""
        if block in self._blocks:
            here = np.broadcast_to(True if mask is None else mask, wave.shape)
            before = self._voted.get(block, np.zeros(wave.shape, bool))
            self._voted[block] = np.where(by_warps(here, wave.shape), here, before)

    def all_of(self, wave, mask: np.ndarray | None) -> np.ndarray | None:
        """The threads for which those of a mask execute the current instruction."""
        voted = self._voted.get(self._vote_of.get(wave.instruction.index, -1))
        if voted is None or mask is None:
            return mask
        mask = np.broadcast_to(mask, wave.shape)
        return mask | voted & by_warps(mask, wave.shape)


def votes_of(program: Program) -> dict[int, int]:
    """By fence and atomic operation that a thread makes for others: the vote that found these."""
    instructions = program.instructions
    votes: dict[int, int] = {}
    for index, instruction in enumerate(instructions):
        if not instruction.opcode.startswith(ATOMICS):
            continue
        location = (instruction.line, instruction.called_from)
        before = range(index - 1, max(0, index - NEAR) - 1, -1)
        same = [other for other in before if (instructions[other].line, instructions[other].called_from) == location]
        vote = next((at for at in same if instructions[at].opcode in VOTES and not instructions[at].reads), None)
        if vote is not None:
            fences = (at for at in same if at > vote and instructions[at].opcode.startswith(FENCE))
            votes |= dict.fromkeys((index, *fences), vote)
    return votes
