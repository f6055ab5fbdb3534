"""Time the workloads on a GPU, as the ladder is timed, and keep their times."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from helpers import gpu, recordings
from helpers.measure.provenance import provenance
from helpers.measure.timing import WRITE, interleave
from helpers.recordings.measurement import Timing
from helpers.tools.measuring.workloads import SUITE, Workload, of_series


def record_workloads(suite: str = SUITE, folder: Path = recordings.FOLDER, budget_s: float = 0.1) -> Path:
    """Time each workload of a series with a cold L2 and write its file. Needs a GPU. budget_s: seconds for each."""
    rows = [_row(workload, budget_s) for workload in of_series(suite)]
    file = recordings.path(gpu.name(), suite, folder)
    recordings.write(file, {"gpu": gpu.name(), "provenance": provenance(), "rows": rows})
    return file


def _row(workload: Workload, budget_s: float) -> dict[str, Any]:
    module = gpu.RawModule(code=workload.source, options=("-std=c++17",))
    function = module.get_function(workload.kernel)
    args = tuple(gpu.asarray(value) if isinstance(value, np.ndarray) else value for value in workload.arguments())
    launch = partial(function, workload.grid, workload.block, args)
    timing = Timing.of(interleave([launch], budget_s, flush=WRITE)[:, 0])
    time = [timing.median_ms, timing.lower_ms, timing.upper_ms, timing.repeats]
    return {"name": workload.name, "half": workload.half, "time": time}
