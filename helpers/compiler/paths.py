"""File names in what the compiler prints."""

from __future__ import annotations

import re
from collections.abc import Iterable

_QUOTED_PATH = re.compile(r'(^\s*\.file\s+\d+\s+|//## File |inlined at )"(.*?)"', re.MULTILINE)


def with_given_names(text: str, names: Iterable[str]) -> str:
    """PTX or SASS text with the paths that end in one of ``names`` replaced by that name.

    NVRTC puts the working directory before a relative name, which tells a reader nothing and differs from run to run.
    """
    known = tuple(names)

    def shorten(found: re.Match) -> str:
        path = found[2].replace("\\\\", "/").replace("\\", "/")
        given = next((name for name in known if path.endswith("/" + name)), found[2])
        return f'{found[1]}"{given}"'

    return _QUOTED_PATH.sub(shorten, text)
