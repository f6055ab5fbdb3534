"""Look at every live slide of notebooks as a room does, on a screen of 1920 × 1080, with the check of the hand-outs.

    python -m tests.browser.live_slides [--screenshots FOLDER] [notebook …]

Runs each notebook in JupyterLab, goes through its slides, commits to each prediction, and says what is too small, cut
off or broken. `make slides CHECK=1` calls it behind the check of the hand-outs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Page

from helpers import plan
from helpers.tools.notebooks import form
from helpers.tools.slides import check
from tests.browser.lab import Lab, course_lab, put, run_all

SCREEN = {"width": 1920, "height": 1080}
LARGER = SCREEN["width"] / check.WIDTH  # than a hand-out's page
LIMITS = [*SCREEN.values(), 2 * check.TOLERANCE, check.SMALLEST_LETTER * LARGER, check.SMALLEST_CODE * LARGER]
IDLE = ".jp-Notebook-ExecutionIndicator[data-status='idle']"
WHOLE = "The whole notebook"


def show(page: Page, name: str = WHOLE) -> None:
    """Press Slides, and choose the show whose name begins so."""
    page.get_by_role("button", name="Slides", exact=True).locator("visible=true").click()
    slide = page.locator(".course-slide")
    listed = page.locator(".jp-Dialog select")
    listed.or_(slide).first.wait_for()
    if listed.count():
        (option,) = (text for text in listed.locator("option").all_inner_texts() if text.startswith(name))
        listed.select_option(option)
        page.get_by_role("button", name="Show", exact=True).click()
        slide.wait_for()


def problems(page: Page, name: str, screenshots: Path | None) -> Iterator[check.Problem]:
    """What is wrong on the slides of the notebook that the page shows, whose cells have run."""
    page.set_viewport_size(SCREEN)
    show(page)
    count = int(page.locator(".jp-CourseShow-page").inner_text().split("/")[1].split("·")[0])
    for number in range(1, count + 1):
        _wait(page)
        states = ["", "-opened"] if page.locator(".course-slide .ask").count() else [""]
        for state in states:
            if state and not page.locator(".course-slide .gemm-committed").count():
                page.locator(".course-slide").get_by_role("radio").first.check()
                page.locator(".course-slide").get_by_role("button", name="Commit").click()
                page.locator(".course-slide .gemm-committed").wait_for()
                page.wait_for_timeout(300)
            for sentence in page.evaluate(check.MEASURE, LIMITS):
                yield check.Problem(name, number, f"{'with its answer opened, ' if state else ''}{sentence}")
            if screenshots:
                page.screenshot(path=screenshots / f"{Path(name).stem}-{number:02}{state}.png")
        page.keyboard.press("PageDown")


def _wait(page: Page) -> None:
    """Until what the slide shows is there and has its size."""
    page.locator(".course-slide .shown > *, .course-slide.opening").first.wait_for(state="attached")
    page.locator(IDLE).first.wait_for(state="attached")
    page.wait_for_function("() => [...document.querySelectorAll('.course-slide img')].every((one) => one.complete)")
    page.wait_for_timeout(200)


def examined(lab: Lab, path: Path, screenshots: Path | None = None) -> list[check.Problem]:
    """What is wrong on the live slides of a notebook."""
    put(lab.folder, path.name, form.read(path.read_text(encoding="utf-8")))
    with lab.opened(path.name) as page:
        run_all(page)
        page.locator(IDLE).wait_for()
        return list(problems(page, path.name, screenshots))


def main(arguments: list[str]) -> int:
    """Exit status 1 if something does not fit."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.live_slides", description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; default: all in notebooks/")
    parser.add_argument("--screenshots", type=Path, metavar="FOLDER", help="a picture of every slide")
    options = parser.parse_args(arguments)
    chromium = check.browser_path()
    if chromium is None:
        sys.exit("No Chromium or Chrome found; install one (Debian, Ubuntu: apt install chromium).")
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        with course_lab(folder, chromium) as lab:
            for path in options.paths or sorted(plan.FOLDER.glob("*.ipynb")):
                problems = examined(lab, path, options.screenshots)
                wrong += len(problems)
                print(f"{path.name}, live: {f'{len(problems)} problems' if problems else 'all fit'}", flush=True)
                for problem in problems:
                    print(f"  {problem}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
