"""What an NVIDIA GPU answers when textures and surfaces are read and written, bit for bit.

    python -m tests.gpusim.goldens.textures record FOLDER      on a machine with a GPU and CuPy: the golden

The golden holds four bytes of SHA-256 for each 64 words of each case's answers. The same kernels run here, or the
simulator's texture unit is asked without a kernel.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import functools
import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parent / "textures_sm_90.json"
WORDS, DIGEST = 64, 4
MODES = {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
SHAPES = {1: (7,), 2: (5, 7), 3: (3, 5, 7)}
POWERS = {1: (16,), 2: (8, 16), 3: (4, 8, 16)}
LARGE = {1: (1024,), 2: (32, 64), 3: (8, 16, 32)}
# By the name of an element in CUDA C++: (the type of a channel, how many channels).
ELEMENTS = {
    name if count == 1 else f"{short}{count}": (dtype, count)
    for name, short, dtype in (
        ("float", "float", "f4"), ("int", "int", "i4"), ("unsigned", "uint", "u4"), ("char", "char", "i1"),
        ("uchar", "uchar", "u1"), ("short", "short", "i2"), ("ushort", "ushort", "u2"),
    )
    for count in (1, 2, 4)
}  # fmt: skip
SPELLED = {"uchar": "unsigned char", "ushort": "unsigned short", "unsigned": "unsigned int"}
LAYERED, SURFACE, GATHER = 1, 2, 8
# By the name of a call: (C++ with coordinates x, y, z, their types).
READS = {
    "fetch": ("tex1Dfetch<{T}>(t, x[i])", "i"),
    "tex1": ("tex1D<{T}>(t, x[i])", "f"),
    "tex2": ("tex2D<{T}>(t, x[i], y[i])", "ff"),
    "tex3": ("tex3D<{T}>(t, x[i], y[i], z[i])", "fff"),
    "lay2": ("tex2DLayered<{T}>(t, x[i], y[i], z[i])", "ffi"),
    "lod2": ("tex2DLod<{T}>(t, x[i], y[i], z[i])", "fff"),
    "grad2": ("tex2DGrad<{T}>(t, x[i], y[i], make_float2(z[i], 0.5f), make_float2(0.25f, z[i]))", "fff"),
    **{f"gather{k}": (f"tex2Dgather<{{T}}>(t, x[i], y[i], {k})", "ff") for k in range(4)},
}
SURFACES = {1: ("1D", "i"), 2: ("2D", "ii"), 3: ("3D", "iii"), 12: ("2DLayered", "iii")}
SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 2**24, -(2**24), 2**31, -(2**31), 2**32, 1e-40, -1e-40, 0.5, -0.5,
     1.0, -1.0, 1.5, 2**23 + 1, -(2**23) - 1, 65535.5, 65536.5, 3e9, 2**20 + 0.5, 2**17 + 0.25, 2**16 + 0.125],
    np.float32,
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One texture, and one read of it by many lanes.

    `call` of READS returns `element`; the texture's channels are `dtype`. `values` are what it holds: "random", "near"
    (between 1 and 2), "one" (a single 1), "wild" (all kinds of floats).
    """

    name: str
    call: str
    element: str
    dtype: str
    values: str
    shape: tuple[int, ...]
    modes: tuple[str, ...]
    lanes: int = 1024
    wide: float = 3.0
    layers: int = 0
    options: dict[str, Any] = field(default_factory=dict)


def cases() -> Iterator[Case]:
    """All reads of textures in arrays."""
    for dims in (1, 2, 3):
        for mark, shape in (("", SHAPES[dims]), ("p", POWERS[dims])):
            for mode in MODES:
                for linear in (0, 1):
                    for normalized in (0, 1):
                        yield Case(f"modes/{dims}{mark}/{mode}/{linear}/{normalized}", f"tex{dims}", "float", "f4",
                                   "random", shape, (mode,) * dims,
                                   options={"linear": linear, "normalized": normalized})  # fmt: skip
        for values in ("one", "near", "random", "wild"):
            for element, lanes in (("float", 4096), ("float4", 1024)):
                if (values, element) != ("one", "float4"):
                    yield Case(f"filter/{dims}/{values}/{element}", f"tex{dims}", element, "f4", values, LARGE[dims],
                               ("clamp",) * dims, lanes, 0.5, options={"linear": 1})  # fmt: skip
        for element in ("float", "float2", "float4"):
            for linear in (0, 1):
                yield Case(f"half/{dims}/{element}/{linear}", f"tex{dims}", element, "f2", "random", LARGE[dims],
                           ("clamp",) * dims, 2048, 0.5, options={"linear": linear})  # fmt: skip
                for dtype in ("u1", "i1", "u2", "i2"):
                    yield Case(f"norm/{dims}/{element}/{dtype}/{linear}", f"tex{dims}", element, dtype, "random",
                               LARGE[dims], ("clamp",) * dims, 2048, 0.5,
                               options={"linear": linear, "read": 1})  # fmt: skip
    both = {"linear": 1, "normalized": 1}
    yield Case("filter/1/one/norm", "tex1", "float", "f4", "random", (1000,), ("clamp",), 4096, 0.5, options=both)
    yield Case("filter/2/one/norm", "tex2", "float", "f4", "random", (300, 100), ("wrap",) * 2, 4096, 0.5, options=both)
    yield Case("mixed/2", "tex2", "float", "f4", "random", (5, 7), ("clamp", "border"), options={"linear": 1})
    yield Case("mixed/2n", "tex2", "float", "f4", "random", (5, 7), ("wrap", "mirror"), options=both)
    yield Case("mixed/3n", "tex3", "float", "f4", "random", (3, 5, 7), ("mirror", "border", "wrap"), options=both)
    for border in ((0.25, 0.5, 0.75, 1.0), (-2.5, 300.0, np.inf, 1e-3)):
        for element, dtype, read in (
            *(("float4", dtype, dtype[0] != "f") for dtype in ("f4", "u1", "i1", "u2", "i2", "f2")),
            ("float", "f4", 0), ("float2", "f4", 0), ("float", "u1", 1),
            *((name, ELEMENTS[name][0], 0) for name in ("int4", "uchar4", "char4", "uint4", "short4", "ushort4")),
        ):  # fmt: skip
            for linear in (0, 1) if element.startswith("float") else (0,):
                name = f"border/{border[0]}/{element}/{dtype}/{int(read)}/{linear}"
                yield Case(name, "tex2", element, dtype, "random", (5, 7), ("border",) * 2, 256,
                           options={"border": border, "read": int(read), "linear": linear})  # fmt: skip
    for element, (dtype, _) in ELEMENTS.items():
        yield Case(f"types/2/{element}", "tex2", element, dtype, "random", (16, 16), ("clamp",) * 2, 256, 0.6)
        yield Case(f"types/1/{element}", "tex1", element, dtype, "random", (64,), ("border",), 128, 0.6)
        yield Case(f"types/3/{element}", "tex3", element, dtype, "random", (3, 5, 7), ("clamp",) * 3, 128, 0.6)
    for mode in MODES:
        for linear in (0, 1):
            for normalized in (0, 1):
                yield Case(f"layered/{mode}/{linear}/{normalized}", "lay2", "float", "f4", "random", (5, 7),
                           (mode,) * 2, 512, layers=3,
                           options={"flags": LAYERED, "linear": linear, "normalized": normalized})  # fmt: skip
    for element, dtype, linear in (("float4", "f4", 1), ("uchar4", "u1", 0)):
        yield Case(f"layered/{element}", "lay2", element, dtype, "random", (5, 7), ("clamp",) * 2, 256, layers=3,
                   options={"flags": LAYERED, "linear": linear})  # fmt: skip
    yield Case("lod/float", "lod2", "float", "f4", "random", (5, 7), ("clamp",) * 2, 512, options={"linear": 1})
    yield Case("grad/float", "grad2", "float", "f4", "random", (5, 7), ("clamp",) * 2, 512, options={"linear": 1})


# ---- what they hold and where they are read: made by a generator that the name starts


def generator(name: str) -> np.random.Generator:
    """Random numbers for a case."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def coordinates(r: np.random.Generator, lanes: int, size: int, normalized: bool, wide: float) -> np.ndarray:
    """Places anywhere, beside the edges of elements, in steps of 512ths, and SPECIAL ones; float32."""
    whole = 1.0 if normalized else float(size)
    x = (r.random(lanes) * 2 * wide * whole - wide * whole + whole / 2).astype("f4")
    part = lanes // 4
    edge = (r.integers(-2 * size, 3 * size + 1, part) / (2.0 * size if normalized else 2.0)).astype("f4")
    x[:part] = (edge.view("i4") + r.integers(-2, 3, part)).astype("i4").view("f4") * (edge != 0)
    steps = r.integers(-512 * size, 512 * 2 * size, part) + r.integers(-1, 2, part) * 2.0**-6
    x[part : 2 * part] = (steps / 512.0 / (size if normalized else 1)).astype("f4")
    x[lanes - len(SPECIAL) :] = r.permutation(SPECIAL)
    return x


def wild(r: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Floats of all kinds."""
    bits = r.integers(0, 2**32, shape, dtype="u4").view("f4").copy()
    kind = r.random(shape)
    near = (r.standard_normal(shape) * 2.0 ** r.integers(-12, 12, shape)).astype("f4")
    values = np.where(kind < 0.5, near, bits)
    pool = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -3e-39, 3.4e38, -3.4e38, 1.0], "f4")
    return np.where(kind > 0.9, pool[r.integers(0, len(pool), shape)], values).astype("f4")


def held(r: np.random.Generator, values: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """What a texture holds."""
    type_ = np.dtype(dtype)
    if values == "wild":
        return wild(r, shape)
    if values == "one":
        answer = np.zeros(shape, type_)
        answer[tuple(size // 2 for size in shape)] = 1
        return answer
    if values == "near":
        return (r.random(shape) + 1).astype(type_)
    if type_.kind == "f":
        return r.standard_normal(shape).astype(type_)
    return r.integers(np.iinfo(type_).min, np.iinfo(type_).max + 1, shape, dtype=type_)


def inputs(case: Case) -> tuple[np.ndarray, list[np.ndarray]]:
    """(what the texture of a case holds, its coordinates)."""
    r = generator(case.name)
    shape = (*case.shape[:-1], case.shape[-1] * ELEMENTS[case.element][1])
    values = held(r, case.values, (case.layers, *shape) if case.layers else shape, case.dtype)
    normalized = bool(case.options.get("normalized", False))
    places = [coordinates(r, case.lanes, size, normalized, case.wide) for size in reversed(case.shape)]
    if case.layers:
        places.append(r.integers(-3, case.layers + 4, case.lanes).astype("i4"))
    if case.call in ("lod2", "grad2"):
        places.append((r.standard_normal(case.lanes) * 3).astype("f4"))
    if case.values == "one":  # around that element
        places = [(size // 2 + 0.5 + (r.random(case.lanes) * 2.4 - 1.2)).astype("f4") for size in reversed(case.shape)]
        if len(places) == 1:
            half = case.lanes // 2
            places[0][:half] = (case.shape[0] // 2 - 0.5 + np.arange(half) * 2 / half).astype("f4")
    return values, places


# ---- textures and kernels, of CuPy or of the simulator


def channels(gpu: ModuleType, dtype: str, count: int) -> Any:
    """The description of an element."""
    type_, runtime = np.dtype(dtype), gpu.cuda.runtime
    kinds = {"f": runtime.cudaChannelFormatKindFloat, "i": runtime.cudaChannelFormatKindSigned,
             "u": runtime.cudaChannelFormatKindUnsigned}  # fmt: skip
    return gpu.cuda.texture.ChannelFormatDescriptor(
        *[8 * type_.itemsize] * count, *[0] * (4 - count), kinds[type_.kind]
    )


def texture_of(
    gpu: ModuleType, values: np.ndarray, count: int, modes: tuple[str, ...], *, linear: int = 0, normalized: int = 0,
    read: int = 0, border: tuple[float, ...] | None = None, flags: int = 0, pitch_width: int = 0, linear_bytes: int = 0,
) -> Any:  # fmt: skip
    """A texture object of an array, of rows of `pitch_width` elements, or of `linear_bytes` of linear memory."""
    texture, runtime = gpu.cuda.texture, gpu.cuda.runtime
    element = channels(gpu, values.dtype.str[1:], count)
    if pitch_width:
        resource = texture.ResourceDescriptor(
            runtime.cudaResourceTypePitch2D, arr=gpu.asarray(values), chDesc=element, width=pitch_width,
            height=values.shape[0], pitchInBytes=values.shape[1] * values.itemsize,
        )  # fmt: skip
    elif linear_bytes:
        resource = texture.ResourceDescriptor(
            runtime.cudaResourceTypeLinear, arr=gpu.asarray(values), chDesc=element, sizeInBytes=linear_bytes
        )
    else:
        resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array_of(gpu, values, count, flags))
    descriptor = texture.TextureDescriptor(
        tuple(MODES[mode] for mode in modes), linear, read, normalizedCoords=normalized, borderColors=border
    )
    return texture.TextureObject(resource, descriptor)


def array_of(gpu: ModuleType, values: np.ndarray, count: int, flags: int) -> Any:
    """A CUDA array that holds values."""
    width, height, depth = (*values.shape[::-1], 0, 0)[:3]
    made = gpu.cuda.texture.CUDAarray(
        channels(gpu, values.dtype.str[1:], count), width // count, height, depth, flags
    )  # fmt: skip
    made.copy_from(np.ascontiguousarray(values))
    return made


def read_source(call: str, element: str) -> str:
    """A kernel `read` that answers one call for each lane."""
    expression, kinds = READS[call]
    return _kernel(element, kinds, "cudaTextureObject_t t", "{T} *out", "out[i] = " + expression)


def surface_source(dims: int, mode: str, element: str, writes: bool) -> str:
    """A kernel that reads or writes a surface."""
    name, kinds = SURFACES[dims]
    where = ", ".join(f"{axis}[i]" for axis in "xyz"[: len(kinds)])
    bounds = f"cudaBoundaryMode{mode.capitalize()}"
    if writes:
        return _kernel(element, kinds, "cudaSurfaceObject_t t", "const {T} *out",
                       f"surf{name}write(out[i], t, {where}, {bounds})")  # fmt: skip
    return _kernel(
        element, kinds, "cudaSurfaceObject_t t", "{T} *out", f"out[i] = surf{name}read<{{T}}>(t, {where}, {bounds})"
    )


def _kernel(element: str, kinds: str, handle: str, out: str, statement: str) -> str:
    types = {"f": "float", "i": "int"}
    axes = ", ".join(f"const {types[kind]} *{axis}" for axis, kind in zip("xyz", kinds, strict=False))
    text = f'extern "C" __global__ void read({handle}, {axes}, {out}, int n) {{\n' \
           f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) {statement};\n}}\n"  # fmt: skip
    return text.replace("{T}", SPELLED.get(element, element))


@functools.cache
def _compiled(module: type, source: str) -> Any:
    return module(code=source, options=("-std=c++17",)).get_function("read")


def launched(gpu: ModuleType, source: str, handle: Any, places: list[np.ndarray], out: np.ndarray) -> np.ndarray:
    """What `out` holds after a kernel of one lane for each place."""
    lanes, device = len(places[0]), gpu.asarray(out)
    kernel = _compiled(gpu.RawModule, source)
    given = [gpu.asarray(coordinate) for coordinate in places]
    kernel((-(-lanes // 128),), (128,), (handle, *given, device, np.int32(lanes)))
    return gpu.asnumpy(device)


def texture_answers(gpu: ModuleType, case: Case) -> np.ndarray:
    """A case's answers, as unsigned numbers."""
    values, places = inputs(case)
    dtype, count = ELEMENTS[case.element]
    handle = texture_of(gpu, values, count, case.modes, **case.options)
    out = np.full(case.lanes * count * np.dtype(dtype).itemsize, 0x5B, np.uint8).view(dtype)
    answer = launched(gpu, read_source(case.call, case.element), handle, places, out)
    return answer.view(f"u{answer.itemsize}")


@dataclass(frozen=True)
class Read:
    """Another read: what the texture holds and how it is made, and where it is read."""

    name: str
    call: str
    element: str
    values: np.ndarray
    places: list[np.ndarray]
    modes: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    channels: int = 0  # of the texture, if not those of the element


def others() -> Iterator[Read]:
    """Every value of small types, linear memory, rows, four elements at once, and elements of another kind."""
    for dtype in ("u1", "i1", "u2", "i2", "f2"):
        bits = 8 * np.dtype(dtype).itemsize
        values = np.arange(2**bits).astype(f"u{bits // 8}").view(dtype).reshape(-1, 256)
        row, column = np.divmod(np.arange(2**bits), 256)
        yield Read(f"every/{dtype}", "tex2", "float", values, [column.astype("f4") + 0.5, row.astype("f4") + 0.5],
                   ("clamp",) * 2, {"read": int(dtype != "f2")})  # fmt: skip
    for dtype, top in (("u1", 255), ("i1", 127), ("u2", 65535), ("i2", 32767)):
        for dims in (1, 2):
            r = generator(f"bytes/{dtype}/{dims}")
            values = np.where(r.random((32,) if dims == 1 else (16, 16)) < 0.5, 0, top).astype(dtype)
            places = [(r.random(2048) * values.shape[-1]).astype("f4") for _ in range(dims)]
            yield Read(f"bytes/{dtype}/{dims}", f"tex{dims}", "float", values, places, ("clamp",) * dims,
                       {"linear": 1, "read": 1})  # fmt: skip
    r = generator("half/wild")
    values = r.integers(0, 65536, (64,)).astype("u2").view("f2")
    yield Read("half/wild", "tex1", "float", values, [(r.random(2048) * 64).astype("f4")], ("clamp",), {"linear": 1})
    for element, (dtype, count) in ELEMENTS.items():
        values = held(generator("fetch" + element), "random", (64 * count,), dtype)
        index = np.concatenate([np.arange(-8, 72), [2**31 - 1, -(2**31), 2**28, 1000]]).astype("i4")
        yield Read(f"fetch/{element}", "fetch", element, values, [index], ("clamp",),
                   {"linear_bytes": 48 * values.itemsize * count})  # fmt: skip
    for dtype in ("u1", "i1", "u2", "i2", "f2"):
        for element in ("float", "float4"):
            count = ELEMENTS[element][1]
            values = held(generator("fetchn" + element + dtype), "random", (64 * count,), dtype)
            index = np.arange(-8, 72).astype("i4")
            yield Read(f"fetchn/{element}/{dtype}", "fetch", element, values, [index], ("clamp",),
                       {"linear_bytes": values.nbytes, "read": int(dtype != "f2")})  # fmt: skip
    for element, dtype, read in (("float", "f4", 0), ("float4", "f4", 0), ("uchar4", "u1", 0), ("float", "u1", 1),
                                 ("short", "i2", 0)):  # fmt: skip
        for mode in MODES:
            for normalized in (0, 1):
                for linear in (0, 1) if element.startswith("float") else (0,):
                    name = f"pitch/{element}/{dtype}/{mode}/{normalized}/{linear}"
                    r = generator(name)
                    values = held(r, "random", (6, 64 * max(1, 4 // np.dtype(dtype).itemsize)), dtype)
                    places = [coordinates(r, 256, size, bool(normalized), 3.0) for size in (11, 6)]
                    options = {"linear": linear, "normalized": normalized, "read": read, "pitch_width": 11}
                    yield Read(name, "tex2", element, values, places, (mode,) * 2, options)
    for k in range(4):
        for element, dtype, count in (("float4", "f4", 1), ("float4", "f4", 4), ("uchar4", "u1", 4), ("int4", "i4", 2),
                                      ("uint4", "u4", 1)):  # fmt: skip
            for mode in ("clamp", "wrap", "border", "mirror"):
                for normalized in (0, 1):
                    name = f"gather/{k}/{element}/{count}/{mode}/{normalized}"
                    r = generator(name)
                    values = held(r, "random", (5, 7 * count), dtype)
                    places = [coordinates(r, 256, size, bool(normalized), 3.0) for size in (7, 5)]
                    options = {"normalized": normalized, "flags": GATHER, "linear": k & 1 and int(dtype == "f4")}
                    yield Read(name, f"gather{k}", element, values, places, (mode,) * 2, options, count)
    for name, element, dtype in (
        ("float_of_int", "float", "i4"), ("int_of_float", "int", "f4"), ("float4_of_float", "float4", "f4"),
        ("uchar_of_int", "uchar", "i4"), ("int_of_uchar", "int", "u1"), ("float_of_u1", "float", "u1"),
        ("float_of_i2", "float", "i2"), ("int_of_i1", "int", "i1"), ("unsigned_of_i1", "unsigned", "i1"),
        ("char_of_u1", "char", "u1"), ("uint4_of_u2", "uint4", "u2"), ("int4_of_half", "int4", "f2"),
    ):  # fmt: skip
        r = generator(f"odd/{name}")
        values = held(r, "random", (16, 16), dtype)
        places = [(r.random(128) * 16).astype("f4") for _ in range(2)]
        yield Read(f"odd/{name}", "tex2", element, values, places, ("clamp",) * 2, channels=1)
    for name, call, shape, count in (
        ("1as2", "tex2", (64,), 2), ("2as1", "tex1", (8, 8), 1), ("2as3", "tex3", (8, 8), 3),
        ("3as2", "tex2", (4, 4, 4), 2),
    ):  # fmt: skip
        r = generator(f"odd/{name}")
        values = held(r, "random", shape, "f4")
        places = [coordinates(r, 128, 8, False, 1.0) for _ in range(count)]
        yield Read(f"odd/{name}", call, "float", values, places, ("clamp",) * 3)
    r = generator("odd")
    values, places = held(r, "random", (64,), "f4"), coordinates(r, 256, 64, False, 1.0)
    index = np.arange(-8, 80).astype("i4")
    yield Read("odd/linear_tex1", "tex1", "float", values, [places], ("clamp",), {"linear_bytes": values.nbytes})
    yield Read("odd/array_fetch", "fetch", "float", values, [index], ("clamp",))


def handle_of(gpu: ModuleType, read: Read) -> Any:
    """Its texture object."""
    count = read.channels or ELEMENTS[read.element][1]
    return texture_of(gpu, read.values, count, read.modes, **read.options)


def other_answers(gpu: ModuleType, read: Read) -> np.ndarray:
    """Its answers, as unsigned numbers."""
    dtype, count = ELEMENTS[read.element]
    out = np.full(len(read.places[0]) * count * np.dtype(dtype).itemsize, 0x5B, np.uint8).view(dtype)
    answer = launched(gpu, read_source(read.call, read.element), handle_of(gpu, read), read.places, out)
    return answer.view(f"u{answer.itemsize}")


SURFACE_ELEMENTS = ("float", "float4", "int", "uchar", "uchar4", "ushort2", "short4", "char", "float2", "unsigned")
SURFACE_SHAPES = {1: (7,), 2: (5, 7), 3: (3, 5, 7), 12: (3, 5, 7)}


def surface_names() -> Iterator[tuple[int, str, str]]:
    """(number of axes, 12 for layers of two; what is done outside; element)."""
    for element in SURFACE_ELEMENTS:
        for dims in SURFACES:
            for mode in ("trap", "clamp", "zero"):
                yield dims, mode, element


def surface_answers(gpu: ModuleType, dims: int, mode: str, element: str) -> Iterator[tuple[str, np.ndarray]]:
    """(name, answers) of reading a surface, inside and, but for `trap`, outside, and of writing to it."""
    name, shape = f"surface/{dims}/{mode}/{element}", SURFACE_SHAPES[dims]
    dtype, count = ELEMENTS[element]
    r, size = generator(name), np.dtype(dtype).itemsize * count
    values = held(r, "random", (*shape[:-1], shape[-1] * count), dtype)
    array = array_of(gpu, values, count, SURFACE | (LAYERED if dims == 12 else 0))
    texture = gpu.cuda.texture
    handle = texture.SurfaceObject(texture.ResourceDescriptor(gpu.cuda.runtime.cudaResourceTypeArray, cuArr=array))
    first, beyond = (0, 0) if mode == "trap" else (-4, 4)
    places = [r.integers(first, axis + beyond, 256) for axis in reversed(shape)]
    places[0] = places[0] * size
    out = np.full(256 * size, 0x5B, np.uint8).view(dtype)
    source = surface_source(dims, mode, element, False)
    answer = launched(gpu, source, handle, [coordinate.astype("i4") for coordinate in places], out)
    yield f"{name}/read", answer.view(f"u{answer.itemsize}")
    if mode != "trap":
        r.integers(0, size, 256)  # the recording drew coordinates here that are no multiples
    start, stop = (first, beyond) if mode == "zero" else (0, 0)
    grid = np.stack(np.meshgrid(*[np.arange(start, axis + stop) for axis in reversed(shape)], indexing="ij"))
    grid = r.permutation(grid.reshape(len(shape), -1).T).T
    grid = grid[:, : max(8, grid.shape[1] * 2 // 3)]
    if mode == "clamp":  # one write alone, outside: of several at one place any may be the last
        grid = np.array([[100], [-100], [100]])[: len(shape)]
    written = held(r, "random", (grid.shape[1] * count,), dtype)
    places = [coordinate.astype("i4") for coordinate in (grid[0] * size, *grid[1:])]
    launched(gpu, surface_source(dims, mode, element, True), handle, places, written)
    back = np.zeros(values.shape, dtype)
    array.copy_to(back)
    yield f"{name}/write", back.view(f"u{back.itemsize}").ravel()


# ---- the golden


def digests(answers: np.ndarray) -> list[bytes]:
    """One for each 64 words."""
    starts = range(0, len(answers), WORDS)
    return [hashlib.sha256(answers[start : start + WORDS].tobytes()).digest()[:DIGEST] for start in starts]


def golden() -> dict[str, list[bytes]]:
    """By the name of a case what the GPU answered."""
    rows = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    data = {name: base64.b64decode(row) for name, row in rows.items()}
    return {name: [row[at : at + DIGEST] for at in range(0, len(row), DIGEST)] for name, row in data.items()}


def answers(gpu: ModuleType) -> Iterator[tuple[str, np.ndarray]]:
    """(name, answers) of all cases."""
    for case in cases():
        yield case.name, texture_answers(gpu, case)
    for read in others():
        yield read.name, other_answers(gpu, read)
    for dims, mode, element in surface_names():
        yield from surface_answers(gpu, dims, mode, element)


def write(answers: Iterator[tuple[str, np.ndarray]], provenance: dict[str, str], path: Path) -> None:
    """The golden of some answers."""
    rows = {name: base64.b64encode(b"".join(digests(answer))).decode() for name, answer in answers}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    path.write_text(
        f'{{"provenance": {json.dumps(provenance, indent=1)},\n"cases": {{\n{lines}\n}}}}\n', encoding="utf-8"
    )


def record(folder: Path) -> None:
    """Ask this machine's GPU, and write the golden into the folder."""
    import cupy

    folder.mkdir(parents=True, exist_ok=True)
    major, minor = (cupy.cuda.Device().compute_capability[:-1], cupy.cuda.Device().compute_capability[-1])
    provenance = {
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "arch": f"sm_{major}{minor}",
        "cupy": cupy.__version__,
        "cuda": str(cupy.cuda.runtime.runtimeGetVersion()),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": "python -m tests.gpusim.goldens.textures record",
    }
    write(answers(cupy), provenance, folder / GOLDEN.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["record"])
    parser.add_argument("folder", type=Path)
    record(parser.parse_args().folder)
