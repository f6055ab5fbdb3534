"""What the simulator needs of a CUBIN beside its text: the bytes of the code, constant banks, addresses of variables.

A CUBIN is an ELF file. The machine code of a kernel `k` is in `.text.k`; `.nv.constant2.k` holds the literals of bank 2
(tables, 64-bit numbers), `.nv.constant3` the `__constant__` variables of the module, `.nv.constant4` addresses, which
`.rel.nv.constant4` names: those of variables, and of the functions `vprintf` and `__assertfail`.
"""

import struct
from dataclasses import dataclass

_NOBITS = 8


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name and where it lies: `size` bytes from `offset` in a section ("" for what is defined elsewhere)."""

    name: str
    section: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Cubin:
    """The parts of a CUBIN by name; `relocations` maps a section to {offset in it: (symbol, addend)}."""

    sections: dict[str, bytes]
    symbols: tuple[Symbol, ...]
    relocations: dict[str, dict[int, tuple[Symbol, int]]]

    def bank(self, number: int, kernel: str) -> bytes:
        """The contents of a constant bank as the compiler left them: the kernel's own, else the module's."""
        own = self.sections.get(f".nv.constant{number}.{kernel}")
        return own if own is not None else self.sections.get(f".nv.constant{number}", b"")

    def addresses(self, number: int, kernel: str) -> dict[int, tuple[Symbol, int]]:
        """The 64-bit addresses in a constant bank: offset → (symbol, addend)."""
        own = self.relocations.get(f".nv.constant{number}.{kernel}")
        return own if own is not None else self.relocations.get(f".nv.constant{number}", {})

    def variables(self, section: str) -> tuple[Symbol, ...]:
        """The named variables of a section, such as ".nv.constant3"."""
        return tuple(s for s in self.symbols if s.section == section and s.size > 0 and not s.name.startswith(".nv."))


def read(cubin: bytes) -> Cubin:
    """Read a CUBIN's sections, symbols and relocations. ValueError if the bytes are no 64-bit ELF file."""
    if cubin[:6] != b"\x7fELF\x02\x01":
        raise ValueError("a CUBIN starts with the mark of a 64-bit little-endian ELF file, and these bytes do not")
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + index * entry_size) for index in range(count)]
    names = cubin[headers[names_index][4] :]
    titles = [_text(names, header[0]) for header in headers]
    sections = {}
    for title, (_, kind, _, _, offset, size, *_) in zip(titles, headers, strict=True):
        sections[title] = b"" if kind == _NOBITS else cubin[offset : offset + size]
    symbols = _symbols(sections, titles)
    return Cubin(sections, symbols, _relocations(sections, symbols))


def _symbols(sections: dict[str, bytes], titles: list[str]) -> tuple[Symbol, ...]:
    table, strings = sections.get(".symtab", b""), sections.get(".strtab", b"\0")
    return tuple(
        Symbol(_text(strings, name), titles[section] if section < len(titles) else "", value, size)
        for name, _, _, section, value, size in struct.iter_unpack("<IBBHQQ", table)
    )


def _relocations(sections: dict[str, bytes], symbols: tuple[Symbol, ...]) -> dict[str, dict[int, tuple[Symbol, int]]]:
    relocations: dict[str, dict[int, tuple[Symbol, int]]] = {}
    for title, data in sections.items():
        for prefix, form in ((".rela.", "<QQq"), (".rel.", "<QQ")):
            target = "." + title.removeprefix(prefix)
            if title.startswith(prefix) and target.startswith(".nv.constant"):
                for offset, info, *addend in struct.iter_unpack(form, data):
                    entry = (symbols[info >> 32], addend[0] if addend else 0)
                    relocations.setdefault(target, {})[offset] = entry
    return relocations


def _text(table: bytes, offset: int) -> str:
    return table[offset : table.index(b"\0", offset)].decode()
