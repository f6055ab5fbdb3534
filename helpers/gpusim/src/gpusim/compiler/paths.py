"""File names in what the compiler prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_QUOTED = re.compile(r'"([^"\n]*)"')  # few things are: to look for what stands before a path takes thirty times as long
_BEFORE_A_PATH = re.compile(r"(?:^\s*\.file\s+\d+\s+|//## File |inlined at )$")


def with_given_names(text: str, names: Iterable[str]) -> str:
    """PTX or SASS text with the paths that end in one of ``names`` replaced by that name.

    NVRTC puts the working directory before a relative name, which tells a reader nothing and differs from run to run.
    """
    known = tuple(names)

    def shorten(match: re.Match) -> str:
        line = text.rfind("\n", 0, match.start()) + 1
        is_path = _BEFORE_A_PATH.search(text[line : match.start()])
        return f'"{given_name(match[1], known)}"' if is_path else match[0]

    return _QUOTED.sub(shorten, text)


def given_name(path: str, names: Sequence[str]) -> str:
    """The one of ``names`` that a path ends in, else the path."""
    plain = path.replace("\\\\", "/").replace("\\", "/")
    return next((name for name in names if plain.endswith("/" + name)), path)
