"""Many fused multiply-adds as one NumPy operation.

A register tile of 8 × 8 is 64 independent multiply-adds in a row. On a small wave each costs more in calling NumPy than
in arithmetic, so that neighbours that do not depend on each other are stacked and computed together.
"""

from collections.abc import Callable, Sequence

import numpy as np

from helpers.simulator.arithmetic.float32 import fma_ftz, fma_of_normals
from helpers.simulator.engine.ir import Instruction, Registers

BATCH_LANES = 16384  # beyond, arithmetic is most of the time and stacking only copies


def gather(instructions: Sequence[Instruction]) -> list[Instruction | list[Instruction]]:
    """The instructions in an order of the same meaning, with runs of independent multiply-adds as lists.

    A multiply-add may wait for later ones until somebody reads or writes its result, or writes one of its operands.
    """
    ordered: list[Instruction | list[Instruction]] = []
    waiting: list[Instruction] = []
    results: set[int] = set()
    operands: set[int] = set()

    def flush() -> None:
        if waiting:
            ordered.append(list(waiting) if len(waiting) > 1 else waiting[0])
            waiting.clear()
            results.clear()
            operands.clear()

    for instruction in instructions:
        touched = {*instruction.reads, *(slot for slot in instruction.writes if slot is not None)}
        if instruction.guard is not None:
            touched.add(instruction.guard[0])
        if touched & results or operands.intersection(instruction.writes):
            flush()
        if instruction.fma is not None and instruction.guard is None:
            waiting.append(instruction)
            results.update(instruction.writes)
            operands.update(instruction.reads)
        else:
            ordered.append(instruction)
    flush()
    return ordered


def batch_steps(batch: Sequence[Instruction], keep: frozenset[int], put: Callable):
    """The two forms of a batch for the engine: for all threads together, and for some under the wave's mask."""
    readers = [instruction.fma for instruction in batch]
    targets = [instruction.writes[0] for instruction in batch]
    kept = [target in keep for target in targets]

    def plain(wave, registers):
        for target, value in zip(targets, _compute(wave, registers, readers), strict=True):
            registers[target] = value

    def masked(wave, registers):
        for target, keeps, value in zip(targets, kept, _compute(wave, registers, readers), strict=True):
            if keeps:
                put(registers, target, wave.mask, value)
            else:
                registers[target] = value

    return plain, masked


def _compute(wave, registers: Registers, readers) -> list[np.ndarray]:
    """The results of all multiply-adds of a batch, in order."""
    values = [(a(registers), b(registers), c(registers)) for a, b, c in readers]
    function = fma_ftz if registers.subnormal else fma_of_normals
    together = BATCH_LANES // (wave.shape[0] * wave.shape[1])
    full = wave.shape
    if together < 2 or not all(a.shape == full or b.shape == full or c.shape == full for a, b, c in values):
        return [function(*operands) for operands in values]
    results: list[np.ndarray] = []
    for first in range(0, len(values), together):
        some = values[first : first + together]
        stacked = np.empty((3, len(some), *full), np.float32)
        for row, operands in enumerate(some):
            for which, operand in enumerate(operands):
                stacked[which, row] = operand
        results.extend(function(*stacked))
    return results
