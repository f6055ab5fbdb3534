"""What can go wrong between a source text and its machine code."""

from __future__ import annotations

from gpusim.sentences import Sentence


class CompilerError(Sentence, Exception):
    """Base of everything that gpusim.compiler raises."""


class CompilerMissing(CompilerError):
    """NVRTC itself cannot be loaded."""


class CompileError(CompilerError):
    """The source does not compile; the message shows the compiler's words, the source line and a caret."""


class UnknownArchitecture(CompileError):
    """The compiler does not know the architecture that was asked for."""


class UnknownKernel(CompileError):
    """The source compiles, or would, but has no such kernel. `entries` are all names that were asked for in vain."""

    entries: frozenset[str] = frozenset()


class DisassemblyError(CompilerError):
    """nvdisasm is there but refuses this machine code."""


class NvdisasmMissing(DisassemblyError):
    """nvdisasm is not installed."""
