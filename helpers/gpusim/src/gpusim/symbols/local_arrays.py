"""The arrays that a thread has for itself, as limits of the accesses to them. `local_accesses` finds them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from gpusim.engine.ir import Instruction, Program
from gpusim.symbols.shared_arrays import Declared, elements_of, of_threads

MOST_PADDING = 16  # bytes


@dataclass(frozen=True, order=True)
class LocalArray:
    """Bytes of a thread's local memory that belong together: an array, a struct or a union."""

    offset: int
    bytes: int

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.bytes

    def moved(self, distance: int) -> "LocalArray":
        """The same so many bytes further."""
        return LocalArray(self.offset + distance, self.bytes)


@dataclass(frozen=True)
class LocalArrays:
    """All arrays of a thread in their order, and by the index of an instruction the one that it may access.

    Where it may be one of several it is all the bytes from the first of them to the last.
    """

    arrays: tuple[LocalArray, ...] = ()
    used: Mapping[int, LocalArray] = field(default_factory=dict)

    def limits(self, instruction: int) -> tuple[int, int] | None:
        """The bytes [start, stop) of the array that an instruction accesses; None if that is not known."""
        array = self.used.get(instruction)
        return None if array is None else (array.offset, array.end)

    def outside(self, program: Program, instruction: Instruction, byte: int) -> str | None:
        """A byte outside the limits of an instruction in words; None if it has none."""
        array = self.used.get(instruction.index)
        if array is None:
            return None
        distance = byte - array.offset
        name, declared = declaration(program, instruction, array) or ("", None)
        if declared is not None and declared.sizes:
            index = "".join(f"[{i}]" for i in declared.index(distance))
            text = f"outside {name}: {name}{index}, but {name} has {elements_of(declared.sizes)}"
        else:
            where = f"at byte {distance} of it" if distance >= 0 else f"{-distance} bytes before it"
            text = f"outside an array of its own, which has {array.bytes} bytes: {where}"
        if any(other.offset <= byte < other.end for other in self.arrays):
            text += " (that byte is part of another array)"
        return text


NO_ARRAYS = LocalArrays()


def declaration(program: Program, instruction: Instruction, array: LocalArray) -> tuple[str, Declared] | None:
    """(the name in the source, how it is declared) of an array that a line names; None if it may be another one.

    Its bytes tell: the compiler has no names. It may put some bytes behind an array, so that the next one is aligned.
    """
    lines = program.source_lines
    numbers = [number for number in (instruction.line, *instruction.called_from) if 1 <= number <= len(lines)]
    named = {name for number in numbers for name in re.findall(r"\b(\w+)\s*\[", lines[number - 1])}
    declarations = [
        (name, way)
        for name, ways in of_threads("\n".join(lines), program.name).items()
        for way in ways
        if name in named and 0 <= array.bytes - way.item_bytes * prod(way.sizes or ()) < MOST_PADDING
    ]
    return declarations[0] if len(declarations) == 1 else None
