"""How many blocks fit on one SM, and what stops the next one from moving in.

The limits are those of the CUDA C++ Programming Guide ("Technical Specifications per Compute Capability"), the rounding
is that of the CUDA toolkit's `cuda_occupancy.h`. `Occupancy.limits` are Nsight Compute's `launch__occupancy_limit_*`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusim.devices import WARP
from gpusim.sentences import Sentence

if TYPE_CHECKING:
    from gpusim.devices import LaunchLimits


class DoesNotFit(Sentence, ValueError):
    """Not even one block fits: the launch would be refused. The message says which resource and by how much."""


@dataclass(frozen=True)
class Occupancy:
    """What one block of a kernel takes from an SM, and how many blocks that leaves room for.

    limits: blocks that would fit if only this resource counted, by `blocks`, `warps`, `registers`, `shared`; the names
    in Nsight Compute are `launch__occupancy_limit_` followed by `blocks`, `warps`, `registers`, `shared_mem`.
    """

    warps_per_block: int
    registers_per_warp: int  # as allocated, rounded up
    shared_bytes_per_block: int  # as allocated: asked for + reserved, rounded up
    limits: Mapping[str, int]
    max_warps: int

    @property
    def blocks(self) -> int:
        """Blocks resident on one SM."""
        return min(self.limits.values())

    @property
    def limiters(self) -> tuple[str, ...]:
        """The resources that stop the next block: those whose limit is the smallest."""
        return tuple(name for name, limit in self.limits.items() if limit == self.blocks)

    @property
    def warps(self) -> int:
        """Warps resident on one SM."""
        return self.blocks * self.warps_per_block

    @property
    def fraction(self) -> float:
        """Resident warps over the most an SM can hold: the theoretical occupancy, 1.0 is 100 %."""
        return self.warps / self.max_warps


def occupancy(
    device: LaunchLimits, threads: int, registers: int, shared_bytes: int = 0, *, shared_capacity: int | None = None
) -> Occupancy:
    """The four limits on resident blocks.

    device: a Device, or the LaunchLimits of an architecture. threads: of a block. registers: of a thread, as the
    compiler reports them. shared_bytes: of a block, static and dynamic together, without the reserved ones.
    shared_capacity: bytes that the SM sets aside as shared memory. The driver chooses this carve-out for each launch,
    often less than the device's maximum (the rest is L1 cache) but never so little that fewer blocks fit; Nsight
    Compute's shared limit is for the carve-out that was chosen.

    Raises DoesNotFit if a launch with these numbers would be refused.
    """
    _check(device, threads, registers, shared_bytes)
    capacity = device.shared_bytes_per_sm if shared_capacity is None else shared_capacity

    # Threads are scheduled by warp: a block of 33 threads takes the room of 64.
    warps_per_block = _ceil(threads, WARP) // WARP

    # Registers are handed out by warp, in units, and each of the SM's schedulers owns a part of the register file: the
    # warps that fit are a multiple of the number of schedulers (the allocation granularity).
    registers_per_warp = _ceil(registers * WARP, device.register_allocation_unit)
    granularity = device.warp_allocation_granularity
    warps_by_registers = device.registers_per_sm // registers_per_warp // granularity * granularity

    # Shared memory is handed out by block, and the system keeps some of each block's for itself.
    shared_per_block = _ceil(shared_bytes + device.reserved_shared_bytes_per_block, device.shared_allocation_unit)

    limits = {
        "blocks": device.blocks_per_sm,
        "warps": device.warps_per_sm // warps_per_block,
        "registers": warps_by_registers // warps_per_block,
        "shared": capacity // shared_per_block if shared_per_block else device.blocks_per_sm,
    }
    result = Occupancy(warps_per_block, registers_per_warp, shared_per_block, limits, device.warps_per_sm)
    if result.blocks == 0:
        raise DoesNotFit(
            f"No block fits on an SM of {device.arch}: {' and '.join(result.limiters)} run out. A block takes "
            f"{warps_per_block * registers_per_warp} of {device.registers_per_sm} registers and {shared_per_block} of "
            f"{capacity} shared bytes. Use fewer threads, registers or shared bytes."
        )
    return result


def certain_shared_limit(device: LaunchLimits, result: Occupancy) -> int | None:
    """The limit by shared memory if it does not depend on the carve-out that the driver chooses, else None.

    The driver may choose any carve-out that does not lower the number of resident blocks; which one is not documented.
    """
    per_block = result.shared_bytes_per_block
    if not per_block:
        return result.limits["shared"]
    limits = {size // per_block for size in device.carve_outs}
    possible = {limit for limit in limits if limit >= result.blocks}
    return possible.pop() if len(possible) == 1 else None


def _check(device: LaunchLimits, threads: int, registers: int, shared_bytes: int) -> None:
    if not 1 <= threads <= device.max_threads_per_block:
        raise DoesNotFit(f"A block of {threads} threads: a block has 1 to {device.max_threads_per_block} threads.")
    if not 1 <= registers <= device.registers_per_thread:
        raise DoesNotFit(f"{registers} registers per thread: a thread has 1 to {device.registers_per_thread}.")
    if not 0 <= shared_bytes <= device.shared_bytes_per_block_optin:
        raise DoesNotFit(
            f"{shared_bytes} shared bytes a block: a block on {device.arch} has 0 to "
            f"{device.shared_bytes_per_block_optin} (above {device.shared_bytes_per_block} it must opt in)."
        )


def _ceil(value: int, unit: int) -> int:
    """value rounded up to a multiple of unit."""
    return -(-value // unit) * unit
