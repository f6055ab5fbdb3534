"""Textures and surfaces."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.compiler.ptx import TYPE_BYTES, Address, Statement
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded
from gpusim.isa.ptx import textures
from gpusim.isa.ptx.decoding.decoder import Decoder
from gpusim.isa.ptx.operands import items_of


def _image(t: Decoder, i: Decoded, place: Address, kinds: Sequence[str], layer_last: bool = False) -> None:
    """The coordinates of a place, of these types, as source 0, and the object as source 1."""
    coordinates = items_of(place.coordinates[0])
    rows = [t.value(one, kind)[0] for one, kind in zip(coordinates, kinds, strict=False)]
    if layer_last:
        rows = rows[1:] + rows[:1]
    i.source[0], i.width[0] = t.listed(rows), 1
    i.source[1], i.width[1] = t.value(place.base, "b64")[0], 1


def read_texture(t: Decoder, s: Statement) -> Decoded:
    destination, place, *_ = s.operands
    axes, layered = textures.geometry(s)
    items = items_of(destination)
    kind, what = "f32", form.SAMPLES
    if s.name == "tld4":
        what = form.GATHERS + textures.CHANNELS[s.opcode[1]]
    elif s.type == "s32":
        kind, what = "s32", form.FETCHES
    i = Decoded("read texture", flags=int(layered), number=[what, axes, (1 << len(items)) - 1, -1])
    _image(t, i, place, ["u32"] * layered + [kind] * axes)
    t.writes_vector(i, items, 4)
    return i


def _surface(t: Decoder, s: Statement, operation: str, place: Address, count: int) -> Decoded:
    axes, layered = textures.geometry(s)
    size = TYPE_BYTES[textures.channel_of(s)]
    outside = next(form.OUTSIDE[part] for part in s.opcode if part in form.OUTSIDE)
    i = Decoded(operation, number=[outside, axes + layered, size * count, size if size < 4 else 4])
    _image(t, i, place, ["s32"] * (axes + layered), layer_last=layered)
    return i


def load_surface(t: Decoder, s: Statement) -> Decoded:
    destination, place = s.operands
    items = items_of(destination)
    i = _surface(t, s, "load surface", place, len(items))
    t.writes_vector(i, items, TYPE_BYTES[textures.channel_of(s)])
    return i


def store_surface(t: Decoder, s: Statement) -> Decoded:
    place, value = s.operands
    items, type_ = items_of(value), textures.channel_of(s)
    i = _surface(t, s, "store surface", place, len(items))
    i.source[2], i.width[2] = t.listed([row for item in items for row in t.value(item, type_)]), 1
    return i
