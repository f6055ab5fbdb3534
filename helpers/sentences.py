"""Errors whose message is all that a learner needs: a notebook shows the sentence, without Python's traceback."""

from __future__ import annotations

import linecache
import traceback


class Sentence:
    """A base for exceptions that are addressed to whoever wrote the cell.

    IPython asks an exception for `_render_traceback_` before it makes a traceback of its own. What is shown is the
    message and the line of the cell that led to it. In a script, and in a test, such an exception is like any other.
    """

    def _render_traceback_(self) -> list[str]:
        shown = [f"{type(self).__name__}: {self}"]
        where = _line_of_cell(self)  # type: ignore[arg-type]
        return [*shown, "", where] if where else shown


class BadInput(Sentence, ValueError):
    """What the cell asks for cannot be done; the message says what was found, and what to try."""


def _line_of_cell(error: BaseException) -> str:
    """'In line 3 of the cell: sgemm(grid, block, args)', or '' where no cell of more than one line called."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        lines = linecache.getlines(frame.filename)
        if "ipykernel_" in frame.filename or frame.filename.startswith("<ipython-input"):
            return f"In line {frame.lineno} of the cell: {frame.line}" if len(lines) > 1 else ""
    return ""
