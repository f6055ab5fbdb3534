"""NVIDIA GPUs: what a product has, what its compute capability allows, and whether a launch fits.

Limits per compute capability are those of the CUDA C++ Programming Guide's table "Technical Specifications per Compute
Capability", checked against the CUDA headers: `cuda_occupancy.h` for the units in which an SM's registers and shared
memory are handed out, and libcu++'s `arch_traits.h` for the rest. What differs between products of one compute
capability (SMs, clock, memory, L2) has its own source in each row.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache

from gpusim.sentences import Sentence

KIB = 1024
# The same on every GPU of the course (CUDA C++ Best Practices Guide, "Device Memory Spaces").
WARP = 32  # lanes
SCHEDULERS = 4  # of an SM; each issues at most one instruction of one warp in a cycle
FLOAT_BYTES = 4
SECTOR_BYTES = 32  # what global memory delivers: a quarter of a line
LINE_BYTES = 128  # what one tag of the cache stands for
BANKS = 32  # of shared memory: word w lies in bank w % 32, and a bank serves one word in a wavefront
WORD_BYTES = 4  # of a bank


@dataclass(frozen=True, kw_only=True)
class LaunchLimits:
    """What every GPU of one compute capability allows. Memory is in bytes, registers are 32-bit.

    `register_allocation_unit` registers is the step in which a warp is given registers, `shared_allocation_unit` bytes
    the step in which a block is given shared memory. The warps of a block are counted in steps of
    `warp_allocation_granularity`, one for each of the SM's four partitions, when its registers are checked.
    `carve_outs`: what an SM can set aside as shared memory; the last one is all there is.
    """

    compute_capability: tuple[int, int]
    fp32_lanes_per_sm: int
    threads_per_sm: int
    blocks_per_sm: int
    carve_outs: tuple[int, ...]
    reserved_shared_bytes_per_block: int = 1 * KIB
    shared_allocation_unit: int = 128
    shared_bytes_per_block: int = 48 * KIB
    registers_per_sm: int = 64 * KIB
    registers_per_block: int = 64 * KIB
    registers_per_thread: int = 255
    register_allocation_unit: int = 256
    warp_allocation_granularity: int = 4
    max_threads_per_block: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)

    @property
    def arch(self) -> str:
        """The compiler's name of the architecture, "sm_90"."""
        major, minor = self.compute_capability
        return f"sm_{major}{minor}"

    @property
    def shared_bytes_per_sm(self) -> int:
        """The most shared memory of an SM."""
        return self.carve_outs[-1]

    @property
    def warps_per_sm(self) -> int:
        return self.threads_per_sm // WARP

    @property
    def shared_bytes_per_block_optin(self) -> int:
        """The most shared memory of a block, for a kernel that asked for more than the default 48 KiB."""
        return self.shared_bytes_per_sm - self.reserved_shared_bytes_per_block


@dataclass(frozen=True, kw_only=True)
class Device(LaunchLimits):
    """A GPU model: the limits of its compute capability and what this product has.

    `name` is what the driver calls it. `clock_mhz` is the boost clock, `memory_gb_per_s` the bandwidth by the
    specification (1 GB = 10⁹ bytes). `source` says where the row's values are from.
    """

    name: str
    sms: int
    clock_mhz: int
    memory_gb_per_s: float
    l2_bytes: int
    source: str

    @property
    def short(self) -> str:
        """The name without the maker's: "H200"."""
        return self.name.removeprefix("NVIDIA ")

    @property
    def peak_fp32_gflops(self) -> float:
        """SMs × lanes × 2 (a fused multiply-add is two operations) × clock, in 10⁹ operations a second."""
        return self.sms * self.fp32_lanes_per_sm * 2 * self.clock_mhz / 1000


def _limits(
    compute_capability: tuple[int, int], lanes: int, threads: int, blocks: int, carve_outs_kib: Sequence[int]
) -> LaunchLimits:
    # Before compute capability 8.0 no shared memory is reserved, and it is handed out in larger steps.
    before_ampere = compute_capability < (8, 0)
    return LaunchLimits(
        compute_capability=compute_capability,
        fp32_lanes_per_sm=lanes,
        threads_per_sm=threads,
        blocks_per_sm=blocks,
        carve_outs=tuple(size * KIB for size in carve_outs_kib),
        reserved_shared_bytes_per_block=0 if before_ampere else 1 * KIB,
        shared_allocation_unit=256 if before_ampere else 128,
    )


_TO_100 = (0, 8, 16, 32, 64, 100)
_TO_164 = (*_TO_100, 132, 164)
_TO_228 = (*_TO_164, 196, 228)
LIMITS: dict[str, LaunchLimits] = {
    limits.arch: limits
    for limits in (
        # compute capability, FP32 lanes per SM, threads per SM, blocks per SM, carve-outs for shared memory in KiB
        # (the guide's section "Shared Memory" of each compute capability)
        _limits((7, 0), 64, 2048, 32, (0, 8, 16, 32, 64, 96)),
        _limits((7, 5), 64, 1024, 16, (32, 64)),
        _limits((8, 0), 64, 2048, 32, _TO_164),
        _limits((8, 6), 128, 1536, 16, _TO_100),
        _limits((8, 7), 128, 1536, 16, _TO_164),
        _limits((8, 9), 128, 1536, 24, _TO_100),
        _limits((9, 0), 128, 2048, 32, _TO_228),
        _limits((10, 0), 128, 2048, 32, _TO_228),
        _limits((10, 1), 128, 1536, 24, _TO_228),  # 11.0 from CUDA 13 on
        _limits((10, 3), 128, 2048, 32, _TO_228),
        _limits((12, 0), 128, 1536, 24, _TO_100),
        _limits((12, 1), 128, 1536, 24, _TO_100),
    )
}
"""The limits by architecture: `LIMITS["sm_90"]`."""

# Units of an SM beside its FP32 lanes, by the whitepapers "NVIDIA A100 Tensor Core GPU Architecture" and "NVIDIA H100
# Tensor Core GPU Architecture", in their tables of an SM.
UNITS: dict[str, dict[str, int]] = {"sm_80": {"FP64": 32, "tensor": 4}, "sm_90": {"FP64": 64, "tensor": 4}}

_ADA = "NVIDIA Ada GPU Architecture whitepaper v2.1, appendix tables"
_DRIVER = "as the driver reports them (OpenXLA, target_config/specs/{}.txtpb)"


def _device(
    name: str, arch: str, sms: int, clock_mhz: int, memory_gb_per_s: float, l2_bytes: int, source: str
) -> Device:
    return Device(
        **asdict(LIMITS[arch]),
        name=name,
        sms=sms,
        clock_mhz=clock_mhz,
        memory_gb_per_s=memory_gb_per_s,
        l2_bytes=l2_bytes,
        source=source,
    )


DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        # name, architecture, SMs, boost clock in MHz, memory in GB/s, L2 in bytes, source.
        # The first GPU of an architecture is the one that stands for it.
        _device(
            *("NVIDIA H200", "sm_90", 132, 1980, 4800, 60 * KIB**2),
            "SMs, clock and L2 as the driver reports them (measured 2026-11-20, driver 580.159.04); "
            "memory: NVIDIA H200 datasheet",
        ),
        _device(
            *("NVIDIA H100 80GB HBM3", "sm_90", 132, 1980, 3350, 50 * KIB**2),
            f"NVIDIA H100 datasheet (SXM); SMs, clock and L2 {_DRIVER.format('h100_sxm')}",
        ),
        _device(
            *("NVIDIA H20", "sm_90", 78, 1980, 4000, 60 * KIB**2),
            "SMs and L2 as the driver reports them (RightNow-AI/AutoMegaKernel, target H20); memory: NVIDIA H20 "
            "datasheet; clock: that of the other Hopper SXM parts, for want of a source (the datasheet's 44 TFLOPS "
            "would need 2.2 GHz; 32 TFLOPS are reported as measured)",
        ),
        _device(
            *("NVIDIA A100-SXM4-80GB", "sm_80", 108, 1410, 2039, 40 * KIB**2),
            f"NVIDIA A100 datasheet; SMs, clock and L2 {_DRIVER.format('a100_sxm_80')}",
        ),
        _device(
            *("NVIDIA A100-SXM4-40GB", "sm_80", 108, 1410, 1555, 40 * KIB**2),
            f"NVIDIA A100 datasheet; SMs, clock and L2 {_DRIVER.format('a100_sxm_40')}",
        ),
        _device(
            *("NVIDIA RTX A6000", "sm_86", 84, 1800, 768, 6 * KIB**2),
            f"NVIDIA RTX A6000 datasheet; SMs, clock and L2 {_DRIVER.format('a6000')}",
        ),
        _device(
            *("NVIDIA GeForce RTX 3090", "sm_86", 82, 1695, 936, 6 * KIB**2),
            "NVIDIA Ampere GA102 GPU Architecture whitepaper, table of GeForce GPUs",
        ),
        _device(
            *("NVIDIA RTX 6000 Ada Generation", "sm_89", 142, 2505, 960, 96 * KIB**2),
            "NVIDIA RTX PRO Blackwell GPU Architecture whitepaper, table 1, which has this GPU beside its successor",
        ),
        _device(*("NVIDIA GeForce RTX 4090", "sm_89", 128, 2520, 1008, 72 * KIB**2), _ADA),
        _device(
            *("NVIDIA L40S", "sm_89", 142, 2520, 864, 96 * KIB**2),
            "NVIDIA L40S datasheet (18176 FP32 lanes, 91.6 TFLOPS, 864 GB/s); L2: that of the L40, the same chip with "
            f"the same memory, in the {_ADA}",
        ),
        _device(*("NVIDIA L4", "sm_89", 58, 2040, 300, 48 * KIB**2), _ADA),
        _device(
            *("Tesla T4", "sm_75", 40, 1590, 320, 4 * KIB**2),
            "NVIDIA Turing GPU Architecture whitepaper, appendix on the Tesla T4",
        ),
        _device(
            *("NVIDIA B200", "sm_100", 148, 1965, 7672, 132644864),
            f"SMs, clock, memory and L2 {_DRIVER.format('b200')}; the datasheet says up to 8 TB/s",
        ),
        _device(
            *("NVIDIA GeForce RTX 5090", "sm_120", 170, 2407, 1792, 96 * KIB**2),
            "NVIDIA RTX Blackwell GPU Architecture whitepaper, table of GeForce GPUs",
        ),
    )
}
"""The GPUs of the course by the name that the driver gives them."""

DEFAULT: Device = DEVICES["NVIDIA H200"]
"""The GPU that the course's recordings were made on, and that the simulator models and compiles for."""


class UnknownDevice(Sentence, KeyError):
    """No GPU, or no architecture, of that name is in the table."""

    def __str__(self) -> str:
        return self.args[0]  # KeyError would show the sentence in quotes


def get(name: str) -> Device:
    """The GPU called `name`, however it is written: "NVIDIA H200", "h200", "rtx 4090", "A100 80GB", or "sm_90".

    An architecture stands for its first GPU in the table.

    Raises:
        UnknownDevice: no GPU fits, or several do; the message lists them.
    """
    if name in DEVICES:
        return DEVICES[name]
    if re.fullmatch(r"sm_\d+[af]?", name.strip().lower()):
        return for_arch(name.strip().lower())
    wanted = _words(name)
    matching = [device for device in DEVICES.values() if wanted and wanted <= _words(device.name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(device.name for device in matching)
        raise UnknownDevice(f"{name!r} fits {len(matching)} GPUs: {names}. Say which one.")
    raise UnknownDevice(f"no GPU called {name!r} is in the table. It has: {', '.join(DEVICES)}.")


def for_arch(arch: str) -> Device:
    """The GPU that stands for an architecture: the NVIDIA H200 for "sm_90".

    Raises:
        UnknownDevice: no GPU of the table has this architecture.
    """
    base = arch.rstrip("af")
    for device in DEVICES.values():
        if device.arch == base:
            return device
    known = ", ".join(dict.fromkeys(device.arch for device in DEVICES.values()))
    raise UnknownDevice(f"no GPU of the table has the architecture {arch!r}. It has GPUs for: {known}.")


@cache
def sms_for(arch: str) -> int:
    """How many SMs a GPU of an architecture has; those of the default GPU, if no GPU of the table has it."""
    with suppress(UnknownDevice):
        return for_arch(arch).sms
    return DEFAULT.sms


def limits_for(arch: str) -> LaunchLimits:
    """The limits of an architecture: `limits_for("sm_90")`; "sm_90a" has those of "sm_90".

    Raises:
        UnknownDevice: the table has no limits for it.
    """
    base = arch.rstrip("af")
    if base not in LIMITS:
        raise UnknownDevice(f"the limits of {arch!r} are not in the table. It has: {', '.join(LIMITS)}.")
    return LIMITS[base]


def launch_problem(
    limits: LaunchLimits,
    grid: Sequence[int],
    block: Sequence[int],
    shared_bytes: int = 0,
    registers: int | None = None,
    *,
    max_threads: int | None = None,
    opted_in: bool = True,
) -> str | None:
    """Why a GPU would refuse this launch, as a sentence; None if it would not.

    Args:
        limits: a `Device` or the `LaunchLimits` of an architecture.
        grid, block: one to three numbers each, x first; missing ones are 1.
        shared_bytes: shared memory of a block, static and dynamic together.
        registers: registers of a thread, as compiled.
        max_threads: what the kernel's `__launch_bounds__` promises, if it does.
        opted_in: whether the kernel asked for more than the default 48 KiB of shared memory.

    The rules are those of the CUDA C++ Programming Guide's table of technical specifications; the one for registers is
    that of `cuda_occupancy.h`.
    """
    for what, dimensions in (("grid", grid), ("block", block)):
        problem = _dimensions_problem(what, dimensions)
        if problem:
            return problem
    return (
        _block_problem(limits, block, max_threads)
        or _grid_problem(limits, grid)
        or _shared_problem(limits, shared_bytes, opted_in)
        or _registers_problem(limits, block, registers)
    )


def most_threads(limits: LaunchLimits, registers: int) -> int:
    """The largest block of threads with this many registers each: whole warps for each of an SM's partitions."""
    warps = limits.registers_per_block // _round_up(registers * WARP, limits.register_allocation_unit)
    whole = warps // limits.warp_allocation_granularity * limits.warp_allocation_granularity
    return min(limits.max_threads_per_block, whole * WARP)


def _words(name: str) -> set[str]:
    """The parts of a GPU's name that tell it from others: {"rtx", "4090"} of "GeForce RTX4090"."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"\b(rtx|gtx)(?=\d)", r"\1 ", name.lower()))
    return set(words) - {"nvidia", "geforce", "tesla", "generation", "gpu"}


def _dimensions_problem(what: str, dimensions: Sequence[int]) -> str | None:
    example = "(16, 16)" if what == "block" else "(64, 64)"
    if isinstance(dimensions, str) or not isinstance(dimensions, Sequence) or not 1 <= len(dimensions) <= 3:
        return f"the {what} is {dimensions!r}; expected a tuple of one to three whole numbers, such as {example}"
    for axis, size in zip("xyz", dimensions, strict=False):
        try:
            operator.index(size)
        except TypeError:
            return (
                f"the {what}'s {axis} is {size!r} of type {type(size).__name__}; expected a whole number. "
                "A division rounded up is written (n + b - 1) // b"
            )
        if size < 1:
            return f"the {what}'s {axis} is {size}; every dimension is at least 1, so that there is something to run"
    return None


def _block_problem(limits: LaunchLimits, block: Sequence[int], max_threads: int | None) -> str | None:
    threads = _product(block)
    shape = f"a block of {_times(block)} = {threads} threads"
    if threads > limits.max_threads_per_block:
        return (
            f"{shape} is more than the {limits.max_threads_per_block} that {limits.arch} allows; "
            f"try {_smaller(block, limits.max_threads_per_block)}"
        )
    for axis, size, most in zip("xyz", block, limits.max_block, strict=False):
        if size > most:
            return f"the block's {axis} is {size}, more than the {most} that {limits.arch} allows"
    if max_threads is not None and threads > max_threads:
        return (
            f"{shape} is more than the {max_threads} that the kernel was compiled for (__launch_bounds__); "
            f"try {_smaller(block, max_threads)}, or compile it for more"
        )
    return None


def _grid_problem(limits: LaunchLimits, grid: Sequence[int]) -> str | None:
    for axis, size, most in zip("xyz", grid, limits.max_grid, strict=False):
        if size > most:
            advice = "" if axis == "x" else f"; only x may be larger (up to {limits.max_grid[0]})"
            return f"the grid's {axis} is {size}, more than the {most} that {limits.arch} allows{advice}"
    return None


def _shared_problem(limits: LaunchLimits, shared_bytes: int, opted_in: bool) -> str | None:
    if shared_bytes < 0:
        return f"the shared memory of a block is {shared_bytes} bytes; expected 0 or more"
    most = limits.shared_bytes_per_block_optin
    if shared_bytes > most:
        return (
            f"a block with {shared_bytes} bytes of shared memory is more than the {most} that {limits.arch} allows; "
            "try a smaller tile or fewer stages"
        )
    if not opted_in and shared_bytes > limits.shared_bytes_per_block:
        return (
            f"a block with {shared_bytes} bytes of shared memory is more than the default "
            f"{limits.shared_bytes_per_block}; {limits.arch} allows up to {most} after "
            f"kernel.max_dynamic_shared_size_bytes = {shared_bytes}"
        )
    return None


def _registers_problem(limits: LaunchLimits, block: Sequence[int], registers: int | None) -> str | None:
    if registers is None:
        return None
    threads = _product(block)
    per_warp = _round_up(registers * WARP, limits.register_allocation_unit)
    needed = per_warp * _round_up(_round_up(threads, WARP) // WARP, limits.warp_allocation_granularity)
    if needed <= limits.registers_per_block:
        return None
    return (
        f"a block of {_times(block)} = {threads} threads with {registers} registers each needs {needed} registers, "
        f"more than the {limits.registers_per_block} of an SM; try {_smaller(block, most_threads(limits, registers))}, "
        f"or __launch_bounds__({threads}) so that the compiler uses fewer"
    )


def _smaller(block: Sequence[int], threads: int) -> tuple[int, ...]:
    """`block` with its longest side halved until it has at most `threads` threads."""
    sides = [int(side) for side in block]
    while _product(sides) > threads:
        longest = sides.index(max(sides))
        sides[longest] = (sides[longest] + 1) // 2
    return tuple(sides)


def _product(dimensions: Sequence[int]) -> int:
    product = 1
    for size in dimensions:
        product *= int(size)
    return product


def _times(block: Sequence[int]) -> str:
    return " × ".join(str(int(size)) for size in (*block, 1, 1)[:3])


def unravel(number: int, dims: Sequence[int]) -> tuple[int, int, int]:
    """(x, y, z) of a linear number, x first: of a block in a grid of `dims`, of a thread in a block of `dims`."""
    x, y = dims[:2]
    return number % x, number // x % y, number // (x * y)


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step
