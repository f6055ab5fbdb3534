"""The README's moving picture, from the project itself: an explorer is dragged, and a wrong kernel is answered.

    python -m tests.browser.film [FOLDER]

Runs a notebook of two cells in JupyterLab, in the simulator, and writes film-light.webp and film-dark.webp into
notebooks/images. `make film` calls it; it needs a Chromium.
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from helpers import exercises, plan
from helpers.exercises.framework import kept
from helpers.tools.slides import check
from tests.browser.lab import course_lab, drawn, put, run_all

SIZE = {"width": 1040, "height": 720}
NAME = "film.ipynb"
STEP, STAND, READ = 180, 1000, 4500  # milliseconds of a frame: while something moves, before it, and to be read
LARGEST = 2_000_000  # bytes of a film
LOOP = "k < K"  # the slip is typed behind its second letter


def notebook() -> NotebookNode:
    """An explorer, and the solution of an exercise."""
    cells = [
        new_markdown_cell("# Which sectors does a warp fetch?"),
        new_code_cell(
            "from helpers.pictures.coalescing import explorer as coalescing\n\ncoalescing.explore(block=(32, 1))"
        ),
        new_code_cell(f"%%cuda naive\n{exercises.get('naive').solved.strip()}"),
    ]
    return new_notebook(cells=cells)


def frames(page: Page) -> Iterator[tuple[Image.Image, int]]:
    """(a picture of the page, its milliseconds)."""
    page.set_viewport_size(SIZE)
    if page.locator(".jp-FileBrowser").is_visible():
        page.keyboard.press("Escape")
        page.keyboard.press("Control+b")
        expect(page.locator(".jp-FileBrowser")).not_to_be_visible()
    explorer = page.locator(".gemm-explorer")
    picture = explorer.locator("img.widget-image")
    picture.wait_for()
    explorer.evaluate("one => one.scrollIntoView()")
    yield _seen(page), STAND
    sliders = explorer.get_by_role("slider")
    said = [slider.get_attribute("aria-valuetext") for slider in sliders.all()]
    sliders.nth(1).focus()
    for key in ("ArrowLeft", "ArrowRight"):
        for _ in range(4):
            with _redrawn(picture):
                page.keyboard.press(key)
            yield _seen(page), STEP
    for slider, value in zip(sliders.all(), said, strict=True):  # there and back, and no other one has moved
        expect(slider).to_have_attribute("aria-valuetext", value)
    with _redrawn(picture):
        explorer.get_by_text("the column index").click()
    yield _seen(page), 2 * STAND
    cell = page.locator(".jp-CodeCell").last
    cell.evaluate("one => one.scrollIntoView()")
    line = cell.locator(".cm-line", has_text=LOOP)
    line.click()
    page.keyboard.press("Home")
    for _ in range(line.inner_text().strip().index(LOOP) + len("k <")):
        page.keyboard.press("ArrowRight")
    yield _seen(page), 2 * STAND
    page.keyboard.type("=")
    yield _seen(page), STAND
    page.keyboard.press("Control+Enter")
    cell.locator(".jp-OutputArea-output").filter(has_text="Why:").first.wait_for()
    page.wait_for_timeout(500)
    yield _seen(page), READ


@contextmanager
def _redrawn(picture: Locator) -> Iterator[None]:
    """What is done inside leads to another picture, which is there at the end."""
    before = picture.get_attribute("src")
    yield
    expect(picture).not_to_have_attribute("src", before)
    drawn(picture)


def _seen(page: Page) -> Image.Image:
    page.wait_for_timeout(60)
    page.mouse.move(0, 0)
    box = page.locator(".jp-NotebookPanel-notebook").bounding_box()
    return Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB")


def write(path: Path, shown: list[tuple[Image.Image, int]]) -> None:
    """An animated WebP. ValueError if it is larger than a page may load for it."""
    pictures, times = zip(*shown, strict=True)
    first, *others = pictures
    first.save(path, save_all=True, append_images=others, duration=list(times), loop=0, quality=70, method=4)
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path.name} has {path.stat().st_size:,} bytes; {LARGEST:,} is the most")


def main(arguments: list[str]) -> int:
    target = Path(arguments[0]) if arguments else plan.FOLDER / "images"
    chromium = check.browser_path()
    if chromium is None:
        sys.exit("No Chromium or Chrome found; install one (Debian, Ubuntu: apt install chromium).")
    with tempfile.TemporaryDirectory() as kernels_folder:
        folder = Path(kernels_folder)
        with course_lab(folder, chromium, **{kept.ENVIRONMENT_VARIABLE: str(folder / "my")}) as lab:
            for scheme in ("light", "dark"):
                put(folder, NAME, notebook())
                with lab.opened(NAME) as page:
                    page.emulate_media(color_scheme=scheme)
                    run_all(page)
                    page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").first.wait_for()
                    path = target / f"film-{scheme}.webp"
                    write(path, list(frames(page)))
                    print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
