"""An explorer that redraws when a control comes to rest: fit the controls to each other, draw, or say why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ipywidgets

from helpers.analysis import CannotTell
from helpers.compiler import CompileError
from helpers.draw import theme
from helpers.explore.controls import ChoiceList, stepped
from helpers.explore.widgets import Explorer, Stage
from helpers.measure.recordings import NoRecording
from helpers.occupancy import DoesNotFit
from helpers.sentences import Sentence
from helpers.simulator.errors import SimulatorError

INTERRUPTED = "Interrupted. Move a control to draw again."
WORKING = "Compiling and running … The notebook's ■ button, or I I, stops it."


class CannotShow(Sentence, Exception):
    """There is no picture for this setting; the message is a sentence to the learner: what was found, what to try."""


SENTENCES = (CannotShow, CannotTell, SimulatorError, CompileError, DoesNotFit, NoRecording)
"""Errors whose message is meant for the learner. Any other is a fault of the explorer and shows as what it is."""


class LiveExplorer(Explorer):
    """Controls over a picture. A subclass makes its controls, calls `super().__init__` and says what to draw.

    An interrupt of the notebook's kernel (its ■ button, or I I) stops a slow setting.
    """

    def __init__(
        self, what: str, rows: Sequence[Sequence[ipywidgets.Widget]], height: int, stage: Stage | None = None
    ) -> None:
        """what: one line, shown where there are no widgets.  height: CSS pixels of the picture with its caption.

        stage: in place of one that shows a Figure.
        """
        self.controls = tuple(control for row in rows for control in _with_values(row))
        shown = [[stepped(one) if isinstance(one, ChoiceList) else one for one in row] for row in rows]
        super().__init__(what, shown, stage or Stage(height))
        self._settling = False
        for control in self.controls:
            control.observe(self._moved, names="value")
        self.update()

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """Fit the controls' ranges and values to the one that moved (None: at the start). Draws nothing."""

    def is_slow(self) -> bool:
        """Whether the setting will take so long, for a compilation, that the learner should be told to wait."""
        return False

    def draw(self) -> tuple[theme.Figure, str]:
        """The picture of what the controls say, and the line of text under it. Raises one of SENTENCES instead."""
        raise NotImplementedError

    def update(self, moved: ipywidgets.Widget | None = None) -> None:
        """Settle, then draw once."""
        with self.quiet():
            self.settle(moved)
        try:
            if self.is_slow():
                self.stage.wait(WORKING)
            self.stage.show(*self.draw())
        except SENTENCES as error:
            self.stage.say(str(error))
        except KeyboardInterrupt:
            self.stage.say(INTERRUPTED)
        finally:
            self.stage.busy.value = ""

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Controls may be set inside without a redraw."""
        before, self._settling = self._settling, True
        try:
            yield
        finally:
            self._settling = before

    def _moved(self, change: Any) -> None:
        if not self._settling:
            self.update(change["owner"])


def _with_values(widgets: Sequence[ipywidgets.Widget]) -> Iterator[ipywidgets.Widget]:
    """The controls among widgets and inside boxes, left to right; labels are not among them."""
    for widget in widgets:
        if widget.has_trait("value") and not isinstance(widget, ipywidgets.HTML):
            yield widget
        elif isinstance(widget, ipywidgets.Box):
            yield from _with_values(widget.children)
