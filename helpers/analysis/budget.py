"""Where the clock cycles of an SM go: FMAs, other instructions, and what is waited for while nothing is issued.

A scheduler issues at most one instruction per cycle. Cycles in which it issues none are shared out among the reasons
for which its warps wait, in the proportion in which they wait: nobody can say of such a cycle that one warp alone is to
blame. Warps that could issue while another one does (Not Selected) lose nothing, and take no part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gemm_kernels import get
from helpers import devices
from helpers.cycles import Prediction
from helpers.cycles.machine_code import UNITS
from helpers.devices import SCHEDULERS, WARP, Device
from helpers.measure import recordings
from helpers.measure.measurement import recorded_on
from helpers.measure.states import REASONS, STALL, SUITE
from helpers.simulator.engine.memory import product

SIDE = 128  # a k-step is one k of a tile of SIDE x SIDE sums
K_STEP = SIDE * SIDE // WARP // SCHEDULERS  # cycles that its FMAs take at least
NO_STALL = ("selected", "not_selected")

# Nsight Compute's names, in the order in which a bar has them: global memory, shared memory, other warps, the core.
NAMES: Mapping[str, str] = {
    "long_scoreboard": "Long Scoreboard",
    "lg_throttle": "LG Throttle",
    "short_scoreboard": "Short Scoreboard",
    "mio_throttle": "MIO Throttle",
    "barrier": "Barrier",
    "dispatch_stall": "Dispatch Stall",
    "math_pipe_throttle": "Math Pipe Throttle",
    "wait": "Wait",
    "no_instruction": "No Instruction",
    "branch_resolving": "Branch Resolving",
}


@dataclass(frozen=True)
class Budget:
    """The cycles of an SM, in parts that add up to `total`.

    fma, other: in which a scheduler issues an FMA (or another instruction of the FP32 pipe), or any other instruction.
    waits: in which it issues none, by reason.  empty: in which the SM has no warp, before, between and after blocks.
    unit: what an axis says, cycles for what.  label: recorded or predicted, and on which GPU.
    """

    name: str
    fma: float
    other: float
    waits: Mapping[str, float] = field(hash=False)
    empty: float
    unit: str
    label: str

    @property
    def total(self) -> float:
        return self.fma + self.other + sum(self.waits.values()) + self.empty

    @property
    def parts(self) -> dict[str, float]:
        """All of them by name, in the order of a bar: fma, other, the reasons, empty."""
        reasons = {name: self.waits[name] for name in (*NAMES, *sorted(set(self.waits) - set(NAMES)))
                   if name in self.waits}  # fmt: skip
        return {"fma": self.fma, "other": self.other, **reasons, "empty": self.empty}

    @property
    def largest(self) -> str:
        """The reason for which most cycles pass without an instruction."""
        return max(self.waits, key=lambda name: self.waits[name])

    def scaled(self, total: float, unit: str) -> Budget:
        """The same parts of another sum."""
        factor = total / self.total
        waits = {name: value * factor for name, value in self.waits.items()}
        return Budget(self.name, self.fma * factor, self.other * factor, waits, self.empty * factor, unit, self.label)


def named(one: Budget, name: str) -> Budget:
    """The same bar under another name."""
    return replace(one, name=name)


def shared_out(cycles: float, issued: float, stalls: Mapping[str, float]) -> dict[str, float]:
    """The cycles without an instruction, by reason.

    cycles, issued: of a scheduler while its SM has warps, and instructions that it issues in them.  stalls: warps that
    wait, by reason, in any unit.
    """
    waiting = {name: value for name, value in stalls.items() if name not in NO_STALL and value > 0}
    whole = sum(waiting.values())
    return {name: (cycles - issued) * value / whole for name, value in waiting.items()}


@dataclass(frozen=True)
class Counted:
    """What Nsight Compute counted for a launch, per scheduler.

    cycles, issued: while its SM had warps.  stalls: warps in each state per issued instruction, by reason; those that
    are selected, or not selected although they could issue, are among them.  empty: cycles in which the SM had none.
    """

    cycles: float
    issued: float
    stalls: Mapping[str, float] = field(hash=False)
    empty: float
    label: str


def counted(kernel: str, size: int = 2048, gpu: str = devices.DEFAULT.name) -> Counted:
    """A kernel of the ladder at M = N = K = size.

    Raises NoRecording, in a sentence, where this kernel or size was not profiled.
    """
    content = recordings.raw(gpu, SUITE)
    rows = [row for row in content["rows"] if (row["kernel"], row["size"]) == (get(kernel).name, size)]
    if not rows:
        sizes = sorted({row["size"] for row in content["rows"]})
        raise recordings.NoRecording(
            f"What the warps of {kernel} wait for was not recorded at {size}; the recorded sizes are "
            f"{', '.join(map(str, sizes))}. {recordings.how_to(SUITE)}"
        )
    metrics = rows[0]["metrics"]
    active = metrics["smsp__cycles_active.avg"]
    clock = float(content["provenance"]["clocks_under_load"]["clocks.sm"].split()[0])
    return Counted(
        active,
        active * metrics["smsp__issue_active.avg.pct_of_peak_sustained_active"] / 100,
        {reason: metrics[STALL.format(reason)] for reason in REASONS},
        metrics["gpu__time_duration.sum"] * clock / 1e3 - active,
        f"{recorded_on(gpu)} by Nsight Compute",
    )


def k_step(kernel: str, size: int = 2048, gpu: str = devices.DEFAULT.name) -> Budget:
    """The cycles of one k-step of a kernel of the ladder, as Nsight Compute counted them; raises as `counted` does."""
    found, fmas = counted(kernel, size, gpu), _fmas(size**3, devices.get(gpu))
    waits = shared_out(found.cycles, found.issued, found.stalls)
    whole = Budget(kernel, fmas, found.issued - fmas, waits, found.empty, "cycles for the launch", found.label)
    return _for_a_k_step(whole)


def predicted(found: Prediction, name: str, shape: tuple[int, int, int] | None = None) -> Budget:
    """The cycles of a predicted launch, the mean over all SMs of the GPU.

    shape: (M, N, K) of a multiplication, whose FMAs are then counted as such, and for one k-step of which the cycles
    are; None for another kernel, for whose whole launch they are, with all instructions of the FP32 pipe as FMAs.
    """
    trace, device, k = found.trace, found.machine.device, found.machine.constants
    blocks = product(trace.grid)
    at_work = min(device.sms, blocks) / device.sms
    result = found.simulated.result
    active = found.cycles * at_work
    issued = min(trace.warp_instructions / trace.blocks * blocks / device.sms / SCHEDULERS, active)
    fma = issued * result.unit[UNITS.index("fma")] / max(result.instructions, 1)
    if shape is not None:
        fma = _fmas(float(np.prod(np.array(shape, float))), device)
    empty = k["floor_us"] * k["clock_mhz"] + found.cycles - active
    waits = shared_out(active, issued, found.stalls)
    whole = Budget(name, fma, issued - fma, waits, empty, "cycles for the launch", found.label)
    return whole if shape is None else _for_a_k_step(whole)


def _fmas(products: float, device: Device) -> float:
    """FMAs of warps for each scheduler."""
    return products / WARP / device.sms / SCHEDULERS


def _for_a_k_step(whole: Budget) -> Budget:
    return whole.scaled(whole.total * K_STEP / whole.fma, f"cycles for one k of {SIDE} × {SIDE} sums")
