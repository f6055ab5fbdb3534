"""Picture 13: which line costs? A kernel's source with what each line does, counted by a recording.

A bar for the instructions of a line, and for its requests how many sectors or wavefronts each costs. Behind each line
that became instructions, a click away, stand its PTX and its machine code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from helpers.draw import theme

MOST_INSTRUCTIONS = 24  # of a line that are listed
FOLD = "⋮"
LONGEST_RUN = 3  # lines without instructions that are shown; longer runs are folded
# Half-transparent, so that the page's own text stays readable on a light and on a dark background.
_BAR = "rgba(120, 135, 155, 0.8)"
_CODE = "font-family: var(--jp-code-font-family, monospace); font-size: 12px; white-space: pre-wrap;"
_CELL = "padding: 1px 8px; text-align: right; white-space: nowrap; vertical-align: top; font-size: 12px;"
_TROUBLE = f"color: {theme.TROUBLE}; font-weight: bold;"
_LINES = "line-height: 1.35;"  # a widget's own lines are as high as its buttons
_BAR_WIDTH = 64  # CSS pixels of the longest bar
_LONG_NAME = re.compile(r"\w{6,}_(?=param_)")  # of a kernel, in the names of its parameters


@dataclass(frozen=True)
class HeatLine:
    """A line of the source and what it did.

    instructions: executed by warps.  global_requests, sectors: of global memory.  shared_requests, wavefronts, needed:
    of shared memory, and the wavefronts without conflicts.  ptx, sass: the line's instructions.
    """

    line: int
    text: str
    instructions: int = 0
    global_requests: int = 0
    sectors: int = 0
    shared_requests: int = 0
    wavefronts: int = 0
    needed: int = 0
    ptx: tuple[str, ...] = ()
    sass: tuple[str, ...] = ()

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond those that are needed."""
        return max(0, self.wavefronts - self.needed)


@dataclass(frozen=True)
class HeatSource:
    """A kernel's source with its counts. what: where they were counted, for the caption."""

    name: str
    lines: tuple[HeatLine, ...]
    what: str

    @property
    def instructions(self) -> int:
        return sum(line.instructions for line in self.lines)

    @property
    def caption(self) -> str:
        """'Line 46 issues 57 % of the shared wavefronts, 2 times what it needs. Line 48 …'"""
        parts = []
        fronts = sum(line.wavefronts for line in self.lines)
        if fronts:
            most = max(self.lines, key=lambda line: (line.conflicts, line.wavefronts))
            text = f"Line {most.line} takes {_percent(most.wavefronts / fronts)} of the shared wavefronts"
            if most.conflicts:
                text += f", {_number(most.wavefronts / most.needed)} times what it needs"
            parts.append(text)
        sectors = sum(line.sectors for line in self.lines)
        if sectors:
            most = max(self.lines, key=lambda line: line.sectors)
            text = f"line {most.line} takes {_percent(most.sectors / sectors)} of the global sectors, "
            parts.append(text + f"{_number(most.sectors / most.global_requests)} a request")
        most = max(self.lines, key=lambda line: line.instructions)
        if most.instructions:
            share = _percent(most.instructions / self.instructions)
            parts.append(f"line {most.line} takes {share} of the instructions")
        text = "; ".join(parts) or "No line became an instruction"
        return f"{text[0].upper()}{text[1:]} ({self.what})."

    def shown(self) -> Iterator[HeatLine | int]:
        """The lines, with long runs of those that became no instruction folded to their number."""
        for idle, run in groupby(self.lines, lambda line: not (line.instructions or line.ptx or line.sass)):
            lines = list(run)
            if idle and len(lines) > LONGEST_RUN:
                yield len(lines)
            else:
                yield from lines

    def text(self) -> str:
        """The source with its counts in columns of characters; trouble has a star."""
        rows = [f"{'line':>4} {'share':>6} {'sectors':>8} {'wavefronts':>11}"]
        rows[0] += "  source (sectors and wavefronts: of a request)"
        for line in self.shown():
            if isinstance(line, int):
                rows.append(f"{FOLD:>4} {_folded(line)}")
                continue
            counts = (_share(line, self.instructions), _each(line.sectors, line.global_requests), _fronts(line))
            star = "*" if line.conflicts else " "
            rows.append(f"{line.line:>4} {counts[0]:>6} {counts[1]:>8} {counts[2]:>10}{star}  {line.text}".rstrip())
        return "\n".join([self.caption, *rows])

    def html(self) -> str:
        """The source as a table with inline styles: no script; a line with instructions opens at a click."""
        heads = ("line", "instructions", "sectors<br>a request", "wavefronts<br>a request (needed)")
        head = "".join(f'<th style="{_CELL}">{name}</th>' for name in heads)
        head += f'<th style="{_CELL} text-align: left;">source: click a line for its PTX and machine code</th>'
        most = max((line.instructions for line in self.lines), default=0)
        body = "\n".join(_fold_row(line) if isinstance(line, int) else self._row(line, most) for line in self.shown())
        caption = f'<div style="padding: 4px 0;">{html.escape(self.caption)}</div>'
        table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
        return f'<div style="{_LINES}">{caption}\n{table}</div>'

    def _row(self, line: HeatLine, most: int) -> str:
        bar = ""
        if line.instructions:
            width = max(1, round(_BAR_WIDTH * line.instructions / most))
            bar = f'<span style="display: inline-block; width: {width}px; height: 10px; background: {_BAR};"></span>'
        bar = f'<span style="display: inline-block; width: {_BAR_WIDTH}px; text-align: left;">{bar}</span>'
        share = f'<span style="display: inline-block; width: 46px;">{_share(line, self.instructions)}</span>'
        cells = [
            (str(line.line), "opacity: 0.65;"),
            (bar + share, ""),
            (_each(line.sectors, line.global_requests), ""),
            (_fronts(line), _TROUBLE if line.conflicts else ""),
        ]
        counts = "".join(f'<td style="{_CELL} {style}">{words}</td>' for words, style in cells)
        code = f'<span style="{_CODE}">{html.escape(line.text) or " "}</span>'
        if line.ptx or line.sass:
            code = f'<details><summary style="cursor: pointer;">{code}</summary>{_instructions(line)}</details>'
        else:
            code = f'<div style="padding-left: 1.1em; opacity: {1 if line.instructions else 0.65};">{code}</div>'
        return f'<tr>{counts}<td style="text-align: left; padding: 1px 8px; vertical-align: top;">{code}</td></tr>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}


def heat_source(
    by_line: Sequence[Any],
    source: str,
    name: str,
    what: str,
    ptx: Mapping[int, Sequence[str]] | None = None,
    sass: Mapping[int, Sequence[str]] | None = None,
) -> HeatSource:
    """A source with the counts of a recording.

    by_line: `recording.by_line()`.  what: where they were counted: "one block, K = 64, machine code".  ptx, sass:
    instructions by line, as `helpers.compiler.ptx_by_line` and `sass_by_line` give them.
    """
    counted = {line.line: line for line in by_line}
    ptx, sass = ptx or {}, sass or {}
    lines = []
    for number, text in enumerate(source.splitlines(), 1):
        instructions = tuple(ptx.get(number, ())), tuple(sass.get(number, ()))
        found = counted.get(number)
        if found is None:
            lines.append(HeatLine(number, text.rstrip(), ptx=instructions[0], sass=instructions[1]))
            continue
        lines.append(
            HeatLine(
                number,
                text.rstrip(),
                found.instructions,
                found.total("requests", "global"),
                found.total("sectors", "global"),
                found.total("requests", "shared"),
                found.total("wavefronts", "shared"),
                found.total("ideal_wavefronts", "shared"),
                *instructions,
            )
        )
    return HeatSource(name, tuple(lines), what)


def _folded(lines: int) -> str:
    return f"{theme.plural(lines, 'line')} without instructions"


def _fold_row(lines: int) -> str:
    style = f"{_CELL} opacity: 0.65;"
    number = f'<td style="{style}">{FOLD}</td><td colspan="3"></td>'
    return f'<tr>{number}<td style="{style} text-align: left;">{_folded(lines)}</td></tr>'


def _share(line: HeatLine, total: int) -> str:
    return _percent(line.instructions / total) if line.instructions else ""


def _percent(share: float) -> str:
    """0.614 is '61 %', 0.004 is '< 1 %'."""
    return "< 1\u202f%" if 0 < share < 0.005 else f"{100 * share:.0f}\u202f%"


def _number(value: float) -> str:
    return theme.thousands(value, 1).removesuffix(".0")


def _each(cost: int, requests: int) -> str:
    return _number(cost / requests) if requests else ""


def _fronts(line: HeatLine) -> str:
    if not line.shared_requests:
        return ""
    fronts, needed = (_number(count / line.shared_requests) for count in (line.wavefronts, line.needed))
    return f"{fronts} ({needed})" if line.conflicts else fronts


def _instructions(line: HeatLine) -> str:
    """The PTX and the machine code of a line beside each other."""
    columns = []
    for name, instructions in (("PTX", line.ptx), ("machine code", line.sass)):
        shown = list(instructions[:MOST_INSTRUCTIONS])
        if len(instructions) > len(shown):
            shown.append(f"… and {len(instructions) - len(shown)} more")
        text = html.escape("\n".join([f"{name}: {len(instructions)}", *(_LONG_NAME.sub("", one) for one in shown)]))
        columns.append(f'<pre style="{_CODE} margin: 4px 24px 8px 0; background: transparent;">{text}</pre>')
    return f'<div style="display: flex;">{"".join(columns)}</div>'
