"""What is wrong with a drawn picture: letters that its edge cuts off, and letters that lie over each other."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from matplotlib.axis import Axis
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from helpers.pictures.theme import Figure

SLACK = 1.0  # pixels of the PNG: the box of a text is rounded, and has a margin of its own
OVER = (3.0, 5.0)  # pixels across and down by which two boxes must overlap before their letters touch
DARK = 200  # of 255: ink, and no lighter than the rules of a table


def faults(picture: Figure) -> list[str]:
    """A sentence for each fault of a picture, in the order of its texts; an empty list where it has none.

    Texts are compared by their boxes. Letters that are drawn as shapes have no box, so ink in the outermost column or
    row of pixels is a fault, too.
    """
    picture.png()  # draws, which makes the axes' numbers
    return [*_of_letters(picture), *_at_edges(picture)]


def _of_letters(picture: Figure) -> Iterator[str]:
    boxes = [(text, text.get_window_extent()) for text in _texts(picture)]
    whole = picture.bbox
    for text, box in boxes:
        if box.x0 < -SLACK or box.x1 > whole.x1 + SLACK or box.y1 > whole.y1 + SLACK:
            yield f"“{text.get_text()}” is cut off at the edge"
    for (first, first_box), (second, other) in combinations(boxes, 2):
        if (
            _overlap(first_box, other)
            and first.get_text() != second.get_text()
            and _upright(first)
            and _upright(second)
        ):
            yield f"“{first.get_text()}” and “{second.get_text()}” lie over each other"


def _overlap(first: Bbox, other: Bbox) -> bool:
    across = min(first.x1, other.x1) - max(first.x0, other.x0)
    down = min(first.y1, other.y1) - max(first.y0, other.y0)
    return across > OVER[0] and down > OVER[1]


def _upright(text: Text) -> bool:
    """Whether the box of a text is its letters' and no corner of it is empty."""
    return text.get_rotation() % 90 == 0


def _texts(picture: Figure) -> list[Text]:
    """What is written, without the caption, and without an axis' numbers beyond its ends, which are not drawn."""
    axes = picture.findobj(Axis)
    undrawn = {text for axis in axes for text in _beyond(axis)}
    return [
        text
        for text in picture.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text is not picture.words and text not in undrawn
    ]


def _beyond(axis: Axis) -> Sequence[Text]:
    if not axis.get_visible() or not axis.axes.get_visible() or not axis.axes.axison:
        return axis.findobj(Text)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    drawn = {text for tick in axis._update_ticks() for text in (tick.label1, tick.label2)}
    return [text for tick in ticks for text in (tick.label1, tick.label2) if text not in drawn]


def _at_edges(picture: Figure) -> Iterator[str]:
    pixels = np.asarray(Image.open(io.BytesIO(picture.png())).convert("L"))
    pixels = pixels[: round(pixels.shape[0] * (1 - picture.picture_bottom))]
    for name, line in (("left", pixels[:, 0]), ("right", pixels[:, -1]), ("upper", pixels[0])):
        if (line < DARK).any():
            yield f"ink reaches its {name} edge"
