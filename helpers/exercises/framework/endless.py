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
    line = facts.failure.error.line  # a loop in which no thread was has another end
    stopped = [loop for loop in loops if loop.line <= line <= loop.last]
    unchanged = next(filter(None, (_unchanged(loop, facts.text) for loop in stopped)), "")
    return unchanged or _of_all_elements(facts, stopped, loops)


@dataclass(frozen=True)
class Loop:
    """A loop of a text.

    line, last: its first one and its last one.  head: as it is written.  condition, step: its parts, step "" for while.
    body: what it repeats.
    """

    line: int
    last: int
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
        lines = (integers.line_of(text, at) for at in (match.start(), integers.end_of_statement(text, match.start())))
        yield Loop(*lines, head, condition.strip(), step.strip(), integers.statement(behind))


def _of_all_elements(facts: Facts, stopped: list[Loop], loops: list[Loop]) -> str:
    """That a loop over all rows holds one over all columns, or the other way round."""
    if not isinstance(facts.problem, Gemm):
        return ""
    for outer in stopped:
        for inner in loops:
            inside = outer.line <= inner.line <= outer.last and inner.head in outer.body
            if inside and {outer.goes_to, inner.goes_to} == {"M", "N"}:
                names = {"M": "rows", "N": "columns"}
                same = outer.line == inner.line
                lines = f"line {outer.line}" if same else f"lines {outer.line} and {inner.line}"
                return (
                    f"The loops in {lines} go over all {names[outer.goes_to]} and all {names[inner.goes_to]}: up to "
                    "M · N rounds in each thread that comes to them."
                )
    return ""


_NO_NAMES = frozenset((
    "true", "false", "threadIdx", "blockIdx", "blockDim", "gridDim", "const", "int", "unsigned", "long", "short",
    "char", "bool", "size_t", "float", "double",
))  # fmt: skip


_OF_OTHERS = re.compile(
    r"[\w)\]]\s*[(\[]|->|(?:^|[=<>(&|!])\s*\*|\b(?!(?:thread|block)Idx\b|(?:block|grid)Dim\b)[A-Za-z_]\w*\."
)


def _unchanged(loop: Loop, text: str) -> str:
    """That neither a loop's head nor its body changes anything that its condition asks for. text: the loop's source."""
    if _OF_OTHERS.search(loop.condition):
        return ""  # what it asks for may be changed by another thread, or by a function
    names = dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", loop.condition))
    asked, changing = [name for name in names if name not in _NO_NAMES], f"{loop.step};{loop.body};{loop.condition}"
    if not asked or re.search(r"\b(?:break|return|goto|asm)\b", loop.body):
        return ""
    if loop.body == ";" and re.search(r"\bdo\b", text):
        return ""  # the while of a do: its body stands before it
    if any(_sets(part, changing) or _may_be_set_elsewhere(part, changing, text) for part in asked):
        return ""
    first = next((name for name in asked if re.search(rf"\b{name}\s*=(?!=)", text)), asked[0])
    lost = re.fullmatch(rf"{first}\s*[-+*/]\s*\w+", loop.step)
    why = f" `{loop.step}` is a number that is stored nowhere." if lost else ""
    return f"Line {loop.line} has {loop.head}: nothing in the loop changes {first}, so it never ends.{why}"


_ELSEWHERE = re.compile(
    r"^[ \t]*#define\b(.*)|\[[&=\w, ]*\]\s*(?:\([^()]*\)[^(){};]*)?(?=\{)", re.MULTILINE
)  # a macro, a lambda


def _may_be_set_elsewhere(name: str, changing: str, text: str) -> bool:
    """Whether other threads know a variable, or a macro, a lambda, a function or a reference may change it."""
    shared = rf"\b(?:__shared__|__device__|volatile)\b[^;{{}}()]*\b{name}\b"
    referred = rf"[=(,]\s*&\s*{name}\b|&\s*\w+\s*=\s*{name}\b"
    given = rf"\b(?!(?:if|for|while)\b)\w+\s*\((?:[^()]*,)?\s*{name}\s*[,)]"
    return bool(re.search(f"{shared}|{referred}", text) or re.search(given, changing)) or any(
        _sets(name, part[1] or integers.bracketed(text[part.end() + 1 :], "{}")[0])
        for part in _ELSEWHERE.finditer(text)
    )


def _sets(name: str, text: str) -> bool:
    """Whether a text changes a variable, or hands on its address."""
    name = re.escape(name)
    return bool(
        re.search(
            rf"(?<![\w.]){name}[\s)]*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--|&)[\s(]*{name}\b",
            text,
        )
    )
