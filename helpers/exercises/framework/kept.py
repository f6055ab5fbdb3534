"""The kernels that a learner wrote: each accepted one is kept as a file, and the course goes on with it.

The files lie in the folder my/ of the course, which git leaves alone, or where the user may not write there, as on a
JupyterHub, in the user's data folder. The environment variable GEMM_COURSE_MY names another folder, or `off` for none.
Where nothing can be written, a kernel is kept until the notebook's kernel ends.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from helpers.exercises.framework import progress

ENVIRONMENT_VARIABLE = "GEMM_COURSE_MY"
FOLDER = Path(__file__).resolve().parents[3] / "my"

_memory: dict[str, str] = {}  # what could not be written; belongs to this process alone


def folder() -> Path | None:
    """Where the kernels are kept, or None if they are not to be kept in files."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE, "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen)
    return FOLDER if _writable(FOLDER) else progress.data_folder() / "my"


def _writable(directory: Path) -> bool:
    return os.access(directory if directory.exists() else directory.parent, os.W_OK)


def where_kept(directory: Path | None) -> str:
    """Where a kernel is kept, in a sentence; "" where that is the course's folder, or the one that was asked for.

    directory: as `keep` returns it.
    """
    wanted = folder()
    if directory is not None and (directory.parent == FOLDER or os.environ.get(ENVIRONMENT_VARIABLE)):
        return ""
    if directory is not None:
        return f"Kept in {progress.short(directory)}, since the course's own folder cannot be written."
    if wanted is None:
        return ""
    return f"{progress.short(wanted)} cannot be written: the kernel is kept until this notebook's kernel ends."


def keep(name: str, source: str) -> Path | None:
    """Keep the source of a kernel as my/<name>.cu, complete or not at all; None where no file could be written."""
    directory = folder()
    if directory is not None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=directory, prefix=f".{name}-")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(source)
            os.replace(temporary, directory / f"{name}.cu")
            _memory.pop(name, None)
            return directory / f"{name}.cu"
        except OSError:
            pass
    _memory[name] = source
    return None


def is_name(name: object) -> bool:
    """Whether a file may have this name: it leads to no other folder."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0")


def source(name: str) -> str | None:
    """The source that was kept under this name, or None."""
    if not is_name(name):
        return None
    if name in _memory:
        return _memory[name]
    directory = folder()
    if directory is not None:
        with contextlib.suppress(OSError, ValueError):  # ValueError: no text, or a name that no system encodes
            return (directory / f"{name}.cu").read_text(encoding="utf-8")
    return None


def forget(name: str) -> None:
    """Drop what was kept under this name. Nothing kept: nothing to do."""
    _memory.pop(name, None)
    directory = folder()
    if directory is not None:
        with contextlib.suppress(OSError):
            (directory / f"{name}.cu").unlink(missing_ok=True)
