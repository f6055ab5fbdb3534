"""What the engine reports while a kernel runs, and to whom: the recorder, the sanitizer, or both."""

from typing import Any


class Observer:
    """Is told what a launch does; every method may be left as it is, and then does nothing.

    `wave` is the engine's Wave. Masks are bool, broadcastable to the wave's (blocks, threads), or None for all threads;
    addresses are bytes in their space. An access is reported after it was found to be legal and was carried out.
    """

    def begin_wave(self, wave) -> None:
        """A new group of blocks starts."""

    def end_wave(self, wave) -> None:
        """All threads of the wave have exited."""

    def executed(self, wave, block: int) -> None:
        """The wave's active threads execute the basic block with this index."""

    def guarded(self, wave, instruction, some: bool, mask) -> None:
        """A guarded instruction is about to be executed by the threads of `mask`, or by none unless `some`."""

    def barrier(self, wave, blocks) -> None:
        """`__syncthreads()`: the blocks set in `blocks`, bool (B,), passed a barrier; None means all of them."""

    def warp_barrier(self, wave, mask) -> None:
        """`__syncwarp()` of the threads of `mask`."""

    def fence(self, wave, scope: str, mask) -> None:
        """A memory fence; scope "block", "device" or "system"."""

    def access(self, wave, space: str, op: str, width: int, addresses, mask, values: tuple[Any, ...] = ()) -> None:
        """One memory instruction.

        space: "global", "shared" or "local"; op: "ld", "ldsm" (matrices), "st", "atom" or "red"; width: bytes per lane;
        values: what a store writes to consecutive elements.
        """

    def copy_async(self, wave, size: int, to, origin, mask, read) -> None:
        """An asynchronous copy of `size` bytes a lane from the global address `origin` to the shared address `to`.

        The threads of `mask` copy, those of `read` really read from global memory; the others fill with zeros.
        """

    def copy_group(self, wave, what: str, pending: int, mask) -> None:
        """Asynchronous copies are grouped or waited for.

        what: "commit_group", "wait_group" (all groups but the `pending` newest) or "wait_all" (committed or not).
        """


class Observers(Observer):
    """Passes everything on to several observers."""

    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self.observers = observers

    def begin_wave(self, wave) -> None:
        for observer in self.observers:
            observer.begin_wave(wave)

    def end_wave(self, wave) -> None:
        for observer in self.observers:
            observer.end_wave(wave)

    def executed(self, wave, block: int) -> None:
        for observer in self.observers:
            observer.executed(wave, block)

    def guarded(self, wave, instruction, some: bool, mask) -> None:
        for observer in self.observers:
            observer.guarded(wave, instruction, some, mask)

    def barrier(self, wave, blocks) -> None:
        for observer in self.observers:
            observer.barrier(wave, blocks)

    def warp_barrier(self, wave, mask) -> None:
        for observer in self.observers:
            observer.warp_barrier(wave, mask)

    def fence(self, wave, scope: str, mask) -> None:
        for observer in self.observers:
            observer.fence(wave, scope, mask)

    def access(self, wave, space: str, op: str, width: int, addresses, mask, values: tuple[Any, ...] = ()) -> None:
        for observer in self.observers:
            observer.access(wave, space, op, width, addresses, mask, values)

    def copy_async(self, wave, size: int, to, origin, mask, read) -> None:
        for observer in self.observers:
            observer.copy_async(wave, size, to, origin, mask, read)

    def copy_group(self, wave, what: str, pending: int, mask) -> None:
        for observer in self.observers:
            observer.copy_group(wave, what, pending, mask)


def together(*observers: Observer | None) -> Observer | None:
    """One observer that stands for all that are given; None if there is none."""
    some = tuple(observer for observer in observers if observer is not None)
    return some[0] if len(some) == 1 else Observers(some) if some else None
