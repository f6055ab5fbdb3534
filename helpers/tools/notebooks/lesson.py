"""What a notebook asks of its learner, counted: CUDA to write, helper code to look at, cells, pictures.

    python -m helpers.tools.notebooks.lesson

prints the table of all notebooks in Markdown.

Minutes are estimated by the rates below, the same for all notebooks. They are fitted to the minutes of readers who did
every exercise (tests/tools/test_lesson.py has these): to write takes as long as it took them, slips, hints and answers
included. The *path* leaves out what its text offers as a challenge or as practice; *all* has that, too. What is folded
counts in neither. A notebook's head says both, rounded up to five minutes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from helpers import exercises, plan
from helpers.exercises.framework.exercise import KernelExercise
from helpers.plan import Notebook
from helpers.tools.notebooks import form

STRETCH = 3  # the difficulty of an exercise that nobody needs for what follows
OPTIONAL = re.compile(r"\b(A challenge|Practice, if you want it|Stretch)\b")  # what a text says of an exercise
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
ADDRESS, SOURCES = re.compile(r"\]\([^)]*\)"), re.compile(r"\*\*Sources\.\*\*.*", re.DOTALL)
WORDS_PER_MINUTE, LINES_PER_MINUTE = 130, 12  # of prose, tasks and hints, and of Python that is read
PICTURE, TABLE, PREDICTION, EXPLORER = 0.4, 0.35, 0.5, 1.5  # minutes to look at one, or to answer it
KERNEL, LINE, QUESTION = 3.4, 0.7, 3.9  # minutes for a kernel and for each line of it, until it passes; for any other
HINTS = 2  # of the three, that a reader opens
QUOTED = re.compile(r'"""(?s:.*?)"""')  # the text of a kernel


GRAIN = 5  # minutes that a head is rounded up to


@dataclass(frozen=True)
class Lesson:
    """One notebook, counted.

    minutes, with_optional: by the plan.  path, all: as estimated, without and with what is optional.  cuda: lines that
    the shortest honest way through it writes: what the solutions of its exercises, but for stretches, have beyond the
    starters.  python: lines of code that are visible and are no kernel's, without blank lines and comments.
    cells: all.  pictures: that are stored.
    """

    number: str
    minutes: int
    with_optional: int
    path: float
    all: float
    cuda: int
    python: int
    cells: int
    pictures: int

    @property
    def honest(self) -> tuple[int, int]:
        """The minutes that its head should say: of its path, and with what is optional (0 for the same)."""
        path, everything = (math.ceil(minutes / GRAIN) * GRAIN for minutes in (self.path, self.all))
        return path, everything if everything > path else 0


def lesson(notebook: Notebook) -> Lesson:
    """A notebook of the course, counted."""
    cells = form.read(notebook.path.read_text(encoding="utf-8")).cells
    kernels = [exercise for exercise in exercises.of_notebook(notebook.number) if isinstance(exercise, KernelExercise)]
    return Lesson(
        notebook.number,
        notebook.minutes,
        notebook.with_optional,
        estimated(cells, optional=False),
        estimated(cells, optional=True),
        sum(kernel.lines for kernel in kernels if kernel.difficulty < STRETCH),
        sum(visible_python(cell) for cell in cells),
        len(cells),
        sum("image/png" in output.get("data", {}) for cell in cells for output in cell.get("outputs", ())),
    )


def estimated(cells: Sequence[NotebookNode], optional: bool) -> float:
    """Minutes that a learner takes for the cells of a notebook, with what is optional or without."""
    minutes, skipping = 0.0, False
    for cell in cells:
        if cell.cell_type == "markdown":
            # An optional exercise ends at the next text, unless that only says how to go on without it.
            skipping = not optional and (
                OPTIONAL.search(cell.source) is not None or (skipping and "Stuck" in cell.source)
            )
            if not skipping:
                minutes += _reading(cell.source)
        elif not skipping:
            minutes += _code(cell)
    return minutes


def _reading(text: str) -> float:
    """Minutes to read a text, without its sources; of what is folded only the answers of its recall."""
    shown = text if "Recall" in text[:20] else FOLDED.sub("", text)
    return len(ADDRESS.sub("]", SOURCES.sub("", shown)).split()) / WORDS_PER_MINUTE


def _code(cell: NotebookNode) -> float:
    """Minutes for a cell: an exercise by what is to be written, else what is seen of its code and of its outputs."""
    match = re.search(r'exercises\.get\("(\w+)"\)$', cell.source, re.MULTILINE)
    if match:
        exercise = exercises.get(match[1])
        writing = KERNEL + LINE * exercise.lines if isinstance(exercise, KernelExercise) else QUESTION
        return writing + sum(map(_reading, (exercise.task, *exercise.hints[:HINTS])))
    if re.search(r"\bn\d\d\.predict_", cell.source):
        return PREDICTION
    if re.search(r"\bn\d\d\.check_", cell.source):
        return QUESTION
    if re.search(r"\bexplore\w*\(", cell.source):
        return EXPLORER
    if cell.source.startswith("%%") or re.search(r"\.(hint|check)\(", cell.source):
        return 0.0
    outputs = cell.get("outputs", ())
    pictures = sum("image/png" in output.get("data", {}) for output in outputs)
    return visible_python(cell) / LINES_PER_MINUTE + PICTURE * pictures + TABLE * (len(outputs) - pictures)


def visible_python(cell: NotebookNode) -> int:
    """Lines of Python that a reader sees in a cell: none of a folded one, none of CUDA C++."""
    if cell.cell_type != "code" or cell.source.startswith("%%") or "hide-input" in cell.metadata.get("tags", ()):
        return 0
    lines = QUOTED.sub('""', cell.source).splitlines()
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("#"))


def table() -> str:
    """All notebooks in Markdown, with their sums."""
    lessons = [lesson(notebook) for notebook in plan.course().notebooks]
    rows = [
        "| nb | minutes | path | all | CUDA lines to write | Python lines visible | cells | pictures |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    facts = [
        (
            lesson.number,
            lesson.minutes,
            round(lesson.path),
            round(lesson.all),
            lesson.cuda,
            lesson.python,
            lesson.cells,
            lesson.pictures,
        )
        for lesson in lessons
    ]
    facts.append(("all", *(sum(column) for column in list(zip(*facts, strict=True))[1:])))
    return "\n".join([*rows, *(f"| {' | '.join(map(str, row))} |" for row in facts)])


if __name__ == "__main__":
    print(table())
