"""One compilation with NVRTC, through CuPy's own binding.

CuPy is used, and not a second loader, because then the compiler is the very library that ``cupy.RawModule`` uses on a
machine with a GPU: CuPy finds it in the pip wheel, in conda or in a CUDA toolkit, on Linux and Windows, for CUDA 12
and 13 alike, and needs no GPU for it.
"""

from __future__ import annotations

import functools
import re
import struct
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from helpers.compiler.errors import CompilerMissing

_TIME = re.compile(r"^ptxas info\s*: Compile time = .*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Output:
    """What one run of NVRTC left: ``succeeded`` tells whether the other fields but ``log`` mean anything."""

    succeeded: bool
    log: str
    ptx: str = ""
    cubin: bytes = b""
    lowered_names: tuple[str, ...] = ()


@functools.cache
def _binding():
    try:
        with warnings.catch_warnings():
            # On Windows CuPy warns at import where there is no CUDA toolkit; the compiler needs none.
            warnings.filterwarnings("ignore", message="CUDA path could not be detected")
            from cupy.cuda import nvrtc

        nvrtc.getVersion()
    except Exception as error:  # CuPy raises ImportError, RuntimeError or its own type, by version and platform
        raise CompilerMissing(
            f"NVRTC, the CUDA C++ compiler that CuPy uses, could not be loaded ({error}). "
            "Set the project up again with `make lab`, or install the packages cupy-cuda12x and nvidia-cuda-nvrtc-cu12."
        ) from error
    return nvrtc


def version() -> tuple[int, int]:
    """NVRTC's version, for example ``(12, 9)``."""
    major, minor = _binding().getVersion()
    return int(major), int(minor)


@functools.cache
def build() -> str:
    """NVRTC's exact build (the comment lines that head its PTX): two builds of one version may differ in their code."""
    output = run("", "empty.cu", (f"-arch=compute_{supported_architectures()[-1]}",), (), {})
    return "\n".join(line for line in output.ptx.splitlines() if line.startswith("//"))


@functools.cache
def supported_architectures() -> tuple[int, ...]:
    """The compute capabilities, as 80 or 90, that this NVRTC compiles for, ascending."""
    return tuple(sorted(int(number) for number in _binding().getSupportedArchs()))


def run(
    source: str, filename: str, options: Sequence[str], name_expressions: Sequence[str], headers: Mapping[str, str]
) -> Output:
    """Compile ``source``; ``options`` reach NVRTC exactly as given."""
    nvrtc = _binding()
    with _program(nvrtc, source, filename, headers) as program:
        for expression in name_expressions:
            nvrtc.addNameExpression(program, expression)
        try:
            nvrtc.compileProgram(program, tuple(options))
        except nvrtc.NVRTCError as error:
            return Output(succeeded=False, log=_log(nvrtc, program) or str(error))
        return Output(
            succeeded=True,
            log=_log(nvrtc, program),
            ptx=_text(nvrtc.getPTX(program)),
            cubin=_whole_elf(nvrtc.getCUBIN(program)) if _makes_machine_code(options) else b"",
            lowered_names=tuple(nvrtc.getLoweredName(program, expression) for expression in name_expressions),
        )


@contextmanager
def _program(nvrtc, source: str, filename: str, headers: Mapping[str, str]) -> Iterator[int]:
    texts = [text.encode() for text in headers.values()]
    names = [name.encode() for name in headers]
    program = nvrtc.createProgram(source, filename, texts, names)
    try:
        yield program
    finally:
        nvrtc.destroyProgram(program)


def _makes_machine_code(options: Sequence[str]) -> bool:
    return any(option.startswith(("-arch=sm_", "--gpu-architecture=sm_")) for option in options)


def _log(nvrtc, program: int) -> str:
    """The compiler's messages, without the times that it took: the same source then gives the same output."""
    return _TIME.sub("", _text(nvrtc.getProgramLog(program)))


def _text(raw: bytes | str) -> str:
    text = raw.decode("utf-8", errors="replace") if isinstance(raw, bytes) else raw
    return text.replace("\0", "")


def _whole_elf(cubin: bytes) -> bytes:
    """The CUBIN with the last byte that CuPy 14.2's ``getCUBIN`` drops.

    CuPy treats the CUBIN as a C string and cuts a terminator that it does not have. The ELF header says where the
    file ends (its last table is the program headers, whose last field is a small 64-bit alignment: the byte is zero).
    """
    program_headers, section_headers = struct.unpack_from("<QQ", cubin, 0x20)
    program_size, program_count, section_size, section_count = struct.unpack_from("<HHHH", cubin, 0x36)
    end = max(program_headers + program_size * program_count, section_headers + section_size * section_count)
    return cubin + b"\0" if len(cubin) == end - 1 else cubin
