"""Exercises whose answer is not a kernel but a value: a number, the shape of a block, a set of tile sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusim.compiler import CompileError
from gpusim.errors import SimulatorError
from helpers.exercises.framework import progress
from helpers.exercises.framework.answers import Verdict
from helpers.exercises.framework.card import Answer
from helpers.exercises.framework.exercise import Exercise
from helpers.pictures import theme

NO_PICTURE = "There is no picture of this answer; the verdict says why."  # a cell shows both, and says it once


@dataclass(frozen=True)
class WrongValue:
    """A known wrong answer, and the sentence that explains it."""

    answer: Any
    because: str


@dataclass(frozen=True, eq=False)
class ValueExercise(Exercise):
    """A value to find.

    variable: what the notebook calls it.  starter: its value at the beginning; the judge's word on it is no cross.
    solved: a right answer, and because: why it is right.  judge: the verdict on a value; errors of the compiler and the
    simulator, and ValueErrors, are sentences to the learner.  wrong: known wrong answers.  picture: what `show` draws.
    """

    variable: str
    starter: Any
    solved: Any
    because: str
    judge: Callable[[Any], Verdict]
    wrong: tuple[WrongValue, ...]
    picture: Callable[[Any], theme.Figure] | None = None

    def show(self, answer: Any = None) -> theme.Figure | Verdict:
        """What this value does, as a picture; None: the value that the exercise begins with."""
        if self.picture is None:
            return Verdict(None, "This exercise has no picture: work it out on paper.")
        try:
            return self.picture(self.starter if answer is None else answer)
        except (CompileError, SimulatorError, ArithmeticError, LookupError, TypeError, ValueError):
            return Verdict(None, NO_PICTURE)

    def check(self, answer: Any = None, *more: Any) -> Verdict:
        """Is it right? None: the value that the exercise begins with. Several answers are the parts of a tuple."""
        answer = (answer, *more) if more else answer
        value = self.starter if answer is None else answer
        untouched = _equal(value, self.starter)
        try:
            verdict = self.judge(value)
        except (CompileError, SimulatorError, ValueError) as error:
            verdict = Verdict(False, f"{str(error).rstrip('.')}.")
        if untouched or verdict.passed is None:
            return Verdict(None, verdict.sentence, verdict.picture)  # no answer yet: nothing was tried
        progress.note(self.name, solved=bool(verdict.passed))
        return verdict

    def solution(self) -> Answer:
        """A right answer, and why it is right."""
        return Answer(f"{self.variable} = {written(self.solved)}", self.because)

    def cells(self) -> tuple[str, ...]:
        """The notebook cells in which the exercise is solved."""
        shown = f"display({self.name}.show({self.variable}))\n" if self.picture else ""
        return (
            f'{self.name} = exercises.get("{self.name}")\n{self.name}',
            f"{self.variable} = {written(self.starter)}\n\n{shown}{self.name}.check({self.variable})",
            f"{self.name}.hint()",
        )


def written(value: Any) -> str:
    """A value as a cell has it: parameters by name."""
    if isinstance(value, dict):
        return f"dict({', '.join(f'{name}={size}' for name, size in value.items())})"
    return repr(value)


def _equal(value: Any, other: Any) -> bool:
    return type(value) is type(other) and value == other
