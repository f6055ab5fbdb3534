"""Arrays 'on the device': NumPy's, with CuPy's `get` and `set`, and with a memory for what nobody has written yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from helpers.simulator.engine.memory import FIXED
from helpers.simulator.errors import ArgumentError

# What `empty` fills an array with: a NaN in every floating-point format. Narrow integers have no NaN: there it is a
# pattern of eight bytes that nobody writes by chance, and the host has written all eight where one of them is another.
# By these bits are known only writes that go past `DeviceArray`, such as those into a plain ndarray of its memory.
UNWRITTEN = np.uint16(0xFFFA)
PATTERN = np.frombuffer(bytes.fromhex("b7d1630e9c5a48f2"), np.uint8)


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
    _written: np.ndarray | None = None  # by byte of the buffer, not 0 where the host has written since

    def __new__(cls, shape, dtype=float, memptr: MemoryPointer | None = None, strides=None, order="C") -> DeviceArray:
        """Raises ArgumentError if `memptr` is something else, or has less memory than the array needs."""
        if memptr is None:
            return super().__new__(cls, shape, dtype, None, 0, strides, order)
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

    def __setitem__(self, index, value) -> None:
        super().__setitem__(index, value)
        self._note_written(index)

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
        place = self.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        element = np.dtype((np.void, self.dtype.itemsize))
        written = np.ndarray(self.shape, element, owner._written, place, self.strides)
        written[index] = np.void(b"\1" * element.itemsize)

    @property
    def data(self) -> MemoryPointer:
        """Where the array lies: `x.data.ptr` is what a struct of pointers holds."""
        return MemoryPointer("the array", self)

    def get(self, stream=None, order: str = "C", out: np.ndarray | None = None, blocking: bool = True) -> np.ndarray:
        """A copy on the host, in `out` if that is given."""
        if out is None:
            return np.array(self, order="K" if order == "A" else order, subok=False)
        if out.shape != self.shape or out.dtype != self.dtype:
            raise ValueError(f"{self.dtype} {self.shape} does not fit into a {out.dtype} array of shape {out.shape}.")
        out[...] = self
        return out

    def set(self, host: np.ndarray, stream=None) -> None:
        """Copy from the host; shapes and dtypes must be equal."""
        if host.shape != self.shape or host.dtype != self.dtype:
            raise ValueError(f"A {host.dtype} array of shape {host.shape} does not fit into {self.dtype} {self.shape}.")
        self[...] = host


def empty(shape, dtype=float, order: str = "C") -> DeviceArray:
    """A device array whose contents are not defined until somebody writes them.

    The sanitizer reports who reads an element before. Of bools and 1- and 2-byte integers the last few bytes beyond a
    multiple of eight are not watched.
    """
    if order == "F" and not isinstance(shape, int | np.integer):
        return empty(tuple(shape)[::-1], dtype).T
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
