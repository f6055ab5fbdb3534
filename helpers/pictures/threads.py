"""What all threads of one block did, out of a recording: one entry for each memory instruction that they executed."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from gpusim import Recording

UNKNOWN = -1
_REGISTER = re.compile(r"LD\S* R(\d+),|ST\S* .*\], R(\d+)$")  # LDG.E R17, desc[UR6][R30.64] · STS [R29], R18


@dataclass(frozen=True, eq=False)
class BlockAccess:
    """One memory instruction as the threads of one block executed it.

    step: the order in which instructions were executed.  line: of the source.  space: "global" or "shared".
    op: "ld", "st" or "atom".  array: the kernel parameter's name, "" for shared memory.  width: bytes a thread.
    offset: (threads,) int64 bytes from the start of the array, or of the block's shared memory.
    active: (threads,) bool.
    register: the number of the first register that a load fills or that a store takes its floats from, in machine code;
    UNKNOWN where the instruction names none.
    """

    step: int
    line: int
    space: str
    op: str
    array: str
    width: int
    offset: np.ndarray
    active: np.ndarray
    register: int = UNKNOWN


def block_accesses(
    recording: Recording,
    block: tuple[int, ...] = (0, 0, 0),
    *,
    space: str | None = None,
    op: str | None = None,
    array: str | None = None,
) -> list[BlockAccess]:
    """The memory instructions of one traced block of the last recorded launch, in the order of their execution."""
    wanted = (*block, 0, 0)[:3]
    return accesses_by_block(recording, space=space, op=op, array=array).get(wanted, [])


def accesses_by_block(
    recording: Recording, *, space: str | None = None, op: str | None = None, array: str | None = None
) -> dict[tuple[int, int, int], list[BlockAccess]]:
    """Every traced block's memory instructions, by the block's (x, y, z)."""
    launch = recording.launches[-1]
    accesses: dict[tuple[int, int, int], list[BlockAccess]] = {}
    for trace in launch.traces:
        if space not in (None, trace.space) or op not in (None, trace.op) or array not in (None, trace.array):
            continue
        active = np.ones(len(trace.addresses), bool) if trace.active is None else trace.active
        instruction = launch.program.instructions[trace.instruction]
        access = BlockAccess(
            step=trace.step,
            line=instruction.line,
            space=trace.space,
            op=trace.op,
            array=trace.array,
            width=trace.width,
            offset=trace.addresses - trace.base,
            active=active,
            register=_register(instruction.text),
        )
        accesses.setdefault(trace.block, []).append(access)
    return accesses


def _register(text: str) -> int:
    """The first register of a load or a store, by its text in machine code."""
    match = _REGISTER.search(text)
    return int(match[1] or match[2]) if match else UNKNOWN
