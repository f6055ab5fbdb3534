"""How long a prediction takes: `python -m helpers.tools.bench.predictions`.

For every kernel of the ladder at one size: its blocks are traced (the functional part), then timed cycle by cycle, in
seconds of the processor, which others on the machine lengthen less than time on the wall. A star marks what takes
longer than it may. What the process held at most comes last; compiling is no part of all this.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import gemm_kernels
from gpusim import devices
from gpusim.timing.prediction import predict
from helpers import cycles
from helpers.tools.bench.simulator import timed

SIZE = 4096
GOALS = {"traced": 2.0, "predicted": 1.0, "mebibytes": 1024}  # seconds of the wall on an idle machine; of the process
REPEATS = 3  # of each; the median counts, for the first is also the first to need its memory
STATUS = Path("/proc/self/status")  # where Linux says how much memory a process held at most


@dataclass(frozen=True)
class Took:
    """(seconds of the processor, seconds on the wall) of both parts; `ms`: the predicted time of the launch."""

    kernel: str
    traced: tuple[float, float]
    predicted: tuple[float, float]
    ms: float


def took(kernel: gemm_kernels.Kernel, size: int, gpu: str, repeats: int = REPEATS) -> Took:
    """A prediction of the kernel's launch at size × size × size, of `repeats` the one in the middle."""
    machine, captured = cycles.machine(gpu), cycles.captured(kernel.launch(size, size, size))
    stages = {}

    def trace() -> None:
        stages["trace"] = cycles.traced(captured)

    def prediction() -> None:
        stages["prediction"] = predict(stages["trace"], machine)

    parts = [sorted(timed(part) for _ in range(repeats))[repeats // 2] for part in (trace, prediction)]
    return Took(kernel.name, *parts, stages["prediction"].ms)


def lines(kernels: Sequence[gemm_kernels.Kernel], size: int, gpu: str, repeats: int = REPEATS) -> Iterator[str]:
    """The table."""
    yield f"Seconds of the processor (of the wall) at {size} x {size} x {size}, {gpu}; medians of {repeats}"
    yield f"{'kernel':20}{'traced':>18}{'predicted':>18}{'ms, predicted':>16}"
    yield f"{'goal, of the wall':20}{GOALS['traced']:18.1f}{GOALS['predicted']:18.1f}"
    for kernel in kernels:
        row = took(kernel, size, gpu, repeats)
        cells = [
            f"{seconds:.2f} ({wall:.2f}){'*' if wall > GOALS[name] else ' '}"
            for name, (seconds, wall) in (("traced", row.traced), ("predicted", row.predicted))
        ]
        yield f"{row.kernel:20}" + "".join(f"{cell:>18}" for cell in cells) + f"{row.ms:16.4g}"
    if STATUS.exists():
        held = int(re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())[1]) / 1024
        yield f"MiB of the process at most: {held:.0f}{'*' if held > GOALS['mebibytes'] else ''}"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m helpers.tools.bench.predictions", description=__doc__)
    parser.add_argument("--size", type=int, default=SIZE, help=f"M = N = K (default {SIZE})")
    parser.add_argument("--kernels", nargs="+", metavar="NAME", help="some of the ladder (default: all)")
    parser.add_argument("--gpu", default=devices.DEFAULT.name, help="that is predicted for")
    parser.add_argument(
        "--repeats", type=int, default=REPEATS, help=f"of which the median is taken (default {REPEATS})"
    )
    chosen = parser.parse_args(arguments)
    kernels = [gemm_kernels.get(name) for name in chosen.kernels] if chosen.kernels else gemm_kernels.LADDER
    for line in lines(kernels, chosen.size, chosen.gpu, chosen.repeats):
        print(line, flush=True)


if __name__ == "__main__":
    main()
