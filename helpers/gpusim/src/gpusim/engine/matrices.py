"""Matrices of 8 × 8 elements of 16 bits between shared memory and the registers of a warp: ldmatrix and its neighbours.

Lane i holds of a matrix row i / 4, elements 2 · (i % 4) and the next one, or of a transposed one the same places in a
column; lane i names row i % 8 of matrix i / 8 by the address of its 16 bytes. PTX ISA, 'ldmatrix', 'stmatrix' and
'movmatrix'. Each function builds the `execute(wave, registers, mask)` of one instruction.
"""

from collections.abc import Sequence

import numpy as np

from gpusim.engine import accesses
from gpusim.engine.accesses import Reader
from gpusim.engine.memory import active_addresses, check_alignment
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
        check_alignment(wave, active_addresses(places, named), places, named, ROW_BYTES, wave.shared)
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


def transpose(value: Reader):
    """A matrix that lies in one register of each lane, transposed."""
    row, column = LANE // 4, 2 * (LANE % 4)

    def execute(wave, registers, mask):
        held = accesses.by_warp(wave, value(registers)).view(np.uint32)
        # Element (row, column) comes from element (column, row), which lane 4 · column + row / 2 holds.
        shift = (16 * (row % 2)).astype(np.uint32)
        low, high = ((held[..., 4 * (column + part) + row // 2] >> shift) & HALF for part in (0, 1))
        return (accesses.by_thread(wave, (low | (high << np.uint32(16))).view(np.int32)),)

    return execute


def widen(value: Reader):
    """An 8 × 32 matrix of 4-bit numbers, of which a lane holds eight of a row, as two of 8 × 16 bytes, of which lane i
    holds four as products want it: elements 4 · (i % 4) to 4 · (i % 4) + 3 of row i / 4."""
    column = 4 * (LANE % 4)

    def execute(wave, registers, mask):
        held = accesses.by_warp(wave, value(registers)).view(np.uint32)
        both = []
        for first in (column, column + 16):
            fours = held[..., LANE // 4 * 4 + first // 8] >> (first % 8 * 4).astype(np.uint32)
            bytes_ = (fours >> np.uint32(4 * part) & np.uint32(15) for part in range(4))
            word = sum(byte << np.uint32(8 * part) for part, byte in enumerate(bytes_))
            both.append(accesses.by_thread(wave, word.astype(np.uint32).view(np.int32)))
        return tuple(both)

    return execute


def multiply(product, sources: Sequence[Sequence[Reader]]):
    """The product of a warp: `product(a, b, c)` takes and returns lists of registers of 32 bits, (…, 32). Values of 64
    bits are two of them, and what the product returns in their place is float64."""

    def execute(wave, registers, mask):
        parts, wide = [], False
        for part in sources:
            words = []
            for reader in part:
                value = accesses.by_warp(wave, reader(registers))
                wide = value.dtype.itemsize == 8
                if wide:
                    words.extend(np.moveaxis(np.ascontiguousarray(value)[..., None].view(np.uint32), -1, 0))
                else:
                    words.append(value.view(np.uint32))
            parts.append(words)
        results = product(*parts)
        if wide:
            pairs = zip(results[0::2], results[1::2], strict=True)
            results = [np.stack(pair, axis=-1).view(np.float64)[..., 0] for pair in pairs]
        return tuple(accesses.by_thread(wave, result) for result in results)

    return execute
