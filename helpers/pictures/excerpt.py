"""A part of a source text: what is to be looked at now, out of a kernel that is longer than a slide."""

from __future__ import annotations

import textwrap


def excerpt(source: str, first: str, before: str = "") -> str:
    """The lines from the first one that contains `first` up to the next one that contains `before`, which is left out.

    Without `before`, up to the end. Common indentation is taken off. ValueError if a text is not there.
    """
    lines = source.splitlines()
    start = _line_with(lines, first, 0)
    end = _line_with(lines, before, start + 1) if before else len(lines)
    return textwrap.dedent("\n".join(lines[start:end])).strip("\n") + "\n"


def _line_with(lines: list[str], text: str, start: int) -> int:
    for number in range(start, len(lines)):
        if text in lines[number]:
            return number
    raise ValueError(f"No line from line {start + 1} on contains {text!r}.")
