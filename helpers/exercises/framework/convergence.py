"""Whether all threads come to what they must come to together: the barriers of a block, the shuffles of a warp.

A GPU may seem to do what is meant even where some threads never come: those that have ended are not waited for. It is
not defined all the same (CUDA guide, 'Synchronization Functions'), so a kernel that passes is asked, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gpusim.devices import WARP, unravel
from helpers.exercises.framework import integers
from helpers.pictures import theme

if TYPE_CHECKING:
    from helpers.exercises.framework.reasons import Facts

BARRIER = r"__syncthreads\w*\s*\("
SHUFFLE = r"__(?:shfl|ballot|any|all|match|reduce)\w*_sync\s*\(\s*(?:FULL|0x[fF]{8}u?|~0u?|-1)\b"


def explained(facts: Facts) -> str:
    """The condition under which a barrier, or a shuffle that names all lanes, stands, or by which threads return before
    it, so that only some of them come to it; "" if none does."""
    for line, condition, body, returns in _conditions(facts.text):
        for what, pattern in (("a barrier of the block", BARRIER), ("a function that names all lanes", SHUFFLE)):
            if not re.search("|".join([pattern, *_calling(facts.text, pattern)]), body):
                continue
            holds = _holds(facts, condition)
            if holds is None:
                continue
            size = len(holds) // 2 if pattern == BARRIER else WARP
            parts = np.split(holds, range(size, len(holds), size))
            first = next((part for part in parts if 0 < part.sum() < len(part)), None)
            if first is not None:
                unit, all_ = ("thread", "block") if pattern == BARRIER else ("lane", "warp")
                some = f"{'' if first.sum() == 1 else 's'} {theme.runs(np.flatnonzero(first).tolist())}"
                does = (
                    f"{what[0].upper()}{what[1:]} comes behind `if ({condition}) return` in line {line}, by which "
                    f"{unit}{some} of a {all_} have left"
                    if returns
                    else f"{what[0].upper()}{what[1:]} stands under `{condition}` in line {line}, which holds for "
                    f"{unit}{some} of a {all_} and not for the others"
                )
                return (
                    f"{does}: all of them must come to it, and what happens if they do not is not defined, even where "
                    "it seems to work."
                )
    return ""


def _conditions(text: str) -> Iterator[tuple[int, str, str, bool]]:
    """(line, condition, what depends on it, whether that is because the others go on) of each if."""
    for match in re.finditer(r"\bif\s*\(", text):
        condition, rest = integers.bracketed(text[match.end() :])
        rest = rest.lstrip()
        body = integers.bracketed(rest[1:], "{}")[0] if rest.startswith("{") else rest.partition(";")[0] + ";"
        line, condition = text.count("\n", 0, match.start()) + 1, " ".join(condition.split())
        yield line, condition, body, False
        if re.match(r"\s*return\s*;", body):
            yield line, condition, _rest_of_function(text, match.start()), True


_LAMBDA = re.compile(r"\]\s*\([^()]*\)\s*(?:->\s*\w+\s*)?$")


def _rest_of_function(text: str, begin: int) -> str:
    """What follows a place, to the end of the function, or of the lambda, in which it stands."""
    opened: list[int] = []
    for at, character in enumerate(text[:begin]):
        if character == "{":
            opened.append(at)
        elif character == "}" and opened:
            opened.pop()
    inside = next((n for n in reversed(range(len(opened))) if _LAMBDA.search(text[: opened[n]])), 0)
    depth = len(opened) - inside
    for at, character in enumerate(text[begin:], begin):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return text[begin:at]
    return text[begin:]


def _calling(text: str, pattern: str) -> list[str]:
    """Patterns of the calls of those functions of the source in which a pattern is."""
    conditions: list[str] = []
    for function in re.finditer(r"__device__[^;{}]*?\b(\w+)\s*\([^)]*\)\s*\{", text):
        if re.search("|".join([pattern, *conditions]), integers.bracketed(text[function.end() :], "{}")[0]):
            conditions.append(rf"\b{function[1]}\s*\(")
    return conditions


def _holds(facts: Facts, condition: str) -> np.ndarray | None:
    """Bool for each thread of the first and of the last block, None if the text does not say."""
    grid, block = ((*sizes, 1, 1)[:3] for sizes in (facts.setup.grid, facts.setup.block))
    threads = unravel(np.arange(int(np.prod(block))), block)
    conditions = []
    for where in ((0, 0, 0), tuple(size - 1 for size in grid)):
        value = integers.value(condition, facts.values(where, threads, first_round=True))
        if value is None or np.ndim(value) == 0:
            return None
        conditions.append(np.asarray(value, bool))
    return np.concatenate(conditions)
