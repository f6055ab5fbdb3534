"""More controls with the look of `widgets`: a list to choose from, a slider with both ends, a switch, many switches.

JupyterLab gives the arrow keys and letters to the notebook while a list has the focus (its shortcuts hold for all that
is no text field and takes no key for itself, as a slider does). So a list stands beside two buttons that step through
it: Tab reaches them, the space bar presses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets
import traitlets

from helpers.pictures.widgets import WRAPS, number_slider, offered

PLAY_MS = 400  # from a step to the next
PLAY_WIDTH = 72
MARGINS = 8  # pixels: two of ipywidgets' on each side of a slider, and of the buttons beside it


def range_slider(label: str, smallest: int, largest: int, value: int, step: int = 1) -> ipywidgets.IntSlider:
    """A slider over smallest … largest: Tab reaches it, the arrow keys move it by `step`."""
    slider = number_slider(label, largest)
    slider.value = value
    slider.min, slider.step = smallest, step
    return slider


class TimeSlider(ipywidgets.IntSlider):
    """A slider over steps that follow each other in time. `played` puts the buttons beside it that let it run."""


def time_slider(label: str, largest: int) -> TimeSlider:
    """A slider over the steps 0 … largest of a loop; an explorer puts a button beside it that plays them."""
    like = number_slider(label, largest)
    return TimeSlider(
        description=label, min=0, max=largest, value=0, style=like.style,
        layout={"width": like.layout.width, "max_width": "100%"},
    )  # fmt: skip


def played(slider: TimeSlider) -> ipywidgets.HBox:
    """A slider with the buttons that let it run, halt, and go back to its start, a step each `PLAY_MS`."""
    buttons = ipywidgets.Play(
        min=slider.min, max=slider.max, value=slider.value, step=slider.step, interval=PLAY_MS, show_repeat=False,
        layout={"width": f"{PLAY_WIDTH}px"},
    )  # fmt: skip
    ipywidgets.jslink((slider, "value"), (buttons, "value"))
    ipywidgets.dlink((slider, "max"), (buttons, "max"))
    ipywidgets.dlink((slider, "disabled"), (buttons, "disabled"))
    width = int(slider.layout.width.removesuffix("px"))
    slider.layout.width = f"{width - PLAY_WIDTH - MARGINS}px"
    return ipywidgets.HBox([slider, buttons], layout={"width": f"{width}px", **WRAPS})


class ChoiceList(ipywidgets.Dropdown):
    """A list whose options may stand for None: ipywidgets takes the value None for no option at all, and shows none."""

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.observe(self._propagate_value, names="value")

    def _propagate_value(self, change: Any) -> None:
        """Takes the place of the observer of that name in ipywidgets: the index follows the value."""
        index = list(self._options_values).index(change.new) if change.new in self._options_values else None
        if self.index != index:
            self.index = index


def choice_list(label: str, options: Sequence[tuple[str, Any]], value: Any) -> ChoiceList:
    """A list that opens. `stepped` puts the buttons beside it that the keyboard needs; an explorer does."""
    like = number_slider(label, 1)
    chosen = ChoiceList(
        description=label,
        options=list(options),
        style={"description_width": like.style.description_width},
        layout={"width": like.layout.width, "min_width": "0"},
    )
    chosen.index = [option for _, option in options].index(offered(label, options, value))
    return chosen


def stepped(chosen: ChoiceList) -> ipywidgets.HBox:
    """A list with the buttons that go to the option before and to the one after, round and round."""
    width, step = int(chosen.layout.width.removesuffix("px")), 32
    chosen.layout.width = f"{width - 2 * (step + 4)}px"
    buttons = []
    for sign, words, way in (("\u2039", "previous", -1), ("\u203a", "next", 1)):
        button = ipywidgets.Button(
            description=sign,
            tooltip=f"{words}: {chosen.description}",
            layout={"width": f"{step}px", "flex": "0 0 auto"},
        )
        button.on_click(lambda _, way=way: _go(chosen, way))
        ipywidgets.dlink((chosen, "disabled"), (button, "disabled"))
        buttons.append(button)
    return ipywidgets.HBox([chosen, *buttons], layout={"width": f"{width}px", "max_width": "100%"})


def _go(chosen: ChoiceList, way: int) -> None:
    chosen.index = (chosen.index + way) % len(chosen.options)


def switch(label: str, value: bool = False) -> ipywidgets.Checkbox:
    """On or off: Tab reaches it, the space bar turns it."""
    return ipywidgets.Checkbox(description=label, value=value, indent=False, layout={"width": "auto"})


class Switches(ipywidgets.HBox):
    """Any number of names, each a button that is pressed or not. value: the pressed ones, in the order of the names.

    description: what they choose; `labelled` puts it before them.

    Unlike a list of many choices it can be worked by keyboard: Tab reaches each button, the space bar presses it.
    """

    value = traitlets.Tuple()

    def __init__(self, label: str, names: Sequence[str], value: Sequence[str]) -> None:
        look = {"width": "auto", "margin": "1px"}
        self.description = label
        self.buttons = [
            ipywidgets.ToggleButton(description=name, value=name in value, tooltip=f"{label}: {name}", layout=look)
            for name in names
        ]
        self._setting = False
        super().__init__(self.buttons, layout={"width": "780px", **WRAPS})
        self.value = self._pressed()
        for button in self.buttons:
            button.observe(self._read, names="value")
        self.observe(self._show, names="value")

    @property
    def options(self) -> tuple[str, ...]:
        """All the names."""
        return tuple(button.description for button in self.buttons)

    def _pressed(self) -> tuple[str, ...]:
        return tuple(button.description for button in self.buttons if button.value)

    def _read(self, _: Any) -> None:
        if not self._setting:
            self.value = self._pressed()

    def _show(self, change: Any) -> None:
        """The buttons follow a value that was set; it was reported already."""
        self._setting = True
        try:
            for button in self.buttons:
                button.value = button.description in change.new
        finally:
            self._setting = False
