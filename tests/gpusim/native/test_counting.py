"""Requests counted by the compiled engine and by recording/counting.py: the same numbers."""

import ctypes

import numpy as np
import pytest

from gpusim import native
from gpusim.counters import counting
from gpusim.counters.recorded import QUANTITIES, Counts

GLOBAL, GLOBAL_COPY, SHARED_LOAD, SHARED_OTHER, SHARED_COPY = range(5)
ROWS = 400


def counted(kind: int, addresses: np.ndarray, origin: np.ndarray, active: np.ndarray, width: int) -> Counts:
    """By the compiled engine."""
    sums = np.zeros(len(QUANTITIES), np.int64)
    bits = np.packbits(active, axis=1, bitorder="little").view(np.uint32).reshape(-1)
    pointers = (ctypes.c_void_p(array.ctypes.data) for array in (addresses, origin, bits, sums))
    native.load("engine").count_requests(kind, width, ctypes.c_int64(len(addresses)), *pointers)
    return Counts(*sums.tolist())


def expected(kind: int, addresses: np.ndarray, origin: np.ndarray, active: np.ndarray, width: int) -> Counts:
    """By NumPy."""
    some = active.any(axis=1)
    addresses, origin, active = addresses[some], origin[some], active[some]
    counts = Counts(requests=len(active), lanes=int(active.sum()))
    if kind in (GLOBAL, GLOBAL_COPY):
        useful = counting.useful_bytes(addresses, active, width)
        counts.sectors = int(counting.sectors(addresses, active, width).sum())
        counts.tags = int(counting.tags(addresses, active, width, kind == GLOBAL_COPY).sum())
        counts.useful_bytes, counts.ideal_sectors = int(useful.sum()), int((-(-useful // 32)).sum())
        return counts
    counts.wavefronts = int(counting.wavefronts(addresses, active, width, stores=kind != SHARED_LOAD).sum())
    counts.ideal_wavefronts = int(counting.ideal_wavefronts(active, width).sum())
    if kind == SHARED_LOAD:
        counts.uncertain = len(active) - int(counting.is_certain(addresses, active, width).sum())
    if kind == SHARED_COPY:
        counts.copy_wavefronts = int(counting.copy_wavefronts(addresses, origin, active, width).sum())
    return counts


def patterns(width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Addresses (ROWS, 32) and active lanes: scattered, strided, in neighbours' places, all the same, tails, holes."""
    lane = np.arange(32)
    rows = [rng.integers(0, 64, 32), rng.integers(0, 4096, 32), lane * rng.integers(1, 40), lane // 2 * 3, lane // 4,
            lane ^ 1, lane % 8, np.full(32, 7), (lane >> 1) * 32, lane % 4 * 33]  # fmt: skip
    masks = [np.ones(32, bool), lane < 5, lane >= 16, lane % 2 == 0, rng.random(32) < 0.7, lane == 31,
             (lane != 3), np.zeros(32, bool)]  # fmt: skip
    picked = rng.integers(0, len(rows), ROWS), rng.integers(0, len(masks), ROWS)
    addresses = np.array([rows[i] + rng.integers(0, 64) for i in picked[0]], np.int64) * width
    return addresses, np.array([masks[i] for i in picked[1]])


@pytest.mark.parametrize("width", counting.WIDTHS)
@pytest.mark.parametrize("kind", [GLOBAL, GLOBAL_COPY, SHARED_LOAD, SHARED_OTHER, SHARED_COPY])
def test_the_compiled_engine_counts_a_request_as_numpy_does(kind, width):
    rng = np.random.default_rng(32 * kind + width)
    for _ in range(4):
        addresses, active = patterns(width, rng)
        origin, _ = patterns(width, rng)
        for row in range(ROWS):
            one = tuple(np.ascontiguousarray(array[row : row + 1]) for array in (addresses, origin, active))
            assert counted(kind, *one, width) == expected(kind, *one, width)
        assert counted(kind, addresses, origin, active, width) == expected(kind, addresses, origin, active, width)
