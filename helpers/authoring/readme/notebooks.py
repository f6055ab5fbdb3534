"""The table of notebooks in README.md and the map in the first notebook, made from the plan below and what exists.

    python -m helpers.authoring.readme.notebooks [--fix]

Without --fix it only says whether both are up to date (exit status 1 if not).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from helpers.authoring.notebooks import course_map
from helpers.authoring.notebooks import form as notebook_form

ROOT = Path(__file__).resolve().parents[3]
BEGIN = "<!-- notebooks: begin, written by `make format` -->"
END = "<!-- notebooks: end -->"
BADGES_BEGIN = "<!-- badges: begin, written by `make format` -->"
BADGES_END = "<!-- badges: end -->"
FIRST = "00_start_here.ipynb"
GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")


@dataclass(frozen=True)
class Planned:
    """One notebook of the course. number: the two digits its file begins with. idea: what it teaches, in one line."""

    number: str
    title: str
    idea: str


PLAN = (
    Planned("00", "Start here", "What is on this machine; the host's seven steps; what a launch may ask for"),
    Planned("01", "The CPU triple loop", "FLOPs, bytes, cache lines, and the fastest possible time: the roofline"),
    Planned("02", "Threads and indices", "Grid, block, warp, thread: who computes which element of C"),
    Planned("03", "Coalescing", "Requests and sectors: why x along rows is ten times slower"),
    Planned("04", "Shared memory", "Tiles, reuse, and why there are two barriers"),
    Planned("05", "Occupancy", "Registers, warps, shared memory, blocks: four limits, counted by hand"),
    Planned("06", "Register tiling", "Many results per thread: more FMAs for each load"),
    Planned("07", "Bank conflicts", "32 banks, broadcasts, transposing, padding and swizzling"),
    Planned("08", "Vectorization", "float4: what becomes one instruction, and what stays the same"),
    Planned("09", "Double buffering", "Loading the next tile while this one is multiplied, and when that loses"),
    Planned("10", "Warptiling", "Block, warp, thread: the third level, and the map of its lanes"),
    Planned("11", "Autotuning", "The space of tile sizes, the rules that prune it, the search"),
    Planned("12", "Beating cuBLAS", "The whole ladder by size and by shape, and what the last step adds"),
)


def title_of(path: Path) -> str:
    """The heading of a notebook's first cell. Raises ValueError if it has none."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    first = "".join(cells[0]["source"]).strip().split("\n")[0] if cells else ""
    if not first.startswith("# "):
        raise ValueError(f"{path.name}: the first cell does not begin with '# ' and the title")
    return first[2:].strip()


def table(folder: Path, plan: tuple[Planned, ...] = PLAN) -> str:
    """The Markdown table: every planned notebook, with a link and its own title if its file is in folder.

    Raises ValueError if a notebook is not in the plan, or two have one number.
    """
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("*.ipynb")):
        number = path.name[:2]
        if number not in {one.number for one in plan}:
            raise ValueError(f"{path.name} is not in the plan: add it to PLAN in helpers/authoring/readme/notebooks.py")
        if number in files:
            raise ValueError(f"{files[number].name} and {path.name} have one number")
        files[number] = path
    rows = ["| | Notebook | What it is about | Minutes |", "|---|---|---|---|"]
    total = 0
    for one in plan:
        path = files.get(one.number)
        title = f"[{title_of(path)}]({folder.name}/{path.name})" if path else f"{one.title} *(in preparation)*"
        minutes = course_map.minutes_of(path) if path else 0
        total += minutes
        rows.append(f"| {one.number} | {title} | {one.idea} | {minutes or ''} |")
    routes = " and ".join(f"of {route.name}" for route in course_map.ROUTES)
    rows.append(f"\nAt your own pace they take about {course_map.hours(total)}.")
    rows.append(f"Notebook 00 has routes through them for workshops {routes}.")
    return "\n".join(rows)


def replaced(readme: str, new_table: str) -> str:
    """The README's text with new_table between its markers. Raises ValueError if a marker is missing."""
    return course_map.replaced(readme, new_table, BEGIN, END, "README.md", "the table of notebooks")


def badges(address: str, first: str) -> str:
    """Markdown of the buttons that open the first notebook on Colab and on Binder, which read from GitHub alone.

    address: of the repository; "" or one elsewhere gives no button.  first: the notebook's path in the repository.
    """
    github = GITHUB.fullmatch(address)
    if github is None:
        return ""
    colab = f"https://colab.research.google.com/github/{github[1]}/blob/main/{first}"
    binder = f"https://mybinder.org/v2/gh/{github[1]}/HEAD?urlpath=lab/tree/{first}"
    return (
        f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})\n"
        f"[![Open on Binder](https://mybinder.org/badge_logo.svg)]({binder})\n"
    )


def with_badges(readme: str, buttons: str) -> str:
    """The README's text with the buttons between their markers; as it is where it has no markers."""
    if BADGES_BEGIN not in readme or BADGES_END not in readme:
        return readme
    return course_map.replaced(readme, buttons.removesuffix("\n"), BADGES_BEGIN, BADGES_END)


def wanted_texts(root: Path, plan: tuple[Planned, ...] = PLAN) -> dict[Path, str]:
    """The files that tell of all notebooks, and the text that each should have. Raises ValueError with a sentence."""
    readme, folder = root / "README.md", root / "notebooks"
    buttons = badges(notebook_form.repository_address(root / "pyproject.toml"), f"notebooks/{FIRST}")
    wanted = {readme: with_badges(replaced(readme.read_text(encoding="utf-8"), table(folder, plan)), buttons)}
    for first in sorted(folder.glob("00*.ipynb")):
        with_map = course_map.updated(first.read_text(encoding="utf-8"), course_map.text(folder, plan))
        begin, end = course_map.ROUTES_BEGIN, course_map.ROUTES_END
        wanted[first] = course_map.updated(with_map, course_map.routes_text(folder), begin, end)
    for page in folder.glob("teachers.md"):
        text = page.read_text(encoding="utf-8")
        begin, end = course_map.ROUTES_BEGIN, course_map.ROUTES_END
        wanted[page] = course_map.replaced(text, course_map.routes_text(folder), begin, end, page.name, "the routes")
    return wanted


def main(arguments: list[str]) -> int:
    """Compare or rewrite both. Exit status 1 if one is not up to date (and --fix was not given)."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.authoring.readme.notebooks", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--fix", action="store_true", help="write the table and the map")
    options = parser.parse_args(arguments)
    try:
        wanted = wanted_texts(ROOT)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    stale = [path for path, text in wanted.items() if path.read_text(encoding="utf-8") != text]
    for path in stale:
        if options.fix:
            path.write_text(wanted[path], encoding="utf-8", newline="\n")
            print(f"{path.name}: wrote the list of notebooks")
        else:
            print(f"{path.name}: the list of notebooks is not up to date; `make format` writes it", file=sys.stderr)
    return 1 if stale and not options.fix else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
