"""Copies in bulk, between global and shared memory or from block to block of a cluster. PTX ISA, 'cp.async.bulk'.

One thread asks for the copy of any number of bytes, and goes on; an mbarrier counts the bytes that have come, or groups
of copies are waited for. Here a copy is carried out at once, as it is asked for; what a kernel may not rely on, because
no thread has waited, the sanitizer says.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.arithmetic import mbarrier
from gpusim.devices import WARP
from gpusim.engine.clusters import RANK_SHIFT
from gpusim.engine.ir import Registers
from gpusim.engine.memory import Allocation
from gpusim.engine.observers import BarrierPassed, BulkCopy, BulkGroup, PhaseEnded
from gpusim.errors import Misaligned, OutOfBounds

Reader = Callable[[Registers], np.ndarray]
UNIT = 16  # bytes: sizes and addresses are multiples
_BYTE = (1 << RANK_SHIFT) - 1


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """Bytes of shared memory: in the wave's block `row`, from `byte` on."""

    row: int
    byte: int


def _values(wave, registers, readers: Sequence[Reader | None], thread: tuple[int, int]) -> list[int]:
    """What the readers say for one thread of the wave; 0 where there is none."""
    return [0 if reader is None else int(np.broadcast_to(reader(registers), wave.shape)[thread]) for reader in readers]


def _who_asks(wave, mask, by_warp: bool) -> list[tuple[int, int]]:
    """The threads that ask for a copy, as (block, thread): each, or of each warp the first that takes part."""
    lanes = np.broadcast_to(True if mask is None else mask, wave.shape)
    if by_warp:
        padded = np.pad(lanes, ((0, 0), (0, -wave.threads % WARP))).reshape(wave.shape[0], -1, WARP)
        blocks, warps = np.nonzero(padded.any(axis=2))
        return [(int(b), int(w) * WARP + int(padded[b, w].argmax())) for b, w in zip(blocks, warps, strict=True)]
    return [(int(block), int(thread)) for block, thread in np.argwhere(lanes)]


class _Copier:
    """One thread's copy: checks its ends, and says what is wrong with them."""

    def __init__(self, wave, thread: tuple[int, int], size: int) -> None:
        self.wave, self.thread, self.size = wave, thread, size
        if size % UNIT:
            self._fail(Misaligned, f"copies {size} bytes in bulk, which is not a multiple of {UNIT}",
                       f"Copies in bulk have sizes of 16, 32, 48, … bytes: copy the rest, {size % UNIT} bytes, one by "
                       "one, or pad the rows.")  # fmt: skip

    def _fail(self, error, what: str, advice: str) -> None:
        self.wave.fail(error, what, advice, *self.thread)

    def _check_multiple(self, address: int, where: str, verb: str) -> None:
        if address % UNIT:
            self._fail(
                Misaligned,
                f"copies {self.size} bytes in bulk {verb} an address that is not a multiple of {UNIT} ({where})",
                "Both ends of a copy in bulk must be multiples of 16 bytes: a __shared__ array begins at one with "
                "__align__(16) before it.",
            )

    def in_global(self, address: int, writes: bool) -> tuple[Allocation, int]:
        """(the array, the byte of it) at a legal address."""
        wave, size = self.wave, self.size
        memory, verb = wave.global_memory, "to" if writes else "from"
        allocation = memory.find(address)
        if allocation is None or address >= allocation.end or address < allocation.base:
            memory.refuse(wave, address, size, "wrote" if writes else "read", *self.thread)
        self._check_multiple(address, wave.where(address), verb)
        first = address - allocation.base
        start, stop = allocation.may_be_written if writes else (0, allocation.bytes_.size)
        if first < start or first + size > stop:
            there = max(0, stop - first) if first >= start else 0
            self._fail(
                OutOfBounds,
                f"copies {size} bytes in bulk {verb} {allocation.element(address)}, of which only {there} are inside "
                f"of {allocation.name}",
                f"{allocation.name} ends there: make the last copy of a row or of an array shorter.",
            )
        if writes and not allocation.writable:
            self._fail(
                OutOfBounds, f"wrote to {allocation.name}, a read-only array", "Pass a writable copy: numpy.array(x)."
            )
        return allocation, first

    def in_shared(self, address: int, writes: bool, unit: int = UNIT, far: bool = False) -> SharedPlace:
        """An address in shared memory, of the own block or (far) of any of the cluster."""
        wave, (block, _) = self.wave, self.thread
        rank, byte = address >> RANK_SHIFT, (address & _BYTE) - wave.program.shared_base
        own = int(np.broadcast_to(wave.special["cluster_ctarank"], (wave.shape[0], 1))[block, 0])
        if wave.program.level == "ptx":
            rank = own if rank == 0 else rank - 1
        size, blocks = self.size if unit == UNIT else unit, wave.launch.blocks_of_cluster
        if not 0 <= rank < blocks or (not far and rank != own):
            self._fail(OutOfBounds, f"copies in bulk to or from shared memory of rank {rank} of its cluster, which has "
                       f"{blocks} block{'s' * (blocks > 1)}", "mapa takes ranks below %cluster_nctarank.")  # fmt: skip
        row = block // blocks * blocks + rank
        if not byte >= 0 or byte + size > wave.shared.size:
            what = (
                f"copies {size} bytes in bulk {'to' if writes else 'from'}" if unit == UNIT else "has its mbarrier at"
            )
            self._fail(OutOfBounds, f"{what} byte {byte} of shared memory, which has {wave.shared.size} bytes",
                       wave.shared.advise(wave, byte))  # fmt: skip
        if unit == UNIT:
            self._check_array(byte, size, writes)
            self._check_multiple(byte, wave.shared.where(wave, byte), "to" if writes else "from")
        elif byte % unit:
            self._fail(Misaligned, f"names an mbarrier at byte {byte} of shared memory, which is not a multiple of 8",
                       "An mbarrier is a 64-bit object: unsigned long long, or cuda::barrier.")  # fmt: skip
        if row != block and not wave.alive()[row].any():
            self._fail(OutOfBounds, f"copies in bulk to block {wave.block_index(row)} of its cluster, which has ended",
                       "A block must stay until nobody reaches into its shared memory any more: cluster.sync() before "
                       "the end.")  # fmt: skip
        return SharedPlace(row, byte)

    def _check_array(self, byte: int, size: int, writes: bool) -> None:
        """A copy that begins in one array must not end in another one, if it is known where these are."""
        wave = self.wave
        around = wave.launch.shared_names.around(byte)
        if around is None or not around.bytes or byte + size <= around.offset + around.bytes:
            return
        there = around.offset + around.bytes - byte
        self._fail(
            OutOfBounds,
            f"copies {size} bytes in bulk {'to' if writes else 'from'} {wave.shared.where(wave, byte)}, of which only "
            f"{there} are inside of {around.name}",
            f"{around.name} has {around.bytes} bytes: check the size of the copy.",
        )


def come(wave, barrier: SharedPlace, size: int) -> None:
    """`size` bytes have come that the mbarrier at a place counts."""
    change(wave, barrier, lambda bits: mbarrier.complete(bits, size))


def change(wave, barrier: SharedPlace, update: Callable) -> None:
    """Change an mbarrier. The end of a phase is a barrier of the block for observers."""
    view = wave.shared.view(np.dtype(np.uint64))
    old = view[barrier.row, barrier.byte // 8]
    new = view[barrier.row, barrier.byte // 8] = update(old)
    if wave.observers is not None and mbarrier.parity(old) != mbarrier.parity(new):
        blocks = np.zeros(wave.shape[0], bool)
        blocks[barrier.row] = True
        wave.observers.tell(PhaseEnded(wave, barrier))
        wave.observers.tell(BarrierPassed(wave, blocks, is_phase=True))


def fetch(by_warp: bool, to: Reader, barrier: Reader, origin: Reader, size: Reader, ranks: Reader | None = None):
    """From global to shared memory, of any block of the cluster; an mbarrier there counts the bytes.

    ranks: a bit for each block of the cluster that gets the bytes, at the same place in its shared memory.
    """

    def execute(wave, registers, mask):
        for thread in _who_asks(wave, mask, by_warp):
            where, counts, source, many, wanted = _values(wave, registers, (to, barrier, origin, size, ranks), thread)
            copier = _Copier(wave, thread, many)
            allocation, first = copier.in_global(source, False)
            target, counter = copier.in_shared(where, True, far=True), copier.in_shared(counts, True, 8, far=True)
            cluster = wave.launch.blocks_of_cluster
            base = thread[0] // cluster * cluster
            if ranks is None:
                rows = [(target.row, counter.row)]
            else:
                rows = [(base + rank, base + rank) for rank in range(cluster) if wanted >> rank & 1]
            data = allocation.bytes_[first : first + many]
            is_far = any(row != thread[0] for row, _ in rows)
            for part, (row, counted) in enumerate(rows):
                wave.shared.contents[row, target.byte : target.byte + many] = data
                destination, at = SharedPlace(row, target.byte), SharedPlace(counted, counter.byte)
                _tell(wave, thread, "fetch", many, destination, at, allocation, first, part=part, is_far=is_far)
                come(wave, SharedPlace(counted, counter.byte), many)

    return execute


def send(by_warp: bool, to: Reader, barrier: Reader, origin: Reader, size: Reader):
    """From the block's shared memory to that of another one of its cluster."""

    def execute(wave, registers, mask):
        for thread in _who_asks(wave, mask, by_warp):
            where, counts, source, many = _values(wave, registers, (to, barrier, origin, size), thread)
            copier = _Copier(wave, thread, many)
            begin = copier.in_shared(source, False)
            target, counter = copier.in_shared(where, True, far=True), copier.in_shared(counts, True, 8, far=True)
            contents = wave.shared.contents
            contents[target.row, target.byte : target.byte + many] = contents[
                begin.row, begin.byte : begin.byte + many
            ].copy()
            _tell(wave, thread, "send", many, target, counter, source=begin)
            come(wave, counter, many)

    return execute


def put(by_warp: bool, to: Reader, origin: Reader, size: Reader, update: Callable | None = None, dtype: Any = np.uint8):
    """From shared to global memory; `update(old, new)`, on elements of a type, says what becomes of both."""

    def execute(wave, registers, mask):
        for thread in _who_asks(wave, mask, by_warp):
            where, source, many = _values(wave, registers, (to, origin, size), thread)
            copier = _Copier(wave, thread, many)
            begin = copier.in_shared(source, False)
            allocation, first = copier.in_global(where, True)
            new = wave.shared.contents[begin.row, begin.byte : begin.byte + many]
            old = allocation.bytes_[first : first + many]
            _tell(wave, thread, "put" if update is None else "reduce", many, begin, None, allocation, first)
            old[...] = new if update is None else update(old.view(dtype), new.view(dtype)).view(np.uint8)

    return execute


def group(what: str, pending: int = 0):
    """cp.async.bulk.commit_group, "commit", and wait_group{.read} for all but the `pending` newest groups, "wait" and
    "wait_read"."""

    def execute(wave, registers, mask):
        if wave.observers is not None:
            wave.observers.tell(BulkGroup(wave, what, pending, mask))

    return execute


def _tell(
    wave, thread, kind, size, shared, barrier=None, allocation=None, first=0, source=None, part=0, is_far=False
) -> None:
    if wave.observers is not None:
        wave.observers.tell(
            BulkCopy(wave, thread, kind, size, shared, barrier, allocation, first, source, part, is_far)
        )
