"""What `helpers.cycles` predicts for every configuration of the tuning space, kept for the explorer of notebook 13.

    python -m helpers.tools.speeds

It takes about a quarter of an hour of processor time: compiling, tracing and predicting take a second or more for each
of some five hundred kernels. The tests predict a few of them again, and compare what the model and the kernel were.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from gemm_kernels import get
from gpusim import devices
from gpusim.timing import prediction
from helpers import cycles, recordings
from helpers.measure.provenance import code_sha256
from helpers.pictures.tuning.facts import KERNEL, PREDICTED, PREDICTED_SIZE, SPACE, fixed, landscape_of

GPUS = tuple(recordings.gpus(suites=("cycles",)))  # which have constants


def gflops(params: Mapping[str, int]) -> list[float]:
    """The predicted speed at PREDICTED_SIZE on each of GPUS. Raises CANNOT."""
    trace = cycles.traced(get(KERNEL).replace(**params).launch(*(PREDICTED_SIZE,) * 3))
    predictions = [prediction.predict(trace, cycles.machine(gpu)) for gpu in GPUS]
    return [float(f"{2e-6 * PREDICTED_SIZE**3 / predicted.ms:.4g}") for predicted in predictions]


def predicted(params: Mapping[str, int]) -> list[float] | None:
    """The same, or None for what cannot be predicted, which is printed."""
    try:
        return gflops(params)
    except cycles.CANNOT as error:
        print(f"{dict(params)}: {error}", file=sys.stderr)
        return None


def about(gpu: str) -> dict[str, Any]:
    """What the predictions for a GPU depend on, beside the program: the kernel's code and the machine's constants."""
    constants = json.dumps(recordings.raw(gpu, "cycles")["constants"], sort_keys=True)
    return {
        "code_sha256": {KERNEL: code_sha256(get(KERNEL))},
        "constants_sha256": hashlib.sha256(constants.encode()).hexdigest(),
        "size": PREDICTED_SIZE,
        "names": [*SPACE, *fixed()],
    }


def main() -> int:
    """Predict all configurations whose sums fit into registers, and write a recording for each GPU."""
    wanted = [
        configuration.params
        for configuration in landscape_of(devices.DEFAULT).legal
        if not configuration.predicted.spills
    ]
    with ProcessPoolExecutor() as pool:
        speeds = list(pool.map(predicted, wanted))
    for number, gpu in enumerate(GPUS):
        rows = [[*params.values(), speeds[number]] for params, speeds in zip(wanted, speeds, strict=True) if speeds]
        recordings.write(recordings.path(gpu, PREDICTED), {"gpu": gpu} | about(gpu) | {"rows": rows})
        print(f"{len(rows)} of {len(wanted)}: {recordings.path(gpu, PREDICTED)}")
    return 0 if all(speeds) else 1


if __name__ == "__main__":
    sys.exit(main())
