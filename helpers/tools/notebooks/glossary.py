"""The glossary of the course: its terms, each an entry with a heading of its own, to which links of notebooks lead.

    ### bank conflict

    What it is, in a sentence or two. *Also: replay.* *Notebook [08](08_bank_conflicts.ipynb).*

JupyterLab and the slides give a heading the id `bank-conflict`, with its capitals; GitHub has small letters only, so
where a term has capitals the entry begins with an anchor of that name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from helpers import plan

FILE = "glossary.md"
ENTRY = re.compile(
    r"^### (?P<term>.+)\n\n(?P<text>(?s:.+?)\.)(?: \*Also: (?P<also>.+?)\.\*)? \*Notebook \[(?P<number>\d\d)\]",
    re.MULTILINE,
)
LINK = re.compile(r"\[\*\*([^\]*]+)\*\*\]\(glossary\.md(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Entry:
    """One term. terms: its names, the heading first.  text: what it is.  number: of the notebook that explains it."""

    terms: tuple[str, ...]
    text: str
    number: str

    @property
    def anchor(self) -> str:
        """What a link to it ends in."""
        return self.terms[0].replace(" ", "-")


@cache
def entries(folder: Path = plan.FOLDER) -> tuple[Entry, ...]:
    """All entries, in the order of the file."""
    text = (folder / FILE).read_text(encoding="utf-8")
    matches = ENTRY.finditer(text)
    return tuple(
        Entry((match["term"], *(match["also"].split(", ") if match["also"] else ())), match["text"], match["number"])
        for match in matches
    )


def entry(term: str, folder: Path = plan.FOLDER) -> Entry | None:
    """The entry of a term, which may stand in the plural; None for a term that the glossary has not."""
    wanted = " ".join(term.lower().split())
    names = {name.lower(): entry for entry in entries(folder) for name in entry.terms}
    return names.get(wanted) or names.get(wanted.removesuffix("s"))


def linked(text: str, folder: Path = plan.FOLDER) -> str:
    """Markdown in which every link of a term leads to its entry; a term without an entry leads to the top."""

    def link(match: re.Match[str]) -> str:
        term = entry(match[1], folder)
        return f"[**{match[1]}**](glossary.md{f'#{term.anchor}' if term else ''})"

    return LINK.sub(link, text)
