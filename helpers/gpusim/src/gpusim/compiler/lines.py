"""Which instructions belong to which source line, from PTX's ``.loc`` and the machine code's line table."""

from __future__ import annotations

from gpusim.compiler import listing, ptx
from gpusim.compiler.build import CompiledKernel


def ptx_by_line(kernel: CompiledKernel) -> dict[int, list[str]]:
    """The PTX instructions of a compiled kernel by line of its source (from 1), in the order of the PTX.

    Instructions of a function that was inlined belong to the function's own line; code of a header belongs to the line
    that called it. Declarations, labels and instructions without a line are left out.
    """
    function = ptx.parse(kernel.ptx).functions[kernel.lowered_name]
    by_line: dict[int, list[str]] = {}
    for statement in function.statements:
        if statement.line:
            by_line.setdefault(statement.line, []).append(statement.text)
    return by_line


def sass_by_line(kernel: CompiledKernel) -> dict[int, list[str]]:
    """The SASS instructions of a compiled kernel by line of its source (from 1), in the order of the machine code.

    Code of a header that was inlined belongs to the line that called it. Left out are the NOPs and the jump to itself
    that fill up the code after the last instruction, and the compiler's own functions (the slow paths of division and
    square root), which belong to no line.

    Raises:
        NvdisasmMissing, DisassemblyError: as ``listing.read``.
    """
    rows, labels = listing.read(kernel)
    fillings = {(at, f"BRA `({label})") for label, at in labels.items()}
    by_line: dict[int, list[str]] = {}
    for index, row in enumerate(rows):
        if row.line and row.text != "NOP" and (index, row.text) not in fillings:
            by_line.setdefault(row.line, []).append(row.text)
    return by_line
