"""A launch's arguments in the form in which a kernel finds them: the parameter block of CUDA's ABI."""

import warnings
from collections.abc import Sequence

import numpy as np

from gpusim.compiler import CompiledKernel, Parameter, ParameterType
from gpusim.compiler.parameter_types import NOT_OF_NUMPY
from gpusim.cupy.textures import SurfaceObject, TextureObject
from gpusim.engine.memory import GlobalMemory
from gpusim.errors import ArgumentError

OBJECTS = {"cudaTextureObject_t": "TextureObject", "cudaSurfaceObject_t": "SurfaceObject"}


def pack_arguments(kernel: CompiledKernel, args: Sequence, memory: GlobalMemory) -> bytes:
    """The launch's parameter block; ArgumentError in a sentence if an argument does not fit its parameter."""
    name, parameters = kernel.entry, kernel.parameters
    if not isinstance(args, Sequence) or isinstance(args, str):
        raise ArgumentError(
            f"{name} takes its arguments as one tuple: kernel(grid, block, (…,)); found {type(args).__name__}."
        )
    if len(args) != len(parameters):
        wanted = ", ".join(f"{p.type} {p.name}" for p in parameters)
        given = "1 was given" if len(args) == 1 else f"{len(args)} were given"
        raise ArgumentError(f"{name} takes {len(parameters)} arguments ({wanted}), but {given}.")
    packed = bytearray(max((p.offset + p.size for p in parameters), default=0))
    for position, (parameter, argument) in enumerate(zip(parameters, args, strict=True), 1):
        type_ = _type_for(kernel, parameter, argument)
        bytes_ = _plain_bytes(parameter, type_, argument, memory)
        if bytes_ is None:
            subject = f"Argument {position} of {name} ({parameter.type} {parameter.name})"
            bytes_ = _argument_bytes(subject, parameter, type_, argument, memory)
        packed[parameter.offset : parameter.offset + parameter.size] = bytes_
    return bytes(packed)


def _type_for(kernel: CompiledKernel, parameter: Parameter, argument) -> ParameterType:
    """The parameter's type. For structs the compiler is not asked: nothing else has such an argument."""
    is_struct = isinstance(argument, np.ndarray | np.generic) and argument.dtype.names is not None
    is_made_by_a_macro = not parameter.type  # the workloads of helpers.measure are, and hand over words of any size
    found_type = None if is_struct or is_made_by_a_macro else kernel.parameter_type(parameter.index)
    return found_type or ParameterType(int(parameter.is_pointer), "", 1, 0 if parameter.is_pointer else parameter.size)


def _plain_bytes(parameter: Parameter, type_: ParameterType, argument, memory: GlobalMemory) -> bytes | None:
    """Of an argument of just the type of its parameter, as nearly all are; None for the others."""
    expected = type_.dtype
    if expected is None or (type_.pointers < 2 and type_.count > 1):
        return None
    if type_.pointers:
        fits = isinstance(argument, np.ndarray) and argument.dtype == expected and argument.flags.c_contiguous
        return memory.add(argument, parameter.name).to_bytes(8, "little") if fits else None
    fits = isinstance(argument, np.generic) and argument.dtype == expected
    return argument.tobytes() if fits else None


def _fits(given: np.dtype, type_: ParameterType) -> bool:
    """Whether a kernel reads elements of this type as what they are.

    Integers of one size may stand for each other, and unsigned ones for the bits of floats. A vector or a complex
    number may be given as its numbers, as one complex number for each two, or as the bits of the whole.
    """
    wanted, of_floats = type_.dtype, type_.number in NOT_OF_NUMPY or type_.number.startswith("f")
    if wanted is None or (given.kind == "V" and (given.names is not None or type_.count > 1)):
        return True
    of_ml_dtypes = given.kind == "V" and given.type is not np.void
    if of_ml_dtypes or type_.number in NOT_OF_NUMPY:
        is_it = given.name.startswith(NOT_OF_NUMPY.get(type_.number, "no other")) or given.kind == "u"
        return is_it and given.itemsize in (wanted.itemsize, wanted.itemsize * type_.count)
    if given.kind == "c" and type_.count % 2 == 0 and of_floats:
        return given.itemsize == 2 * wanted.itemsize
    if given.kind == "u" or (given.kind == "i" and not of_floats):
        return given.itemsize in (wanted.itemsize, wanted.itemsize * type_.count)
    return given.itemsize == wanted.itemsize and (given.kind in "fc") == of_floats


def _how_to_convert(given: np.dtype, type_: ParameterType, several: bool = True) -> str:
    """What a kernel reads an array of another type as, and how to give it that."""
    wanted = type_.dtype
    if type_.number in NOT_OF_NUMPY:
        name = NOT_OF_NUMPY[type_.number]
        how = "(x.view(numpy.uint32) >> 16).astype(numpy.uint16) of a float32 array x" if name == "bfloat16" else "x"
        return (
            f"the kernel reads it as {name}, which NumPy does not have. Pass the bits, an array of {wanted.name}: "
            f"{how}, or an array of ml_dtypes.{name}{'_e4m3fn' if name == 'float8' else ''}."
        )
    vector = f", {type_.count} of them as one value" if type_.count > 1 and type_.pointers < 2 else ""
    others = ""
    if given.kind in "iu" and wanted.kind in "iu" and given.itemsize < wanted.itemsize:
        count = wanted.itemsize // given.itemsize
        others = f"; where it reads {count} of them as one, x.view(numpy.{wanted.name})"
    if given.kind == "c" and wanted.kind == "f" and type_.count == 2 and type_.pointers < 2 and wanted.itemsize > 2:
        return (
            f"the kernel reads it as {wanted.name}{vector}. Convert it: x.astype(numpy.complex{16 * wanted.itemsize})."
        )
    return f"the kernel reads it as {wanted.name}{vector}. Convert it: x.astype(numpy.{wanted.name}){others}."


def _check_order(subject: str, array: np.ndarray) -> None:
    """Refuse an array that is read untransposed, and warn of one that may be: its columns lie one after the other.

    A view was transposed since its memory was filled. An array of its own may have been made so by `order="F"`, or
    by NumPy, which keeps the order of its operands: `x.T + 1`. Those that CuPy's functions made with `order="F"` are
    meant to be so.
    """
    if array.flags.c_contiguous or getattr(array, "in_columns", False):
        return
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if owner.flags.c_contiguous:
        raise ArgumentError(
            f"{subject} is a transposed view of shape {array.shape}: a kernel gets only a pointer, and would read "
            "the elements as they lie in memory, row after row of the array before the transposition. CuPy passes "
            "it without a word. Pass gpu.ascontiguousarray(…); or, if the kernel means to read column after "
            "column, the memory as it lies, x.T of this x."
        )
    warnings.warn(
        f"{subject} is an array of shape {array.shape} that lies in memory column after column, and so the kernel "
        "reads it; CuPy passes it without a word. For rows pass gpu.ascontiguousarray(…); for columns, without this "
        'warning, gpu.asarray(…, order="F").',
        stacklevel=2,
    )


def _argument_bytes(subject: str, parameter: Parameter, type_: ParameterType, argument, memory: GlobalMemory) -> bytes:
    wanted, is_number = type_.dtype, type_.count == 1 and not type_.pointers and bool(type_.number)
    if isinstance(argument, np.ndarray) and argument.dtype.names and argument.size == 1 and not type_.pointers:
        argument = argument.reshape(())  # a struct, which CuPy, too, takes as an array of one element
    if isinstance(argument, np.ndarray) and (argument.ndim > 0 or type_.pointers):
        if is_number:
            raise ArgumentError(f"{subject} is one number, but an array of shape {argument.shape} was given.")
        if argument.dtype.hasobject:
            raise ArgumentError(
                f"{subject} is an array of Python objects, which no kernel can read. Give its elements a type: "
                f"numpy.array(x, numpy.{'float32' if wanted is None else wanted.name})."
            )
        if not (argument.flags.c_contiguous or argument.flags.f_contiguous):
            raise ArgumentError(
                f"{subject} is an array whose elements do not lie side by side (shape {argument.shape}, strides "
                f"{argument.strides} bytes); a kernel gets only a pointer. Pass numpy.ascontiguousarray(…)."
            )
        _check_order(subject, argument)
        if wanted is not None:
            given = argument.dtype
            if not given.isnative:
                raise ArgumentError(
                    f"{subject} is an array of {given.name} whose bytes are in reverse order ({given.str}), as a "
                    f"kernel does not read them. Convert it: x.astype(numpy.{wanted.name})."
                )
            whole = type_ if type_.pointers < 2 else ParameterType(1, "u8", 1, 8)
            if not _fits(given, whole):
                raise ArgumentError(f"{subject} is an array of {given.name}, but {_how_to_convert(given, whole)}")
        return int(memory.add(argument, parameter.name)).to_bytes(8, "little")
    if type_.pointers:
        if argument is None or (isinstance(argument, int | np.integer) and int(argument) == 0):
            return bytes(8)
        if isinstance(argument, int | np.integer) and memory.is_inside(int(argument)):
            return int(argument).to_bytes(8, "little")
        raise ArgumentError(f"{subject} is a pointer: pass an array, not {_describe(argument)}.")
    if isinstance(argument, TextureObject | SurfaceObject):
        return _handle(subject, parameter, argument)
    value = argument[()] if isinstance(argument, np.ndarray) else argument
    if not is_number or type_.number in NOT_OF_NUMPY:
        if (
            isinstance(value, np.generic)
            and value.dtype.itemsize == parameter.size
            and not value.dtype.hasobject
            and _fits(value.dtype, type_)
        ):
            return value.tobytes()
        bits = f", its bits: numpy.uint{8 * parameter.size}(…)" if type_.number in NOT_OF_NUMPY else ""
        which = bits or " (for a struct, of a structured dtype)"
        raise ArgumentError(
            f"{subject} needs a NumPy scalar of {parameter.size} bytes{which}; found {_describe(argument)}."
        )
    dtype = type_.dtype
    if dtype.kind == "f":
        if isinstance(value, np.generic) and value.dtype == dtype:
            return value.tobytes()
        if isinstance(value, float) and not isinstance(value, np.generic) and dtype == np.float64:
            return np.float64(value).tobytes()
        shown = value.item() if isinstance(value, np.generic) else value
        raise ArgumentError(
            f"{subject} got {_describe(argument)}, whose bytes are not those of a {parameter.type or dtype.name}. "
            f"Pass numpy.{dtype.name}({shown!r})."
        )
    if not isinstance(value, int | np.integer | np.bool_):
        raise ArgumentError(f"{subject} got {_describe(argument)}; pass numpy.{dtype.name}(…).")
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max:
        raise ArgumentError(f"{subject} got {int(value)}, which does not fit into {dtype.name}.")
    return dtype.type(value).tobytes()


def _handle(subject: str, parameter: Parameter, argument: TextureObject | SurfaceObject) -> bytes:
    """The number that a kernel knows a texture or a surface by."""
    kind = type(argument).__name__
    wanted = OBJECTS.get(parameter.type.replace("const", "").strip())
    if parameter.size != 8 or (wanted is not None and wanted != kind):
        raise ArgumentError(f"{subject} got a {kind}; a kernel takes it as a cuda{kind}_t.")
    return int(argument.ptr).to_bytes(8, "little")


def _describe(argument) -> str:
    """An argument in words: its type and, for a number, its value."""
    if isinstance(argument, np.generic):
        return f"numpy.{argument.dtype.name}({argument.item()!r})"
    if isinstance(argument, int | float):
        return f"the Python {type(argument).__name__} {argument!r} (CuPy passes it as 8 bytes)"
    return f"a {type(argument).__name__}"
