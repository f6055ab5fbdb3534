"""Where the clock cycles of an SM go: FMAs, other instructions, and what is waited for while nothing is issued.

A scheduler issues at most one instruction per cycle. The cycles in which it issues none are of two kinds. In some a
warp is ready, but its way into the core is closed, for every warp that is ready (Dispatch Stall): of these there are as
many per issued instruction as warps stall so, divided by the warps that are ready. In all others every warp waits, and
they are shared out by what the warps wait for in them: recorded ones by the samples that Nsight Compute took while
nothing was issued, and launches without such samples by all waits of the launch.

That the cycles divide so was tested: for the kernels of the ladder the number of those samples is proportional to the
cycles of the second kind, and far from proportional to those of both (`tests/pictures/test_budget_facts.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gemm_kernels import get
from gpusim import devices
from gpusim.devices import SCHEDULERS, WARP, Device
from gpusim.timing.machine_code import UNITS
from helpers import recordings
from helpers.cycles import TITLES, Prediction
from helpers.measure import profiled
from helpers.measure.states import REASONS, STALL, SUITE, states
from helpers.recordings.measurement import recorded_on

SIDE = 128  # a k-step is one k of a tile of SIDE x SIDE sums
K_STEP = SIDE * SIDE // WARP // SCHEDULERS  # cycles that its FMAs take at least
CLOSED = "dispatch_stall"
NO_WAIT = ("selected", "not_selected", CLOSED)


@dataclass(frozen=True)
class Budget:
    """The cycles of an SM, in parts that add up to `total`.

    fma, other: in which a scheduler issues an FMA (or another instruction of the FP32 pipe), or any other instruction.
    waits: in which it issues none, by reason.  empty: in which there is no warp,
    because the SM has no block or too few warps for its schedulers.
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
        reasons = {name: self.waits[name] for name in (*TITLES, *sorted(set(self.waits) - set(TITLES)))
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


def named(budget: Budget, name: str) -> Budget:
    """The same bar under another name."""
    return replace(budget, name=name)


def shared_out(cycles: float, warps: Mapping[str, float]) -> dict[str, float]:
    """Cycles in which every warp waits, by reason. warps: how many wait, by reason, in any unit, and others."""
    waiting = {name: value for name, value in warps.items() if name not in NO_WAIT and value > 0}
    whole = sum(waiting.values())
    return {name: cycles * value / whole for name, value in waiting.items()}


@dataclass(frozen=True)
class Counted:
    """What Nsight Compute counted for a launch, per scheduler.

    cycles, issued: while its SM had warps.  stalls: warps in each state per issued instruction; those that are
    selected, or not selected although they could issue, are among them.  samples: by reason, those that were taken
    while nothing was issued, {} where none were.  empty: cycles in which the SM had no warp.
    """

    cycles: float
    issued: float
    stalls: Mapping[str, float] = field(hash=False)
    samples: Mapping[str, float] = field(hash=False)
    empty: float
    label: str

    @property
    def dispatch(self) -> float:
        """Cycles in which the way into the core was closed for the warps that were ready."""
        return min(_closed(self.issued, self.stalls), self.cycles - self.issued)

    @property
    def waits(self) -> dict[str, float]:
        """The cycles in which nothing was issued, by reason."""
        rest = self.cycles - self.issued - self.dispatch
        return {CLOSED: self.dispatch, **shared_out(rest, self.samples or self.stalls)}


def counted(kernel: str, gpu: str = devices.DEFAULT.name) -> Counted:
    """A kernel of the ladder at M = N = K = `profiled.SIZE`.

    Raises NoRecording, in a sentence, where this kernel was not profiled.
    """
    metrics = states(get(kernel).name, profiled.SIZE, gpu).metrics
    return _counted(metrics, profiled.samples(kernel, gpu), recordings.raw(gpu, SUITE))


def _counted(metrics: Mapping[str, float], samples: Mapping[str, float], content: Mapping[str, Any]) -> Counted:
    active = metrics["smsp__cycles_active.avg"]
    clock = float(content["provenance"]["clocks_under_load"]["clocks.sm"].split()[0])
    return Counted(
        active,
        active * metrics["smsp__issue_active.avg.pct_of_peak_sustained_active"] / 100,
        {reason: metrics[STALL.format(reason)] for reason in REASONS},
        samples,
        metrics["gpu__time_duration.sum"] * clock / 1e3 - active,
        f"{recorded_on(content['gpu'])} by Nsight Compute",
    )


def k_step(kernel: str, gpu: str = devices.DEFAULT.name) -> Budget:
    """The cycles of one k-step of a kernel of the ladder, as Nsight Compute counted them; raises as `counted` does."""
    states, fmas = counted(kernel, gpu), _fmas(profiled.SIZE**3, devices.get(gpu))
    whole = Budget(
        kernel, fmas, states.issued - fmas, states.waits, states.empty, "cycles for the launch", states.label
    )  # fmt: skip
    return _for_a_k_step(whole)


def of_launch(name: str, gpu: str = devices.DEFAULT.name) -> Budget:
    """The time of a launch of `helpers.measure.profiled`, in microseconds, as it was recorded."""
    content, row = recordings.raw(gpu, profiled.SUITE), profiled.measured(name, gpu)
    states, device = _counted(row["metrics"], {}, content), devices.get(gpu)
    fmas = row["metrics"]["smsp__inst_executed_pipe_fma.sum"] / device.sms / SCHEDULERS
    whole = Budget(name, fmas, states.issued - fmas, states.waits, states.empty, "cycles", states.label)
    return whole.scaled(row["ms"][0] * 1e3, "microseconds")


def predicted(prediction: Prediction, name: str, shape: tuple[int, int, int] | None = None) -> Budget:
    """The cycles of a predicted launch, the mean over all SMs of the GPU.

    shape: (M, N, K) of a multiplication, whose FMAs are then counted as such, and for one k-step of which the cycles
    are; None for another kernel, for whose whole launch they are, with all instructions of the FP32 pipe as FMAs.
    """
    device, result = prediction.machine.device, prediction.simulated.result
    total = prediction.ms * 1e3 * prediction.machine.constants["clock_mhz"]
    issued = prediction.time["selected"] * total
    fma = issued * result.unit[UNITS.index("fma")] / max(result.instructions, 1)
    if shape is not None:
        fma = _fmas(float(np.prod(np.array(shape, float))), device)
    waits = {name: prediction.time[name] * total for name in TITLES if prediction.time[name] > 0}
    empty = prediction.time["empty"] * total
    whole = Budget(name, fma, issued - fma, waits, empty, "cycles for the launch", prediction.label)
    return whole if shape is None else _for_a_k_step(whole)


def _closed(issued: float, stalls: Mapping[str, float]) -> float:
    """Cycles of Dispatch Stall: in each of them all warps that are ready stall, as many as in a cycle that issues."""
    return issued * stalls[CLOSED] / (1 + stalls["not_selected"])


def _fmas(products: float, device: Device) -> float:
    """FMAs of warps for each scheduler."""
    return products / WARP / device.sms / SCHEDULERS


def _for_a_k_step(whole: Budget) -> Budget:
    return whole.scaled(whole.total * K_STEP / whole.fma, f"cycles for one k of {SIDE} × {SIDE} sums")
