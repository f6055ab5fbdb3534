"""Neighbours that compute, put together to runs that the C program executes at once.

On a small wave calling it costs more than what it does.
"""

from collections.abc import Callable, Sequence

from gpusim.engine.ir import Instruction
from gpusim.engine.lanewise import MOST_TOGETHER, Run


def gather(instructions: Sequence[Instruction]) -> list[Instruction | list[Instruction]]:
    """The instructions in an order of the same meaning, with runs of what computes as lists.

    Such an instruction may wait for later ones until an instruction of another kind reads or writes its result, or
    writes one of its operands.
    """
    ordered: list[Instruction | list[Instruction]] = []
    waiting: list[Instruction] = []
    results: set[int] = set()
    operands: set[int] = set()

    def flush() -> None:
        if waiting:
            ordered.append(list(waiting))
            waiting.clear()
            results.clear()
            operands.clear()

    for instruction in instructions:
        if instruction.computation is not None and instruction.guard is None and instruction.chooses is None:
            if len(waiting) == MOST_TOGETHER:
                flush()
            waiting.append(instruction)
            results.update(instruction.writes)
            operands.update(instruction.reads)
            continue
        touched = {*instruction.reads, *(slot for slot in instruction.writes if slot is not None)}
        if instruction.guard is not None:
            touched.add(instruction.guard[0])
        if touched & results or operands.intersection(instruction.writes):
            flush()
        ordered.append(instruction)
    flush()
    return ordered


def run_steps(instructions: Sequence[Instruction], keep: frozenset[int], put: Callable):
    """The two forms of a run for the engine: for all threads together, and for some under the wave's mask."""
    run = Run([instruction.computation for instruction in instructions])
    kept = [slot in keep for slot in run.outputs]
    uniform = frozenset().union(*(instruction.uniform for instruction in instructions))

    def plain(wave, registers):
        run.execute(registers)

    def masked(wave, registers):
        for slot, keeps, value in zip(run.outputs, kept, run.values(registers), strict=True):
            if not keeps:
                registers[slot] = value
                continue
            mask = wave.uniform_mask(wave.mask, wave.mask) if slot in uniform else wave.mask
            if mask is None:
                registers[slot] = value
            else:
                put(registers, slot, mask, value)

    return plain, masked
