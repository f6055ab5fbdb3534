"""All exercises, by name and by notebook, found in the modules beside this package: nNN is notebook NN's."""

from __future__ import annotations

import pkgutil
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gpusim.sentences import BadInput
from helpers.exercises.framework import progress
from helpers.exercises.framework.exercise import Exercise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from helpers.exercises.framework.predict import Prediction
    from helpers.exercises.framework.questions import Question

    # Each notebook's, in the order in which it asks them: questions that come before a picture, questions with a check
    # of their own, exercises.
    PREDICTIONS: Mapping[str, tuple[Callable[..., Prediction], ...]]
    QUESTIONS: Mapping[str, tuple[Question, ...]]
    EXERCISES: tuple[Exercise, ...]

PACKAGE, _, _ = __package__.rpartition(".")
FOLDER = Path(__file__).parents[1]


def _name(number: str) -> str:
    """The module n03, or the package n03, that says what notebook 03 asks."""
    return f"{PACKAGE}.n{number}"


@cache
def _numbers() -> tuple[str, ...]:
    """The notebooks that have such a module."""
    names = (module.name for module in pkgutil.iter_modules([str(FOLDER)]))
    return tuple(sorted(name[1:] for name in names if re.fullmatch(r"n\d\d", name)))


def _module(number: str) -> ModuleType:
    return import_module(_name(number))


def __getattr__(name: str) -> Any:
    """EXERCISES, PREDICTIONS and QUESTIONS: asking for one loads the modules of all notebooks (PEP 562)."""
    if name not in ("EXERCISES", "PREDICTIONS", "QUESTIONS"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    by_notebook = {number: getattr(_module(number), name) for number in _numbers()}
    listed = (
        tuple(exercise for some in by_notebook.values() for exercise in some) if name == "EXERCISES" else by_notebook
    )
    globals()[name] = listed
    return listed


def get(name: str) -> Exercise:
    """The exercise with this name. ValueError, with the names there are, if there is none.

    Of the notebooks' modules those are asked first that are loaded: a notebook's own exercises load no other's.
    """
    for number in sorted(_numbers(), key=lambda number: _name(number) not in sys.modules):
        for exercise in _module(number).EXERCISES:
            if isinstance(name, str) and exercise.name == name:
                return exercise
    known = (exercise.name for number in _numbers() for exercise in _module(number).EXERCISES)
    raise BadInput(f"There is no exercise {name!r}; there are {', '.join(known)}.")


def of_notebook(notebook: str) -> tuple[Exercise, ...]:
    """The exercises of a notebook, "04", in their order."""
    return tuple(_module(notebook).EXERCISES) if notebook in _numbers() else ()


def progress_map() -> progress.ProgressMap:
    """What is open, tried and solved: a row for each notebook, its questions before its exercises."""
    asked = {number: (*_module(number).QUESTIONS, *of_notebook(number)) for number in _numbers()}
    return progress.progress_map(
        [
            progress.Row(number, tuple((exercise.name, exercise.title) for exercise in some))
            for number, some in asked.items()
            if some
        ]
    )
