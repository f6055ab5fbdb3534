"""What an exercise answers: a verdict in a sentence, with the reason where a known slip explains the answer."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from helpers.draw import theme


@dataclass(frozen=True)
class Verdict:
    """passed: True, False, or None while nothing was answered yet.  sentence: what was found and what it means."""

    passed: bool | None
    sentence: str

    @property
    def mark(self) -> str:
        return {True: "✔", False: "✘", None: "…"}[self.passed]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        colour = {True: theme.C, False: theme.TROUBLE, None: theme.MUTED}[self.passed]
        style = f"border-left: 4px solid {colour}; padding: 6px 14px; white-space: pre-wrap;"
        text = f"{self.mark} {self.sentence}"
        return {"text/html": f'<div style="{style}">{html.escape(text)}</div>', "text/plain": text}


@dataclass(frozen=True)
class Slip:
    """A wrong answer that a known mistake gives exactly, and the sentence that explains the mistake."""

    answer: float
    because: str


def check_number(
    answer: float | None, expected: float, *, unit: str = "", because: str = "", slips: Sequence[Slip] = ()
) -> Verdict:
    """Hold a number against the expected one. None is no answer yet: the exercise waits, and the notebook goes on.

    because: why the expected number is right, shown with a right answer.  slips: shown only where a wrong answer equals
    theirs exactly; any other wrong answer learns how far off it is, not what it should have been.
    """
    if answer is None:
        return Verdict(None, "Not answered yet: put your number in place of None and run the cell again.")
    if isinstance(answer, bool) or not isinstance(answer, (int, float)):
        return Verdict(False, f"{answer!r} is not a number; try a whole number such as 3.")
    given = f"{answer:g} {unit}".strip()
    if abs(answer - expected) <= 1e-9 * max(1.0, abs(expected)):
        return Verdict(True, f"{given}: right. {because}".strip())
    for slip in slips:
        if answer == slip.answer:
            return Verdict(False, f"{given}: not yet. {slip.because}")
    return Verdict(False, f"{given}: not yet, it is {'fewer' if answer > expected else 'more'} than that.")
