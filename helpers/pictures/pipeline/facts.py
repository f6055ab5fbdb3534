"""A kernel's main loop: what the machine code issues for one K-block, and how many warps share a scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gemm_kernels import Kernel, OwnKernel
from gpusim import devices
from gpusim.devices import SCHEDULERS, WARP, Device
from helpers import run
from helpers.pictures import CannotTell
from helpers.pictures.occupancy.facts import resources_of
from helpers.pictures.pipeline.model import Work

FEW, MORE = 8, 9  # K-blocks of two launches: what the second does beyond the first is the work of one more
# Opcodes that fetch from global memory, and that store to shared memory; "" begins every opcode.
FETCHES = {"sass": ("LDG.", "LDGSTS"), "ptx": ("ld.global", "cp.async")}
STORES = {"sass": ("STS",), "ptx": ("st.shared",)}


@dataclass(frozen=True)
class Loop:
    """A kernel's main loop on one scheduler.

    name: the kernel's.  work: of a warp for a K-block.  stages: K-blocks in shared memory.  warps: resident on the
    scheduler.
    """

    name: str
    work: Work
    stages: int
    warps: int


@lru_cache(maxsize=8)
def loop_of(kernel: Kernel | OwnKernel, device: Device = devices.DEFAULT) -> Loop:
    """What a kernel issues for one K-block, and its warps on a scheduler of a GPU.

    Two launches are counted that differ by one K-block. Raises the simulator's and the compiler's errors, CannotTell
    for a kernel whose work does not grow with K, and DoesNotFit for one of which no block fits on an SM.
    """
    few, more = (run.record(kernel.launch(*kernel.tile, count * kernel.depth)) for count in (FEW, MORE))
    warps = -(-kernel.threads // WARP)

    def added(*opcodes: str) -> int:
        return round(sum(more.instructions(name) - few.instructions(name) for name in opcodes) / warps)

    copy, store, every = added(*FETCHES[few.level]), added(*STORES[few.level]), added("")
    if copy < 1 or every - copy - store < 1:
        raise CannotTell(
            f"A warp of {kernel.name} loads {copy} times for a K-block and issues {every} instructions for it: that is "
            f"no loop over K. The tile is said to be {kernel.tile} and the depth of a phase {kernel.depth}: are they?"
        )
    resident = resources_of(kernel, device.arch).occupancy(device).warps
    work = Work(copy, store, every - copy - store)
    return Loop(kernel.name, work, max(1, kernel.buffers), max(1, resident // SCHEDULERS))
