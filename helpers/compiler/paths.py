"""File names in what the compiler prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_QUOTED_PATH = re.compile(r'(^\s*\.file\s+\d+\s+|//## File |inlined at )"(.*?)"', re.MULTILINE)


def with_given_names(text: str, names: Iterable[str]) -> str:
    """PTX or SASS text with the paths that end in one of ``names`` replaced by that name.

    NVRTC puts the working directory before a relative name, which tells a reader nothing and differs from run to run.
    """
    known = tuple(names)

    def shorten(found: re.Match) -> str:
        return f'{found[1]}"{given_name(found[2], known)}"'

    return _QUOTED_PATH.sub(shorten, text)


def given_name(path: str, names: Sequence[str]) -> str:
    """The one of ``names`` that a path ends in, else the path."""
    plain = path.replace("\\\\", "/").replace("\\", "/")
    return next((name for name in names if plain.endswith("/" + name)), path)
