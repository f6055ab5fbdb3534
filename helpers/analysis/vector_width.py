"""What became of a source line's memory accesses in PTX and in machine code, and what a way to copy costs a warp."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_MEMORY_PTX = re.compile(r"(@!?%\w+ )?(ld|st|atom|red|cp\.async)\.(?!param)[\w.:]*(global|shared|local|\.ca|\.cg)")
_MEMORY_SASS = re.compile(r"(@!?U?P\w+ )?(LDG|STG|LDS|STS|LDL|STL|LDGSTS|ATOM\w*|RED)\b")


@dataclass(frozen=True)
class LineCode:
    """A source line and its memory instructions. array: "A", "B" or "C", for its colour, or ""."""

    line: int
    text: str
    ptx: tuple[str, ...]
    sass: tuple[str, ...]
    array: str = ""


@dataclass(frozen=True)
class Way:
    """What one way to copy costs a warp. unit: "sectors" or "wavefronts".  refused: why it cannot be done, or ""."""

    label: str
    requests: int
    cost: int
    unit: str = "sectors"
    refused: str = ""


def line_code(
    source: str, line: int, ptx: Mapping[int, Sequence[str]], sass: Mapping[int, Sequence[str]], array: str = ""
) -> LineCode:
    """The memory instructions of a source line.

    ptx, sass: instructions by line, as `helpers.compiler.ptx_by_line` and `sass_by_line` give them.
    """
    text = source.splitlines()[line - 1].strip()
    return LineCode(
        line,
        text,
        tuple(one for one in ptx.get(line, ()) if _MEMORY_PTX.match(one)),
        tuple(one for one in sass.get(line, ()) if _MEMORY_SASS.match(one)),
        array,
    )
