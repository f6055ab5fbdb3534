"""Drive an explorer in a test: to every end of its controls' ranges, and at random."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest

from helpers.pictures import theme
from helpers.tools.bench import moving

PNG = b"\x89PNG"


def drive(explorer: Any, monkeypatch: pytest.MonkeyPatch, settings: int = 50, seed: int = 7) -> Counter[str]:
    """Every control to both of its ends, then random settings; says how often there was a picture and a sentence.

    A setting that is answered by a sentence is taken back, so that most of the settings show a picture.

    Pictures are drawn but not made into a PNG, which takes longest and is the same for all. None of them is kept.
    """
    monkeypatch.setattr(theme.Figure, "png", lambda drawn: PNG)
    before, seen = _living_figures(), Counter[str]()
    for control in explorer.controls:
        for setting in moving.spread(control):
            seen[moving.move(explorer, control, setting)] += 1
    seen.update(moving.random_moves(explorer, settings, seed))
    assert _living_figures() <= before
    return seen


def shown(explorer: Any) -> str:
    """'picture' or 'sentence': exactly one of them is on the stage."""
    return moving.shown(explorer.stage)


def _living_figures() -> int:
    """Figures that were not freed."""
    gc.collect()
    return sum(isinstance(thing, theme.Figure) for thing in gc.get_objects())
