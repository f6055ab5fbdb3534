"""Picture 14, complete: the diff from one kernel to the next, and the counters that it moved."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helpers.pictures import theme
from helpers.pictures.source_diff import Diff

FAR = 1.5  # a factor
SAME = 0.005  # counters that differ by less, relative to the larger one, did not move
_CELL = "padding: 3px 14px; text-align: right; font-variant-numeric: tabular-nums;"
_LINES = "line-height: 1.5;"  # a widget's own lines are as high as its buttons
_BAR_WIDTH = 120  # CSS pixels of the larger of two
_OLD, _NEW = "rgba(213, 94, 0, 0.45)", "rgba(0, 158, 115, 0.5)"  # as in the diff


@dataclass(frozen=True)
class Moved:
    """A counter before and after. name: in words."""

    name: str
    old: float
    new: float

    @property
    def factor(self) -> str:
        """'3.3 times fewer', 'twice as many' is '2 times more', 'none any more', 'new'."""
        if not self.new:
            return "none any more"
        if not self.old:
            return "new"
        times = self.old / self.new if self.old > self.new else self.new / self.old
        digits = 2 if times < 1.995 else 1
        return f"{theme.number(times, digits)} times {'fewer' if self.old > self.new else 'more'}"


@dataclass(frozen=True)
class Step:
    """A diff and the counters that moved, the furthest first.

    names: of the two kernels.  still: how many counters did not move.  what: which launch was counted, and how.
    """

    diff: Diff
    names: tuple[str, str]
    moved: tuple[Moved, ...]
    still: int
    what: str

    @property
    def leading(self) -> Moved:
        """The counter that lost or gained most, of those that moved far."""
        far = [counter for counter in self.moved if _distance(counter) >= FAR]
        return max(far or self.moved, key=lambda counter: abs(counter.old - counter.new))

    @property
    def caption(self) -> str:
        """'From transposed to padded: 3 of 55 lines changed. Wavefronts of shared stores 10 240 → 2 048, …'"""
        if not self.moved:
            return f"{self.diff.caption} No counter moved ({self.what})."
        first = self.leading
        change = f"{first.name} {theme.thousands(first.old)} → {theme.thousands(first.new)}, {first.factor}"
        return f"{self.diff.caption} {change[0].upper()}{change[1:]} ({self.what})."

    def text(self) -> str:
        """Diff and counters as plain text."""
        rows = [("", *self.names, "")]
        rows += [
            (counter.name, theme.thousands(counter.old), theme.thousands(counter.new), counter.factor)
            for counter in self.moved
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        table = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self.caption, *self.diff.text().splitlines()[1:], "", *table, self._unmoved()])

    def html(self) -> str:
        """Diff and counters with inline styles only."""
        head = "".join(f'<th style="{_CELL}">{html.escape(name)}</th>' for name in ("", *self.names, ""))
        body = "\n".join(self._row(counter) for counter in self.moved)
        counters = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>" if self.moved else ""
        code = self.diff.html().rsplit("<p>", 1)[0]
        below = f"<p>{html.escape(self._unmoved())}</p>\n<p>{html.escape(self.caption)}</p>"
        return f'<div style="{_LINES}">{code}{counters}\n{below}</div>'

    def _row(self, moved: Moved) -> str:
        largest = max(moved.old, moved.new)
        cells = [f'<td style="{_CELL}">{html.escape(moved.name)}</td>']
        for value, colour in ((moved.old, _OLD), (moved.new, _NEW)):
            width = round(_BAR_WIDTH * value / largest)
            bar = f'<span style="display: inline-block; width: {width}px; height: 10px; background: {colour};"></span>'
            cells.append(f'<td style="{_CELL}">{bar} {theme.thousands(value)}</td>')
        return f'<tr>{"".join(cells)}<td style="{_CELL}">{html.escape(moved.factor)}</td></tr>'

    def _unmoved(self) -> str:
        return f"{theme.plural(self.still, 'counter')} did not move." if self.still else "Every counter moved."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}


def step(diff: Diff, names: tuple[str, str], old: Mapping[str, float], new: Mapping[str, float], what: str) -> Step:
    """The diff with the counters that moved. old, new: the same counters by name, before and after.

    what: which launch was counted: "256 × 256 × 64, simulated in machine code".
    """
    if list(old) != list(new):
        raise ValueError(f"{names[0]} counts {list(old)}, but {names[1]} counts {list(new)}.")
    moved = [Moved(name, old[name], new[name]) for name in old if _moves(old[name], new[name])]
    moved.sort(key=_distance, reverse=True)
    return Step(diff, names, tuple(moved), len(old) - len(moved), what)


def _moves(old: float, new: float) -> bool:
    return abs(old - new) > SAME * max(old, new)


def _distance(moved: Moved) -> float:
    """How far a counter moved, as a factor of at least 1; from or to nothing is furthest."""
    low, high = sorted((moved.old, moved.new))
    return high / low if low else float("inf")
