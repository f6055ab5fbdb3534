"""All exercises, by name and by notebook."""

from __future__ import annotations

from helpers.exercises import (
    notebook_00,
    notebook_01,
    notebook_02,
    notebook_03,
    notebook_04,
    notebook_05,
    notebook_06,
    notebook_07,
    notebook_08,
    notebook_09,
    notebook_10,
    notebook_11,
    progress,
)
from helpers.exercises.exercise import Exercise

EXERCISES: tuple[Exercise, ...] = tuple(
    exercise
    for notebook in (
        notebook_00,
        notebook_01,
        notebook_02,
        notebook_03,
        notebook_04,
        notebook_05,
        notebook_06,
        notebook_07,
        notebook_08,
        notebook_09,
        notebook_10,
        notebook_11,
    )
    for exercise in notebook.EXERCISES
)


def get(name: str) -> Exercise:
    """The exercise with this name. ValueError, with the names there are, if there is none."""
    for exercise in EXERCISES:
        if exercise.name == name:
            return exercise
    raise ValueError(f"There is no exercise {name!r}; there are {', '.join(one.name for one in EXERCISES)}.")


def of_notebook(notebook: str) -> tuple[Exercise, ...]:
    """The exercises of a notebook, "04", in their order."""
    return tuple(exercise for exercise in EXERCISES if exercise.notebook == notebook)


def progress_map() -> progress.ProgressMap:
    """What is open, tried and solved."""
    notebooks = dict.fromkeys(exercise.notebook for exercise in EXERCISES)
    rows = [
        progress.Row(notebook, tuple((one.name, one.title) for one in of_notebook(notebook))) for notebook in notebooks
    ]
    return progress.progress_map(rows)
