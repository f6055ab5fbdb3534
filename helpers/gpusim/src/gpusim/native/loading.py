"""Finds the compiled library of a program for this machine, or builds it by a C compiler that is here."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from gpusim.compiler import cache as disk
from gpusim.native import building
from gpusim.native.building import CannotBuild

ENVIRONMENT_VARIABLE = "GEMM_COURSE_NATIVE"
"""``off``: NumPy executes launches, and asks the compiled engine for what single instructions compute alone."""


class NoLibrary(Exception):
    """A program cannot be used on this machine; the message is a sentence that says why."""


def load(program: str, optional: bool = True) -> ctypes.CDLL:
    """The library of a program. NoLibrary if there is none and no compiler to build it.

    optional: the caller can do without it, so that it may be turned off; then NoLibrary, too.
    """
    if optional and os.environ.get(ENVIRONMENT_VARIABLE, "").lower() == "off":
        raise NoLibrary(f"{ENVIRONMENT_VARIABLE}=off.")
    library = _loaded(program)
    if isinstance(library, str):
        raise NoLibrary(library)
    return library[0]


def describe(program: str) -> str:
    """Where the library of a program comes from, in a few words. NoLibrary as `load`."""
    load(program)
    return _loaded(program)[1]


@cache
def _loaded(program: str) -> tuple[ctypes.CDLL, str] | str:
    """(the library, where it comes from), or a sentence that says why there is none."""
    if installed := building.installed(program):
        with contextlib.suppress(OSError):  # it was cut short: built anew
            return ctypes.CDLL(str(installed)), "compiled for this machine when the course was set up"
    try:
        level = building.levels()[0]
        path = _folder() / building.name(program, level)
        if not path.exists():
            building.build(program, path, level)
        return ctypes.CDLL(str(path)), "compiled for this machine when it was first needed"
    except CannotBuild as error:
        return str(error)
    except OSError as error:
        return f"The compiled {program} cannot be loaded: {error}."


def _folder() -> Path:
    """Where libraries are kept: in the cache, or for this process alone where that is turned off or read-only."""
    chosen = disk.folder()
    if chosen is not None:
        with contextlib.suppress(OSError):
            (chosen / "native").mkdir(parents=True, exist_ok=True)
            if os.access(chosen / "native", os.W_OK):
                return chosen / "native"
    return _temporary()


@cache
def _temporary() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="gemm-course-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
