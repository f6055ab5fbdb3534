"""Textures and surfaces of SASS.

A texture's coordinates lie in registers one after the other, the layer before them; its handle is a uniform register.
Of the four channels those that the mask names are written: two to the second operand, the other two to the first.
"""

from collections.abc import Sequence

import numpy as np

from gpusim.compiler import sass
from gpusim.engine import textures
from gpusim.errors import Unknown
from gpusim.isa.rules import Effect, Execute, Reader
from gpusim.isa.sass.memory import NARROW, words_of
from gpusim.isa.sass.operands import (
    F4,
    I4,
    U4,
    Operands,
    address_operand,
    at_least,
    chosen,
    exactly,
    is_register,
    number,
)

# By the name of a shape: (axes, whether a layer comes with them). On a surface the layer comes last.
SHAPES = {"1D": (1, False), "2D": (2, False), "3D": (3, False), "ARRAY_1D": (1, True), "ARRAY_2D": (2, True)}
SURFACES = {"1D": 1, "2D": 2, "3D": 3, "1D_ARRAY": 2, "2D_ARRAY": 3}
CHANNELS = {"R": 0, "G": 1, "B": 2, "A": 3}
OUTSIDE = {"TRAP": "trap", "IGN": "zero"}


def sample(t: Operands, s: sass.Statement) -> Effect:
    """TEX.LL, TXD d2, d1, coordinates, level or derivatives, handle, offset, shape {, mask}.

    The arrays of CuPy have one level of detail, so that nothing depends on the fifth.
    """
    _, _, where, _, handle, *rest = at_least(s, 7, 8)
    places, layer, mask = _form(t, where, rest, F4)
    return _effect(t, s, mask, textures.sample(t.read(handle, U4), places, layer))


def fetch(t: Operands, s: sass.Statement) -> Effect:
    """TLD.LZ d2, d1, coordinates, handle, offset, shape {, mask}: an element by its number."""
    _, _, where, handle, *rest = at_least(s, 6, 7)
    places, layer, mask = _form(t, where, rest, I4)
    if layer is not None or len(places) > 1:
        raise Unknown("an element by its numbers in several axes")
    return _effect(t, s, mask, textures.fetch(t.read(handle, U4), places[0]))


def gather(t: Operands, s: sass.Statement) -> Effect:
    """TLD4.{R,G,B,A} d2, d1, coordinates, handle, offset, shape {, mask}."""
    _, _, where, handle, *rest = at_least(s, 6, 7)
    places, layer, mask = _form(t, where, rest, F4)
    if layer is not None:
        raise Unknown("four elements of a layer")
    return _effect(t, s, mask, textures.gather(t.read(handle, U4), places, chosen(s, CHANNELS)))


def _form(
    t: Operands, where: sass.Operand, rest: Sequence[sass.Operand], dtype: np.dtype
) -> tuple[list[Reader], Reader | None, int]:
    """(coordinates, layer, mask) of a texture instruction, from its operands behind the handle."""
    if not is_register(where):
        raise Unknown("coordinates that are in no register")
    offset, shape, *mask = rest
    if number(offset):
        raise Unknown("an offset from the coordinates")
    if not isinstance(shape, sass.Name) or shape.text not in SHAPES:
        raise Unknown(f"a texture of the shape {getattr(shape, 'text', shape)}")
    axes, layered = SHAPES[shape.text]
    places = [t.read(where, dtype, distance + layered) for distance in range(axes)]
    return places, t.read(where, U4) if layered else None, number(mask[0]) if mask else 0xF


def _effect(t: Operands, s: sass.Statement, mask: int, execute: Execute) -> Effect:
    """The channels that the mask names, packed into the registers of both destinations."""
    upper, lower = s.operands[:2]
    wanted = [channel for channel in range(4) if mask >> channel & 1]
    slots = [t.target(lower if place < 2 else upper, place % 2) for place in range(len(wanted))]

    def packed(wave, registers, mask):
        channels = execute(wave, registers, mask)
        return tuple(channels[channel] for channel in wanted)

    return Effect(tuple(slots), packed)


def _surface(t: Operands, s: sass.Statement, place: sass.Operand, handle: sass.Operand) -> tuple:
    """(what is done outside, handle, coordinates)."""
    address = address_operand(place)
    if len(address.registers) != 1 or address.offset or not s.has("D") or not s.has("BA"):
        raise Unknown("a surface that converts what it holds")
    coordinates = [t.read(address.registers[0], I4, distance) for distance in range(chosen(s, SURFACES))]
    return chosen(s, OUTSIDE, "clamp"), t.read(handle, U4), coordinates


def load_surface(t: Operands, s: sass.Statement) -> Effect:
    """SULD.D.BA.shape{.U8,.64,…}{.TRAP,.IGN} d, [coordinates], handle, 0x0."""
    destination, place, handle, _ = exactly(s, 4)
    where, narrow = _surface(t, s, place, handle), chosen(s, NARROW, None)
    if narrow is None:
        return Effect(t.targets(destination, words_of(s)), textures.load_surface(I4, words_of(s), *where))
    read = textures.load_surface(narrow, 1, *where)
    return Effect((t.target(destination),), lambda wave, r, mask: (read(wave, r, mask)[0].astype(I4),))


def store_surface(t: Operands, s: sass.Statement) -> Effect:
    """SUST.D.BA.shape{.U8,.64,…}{.TRAP,.IGN} [coordinates], value, handle, 0x0."""
    place, value, handle, _ = exactly(s, 4)
    where, narrow = _surface(t, s, place, handle), chosen(s, NARROW, None)
    if narrow is None:
        values = [t.read(value, I4, distance) for distance in range(words_of(s))]
    else:
        word = t.read(value)
        values = [lambda registers: word(registers).astype(narrow)]
    return Effect((), textures.store_surface(*where, values))
