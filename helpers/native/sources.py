"""Which programs there are, for which systems they come compiled, and how they are compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).parent
INCLUDE = HOME / "include"  # what all programs share
PROGRAMS = tuple(sorted({path.parent.name for path in HOME.glob("*/*.c") if path.parent != INCLUDE}))
DIGEST = "source.sha256"  # the member of libraries.zip that says what the others were made from

# No contraction: a * b + c is fused where the source says so, and nowhere else. Without symbols a library is small.
FLAGS = (
    "-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-fvisibility=hidden", "-fPIC",
    "-shared", "-s", "-Wall", "-Wextra", "-Wno-psabi",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """A system that libraries are built for.

    name: of the system and its processor, as `loading.system` says it.  level: 3 and 4 for processors with x86-64-v3 or
    -v4.
    zig: what zig calls the system; for Linux with the oldest C library that it shall run with.  cpu: zig's processor.
    """

    name: str
    zig: str
    cpu: str
    level: int = 1

    @property
    def member(self) -> str:
        """The name of a library for it in libraries.zip."""
        return f"{self.name}-v{self.level}"


def _levels(name: str, zig: str, most: int) -> Iterator[Target]:
    """Without and with what x86 processors can do since about 2013, and some since 2017 (level 4)."""
    yield Target(name, zig, "x86_64")
    for level in range(3, most + 1):
        yield Target(name, zig, f"x86_64_v{level}", level)


TARGETS = (
    *_levels("linux-x86_64", "x86_64-linux-gnu.2.17", 4),
    Target("linux-aarch64", "aarch64-linux-gnu.2.17", "generic"),
    *_levels("windows-x86_64", "x86_64-windows-gnu", 4),
    *_levels("macos-x86_64", "x86_64-macos", 3),
    Target("macos-aarch64", "aarch64-macos", "apple_m1"),
)


def sources(program: str) -> list[Path]:
    """The C files of a program, those that all share last."""
    return [*sorted((HOME / program).glob("*.c")), *sorted(INCLUDE.glob("*.c"))]


def archive(program: str) -> Path:
    """Where the compiled libraries of a program are."""
    return HOME / program / "libraries.zip"


def digest_of_source(program: str) -> str:
    """Of all that the libraries of a program are made from."""
    text = hashlib.sha256(repr((FLAGS, TARGETS)).encode())
    for path in [*sources(program), *sorted((HOME / program).glob("*.h")), *sorted(INCLUDE.glob("*.h"))]:
        text.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n"))
    return text.hexdigest()
