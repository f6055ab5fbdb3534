"""Textures and surfaces of PTX. Reference: PTX ISA, 'Texture Instructions' and 'Surface Instructions'."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler.ptx import TYPE_BYTES, Address, Statement
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.decoding.memory import stores
from gpusim.isa.ptx.operands import items_of

# By the name of a geometry: (axes, whether a layer comes before them).
GEOMETRIES = {"1d": (1, False), "2d": (2, False), "3d": (3, False), "a1d": (1, True), "a2d": (2, True)}
CHANNELS = {"r": 0, "g": 1, "b": 2, "a": 3}


def geometry(s: Statement) -> tuple[int, bool]:
    """(the axes, whether a layer comes before them)."""
    name = next((part for part in s.opcode[1:] if part in GEOMETRIES), None)
    if name is None:
        raise NotDecoded(f"the geometry of {'.'.join(s.opcode)}")
    return GEOMETRIES[name]


def channel_of(s: Statement) -> str:
    """The type of a channel of a surface."""
    return next(part for part in s.opcode if part in ("b8", "b16", "b32", "b64"))


def _image(t: Decoder, i: Decoded, address: Address, kinds: Sequence[str], layer_last: bool = False) -> None:
    """The coordinates of a place, of these types, as source 0, and the object as source 1."""
    if not isinstance(address, Address) or len(address.coordinates) != 1:
        raise NotDecoded("a place that is no handle with coordinates")
    coordinates = items_of(address.coordinates[0])
    rows = [t.value(coordinate, kind)[0] for coordinate, kind in zip(coordinates, kinds, strict=False)]
    if layer_last:
        rows = rows[1:] + rows[:1]
    i.source[0], i.width[0] = t.listed(rows), 1
    i.source[1], i.width[1] = t.value(address.base, "b64")[0], 1
    i.registers = (len(rows), 1, 0, 0)


def read_texture(t: Decoder, s: Statement) -> Decoded:
    """tex{.base,.level,.grad}.geometry.v4.type.type {d, …}, [handle, {coordinates}] {, level or derivatives};
    tld4.{r,g,b,a}.2d.v4.type.f32 {d, …}, [handle, {x, y}].

    An element is named by a number where the last type is s32. Arrays of one level of detail have nothing else to ask.
    """
    destination, address, *more = s.operands
    axes, layered = geometry(s)
    if s.name == "tex" and len(more) != (1 if "level" in s.opcode else 2 if "grad" in s.opcode else 0):
        raise NotDecoded("an offset from the coordinates")
    if s.type == "s32" and s.name == "tex" and (layered or axes > 1):
        raise NotDecoded("an element by its numbers in several axes")
    if s.name == "tld4" and layered:
        raise NotDecoded("four elements of a layer")
    items = items_of(destination)
    kind, what = "f32", form.SAMPLES
    if s.name == "tld4":
        what = form.GATHERS + CHANNELS[s.opcode[1]]
    elif s.type == "s32":
        kind, what = "s32", form.FETCHES
    i = Decoded("read texture", flags=int(layered), number=[what, axes, (1 << len(items)) - 1, -1])
    _image(t, i, address, ["u32"] * layered + [kind] * axes)
    t.writes_vector(i, items, 4)
    return i


def _surface(t: Decoder, s: Statement, operation: str, address: Address, count: int) -> Decoded:
    axes, layered = geometry(s)
    size = TYPE_BYTES[channel_of(s)]
    outside = next((form.OUTSIDE[part] for part in s.opcode if part in form.OUTSIDE), None)
    if outside is None or s.opcode[1] != "b":
        raise NotDecoded("a surface that converts what it holds")
    i = Decoded(operation, number=[outside, axes + layered, size * count, size if size < 4 else 4])
    _image(t, i, address, ["s32"] * (axes + layered), layer_last=layered)
    return i


def load_surface(t: Decoder, s: Statement) -> Decoded:
    """suld.b.geometry{.v2,.v4}.type.{trap,clamp,zero} d, [handle, {coordinates}]."""
    destination, address = s.operands
    items = items_of(destination)
    i = _surface(t, s, "load surface", address, len(items))
    t.writes_vector(i, items, TYPE_BYTES[channel_of(s)])
    return i


def store_surface(t: Decoder, s: Statement) -> Decoded:
    """sust.b.geometry{.v2,.v4}.type.{trap,clamp,zero} [handle, {coordinates}], value."""
    address, value = s.operands
    items, type_ = items_of(value), channel_of(s)
    i = _surface(t, s, "store surface", address, len(items))
    coordinates = i.registers[0]
    stores(t, i, [row for item in items for row in t.value(item, type_)])
    i.registers = (coordinates, *i.registers[1:])
    return i
