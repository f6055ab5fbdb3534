"""What the simulator says when a kernel cannot run or goes wrong.

Every message is a sentence to a learner: what was found, where (source line, block, thread), what was expected and
what to try. A failed launch raises one of these and leaves the module, its kernels and all arrays usable.
"""

from gpusim.sentences import Sentence

GUARD = "Compare the index with the size before the access"  # how the advice to a thread without an element begins

BY_ALL_THREADS = (
    "__syncthreads() must be reached by all threads of the block: whether one comes there must not depend on the "
    "thread."
)

# Kinds of findings: `Finding.kind`.
SHARED_RACE, GLOBAL_RACE = "race in shared memory", "race in global memory"
UNWRITTEN_SHARED, UNWRITTEN_GLOBAL = "unwritten shared memory", "unwritten global memory"
UNWRITTEN_LOCAL, WARP_MASK = "unwritten local memory", "mask of a warp"
NEVER_SET = "variable that is never set"
ASYNC_COPY, BARRIERS = "asynchronous copy", "different barriers"


class SimulatorError(Sentence, Exception):
    """Base of all errors of the simulator."""


class ArgumentError(SimulatorError, TypeError):
    """A kernel was called with the wrong number or kind of arguments."""


class ArrayError(SimulatorError, ValueError, IndexError, TypeError):
    """An operation with arrays on the device that NumPy refuses: shapes, indices or types that do not fit."""


class LaunchError(SimulatorError, ValueError):
    """The grid, the block or the shared memory of a launch is outside the limits of the GPU."""


class UnsupportedInstruction(SimulatorError, NotImplementedError):
    """The kernel contains an instruction that the simulator does not model."""


def in_reserved_memory(kernel: str) -> UnsupportedInstruction:
    """A kernel works in the shared memory that the system keeps for itself."""
    return UnsupportedInstruction(
        f"{kernel} works in the shared memory that the system keeps for itself (`%reserved_smem_offset`), which the "
        "simulator does not have: cooperative groups do so for tiles of more than 32 threads. Combine the values of "
        "each `tiled_partition<32>`, and those of the warps through a __shared__ array."
    )


class Unknown(Exception):
    """What a front end's rule raises for an instruction, a form or a modifier that it does not model.

    Never seen outside of the front ends, which turn it into UnsupportedInstruction with the instruction and its source
    line. Its message is a phrase that says what is not modelled: "a barrier of a cluster", "the modifier .X2". Any
    other exception in a rule is a mistake of the simulator's own, and passes through as it is.
    """


class KernelError(SimulatorError, RuntimeError):
    """Something went wrong while the kernel was running.

    Attributes: `kernel` (its name), `line` (1-based line of the learner's source, 0 if unknown), `lines` (all lines
    that the message names: that one, those from which its function was called, those of other threads), `block` and
    `thread` ((x, y, z) of the first offending thread, None if it concerns no single thread).
    """

    def __init__(
        self,
        message: str,
        *,
        kernel: str = "",
        line: int = 0,
        lines: tuple[int, ...] = (),
        block: tuple[int, int, int] | None = None,
        thread: tuple[int, int, int] | None = None,
    ) -> None:
        super().__init__(message)
        self.kernel = kernel
        self.line = line
        self.lines = lines or ((line,) if line else ())
        self.block = block
        self.thread = thread


class OutOfBounds(KernelError, IndexError):
    """A thread read or wrote outside every array that the kernel was given, outside shared or outside local memory.

    Each array in shared memory, and each that a thread keeps for itself, is held to its own bytes, where the compiler's
    text tells which one is meant. Of the latter it does not in functions that are called, nor for a pointer that was
    kept in memory: there all local memory is the limit. And of an array that the compiler keeps in registers, machine
    code has no address that could be wrong. A `__constant__` array is held to its bytes; in machine code where a line
    reads no other one at an index.

    Machine code does not name the shared array that it accesses. An access outside the array of its source line is
    reported if the PTX of the same launch, which does name it, goes there too; else it belongs to another array. Where
    a line accesses several, it is the one whose addresses it has. If these cannot be computed ahead, as with an index
    from another lane, all shared memory is the limit: `python -m tests.gpusim.random_kernels` counts what is missed.

    Attributes:
        array: the symbol of the shared array that was left, "" for other memory.
        instruction: the index of the instruction, -1 for other memory.
    """

    array: str = ""
    instruction: int = -1


class UnprovenAccess(Exception):
    """An access of machine code is outside the array of its source line, and it is not known whether it belongs to it.

    Never seen outside of a launch, which looks at the PTX for an answer.
    """

    def __init__(self, instruction: int, block: int) -> None:
        super().__init__(instruction, block)
        self.instruction = instruction
        self.block = block  # linear number


class TextureError(KernelError):
    """A thread read or wrote through a number that is no texture or surface object."""


class Misaligned(KernelError):
    """An access of 2, 4, 8 or 16 bytes at an address that is not a multiple of its width."""


class BarrierError(KernelError):
    """`__syncthreads()` was not reached by all threads of a block, or by a part of a warp only."""


class ExchangeApart(KernelError):
    """At PTX level lanes of a warp exchange values between branches, which only machine code does."""


class BarrierWarning(UserWarning):
    """Whole warps of a block passed one barrier at different `__syncthreads()`, which a GPU lets them do."""


class StepLimitExceeded(KernelError):
    """The kernel executed so many instructions that it is taken for an infinite loop."""


class DeviceAssertion(KernelError, AssertionError):
    """An `assert` in the kernel was false, or the kernel executed `__trap()` or `__brkpt()`."""


class HazardError(KernelError):
    """The kernel ran to its end, but what it did depends on chance; its results are in the arrays.

    `report` is the sanitizer's `gpusim.checks.checks.Report`.
    """

    def __init__(self, message: str, *, report=None, **where) -> None:
        super().__init__(message, **where)
        self.report = report


class RaceError(HazardError):
    """Two threads access the same memory in no defined order, and one of them writes."""


class UninitializedRead(HazardError):
    """A thread read memory that was never written."""


class WarpMaskError(HazardError):
    """A `_sync` function of a warp was called with a mask that does not name those who come there, and only them.

    Or a thread waited at a barrier of the block for lanes of its warp that went past, or used a value that a shuffle
    took from a lane that does not take part.
    """


class AsyncCopyError(HazardError):
    """An asynchronous copy was used before it was waited for, or was never waited for."""


def counted(count: int, noun: str) -> str:
    """'1 element', '32 elements'"""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def coordinates(xyz: tuple[int, int, int]) -> str:
    """(3, 0, 0) → "(3, 0, 0)", the way CUDA prints thread and block indices."""
    return f"({xyz[0]}, {xyz[1]}, {xyz[2]})"
