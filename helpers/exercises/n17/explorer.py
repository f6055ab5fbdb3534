"""The explorer of pairs: where the two smallest stand, and a level → how their pairs move, by the learner's step 4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from helpers.exercises.framework.problems import Case
from helpers.exercises.n17 import matrices
from helpers.exercises.n17.fused import TWO_OF_ALL
from helpers.exercises.n17.pictures import LEVELS, SHAPE, journey_figure
from helpers.pictures import theme
from helpers.pictures.controls import choice_list
from helpers.pictures.live import LiveExplorer
from helpers.pictures.pairs.figure import HIGHEST
from helpers.run import simulated

C: Mapping[str, Case] = {
    "random numbers": SHAPE,
    "the two are neighbours": Case({**SHAPE.sizes, matrices.NEIGHBOURS: 1}),
    "many are equal": Case({**SHAPE.sizes, matrices.EQUAL: 3}),
    "every third row is NaN": Case({**SHAPE.sizes, matrices.NAN_ROWS: 30}),
    "one block": Case({"M": 32, "N": 64, "K": 5}),
}


@dataclass(frozen=True)
class Choice:
    """One position of the explorer's controls: a name of C, and one of LEVELS."""

    elements: str = "random numbers"
    level: str = "the grid"


def picture_of(choice: Choice) -> theme.Figure:
    """One level of the way of both. CannotTell where the learner's kernel has no such tree."""
    kernel = simulated(TWO_OF_ALL.written.source, TWO_OF_ALL.problem.entry)
    title = f"How pairs move in {choice.level}: {choice.elements}"
    return journey_figure(kernel, TWO_OF_ALL.problem, title, C[choice.elements], (LEVELS[choice.level],))


class PairsExplorer(LiveExplorer):
    """Controls for the elements of C and the level."""

    def __init__(self, choice: Choice) -> None:
        self.elements = choice_list("elements of C", [(name, name) for name in C], choice.elements)
        self.level = choice_list("level", [(name, name) for name in LEVELS], choice.level)
        super().__init__("Explorer: how pairs move to the two smallest.", [[self.elements], [self.level]], HIGHEST)

    @property
    def choice(self) -> Choice:
        """What the controls say now."""
        return Choice(self.elements.value, self.level.value)

    def settle(self, moved: object) -> None:
        """Nothing depends on another control."""

    def draw(self) -> tuple[theme.Figure, str]:
        return picture_of(self.choice), ""


def explore(*, elements: str = "random numbers", level: str = "the grid") -> PairsExplorer:
    """The explorer, beginning with these elements and this level."""
    return PairsExplorer(Choice(elements, level))
