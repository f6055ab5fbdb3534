"""What each line of a kernel's source did, and what it was compiled to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpusim import LineCounts, Recording

WASTE = 2  # times the sectors that are needed: rows that start inside a sector alone cost less

Listing = Mapping[int, Sequence[str]]  # instructions by line


@dataclass(frozen=True)
class LineCost:
    """A line of the source and what it did.

    instructions: executed by warps.  global_requests, sectors, needed_sectors: of global memory, and the sectors that
    the bytes asked for would fill.  shared_requests, wavefronts, needed: of shared memory, and the wavefronts without
    conflicts.  ptx, sass: the line's instructions.
    """

    line: int
    text: str
    instructions: int = 0
    global_requests: int = 0
    sectors: int = 0
    needed_sectors: int = 0
    shared_requests: int = 0
    wavefronts: int = 0
    needed: int = 0
    ptx: tuple[str, ...] = ()
    sass: tuple[str, ...] = ()

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond those that are needed."""
        return max(0, self.wavefronts - self.needed)

    @property
    def wasteful(self) -> bool:
        """Whether at least half of the sectors are more than the bytes asked for need."""
        return self.sectors >= WASTE * self.needed_sectors > 0


@dataclass(frozen=True)
class SourceCosts:
    """A kernel's source with the counts of a launch.

    name: the kernel's.  level: where it was counted.  blocks: of the grid.  executed: how many of them the simulator
    executed.
    """

    name: str
    lines: tuple[LineCost, ...]
    level: Literal["sass", "ptx"]
    blocks: int
    executed: int


def source_costs(recording: Recording, name: str | None = None) -> SourceCosts:
    """The source of a recording of launches of one kernel. name: the kernel's, if it is not the
    function's."""
    launch, listings = recording.launches[-1], recording.listings
    x, y, z = launch.facts.grid
    return SourceCosts(
        name=name or launch.facts.kernel,
        lines=line_costs(recording.by_line(), recording.source, listings.get("ptx", {}), listings.get("sass", {})),
        level=recording.level,
        blocks=x * y * z,
        executed=launch.facts.executed_blocks,
    )


def line_costs(
    counted: Sequence[LineCounts], source: str, ptx: Listing | None = None, sass: Listing | None = None
) -> tuple[LineCost, ...]:
    """Every line of a source with its counts, as `recording.by_line()` gives them, and its instructions."""
    by_line = {line.line: line for line in counted}
    ptx, sass = ptx or {}, sass or {}
    costs = []
    for number, text in enumerate(source.splitlines(), 1):
        instructions = {"ptx": tuple(ptx.get(number, ())), "sass": tuple(sass.get(number, ()))}
        row = by_line.get(number)
        if row is None:
            costs.append(LineCost(number, text.rstrip(), **instructions))
            continue
        costs.append(
            LineCost(
                number,
                text.rstrip(),
                instructions=row.instructions,
                global_requests=row.total("requests", "global"),
                sectors=row.total("sectors", "global"),
                needed_sectors=row.total("ideal_sectors", "global"),
                shared_requests=row.total("requests", "shared"),
                wavefronts=row.total("wavefronts", "shared"),
                needed=row.total("ideal_wavefronts", "shared"),
                **instructions,
            )
        )
    return tuple(costs)


def translated(costs: SourceCosts, first: str, before: str) -> list[tuple[str, str, str, str]]:
    """(number, source, PTX, machine code) of each line that became instructions, these counted by name.

    The lines are those from the first one that contains `first` up to the next one that contains `before`.
    """
    texts = [line.text for line in costs.lines]
    start = next(number for number, text in enumerate(texts) if first in text)
    end = next(number for number in range(start, len(texts)) if before in texts[number])
    chosen = [line for line in costs.lines[start:end] if line.ptx or line.sass]
    return [(str(line.line), line.text.strip(), _by_name(line.ptx), _by_name(line.sass)) for line in chosen]


def _by_name(instructions: Sequence[str]) -> str:
    """'16 × LDS.128, 1 × LEA': the most frequent first, without predicates and operands."""
    names = Counter(re.sub(r"^@\S+\s+", "", instruction).split()[0].rstrip(";") for instruction in instructions)
    return ", ".join(f"{count} × {name}" for name, count in names.most_common())
