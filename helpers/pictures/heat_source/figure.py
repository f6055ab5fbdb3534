"""Picture 13: which line costs? A kernel's source with what each line does, counted by a recording.

A bar for the instructions of a line, and how many requests it makes and how many sectors or wavefronts each costs; the
darker the cell, the more of the kernel's sectors or wavefronts are the line's. Behind each line that became
instructions, a click away, stand its PTX and its machine code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from helpers.pictures import theme
from helpers.pictures.heat_source.facts import LineCost, SourceCosts
from helpers.pictures.heat_source.moves import is_move, merged
from helpers.pictures.heat_source.moves_figure import translations

MOST_INSTRUCTIONS = 24  # of a line that are listed
FOLD = "⋮"
LONGEST_RUN = 3  # lines without instructions that are shown; longer runs are folded
# Half-transparent, so that the page's own text stays readable on a light and on a dark background.
_BAR = "rgba(120, 135, 155, 0.8)"
_HEAT = "#78879B"
_HOTTEST, _LEAST_TROUBLE = 0.6, 0.25  # how opaque a cell is whose line does all that there is; any cell with trouble
_CODE = (
    "font-family: var(--jp-code-font-family, monospace); font-size: 12px; white-space: pre-wrap; "
    "overflow-wrap: anywhere;"  # a narrow page breaks a long name rather than hide its end
)
_COLUMN = "flex: 1 1 0; min-width: 0; overflow-wrap: break-word; margin: 4px 24px 8px 0; background: transparent;"
_CELL = "padding: 1px 8px; text-align: right; white-space: nowrap; vertical-align: top; font-size: 12px;"
_WRAPS = "text-align: left; white-space: normal;"
_LINES = "line-height: 1.35;"  # a widget's own lines are as high as its buttons
_BAR_WIDTH = 64  # CSS pixels of the longest bar
_NARROWEST = 140  # of the column of the source
# What stands before a parameter's and a shared array's own name: the kernel's, as the linker knows it.
_LONG_NAME = re.compile(r"\w{6,}_(?=param_)|_ZZ\w+E\d+(?=[A-Za-z_])")


@dataclass(frozen=True)
class HeatSource:
    """A kernel's source with its counts. what: where they were counted, for the caption."""

    name: str
    lines: tuple[LineCost, ...]
    what: str

    @property
    def instructions(self) -> int:
        return sum(line.instructions for line in self.lines)

    @property
    def sectors(self) -> int:
        """Of global memory, all lines together."""
        return sum(line.sectors for line in self.lines)

    @property
    def wavefronts(self) -> int:
        """Of shared memory, all lines together."""
        return sum(line.wavefronts for line in self.lines)

    @property
    def merged(self) -> str:
        """A sentence on the line of whose loads and stores the machine code merged most; empty if there is none."""
        lines = [line for line in self.lines if merged(line.ptx, line.sass)]
        if not lines:
            return ""
        line = max(lines, key=lambda line: merged(line.ptx, line.sass))
        sentence = next(
            translation for translation in translations(line.ptx, line.sass) if translation.endswith("merged.")
        )
        return f"Line {line.line}: {sentence}"

    @property
    def caption(self) -> str:
        """'Line 46 issues 57 % of the shared wavefronts, 2 times what it needs. Line 48 …'"""
        parts = []
        fronts, sectors = self.wavefronts, self.sectors
        if fronts:
            most = max(self.lines, key=lambda line: (line.conflicts, line.wavefronts))
            text = f"Line {most.line} takes {_percent(most.wavefronts / fronts)} of the shared wavefronts"
            if most.conflicts:
                text += f", {theme.number(most.wavefronts / most.needed)} times what it needs"
            parts.append(text)
        if sectors:
            most = max(self.lines, key=lambda line: line.sectors)
            text = f"line {most.line} takes {_percent(most.sectors / sectors)} of the global sectors, "
            parts.append(text + f"{theme.number(most.sectors / most.global_requests)} a request")
        most = max(self.lines, key=lambda line: line.instructions)
        if most.instructions:
            share = _percent(most.instructions / self.instructions)
            parts.append(f"line {most.line} takes {share} of the instructions")
        text = "; ".join(parts) or "No line became an instruction"
        return f"{text[0].upper()}{text[1:]} ({self.what})."

    def shown(self) -> Iterator[LineCost | int]:
        """The lines, with long runs of those that became no instruction folded to their number."""
        for idle, run in groupby(self.lines, lambda line: not (line.instructions or line.ptx or line.sass)):
            lines = list(run)
            if idle and len(lines) > LONGEST_RUN:
                yield len(lines)
            else:
                yield from lines

    def text(self) -> str:
        """The source with its counts in columns of characters; trouble has a star."""
        rows = [f"{'line':>4} {'share':>6} {'sectors':>16}  {'wavefronts':>16} "]
        rows[0] += "  source (sectors, wavefronts: requests × those of each, (needed))"
        for line in self.shown():
            if isinstance(line, int):
                rows.append(f"{FOLD:>4} {_folded(line)}")
                continue
            stars = ["*" if trouble else " " for trouble in (line.wasteful, line.conflicts)]
            counts = f"{_sectors(line):>16}{stars[0]} {_fronts(line):>16}{stars[1]}"
            rows.append(f"{line.line:>4} {_share(line, self.instructions):>6} {counts}  {line.text}".rstrip())
        return "\n".join([self.caption, *([self.merged] if self.merged else []), *rows])

    def html(self) -> str:
        """The source as a table with inline styles: no script; a line with instructions opens at a click."""
        counted = ("global: requests ×<br>sectors (needed)", "shared: requests ×<br>wavefronts (needed)")
        heads = ("line", "instructions", *counted)
        head = "".join(f'<th style="{_CELL} white-space: normal;">{name}</th>' for name in heads)
        head += f'<th style="{_CELL} {_WRAPS}">source: click a line for its PTX and machine code</th>'
        most = max((line.instructions for line in self.lines), default=0)
        body = "\n".join(_fold_row(line) if isinstance(line, int) else self._row(line, most) for line in self.shown())
        sentences = [self.caption, *([self.merged] if self.merged else [])]
        caption = "".join(f'<div style="padding: 4px 0;">{html.escape(sentence)}</div>' for sentence in sentences)
        table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
        return f'<div style="{_LINES}">{caption}\n{table}</div>'

    def _row(self, line: LineCost, most: int) -> str:
        bar = ""
        if line.instructions:
            width = max(1, round(_BAR_WIDTH * line.instructions / most))
            bar = f'<span style="display: inline-block; width: {width}px; height: 10px; background: {_BAR};"></span>'
        bar = f'<span style="display: inline-block; width: {_BAR_WIDTH}px; text-align: left;">{bar}</span>'
        share = f'<span style="display: inline-block; width: 46px;">{_share(line, self.instructions)}</span>'
        cells = [
            (str(line.line), "opacity: 0.65;"),
            (bar + share, ""),
            (_sectors(line), _heat(line.sectors, self.sectors, trouble=line.wasteful)),
            (_fronts(line), _heat(line.wavefronts, self.wavefronts, trouble=line.conflicts > 0)),
        ]
        counts = "".join(f'<td style="{_CELL} {style}">{words}</td>' for words, style in cells)
        code = f'<span style="{_CODE}">{html.escape(line.text) or " "}</span>'
        if line.ptx or line.sass:
            code = f'<details><summary style="cursor: pointer;">{code}</summary>{_instructions(line)}</details>'
        else:
            code = f'<div style="padding-left: 1.1em; opacity: {1 if line.instructions else 0.65};">{code}</div>'
        source = f"text-align: left; padding: 1px 8px; vertical-align: top; min-width: {_NARROWEST}px;"
        return f'<tr>{counts}<td style="{source}">{code}</td></tr>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}


def heat_source(costs: SourceCosts, what: str = "") -> HeatSource:
    """A source with its counts, as a page shows it.

    what: where they were counted, "counted on one block with K = 64, in machine code"; by default as `costs` says.
    """
    return HeatSource(costs.name, costs.lines, what or _where(costs))


def _where(costs: SourceCosts) -> str:
    """'counted on all 4 blocks, in machine code'."""
    blocks = theme.plural(costs.blocks, "block")
    if costs.executed < costs.blocks:
        where = f"on {costs.executed} of {blocks}"
    else:
        where = "on the only block" if costs.blocks == 1 else f"on all {theme.thousands(costs.blocks)} blocks"
    return f"counted {where}, in {theme.LEVELS[costs.level]}"


def _folded(lines: int) -> str:
    return f"{theme.plural(lines, 'line')} without instructions"


def _fold_row(lines: int) -> str:
    style = f"{_CELL} opacity: 0.65;"
    number = f'<td style="{style}">{FOLD}</td><td colspan="3"></td>'
    return f'<tr>{number}<td style="{style} {_WRAPS}">{_folded(lines)}</td></tr>'


def _share(line: LineCost, total: int) -> str:
    return _percent(line.instructions / total) if line.instructions else ""


def _percent(share: float) -> str:
    """0.614 is '61 %', 0.004 is '< 1 %'."""
    return "< 1\u202f%" if 0 < share < 0.005 else f"{100 * share:.0f}\u202f%"


def _heat(part: int, whole: int, *, trouble: bool = False) -> str:
    """The background of a cell: the stronger, the larger its part; in trouble's colour if it need not be as large.

    The number keeps the page's colour, so that it can be read on a light and on a dark background.
    """
    if not part:
        return ""
    strength = _HOTTEST * part / whole
    if trouble:
        return f"background: {theme.TROUBLE}{round(255 * max(strength, _LEAST_TROUBLE)):02X}; font-weight: bold;"
    return f"background: {_HEAT}{round(255 * strength):02X};"


def _each(cost: int, requests: int) -> str:
    """'512 × 16': requests and what each of them costs."""
    return f"{theme.thousands(requests)} × {theme.number(cost / requests)}" if requests else ""


def _sectors(line: LineCost) -> str:
    """'4 096 × 32 (4)': with what would be needed, if at least half is waste."""
    text = _each(line.sectors, line.global_requests)
    return f"{text} ({theme.number(line.needed_sectors / line.global_requests)})" if line.wasteful else text


def _fronts(line: LineCost) -> str:
    """'512 × 8 (1)': with what would be needed, if there are conflicts."""
    text = _each(line.wavefronts, line.shared_requests)
    return f"{text} ({theme.number(line.needed / line.shared_requests)})" if line.conflicts else text


def _instructions(line: LineCost) -> str:
    """The PTX and the machine code of a line beside each other, and what became of its loads and stores."""
    columns = []
    for name, instructions in (("PTX", line.ptx), ("machine code", line.sass)):
        shown = list(instructions)
        if len(shown) > MOST_INSTRUCTIONS:
            shown = ([instruction for instruction in shown if is_move(instruction)] or shown)[:MOST_INSTRUCTIONS]
        texts = [f"{name}: {len(instructions)}", *(_code(instruction) for instruction in shown)]
        if len(instructions) > len(shown):
            texts.append(f"… and {len(instructions) - len(shown)} more")
        columns.append(f'<pre style="{_CODE} {_COLUMN}">' + "\n".join(texts) + "</pre>")
    sentences = "".join(
        f'<div style="padding: 4px 0;">{html.escape(translation)}</div>'
        for translation in translations(line.ptx, line.sass)
    )
    return f'{sentences}<div style="display: flex;">{"".join(columns)}</div>'


def _code(instruction: str) -> str:
    """An instruction as HTML; loads and stores are bold."""
    text = html.escape(_LONG_NAME.sub("", instruction))
    return f"<b>{text}</b>" if is_move(instruction) else text
