"""The address spaces of a simulated GPU: global memory made of the caller's arrays, shared and local memory.

Global addresses are virtual: every array gets a base that is a multiple of 512 bytes, as CuPy's memory pool gives, and
arrays lie far apart, so that an address outside an array never falls into the next one by accident.
"""

import re
import weakref
from bisect import bisect_right
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from gpusim.engine.ir import Program
from gpusim.errors import (
    GUARD,
    Misaligned,
    OutOfBounds,
    SimulatorError,
    coordinates,
    counted,
    in_reserved_memory,
)
from gpusim.symbols.live_loads import uses_of

GLOBAL_BASE = 0x7F00_0000_0000
RANK_SHIFT = 24  # of an address in shared memory: above it stands the rank of the block in its cluster
RANK_BYTES = 1 << RANK_SHIFT
RESERVED_AT = RANK_BYTES - 1024  # the last of them, below 0, are of shared memory that the system keeps for itself
FIXED_BASE = 0x7E00_0000_0000
ALIGNMENT = 512
GAP = 1 << 20
WIDEST = 16  # bytes of a load
WORD = 4  # bytes that the machine code updates at once, though the program names 2
# Generic addresses: shared and local memory are seen through windows far above every global address.
SHARED_WINDOW = 1 << 60
LOCAL_WINDOW = 1 << 61
SAME_BITS = {1: np.dtype(np.uint8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


@dataclass(slots=True)
class Allocation:
    """A piece of global memory: the bytes of one NumPy buffer, which the host has at `host` and kernels see at `base`.

    `names` are the parameters that point into it, `owner` is the array that the buffer belongs to, and `watch` sees
    every access before it is carried out (gpusim.checks.global_checks).
    """

    base: int
    bytes_: np.ndarray
    host: int
    name: str = ""
    shape: tuple[int, ...] = ()
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.uint8))
    writable: bool = True
    owner: np.ndarray | None = None
    names: set[str] = field(default_factory=set)
    watch: Any = None
    padding: int = 0  # bytes behind the array, of its last word: see `GlobalMemory`
    views: tuple[int, int] | None = None  # the bytes from the first view that a kernel was given to the end of the last
    _views: dict = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.base + self.bytes_.size - self.padding

    def reaches(self, width: int) -> int:
        """Where accesses of a width must end at the latest."""
        return self.end + (self.padding if width == WORD else 0)

    @property
    def may_be_written(self) -> tuple[int, int]:
        """The bytes [start, stop) that may be written: those of the views; on a GPU a kernel could write its
        neighbours in the same buffer, too, but hardly means to."""
        return self.views or (0, self.bytes_.size - self.padding)

    def view(self, dtype: np.dtype) -> np.ndarray:
        """The bytes as a one-dimensional array of `dtype` (a last incomplete element is left out)."""
        view = self._views.get(dtype)
        if view is None:
            whole = self.bytes_.size // dtype.itemsize * dtype.itemsize
            view = self._views[dtype] = self.bytes_[:whole].view(dtype)
        return view

    def element(self, address: int) -> str:
        """Which element an address is, in the words of the array: 'A[3, 17]', or 'A at index 70 (64 elements)'."""
        index = (address - self.base) // self.dtype.itemsize
        size = int(np.prod(self.shape))
        if 0 <= index < size and len(self.shape) > 1:
            return f"{self.name}[{', '.join(str(int(i)) for i in np.unravel_index(index, self.shape))}]"
        if len(self.shape) == 2 and index >= 0 and self.shape[1] > 0:
            row, column = divmod(index, self.shape[1])
            return (
                f"index {index} of {self.name}, as row {row}, column {column}; {self.name} has shape "
                f"{self.shape[0]} × {self.shape[1]}, its last index is {size - 1}"
            )
        return f"index {index} of {self.name}, which has {counted(size, 'element')}"


class Fixed:
    """The arrays whose address was given to Python: a kernel may reach them through a struct or an array of pointers.

    Such an array keeps its address as long as it lives, and every launch can reach it.
    """

    def __init__(self) -> None:
        self._arrays: dict[int, tuple[weakref.ref, int]] = {}  # by where the host has the buffer: (owner, address)
        self._top = FIXED_BASE

    def address(self, array: np.ndarray) -> int:
        """The address of an array's first element."""
        owner = _owner(array)
        start = _host_address(owner)
        known = self._arrays.get(start)
        if known is None or known[0]() is not owner:
            known = self._arrays[start] = (weakref.ref(owner), self._top)
            self._top += _room(owner.nbytes)
        return known[1] + _host_address(array) - start

    def arrays(self) -> list[tuple[np.ndarray, int]]:
        """(array, address) of those that live, by address."""
        # Each is held from here on: the garbage collector may take one that was seen to live a moment ago.
        held = [(start, known[0](), known) for start, known in self._arrays.items()]
        living = [(start, array, known) for start, array, known in held if array is not None]
        self._arrays = {start: known for start, _, known in living}
        return sorted(((array, address) for _, array, (_, address) in living), key=lambda pair: pair[1])


FIXED = Fixed()


def _owner(array: np.ndarray) -> np.ndarray:
    """The array whose buffer a view looks into."""
    while isinstance(array.base, np.ndarray) and (array.base.flags.c_contiguous or array.base.flags.f_contiguous):
        array = array.base
    return array


def _host_address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _room(size: int) -> int:
    """How far the next array's address is from the one of an array of so many bytes."""
    return -(-(size + GAP) // ALIGNMENT) * ALIGNMENT


class GlobalMemory:
    """All arrays that a launch can reach: its arguments, and those whose addresses Python knows (`Fixed`).

    An atomic operation on 16 bits is one on the word around them, in machine code and in parts of CUDA's headers. At
    the end of an array it reaches beyond, into what a GPU adds to each array, so that nothing is wrong with it. Where a
    `program` has such operations, arrays of an odd number of halves are copied to whole words; `put_back` ends that.
    """

    keeps = True  # what is written to it

    def __init__(self, program: Program | None = None) -> None:
        self._program = program
        self.allocations: list[Allocation] = []
        self._bases: list[int] = []
        self._by_buffer: dict[int, Allocation] = {}
        self._top = GLOBAL_BASE
        for array, address in FIXED.arrays():
            self._allocate(array, _host_address(array), address, f"the array at {address:#x}", array)

    def add(self, array: np.ndarray, name: str) -> int:
        """Make an array reachable; returns the address of its first element.

        A view shares the allocation of the buffer that it looks into, as it would on a GPU. The first array of a buffer
        gives the name.
        """
        owner = _owner(array)
        start = _host_address(owner)
        allocation = self._by_buffer.get(start)
        first = 0 if array is owner else _host_address(array) - start
        if allocation is None or allocation.bytes_.size < owner.nbytes:
            allocation = self._allocate(owner, start, self._top, name, array)
            allocation.views = first, first + array.nbytes
            self._top += _room(owner.nbytes)
        elif not allocation.names:
            allocation.name, allocation.shape, allocation.dtype = name, array.shape, array.dtype
        if allocation.views is not None:
            low, high = allocation.views
            allocation.views = min(low, first), max(high, first + array.nbytes)
        allocation.names.add(name)
        return allocation.base + first

    def _allocate(self, owner: np.ndarray, start: int, base: int, name: str, seen_as: np.ndarray) -> Allocation:
        """start: where the host has the owner's buffer."""
        plain = owner.view(np.ndarray)
        flat = (plain if plain.flags.c_contiguous else plain.T).reshape(-1).view(np.uint8)
        if owner.size == 0:
            flat = np.empty(0, np.uint8)
        writable, padding = bool(owner.flags.writeable), 0
        if flat.size % WORD and self._program and any(instruction.swaps for instruction in self._program.instructions):
            padding = -flat.size % WORD
            flat = np.pad(flat, (0, padding))
        host = _host_address(flat) if padding else start
        allocation = Allocation(base, flat, host, name, seen_as.shape, seen_as.dtype, writable, owner, padding=padding)
        self.allocations.append(allocation)
        self._bases.append(base)
        self._by_buffer[start] = allocation
        return allocation

    def put_back(self) -> None:
        """Arrays that were copied to whole words get what the launch has written."""
        for allocation in self.allocations:
            if allocation.padding and allocation.writable:
                plain = allocation.owner.view(np.ndarray)
                plain = plain if plain.flags.c_contiguous else plain.T
                plain[...] = allocation.bytes_[: plain.nbytes].view(plain.dtype).reshape(plain.shape)

    def find(self, address: int) -> Allocation | None:
        """The allocation at or before an address."""
        position = bisect_right(self._bases, address) - 1
        return self.allocations[position] if position >= 0 else None

    def is_inside(self, address: int) -> bool:
        """Whether an address is that of a byte of one of the arrays."""
        return self._inside(address, address, 1) is not None

    def check(self, wave, addresses, mask, width: int, verb: str) -> None:
        """Raise OutOfBounds or Misaligned if an active lane may not access `width` bytes; `verb` says what it did."""
        active = active_addresses(addresses, mask)
        check_alignment(wave, active, addresses, mask, width)
        allocation = self._inside(int(active.min()), int(active.max()), width)
        if allocation is not None and verb != "read":
            self._check_view(wave, allocation, addresses, mask, width, verb)
        if allocation is None:
            lanes = np.broadcast_to(True if mask is None else mask, wave.shape)
            pieces = list(self.by_allocation(wave, np.broadcast_to(addresses, wave.shape), lanes, width, verb))
            for piece, there in pieces if verb != "read" else ():
                self._check_view(wave, piece, addresses, there, width, verb)

    def _check_view(self, wave, allocation: Allocation, addresses, mask, width: int, verb: str) -> None:
        """OutOfBounds if an active lane writes to a read-only array, or outside the views that the kernel was given, of
        a larger array."""
        if not allocation.writable:
            lanes = np.broadcast_to(True if mask is None else mask, wave.shape)
            what = f"{'wrote to' if verb == 'wrote' else verb} {allocation.name}, a read-only array"
            wave.fail(OutOfBounds, what, "Pass a writable copy: numpy.array(x).", *np.argwhere(lanes)[0].tolist())
        start, stop = (allocation.base + offset for offset in allocation.may_be_written)
        if width == WORD and wave.instruction.swaps:  # perhaps for two bytes of these four
            start, stop = start // WORD * WORD, -(-stop // WORD) * WORD
        active = active_addresses(addresses, mask)
        if int(active.min()) >= start and int(active.max()) + width <= stop:
            return
        addresses = np.broadcast_to(addresses, wave.shape)
        wrong = (addresses < start) | (addresses + width > stop)
        block, thread = (int(i) for i in np.argwhere(wrong if mask is None else wrong & mask)[0])
        item = allocation.dtype.itemsize
        index, size = (int(addresses[block, thread]) - start) // item, (stop - start) // item
        has = counted(size, "element")
        what = f"{verb} {counted(width, 'byte')} outside {allocation.name}, at its index {index}: it has {has}"
        advice = f"{allocation.name} is a view of a larger array, whose other elements this would change."
        wave.fail(OutOfBounds, what, advice, block, thread)

    def _inside(self, low: int, high: int, width: int) -> Allocation | None:
        allocation = self.find(low)
        return allocation if allocation is not None and high + width <= allocation.reaches(width) else None

    def load(self, wave, addresses, mask, dtype: np.dtype, count: int):
        """`count` consecutive elements of `dtype` for every active lane; inactive lanes get anything.

        Args: addresses int64, broadcastable to the wave's shape; mask bool or None for all lanes.
        Returns a tuple of `count` arrays. Raises OutOfBounds and Misaligned.
        """
        width = dtype.itemsize * count
        active = active_addresses(addresses, mask)
        low, high = int(active.min()), int(active.max())
        check_alignment(wave, active, addresses, mask, width)
        allocation = self._inside(low, high, width)
        if allocation is None:
            return self._load_pieces(wave, addresses, mask, dtype, count)
        if allocation.watch is not None:
            allocation.watch.access(wave, "ld", addresses - allocation.base, mask, width)
        if mask is not None:
            addresses = np.where(mask, addresses, low)
        index = (
            (addresses - allocation.base) // dtype.itemsize
            if dtype.itemsize & 1
            else ((addresses - allocation.base) >> (dtype.itemsize.bit_length() - 1))
        )
        view = allocation.view(dtype)
        if count == 1:
            return (view.take(index),)
        return tuple(view.take(index + part) for part in range(count))

    def _load_pieces(self, wave, addresses, mask, dtype, count):
        """The lanes of one load look into different arrays (a pointer chosen at run time), or outside all of them."""
        width = dtype.itemsize * count
        shape = wave.shape
        addresses = np.broadcast_to(addresses, shape)
        mask = np.ones(shape, bool) if mask is None else np.broadcast_to(mask, shape)
        results = tuple(np.zeros(shape, dtype) for _ in range(count))
        for allocation, lanes in self.by_allocation(wave, addresses, mask, width, "read"):
            if allocation.watch is not None:
                allocation.watch.access(wave, "ld", addresses - allocation.base, lanes, width)
            index = (addresses[lanes] - allocation.base) // dtype.itemsize
            for part, result in enumerate(results):
                result[lanes] = allocation.view(dtype)[index + part]
        return results

    def by_allocation(self, wave, addresses, mask, width, verb):
        """Yield (allocation, lanes) for all active lanes; OutOfBounds if one is nowhere."""
        remaining = mask.copy()
        before = np.searchsorted(self._bases, addresses[mask], "right") - 1  # each lane's, if it is inside one
        for allocation in map(self.allocations.__getitem__, np.unique(before[before >= 0])):
            lanes = remaining & (addresses >= allocation.base) & (addresses + width <= allocation.reaches(width))
            if lanes.any():
                remaining &= ~lanes
                yield allocation, lanes
        if remaining.any():
            block, thread = np.argwhere(remaining)[0]
            self.refuse(wave, int(addresses[block, thread]), width, verb, int(block), int(thread))

    def refuse(self, wave, address: int, width: int, verb: str, block: int, thread: int) -> None:
        """Raise OutOfBounds for an address that no array has."""
        allocation, array = self.find(address), ""
        behind = bisect_right(self._bases, address)
        following = self.allocations[behind] if behind < len(self.allocations) else None
        if following is not None and (allocation is None or following.base - address < address - allocation.end):
            allocation = following
        if address < 4096:
            where, advice = f"address {address:#x}: a null pointer, or close to one", ""
        elif allocation is None or min(abs(address - allocation.base), abs(address - allocation.end)) > GAP // 2:
            where = f"address {address & (2**64 - 1):#x}, which is far from every array of this launch"
            advice = "The pointer is none to an array, or what was added to it is far too large, or negative."
        else:
            where, array = allocation.element(address), allocation.name
            asked = "row < M && col < N" if len(allocation.shape) == 2 else "index < N"
            advice = f"{GUARD}, for example `if ({asked})`."
        what = f"{verb} {counted(width, 'byte')} outside the arrays: {where}"
        if array and allocation.base <= address < allocation.end:
            there, advice = allocation.end - address, ""
            what = f"{verb} {width} bytes, of which only {there} are inside {array}: they begin at {where}"
        wave.fail(OutOfBounds, what, advice, block, thread, array=array)

    def store(self, wave, addresses, mask, values) -> None:
        """Write a tuple of values to consecutive elements. Of two lanes with one address, the later lane wins."""
        dtype = np.dtype(values[0].dtype)
        dtype = SAME_BITS[1] if dtype.kind == "b" else dtype
        width = dtype.itemsize * len(values)
        shape = np.broadcast_shapes(
            np.shape(addresses), *(np.shape(v) for v in values), np.shape(mask) if mask is not None else ()
        )
        addresses = np.broadcast_to(addresses, shape)
        if mask is not None:
            mask = np.broadcast_to(mask, shape)
            active = addresses[mask]
        else:
            active = addresses
        check_alignment(wave, active, addresses, mask, width)
        allocation = self._inside(int(active.min()), int(active.max()), width)
        if allocation is None:
            full = wave.shape
            addresses = np.broadcast_to(addresses, full)
            lanes_active = np.ones(full, bool) if mask is None else np.broadcast_to(mask, full)
            pieces = list(self.by_allocation(wave, addresses, lanes_active, width, "wrote"))
        else:
            pieces = [(allocation, None)]
        for piece, lanes in pieces:
            self._check_view(wave, piece, addresses, mask if lanes is None else lanes, width, "wrote")
            if piece.watch is not None:
                named = mask if lanes is None else lanes
                piece.watch.access(wave, "st", addresses - piece.base, named, width, values)
            view = piece.view(dtype)
            if lanes is None:
                index = (active - piece.base) // dtype.itemsize
                for part, value in enumerate(values):
                    value = np.broadcast_to(value, shape)
                    view[index + part] = value if mask is None else value[mask]
            else:
                index = (addresses[lanes] - piece.base) // dtype.itemsize
                for part, value in enumerate(values):
                    view[index + part] = np.broadcast_to(value, addresses.shape)[lanes]

    def cells(self, addresses, dtype: np.dtype):
        """For atomics: yields (view, indices, which) for each array that legal one-dimensional addresses lie in.

        `which` says which of the addresses lie there; it is all of them, a slice, where there is one array only.
        """
        allocation = self._inside(int(addresses.min()), int(addresses.max()), dtype.itemsize)
        if allocation is not None:
            yield allocation.view(dtype), (addresses - allocation.base) // dtype.itemsize, slice(None)
            return
        for allocation in self.allocations:
            which = np.flatnonzero((addresses >= allocation.base) & (addresses < allocation.end))
            if len(which):
                yield allocation.view(dtype), (addresses[which] - allocation.base) // dtype.itemsize, which


class Untouched(GlobalMemory):
    """The same arrays, which stay as they are: stores are thrown away, atomics work on zeros."""

    keeps = False

    def __init__(self, memory: GlobalMemory) -> None:
        super().__init__()
        self.allocations = [
            Allocation(
                allocation.base,
                allocation.bytes_,
                allocation.host,
                allocation.name,
                allocation.shape,
                allocation.dtype,
                allocation.writable,
                names=allocation.names,
            )
            for allocation in memory.allocations
        ]
        self._bases = [allocation.base for allocation in self.allocations]

    def add(self, array: np.ndarray, name: str) -> int:
        """SimulatorError: these are all arrays that the launch was given; only malloc asks for another one."""
        raise SimulatorError(
            "The time of this kernel cannot be predicted: it takes memory by malloc or new, and what that costs is not "
            "modelled. Let the thread declare an array of its own instead, with a size that the compiler knows."
        )

    def store(self, wave, addresses, mask, values) -> None:
        """Nothing but the check that it is allowed."""
        self.check(wave, addresses, mask, np.dtype(values[0].dtype).itemsize * len(values), "wrote")

    def cells(self, addresses, dtype: np.dtype):
        for view, index, which in super().cells(addresses, dtype):
            yield np.zeros(view.size, dtype), index, which  # zeros take no memory before they are touched


def check_alignment(wave, active, addresses, mask, width: int, memory=None) -> None:
    """Raise Misaligned if an active address is not a multiple of the width (CUDA guide, 'Device Memory Accesses').

    `memory` is the shared or local memory that the addresses belong to, None for global memory.
    """
    if width == 1 or not int(np.bitwise_or.reduce(active, axis=None)) & (width - 1):
        return
    shape = wave.shape
    wrong = np.broadcast_to((addresses & (width - 1)) != 0, shape)
    if mask is not None:
        wrong = wrong & mask
    block, thread = (int(i) for i in np.argwhere(wrong)[0])
    address = int(np.broadcast_to(addresses, shape)[block, thread])
    where = wave.where(address) if memory is None else memory.where(wave, address)
    array = allocation.name if memory is None and (allocation := wave.global_memory.find(address)) else ""
    wave.fail(
        Misaligned,
        f"accessed {width} bytes at an address that is not a multiple of {width} ({where})",
        f"{'An' if width == 8 else 'A'} {width}-byte access needs {width}-byte alignment."
        + (
            f" Without alignas({width}) the compiler puts an array of a thread's own at any multiple of its elements' "
            "size, which may suit in one build and not in the next."
            if isinstance(memory, LocalMemory)
            else ""
        ),
        block,
        thread,
        array=array,
    )


def active_addresses(addresses, mask):
    """The addresses of the active lanes, in any shape."""
    if mask is None:
        return addresses
    shape = np.broadcast_shapes(np.shape(addresses), np.shape(mask))
    return np.broadcast_to(addresses, shape)[np.broadcast_to(mask, shape)]


def private_addresses(wave, addresses, mask, width: int, memory, verb: str):
    """Check the active lanes against a block's shared or a thread's local memory; 0 for the inactive lanes."""
    active = active_addresses(addresses, mask)
    check_alignment(wave, active, addresses, mask, width, memory)
    start, stop = memory.limits(wave)
    if int(active.min()) < start or int(active.max()) + width > stop:
        wrong = np.broadcast_to((addresses < start) | (addresses + width > stop), wave.shape)
        wrong = wrong if mask is None else wrong & mask
        if verb == "read" and _is_widened(wave, memory, np.broadcast_to(addresses, wave.shape)[wrong], width):
            return addresses if mask is None else np.where(mask, addresses, 0)
        block, thread = (int(i) for i in np.argwhere(wrong)[0])
        address = int(np.broadcast_to(addresses, wave.shape)[block, thread])
        out_of_bounds(wave, memory, verb, width, address, block, thread)
    return addresses if mask is None else np.where(mask, addresses, 0)


def out_of_bounds(wave, memory, verb: str, width: int, address: int, block: int, thread: int) -> None:
    """Raise OutOfBounds for an access to shared or local memory; `verb` says what it did, `block` is the wave's row."""
    if wave.program.may_be_reserved and isinstance(memory, SharedMemory) and address % RANK_BYTES >= RESERVED_AT:
        raise in_reserved_memory(wave.program.name)
    outside, (start, stop) = memory.outside(wave, address), memory.limits(wave)
    what = f"{verb} {counted(width, 'byte')} {outside}"
    if start <= address < stop and (named := re.match(r"outside (\w+): (.*)", outside)):
        what = f"{verb} {width} bytes, of which only {stop - address} are inside {named[1]}: they begin at {named[2]}"
    try:
        wave.fail(OutOfBounds, what, memory.advise(wave, address), block, thread)
    except OutOfBounds as error:
        index = wave.instruction.index
        if isinstance(memory, SharedMemory) and (array := wave.launch.shared_names.used.get(index)):
            error.array, error.instruction = array.symbol, index
        raise


def _is_widened(wave, memory, addresses: np.ndarray, width: int) -> bool:
    """Whether these loads, which read beyond their array, may be the compiler's work, and not the programmer's.

    It may load several neighbours at once, those beyond the array among them, and ask afterwards which of them there
    are: of `for (j = 0; j < n; j++) sum += s[j]` the last three rounds begin so. Uses of what lies beyond are found by
    the sanitizer (`gpusim.checks.checks`).
    """
    start, stop = memory.limits(wave)
    is_wide = len(wave.instruction.writes) > 1
    if not is_wide or int(addresses.min()) + width <= start or int(addresses.max()) >= stop:
        return False
    if int(addresses.min()) < 0 or int(addresses.max()) + width > memory.reach:
        return False
    return wave.instruction.index in uses_of(wave.program).doubtful


class SharedMemory:
    """One region of shared memory for each of the B blocks of a wave: bytes (B, size)."""

    def __init__(self, blocks: int, size: int) -> None:
        self.size = size
        self.blocks = blocks
        # The bytes that wide loads may come to, though no instruction uses the last of them.
        self.reach = max(WIDEST, -(-size // WIDEST) * WIDEST)
        self._bytes = np.zeros((blocks, self.reach), np.uint8)
        self._views: dict = {}

    @property
    def contents(self) -> np.ndarray:
        """All bytes, (B, size or a little more)."""
        return self._bytes

    def view(self, dtype: np.dtype) -> np.ndarray:
        """All bytes as elements of a type, a row for each block."""
        view = self._views.get(dtype)
        if view is None:
            view = self._views[dtype] = self._bytes.view(dtype)
        return view

    def limits(self, wave) -> tuple[int, int]:
        """The bytes [start, stop) that the current instruction may access: of its array where it is known."""
        return wave.launch.shared_names.limits(wave.instruction.index) or (0, self.size)

    def where(self, wave, address: int) -> str:
        """An address in words."""
        name = wave.launch.shared_names.locate(wave.instruction.index, address)[2]
        return name if name.startswith("byte") else f"byte {address} of shared memory, in {name}"

    def outside(self, wave, address: int) -> str:
        """Where an address outside the limits is, in words."""
        return wave.launch.shared_names.outside(wave.instruction.index, address, self.size)

    def advise(self, wave, address: int) -> str:
        """Of room that the launch gives, where the kernel may have such an array, and it is not known that another
        one is concerned."""
        arrays = wave.launch.shared_names.arrays
        if self.outside(wave, address).startswith("outside ") or (arrays and all(array.bytes for array in arrays)):
            return ""
        return "Dynamic shared memory has the size that shared_mem=… in the launch gives it."

    def load(self, wave, addresses, mask, dtype: np.dtype, count: int):
        """As GlobalMemory.load; addresses are byte offsets in the block's shared memory."""
        safe = private_addresses(wave, addresses, mask, dtype.itemsize * count, self, "read")
        view = self.view(dtype)
        index = safe // dtype.itemsize
        if np.ndim(index) == 0:
            return tuple(view[:, index + part : index + part + 1].copy() for part in range(count))
        if index.shape[0] == 1:
            return tuple(view.take(index[0] + part, axis=1) for part in range(count))
        index = index + (np.arange(self.blocks)[:, None] * view.shape[1])
        flat = view.reshape(-1)
        return tuple(flat.take(index + part) for part in range(count))

    def store(self, wave, addresses, mask, values) -> None:
        """As GlobalMemory.store."""
        dtype = np.dtype(values[0].dtype)
        private_addresses(wave, addresses, mask, dtype.itemsize * len(values), self, "wrote")
        view = self.view(dtype)
        index = np.asarray(addresses // dtype.itemsize)
        if mask is None and index.ndim == 2 and index.shape[0] == 1:
            for part, value in enumerate(values):
                view[:, index[0] + part] = value
            return
        shape = wave.shape
        index = np.broadcast_to(index + np.arange(self.blocks)[:, None] * view.shape[1], shape)
        flat = view.reshape(-1)
        if mask is not None:
            mask = np.broadcast_to(mask, shape)
            index = index[mask]
        for part, value in enumerate(values):
            value = np.broadcast_to(value, shape)
            flat[index + part] = value if mask is None else value[mask]

    def check(self, wave, addresses, mask, width: int, verb: str) -> None:
        """As GlobalMemory.check."""
        private_addresses(wave, addresses, mask, width, self, verb)

    def cells(self, addresses, dtype: np.dtype, block_of):
        """As GlobalMemory.cells; `block_of` is each address's block."""
        view = self.view(dtype)
        yield view.reshape(-1), addresses // dtype.itemsize + block_of * view.shape[1], slice(None)


class LocalMemory:
    """Private memory of each thread, interleaved by 4-byte words as the hardware does: words (size / 4, B, T)."""

    title = "its local memory"
    # The stack grows towards 0.
    advice_below = (
        "If functions call themselves: does that end, and is it not too deep? A GPU's stack can be made "
        "larger (cudaLimitStackSize), the simulator's cannot: recurse less deep, or keep your own in an array."
    )

    def __init__(self, shape: tuple[int, int], size: int, reserve: int = 0) -> None:
        self.size = self.reach = size
        self.reserve = reserve  # bytes at the start, which only functions that call themselves come to use
        self._words = np.zeros((max(1, -(-size // 4)), *shape), np.int32)
        self._written: np.ndarray | None = None  # by byte, while it is watched

    @property
    def contents(self) -> np.ndarray:
        """All words, (size / 4, B, T)."""
        return self._words

    def limits(self, wave) -> tuple[int, int]:
        """As SharedMemory.limits."""
        return wave.launch.local_arrays.limits(wave.instruction.index) or (0, self.size)

    def where(self, wave, address: int) -> str:
        """As SharedMemory.where."""
        return f"byte {address} of {self.title}"

    def outside(self, wave, address: int) -> str:
        """As SharedMemory.outside; beyond the end it is the kernel's own variables that are counted in."""
        if text := wave.launch.local_arrays.outside(wave.program, wave.instruction, address):
            return text
        address = _below_zero(address)
        skipped = self.reserve if address >= self.size else 0
        return f"at byte {address - skipped} of {self.title}, which has {self.size - skipped} bytes"

    def advise(self, wave, address: int) -> str:
        """As SharedMemory.advise."""
        is_deep = _below_zero(address) < 0 and wave.launch.local_arrays.limits(wave.instruction.index) is None
        return self.advice_below if is_deep else ""

    def never_written(self, addresses, mask, width: int) -> np.ndarray:
        """The active threads that read a byte which they have not written, bool (blocks, threads)."""
        written, places = self._bytes(addresses, width)
        missing = ~written[places].all(axis=0)
        return missing if mask is None else missing & mask

    def note_written(self, addresses, mask, width: int) -> None:
        """The active threads have written these bytes."""
        written, (byte, *thread) = self._bytes(addresses, width)
        lanes = np.broadcast_to(True if mask is None else mask, self._words.shape[1:])
        written[byte[:, lanes], *(np.broadcast_to(index, lanes.shape)[lanes] for index in thread)] = True

    def _bytes(self, addresses, width: int):
        """(what is written, the index of these bytes in it)."""
        shape = self._words.shape[1:]
        if self._written is None:
            self._written = np.zeros((self._words.shape[0] * 4, *shape), bool)
        byte = np.clip(np.broadcast_to(addresses, shape), 0, self._written.shape[0] - width)
        rows, columns = np.arange(shape[0])[:, None], np.arange(shape[1])[None, :]
        return self._written, (byte + np.arange(width)[:, None, None], rows, columns)

    def _word(self, index):
        if np.ndim(index) == 0:
            return self._words[int(index)].copy()
        shape = self._words.shape[1:]
        lanes = np.arange(shape[0] * shape[1]).reshape(shape)
        return self._words.reshape(-1).take(index * lanes.size + lanes)

    def load(self, wave, addresses, mask, dtype: np.dtype, count: int):
        """As GlobalMemory.load; addresses are byte offsets in the thread's local memory."""
        safe = private_addresses(wave, addresses, mask, dtype.itemsize * count, self, "read")
        results = []
        for part in range(count):
            address = safe + part * dtype.itemsize
            low = self._word(address >> 2)
            if dtype.itemsize == 8:
                high = self._word((address >> 2) + 1)
                both = (low.astype(np.int64) & 0xFFFFFFFF) | (high.astype(np.int64) << 32)
                results.append(both.view(dtype))
            elif dtype.itemsize == 4:
                results.append(low.view(dtype))
            else:
                shifted = low >> ((address & 3) * 8).astype(np.int32)
                results.append(shifted.astype(SAME_BITS[dtype.itemsize]).view(dtype))
        return tuple(results)

    def check(self, wave, addresses, mask, width: int, verb: str) -> None:
        """As GlobalMemory.check."""
        private_addresses(wave, addresses, mask, width, self, verb)

    def _put(self, index, mask, word) -> None:
        shape = self._words.shape[1:]
        if np.ndim(index) == 0:
            target = self._words[int(index)]
            if mask is None:
                target[...] = word
            else:
                np.copyto(target, word, where=mask)
            return
        lanes = np.arange(shape[0] * shape[1]).reshape(shape)
        flat = np.broadcast_to(index * lanes.size + lanes, shape)
        word = np.broadcast_to(word, shape)
        if mask is not None:
            mask = np.broadcast_to(mask, shape)
            flat, word = flat[mask], word[mask]
        self._words.reshape(-1)[flat] = word

    def store(self, wave, addresses, mask, values) -> None:
        """As GlobalMemory.store."""
        dtype = np.dtype(values[0].dtype)
        safe = private_addresses(wave, addresses, mask, dtype.itemsize * len(values), self, "wrote")
        for part, value in enumerate(values):
            address = safe + part * dtype.itemsize
            value = value.view(SAME_BITS[dtype.itemsize])
            if dtype.itemsize == 8:
                self._put(address >> 2, mask, value.astype(np.int32))
                self._put((address >> 2) + 1, mask, (value >> 32).astype(np.int32))
            elif dtype.itemsize == 4:
                self._put(address >> 2, mask, value)
            else:
                shift = ((address & 3) * 8).astype(np.int32)
                bits = np.int32((1 << 8 * dtype.itemsize) - 1)
                old = self._word(address >> 2)
                new = (old & ~(bits << shift)) | ((value.astype(np.int32) & bits) << shift)
                self._put(address >> 2, mask, new)


def _below_zero(address: int) -> int:
    """An address of local memory with its sign, where it was computed in 32 bits."""
    return address - (1 << 32) if 1 << 31 <= address < 1 << 32 else address


def lane_name(block: tuple[int, int, int], thread: tuple[int, int, int]) -> str:
    """'thread (3, 0, 0) of block (1, 2, 0)'."""
    return f"thread {coordinates(thread)} of block {coordinates(block)}"


def product(values) -> int:
    """The product of a few integers."""
    return prod(map(int, values))
