"""Every picture that the notebooks store, on one page: to see at a glance whether they speak one language.

    python -m helpers.gallery [FOLDER]

Writes FOLDER/index.html (build/gallery by default), which needs nothing beside it.
"""

from __future__ import annotations

import html
import json
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Pictures of the course</title>
<style>
body {{ font-family: sans-serif; max-width: 60rem; margin: 2rem auto; }}
img {{ max-width: 100%; border: 1px solid #d9d9d9; }}
figure {{ margin: 2rem 0; }}
</style>
<h1>{count} pictures in {notebooks} notebooks</h1>
{figures}
</html>
"""


@dataclass(frozen=True)
class Picture:
    """One stored picture. cell: its number in the notebook, from 1. png: base64. caption: its alternative text."""

    notebook: str
    cell: int
    png: str
    caption: str


def pictures(notebook: Path) -> list[Picture]:
    """The PNG outputs of a notebook, in order. Raises ValueError if the file is no notebook with cells."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{notebook} is no notebook: {error!r}") from error
    found = []
    for number, cell in enumerate(cells, 1):
        for output in cell.get("outputs", []):
            png = "".join(output.get("data", {}).get("image/png", ""))
            if png:
                text = "".join(output["data"].get("text/plain", ""))
                caption = output.get("metadata", {}).get("image/png", {}).get("alt", text)
                found.append(Picture(notebook.name, number, png, caption))
    return found


def page(found: list[Picture]) -> str:
    """The HTML page with all pictures, under each its place and its caption."""
    figures = [
        f'<figure><img alt="{html.escape(one.caption)}" src="data:image/png;base64,{one.png}">'
        f"<figcaption>{html.escape(one.notebook)}, cell {one.cell}: {html.escape(one.caption)}</figcaption></figure>"
        for one in found
    ]
    return PAGE.format(count=len(found), notebooks=len({one.notebook for one in found}), figures="\n".join(figures))


def main(arguments: list[str]) -> int:
    """Write the page and say where it is."""
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "gallery"
    found = [one for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")) for one in pictures(notebook)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(page(found), encoding="utf-8")
    print(f"{folder / 'index.html'}: {len(found)} pictures")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
