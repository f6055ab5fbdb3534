"""The files that commands write, slides, a profile, the gallery: what axe-core says of them, light and dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from helpers import plan
from helpers.profile import __main__ as profile
from helpers.tools.gallery import page as gallery
from helpers.tools.gallery.pictures import PICTURES
from helpers.tools.slides.__main__ import write
from tests.browser.axe import serious

EXAMPLE = Path(profile.__file__).parent / "examples" / "saxpy.cu"
SAXPY = ["saxpy", "--grid", "16", "--block", "256", "--args", "2", *["4096"] * 3]
NARROW = 390  # CSS pixels of a telephone


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hand-out, a profile and a gallery of two pictures."""
    folder = tmp_path_factory.mktemp("files")
    write([plan.course().notebook("01").path], folder)
    assert profile.main([str(EXAMPLE), *SAXPY, "--html", str(folder / "profile.html")]) == 0
    gallery.render(folder, PICTURES[:2])
    (folder / "gallery.html").write_text((folder / gallery.FIGURES_PAGE).read_text(encoding="utf-8"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["01_cpu_triple_loop", "profile", "gallery"])
def test_axe_finds_nothing_serious_in_a_written_file(browser, folder, name, scheme):
    page = browser.new_page(viewport={"width": 1280, "height": 720}, color_scheme=scheme)
    page.goto((folder / f"{name}.html").as_uri())
    assert page.title()
    assert serious(page) == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", ["profile", "gallery"])
def test_a_written_file_is_as_narrow_as_a_telephone(browser, folder, name):
    page = browser.new_page(viewport={"width": NARROW, "height": 800})
    page.goto((folder / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    page.close()
