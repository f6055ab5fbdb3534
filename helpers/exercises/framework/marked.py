"""One source for an exercise: starter, solution and known wrong solutions, which differ in marked lines only.

A region begins with a marker that names versions, and each further marker begins the same lines as other versions have
them:

    // <starter>
    acc = a * b;
    // <solution>
    acc += a * b;
    // <forgets_b>
    acc += a;
    // <end>

Every version is a complete kernel. One that a region does not name has the solution's lines there; a marker may name
several versions, `// <starter, forgets_b>`. Text outside the regions belongs to all of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

STARTER, SOLUTION, END = "starter", "solution", "end"
_MARKER = re.compile(r"^\s*// <(\w+(?:, \w+)*)>$")

Part = str | Mapping[str, tuple[str, ...]]


class MarkerError(ValueError):
    """The markers of an exercise's source do not fit together; the message names the line."""


@dataclass(frozen=True)
class Marked:
    """A source with marked regions.  parts: lines that all versions share, and for each region version -> its lines."""

    parts: tuple[Part, ...]

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """The names of all versions: "starter", "solution", then the others in the order of their first marker."""
        named = [name for part in self.parts if not isinstance(part, str) for name in part]
        return tuple(dict.fromkeys((STARTER, SOLUTION, *named)))

    def version(self, name: str) -> str:
        """The complete text of a version, beginning and ending with a line break (as it stands in a notebook)."""
        if name not in self.versions:
            raise MarkerError(f"There is no version {name!r}; the source has {', '.join(self.versions)}.")
        lines: list[str] = []
        for part in self.parts:
            lines += [part] if isinstance(part, str) else part.get(name, part[SOLUTION])
        return "\n" + "\n".join(lines).strip("\n") + "\n"


def parse(text: str, name: str = "source") -> Marked:
    """The versions of a marked source. Raises MarkerError with the number of the line that does not fit."""
    parts: list[Part] = []
    region: dict[str, tuple[str, ...]] | None = None
    names: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        marker = _MARKER.match(line)
        if marker is None:
            if region is None:
                parts.append(line)
            else:
                for version in names:
                    region[version] += (line,)
            continue
        names = tuple(marker[1].split(", "))
        if names == (END,):
            if region is None or SOLUTION not in region:
                missing = "no region is open" if region is None else "the region has no <solution>"
                raise MarkerError(f"{name}, line {number}: <end>, but {missing}.")
            parts.append(region)
            region = None
            continue
        region = {} if region is None else region
        for version in names:
            if version in region or version == END:
                raise MarkerError(f"{name}, line {number}: <{version}> may not stand here again.")
            region[version] = ()
    if region is not None:
        raise MarkerError(f"{name}: the last region is not closed by // <end>.")
    return Marked(tuple(parts))


def read(path: Path) -> Marked:
    """The versions of a marked file."""
    return parse(path.read_text(encoding="utf-8"), path.name)
