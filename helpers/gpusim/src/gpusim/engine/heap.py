"""`malloc` and `free` inside kernels, and so `new` and `delete` (CUDA guide, 'Dynamic Global Memory Allocation')."""

import numpy as np

from gpusim.engine.memory import GlobalMemory
from gpusim.errors import KernelError

HEAP_BYTES = 8 << 20  # CUDA's default, cudaLimitMallocHeapSize
_ALIGNMENT = 16


class Heap:
    """The memory that the threads of one launch share out among themselves. It does not outlive the launch."""

    def __init__(self, memory: GlobalMemory) -> None:
        self._base = memory.add(np.zeros(HEAP_BYTES, np.uint8), "the heap")
        self._top = 0
        self._sizes: dict[int, int] = {}  # by address
        self._free: dict[int, list[int]] = {}  # addresses by size

    def take(self, size: int) -> int:
        """The address of `size` bytes; 0 where there are not so many left."""
        size = max(1, -(-size // _ALIGNMENT)) * _ALIGNMENT
        if self._free.get(size):
            address = self._free[size].pop()
        elif self._top + size <= HEAP_BYTES:
            address, self._top = self._base + self._top, self._top + size
        else:
            return 0
        self._sizes[address] = size
        return address

    def give_back(self, address: int) -> bool:
        """Whether the address was one that `take` gave and was not given back; it may be given again now."""
        size = self._sizes.pop(address, None)
        if size is not None:
            self._free.setdefault(size, []).append(address)
        return size is not None


def malloc(wave, registers, mask) -> np.ndarray:
    """The addresses that the active threads get, int64; 0 where the heap is full."""
    sizes, active = _argument(wave, mask)
    heap = wave.launch.heap
    addresses = np.zeros(wave.shape, np.int64)
    addresses[active] = [heap.take(int(size)) for size in sizes[active]]
    return addresses


def free(wave, registers, mask) -> None:
    """The active threads give memory back; a null pointer does nothing."""
    addresses, active = _argument(wave, mask)
    for block, thread in np.argwhere(active & (addresses != 0)):
        if not wave.launch.heap.give_back(int(addresses[block, thread])):
            what = "freed memory that malloc did not give, or that was freed before"
            wave.fail(KernelError, what, "Every address from malloc or new is freed once.", int(block), int(thread))


def _argument(wave, mask) -> tuple[np.ndarray, np.ndarray]:
    """(the first argument of the call, int64, the threads that call)."""
    argument = np.broadcast_to(next(iter(wave.call_parameters.values())), wave.shape).view(np.int64)
    wave.call_parameters.clear()
    return argument, np.ones(wave.shape, bool) if mask is None else np.broadcast_to(mask, wave.shape)
