"""A blank: a kernel that the learner writes. The signature stands, numbered comments say the steps, the body is empty.

A blank is checked as every exercise of a kernel is. What is accepted is kept (`kept`), and from then on the notebook's
pictures and explorers show the learner's kernel. No learner gets stuck: `skip()` goes on with the course's solution.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, replace
from typing import Any

from helpers.exercises.framework import kept
from helpers.exercises.framework.answers import LEARNERS, Verdict
from helpers.exercises.framework.card import Hints
from helpers.exercises.framework.exercise import KernelExercise, code_of
from helpers.pictures import theme

BY_SKIP = "// Kept by skip()"  # the last line of a solution that the learner did not write
LEARNER, SKIPPED, COURSE = "yours", "the course's solution, which you chose to go on with", "the course's solution"


@dataclass(frozen=True)
class Plain:
    """A source shown whole, as the text that it is. title: of the fold that it is opened from, "" if it is open.

    Behind a fold it is a page's: as text it is the title alone, so that what was folded away is not read by accident.
    """

    source: str
    title: str = ""

    def folded(self, title: str) -> Plain:
        """The same behind a title, until it is opened."""
        return Plain(self.source, title)

    def html(self) -> str:
        """The text in the notebook's font for code."""
        text = f'<pre style="line-height: 1.35">{html.escape(self.source.strip())}</pre>'
        return f"<details><summary>{html.escape(self.title)}</summary>{text}</details>" if self.title else text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.title or self.source.strip()}


@dataclass(frozen=True)
class Written:
    """The kernel that the notebook goes on with.

    source: CUDA C++.  by: whose it is, as a picture's caption says it.
    """

    source: str
    by: str


@dataclass(frozen=True, eq=False)
class Blank(KernelExercise):
    """A kernel to write from its signature: sources/<name>.cu, whose starter has no body."""

    def check(self, source: str | None = None) -> Verdict:
        """Is it right, free of hazards, and are the goals reached? An accepted kernel is kept. None: the starter."""
        if source is None or (isinstance(source, str) and code_of(source) == code_of(self.starter)):
            still = "This is still the kernel that the exercise begins with"
            return Verdict(None, f"{still}: write your part, and run the cell again.")
        verdict = super().check(source)
        if verdict.passed:
            where = kept.where_kept(kept.keep(self.name, source))
            return replace(verdict, sentence=f"{verdict.sentence} {where}") if where else verdict
        return verdict

    def show(self, source: str | None = None) -> theme.Figure | Verdict:
        """As of every kernel; where the notebook goes on with the course's solution, the picture says whose it is."""
        written = self.written
        if source == written.source and written.by != LEARNER and hasattr(self.picture, "title"):
            title = self.picture.title.replace(LEARNERS, COURSE)
            return self._drawn(source, replace(self.picture, title=title))  # type: ignore[type-var]
        return super().show(source)

    def hint(self, step: int | None = None) -> Hints | str:
        """Three hints and the solution, each folded until it is opened; with a step, 1 to 3, that hint alone."""
        return super().hint(step) if step is not None else Hints(self.hints, Plain(self.solved))  # type: ignore[arg-type]

    def skip(self) -> Plain:
        """Go on with the course's solution, and read it. A kernel of the learner's that was accepted stays."""
        if kept.source(self.name) is None:
            kept.keep(self.name, f"{self.solved.rstrip()}\n{BY_SKIP}\n")
        return Plain(self.solved)

    @property
    def written(self) -> Written:
        """The learner's accepted kernel; where there is none, the solution, so that every notebook runs to its end."""
        source = kept.source(self.name)
        if source is None:
            return Written(self.solved, COURSE)
        return Written(source, SKIPPED if source.rstrip().endswith(BY_SKIP) else LEARNER)
