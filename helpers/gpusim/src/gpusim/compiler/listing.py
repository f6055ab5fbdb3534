"""The instructions of a kernel with their source lines, as nvdisasm prints them, and nearly always without it.

`forms` has the text of an instruction, the CUBIN's line table its line, and its symbols the names of functions. What is
left are the labels: nvdisasm numbers the targets of a module's branches in the order in which they are first named. A
kernel of which anything is not known is printed by nvdisasm.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from gpusim.compiler import cubin, forms, line_table
from gpusim.compiler.build import CompiledKernel
from gpusim.compiler.cubin import Cubin
from gpusim.compiler.disassembly import disassemble
from gpusim.compiler.paths import given_name
from gpusim.compiler.sass import INSTRUCTION_BYTES, Function, Row, rows, statements

_TEXT = ".text."
_RELATIVE = re.compile(r"\(([-+]0x[0-9a-f]+)\)$")


def read(kernel: CompiledKernel) -> tuple[list[Row], dict[str, int]]:
    """(the instructions, name → index of the instruction) of a kernel and of the functions that it calls.

    Raises:
        NvdisasmMissing, DisassemblyError: as `disassemble`, which is asked about what is not known here.
    """
    return without_nvdisasm(kernel) or rows(disassemble(kernel), kernel.filename)


def parse(kernel: CompiledKernel) -> Function:
    """The statements of a kernel; raises as `read`."""
    return statements(*read(kernel))


def without_nvdisasm(kernel: CompiledKernel) -> tuple[list[Row], dict[str, int]] | None:
    """What `read` returns; None for a kernel with anything that is not known."""
    module = _module(kernel.arch, kernel.cubin)
    code = module.get(_TEXT + kernel.lowered_name) if module else None
    if code is None:
        return None
    texts, labels, lines = code
    names = (kernel.filename, *(name for name, _ in kernel.headers))
    starts = {index for name, index in labels.items() if not name.startswith(".L")}
    rows: list[Row] = []
    own: tuple[int, ...] = ()
    shown: tuple[str, int] | None = None
    is_own = cache(lambda file: given_name(file, names) == kernel.filename)  # of some files, asked for each line
    for index, text in enumerate(texts):
        if index in starts:
            own, shown = (), None
        location = lines.get(index * INSTRUCTION_BYTES)
        # As nvdisasm prints it: not another call alone.
        if location is not None and (location.file, location.line) != shown:
            own = tuple(each.line for each in location.chain() if is_own(each.file))
            shown = location.file, location.line
        rows.append(Row(index * INSTRUCTION_BYTES, text, own[0] if own else 0, own[1:]))
    return rows, labels


_Code = tuple[list[str], dict[str, int], dict[int, line_table.Location]]


@lru_cache(maxsize=4)  # the kernels of a module are asked for one after the other
def _module(arch: str, binary: bytes) -> dict[str, _Code] | None:
    """(texts, labels, lines by address) by section of machine code; None if anything is not known."""
    known = forms.of(arch)
    if known is None:
        return None
    image = cubin.read(binary)
    sections = [name for name in image.sections if name.startswith(_TEXT)]
    if any(image.relocations.get(name) for name in sections):  # addresses that only the linker knows
        return None
    try:
        lines = line_table.locations(image)
    except line_table.UnknownTable:
        return None
    code: dict[str, _Code] = {}
    numbers: dict[tuple[str, int], str] = {}  # the labels of branches, by section and address
    for section in sections:
        texts, labels = [], _functions(image, section)
        named = {index: name for name, index in reversed(labels.items()) if not name.startswith(".")}
        for address, instruction in enumerate(forms.split(image.data(section))):
            text = known.text(instruction)
            if text is None:
                return None
            if target := _RELATIVE.search(text):
                at = (address + 1) * INSTRUCTION_BYTES + int(target[1], 16)
                index = at // INSTRUCTION_BYTES
                label = named.get(index) or numbers.setdefault((section, at), f".L_x_{len(numbers)}")
                labels[label] = index
                text = f"{text[: target.start()]}`({label})"
            texts.append(text)
        code[section] = texts, labels, lines.get(section, {})
    return code


def _functions(image: Cubin, section: str) -> dict[str, int]:
    """The names of a section and of the functions in it: name → index of the instruction."""
    symbols = [each for each in image.symbols if each.section == section and each.name]
    return {section: 0} | {each.name: each.offset // INSTRUCTION_BYTES for each in symbols}
