"""The constant banks of a launch, which the driver fills.

- Bank 0 holds the block's and the grid's dimensions, the windows of generic addresses, the top of the stack and, from
  `CompiledKernel.parameter_base` on, the parameters;
- bank 2 holds literals, bank 3 the module's `__constant__` variables, bank 4 addresses of variables and functions.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gpusim import devices
from gpusim.compiler import CompiledKernel, cubin
from gpusim.compiler.ptx import Variable
from gpusim.engine import clusters
from gpusim.engine.ir import Program
from gpusim.engine.memory import LOCAL_WINDOW, SHARED_WINDOW, product
from gpusim.isa.decoded import SYSTEM_FUNCTIONS
from gpusim.isa.sass.opcodes import family

Sizes = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class BankZero:
    """Where the driver puts things in constant bank 0.

    dynamic_shared: the bytes of dynamic shared memory, %dynamic_smem_size; sms: how many SMs there are, %nsmid;
    grid_barrier: %envreg1 and %envreg2, the upper and the lower half of the address of the grid's barrier; constants:
    the generic address of bank 3. The next five are of clusters: whether `__cluster_dims__` is there, a cluster's
    dimensions, what to multiply with to divide by these, the clusters of the grid, and the blocks of a cluster.
    parameters: their address, where it is known.
    """

    block: int
    grid: int
    shared_window: int
    local_window: int
    stack_top: int
    dynamic_shared: int
    sms: int
    grid_barrier: tuple[int, int]
    constants: int
    is_cluster: int = 0
    cluster: int = 0
    inverses: int = 0
    clusters: int = 0
    cluster_blocks: int = 0
    parameters: int = 0


BEFORE_HOPPER = BankZero(0x0, 0xC, 0x18, 0x20, 0x28, 0x2C, 0x10C, (0x8C, 0x90), 0x50)
HOPPER = BankZero(0x0, 0xC, 0x18, 0x20, 0x28, 0x2C, 0x10C, (0x44, 0x48), 0xD0, 0x140, 0x144, 0x150, 0x15C, 0x188, 0x198)
# As ptxas 12.9 reads them where it reads Hopper's for the same PTX. Some it adds to SR_CgaSize, which is 0 here.
BLACKWELL = BankZero(
    0x360, 0x370, 0x2F0, 0x2F8, 0x37C, 0x2AC, 0x2D0, (0x254, 0x258), 0x120, 0x36C, 0x2A0, 0x2B0, 0x2C0, 0x2CC
)
# With -G an instruction may hold an address that the linker puts in; here it is a word of a bank that no GPU has.
LINKED_BANK = 0x20


class ConstantBanks:
    """Those of a kernel: what its image says of them, and what a launch adds.

    `variables` are the module's, by name, each with the slot for its address; `linked` the addresses of LINKED_BANK, as
    `Cubin.addresses` has those of bank 4.
    """

    def __init__(
        self,
        image: cubin.Cubin,
        kernel: CompiledKernel,
        variables: Mapping[str, tuple[Variable, int]],
        linked: Mapping[int, tuple[cubin.Symbol, int]],
    ) -> None:
        self._kernel = kernel
        self._variables = variables
        self._literals = image.bank(2, kernel.lowered_name)
        self._constants, self._constant_symbols = image.bank(3, kernel.lowered_name), image.variables(".nv.constant3")
        of_bank4 = image.addresses(4, kernel.lowered_name), image.bank(4, kernel.lowered_name)
        self._addresses = {4: of_bank4, LINKED_BANK: (linked, bytes(8 * len(linked)))}

    def bytes_pointed_at(self, program: Program) -> int:
        """The bytes of bank 3 if the code makes pointers to variables in it, else 0."""
        beginning = f"c[0x0][{_layout(program.arch, program.shared_base).constants:#x}]"
        is_read = self._constants and any(beginning in instruction.text for instruction in program.instructions)
        return len(self._constants) if is_read else 0

    def of(self, launch) -> dict[int, bytes]:
        """The banks by number. launch: an `engine.run.Launch`."""
        places = dict(launch.variables)
        banks = {0: _bank_zero(launch, self._kernel), 2: self._literals}
        for bank, (there, before) in self._addresses.items():
            data = bytearray(before)
            for offset, (symbol, addend) in there.items():
                known = SYSTEM_FUNCTIONS.get(symbol.name, 0)
                if symbol.name in self._variables:
                    known = places.get(self._variables[symbol.name][1], 0)
                struct.pack_into("<q", data, offset, known + addend)
            if there:
                banks[bank] = bytes(data)
        if self._constants:
            data = bytearray(self._constants)
            for symbol in self._constant_symbols:
                allocation = launch.global_memory.find(places.get(self._variables[symbol.name][1], 0))
                data[symbol.offset : symbol.offset + symbol.size] = allocation.bytes_.tobytes()[: symbol.size]
            banks[3] = bytes(data)
        return banks


def _bank_zero(launch, kernel: CompiledKernel) -> bytes:
    """What the driver puts before the parameters, and the parameters."""
    program = launch.program
    layout, dynamic = _layout(program.arch, program.shared_base), launch.shared_bytes - program.dynamic_shared_offset
    end = kernel.parameter_base + len(launch.parameters)
    data = bytearray(
        _of_shape(
            program.arch, program.shared_base, program.local_bytes, program.cluster, launch.grid, launch.block,
            max(0, dynamic),
        )
    ).ljust(end, b"\0")  # fmt: skip
    barrier = launch.grid_barrier or 0
    for offset, half in zip(layout.grid_barrier, (barrier >> 32, barrier & 0xFFFFFFFF), strict=True):
        struct.pack_into("<I", data, offset, half)
    struct.pack_into("<q", data, layout.constants, launch.constants_at or 0)
    if layout.parameters:
        struct.pack_into("<q", data, layout.parameters, launch.parameters_at or 0)
    data[kernel.parameter_base : end] = launch.parameters
    return bytes(data)


def _layout(arch: str, shared_base: int) -> BankZero:
    if not shared_base:
        return BEFORE_HOPPER
    return BLACKWELL if family(arch).since >= 100 else HOPPER


@lru_cache(maxsize=64)
def _of_shape(
    arch: str, shared_base: int, local_bytes: int, cluster: Sizes | None, grid: Sizes, block: Sizes, dynamic: int
) -> bytes:
    """Of bank 0 what follows from a program and the shape of its launch; there may be no parameters behind it.

    cluster: of `__cluster_dims__`.  dynamic: bytes of shared memory.  For the others see `Program` and `Launch`.
    """
    layout, data = _layout(arch, shared_base), bytearray(0x380)
    struct.pack_into("<3I", data, layout.block, *block)
    struct.pack_into("<3I", data, layout.grid, *grid)
    if shared_base:
        struct.pack_into("<I", data, layout.is_cluster, cluster is not None)
        _tell_clusters(data, layout, grid, cluster or clusters.ALONE)
    struct.pack_into("<q", data, layout.shared_window, SHARED_WINDOW)
    struct.pack_into("<q", data, layout.local_window, LOCAL_WINDOW)
    struct.pack_into("<I", data, layout.stack_top, local_bytes)
    struct.pack_into("<I", data, layout.dynamic_shared, dynamic)
    struct.pack_into("<I", data, layout.sms, devices.sms_for(arch))
    return bytes(data)


def _tell_clusters(data: bytearray, layout: BankZero, grid: Sizes, cluster: Sizes) -> None:
    """What blocks compute their place in a cluster from. An inverse is rounded up: then no quotient is short."""
    inverses = [np.float32(1) if size == 1 else np.nextafter(np.float32(1 / size), np.float32(1)) for size in cluster]
    struct.pack_into("<3I", data, layout.cluster, *cluster)
    struct.pack_into("<3f", data, layout.inverses, *inverses)
    struct.pack_into("<3I", data, layout.clusters, *(each // size for each, size in zip(grid, cluster, strict=True)))
    struct.pack_into("<I", data, layout.cluster_blocks, product(cluster))
