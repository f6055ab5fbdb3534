"""A disk cache of named byte strings: safe when several processes write at once, bounded, and never executed.

An entry is one zip archive, a member for each part. Its checksums tell a damaged entry, which is simply ignored; the
next write replaces it. Files are written beside their place and renamed onto it, which is atomic on every system.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import struct
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import platformdirs

from gpusim.compiler import shipped

ENVIRONMENT_VARIABLE = "GEMM_COURSE_CACHE"
"""A folder to keep the cache in, or ``off`` for no disk cache."""

LIMIT_BYTES = 256 * 2**20

_TRIM_EVERY_BYTES = LIMIT_BYTES // 32  # written by one process: a look at thousands of files is not free

_SUFFIX = ".zip"
_UNFINISHED = ".part"
_UNFINISHED_SECONDS = 3600
# What zipfile raises for an archive that is not whole, by where the damage is.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, OverflowError, RuntimeError, ValueError
)  # fmt: skip

_untrimmed = _TRIM_EVERY_BYTES  # bytes that this process wrote since it last trimmed; its first write trims


def folder() -> Path | None:
    """Where entries are kept, or None when the cache is turned off."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE, "")
    if chosen.lower() == "off":
        return None
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gemm-course", appauthor=False))


@contextlib.contextmanager
def kept_in(folder: str | Path) -> Iterator[None]:
    """Keep entries in this folder for a while, or nowhere: ``off``."""
    before = os.environ.get(ENVIRONMENT_VARIABLE)
    os.environ[ENVIRONMENT_VARIABLE] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[ENVIRONMENT_VARIABLE]
        else:
            os.environ[ENVIRONMENT_VARIABLE] = before


def key(kind: str, *facts: object) -> str:
    """A file name for what ``facts`` (anything that JSON can write) determine."""
    text = json.dumps([kind, *facts], sort_keys=True, ensure_ascii=True)
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()}"


def read(name: str) -> dict[str, bytes] | None:
    """The parts stored under ``name``, here or with the project; None when there is no entry or it is damaged."""
    path = _path(name)
    if path is None:
        return None
    try:
        parts = _unpack(path.read_bytes())
    except (OSError, *_DAMAGE):
        return shipped.read(name)
    with contextlib.suppress(OSError):
        os.utime(path)  # its age is what decides which entries go first
    return parts


def write(name: str, parts: Mapping[str, bytes]) -> None:
    """Store ``parts`` under ``name``; a cache that cannot be written is as good as none, so no error is raised."""
    global _untrimmed
    path = _path(name)
    if path is None:
        return
    data = _pack(parts)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f"{path.stem}.", suffix=_UNFINISHED, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _untrimmed += len(data)
        if _untrimmed >= _TRIM_EVERY_BYTES:
            _untrimmed = 0
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
    """A zip archive of the parts: the same parts always give the same bytes.

    Machine code with its debugging information becomes 4.7 times as small, in 0.4 ms, and is read in 0.2 ms. So the
    limit holds all kernels of a test run; when it did not, each run threw away what the next one asked for first.
    """
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED, 1)
    return data.getvalue()


def _unpack(data: bytes) -> dict[str, bytes]:
    """The parts of a packed entry. Raises one of _DAMAGE if it is not as `_pack` wrote it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
