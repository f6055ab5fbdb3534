"""Compiles the programs of this folder for this machine: `python helpers/native/building.py` says what it did.

Installing the course runs it (hatch_build.py), so does `make setup`; what it makes lies in `built/` beside the source,
which git ignores. A library is named after all that it was made from, so that a change of the source, another system
or another processor asks for another one, which `loading` builds when it is first needed.

zig's C compiler, from the package `ziglang`, which an installation fetches for its own time; else the system's. Both
give the same bits, but GCC 12 compares vectors of 128 bytes lane by lane: its engine takes 1.7 to 3.5 times as long.
This file is run before anything is installed: it uses the standard library alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

HOME = Path(__file__).resolve().parent
INCLUDE = HOME / "include"  # what all programs share
PROGRAMS = tuple(sorted({path.parent.name for path in HOME.glob("*/*.c")}))
BUILT = "built"  # the folder beside a program's source

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
COMPILERS = () if sys.platform == "win32" else ("cc", "gcc", "clang")  # Microsoft's takes other options and another C
ZIG = "ziglang"
HOW_TO_GET_ONE = f"Install one, `{sys.executable} -m pip install {ZIG}` or your system's gcc, then start again."

# No contraction: a * b + c is fused where the source says so, and nowhere else. Without symbols a library is small.
FLAGS = (
    "-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-fvisibility=hidden", "-fPIC",
    "-Wall", "-Wextra", "-Wno-psabi",
)  # fmt: skip


class CannotBuild(Exception):
    """A program cannot be compiled on this machine; the message is a sentence that says why."""


def system() -> str:
    """This system and its processor as zig calls them, "x86_64-linux"."""
    name = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    return f"{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }-{name}"


@cache
def processor() -> str:
    """What this processor can do, for the name of a library that is compiled for it alone."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.lower().startswith(("flags", "features"))), platform.processor())


@cache
def compiler() -> tuple[str, ...]:
    """The command of a C compiler, with what names this machine; empty if there is none."""
    if importlib.util.find_spec(ZIG) is not None:
        # Named, the system is one whose headers zig brings: it does not look for those of a system that may have none.
        library = {"linux": "-gnu.2.17", "win32": "-gnu"}.get(sys.platform, "")
        return (sys.executable, "-m", ZIG, "cc", f"--target={system()}{library}", "-mcpu=native", "-g0")
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    return (found, "-march=native") if found else ()


def sources(program: str) -> list[Path]:
    """The C files of a program."""
    return sorted((HOME / program).glob("*.c"))


def digest_of_source(program: str) -> str:
    """Of all that the library of a program is made from."""
    text = hashlib.sha256(repr((FLAGS, system(), processor())).encode())
    for path in [*sources(program), *sorted((HOME / program).glob("*.h")), *sorted(INCLUDE.glob("*.h"))]:
        text.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return text.hexdigest()


def name(program: str) -> str:
    """The file name of a program's library for this source and this machine."""
    return f"{program}-{digest_of_source(program)[:16]}{SUFFIX}"


def library(program: str) -> Path:
    """Where the library of a program lies that was built with the course."""
    return HOME / program / BUILT / name(program)


def build(program: str, path: Path, *options: str) -> None:
    """Compile a program into the library `path`: all files at once, each by a process of its own.

    options: of the compiler, beside FLAGS.
    Raises CannotBuild where there is no compiler, or where it refuses; OSError where the folder cannot be written.
    """
    command = compiler()
    if not command:
        raise CannotBuild(f"There is no C compiler here to build the {program}. {HOW_TO_GET_ONE}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        objects = {source: str(Path(folder) / f"{source.stem}.o") for source in sources(program)}
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            steps = [
                [*command, *FLAGS, *options, f"-I{INCLUDE}", "-c", str(source), "-o", made]
                for source, made in objects.items()
            ]
            list(workers.map(_run, steps, [program] * len(steps)))
        linked = Path(folder) / path.name
        _run([*command, "-shared", "-s", *objects.values(), "-o", str(linked), "-lm"], program)
        unfinished = path.with_name(f"{path.name}.{os.getpid()}")
        shutil.copyfile(linked, unfinished)
        os.replace(unfinished, path)


def _run(command: list[str], program: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        problem = next((line for line in lines if "error" in line), lines[0])
        raise CannotBuild(f"{words(command)} cannot build the {program}: {problem}")


def words(command: Sequence[str]) -> str:
    """What a compiler is called in a sentence."""
    return ZIG if ZIG in command else command[0]


def build_all(programs: Iterable[str] = PROGRAMS, *options: str) -> list[str]:
    """Build what is missing beside the sources, and remove what they have outgrown: a sentence for each that was built.

    Raises CannotBuild, and OSError where the folders cannot be written.
    """
    told = []
    for program in programs:
        path = library(program)
        if path.exists():
            continue
        started = time.perf_counter()
        build(program, path, *options)
        for old in path.parent.glob(f"{program}-*"):
            if old.name != path.name:
                _remove(old)
        told.append(f"compiled the {program} in {time.perf_counter() - started:.0f} s, by {words(compiler())}")
    return told


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # Windows keeps what a program has loaded
        path.unlink()


if __name__ == "__main__":
    try:
        for line in build_all(PROGRAMS, *sys.argv[1:]):
            print(f"set-up: {line}")
    except (CannotBuild, OSError) as error:  # the course runs without them, more slowly
        print(f"set-up: kernels will be executed in NumPy, 10 times slower. {error}")
