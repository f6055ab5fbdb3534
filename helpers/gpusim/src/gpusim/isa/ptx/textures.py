"""Textures and surfaces of PTX. Reference: PTX ISA, 'Texture Instructions' and 'Surface Instructions'."""

import numpy as np

from gpusim.compiler.ptx import Address, Statement
from gpusim.engine import textures
from gpusim.errors import Unknown
from gpusim.isa.ptx.operands import Operands, dtype_of, items_of
from gpusim.isa.rules import Effect, Outcome, Reader

# By the name of a geometry: (axes, whether a layer comes before them).
GEOMETRIES = {"1d": (1, False), "2d": (2, False), "3d": (3, False), "a1d": (1, True), "a2d": (2, True)}
CHANNELS = {"r": 0, "g": 1, "b": 2, "a": 3}
BOUNDS = ("trap", "clamp", "zero")


def geometry(s: Statement) -> tuple[int, bool]:
    """(the axes, whether a layer comes before them)."""
    name = next((part for part in s.opcode[1:] if part in GEOMETRIES), None)
    if name is None:
        raise Unknown(f"the geometry of {'.'.join(s.opcode)}")
    return GEOMETRIES[name]


def _place(t: Operands, s: Statement, place: object, kind: str) -> tuple[Reader, list[Reader], Reader | None]:
    """(handle, coordinates, layer) of `[handle, {…}]`. Behind three coordinates a fourth fills the vector."""
    axes, layered = geometry(s)
    if not isinstance(place, Address) or len(place.coordinates) != 1:
        raise Unknown(f"a place of {s.name} that is no handle with coordinates")
    named = items_of(place.coordinates[0])
    layer, *rest = named if layered else (None, *named)
    coordinates = [t.read(one, kind) for one in rest[:axes]]
    return t.read(place.base, "u64"), coordinates, t.read(layer, "u32") if layered else None


def _channels(t: Operands, destination: object, execute) -> Effect:
    slots = tuple(t.target(item) for item in items_of(destination))
    return Effect(slots, lambda wave, registers, mask: execute(wave, registers, mask)[: len(slots)])


def sample(t: Operands, s: Statement) -> Outcome:
    """tex{.base,.level,.grad}.geometry.v4.type.type {d, …}, [handle, {coordinates}] {, level or derivatives}.

    An element is named by a number where the last type is s32. Arrays of one level of detail have nothing else to ask.
    """
    destination, place, *more = s.operands
    if len(more) != (1 if "level" in s.opcode else 2 if "grad" in s.opcode else 0):
        raise Unknown("an offset from the coordinates")
    if s.opcode[-1] == "s32":
        handle, coordinates, layer = _place(t, s, place, "s32")
        if layer is not None or len(coordinates) > 1:
            raise Unknown("an element by its numbers in several axes")
        return _channels(t, destination, textures.fetch(handle, coordinates[0]))
    return _channels(t, destination, textures.sample(*_place(t, s, place, "f32")))


def gather(t: Operands, s: Statement) -> Outcome:
    """tld4.{r,g,b,a}.2d.v4.type.f32 {d, …}, [handle, {x, y}]."""
    destination, place, *_ = s.operands
    handle, coordinates, layer = _place(t, s, place, "f32")
    if layer is not None:
        raise Unknown("four elements of a layer")
    return _channels(t, destination, textures.gather(handle, coordinates, CHANNELS[s.opcode[1]]))


def _surface(t: Operands, s: Statement, place: object) -> tuple[str, Reader, list[Reader]]:
    """(what is done outside, handle, coordinates): the layer comes last, as in machine code."""
    handle, coordinates, layer = _place(t, s, place, "s32")
    bounds = next((part for part in s.opcode if part in BOUNDS), "")
    if s.opcode[1] != "b" or not bounds:
        raise Unknown("a surface that converts what it holds")
    if layer is None:
        return bounds, handle, coordinates
    return bounds, handle, [*coordinates, lambda registers: layer(registers).view(np.int32)]


def channel_of(s: Statement) -> str:
    """The type of a channel of a surface."""
    return next(part for part in s.opcode if part in ("b8", "b16", "b32", "b64"))


def load_surface(t: Operands, s: Statement) -> Outcome:
    """suld.b.geometry{.v2,.v4}.type.{trap,clamp,zero} d, [handle, {coordinates}]."""
    destination, place = s.operands
    dtype, items = dtype_of(channel_of(s)), items_of(destination)
    slots = tuple(t.target(item) for item in items)
    fits = [t.fit(slot, dtype) or (lambda value: value) for slot in slots]
    read = textures.load_surface(dtype, len(items), *_surface(t, s, place))

    def execute(wave, registers, mask):
        return tuple(fit(value) for fit, value in zip(fits, read(wave, registers, mask), strict=True))

    return Effect(slots, execute)


def store_surface(t: Operands, s: Statement) -> Outcome:
    """sust.b.geometry{.v2,.v4}.type.{trap,clamp,zero} [handle, {coordinates}], value."""
    place, value = s.operands
    values = [t.read(item, channel_of(s)) for item in items_of(value)]
    return Effect((), textures.store_surface(*_surface(t, s, place), values))
