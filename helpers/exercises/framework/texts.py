"""What exercises say, in texts/<notebook>.toml, so that a teacher edits a task or a hint without code."""

import tomllib
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from helpers.exercises import framework

FOLDER = Path(framework.__file__).parents[1] / "texts"


def of(notebook: str, name: str, **numbers: object) -> dict[str, Any]:
    """The name, notebook, title, task and hints of an exercise, as the arguments of its constructor.

    notebook: its number, "04".  numbers: what $name in a text stands for, computed by the caller.
    KeyError where the file has no such exercise, or a text asks for a number that is not given.
    """
    row = _of_notebook(notebook)[name]
    title, task, *hints = (_filled(text, numbers) for text in (row["title"], row["task"], *row["hints"]))
    return {"name": name, "notebook": notebook, "title": title, "task": task, "hints": tuple(hints)}


@cache
def _of_notebook(number: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{number}.toml").read_text(encoding="utf-8"))


def _filled(text: str, numbers: dict[str, object]) -> str:
    return Template(" ".join(text.split())).substitute(numbers)
