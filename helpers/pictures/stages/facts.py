"""What each warp of a block does when, stage by stage: by the SM's clock on a GPU, and as predicted.

Both are of the same kernel, the one with marks in its source (`helpers.measure.stamps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from gpusim import devices
from helpers import cycles
from helpers.measure import stamps

SHOWN = 2  # iterations
ISSUES = 600_000  # enough for the iterations that are marked


@dataclass(frozen=True)
class Stages:
    """Some iterations of one block.

    names: of the stages, in the order of an iteration.  begins: (warp, stage), the cycle in which a warp begins each
    stage of the iterations one after the other, and the one behind the last; the first warp begins at 0.  label: where
    it comes from.
    """

    kernel: str
    names: tuple[str, ...]
    begins: np.ndarray
    label: str

    @property
    def cycles(self) -> float:
        """Of one iteration, the mean."""
        whole = (self.begins.shape[1] - 1) // len(self.names)
        return float((self.begins[:, whole * len(self.names)] - self.begins[:, 0]).mean() / whole)

    def mean(self, name: str) -> float:
        """Cycles that a warp spends in the stages of this name in one iteration."""
        spent = np.diff(self.begins, axis=1)
        of_name = [number % len(self.names) for number in range(spent.shape[1])]
        chosen = [number for number, which in enumerate(of_name) if self.names[which] == name]
        return float(spent[:, chosen].sum(axis=1).mean() / (spent.shape[1] / len(self.names)))


def recorded(kernel: str, gpu: str = devices.DEFAULT.name) -> Stages:
    """What was recorded of the first block of a kernel. Raises NoRecording, in a sentence."""
    recorded_stamps = stamps.stamps(kernel, gpu)
    return _shown(kernel, recorded_stamps.stages, recorded_stamps.clocks[0], recorded_stamps.label)


def predicted(kernel: str, gpu: str = devices.DEFAULT.name) -> Stages:
    """The same block by the model, in iterations of the usual length; raises what `cycles.predict` does."""
    prediction = cycles.predict(stamps.marked(kernel), gpu)
    program, (_, marks) = prediction.trace.program, stamps.KERNELS[kernel]
    clocks = [
        instruction.index
        for instruction in program.instructions
        if instruction.opcode.startswith("CS2R") and "CLOCK" in instruction.text
    ]
    events = prediction.timeline(ISSUES)
    warps = prod(prediction.trace.block) // 32
    of_block = events[np.isin(events["pc"], clocks) & (events["block"] == 0)]
    by_warp = [of_block["issued"][of_block["warp"] % warps == warp] for warp in range(warps)]
    whole = min(map(len, by_warp)) // len(marks)
    begins = np.array([clocks_of_warp[: whole * len(marks)] for clocks_of_warp in by_warp]).reshape(
        warps, whole, len(marks)
    )
    # Now and then one of the two blocks of an SM overtakes the other one: iterations that are long or short.
    starts = begins[:, :, 0].mean(axis=0)
    lengths = (starts[SHOWN:] - starts[:-SHOWN]) / SHOWN
    first = stamps.FIRST + int(np.abs(lengths[stamps.FIRST :] - np.median(np.diff(starts))).argmin())
    return _shown(kernel, tuple(name for name, _ in marks), begins[:, first:], prediction.label)


def _shown(kernel: str, names: tuple[str, ...], clocks: np.ndarray, label: str) -> Stages:
    """clocks: (warp, iteration, stage)."""
    begins = clocks.reshape(len(clocks), -1)[:, : SHOWN * len(names) + 1]
    return Stages(kernel, names, begins - begins.min(), label)
