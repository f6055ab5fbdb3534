"""SASS, the instructions that the hardware runs, as NVIDIA's nvdisasm prints them."""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from gpusim.compiler import cache, cubin
from gpusim.compiler.build import CompiledKernel
from gpusim.compiler.errors import DisassemblyError, NvdisasmMissing
from gpusim.compiler.paths import with_given_names

_SECTION = re.compile(r"^//-+ (\S+) +-+[ \t]*$", re.MULTILINE)
# Code sections only, with source lines and where functions were inlined. Without analysis of the data flow (it finds
# spills, and takes a quarter of the time): the targets of computed branches are in the machine code's own tables.
_FLAGS = ("-c", "-gi", "-ndf")
_TIMEOUT_SECONDS = 120


def disassemble(kernel: CompiledKernel) -> str:
    """The SASS of ``kernel`` as ``nvdisasm -c -gi`` prints it: the file's header and the kernel's own section.

    The section holds the functions that the kernel calls, too, or their sections follow (with ``-G``).
    ``//## File "kernel.cu", line 7`` comments name the
    source line of what follows, with file names as they were given to the compiler. In a function that was inlined the
    comment goes on with ``inlined at``, and the next one names that line.

    Raises:
        NvdisasmMissing: nvdisasm is not installed.
        DisassemblyError: it is, but refuses this machine code; the message has its words.
    """
    names = (kernel.filename, *(name for name, _ in kernel.headers))
    return with_given_names(_section(module_text(kernel), kernel), names)


def module_text(kernel: CompiledKernel) -> str:
    """What nvdisasm prints of the whole module of a kernel; kept in the cache. Raises as `disassemble` does."""
    shipped = cache.read(shipped_name(kernel))
    if shipped is not None:
        return shipped["text"].decode()
    program = find_nvdisasm()
    name = cache.key("sass", _stamp(program), _FLAGS, _digest(kernel))
    stored = cache.read(name)
    if stored and "text" in stored:
        return stored["text"].decode()
    text = _run(program, kernel)
    cache.write(name, {"text": text.encode()})
    return text


def shipped_name(kernel: CompiledKernel) -> str:
    """The name under which the text may come with the project, whichever nvdisasm is installed."""
    return cache.key("sass", _FLAGS, _digest(kernel))


def _digest(kernel: CompiledKernel) -> str:
    return hashlib.sha256(kernel.cubin).hexdigest()


def find_nvdisasm() -> Path:
    """Where nvdisasm is: in the pip wheel, in conda, in a CUDA toolkit, or on PATH."""
    try:
        from cuda.pathfinder import find_nvidia_binary_utility

        path = find_nvidia_binary_utility("nvdisasm")
    except Exception:  # not here, or an older one without this function
        path = None
    path = path or shutil.which("nvdisasm")
    if path is None:
        raise NvdisasmMissing(
            "nvdisasm, which prints the machine code (SASS) of a kernel, is not installed. "
            "Run `make lab` again, or `pip install nvidia-cuda-nvdisasm`; a CUDA toolkit has it too."
        )
    return Path(path)


def _run(program: Path, kernel: CompiledKernel) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.cubin"
        path.write_bytes(kernel.cubin)
        try:
            done = subprocess.run(
                [str(program), *_FLAGS, str(path)], capture_output=True, timeout=_TIMEOUT_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DisassemblyError(f"{program} could not be run: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise DisassemblyError(
            f"nvdisasm does not print the machine code of {kernel.entry} for {kernel.arch}. It says: {said}. "
            "Compile for an architecture that it knows, such as sm_80 or sm_90."
        )
    return done.stdout.decode(errors="replace").replace("\r\n", "\n")


@functools.cache
def _stamp(program: Path) -> str:
    """What tells one nvdisasm from another, without the time that starting it takes."""
    status = program.stat()
    return f"{status.st_size}-{status.st_mtime_ns}"


def _section(text: str, kernel: CompiledKernel) -> str:
    head, sections = _sections(text)
    wanted = cubin.read(kernel.cubin).code_sections(kernel.lowered_name)
    if wanted[0] in sections:
        return head + "".join(sections.get(name, "") for name in wanted)
    raise DisassemblyError(f"nvdisasm printed no section .text.{kernel.lowered_name} for {kernel.entry}")


@functools.lru_cache(maxsize=2)  # the kernels of a module are asked for one after the other
def _sections(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the first section of a module, and the text of each by its name."""
    marks = list(_SECTION.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    sections = {mark[1]: text[mark.start() : end] for mark, end in zip(marks, ends, strict=True)} if marks else {}
    return text[: marks[0].start()] if marks else text, sections
