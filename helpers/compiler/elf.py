"""What a CUBIN says about its kernels: a reader for the few parts of NVIDIA's ELF files that the course needs.

A CUBIN is a 64-bit little-endian ELF file. A kernel ``k`` has its code in the section ``.text.k``, its static shared
memory in ``.nv.shared.k`` and its attributes in ``.nv.info.k``; attributes of all kernels are in ``.nv.info``, keyed by
symbol. NVIDIA does not document the attributes: their numbers are those that ``cuobjdump -elf`` prints beside the names
used here, and the tests hold the values against ptxas's own report for every architecture.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

_MAX_THREADS = 0x05  # __launch_bounds__: three 32-bit block dimensions
_PARAM_CBANK = 0x0A  # where the parameters lie in constant bank 0
_REQUIRED_THREADS = 0x10  # .reqntid: the block must have exactly these dimensions
_MIN_STACK_SIZE = 0x12  # bytes of local memory a thread, calls included
_KPARAM_INFO = 0x17  # one kernel parameter: ordinal, offset, size
_REGCOUNT = 0x2F
_KPARAM_INFO_V2 = 0x45  # the same for parameters that do not fit the first form

_RESERVED_SECTION = ".nv.shared.reserved.0"
_RESERVED_BYTES = 1024  # the system's share, which the section sizes include where the section above exists (CC 9.0+)


@dataclass(frozen=True)
class KernelResources:
    """The resources of one kernel. Sizes are in bytes; ``parameters`` holds (offset, size) in the order declared."""

    registers: int = 0
    shared_bytes: int = 0
    local_bytes: int = 0
    max_threads_per_block: int | None = None
    parameter_base: int = 0
    parameters: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class _Section:
    name: str
    link: int
    data: bytes = field(repr=False)
    size: int


def kernel_resources(cubin: bytes) -> dict[str, KernelResources]:
    """The resources of every kernel in a CUBIN, by lowered name.

    Raises:
        ValueError: the bytes are not a CUBIN.
    """
    try:
        return _kernel_resources(cubin)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"these {len(cubin)} bytes are not a whole CUBIN: {error}") from error


def _kernel_resources(cubin: bytes) -> dict[str, KernelResources]:
    sections = {section.name: section for section in _sections(cubin)}
    by_symbol: dict[tuple[int, str], int] = {}
    symbols = _symbol_names(sections)
    for attribute, value in _attributes(sections[".nv.info"].data if ".nv.info" in sections else b""):
        if len(value) == 8:
            symbol, number = struct.unpack("<II", value)
            if symbol < len(symbols):
                by_symbol[attribute, symbols[symbol]] = number
    reserved = _RESERVED_BYTES if _RESERVED_SECTION in sections else 0

    resources = {}
    for name in sections:
        kernel = name.removeprefix(".nv.info.")
        if kernel == name or f".text.{kernel}" not in sections:
            continue
        shared = sections.get(f".nv.shared.{kernel}")
        resources[kernel] = KernelResources(
            registers=by_symbol.get((_REGCOUNT, kernel), 0),
            shared_bytes=max(0, shared.size - reserved) if shared else 0,
            local_bytes=by_symbol.get((_MIN_STACK_SIZE, kernel), 0),
            **_own_attributes(sections[name].data),
        )
    return resources


def _own_attributes(data: bytes) -> dict:
    parameters: dict[int, tuple[int, int]] = {}
    found: dict = {}
    for attribute, value in _attributes(data):
        if attribute in (_KPARAM_INFO, _KPARAM_INFO_V2):
            ordinal, offset, size = _parameter(attribute, value)
            parameters[ordinal] = (offset, size)
        elif attribute in (_MAX_THREADS, _REQUIRED_THREADS):
            x, y, z = struct.unpack("<III", value)
            found["max_threads_per_block"] = x * y * z
        elif attribute == _PARAM_CBANK:
            _, base, _ = struct.unpack("<IHH", value)
            found["parameter_base"] = base
    found["parameters"] = tuple(parameters[ordinal] for ordinal in sorted(parameters))
    return found


def _parameter(attribute: int, value: bytes) -> tuple[int, int, int]:
    if attribute == _KPARAM_INFO:
        _, ordinal, offset, packed = struct.unpack("<IHHI", value)
        return ordinal, offset, packed >> 18
    _, ordinal, offset, size, _ = struct.unpack_from("<IHHHH", value)
    return ordinal, offset, size


def _sections(elf: bytes) -> Iterator[_Section]:
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("a CUBIN starts with the mark of a 64-bit little-endian ELF file, and these bytes do not")
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + index * entry_size) for index in range(count)]
    names = elf[headers[names_index][4] :]
    nobits = 8  # a section that takes room on the device and none in the file
    for name, kind, _, _, offset, size, link, *_ in headers:
        data = b"" if kind == nobits else elf[offset : offset + size]
        yield _Section(_string(names, name), link, data, size)


def _symbol_names(sections: dict[str, _Section]) -> list[str]:
    if ".symtab" not in sections:
        return []
    strings = sections[".strtab"].data
    return [_string(strings, name) for (name, *_) in struct.iter_unpack("<IBBHQQ", sections[".symtab"].data)]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The (attribute, value) pairs of an .nv.info section: a format byte, a number, then 2 bytes or a sized value."""
    sized = 4
    position = 0
    while position + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, position)
        if form == sized:
            yield attribute, data[position + 4 : position + 4 + size]
            position += 4 + size
        else:
            yield attribute, data[position + 2 : position + 4]
            position += 4


def _string(table: bytes, offset: int) -> str:
    return table[offset : table.index(b"\0", offset)].decode()
