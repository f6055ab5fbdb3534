"""Big problems: some blocks of a launch are executed, and each stands for those that behave as it does.

Blocks that may differ are told apart first by what they do at their start: all of them are begun, with their stores
thrown away, until they go round a loop for the second time. By then edge blocks have found out that they are at the
edge, and where the rows of an array start in a cache line is known, whatever order the kernel gives its blocks. Where
there are too many threads for that, blocks are told apart by their place alone.

Guards before the first loop, such as those of an integer division, are counted there for all blocks.

Then blocks of every kind are executed to their end, those at the rims of the grid among them. If two of a kind differ
in anything else (`block_by_block.Fingerprints`), the kind is split: by place (first, between or last along each axis),
then by index modulo 2, 4, … 32, since addresses that grow evenly are in the same place of a cache line after 32 steps
at most. The members of a kind are chosen such that addresses that are linear in the block's index cannot differ in
their places in a cache line in any block if they do not in these.
"""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from gpusim.checks.checks import Checker
from gpusim.compiler import CompiledKernel
from gpusim.counters.block_by_block import BlockRecorder, Exchanges, Fingerprints
from gpusim.counters.recorded import QUANTITIES, Counts, LaunchFacts, RecordedLaunch, Sampling
from gpusim.counters.unique_sectors import SectorObserver
from gpusim.engine.ir import Instruction, Program
from gpusim.engine.memory import Allocation, GlobalMemory, product
from gpusim.engine.observers import Executed, Guarded, Handlers, Observers, WaveBegins, together
from gpusim.engine.printf import Output
from gpusim.engine.run import LANES_PER_WAVE, Launch, Prepared
from gpusim.errors import KernelError, SimulatorError, coordinates

MEMBERS = 4  # of a kind that are executed at least, or all
LARGEST_PERIOD = 32  # steps of any multiple of 4 bytes come to the same place in a 128-byte line after so many
MOST_EXECUTED = 1 << 20  # threads, before sampling is given up
MOST_BEGUN = 1 << 24  # threads: beyond, the blocks are not begun
ROUNDS = 1  # how often a block may execute each basic block until it counts as begun


# ---- what a block does at its start


class _Enough(Exception):
    """All blocks of a wave have been begun."""


class Untouched(GlobalMemory):
    """The same arrays, which stay as they are: stores are thrown away, atomics work on zeros."""

    keeps = False

    def __init__(self, memory: GlobalMemory) -> None:
        super().__init__()
        self.allocations = [
            Allocation(
                allocation.base,
                allocation.bytes_,
                allocation.host,
                allocation.name,
                allocation.shape,
                allocation.dtype,
                allocation.writable,
                names=allocation.names,
            )
            for allocation in memory.allocations
        ]
        self._bases = [allocation.base for allocation in self.allocations]

    def store(self, wave, addresses, mask, values) -> None:
        """Nothing but the check that it is allowed."""
        self.check(wave, addresses, mask, np.dtype(values[0].dtype).itemsize * len(values), "wrote")

    def cells(self, addresses, dtype: np.dtype):
        for view, index, which in super().cells(addresses, dtype):
            yield np.zeros(view.size, dtype), index, which  # zeros take no memory before they are touched


@dataclass(frozen=True, slots=True)
class _Start:
    """What is known when all blocks have been begun.

    `prints` are equal for blocks that begin alike. `guarded` holds by instruction that comes before all loops how many
    threads of the grid executed it with a true guard; empty if some had not passed all of them.
    """

    prints: np.ndarray
    guarded: dict[int, int]


class _Starts(Fingerprints):
    """Fingerprints of what blocks do until they have been executing a basic block for more than ROUNDS times."""

    def __init__(self, early: np.ndarray, blocks: int) -> None:
        super().__init__(blocks)
        self.guarded_lanes: Counter[int] = Counter()
        self.complete = True  # whether no thread was stopped before a loop
        self._early = early

    def handlers(self) -> Handlers:
        return {**super().handlers(), Guarded: self.guarded}

    def begin(self, event: WaveBegins) -> None:
        super().begin(event)
        wave = event.wave
        self._visits = np.zeros((len(wave.program.blocks), wave.shape[0]), np.int32)
        self._running = np.ones(wave.shape[0], bool)

    def executed(self, event: Executed) -> None:
        wave, block = event.wave, event.block
        here = slice(None) if wave.mask is None else np.broadcast_to(wave.mask, wave.shape).any(axis=1)
        self._visits[block, here] += 1
        self._running &= self._visits[block] <= ROUNDS
        if not self._running.any():
            if wave.pcs is not None:
                self.complete = not self._early[np.minimum(wave.pcs, len(self._early) - 1)].any()
            raise _Enough
        super().executed(event)

    def guarded(self, event: Guarded) -> None:
        """Count the threads whose guard is true."""
        if event.some:
            shape, mask = event.wave.shape, event.mask
            lanes = product(shape) if mask is None else int(np.broadcast_to(mask, shape).sum())
            self.guarded_lanes[event.instruction.index] += lanes

    def _add(self, rows, numbers) -> None:
        chosen = np.arange(len(self._running))[rows]
        running = self._running[chosen]
        super()._add(chosen[running], numbers[running] if np.ndim(numbers) else numbers)


def _without_arithmetic(program: Program) -> Program:
    """The program with fused multiply-adds that give zero, for what does not depend on the values of a product."""

    def changed(instruction: Instruction) -> Instruction:
        if instruction.computation is None or instruction.computation.decoded.operation != "float fused":
            return instruction
        return replace(instruction, evaluate=lambda registers: np.int32(0), computation=None, reads=())

    return replace(program, instructions=[changed(instruction) for instruction in program.instructions])


def _before_loops(program: Program) -> np.ndarray:
    """By basic block (and False for the end) whether no loop can have been entered before it."""
    after = [_reachable(program, block.successors) for block in program.blocks]
    in_loops = [block.index for block in program.blocks if block.index in after[block.index]]
    late = set(in_loops).union(*(after[index] for index in in_loops))
    return np.array([block.index not in late for block in program.blocks] + [False])


def _reachable(program: Program, blocks: Sequence[int]) -> set[int]:
    known, following = set(blocks), list(blocks)
    while following:
        for successor in program.blocks[following.pop()].successors:
            if successor not in known:
                known.add(successor)
                following.append(successor)
    return known


def _starts(launch: Launch, blocks: int) -> _Start | None:
    """Begin all blocks; None if there are too many. KernelError of the first block that does what is not allowed."""
    if blocks * launch.threads > MOST_BEGUN:
        return None
    prints = np.zeros(blocks, np.uint64)
    guarded: Counter[int] = Counter()
    complete = True
    per_wave, program = max(1, LANES_PER_WAVE // launch.threads), launch.program
    begun = replace(
        launch, prepared=Prepared(_without_arithmetic(program)), global_memory=Untouched(launch.global_memory),
        output=Output(0),
    )  # fmt: skip
    early = _before_loops(program)
    for first in range(0, blocks, per_wave):
        some = np.arange(first, min(first + per_wave, blocks), dtype=np.int64)
        watcher = _Starts(early, len(some))
        with suppress(_Enough):
            replace(begun, observers=Observers(watcher), only_blocks=some).run()
        prints[some] = watcher.prints
        guarded.update(watcher.guarded_lanes)
        complete &= watcher.complete
    if not complete:
        return _Start(prints, {})
    instructions = [i for block in program.blocks if early[block.index] for i in range(block.start, block.stop)]
    return _Start(prints, {index: guarded[index] for index in instructions})


# ---- kinds of blocks


@dataclass(slots=True)
class _Kind:
    """Blocks that have shown no difference yet. period: their indices are equal modulo it; 0 if not even their places
    (first, between or last) need be the same."""

    ids: np.ndarray
    period: int = 0
    executed: dict[int, object] = field(default_factory=dict)  # block → what it did


class _Grid:
    """Where blocks are."""

    def __init__(self, grid: tuple[int, int, int]) -> None:
        self.sizes = np.array(grid, np.int64)

    def indices(self, ids: np.ndarray) -> np.ndarray:
        """(x, y, z) of linear numbers, (n, 3)."""
        x, y, _ = self.sizes
        return np.stack([ids % x, ids // x % y, ids // (x * y)], axis=1)

    def number(self, index: Sequence[int]) -> int:
        """The linear number of the block (x, y, z)."""
        return int(index[0] + self.sizes[0] * (index[1] + self.sizes[1] * index[2]))

    def places(self, ids: np.ndarray) -> np.ndarray:
        """First, between or last along each axis, as one number."""
        index = self.indices(ids)
        return np.where(index == 0, 0, np.where(index == self.sizes - 1, 2, 1)) @ np.array([1, 3, 9])

    def residues(self, ids: np.ndarray, period: int) -> np.ndarray:
        """The indices modulo a period, as one number."""
        return (self.indices(ids) % period) @ np.array([1, period, period * period])


def _members(kind: _Kind, grid: _Grid) -> list[int]:
    """Blocks of a kind to execute: such that no other can differ if what they do is linear in their indices modulo a
    power of two; one of each place as long as a kind may have several; and MEMBERS at least, or all."""
    ids = kind.ids
    chosen = [int(ids[number]) for number in _generators(grid.indices(ids))]
    if kind.period == 0:
        places = grid.places(ids)
        there = set(grid.places(np.array(chosen)).tolist())
        for number, code in enumerate(np.unique(places).tolist()):
            if code not in there:
                of_place = ids[places == code]
                chosen.append(int(of_place[number % len(of_place)]))
    for member in ids[[-1, len(ids) // 2, len(ids) // 3, *range(min(MEMBERS, len(ids)))]].tolist():
        if len(chosen) >= MEMBERS:
            break
        if member not in chosen:
            chosen.append(member)
    return chosen


def _generators(indices: np.ndarray) -> list[int]:
    """Numbers of a few rows of `indices` (n, 3) from which all others can be reached: steps between those rows,
    forwards and backwards, lead from the first row to every other one."""
    steps = indices - indices[0]
    near_first = np.argsort(np.abs(steps).sum(axis=1), kind="stable")
    basis: list[list[int]] = []  # by column of its first number, 0 and 1 and 2 or fewer
    chosen = [0]
    left = steps[near_first]
    while True:
        rest = left.copy()
        outside = np.zeros(len(rest), bool)
        for axis in range(3):
            row = next((row for row in basis if _leads(row) == axis), None)
            if row is None:
                outside |= rest[:, axis] != 0
            else:
                outside |= rest[:, axis] % row[axis] != 0
                rest = rest - (rest[:, axis] // row[axis])[:, None] * np.array(row)
        if not outside.any():
            return chosen
        number = int(outside.argmax())
        chosen.append(int(near_first[number]))
        _insert(basis, left[number].tolist())


def _leads(row: list[int]) -> int:
    """The column of the first number of a row that is not 0."""
    return next(axis for axis, number in enumerate(row) if number)


def _insert(basis: list[list[int]], row: list[int]) -> None:
    """Make `row` a combination of the basis with whole numbers, by Euclid's algorithm."""
    while any(row):
        axis = _leads(row)
        same = next((vector for vector in basis if _leads(vector) == axis), None)
        if same is None:
            basis.append([-number for number in row] if row[axis] < 0 else row)
            return
        times = row[axis] // same[axis]
        remainder = [number - times * other for number, other in zip(row, same, strict=True)]
        if remainder[axis]:
            basis.remove(same)
            basis.append(remainder)
            remainder = same
        row = remainder


def _split(kind: _Kind, grid: _Grid) -> list[_Kind]:
    """Smaller kinds."""
    if kind.period == 0:
        keys, period = grid.places(kind.ids), 1
    else:
        period = 2 * kind.period
        keys = grid.residues(kind.ids, period)
    return [_Kind(kind.ids[keys == key], period) for key in np.unique(keys)]


# ---- executing


@dataclass(slots=True)
class _Batch:
    """Blocks that were executed together."""

    ids: np.ndarray
    recorder: BlockRecorder
    prints: Fingerprints

    def behaviours(self, counted: Container[int]) -> Iterator[tuple[int, object]]:
        """(block, what it did), equal for blocks that did the same; guards of `counted` instructions are left out."""
        recorder = self.recorder
        for row, block in enumerate(self.ids.tolist()):
            guarded = frozenset(
                (instruction, int(lanes[row]))
                for instruction, lanes in recorder.guarded_lanes.items()
                if lanes[row] and instruction not in counted
            )
            yield block, (int(self.prints.prints[row]), recorder.block_warps[:, row].tobytes(), guarded)


def execute(
    launch: Launch,
    facts: LaunchFacts,
    compiled: CompiledKernel,
    checker: Checker | None,
    sectors: SectorObserver | None,
    written: frozenset[str] | None,
) -> RecordedLaunch:
    """Execute some blocks of a launch and count for all.

    facts: the launch's, which say that all blocks are executed.  checker, sectors: further observers of the blocks that
    are executed.  written: the parameters that the kernel may write through (None: any).

    Raises SimulatorError if blocks differ whose indices are equal modulo LARGEST_PERIOD.
    """
    exchanges = Exchanges(written)
    grid = _Grid(launch.grid)
    blocks = int(np.prod(grid.sizes))
    suspects: list[int] = []
    try:
        start = _starts(launch, blocks)
    except KernelError as error:
        # It may be due to what was left out: the block is executed again, with all of it.
        start, suspects = None, [grid.number(error.block or (0, 0, 0))]
    counted = {} if start is None else start.guarded
    prints = np.zeros(blocks, np.uint64) if start is None else start.prints
    ids = np.arange(blocks, dtype=np.int64)
    waiting = [_Kind(ids[prints == fingerprint]) for fingerprint in np.unique(prints)]
    done: list[_Kind] = []
    batches: list[_Batch] = []
    known: dict[int, object] = {}
    while waiting:
        new = sorted({*suspects, *(member for kind in waiting for member in _members(kind, grid))} - known.keys())
        if (len(known) + len(new)) * launch.threads > MOST_EXECUTED:
            raise SimulatorError(_too_different(waiting[0], known, grid, facts.kernel))
        if new:
            recorder = BlockRecorder(launch.program, facts, len(new))
            batch = _Batch(np.array(new, np.int64), recorder, Fingerprints(len(new)))
            watched = together(batch.recorder, batch.prints, exchanges, checker, sectors)
            replace(launch, observers=watched, only_blocks=batch.ids).run()
            batches.append(batch)
            known.update(batch.behaviours(counted))
        further: list[_Kind] = []
        for kind in waiting:
            inside = set(kind.ids.tolist()) if len(kind.ids) < blocks else None
            kind.executed = {b: what for b, what in known.items() if inside is None or b in inside}
            if len(set(kind.executed.values())) == 1 or len(kind.executed) == len(kind.ids):
                done.append(kind)
            elif kind.period < LARGEST_PERIOD:
                further += _split(kind, grid)
            else:
                raise SimulatorError(_too_different(kind, known, grid, facts.kernel))
        waiting = further
    weights = _weights(done)
    sums = _weighted(batches, weights)
    unique = None
    if sectors is not None:
        order = np.array([weights[block] for batch in batches for block in batch.ids.tolist()], np.int64)
        unique = sectors.finish(len(weights) == blocks, order)
    doubts = tuple(_doubts(sums.counts, exchanges.foreign)) if len(weights) < blocks else ()
    return RecordedLaunch(
        launch.program,
        replace(facts, executed_blocks=len(weights)),
        frozenset(),
        sums.warps,
        sums.lanes,
        sums.guarded | counted,
        sums.counts,
        sampling=Sampling(blocks, len(weights), len(done), start is not None, doubts),
        unique=unique,
        compiled=compiled,
    )


def _weights(kinds: Sequence[_Kind]) -> dict[int, int]:
    """By executed block how many blocks it stands for, itself among them."""
    weights: dict[int, int] = {}
    for kind in kinds:
        each, left = divmod(len(kind.ids), len(kind.executed))
        for number, block in enumerate(kind.executed):
            weights[block] = each + (number < left)
    return weights


@dataclass(frozen=True, slots=True)
class _Sums:
    """The counts of a RecordedLaunch, summed over all blocks."""

    warps: np.ndarray
    lanes: np.ndarray
    guarded: dict[int, int]
    counts: dict[tuple[int, str, str, str], Counts]


def _weighted(batches: Sequence[_Batch], weights: dict[int, int]) -> _Sums:
    """The sums, in which each executed block counts for those that it stands for."""
    warps, lanes = (np.zeros(len(batches[0].recorder.program.blocks), np.int64) for _ in range(2))
    guarded: Counter[int] = Counter()
    counts: dict[tuple[int, str, str, str], Counts] = {}
    for batch in batches:
        times = np.array([weights[block] for block in batch.ids.tolist()], np.int64)
        warps += batch.recorder.block_warps @ times
        lanes += batch.recorder.block_lanes @ times
        for index, values in batch.recorder.guarded_lanes.items():
            guarded[index] += int(values @ times)
        for key, values in batch.recorder.counts.items():
            sums = {name: int((getattr(values, name) * times).sum()) for name in QUANTITIES}
            counts.setdefault(key, Counts()).add(Counts(**sums))
    return _Sums(warps, lanes, dict(guarded), counts)


def _doubts(counts: dict[tuple[int, str, str, str], Counts], foreign: set[str]) -> Iterator[str]:
    """Why the counts may differ from those of the whole launch: blocks may depend on others that did not run."""
    atomic = {array for _, space, op, array in counts if space == "global" and op in ("atom", "red")}
    if atomic:
        yield (
            f"Not exact: the blocks update {' and '.join(sorted(atomic))} atomically, and most did not run. Values "
            "there are not the whole launch's, nor are counts of what the blocks do because of them."
        )
    if foreign:
        yield (
            f"Not exact: blocks read elements of {' and '.join(sorted(foreign))} that they do not write themselves; if "
            "other blocks write them, the values are not the whole launch's, nor are counts that depend on them."
        )


def _too_different(kind: _Kind, known: dict[int, object], grid: _Grid, name: str) -> str:
    inside = set(kind.ids.tolist())
    behaviours = list({what: block for block, what in known.items() if block in inside}.values())
    pair = " and ".join(coordinates(tuple(grid.indices(np.array([block]))[0].tolist())) for block in behaviours[:2])
    different = len(behaviours) > 1
    what = f"blocks {pair} do different things" if different else "there are too many kinds of blocks"
    why = "depend on the data" if different else "differ from block to block"
    return (
        f"{name} cannot be sampled: {what}, so that no block can stand for others ({len(known):,} were executed). What "
        f'they do seems to {why}. Record a smaller problem, whole: leave out blocks="sampled".'
    )
