"""What `show` draws: a picture of the course, made from what the learner's kernel did in a recorded launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from gemm_kernels import get
from gpusim.errors import SHARED_RACE
from helpers import run
from helpers.exercises.framework import trial
from helpers.exercises.framework.answers import LEARNERS
from helpers.exercises.framework.problems import Case, Problem
from helpers.exercises.framework.trial import output_name
from helpers.pictures import theme
from helpers.pictures.bank_board.facts import NAMES, shared_accesses
from helpers.pictures.bank_board.figure import bank_board_figure
from helpers.pictures.barriers.explorer import race_in
from helpers.pictures.barriers.figure import race_figure
from helpers.pictures.coalescing.facts import warp_access
from helpers.pictures.coalescing.figure import sectors_figure
from helpers.pictures.first_launch.facts import strip
from helpers.pictures.first_launch.figure import strips_figure
from helpers.pictures.order.facts import events_of, names_of
from helpers.pictures.order.figure import order_figure
from helpers.pictures.register_file.figure import ports_figure
from helpers.pictures.register_file.write_port import cycles
from helpers.pictures.thread_map.facts import thread_map
from helpers.pictures.thread_map.figure import thread_map_figure
from helpers.pictures.tile_phases.facts import Race, TilePhases, tile_phases
from helpers.pictures.tile_phases.figure import tile_phases_figure

if TYPE_CHECKING:
    from gpusim import Kernel, Recording


@dataclass(frozen=True)
class Drawn:
    """What a function of the exercise's own draws; it is given the title, too."""

    draw: Callable[[Kernel, Problem, str], theme.Figure]
    title: str = LEARNERS

    def __call__(self, kernel: Kernel, problem: Problem) -> theme.Figure:
        return self.draw(kernel, problem, self.title)


@dataclass(frozen=True)
class SectorsOf:
    """The sectors of warp 0 of block (0, 0) for these requests: (number of the parameter from 0, "ld" or "st")."""

    accesses: tuple[tuple[int, str], ...]
    case: Case
    title: str

    def __call__(self, kernel: Kernel, problem: Problem) -> theme.Figure:
        recording = trial.record(kernel, problem.prepare(self.case), blocks=((0, 0, 0),), only_traced=True)
        names = kernel.compiled.parameters
        accesses = [warp_access(recording, names[parameter].name, op) for parameter, op in self.accesses]
        return sectors_figure(accesses, f"{self.title}: warp 0")


FIRST_BLOCK = (0, 0, 0)


@dataclass(frozen=True)
class TilePhasesOf:
    """What one block loads in a phase of its loop, and one thread reads of it, in a launch of whole tiles.

    If threads race for a tile, the picture is of them.
    """

    draws_races: ClassVar[bool] = True

    case: Case
    title: str
    block: tuple[int, int, int] = (1, 0, 0)
    phase: int = 1
    thread: int = 0

    def __call__(self, kernel: Kernel, problem: Problem) -> theme.Figure:
        data, race = self._phases(kernel, problem, self.block)
        if race is None:
            return tile_phases_figure(data, self.phase, self.thread)
        if self.block != FIRST_BLOCK:  # the one that the sanitizer's words are of
            first, same = self._phases(kernel, problem, FIRST_BLOCK)
            data, race = (first, same) if same is not None else (data, race)
        return race_figure(race, data.name, data.block)

    def _phases(self, kernel: Kernel, problem: Problem, block: tuple[int, int, int]) -> tuple[TilePhases, Race | None]:
        """What a block does in its phases, and its race for a tile if it has one."""
        recording = trial.record(kernel, problem.prepare(self.case), blocks=(block,), only_traced=True, checks="report")
        M, N, K = (self.case.sizes[name] for name in "MNK")
        shapes = {"A": (M, K), "B": (K, N), "C": (M, N)}
        unshared = run.record(get("coalesced").launch(M, N, K).in_blocks(8, 8))
        title = f"{self.title}, M = {M}, N = {N}, K = {K}"
        data = tile_phases(recording, title, shapes, block, unshared)
        return data, _race(recording, data, kernel)


def _race(recording: Recording, data: TilePhases, kernel: Kernel) -> Race | None:
    """The race for a tile that the sanitizer found, if there is one that the picture can show."""
    findings = [
        finding
        for finding in recording.checks.findings
        if finding.kind == SHARED_RACE and finding.other_thread is not None
    ]
    try:
        race = race_in(findings, data, kernel.compiled.source, 1)
    except LookupError:  # none, or one whose lines the picture cannot tell apart
        return None
    return replace(race, missing="a barrier between them")


@dataclass(frozen=True)
class StripOf:
    """Which thread writes which element of a one-dimensional array."""

    case: Case

    def __call__(self, kernel: Kernel, problem: Problem) -> theme.Figure:
        setup = problem.prepare(self.case)
        recording = trial.record(kernel, setup)
        label = f"grid ({setup.grid[0]},), block ({setup.block[0]},), {replace(self.case, block=()).label(())}"
        written = strip(recording, len(setup.output), label, output_name(kernel, setup))
        return strips_figure([written], "Which thread writes which element?")


@dataclass(frozen=True)
class ThreadMapOf:
    """Who stores which element of an array, and one thread of block (0, 0) in particular."""

    array: str
    case: Case
    title: str
    thread: int = 0

    def __call__(self, kernel: Kernel, problem: Problem) -> theme.Figure:
        setup = problem.prepare(self.case)
        recording = trial.record(kernel, setup)
        name = output_name(kernel, setup)
        return thread_map_figure(thread_map(recording, setup.output.shape, self.title, name), 0, self.thread)


@dataclass(frozen=True)
class BankBoardOf:
    """The banks of the costliest request that warp 0 of block (0, 0) makes to shared memory.

    op: "ld", "ldsm" or "st".
    """

    case: Case
    title: str
    op: str

    def __call__(self, kernel: Kernel, problem: Problem) -> theme.Figure:
        recording = trial.record(kernel, problem.prepare(self.case), blocks=((0, 0, 0),), only_traced=True)
        accesses = [(line, access) for line, access in shared_accesses(recording) if access.op == self.op]
        if not accesses:
            raise LookupError(f"Warp 0 makes no {NAMES[self.op]} shared memory.")
        line, access = max(accesses, key=lambda pair: pair[1].wavefronts)
        line = _calling(recording, line)
        return bank_board_figure(access, f"{self.title}, line {line}: warp 0", recording.source.splitlines()[line - 1])


def _calling(recording: Recording, line: int) -> int:
    """The kernel's line that called the function with this line, if one line alone did; else the line itself."""
    instructions = recording.launches[-1].program.instructions
    lines = {
        (instruction.line, *instruction.called_from)[-1] for instruction in instructions if instruction.line == line
    }
    return lines.pop() if len(lines) == 1 else line


@dataclass(frozen=True)
class OrderOf:
    """The order in which warp 0 of block (0, 0) loads, stores and reads. tile_bytes: of shared memory in a row."""

    case: Case
    title: str
    tile_bytes: int

    def __call__(self, kernel: Kernel, problem: Problem) -> theme.Figure:
        recording = trial.record(kernel, problem.prepare(self.case), blocks=((0, 0, 0),), only_traced=True)
        events = events_of(recording, self.tile_bytes)
        return order_figure(events, f"{self.title}: what warp 0 does, in its order", names_of(kernel, events))


@dataclass(frozen=True)
class PortsOf:
    """What the 128-bit loads of one k, by warp 0 of block (0, 0), do at the write ports of the registers.

    loads: that the picture shows, the last of the launch.  fmas: around them; their sums go to the two banks in turn.
    """

    case: Case
    loads: int
    fmas: int = 26
    title: str = LEARNERS

    def __call__(self, kernel: Kernel, problem: Problem) -> theme.Figure:
        recording = trial.record(kernel, problem.prepare(self.case), blocks=((0, 0, 0),), only_traced=True)
        loads = [access for _, access in shared_accesses(recording) if access.op == "ld" and access.width == 16][
            -self.loads :
        ]
        if not loads:
            raise LookupError("The kernel makes no 128-bit load from shared memory that could be drawn.")
        every = self.fmas // len(loads)
        begins = {1 + number * every: load.needed < load.usual for number, load in enumerate(loads)}
        each = [f"{load.name.removeprefix('load from ')} {load.wavefronts}" for load in loads]
        words = f"Wavefronts of the loads of one k: {', '.join(each)}"
        panels = [(words, cycles([n % 2 for n in range(self.fmas)], begins))]
        return ports_figure(panels, f"The loads of {self.title} return to registers")
