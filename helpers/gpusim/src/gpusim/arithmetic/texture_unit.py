"""What a texture unit computes: which elements a coordinate names, with what weights, and their weighted mean.

CUDA's programming guide ('Texture Fetching') gives the formulas and says that weights have 8 bits; what it does not say
was found from an H200's answers, which `tests/gpusim/goldens/textures.py` holds:

- A normalised coordinate counts in steps of 2**-21, rounded down, before it is multiplied by the size.
- A place between elements is rounded to the nearest 256th, and weights of two and three axes are numbers of 256ths,
  too: the depth is divided first, then each share by the width, then by the height, where the outer part is rounded.
- Of floats the mean is made in fixed point: elements are cut off 4 bits below the last bit of the largest that counts,
  nothing else is lost (but, of two slices, what is below the larger one's), and the result is rounded, ties away from
  zero.
- Integers that are read as fractions become 16 bits wide after they were weighed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

WRAP, CLAMP, MIRROR, BORDER = range(4)  # cudaAddressMode…
WEIGHT = 256  # the sum of all weights
STEPS = 2.0**21  # of a normalised coordinate
FAR = 2.0**36  # whatever lies further away lies here
GUARD_BITS = 4
HALF_STEP = -24  # the smallest half is 2**-24
SMALLEST = np.float32(2.0**-126)  # what is smaller than this normal number counts as zero
NAN = {24: np.uint32(0x7FFFFFFF), 11: np.uint32(0x7FFFE000)}  # by the digits of the format


def position(x: np.ndarray, size: int, is_normalized: bool) -> np.ndarray:
    """A float32 coordinate as a number of elements, float64."""
    x = np.clip(np.nan_to_num(x.astype(np.float64), nan=0.0), -FAR, FAR)
    x = np.where(np.abs(x) < SMALLEST, 0.0, x)
    return np.floor(x * STEPS) / STEPS * size if is_normalized else x


def nearest(coordinate: np.ndarray) -> np.ndarray:
    """The element in which a place lies."""
    return np.floor(coordinate).astype(np.int64)


def between(coordinate: np.ndarray, size: int, mode: int) -> tuple[np.ndarray, np.ndarray]:
    """(the element at or before a place, how far it is from there to the next one, in 256ths)."""
    middle = np.floor(coordinate * WEIGHT + 0.5).astype(np.int64) - WEIGHT // 2
    if mode == CLAMP:
        middle = np.clip(middle, 0, WEIGHT * (size - 1))
    return middle // WEIGHT, middle % WEIGHT


def addressed(index: np.ndarray, size: int, mode: int) -> tuple[np.ndarray, np.ndarray]:
    """(the element that is read for an index, whether the index lies inside or stands for one that does)."""
    inside = np.ones(len(index), bool)
    if mode == WRAP:
        index = index % size
    elif mode == MIRROR:
        index = index % (2 * size)
        index = np.where(index >= size, 2 * size - 1 - index, index)
    elif mode == BORDER:
        inside = (index >= 0) & (index < size)
    return np.clip(index, 0, size - 1), inside


def weights(fractions: Sequence[np.ndarray]) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """[(which neighbours by axis, 0 or 1 each, their weight)] of the 2, 4 or 8 elements around a place.

    The fractions are those of `between`, by axis; of three axes the elements of one depth stand together.
    """
    x, *others = fractions
    if not others:
        return [((0,), WEIGHT - x), ((1,), x)]
    y, *depth = others
    slices = [((0,), WEIGHT - depth[0]), ((1,), depth[0])] if depth else [((), np.full(len(x), WEIGHT))]
    weights = []
    for z, whole in slices:
        right = _share(whole, x)
        left = whole - right
        top, bottom = _share(left, WEIGHT - y), _share(right, y)
        weights += [((0, 0, *z), top), ((0, 1, *z), left - top), ((1, 0, *z), right - bottom), ((1, 1, *z), bottom)]
    return weights


def _share(whole: np.ndarray, fraction: np.ndarray) -> np.ndarray:
    return (whole * fraction + WEIGHT // 2) // WEIGHT


def mean_of_floats(values: np.ndarray, weights: np.ndarray, counts: np.ndarray, digits: int) -> np.ndarray:
    """The weighted mean of float32 numbers, as uint32.

    Args: `values` and `weights` by neighbour; `counts`, whether the place is not exactly on another one: then an
    infinity or a NaN counts even if its weight was rounded to 0. `digits`: 24, or 11 for halves.
    """
    values = np.where(np.abs(values) < SMALLEST, np.copysign(np.float32(0), values), values)
    usual = np.where(np.isfinite(values) & (weights > 0), values, np.float32(0))
    # Fixed point: of each slice by its own largest number, of the sum by the largest of both.
    exponents = (usual.view(np.uint32) >> 23 & 255).astype(np.int64).reshape(-1, min(4, len(values)), *values.shape[1:])
    lasts = exponents.max(axis=1) - 127 - (digits - 1) - GUARD_BITS
    last, total = lasts.max(axis=0), 0
    for part, own in zip(np.split(np.arange(len(values)), len(lasts)), lasts, strict=True):
        whole = (np.trunc(np.ldexp(usual[part].astype(np.float64), -own)) * weights[part]).sum(axis=0)
        total = total + np.floor(np.ldexp(whole, own - last))
    _, length = np.frexp(total)
    unit = np.ldexp(1.0, length - digits)
    if digits == 11:
        unit = np.maximum(unit, np.ldexp(1.0, HALF_STEP + 8 - last))
    rounded = np.sign(total) * np.floor(np.abs(total) / unit + 0.5) * unit
    result = np.ldexp(rounded, last - 8)
    result = np.where(np.abs(result) < SMALLEST, 0.0, result).astype(np.float32)
    negative_zero = (np.signbit(values) & (values == 0) | (weights == 0)).all(axis=0)
    result = np.where(negative_zero, np.float32(-0.0), result)
    up, down = ((counts & (values == sign * np.inf)).any(axis=0) for sign in (1, -1))
    result = np.where(up, np.float32(np.inf), np.where(down, np.float32(-np.inf), result))
    return np.where((counts & np.isnan(values)).any(axis=0) | (up & down), NAN[digits], result.view(np.uint32))


def mean_of_fractions(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted mean of integers of 8 or 16 bits as fractions of the largest, float32 as uint32."""
    dtype = values.dtype
    total = (values.astype(np.int64) * weights).sum(axis=0)  # in 256ths
    if dtype == np.uint8:
        total += total + 128 >> 8
    elif dtype == np.int8:
        total += total + (total >> 12 << 4) + 64 >> 7
    else:
        total = total + 128 >> 8
    return fractions(total, 32767 if dtype.kind == "i" else 65535)


def fractions(values: np.ndarray, largest: int) -> np.ndarray:
    """Integers as fractions of the largest, float32 as uint32; below -1 there is nothing."""
    return np.maximum(values / largest, -1.0).astype(np.float32).view(np.uint32)


def border(colors: Sequence[float], dtype: np.dtype, is_fraction: bool) -> np.ndarray:
    """What lies outside of a texture of `dtype`, as its elements are; of plain integers it is the bits of floats."""
    bits = np.array(colors, np.float32).view(np.uint32)
    if dtype == np.float32 or (dtype.kind in "iu" and not is_fraction):
        return bits.view(np.float32 if dtype.kind == "f" else np.int32)
    cut = bits & np.uint32(0xFFFFE000)  # a half has 13 bits less
    halves = np.clip(cut.view(np.float32), -65504, 65504)
    if dtype.kind == "f":
        return np.where(np.isfinite(cut.view(np.float32)), halves, cut.view(np.float32)).astype(dtype)
    largest = np.iinfo(dtype).max
    return np.ceil(np.clip(halves, -1.0 if dtype.kind == "i" else 0.0, 1.0) * largest - 0.5).astype(dtype)
