"""The visual language: figures of one width with a caption, colours that can be told apart, numbers as in prose."""

import gc
import io
import weakref

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from helpers.draw import theme

CAPTION = "Load of A: 32 sectors for 128 useful bytes."


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2.2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_picture_is_as_wide_as_the_others_in_the_file_and_on_the_page():
    short, tall = theme.Figure(1.0, CAPTION), theme.Figure(4.0, CAPTION * 10)
    assert pixels(short.png()).shape[1] == pixels(tall.png()).shape[1] == 1296
    assert short.css_size()[0] == tall.css_size()[0] == 900


def test_a_picture_is_opaque_and_white_at_its_edges_so_that_it_reads_on_a_dark_page():
    image = Image.open(io.BytesIO(theme.Figure(1.0, CAPTION).png()))
    assert image.mode == "P" and "transparency" not in image.info
    assert (pixels(theme.Figure(1.0, CAPTION).png())[:3] == 255).all()


def test_the_same_picture_is_the_same_bytes():
    assert theme.Figure(1.0, CAPTION).png() == theme.Figure(1.0, CAPTION).png()


def test_a_notebook_gets_the_picture_with_its_size_and_the_caption_as_text():
    data, metadata = theme.Figure(1.0, CAPTION)._repr_mimebundle_()
    assert data["text/plain"] == CAPTION
    assert data["image/png"].startswith(b"\x89PNG")
    assert metadata["image/png"] == {"width": 900, "height": 136, "alt": CAPTION}


def test_a_picture_without_a_caption_is_refused():
    with pytest.raises(ValueError, match="states the number"):
        theme.Figure(1.0, "  ")


def test_a_long_caption_is_wrapped_inside_the_picture_and_loses_no_word():
    words = [f"word{number}" for number in range(60)]
    drawn = theme.Figure(1.0, " ".join(words))
    (text,) = drawn.texts
    assert text.get_text().split() == words
    assert text.get_text().count("\n") >= 3
    right = text.get_window_extent(drawn.canvas.get_renderer()).x1
    assert right < 1296


def test_reserved_caption_lines_keep_the_height_the_same():
    one = theme.Figure(1.0, "Short.", caption_lines=3)
    other = theme.Figure(1.0, CAPTION * 5, caption_lines=3)
    assert one.css_size() == other.css_size()


def test_a_figure_is_freed_with_its_last_reference_and_pyplot_never_knows_it():
    drawn = theme.Figure(1.0, CAPTION)
    drawn.png()
    gone = weakref.ref(drawn)
    del drawn
    gc.collect()
    assert gone() is None
    assert plt.get_fignums() == []


def test_the_matrices_have_three_colours_and_white_text_reads_on_the_warps():
    assert len({theme.A, theme.B, theme.C, theme.WARP, theme.TROUBLE}) == 5
    assert contrast(theme.WARP, theme.PAPER) > 4.5
    assert contrast(theme.MUTED, theme.PAPER) > 4.5
    assert contrast(theme.TROUBLE, theme.PAPER) > 3  # large bold type


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(6249.4, 0, "6\u202f249"), (2.5, 1, "2.5"), (999, 0, "999"), (1e6, 0, "1\u202f000\u202f000")],
)
def test_numbers_are_grouped_by_thousands(value, digits, text):
    assert theme.thousands(value, digits) == text


def test_a_noun_follows_its_number():
    assert theme.plural(1, "sector") == "1\u00a0sector"
    assert theme.plural(32, "sector") == "32\u00a0sectors"
    assert theme.plural(2, "launch", "es") == "2\u00a0launches"
    assert theme.signed(-0.9) == "\u22120.90"


@pytest.mark.parametrize(("share", "text"), [(0.125, "12.5\u202f%"), (1.0, "100\u202f%"), (2 / 3, "66.7\u202f%")])
def test_shares_are_percentages(share, text):
    assert theme.percent(share) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(2.5, 1, "2.5"), (2.0, 1, "2"), (1024, 0, "1\u202f024"), (0.25, 3, "0.25"), (10, 2, "10")],
)
def test_a_number_has_no_digit_that_says_nothing(value, digits, text):
    assert theme.number(value, digits) == text


def test_an_index_has_a_z_only_if_there_is_one():
    assert (theme.index((3, 1, 0)), theme.index((0, 0, 2))) == ("(3,\u00a01)", "(0,\u00a00,\u00a02)")


def test_a_text_that_is_cut_says_so():
    assert (theme.cut("abc", 3), theme.cut("abcd", 3)) == ("abc", "ab…")
