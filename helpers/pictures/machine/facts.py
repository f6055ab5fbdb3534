"""What holds the floats of a kernel, from the registers to the GPU's main memory: how much, how fast, how far away."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim import devices
from gpusim.devices import FLOAT_BYTES, Device
from helpers import plan, recordings
from helpers.measure import recorded_on
from helpers.pictures.scheduler.model import FMA

SUITE = "memories"
PLACES = tuple(level for level in plan.PLACES if level != plan.LANES)  # from far to near


@dataclass(frozen=True)
class Memory:
    """One kind of memory of a GPU.

    level: one of PLACES.  bytes: of each SM, if each has its own, else of the whole GPU.  for_each_sm: whether each
    has its own.  bytes_per_cycle: of the whole GPU, when all SMs read, measured.  latency: clock cycles from asking
    to having.
    """

    level: str
    bytes: int
    for_each_sm: bool
    bytes_per_cycle: float
    latency: int


@dataclass(frozen=True)
class Machine:
    """A GPU as a kernel sees it. memories: in the order of PLACES.  source: where the measured numbers come from."""

    device: Device
    memories: tuple[Memory, ...]
    source: str

    def memory(self, level: str) -> Memory:
        """The memory of one of PLACES."""
        return next(memory for memory in self.memories if memory.level == level)

    def floats_per_cycle(self, memory: Memory) -> float:
        """The floats that one SM gets from there in a clock cycle, if all SMs ask for as much."""
        return memory.bytes_per_cycle / FLOAT_BYTES / self.device.sms

    def bytes_per_second(self, memory: Memory) -> float:
        """What all SMs together get from there."""
        return memory.bytes_per_cycle * self.device.clock_mhz * 1e6


def machine(device: Device = devices.DEFAULT) -> Machine:
    """A GPU whose memories were measured. Raises NoRecording for another one."""
    raw = recordings.raw(device.name, SUITE)
    measured = {row["place"]: row for row in (dict(zip(raw["columns"], row, strict=True)) for row in raw["rows"])}
    held = {
        "registers": device.registers_per_sm * FLOAT_BYTES,
        "shared": device.shared_bytes_per_sm,
        "l2": device.l2_bytes,
        "hbm": measured["hbm"]["bytes"],
    }
    latency = {level: row["latency"] for level, row in measured.items()} | {"registers": FMA.cycles}
    memories = tuple(
        Memory(level, held[level], level in ("registers", "shared"), measured[level]["bytes_per_cycle"], latency[level])
        for level in PLACES
    )
    return Machine(device, memories, recorded_on(device.name))
