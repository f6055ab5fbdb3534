"""Which instructions belong to which source line, from PTX's ``.loc`` and nvdisasm's line comments."""

from __future__ import annotations

import re

from helpers.compiler.build import CompiledKernel
from helpers.compiler.disassembly import disassemble

_PTX_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"(.*?)"', re.MULTILINE)
_PTX_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_PTX_COMMENT = re.compile(r"//.*")
_PTX_LABEL = re.compile(r"[$\w]+:")
_SASS_LINE = re.compile(r'//## File "(.*?)", line (\d+)( inlined at)?')
_SASS_LABEL = re.compile(r"([.$\w]+):\Z")
_SASS_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")


def ptx_by_line(kernel: CompiledKernel) -> dict[int, list[str]]:
    """The PTX instructions of a compiled kernel by line of its source (from 1), in the order of the PTX.

    Instructions of a function that was inlined belong to the function's own line. Declarations, labels and
    instructions with no line are left out, and so are lines of headers.
    """
    files = {number: path for number, path in _PTX_FILE.findall(kernel.ptx)}
    by_line: dict[int, list[str]] = {}
    line, unfinished = None, ""  # a call is printed over several lines
    for text in _ptx_body(kernel.ptx, kernel.lowered_name).split("\n"):
        text = _PTX_COMMENT.sub("", text).strip()
        if location := _PTX_LOC.match(text):
            number = int(location[2])
            line = number if number and files.get(location[1]) == kernel.filename else None
        elif text in ("", "{", "}") or _PTX_LABEL.match(text):
            continue
        elif not text.endswith(";"):
            unfinished += text + " "
        else:
            instruction = " ".join((unfinished + text.removesuffix(";")).split())
            unfinished = ""
            if line and not instruction.startswith("."):
                by_line.setdefault(line, []).append(instruction)
    return by_line


def sass_by_line(kernel: CompiledKernel) -> dict[int, list[str]]:
    """The SASS instructions of a compiled kernel by line of its source (from 1), in the order of the machine code.

    Left out are the NOPs and the jump to itself that fill up the code after the last instruction, lines of headers, and
    the compiler's own functions (the slow paths of division and square root), which belong to no line.

    Raises:
        NvdisasmMissing, DisassemblyError: as ``disassemble``.
    """
    by_line: dict[int, list[str]] = {}
    line, label, is_caller = None, "", False
    for text in map(str.strip, disassemble(kernel).split("\n")):
        if location := _SASS_LINE.match(text):
            if not is_caller:
                line = int(location[2]) if location[1] == kernel.filename else None
            is_caller = bool(location[3])
        elif found := _SASS_LABEL.match(text):
            label = found[1]
            line = line if label.startswith(".L") else None  # another function starts
        elif instruction := _SASS_INSTRUCTION.match(text):
            is_filling = instruction[1] in ("NOP", f"BRA `({label})")
            label = ""
            if line and not is_filling:
                by_line.setdefault(line, []).append(" ".join(instruction[1].split()))
    return by_line


def _ptx_body(ptx: str, lowered_name: str) -> str:
    """The text between the outermost braces of a kernel's ``.entry``."""
    entry = re.search(rf"\.entry\s+{re.escape(lowered_name)}\s*\(", ptx)
    if not entry:
        return ""
    start = ptx.index("\n{", entry.end()) + 2
    return ptx[start : ptx.index("\n}", start)]
