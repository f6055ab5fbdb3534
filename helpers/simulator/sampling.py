"""Big problems: some blocks of a launch are executed, and each stands for those that behave as it does.

Blocks that may differ are told apart first by what they do at their start: all of them are begun, with their stores
thrown away, until they go round a loop for the second time. By then edge blocks have found out that they are at the
edge, and where the rows of an array start in a cache line is known, whatever order the kernel gives its blocks. Where
there are too many threads for that, blocks are told apart by their place alone.

Then blocks of every kind are executed to their end, those at the rims of the grid among them. If two of a kind differ
in anything (`block_by_block.Fingerprints`), the kind is split: by place (first, between or last along each axis), then
by index modulo 2, 4, … 32, since addresses that grow evenly take the same place in a cache line after 32 steps at most.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from helpers.simulator.block_by_block import BlockRecorder, Exchanges, Fingerprints
from helpers.simulator.checks import Checker
from helpers.simulator.engine import LANES_PER_WAVE, Launch
from helpers.simulator.errors import KernelError, SimulatorError, coordinates
from helpers.simulator.memory import Allocation, GlobalMemory
from helpers.simulator.observers import Observer, together
from helpers.simulator.recorded import Counts, RecordedLaunch, Sampling
from helpers.simulator.unique_sectors import SectorObserver

MEMBERS = 4  # of a kind that are executed at least, or all
LARGEST_PERIOD = 32  # steps of any multiple of 4 bytes come to the same place in a 128-byte line after so many
MOST_BLOCKS = 4096  # that are executed before sampling is given up
MOST_BEGUN = 1 << 24  # threads: beyond, the blocks are not begun
ROUNDS = 2  # how often a block executes a basic block before it counts as begun
QUANTITIES = tuple(Counts.__dataclass_fields__)


# ---- what a block does at its start


class _Enough(Exception):
    """All blocks of a wave have been begun."""


class _Untouched(GlobalMemory):
    """The same arrays, which stay as they are: stores are thrown away, atomics work on zeros."""

    def __init__(self, memory: GlobalMemory) -> None:
        super().__init__()
        for one in memory.allocations:
            self.allocations.append(
                Allocation(one.base, one.bytes_, one.name, one.shape, one.dtype, one.writable, names=one.names)
            )
        self._bases = [one.base for one in self.allocations]

    def store(self, wave, addresses, mask, values) -> None:
        """Nothing."""

    def cells(self, wave, addresses, dtype: np.dtype):
        view, index = super().cells(wave, addresses, dtype)
        return np.zeros(view.size, dtype), index  # zeros take no memory before they are touched


class _Starts(Fingerprints):
    """Fingerprints of what blocks do until they have been executing a basic block for more than ROUNDS times."""

    def begin_wave(self, wave) -> None:
        super().begin_wave(wave)
        self._visits = np.zeros((len(wave.program.blocks), wave.shape[0]), np.int32)
        self._running = np.ones(wave.shape[0], bool)

    def executed(self, wave, block: int) -> None:
        here = slice(None) if wave.mask is None else np.broadcast_to(wave.mask, wave.shape).any(axis=1)
        self._visits[block, here] += 1
        self._running &= self._visits[block] <= ROUNDS
        if not self._running.any():
            raise _Enough
        super().executed(wave, block)

    def _add(self, rows, numbers) -> None:
        chosen = np.arange(len(self._running))[rows]
        running = self._running[chosen]
        super()._add(chosen[running], numbers[running] if np.ndim(numbers) else numbers)


def _starts(make: "MakeLaunch", memory: GlobalMemory, blocks: int, threads: int) -> np.ndarray | None:
    """By block, a number that is equal for blocks that begin alike; None if they were not begun."""
    if blocks * threads > MOST_BEGUN:
        return None
    prints = np.zeros(blocks, np.uint64)
    untouched, per_wave = _Untouched(memory), max(1, LANES_PER_WAVE // threads)
    for first in range(0, blocks, per_wave):
        some = np.arange(first, min(first + per_wave, blocks), dtype=np.int64)
        watcher = _Starts(len(some))
        launch = make(untouched, watcher, some)
        launch.output_left = 0
        try:
            launch.run()
        except _Enough:
            pass
        except KernelError:
            return None  # found out, with a better message, by who executes the block to its end
        prints[some] = watcher.prints
    return prints


# ---- kinds of blocks


MakeLaunch = Callable[[GlobalMemory, Observer | None, np.ndarray], Launch]


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

    def places(self, ids: np.ndarray) -> np.ndarray:
        """First, between or last along each axis, as one number."""
        index = self.indices(ids)
        return np.where(index == 0, 0, np.where(index == self.sizes - 1, 2, 1)) @ np.array([1, 3, 9])

    def residues(self, ids: np.ndarray, period: int) -> np.ndarray:
        """The indices modulo a period, as one number."""
        return (self.indices(ids) % period) @ np.array([1, period, period * period])


def _members(kind: _Kind, grid: _Grid) -> list[int]:
    """Blocks of a kind to execute: one of each place, and then of each residue, until there are MEMBERS at least."""
    ids = kind.ids
    chosen: list[int] = []
    if kind.period == 0:
        places = grid.places(ids)
        for number, place in enumerate(np.unique(places).tolist()):
            there = ids[places == place]
            chosen.append(int(there[number % len(there)]))
    residues = grid.residues(ids, max(2, 2 * kind.period))
    _, firsts = np.unique(residues, return_index=True)
    further = [-1, len(ids) // 2, len(ids) // 3, *range(min(MEMBERS, len(ids)))]
    for one in [*ids[firsts].tolist(), *ids[further].tolist()]:
        if len(chosen) >= MEMBERS:
            break
        if one not in chosen:
            chosen.append(one)
    return chosen


def _split(kind: _Kind, grid: _Grid) -> list[_Kind]:
    """Smaller kinds, with what is known of their blocks."""
    if kind.period == 0:
        keys, period = grid.places(kind.ids), 1
    else:
        period = 2 * kind.period
        keys = grid.residues(kind.ids, period)
    parts = []
    for key in np.unique(keys):
        ids = kind.ids[keys == key]
        known = {block: what for block, what in kind.executed.items() if block in set(ids.tolist())}
        parts.append(_Kind(ids, period, known))
    return parts


# ---- executing


@dataclass(slots=True)
class _Batch:
    """Blocks that were executed together."""

    ids: np.ndarray
    recorder: BlockRecorder
    prints: Fingerprints

    def behaviours(self) -> Iterator[tuple[int, object]]:
        """(block, what it did), equal for blocks that did the same."""
        recorder = self.recorder
        for place, block in enumerate(self.ids.tolist()):
            lanes = {instruction: int(lanes[place]) for instruction, lanes in recorder.guarded_lanes.items()}
            guarded = frozenset((instruction, count) for instruction, count in lanes.items() if count)
            yield block, (int(self.prints.prints[place]), recorder.block_warps[:, place].tobytes(), guarded)


def execute(
    make: MakeLaunch,
    memory: GlobalMemory,
    grid: tuple[int, int, int],
    threads: int,
    new_recorder: Callable[[int], BlockRecorder],
    others: tuple[Checker | None, SectorObserver | None],
    written: frozenset[str] | None,
) -> RecordedLaunch:
    """Execute some blocks and count for all.

    make: a Launch of given blocks on given memory with an observer.  new_recorder: for so many blocks.  others: who
    else is to see the blocks that are executed.  written: the parameters that the kernel may write through (None: any).

    Raises SimulatorError if blocks differ whose indices are equal modulo LARGEST_PERIOD.
    """
    checker, sectors = others
    exchanges = Exchanges(written)
    place = _Grid(grid)
    blocks = int(np.prod(place.sizes))
    starts = _starts(make, memory, blocks, threads)
    ids = np.arange(blocks, dtype=np.int64)
    waiting = [_Kind(ids)] if starts is None else [_Kind(ids[starts == start]) for start in np.unique(starts)]
    done: list[_Kind] = []
    batches: list[_Batch] = []
    known: dict[int, object] = {}
    while waiting:
        new = sorted({one for kind in waiting for one in _members(kind, place)} - known.keys())
        if len(known) + len(new) > MOST_BLOCKS:
            raise SimulatorError(_too_different(waiting[0], known, place, batches))
        if new:
            batch = _Batch(np.array(new, np.int64), new_recorder(len(new)), Fingerprints(len(new)))
            make(memory, together(batch.recorder, batch.prints, exchanges, checker, sectors), batch.ids).run()
            batches.append(batch)
            known.update(batch.behaviours())
        further: list[_Kind] = []
        for kind in waiting:
            inside = set(kind.ids.tolist()) if len(kind.ids) < blocks else None
            kind.executed = {b: what for b, what in known.items() if inside is None or b in inside}
            if len(set(kind.executed.values())) == 1 or len(kind.executed) == len(kind.ids):
                done.append(kind)
            elif kind.period < LARGEST_PERIOD:
                further += _split(kind, place)
            else:
                raise SimulatorError(_too_different(kind, known, place, batches))
        waiting = further
    weights = _weights(done)
    launch = _weighted(batches, weights)
    if sectors is not None:
        order = np.array([weights[block] for batch in batches for block in batch.ids.tolist()], np.int64)
        launch.unique = sectors.finish(len(weights) == blocks, order)
    doubts = tuple(_doubts(launch, exchanges.foreign))
    launch.sampling = Sampling(blocks, len(weights), len(done), starts is not None, doubts)
    launch.facts = replace(launch.facts, executed_blocks=len(weights))
    return launch


def _weights(kinds: Sequence[_Kind]) -> dict[int, int]:
    """By executed block how many blocks it stands for, itself among them."""
    weights: dict[int, int] = {}
    for kind in kinds:
        each, left = divmod(len(kind.ids), len(kind.executed))
        for number, block in enumerate(kind.executed):
            weights[block] = each + (number < left)
    return weights


def _weighted(batches: Sequence[_Batch], weights: dict[int, int]) -> RecordedLaunch:
    """The sums over all blocks."""
    first = batches[0].recorder
    warps, lanes = (np.zeros(len(first.program.blocks), np.int64) for _ in range(2))
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
    return RecordedLaunch(first.program, first.facts, frozenset(), warps, lanes, dict(guarded), counts)


def _doubts(launch: RecordedLaunch, foreign: set[str]) -> Iterator[str]:
    """Why the counts may differ from those of the whole launch: blocks may depend on others that did not run."""
    atomic = {array for _, space, op, array in launch.counts if space == "global" and op in ("atom", "red")}
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


def _too_different(kind: _Kind, known: dict[int, object], grid: _Grid, batches: Sequence[_Batch]) -> str:
    name = batches[0].recorder.facts.kernel if batches else "The kernel"
    behaviours = list({what: block for block, what in known.items() if block in set(kind.ids.tolist())}.values())
    pair = " and ".join(coordinates(tuple(grid.indices(np.array([block]))[0].tolist())) for block in behaviours[:2])
    what = f"blocks {pair} do different things" if len(behaviours) > 1 else "there are too many kinds of blocks"
    return (
        f"{name} cannot be sampled: {what}, so that no block can stand for others ({len(known):,} were executed). What "
        'they do seems to depend on the data. Record a smaller problem, whole: leave out blocks="sampled".'
    )
