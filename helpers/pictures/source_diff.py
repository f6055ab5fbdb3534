"""Picture 14: what is new? Two sources as one text, unchanged code folded, the changed lines marked."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from helpers.pictures import theme

# Half-transparent, so that the page's own text stays readable on a light and on a dark background.
_CODE = (
    "font-family: var(--jp-code-font-family, monospace); line-height: 1.5; padding: 6px; white-space: pre-wrap; "
    "background: transparent;"
)
_STYLES = {
    "-": "background-color: rgba(213, 94, 0, 0.22);",
    "+": "background-color: rgba(0, 158, 115, 0.24);",
    " ": "",
    "…": "opacity: 0.65;",
}


@dataclass(frozen=True)
class Line:
    """One line of a diff. mark: "-" only in the old source, "+" only in the new one, " " in both, "…" folded."""

    mark: str
    text: str


@dataclass(frozen=True)
class Diff:
    """A diff to show in a notebook: `lines` as they stand, and the caption that counts them."""

    lines: tuple[Line, ...]
    caption: str

    def text(self) -> str:
        """The diff as plain text, each line after its mark."""
        return "\n".join([self.caption, *(f"{line.mark} {line.text}".rstrip() for line in self.lines)])

    def html(self) -> str:
        """The diff as preformatted lines with inline styles; the marks stay, so that it reads without colours."""
        body = "".join(
            f'<span style="display: block; {_STYLES[line.mark]}">{line.mark} {html.escape(line.text)}</span>'
            for line in self.lines
        )
        return f'<pre style="{_CODE}">{body}</pre>\n<p>{html.escape(self.caption)}</p>'

    def folded(self) -> Folded:
        """The same behind its caption, for a long one that need not be read at once."""
        return Folded(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}


@dataclass(frozen=True)
class Folded:
    """A diff of which only the caption is seen until somebody opens it; as text it is that caption alone."""

    diff: Diff

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = f"<details><summary>{html.escape(self.diff.caption)}</summary>{self.diff.html()}</details>"
        return {"text/html": page, "text/plain": f"{self.diff.caption} (Folded: open it in a browser.)"}


def source_diff(
    old: str, new: str, names: tuple[str, str], *, context: int = 2, same: tuple[str, str] = ("", "")
) -> Diff:
    """What changes from one CUDA source to the next.

    names: what the two are called.  context: unchanged lines kept around a change.  same: a name in the old source and
    its counterpart in the new one, for example the kernels' names; lines that differ only there, or only in their
    spaces, count as unchanged.
    The comment that opens a file is left out: it tells the idea, and the reader is to find it in the code.
    """
    old_lines, new_lines = _body(old), _body(new)
    renamed = [re.sub(rf"\b{re.escape(same[0])}\b", same[1], line) if same[0] else line for line in old_lines]
    matcher = difflib.SequenceMatcher(None, *(list(map(_words, text)) for text in (renamed, new_lines)), autojunk=False)
    lines: list[Line] = []
    removed = added = 0
    for tag, i0, i1, j0, j1 in matcher.get_opcodes():
        if tag == "equal":
            first, last = not lines, j1 == len(new_lines)
            lines += _folded(new_lines[j0:j1], 0 if first else context, 0 if last else context)
            continue
        lines += [Line("-", text) for text in old_lines[i0:i1]] + [Line("+", text) for text in new_lines[j0:j1]]
        removed, added = removed + i1 - i0, added + j1 - j0
    return Diff(tuple(lines), _caption(names, removed, added, len(new_lines)))


def _caption(names: tuple[str, str], removed: int, added: int, total: int) -> str:
    if not removed and not added:
        return f"{names[0]} and {names[1]} are the same code."
    if removed == added:
        return f"From {names[0]} to {names[1]}: {added} of {theme.plural(total, 'line')} changed."
    return f"From {names[0]} to {names[1]}: {theme.plural(removed, 'line')} removed, {added} added."


def _body(source: str) -> list[str]:
    """The lines of a source without the comment that opens it and without trailing space."""
    lines = [line.rstrip() for line in source.strip().splitlines()]
    start = next((number for number, line in enumerate(lines) if line and not line.startswith("//")), 0)
    return lines[start:]


def _words(line: str) -> str:
    """A line with single spaces: a longer name moves the continuation lines, and that is no change."""
    return " ".join(line.split())


def _folded(unchanged: list[str], after: int, before: int) -> Iterator[Line]:
    """Unchanged lines: the first `after` and the last `before` of them, and a mark for those in between."""
    if len(unchanged) <= after + before + 1:
        yield from (Line(" ", text) for text in unchanged)
        return
    yield from (Line(" ", text) for text in unchanged[:after])
    yield Line("…", f"{theme.plural(len(unchanged) - after - before, 'unchanged line')}")
    yield from (Line(" ", text) for text in unchanged[len(unchanged) - before :])
