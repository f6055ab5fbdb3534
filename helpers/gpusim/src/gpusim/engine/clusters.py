"""Clusters of blocks: their members, their barrier, and the shared memory that they reach into.

The blocks of a cluster are on the device at the same time. `barrier.cluster` comes in two halves: a thread that has
arrived goes on, and waits only where it needs what the others did before they arrived (PTX ISA, 'barrier.cluster').
Threads that have exited count as arrived.
"""

from collections.abc import Sequence

import numpy as np

from gpusim.engine.memory import RANK_SHIFT, SharedMemory, active_addresses, check_alignment
from gpusim.engine.observers import ClusterBarrierPassed
from gpusim.errors import BarrierError, OutOfBounds, coordinates

ALONE = (1, 1, 1)


def ranks(grid: Sequence[int], cluster: Sequence[int], block_ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the number of the cluster, the rank in it) of blocks by their linear numbers."""
    number, rank = np.zeros((2, len(block_ids)), np.int64)
    blocks = clusters = ranks_before = 1
    for size, each in zip(grid, cluster, strict=True):
        rest = block_ids // blocks % size
        number += rest // each * clusters
        rank += rest % each * ranks_before
        blocks, clusters, ranks_before = blocks * size, clusters * (size // each), ranks_before * each
    return number, rank


def together(grid: Sequence[int], cluster: Sequence[int], block_ids: np.ndarray) -> np.ndarray:
    """Linear numbers of blocks so that those of a cluster come one after the other, by rank."""
    number, rank = ranks(grid, cluster, block_ids)
    return block_ids[np.lexsort((rank, number))]


def whole(grid: Sequence[int], cluster: Sequence[int], block_ids: np.ndarray) -> np.ndarray:
    """All blocks of the clusters that these blocks belong to."""
    every = np.arange(int(np.prod(grid)), dtype=np.int64)
    wanted = np.unique(ranks(grid, cluster, block_ids)[0])
    return every[np.isin(ranks(grid, cluster, every)[0], wanted)]


class ClusterBarrier:
    """The barrier of each cluster of a wave; arrays are (blocks, threads).

    `arrived`: threads at a barrier that others have not come to yet. `owes`: those that have arrived and not waited.
    `waiting`: those that wait.
    """

    def __init__(self, wave) -> None:
        self.size = wave.launch.blocks_of_cluster
        self.arrived, self.owes, self.waiting = np.zeros((3, *wave.shape), bool)

    def arrive(self, wave, active: np.ndarray) -> None:
        """The active threads arrive."""
        self._check(wave, active & self.owes, "arrives at a barrier of its cluster twice without waiting between")
        self.arrived |= active
        self.owes |= active
        self.complete(wave)

    def wait(self, wave, active: np.ndarray) -> np.ndarray:
        """The active threads wait; those that have to, because others have not arrived yet."""
        self._check(wave, active & ~self.owes, "waits at a barrier of its cluster without having arrived there")
        self.owes &= ~active
        held = active & self.arrived
        self.waiting |= held
        return held

    def complete(self, wave) -> None:
        """Let those go on whose cluster has arrived as a whole."""
        missing = (wave.alive() & ~self.arrived).any(axis=1).reshape(-1, self.size).any(axis=1)
        done = ~missing & self.arrived.reshape(len(missing), -1).any(axis=1)
        if not done.any():
            return
        blocks = done.repeat(self.size)
        if wave.waiting is not None:
            wave.waiting &= ~(self.waiting & blocks[:, None])
        self.arrived[blocks] = self.waiting[blocks] = False
        if wave.observers is not None:
            wave.observers.tell(ClusterBarrierPassed(wave, blocks))

    def _check(self, wave, wrong: np.ndarray, what: str) -> None:
        if wrong.any():
            block, thread = (int(i) for i in np.argwhere(wrong)[0])
            advice = (
                "Every thread arrives once and then waits once: cluster.sync(), or barrier_arrive(), barrier_wait()."
            )
            wave.fail(BarrierError, what, advice, block, thread)


def arrive(wave, mask: np.ndarray | None) -> None:
    """The threads of `mask` arrive at the barrier of their cluster."""
    wave.cluster = wave.cluster or ClusterBarrier(wave)
    wave.cluster.arrive(wave, wave.alive() if mask is None else np.broadcast_to(mask, wave.shape))


class ClusterMemory:
    """The shared memory of all blocks of a cluster, as one of them reaches it: an address is rank << 24 | byte."""

    def __init__(self, shared: SharedMemory, size: int) -> None:
        self._shared = shared
        self._size = size  # blocks of a cluster

    def _places(self, wave, addresses, mask, width: int, verb: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(the active threads, the rows of the blocks that they reach, the bytes there); legal ones."""
        active = active_addresses(addresses, mask)
        check_alignment(wave, active, addresses, mask, width, self)
        lanes = np.broadcast_to(True if mask is None else mask, wave.shape)
        addresses = np.broadcast_to(addresses, wave.shape)
        rank, byte = addresses >> RANK_SHIFT, addresses & (1 << RANK_SHIFT) - 1
        first = np.arange(wave.shape[0])[:, None] // self._size * self._size
        self._check(wave, lanes & ((rank < 0) | (rank >= self._size)), addresses, verb, self._no_such_rank)
        rows = first + rank
        ended = ~wave.alive().any(axis=1)
        self._check(wave, lanes & ended[np.where(lanes, rows, first)], addresses, verb, self._has_ended)
        self._check(wave, lanes & (byte + width > self._shared.size), addresses, verb, self._beyond)
        return lanes, rows[lanes], byte[lanes]

    def _check(self, wave, wrong: np.ndarray, addresses: np.ndarray, verb: str, say) -> None:
        if wrong.any():
            block, thread = (int(i) for i in np.argwhere(wrong)[0])
            what, advice = say(wave, block, int(addresses[block, thread]))
            wave.fail(OutOfBounds, f"{verb} {what}", advice, block, thread)

    def _no_such_rank(self, wave, block: int, address: int) -> tuple[str, str]:
        rank = address >> RANK_SHIFT
        count = f"{self._size} blocks" if self._size > 1 else "one block"
        return (
            f"shared memory of rank {rank} of its cluster, which has {count}",
            f"Ranks go from 0 to {self._size - 1}: take them modulo cluster.num_blocks()."
            if self._size > 1
            else "Give the kernel a cluster: __cluster_dims__(2) before its name, say.",
        )

    def _has_ended(self, wave, block: int, address: int) -> tuple[str, str]:
        other = wave.block_index(block // self._size * self._size + (address >> RANK_SHIFT))
        return (
            f"the shared memory of block {coordinates(other)}, which has ended",
            "A block must stay until nobody reaches into its shared memory any more: cluster.sync() before the end.",
        )

    def _beyond(self, wave, block: int, address: int) -> tuple[str, str]:
        return (
            f"{self.where(wave, address)}, which has {self._shared.size} bytes",
            "Check the index behind map_shared_rank(): it counts in the array of the other block.",
        )

    def where(self, wave, address: int) -> str:
        """An address in words."""
        return f"byte {address & (1 << RANK_SHIFT) - 1} of the shared memory of rank {address >> RANK_SHIFT}"

    def load(self, wave, addresses, mask, dtype: np.dtype, count: int):
        """As GlobalMemory.load."""
        lanes, rows, byte = self._places(wave, addresses, mask, dtype.itemsize * count, "read")
        view, results = self._shared.view(dtype), []
        for part in range(count):
            result = np.zeros(wave.shape, dtype)
            result[lanes] = view[rows, byte // dtype.itemsize + part]
            results.append(result)
        return tuple(results)

    def store(self, wave, addresses, mask, values) -> None:
        """As GlobalMemory.store."""
        dtype = np.dtype(values[0].dtype)
        lanes, rows, byte = self._places(wave, addresses, mask, dtype.itemsize * len(values), "wrote")
        view = self._shared.view(dtype)
        for part, value in enumerate(values):
            view[rows, byte // dtype.itemsize + part] = np.broadcast_to(value, wave.shape)[lanes]

    def check(self, wave, addresses, mask, width: int, verb: str) -> None:
        """As GlobalMemory.check."""
        self._places(wave, addresses, mask, width, verb)

    def cells(self, addresses, dtype: np.dtype, block_of):
        """As SharedMemory.cells."""
        rows = block_of // self._size * self._size + (addresses >> RANK_SHIFT)
        return self._shared.cells(addresses & (1 << RANK_SHIFT) - 1, dtype, rows)
