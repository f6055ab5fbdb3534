"""An explorer that redraws while a control moves: fit the controls to each other, draw, or say why not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Self

import ipywidgets

from gpusim.compiler import CompileError
from gpusim.errors import SimulatorError
from gpusim.occupancy import DoesNotFit
from gpusim.sentences import Sentence
from helpers.pictures import CannotTell, frames, theme
from helpers.pictures.background import Behind
from helpers.pictures.controls import ChoiceList, TimeSlider, played, stepped
from helpers.pictures.frames import Frame, Frames, Idle
from helpers.pictures.widgets import Explorer, Stage
from helpers.recordings import NoRecording

INTERRUPTED = "Interrupted. Move a control to draw again."
WORKING = "Compiling and running … The notebook's ■ button, or I I, stops it."


class CannotShow(Sentence, Exception):
    """There is no picture for this setting; the message is a sentence to the learner: what was found, what to try."""


SENTENCES = (CannotShow, CannotTell, SimulatorError, CompileError, DoesNotFit, NoRecording)
"""Errors whose message is meant for the learner. Any other is a fault of the explorer and shows as what it is."""


def _in_turn(method: Callable[..., None]) -> Callable[..., None]:
    """A method during which no other thread draws or moves a control."""

    @wraps(method)
    def alone(*args: Any) -> None:
        with frames.TURN:
            method(*args)

    return alone


class LiveExplorer(Explorer):
    """Controls over a picture. A subclass makes its controls, calls `super().__init__` and says what to draw.

    The browser sends a control's newest value when the one before has been drawn, so that a drag never queues. What was
    drawn is kept, and while the learner looks at it the neighbouring settings are drawn.

    What takes longer than a picture may, such as a predicted time, is `later`'s: it is worked out in a thread when
    nothing happens, and the note has it when it is there.

    An interrupt of the notebook's kernel (its ■ button, or I I) stops a slow setting, because the course's settings of
    JupyterLab have controls handled by the kernel's main thread (`commsOverSubshells`), the one that is interrupted.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        explorer = super().__new__(cls, *args, **kwargs)
        explorer._made_of = (args, kwargs)
        explorer._original = None
        return explorer

    def __init__(
        self, what: str, rows: Sequence[Sequence[ipywidgets.Widget]], height: int, stage: Stage | None = None
    ) -> None:
        """what: one line, shown where there are no widgets.  height: CSS pixels of the picture with its caption.

        stage: in place of one that shows a Figure.
        """
        self.controls = tuple(control for row in rows for control in _with_values(row))
        shown = [[_with_buttons(control) for control in row] for row in rows]
        super().__init__(what, shown, stage or Stage(height))
        self._settling = False
        self._frames = Frames()
        self._ready: set[Hashable] = set()  # what has been compiled and run
        self._idle = Idle()
        self._behind = Behind()
        self._ahead: LiveExplorer | None = None
        self._setting: Hashable = None  # what is on the stage
        self._still: set[ipywidgets.Widget] = set()  # sliders that have but one place
        self._least = 0.0  # points of the smallest letters
        for control in self.controls:
            control.observe(self._moved, names="value")
        self.update()

    def settle(self, moved: ipywidgets.Widget | None) -> None:
        """Fit the controls' ranges and values to the one that moved (None: at the start). Draws nothing."""

    def needs(self) -> Iterable[Hashable]:
        """What takes so long, for a compilation, that the learner is told to wait when it is needed first."""
        return ()

    def draw(self) -> tuple[theme.Figure, str]:
        """The picture of what the controls say, and the line of text under it. Raises one of SENTENCES instead."""
        raise NotImplementedError

    def later(self) -> Callable[[], str] | None:
        """What works out the note that takes the place of `draw`'s, "" to leave that; None if there is nothing to work
        out. It is called in a thread, so it must not look at the controls; it may take seconds, and raise one of
        SENTENCES instead."""
        return None

    @_in_turn
    def update(self, moved: ipywidgets.Widget | None = None) -> None:
        """Settle, then draw once, or show what was drawn before."""
        with self.quiet():
            self.settle(moved)
        if self._original is not None:
            return  # the one that draws ahead is told what to draw
        self._idle.stop()
        self._behind.stop()
        try:
            self._setting = setting = frames.setting_of(self.controls)
            if self._is_slow():
                self.stage.wait(WORKING)
            elif setting not in self._frames:
                self.stage.begin()
            self._show(self._frame(setting))
            self._switch_off_what_has_one_place()
        except KeyboardInterrupt:
            self.stage.say(INTERRUPTED)
        finally:
            self.stage.busy.value = ""
        todo = self._neighbours(moved) if moved is not None else iter(())

        def go_on() -> bool:
            if self._draw_ahead(todo):
                return True
            self.complete()  # what takes longest comes last
            return False

        self._idle.begin(go_on)

    def complete(self) -> None:
        """Have the note replaced by what `later` works out, if it was not before."""
        setting = self._setting
        frame = self._frames.get(setting)
        if frame is not None and frame.picture is not None and not frame.whole:
            work = self.later()
            if work is not None:
                self._behind.begin(partial(_worked_out, work), partial(self._completed, setting))

    @_in_turn
    def _completed(self, setting: Hashable, words: str) -> None:
        """Keep the words for a setting, and show them if the learner is still there."""
        frame = self._frames.get(setting)
        if frame is None:
            return
        self._frames.keep(setting, replace(frame, words=words or frame.words, whole=True))
        if words and setting == self._setting:
            self.stage.tell(words)

    def enlarge(self, points: float) -> None:
        """Draw anew, and from now on, with letters of at least so many points: for a slide (`theme.at_least`)."""
        self._least, self._frames, self._ahead = points, Frames(), None
        self.update()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Controls may be set inside without a redraw."""
        before, self._settling = self._settling, True
        try:
            yield
        finally:
            self._settling = before

    def _switch_off_what_has_one_place(self) -> None:
        """A slider from 0 to 0 could be dragged and would change nothing."""
        for control in self.controls:
            if control.has_trait("max"):
                if control.min == control.max:
                    control.disabled = True
                    self._still.add(control)
                elif control in self._still:
                    control.disabled = False
                    self._still.discard(control)

    def _is_slow(self) -> bool:
        return not self._ready.issuperset(self.needs())

    def _frame(self, setting: Hashable) -> Frame:
        """What there is to show for the controls as they stand, which is `setting`: kept, or drawn now."""
        frame = self._frames.get(setting)
        if frame is None:
            needed, before = tuple(self.needs()), self._states()
            try:
                with theme.at_least(self._least):
                    picture, words = self.draw()
                prepared = self.stage.prepared(picture)
            except SENTENCES as error:
                prepared, words = None, str(error)
            changed = zip(before, self._states(), strict=True)
            states = {number: after for number, (old, after) in enumerate(changed) if old != after}
            frame = Frame(prepared, words, states)
            self._ready.update(needed)
            self._frames.keep(setting, frame)
        return frame

    def _states(self) -> tuple[frames.State, ...]:
        return tuple(map(frames.state_of, self.controls))

    def _show(self, frame: Frame) -> None:
        with self.quiet():
            for number, state in frame.controls.items():
                frames.put(self.controls[number], state)
        if frame.picture is None:
            self.stage.say(frame.words)
        else:
            self.stage.put(frame.picture, frame.words)

    def _moved(self, change: Any) -> None:
        if not self._settling:
            self._last = (change["old"], change["new"])
            self.update(change["owner"])

    def _neighbours(self, moved: ipywidgets.Widget) -> Iterator[tuple[int, frames.State]]:
        """Settings that may come next, the likeliest first: (number of a control, its state)."""
        old, new = self._last
        back = isinstance(old, int) and isinstance(new, int) and new < old
        number = self.controls.index(moved)
        yield from ((number, state) for state in frames.near(moved, back, frames.AHEAD))
        for other, control in enumerate(self.controls):
            if other != number:
                yield from ((other, state) for state in frames.near(control))

    def _draw_ahead(self, todo: Iterator[tuple[int, frames.State]]) -> bool:
        """Draw one setting that is near; False if there is none left."""
        for number, state in todo:
            ahead = self._ahead or self._make_ahead()
            with ahead.quiet():
                for control, now in zip(ahead.controls, self._states(), strict=True):
                    frames.put(control, now)
            frames.put(ahead.controls[number], state)  # settles
            setting = frames.setting_of(ahead.controls)
            if setting not in self._frames and not ahead._is_slow():
                try:
                    ahead._frame(setting)
                except Exception:  # a fault of ours is told when the learner goes there
                    return False
                return True
        return False

    def _make_ahead(self) -> LiveExplorer:
        """An explorer like this one, for this one's frames."""
        args, kwargs = self._made_of
        with frames.unheard():
            ahead = type(self).__new__(type(self), *args, **kwargs)
            ahead._original = self
            ahead.__init__(*args, **kwargs)
        ahead._frames, ahead._ready, ahead._least = self._frames, self._ready, self._least
        self._ahead = ahead
        return ahead


def _worked_out(work: Callable[[], str]) -> str:
    try:
        return work()
    except SENTENCES as error:
        return str(error)


def _with_buttons(control: ipywidgets.Widget) -> ipywidgets.Widget:
    if isinstance(control, ChoiceList):
        return stepped(control)
    return played(control) if isinstance(control, TimeSlider) else control


def _with_values(widgets: Sequence[ipywidgets.Widget]) -> Iterator[ipywidgets.Widget]:
    """The controls among widgets and inside boxes, left to right; labels are not among them."""
    for widget in widgets:
        if widget.has_trait("value") and not isinstance(widget, ipywidgets.HTML):
            yield widget
        elif isinstance(widget, ipywidgets.Box):
            yield from _with_values(widget.children)
