"""More controls with the look of `widgets`: a list to choose from, a slider with both ends, a switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets

from helpers.explore.widgets import number_slider


def range_slider(label: str, smallest: int, largest: int, value: int, step: int = 1) -> ipywidgets.IntSlider:
    """A slider over smallest … largest: Tab reaches it, the arrow keys move it by `step`."""
    slider = number_slider(label, largest)
    slider.value = value
    slider.min, slider.step = smallest, step
    return slider


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
    """A list that opens: Tab reaches it, the arrow keys and first letters choose."""
    like = number_slider(label, 1)
    chosen = ChoiceList(
        description=label,
        options=list(options),
        style={"description_width": like.style.description_width},
        layout={"width": like.layout.width},
    )
    chosen.index = [option for _, option in options].index(value)
    return chosen


def switch(label: str, value: bool = False) -> ipywidgets.Checkbox:
    """On or off: Tab reaches it, the space bar turns it."""
    return ipywidgets.Checkbox(description=label, value=value, indent=False, layout={"width": "auto"})
