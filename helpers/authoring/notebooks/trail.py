"""The line under a notebook's title: where the reader is in the course, with links to the notebooks around this one."""

from __future__ import annotations

import re
from pathlib import Path

NAMES = {
    "00": "start here",
    "01": "CPU loop",
    "02": "threads and indices",
    "03": "coalescing",
    "04": "shared memory",
    "05": "occupancy",
    "06": "register tiling",
    "07": "bank conflicts",
    "08": "vectorization",
    "09": "double buffering",
    "10": "warptiling",
    "11": "autotuning",
    "12": "beating cuBLAS",
}
AROUND = 2  # notebooks that are shown on each side
LINE = re.compile(r"^\*Notebook (\d\d) of the course:.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def trail(number: str, folder: Path) -> str:
    """'*Notebook 03 of the course:* … → [threads and indices](02_….ipynb) → **coalescing (you are here)** → …'.

    folder: where the notebooks are; one that is not there is named without a link. KeyError for an unknown number.
    """
    numbers = list(NAMES)
    here = numbers.index(number) if number in NAMES else None
    if here is None:
        raise KeyError(
            f"notebook {number} has no name in helpers/authoring/notebooks/trail.py; known are {', '.join(NAMES)}"
        )
    around = range(max(0, here - AROUND), min(len(numbers), here + AROUND + 1))
    parts = ["…"] if around.start > 0 else []
    for index in around:
        name = NAMES[numbers[index]]
        file = next(iter(sorted(folder.glob(f"{numbers[index]}_*.ipynb"))), None)
        if index == here:
            parts.append(f"**{name} (you are here)**")
        else:
            parts.append(f"[{name}]({file.name})" if file else name)
    parts += ["…"] if around.stop < len(numbers) else []
    return f"*Notebook {number} of the course:* {' → '.join(parts)}"


def with_trail(first_cell: str, folder: Path) -> str:
    """The text of a first cell with its line as it should be; a text without such a line stays as it is."""
    found = LINE.search(first_cell)
    if found is None or found[1] not in NAMES:
        return first_cell
    return first_cell[: found.start()] + trail(found[1], folder) + first_cell[found.end() :]
