"""The predictions of a notebook on paper: a widget is dead in a file, its question and its reasons are not."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

from nbformat import NotebookNode

from helpers.exercises import PREDICTIONS


def on_paper(notebook: NotebookNode, number: str) -> dict[str, str]:
    """Function that asks → the question as HTML.  number: of the notebook, "03".

    Answers are computed from recordings, as in the notebook. A function's parameters are what the notebook's code
    assigns to variables of their names. Raises LookupError where it assigns nothing that can be read without running.
    """
    found = {}
    for ask in PREDICTIONS.get(number, ()):
        wanted = inspect.signature(ask).parameters
        assigned = _literals(notebook) if wanted else {}
        missing = [name for name in wanted if name not in assigned]
        if missing:
            raise LookupError(
                f"{ask.__name__} needs {missing[0]}, which no cell of notebook {number} sets to a literal"
            )
        found[ask.__name__] = ask(**{name: assigned[name] for name in wanted}).on_paper()
    return found


def _literals(notebook: NotebookNode) -> Mapping[str, Any]:
    """Variables that the code sets to literals, with their first values."""
    found: dict[str, Any] = {}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for statement in ast.parse(cell.source).body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                try:
                    found.setdefault(statement.targets[0].id, ast.literal_eval(statement.value))
                except ValueError:
                    continue  # computed
    return found
