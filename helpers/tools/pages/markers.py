"""Texts that a command writes into pages which are otherwise written by hand.

Each stands between two markers, and only what is between them changes. The commands are alike: without --fix they say
which pages are not up to date (exit status 1 if there are any), with --fix they write them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from helpers.recordings import NoRecording


@dataclass(frozen=True)
class Markers:
    """Where a written text stands.

    name: of the text, "ladder".
    command: what writes it, "make picture".
    """

    name: str
    command: str

    @property
    def begin(self) -> str:
        return f"<!-- {self.name}: begin, written by `{self.command}` -->"

    @property
    def end(self) -> str:
        return f"<!-- {self.name}: end -->"

    def are_in(self, page: str) -> bool:
        """Whether the page has both markers."""
        return self.begin in page and self.end in page

    def replaced(self, page: str, new: str, where: str) -> str:
        """The page with the new text between the markers, on lines of its own.

        where: the name of the page, for the ValueError that is raised if it lacks a marker.
        """
        if not self.are_in(page):
            raise ValueError(f"{where} has lost its markers; put {self.begin} and {self.end} where {self.name} belongs")
        before, rest = page.split(self.begin, 1)
        lines = f"{new}\n" if new else ""
        return f"{before}{self.begin}\n{lines}{self.end}{rest.split(self.end, 1)[1]}"


def command_line(
    arguments: list[str],
    module: str,
    documentation: str,
    command: str,
    wanted: Callable[[], Mapping[Path, str]],
    pictures: Callable[[], Mapping[Path, bytes]] = dict,
) -> int:
    """Compare the pages with what they should be, or write them with --fix.

    module, documentation: the name of the module whose command this is, and its docstring.
    command: the make target that writes the pages, for the sentence about one that is not up to date.
    wanted: page → the text that it should have; its ValueError and NoRecording are sentences for the author.
    pictures: file → PNG, drawn and written with --fix only.
    Returns the exit status: 1 if a page is not up to date and was not written, or if its text cannot be made.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=documentation.split("\n")[0])
    parser.add_argument("--fix", action="store_true", help="write what is not up to date")
    options = parser.parse_args(arguments)
    try:
        stale = {path: text for path, text in wanted().items() if path.read_text(encoding="utf-8") != text}
    except (ValueError, NoRecording) as error:
        print(error, file=sys.stderr)
        return 1
    if not options.fix:
        for path in stale:
            print(f"{path.name} is not up to date; `{command}` writes it", file=sys.stderr)
        return int(bool(stale))
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"{path.name}: written")
    for path, picture in pictures().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture)
        print(f"{path.name}: drawn")
    return 0
