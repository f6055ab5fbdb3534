"""How a notebook shows an exercise: its title, its difficulty and its task; and its hints, folded until asked for."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from helpers.pictures.source_diff import Diff

LEVELS = {1: "first steps", 2: "takes thought", 3: "stretch"}


@dataclass(frozen=True)
class Card:
    """The head of an exercise."""

    notebook: str
    title: str
    difficulty: int
    task: str

    @property
    def level(self) -> str:
        """'●●○ takes thought'"""
        return f"{'●' * self.difficulty}{'○' * (3 - self.difficulty)} {LEVELS[self.difficulty]}"

    def bundle(self) -> dict[str, str]:
        """As HTML and as text."""
        page = (
            f"<div><b>{html.escape(self.title)}</b> &nbsp; {self.level}"
            f'<div style="margin-top: 4px; line-height: 1.5">{html.escape(self.task)}</div></div>'
        )
        return {"text/html": page, "text/plain": f"{self.title}   {self.level}\n{self.task}"}


@dataclass(frozen=True)
class Answer:
    """The solution of an exercise whose answer is a value.  code: as it stands in the cell.  because: why."""

    code: str
    because: str

    def html(self) -> str:
        """Code and reason."""
        return f"<pre>{html.escape(self.code)}</pre><p>{html.escape(self.because)}</p>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": f"{self.code}\n{self.because}"}


@dataclass(frozen=True)
class Hints:
    """Three hints and the solution, each folded inside the one before."""

    steps: tuple[str, ...]
    solution: Diff | Answer

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        inner = f"<details><summary>Solution</summary>{self.solution.html()}</details>"
        for number in range(len(self.steps), 0, -1):
            words = html.escape(self.steps[number - 1])
            inner = (
                f"<details><summary>Hint {number}</summary>"
                f'<div style="padding: 4px 0 4px 18px; line-height: 1.5">{words}{inner}</div></details>'
            )
        text = f"{len(self.steps)} hints and the solution, folded: open them in a browser, or call hint(1)."
        return {"text/html": inner, "text/plain": text}
