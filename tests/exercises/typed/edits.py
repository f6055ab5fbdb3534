"""Faulty kernels by the hundred, for a reader of their verdicts: solutions with one or two random small edits.

An edit is what a slip of the hand or of the mind does to a line: another name, another number, another operator, a
summand or a guard lost, two indices exchanged, a statement lost, moved, or preceded by a barrier. Most hit lines that
the learner writes.
"""

from __future__ import annotations

import difflib
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from helpers import exercises
from helpers.exercises.framework.exercise import KernelExercise

FEWEST = 4  # lines of the learner's own, below which all lines of the kernel are edited
LIKE = (  # names that are taken for one another
    {"row", "col", "x", "y", "k", "k0"}, {"M", "N", "K", "T"}, {"A", "B"}, {"As", "Bs"}, {"a_frag", "b_frag"},
    {"BM", "BN", "BK", "TM", "TN", "WM", "WN", "T"}, {"lane", "warp", "first"}, {"i", "j", "n"}, {"sum", "old"},
    {"threadIdx", "blockIdx", "blockDim", "gridDim"}, {"buffer", "next"}, {"alpha", "beta"},
)  # fmt: skip
OPERATORS = (
    (" + ", " - "), (" + ", " * "), (" - ", " + "), (" * ", " + "), (" / ", " % "), (" % ", " / "), (" < ", " <= "),
    (" < ", " > "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
    (" && ", " || "), (" || ", " && "), (" += ", " = "), (" = ", " += "), ("++k", "k += 2"), ("++", "--"),
    ("0.0f", "1.0f"), ("float ", "int "), ("&", ""), (" ^ ", " + "),
)  # fmt: skip
STATEMENT = re.compile(r"\s*(?!(?:const\s+)?(?:int|float|unsigned|for|__shared__|#)\b)[^#].*;\s*$")


@dataclass(frozen=True)
class Edited:
    """A kernel that was edited. exercise: its name.  source: complete."""

    exercise: str
    source: str

    @property
    def changes(self) -> str:
        """The lines of the solution that went, and those that came."""
        lines = exercises.get(self.exercise).solved.strip().splitlines()
        both = difflib.unified_diff(lines, self.source.strip().splitlines(), n=0, lineterm="")
        return "\n".join(line for line in both if not line.startswith(("---", "+++", "@@")))


def edited(name: str, seed: str, singles: int, pairs: int = 0) -> Iterator[Edited]:
    """Different kernels with one edit and with two, the same ones for the same seed."""
    exercise = exercises.get(name)
    if not isinstance(exercise, KernelExercise):
        raise ValueError(f"{name} is no kernel exercise.")
    rng, seen = random.Random(f"{seed} {name}"), {exercise.solved.strip()}
    for count, edits in ((singles, 1), (pairs, 2)):
        drawn = 0
        for _ in range(8 * count):  # as often as needed, but for a kernel that has too few places
            source = exercise.solved
            for _ in range(edits):
                source = _edit(source, exercise.starter, rng)
            if drawn < count and source.strip() not in seen:
                seen.add(source.strip())
                drawn += 1
                yield Edited(name, f"\n{source.strip()}\n")


def _edit(source: str, starter: str, rng: random.Random) -> str:
    """One edit, of a kind that is drawn first: kinds with few places are as frequent as others."""
    lines, given = source.splitlines(), {line.strip() for line in starter.splitlines()}
    code = [n for n, line in enumerate(lines) if line.split("//")[0].strip(" {};") and "__global__" not in line]
    own = [n for n in code if lines[n].strip() not in given]
    names, kinds = set(re.findall(r"\w+", source)), defaultdict(list)
    for number in own if len(own) >= FEWEST else code:
        for kind, changed in (*_of_line(lines[number], names), *_of_statement(lines, number)):
            kinds[kind].append(
                [*lines[:number], changed, *lines[number + 1 :]] if isinstance(changed, str) else changed
            )
    return "\n".join(rng.choice(kinds[rng.choice(sorted(kinds))])) if kinds else source


def _of_line(line: str, names: Set[str]) -> Iterator[tuple[str, str]]:
    """(kind, the line with an edit). names: of the kernel, of which one takes the place of another."""
    code, comment = line.split("//")[0], line[len(line.split("//")[0]) :]

    def put(match: re.Match[str], text: str, group: int = 0) -> str:
        return code[: match.start(group)] + text + code[match.end(group) :] + comment

    for name in re.finditer(r"(?<![\w.])[A-Za-z_]\w*", code):
        for other in sorted(set().union(*(alike for alike in LIKE if name[0] in alike)) & names - {name[0]}):
            yield "name", put(name, other)
    for axis in re.finditer(r"\.([xy])\b", code):
        yield "axis", put(axis, "xy"[axis[1] == "x"], 1)
    for number in re.finditer(r"(?<![\w.])\d+(?![\w.])", code):
        value = int(number[0])
        for other in sorted({value + 1, max(value - 1, 0), 2 * value, value // 2} - {value}):
            yield "number", put(number, str(other))
    for operator, other in OPERATORS:
        for match in re.finditer(re.escape(operator), code):
            yield "operator", put(match, other)
    for lost in re.finditer(r" [*+] \w+(?:\.\w)?(?![\w.(\[])|\w+(?:\.\w)? [*+] (?=[\w(])|(?:&&|\|\|) [^&|()]+", code):
        yield "lost", put(lost, "")
    for brackets in re.finditer(r"\(([\w. ]+\+ [\w. ]+)\)", code):
        yield "brackets", put(brackets, brackets[1])
    for two in re.finditer(r"\[([^][]+)\]\[([^][]+)\]", code):
        yield "indices", put(two, f"[{two[2]}][{two[1]}]")
    for index in re.finditer(r"\[([^][]+)\]", code):
        yield "index", put(index, f"{index[1]} + 1", 1)
    if guard := re.match(r"\s*(if \((?:[^()]|\([^()]*\))*\) )\S", code):
        yield "guard", put(guard, "", 1)


def _of_statement(lines: Sequence[str], number: int) -> Iterator[tuple[str, list[str]]]:
    """(kind, all lines with a statement lost, moved, behind a condition, or behind a barrier)."""
    before, line, after = lines[:number], lines[number], lines[number + 1 :]
    if not STATEMENT.match(line.split("//")[0]):
        return
    yield "lost statement", [*before, *after]
    if after:
        yield "moved", [*before, after[0], line, *after[1:]]
    if before:
        yield "moved", [*before[:-1], line, before[-1], *after]
    if "__syncthreads" not in line:
        yield "barrier", [*before, "__syncthreads();", line, *after]
        yield "condition", [*before, f"if (threadIdx.x == 0) {line.strip()}", *after]
