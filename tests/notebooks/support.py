"""What the tests of the notebooks share: a notebook's text, the numbers in it, recorded speeds and counters, answers.

A claim of the prose is the name of a test of the recordings, the compiler or the simulator. The values stand in the
test, and sentences are worded freely: if such a test fails, facts have changed, and the notebook's text must follow.
Only numbers that a reader goes on working with are read out of the text.
"""

import ast
import math
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from nbformat import NotebookNode

from gemm_kernels import get
from gpusim import devices
from helpers import exercises, plan
from helpers.exercises import Verdict
from helpers.measure import profiles
from helpers.pictures.ladder.facts import Ladder, ladder_of
from helpers.tools.notebooks import form
from helpers.tools.notebooks.glossary import LINK as LINKED_TERM

FOLDER = plan.FOLDER
NUMBERS = plan.course().numbers
H200 = devices.get("NVIDIA H200")
SIZES = (256, 512, 1024, 2048, 4096, 8192)


# --- text


@cache
def cells(number: str) -> tuple[NotebookNode, ...]:
    """The cells of a notebook, given by its two digits."""
    path = plan.course().notebook(number).path
    return tuple(form.read(path.read_text(encoding="utf-8")).cells)


def sources(number: str, kind: str) -> list[str]:
    """The texts of the cells of one kind, "markdown" or "code"."""
    return [cell.source for cell in cells(number) if cell.cell_type == kind]


def prose(number: str) -> str:
    """The Markdown of a notebook, on one line."""
    return " ".join(" ".join(sources(number, "markdown")).split())


def linked_terms(number: str) -> set[str]:
    """The terms that a notebook links to the glossary."""
    return set(LINKED_TERM.findall(prose(number)))


def said(number: str, pattern: str) -> tuple[int, ...]:
    """The whole numbers in the groups of a pattern, as the prose of the notebook has them."""
    match = re.search(pattern, prose(number))
    assert match, f"notebook {number} says nothing like {pattern!r}: if its text changed, so must this test"
    return tuple(int(group.replace(" ", "")) for group in match.groups())


# --- what was recorded


@cache
def suite(name: str) -> Ladder:
    """The recordings of a suite on an H200: "ladder" has the squares, "shapes" the others."""
    return ladder_of(H200.name, name)


def cube(*shape: int) -> tuple[int, ...]:
    """M, N, K; one number stands for a cube."""
    return shape * 3 if len(shape) == 1 else shape


def speeds(*shape: int) -> dict[str, float]:
    """Kernel of the ladder -> its recorded GFLOPS at a shape."""
    wanted = cube(*shape)
    data = suite("ladder") if wanted in suite("ladder").shapes else suite("shapes")
    return {name: point.gflops for name, point in data.at(wanted).items()}


def gain(new: str, old: str, *shape: int) -> float:
    """How much faster one kernel was than the other when recorded, as a share: 0.1 is ten per cent."""
    ratios = speeds(*shape)
    return ratios[new] / ratios[old] - 1


def counters(name: str) -> Mapping[str, float]:
    """The recorded counters of a kernel of the ladder at 1024³."""
    return MappingProxyType(profiles.profile(get(name), 1024, 1024, 1024).counters)


# --- answers


def answered(number: str, call: str, before: str | re.Pattern[str], after: str) -> Verdict:
    """The verdict that a notebook's cell with this call shows if `after` is written in place of `before`.

    before: what stands there once, as text, or a pattern whose first match it is.
    """
    (source,) = (source for source in sources(number, "code") if f"{call}(" in source)
    if isinstance(before, re.Pattern):
        changed, changes = before.subn(lambda _: after, source, count=1)
    else:
        changed, changes = source.replace(before, after), source.count(before)
    assert changes == 1, f"{before!r} stands {changes} times in the cell of notebook {number} that calls {call}"
    shown: list[Any] = []
    names: dict[str, Any] = {exercise.name: exercise for exercise in exercises.EXERCISES} | {"math": math}
    names |= {"exercises": exercises, "display": lambda *what: shown.extend(what)}
    *statements, last = ast.parse(changed).body
    exec(compile(ast.Module([*statements], []), "<cell>", "exec"), names)
    if isinstance(last, ast.Expr):
        shown.append(eval(compile(ast.Expression(last.value), "<cell>", "eval"), names))
    return next(output for output in reversed(shown) if isinstance(output, Verdict))
