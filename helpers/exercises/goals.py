"""Counter goals: an exercise is done when a counter of the simulated launch is low enough."""

from __future__ import annotations

from collections.abc import Sequence

from gemm_kernels import Kernel
from helpers.draw import theme
from helpers.exercises.answers import Verdict
from helpers.explore import launches
from helpers.simulator.errors import SimulatorError

WIDTH = 1024  # columns of the matrices on which a block shape is judged
MEASURED_AT = 2048


def check_block(kernel: Kernel, block: tuple[int, int], at_most: float, start: tuple[int, int]) -> Verdict:
    """Does this kernel, launched with this block, cost at most so many sectors a load request?

    start: the block that the exercise began with; it is answered with what it costs, not with a cross.
    """
    if not isinstance(block, Sequence) or len(block) != 2 or any(not isinstance(b, int) or b < 1 for b in block):
        return Verdict(False, f"A block here is (x, y) with two whole numbers of at least 1, not {block!r}.")
    if block[0] * block[1] < 32:
        threads = block[0] * block[1]
        return Verdict(
            False, f"{theme.plural(threads, 'thread')} leave {32 - threads} lanes of the warp idle: use 32 or more."
        )
    try:
        shape = launches.block_shape(kernel, block, WIDTH, speed_at=MEASURED_AT)
    except SimulatorError as error:
        return Verdict(False, str(error))
    mean = theme.thousands(shape.sectors_per_request, 1)
    cost = f"{kernel.name} with block {shape.label} costs {mean} sectors a request"
    if shape.gflops is not None:
        cost += f" and reached {theme.thousands(shape.gflops)} GFLOPS at {theme.thousands(MEASURED_AT)}³ when recorded"
    goal = f"the goal is at most {at_most:g}"
    if shape.sectors_per_request <= at_most:
        return Verdict(True, f"{cost}: {goal}, done.")
    if tuple(block) == tuple(start):
        return Verdict(None, f"{cost}; {goal}. Change block and run the cell again.")
    return Verdict(False, f"{cost}; {goal}.")
