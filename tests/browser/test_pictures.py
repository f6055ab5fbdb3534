"""Pictures in JupyterLab in a real browser: the colours of a dark page, alternative text, and paper when printed."""

import io
from collections.abc import Iterator

import numpy as np
import pytest
from nbformat import v4
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from helpers.pictures import theme
from tests.browser.lab import Lab, put, run_all

COLOURS = ("A", "B", "C", "WARP", "TROUBLE", "REFERENCE", "SPEED", "INK", "MUTED", "FAINT", "WASTE", "ON_B", "PAPER")
DRAW = f"""
from helpers.pictures import page, theme
drawn, axes = page.page(200, "Every colour", "A caption that states 13 colours.")
for number, name in enumerate({COLOURS!r}):
    page.fill(axes, page.boxes(20 + 60 * number, 60, 60, 100), getattr(theme, name))
drawn"""
PREDICT = """
from helpers.exercises.framework.predict import predict
asked = predict("Which?", {"this": "Yes.", "that": "No."}, "this", lambda: drawn)
asked.options.value = "this"
asked.commit()
asked"""
FOREIGN = """
import io
from matplotlib.figure import Figure
from IPython.display import Image
out = io.BytesIO()
Figure(figsize=(2, 1)).savefig(out, format="png")
print("reached", "the end")
Image(out.getvalue())"""


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Page]:
    """A notebook that has run."""
    cells = [v4.new_markdown_cell("# Pictures"), *(v4.new_code_cell(text.strip()) for text in (DRAW, PREDICT, FOREIGN))]
    put(lab.folder, "pictures.ipynb", v4.new_notebook(cells=cells))
    with lab.opened("pictures.ipynb") as shown:
        run_all(shown)
        shown.get_by_text("reached the end", exact=True).wait_for()
        yield shown


def colours(picture: Locator) -> np.ndarray:
    """(height, width, 3) what the screen shows of a picture, 0 … 1, when the colours of the page no longer change."""
    before, now = b"", picture.screenshot()
    while before != now:
        picture.page.wait_for_timeout(300)
        before, now = now, picture.screenshot()
    return np.asarray(Image.open(io.BytesIO(now)).convert("RGB")) / 255


def turn(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "true" if scheme == "light" else "false")


@pytest.mark.browser
@pytest.mark.parametrize("where", [".jp-RenderedImage img.jp-CoursePicture", ".widget-html img.jp-CoursePicture"])
def test_pictures_have_words_and_colours_of_a_dark_page(page, where):
    picture = page.locator(where).first
    expect(picture).to_have_attribute("alt", "A caption that states 13 colours.")
    turn(page, "light")
    light = colours(picture)
    assert light[5, 5].min() == 1
    turn(page, "dark")
    wrong = np.abs(colours(picture) - theme.in_the_dark(light)).max(axis=2)
    assert np.quantile(wrong, 0.99) <= 3 / 255
    paper = theme.in_the_dark(light)[5, 5]
    assert np.allclose(paper * 255, 0x11, atol=1), "JupyterLab's dark page"


@pytest.mark.browser
def test_foreign_and_printed_pictures_keep_their_colours(page):
    turn(page, "dark")
    foreign = page.locator(".jp-RenderedImage img:not(.jp-CoursePicture)")
    expect(foreign).to_have_count(1)
    assert foreign.evaluate("image => getComputedStyle(image).filter") == "none"
    ours = page.locator(".jp-CoursePicture").first
    assert ours.evaluate("image => getComputedStyle(image).filter") != "none"
    page.emulate_media(media="print")
    assert ours.evaluate("image => getComputedStyle(image).filter") == "none"
    page.emulate_media(media="screen")
