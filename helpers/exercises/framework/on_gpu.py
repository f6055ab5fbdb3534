"""The last step of a check, where there is a GPU: the kernel that the simulator found right, on the device.

Only a kernel that passed every case in the simulator gets here, and it is launched on the very same arguments: it ends,
stays inside its arrays, and does not race.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from helpers import gpu
from helpers.exercises.framework import trial
from helpers.exercises.framework.problems import Problem, Setup
from helpers.pictures import theme
from helpers.run import function as compiled


@dataclass(frozen=True)
class OnDevice:
    """passed: also where there is no GPU.  sentence: what to add to the verdict, '' without a GPU."""

    passed: bool
    sentence: str


def run(source: str, problem: Problem) -> OnDevice:
    """Launch every case on the GPU, if there is one, and compare with the right answer bit for bit."""
    if gpu.backend() != "gpu":
        return OnDevice(True, "")
    name = gpu.name()
    try:
        function = compiled(source, problem.entry)
        for case in problem.cases:
            setup = problem.prepare(case)
            wrong = int((~trial.same(_launch(function, setup, case.launches), setup.expected)).sum())
            if wrong:
                return OnDevice(
                    False,
                    f"The simulator found nothing wrong, but on the {name} {theme.plural(wrong, 'element')} of "
                    f"{problem.output} {'is' if wrong == 1 else 'are'} "
                    f"wrong for {case.label(problem.scalars)}. Please report it, with the kernel.",
                )
    except Exception as error:  # CuPy's error types are known only where CuPy is
        return OnDevice(False, f"The simulator found nothing wrong, but the {name} refuses the kernel: {error}")
    return OnDevice(True, f"\nThe {name} computes the same, bit for bit.")


def _launch(function: object, setup: Setup, launches: int) -> np.ndarray:
    """The output after launching on copies of the arguments."""
    args = tuple(gpu.array(arg) if isinstance(arg, np.ndarray) else arg for arg in setup.args)
    copied = replace(setup, args=args)
    for _ in range(launches):
        trial.launch(function, copied)
    gpu.synchronize()
    return setup.left([gpu.asnumpy(arg) if isinstance(given, np.ndarray) else arg
                       for arg, given in zip(args, setup.args, strict=True)])  # fmt: skip
