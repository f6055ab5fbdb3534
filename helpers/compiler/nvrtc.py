"""One compilation with NVRTC, through NVIDIA's own binding (cuda-bindings).

The binding looks for the library where CuPy looks, with cuda-pathfinder: in the pip wheel, in conda, in a CUDA toolkit,
on Linux and on Windows. So the compiler is the one that ``cupy.RawModule`` uses on a machine with a GPU, and it needs
neither a GPU nor a driver nor CuPy.
"""

from __future__ import annotations

import functools
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.compiler.errors import CompileError, CompilerMissing

# A program that reads the arguments of `run`, and writes what it returns.
_APART = """
import pickle, sys
from helpers.compiler import nvrtc
sys.stdout.buffer.write(pickle.dumps(nvrtc.run(*pickle.loads(sys.stdin.buffer.read()))))
"""
_TIME = re.compile(r"^ptxas info\s*: Compile time = .*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Output:
    """What one run of NVRTC left: ``succeeded`` tells whether the other fields but ``log`` mean anything."""

    succeeded: bool
    log: str
    ptx: str = ""
    cubin: bytes = b""
    lowered_names: tuple[str, ...] = ()


class _Refused(Exception):
    """NVRTC answered a call with an error; the message is its name for it, such as NVRTC_ERROR_COMPILATION."""


@functools.cache
def _binding() -> Any:
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()  # loads the library
    except Exception as error:  # ImportError, RuntimeError or an error of cuda-pathfinder, by what is missing
        raise CompilerMissing(
            f"NVRTC, the CUDA C++ compiler, could not be loaded ({error}). Set the project up again with `make lab`, "
            "or install the packages cuda-bindings (version 12) and nvidia-cuda-nvrtc-cu12."
        ) from error
    return nvrtc


def _call(name: str, *arguments: Any) -> Any:
    """The result of a function of NVRTC; _Refused if it fails."""
    nvrtc = _binding()
    status, *results = getattr(nvrtc, name)(*arguments)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise _Refused(status.name)
    return results[0] if len(results) == 1 else results


def version() -> tuple[int, int]:
    """NVRTC's version, for example ``(12, 9)``."""
    major, minor = _call("nvrtcVersion")
    return int(major), int(minor)


@functools.cache
def build() -> str:
    """NVRTC's exact build (the comment lines that head its PTX): two builds of one version may differ in their code."""
    output = run("", "empty.cu", (f"-arch=compute_{supported_architectures()[-1]}",), (), {})
    return "\n".join(line for line in output.ptx.splitlines() if line.startswith("//"))


@functools.cache
def supported_architectures() -> tuple[int, ...]:
    """The compute capabilities, as 80 or 90, that this NVRTC compiles for, ascending."""
    return tuple(sorted(int(number) for number in _call("nvrtcGetSupportedArchs")))


def run(
    source: str, filename: str, options: Sequence[str], name_expressions: Sequence[str], headers: Mapping[str, str]
) -> Output:
    """Compile ``source``; ``options`` reach NVRTC exactly as given."""
    encoded = [option.encode() for option in options]
    with _program(source, filename, headers) as program:
        for expression in name_expressions:
            _call("nvrtcAddNameExpression", program, expression.encode())
        try:
            _call("nvrtcCompileProgram", program, len(encoded), encoded)
        except _Refused as error:
            return Output(succeeded=False, log=_log(program) or str(error))
        return Output(
            succeeded=True,
            log=_log(program),
            ptx=_text(_bytes("PTX", program)),
            cubin=_bytes("CUBIN", program) if _makes_machine_code(options) else b"",
            lowered_names=tuple(
                _call("nvrtcGetLoweredName", program, expression.encode()).decode() for expression in name_expressions
            ),
        )


def run_apart(
    source: str, filename: str, options: Sequence[str], name_expressions: Sequence[str], headers: Mapping[str, str]
) -> Output:
    """As `run`, in a process of its own: CompileError, and not the end of this one, if the compiler crashes."""
    arguments = pickle.dumps((source, filename, tuple(options), tuple(name_expressions), dict(headers)))
    root = Path(__file__).parents[2]
    folders = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", _APART], input=arguments, capture_output=True, check=False,
        env=os.environ | {"PYTHONPATH": folders},
    )  # fmt: skip
    if done.returncode == 0:
        return pickle.loads(done.stdout)
    if done.stderr:
        raise CompileError(f"the compiler could not be run: {done.stderr.decode(errors='replace').splitlines()[-1]}")
    major, minor = version()
    raise CompileError(
        f"the compiler itself, NVRTC {major}.{minor}, crashed on this source (status {done.returncode}), and would in "
        "CuPy, with the whole session. It is known to for wgmma with a constant descriptor such as 0: make descriptors "
        "at run time from the addresses of the tiles in shared memory."
    )


@contextmanager
def _program(source: str, filename: str, headers: Mapping[str, str]) -> Iterator[Any]:
    texts = [text.encode() for text in headers.values()]
    names = [name.encode() for name in headers]
    program = _call("nvrtcCreateProgram", source.encode(), filename.encode(), len(headers), texts, names)
    try:
        yield program
    finally:
        _call("nvrtcDestroyProgram", program)


def _makes_machine_code(options: Sequence[str]) -> bool:
    return any(option.startswith(("-arch=sm_", "--gpu-architecture=sm_")) for option in options)


def _bytes(what: str, program: Any) -> bytes:
    """One result of a program: "PTX", "CUBIN" or "ProgramLog"."""
    buffer = bytearray(_call(f"nvrtcGet{what}Size", program))
    _call(f"nvrtcGet{what}", program, buffer)
    return bytes(buffer)


def _log(program: Any) -> str:
    """The compiler's messages, without the times that it took: the same source then gives the same output."""
    return _TIME.sub("", _text(_bytes("ProgramLog", program)))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace").replace("\0", "")
