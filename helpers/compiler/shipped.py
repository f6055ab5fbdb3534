"""Compiled kernels that come with the project, so that the first use of the ladder waits for no compiler.

`shipped.zip` lies beside this file and is only read; `python -m helpers.authoring.shipped_kernels` writes it. Its
entries are named as the cache's are: by the source text, the options and the compiler's build, or by the machine code
that was disassembled. What is not in it, or is no longer the same, is compiled as ever.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PATH = Path(__file__).with_name("shipped.zip")


def read(name: str) -> dict[str, bytes] | None:
    """The parts of an entry; None if it does not come with the project."""
    members = _members().get(name)
    if members is None:
        return None
    with zipfile.ZipFile(PATH) as archive:
        return {member.rpartition("/")[2]: archive.read(member) for member in members}


def write(entries: Mapping[str, Mapping[str, bytes]], path: Path = PATH) -> None:
    """Write all entries anew; the same entries always give the same file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, parts in sorted(entries.items()):
            for part, data in sorted(parts.items()):
                described = zipfile.ZipInfo(f"{name}/{part}")
                described.compress_type = zipfile.ZIP_LZMA
                archive.writestr(described, data)


@cache
def _members() -> dict[str, list[str]]:
    """The names of an entry's members by its own."""
    members: dict[str, list[str]] = {}
    if PATH.exists():
        with zipfile.ZipFile(PATH) as archive:
            for member in archive.namelist():
                members.setdefault(member.partition("/")[0], []).append(member)
    return members
