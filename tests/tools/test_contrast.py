"""Every picture of the gallery can be read on a light page and on a dark one: WCAG 2.2, 1.4.3 and 1.4.11."""

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.colors import to_hex, to_rgb, to_rgba_array
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from helpers.pictures import page, theme
from helpers.tools.gallery.pictures import PICTURES

LARGE, SMALL, MARK = 3.0, 4.5, 3.0  # contrasts: of large letters, of others, of marks
LARGE_BOLD, LARGE_PLAIN = 18.66, 24.0  # CSS pixels: WCAG's "large scale" is 14 points in bold, 18 else
SHARE = 0.9  # of the pixels under a text; a line of the grid may pass there
PAGES = {"light": lambda colours: np.asarray(colours, float), "dark": theme.in_the_dark}
DRAWN = [pytest.param(draw, id=f"{picture.name}: {label}") for picture in PICTURES for label, draw in picture.settings]


def visible(drawn: theme.Figure) -> Iterator[Artist]:
    """The artists that leave something on the paper; an axis that is switched off leaves nothing."""
    hidden = {
        artist
        for axes in drawn.axes
        if not axes.axison
        for axis in (axes.xaxis, axes.yaxis)
        for artist in axis.findobj()
    }
    hidden |= {artist for axes in drawn.axes if not axes.axison for artist in (*axes.spines.values(), axes.patch)}
    for axis in (axis for axes in drawn.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        ticks = (*axis.get_major_ticks(), *axis.get_minor_ticks())
        hidden |= {artist for tick in ticks if not low <= tick.get_loc() <= high for artist in tick.findobj()}
    yield from (artist for artist in drawn.findobj() if artist not in hidden and artist.get_visible())


def letters(shown: list[Artist]) -> list[Artist]:
    letters = (artist for artist in shown if isinstance(artist, Text) or artist.get_gid() == page.LETTERS)
    return [artist for artist in letters if not isinstance(artist, Text) or artist.get_text().strip()]


def under(artist: Artist, paper: np.ndarray, renderer: object) -> np.ndarray:
    """(n, 3) colours, 0 to 255, of the pixels on which the letters of an artist stand."""
    rows, columns = paper.shape[:2]
    if isinstance(artist, Text):
        for effect in artist.get_path_effects():
            if isinstance(effect, withStroke):
                return np.round(255 * np.array([to_rgb(effect._gc["foreground"])])).astype(int)
        box = artist.get_window_extent(renderer)
        y, x = np.mgrid[rows - box.y1 + 2 : rows - box.y0 - 1, box.x0 + 1 : box.x1]
    else:
        x, y = artist.get_transform().transform_path(artist.get_path()).vertices.T
        y = rows - y
    inside = (x >= 0) & (x < columns) & (y >= 0) & (y < rows)
    return paper[y[inside].astype(int), x[inside].astype(int)]


def colours(pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, 3) different colours of pixels, 0 to 1, and how many pixels have each."""
    shades, counts = np.unique(pixels.astype(np.uint32) @ (1 << np.array([16, 8, 0], np.uint32)), return_counts=True)
    return (shades[:, None] >> np.array([16, 8, 0]) & 255) / 255, counts


def needed(artist: Artist) -> float:
    if not isinstance(artist, Text):
        return SMALL
    size = artist.get_fontsize() * page.PIXELS_A_POINT
    return LARGE if size >= (LARGE_BOLD if artist.get_weight() == "bold" else LARGE_PLAIN) else SMALL


def colour_of(artist: Artist) -> np.ndarray:
    return np.array(to_rgb(artist.get_color() if isinstance(artist, Text) else artist.get_facecolor()))


def fills(shown: list[Artist]) -> Iterator[tuple[str, np.ndarray]]:
    """Every opaque colour that a picture fills or draws a line with, and the label of what has it."""
    for artist in shown:
        if isinstance(artist, Text) or artist.get_gid() == page.LETTERS:
            continue
        colours = to_rgba_array([])
        if isinstance(artist, Collection | Patch):
            colours = to_rgba_array(artist.get_facecolor())
        elif isinstance(artist, Line2D):
            line = artist.get_linestyle() != "None"
            colours = to_rgba_array(artist.get_color() if line else artist.get_markeredgecolor())
        yield from ((str(artist.get_label()), colour[:3]) for colour in colours if colour[3] == 1)


def weak_letters(drawn: theme.Figure, texts: list[Artist]) -> Iterator[str]:
    """Letters without enough contrast to what is under them."""
    for text in texts:
        text.set_alpha(0)
    drawn.canvas.draw()
    paper = np.asarray(drawn.canvas.buffer_rgba())[..., :3]
    for text in texts:
        shades, counts = colours(under(text, paper, drawn.canvas.get_renderer()))
        for name, seen in PAGES.items():
            enough = theme.contrast(seen(colour_of(text)), seen(shades)) >= needed(text)
            if counts[enough].sum() < SHARE * counts.sum():
                most = shades[~enough][counts[~enough].argmax()]
                ratio = float(theme.contrast(seen(colour_of(text)), seen(most)))
                words = text.get_text() if isinstance(text, Text) else text.get_label()
                yield f"{words!r} on a {name} page: {ratio:.2f}, needs {needed(text)}"


def weak_marks(shown: list[Artist]) -> Iterator[str]:
    """Colours that are neither a mark, which stands out from the paper, nor a ground for ink."""
    paper, ink = to_rgb(theme.PAPER), to_rgb(theme.INK)
    for label, colour in fills(shown):
        for name, seen in PAGES.items():
            to_paper, to_ink = (float(theme.contrast(seen(colour), seen(other))) for other in (paper, ink))
            if to_paper < MARK and to_ink < SMALL:
                yield f"{label} {to_hex(colour)} on a {name} page: {to_paper:.2f} to paper, {to_ink:.2f} to ink"


@pytest.mark.parametrize("draw", DRAWN)
def test_letters_and_marks_contrast_on_light_and_dark_pages(draw):
    drawn = draw()
    if not isinstance(drawn, theme.Figure):
        pytest.skip("drawn as HTML, in the page's own colours")
    shown = list(visible(drawn))
    texts = letters(shown)
    assert texts
    assert set(weak_marks(shown)) | set(weak_letters(drawn, texts)) == set()
