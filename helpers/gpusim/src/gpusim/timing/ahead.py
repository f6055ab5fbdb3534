"""Long loops, not executed to the end: what a loop did twice in the same way is repeated in the trace.

A loop over k does the same in every iteration, at addresses that move on by the same distance. So after some iterations
the others need not be executed: the trace repeats what the last ones did, and the registers are set to what they hold
near the loop's end, where execution goes on. That is allowed if, from one group of iterations to the next,

- the same basic blocks were executed, by all threads together;
- the registers that lead to the loop's own addresses and branches moved on by the same distance, twice;
- so did the addresses of every memory instruction, by whole lines (`trace_repeat` in sm.c looks at them);
- none of those registers was loaded from memory in the loop, nor runs over its 32 bits on the way.

How many iterations are left is found by executing of each what leads to branches, and nothing else. The last ones are
always executed as a whole.

What a loop loads and adds up is unknown then: sums, and the shared memory that it fills. Mostly they lead to nothing
but results. Whether they do is tried (`trace`): a launch whose trace stays the same whatever they are does not depend
on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.engine.run import Wave, times_along
from gpusim.timing.slicing import Around, Slices, Unknown

GROUPS = (
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    12,
    16,
    20,
    24,
)  # iterations after which a loop may do the same: stages, parts of a line
LAST = 6  # iterations that are executed at least, in whole groups
FEWEST = 3  # groups, below which nothing is gained
MOST = 1 << 22

Registers = Mapping[int, np.ndarray]


@dataclass(frozen=True)
class _Visit:
    """The wave at the begin of a loop.  entries: basic blocks before.  shared: the bytes of its shared memory."""

    entries: int
    registers: Registers
    shared: np.ndarray


class Ahead:
    """Follows the basic blocks of one wave.

    repeat: (entries, times) -> whether the trace could repeat its last `entries` blocks so often, 0 to ask alone.
    unknown: what to put where values are not known.
    """

    def __init__(self, slices: Slices, repeat: Callable[[int, int], bool], unknown: Unknown) -> None:
        self._slices, self._repeat, self._unknown = slices, repeat, unknown
        blocks = slices.program.blocks
        self._heads = {after for block in blocks for after in block.successors if after <= block.index}
        self._history: list[int] = []
        self._visits: dict[int, list[_Visit]] = {}
        self._around: dict[tuple[int, ...], Around | None] = {}

    def visit(self, wave: Wave, block: int) -> None:
        """The wave is about to execute a block: perhaps for the last time but a few."""
        if wave.pcs is not None:
            self._history.clear()
            self._visits.clear()
        elif block in self._heads:
            if not self._history or self._history[-1] < block:
                self._visits[block] = []  # the loop begins
            visits = self._visits.setdefault(block, [])
            visits.append(self._seen(wave, block))
            # The first iteration may be unlike the others in a register that it is the first to set.
            groups = (group for group in GROUPS if len(visits) in (2 * group + 1, 2 * group + 2))
            if any(self._jump(wave, visits, group) for group in groups):
                visits.clear()
        self._history.append(block)

    def _seen(self, wave: Wave, block: int) -> _Visit:
        registers = {slot: np.array(wave.registers[slot]) for slot in self._slices.needed[block]}
        shared = wave.shared.contents if self._slices.shared else np.zeros(0, np.uint8)
        return _Visit(len(self._history), registers, shared.copy())

    def _jump(self, wave: Wave, visits: Sequence[_Visit], group: int) -> bool:
        """Go on near the loop's end, if the last two groups of iterations did the same. Whether it was done."""
        seen = first, middle, last = visits[-1 - 2 * group], visits[-1 - group], visits[-1]
        path = self._history[middle.entries : last.entries]
        if self._history[first.entries : middle.entries] != path or not self._repeat(len(path), 0):
            return False
        around = self._loop(tuple(path))
        if around is None:
            return False
        steps, unknown = {}, []
        for slot, value in last.registers.items():
            step = _step(first.registers[slot], middle.registers[slot], value)
            if slot in around.needed:
                if step is None:
                    return False
            elif step is None or slot in around.loaded:
                unknown.append(slot)
                continue
            if step.any():
                steps[slot] = step
        if around.needed.isdisjoint(steps):
            return False

        most = min(MOST, *(_until_it_wraps(last.registers[slot], step) for slot, step in steps.items()))
        times = times_along(wave, around.branches, path, most) + LAST // -group
        if times < FEWEST:
            return False
        self._repeat(len(path), times)
        for slot, step in steps.items():
            now = last.registers[slot]
            wave.registers[slot] = (now.astype(np.int64) + step * times).astype(now.dtype)[()]
        for slot in unknown:
            wave.registers[slot] = self._unknown.like(last.registers[slot])[()]
        self._forget(wave, seen)
        return True

    def _loop(self, path: tuple[int, ...]) -> Around | None:
        if path not in self._around:
            self._around[path] = self._slices.around(path)
        return self._around[path]

    def _forget(self, wave: Wave, seen: Sequence[_Visit]) -> None:
        """What the loop changes in shared memory is not known any more."""
        first, middle, last = (state.shared for state in seen)
        changed = (first != middle) | (middle != last)
        if changed.any():
            contents = wave.shared.contents
            contents[changed] = self._unknown.like(contents[changed])


def _step(before: np.ndarray, between: np.ndarray, now: np.ndarray) -> np.ndarray | None:
    """By how much a register moved on, the same distance twice; None if it did not, or is no integer that did."""
    if now.dtype.kind not in "iu":
        same = np.array_equal(before, between) and np.array_equal(between, now)
        return np.zeros(1, np.int64) if same else None
    earlier, other = (_signed(b - a, now.dtype) for a, b in ((before, between), (between, now)))
    return other if np.array_equal(*np.broadcast_arrays(earlier, other)) else None


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
