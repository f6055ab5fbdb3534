"""Matrices: loads, products and transposition by a warp."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from gpusim.compiler.ptx import TYPE_BYTES, Immediate, Statement
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.ptx import matrix, wmma
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.decoding.memory import access, amount_of, takes_address
from gpusim.isa.ptx.operands import items_of


def load_matrix(t: Decoder, s: Statement) -> Decoded:
    destination, place = s.operands
    items = items_of(destination)
    i = Decoded("load matrix", flags=form.SHARED, space=form.SHARED, op="ldsm", strong=form.SEES_BLOCK)
    if takes_address(t, i, place):
        i.width[0] = min(i.width[0], 1)
    i.number[:3] = [1, 1, matrix.count_of(s, items)]
    i.flags |= form.TRANSPOSED * ("trans" in s.modifiers)
    t.writes_vector(i, items, 4)
    return i


def multiply_matrices(t: Decoder, s: Statement) -> Decoded:
    """mma{.sp}.sync.aligned.shape.row.col{.satfinite}.d.a.b.c{.op.popc} d, a, b, c{, places, selector}, of the types
    that tensor cores have."""
    return _multiply(t, s, *matrix.shape_and_types(s))


def _multiply(t: Decoder, s: Statement, m: int, k: int, types: Sequence[str]) -> Decoded:
    shape = matrix.form_of(t.arch, m, k, types, s.opcode)
    i = form.product_of(t.arch, shape, "xor" in s.opcode, matrix.selector_of(s) if shape.sparse else 0)
    destination, *factors = s.operands
    type_ = "b64" if shape.a == "f64" else "b32"
    for place, operand in enumerate(factors[: 4 if shape.sparse else 3]):
        rows = [row for item in items_of(operand) for row in t.value(item, type_)]
        i.source[place], i.width[place] = t.listed(rows), 1
        i.registers += (len(rows),)
    counts = (shape.a_registers, shape.b_registers, shape.c_registers, *[1] * shape.sparse)
    if i.registers != counts:
        raise NotDecoded("a product with other fragments")
    t.writes_vector(i, items_of(destination), TYPE_BYTES[type_])
    return i


def store_matrix(t: Decoder, s: Statement) -> Decoded:
    place, source = s.operands
    items = items_of(source)
    i = Decoded("store matrix", flags=form.SHARED, space=form.SHARED, op="stsm")
    if takes_address(t, i, place):
        i.width[0] = min(i.width[0], 1)
    i.number[:3] = [1, 1, matrix.count_of(s, items)]
    i.flags |= form.TRANSPOSED * ("trans" in s.modifiers)
    i.source[2], i.width[2] = t.listed([t.value(item, "b32")[0] for item in items]), 1
    return i


def tile(t: Decoder, s: Statement) -> Decoded:
    """wmma.load, wmma.store and wmma.mma"""
    if s.opcode[1] == "mma":
        return multiply_tiles(t, s)
    loads = s.opcode[1] == "load"
    first, second, *stride = s.operands
    vector, place = (first, second) if loads else (second, first)
    places, distance, bits = wmma.elements(s)
    i = access(t, s, "load tile" if loads else "store tile", "ld" if loads else "st", place)
    i.number[0], i.number[1] = len(t.lists), len(places) | len(places[0]) << 8 | bits << 16
    amount_of(i, 1, 4 if bits < 8 else bits // 8)
    t.lists += [int(number) for register in places for one in register for lanes in one for number in lanes]
    t.read(i, 3, stride[0] if stride else Immediate(distance, distance), "u32")
    items, type_ = items_of(vector), "b64" if bits == 64 else "b32"
    if loads:
        t.writes_vector(i, items, TYPE_BYTES[type_])
    else:
        i.strong = 0
        i.source[2], i.width[2] = t.listed([row for item in items for row in t.value(item, type_)]), 1
    return i


TILES = ("f16", "bf16", "tf32", "f64", "s8", "u8")


def multiply_tiles(t: Decoder, s: Statement) -> Decoded:
    """wmma.mma{.op.popc}.sync.aligned.{row,col}.{row,col}.shape{.types}{.satfinite} d, a, b, c."""
    types = wmma.types_of(s)
    if types[1] not in TILES:
        tile = wmma.tile_of(s)
        if (wmma.DEPTHS.get(types[1]), tile.m) != (tile.k, 8):
            raise NotDecoded(f"wmma of {tile.k} k of the type .{types[1]}")
        return _multiply(t, s, 8, tile.k, types)
    whole = wmma.product_of_tile(s)
    i = form.product_of(t.arch, whole.form)
    i.offset = whole.count * whole.steps
    destination, *factors = s.operands
    if whole.turned:
        factors[:2] = factors[1::-1]
    type_ = "b64" if whole.form.a == "f64" else "b32"
    held = [[t.value(item, type_) for item in items_of(operand)] for operand in factors]
    written = [tuple(row + t.results for row in t.rows(item)) for item in items_of(destination)]
    if set(written) & {*held[0], *held[1]} or (written != held[2] and set(written) & set(held[2])):
        raise NotDecoded("a product that takes the place of its factors")
    taken: list[list[tuple[int, ...]]] = [[], [], []]
    into: list[tuple[int, ...]] = []
    for number, step in itertools.product(range(whole.count), range(whole.steps)):
        for operand in range(3):
            own = written if operand == 2 and step else held[operand]  # a second step adds to what the first one wrote
            taken[operand] += own[whole.registers(operand, number, step)]
        into += written[whole.registers(2, number, 0)]
    for place, one in enumerate(taken):
        i.source[place], i.width[place] = t.listed(list(itertools.chain.from_iterable(one))), 1
    rows = list(itertools.chain.from_iterable(into))
    i.d, i.d_width = t.listed(rows), len(rows)
    i.registers = tuple(len(one) * len(one[0]) for one in taken)
    return i


def transpose_matrix(t: Decoder, s: Statement) -> Decoded:
    destination, source = s.operands
    i = Decoded("transpose matrix")
    t.read(i, 0, source, "b32")
    t.writes(i, destination, 4)
    return i
