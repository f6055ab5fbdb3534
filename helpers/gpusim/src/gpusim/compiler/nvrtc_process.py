"""The process that NVRTC runs in: it answers requests on its standard input, one after the other, until that ends.

It is started as a script, without the rest of the project, whose modules it does not need. NVRTC is called through
NVIDIA's own binding (cuda-bindings), which looks for the library where CuPy looks, with cuda-pathfinder: in the pip
wheel, in conda, in a CUDA toolkit, on Linux and on Windows. So the compiler is the one that ``cupy.RawModule`` uses on
a machine with a GPU, and it needs neither a GPU nor a driver nor CuPy.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import sys
from typing import Any

SIZE = struct.Struct("<q")
MISSING, REFUSED, DONE = "missing", "refused", "done"


class Refused(Exception):
    """NVRTC answered a call with an error; the message is its name for it, such as NVRTC_ERROR_COMPILATION."""


def _call(name: str, *arguments: Any) -> Any:
    """The result of a function of NVRTC; Refused if it fails."""
    from cuda.bindings import nvrtc

    status, *results = getattr(nvrtc, name)(*arguments)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise Refused(status.name)
    return results[0] if len(results) == 1 else results


def version() -> tuple[int, int]:
    """NVRTC's version. Loads the library."""
    major, minor = _call("nvrtcVersion")
    return int(major), int(minor)


def architectures() -> tuple[int, ...]:
    """The compute capabilities that this NVRTC compiles for, ascending."""
    return tuple(sorted(int(number) for number in _call("nvrtcGetSupportedArchs")))


def run(
    source: bytes,
    filename: bytes,
    options: list[bytes],
    expressions: list[bytes],
    headers: list[tuple[bytes, bytes]],
    makes_machine_code: bool,
) -> tuple[bool, bytes, bytes, bytes, list[str]]:
    """(whether the source compiles, the log, PTX, machine code, the names of the expressions)."""
    texts, names = [text for _, text in headers], [name for name, _ in headers]
    program = _call("nvrtcCreateProgram", source, filename, len(headers), texts, names)
    try:
        for expression in expressions:
            _call("nvrtcAddNameExpression", program, expression)
        try:
            _call("nvrtcCompileProgram", program, len(options), options)
        except Refused as error:
            return False, _bytes("ProgramLog", program) or str(error).encode(), b"", b"", []
        code = _bytes("CUBIN", program) if makes_machine_code else b""
        lowered = [_call("nvrtcGetLoweredName", program, expression).decode() for expression in expressions]
        return True, _bytes("ProgramLog", program), _bytes("PTX", program), code, lowered
    finally:
        _call("nvrtcDestroyProgram", program)


def _bytes(what: str, program: Any) -> bytes:
    """One result of a program: "PTX", "CUBIN" or "ProgramLog"."""
    buffer = bytearray(_call(f"nvrtcGet{what}Size", program))
    _call(f"nvrtcGet{what}", program, buffer)
    return bytes(buffer)


def limit(seconds: int, memory: int) -> None:
    """Let the system end this process when it has worked for some seconds more, and give it no more bytes than that."""
    try:
        import resource
    except ImportError:  # Windows, where the other process's clock is the only limit
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime) + seconds
    for what, value in ((resource.RLIMIT_CPU, most), (resource.RLIMIT_AS, memory)):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def answer(request: tuple) -> tuple[str, Any]:
    """What became of a request: (name of a function, arguments, folder, seconds, bytes of memory)."""
    name, arguments, folder, seconds, memory = request
    try:
        os.chdir(folder)
        version()
    except Exception as error:  # ImportError, RuntimeError or an error of cuda-pathfinder, by what is missing
        return MISSING, str(error)
    limit(seconds, memory)
    try:
        return DONE, {"version": version, "architectures": architectures, "run": run}[name](*arguments)
    except Refused as error:
        return REFUSED, str(error)
    except MemoryError:
        return REFUSED, "NVRTC_ERROR_OUT_OF_MEMORY"


def main() -> None:
    """Answer until the input ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    with contextlib.suppress(Exception):  # the first request's answer says what is wrong
        version()
    while len(size := requests.read(SIZE.size)) == SIZE.size:
        text = pickle.dumps(answer(pickle.loads(requests.read(*SIZE.unpack(size)))))
        answers.write(SIZE.pack(len(text)) + text)
        answers.flush()


if __name__ == "__main__":
    main()
