"""Why a launch does not end: a loop in which nothing changes, or loops in which every thread does the work of all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusim.errors import StepLimitExceeded
from helpers.exercises.framework import integers
from helpers.exercises.framework.gemm import Gemm

if TYPE_CHECKING:
    from helpers.exercises.framework.facts import Facts


def explained(facts: Facts) -> str:
    """What the text shows of a kernel that was stopped because it went on too long; "" if it shows nothing."""
    if not isinstance(facts.failure.error, StepLimitExceeded):
        return ""
    loops = list(_loops(facts.text))
    return _of_all_elements(facts, loops) or next(filter(None, (_unchanged(loop, facts.text) for loop in loops)), "")


@dataclass(frozen=True)
class Loop:
    """A loop of a text.

    line: of its head.  head: as it is written.  condition, step: its parts, step "" for while.  body: what it repeats.
    """

    line: int
    head: str
    condition: str
    step: str
    body: str

    @property
    def goes_to(self) -> str:
        """'M' for (int row = 0; row < M; ++row); "" for a loop that does not begin at 0, or goes by more than 1."""
        match = re.fullmatch(
            r"for \((?:(?:const|unsigned) )*\w+ (\w+)\s*=\s*0\s*;\s*\1\s*<\s*(\w+)\s*;"
            r"\s*(?:\+\+\1|\1\s*\+\+|\1\s*\+=\s*1)\s*\)",
            self.head,
        )
        return match[2] if match else ""


def _loops(text: str) -> Iterator[Loop]:
    """The loops of a text, outer ones first."""
    for match in re.finditer(r"\b(for|while)\s*\(", text):
        inside, behind = integers.bracketed(text[match.end() :])
        parts = inside.split(";")
        condition, step = (parts[1], parts[2]) if len(parts) == 3 else (inside, "")
        head = f"{match[1]} ({' '.join(inside.split())})"
        yield Loop(
            integers.line_of(text, match.start()), head, condition.strip(), step.strip(), integers.statement(behind)
        )


def _of_all_elements(facts: Facts, loops: list[Loop]) -> str:
    """That a loop over all rows holds one over all columns, or the other way round."""
    if not isinstance(facts.problem, Gemm):
        return ""
    for outer in loops:
        for inner in loops:
            if {outer.goes_to, inner.goes_to} == {"M", "N"} and inner.head in outer.body:
                names = {"M": "rows", "N": "columns"}
                same = outer.line == inner.line
                lines = f"line {outer.line}" if same else f"lines {outer.line} and {inner.line}"
                return (
                    f"The loops in {lines} go over all {names[outer.goes_to]} and all "
                    f"{names[inner.goes_to]}, so that every thread computes all of C. The launch takes the place of "
                    "both: a thread computes one element, whose row and column it has from blockIdx, blockDim and "
                    "threadIdx."
                )
    return ""


_NO_NAMES = frozenset(("true", "false", "threadIdx", "blockIdx", "blockDim", "gridDim"))


def _unchanged(loop: Loop, text: str) -> str:
    """That neither a loop's head nor its body changes anything that its condition asks for. text: the loop's source."""
    if re.search(r"[\w)\]]\s*[(\[]|->|(?:^|[=<>(&|!])\s*\*", loop.condition):
        return ""  # what it asks for may be changed by another thread, or by a function
    names = dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", loop.condition))
    asked, changing = [name for name in names if name not in _NO_NAMES], f"{loop.step};{loop.body};{loop.condition}"
    if not asked or re.search(r"\b(?:break|return|goto)\b", loop.body):
        return ""
    if any(_sets(part, changing) for part in asked):
        return ""
    first = asked[0]
    lost = re.fullmatch(rf"{first}\s*([-+*/])\s*(\w+)", loop.step)
    on = f": ++{first}" if re.match(rf"{first}\s*<", loop.condition) else ""
    if lost:
        why = f"`{loop.step}` is a number that is stored nowhere: {first} {lost[1]}= {lost[2]}."
    elif loop.step:
        why = f"`{loop.step}` changes something else."
    elif loop.head.startswith("while") and re.search(rf"\b{first}\s*=[^;=]*\bthreadIdx\b", text):
        why = "What is asked once, of the thread's own index, is an if."
    else:
        at = "into the third part of for (…)" if loop.head.startswith("for") else "into its body"
        why = f"What makes it end belongs {at}{on}."
    return f"Line {loop.line} has {loop.head}: nothing in the loop changes {first}, so it never ends. {why}"


def _sets(name: str, text: str) -> bool:
    """Whether a text changes a variable, or hands on its address."""
    name = re.escape(name)
    return bool(
        re.search(
            rf"(?<![\w.]){name}\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--|&)\s*{name}\b",
            text,
        )
    )
