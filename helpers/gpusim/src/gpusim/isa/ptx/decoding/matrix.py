"""Matrices of a warp: loads, products and transposition. Reference: PTX ISA, 'Warp Level Matrix Multiply-Accumulate
Instructions'.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

from gpusim.arithmetic import tensor_core
from gpusim.compiler.ptx import TYPE_BYTES, Immediate, Statement
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.ptx import wmma
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.decoding.memory import access, amount_of, stores, takes_address
from gpusim.isa.ptx.operands import items_of


def load_matrix(t: Decoder, s: Statement) -> Decoded:
    """ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}{.shared}.b16 {d, …}, [address]."""
    destination, address = s.operands
    items = items_of(destination)
    i = Decoded("load matrix", flags=form.SHARED, space=form.SHARED, op="ldsm", strong=form.SEES_BLOCK)
    if takes_address(t, i, address):
        i.width[0] = min(i.width[0], 1)
    i.number[:3] = [1, 1, count_of(s, items)]
    i.flags |= form.TRANSPOSED * ("trans" in s.modifiers)
    t.writes_vector(i, items, 4)
    return i


def multiply_matrices(t: Decoder, s: Statement) -> Decoded:
    """mma{.sp}.sync.aligned.shape.row.col{.satfinite}.d.a.b.c{.op.popc} d, a, b, c{, places, selector}, of the types
    that tensor cores have."""
    return _multiply(t, s, *shape_and_types(s))


def _multiply(t: Decoder, s: Statement, m: int, k: int, types: Sequence[str]) -> Decoded:
    shape = form_of(t.arch, m, k, types, s.opcode)
    i = form.product_of(t.arch, shape, "xor" in s.opcode, selector_of(s) if shape.sparse else 0)
    destination, *factors = s.operands
    type_ = "b64" if shape.a == "f64" else "b32"
    for position, operand in enumerate(factors[: 4 if shape.sparse else 3]):
        rows = [row for item in items_of(operand) for row in t.value(item, type_)]
        i.source[position], i.width[position] = t.listed(rows), 1
        i.registers += (len(rows),)
    counts = (shape.a_registers, shape.b_registers, shape.c_registers, *[1] * shape.sparse)
    if i.registers != counts:
        raise NotDecoded("a product with other fragments")
    t.writes_vector(i, items_of(destination), TYPE_BYTES[type_])
    return i


def store_matrix(t: Decoder, s: Statement) -> Decoded:
    """stmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}{.shared}.b16 [address], {a, …}."""
    address, source = s.operands
    items = items_of(source)
    i = Decoded("store matrix", flags=form.SHARED, space=form.SHARED, op="stsm")
    if takes_address(t, i, address):
        i.width[0] = min(i.width[0], 1)
    i.number[:3] = [1, 1, count_of(s, items)]
    i.flags |= form.TRANSPOSED * ("trans" in s.modifiers)
    stores(t, i, [t.value(item, "b32")[0] for item in items])
    return i


def tile(t: Decoder, s: Statement) -> Decoded:
    """wmma.load.{a,b,c}.sync.aligned.{row,col}.shape{.space}.type {d, …}, [address] {, stride}; wmma.store.d …;
    wmma.mma."""
    if s.opcode[1] == "mma":
        return multiply_tiles(t, s)
    loads = s.opcode[1] == "load"
    first, second, *stride = s.operands
    vector, address = (first, second) if loads else (second, first)
    places, distance, bits = wmma.elements(s)
    i = access(t, s, "load tile" if loads else "store tile", "ld" if loads else "st", address)
    i.number[0], i.number[1] = len(t.lists), len(places) | len(places[0]) << 8 | bits << 16
    amount_of(i, 1, 4 if bits < 8 else bits // 8)
    t.lists += [int(number) for register in places for element in register for lanes in element for number in lanes]
    t.read(i, 3, stride[0] if stride else Immediate(distance, distance), "u32")
    items, type_ = items_of(vector), "b64" if bits == 64 else "b32"
    if loads:
        t.writes_vector(i, items, TYPE_BYTES[type_])
    else:
        i.strong = 0
        stores(t, i, [row for item in items for row in t.value(item, type_)])
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
    for position, fragment in enumerate(taken):
        i.source[position], i.width[position] = t.listed(list(itertools.chain.from_iterable(fragment))), 1
    rows = list(itertools.chain.from_iterable(into))
    i.d, i.d_width = t.listed(rows), len(rows)
    i.registers = tuple(len(fragment) * len(fragment[0]) for fragment in taken)
    return i


def transpose_matrix(t: Decoder, s: Statement) -> Decoded:
    destination, source = s.operands
    i = Decoded("transpose matrix")
    t.read(i, 0, source, "b32")
    t.writes(i, destination, 4)
    return i


def count_of(s: Statement, items: tuple) -> int:
    """How many matrices of 8 × 8 it moves."""
    count = next((int(word[1:]) for word in s.modifiers if word in ("x1", "x2", "x4")), None)
    if "m8n8" not in s.modifiers or s.type != "b16" or count != len(items):
        raise NotDecoded(f"{s.name} of another shape or type")
    return count


# What a tensor core that lacks a narrow format multiplies in its place: ptxas unpacks one half of each register, then
# the other, and adds C to the sum of the two products. So it is on sm_90, and for floating-point numbers on sm_100 and
# sm_103; on others it has not been looked at, but integers that are not limited come to the same whichever way they are
# added.
_UNPACKED = (*tensor_core.EIGHTS, *tensor_core.FOURS)


def selector_of(s: Statement) -> int:
    """Which lanes of four bring the places of a sparse A's elements: the last operand of mma.sp."""
    if len(s.operands) != 6 or not isinstance(s.operands[5], Immediate):
        raise NotDecoded(f"{s.name} with a selector that is no number")
    return int(s.operands[5].value) & 3


SPARSE = ("sp", "sp::ordered_metadata")


def shape_and_types(s: Statement) -> tuple[int, int, list[str]]:
    """(m, k, the types of D, A, B and C) of mma."""
    words = [word for word in s.opcode[1:] if word not in ("sync", "aligned", "row", "col", "satfinite", *SPARSE)]
    shape = re.fullmatch(r"m(\d+)n8k(\d+)", words[0])
    types = [word for word in words[1:] if word not in ("and", "xor", "popc")]
    if shape is None or len(types) != 4 or types[0] != types[3]:
        raise NotDecoded(f"the product {'.'.join(words)}")
    return int(shape[1]), int(shape[2]), types


def form_of(arch: str, m: int, k: int, types: Sequence[str], words: Sequence[str]) -> tensor_core.Form:
    """The form of a product of (m, k) and (k, 8), and whether `arch` unpacks its elements.

    types: of D, A, B and C.  words: of the opcode, of which satfinite and sp count.
    """
    result, a, b, _ = types
    family, eights, saturates = arch.rstrip("af"), a in tensor_core.EIGHTS, "satfinite" in words
    is_there = family in (tensor_core.HAS_EIGHTS if eights else tensor_core.HAS_FOURS)
    narrow = a in _UNPACKED and b in _UNPACKED and not is_there
    if narrow and (saturates or eights) and family not in ("sm_90", *(("sm_100", "sm_103") if eights else ())):
        others = "; without .satfinite it runs" if a in tensor_core.FOURS else ""
        raise NotDecoded(f"how the tensor cores of {arch} multiply .{a} and .{b}{others}")
    form = tensor_core.form(m, k, a, b, result, saturates, any(word in SPARSE for word in words))
    return replace(form, unpacked=narrow and eights)
