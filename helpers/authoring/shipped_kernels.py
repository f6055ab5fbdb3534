"""Writes the compiled kernels that come with the project: `python -m helpers.authoring.shipped_kernels`.

They are the kernels of the ladder with their default parameters, compiled for the course's default GPU as a notebook
compiles them, and disassembled. Run it again when a kernel changes, or the pinned compiler: a test says so.
"""

import os
import sys
import tempfile
from pathlib import Path

import gemm_kernels
from gemm_kernels.launch import OPTIONS
from helpers import compiler
from helpers.compiler import CompiledKernel, cache, disassembly, shipped

MOST_BYTES = 2 * 2**20  # so that the project stays quick to clone


def compiled(kernel: gemm_kernels.Kernel) -> CompiledKernel:
    """A kernel of the ladder, compiled as a notebook compiles it."""
    return compiler.compile(kernel.source, kernel.entry, options=OPTIONS)


def entries() -> dict[str, dict[str, bytes]]:
    """All entries by name, as the compiler and nvdisasm make them on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[cache.ENVIRONMENT_VARIABLE] = folder
        kernels = [compiled(kernel) for kernel in gemm_kernels.LADDER]
        found = {path.stem: cache.read(path.stem) for path in Path(folder).iterdir()}
    texts = {disassembly.shipped_name(one): {"text": disassembly.module_text(one).encode()} for one in kernels}
    return {**{name: parts for name, parts in found.items() if parts is not None}, **texts}


def main() -> None:
    shipped.PATH.unlink(missing_ok=True)  # nothing of it may be read
    shipped.write(entries())
    sys.stdout.write(f"{shipped.PATH}: {shipped.PATH.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
