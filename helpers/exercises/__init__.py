"""Exercises: commit to a prediction, give a number, reach a counter, change a kernel; each answered with a reason.

How a notebook embeds an exercise
---------------------------------
`python -m helpers.exercises` lists the exercises; `python -m helpers.exercises NAME` prints its notebook cells, ready
to be pasted. There are three of them, in this order:

    barriers = exercises.get("barriers")    # with `from helpers import exercises` among the imports
    barriers                                # shows its title, difficulty and task

    %%cuda barriers                         # and below it the starter: a kernel, which the learner edits. The cell
    …                                       # is compiled, run, sanitized, compared, measured, explained, and drawn

    barriers.hint()                         # three hints and the solution, folded until they are opened

Nothing waits for a person. The starter runs as it stands: `check` says what is the matter with it and marks it "…", not
"✘", so a notebook run from top to bottom goes through, with the same text every time. The cell's text must be the
exercise's starter, letter for letter (a test compares them). Not every answer is a kernel: exercises whose answer is a
number, a block or a set of parameters have the same `show`, `check` and `hint`.

`exercises.progress_map()` shows what is open, tried and solved, `exercises.progress.reset()` forgets it; tag cells with
the map `nbval-ignore-output`. Learners keep their own files in a folder my/, which git ignores.

How an exercise is added
------------------------
To the module of its notebook, `n03.py` for notebook 03 (or the package `n02`, where a file would be too long). Every
such module is found by its name and declares three tuples, in the order in which the notebook asks:

    PREDICTIONS    functions that return a `predict(…)`: questions that come before a picture
    QUESTIONS      functions decorated with `question(name, title)`: they judge an answer given in a cell of their own
    EXERCISES      `KernelExercise`s, `Blank`s (a kernel to write from its signature), `ValueExercise`s, and
                   `FunctionExercise`s (a Python function to write from its signature)

For a kernel, sources/<name>.cu holds the starter, the solution and known wrong solutions, which differ in marked
lines only (`framework.marked`); texts/<notebook>.toml holds its title, task and hints, which a teacher may edit; the
module says the rest: problem (what is computed, on which shapes), picture, goals, and the reason for each known wrong
solution. Then paste the cells that `python -m helpers.exercises NAME` prints into the notebook.
tests/exercises/test_contract.py holds every exercise to its promises by itself.
"""

from typing import TYPE_CHECKING, Any

from helpers import modules_of
from helpers.exercises.framework import catalogue, progress
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.blank import Plain
from helpers.exercises.framework.catalogue import get, of_notebook, progress_map
from helpers.exercises.framework.predict import Prediction, predict

if TYPE_CHECKING:
    from helpers.exercises.framework.catalogue import EXERCISES, PREDICTIONS, QUESTIONS

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUESTIONS",
    "Plain",
    "Prediction",
    "Slip",
    "Verdict",
    "check_number",
    "get",
    "of_notebook",
    "predict",
    "progress",
    "progress_map",
]


_module_of = modules_of(__name__)


def __getattr__(name: str) -> Any:
    """EXERCISES, PREDICTIONS and QUESTIONS load the modules of all notebooks when asked for; a notebook's, only it."""
    if name in ("EXERCISES", "PREDICTIONS", "QUESTIONS"):
        return getattr(catalogue, name)
    return _module_of(name)
