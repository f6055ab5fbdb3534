"""All exercises, by name and by notebook, found in the modules beside this package: nNN is notebook NN's."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

from helpers.exercises.framework import progress
from helpers.exercises.framework.exercise import Exercise
from helpers.exercises.framework.predict import Prediction
from helpers.exercises.framework.questions import Question
from helpers.sentences import BadInput

PACKAGE, _, _ = __package__.rpartition(".")
FOLDER = Path(__file__).parents[1]


def _modules() -> dict[str, ModuleType]:
    """Number of a notebook -> the module n03.py, or the package n03, that says what notebook 03 asks."""
    names = sorted(found.name for found in pkgutil.iter_modules([str(FOLDER)]) if re.fullmatch(r"n\d\d", found.name))
    return {name[1:]: import_module(f"{PACKAGE}.{name}") for name in names}


_MODULES = _modules()

# Each notebook's, in the order in which it asks them: questions that come before a picture, questions with a check of
# their own, exercises.
PREDICTIONS: Mapping[str, tuple[Callable[..., Prediction], ...]] = {
    number: module.PREDICTIONS for number, module in _MODULES.items()
}
QUESTIONS: Mapping[str, tuple[Question, ...]] = {number: module.QUESTIONS for number, module in _MODULES.items()}
EXERCISES: tuple[Exercise, ...] = tuple(exercise for module in _MODULES.values() for exercise in module.EXERCISES)


def get(name: str) -> Exercise:
    """The exercise with this name. ValueError, with the names there are, if there is none."""
    for exercise in EXERCISES:
        if isinstance(name, str) and exercise.name == name:
            return exercise
    raise BadInput(f"There is no exercise {name!r}; there are {', '.join(one.name for one in EXERCISES)}.")


def of_notebook(notebook: str) -> tuple[Exercise, ...]:
    """The exercises of a notebook, "04", in their order."""
    return tuple(exercise for exercise in EXERCISES if exercise.notebook == notebook)


def progress_map() -> progress.ProgressMap:
    """What is open, tried and solved: a row for each notebook, its questions before its exercises."""
    asked = {number: (*QUESTIONS[number], *of_notebook(number)) for number in _MODULES}
    return progress.progress_map(
        [progress.Row(number, tuple((one.name, one.title) for one in some)) for number, some in asked.items() if some]
    )
