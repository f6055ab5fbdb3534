"""Predict before you see: choose an answer, commit to it, then see the picture and read the reasons."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets

from helpers.pictures import theme
from helpers.pictures.widgets import STATIC_NOTE

QUESTION, COMMITTED = "gemm-prediction", "gemm-committed"  # by which the JupyterLab extension opens the answers
WIDTH = f"{round(theme.WIDTH * theme.CSS_DPI)}px"


class Prediction(ipywidgets.VBox):
    """A question with options. `commit()` is what the button does; `committed` is the option that was chosen, or None.
    After a commitment the button offers a second try, `again()`: the question as it was, without answer and picture.

    Nothing waits for it: a notebook that runs without a person goes on. Nothing is drawn before the commitment.
    """

    def __init__(
        self,
        question: str,
        reasons: Mapping[Any, str],
        answer: Any,
        picture: Callable[[], theme.Figure] | None = None,
    ) -> None:
        self.question = question
        self.reasons = dict(reasons)
        self.answer = answer
        self.committed: Any = None
        self._draw = picture
        self.options = ipywidgets.RadioButtons(
            options=[(str(option), option) for option in reasons], value=None, layout={"width": "max-content"}
        )
        self.button = ipywidgets.Button(description="Commit", layout={"width": "120px"}, disabled=True)
        self.feedback = ipywidgets.HTML(layout={"width": WIDTH})
        self.picture = ipywidgets.HTML(layout={"width": WIDTH, "max_width": "100%", "display": "none"})
        heading = ipywidgets.HTML(f'<div style="line-height: 1.5"><b>Predict.</b> {html.escape(question)}</div>')
        super().__init__([heading, self.options, self.button, self.feedback, self.picture])
        self.add_class(QUESTION)
        self.options.observe(self._chosen, names="value")
        self.button.on_click(lambda _: self.commit() if self.committed is None else self.again())

    def commit(self) -> None:
        """Take the chosen option as the prediction: it stands, and the answer, all reasons and the picture appear.

        Without a choice it says that one is needed.
        """
        chosen = self.options.value
        if chosen is None:
            self.feedback.value = "Choose one of the options first."
            return
        self.committed = chosen
        self.add_class(COMMITTED)
        self.options.disabled = True
        self.button.description = "Try again"
        self.feedback.value = self._feedback(chosen)
        if self._draw is not None:
            self.picture.value = self._draw().html()
            self.picture.layout.display = ""

    def again(self) -> None:
        """Take the commitment back, for a second try at the question."""
        self.committed = None
        self.remove_class(COMMITTED)
        self.options.disabled = False
        self.options.value = None
        self.button.description = "Commit"
        self.feedback.value = ""
        self.picture.layout.display = "none"

    def _feedback(self, chosen: Any) -> str:
        """The chosen option first, then the answer if that is another, then why the others are none."""
        right = chosen == self.answer
        lines = [f"{'✔' if right else '✘'} {chosen}: {self.reasons[chosen]}"]
        if not right:
            lines.append(f"The answer is {self.answer}: {self.reasons[self.answer]}")
        others = [f"{option}: {why}" for option, why in self.reasons.items() if option not in (chosen, self.answer)]
        body = "<br>".join(map(html.escape, lines))
        rest = "<br>".join(map(html.escape, others))
        colour = theme.C if right else theme.TROUBLE
        style = f"border-left: 4px solid {colour}; padding-left: 12px; line-height: 1.5"
        return f'<div style="{style}">{body}<div style="opacity: 0.75">{rest}</div></div>'

    def on_paper(self) -> str:
        """The question as HTML for a page that runs nothing: its options, and in a fold the answer, then the others,
        each with its reason."""
        options = "".join(f"<li>{html.escape(str(option))}</li>" for option in self.reasons)
        reasons = "".join(
            f"<li>{'✔' if option == self.answer else '✘'} {html.escape(f'{option}: {reason}')}</li>"
            for option, reason in sorted(self.reasons.items(), key=lambda pair: pair[0] != self.answer)
        )
        return (
            f"<p><b>Predict.</b> {html.escape(self.question)}</p><ul>{options}</ul>"
            f"<details><summary>The answer, after you have chosen</summary><ul>{reasons}</ul></details>"
        )

    def _chosen(self, _: object) -> None:
        self.button.disabled = self.options.value is None

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """The live question, and beside it the one on paper: that is what stays in a stored notebook."""
        bundle = super()._repr_mimebundle_(**options)
        return {**bundle, "text/html": self.on_paper()} if bundle else bundle

    def __repr__(self) -> str:
        return f"Predict. {self.question} {' · '.join(map(str, self.reasons))}. {STATIC_NOTE}"


def predict(
    question: str, reasons: Mapping[Any, str], answer: Any, picture: Callable[[], theme.Figure] | None = None
) -> Prediction:
    """A question, an option for each key of `reasons`, and the option that is right.

    reasons: option -> the sentence that says why it is right, or which idea leads to it and why that fails.  picture:
    draws what decides the question; called at the commitment, not before.
    """
    if answer not in reasons:
        raise ValueError(f"The answer {answer!r} is none of the options {', '.join(map(str, reasons))}.")
    if len(reasons) < 2:
        raise ValueError("A prediction needs at least two options to choose from.")
    return Prediction(question, reasons, answer, picture)
