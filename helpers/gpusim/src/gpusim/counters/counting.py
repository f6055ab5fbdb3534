"""What the memory system does for one warp-level request: sectors, tags and wavefronts.

A *request* is one memory instruction of one warp with at least one active lane. Each function takes W requests at once:

    addresses   (W, 32) int64   byte address of each lane's access, a multiple of `width`; ignored where inactive
    active      (W, 32) bool    the lanes that take part
    width       int             bytes that one lane accesses: 1, 2, 4, 8 or 16

and returns one int64 a request, shape (W,); a row without an active lane counts 0. Other widths and misaligned
addresses raise ValueError. The rules are Nsight Compute's, compared with its counters on an NVIDIA H200.
"""

import ctypes

import numpy as np

from gpusim import native
from gpusim.counters.recorded import QUANTITIES
from gpusim.devices import LINE_BYTES, SECTOR_BYTES, WARP

WIDTHS = (1, 2, 4, 8, 16)
GLOBAL, GLOBAL_COPY, SHARED_LOAD, SHARED, SHARED_COPY = range(5)  # kinds of requests, as in counting.c


def sectors(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """Distinct 32-byte sectors that each request touches: what global memory must deliver."""
    return _counted("sectors", GLOBAL, addresses, active, width)


def tags(addresses: np.ndarray, active: np.ndarray, width: int, asynchronous: bool = False) -> np.ndarray:
    """Distinct 128-byte lines that each request touches: the cache looks up one tag for each.

    An asynchronous copy of 16 bytes a lane looks them up quarter-warp by quarter-warp: a line that two of them touch
    counts twice.
    """
    return _counted("tags", GLOBAL_COPY if asynchronous else GLOBAL, addresses, active, width)


def useful_bytes(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """Distinct bytes that the lanes of each request ask for; a byte that many lanes share counts once."""
    return _counted("useful_bytes", GLOBAL, addresses, active, width)


def sector_ids(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """The sorted numbers (address // 32) of the sectors that the requests touch together, shape (distinct sectors,)."""
    _check(addresses, active, width)
    return np.unique(addresses[active] // SECTOR_BYTES)


def wavefronts(addresses: np.ndarray, active: np.ndarray, width: int, stores: bool = False) -> np.ndarray:
    """Wavefronts in which shared memory serves each request; `stores` tells stores and atomics from loads.

    A request is served in phases: one for the whole warp up to 32 bits a lane, one a half-warp at 64 bits, one a
    quarter-warp at 128 bits. A phase takes as many wavefronts as its busiest bank holds distinct words. Two phases of a
    load become one where neighbouring lanes share their addresses and the two together have no conflict.
    """
    return _counted("wavefronts", SHARED if stores else SHARED_LOAD, addresses, active, width)


def copy_wavefronts(
    to: np.ndarray, origin: np.ndarray, active: np.ndarray, width: int, reads: np.ndarray | None = None
) -> np.ndarray:
    """Wavefronts of asynchronous copies of `width` bytes a lane, from `origin` in global memory `to` shared memory.

    reads: (W, 32) bool, the lanes that read anything; the others write zeros. None: all active ones.
    """
    _check(origin, active if reads is None else active & reads, width)
    return _counted("copy_wavefronts", SHARED_COPY, to, active, width, origin, reads)


def ideal_wavefronts(active: np.ndarray, width: int) -> np.ndarray:
    """Wavefronts of each request if no two words met in a bank: its phases that have an active lane.

    That is 1, 2 or 4 for a full warp with 32, 64 or 128 bits a lane. Where neighbours share, `wavefronts` can be fewer.
    """
    return _counted("ideal_wavefronts", SHARED, np.zeros(active.shape, np.int64), active, width)


def bank_conflicts(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """Wavefronts beyond the first of each phase of each request: 0 when no bank holds two of the words."""
    return wavefronts(addresses, active, width, stores=True) - ideal_wavefronts(active, width)


def is_certain(addresses: np.ndarray, active: np.ndarray, width: int) -> np.ndarray:
    """Whether the wavefronts of each request, a load, follow a rule that never failed against the hardware.

    Of 128-bit loads of a warp with inactive lanes whose phases could merge, about one in a hundred differs.
    """
    return _counted("uncertain", SHARED_LOAD, addresses, active, width) == 0


def _counted(
    quantity: str, kind: int, addresses: np.ndarray, active: np.ndarray, width: int,
    origin: np.ndarray | None = None, reads: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """One of QUANTITIES of each request, by the C program that counts those of launches."""
    _check(addresses, active, width)
    taking_part, reading = _bits(active), _bits(active if reads is None else active & reads)
    places = [_of_warp(addresses if values is None else values, np.int64) for values in (addresses, origin)]
    counts = np.zeros((len(places[0]), len(QUANTITIES)), np.int64)
    arrays = (*places, taking_part, reading, counts)
    native.load("engine", optional=False).count_requests(
        kind, width, ctypes.c_int64(len(counts)), *(ctypes.c_void_p(array.ctypes.data) for array in arrays)
    )
    return counts[:, QUANTITIES.index(quantity)]


def _bits(active: np.ndarray) -> np.ndarray:
    """The lanes of each request as the bits of a number."""
    return np.packbits(_of_warp(active, bool), axis=1, bitorder="little").view(np.uint32).reshape(-1)


def _of_warp(values: np.ndarray, dtype: type) -> np.ndarray:
    """A value for each of 32 lanes; those that a request does not have are 0."""
    missing = WARP - values.shape[1]
    return np.ascontiguousarray(np.pad(values, ((0, 0), (0, missing))) if missing else values, dtype)


def bulk_sectors(address: int, shared: int, size: int) -> int:
    """The sectors of a copy in bulk of `size` bytes from or to byte `address` of global memory: those of each piece
    that lies in one line of shared memory, where byte `shared` is the first. So an H100 counts them."""
    cuts = [0, *range(LINE_BYTES - shared % LINE_BYTES, size, LINE_BYTES), size] if size else [0]
    return sum(
        (address + stop - 1) // SECTOR_BYTES - (address + start) // SECTOR_BYTES + 1
        for start, stop in zip(cuts, cuts[1:], strict=False)
    )


def _check(addresses: np.ndarray, active: np.ndarray, width: int) -> None:
    if width not in WIDTHS:
        raise ValueError(f"A lane accesses 1, 2, 4, 8 or 16 bytes at once, not {width}.")
    # One cheap pass decides the usual case; only a row with an odd address, perhaps an inactive lane's, is looked at.
    if np.bitwise_or.reduce(addresses, axis=None) & (width - 1) and ((addresses % width != 0) & active).any():
        row, lane = np.argwhere((addresses % width != 0) & active)[0]
        raise ValueError(
            f"Lane {lane} of request {row} accesses {width} bytes at byte address {addresses[row, lane]}, "
            f"which is no multiple of {width}: the hardware stops with 'misaligned address'."
        )
