"""Finds the compiled library of a program for this machine, or has it built by a C compiler that is here."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from helpers.compiler import cache as disk
from helpers.native.sources import DIGEST, FLAGS, INCLUDE, archive, digest_of_source, sources

ENVIRONMENT_VARIABLE = "GEMM_COURSE_NATIVE"
"""``off``: use no compiled program."""

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
COMPILERS = ("cc", "gcc", "clang")


class NoLibrary(Exception):
    """A program cannot be used on this machine; the message is a sentence that says why."""


def system() -> str:
    """This system and its processor, "linux-x86_64"; the names are those of `sources.TARGETS`."""
    name = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    return f"{name}-{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }"


def load(program: str) -> ctypes.CDLL:
    """The library of a program. NoLibrary if it is turned off, or there is none and no compiler to build it."""
    if os.environ.get(ENVIRONMENT_VARIABLE, "").lower() == "off":
        raise NoLibrary(f"{ENVIRONMENT_VARIABLE}=off.")
    found = _found(program)
    if isinstance(found, str):
        raise NoLibrary(found)
    return found[0]


def describe(program: str) -> str:
    """Where the library of a program comes from, in a few words. NoLibrary as `load`."""
    load(program)
    return _found(program)[1]


@cache
def _found(program: str) -> tuple[ctypes.CDLL, str] | str:
    """(the library, where it comes from), or a sentence that says why there is none."""
    try:
        shipped = _shipped(program)
        return shipped if shipped is not None else _built_here(program)
    except (OSError, zipfile.BadZipFile) as error:
        return f"The compiled {program} cannot be loaded: {error}."


def _shipped(program: str) -> tuple[ctypes.CDLL, str] | None:
    """The library that comes with the project: the plain one, or on a processor that has more, the quickest one.

    None if there is none for this system, or the source was changed since.
    """
    path, name = archive(program), system()
    if not path.exists():
        return None
    with zipfile.ZipFile(path) as members:
        names = members.namelist()
        if f"{name}-v1" not in names or members.read(DIGEST).decode().strip() != digest_of_source(program):
            return None
        library, member = _opened(program, members.read(f"{name}-v1")), f"{name}-v1"
        better = (f"{name}-v{level}" for level in range(library.processor_level(), 1, -1))
        if quickest := next((one for one in better if one in names), None):
            library, member = _opened(program, members.read(quickest)), quickest
    return library, f"as it comes with the course for {member}"


def _built_here(program: str) -> tuple[ctypes.CDLL, str] | str:
    """A library that a C compiler of this machine makes, and kept in the cache."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None or sys.platform == "win32":
        return f"The {program} does not come compiled for {system()}, and there is no C compiler to build it."
    path = _folder() / f"{program}-{digest_of_source(program)[:16]}-{system()}{SUFFIX}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}")
        command = [compiler, *FLAGS, "-march=native", f"-I{INCLUDE}", *map(str, sources(program))]
        done = subprocess.run([*command, "-o", str(unfinished), "-lm"], capture_output=True, text=True)
        if done.returncode:
            problem = (done.stderr.strip().splitlines() or ["no message"])[0]
            return f"{compiler} cannot build the {program}: {problem}"
        os.replace(unfinished, path)
    return ctypes.CDLL(str(path)), f"built here by {compiler}"


def _opened(program: str, data: bytes) -> ctypes.CDLL:
    """The library whose bytes these are, from a file that holds them."""
    path = _folder() / f"{program}-{hashlib.sha256(data).hexdigest()[:16]}{SUFFIX}"
    try:
        whole = path.read_bytes() == data
    except OSError:
        whole = False
    if not whole:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}")
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    return ctypes.CDLL(str(path))


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
