"""Tensor cores in SASS: matrices from shared memory into the registers of a warp, and their products."""

import numpy as np

from helpers.compiler import sass
from helpers.simulator.arithmetic import tensor_core
from helpers.simulator.engine import accesses
from helpers.simulator.engine.observers import Access
from helpers.simulator.errors import Unknown
from helpers.simulator.frontends.rules import Effect
from helpers.simulator.frontends.sass.memory import address_of
from helpers.simulator.frontends.sass.operands import I4, U4, Operands, address_operand, chosen, exactly


def load_matrix(t: Operands, s: sass.Statement) -> Effect:
    """LDSM.16.M88.{1,2,4}, .MT88 (transposed): 8 × 8 matrices of 16-bit elements, a row of 16 bytes at each address.

    Lane i names row i % 8 of matrix i // 8, and receives from each matrix row i // 4, elements 2 · (i % 4) and the
    next one. PTX ISA, 'ldmatrix'.
    """
    destination, place = exactly(s, 2)
    count = chosen(s, {"1": 1, "2": 2, "4": 4}, 1)
    transposed = s.has("MT88")
    if not transposed and not s.has("M88"):
        raise Unknown("the matrix shape")
    address = address_of(t, address_operand(place), t.space)
    lane = np.arange(32)
    column, row = lane // 4, 2 * (lane % 4)

    def execute(wave, registers, mask):
        rows = accesses.by_warp(wave, address(registers))
        active = accesses.active_lanes(wave, mask)
        results = []
        for matrix in range(count):
            first = 8 * matrix
            if transposed:
                low = _shared(wave, rows[..., first + row] + 2 * column, active, np.uint16)
                high = _shared(wave, rows[..., first + row + 1] + 2 * column, active, np.uint16)
                results.append((low.astype(U4) | (high.astype(U4) << np.uint32(16))).view(I4))
            else:
                results.append(_shared(wave, rows[..., first + column] + 2 * row, active, np.int32))
        if wave.observers is not None:
            named = accesses.by_thread(wave, active & (lane < 8 * count))
            wave.observers.tell(Access(wave, "shared", "ldsm", 16, accesses.by_thread(wave, rows), named))
        return tuple(results)

    return Effect(t.targets(destination, count), execute, loads_shared=True)


def _shared(wave, addresses, active, dtype):
    """One element of shared memory for every lane, (B, T)."""
    places, lanes = accesses.by_thread(wave, addresses), accesses.by_thread(wave, active)
    (values,) = wave.shared.load(wave, places, lanes, np.dtype(dtype), 1)
    return np.broadcast_to(values, wave.shape)


def transpose_matrix(t: Operands, s: sass.Statement) -> Effect:
    """MOVM.16.MT88 d, a: an 8 × 8 matrix of 16-bit elements, of which a lane holds two, transposed.

    Lane i holds of row i // 4 elements 2 · (i % 4) and the next one. PTX ISA, 'movmatrix'.
    """
    destination, a = exactly(s, 2)
    if not s.has("MT88"):
        raise Unknown("the matrix shape")
    value, lane = t.read(a, U4), np.arange(32)
    row, column = lane // 4, 2 * (lane % 4)

    def execute(wave, registers, mask):
        held = accesses.by_warp(wave, value(registers))
        # Element (row, column) comes from element (column, row), which lane 4 · column + row // 2 holds.
        shift = (16 * (row % 2)).astype(U4)
        low, high = ((held[..., 4 * (column + part) + row // 2] >> shift) & np.uint32(0xFFFF) for part in (0, 1))
        return (accesses.by_thread(wave, (low | (high << np.uint32(16))).view(I4)),)

    return Effect((t.target(destination),), execute)


def multiply_matrices(t: Operands, s: sass.Statement) -> Effect:
    """HMMA.{16816,1688}.{F32,F16}{.BF16,.TF32} d, a, b, c: d = a · b + c by a warp. See `tensor_core`."""
    destination, a, b, c = exactly(s, 4)
    form = tensor_core.form(s.opcode[1:])
    registers_of = lambda operand, count: [t.read(operand, U4, i) for i in range(count)]  # noqa: E731
    sources = [
        registers_of(operand, count)
        for operand, count in zip((a, b, c), (form.a_registers, form.b_registers, form.c_registers), strict=True)
    ]
    terms = tensor_core.terms_at_once(t.arch, form)

    def execute(wave, registers, mask):
        parts = [[accesses.by_warp(wave, reader(registers)) for reader in readers] for readers in sources]
        results = tensor_core.multiply(form, *parts, terms)
        return tuple(accesses.by_thread(wave, result) for result in results)

    return Effect(t.targets(destination, form.c_registers), execute)
