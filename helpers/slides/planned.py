"""What the slides of a notebook say: a file beside it, slides/<notebook>.md, said once for hand-outs and live slides.

A section is a slide: the step that it belongs to and its title, a few words, and one thing to look at:

    ## 1 · A scheduler with one warp is idle most of the time

    The next instruction waits for the result of the one before.

    film: scheduler.explore() | warps = 1, 4, 8

- picture: the picture of the step's cell whose code has this text, drawn anew for the slide. table: the first table
  that it stores; some of its columns, "1, 3", where a bar and they follow. printed: the text that it printed.
- ask: the prediction that this call asks.
- block: the table or the listing of the step's own text that has this text.
- kernel: the name of an exercise, whose solution is shown, or else of a kernel of the ladder; from the line with the
  first text to that with the second, which is left out. task: likewise, of what an exercise begins with. code:
  likewise, of the first code cell that has this text, of the step or of one before it.
- film: an explorer, and the values that one of its controls goes through. Where the notebook runs, the explorer with
  this control.
- way: the notebooks of the course, in order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = "slides"
MOST_WORDS = 40  # of a slide, with its title; what it shows is not counted
KINDS = ("picture", "table", "printed", "block", "ask", "film", "kernel", "task", "code", "way")
HEADING = re.compile(r"^## (\d+) · (.+)$")
SHOWN = re.compile(rf"^({'|'.join(KINDS)}): (.+)$")
MARKUP = re.compile(r"[*`_]")


@dataclass(frozen=True)
class Planned:
    """A slide as its notebook's file says it.

    kind: one of KINDS.  what: which one, up to the first bar.  how: the parts after it.
    """

    step: int
    title: str
    words: str
    kind: str
    what: str
    how: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Its words, of title and text."""
        return len([word for word in MARKUP.sub("", f"{self.title} {self.words}").split() if re.search(r"\w", word)])


def path_of(notebook: Path) -> Path:
    """Where the slides of a notebook are said."""
    return notebook.parent / FOLDER / f"{notebook.stem}.md"


def planned(text: str) -> list[Planned]:
    """The slides that a file says. ValueError for a section that is no slide; the message says what it lacks."""
    sections: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("## "):
            sections.append([line])
        elif sections:
            sections[-1].append(line)
    return [_slide(lines) for lines in sections]


def _slide(lines: list[str]) -> Planned:
    heading = HEADING.match(lines[0])
    if heading is None:
        raise ValueError(
            f"{lines[0]!r} is no heading of a slide, '## 4 · What it says', with the step before the point"
        )
    shown = [match for line in lines if (match := SHOWN.match(line))]
    if len(shown) != 1:
        raise ValueError(
            f"the slide {heading[2]!r} shows {len(shown)} things; a slide has exactly one line that begins with "
            f"{', '.join(f'{kind}:' for kind in KINDS[:-1])} or {KINDS[-1]}:"
        )
    words = "\n".join(line for line in lines[1:] if not SHOWN.match(line)).strip()
    what, *how = (part.strip() for part in shown[0][2].split(" | "))
    match = Planned(int(heading[1]), heading[2].strip(), words, shown[0][1], what, tuple(how))
    if match.count > MOST_WORDS:
        raise ValueError(f"the slide {match.title!r} has {match.count} words; {MOST_WORDS} is the most")
    return match
