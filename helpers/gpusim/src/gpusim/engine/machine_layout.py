"""The structures of the compiled engine as Python fills them in, and the library itself.

Layouts are those of `helpers/gpusim/src/gpusim/native/engine/machine.h`; their sizes are compared when the library is
loaded.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gpusim import native
from gpusim.counters.recorded import QUANTITIES
from gpusim.devices import WARP

if TYPE_CHECKING:
    from gpusim.isa.decoded import Decoded

SPACES = ("global", "shared", "local", "cluster")


def _struct(*fields: tuple) -> np.dtype:
    return np.dtype([field for field in fields], align=True)


def _packed(layout: np.dtype) -> struct.Struct:
    """The same as bytes are packed of one value after the other: in half the time that NumPy takes for a tuple."""
    letters = {"i8": "q", "i4": "i", "u4": "I", "u2": "H", "u1": "B"}
    form, end = "=", 0
    for field, offset in layout.fields.values():
        item, shape = field.subdtype or (field, (1,))
        form += f"{offset - end}x{shape[0]}{letters[item.str[1:]]}"
        end = offset + field.itemsize
    return struct.Struct(f"{form}{layout.itemsize - end}x")


INSTRUCTION = _struct(
    ("offset", "i8"), ("operation", "i4"), ("kind", "i4"), ("d", "i4"), ("source", "i4", 4), ("number", "i4", 4),
    ("flags", "u4"), ("target", "i4"), ("block", "i4"), ("length", "i4"), ("memory", "i4"), ("index", "i4"),
    ("mode", "u2", 4), ("width", "u1", 4), ("d_width", "u1"), ("guard", "u1"), ("p_out", "u1", 2), ("p_in", "u1", 3),
    ("uniform", "u1"), ("strong", "u1"), ("is_strong", "u1"), ("is_beyond", "u1"),
    ("is_observed", "u1"), ("is_vote", "u1"), ("for_voters", "u1"), ("block_scope", "u1"), ("spare", "u1"),
)  # fmt: skip
PACKED = _packed(INSTRUCTION)
ALLOCATION = _struct(
    ("base", "u8"), ("end", "u8"), ("write_base", "u8"), ("write_end", "u8"), ("bytes", "u8"), ("unwritten", "u8"),
    ("item", "u8"), ("writable", "i4"), ("watched", "i4"),
)  # fmt: skip
TRACE = _struct(
    ("block", "i8"), ("instruction", "i4"), ("warp", "i4"), ("space", "i4"), ("allocation", "i4"), ("active", "u4"),
    ("times", "u4"), ("first", "i8"), ("shape", "i8"),
)  # fmt: skip
SHAPE = _struct(("distance", "i8", WARP))
PATTERN = _struct(
    ("relative", "u4", WARP), ("active", "u4"), ("kind", "u4"), ("slot", "i4"), ("lowest", "i4"), ("highest", "i4"),
    ("bits", "u4"), ("form", "i4"), ("leaders", "u4"), ("times", "i8"), ("shape", "i8"),
    ("sums", "i8", len(QUANTITIES)),
)  # fmt: skip
WAITER = _struct(
    ("block", "i8"), ("address", "i8"), ("warp", "i4"), ("waits", "i4"), ("instruction", "i4"), ("space", "i4"),
    ("mask", "u4"), ("spare", "u4"),
)  # fmt: skip

GLOBAL_WORD = _struct(("writer", "u4"), ("reader", "u4"))
TIMES = _struct(("written", "u4"), ("read", "u4"))
OTHERS = _struct(*((name, "u4") for name in ("near", "near_written", "far", "far_written", "plain", "plainly_written",
                                             "observer", "observed")))  # fmt: skip
LINE_BYTES = 128
GLOBAL_LINE = _struct(
    ("writer", "u4"), ("reader", "u4"), ("written", "u4"), ("read", "u4"), ("bytes_written", "u1"),
    ("bytes_read", "u1"), ("is_split", "u1"), ("has_others", "u1"),
)  # fmt: skip
REGISTERS, MOST_WARPS = 256, 32
REGISTER_USE = _struct(
    ("reads", "u8", REGISTERS // 64), ("writes", "u8", REGISTERS // 64), ("may_go_unused", "u4"), ("copied", "u4"),
    ("role", "u4"), ("spare", "u4"),
)  # fmt: skip
IMAGE = _struct(
    ("bytes", "u8"), ("pitch", "i8"), ("handle", "u4"), ("outside", "u4", 4), ("size", "i4", 3), ("dims", "i4"),
    ("channels", "i4"), ("channel_bytes", "i4"), ("is_signed", "i4"), ("is_float", "i4"), ("layered", "i4"),
    ("is_buffer", "i4"), ("is_surface", "i4"), ("mode", "i4", 3), ("linear", "i4"), ("normalized", "i4"),
    ("fractions", "i4"), ("spare", "i4"),
)  # fmt: skip


class CLaunch(ctypes.Structure):
    """`Launch` of machine.h."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("code", "constants", "allocations", "jumps", "banks", "limits",
                                               "block_ids", "traced", "uses", "images", "shared_arrays")),
        ("blocks", ctypes.c_int64), ("most_steps", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in ("instructions", "rows", "allocation_count", "basic_blocks",
                                              "memory_instructions")),
        ("grid", ctypes.c_int32 * 3), ("size", ctypes.c_int32 * 3),
        *((name, ctypes.c_int32) for name in ("threads", "shared_bytes", "shared_base", "local_bytes",
                                              "dynamic_shared_bytes", "counting", "checking", "together",
                                              "shared_granule",
                                              "global_granule", "cluster_blocks", "image_count", "fences",
                                              "shared_array_count", "copies_in_bulk", "partial_barriers",
                                              "phases_are_found", "meets_anywhere", "stack",
                                              "origin")),
    ]  # fmt: skip


class CResults(ctypes.Structure):
    """`Results` of machine.h."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("block_warps", "block_lanes", "guarded", "requests")),
        ("accesses", ctypes.c_int64 * len(SPACES)), ("barriers", ctypes.c_int64), ("copies", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("patterns", "counted", "lines", "watched", "times", "others",
                                               "released_by_threads", "acquired", "acquired_by_warps", "releasable",
                                               "releasable_by_warps", "clocks_of_shared_variables",
                                               "clocks_of_variables", "traces", "shapes")),
        *((name, ctypes.c_int64) for name in ("trace_count", "trace_room", "shape_count", "shape_room")),
        ("fault_block", ctypes.c_int64), ("fault_address", ctypes.c_int64),
        ("changes", ctypes.c_int64), ("waiters", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("progress", "seen_progress", "quiet", "in_vain", "horizon",
                                              "seen_horizon", "reader", "changed_at", "shown")),
        ("now", ctypes.c_uint32), ("fenced", ctypes.c_uint32), ("waiter_count", ctypes.c_int32),
        ("waiter_room", ctypes.c_int32), ("fault", ctypes.c_int32), ("fault_instruction", ctypes.c_int32),
        ("fault_thread", ctypes.c_int32), ("turns_left", ctypes.c_int32), ("partings", ctypes.c_int32),
        ("is_timed", ctypes.c_int32), ("apart", ctypes.c_int64), ("apart_block", ctypes.c_int64),
        ("apart_at", ctypes.c_int32 * MOST_WARPS),
        ("execution", ctypes.c_void_p),
    ]  # fmt: skip


def pack(
    decoded: Decoded, d: int, operation: int, index: int = 0, block: int = -1, length: int = 0, memory: int = -1
) -> bytes:
    """A decoded instruction as the C program reads it: an `INSTRUCTION`.

    d: the first row that it writes.  block, length: the basic block that it begins, and how many instructions that has.
    memory: its row among requests.
    """
    rows, counts = decoded.source, decoded.counts
    return PACKED.pack(
        decoded.offset, operation, decoded.kind, d,
        rows[0] if counts[0] else -1, rows[1] if counts[1] else -1,
        rows[2] if counts[2] else -1, rows[3] if counts[3] else -1,
        *decoded.number, decoded.flags, decoded.target, block, length, memory, index,
        *decoded.mode, *decoded.width, decoded.d_width, decoded.guard,
        *decoded.p_out, *decoded.p_in, decoded.uniform, decoded.strong, decoded.is_strong, 0, 0, 0, 0,
        decoded.block_scope, 0,
    )  # fmt: skip


@cache
def library() -> ctypes.CDLL | None:
    """The C program, None where it cannot be used."""
    try:
        loaded = native.load("engine")
    except native.NoLibrary:
        return None
    loaded.operation_name.restype = ctypes.c_char_p
    loaded.accesses_of.restype = ctypes.c_int64
    sizes = (INSTRUCTION.itemsize, ctypes.sizeof(CLaunch), ctypes.sizeof(CResults), ALLOCATION.itemsize, TRACE.itemsize,
             PATTERN.itemsize, WAITER.itemsize, GLOBAL_WORD.itemsize, REGISTER_USE.itemsize,
             TIMES.itemsize, IMAGE.itemsize, GLOBAL_LINE.itemsize, SHAPE.itemsize, OTHERS.itemsize)  # fmt: skip
    assert sizes == tuple(loaded.size_of(which) for which in range(len(sizes))), (
        "machine.h and machine_layout.py differ"
    )
    return loaded


@cache
def operations() -> dict[str, int]:
    """The numbers of the operations by name."""
    names: dict[str, int] = {}
    program = native.load("engine", optional=False)
    program.operation_name.restype = ctypes.c_char_p
    while (name := program.operation_name(len(names))) is not None:
        names[name.decode()] = len(names)
    return names


def aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Zeros at an address that is a multiple of 128 bytes, as registers of warps want it."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % 128
    return raw[start : start + size].view(dtype).reshape(shape)


def sparse(count: int, dtype: np.dtype) -> np.ndarray:
    """Zeros of which most may never be looked at. (NumPy asks for huge pages: each touch would clear 2 MiB.)"""
    return np.frombuffer(mmap.mmap(-1, count * dtype.itemsize), dtype)
