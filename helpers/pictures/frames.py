"""What makes an explorer quick: frames that were drawn are kept, and while nothing happens the next ones are drawn.

A frame is what the stage shows for one setting of the controls, with the state in which drawing left them. Frames of
settings that are near are drawn ahead by a second explorer of the same kind, which no browser hears of: its controls
can be moved without moving the learner's.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ipywidgets
from ipywidgets.widgets import widget

MOST_FRAMES = 96  # of an explorer; a picture takes about 50 KB
PAUSE = 0.12  # seconds without an input after which the first frame is drawn ahead
BETWEEN = 0.01  # seconds between two of them, in which an input is heard
AHEAD = 3  # steps of the control that was moved, in its direction

TURN = threading.RLock()
"""Held by the thread in which an explorer draws or moves a control. There may be two: JupyterLab can have what controls
send handled in a thread of its own, a subshell of the kernel."""

State = dict[str, Any]


@dataclass(frozen=True)
class Frame:
    """What a stage shows.  picture: what the stage made of a picture, None for a sentence.  words: the note under the
    picture, or the sentence.  controls: the state, by its number, of each control that drawing has changed.
    whole: whether the words hold what takes longer than a picture."""

    picture: Any
    words: str
    controls: Mapping[int, State]
    whole: bool = False


class Frames:
    """The frames of an explorer, by the setting that they show; the oldest are dropped."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Frame] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, setting: Hashable) -> bool:
        return setting in self._kept

    def get(self, setting: Hashable) -> Frame | None:
        """The frame of a setting, None if there is none."""
        if setting in self._kept:
            self._kept.move_to_end(setting)
        return self._kept.get(setting)

    def keep(self, setting: Hashable, frame: Frame) -> None:
        """Keep a frame."""
        self._kept[setting] = frame
        if len(self._kept) > MOST_FRAMES:
            self._kept.popitem(last=False)


def state_of(control: ipywidgets.Widget) -> State:
    """What drawing may change of a control."""
    names = ("options", "index") if control.has_trait("index") else ("min", "max", "step", "value")
    return {name: getattr(control, name) for name in (*names, "disabled") if control.has_trait(name)}


def put(control: ipywidgets.Widget, state: State) -> None:
    """Bring a control into a state; what is so already is not set again."""
    if "index" in state:
        if control.options != state["options"]:
            control.options = state["options"]
        if control.index != state["index"]:
            control.index = state["index"]
    elif "max" in state:
        control.max = max(control.max, state["max"])  # wide first, so that neither end stops the value
        control.min = min(control.min, state["min"])
        for name in ("step", "value", "min", "max"):
            setattr(control, name, state[name])
    elif control.value != state["value"]:
        control.value = state["value"]
    if "disabled" in state:
        control.disabled = state["disabled"]


def setting_of(controls: Sequence[ipywidgets.Widget]) -> Hashable:
    """What the controls say; a slider's end is part of it, since a picture may depend on where the end is."""
    return tuple((control.value, control.max if control.has_trait("max") else None) for control in controls)


def near(control: ipywidgets.Widget, back: bool = False, steps: int = 1) -> Iterator[State]:
    """States that are so many steps ahead of a control's, and the one behind it. back: ahead is towards the start."""
    if control.disabled if control.has_trait("disabled") else False:
        return
    way = -1 if back else 1
    for step in (*(way * count for count in range(1, steps + 1)), -way):
        if control.has_trait("index"):
            if 0 <= control.index + step < len(control.options):
                yield {**state_of(control), "index": control.index + step}
        elif control.has_trait("max"):
            value = control.value + step * control.step
            if control.min <= value <= control.max:
                yield {**state_of(control), "value": value}
        elif isinstance(control.value, bool):
            yield {**state_of(control), "value": not control.value}
            return


class Unheard:
    """A line to no browser: ipywidgets sends nothing over one that has no kernel."""

    kernel = None

    def __init__(self, comm_id: str | None = None, **said: Any) -> None:
        self.comm_id = comm_id or uuid.uuid4().hex

    def on_msg(self, hears: Callable[..., Any]) -> None:
        """Nothing is ever heard."""

    def close(self, *said: Any, **more: Any) -> None:
        """There is nothing to close."""


@contextmanager
def unheard() -> Iterator[None]:
    """Widgets that are made inside are unknown to every browser."""
    made, widget.comm.create_comm = widget.comm.create_comm, Unheard
    try:
        yield
    finally:
        widget.comm.create_comm = made


class Idle:
    """Calls a function again and again while nothing happens, until it has nothing more to do."""

    def __init__(self) -> None:
        self._work: Callable[[], bool] | None = None

    @property
    def waiting(self) -> bool:
        """Whether there is still something to do."""
        return self._work is not None

    def begin(self, work: Callable[[], bool]) -> None:
        """After a pause, call `work` until it returns False. Without an event loop, outside of a notebook, nothing."""
        self.stop()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return

        def go_on() -> None:
            with TURN:
                if self._work is not work:  # an input came, perhaps to the event loop of another thread
                    return
                if work():
                    loop.call_later(BETWEEN, go_on)
                else:
                    self._work = None

        self._work = work
        loop.call_later(PAUSE, go_on)

    def stop(self) -> None:
        """An input has come."""
        self._work = None
