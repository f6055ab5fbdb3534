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
    """The condition under which a barrier, or a shuffle that names all lanes, stands, and by which only some of the
    threads come to it; "" if none does."""
    for line, condition, body in _conditions(facts.text):
        for what, pattern in (("a barrier of the block", BARRIER), ("a function that names all lanes", SHUFFLE)):
            if not re.search("|".join([pattern, *_calling(facts.text, pattern)]), body):
                continue
            holds = _holds(facts, condition)
            if holds is None:
                continue
            size = len(holds) if pattern == BARRIER else WARP
            parts = np.split(holds, range(size, len(holds), size))
            first = next((part for part in parts if 0 < part.sum() < len(part)), None)
            if first is not None:
                who, all_ = ("thread", "block") if pattern == BARRIER else ("lane", "warp")
                some = f"{'' if first.sum() == 1 else 's'} {theme.runs(np.flatnonzero(first).tolist())}"
                return (
                    f"{what[0].upper()}{what[1:]} stands under `{condition}` in line {line}, which holds for {who}"
                    f"{some} of a {all_} and not for the others: all of them must come to it, and what happens if they "
                    "do not is not defined, even where it seems to work."
                )
    return ""


def _conditions(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, condition, what depends on it) of each if."""
    for found in re.finditer(r"\bif\s*\(", text):
        condition, rest = integers.bracketed(text[found.end() :])
        rest = rest.lstrip()
        body = integers.bracketed(rest[1:], "{}")[0] if rest.startswith("{") else rest.partition(";")[0] + ";"
        yield text.count("\n", 0, found.start()) + 1, " ".join(condition.split()), body


def _calling(text: str, pattern: str) -> list[str]:
    """Patterns of the calls of those functions of the source in which a pattern is."""
    found: list[str] = []
    for function in re.finditer(r"__device__[^;{}]*?\b(\w+)\s*\([^)]*\)\s*\{", text):
        if re.search("|".join([pattern, *found]), integers.bracketed(text[function.end() :], "{}")[0]):
            found.append(rf"\b{function[1]}\s*\(")
    return found


def _holds(facts: Facts, condition: str) -> np.ndarray | None:
    """Bool for each thread of block 0, None if the text does not say."""
    block = (*facts.setup.block, 1, 1)[:3]
    threads = unravel(np.arange(int(np.prod(block))), block)
    value = integers.value(condition, facts.values((0, 0, 0), threads, first_round=True))
    return None if value is None or np.ndim(value) == 0 else np.asarray(value, bool)
