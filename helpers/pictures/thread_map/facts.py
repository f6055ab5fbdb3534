"""Which thread of which block stored each element of C."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from gemm_kernels import Launch
from gpusim import Recording, compiler
from gpusim.devices import FLOAT_BYTES, WARP, unravel
from helpers import run
from helpers.pictures import CannotTell
from helpers.pictures.threads import accesses_by_block

NO_THREAD = -1
STORE = "global", "st"


@dataclass(frozen=True, eq=False)
class ThreadMap:
    """Who stored each element of C in a launch.

    name: the kernel's.  grid, block: the launch.  owner_block, owner_thread: (M, N) linear numbers of the block in the
    grid and of the thread in its block, NO_THREAD where no thread stored.  writers: (M, N) how many threads stored it;
    the owner is the last of them.  accessed, updated: (blocks, threads) whether a thread accessed memory at
    all, and whether it added to the array by an atomic.  array: what is stored.
    """

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    owner_block: np.ndarray
    owner_thread: np.ndarray
    writers: np.ndarray
    accessed: np.ndarray
    updated: np.ndarray
    array: str = "C"

    @property
    def shape(self) -> tuple[int, int]:
        """(M, N), rows and columns of C."""
        return self.owner_block.shape

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return int(np.prod(self.grid))

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return int(np.prod(self.block))

    @property
    def warps(self) -> int:
        """Warps of a block, the last one perhaps not full."""
        return -(-self.threads // WARP)

    @cached_property
    def uncomputed(self) -> int:
        """Elements of C that no thread stored."""
        return int((self.writers == 0).sum())

    def elements(self, block: int, thread: int) -> np.ndarray:
        """(elements, 2) rows and columns that a thread stored, row by row."""
        return np.argwhere((self.owner_block == block) & (self.owner_thread == thread))

    @cached_property
    def stored(self) -> np.ndarray:
        """(blocks, threads) whether an element is a thread's."""
        owns, computed = np.zeros((self.blocks, self.threads), bool), self.writers > 0
        owns[self.owner_block[computed], self.owner_thread[computed]] = True
        return owns

    def block_index(self, block: int) -> tuple[int, int, int]:
        """(x, y, z) of a linear block number."""
        return unravel(block, self.grid)

    def thread_index(self, thread: int) -> tuple[int, int, int]:
        """(x, y, z) of a linear thread number."""
        return unravel(thread, self.block)


def thread_map(recording: Recording, shape: tuple[int, int], name: str, array: str = "C") -> ThreadMap:
    """Who stored what in the last launch of a recording that traced every block.

    shape: (M, N) of the row-major float32 array.
    """
    facts = recording.launches[-1].facts
    size = shape[0] * shape[1]
    owner_block, owner_thread = (np.full(size, NO_THREAD, np.int64) for _ in range(2))
    writers = np.zeros(size, np.int64)
    threads = np.arange(int(np.prod(facts.block)))
    for (x, y, z), stores in accesses_by_block(recording, space="global", op="st", array=array).items():
        pairs: list[np.ndarray] = []  # a cell and a thread, which may store to it several times
        for store in stores:
            for word in range(store.width // FLOAT_BYTES):
                cells = store.offset[store.active] // FLOAT_BYTES + word
                owner_block[cells] = x + facts.grid[0] * (y + facts.grid[1] * z)
                owner_thread[cells] = threads[store.active]
                pairs.append(cells * len(threads) + threads[store.active])
        np.add.at(writers, np.unique(np.concatenate(pairs)) // len(threads), 1)
    accessed, updated = np.zeros((2, int(np.prod(facts.grid)), len(threads)), bool)
    everything = accesses_by_block(recording)
    by_atomics = [accesses_by_block(recording, space="global", op=op, array=array) for op in ("red", "atom")]
    for marked, accesses in ((accessed, everything), *((updated, some) for some in by_atomics)):
        for (x, y, z), of_block in accesses.items():
            active = np.any([access.active for access in of_block], axis=0)
            marked[x + facts.grid[0] * (y + facts.grid[1] * z)] |= active
    owners = (values.reshape(shape) for values in (owner_block, owner_thread, writers))
    return ThreadMap(name, facts.grid, facts.block, *owners, accessed, updated, array)


@lru_cache(maxsize=16)
def map_of(launch: Launch) -> ThreadMap:
    """Who stored what, from the recorded stores of every block. Raises the simulator's and the compiler's errors."""
    every = tuple(product(*map(range, launch.grid)))
    recording = run.record(launch, every)
    if launch.arguments is None:
        return thread_map(recording, launch.shape[:2], launch.name)
    array, shape = _stored_array(recording, launch)
    return thread_map(recording, shape, launch.name, array)


def _stored_array(recording: Recording, launch: Launch) -> tuple[str, tuple[int, int]]:
    """The first array of floats that a kernel that is no multiplication stores to, and its shape; one dimension is a
    single row. CannotTell if there is none."""
    names = compiler.parameter_names(launch.source, launch.entry)
    given = dict(zip(names, launch.arguments.given if launch.arguments else (), strict=False))
    stored = dict.fromkeys(trace.array for trace in recording.launches[-1].traces if (trace.space, trace.op) == STORE)
    for array in stored:
        shape, size = getattr(given.get(array), "shape", ()), getattr(given.get(array), "itemsize", 0)
        if size == FLOAT_BYTES and shape:
            return array, (int(np.prod(shape[:-1])), int(shape[-1]))
    raise CannotTell(
        f"{launch.name} stores to no array of 4-byte elements by plain stores, so there is nobody to show."
    )
