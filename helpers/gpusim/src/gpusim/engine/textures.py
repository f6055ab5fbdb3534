"""Textures and surfaces as the engine executes them, whichever front end they come from.

A kernel has a number for each of them, a handle, and here the host's objects lie by their handles. What a texture unit
computes is in `arithmetic.texture_unit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np

from gpusim.arithmetic import texture_unit
from gpusim.arithmetic.texture_unit import BORDER, CLAMP, MIRROR, WRAP  # noqa: F401 (known by these names)
from gpusim.engine.ir import Registers
from gpusim.errors import Misaligned, OutOfBounds, TextureError

Reader = Callable[[Registers], np.ndarray]
I4, U4, F4 = np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.float32)


@dataclass(frozen=True, eq=False)
class Image:
    """Elements in memory.

    `channels` of `dtype` each; `dims` are the axes that are not layers; `size` is (width, height, depth or layers);
    `pitch` are the bytes from a row to the next; `linear_memory`: it is an
    ordinary array, in rows or not.
    """

    bytes_: np.ndarray
    dtype: np.dtype
    channels: int
    dims: int
    size: tuple[int, int, int]
    pitch: int
    layered: bool = False
    linear_memory: bool = False

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize * self.channels

    @property
    def is_buffer(self) -> bool:
        """Whether its elements are fetched by their number alone."""
        return self.linear_memory and self.dims == 1

    def at(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Elements that exist, as (n, channels)."""
        width, height, _ = self.size
        step = self.dtype.itemsize
        first = (z * height + y) * (self.pitch // step) + x * self.channels
        values = self.bytes_[: self.bytes_.size // step * step].view(self.dtype)
        return values[first[:, None] + np.arange(self.channels)]


def _words(values: np.ndarray) -> np.ndarray:
    """Elements as 32-bit words: floats as float32, integers with their sign."""
    return values.astype(F4).view(U4) if values.dtype.kind == "f" else values.astype(np.int64).astype(U4)


@dataclass(frozen=True, eq=False)
class Texture:
    """An image and how it is read: see `cuda.textures.TextureDescriptor`.

    `fractions`: its integers are read as fractions of the largest.
    """

    image: Image
    modes: tuple[int, int, int]
    linear: bool
    normalized: bool
    fractions: bool
    border: tuple[float, float, float, float]

    @property
    def effective_modes(self) -> tuple[int, ...]:
        """The address modes: only where the whole width is 1.0, it can be repeated."""
        return tuple(CLAMP if mode in (WRAP, MIRROR) and not self.normalized else mode for mode in self.modes)

    @property
    def outside(self) -> np.ndarray:
        """The four channels of what lies beyond a border, as elements."""
        return texture_unit.border(self.border, self.image.dtype, self.fractions)

    @property
    def outside_words(self) -> np.ndarray:
        """The same in 32 bits: floats as float32, integers with their sign."""
        return _words(self.outside)

    def elements(self, index: Sequence[np.ndarray], layer: np.ndarray | None) -> np.ndarray:
        """The elements of (column, row, depth), or what stands for them outside, (lanes, channels)."""
        image, inside = self.image, np.ones(len(index[0]), bool)
        places = []
        for coordinate, size, mode in zip(index, image.size, self.effective_modes, strict=False):
            position, there = texture_unit.addressed(coordinate, size, mode)
            places.append(position)
            inside &= there
        nothing = np.zeros(len(inside), np.int64)
        x, y, z = (*places, *(nothing for _ in range(3 - len(places))))
        if layer is not None:
            z = layer
        values = image.at(x, y, z)
        if inside.all():
            return values
        return np.where(inside[:, None], values, self.outside[: image.channels])

    def words(self, values: np.ndarray) -> np.ndarray:
        """Elements (lanes, channels) as the instructions answer them, uint32 (4, lanes)."""
        if self.fractions:
            return _filled(texture_unit.fractions(values, np.iinfo(self.image.dtype).max))
        return _filled(_words(values))


@dataclass(frozen=True, eq=False)
class Surface:
    """An image that a kernel reads and writes by the numbers of its elements."""

    image: Image


class Objects:
    """The textures and surfaces that live, by the handles that kernels get."""

    def __init__(self) -> None:
        self._living: WeakValueDictionary[int, Texture | Surface] = WeakValueDictionary()
        self._last = 0

    def add(self, image_object: Texture | Surface) -> int:
        """A handle for it."""
        self._last += 1
        self._living[self._last] = image_object
        return self._last

    def find(self, handle: int) -> Texture | Surface | None:
        """What a handle stands for; None if there is nothing any more, or never was."""
        return self._living.get(handle)

    def living(self) -> dict[int, Texture | Surface]:
        """All by handle."""
        return dict(self._living)


OBJECTS = Objects()


# ---- what textures answer


def sampled(texture: Texture, axes: int, places: Sequence[np.ndarray], layer: np.ndarray | None) -> np.ndarray:
    """The four channels at a place, uint32 (4, lanes). An image of another shape than asked for answers zeros."""
    image, lanes = texture.image, len(places[0])
    if image.is_buffer or image.layered != (layer is not None) or (image.dims == 3) != (axes == 3):
        return np.zeros((4, lanes), U4)
    where = _positions(texture, places)
    number = None if layer is None else np.minimum(layer.view(U4), image.size[image.dims] - 1)
    if not texture.linear:
        return texture.words(texture.elements([texture_unit.nearest(coordinate) for coordinate in where], number))
    modes = texture.effective_modes
    sizes = image.size[: image.dims]
    pairs = [texture_unit.between(*axis) for axis in zip(where, sizes, modes, strict=False)]
    corners = texture_unit.weights([fraction for _, fraction in pairs])
    values = np.array([
        texture.elements([first + step for (first, _), step in zip(pairs, corner, strict=True)], number)
        for corner, _ in corners
    ])  # fmt: skip
    weights = np.array([weight for _, weight in corners])[..., None]
    if texture.fractions:
        return _filled(texture_unit.mean_of_fractions(values, weights))
    counts = np.array([
        np.all([(fraction > 0) | (step == 0) for (_, fraction), step in zip(pairs, corner, strict=True)], axis=0)
        for corner, _ in corners
    ])[..., None]  # fmt: skip
    digits = 11 if image.dtype.itemsize == 2 else 24
    return _filled(texture_unit.mean_of_floats(values.astype(F4), weights, counts, digits))


def _positions(texture: Texture, places: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The coordinates as numbers of elements, by the axes that the image has: what is not asked for is 0."""
    image = texture.image
    given = [*places, *(np.zeros_like(places[0]) for _ in range(image.dims - len(places)))]
    return [
        texture_unit.position(coordinate, size, texture.normalized)
        for coordinate, size in zip(given[: image.dims], image.size, strict=False)
    ]


def fetched(texture: Texture, places: Sequence[np.ndarray]) -> np.ndarray:
    """The four channels of an element of linear memory; zeros outside, and for what is no linear memory."""
    (index,) = places
    image = texture.image
    if not image.is_buffer:
        return np.zeros((4, len(index)), U4)
    inside = (index >= 0) & (index < image.size[0])
    nothing = np.zeros(len(index), np.int64)
    return texture.words(image.at(np.where(inside, index, 0), nothing, nothing)) * inside.astype(U4)


def gathered(texture: Texture, places: Sequence[np.ndarray], channel: int) -> np.ndarray:
    """A channel of the four elements around a place, against the clock from the lower left one."""
    where = _positions(texture, places)
    if texture.image.dims != 2 or texture.image.layered:
        return np.zeros((4, len(places[0])), U4)
    pairs = [
        texture_unit.between(coordinate, size, BORDER)
        for coordinate, size in zip(where, texture.image.size, strict=False)
    ]
    (x, _), (y, _) = pairs
    steps = ((0, 1), (1, 1), (1, 0), (0, 0))
    return np.stack([texture.words(texture.elements([x + right, y + up], None))[channel] for right, up in steps])


def _filled(words: np.ndarray) -> np.ndarray:
    """uint32 (lanes, channels) as (4, lanes); the channels that are not there are 0."""
    filled = np.zeros((4, len(words)), U4)
    filled[: words.shape[1]] = words.T
    return filled


# ---- what instructions do


def sample(handle: Reader, coordinates: Sequence[Reader], layer: Reader | None = None):
    """The four channels at a place, as 32-bit words; coordinates are float32, a layer is an unsigned number."""
    axes = len(coordinates)
    readers = [*coordinates, layer] if layer else [*coordinates]

    def look(texture: Texture, places: Sequence[np.ndarray]) -> np.ndarray:
        return sampled(texture, axes, places[:axes], places[axes] if layer else None)

    return _read(Texture, handle, readers, look)


def fetch(handle: Reader, coordinate: Reader):
    """The four channels of an element of linear memory by its number, int32."""
    return _read(Texture, handle, [coordinate], fetched)


def gather(handle: Reader, coordinates: Sequence[Reader], channel: int):
    """One channel of the four elements that a linear filter would weigh."""
    return _read(Texture, handle, coordinates, lambda texture, places: gathered(texture, places, channel))


def _read(kind: type, handle: Reader, coordinates: Sequence[Reader], look: Callable):
    """An instruction whose answer in all active lanes is `look(object, coordinates)`, uint32 (4, lanes)."""

    def execute(wave, registers, mask):
        lanes = np.ones(wave.shape, bool) if mask is None else np.broadcast_to(mask, wave.shape)
        places = [np.broadcast_to(coordinate(registers), wave.shape)[lanes] for coordinate in coordinates]
        texels = np.zeros((4, len(places[0])), U4)
        for image_object, which in _objects(wave, kind, handle(registers), lanes):
            texels[:, which] = look(image_object, [coordinate[which] for coordinate in places])
        results = np.zeros((4, *wave.shape), U4)
        results[:, lanes] = texels
        return tuple(results.view(I4))

    return execute


def _objects(wave, kind: type, handles, lanes: np.ndarray) -> Iterator[tuple[Texture | Surface, np.ndarray]]:
    """(object, which of the active lanes have it). TextureError, with the line, for a number that is no handle."""
    handles = np.broadcast_to(handles, wave.shape)[lanes]
    for handle in np.unique(handles):
        image_object, which = OBJECTS.find(int(handle)), handles == handle
        if not isinstance(image_object, kind):
            block, thread = (int(number) for number in np.argwhere(lanes)[np.flatnonzero(which)[0]])
            called = kind.__name__.lower()
            what = f"read through {int(handle)}, which is no {called} object" + (
                f" but a {type(image_object).__name__.lower()} object" if image_object else ""
            )
            wave.fail(
                TextureError, what,
                f"Pass a {kind.__name__}Object, and keep it in a variable as long as kernels use it.", block, thread,
            )  # fmt: skip
        yield image_object, which


# ---- surfaces


def load_surface(dtype: np.dtype, count: int, mode: str, handle: Reader, coordinates: Sequence[Reader]):
    """`count` values of `dtype`, one after the other in a row; the first coordinate counts bytes.

    mode: "trap", "clamp" or "zero", what is done outside.
    """
    dtype = np.dtype(dtype)
    width = dtype.itemsize * count

    def execute(wave, registers, mask):
        lanes = np.ones(wave.shape, bool) if mask is None else np.broadcast_to(mask, wave.shape)
        read = np.zeros((int(lanes.sum()), width), np.uint8)
        for image, which, first, inside in _places(wave, mode, handle, coordinates, registers, lanes, width, "read"):
            values = image.bytes_[first[:, None] + np.arange(width)]
            read[which] = np.where(inside[:, None], values, np.uint8(0))
        results = np.zeros((count, *wave.shape), dtype)
        results[:, lanes] = read.view(dtype).T
        return tuple(results)

    return execute


def store_surface(mode: str, handle: Reader, coordinates: Sequence[Reader], values: Sequence[Reader]):
    """As `load_surface`, for values of one dtype."""

    def execute(wave, registers, mask):
        lanes = np.ones(wave.shape, bool) if mask is None else np.broadcast_to(mask, wave.shape)
        given = np.stack([np.broadcast_to(value(registers), wave.shape)[lanes] for value in values], axis=-1)
        given = np.ascontiguousarray(given).view(np.uint8)
        for image, which, first, inside in _places(
            wave, mode, handle, coordinates, registers, lanes, given.shape[1], "wrote"
        ):
            image.bytes_[first[inside, None] + np.arange(given.shape[1])] = given[which][inside]

    return execute


def _places(wave, mode: str, handle: Reader, coordinates, registers, lanes: np.ndarray, width: int, verb: str):
    """(image, which active lanes look into it, their first bytes, which of them lie inside)."""
    places = [
        np.broadcast_to(coordinate(registers).view(I4), wave.shape)[lanes].astype(np.int64)
        for coordinate in coordinates
    ]
    for surface, which in _objects(wave, Surface, handle(registers), lanes):
        image = surface.image
        byte, *others = (coordinate[which] for coordinate in places)
        last = image.size[0] * image.item - width
        if (byte % width).any():
            first = np.flatnonzero(which)[np.flatnonzero(byte % width)[0]]
            wave.fail(
                Misaligned, f"{verb} {width} bytes of a surface at byte {places[0][first]} of a row",
                f"The first coordinate counts bytes: multiply the column by sizeof, here by {width}.",
                *(int(k) for k in np.argwhere(lanes)[first]),
            )  # fmt: skip
        inside = (byte >= 0) & (byte <= last)
        clamped = [np.clip(byte, 0, last)]
        for axis, (coordinate, size) in enumerate(zip(others, image.size[1:], strict=False), 1):
            inside &= (coordinate >= 0) & (coordinate < size)
            if axis == image.dims:  # a layer has no sign: what is below 0 lies beyond the last one
                coordinate = coordinate & 0xFFFFFFFF
            clamped.append(np.clip(coordinate, 0, size - 1))
        if mode == "trap" and not inside.all():
            block, thread = (int(k) for k in np.argwhere(lanes)[np.flatnonzero(which)[np.flatnonzero(~inside)[0]]])
            at = ", ".join(str(int(coordinate[which][~inside][0])) for coordinate in places)
            size = " × ".join(map(str, image.size[: len(places)]))
            wave.fail(
                OutOfBounds, f"{verb} {width} bytes outside of a surface of {size} elements, at ({at})",
                f"The first coordinate counts bytes: an element here has {image.item}. Compare the coordinates with "
                "the sizes, or say what is to happen outside: cudaBoundaryModeZero, cudaBoundaryModeClamp.",
                block, thread,
            )  # fmt: skip
        x, y, z = (*clamped, *(np.zeros_like(byte) for _ in range(3 - len(clamped))))
        yield image, which, (z * image.size[1] + y) * image.pitch + x, inside if mode != "clamp" else inside | True
