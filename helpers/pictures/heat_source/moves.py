"""The loads and stores among a line's instructions: PTX says what was written, machine code what is done."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_GUARD = r"(?:@!?%?\w+\s+)?"
_PTX = re.compile(_GUARD + r"(ld|st)\.(\S+)\s")
_PTX_COPY = re.compile(_GUARD + r"cp\.async\.c[ag]\.shared\.global\S*\s+\[[^\]]*\]\s*,\s*\[[^\]]*\]\s*,\s*(\d+)")
_PTX_BITS = re.compile(r"[a-z]+(\d+)\Z")
_SASS = re.compile(_GUARD + r"(LDGSTS|LDG|LDS|LDL|STG|STS|STL)((?:\.\w+)*)\s")
_SPACES = {"G": "global", "S": "shared", "L": "local"}
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
Kind = tuple[str, str]  # space and "load", "store" or "copy"


def is_move(instruction: str) -> bool:
    """Whether an instruction, PTX or machine code, loads, stores or copies memory (parameters do not count)."""
    return bool(moves_in_ptx([instruction]) or moves_in_sass([instruction]))


def moves_in_ptx(instructions: Sequence[str]) -> dict[Kind, Counter[int]]:
    """How many loads and stores of how many bytes a lane there are, by kind."""
    moves: dict[Kind, Counter[int]] = {}
    for text in instructions:
        if copied := _PTX_COPY.match(text):
            moves.setdefault(("asynchronous", "copy"), Counter())[int(copied[1])] += 1
        elif move := _PTX.match(text):
            parts = move[2].split(".")
            space = next((part.split("::")[0] for part in parts if part.split("::")[0] in _SPACES.values()), None)
            bits = _PTX_BITS.match(parts[-1])
            if space and bits:
                lanes = {"v2": 2, "v4": 4}
                width = int(bits[1]) // 8 * next((lanes[part] for part in parts if part in lanes), 1)
                moves.setdefault((space, "load" if move[1] == "ld" else "store"), Counter())[width] += 1
    return moves


def moves_in_sass(instructions: Sequence[str]) -> dict[Kind, Counter[int]]:
    """The same of machine code."""
    moves: dict[Kind, Counter[int]] = {}
    for text in instructions:
        if move := _SASS.match(text):
            width = next((_WIDTHS[part] for part in move[2].split(".") if part in _WIDTHS), 4)
            kind = ("asynchronous", "copy") if move[1] == "LDGSTS" else (
                _SPACES[move[1][2]], "load" if move[1].startswith("LD") else "store"
            )  # fmt: skip
            moves.setdefault(kind, Counter())[width] += 1
    return moves


def merged(ptx: Sequence[str], sass: Sequence[str]) -> int:
    """How many loads and stores of the PTX the machine code does without, since others move their bytes too."""
    before, after = moves_in_ptx(ptx), moves_in_sass(sass)
    return sum(
        max(0, before[kind].total() - after[kind].total())
        for kind in before
        if kind in after and moved_bytes(before[kind]) == moved_bytes(after[kind])
    )


def moved_bytes(widths: Counter[int]) -> int:
    """Bytes a lane, all widths together."""
    return sum(width * count for width, count in widths.items())
