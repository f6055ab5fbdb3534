"""Slips that stand in the text of a kernel: it compiles, and may run right by luck, but cannot be what is meant."""

from __future__ import annotations

import re

NEVER_SET = "A sum must begin somewhere: the variable is declared without a value, and the loop only adds to it."
COMMA_IN_INDEX = (
    "In C++ the comma in square brackets is no second index. What stands before it is thrown away, so that A[row, k] "
    "is A[k]. An array that the kernel was given has one index, A[row * K + k]; one that is declared with two sizes "
    "has two pairs of brackets, As[y][k]."
)


def found_in(source: str) -> str | None:
    """The sentence of the first slip in a source, with the line that it stands in; None if there is none."""
    text = "\n".join(raw.split("//")[0] for raw in source.splitlines())
    comma = re.search(r"\b\w+\s*\[[^][(){};]*,[^][(){};]*\]", text)
    if comma is not None:
        line = text.count("\n", 0, comma.start()) + 1
        return f"Line {line} has {comma[0]}.\nWhy: {COMMA_IN_INDEX}"
    for found in re.finditer(r"\b(?:float|double|int|unsigned)\s+(\w+)\s*;", text):
        name = re.escape(found[1])
        if re.search(rf"\b{name}\s*\+=", text) and not re.search(rf"\b{name}\s*=[^=]|&\s*{name}\b", text):
            line = text.count("\n", 0, found.start()) + 1
            return f"{found[1]}, declared in line {line}, is never set. Here it may be 0 by luck.\nWhy: {NEVER_SET}"
    return None
