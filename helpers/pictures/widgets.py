"""What every explorer is made of: labelled controls that the keyboard reaches, and a stage of fixed height.

A stage shows a picture as an inline PNG, or a sentence in its place. Its height never changes, so nothing on the page
moves while a slider does; on a narrow page it shrinks with the picture, and the controls stand below each other. Over
the picture lies a layer that says what its marks are, where the figure tells it.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets

from gpusim.sentences import BadInput
from helpers.pictures import marks, theme

STATIC_NOTE = "Interactive: run this cell in JupyterLab to move its controls."
_LABEL = {"description_width": "124px"}  # one width for all, so that controls stand in columns
_HALF = {"width": "400px", "max_width": "100%"}  # two sliders beside each other
_COLUMN = "min(412px, 100%)"
WRAPS = {"max_width": "100%", "flex_flow": "row wrap"}  # what stands below each other on a narrow page
_WIDTH = round(theme.WIDTH * theme.CSS_DPI)
# ipywidgets gives a slider over values another margin than one over numbers, and another place to what it reads.
_ONE_GRID = """
.gemm-explorer .widget-hslider .slider-container { margin: 0 10px !important; }
.gemm-explorer .widget-hslider .widget-readout { margin: 0 !important; width: 76px; min-width: 76px; height: 28px;
  line-height: 28px; padding: 0; text-align: center; }
.gemm-explorer .widget-hslider { margin: 2px !important; align-items: center; }
.gemm-explorer .gemm-list .widget-readout { pointer-events: none; }
.gemm-explorer .gemm-words .widget-readout { width: 128px; min-width: 128px; }
.gemm-explorer .widget-html-content { min-width: 0; }
.gemm-explorer .widget-toggle-buttons { flex-flow: row wrap; height: auto; }
.gemm-explorer .widget-toggle-button { max-width: 100%; height: auto; white-space: normal; }
@media (max-width: 480px) { .gemm-explorer .widget-label { width: auto !important; min-width: 0; } }
"""
_SPINNER = (  # in the page's own text colour, on a light page and on a dark one
    '<svg width="15" height="15" viewBox="0 0 16 16" style="vertical-align: -2px; margin-right: 8px" fill="none" '
    'stroke="currentColor" stroke-width="2.4"><path d="M8 2a6 6 0 1 1-6 6"><animateTransform attributeName="transform" '
    'type="rotate" from="0 8 8" to="360 8 8" dur="1s" repeatCount="indefinite"/></path></svg>'
)
_SIGN_AFTER = 0.2  # seconds: a picture that is there sooner needs no sign that it is being drawn
_NUMBER = 10  # letters that a slider's readout has room for; more are words, and get more room
_MONOSPACE = "font-family: var(--jp-code-font-family, monospace)"


@dataclass(frozen=True)
class Prepared:
    """A picture as a stage shows it.  shown: a PNG, or HTML on a stage of text.  overlay: the layer over it, HTML."""

    shown: bytes | str
    overlay: str


class Stage(ipywidgets.VBox):
    """A picture with a line of text under it, in a frame of fixed height (CSS pixels).

    Above it is a line that is empty but while the learner has to wait.
    """

    def __init__(self, height: int) -> None:
        shown = {"width": f"{_WIDTH}px", "max_width": "100%", "margin": "0"}
        self.picture = ipywidgets.Image(format="png", layout=shown)
        # No height of its own: it lies over the picture, which comes next.
        self.overlay = ipywidgets.HTML(layout={**shown, "height": "0px", "min_height": "0px", "overflow": "visible"})
        self.sentence = ipywidgets.HTML(layout={**shown, "display": "none"})
        self.note = ipywidgets.HTML(layout={"min_height": "28px"})
        self.busy = ipywidgets.HTML(layout={"height": "24px", "margin": "0 0 0 12px"})
        self.frame = ipywidgets.VBox(
            [self.overlay, self.picture, self.sentence],
            layout={"width": f"{_WIDTH}px", "max_width": "100%", "overflow": "visible"},
        )
        self.frame.add_class(f"gemm-frame-{height}")
        self.sheet = f".gemm-frame-{height} {{ aspect-ratio: {_WIDTH} / {height}; }}"
        super().__init__([self.busy, self.frame, self.note], layout={"overflow": "hidden"})

    def wait(self, words: str) -> None:
        """Say that it takes a while; what was on the stage stays until there is something new."""
        self.busy.value = f"{_SPINNER}{html.escape(words)}"

    def begin(self) -> None:
        """A picture is being drawn. The browser says so if it is not there soon: the drawing itself has no time to."""
        self.busy.value = (
            "<style>@keyframes gemm-sign { to { visibility: visible } }</style>"
            f'<span style="visibility: hidden; animation: gemm-sign 0s {_SIGN_AFTER}s forwards">'
            f"{_SPINNER}Drawing …</span>"
        )

    def prepared(self, picture: theme.Figure) -> Prepared:
        """A picture in the form in which it is kept and shown; the figure is not kept."""
        return Prepared(picture.png(), marks.overlay(picture, picture.caption))

    def put(self, picture: Prepared, note: str = "") -> None:
        """Replace what is on the stage by a picture."""
        self.picture.value, self.overlay.value = picture.shown, picture.overlay
        for part, display in ((self.picture, ""), (self.overlay, ""), (self.sentence, "none")):
            part.layout.display = display
        self.tell(note)
        self.busy.value = ""

    def on_paper(self) -> dict[str, str]:
        """The picture on the stage by its MIME type; empty for a sentence or a text."""
        shown = self.picture.value
        return {"image/png": base64.b64encode(shown).decode()} if shown and not isinstance(shown, str) else {}

    def tell(self, note: str) -> None:
        """Replace the line under the picture."""
        self.note.value = html.escape(note)

    def say(self, sentence: str) -> None:
        """Replace what is on the stage by a sentence: a setting that cannot run, and why.

        Lines after the first are code: a source line, and under it the compiler's caret.
        """
        first, *code = html.escape(sentence).split("\n")
        quoted = f'<div style="{_MONOSPACE}; font-size: 13px;">{"<br>".join(code)}</div>' if code else ""
        self.sentence.value = (
            f'<div style="border-left: 4px solid {theme.TROUBLE}; padding: 8px 14px; font-size: 15px; '
            f'line-height: 1.5; white-space: pre-wrap;">{first}{quoted}</div>'
        )
        for part, display in ((self.picture, "none"), (self.overlay, "none"), (self.sentence, "")):
            part.layout.display = display
        self.note.value = self.busy.value = ""


class Explorer(ipywidgets.VBox):
    """Controls above a stage. Where there are no widgets it is a line of text, and where the output was kept, as in a
    notebook that is opened again, the picture that it began with."""

    def __init__(self, what: str, controls: Sequence[Sequence[ipywidgets.Widget]], stage: Stage) -> None:
        rows = [
            ipywidgets.HBox(
                [_column(control) for control in row],
                layout=WRAPS,
            )
            for row in controls
        ]
        look = ipywidgets.HTML(
            f"<style>{_ONE_GRID}{stage.sheet}</style>", layout={"height": "0px", "min_height": "0px", "margin": "0"}
        )
        super().__init__([look, *rows, stage])
        self.add_class("gemm-explorer")
        self.what = what
        self.stage = stage

    def show_only(self, control: ipywidgets.Widget) -> None:
        """Keep this control above the stage and take the others away: for a slide, which speaks of one."""
        look, *rows, stage = self.children
        places = [box for row in rows for box in row.children if _holds(box, control)]
        self.children = (look, *places, stage)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """The live explorer, and beside it its picture."""
        bundle = super()._repr_mimebundle_(**options)
        return {**bundle, **self.stage.on_paper()} if bundle else bundle

    def __repr__(self) -> str:
        return f"{self.what} {STATIC_NOTE}"


def _holds(widget: ipywidgets.Widget, control: ipywidgets.Widget) -> bool:
    return widget is control or any(_holds(child, control) for child in getattr(widget, "children", ()))


def _column(control: ipywidgets.Widget) -> ipywidgets.Box:
    return ipywidgets.Box([control], layout={"min_width": _COLUMN, "max_width": "100%", "flex": "0 0 auto"})


def offered(label: str, options: Sequence[Any], value: Any) -> Any:
    """The value, if a control has it among its options, values or pairs (name, value); BadInput, with all of them, if
    not."""
    values = [option[1] if isinstance(option, tuple) and len(option) == 2 else option for option in options]
    if value in values:
        return value
    names = [str(option if value is option else option[0]) for option, value in zip(options, values, strict=True)]
    raise BadInput(f"{label}: {value!r} is not offered here; there are {', '.join(names)}.")


def choice_slider(label: str, options: Sequence[Any], value: Any) -> ipywidgets.SelectionSlider:
    """A slider over a few values: Tab reaches it, the arrow keys move it; it reports while it moves."""
    value = offered(label, options, value)
    slider = ipywidgets.SelectionSlider(
        description=label, options=list(options), value=value, style=_LABEL, layout=_HALF
    )
    if max(map(len, slider._options_labels)) > _NUMBER:
        slider.add_class("gemm-words")
    return slider.add_class("gemm-list")


def number_slider(label: str, largest: int) -> ipywidgets.IntSlider:
    """A slider over 0 … largest."""
    return ipywidgets.IntSlider(description=label, min=0, max=largest, value=0, style=_LABEL, layout=_HALF)


def choice_buttons(label: str, options: Sequence[tuple[str, Any]], value: Any) -> ipywidgets.ToggleButtons:
    """Buttons of which one is pressed: Tab reaches each, the space bar presses it. `labelled` puts the label before."""
    return ipywidgets.ToggleButtons(
        options=list(options),
        value=offered(label, options, value),
        tooltips=[f"{label} {name}" for name, _ in options],
        style={"button_width": "auto"},
        layout={"width": "auto", "min_width": "0", "margin": "0 16px 0 0"},
    )


def labelled(label: str, control: ipywidgets.Widget) -> ipywidgets.HBox:
    """A control after its label, where the control's own description would stand above it."""
    width = _LABEL["description_width"]
    text = ipywidgets.HTML(
        f'<div style="text-align: right; margin-right: 4px">{html.escape(label)}</div>',
        layout={"width": width, "flex": "0 0 auto"},
    )
    return ipywidgets.HBox([text, control], layout=WRAPS)
