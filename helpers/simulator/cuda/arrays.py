"""Arrays 'on the device': NumPy's, with CuPy's `get` and `set`, and with a memory for what nobody has written yet."""

import numpy as np

# What `empty` fills an array with: a NaN in every floating-point format.
UNWRITTEN = np.uint16(0xFFFA)
SMALLEST_TRACKED = 4  # bytes of an element: a smaller one may equal the pattern by chance


class DeviceArray(np.ndarray):
    """An array 'on the device': NumPy's, with CuPy's `get` and `set`, so that notebooks read the same everywhere.

    `unwritten` is None, or bool, one flag an element of the buffer: True where neither the host nor a kernel has
    written since `empty` made the array.
    """

    unwritten: np.ndarray | None = None

    def get(self) -> np.ndarray:
        """A copy on the host."""
        return np.array(self, subok=False)

    def set(self, host: np.ndarray) -> None:
        """Copy from the host; shapes and dtypes must be equal."""
        if host.shape != self.shape or host.dtype != self.dtype:
            raise ValueError(f"A {host.dtype} array of shape {host.shape} does not fit into {self.dtype} {self.shape}.")
        self[...] = host


def empty(shape, dtype=float) -> DeviceArray:
    """A device array whose contents are not defined until somebody writes them.

    The sanitizer reports who reads an element before; arrays of 1- and 2-byte elements are not watched.
    """
    array = DeviceArray(shape, dtype)
    if array.dtype.itemsize < SMALLEST_TRACKED or array.dtype.itemsize % 2 or array.dtype.hasobject:
        return array
    array.reshape(-1).view(np.uint16)[...] = UNWRITTEN
    array.unwritten = np.ones(array.size, bool)
    return array


def forget_written_by_host(array: DeviceArray) -> None:
    """Clear `unwritten` where an element no longer holds what `empty` put there: the host has written it."""
    if array.unwritten is None:
        return
    elements = array.reshape(-1).view(np.uint16).reshape(array.size, -1)
    array.unwritten &= (elements == UNWRITTEN).all(axis=1)
    if not array.unwritten.any():
        array.unwritten = None
