"""A stage for what is text and not a picture: a source with its counts, a diff. Its height never changes either."""

from __future__ import annotations

from typing import Protocol

import ipywidgets

from helpers.pictures import theme
from helpers.pictures.widgets import Prepared, Stage


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
        self.picture = ipywidgets.HTML(layout={"width": f"{width}px", "max_width": "100%", "margin": "0"})
        self.frame.children = [self.overlay, self.picture, self.sentence]
        self.frame.layout.overflow, self.frame.layout.height = "auto", f"{height}px"

    def prepared(self, picture: Text) -> Prepared:
        """A text in the form in which it is kept and shown."""
        return Prepared(picture.html(), "")
