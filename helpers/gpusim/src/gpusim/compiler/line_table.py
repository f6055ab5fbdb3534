"""Which source line each instruction comes from, read from the line table of a CUBIN.

It is DWARF's line number program (DWARF 2, section 6.2) with two extended opcodes of NVIDIA's. One says where the code
of a function that was inlined was called from: the number of an earlier row of its sequence, from 1, and the function's
name. NVIDIA does not document it; `nvdisasm -gi` prints the same, and the tests hold both against each other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from gpusim.compiler.cubin import Cubin

SECTION = ".debug_line"
_VERSION = 2
_END, _SET_ADDRESS, _INLINED_CALL, _FUNCTION_NAME = 0x01, 0x02, 0x90, 0x91
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _SET_COLUMN = 1, 2, 3, 4, 5
_NEGATE_STATEMENT, _BASIC_BLOCK, _CONSTANT_ADD, _FIXED_ADVANCE = 6, 7, 8, 9


class UnknownTable(Exception):
    """The line table is of a kind that is not read here."""


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a file, and in a function that was inlined the place that called it."""

    file: str
    line: int
    called_from: Location | None = None

    def chain(self) -> Iterator[Location]:
        """This place, that of its call, that of the call's call, and so on."""
        inlined: Location | None = self
        while inlined is not None:
            yield inlined
            inlined = inlined.called_from


def locations(image: Cubin) -> dict[str, dict[int, Location]]:
    """By section of machine code: address → place from there on. Files have their paths, as the compiler saw them.

    Raises:
        UnknownTable: the table is of another version, or has an opcode that is not known.
    """
    locations: dict[str, dict[int, Location]] = {}
    data = image.data(SECTION)
    position = 0
    try:
        while position < len(data):
            (length,) = struct.unpack_from("<I", data, position)
            _read_unit(image, _Bytes(data, position, position + 4 + length), locations)
            position += 4 + length
    except (struct.error, IndexError, ValueError, KeyError) as error:
        raise UnknownTable(f"the line table is not whole: {error!r}") from error
    return locations


class _Bytes:
    """Bytes that are read from one end to the other."""

    def __init__(self, data: bytes, position: int, end: int) -> None:
        self.data, self.position, self.end = data, position, end

    def take(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self.data, self.position)
        self.position += struct.calcsize(form)
        return value

    def unsigned(self) -> int:
        """A number in LEB128."""
        value = shift = 0
        while True:
            byte = self.data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self) -> int:
        start = self.position
        value = self.unsigned()
        bits = 7 * (self.position - start)
        return value - (value >> (bits - 1) << bits)

    def text(self) -> str:
        end = self.data.index(b"\0", self.position)
        text = self.data[self.position : end].decode()
        self.position = end + 1
        return text


def _read_unit(image: Cubin, data: _Bytes, tables: dict[str, dict[int, Location]]) -> None:
    data.take("<I")  # its length
    version, header_bytes = data.take("<H"), data.take("<I")
    program = data.position + header_bytes
    smallest, _, line_base, line_range, opcode_base = (data.take(form) for form in ("<B", "<B", "<b", "<B", "<B"))
    if version != _VERSION or opcode_base != _FIXED_ADVANCE + 1:
        raise UnknownTable(f"the line table is of version {version} with {opcode_base - 1} standard opcodes")
    data.position += opcode_base - 1  # how many operands each of them has
    files = _files(data)
    data.position = program
    addresses = image.relocations.get(SECTION, {})

    rows: list[Location] = []
    section, address, line, file, context = "", 0, 1, 1, 0
    while data.position < data.end:
        opcode = data.take("<B")
        is_row = opcode >= opcode_base or opcode == _COPY
        if opcode >= opcode_base:
            steps, change = divmod(opcode - opcode_base, line_range)
            address += steps * smallest
            line += line_base + change
        elif opcode == 0:
            size = data.unsigned()
            following = data.position + size
            kind = data.take("<B")
            if kind == _END:
                rows = []
                section, address, line, file, context = "", 0, 1, 1, 0
            elif kind == _SET_ADDRESS:
                symbol, addend, _ = addresses[data.position]
                section, address = symbol.section, symbol.offset + addend
            elif kind == _INLINED_CALL:
                context = data.unsigned()
            elif kind != _FUNCTION_NAME:
                raise UnknownTable(f"the line table has the extended opcode {kind:#x}")
            data.position = following
        elif opcode == _ADVANCE_PC:
            address += data.unsigned() * smallest
        elif opcode == _ADVANCE_LINE:
            line += data.signed()
        elif opcode == _SET_FILE:
            file = data.unsigned()
        elif opcode == _SET_COLUMN:
            data.unsigned()
        elif opcode == _CONSTANT_ADD:
            address += (255 - opcode_base) // line_range * smallest
        elif opcode == _FIXED_ADVANCE:
            address += data.take("<H")
        if is_row:
            rows.append(Location(files[file - 1], line, rows[context - 1] if context else None))
            tables.setdefault(section, {})[address] = rows[-1]


def _files(data: _Bytes) -> list[str]:
    """The paths of a unit's files, which are numbered from 1."""
    folders, files = [""], []
    while folder := data.text():
        folders.append(folder)
    while name := data.text():
        folder = folders[data.unsigned()]
        data.unsigned(), data.unsigned()  # when it was changed, and its size
        files.append(f"{folder}/{name}" if folder else name)
    return files
