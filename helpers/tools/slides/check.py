"""Open hand-outs in a real browser without a network, and measure every page on a screen of 1280 × 720.

A page is right if nothing reaches outside it, nothing scrolls, every picture shows and no letter is too small; a file
is right if the browser asked for nothing but the file, and no script failed.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, Route, sync_playwright

WIDTH, HEIGHT = 1280, 720
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TOLERANCE = 1.0  # pixels: sizes are rounded when the browser draws
SMALLEST_LETTER = 16  # pixels of any text: 24 on a screen of 1920 × 1080, a fortieth of the height, for the last row
SMALLEST_CODE = 22

LIMITS = [WIDTH, HEIGHT, TOLERANCE, SMALLEST_LETTER, SMALLEST_CODE]

MEASURE = (Path(__file__).parent / "measure.js").read_text(encoding="utf-8")
COUNT = "() => Reveal.getTotalSlides()"
FACTS = (Path(__file__).parent / "facts.js").read_text(encoding="utf-8")
# All of a page's fragments, then the next page: what a reader sees at the end of each.
SHOW = """(number) => {
  const slide = Reveal.getSlides()[number], {h, v} = Reveal.getIndices(slide);
  Reveal.slide(h, v, slide.querySelectorAll(".fragment").length);
  document.querySelectorAll(".present .fragment").forEach((one) => one.classList.add("visible"));
}"""


# Opens the answer of a question, as a reader does; whether the page has one.
OPEN = """async () => {
  const answer = Reveal.getCurrentSlide().querySelector("details");
  if (answer) answer.open = true;
  await new Promise((done) => setTimeout(done, 50));
  return Boolean(answer);
}"""


@dataclass(frozen=True)
class Problem:
    """What is wrong on a page. page: counted from 1, as the deck counts them; 0 for the file as a whole."""

    deck: str
    page: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.deck}{f', page {self.page}' if self.page else ''}: {self.sentence}"


@dataclass(frozen=True)
class Facts:
    """What a hand-out consists of.

    frames: of its films.  words: the most of a slide but the opening.  code: pixels of the smallest letters of a
    kernel.  lines: the most of a kernel.  drawn: pixels of the smallest letters of a picture.
    """

    pages: int = 0
    pictures: int = 0
    films: int = 0
    frames: int = 0
    kernels: int = 0
    questions: int = 0
    tables: int = 0
    words: int = 0
    code: float = 0
    lines: int = 0
    drawn: float = 0

    def __str__(self) -> str:
        kinds = f"{self.pictures} pictures, {self.films} films of {self.frames} frames, {self.kernels} kernels"
        code = f"code of {self.code:.0f} px in {self.lines} lines at most, " if self.kernels else ""
        return (
            f"{self.pages} slides: {kinds}, {self.questions} questions, {self.tables} tables; "
            f"{self.words} words at most, {code}letters in pictures of {self.drawn:.0f} px or more"
        )


@dataclass(frozen=True)
class Examined:
    """One hand-out after its examination."""

    deck: str
    facts: Facts
    problems: tuple[Problem, ...]


def browser_path() -> str | None:
    """An installed Chromium or Chrome, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def examine(browser: Browser, path: Path, screenshots: Path | None = None) -> Examined:
    """Open one hand-out with the network cut and measure all its pages; screenshots: a folder for a PNG of each."""
    context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, offline=True)
    try:
        page = context.new_page()
        asked: list[str] = []
        failures: list[str] = []
        own = path.resolve().as_uri()

        def answer(route: Route) -> None:
            if route.request.url.split("#")[0] == own:
                route.continue_()
            else:
                asked.append(route.request.url)
                route.abort()

        page.route("**/*", answer)
        page.on("pageerror", lambda error: failures.append(f"a script failed: {error}"))
        page.goto(own)
        if not page.evaluate("() => Boolean(window.Reveal && Reveal.isReady())"):
            failures.append("reveal.js did not start, so that no page could be measured")
            return Examined(path.name, Facts(), tuple(Problem(path.name, 0, sentence) for sentence in failures))
        problems = list(_measured(page, path, screenshots))
        problems += [Problem(path.name, 0, sentence) for sentence in failures]
        problems += [Problem(path.name, 0, f"asks for {url}; a hand-out has to carry all it needs.") for url in asked]
        return Examined(path.name, Facts(**page.evaluate(FACTS)), tuple(problems))
    finally:
        context.close()


def _measured(page: Page, path: Path, screenshots: Path | None) -> Iterator[Problem]:
    for number in range(page.evaluate(COUNT)):
        page.evaluate(SHOW, number)
        for state in ("", "-opened"):
            if state and not page.evaluate(OPEN):
                break
            for sentence in page.evaluate(MEASURE, LIMITS):
                yield Problem(path.name, number + 1, f"{'with its answer opened, ' if state else ''}{sentence}")
            if screenshots:
                page.screenshot(path=screenshots / f"{path.stem}-{number + 1:02}{state}.png")


def report(paths: Sequence[Path], screenshots: Path | None = None) -> int:
    """Examine hand-outs and print what was found. Exit status: 0 if all is well, 1 if not."""
    chromium = browser_path()
    if chromium is None:
        print("No Chromium or Chrome found; install one (Debian, Ubuntu: apt install chromium).", file=sys.stderr)
        return 1
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
    wrong = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for path in paths:
            examined = examine(browser, path, screenshots)
            wrong += len(examined.problems)
            state = f"{len(examined.problems)} problems" if examined.problems else "all fit"
            print(f"{examined.deck}: {examined.facts}; {state}", flush=True)
            for problem in examined.problems:
                print(f"  {problem}")
        browser.close()
    return 1 if wrong else 0
