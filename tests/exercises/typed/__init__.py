"""Answers as learners type them: slips with the reason that is due, and right kernels written in other ways.

    python -m tests.exercises.typed [EXERCISE …]      all of them, or those of some exercises, and how they are answered
    python -m tests.exercises.typed --edited SEED     verdicts on solutions with random edits, to be read and judged

The data are in slips.toml and right.toml beside this file. Each entry changes the solution of an exercise; a family is
a change that is tried in every exercise whose solution has its text, but for those that it names in `without`.

The pattern of a slip names its cause: the operand, the index, the text that belongs in its place. plain.txt has the
words that answers to any slip may have.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers import exercises
from helpers.exercises.framework import repairs
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.exercise import KernelExercise, code_of

FOLDER = Path(__file__).parent
KERNELS = [exercise for exercise in exercises.EXERCISES if isinstance(exercise, KernelExercise)]
PLAIN = (FOLDER / "plain.txt").read_text(encoding="utf-8")
CAUSE, NONE, FALSE, ACCEPTED, REFUSED = "with its cause", "without a cause", "FALSELY", "accepted", "REFUSED"


@dataclass(frozen=True)
class Typed:
    """One answer.

    exercise: its name.  changes: (text, other text), made to the solution, one after the other.  head: put before it.
    says: a pattern that the verdict on a slip has, "" for a right kernel.
    """

    exercise: str
    changes: tuple[tuple[str, str], ...]
    says: str = ""
    head: str = ""

    def __str__(self) -> str:
        return f"{self.exercise}: " + "; ".join(f"{a.strip()!r} → {b.strip()!r}" for a, b in self.changes)

    @property
    def source(self) -> str:
        """The complete kernel. ValueError if the solution has no such text."""
        text = exercises.get(self.exercise).solved
        for before, after in self.changes:
            if before not in text:
                raise ValueError(f"The solution of {self.exercise} has no text {before!r}.")
            text = text.replace(before, after)
        return f"\n{self.head}{text}"

    @property
    def vague(self) -> str:
        """What the pattern finds in words that answers to any slip may have, and in the lines of the solution, which
        they quote; "" if it names a cause."""
        code = "\n".join(code_of(exercises.get(self.exercise).solved))
        match = re.search(self.says, f"{PLAIN}{code}", re.IGNORECASE)
        return match[0] if match else ""

    def kind(self, verdict: Verdict) -> str:
        """How the answer was answered."""
        if verdict.passed:
            return ACCEPTED
        if not self.says:
            return REFUSED
        proven = any(end in verdict.sentence for end in (repairs.PROVEN, repairs.REACHED))
        if re.search(self.says, verdict.sentence.replace("\u00a0", " "), re.IGNORECASE) or proven:
            return CAUSE
        return FALSE if re.search("^(?:Why|Clue): ", verdict.sentence, re.MULTILINE) else NONE

    def check(self) -> Verdict:
        """The verdict on it."""
        return exercises.get(self.exercise).check(self.source)


def slips() -> tuple[Typed, ...]:
    """All faulty answers."""
    return tuple(_read("slips.toml"))


def right() -> tuple[Typed, ...]:
    """All right ones."""
    return tuple(_read("right.toml"))


def _read(name: str) -> Iterator[Typed]:
    data = tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
    for family in data.pop("family", ()):
        changes = _pairs(family["changes"])
        for exercise in KERNELS:
            if exercise.name not in family.get("without", ()) and all(a in exercise.solved for a, _ in changes):
                yield Typed(exercise.name, changes, family.get("says", ""), family.get("head", ""))
    for exercise, answers in data.items():
        for answer in answers:
            yield Typed(exercise, _pairs(answer["changes"]), answer.get("says", ""), answer.get("head", ""))


def _pairs(texts: list[str]) -> tuple[tuple[str, str], ...]:
    """Texts in turns with those that take their place; \\n is a line break."""
    lines = [text.replace("\\n", "\n") for text in texts]
    return tuple(zip(lines[::2], lines[1::2], strict=True))
