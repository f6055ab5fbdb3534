"""What a CUBIN says beside its text: the kernels' resources, their code, constant banks, addresses of variables.

A CUBIN is a 64-bit little-endian ELF file. Of a kernel `k`

- `.text.k` is the machine code, `.nv.shared.k` the static shared memory, and `.nv.info.k` holds attributes; attributes
  of all kernels are in `.nv.info`, keyed by symbol;
- `.nv.constant2.k` holds the literals of bank 2 (tables, 64-bit numbers), `.nv.constant3` the module's `__constant__`
  variables, `.nv.global.init` those of global memory that have an initial value, and `.nv.constant4` addresses, which
  `.rel.nv.constant4` names: those of variables, and of the functions `vprintf` and `__assertfail`;
- where an initial value is an address, `.rel.nv.global.init` or `.rela.nv.constant3` names what it is the address of.

NVIDIA does not document the attributes: their numbers are those that `cuobjdump -elf` prints beside the names used
here, and the tests hold the values against ptxas's own report for every architecture. A general ELF library would read
the section headers, a tenth of this, and nothing of what stands in NVIDIA's sections: hence a reader of our own.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from gpusim.compiler.ptx import Pointer

_RELOCATED = (".nv.constant", ".nv.global.init", ".debug_line", ".text.")  # whose relocations are of interest
# How much of an address a relocation of data wants, (bytes, bits that it is shifted right), by its type: R_CUDA_64,
# R_CUDA_G64 for a generic address, and R_CUDA_G8_0 … G8_56 for each byte of one in a member that is not aligned.
_RELOCATED_BYTES = {2: (8, 0), 4: (8, 0), **{84 + byte: (1, 8 * byte) for byte in range(8)}}
_NO_BITS = 8  # a section that takes room on the device and none in the file

_MAX_THREADS = 0x05  # __launch_bounds__: three 32-bit block dimensions
_PARAM_CBANK = 0x0A  # where the parameters lie in constant bank 0
_REQUIRED_THREADS = 0x10  # .reqntid: the block must have exactly these dimensions
_FRAME_SIZE = 0x11  # bytes of local memory per thread that a function has for itself
_MIN_STACK_SIZE = 0x12  # bytes of local memory per thread, calls included
_NOT_KNOWN = 0xFFFFFFFF  # how many these are
_KPARAM_INFO = 0x17  # one kernel parameter: ordinal, offset, size
_REGCOUNT = 0x2F
_INDIRECT_BRANCH_TARGETS = 0x34  # where each computed branch may go
_KPARAM_INFO_V2 = 0x45  # a kernel parameter that does not fit the first form

_RESERVED_SECTION = ".nv.shared.reserved.0"
_RESERVED_BYTES = 1024  # the system's share, which the section sizes include where the section above exists (CC 9.0+)


@dataclass(frozen=True, slots=True)
class KernelResources:
    """The resources of one kernel. Sizes are in bytes; `parameters` holds (offset, size) in the order declared.

    Of `local_bytes` the kernel has `frame_bytes` for itself, the others are for functions that it calls. If these call
    themselves the compiler does not know how many it takes; then they are those of one call of each function.
    """

    registers: int = 0
    shared_bytes: int = 0
    local_bytes: int = 0
    frame_bytes: int = 0
    max_threads_per_block: int | None = None
    parameter_base: int = 0
    parameters: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A section's bytes in the file, and its size on the device, which may be more."""

    data: bytes
    size: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name and where it lies: `size` bytes from `offset` in a section ("" for what is defined elsewhere)."""

    name: str
    section: str
    offset: int
    size: int


class Relocation(NamedTuple):
    """What the linker puts in: the address of a symbol, and `addend` to it. kind: NVIDIA's number for which part."""

    symbol: Symbol
    addend: int
    kind: int


@dataclass(frozen=True, slots=True)
class Cubin:
    """The parts of a CUBIN by name; `relocations` maps a section to {offset in it: Relocation}."""

    sections: dict[str, Section]
    symbols: tuple[Symbol, ...]
    relocations: dict[str, dict[int, Relocation]]

    def data(self, section: str) -> bytes:
        """The bytes of a section; none if there is no such section."""
        entry = self.sections.get(section)
        return b"" if entry is None else entry.data

    def code(self, kernel: str) -> bytes:
        """The machine code of a kernel and of the functions that it calls."""
        return b"".join(self.data(section) for section in self.code_sections(kernel))

    def code_sections(self, kernel: str) -> tuple[str, ...]:
        """The sections of a kernel's code: its own, which usually holds the functions that it calls, too, and those of
        functions that it calls elsewhere (with -G), in the order in which they are named."""
        sections = {f".text.{kernel}": None}
        for section in (todo := list(sections)):
            named = (relocation.symbol.section for _, relocation in sorted(self.relocations.get(section, {}).items()))
            code = [each for each in named if each.startswith(".text.") and each not in sections]
            sections |= dict.fromkeys(code)
            todo += dict.fromkeys(code)
        return tuple(sections)

    def bank(self, number: int, kernel: str) -> bytes:
        """The contents of a constant bank as the compiler left them: the kernel's own, else the module's."""
        own = f".nv.constant{number}.{kernel}"
        return self.data(own if own in self.sections else f".nv.constant{number}")

    def addresses(self, number: int, kernel: str) -> dict[int, tuple[Symbol, int]]:
        """The 64-bit addresses in a constant bank: offset → (symbol, addend)."""
        own = self.relocations.get(f".nv.constant{number}.{kernel}")
        relocations = own if own is not None else self.relocations.get(f".nv.constant{number}", {})
        return {offset: (relocation.symbol, relocation.addend) for offset, relocation in relocations.items()}

    def pointers(self, variable: Symbol) -> tuple[Pointer, ...]:
        """The addresses in the initial value of a variable, by the place from its beginning.

        Raises:
            ValueError: one is of a kind that is not known.
        """
        pointers = []
        for offset, relocation in sorted(self.relocations.get(variable.section, {}).items()):
            position = offset - variable.offset
            if 0 <= position < variable.size:
                if relocation.kind not in _RELOCATED_BYTES:
                    raise ValueError(f"relocation {relocation.kind} at byte {position} of {variable.name} is not known")
                pointers.append(
                    Pointer(position, relocation.symbol.name, relocation.addend, *_RELOCATED_BYTES[relocation.kind])
                )
        return tuple(pointers)

    def variables(self, section: str) -> tuple[Symbol, ...]:
        """The named variables of a section, such as ".nv.constant3"."""
        return tuple(s for s in self.symbols if s.section == section and s.size > 0 and not s.name.startswith(".nv."))

    def branch_targets(self, kernel: str) -> dict[int, tuple[int, ...]]:
        """Where the computed branches of a kernel may go: address of the branch → addresses, all from its start."""
        targets: dict[int, tuple[int, ...]] = {}
        start = 0
        for section in self.code_sections(kernel):
            for attribute, value in _attributes(self.data(section.replace(".text.", ".nv.info.", 1))):
                position = 0
                while attribute == _INDIRECT_BRANCH_TARGETS and position < len(value):
                    address, _, count = struct.unpack_from("<3I", value, position)
                    places = struct.unpack_from(f"<{count}I", value, position + 12)
                    targets[start + address] = tuple(start + entry for entry in places)
                    position += 12 + 4 * count
            start += len(self.data(section))
        return targets


def read(cubin: bytes) -> Cubin:
    """Read a CUBIN's sections, symbols and relocations.

    Raises:
        ValueError: the bytes are not a whole CUBIN.
    """
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise ValueError("a CUBIN starts with the mark of a 64-bit little-endian ELF file, and these bytes do not")
    try:
        return _read(cubin)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"these {len(cubin)} bytes are not a whole CUBIN: {error}") from error


def kernel_resources(image: Cubin) -> dict[str, KernelResources]:
    """The resources of every kernel in a CUBIN, by lowered name.

    Raises:
        ValueError: an attribute is shorter than its kind.
    """
    by_symbol: dict[tuple[int, str], int] = {}
    for attribute, value in _attributes(image.data(".nv.info")):
        if len(value) == 8:
            symbol, number = struct.unpack("<II", value)
            if symbol < len(image.symbols):
                by_symbol[attribute, image.symbols[symbol].name] = number
    reserved = _RESERVED_BYTES if _RESERVED_SECTION in image.sections else 0
    resources = {}
    for name, section in image.sections.items():
        kernel = name.removeprefix(".nv.info.")
        if kernel == name or f".text.{kernel}" not in image.sections:
            continue
        shared = image.sections.get(f".nv.shared.{kernel}")
        try:
            own = _own_attributes(section.data)
        except struct.error as error:
            raise ValueError(f"the attributes of {kernel} are damaged: {error}") from error
        resources[kernel] = KernelResources(
            registers=by_symbol.get((_REGCOUNT, kernel), 0),
            shared_bytes=max(0, shared.size - reserved) if shared else 0,
            local_bytes=by_symbol.get((_MIN_STACK_SIZE, kernel), 0),
            frame_bytes=by_symbol.get((_FRAME_SIZE, kernel), 0),
            **own,
        )
    once = sum(each.frame_bytes for each in resources.values() if not each.parameter_base)
    return {
        kernel: replace(each, local_bytes=each.frame_bytes + once) if each.local_bytes == _NOT_KNOWN else each
        for kernel, each in resources.items()
    }


# ---- ELF


def _read(elf: bytes) -> Cubin:
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", elf, table + index * entry_size) for index in range(count)]
    names = elf[headers[names_index][4] :]
    titles = [_text(names, header[0]) for header in headers]
    sections = {}
    for title, (_, kind, _, _, offset, size, *_) in zip(titles, headers, strict=True):
        sections[title] = Section(b"" if kind == _NO_BITS else elf[offset : offset + size], size)
    symbols = _symbols(sections, titles)
    return Cubin(sections, symbols, _relocations(sections, symbols))


def _symbols(sections: dict[str, Section], titles: list[str]) -> tuple[Symbol, ...]:
    if ".symtab" not in sections:
        return ()
    strings = sections[".strtab"].data
    return tuple(
        Symbol(_text(strings, name), titles[section] if section < len(titles) else "", value, size)
        for name, _, _, section, value, size in struct.iter_unpack("<IBBHQQ", sections[".symtab"].data)
    )


def _relocations(sections: dict[str, Section], symbols: tuple[Symbol, ...]) -> dict[str, dict[int, Relocation]]:
    relocations: dict[str, dict[int, Relocation]] = {}
    for title, section in sections.items():
        for prefix, form in ((".rela.", "<QQq"), (".rel.", "<QQ")):
            target = "." + title.removeprefix(prefix)
            if title.startswith(prefix) and target.startswith(_RELOCATED):
                for offset, info, *addend in struct.iter_unpack(form, section.data):
                    entry = Relocation(symbols[info >> 32], addend[0] if addend else 0, info & 0xFFFFFFFF)
                    relocations.setdefault(target, {})[offset] = entry
    return relocations


def _text(table: bytes, offset: int) -> str:
    try:
        return table[offset : table.index(b"\0", offset)].decode()
    except ValueError as error:  # no end, or no UTF-8
        raise IndexError("a name without an end") from error


# ---- NVIDIA's attributes


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


def _own_attributes(data: bytes) -> dict:
    parameters: dict[int, tuple[int, int]] = {}
    attributes: dict = {}
    for attribute, value in _attributes(data):
        if attribute in (_KPARAM_INFO, _KPARAM_INFO_V2):
            ordinal, offset, size = _parameter(attribute, value)
            parameters[ordinal] = (offset, size)
        elif attribute in (_MAX_THREADS, _REQUIRED_THREADS):
            x, y, z = struct.unpack("<III", value)
            attributes["max_threads_per_block"] = x * y * z
        elif attribute == _PARAM_CBANK:
            _, base, _ = struct.unpack("<IHH", value)
            attributes["parameter_base"] = base
    attributes["parameters"] = tuple(parameters[ordinal] for ordinal in sorted(parameters))
    return attributes


def _parameter(attribute: int, value: bytes) -> tuple[int, int, int]:
    if attribute == _KPARAM_INFO:
        _, ordinal, offset, packed = struct.unpack("<IHHI", value)
        return ordinal, offset, packed >> 18
    _, ordinal, offset, size, _ = struct.unpack_from("<IHHHH", value)
    return ordinal, offset, size
