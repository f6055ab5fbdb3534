"""A question that a notebook asks in a cell of its own: the cell calls it with an answer and shows the verdict."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from helpers.exercises.framework import progress
from helpers.exercises.framework.answers import Verdict


class Question:
    """A function that judges an answer. Calling it also remembers whether the question was tried or solved.

    name: in the learner's progress.  title: what the map of the progress calls it.
    """

    def __init__(self, name: str, title: str, judge: Callable[..., Verdict]) -> None:
        self.name = name
        self.title = title
        self._judge = judge
        update_wrapper(self, judge)

    def __call__(self, *answer: Any, **answers: Any) -> Verdict:
        """The verdict. An answer that is none yet (`passed` is None) is not remembered."""
        verdict = self._judge(*answer, **answers)
        if verdict.passed is not None:
            progress.note(self.name, solved=verdict.passed)
        return verdict


def question(name: str, title: str) -> Callable[[Callable[..., Verdict]], Question]:
    """Decorates a function that judges an answer, and makes it a Question with this name and title."""
    return lambda judge: Question(name, title, judge)
