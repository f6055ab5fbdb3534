"""Of which kinds are a kernel's instructions? As Nsight Compute counted them by pipe, per FMA of the product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gemm_kernels import Launch
from gpusim import devices
from gpusim.devices import SCHEDULERS, WARP
from helpers import run
from helpers.measure import profiled
from helpers.measure.states import states

PIPES = {"fma": "FMA", "lsu": "loads and stores", "alu": "integers and tests"}
OTHER = "other"


@dataclass(frozen=True)
class Mix:
    """Instructions of warps per FMA of the product, by pipe, the names of PIPES and OTHER. label: where it is from."""

    kernel: str
    parts: Mapping[str, float] = field(hash=False)
    label: str

    @property
    def total(self) -> float:
        return sum(self.parts.values())


def mix(kernel: str, gpu: str = devices.DEFAULT.name) -> Mix:
    """A kernel of the ladder at M = N = K = `profiled.SIZE`. Raises NoRecording."""
    size = profiled.SIZE
    counted, fmas = states(kernel, size, gpu), size**3 / WARP
    parts = {pipe: counted.metrics[f"smsp__inst_executed_pipe_{pipe}.sum"] / fmas for pipe in PIPES}
    issued = counted.issuing * counted.metrics["smsp__cycles_active.avg"] * SCHEDULERS * devices.get(gpu).sms / fmas
    return Mix(kernel, {**parts, OTHER: max(0.0, issued - sum(parts.values()))}, counted.label)


def by_name(launch: Launch, names: Sequence[str]) -> dict[str, float]:
    """How often a launch of whole tiles executes these instructions of machine code, per FMA of its product."""
    recording = run.record(launch)  # of one block
    rows, columns = launch.tile
    fmas = rows * columns * launch.shape[2] / WARP
    return {name: recording.instructions(name) / fmas for name in names}
