"""Errors whose message is all that a learner needs: a notebook shows the sentence, without Python's traceback.

`say` is how commands print.
"""

from __future__ import annotations

import difflib
import linecache
import os
import sys
import traceback
from collections.abc import Iterable, Sequence


class Sentence:
    """A base for exceptions that are addressed to the author of the cell.

    IPython asks an exception for `_render_traceback_` before it makes a traceback of its own. What is shown is the
    message and the line of the cell that led to it. In a script, and in a test, such an exception is like any other.
    """

    def _render_traceback_(self) -> list[str]:
        shown = [f"{type(self).__name__}: {self}"]
        where = _line_of_cell(self)  # type: ignore[arg-type]
        return [*shown, "", where] if where else shown


class BadInput(Sentence, ValueError):
    """What the cell asks for cannot be done; the message says what was found, and what to try."""


def names_one_of(value: object, known: Iterable[str]) -> bool:
    """Whether a value is one of some names; False for what is no text, such as an array, which compares elements."""
    return isinstance(value, str) and value in known


class NoSuchName(Sentence, AttributeError):
    """A module of the course has no such name; the message says which it has, the likeliest first."""

    def __init__(self, module: str, name: str, known: Sequence[str]) -> None:
        near = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
        meant = f"Did you mean {' or '.join(f'{module}.{name}' for name in near)}? " if near else ""
        super().__init__(f"There is no {module}.{name}. {meant}There are {', '.join(known)}.")


def _line_of_cell(error: BaseException) -> str:
    """'In line 3 of the cell: sgemm(grid, block, args)', or '' where no cell of more than one line called."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        lines = linecache.getlines(frame.filename)
        if "ipykernel_" in frame.filename or frame.filename.startswith("<ipython-input"):
            return f"In line {frame.lineno} of the cell: {frame.line}" if len(lines) > 1 else ""
    return ""


def say(text: str) -> None:
    """Print a text that may be long, as a command does whose reader may have seen enough: `… | head`."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python writes there when it ends


class NotSimulated(Sentence, AttributeError):
    """A name of CuPy's that only a GPU has."""
