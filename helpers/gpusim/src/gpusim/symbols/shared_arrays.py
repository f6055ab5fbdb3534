"""The __shared__ arrays of a kernel by the names and the shapes that its source gives them."""

import ast
import operator
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import prod

from gpusim.engine.ir import Instruction
from gpusim.errors import counted
from gpusim.symbols.memory_order import Strength

ITEM_BYTES = {
    "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "int8_t": 1, "uint8_t": 1,
    "short": 2, "unsigned short": 2, "int16_t": 2, "uint16_t": 2, "half": 2, "__half": 2, "__nv_bfloat16": 2,
    "int": 4, "unsigned": 4, "unsigned int": 4, "int32_t": 4, "uint32_t": 4, "float": 4, "half2": 4, "__half2": 4,
    "long": 8, "long long": 8, "unsigned long": 8, "unsigned long long": 8, "int64_t": 8, "uint64_t": 8, "size_t": 8,
    "double": 8, "float2": 8, "int2": 8, "uint2": 8, "float3": 12, "int3": 12,
    "float4": 16, "int4": 16, "uint4": 16, "double2": 16,
}  # fmt: skip
_MANGLED = re.compile(r"E(\d+)([A-Za-z_]\w*)$")
_DECLARATION = re.compile(
    r"__shared__\s+(?:(?:alignas|__align__)\s*\([^)]*\)\s*|volatile\s+|const\s+)*"
    r"((?:unsigned\s+|signed\s+|long\s+)*[A-Za-z_]\w*)\s+([^;{}=]*);"
)
_OF_THREADS = re.compile(
    r"\b(?:(?:const|constexpr|volatile)\s+|(?:alignas|__align__)\s*\([^)]*\)\s*)*"
    r"((?:unsigned\s+|signed\s+|long\s+)*[A-Za-z_]\w*)\s+([^;{}()=]*\[[^;{}()=]*)(?:=[^;]*)?;"
)
_OPERATIONS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.floordiv,
    ast.Mod: operator.mod, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip


@dataclass(frozen=True)
class SharedArray:
    """A variable of shared memory as the compiler laid it out: `bytes` from `offset` on (0: sized by the launch)."""

    symbol: str
    offset: int
    bytes: int

    @property
    def name(self) -> str:
        """The name in the source: `_ZZ4gemmE2As` is As."""
        match = _MANGLED.search(self.symbol)
        return match[2][: int(match[1])] if match else self.symbol


@dataclass(frozen=True)
class Declared:
    """How the source declares an array: bytes an element, and the sizes of its dimensions (None: they are not known).

    A variable that is no array has the sizes (). `has_members`: the elements are structs.
    """

    item_bytes: int
    sizes: tuple[int, ...] | None
    has_members: bool = False

    def index(self, byte: int) -> tuple[int, ...]:
        """The element of a byte of the array, one number a dimension; only one number if the shape is unknown."""
        element = byte // self.item_bytes
        if self.sizes is None:
            return (element,)
        if not self.sizes:
            return ()
        index = []
        for size in reversed(self.sizes[1:]):
            element, rest = divmod(element, size)
            index.append(rest)
        return (element, *reversed(index))


def declarations(source: str, entry: str, form: re.Pattern[str] = _DECLARATION) -> dict[str, list[Declared]]:
    """The __shared__ declarations of a source by name. `entry`, "gemm<64, 8>", gives values to template parameters.

    Of a struct, whose size the text does not say, an element has 0 bytes: see `declaration_of`.
    """
    source = _without_comments(source)
    constants = _constants(source, entry)
    declarations: dict[str, list[Declared]] = {}
    for type_, declarators in form.findall(source):
        item_bytes = ITEM_BYTES.get(" ".join(type_.split()), 0)
        for declarator in _at_top_level(declarators):
            match = re.match(r"\s*(\w+)\s*((?:\[[^\]]*\]\s*)*)$", declarator)
            if match:
                sizes = [_value(text, constants) for text in re.findall(r"\[([^\]]*)\]", match[2])]
                declared = Declared(item_bytes, tuple(sizes) if all(sizes) else None)
                declarations.setdefault(match[1], []).append(declared)
    return declarations


def of_threads(source: str, entry: str) -> dict[str, list[Declared]]:
    """The declarations of arrays that are not __shared__, as `declarations`."""
    shared = declarations(source, entry)
    declared = declarations(source, entry, _OF_THREADS)
    sized = {name: [way for way in ways if way.item_bytes] for name, ways in declared.items() if name not in shared}
    return {name: ways for name, ways in sized.items() if ways}


def _without_comments(source: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)


def elements_of(sizes: Sequence[int]) -> str:
    """'1 element', '16 × 32 elements'"""
    return counted(sizes[0], "element") if len(sizes) == 1 else f"{' × '.join(map(str, sizes))} elements"


def declaration_of(array: SharedArray, declared: Mapping[str, list[Declared]]) -> Declared | None:
    """The declaration that describes an array: its name, and sizes that agree with the bytes the compiler reserved."""
    candidates = declared.get(array.name, [])
    for candidate in candidates:
        if array.bytes == candidate.item_bytes * prod(candidate.sizes or (1,)):
            return candidate
    for candidate in candidates:
        if not candidate.item_bytes and candidate.sizes and array.bytes % prod(candidate.sizes) == 0 < array.bytes:
            return Declared(array.bytes // prod(candidate.sizes), candidate.sizes, has_members=True)
    unsized = (c for c in candidates if c.item_bytes and (array.bytes == 0 or c.sizes is None))
    return next((Declared(c.item_bytes, None) for c in unsized), None)


class SharedNames:
    """Names for the bytes of a kernel's shared memory.

    Args: `arrays` in the order of their offsets; `used` gives by the index of an instruction the one array that it
    accesses, where it is known; `source` and `entry` declare their shapes; `strengths` are those of the instructions
    whose opcode does not tell, or tells less; `unproven` are the instructions among `used` that may belong to another
    array; `updated_beside_halves` as in `Pointers`.
    """

    def __init__(
        self,
        arrays: tuple[SharedArray, ...] = (),
        used: Mapping[int, SharedArray] | None = None,
        source: str = "",
        entry: str = "",
        strengths: Mapping[int, Strength] | None = None,
        unproven: Iterable[int] = (),
        updated_beside_halves: Collection[SharedArray | None] = (),
    ) -> None:
        self.arrays = arrays
        self.used = dict(used or {})
        self.unproven = set(unproven)
        self._updated_beside_halves = updated_beside_halves
        self._source, self._entry = source, entry
        self.strengths = strengths or {}

    @cached_property
    def _declared(self) -> dict[str, list[Declared]]:
        return declarations(self._source, self._entry) if self.arrays else {}

    def attribute(self, instruction: int, array: SharedArray | None) -> None:
        """From now on an instruction belongs to this array without proof, or to none that is known."""
        self.used.pop(instruction, None)
        self.unproven.discard(instruction)
        if array is not None:
            self.used[instruction] = array
            self.unproven.add(instruction)

    def proven(self) -> "SharedNames":
        """The same names, but each access that may belong to another array may go wherever shared memory is."""
        proven = copy(self)
        proven.used = {index: array for index, array in self.used.items() if index not in self.unproven}
        proven.unproven = set()
        return proven

    def strength(self, instruction: Instruction) -> Strength:
        """That of a load or a store to shared memory."""
        own = Strength.STRONG if instruction.strong or instruction.begins_swap else Strength.PLAIN
        return self.strengths.get(instruction.index, own)

    def only_puts_back(self, instruction: Instruction, byte: int) -> bool:
        """Whether a compare-and-swap leaves a byte as it is: one for 16 bits takes the word around them, in which
        another array may begin or end."""
        updated = self._updated_beside_halves
        return instruction.swaps and bool(updated) and None not in updated and self.around(byte) not in updated

    def limits(self, instruction: int) -> tuple[int, int] | None:
        """The bytes [start, stop) of the array that an instruction accesses; None if that is not known."""
        array = self.used.get(instruction)
        return None if array is None else (array.offset, array.offset + array.bytes)

    def locate(self, instruction: int, byte: int) -> tuple[str, tuple[int, ...], str]:
        """(array, index, both as the source writes them: "As[3][17]") of a byte that an instruction accesses."""
        array = self.used.get(instruction) or self.around(byte)
        if array is None:
            return "shared memory", (byte,), f"byte {byte} of shared memory"
        declared = declaration_of(array, self._declared)
        if declared is None:
            return array.name, (byte - array.offset,), f"byte {byte - array.offset} of {array.name}"
        index = declared.index(byte - array.offset)
        element = array.name + "".join(f"[{i}]" for i in index)
        if declared.has_members:
            element = f"byte {(byte - array.offset) % declared.item_bytes} of {element}"
        return array.name, index, element

    def outside(self, instruction: int, byte: int, size: int) -> str:
        """A byte outside the limits in words; `size` is that of all shared memory."""
        array = self.used.get(instruction)
        if array is None:
            return f"at byte {byte} of shared memory, which has {size} bytes"
        declared = declaration_of(array, self._declared)
        has = f"{array.bytes} bytes"
        if declared is not None and declared.sizes:
            has = elements_of(declared.sizes)
        elif declared is not None:
            has = counted(array.bytes // declared.item_bytes, "element")
        element = self.locate(instruction, byte)[2].rpartition(" of ")[2] if declared else f"byte {byte - array.offset}"
        text = f"outside {array.name}: {element}, but {array.name} has {has}"
        neighbour = self.around(byte)
        if neighbour is not None and neighbour is not array:
            text += f" (that byte is part of {self.locate(-1, byte)[2]})"
        return text

    def around(self, byte: int) -> SharedArray | None:
        """The array that a byte belongs to; dynamic shared memory is behind all others."""
        inside = [a for a in self.arrays if a.offset <= byte and (a.bytes == 0 or byte < a.offset + a.bytes)]
        return inside[-1] if inside else None


def _constants(source: str, entry: str) -> dict[str, int]:
    """Template parameters, `constexpr` numbers and macros that have a value."""
    values: dict[str, int] = {}
    given = re.fullmatch(r"\s*([\w:]+)\s*<(.*)>\s*", entry)
    if given:
        name = given[1].split("::")[-1]
        header = re.search(rf"template\s*<([^<>]*)>[^;{{}}]*?\b{name}\s*\(", source)
        if header:
            names = [re.sub(r"=.*", "", piece).split()[-1] for piece in header[1].split(",") if piece.strip()]
            for parameter, text in zip(names, _at_top_level(given[2]), strict=False):
                fields = re.findall(r"\.(\w+)\s*=\s*(-?\w+)", text)  # of a struct: Params{.BM = 32, .BN = 64}
                for constant, value in [(f"{parameter}.{field}", of) for field, of in fields] or [(parameter, text)]:
                    if (number := _value(value, {})) is not None:
                        values[constant] = number
    pattern = r"#\s*define\s+(\w+)[ \t]+([^\n]+)|\bconst(?:expr)?\s+(?:static\s+)?\w+\s+(\w+\s*=[^;]+);"
    for match in re.finditer(pattern, source):
        declared = _at_top_level(match[3]) if match[3] else [f"{match[1]}={match[2]}"]
        for name, text in (piece.split("=", 1) for piece in declared if "=" in piece):
            value = _value(text, values)
            if value is not None:
                values.setdefault(name.strip(), value)
    return values


def _value(text: str, constants: Mapping[str, int]) -> int | None:
    """The value of a constant expression of integers; None if it is anything else."""
    try:
        return _evaluate(ast.parse(re.sub(r"(?<=\d)[uUlL]+\b", "", text.strip()), mode="eval").body, constants)
    except (SyntaxError, KeyError, ZeroDivisionError, ValueError):
        return None


def _evaluate(node: ast.expr, constants: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name | ast.Attribute):
        return constants[ast.unparse(node)]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_evaluate(node.left, constants), _evaluate(node.right, constants))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand, constants)
    raise ValueError(ast.dump(node))


def _at_top_level(text: str) -> list[str]:
    """Cut at the commas that are outside brackets."""
    pieces, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            pieces.append(text[start:position])
            start = position + 1
    return [*pieces, text[start:]]


NO_NAMES = SharedNames()
