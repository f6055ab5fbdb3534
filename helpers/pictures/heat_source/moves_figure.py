"""What the assembler made of a line's loads and stores: PTX says what was written, machine code what is done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from helpers.pictures import theme
from helpers.pictures.heat_source.moves import Kind, moved_bytes, moves_in_ptx, moves_in_sass


def translations(ptx: Sequence[str], sass: Sequence[str]) -> tuple[str, ...]:
    """Sentences for the kinds of which the machine code has others than the PTX of the same line."""
    before, after = moves_in_ptx(ptx), moves_in_sass(sass)
    return tuple(
        f"{_counted(before[kind], kind)} in PTX {'is' if before[kind].total() == 1 else 'are'} "
        f"{_counted(after[kind])} in the machine code{_why(before[kind], after[kind])}."
        for kind in before
        if kind in after and before[kind] != after[kind]
    )


def _counted(widths: Counter[int], kind: Kind | None = None) -> str:
    """'64 shared loads of 4 bytes', '1 of 16 bytes and 2 of 4 bytes'."""
    parts = []
    for width, count in sorted(widths.items(), reverse=True):
        what = f" {' '.join(kind)}{'' if count == 1 else 's'}" if kind else ""
        parts.append(f"{theme.thousands(count)}{what} of {theme.plural(width, 'byte')}")
    return " and ".join(parts).replace("copys", "copies")


def _why(before: Counter[int], after: Counter[int]) -> str:
    moved, now = moved_bytes(before), moved_bytes(after)
    if moved == now:
        return ": merged" if after.total() < before.total() else ": split"
    if now > moved and now % moved == 0 and before.keys() == after.keys():
        return f": the code is there {theme.plural(now // moved, 'time')}, unrolled"
    return ""
