"""Compiled kernels that come with the project, so that the first use of the ladder and of an exercise waits for no
compiler.

`shipped.zip` lies beside this file and is only read; `python -m helpers.tools.shipped_kernels` writes it. Its
entries are named as the cache's are: by the source text, the options and the compiler's build, or by the machine code
that was disassembled. What is not in it, or is no longer the same, is compiled as ever.

Entries that resemble each other, such as the versions of an exercise's kernel, are compressed together as one member of
the archive, in a tenth of the room. Its first member, INDEX, says in which member an entry lies, and where its parts
begin and end.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("shipped.zip")
INDEX = "index"


def read(name: str) -> dict[str, bytes] | None:
    """The parts of an entry; None if it does not come with the project."""
    entry = index().get(name)
    if entry is None:
        return None
    data = _member(entry["member"])
    return {part: data[begin:end] for part, (begin, end) in entry["parts"].items()}


def write(groups: Iterable[Mapping[str, Mapping[str, bytes]]], path: Path = PATH) -> None:
    """Write all entries anew, those of a group together; the same groups always give the same file."""
    places: dict[str, dict[str, Any]] = {}
    members: dict[str, bytes] = {}
    for number, group in enumerate(sorted(groups, key=min)):
        data = bytearray()
        for name, entry in sorted(group.items()):
            parts = {}
            for part, content in sorted(entry.items()):
                parts[part] = (len(data), len(data) + len(content))
                data += content
            places[name] = {"member": str(number), "parts": parts}
        members[str(number)] = bytes(data)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for member, content in {INDEX: json.dumps(places, sort_keys=True).encode(), **members}.items():
            described = zipfile.ZipInfo(member)
            described.compress_type = zipfile.ZIP_LZMA
            archive.writestr(described, content)


@cache
def index() -> dict[str, dict[str, Any]]:
    """The places of all entries by their names."""
    return json.loads(_member(INDEX)) if PATH.exists() else {}


@lru_cache(maxsize=2)
def _member(name: str) -> bytes:
    """A member of the archive. One is read for many entries: the check of an exercise asks for all its versions."""
    with zipfile.ZipFile(PATH) as archive:
        return archive.read(name)
