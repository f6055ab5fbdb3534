"""What the README, the first notebook and the page for teachers say of all notebooks, written from the plan.

    python -m helpers.tools.pages.course [--fix]

These are the README's table, the map of the course in the first notebook, and the routes of the workshops on the page
for teachers; the page of where each idea is taught; and the README's buttons for Colab and Binder. Without --fix it
only says whether they are up to date (exit status 1 if not).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from helpers import plan
from helpers.plan import Course, Notebook, Pause, Route
from helpers.slides import steps
from helpers.tools.notebooks import form
from helpers.tools.pages import coverage
from helpers.tools.pages.markers import Markers, command_line

ROOT = Path(__file__).resolve().parents[3]
COMMAND = "make format"
TABLE, MAP, ROUTES, BADGES, COVERAGE = (
    Markers(name, COMMAND) for name in ("notebooks", "map", "routes", "badges", "coverage")
)
GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")


def table(course: Course, folder: Path) -> str:
    """The README's table of all notebooks, their time, and where their routes are."""
    *most, last = (f"of {route.name}" for route in course.routes)
    routes = f"{', '.join(most)} and {last}" if most else last
    return (
        f"{_rows(course, folder, f'{folder.name}/')}\n\n"
        f"At your own pace they take about {hours(_minutes(course, folder))}.\n"
        f"The [page for teachers]({folder.name}/teachers.md) has routes through them for workshops {routes}."
    )


def map_of(course: Course, folder: Path) -> str:
    """The map of the course as the first notebook shows it: all notebooks, and their time together."""
    rows = _rows(course, folder, here=course.notebooks[0])
    return f"{rows}\n\nAt your own pace these notebooks take about {hours(_minutes(course, folder))}."


def _rows(course: Course, folder: Path, prefix: str = "", here: Notebook | None = None) -> str:
    """A table with a row per notebook, linked where its file is there. prefix: of links.  here: whose reader reads."""
    rows = ["| | Notebook | What it is about | Minutes |", "|---|---|---|---|"]
    for notebook in course.notebooks:
        if notebook == here:
            name = f"**{notebook.title}** *(you are here)*"
        elif (folder / notebook.file).exists():
            name = f"[{notebook.title}]({prefix}{notebook.file})"
        else:
            name = f"{notebook.title} *(in preparation)*"
        rows.append(f"| {notebook.number} | {name} | {notebook.idea} | {notebook.minutes} |")
    return "\n".join(rows)


def _minutes(course: Course, folder: Path) -> int:
    """Minutes of all notebooks that are there. ValueError if one is there that is not in the plan."""
    there = {path.name for path in folder.glob("*.ipynb")}
    unknown = sorted(there - {notebook.file for notebook in course.notebooks})
    if unknown:
        raise ValueError(f"{unknown[0]} is not in the plan: add a row to {folder.name}/{plan.FILE}")
    return sum(notebook.minutes for notebook in course.notebooks if notebook.file in there)


def hours(minutes: int) -> str:
    """'50 minutes', '2½ hours': to the half-hour from one hour on."""
    halves = round(minutes / 30)
    if halves < 2:
        return f"{minutes} minutes"
    whole, half = divmod(halves, 2)
    return f"{whole}{'½' if half else ''} hour{'s' if halves > 2 else ''}"


def route_table(route: Route, course: Course, folder: Path) -> str:
    """The route in Markdown: at which minute, in which notebook, which steps, how long, and what for."""
    rows = ["| From | Notebook | Steps to show | Minutes | What for |", "|---|---|---|---|---|"]
    clock = 0
    for stop in route.stops:
        minutes = steps.stop_minutes(stop, course, folder)
        start = f"{clock // 60}:{clock % 60:02}"
        clock += minutes
        if isinstance(stop, Pause):
            rows.append(f"| {start} | | | {minutes} | {stop.what} |")
            continue
        file = course.notebook(stop.notebook).file
        titles = steps.titles(folder / file)
        shown = " · ".join(f"**{step}** {titles[step].split(':')[0].split('?')[0]}" for step in stop.steps)
        rows.append(f"| {start} | [{stop.notebook}]({file}) | {shown} | {minutes} | {stop.why} |")
    return "\n".join(rows)


def routes(course: Course, folder: Path) -> str:
    """All routes, each with what it promises and its table."""
    parts = []
    for route in course.routes:
        minutes = steps.route_minutes(route, course, folder)
        parts.append(f"**A workshop of {route.name}** ({minutes} minutes). {route.promise} Its slides: `{route.file}`.")
        parts.append(route_table(route, course, folder))
    return "\n\n".join(parts)


def badges(address: str, first: str) -> str:
    """Markdown of the buttons that open the first notebook on Colab and on Binder, which read from GitHub alone.

    address: of the repository; "" or one elsewhere gives no button.
    first: the notebook's path in the repository.
    """
    github = GITHUB.fullmatch(address)
    if github is None:
        return ""
    colab = f"https://colab.research.google.com/github/{github[1]}/blob/main/{first}"
    binder = f"https://mybinder.org/v2/gh/{github[1]}/HEAD?urlpath=lab/tree/{first}"
    return (
        f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})\n"
        f"[![Open on Binder](https://mybinder.org/badge_logo.svg)]({binder})"
    )


def in_notebook(notebook: str, markers: Markers, new: str, where: str) -> str:
    """A notebook file's text with the new text between markers in one of its cells, in canonical form.

    Raises ValueError if no cell has the markers.
    """
    read = form.read(notebook)
    cell = next((cell for cell in read.cells if markers.are_in(cell.source)), None)
    written = markers.replaced(cell.source if cell else "", new, where)
    if cell.source == written:
        return notebook
    cell.source = written
    return form.written(form.mended(read))


def wanted(root: Path = ROOT) -> dict[Path, str]:
    """The pages, and the text that each should have. Raises ValueError with a sentence."""
    folder = root / "notebooks"
    course = plan.read((folder / plan.FILE).read_text(encoding="utf-8"))
    readme, first, teachers = root / "README.md", folder / course.notebooks[0].file, folder / "teachers.md"
    buttons = badges(form.repository_address(root / "pyproject.toml"), f"notebooks/{first.name}")
    where = folder / coverage.PAGE
    taught = coverage.read((folder / coverage.FILE).read_text(encoding="utf-8"), course, folder)
    page = TABLE.replaced(readme.read_text(encoding="utf-8"), table(course, folder), readme.name)
    return {
        readme: BADGES.replaced(page, buttons, readme.name),
        first: in_notebook(first.read_text(encoding="utf-8"), MAP, map_of(course, folder), first.name),
        teachers: ROUTES.replaced(teachers.read_text(encoding="utf-8"), routes(course, folder), teachers.name),
        where: COVERAGE.replaced(where.read_text(encoding="utf-8"), coverage.page(taught, course), where.name),
    }


def main(arguments: list[str]) -> int:
    """Compare or write. Exit status 1 if a page is not up to date (and --fix was not given)."""
    return command_line(arguments, __spec__.name, __doc__, COMMAND, wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
