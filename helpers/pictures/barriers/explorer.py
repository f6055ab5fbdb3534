"""What a barrier is good for: the shared-memory kernel without its first or its second __syncthreads().

The simulator lets all threads go in step, so that the result may be right all the same; the sanitizer finds the race
that a GPU would have. `explore()` is the explorer, `picture_of(choice)` what it is made from.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from gemm_kernels import Kernel, Launch, OwnKernel, get
from gpusim import Finding
from helpers import run
from helpers.pictures import theme
from helpers.pictures.barriers.facts import easiest
from helpers.pictures.barriers.figure import race_figure
from helpers.pictures.controls import time_slider
from helpers.pictures.live import CannotShow, LiveExplorer
from helpers.pictures.own_kernel import Own, multiplication, of_kind
from helpers.pictures.tile_phases.explorer import TILES, shown
from helpers.pictures.tile_phases.facts import Race, TilePhases, phases_of
from helpers.pictures.tile_phases.figure import FIGURE_HEIGHT, tile_phases_figure
from helpers.pictures.widgets import choice_buttons, choice_slider, labelled

BARRIER = re.compile(r"__syncthreads\s*\(\s*\)\s*;")
ORDINALS = ("", "first", "second", "third", "fourth")
UNQUOTED = "(a line of the course's kernel)"
REMOVED = (("both in place", 0), ("without the first", 1), ("without the second", 2))


def barriers_of(source: str) -> list[tuple[int, re.Match[str]]]:
    """Where a kernel has a __syncthreads(), but for those in comments: the line, from 0, and the place in it."""
    return [
        (row, match) for row, line in enumerate(source.splitlines()) for match in BARRIER.finditer(line.split("//")[0])
    ]


def without(launch: Launch, number: int) -> Launch:
    """The kernel with its first (1), second (2), … __syncthreads() taken out. ValueError if it has fewer.

    Its line stays, though empty, so that every line keeps its number.
    """
    lines = launch.source.splitlines(keepends=True)
    places = barriers_of(launch.source)
    if not 1 <= number <= len(places):
        raise ValueError(f"{launch.name} has {len(places)} barriers; there is no number {number} to take out.")
    row, match = places[number - 1]
    alone = lines[row].split("//")[0].strip() == match.group()
    lines[row] = "\n" if alone else lines[row][: match.start()] + lines[row][match.end() :]
    return launch.with_source("".join(lines), f"{launch.name} without its {ORDINALS[number]} barrier")


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls. removed: the barrier that is missing, 0 for none.

    own: a learner's kernel in place of the shared-memory kernel with this tile.  lines: whether its lines are quoted.
    """

    removed: int = 0
    tile: int = 16
    phase: int = 0
    own: OwnKernel | None = None
    lines: bool = True


@lru_cache(maxsize=16)
def _staged(kernel: Kernel | OwnKernel, removed: int) -> tuple[TilePhases, Race | None]:
    """The phases of a block, and the race that the missing barrier leaves in it. Raises CannotShow."""
    launch = shown(kernel)
    if not removed:
        return phases_of(launch), None
    try:
        changed = without(launch, removed)
    except ValueError as error:
        raise CannotShow(str(error)) from error
    size = launch.name.removeprefix(f"{kernel.name}, ")
    data = phases_of(replace(changed, name=f"{size}, without the {ORDINALS[removed]} barrier"))
    findings = run.sanitize(changed).report.findings
    if not findings:
        return data, None
    try:
        return data, race_in(findings, data, changed.source, removed)
    except LookupError:  # lines that the picture cannot tell apart, or no race for a tile
        raise CannotShow(f"Without {_missing(removed)} the sanitizer says: {findings[0].message}") from None


def race_in(findings: Sequence[Finding], data: TilePhases, source: str, removed: int) -> Race:
    """The finding that is easiest to believe, between two warps where there is one, as the picture takes it.

    source: of the kernel.  removed: the barrier that is missing. LookupError if no race is for a tile that is loaded.
    """
    chosen = easiest(findings, data.block)
    stores = {copy.line for phase in data.phases for copy in phase.copies}
    before, after = (chosen.lines[0], chosen.other_thread), (chosen.lines[-1], chosen.thread)
    (write_line, writer), (read_line, reader) = (before, after) if before[0] in stores else (after, before)
    if write_line not in stores:
        raise LookupError("no store of a tile")
    element = chosen.array + "".join(f"[{subscript}]" for subscript in chosen.index)
    text = ["", *source.splitlines()]
    overwrites = before[0] not in stores
    return Race(
        _missing(removed), element, chosen.block, write_line, writer, text[write_line], read_line, reader,
        text[read_line], overwrites,
    )  # fmt: skip


def _missing(removed: int) -> str:
    return f"the {ORDINALS[removed]} __syncthreads()"


def picture_of(choice: Choice) -> theme.Figure:
    """A phase of a block; without a barrier the two threads that race, and the order that nothing forbids.

    Raises the simulator's and the compiler's errors, and CannotShow.
    """
    data, race = _staged(choice.own or get("shared_memory", T=choice.tile), choice.removed)
    if race is None:
        return tile_phases_figure(data, choice.phase)
    if not choice.lines:
        race = replace(race, write_text=UNQUOTED, read_text=UNQUOTED)
    last = len(data.phases) - (2 if race.overwrites else 1)  # nothing is stored over the last phase's tiles
    return race_figure(race, data.name, data.block, max(0, min(choice.phase, last)))


class BarrierExplorer(LiveExplorer):
    """Controls for the missing barrier, the tile and the phase."""

    def __init__(self, choice: Choice) -> None:
        self.own = choice.own
        self.removed = choice_buttons("barriers", REMOVED, choice.removed)
        self.tile = choice_slider("tile", [(f"T = {size}", size) for size in TILES], choice.tile)
        self.phase = time_slider("phase", choice.phase)
        self.phase.value = choice.phase
        rows = [[labelled("barriers", self.removed)], [self.phase] if self.own else [self.tile, self.phase]]
        super().__init__("Explorer: a tiled kernel with a barrier taken out.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.removed.value, self.tile.value, self.phase.value, self.own)

    def needs(self) -> Iterable[Hashable]:
        return [(self.tile.value, self.removed.value)]

    def draw(self) -> tuple[theme.Figure, str]:
        choice = self.choice
        data, _ = _staged(choice.own or get("shared_memory", T=choice.tile), choice.removed)
        with self.quiet():
            self.phase.max = len(data.phases) - 1
        return picture_of(self.choice), ""


def explore(own: Own = None, *, choice: Choice | None = None) -> BarrierExplorer:
    """The explorer, beginning with both barriers in place, of the shared-memory kernel or a learner's own."""
    own = multiplication(own, "the tiles of A and B in shared memory")
    choice = of_kind("choice", choice, Choice) or Choice()
    return BarrierExplorer(replace(choice, own=own) if own else choice)
