"""The map of the course in notebook 00: every notebook with its title, what it is about and its minutes.

It is kept between two markers in a Markdown cell and written by `make format`, with the README's table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from helpers import notebook_form

if TYPE_CHECKING:
    from helpers.readme_table import Planned

BEGIN = "<!-- map: begin, written by `make format` -->"
END = "<!-- map: end -->"
HERE = "00"
_MINUTES = re.compile(r"^\*\*(\d+) minutes\.?\*\*", re.MULTILINE)


def first_cell(path: Path) -> str:
    """The text of a notebook's first cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "".join(cells[0]["source"]) if cells else ""


def minutes_of(path: Path) -> int:
    """The minutes that a notebook's header states as '**25 minutes.**' at the start of a line. ValueError without."""
    found = _MINUTES.search(first_cell(path))
    if found is None:
        raise ValueError(f"{path.name}: the first cell has no line that begins with '**25 minutes.**' or the like")
    return int(found[1])


def text(folder: Path, plan: Sequence[Planned]) -> str:
    """The Markdown between the markers: the table, and under it the minutes of all notebooks that exist."""
    rows = ["| | Notebook | What it is about | Minutes |", "|---|---|---|---|"]
    total = count = 0
    for one in plan:
        path = next(iter(sorted(folder.glob(f"{one.number}*.ipynb"))), None)
        if path is None:
            rows.append(f"| {one.number} | {one.title} *(in preparation)* | {one.idea} | |")
            continue
        minutes = minutes_of(path)
        total, count = total + minutes, count + 1
        title = first_cell(path).split("\n")[0].removeprefix("# ").strip()
        name = f"**{title}** *(you are here)*" if one.number == HERE else f"[{title}]({path.name})"
        rows.append(f"| {one.number} | {name} | {one.idea} | {minutes} |")
    rows.append(f"\nAt your own pace these {count} notebooks take about {_hours(total)}.")
    return "\n".join(rows)


def _hours(minutes: int) -> str:
    """'50 minutes', '2½ hours': to the half-hour from one hour on."""
    halves = round(minutes / 30)
    if halves < 2:
        return f"{minutes} minutes"
    whole, half = divmod(halves, 2)
    return f"{whole}{'½' if half else ''} hour{'s' if halves > 2 else ''}"


def replaced(source: str, new_text: str) -> str:
    """A cell's text with new_text between its markers."""
    before, rest = source.split(BEGIN, 1)
    return f"{before}{BEGIN}\n{new_text}\n{END}{rest.split(END, 1)[1]}"


def updated(notebook: str, new_text: str) -> str:
    """A notebook file's text with the map in it, in canonical form. Raises ValueError if no cell has the markers."""
    read = notebook_form.read(notebook)
    cell = next((one for one in read.cells if BEGIN in one.source and END in one.source), None)
    if cell is None:
        raise ValueError(f"no cell has the markers {BEGIN} and {END} where the map of the course belongs")
    if replaced(cell.source, new_text) == cell.source:
        return notebook
    cell.source = replaced(cell.source, new_text)
    return notebook_form.written(notebook_form.mended(read))
