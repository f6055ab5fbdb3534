"""What a notebook asks of its learner, counted: CUDA to write, helper code to look at, cells, pictures.

    python -m helpers.authoring.notebooks.lesson

prints the table of all notebooks in Markdown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nbformat import NotebookNode

from helpers import exercises, plan
from helpers.authoring.notebooks import form
from helpers.exercises.framework.exercise import KernelExercise
from helpers.plan import Notebook

STRETCH = 3  # the difficulty of an exercise that nobody needs for what follows
QUOTED = re.compile(r'"""(?s:.*?)"""')  # the text of a kernel


@dataclass(frozen=True)
class Lesson:
    """One notebook, counted.

    cuda: lines of kernels that the shortest honest way through it writes: what the solutions of its exercises, but for
    stretches, have beyond the starters.  python: lines of code that are visible and are no kernel's, without blank
    lines and comments.  cells: all.  pictures: that are stored.
    """

    number: str
    minutes: int
    cuda: int
    python: int
    cells: int
    pictures: int


def lesson(notebook: Notebook) -> Lesson:
    """A notebook of the course, counted."""
    cells = form.read(notebook.path.read_text(encoding="utf-8")).cells
    kernels = [one for one in exercises.of_notebook(notebook.number) if isinstance(one, KernelExercise)]
    return Lesson(
        notebook.number,
        notebook.minutes,
        sum(one.lines for one in kernels if one.difficulty < STRETCH),
        sum(visible_python(cell) for cell in cells),
        len(cells),
        sum("image/png" in output.get("data", {}) for cell in cells for output in cell.get("outputs", ())),
    )


def visible_python(cell: NotebookNode) -> int:
    """Lines of Python that a reader sees in a cell: none of a folded one, none of CUDA C++."""
    if cell.cell_type != "code" or cell.source.startswith("%%") or "hide-input" in cell.metadata.get("tags", ()):
        return 0
    lines = QUOTED.sub('""', cell.source).splitlines()
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("#"))


def table() -> str:
    """All notebooks in Markdown, with their sums."""
    lessons = [lesson(one) for one in plan.course().notebooks]
    rows = [
        "| nb | minutes | CUDA lines to write | Python lines visible | cells | pictures |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    facts = [(one.number, one.minutes, one.cuda, one.python, one.cells, one.pictures) for one in lessons]
    facts.append(("all", *(sum(column) for column in list(zip(*facts, strict=True))[1:])))
    return "\n".join([*rows, *(f"| {' | '.join(map(str, row))} |" for row in facts)])


if __name__ == "__main__":
    print(table())
