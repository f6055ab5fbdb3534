"""Predict before you see: choose an answer, commit to it, then read the reason."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import ipywidgets

from helpers.draw import theme
from helpers.explore.widgets import STATIC_NOTE


class Prediction(ipywidgets.VBox):
    """A question with options. `commit()` is what the button does; `committed` is the option that was chosen, or None.

    Nothing waits for it: a notebook that runs without a person goes on.
    """

    def __init__(self, question: str, reasons: Mapping[Any, str], answer: Any) -> None:
        self.question = question
        self.reasons = dict(reasons)
        self.answer = answer
        self.committed: Any = None
        self.options = ipywidgets.RadioButtons(
            options=[(str(option), option) for option in reasons], value=None, layout={"width": "max-content"}
        )
        self.button = ipywidgets.Button(description="Commit", layout={"width": "120px"}, disabled=True)
        # As high as the longest feedback, so that the page does not move when it appears.
        self.feedback = ipywidgets.HTML(layout={"min_height": "56px", "width": "880px"})
        heading = ipywidgets.HTML(f'<div style="line-height: 1.5"><b>Predict.</b> {html.escape(question)}</div>')
        super().__init__([heading, self.options, self.button, self.feedback])
        self.options.observe(self._chosen, names="value")
        self.button.on_click(lambda _: self.commit())

    def commit(self) -> None:
        """Take the chosen option as the prediction and show the reason for it, and for the answer if that is another.

        Without a choice it says that one is needed.
        """
        chosen = self.options.value
        if chosen is None:
            self.feedback.value = "Choose one of the options first."
            return
        self.committed = chosen
        right = chosen == self.answer
        colour = theme.C if right else theme.TROUBLE
        lines = [f"{'✔' if right else '✘'} {chosen}: {self.reasons[chosen]}"]
        if not right:
            lines.append(f"The answer is {self.answer}: {self.reasons[self.answer]}")
        body = "<br>".join(map(html.escape, lines))
        self.feedback.value = f'<div style="border-left: 4px solid {colour}; padding-left: 12px">{body}</div>'

    def _chosen(self, _: object) -> None:
        self.button.disabled = self.options.value is None

    def __repr__(self) -> str:
        return f"Predict. {self.question} {' · '.join(map(str, self.reasons))}. {STATIC_NOTE}"


def predict(question: str, reasons: Mapping[Any, str], answer: Any) -> Prediction:
    """A question, an option for each key of `reasons`, and the option that is right.

    reasons: option -> the sentence that says why it is right, or which idea leads to it and why that fails.
    """
    if answer not in reasons:
        raise ValueError(f"The answer {answer!r} is none of the options {', '.join(map(str, reasons))}.")
    if len(reasons) < 2:
        raise ValueError("A prediction needs at least two options to choose from.")
    return Prediction(question, reasons, answer)
