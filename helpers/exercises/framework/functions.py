"""Exercises whose answer is a Python function that the learner writes in a cell, below its signature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from helpers.exercises.framework.card import Answer
from helpers.exercises.framework.values import ValueExercise

NAMES = {"math": math}  # what the notebook has imported for the function


@dataclass(frozen=True, eq=False)
class Version:
    """A function as a cell has it, which can be called.  name: what tests call it.  text: its definition."""

    name: str
    text: str

    @cached_property
    def _function(self) -> Callable[..., Any]:
        names: dict[str, Any] = dict(NAMES)
        exec(compile(self.text, f"<{self.name}>", "exec"), names)
        return next(value for name, value in names.items() if name not in (*NAMES, "__builtins__"))

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __repr__(self) -> str:
        return self.name

    def replace(self, name: str, *changes: tuple[str, str]) -> Version:
        """The same function with some of its text changed. ValueError if there is no such text."""
        text = self.text
        for before, after in changes:
            if before not in text:
                raise ValueError(f"{self.name} has no text {before!r} that could be replaced.")
            text = text.replace(before, after)
        return Version(name, text)


@dataclass(frozen=True, eq=False)
class FunctionExercise(ValueExercise):
    """A function to write: `starter`, `solved` and the known wrong answers are `Version`s, `variable` is its name."""

    starter: Version
    solved: Version

    def solution(self) -> Answer:
        """The whole function, and why it is right."""
        return Answer(self.solved.text, self.because)

    def cells(self) -> tuple[str, ...]:
        """The notebook cells in which the function is written."""
        head, _, hints = super().cells()
        return head, f"{self.starter.text}\n\n\n{self.name}.check({self.variable})", hints

    def go_on_with(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The learner's function if it is right, else the course's, so that every notebook runs to its end."""
        return function if self.judge(function).passed else self.solved
