"""Who waits for whom: a warp scheduler that copies K-blocks from memory and multiplies them, cycle by cycle.

A model to check by hand, not a measurement. It assumes that

- one scheduler issues one instruction a cycle; a warp that has begun goes on until it needs its next K-block, and then
  the warp goes on that has waited longest;
- a K-block arrives `latency` cycles after the last instruction of its copy was issued, however many are on their way:
  the bandwidth of the memory has no limit here, and every copy takes equally long;
- the warps do not wait for each other. Warps of one block meet at a barrier after every K-block, so that real warps
  hide a little less of each other's latency.

With one stage a warp copies a K-block through registers, waits, stores it, multiplies it, and only then copies the
next. With two, the copy of the next one is issued before the products of this one, and its store waits after them.
With S > 2, `cp.async` needs no store, and S - 1 K-blocks are on their way at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

Part = Literal["copy", "store", "multiply"]

SETTLED = 12  # K-blocks after which the loop repeats itself
PERIOD = 12  # K-blocks over which the steady state is averaged: with S stages it repeats after S - 1


@dataclass(frozen=True)
class Work:
    """What a warp issues for one K-block, in instructions, which are cycles of its scheduler.

    copy: loads from global memory.  store: stores to shared memory; none with more than two stages.  multiply: loads
    of the fragments and FMAs.
    """

    copy: int
    store: int
    multiply: int

    def __post_init__(self) -> None:
        if self.copy < 1 or self.store < 0 or self.multiply < 1:
            raise ValueError(f"A K-block takes at least one copy and one multiplication, but the work is {self}.")


@dataclass(frozen=True)
class Pipeline:
    """A kernel's main loop as one scheduler sees it.

    stages: K-blocks in shared memory at a time.  latency: cycles.  blocks: K-blocks to multiply.  warps: of the
    scheduler, all with the same work.
    """

    work: Work
    stages: int = 1
    latency: int = 400
    blocks: int = 8
    warps: int = 1

    def __post_init__(self) -> None:
        for name, fewest in (("stages", 1), ("latency", 0), ("blocks", 1), ("warps", 1)):
            if getattr(self, name) < fewest:
                raise ValueError(f"{name} must be at least {fewest}, but it is {getattr(self, name)}.")


@dataclass(frozen=True)
class Span:
    """A warp's part of the work on one K-block, issued in the cycles start … stop - 1."""

    warp: int
    block: int
    part: Part
    start: int
    stop: int


@dataclass(frozen=True)
class Flight:
    """A K-block on its way from global memory to a warp: the cycles start … stop - 1."""

    warp: int
    block: int
    start: int
    stop: int


@dataclass(frozen=True)
class Timeline:
    """What a scheduler did: its spans in the order of time, and the flights of the K-blocks."""

    pipeline: Pipeline
    spans: tuple[Span, ...]
    flights: tuple[Flight, ...]

    @property
    def end(self) -> int:
        """Cycles until the last product is issued."""
        return self.spans[-1].stop

    @cached_property
    def idle(self) -> tuple[tuple[int, int], ...]:
        """(start, stop) of the cycles in which no warp could go on."""
        gaps = [(0, self.spans[0].start), *((before.stop, two.start) for before, two in pairwise(self.spans))]
        return tuple(gap for gap in gaps if gap[0] < gap[1])


@dataclass(frozen=True)
class Steady:
    """The middle of a long loop. cycles: from one K-block of a warp to its next.  idle: those of them in which no warp
    could go on.  hidden: cycles of the latency behind which the scheduler issued something."""

    cycles: float
    idle: float
    hidden: float


def steady_state(pipeline: Pipeline) -> Steady:
    """What the loop settles to, whatever its number of K-blocks."""
    long = timeline(replace(pipeline, blocks=SETTLED + PERIOD + pipeline.stages))
    stops = [span.stop for span in long.spans if span.warp == 0 and span.part == "multiply"]
    first, last = stops[SETTLED - 1], stops[SETTLED + PERIOD - 1]
    idle = sum(max(0, min(stop, last) - max(start, first)) for start, stop in long.idle) / PERIOD
    return Steady((last - first) / PERIOD, idle, pipeline.latency - idle)


def timeline(pipeline: Pipeline) -> Timeline:
    """Let the warps take turns until every K-block is multiplied."""
    programs = [list(_program(pipeline)) for _ in range(pipeline.warps)]
    ready = [0] * pipeline.warps  # since when each warp could go on, if what it needs has arrived
    arrived: list[dict[int, int]] = [{_NOTHING: 0} for _ in programs]
    spans: list[Span] = []
    flights: list[Flight] = []
    now, running = 0, 0
    while any(programs):
        if not programs[running] or programs[running][0].needs != _NOTHING or not spans:
            since = {w: max(ready[w], arrived[w][steps[0].needs]) for w, steps in enumerate(programs) if steps}
            running = min(since, key=lambda warp: (since[warp], warp))
            now = max(now, since[running])
        step = programs[running].pop(0)
        start, now = now, now + step.cycles
        ready[running] = now
        if step.cycles:
            spans.append(Span(running, step.block, step.part, start, now))
        if step.part == "copy":
            arrived[running][step.block] = now + pipeline.latency
            flights.append(Flight(running, step.block, now, now + pipeline.latency))
    return Timeline(pipeline, tuple(spans), tuple(flights))


_NOTHING = -1


class _Step(NamedTuple):
    """A part of a warp's program: the K-block that must have arrived before it, its own K-block, its cycles."""

    part: Part
    needs: int
    block: int
    cycles: int


def _program(pipeline: Pipeline) -> Iterator[_Step]:
    """A warp's work in order."""
    work, blocks, stages = pipeline.work, pipeline.blocks, pipeline.stages
    if stages == 1:
        for block in range(blocks):
            yield _Step("copy", _NOTHING, block, work.copy)
            yield _Step("store", block, block, work.store)
            yield _Step("multiply", _NOTHING, block, work.multiply)
    elif stages == 2:
        yield _Step("copy", _NOTHING, 0, work.copy)
        for block in range(blocks):
            yield _Step("store", block, block, work.store)
            if block + 1 < blocks:
                yield _Step("copy", _NOTHING, block + 1, work.copy)
            yield _Step("multiply", _NOTHING, block, work.multiply)
    else:
        ahead = stages - 1
        for block in range(min(ahead, blocks)):
            yield _Step("copy", _NOTHING, block, work.copy)
        for block in range(blocks):
            copies = block + ahead < blocks
            if copies:
                yield _Step("copy", block, block + ahead, work.copy)
            yield _Step("multiply", _NOTHING if copies else block, block, work.multiply)


# --- a few tiles by hand ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ByHand:
    """A few tiles, as one draws them on a board: a load is one block of time, and so is a multiplication.

    tiles: how many.  load, multiply: units of time for each of them.  buffers: tiles that there is room for.
    """

    tiles: int
    load: int
    multiply: int
    buffers: int

    @property
    def loads(self) -> tuple[int, ...]:
        """When the load of each tile begins: one after the other, and not before its buffer is free."""
        return self._starts[0]

    @property
    def products(self) -> tuple[int, ...]:
        """When the multiplication of each tile begins: when it has arrived, one after the other."""
        return self._starts[1]

    @property
    def end(self) -> int:
        """When the last tile is multiplied."""
        return self.products[-1] + self.multiply

    @property
    def _starts(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        loads: list[int] = []
        products: list[int] = []
        for tile in range(self.tiles):
            free = products[tile - self.buffers] + self.multiply if tile >= self.buffers else 0
            loads.append(max(loads[-1] + self.load if loads else 0, free))
            done = products[-1] + self.multiply if products else 0
            products.append(max(loads[-1] + self.load, done))
        return tuple(loads), tuple(products)
