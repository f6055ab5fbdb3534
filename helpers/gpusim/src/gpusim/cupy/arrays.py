"""Arrays 'on the device': NumPy's, with CuPy's `get` and `set`, and with a memory for what was not written yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from gpusim.engine.memory import FIXED
from gpusim.errors import ArgumentError, ArrayError, SimulatorError

# What `empty` fills an array with: a NaN in every floating-point format. Narrow integers have no NaN: there it is a
# pattern of eight bytes rarely written by chance, and the host has written all eight where one of them is another.
# By these bits are known only writes that go past `DeviceArray`, such as those into a plain ndarray of its memory.
UNWRITTEN = np.uint16(0xFFFA)
PATTERN = np.frombuffer(bytes.fromhex("b7d1630e9c5a48f2"), np.uint8)


# What NumPy raises where something does not fit. AttributeError, OverflowError and others are of values of odd types.
OF_NUMPY = (
    ArithmeticError, AttributeError, BufferError, LookupError, MemoryError, TypeError, ValueError, RuntimeError,
    np.linalg.LinAlgError,
)  # fmt: skip
# The methods and operators of arrays that NumPy refuses with an exception of Python's.
_METHODS = (
    "__bool__", "__complex__", "__contains__", "__float__", "__getitem__", "__index__", "__int__",
    "__len__", "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip", "compress",
    "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "item", "max", "mean", "min", "nonzero", "partition",
    "prod", "put", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes",
    "take", "tobytes", "trace", "transpose", "var", "view",
)  # fmt: skip


def _refused(error: Exception, arrays: Iterable[Any]) -> ArrayError:
    """NumPy's words for what does not fit, and which arrays it was."""
    seen = [f"{array.dtype} {array.shape}" for array in arrays if isinstance(array, np.ndarray)]
    said = str(error).strip().rstrip(".") or type(error).__name__
    return ArrayError(f"{said[:1].upper()}{said[1:]}. The array{'s are' if seen[1:] else ' is'} {' and '.join(seen)}.")


def _of_product(inputs: Sequence[Any]) -> ValueError | None:
    """What is wrong with the shapes of a matrix product, in other words than NumPy's; None for what are no arrays."""
    if not all(isinstance(array, np.ndarray) and array.ndim for array in inputs):
        return None
    a, b = (array.shape for array in inputs)
    return ValueError(
        f"A matrix product goes along the columns of the first array, {a[-1]}, and the rows of the second, "
        f"{b[-2:][0]}, which must be as many"
    )


def _in_a_sentence(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of arrays whose refusals are the simulator's."""

    @wraps(method)
    def called(self: DeviceArray, *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        except SimulatorError:
            raise
        except OF_NUMPY as error:
            raise _refused(error, (self, *args)) from None

    return called


@dataclass(frozen=True, slots=True)
class MemoryPointer:
    """Where a module's variable lies, or an array: CuPy's class as far as a learner meets it.

    `gpu.ndarray(shape, dtype, pointer)` is an array of this memory; `memory` is all of it. `ptr` is its address, for
    structs and arrays of pointers.
    """

    name: str
    memory: np.ndarray = field(repr=False)

    @property
    def ptr(self) -> int:
        """The address that a kernel finds the memory at, as long as its array lives."""
        return FIXED.address(self.memory)


class DeviceArray(np.ndarray):
    """An array 'on the device': NumPy's, with CuPy's `get` and `set`, so that notebooks read the same everywhere.

    Its arguments are CuPy's: with `memptr`, which `RawModule.get_global` gives, it is an array of the memory of a
    variable of a module, and what is written into it is what kernels read there.
    `unwritten` is None, or bool, one flag an element of the buffer: True where neither the host nor a kernel has
    written since `empty` made the array.
    """

    unwritten: np.ndarray | None = None
    in_columns = False  # whether it was made to hold column after column, and is no transposed view
    _written: np.ndarray | None = None  # by byte of the buffer, not 0 where the host has written since

    def __new__(cls, shape, dtype=float, memptr: MemoryPointer | None = None, strides=None, order="C") -> DeviceArray:
        """Raises ArgumentError if `memptr` is something else, or has less memory than the array needs."""
        if memptr is None:
            try:
                return super().__new__(cls, shape, dtype, None, 0, strides, order)
            except OF_NUMPY as error:
                raise ArgumentError(f"There is no array of shape {shape!r} and dtype {dtype!r}: {error}.") from None
        if not isinstance(memptr, MemoryPointer):
            raise ArgumentError(
                f"The third argument of ndarray is the memory that module.get_global(name) gives, and this is a "
                f"{type(memptr).__name__}. Copies are made by asarray(x)."
            )
        sizes, type_ = (shape,) if isinstance(shape, int | np.integer) else tuple(shape), np.dtype(dtype)
        needed, there = prod(sizes) * type_.itemsize, memptr.memory.nbytes
        if needed > there:
            fitting = there // type_.itemsize
            raise ArgumentError(
                f"{memptr.name} has {there} bytes, and an array of shape {sizes} and type {type_} needs {needed}. "
                + (f"Of this type {fitting} elements fit: shape ({fitting},)." if fitting else "Choose a smaller type.")
            )
        return super().__new__(cls, sizes, type_, memptr.memory, 0, strides, order)

    def __reduce__(self):
        forget_written_by_host(self)
        rebuild, arguments, state = super().__reduce__()
        return rebuild, arguments, (state, self.unwritten)

    def __setstate__(self, state) -> None:
        elements, self.unwritten = state
        super().__setstate__(elements)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        """NumPy's function of each element: what it gives is on the device, too."""
        host = [array.view(np.ndarray) if isinstance(array, DeviceArray) else array for array in inputs]
        if out is not None:
            options["out"] = tuple(array.view(np.ndarray) if isinstance(array, DeviceArray) else array for array in out)
        try:
            result = getattr(ufunc, method)(*host, **options)
        except OF_NUMPY as error:
            raise _refused(_of_product(inputs) or error if ufunc is np.matmul else error, inputs) from None
        if out is not None:
            return out[0] if len(out) == 1 else out
        placed = [value.view(DeviceArray) if isinstance(value, np.ndarray) else value for value in _several(result)]
        return tuple(placed) if isinstance(result, tuple) else placed[0]

    @_in_a_sentence
    def __setitem__(self, index, value) -> None:
        super().__setitem__(index, value)
        self._note_written(index)

    @_in_a_sentence
    def fill(self, value) -> None:
        """Set all elements."""
        super().fill(value)
        self._note_written(...)

    def _note_written(self, index) -> None:
        """The host has written here, whatever it was: into an array that `empty` made, or into a view of one."""
        owner = self
        while isinstance(owner, np.ndarray) and getattr(owner, "unwritten", None) is None:
            owner = owner.base
        if not isinstance(owner, np.ndarray):
            return
        if owner._written is None:
            owner._written = np.zeros(owner.nbytes, np.uint8)  # zeros take no memory before they are touched
        offset = self.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        element = np.dtype((np.void, self.dtype.itemsize))
        written = np.ndarray(self.shape, element, owner._written, offset, self.strides)
        written[index] = np.void(b"\1" * element.itemsize)

    @property
    def data(self) -> MemoryPointer:
        """Where the array lies: `x.data.ptr` is what a struct of pointers holds."""
        return MemoryPointer("the array", self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The module of these arrays, with CuPy's names, as the standard for array libraries asks for it."""
        from gpusim.cupy.names import module

        return module()

    def get(self, stream=None, order: str = "C", out: np.ndarray | None = None, blocking: bool = True) -> np.ndarray:
        """A copy on the host, in `out` if that is given."""
        if out is None:
            order = "K" if isinstance(order, str) and order == "A" else order
            return _in_a_sentence(np.array)(self, order=order, subok=False)
        if not isinstance(out, np.ndarray) or out.shape != self.shape or out.dtype != self.dtype:
            what = f"a {out.dtype} array of shape {out.shape}" if isinstance(out, np.ndarray) else f"{out!r}"
            raise ArrayError(f"{self.dtype} {self.shape} does not fit into {what}.")
        out[...] = self
        return out

    def set(self, host: np.ndarray, stream=None) -> None:
        """Copy from the host; shapes and dtypes must be equal."""
        if not isinstance(host, np.ndarray) or host.shape != self.shape or host.dtype != self.dtype:
            what = f"A {host.dtype} array of shape {host.shape}" if isinstance(host, np.ndarray) else f"{host!r}"
            raise ArrayError(f"{what} does not fit into {self.dtype} {self.shape}.")
        self[...] = host


for _name in _METHODS:
    setattr(DeviceArray, _name, _in_a_sentence(getattr(DeviceArray, _name)))


def _several(result: Any) -> tuple:
    return result if isinstance(result, tuple) else (result,)


def empty(shape, dtype=float, order: str = "C") -> DeviceArray:
    """A device array whose contents are not defined until they are written.

    The sanitizer reports reads of an element before. Of bools and 1- and 2-byte integers the last few bytes beyond a
    multiple of eight are not watched.
    """
    if not isinstance(order, str) or order not in "CF":
        raise ArgumentError(f"order={order!r}: choose 'C', row by row, or 'F', column by column.")
    if order == "F" and not isinstance(shape, int | np.integer):
        array = empty(tuple(shape)[::-1], dtype).T
        array.in_columns = True
        return array
    array = DeviceArray(shape, dtype)
    if _is_narrow(array.dtype):
        pieces = _pieces(array)
        pieces[...] = PATTERN
        array.unwritten = np.zeros(array.size, bool)
        array.unwritten[: pieces.size // array.dtype.itemsize] = True
        return array
    if array.dtype.itemsize % 2 or array.dtype.hasobject or array.dtype.itemsize < 4 and array.dtype != np.float16:
        return array
    array.reshape(-1).view(np.uint16)[...] = UNWRITTEN
    array.unwritten = np.ones(array.size, bool)
    return array


def _is_narrow(dtype: np.dtype) -> bool:
    return dtype.itemsize <= 2 and dtype.kind in "iub"


def _pieces(array: np.ndarray) -> np.ndarray:
    """The bytes of an array as (pieces, 8), without the last few."""
    flat = array.view(np.ndarray).reshape(-1).view(np.uint8)
    return flat[: flat.size // PATTERN.size * PATTERN.size].reshape(-1, PATTERN.size)


def forget_written_by_host(array: DeviceArray) -> None:
    """Clear `unwritten` where the host has written: it was seen, or the element holds something else now."""
    if array.unwritten is None:
        return
    if array._written is not None:
        array.unwritten &= ~array._written.reshape(array.size, -1).any(axis=1)
        array._written = None
    if _is_narrow(array.dtype):
        # A kernel may have written some of a piece, and cleared their flags: only bytes that are flagged count.
        pieces, each = _pieces(array), PATTERN.size // array.dtype.itemsize
        flagged = array.unwritten[: pieces.shape[0] * each].reshape(-1, each)
        kept = (pieces == PATTERN) | ~flagged.repeat(array.dtype.itemsize, axis=1)
        flagged &= kept.all(axis=1, keepdims=True)
    else:
        elements = array.reshape(-1).view(np.uint16).reshape(array.size, -1)
        array.unwritten &= (elements == UNWRITTEN).all(axis=1)
    if not array.unwritten.any():
        array.unwritten = None
