"""A disk cache of named byte strings: safe when several processes write at once, bounded, and never executed.

An entry is one file: a mark, the length of a JSON header, the header, then the parts. The header gives each part's size
and a digest of them all, so that a damaged entry is noticed and simply ignored; the next write replaces it. Files
are written beside their place and renamed onto it, which is atomic on every system.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import platformdirs

ENVIRONMENT_VARIABLE = "GEMM_COURSE_CACHE"
"""A folder to keep the cache in, or ``off`` for no disk cache."""

LIMIT_BYTES = 256 * 2**20

_MARK = b"GEMMCACHE1\n"
_SUFFIX = ".bin"
_UNFINISHED = ".part"
_UNFINISHED_SECONDS = 3600


def folder() -> Path | None:
    """Where entries are kept, or None when the cache is turned off."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE, "")
    if chosen.lower() == "off":
        return None
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gemm-course", appauthor=False))


def key(kind: str, *facts: object) -> str:
    """A file name for what ``facts`` (anything that JSON can write) determine."""
    text = json.dumps([kind, *facts], sort_keys=True, ensure_ascii=True)
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()}"


def read(name: str) -> dict[str, bytes] | None:
    """The parts stored under ``name``; None when there is no entry or it is damaged."""
    path = _path(name)
    if path is None:
        return None
    try:
        parts = _unpack(path.read_bytes())
    except (OSError, ValueError):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # its age is what decides which entries go first
    return parts


def write(name: str, parts: Mapping[str, bytes]) -> None:
    """Store ``parts`` under ``name``; a cache that cannot be written is as good as none, so no error is raised."""
    path = _path(name)
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f"{path.stem}.", suffix=_UNFINISHED, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_pack(parts))
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        trim(path.parent, LIMIT_BYTES)


def trim(directory: Path, limit_bytes: int) -> None:
    """Delete the entries that were not used for longest until the rest fits in ``limit_bytes``.

    Deletes also what a writer left that was stopped in the middle, after an hour.
    """
    for path in directory.glob(f"*{_UNFINISHED}"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNFINISHED_SECONDS:
                path.unlink()
    entries = []
    for path in directory.glob(f"*{_SUFFIX}"):
        with contextlib.suppress(OSError):  # another process may have deleted it
            status = path.stat()
            entries.append((status.st_mtime, status.st_size, path))
    excess = sum(size for _, size, _ in entries) - limit_bytes
    for _, size, path in sorted(entries):
        if excess <= 0:
            break
        with contextlib.suppress(OSError):
            path.unlink()
        excess -= size


def _path(name: str) -> Path | None:
    directory = folder()
    return directory / f"{name}{_SUFFIX}" if directory else None


def _pack(parts: Mapping[str, bytes]) -> bytes:
    body = b"".join(parts.values())
    header = {
        "sizes": {name: len(part) for name, part in parts.items()},
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    text = json.dumps(header).encode()
    return b"".join((_MARK, struct.pack("<I", len(text)), text, body))


def _unpack(data: bytes) -> dict[str, bytes]:
    """The parts of a packed entry. Raises ValueError if anything about it is not as ``_pack`` wrote it."""
    start = len(_MARK) + 4
    if data[: len(_MARK)] != _MARK or len(data) < start:
        raise ValueError("not a cache entry")
    (length,) = struct.unpack_from("<I", data, len(_MARK))
    body = data[start + length :]
    try:
        header = json.loads(data[start : start + length])
        sizes, digest = header["sizes"], header["sha256"]
    except (KeyError, TypeError, UnicodeDecodeError) as error:
        raise ValueError("the header of this cache entry is damaged") from error
    if hashlib.sha256(body).hexdigest() != digest or sum(sizes.values()) != len(body):
        raise ValueError("this cache entry is damaged")
    parts, position = {}, 0
    for name, size in sizes.items():
        parts[name] = body[position : position + size]
        position += size
    return parts
