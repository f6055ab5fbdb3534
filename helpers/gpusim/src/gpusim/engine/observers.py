"""The events that the engine reports while a kernel runs to its observers: recorders, the sanitizer, or several.

In every event `wave` is the engine's Wave. Masks are bool, broadcastable to the wave's (blocks, threads), or None for
all of its threads; addresses are bytes in their space. An access is reported after it was found to be legal and carried
out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class WaveBegins:
    """A new group of blocks starts."""

    wave: Any


@dataclass(frozen=True, slots=True)
class WaveEnds:
    """All threads of the wave have exited."""

    wave: Any


@dataclass(frozen=True, slots=True)
class Executed:
    """The wave's active threads execute the basic block with this index."""

    wave: Any
    block: int


@dataclass(frozen=True, slots=True)
class Guarded:
    """A guarded instruction is about to be executed by the threads of `mask`, or by none unless `some`."""

    wave: Any
    instruction: Any
    some: bool
    mask: Any


@dataclass(frozen=True, slots=True)
class Chosen:
    """An instruction is about to answer what may not depend on all that it reads: `instruction.chooses(registers)`."""

    wave: Any
    instruction: Any
    registers: Any


@dataclass(frozen=True, slots=True)
class BarrierPassed:
    """`__syncthreads()`: the blocks set in `blocks`, bool (B,), passed a barrier; None means all of them.

    Of a barrier with a `number`, `threads` are those that waited there: it may be that others did not take part.
    `is_phase`: it is a phase of an mbarrier that has ended, for which no thread need have waited.
    """

    wave: Any
    blocks: Any
    number: int = -1
    threads: Any = None
    is_phase: bool = False


@dataclass(frozen=True, slots=True)
class WarpsApart:
    """Whole warps of the wave's `block` pass one barrier at different instructions.

    `threads` are the linear numbers of those that wait there, by the index of each instruction.
    """

    wave: Any
    block: int
    threads: Mapping[int, Any]


@dataclass(frozen=True, slots=True)
class Arrived:
    """The threads of `mask` have changed mbarriers at `addresses` in `space`, "shared" or "cluster"; by those of
    `ended` phases have ended."""

    wave: Any
    space: str
    addresses: Any
    mask: Any
    ended: Any


@dataclass(frozen=True, slots=True)
class PhaseEnded:
    """By bytes that have come, the phase of the mbarrier at `barrier` (`bulk.SharedPlace`) has ended."""

    wave: Any
    barrier: Any


@dataclass(frozen=True, slots=True)
class PhaseFound:
    """The threads of `mask` have found that phases of mbarriers at `addresses` have ended; `space` as in Arrived."""

    wave: Any
    space: str
    addresses: Any
    mask: Any


@dataclass(frozen=True, slots=True)
class NamedBarrierReached:
    """The threads of `threads`, bool (B, T), come to a barrier with a number, whether they wait there or not."""

    wave: Any
    number: int
    threads: Any


@dataclass(frozen=True, slots=True)
class ClusterBarrierPassed:
    """The blocks set in `blocks`, bool (B,), have arrived at the barrier of their clusters as a whole."""

    wave: Any
    blocks: Any


@dataclass(frozen=True, slots=True)
class WarpBarrierReached:
    """`__syncwarp()` of the threads of `mask`, each of which names lanes by the bits of `named` (None: those there)."""

    wave: Any
    mask: Any
    instruction: int = -1
    named: Any = None


@dataclass(frozen=True, slots=True)
class LanesMissed:
    """The threads of `absent` have ended while those of `waiting` wait for them at a `__syncwarp()`."""

    wave: Any
    waiting: Any
    absent: Any


@dataclass(frozen=True, slots=True)
class LanesNamed:
    """The threads of `mask` call a function of their warp, each with a mask of lanes: the bits of `named`."""

    wave: Any
    mask: Any
    named: Any


@dataclass(frozen=True, slots=True)
class LanesTaken:
    """The threads of `mask` take by a shuffle what the lanes of their warps numbered `lanes` hold, int (blocks, warps,
    32), of which those do not take part that are `absent`, bool."""

    wave: Any
    mask: Any
    lanes: Any
    absent: Any


@dataclass(frozen=True, slots=True)
class Fence:
    """A memory fence; scope "block", "device" or "system"."""

    wave: Any
    scope: str
    mask: Any


@dataclass(frozen=True, slots=True)
class Access:
    """One memory instruction.

    space: "global", "shared", "local", or "cluster" for the shared memory of other blocks (an address is the rank << 24
    and the byte); op: "ld", "ldsm", "st", "stsm", "atom" or "red"; width: bytes per lane; values: what a store writes
    to consecutive elements; made_for: where a warp stores once, those of the mask for which it does.
    """

    wave: Any
    space: str
    op: str
    width: int
    addresses: Any
    mask: Any
    values: tuple[Any, ...] = ()
    made_for: Any = None


@dataclass(frozen=True, slots=True)
class AsyncCopy:
    """An asynchronous copy of `size` bytes per lane from the global address `origin` to the shared address `to`.

    The threads of `mask` copy, those of `read` really read from global memory; the others fill with zeros.
    """

    wave: Any
    size: int
    to: Any
    origin: Any
    mask: Any
    read: Any

    def reads(self) -> Access | None:
        """What it reads from global memory, None if no thread reads."""
        if self.read is not None and not self.read.any():
            return None
        return Access(self.wave, "global", "ld", self.size, self.origin, self.read)


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """A copy in bulk that `thread`, (block, thread), asks for, about to be carried out or just carried out.

    kind: "fetch" from global to shared memory, "put" back, "reduce" the same with an operation, "send" to the shared
    memory of another block. `shared` and `barrier` are places in the wave's shared memory (`bulk.SharedPlace`), where a
    copy goes to, or comes from if it goes to global memory; `source` where one that is sent comes from. In global
    memory it is byte `first` of `allocation`. `part`: of a copy to several blocks, the number of this one among them;
    `is_far`: another block than the own one gets something.
    """

    wave: Any
    thread: tuple[int, int]
    kind: str
    size: int
    shared: Any
    barrier: Any
    allocation: Any
    first: int
    source: Any
    part: int = 0
    is_far: bool = False


@dataclass(frozen=True, slots=True)
class CopyGroup:
    """Asynchronous copies are grouped or waited for.

    what: "commit_group", "wait_group" (all groups but the `pending` newest) or "wait_all" (committed or not).
    """

    wave: Any
    what: str
    pending: int
    mask: Any


@dataclass(frozen=True, slots=True)
class BulkGroup:
    """Copies in bulk to global memory are grouped or waited for.

    what: "commit", "wait" (all groups but the `pending` newest) or "wait_read", until what they copy has been read.
    """

    wave: Any
    what: str
    pending: int
    mask: Any


Handlers = Mapping[type, Callable[[Any], None]]


class Observer:
    """Is notified of what a launch does, as far as it wants to know."""

    def handlers(self) -> Handlers:
        """By type of event, what to call with it."""
        raise NotImplementedError


class Observers:
    """The observers of a launch."""

    def __init__(self, *observers: Observer) -> None:
        self._handlers: dict[type, list[Callable[[Any], None]]] = {}
        for observer in observers:
            for kind, handler in observer.handlers().items():
                self._handlers.setdefault(kind, []).append(handler)

    def tell(self, event: Any) -> None:
        """Dispatch an event to the observers of its type, in the order in which the observers were given."""
        for handler in self._handlers.get(type(event), ()):
            handler(event)


def together(*observers: Observer | None) -> Observers | None:
    """All observers that are given; None if there is none, so that nothing need be reported."""
    some = [observer for observer in observers if observer is not None]
    return Observers(*some) if some else None
