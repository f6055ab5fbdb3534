"""A launch's arguments in the form in which a kernel finds them: the parameter block of CUDA's ABI."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from helpers.compiler import Parameter
from helpers.simulator.cuda.textures import SurfaceObject, TextureObject
from helpers.simulator.engine.memory import GlobalMemory
from helpers.simulator.errors import ArgumentError

OBJECTS = {"cudaTextureObject_t": "TextureObject", "cudaSurfaceObject_t": "SurfaceObject"}
SCALARS = {
    **dict.fromkeys(OBJECTS, np.uint64),
    "bool": np.bool_, "char": np.int8, "signed char": np.int8, "unsigned char": np.uint8, "short": np.int16,
    "unsigned short": np.uint16, "int": np.int32, "unsigned int": np.uint32, "unsigned": np.uint32, "long": np.int64,
    "unsigned long": np.uint64, "long long": np.int64, "unsigned long long": np.uint64, "size_t": np.uint64,
    "int8_t": np.int8, "uint8_t": np.uint8, "int16_t": np.int16, "uint16_t": np.uint16, "int32_t": np.int32,
    "uint32_t": np.uint32, "int64_t": np.int64, "uint64_t": np.uint64, "ptrdiff_t": np.int64,
    "float": np.float32, "double": np.float64, "__half": np.float16, "half": np.float16,
}  # fmt: skip


def pack_arguments(kernel: str, parameters: Sequence[Parameter], args: Sequence, memory: GlobalMemory) -> bytes:
    """The launch's parameter block; ArgumentError in a sentence if an argument does not fit its parameter."""
    if not isinstance(args, Sequence) or isinstance(args, str):
        raise ArgumentError(
            f"{kernel} takes its arguments as one tuple: kernel(grid, block, (…,)); found {type(args).__name__}."
        )
    if len(args) != len(parameters):
        wanted = ", ".join(f"{p.type} {p.name}" for p in parameters)
        given = "1 was given" if len(args) == 1 else f"{len(args)} were given"
        raise ArgumentError(f"{kernel} takes {len(parameters)} arguments ({wanted}), but {given}.")
    packed = bytearray(max((p.offset + p.size for p in parameters), default=0))
    for position, (parameter, argument) in enumerate(zip(parameters, args, strict=True), 1):
        found = _plain_bytes(parameter, argument, memory)
        if found is None:
            place = f"Argument {position} of {kernel} ({parameter.type} {parameter.name})"
            found = _argument_bytes(place, parameter, argument, memory)
        packed[parameter.offset : parameter.offset + parameter.size] = found
    return bytes(packed)


@cache
def _type_of(type_: str) -> np.dtype | None:
    """What a parameter of this type holds, or points to; None if it is a struct."""
    words = type_.replace("const", "").replace("volatile", "").replace("__restrict__", "")
    found = np.uint64 if words.count("*") > 1 else SCALARS.get(words.replace("*", "").strip())
    return None if found is None else np.dtype(found)


def _plain_bytes(parameter: Parameter, argument, memory: GlobalMemory) -> bytes | None:
    """Of an argument of just the type of its parameter, as nearly all are; None for the others."""
    expected = _type_of(parameter.type)
    if expected is None:
        return None
    if parameter.is_pointer:
        fits = isinstance(argument, np.ndarray) and argument.dtype == expected and argument.flags.c_contiguous
        return memory.add(argument, parameter.name).to_bytes(8, "little") if fits else None
    fits = isinstance(argument, np.generic) and argument.dtype == expected
    return argument.tobytes() if fits else None


def _argument_bytes(place: str, parameter: Parameter, argument, memory: GlobalMemory) -> bytes:
    if isinstance(argument, np.ndarray) and (argument.ndim > 0 or parameter.is_pointer):
        if not parameter.is_pointer and parameter.type in SCALARS:
            raise ArgumentError(f"{place} is one number, but an array of shape {argument.shape} was given.")
        if not (argument.flags.c_contiguous or argument.flags.f_contiguous):
            raise ArgumentError(
                f"{place} is an array whose elements do not lie side by side (shape {argument.shape}, strides "
                f"{argument.strides} bytes); a kernel gets only a pointer. Pass numpy.ascontiguousarray(…)."
            )
        wanted = _type_of(parameter.type)
        if wanted is not None:
            given = argument.dtype
            if not given.isnative:
                raise ArgumentError(
                    f"{place} is an array of {given.name} whose bytes are in reverse order ({given.str}), as a "
                    f"kernel does not read them. Convert it: x.astype(numpy.{wanted.name})."
                )
            # Integers of one size may stand for each other, and unsigned ones for the bits of floats.
            mixed = (given.kind in "fc") != (wanted.kind in "fc") and given.kind != "u"
            if given.itemsize != wanted.itemsize or mixed:
                several = ""
                if given.kind in "iu" and wanted.kind in "iu" and given.itemsize < wanted.itemsize:
                    count = wanted.itemsize // given.itemsize
                    several = f"; where it reads {count} of them as one, x.view(numpy.{wanted.name})"
                raise ArgumentError(
                    f"{place} is an array of {given.name}, but the kernel reads it as {wanted.name}. "
                    f"Convert it: x.astype(numpy.{wanted.name}){several}."
                )
        return int(memory.add(argument, parameter.name)).to_bytes(8, "little")
    if parameter.is_pointer:
        if argument is None or (isinstance(argument, int | np.integer) and int(argument) == 0):
            return bytes(8)
        if isinstance(argument, int | np.integer) and memory.is_inside(int(argument)):
            return int(argument).to_bytes(8, "little")
        raise ArgumentError(f"{place} is a pointer: pass an array, not {_describe(argument)}.")
    if isinstance(argument, TextureObject | SurfaceObject):
        return _handle(place, parameter, argument)
    expected = SCALARS.get(parameter.type.replace("const", "").strip())
    value = argument[()] if isinstance(argument, np.ndarray) else argument
    if expected is None:
        if isinstance(value, np.generic) and value.dtype.itemsize == parameter.size:
            return value.tobytes()
        raise ArgumentError(
            f"{place} needs a NumPy scalar of {parameter.size} bytes (for a struct, of a structured dtype); "
            f"found {_describe(argument)}."
        )
    dtype = np.dtype(expected)
    if dtype.kind == "f":
        if isinstance(value, np.generic) and value.dtype == dtype:
            return value.tobytes()
        if isinstance(value, float) and not isinstance(value, np.generic) and dtype == np.float64:
            return np.float64(value).tobytes()
        raise ArgumentError(
            f"{place} got {_describe(argument)}, whose bytes are not those of a {parameter.type}. "
            f"Pass numpy.{dtype.name}({value!r})."
            if not isinstance(value, np.generic)
            else f"{place} got {_describe(argument)}, whose bytes are not those of a {parameter.type}. "
            f"Pass numpy.{dtype.name}({value.item()!r})."
        )
    if not isinstance(value, int | np.integer | np.bool_):
        raise ArgumentError(f"{place} got {_describe(argument)}; pass numpy.{dtype.name}(…).")
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max:
        raise ArgumentError(f"{place} got {int(value)}, which does not fit into {dtype.name}.")
    return dtype.type(value).tobytes()


def _handle(place: str, parameter: Parameter, argument: TextureObject | SurfaceObject) -> bytes:
    """The number that a kernel knows a texture or a surface by."""
    kind = type(argument).__name__
    wanted = OBJECTS.get(parameter.type.replace("const", "").strip())
    if parameter.size != 8 or (wanted is not None and wanted != kind):
        raise ArgumentError(f"{place} got a {kind}; a kernel takes it as a cuda{kind}_t.")
    return int(argument.ptr).to_bytes(8, "little")


def _describe(argument) -> str:
    """An argument in words: its type and, for a number, its value."""
    if isinstance(argument, np.generic):
        return f"numpy.{argument.dtype.name}({argument.item()!r})"
    if isinstance(argument, int | float):
        return f"the Python {type(argument).__name__} {argument!r} (CuPy passes it as 8 bytes)"
    return f"a {type(argument).__name__}"
