"""Textures and surfaces."""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.sass import textures
from gpusim.isa.sass.decoding.decoder import Decoder, number_of
from gpusim.isa.sass.decoding.memory import NARROW
from gpusim.isa.sass.memory import words_of
from gpusim.isa.sass.operands import chosen, is_register


def read_texture(t: Decoder, s: sass.Statement) -> Decoded:
    upper, lower, where, *rest = s.operands
    handle, offset, shape, *mask = rest[s.base in ("TEX", "TXD") :]
    axes, layered = textures.SHAPES.get(getattr(shape, "text", ""), (0, False))
    is_fetch = s.base == "TLD"
    if not axes or number_of(offset) or not is_register(where) or (is_fetch and (axes > 1 or layered)):
        raise NotDecoded("a texture read in another way than by its coordinates")
    i = Decoded("read texture", flags=int(layered))
    what = form.FETCHES if is_fetch else form.SAMPLES
    if s.base == "TLD4":
        what = form.GATHERS + chosen(s, textures.CHANNELS)
    kept = number_of(mask[0]) if mask else 0xF
    count = kept.bit_count()
    i.number[:] = [what, axes, kept, -1]
    i.source[0], i.width[0] = t.row(where, axes + layered), 1
    t.read(i, 1, handle)
    t.writes(i, lower, min(count, 2))
    if count > 2 and upper.number is not None:
        i.number[3] = t.row(upper, count - 2)
    return i


def _surface(t: Decoder, s: sass.Statement, operation: str, place: sass.Operand, handle: sass.Operand) -> Decoded:
    width, signed = chosen(s, NARROW, (0, False))
    if not isinstance(place, sass.Address) or len(place.registers) != 1 or place.offset or not s.has("BA"):
        raise NotDecoded("a surface that converts what it holds")
    i = Decoded(operation, flags=int(signed))
    axes = chosen(s, textures.SURFACES)
    i.number[:3] = [form.OUTSIDE[chosen(s, textures.OUTSIDE, "clamp")], axes, width or 4 * words_of(s)]
    i.source[0], i.width[0] = t.row(place.registers[0], axes), 1
    t.read(i, 1, handle)
    return i


def load_surface(t: Decoder, s: sass.Statement) -> Decoded:
    destination, place, handle, _ = s.operands
    i = _surface(t, s, "load surface", place, handle)
    t.writes(i, destination, max(1, i.number[2] // 4))
    return i


def store_surface(t: Decoder, s: sass.Statement) -> Decoded:
    place, value, handle, _ = s.operands
    i = _surface(t, s, "store surface", place, handle)
    i.source[2], i.width[2] = t.row(value, max(1, i.number[2] // 4)), 1
    return i
