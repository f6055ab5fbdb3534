"""What a row of the table is: a kernel as people write it, how it is launched, and what it must answer.

Each file of kernels, `scans.cu`, has its rows beside it, `scans.py`: a function for each, which launches kernels of
that file and compares with NumPy, Python's integers or another answer that does not come from the simulator.

    @right("bitonic_sort")
    def _(run, rng):
        x = rng.integers(-99, 99, 256)...
        run("bitonic", 1, 256, x)
        assert ...

`held` names the tests that hold a row already; `refused` marks one that is answered by a sentence.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim import compiler, devices
from helpers import gpu

LEVELS = ("sass", "ptx")
_KERNEL = re.compile(r'extern "C" __global__ void (?:__\w+__\(.*?\)+ )?(?P<name>\w+)\(')
_END = re.compile(r"^}|^extern.*}\s*(//.*)?$")
_REFUSED = re.compile(r"^kernel\.cu:(\d+): error: (.*)", re.MULTILINE)


class NotForThisArchitecture(Exception):
    """The compiler refuses a kernel for an architecture."""


class Run:
    """Launches kernels of one file at one level, with all checks; a wrong access or a race raises."""

    def __init__(self, source: Path, level: str, arch: str = devices.DEFAULT.arch) -> None:
        self.source, self.level, self.arch = source, level, arch
        self.messages: list[str] = []

    @property
    def module(self) -> gpusim.RawModule:
        """The file compiled. Both levels and all rows share it, and rows of one file share its variables."""
        return compiled(self.source, self.arch)[0]

    def __call__(self, name: str, grid, block, *arguments, shared_mem: int = 0, **options) -> None:
        grid, block = (size if isinstance(size, tuple) else (size,) for size in (grid, block))
        if name in (left_out := compiled(self.source, self.arch)[1]):
            raise NotForThisArchitecture(left_out[name])
        with gpusim.record(level=self.level, checks="raise"):
            self.module.get_function(name)(grid, block, arguments, shared_mem=shared_mem, **options)

    def printed(self, name: str, grid, block, *arguments) -> str:
        """What a kernel prints."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self(name, grid, block, *arguments)
        return out.getvalue()

    def says(self, name: str, grid, block, *arguments, text: str, **options) -> None:
        """Launch what the simulator does not do: the message names the line and what it is, `text`.

        It advises the other level only if that one runs the kernel, which Row.refused says of the table.
        """
        with pytest.raises(gpusim.SimulatorError, match=text) as caught:
            self(name, grid, block, *arguments, **options)
        message = str(caught.value)
        assert "line" in message and len(message) < 700, message
        self.messages.append(message)

    def once(
        self, code: str, name: str, grid, block, *arguments, options: tuple[str, ...] = (), arch: str = "", **given
    ) -> None:
        """Launch a kernel that needs a module of its own. arch: the only one that it is for."""
        if arch and self.arch != arch.rstrip("a"):
            raise NotForThisArchitecture(f"it is for {arch}")
        grid, block = (size if isinstance(size, tuple) else (size,) for size in (grid, block))
        module = gpusim.RawModule(code=code, options=options, arch=arch or self.arch)
        with gpusim.record(level=self.level, checks="raise"):
            module.get_function(name)(grid, block, arguments, **given)

    def fill(self, name: str, values: np.ndarray) -> None:
        """Write an array into a variable of the module."""
        gpu.ndarray(values.shape, values.dtype, self.module.get_global(name)).set(values)

    def read(self, name: str, shape: int | tuple[int, ...], dtype: type) -> np.ndarray:
        """What a variable of the module holds."""
        return gpu.ndarray(shape, dtype, self.module.get_global(name)).get()


@dataclass(frozen=True)
class Row:
    """`check` launches and compares. Without one, `held_by` are the tests, "file.py::test", that hold the row.

    refused: the levels at which the answer is a sentence, which `check` reads; the others are right.
    """

    name: str
    check: Callable[[Run, np.random.Generator], None] | None = None
    held_by: tuple[str, ...] = ()
    source: Path | None = None
    refused: tuple[str, ...] = ()

    def run(self, level: str, arch: str = devices.DEFAULT.arch) -> None:
        """Launch and compare; an AssertionError or the simulator's error if it is not as it should be."""
        assert self.check and self.source
        _done(self.check, self.source, level, arch, self.refused)


@cache
def _done(check: Callable, source: Path, level: str, arch: str, refused: tuple[str, ...]) -> None:
    """Rows that one function checks are run once; a failure is not kept."""
    run = Run(source, level, arch)
    check(run, np.random.default_rng(zlib.crc32(inspect.getsource(check).encode())))
    other = "ptx" if level == "sass" else "sass"
    for message in run.messages:
        assert (f'level="{other}"' in message) == (other not in refused), message


ROWS: dict[str, Row] = {}


def right(*names: str) -> Callable:
    """The function checks these rows; both levels must give the right result."""
    return _row(names, refused=())


def refused(*names: str, levels: tuple[str, ...] = LEVELS) -> Callable:
    """The function checks these rows; at `levels` the launch must be answered by a sentence, which it reads."""
    return _row(names, refused=levels)


def held(names: str, *tests: str) -> None:
    """Rows that other tests hold."""
    for name in names.split():
        _add(Row(name, held_by=tests))


@cache
def compiled(source: Path, arch: str = devices.DEFAULT.arch) -> tuple[gpusim.RawModule, dict[str, str]]:
    """A file of kernels, without those that the compiler refuses for an architecture: these by name, and why."""
    lines, left_out = source.read_text(encoding="utf-8").splitlines(), {}
    while True:
        module = gpusim.RawModule(code="\n".join(lines), options=("-std=c++17",), arch=arch)
        try:
            module.compile()
            return module, left_out
        except compiler.CompileError as error:
            named = {_leave_out(lines, int(number) - 1): why for number, why in _REFUSED.findall(str(error))}
            if arch == devices.DEFAULT.arch or not any(named):
                raise
            left_out |= named


def _leave_out(lines: list[str], at: int) -> str:
    """Empty the lines of the kernel around one of them; the answer is its name, "" if there is none any more."""
    first = next((number for number in range(at, -1, -1) if lines[at] and _KERNEL.match(lines[number])), None)
    if first is None:
        return ""
    name = _KERNEL.match(lines[first])["name"]
    last = next(number for number in range(first, len(lines)) if _END.search(lines[number]))
    lines[first : last + 1] = [""] * (last + 1 - first)
    return name


def _row(names: tuple[str, ...], refused: tuple[str, ...]) -> Callable:
    def add(check: Callable) -> Callable:
        source = Path(inspect.getfile(check)).with_suffix(".cu")
        for name in names:
            _add(Row(name, check, (), source, refused))
        return check

    return add


def _add(row: Row) -> None:
    assert row.name not in ROWS, f"{row.name} has a row already"
    ROWS[row.name] = row
