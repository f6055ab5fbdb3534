"""Long loops, not executed to the end: what a loop did twice in the same way is repeated in the trace.

A loop over k does the same in every iteration, at addresses that move on by the same distance. So after some iterations
the others need not be executed: the trace repeats what the last ones did, and the registers are set to what they hold
near the loop's end, where execution goes on. That is allowed if, from one group of iterations to the next,

- the same basic blocks were executed, by all threads together;
- the registers that lead to addresses and branches moved on by the same distance, twice;
- so did the addresses of every memory instruction, by whole lines (`trace_repeat` in sm.c looks at them);
- none of those registers was loaded from memory, nor runs over its 32 bits on the way.

How many iterations are left is found by executing of each what leads to branches, and nothing else. The last ones are
always executed as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from helpers.simulator.engine.ir import Program
from helpers.simulator.engine.run import Prepared, Wave, times_along

GROUPS = (1, 2, 3, 4, 6, 8, 12, 16, 24)  # iterations after which a loop may do the same again: stages, parts of a line
LAST = 2  # groups that are executed
FEWEST = 3  # groups, below which nothing is gained
MOST = 1 << 22

Registers = Mapping[int, np.ndarray]


class Ahead:
    """Follows the basic blocks of one wave.

    branches: the program without what leads to no branch.  needed: by basic block, the registers that lead to an
    address or a branch and are read from there on.
    repeat: (entries, times) -> whether the trace could repeat its last `entries` blocks so often, 0 to ask alone.
    """

    def __init__(self, branches: Program, needed: Sequence[Sequence[int]], repeat: Callable[[int, int], bool]) -> None:
        self._branches, self._needed, self._repeat = Prepared(branches), needed, repeat
        self._heads = {after for block in branches.blocks for after in block.successors if after <= block.index}
        self._history: list[int] = []
        self._visits: dict[int, list[tuple[int, Registers]]] = {}

    def visit(self, wave: Wave, block: int) -> None:
        """The wave is about to execute a block: perhaps for the last time but a few."""
        if wave.pcs is not None:
            self._history.clear()
            self._visits.clear()
        elif block in self._heads:
            if not self._history or self._history[-1] < block:
                self._visits[block] = []  # the loop begins
            visits = self._visits.setdefault(block, [])
            visits.append((len(self._history), {slot: np.array(wave.registers[slot]) for slot in self._needed[block]}))
            if any(len(visits) == 2 * group + 1 and self._jump(wave, visits, group) for group in GROUPS):
                visits.clear()
        self._history.append(block)

    def _jump(self, wave: Wave, visits: Sequence[tuple[int, Registers]], group: int) -> bool:
        """Go on near the loop's end, if the last two groups of iterations did the same. Whether it was done."""
        (first, before), (middle, between), (last, now) = visits[-1 - 2 * group], visits[-1 - group], visits[-1]
        path = self._history[middle:last]
        if self._history[first:middle] != path or not self._repeat(len(path), 0):
            return False
        steps = {}
        for slot, value in now.items():
            step = _step(before[slot], between[slot], value)
            if step is None:
                return False
            if step.any():
                steps[slot] = step
        if not steps:
            return False

        most = min(MOST, *(_until_it_wraps(now[slot], step) for slot, step in steps.items()))
        times = times_along(wave, self._branches, path, most) - LAST
        if times < FEWEST:
            return False
        self._repeat(len(path), times)
        for slot, step in steps.items():
            value = (now[slot].astype(np.int64) + step * times).astype(now[slot].dtype)
            wave.registers[slot] = value[()]
        return True


def _step(before: np.ndarray, between: np.ndarray, now: np.ndarray) -> np.ndarray | None:
    """By how much a register moved on, the same distance twice; None if it did not, or is no integer that did."""
    if now.dtype.kind not in "iu":
        same = np.array_equal(before, between) and np.array_equal(between, now)
        return np.zeros(1, np.int64) if same else None
    one, other = (_signed(b - a, now.dtype) for a, b in ((before, between), (between, now)))
    return other if np.array_equal(*np.broadcast_arrays(one, other)) else None


def _signed(difference: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return difference.astype(f"i{dtype.itemsize}").astype(np.int64)


def _until_it_wraps(value: np.ndarray, step: np.ndarray) -> int:
    """How many steps a register can take before the carry of its highest bit is lost."""
    bits = 8 * value.dtype.itemsize
    if bits == 64:
        return MOST
    unsigned = value.astype(np.int64) & ((1 << bits) - 1)
    room = np.where(step > 0, (1 << bits) - 1 - unsigned, unsigned)
    return int((room // np.maximum(np.abs(step), 1))[np.broadcast_to(step != 0, room.shape)].min())
