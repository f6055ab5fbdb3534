"""What a texture unit computes: which elements a coordinate names, with what weights, and their mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

WRAP, CLAMP, MIRROR, BORDER = range(4)  # cudaAddressMode…
FRACTION = 8  # bits of a weight


def sample(texture, coordinates, layer):
    image = texture.image
    axes = image.dims
    places = [*coordinates, *(np.zeros_like(coordinates[0]) for _ in range(3 - len(coordinates)))][:axes]
    n = len(coordinates[0])
    fixed = []
    for x, size in zip(places, image.size, strict=False):
        u = np.clip(np.nan_to_num(x.astype(np.float64), nan=0.0), -2.0**40, 2.0**40)
        u = np.where(np.abs(u) < 2.0**-126, 0, u)
        if texture.normalized:
            u = np.floor(u * 2.0**21) / 2.0**21 * size
        fixed.append(u)
    z0 = None
    if image.layered:
        last = image.size[axes] - 1
        z0 = np.clip(layer.astype(np.int64), 0, last) if layer is not None else np.zeros(n, np.int64)
    if not texture.linear:
        index = [np.floor(u).astype(np.int64) for u in fixed]
        values = element(texture, index, z0)
        return bits(values)
    scaled = [np.floor(u * 256 + 0.5).astype(np.int64) - 128 for u in fixed]
    scaled = [np.clip(q, 0, 256*(size-1)) if m == CLAMP or (not texture.normalized and m in (WRAP, MIRROR)) else q for q, size, m in zip(scaled, image.size, texture.modes)]
    low = [s >> 8 for s in scaled]
    weight = [(s & 255) for s in scaled]
    V, W = [], []
    for corner, w in weights(weight):
        index = [i + c for c, i in zip(corner, low)]
        V.append(element(texture, index, z0)); W.append(w)
    return bits(mean(np.array(V), np.array(W)[..., None], image.dtype))


def mean(V, W, dtype):
    V = np.where(np.abs(V) < np.float32(2.0**-126), V * 0, V).astype(np.float32)
    used = W > 0
    exponent = np.where(used, V.view(np.uint32) >> 23 & 255, 0).astype(np.int64).max(0) - 127
    q = np.ldexp(1.0, exponent - 27)
    with np.errstate(all="ignore"):
        total = (np.trunc(np.where(used, V, 0) / q) * W).sum(0) * q / 256
    digits = 11 if dtype == np.float16 else 24
    _, e = np.frexp(total)
    unit = np.ldexp(1.0, e - digits)
    r = (np.sign(total) * np.floor(np.abs(total) / unit + 0.5) * unit).astype(np.float32)
    r = np.where(np.abs(r) < np.float32(2.0**-126), np.float32(0), r)
    return r


def part(total, fraction):
    return (total * fraction + 128) >> 8


def weights(fractions):
    x, *rest = fractions
    if not rest:
        return [((0,), 256 - x), ((1,), x)]
    y, *z = rest
    out = []
    for k, whole in ((0, 256 - z[0]), (1, z[0])) if z else ((None, np.full(len(x), 256)),):
        right = part(whole, x)
        left = whole - right
        top = part(left, 256 - y)
        bottom = part(right, y)
        tail = () if k is None else (k,)
        out += [((0, 0, *tail), top), ((0, 1, *tail), left - top), ((1, 0, *tail), right - bottom), ((1, 1, *tail), bottom)]
    return out


def element(texture, index, layer):
    image = texture.image
    n = len(index[0])
    inside = np.ones(n, bool)
    at = []
    for i, size, mode in zip(index, image.size, texture.modes, strict=False):
        if not texture.normalized and mode in (WRAP, MIRROR):
            mode = CLAMP
        if mode == WRAP:
            i = i % size
        elif mode == MIRROR:
            i = i % (2 * size)
            i = np.where(i >= size, 2 * size - 1 - i, i)
        elif mode == BORDER:
            inside &= (i >= 0) & (i < size)
        at.append(np.clip(i, 0, size - 1))
    x, y, z = (*at, *(np.zeros(n, np.int64) for _ in range(3 - len(at))))
    if layer is not None:
        z = layer
    values = converted(texture, image.at(x, y, z))
    border = np.array(texture.border[: image.channels], values.dtype)
    return np.where(inside[:, None], values, border)


def converted(texture, values):
    if texture.fractions:
        top = np.float32(np.iinfo(values.dtype).max)
        return np.maximum(values.astype(np.float32) / top, np.float32(-1))
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    return values.astype(np.int32) if values.dtype.kind == "i" else values.astype(np.uint32)


def bits(values):
    out = np.zeros((4, len(values)), np.uint32)
    out[: values.shape[1]] = np.ascontiguousarray(values).view(np.uint32).T
    return out


def fetch(texture, coordinates):
    image = texture.image
    i = coordinates[0].astype(np.int64)
    inside = (i >= 0) & (i < image.size[0])
    n = len(i)
    zero = np.zeros(n, np.int64)
    values = converted(texture, image.at(np.where(inside, i, 0), zero, zero))
    return bits(np.where(inside[:, None], values, np.zeros((), values.dtype)))


def gather(texture, coordinates, channel):
    raise NotImplementedError
