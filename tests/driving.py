"""Move the controls of an explorer as a learner would: to every end of their ranges, and at random."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from typing import Any

import ipywidgets
import pytest

from helpers.draw import theme
from helpers.explore.controls import Switches

PNG = b"\x89PNG"


def drive(explorer: Any, monkeypatch: pytest.MonkeyPatch, settings: int = 100, seed: int = 7) -> dict[str, int]:
    """Every control to both of its ends, then random settings; says how often there was a picture and a sentence.

    A setting that is answered by a sentence is taken back, so that most of the settings show a picture.

    Pictures are drawn but not made into a PNG, which takes longest and is the same for all.
    """
    monkeypatch.setattr(theme.Figure, "png", lambda drawn: PNG)
    seen = {"picture": 0, "sentence": 0}
    for control in explorer.controls:
        for setting in _ends(control):
            seen[_move(explorer, control, setting)] += 1
    chance = random.Random(seed)
    for _ in range(settings):
        control = chance.choice(explorer.controls)
        seen[_move(explorer, control, _any(control, chance))] += 1
    return seen


def _move(explorer: Any, control: ipywidgets.Widget, setting: Any) -> str:
    before = control.index if control.has_trait("index") else control.value
    _set(control, setting)
    answer = shown(explorer)
    if answer == "sentence":
        _set(control, before)
    return answer


def shown(explorer: Any) -> str:
    """'picture' or 'sentence': exactly one of them is on the stage."""
    stage = explorer.stage
    picture, sentence = (part.layout.display != "none" for part in (stage.picture, stage.sentence))
    assert picture != sentence
    assert stage.picture.value if picture else stage.sentence.value
    return "picture" if picture else "sentence"


def living_figures() -> int:
    """Figures that were not freed."""
    gc.collect()
    return sum(isinstance(thing, theme.Figure) for thing in gc.get_objects())


def _ends(control: ipywidgets.Widget) -> Iterator[Any]:
    if isinstance(control, Switches):
        yield from ((), control.options, control.options[:1])
    elif control.has_trait("index"):
        yield from (0, len(control.options) - 1)
    elif control.has_trait("max"):
        yield from (control.min, control.max)
    else:
        yield from (False, True)


def _any(control: ipywidgets.Widget, chance: random.Random) -> Any:
    if isinstance(control, Switches):
        return tuple(name for name in control.options if chance.random() < 0.5)
    if control.has_trait("index"):
        return chance.randrange(len(control.options))
    if control.has_trait("max"):
        return chance.randint(control.min, control.max)
    return chance.random() < 0.5


def _set(control: ipywidgets.Widget, setting: Any) -> None:
    if control.has_trait("index"):
        control.index = setting
    else:
        control.value = setting
