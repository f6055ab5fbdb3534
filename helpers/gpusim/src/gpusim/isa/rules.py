"""What the engine in NumPy is to do for an instruction.

`computing.outcome_of` makes it of the decoded form, with `effects` for what touches memory, other lanes or the system,
`flow` for what says what comes next, and `calls` for functions of PTX.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpusim.engine.accesses import PhaseLook
from gpusim.engine.ir import COLLECTIVE, EXCLUSIVE, Instruction, Kind, Registers
from gpusim.engine.lanewise import Computation
from gpusim.errors import OutOfBounds

Reader = Callable[[Registers], Any]
Execute = Callable[[Any, Registers, Any], Any]
Condition = Callable[[Any, Registers], Any]


class Compute(NamedTuple):
    """Reads registers and writes registers.

    writes: the slots that receive what `evaluate(registers)` returns: one value, or a tuple of as many values as there
        are slots; None is a destination that is not kept.
    computation: the same for the C program, which executes it together with its neighbours.
    copies: whether the one value written is the one register read, as it is.
    chosen: the slots of two groups of values that the answer may not depend on: `chooses(registers)` says in which
        threads it does on the first ones, and in which on the second ones; without it in all on the first.
    """

    writes: tuple[int | None, ...]
    evaluate: Reader
    computation: Computation | None = None
    copies: bool = False
    chooses: Callable[[Registers], tuple[Any, Any]] | None = None
    chosen: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


def one_of_two(condition: Reader) -> Callable[[Registers], tuple[Any, Any]]:
    """`chooses` of an instruction whose answer is the first value where a condition is true, and else the second."""

    def lanes(registers):
        first = condition(registers)
        return first, np.logical_not(first)

    return lanes


def both_count(combine: Callable, a: Reader, b: Reader) -> Callable[[Registers], tuple[Any, Any]]:
    """`chooses` of an instruction that combines two truth values, one of which may decide alone."""

    def lanes(registers):
        x, y = a(registers), b(registers)
        return combine(np.True_, y) != combine(np.False_, y), combine(x, np.True_) != combine(x, np.False_)

    return lanes


class Effect(NamedTuple):
    """Touches memory, other lanes or the system: `execute(wave, registers, mask)` returns what `writes` receive.

    loads_shared: it is a load that may come from shared memory.
    swaps: it is an atomic compare-and-swap.
    strong: it is ordered among the threads of the grid although it may be no atomic (PTX ISA, 'Memory Consistency').
    is_observed: plain loads of other threads may read what it changes at any time.
    block_scope: as a strong access it has the scope of the block.
    """

    writes: tuple[int | None, ...]
    execute: Execute
    loads_shared: bool = False
    swaps: bool = False
    strong: bool = False
    is_observed: bool = False
    block_scope: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """Goes to one of the statements `targets`: the only one, or the one whose place in it `select(registers)` gives.
    Without `select` a thread goes to the first one, or to that of its own branch (see `Convergence.part`).

    It is taken where `condition(wave, registers)` is true if there is one, else where the guard is. `leave(wave,
    registers, mask)` is carried out by those that take it, after they have selected where they go.
    """

    targets: tuple[int, ...]
    select: Reader | None = None
    condition: Condition | None = None
    leave: Execute | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """The thread ends, where `condition(wave, registers)` is true if there is one."""

    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Barrier:
    """Waits for all threads of the block. `arrive(wave, registers, mask)` is carried out by those that come there.

    named: (number of the barrier, threads that it waits for, 0 for all of the block) if it is not `__syncthreads()`.
    waits: False for threads that arrive and do not wait.
    passed: of a barrier with a number what `passed(registers, going)` does for the threads that go on.
    writes: the registers in which it leaves them something.
    """

    arrive: Execute | None = None
    named: Reader | None = None
    waits: bool = True
    passed: Callable[[Registers, Any], None] | None = None
    writes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterBarrier:
    """Waits for the threads of the cluster that have not arrived yet at the barrier where those here have."""


@dataclass(frozen=True, slots=True)
class WarpBarrier:
    """Waits for the lanes of the warp that `lanes(registers)` names, bit by bit; `collective`, `exclusive`: they are a
    group of their own, `collective` for a while, in which they execute the statements from this one on.

    None for `lanes`: those that are there. At PTX level, where diverged threads meet wherever they can, none waits.
    """

    lanes: Reader | None = None
    collective: int | None = None
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Meeting:
    """Waits for the threads of the warp that agreed to meet at convergence barrier `number`."""

    number: int


@dataclass(frozen=True, slots=True)
class PhaseWait:
    """Waits, for a while, until a phase of an mbarrier has ended; the predicate `target` receives whether it has."""

    target: int | None
    look: PhaseLook


def _nothing(wave, registers, mask) -> None:
    """No value changes."""


NOTHING = Effect((), _nothing)  # of hints and waits
Outcome = Compute | Effect | Branch | Exit | Barrier | ClusterBarrier | WarpBarrier | Meeting | PhaseWait


def complete(instruction: Instruction, outcome: Outcome) -> None:
    """Give an instruction what its rule answered."""
    match outcome:
        case Compute():
            instruction.kind = Kind.ALU
            instruction.writes, instruction.evaluate = outcome.writes, outcome.evaluate
            instruction.computation, instruction.copies = outcome.computation, outcome.copies
            instruction.chooses, instruction.chosen = outcome.chooses, outcome.chosen
        case Effect():
            instruction.kind = Kind.EFFECT
            instruction.writes, instruction.execute = outcome.writes, outcome.execute
            instruction.loads_shared, instruction.swaps = outcome.loads_shared, outcome.swaps
            instruction.strong, instruction.is_observed = outcome.strong, outcome.is_observed
            instruction.block_scope = outcome.block_scope
        case Branch():
            instruction.kind = Kind.BRANCH
            if len(outcome.targets) == 1 and outcome.select is None:
                (instruction.target,) = outcome.targets
            else:
                instruction.targets, instruction.select = outcome.targets, outcome.select
            instruction.condition, instruction.execute = outcome.condition, outcome.leave
        case Exit():
            instruction.kind, instruction.condition = Kind.EXIT, outcome.condition
        case Barrier():
            instruction.kind, instruction.execute = Kind.BARRIER, outcome.arrive
            instruction.select, instruction.evaluate = outcome.named, outcome.passed
            instruction.barrier, instruction.writes = (0 if outcome.waits else 1), outcome.writes
        case ClusterBarrier():
            instruction.kind = Kind.CLUSTER_BARRIER
        case WarpBarrier():
            instruction.kind, instruction.select = Kind.WARP_BARRIER, outcome.lanes
            instruction.barrier = EXCLUSIVE if outcome.exclusive else -1
            if outcome.collective is not None:
                instruction.barrier, instruction.target = COLLECTIVE, outcome.collective
        case PhaseWait():
            instruction.kind, instruction.writes, instruction.look = Kind.PHASE_WAIT, (outcome.target,), outcome.look
        case Meeting():
            instruction.kind, instruction.barrier = Kind.MEETING, outcome.number


def no_function(wave, where: np.ndarray, wrong: np.ndarray) -> None:
    """The threads of `wrong` call what is no function, by the pointers `where`."""
    block, thread = (int(i) for i in np.argwhere(wrong)[0])
    what = f"calls a function through a pointer that holds {int(where[block, thread]):#x}"
    advice = "No function with these parameters is there: is the pointer, or the entry of the table, set?"
    wave.fail(OutOfBounds, what, advice, block, thread)
