"""Compiles the programs of this folder for this machine: `python helpers/gpusim/src/gpusim/native/building.py` says
what it did.

Installing the course runs it (helpers/gpusim/hatch_build.py), so does `make setup`; what it makes lies in `built/`
beside the source, which git ignores. A library is named after all that it was made from, so that a change of the
source, or a machine on which none of them runs, asks for another one, which `loading` builds when it is first needed.

zig's C compiler, from the package `ziglang`, which an installation fetches for its own time; else the system's. Both
give the same bits, but GCC 12 compares vectors of 128 bytes lane by lane: its engine takes 1.7 to 3.5 times as long.
This file is run before anything is installed: it uses the standard library alone.
"""

from __future__ import annotations

import contextlib
import ctypes
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
PROGRAMS = tuple(sorted({path.parent.name for path in HOME.glob("*/*.c")} - {INCLUDE.name}))
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


# What each level of x86-64 asks for, in the words of /proc/cpuinfo. Level 2 is passed over: level 3 is
# in nearly all processors since 2013, level 4 in servers' since 2017.
_V3 = frozenset(("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"))
_V4 = frozenset(("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"))
LEVELS = {4: _V3 | _V4, 3: _V3, 1: frozenset()}
MARCH = {4: "-march=skylake-avx512", 3: "-march=haswell"}  # in words that older compilers know
PF_AVX2_INSTRUCTIONS_AVAILABLE = 40  # of Windows


class CannotBuild(Exception):
    """A program cannot be compiled on this machine; the message is a sentence that says why."""


def system() -> str:
    """This system and its processor as zig calls them, "x86_64-linux"."""
    name = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    return f"{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }-{name}"


@cache
def levels() -> tuple[int, ...]:
    """The levels of x86-64 that this processor executes, of 4, 3 and 1, the best first; (1,) for any other one."""
    able = _abilities()
    return tuple(level for level, needs in LEVELS.items() if able >= needs)


def _abilities() -> set[str]:
    """What this processor can do, in Linux's words; empty where it does not say so."""
    if sys.platform == "win32":
        has_avx2 = ctypes.windll.kernel32.IsProcessorFeaturePresent(PF_AVX2_INSTRUCTIONS_AVAILABLE)
        return set(LEVELS[3]) if has_avx2 else set()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


@cache
def compiler() -> tuple[str, ...]:
    """The command of a C compiler, with what names this system; empty if there is none."""
    if importlib.util.find_spec(ZIG) is not None:
        # Named, the system is one whose headers zig brings: it does not look for those of a system that may have none.
        library = {"linux": "-gnu.2.17", "win32": "-gnu"}.get(sys.platform, "")
        return (sys.executable, "-m", ZIG, "cc", f"--target={system()}{library}", "-g0")
    path = next(filter(None, map(shutil.which, COMPILERS)), None)
    return (path,) if path else ()


def _for_level(level: int) -> list[str]:
    """What says to the compiler which processors a library is for."""
    if level == 1:
        return []
    return [f"-mcpu=x86_64_v{level}"] if ZIG in compiler() else [MARCH[level], "-mtune=native"]


def sources(program: str) -> list[Path]:
    """The C files of a program, and those that all programs share."""
    return sorted((*(HOME / program).glob("*.c"), *INCLUDE.glob("*.c")))


def digest_of_source(program: str) -> str:
    """Of all that the libraries of a program are made from."""
    text = hashlib.sha256(repr((FLAGS, system())).encode())
    for path in [*sources(program), *sorted((HOME / program).glob("*.h")), *sorted(INCLUDE.glob("*.h"))]:
        text.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return text.hexdigest()


def name(program: str, level: int) -> str:
    """The file name of a program's library for this source, this system and processors of a level."""
    return f"{program}-{digest_of_source(program)[:16]}-v{level}{SUFFIX}"


def wanted(program: str) -> dict[int, Path]:
    """Level → where its library lies that an installation builds: this processor's, and for one of level 4 that of 3,
    too: an image of a container, or a folder that machines share, is often used where there are other processors."""
    some = [level for level in levels() if level > 1] or levels()
    return {level: HOME / program / BUILT / name(program, level) for level in some}


def installed(program: str) -> Path | None:
    """The best library of a program that was built with the course and that this processor executes."""
    paths = (HOME / program / BUILT / name(program, level) for level in levels())
    return next(filter(Path.exists, paths), None)


def build(program: str, path: Path, level: int, *options: str) -> None:
    """Compile a program into the library `path`: all files at once, each by a process of its own.

    level: of the processors that it is for, of `levels()`.  options: of the compiler, beside FLAGS.
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
                [*command, *FLAGS, *_for_level(level), *options, f"-I{INCLUDE}", "-c", str(source), "-o", made]
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
    sentences = []
    for program in programs:
        started, missing = time.perf_counter(), {at: path for at, path in wanted(program).items() if not path.exists()}
        for level, path in missing.items():
            build(program, path, level, *options)
        if missing:
            current = {name(program, level) for level in LEVELS}
            for old in (HOME / program / BUILT).glob(f"{program}-*"):
                if old.name not in current:
                    _remove(old)
            sentences.append(f"compiled the {program} in {time.perf_counter() - started:.0f} s, by {words(compiler())}")
    return sentences


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # Windows keeps what a program has loaded
        path.unlink()


if __name__ == "__main__":
    try:
        for line in build_all(PROGRAMS, *sys.argv[1:]):
            print(f"set-up: {line}")
    except (CannotBuild, OSError) as error:  # a launch builds them, when there is a compiler, or says this
        print(f"set-up: kernels cannot be executed without a GPU yet. {error}")
