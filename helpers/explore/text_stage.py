"""A stage for what is text and not a picture: a source with its counts, a diff. Its height never changes either."""

from __future__ import annotations

import html
from typing import Protocol

import ipywidgets

from helpers.draw import theme
from helpers.explore.widgets import Stage


class Text(Protocol):
    """What a TextStage shows."""

    def html(self) -> str:
        """The text with inline styles only."""
        ...


class TextStage(Stage):
    """HTML that scrolls in a frame of fixed height (CSS pixels), with a line of text under it."""

    def __init__(self, height: int) -> None:
        super().__init__(height)
        width = round(theme.WIDTH * theme.CSS_DPI)
        self.picture = ipywidgets.HTML(layout={"width": f"{width}px", "max_width": "100%"})
        self.frame.children = [self.picture, self.sentence]
        self.frame.layout.overflow = "auto"

    def show(self, picture: Text, note: str = "") -> None:
        """Replace what is on the stage by a text."""
        self.picture.value = picture.html()
        self.picture.layout.display, self.sentence.layout.display = "", "none"
        self.note.value = html.escape(note)
        self.busy.value = ""
