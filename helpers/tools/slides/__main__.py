"""The command: write the hand-outs, and check them where asked."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from helpers import plan
from helpers.slides import deck, planned, route, speaker
from helpers.tools.notebooks import form
from helpers.tools.slides import page

FOLDER = form.ROOT / "build" / "slides"


def write(notebooks: list[Path], folder: Path) -> dict[str, str]:
    """Write a hand-out for each notebook, one for each workshop that needs no others, and index.html.

    Returns file name → title.

    Raises ValueError if a file is no notebook or has what a slide cannot show; page.RevealMissing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in notebooks:
        try:
            notebook = form.read(path.read_text(encoding="utf-8"))
            said = planned.planned(planned.path_of(path).read_text(encoding="utf-8"))
            notes = {step: note.text for step, note in speaker.notes(path).items()}
            book = plan.course().notebook(path.name[:2])
            html = page.deck_page(book, deck.slides(notebook, said, notes))
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from error
        (folder / f"{path.stem}.html").write_text(html, encoding="utf-8")
    course = plan.course()
    for workshop in whole(course, notebooks):
        parts = tuple(route.parts(workshop, course, plan.FOLDER))
        (folder / workshop.file).write_text(page.route_page(workshop, parts), encoding="utf-8")
    glossary = (plan.FOLDER / "glossary.md").read_text(encoding="utf-8")
    (folder / "glossary.html").write_text(page.plain_page("Glossary", deck.markdown(glossary)), encoding="utf-8")
    titles = {}
    for path in sorted(plan.FOLDER.glob("*.ipynb")):
        if (folder / f"{path.stem}.html").is_file():
            titles[f"{path.stem}.html"] = deck.title(form.read(path.read_text(encoding="utf-8")), path)
    titles |= {
        workshop.file: f"A workshop of {workshop.name}"
        for workshop in course.routes
        if (folder / workshop.file).is_file()
    }
    titles["glossary.html"] = "Glossary"
    (folder / "index.html").write_text(page.index_page(titles), encoding="utf-8")
    return titles


def whole(course: plan.Course, notebooks: list[Path]) -> list[plan.Route]:
    """The workshops all of whose notebooks are among these."""
    there = {path.name[:2] for path in notebooks}
    return [
        route
        for route in course.routes
        if all(stop.notebook in there for stop in route.stops if isinstance(stop, plan.Stop))
    ]


def main(arguments: list[str]) -> int:
    """Write, and check with --check. Exit status 1 if something could not be written or does not fit."""
    parser = argparse.ArgumentParser(prog="python -m helpers.tools.slides", description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="notebooks; default: all in notebooks/")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write (build/slides)")
    parser.add_argument("--check", action="store_true", help="open each in a browser without a network, and measure")
    parser.add_argument("--screenshots", type=Path, metavar="FOLDER", help="with --check: a picture of every page")
    options = parser.parse_args(arguments)
    paths = options.paths or sorted(plan.FOLDER.glob("*.ipynb"))
    try:
        write(paths, options.folder)
    except (OSError, ValueError, page.RevealMissing) as error:
        print(error, file=sys.stderr)
        return 1
    routes = whole(plan.course(), paths)
    print(f"{options.folder / 'index.html'}: slides of {len(paths)} notebooks and {len(routes)} workshops")
    if not options.check:
        return 0
    # Needs a browser, which a teacher who only writes the files may not have.
    from helpers.tools.slides import check

    decks = [f"{path.stem}.html" for path in paths] + [workshop.file for workshop in routes]
    return check.report([options.folder / name for name in decks], options.screenshots)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
