"""Textures and surfaces.

A texture's coordinates lie in registers one after the other, the layer before them; its handle is a uniform register.
Of the four channels those that the mask names are written: two to the second operand, the other two to the first.
"""

from __future__ import annotations

from gpusim.compiler import sass
from gpusim.isa import decoded as form
from gpusim.isa.decoded import Decoded, NotDecoded
from gpusim.isa.sass.decoding.decoder import Decoder, number_of
from gpusim.isa.sass.decoding.memory import NARROW, stores, words_of
from gpusim.isa.sass.operands import address_operand, at_least, chosen, exactly, is_register

# By the name of a shape: (axes, whether a layer comes with them). On a surface the layer comes last.
SHAPES = {"1D": (1, False), "2D": (2, False), "3D": (3, False), "ARRAY_1D": (1, True), "ARRAY_2D": (2, True)}
SURFACES = {"1D": 1, "2D": 2, "3D": 3, "1D_ARRAY": 2, "2D_ARRAY": 3}
CHANNELS = {"R": 0, "G": 1, "B": 2, "A": 3}
OUTSIDE = {"TRAP": "trap", "IGN": "zero"}


def read_texture(t: Decoder, s: sass.Statement) -> Decoded:
    """TEX.LL, TXD d2, d1, coordinates, level or derivatives, handle, offset, shape {, mask}; TLD.LZ without the fifth:
    an element by its number; TLD4.{R,G,B,A}: a channel of four elements.

    The arrays of CuPy have one level of detail, so that nothing depends on the fifth.
    """
    more = s.base in ("TEX", "TXD")
    upper, lower, where, *rest = at_least(s, 6 + more, 7 + more)
    handle, offset, shape, *mask = rest[more:]
    name = getattr(shape, "text", shape)
    if not is_register(where):
        raise NotDecoded("coordinates that are in no register")
    if number_of(offset):
        raise NotDecoded("an offset from the coordinates")
    if name not in SHAPES:
        raise NotDecoded(f"a texture of the shape {name}")
    axes, layered = SHAPES[name]
    if s.base == "TLD" and (axes > 1 or layered):
        raise NotDecoded("an element by its numbers in several axes")
    if s.base == "TLD4" and layered:
        raise NotDecoded("four elements of a layer")
    i = Decoded("read texture", flags=int(layered))
    what = form.FETCHES if s.base == "TLD" else form.SAMPLES
    if s.base == "TLD4":
        what = form.GATHERS + chosen(s, CHANNELS)
    kept = number_of(mask[0]) if mask else 0xF
    count = kept.bit_count()
    i.number[:] = [what, axes, kept, -1]
    i.source[0], i.width[0] = t.row(where, axes + layered), 1
    t.read(i, 1, handle)
    i.registers = (axes + layered, 1, 0, 0)
    t.writes(i, lower, min(count, 2))
    if count > 2 and upper.number is not None:
        i.number[3] = t.row(upper, count - 2)
    return i


def _surface(t: Decoder, s: sass.Statement, operation: str, coordinates: sass.Operand, handle: sass.Operand) -> Decoded:
    width, signed = chosen(s, NARROW, (0, False))
    address = address_operand(coordinates)
    if len(address.registers) != 1 or address.offset or not s.has("D") or not s.has("BA"):
        raise NotDecoded("a surface that converts what it holds")
    i = Decoded(operation, flags=int(signed))
    axes = chosen(s, SURFACES)
    i.number[:3] = [form.OUTSIDE[chosen(s, OUTSIDE, "clamp")], axes, width or 4 * words_of(s)]
    i.source[0], i.width[0] = t.row(address.registers[0], axes), 1
    t.read(i, 1, handle)
    i.registers = (axes, 1, 0, 0)
    return i


def load_surface(t: Decoder, s: sass.Statement) -> Decoded:
    """SULD.D.BA.shape{.U8,.64,…}{.TRAP,.IGN} d, [coordinates], handle, 0x0."""
    destination, coordinates, handle, _ = exactly(s, 4)
    i = _surface(t, s, "load surface", coordinates, handle)
    t.writes(i, destination, max(1, i.number[2] // 4))
    return i


def store_surface(t: Decoder, s: sass.Statement) -> Decoded:
    """SUST.D.BA.shape{.U8,.64,…}{.TRAP,.IGN} [coordinates], value, handle, 0x0."""
    coordinates, value, handle, _ = exactly(s, 4)
    i = _surface(t, s, "store surface", coordinates, handle)
    axes, count = i.registers[0], max(1, i.number[2] // 4)
    stores(t, i, value, count)
    i.registers = (axes, 1, count, 0)
    return i
