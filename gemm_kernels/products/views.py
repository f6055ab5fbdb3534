"""Arrays as kernels see them: an address, and how many elements it is from one row, column or product to the next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gemm_kernels.refused import Refused


@dataclass(frozen=True, eq=False)
class View:
    """A matrix, or a batch of them.

    what: what sentences call it.  address: of its first element, in bytes; 0 for an array without elements.
    rows, cols: its size.  row_step, col_step: elements from one to the next; 0 where there is only one.
    batch: (size, step) of each axis before the last two, the outermost first.
    size: bytes of an element.
    """

    what: str
    address: int
    rows: int
    cols: int
    row_step: int
    col_step: int
    batch: tuple[tuple[int, int], ...]
    size: int

    @property
    def turned(self) -> View:
        """The transposed matrix: the same memory."""
        return View(self.what, self.address, self.cols, self.rows, self.col_step, self.row_step, self.batch, self.size)

    @property
    def is_plain(self) -> bool:
        """Whether its rows lie one after the other without a gap, as the ladder's kernels take a matrix."""
        return self.col_step in (0, 1) and (self.rows == 1 or self.row_step == self.cols)


def namespace_of(what: str, array: Any) -> Any:
    """The module that an array belongs to, with RawModule, empty and cuda: CuPy, or the simulator's face of it."""
    module = type(array).__module__.partition(".")[0]
    if module == "cupy":
        import cupy

        return cupy
    if module == "numpy" or not hasattr(array, "__array_namespace__"):
        kind = "an array of the host" if module == "numpy" else f"a {type(array).__name__}"
        raise Refused(f"{what} is {kind}; it must be an array of the device. Try gpu.asarray({what}).")
    return array.__array_namespace__()


def address_of(array: Any) -> int:
    """The address of an array's first element on the device, 0 where it has none."""
    return int(array.data.ptr) if array.size else 0


def view_of(what: str, array: Any) -> View:
    """An array of two axes or more, whatever its strides are. Refused where they are no whole numbers of elements."""
    if array.ndim < 2:
        raise Refused(
            f"{what} has the shape {array.shape}; a matrix has two axes. One row is {what}[None, :], one column "
            f"{what}[:, None]."
        )
    size = array.dtype.itemsize
    if any(stride % size for stride, length in zip(array.strides, array.shape, strict=True) if length > 1):
        raise Refused(
            f"{what} has strides of {array.strides} bytes, which are no multiples of its elements' {size}: no kernel "
            f"can step so. Copy it: gpu.ascontiguousarray({what})."
        )
    steps = [0 if length <= 1 else stride // size for stride, length in zip(array.strides, array.shape, strict=True)]
    *outer, rows, cols = map(int, array.shape)
    batch = tuple(zip(outer, steps[:-2], strict=True))
    return View(what, address_of(array), rows, cols, steps[-2], steps[-1], batch, size)


def broadcast_to(view: View, batch: Sequence[int], rows: int | None = None, cols: int | None = None) -> View:
    """The view with the batch's axes, and the rows and columns, of which it may have one for all: then the step is 0.

    Refused where the sizes do not fit.
    """
    own = [(1, 0)] * (len(batch) - len(view.batch)) + list(view.batch)
    fits = len(own) == len(batch) and all(size in (1, wanted) for (size, _), wanted in zip(own, batch, strict=True))
    fits &= rows in (None, view.rows) or view.rows == 1
    fits &= cols in (None, view.cols) or view.cols == 1
    if not fits:
        shape = (*(size for size, _ in view.batch), view.rows, view.cols)
        wanted_shape = (*batch, view.rows if rows is None else rows, view.cols if cols is None else cols)
        raise Refused(
            f"{view.what} has the shape {shape}, which does not fit {wanted_shape}, the shape of the product."
        )
    steps = tuple((wanted, step if size > 1 else 0) for (size, step), wanted in zip(own, batch, strict=True))
    return View(
        view.what, view.address, view.rows if rows is None else rows, view.cols if cols is None else cols,
        view.row_step, view.col_step, steps, view.size,
    )  # fmt: skip


def merged(views: Sequence[View]) -> list[tuple[tuple[int, int], ...]]:
    """The batch's axes of some views, of one shape, with as few axes as possible: two become one where, for every view,
    a step of the outer one is a whole run of the inner one."""
    axes = [list(view.batch) for view in views]
    last = len(axes[0]) - 2
    while last >= 0:
        pairs = [(axis[last], axis[last + 1]) for axis in axes]
        if all(outer[1] == inner[0] * inner[1] or outer[0] == 1 for outer, inner in pairs):
            for axis, (outer, inner) in zip(axes, pairs, strict=True):
                axis[last : last + 2] = [(outer[0] * inner[0], inner[1])]
        elif all(inner[0] == 1 for _, inner in pairs):
            for axis in axes:
                del axis[last + 1]
        last -= 1
    return [tuple(axis) for axis in axes]


def addresses(views: Iterable[View], count: int) -> list[list[int]]:
    """For each product of a batch the address of each view's matrix."""
    addresses_of: list[list[int]] = [[] for _ in range(count)]
    for view in views:
        sizes = [size for size, _ in view.batch]
        for number in range(count):
            rest, offset = number, 0
            for size, (_, step) in zip(reversed(sizes), reversed(view.batch), strict=True):
                offset += rest % size * step
                rest //= size
            addresses_of[number].append(view.address + offset * view.size)
    return addresses_of


def widest(view: View, extent: int, steps: Iterable[int], limit: int) -> int:
    """How many neighbours one copy can move: a power of two, at most `limit` bytes of them.

    extent: how many neighbours there are.  steps: to where other runs of neighbours begin.
    """
    width = max(limit // view.size, 1)
    return math.gcd(width, extent, view.address // view.size if view.address % view.size == 0 else 1, *map(abs, steps))


def check_written(view: View) -> None:
    """Refuse a C of which two elements share their memory, as in a view that was broadcast."""
    axes = [*view.batch, (view.rows, view.row_step), (view.cols, view.col_step)]
    if any(size == 0 for size, _ in axes):
        return
    steps = sorted((abs(step), size) for size, step in axes if size > 1)
    reach = 0
    for step, size in steps:
        if step <= reach:
            raise Refused(
                f"{view.what} has elements that share their memory, so that it cannot hold a result. Copy it."
            )
        reach += step * (size - 1)
