"""What an exercise answers: a verdict in a sentence, with the reason where a known slip explains the answer."""

from __future__ import annotations

import html
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass

from IPython.display import display

from helpers.pictures import theme

LEARNERS = "your kernel"  # in the title of a picture


@dataclass(frozen=True)
class Verdict:
    """passed: True, False, or None while nothing was answered yet.  sentence: what was found and what it means.

    picture: drawn below the sentence, if there is one.  alone: whether a picture of what the kernel does would show
    another launch than the one that the sentence speaks of.
    """

    passed: bool | None
    sentence: str
    picture: theme.Figure | None = None
    alone: bool = False

    @property
    def mark(self) -> str:
        return {True: "✔", False: "✘", None: "…"}[self.passed]

    def __str__(self) -> str:
        return f"{self.mark} {self.sentence}"

    def bundle(self) -> dict[str, str]:
        """The sentence as a notebook shows it, with a stripe in the colour of the verdict."""
        colour = {True: theme.C, False: theme.TROUBLE, None: theme.MUTED}[self.passed]
        style = f"border-left: 4px solid {colour}; padding: 6px 14px; white-space: pre-wrap; line-height: 1.5;"
        lines = (_as_code(line) if line.startswith("  ") else html.escape(line) for line in str(self).splitlines())
        page = f'<div style="{style}">{"<br>".join(lines)}</div>'
        return {"text/html": page, "text/plain": str(self)}

    def _ipython_display_(self) -> None:
        display(self.bundle(), raw=True)
        if self.picture is not None:
            display(self.picture)


class Clue(str):
    """What is true of an answer, and may be what is wrong with it: that was not tried.

    A reason, in a verdict "Why", is one that was: with a change of it the answer is right.
    """


def as_line(sentence: str) -> str:
    """A reason or a clue as a line of a verdict."""
    return f"{'Clue' if isinstance(sentence, Clue) else 'Why'}: {sentence}"


def _as_code(line: str) -> str:
    """A quoted source line, with who does what there."""
    return f'<span style="font-family: var(--jp-code-font-family, monospace)">{html.escape(line)}</span>'


@dataclass(frozen=True)
class Slip:
    """A wrong answer that a known mistake gives, and the sentence that explains the mistake."""

    answer: float
    because: str


def check_number(
    answer: float | None,
    expected: float,
    *,
    unit: str = "",
    because: str = "",
    slips: Sequence[Slip] = (),
    tolerance: float = 1e-9,
) -> Verdict:
    """Compare a number with the expected one. None is no answer yet: the exercise waits, and the notebook goes on.

    because: why the expected number is right, shown with a right answer.  slips: shown only where a wrong answer equals
    theirs; any other wrong answer learns in which direction it is off, not what it should have been.  tolerance: the
    share by which an answer may differ from the expected one, or from a slip's.
    """
    if answer is None:
        return Verdict(None, "Not answered yet: put your number in place of None and run the cell again.")
    if isinstance(answer, bool) or not isinstance(answer, numbers.Real) or math.isnan(answer):
        return Verdict(False, f"{answer!r} is not a number; try a whole number such as 3.")
    number = theme.thousands(answer) if float(answer).is_integer() else f"{answer:g}"
    given = f"{number} {unit.removesuffix('s') if answer == 1 else unit}".strip()
    if math.isclose(answer, expected, rel_tol=tolerance, abs_tol=1e-9):
        return Verdict(True, f"{given}: right. {because}".strip())
    for slip in slips:
        if math.isclose(answer, slip.answer, rel_tol=tolerance):
            return Verdict(False, f"{given}: not yet. {slip.because}")
    if math.isfinite(answer) and expected in (math.floor(answer), math.ceil(answer)):
        return Verdict(False, f"{given}: not yet. The answer is a whole number: is it the one below, or the one above?")
    return Verdict(False, f"{given}: not yet, it is {'less' if answer > expected else 'more'} than that.")
