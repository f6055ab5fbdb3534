"""One compilation with NVRTC, in a process beside this one that is kept for the next compilation.

A source can crash the compiler, let it work for hours or take all memory of the machine (macros and templates that
double themselves need ten lines). In a process of its own it can be ended: after GEMM_COURSE_COMPILE_SECONDS of
processor time, with more than GEMM_COURSE_COMPILE_GB of memory, or by Ctrl-C.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.compiler import nvrtc_process
from gpusim.compiler.errors import CompileError, CompilerMissing

SECONDS = "GEMM_COURSE_COMPILE_SECONDS"
"""How many seconds of processor time a compilation may take."""
GIGABYTES = "GEMM_COURSE_COMPILE_GB"
"""How much memory a compilation may take."""

_DEFAULTS = {SECONDS: 30.0, GIGABYTES: 4.0}
_PATIENCE = 4  # of the wall clock: a machine may be busy
_OUT_OF_MEMORY = re.compile(r"\berror: out of memory|Loop in catastrophic error|NVRTC_ERROR_OUT_OF_MEMORY")
_TIME = re.compile(r"^ptxas info\s*: Compile time = .*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Output:
    """What one run of NVRTC left: ``succeeded`` tells whether the other fields but ``log`` mean anything."""

    succeeded: bool
    log: str
    ptx: str = ""
    cubin: bytes = b""
    lowered_names: tuple[str, ...] = ()


def prepare() -> None:
    """Start the compiler's process, if there is none yet: it is ready when this one has something to compile."""
    if not _idle:
        _idle.append(_Process())


@functools.cache
def version() -> tuple[int, int]:
    """NVRTC's version, for example ``(12, 9)``."""
    return _ask("version")


@functools.cache
def build() -> str:
    """NVRTC's exact build (the comment lines that head its PTX): two builds of one version may differ in their code."""
    output = run("", "empty.cu", (f"-arch=compute_{supported_architectures()[-1]}",), (), {})
    return "\n".join(line for line in output.ptx.splitlines() if line.startswith("//"))


@functools.cache
def supported_architectures() -> tuple[int, ...]:
    """The compute capabilities, as 80 or 90, that this NVRTC compiles for, ascending."""
    return _ask("architectures")


def run(
    source: str, filename: str, options: Sequence[str], name_expressions: Sequence[str], headers: Mapping[str, str]
) -> Output:
    """Compile ``source``; ``options`` reach NVRTC exactly as given.

    Raises CompileError if the compiler crashes, or needs more time or memory than a compilation may.
    """
    succeeded, log, ptx, cubin, names = _ask(
        "run", source.encode(), filename.encode(), [option.encode() for option in options],
        [expression.encode() for expression in name_expressions],
        [(name.encode(), text.encode()) for name, text in headers.items()],
        any(option.startswith(("-arch=sm_", "--gpu-architecture=sm_")) for option in options),
    )  # fmt: skip
    if not succeeded and _OUT_OF_MEMORY.search(_text(log)):
        _end_all()  # of what the compiler left unfinished nothing goes into the next source
        raise _too_large(_limit(GIGABYTES))
    # Without the times that the compiler took: the same source then gives the same output.
    return Output(succeeded, _TIME.sub("", _text(log)), _text(ptx), cubin, tuple(names))


class _Ended(Exception):
    """The compiler's process has ended without an answer; the message says how."""


class _Process:
    """A process that compiles, and the one that started it: a child made by fork does not share it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.popen = subprocess.Popen(
            [sys.executable, nvrtc_process.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,  # a terminal's Ctrl-C is for this process alone
            env=os.environ | {"PYTHONSAFEPATH": "1"},  # modules of this folder are called as some of Python's are
        )  # fmt: skip

    def ask(self, request: tuple, seconds: float) -> tuple[str, Any]:
        """Its answer. _Ended if it ends before, or takes more than some seconds."""
        clock = threading.Timer(seconds, self.popen.kill)
        clock.daemon = True
        text, size = pickle.dumps(request), nvrtc_process.SIZE
        clock.start()
        try:
            self.popen.stdin.write(size.pack(len(text)) + text)
            self.popen.stdin.flush()
            header = self.popen.stdout.read(size.size)
            if len(header) == size.size:
                return pickle.loads(self.popen.stdout.read(*size.unpack(header)))
        except OSError:
            pass
        finally:
            clock.cancel()
        raise _Ended

    def end(self) -> int:
        """Stop it; its exit status."""
        self.popen.kill()
        for pipe in (self.popen.stdin, self.popen.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        return self.popen.wait()


_idle: list[_Process] = []  # those that have nothing to do: as many as have compiled at one time


@atexit.register
def _end_all() -> None:
    while _idle:
        process = _idle.pop()
        if process.owner == os.getpid():
            process.end()


def _ask(name: str, *arguments: Any) -> Any:
    """What a function of nvrtc_process answers."""
    seconds, gigabytes = _limit(SECONDS), _limit(GIGABYTES)
    request = name, arguments, os.getcwd(), max(1, round(seconds)), round(gigabytes * 2**30)
    process = _taken()
    try:
        status, reply = process.ask(request, _PATIENCE * seconds)
    except _Ended:
        raise _error_of(process.end(), seconds, gigabytes) from None
    except BaseException:
        process.end()
        raise
    _idle.append(process)
    if status == nvrtc_process.MISSING:
        raise CompilerMissing(
            f"NVRTC, the CUDA C++ compiler, could not be loaded ({reply}). Set the project up again with `make lab`, "
            "or install the packages cuda-bindings (version 12) and nvidia-cuda-nvrtc-cu12."
        )
    if status == nvrtc_process.REFUSED and _OUT_OF_MEMORY.search(reply):
        raise _too_large(gigabytes)
    if status == nvrtc_process.REFUSED:
        raise CompileError(f"the compiler answers {reply} and says nothing more of it.")
    return reply


def _taken() -> _Process:
    """A process that has nothing to do, or a new one."""
    while _idle:
        with contextlib.suppress(IndexError):  # another thread was faster
            process = _idle.pop()
            if process.owner == os.getpid() and process.popen.poll() is None:
                return process
    return _Process()


def _limit(name: str) -> float:
    """A limit that the environment sets, or the default."""
    given = os.environ.get(name, "")
    try:
        value = float(given) if given else _DEFAULTS[name]
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise CompileError(f"{name}={given!r} is no limit: expected a number above 0, such as {_DEFAULTS[name]:g}.")
    return value


def _too_large(gigabytes: float) -> CompileError:
    return CompileError(
        f"the compiler needed more than {gigabytes:g} GB of memory for this source and was stopped. Do macros, "
        f"templates or unrolled loops multiply in it, or is a table very long? {GIGABYTES}=… allows more."
    )


def _error_of(status: int, seconds: float, gigabytes: float) -> CompileError:
    """What to say of a process that ended with this status in the middle of a compilation."""
    if status in (-getattr(signal, "SIGXCPU", 0), -getattr(signal, "SIGKILL", 0)) or (os.name == "nt" and status == 1):
        return CompileError(
            f"the compiler had not finished this source after {seconds:g} seconds of work and was stopped. Do macros, "
            f"templates or unrolled loops multiply in it? {SECONDS}=… allows more."
        )
    if _peak_of_children() > 0.6 * gigabytes * 2**30:
        return _too_large(gigabytes)
    major, minor = version()
    return CompileError(
        f"the compiler itself, NVRTC {major}.{minor}, crashed on this source (status {status}), and would in "
        "CuPy, with the whole session. It is known to for wgmma with a constant descriptor such as 0: make descriptors "
        "at run time from the addresses of the tiles in shared memory. Of any other, leave out half of the source, and "
        "half of what crashes then, until the line is found."
    )


def _peak_of_children() -> int:
    """The most memory that a process took which this one started and which has ended, bytes; 0 if that is not known."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace").replace("\0", "")
