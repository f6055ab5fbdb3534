"""Small tables, and one warp's addresses as a table: thread, block, row, column, linear index, gap."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpusim.devices import FLOAT_BYTES
from helpers.pictures import theme
from helpers.pictures.coalescing.facts import WarpAccess

FOLD = "⋮"
_CELL = "padding: 3px 14px; text-align: right; font-variant-numeric: tabular-nums;"
_WORDS = "padding: 3px 14px; text-align: left;"
_SENTENCES = f"{_WORDS} min-width: 14em;"  # on a narrow page the table scrolls before these are a word wide
_LONG = 48  # characters of a sentence
_SHAPE = re.compile(r"(?<=\d) × (?=[\d(])")  # 4096 × 512 in a line of its own even where the page is narrow
_MARK = f"color: color-mix(in srgb, {theme.TROUBLE} 75%, currentcolor); font-weight: bold;"
_RULE = f"border-top: 2px solid {theme.WASTE};"


@dataclass(frozen=True)
class Table:
    """A table that a notebook shows as HTML in the page's own colours, and as text where there is no page.

    header: one name a column.  rows: text cells.  caption: the sentence above it.  marked: (row, column) of the cells
    that are trouble.  begins: rows that begin a new part, with a rule above them.  words: columns of sentences, which
    are aligned to the left; numbers are to the right.  title: of the fold that a page opens it from, "" if it is open.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    marked: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    begins: frozenset[int] = field(default_factory=frozenset)
    words: frozenset[int] = field(default_factory=frozenset)
    title: str = ""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.header):
                raise ValueError(f"Row {number} has {len(row)} cells, but the header names {len(self.header)} columns.")

    def folded(self, title: str) -> Table:
        """The same behind a title, until somebody opens it."""
        return replace(self, title=title)

    def html(self) -> str:
        """The table with inline styles only: no script, no class, no colour but trouble's."""
        head = "".join(
            f'<th style="{self._style(column)}">{html.escape(name)}</th>' for column, name in enumerate(self.header)
        )
        body = "\n".join(f"<tr>{self._html_row(number)}</tr>" for number in range(len(self.rows)))
        caption = (
            f'<div style="padding: 4px 0;">{html.escape(self.caption)}</div>'  # a <caption> is as narrow as the table
        )
        table = f"{caption}\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
        return f"<details><summary>{html.escape(self.title)}</summary>{table}</details>" if self.title else table

    def _html_row(self, number: int) -> str:
        cells = []
        for column, cell in enumerate(self.rows[number]):
            mark = _MARK if (number, column) in self.marked else ""
            rule = _RULE if number in self.begins else ""
            shown = _SHAPE.sub("\u00a0×\u00a0", html.escape(cell))
            cells.append(f'<td style="{self._style(column)}{mark}{rule}">{shown}</td>')
        return "".join(cells)

    def _style(self, column: int) -> str:
        if column not in self.words:
            return _CELL
        return _SENTENCES if any(len(row[column]) > _LONG for row in self.rows) else _WORDS

    def text(self) -> str:
        """The table in columns of characters, marked cells with a star."""
        grid = [
            [cell + (" *" if (number, column) in self.marked else "") for column, cell in enumerate(row)]
            for number, row in enumerate(self.rows)
        ]
        widths = [max(len(row[column]) for row in [self.header, *grid]) for column in range(len(self.header))]
        aligned = [str.ljust if column in self.words else str.rjust for column in range(len(self.header))]
        lines = [
            "  ".join(align(cell, width) for align, cell, width in zip(aligned, row, widths, strict=True))
            for row in [self.header, *grid]
        ]
        return "\n".join([self.caption, *(line.rstrip() if self.words else line for line in lines)])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}


@dataclass(frozen=True)
class AddressRow:
    """One lane of one request: its thread in the block, the element it touches, and the distance to its neighbour's.

    index: the element's linear index.  gap: index minus the index of the lane before it in the same warp, 1 for
    neighbours in memory; None for lane 0.
    """

    thread: tuple[int, int]
    block: tuple[int, int]
    warp: int
    row: int
    col: int
    index: int
    gap: int | None


def address_rows(access: WarpAccess, block_dim: Sequence[int], width: int) -> list[AddressRow]:
    """What each active lane of a request touches in a row-major matrix of `width` columns.

    block_dim: threads of the block along x, y (and z), from which the lane's thread follows:
    linear id = x + block_dim.x * (y + block_dim.y * z).
    """
    lanes = np.flatnonzero(access.active)
    linear = access.warp * 32 + lanes
    index = access.offset[lanes] // FLOAT_BYTES
    gaps: list[int | None] = [None, *np.diff(index).tolist()]
    return [
        AddressRow(
            thread=(int(thread % block_dim[0]), int(thread // block_dim[0] % block_dim[1])),
            block=(access.block[0], access.block[1]),
            warp=access.warp,
            row=int(element // width),
            col=int(element % width),
            index=int(element),
            gap=gap,
        )
        for thread, element, gap in zip(linear, index, gaps, strict=True)
    ]


def address_table(accesses: Sequence[WarpAccess], block_dim: Sequence[int], width: int) -> Table:
    """The addresses of several warps, one part each, with every run of equal gaps folded to its first and last lane.

    A gap other than 1 (neighbours) or 0 (the same element) is marked, and the caption counts the marks.
    """
    shown: list[tuple[str, ...]] = []
    marked: set[tuple[int, int]] = set()
    jumps: list[int] = []
    begins: list[int] = []
    for access in accesses:
        begins.append(len(shown))
        rows = address_rows(access, block_dim, width)
        jumps += [row.gap for row in rows if row.gap not in (None, 0, 1)]
        for position, row in enumerate(rows):
            if _in_the_middle(rows, position):
                if shown[-1][0] != FOLD:
                    shown.append((FOLD,) * len(_HEADER))
                continue
            if row.gap not in (None, 0, 1):
                marked.add((len(shown), len(_HEADER) - 1))
            shown.append(_cells(row))
    caption = _caption(accesses, block_dim, width, jumps)
    return Table(_HEADER, tuple(shown), caption, frozenset(marked), frozenset(begins[1:]))


_HEADER = ("thread", "block", "warp", "row", "col", "linear index", "gap")


def _cells(row: AddressRow) -> tuple[str, ...]:
    thread, block = f"({row.thread[0]}, {row.thread[1]})", f"({row.block[0]}, {row.block[1]})"
    gap = "" if row.gap is None else theme.thousands(row.gap)
    return (thread, block, str(row.warp), str(row.row), str(row.col), theme.thousands(row.index), gap)


def _in_the_middle(rows: Sequence[AddressRow], position: int) -> bool:
    """A lane as far from the one before it as the next one is from it."""
    return 1 <= position < len(rows) - 1 and rows[position].gap == rows[position + 1].gap


def _caption(accesses: Sequence[WarpAccess], block_dim: Sequence[int], width: int, jumps: Sequence[int]) -> str:
    names = sorted({access.name for access in accesses})
    what = f"{' and '.join(names)}, block ({block_dim[0]}, {block_dim[1]}), {theme.plural(width, 'column')}: "
    sectors = sorted({access.sectors for access in accesses})
    cost = " or ".join(theme.plural(count, "sector") for count in sectors) + " per request"
    if not jumps:
        return what + f"no gap above 1 inside a warp, {cost}."
    sizes = sorted(set(jumps))
    size = theme.thousands(sizes[0])
    size += "" if len(sizes) == 1 else f" to {theme.thousands(sizes[-1])}"
    each = theme.number(len(jumps) / len(accesses))
    return what + f"{each} gap{'' if each == '1' else 's'} of {size} elements in each warp, {cost}."


def counter_table(counters: Mapping[str, Mapping[str, float]], caption: str) -> Table:
    """Counters side by side: {"naive": {"requests": 8192, …}, "coalesced": {…}}, a row a counter, a column a kernel.

    Every kernel must name the same counters.
    """
    kernels = list(counters)
    names = list(counters[kernels[0]])
    for kernel in kernels:
        if list(counters[kernel]) != names:
            raise ValueError(f"{kernel} counts {list(counters[kernel])}, but {kernels[0]} counts {names}.")
    rows = tuple((name, *(_number(counters[kernel][name]) for kernel in kernels)) for name in names)
    return Table(("", *kernels), rows, caption)


def _number(value: float) -> str:
    """A mean of few units with one digit, a large or whole number without."""
    return theme.thousands(value, 0 if isinstance(value, int) or abs(value) >= 100 else 1)


def not_recorded(header: tuple[str, ...], words: frozenset[int] = frozenset()) -> Table:
    """What stands in place of a table whose numbers only a GPU gives, until they are recorded."""
    return Table(header, (("–",) * len(header),), "Not recorded yet. With a GPU this cell measures it.", words=words)
