"""Matrices of 8 × 8 elements of 16 bits between shared memory and the registers of a warp: ldmatrix and its neighbours.

Lane i holds of a matrix row i / 4, elements 2 · (i % 4) and the next one, or of a transposed one the same places in a
column; lane i names row i % 8 of matrix i / 8 by the address of its 16 bytes. PTX ISA, 'ldmatrix', 'stmatrix' and
'movmatrix'. Each function builds the `execute(wave, registers, mask)` of one instruction.
"""

from collections.abc import Sequence

import numpy as np

from gpusim.engine import accesses
from gpusim.engine.accesses import Reader
from gpusim.engine.observers import Access

LANE = np.arange(32)
HALF = np.uint32(0xFFFF)
ROW_BYTES = 16


def load(count: int, transposed: bool, address: Reader):
    """`count` registers, int32, from `count` matrices in shared memory."""

    def execute(wave, registers, mask):
        rows = accesses.by_warp(wave, address(registers))
        active = accesses.active_lanes(wave, mask)
        places = accesses.by_thread(wave, rows)
        named = accesses.by_thread(wave, active & (8 * count > LANE))
        wave.shared.check(wave, places, named, ROW_BYTES, "read")
        results = []
        for matrix in range(count):
            first, outer, inner = 8 * matrix, LANE // 4, 2 * (LANE % 4)
            if transposed:
                low, high = (
                    _read(wave, rows[..., first + inner + part] + 2 * outer, active, np.uint16) for part in (0, 1)
                )
                results.append((low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))).view(np.int32))
            else:
                results.append(_read(wave, rows[..., first + outer] + 2 * inner, active, np.int32))
        accesses.take_time(wave, "shared", mask)
        if wave.observers is not None:
            wave.observers.tell(Access(wave, "shared", "ldsm", ROW_BYTES, places, named))
        return tuple(results)

    return execute


def _read(wave, addresses, active, dtype):
    """One element of shared memory for every lane, (B, T)."""
    places, lanes = accesses.by_thread(wave, addresses), accesses.by_thread(wave, active)
    (values,) = wave.shared.load(wave, places, lanes, np.dtype(dtype), 1)
    return np.broadcast_to(values, wave.shape)


def store(transposed: bool, address: Reader, values: Sequence[Reader]):
    """A register of each matrix to shared memory: the lanes that name rows write them whole, 16 bytes each."""
    count = len(values)
    matrix, row = LANE // 8 % count, LANE % 8

    def execute(wave, registers, mask):
        held = np.stack([accesses.by_warp(wave, value(registers)).view(np.uint32) for value in values], axis=-2)
        if transposed:  # element (row, column) is a half of what lane 4 · column + row / 2 holds
            holders = 4 * np.arange(8) + row[:, None] // 2
            halves = held[..., matrix[:, None], holders] >> (16 * (row % 2)).astype(np.uint32)[:, None] & HALF
            words = halves[..., 0::2] | halves[..., 1::2] << np.uint32(16)
        else:
            words = held[..., matrix[:, None], 4 * row[:, None] + np.arange(4)]
        named = accesses.by_thread(wave, accesses.active_lanes(wave, mask) & (8 * count > LANE))
        items = tuple(accesses.by_thread(wave, words[..., part].view(np.int32)) for part in range(4))
        places = address(registers)
        wave.shared.store(wave, places, named, items)
        if wave.observers is not None:
            wave.observers.tell(Access(wave, "shared", "stsm", 16, places, named, items))

    return execute
