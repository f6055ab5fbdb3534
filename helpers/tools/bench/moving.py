"""Move the controls of an explorer as a learner would: to the ends of their ranges, and at random."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Literal

import ipywidgets

from helpers.pictures.controls import Switches
from helpers.pictures.widgets import Stage

Shown = Literal["picture", "sentence"]


def spread(control: ipywidgets.Widget, count: int = 2) -> list[Any]:
    """So many settings of a control from one end of its range to the other, or all if there are fewer; for switches
    none, all, and the first."""
    if isinstance(control, Switches):
        return [(), control.options, control.options[:1]]
    if control.has_trait("index"):
        first, last = 0, len(control.options) - 1
    elif control.has_trait("max"):
        first, last = control.min, control.max
    else:
        return [False, True]
    steps = count - 1
    return [*dict.fromkeys(first + (last - first) * step // steps for step in range(count))]


def any_setting(control: ipywidgets.Widget, chance: random.Random) -> Any:
    """A setting at random."""
    if isinstance(control, Switches):
        return tuple(name for name in control.options if chance.random() < 0.5)
    if control.has_trait("index"):
        return chance.randrange(len(control.options))
    if control.has_trait("max"):
        return chance.randint(control.min, control.max)
    return chance.random() < 0.5


def setting(control: ipywidgets.Widget) -> Any:
    """What a control is set to, as `move` takes it."""
    return control.index if control.has_trait("index") else control.value


def put(control: ipywidgets.Widget, value: Any) -> None:
    """Set a control."""
    if control.has_trait("index"):
        control.index = value
    else:
        control.value = value


def shown(stage: Stage) -> Shown:
    """What is on a stage. Raises ValueError unless it is exactly one of the two, and not an empty one."""
    picture, sentence = (part.layout.display != "none" for part in (stage.picture, stage.sentence))
    if picture == sentence or not (stage.picture if picture else stage.sentence).value:
        raise ValueError(f"The stage shows picture: {picture}, sentence: {sentence}, or nothing in it.")
    return "picture" if picture else "sentence"


def move(explorer: Any, control: ipywidgets.Widget, value: Any) -> Shown:
    """Set a control and say what the explorer shows then; a setting that it answers by a sentence is taken back."""
    before = setting(control)
    put(control, value)
    answer = shown(explorer.stage)
    if answer == "sentence":
        put(control, before)
    return answer


def random_moves(explorer: Any, count: int, seed: int = 7) -> Iterator[Shown]:
    """So many settings of controls at random, and what was shown at each."""
    chance = random.Random(seed)
    for _ in range(count):
        control = chance.choice(explorer.controls)
        yield move(explorer, control, any_setting(control, chance))
