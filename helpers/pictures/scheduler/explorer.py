"""The explorer of a scheduler, for notebook 05: warps, independent instructions, latency → who issues, and who waits.

`explore()` is the explorer, `small_multiples()` its static twin, `picture_of(choice)` what both of them are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from helpers.pictures import theme
from helpers.pictures.controls import range_slider
from helpers.pictures.live import LiveExplorer
from helpers.pictures.own_kernel import of_kind
from helpers.pictures.scheduler import model as latency
from helpers.pictures.scheduler.figure import FIGURE_HEIGHT, scheduler_figure, schedulers_figure
from helpers.pictures.scheduler.model import Timeline

MOST_CYCLES = 60  # of a picture
MOST_WARPS = 16  # of a scheduler: an SM's 64, by four schedulers
MOST_INDEPENDENT = 16
MOST_LATENCY = 40
MOST_EVERY = 8


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls. latency: cycles from an instruction to its result.  every: cycles for
    which an instruction takes its unit."""

    warps: int = 1
    independent: int = 1
    latency: int = latency.SHARED.cycles
    every: int = 1


def timeline_of(choice: Choice) -> Timeline:
    """The first cycles of a scheduler: whole latencies, so that the share in which it issues is that of all time."""
    cycles = MOST_CYCLES // choice.latency * choice.latency // choice.every * choice.every
    return latency.timeline(choice.warps, choice.independent, choice.latency, cycles, choice.every)


def picture_of(choice: Choice, room: int = 0) -> theme.Figure:
    """The warps and their scheduler, cycle by cycle. room: warps to keep room for."""
    data = timeline_of(choice)
    title = f"One scheduler, {len(data.issued)} cycles (model): a result is there after {choice.latency}"
    return scheduler_figure(data, title, room)


class SchedulerExplorer(LiveExplorer):
    """Controls for the warps, their independent instructions, the latency, and how often the unit takes one."""

    def __init__(self, choice: Choice) -> None:
        self.warps = range_slider("warps", 1, MOST_WARPS, choice.warps)
        self.independent = range_slider("independent", 1, MOST_INDEPENDENT, choice.independent)
        self.latency = range_slider("latency", 1, MOST_LATENCY, choice.latency)
        self.every = range_slider("unit: one in", 1, MOST_EVERY, choice.every)
        rows = [[self.warps, self.independent], [self.latency, self.every]]
        super().__init__("Explorer: a scheduler and its warps.", rows, FIGURE_HEIGHT)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.warps.value, self.independent.value, self.latency.value, self.every.value)

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(self.choice, MOST_WARPS), ""


def explore(choice: Choice | None = None) -> SchedulerExplorer:
    """The explorer, beginning with one warp that waits for shared memory."""
    return SchedulerExplorer(of_kind("choice", choice, Choice) or Choice())


TELLING = (Choice(1, 1), Choice(4, 1), Choice(16, 1), Choice(4, 8))


def small_multiples(settings: Sequence[Choice] = TELLING) -> theme.Figure:
    """The explorer's static twin: several settings of one latency, a row each."""
    cycles = " and ".join(str(number) for number in sorted({choice.latency for choice in settings}))
    return schedulers_figure([timeline_of(choice) for choice in settings], f"A result is there after {cycles} cycles")
