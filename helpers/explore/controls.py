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


def choice_list(label: str, options: Sequence[tuple[str, Any]], value: Any) -> ipywidgets.Dropdown:
    """A list that opens: Tab reaches it, the arrow keys and first letters choose."""
    like = number_slider(label, 1)
    return ipywidgets.Dropdown(
        description=label,
        options=list(options),
        value=value,
        style={"description_width": like.style.description_width},
        layout={"width": like.layout.width},
    )


def switch(label: str, value: bool = False) -> ipywidgets.Checkbox:
    """On or off: Tab reaches it, the space bar turns it."""
    return ipywidgets.Checkbox(description=label, value=value, indent=False, layout={"width": "auto"})
