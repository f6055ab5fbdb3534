"""wmma.load, wmma.mma and wmma.store of PTX: whole tiles between memory and the fragments of a warp, and their product.

PTX leaves open which lane holds what. Here it is as in the machine code that ptxas makes for sm_90, by which tests hold
it: a tile is one or two products of `mma.sync` side by side, and its fragments are theirs, one after the other. m8n32
is multiplied as its transpose, and TF32 by four k at a time. Fragments of float16 have eight registers, filled by
repetition. Those of 4 bits and of 1 have one register, whose 32 bits are neighbours in memory. Reference: PTX ISA,
'Warp-level Matrix Load Instruction: wmma.load' and its neighbours.
"""

import re
from dataclasses import dataclass

import numpy as np

from gpusim.arithmetic import tensor_core
from gpusim.compiler.ptx import Statement
from gpusim.errors import Unknown

LANE = np.arange(32)
GROUP, IN_GROUP = LANE // tensor_core.PLACES, LANE % tensor_core.PLACES
# The products that a tile is made of, by its shape: how many there are, and whether they are those of the transpose.
_TILES = {(16, 16): (2, False), (32, 8): (2, False), (8, 32): (2, True), (8, 8): (1, False)}
_DTYPES = {"f16": "u2", "bf16": "u2", "tf32": "f4", "f32": "f4", "f64": "f8", "s8": "u1", "u8": "u1", "s32": "i4",
           "s4": "i4", "u4": "i4", "b1": "i4"}  # fmt: skip
DEPTHS = {"f16": 16, "bf16": 16, "tf32": 8, "f64": 4, "s8": 16, "u8": 16, "s4": 32, "u4": 32, "b1": 128}
_BITS = {"s4": 4, "u4": 4, "b1": 1}  # of the types of which a register holds neighbours, and that is loaded whole


@dataclass(frozen=True, slots=True)
class Tile:
    """The shape of wmma, (m, n, k), and its parts: `count` products, of the transpose if it is `turned`."""

    m: int
    n: int
    k: int

    @property
    def count(self) -> int:
        return _TILES[self.m, self.n][0]

    @property
    def turned(self) -> bool:
        return _TILES[self.m, self.n][1]

    def form(self, type_: str, result: str, saturates: bool) -> tensor_core.Form:
        """One of its products, of matrices of one type: of TF32 half the k, in two steps."""
        if DEPTHS.get(type_) != self.k:
            raise Unknown(f"wmma of {self.k} k of the type .{type_}")
        k = 4 if type_ == "tf32" else self.k
        return tensor_core.form(8 if type_ == "f64" else 16, k, type_, type_, result, saturates)

    def is_small(self, type_: str) -> bool:
        """Whether a product has 8 rows: of float64, and in the deep tiles of integers of a few bits."""
        return type_ == "f64" or self.k in (32, 128)

    def products_of(self, matrix: str) -> int:
        """How many products bring fragments of their own of "a" or "b"; the others share them."""
        rows = self.n if self.turned else self.m
        several = rows == 32 if (matrix == "a") != self.turned else rows == 16
        return self.count if several else 1


def tile_of(s: Statement) -> Tile:
    """The shape of wmma."""
    shape = next((re.fullmatch(r"m(\d+)n(\d+)k(\d+)", word) for word in s.opcode if word.startswith("m")
                  and word[1:2].isdigit()), None)  # fmt: skip
    m, n, k = map(int, shape.groups()) if shape else (0, 0, 0)
    if (m, n) not in _TILES:
        raise Unknown(f"wmma of the shape {shape[0] if shape else 'that is missing'}")
    return Tile(m, n, k)


def _dtype_of(s: Statement) -> np.dtype:
    if s.type not in _DTYPES:
        raise Unknown(f"wmma of the type .{s.type}")
    return np.dtype(_DTYPES[s.type])


def _places(tile: Tile, matrix: str, type_: str) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """For each register the (row, column) of each of its elements in the matrix "a", "b" or "c", by lane."""
    parts = max(4 // np.dtype(_DTYPES[type_]).itemsize, 1)
    if matrix == "c":
        height = 8 if tile.is_small(type_) else 16
        down, along = (16, 0) if tile.turned or tile.m == 32 else (0, 8)
        registers = [
            [
                (product * down + GROUP + 8 * (element // 2), product * along + 2 * IN_GROUP + element % 2)
                for element in range(first, first + parts)
            ]
            for product in range(tile.count)
            for first in range(0, height // 4, parts)
        ]
        return [[element[::-1] for element in register] for register in registers] if tile.turned else registers
    if DEPTHS.get(type_) != tile.k:
        raise Unknown(f"wmma of {tile.k} k of the type .{type_}")
    if type_ in _BITS:
        element = GROUP, IN_GROUP * (32 // _BITS[type_])
        return [[element if matrix == "a" else element[::-1]]]
    left = (matrix == "a") != tile.turned  # the products' A, whose rows are the lanes' groups; or B, by its columns
    rows = (1 if type_ == "f64" else 2) if left else 1
    count = rows * tile.k // (parts * tensor_core.PLACES)
    registers = [
        [
            (GROUP + 8 * (register % rows) + product * (16 if left else 8),
             register // rows * parts * tensor_core.PLACES + IN_GROUP * parts + part)
            for part in range(parts)
        ]
        for product in range(tile.products_of(matrix))
        for register in range(count)
    ]  # fmt: skip
    return registers if matrix == "a" else [[element[::-1] for element in register] for register in registers]


def elements(s: Statement) -> tuple[list[list[tuple[np.ndarray, np.ndarray]]], int, int]:
    """What wmma.load or wmma.store moves: (by register, by element in it, how many rows or columns and then how many
    elements it is from the first one, by lane; the distance of rows if none is given; bits of an element)."""
    matrix = s.opcode[2] if s.opcode[1] == "load" else "c"
    tile, by_row = tile_of(s), "row" in s.opcode
    places = [
        [(row, column) if by_row else (column, row) for row, column in register]
        for register in _places(tile, matrix, s.type)
    ]
    rows, columns = _size_of(tile, matrix)
    return places, columns if by_row else rows, _BITS.get(s.type, 8 * _dtype_of(s).itemsize)


def _size_of(tile: Tile, matrix: str) -> tuple[int, int]:
    """The rows and columns of a matrix."""
    return {"a": (tile.m, tile.k), "b": (tile.k, tile.n)}.get(matrix, (tile.m, tile.n))


@dataclass(frozen=True, slots=True)
class Product:
    """How wmma.mma is made of `count` products of one `form`, each in so many `steps`; `turned`: of the transpose.

    `counts`: the registers of a step of A, of B and of C, and `shares` how many products bring A, B and C of their own.
    """

    form: tensor_core.Form
    count: int
    steps: int
    turned: bool
    counts: tuple[int, int, int]
    shares: tuple[int, int, int]

    def registers(self, operand: int, number: int, step: int) -> slice:
        """Which registers of A (0) or B (1) a step of product `number` takes, or of C (2)."""
        steps = self.steps if operand < 2 else 1
        count = self.counts[operand]
        first = (number % self.shares[operand] * steps + step % steps) * count
        return slice(first, first + count)


def product_of_tile(s: Statement) -> Product:
    """What wmma.mma of floating-point numbers or bytes does."""
    tile, types = tile_of(s), types_of(s)
    form = tile.form(types[1], types[0], "satfinite" in s.opcode)
    words = 2 if form.a == "f64" else 1
    shares = [tile.products_of("a"), tile.products_of("b")]
    counts = tuple(count // words for count in (form.a_registers, form.b_registers, form.c_registers))
    return Product(
        form, tile.count, tile.k // form.k, tile.turned, counts, (*shares[:: -1 if tile.turned else 1], tile.count)
    )  # fmt: skip


def types_of(s: Statement) -> list[str]:
    """The types of D, A, B and C of wmma.mma."""
    types = [word for word in s.opcode if word in _DTYPES]
    if len(types) == 2:  # of D and C; A and B are float16
        types = [types[0], "f16", "f16", types[1]]
    if len(types) != 4 or types[0] != types[3] or (types[1] != types[2] and types[1] not in _BITS):
        raise Unknown(f"the product {'.'.join(s.opcode)}")
    return types
