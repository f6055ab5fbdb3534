"""A branch as time: what a warp issues, and which of its lanes take part, from the machine code that was executed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim import Recording
from gpusim.devices import WARP
from helpers import run
from helpers.pictures.threads import block_accesses

# Each path stands in one line, so that every instruction of the line belongs to it. They load different floats, which
# the compiler would else load once for both, in front of the branch.
SOURCE = """
extern "C" __global__ void two_paths(int first, int shift, const float *x, float *y) {
    const int t = first + threadIdx.x;
    float v = x[t];
    if ((t >> shift) % 2 == 0) {
        for (int k = 1; k < 10; ++k) v = v * v + x[t + k]; y[t] = v;
    } else {
        for (int k = 1; k < 10; ++k) v = (v + x[t + 64 + k]) * 0.5f; y[t] = v;
    }
}
"""
BY_LANE, BY_WARP = 0, 5  # shift: neighbouring lanes, or neighbouring warps, go different ways
LINES = {"even": 6, "odd": 8}


@dataclass(frozen=True, eq=False)
class WarpPath:
    """What one warp issues. name: what the picture calls it.  lanes: (instructions, 32) bool, who takes part.
    path: for each instruction "even", "odd", or "" for what all lanes do."""

    name: str
    lanes: np.ndarray
    path: tuple[str, ...]

    @property
    def issued(self) -> int:
        """Instructions that the warp issues."""
        return len(self.path)

    @property
    def use(self) -> float:
        """The share of lanes that take part, over all instructions."""
        return float(self.lanes.mean())


def paths(shift: int, warps: Sequence[int] = (0, 1)) -> tuple[WarpPath, ...]:
    """What warps of a launch issue whose threads branch by (t >> shift) % 2. warps: their numbers."""
    kernel = run.simulated(SOURCE, "two_paths")
    length = WARP * (max(warps) + 4)
    paths_ = []
    for warp in warps:
        x, y = np.ones(length, np.float32), np.zeros(length, np.float32)
        args = (np.int32(WARP * warp), np.int32(shift), x, y)
        recording = run.recorded(kernel, (1,), (WARP,), args)
        paths_.append(_path(recording, f"warp {warp}"))
    return tuple(paths_)


def _path(recording: Recording, name: str) -> WarpPath:
    masks = {
        block_access.line: block_access.active
        for block_access in block_accesses(recording, space="global", op="st", array="y")
    }
    names = {line: name for name, line in LINES.items()}
    lanes, path = [], []
    last = ""  # the path of the instruction before: the end of a path stands in a line of its own
    branched = False
    for instruction in recording.by_instruction():
        for _ in range(instruction.warps):
            last = names.get(instruction.line, last) if branched else ""
            whole = instruction.threads == WARP * instruction.warps
            lanes.append(np.ones(WARP, bool) if whole else masks[LINES[last]])
            path.append(last)
            branched = branched or instruction.opcode.startswith("BRA")
    return WarpPath(name, np.array(lanes), tuple(path))
