"""The visual language: figures of one width with a caption, colours that can be told apart, numbers as in prose."""

import gc
import io
import itertools
import weakref

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from helpers.pictures import theme

CAPTION = "Load of A: 32 sectors for 128 useful bytes."


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def test_every_picture_has_one_width_in_the_file_and_on_the_page():
    short, tall = theme.Figure(1.0, CAPTION), theme.Figure(4.0, CAPTION * 10)
    assert pixels(short.png()).shape[1] == pixels(tall.png()).shape[1] == 1296
    assert short.css_size()[0] == tall.css_size()[0] == 900


def test_picture_is_opaque_with_white_edges_for_dark_pages():
    image = Image.open(io.BytesIO(theme.Figure(1.0, CAPTION).png()))
    assert image.mode == "P" and "transparency" not in image.info
    assert (pixels(theme.Figure(1.0, CAPTION).png())[:3] == 255).all()


def test_the_same_picture_is_the_same_bytes():
    assert theme.Figure(1.0, CAPTION).png() == theme.Figure(1.0, CAPTION).png()


def test_notebook_gets_the_picture_its_size_and_caption_text():
    data, metadata = theme.Figure(1.0, CAPTION)._repr_mimebundle_()
    assert data["text/plain"] == CAPTION
    assert data["image/png"].startswith(b"\x89PNG")
    assert metadata["image/png"] == {"width": 900, "height": 136, "alt": CAPTION}


def test_a_picture_without_a_caption_is_refused():
    with pytest.raises(ValueError, match="states the number"):
        theme.Figure(1.0, "  ")


def test_long_caption_wraps_inside_the_picture_without_loss():
    words = [f"word{number}" for number in range(60)]
    drawn = theme.Figure(1.0, " ".join(words))
    (text,) = drawn.texts
    assert text.get_text().split() == words
    assert text.get_text().count("\n") >= 3
    right = text.get_window_extent(drawn.canvas.get_renderer()).x1
    assert right < 1296


def test_reserved_caption_lines_keep_the_height_the_same():
    figure = theme.Figure(1.0, "Short.", caption_lines=3)
    other = theme.Figure(1.0, CAPTION * 5, caption_lines=3)
    assert figure.css_size() == other.css_size()


def test_figure_is_freed_with_its_last_reference():
    drawn = theme.Figure(1.0, CAPTION)
    drawn.png()
    gone = weakref.ref(drawn)
    del drawn
    gc.collect()
    assert gone() is None
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("first", "other", "ratio"), [("#000000", "#FFFFFF", 21), ("#767676", "#FFFFFF", 4.54)])
def test_the_contrast_is_that_of_wcag(first, other, ratio):
    assert theme.contrast(to_rgb(first), to_rgb(other)) == pytest.approx(ratio, abs=0.005)
    assert theme.contrast(to_rgb(other), to_rgb(first)) == pytest.approx(ratio, abs=0.005)


MARKS = (theme.A, theme.B, theme.C, theme.WARP, theme.TROUBLE, theme.REFERENCE, theme.SPEED)
IN_LETTERS = (*theme.ARRAY_NAMES.values(), theme.WARP, theme.TROUBLE, theme.SPEED, theme.INK, theme.MUTED)
PAGES = {"light": lambda colour: np.array(to_rgb(colour)), "dark": lambda colour: theme.in_the_dark(to_rgb(colour))}


@pytest.mark.parametrize("page", PAGES)
def test_marks_contrast_with_paper_and_letters_with_marks(page):
    seen = PAGES[page]
    assert all(theme.contrast(seen(mark), seen(theme.PAPER)) >= 3 for mark in MARKS)
    assert all(theme.contrast(seen(ink), seen(theme.PAPER)) >= 4.5 for ink in IN_LETTERS)
    on_fills = [mark for mark in MARKS if mark not in (theme.REFERENCE, theme.SPEED)]
    assert all(theme.contrast(seen(theme.ink_on(fill)), seen(fill)) >= 4.5 for fill in on_fills)
    assert (theme.ink_on(theme.A), theme.ink_on(theme.B), theme.ink_on("#EEEEEE")) == (
        theme.PAPER, theme.ON_B, theme.INK,
    )  # fmt: skip


def test_dark_page_swaps_light_and_dark_and_keeps_colours_warm():
    paper, ink = theme.in_the_dark(to_rgb(theme.PAPER)), theme.in_the_dark(to_rgb(theme.INK))
    assert np.allclose(paper * 255, 0x11, atol=0.5), "JupyterLab's dark page"
    assert ink.min() > 0.85 and np.ptp(ink) < 0.01
    for warm in (theme.B, theme.TROUBLE):
        red, green, blue = theme.in_the_dark(to_rgb(warm))
        assert red > green > blue and red >= to_rgb(warm)[0]
    blue, purple, green = (theme.in_the_dark(to_rgb(colour)) for colour in (theme.A, theme.WARP, theme.C))
    assert (blue.argmax(), green.argmax(), purple.argmin()) == (2, 1, 1)
    assert theme.in_the_dark(np.zeros((4, 5, 3))).shape == (4, 5, 3)


# Machado, Oliveira and Fernandes 2009, in full: who has no cones for long, medium or short waves.
COLOUR_BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    "all cones": np.eye(3),
}
TO_CONES = [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
TO_OKLAB = [[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]
LEAST_DISTANCE = 0.045  # in OKLab; the palette of Okabe and Ito with its purple darkened has 0.050, on paper alone


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("eye", COLOUR_BLIND)
def test_marks_differ_for_colour_blind_readers_too(page, eye):
    def seen(colour: str) -> np.ndarray:
        channels = PAGES[page](colour)
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return TO_OKLAB @ np.cbrt(TO_CONES @ np.clip(COLOUR_BLIND[eye] @ linear, 0, 1))

    chosen = [mark for mark in MARKS if mark != theme.SPEED]  # a bar or a dot, never beside a matrix
    distance = {(a, b): float(np.linalg.norm(seen(a) - seen(b))) for a, b in itertools.combinations(chosen, 2)}
    assert min(distance.values()) >= LEAST_DISTANCE, min(distance, key=distance.get)


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


@pytest.mark.parametrize(
    ("quartiles", "text"), [((95, 100, 114), "100"), ((5800, 9000, 12163), "5\u202f800 to 12\u202f163")]
)
def test_times_that_scatter_are_shown_by_their_quartiles(quartiles, text):
    assert theme.median(*quartiles) == text


def test_numbers_left_out_in_words_go_on_as_those_before_them():
    assert theme.runs(range(0, 64, 4)) == "0, 4, 8, …, 60"
    assert theme.runs([0, 4, 8, 12, 17, 63]) == "0, 4, 8 and others up to 63"
    assert theme.runs([0, 1, 4, 5, 8, 9, 12, 13, 16, 17]) == "0 and 1, 4 and 5, 8 and 9, …, 16 and 17"
    assert theme.runs([24, 25, 29]) == "24, 25 and 29" and theme.runs([4, 5]) == "4 and 5"
