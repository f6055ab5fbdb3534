"""The constants of the SM model for a GPU: what microbenchmarks measured on it, and what was fitted to launches.

constants/<gpu>/machine.json holds the microbenchmarks (`python -m helpers.tools.measuring calibrate`), cycles.json what
`python -m helpers.tools.fitting fit` fitted to one half of the workloads and to the ladder, and the launches that
`… record` compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from gpusim import constants as files, devices
from gpusim.devices import Device
from gpusim.sentences import Sentence
from gpusim.timing.ranges import Compared, Range, compared, range_for

# What the microbenchmarks above do not tell, at first values from published work on Volta to Hopper and the course's
# own measurements; those in `fitted` of cycles.json take their place.
ASSUMED: dict[str, float] = {
    "fma_interval": 2, "heavy_interval": 2, "alu_interval": 2, "fp64_interval": 2, "uniform_interval": 2,
    "read_slack": 1, "write_conflict": 0.8, "branch": 6, "special_latency": 24, "operand_latency": 12,
    "mio_interval": 4, "lg_interval": 2, "mio_entries": 16, "lg_entries": 16, "l1_fill": 0.5, "l1_mixing": 1,
    "l1_in_flight": 1024,
    "l1_and_shared_bytes": 256 * 1024, "tag_bank_0": 1, "tag_bank_1": 2, "fp64_latency": 8,
    "l2_spread": 45, "l2_sm": 110, "l2_request_sm": 0, "l2_request_gpu": 0.015,
    "dram_spread": 130, "dram_scatter": 1.5, "dram_fetch": 2, "dram_batch": 250, "dirty_batch": 500,
    "evict_latency": 50, "store_ahead": 200, "store_packet_gpu": 0.026, "partial_store": 1.1, "write_back": 1,
    "write_ahead": 900, "atomic_latency": 300, "atomic_float": 2.4, "block_turnaround": 345, "block_interval_sm": 10,
    "code_first": 150, "code_next": 20, "code_lines": 256, "constant_first": 1500,
}  # fmt: skip


class NoConstants(Sentence, Exception):
    """Nothing was measured on this GPU; the message says what to run, and what there is instead."""


@dataclass(frozen=True)
class Machine:
    """A GPU as the model knows it.

    constants: cycles, bytes per cycle and counts, by name.  compared: launches whose times were measured and predicted.
    source: a sentence about where they come from.
    """

    device: Device
    constants: Mapping[str, float]
    compared: tuple[Compared, ...]
    source: str

    def range_of(self, kind: str, seen: bool) -> Range:
        """How far a prediction may be off, by its kind of limiter. seen: whether the model was built on the kernel."""
        return range_for(self.compared, kind, seen)

    @property
    def built_on(self) -> frozenset[str]:
        """The names of the kernels that the model was built on."""
        return frozenset(launch.kernel for launch in self.compared if launch.seen)


@cache
def machine(name: str) -> Machine:
    """The constants of a GPU by its driver's name. NoConstants, in a sentence, where nothing was measured."""
    known = unfitted(name)
    fitted = files.read(name, files.FITTED)
    if fitted is None:
        return known
    return replace(known, constants={**known.constants, **fitted["constants"]}, compared=compared(fitted["launches"]))


def unfitted(name: str) -> Machine:
    """What microbenchmarks tell of a GPU, and what is assumed where they do not. NoConstants."""
    measured = files.read(name, files.MACHINE)
    if measured is None:
        known = ", ".join(files.gpus(files.MACHINE)) or "no GPU"
        raise NoConstants(
            f"How long instructions take on {name} was not measured, so no time is predicted for it. On such a GPU "
            f"`python -m helpers.tools.measuring calibrate` measures it in a minute. Measured so far: {known}."
        )
    constants = {**ASSUMED, **from_microbenchmarks(measured["measured"]), "clock_mhz": devices.get(name).clock_mhz}
    source = f"measured on {measured['provenance']['gpu']} on {measured['provenance']['date'][:10]}"
    return Machine(devices.get(name), constants, (), source)


def from_microbenchmarks(measured: Mapping[str, float], clock_mhz: float = 1980) -> dict[str, float]:
    """The constants that follow from what `helpers.tools.measuring.calibrate` measured, in cycles of the SM clock.

    Latencies are such that the model takes as long for the chains as the GPU did: an instruction of the model issues
    in a cycle of its own, which the subtracted ones, twos and nine are.
    """
    per_us = clock_mhz  # cycles
    add = measured["imad_chain 1×32 /1"]  # of the address, between two loads of a chain
    mib = 2**20
    bar = {warps: measured[f"bar all×{32 * warps} /1"] for warps in (1, 32)}
    barrier = (bar[32] - bar[1]) / 31

    def rate(kind: str, low: int, high: int) -> float:
        """Bytes per cycle between two sizes in MiB, so that what every launch costs drops out."""
        microseconds = measured[f"{kind.format(high)}"] - measured[f"{kind.format(low)}"]
        return (high - low) * mib / (microseconds * per_us)

    dram = rate("read {} MiB clean", 256, 1024)
    dirty = (measured["read 1024 MiB dirty"] - measured["read 1024 MiB clean"]) * per_us * dram  # bytes' worth of time
    factor = dram / rate("read {} MiB dirty", 16, 64)
    return {
        "xu_interval": measured["ex2 all×1024 /1"] / 8,
        "xu_latency": measured["ex2_chain 1×32 /1"] - 1,
        "shuffle_latency": measured["shuffle_chain 1×32 /1"] - 1,
        "redux_interval": measured["redux all×1024 /1"] / 8,
        "redux_latency": measured["redux_chain 1×32 /1"] - 9,  # its sum comes back from a uniform register
        "tensor_interval": measured["mma_bf16 all×512 /1"] / 4 / 2,
        "tensor_latency": measured["mma_bf16_chain 1×32 /1"],
        "shared_latency": measured["lds_chase 1×32 /1"] - add - 1,
        "wavefront_latency": (measured["lds_chase 1×32 /8"] - measured["lds_chase 1×32 /1"]) / 7,
        "wide_latency": measured["lds128_chase 1×32 /0"] - measured["lds_chase 1×32 /0"],
        "shared_atomic_latency": measured["atoms_chase 1×32 /1"] - add - 1,
        "l1_latency": measured["ldg_ca_chase 1×32 /1"] - 2 * add - 2,
        "constant_latency": measured["ldc_chase 1×32 /1"] - 2 * add - 2,
        "l2_latency": measured["chase 2048 KiB"] - 7,  # 7: on the way to L1
        "dram_latency": measured["chase 524288 KiB"] - 7,
        "barrier_interval": barrier,
        "barrier_latency": bar[1] - barrier - 2,
        "store_sm": 32 * 128 / measured["stg 1×1024 /1"],
        "store_gpu": 132 * 32 * 128 / measured["stg all×1024 /1"],
        "store_packet_sm": measured["stg_line 1×1024 /32"] / 32 / 32 / 1.25,
        # Of a sector that is written in part 32 bytes are read from DRAM, and 32 written. For all sectors of a line
        # that takes as long as the bytes say; this is for one sector in each line.
        "dram_alone": measured["stg_line all×1024 /32"] / measured["stg_sector all×1024 /8"],
        "atomic_lane": measured["red all×256 /0"] / 8 / 132 / 32,
        "atomic_return": measured["atom 1×256 /0"] / 8 / 32,
        "atomic_sm": 8 * 128 / measured["red 1×256 /1"],
        "atomic_gpu": 132 * 8 * 128 / measured["red all×256 /1"],
        "atomic_packet_sm": measured["red 1×256 /32"] / 8 / 32,
        "atomic_packet_gpu": measured["red all×256 /32"] / 8 / 32 / 132,
        "dram_gpu": dram,
        "evict_factor": factor,
        "evict_bytes": dirty / (factor - 1),
        "l2_gpu": rate("read {} MiB warm", 4, 16),
        "floor_us": measured["empty 132×32"],
        "block_interval_gpu": (measured["empty 105600×256"] - measured["empty 10560×256"]) * per_us / (105600 - 10560),
        "code_refill": (measured["code64 all×128 /1"]) * 8,
    }
