"""The speeds of notebook 13's template with many settings, which the learner's own search looks up.

python -m helpers.exercises --record     on a GPU: time the solutions, and these, and write the recordings
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from gemm_kernels import OwnKernel
from helpers import devices, gpu
from helpers.exercises.framework import rungs
from helpers.exercises.n13 import PARAMS, TUNABLE, Setting, entry_of
from helpers.measure import recordings
from helpers.measure.provenance import provenance

SUITE = "settings"
SIZES = (512, 4096)  # M = N = K; every tile of SPACE divides them
SPACE: Mapping[str, tuple[int, ...]] = {
    "BM": (32, 64, 128), "BN": (32, 64, 128), "BK": (8, 16), "TM": (4, 8), "TN": (4, 8),
}  # fmt: skip


def settings() -> Iterator[Setting]:
    """All settings of SPACE whose block has 32 to 1024 threads."""
    for BM, BN, BK, TM, TN in product(*SPACE.values()):
        if 32 <= BM // TM * (BN // TN) <= 1024:
            yield BM, BN, BK, TM, TN


def kernel_of(setting: Setting) -> OwnKernel:
    """The template's solution with this setting."""
    BM, BN, BK, TM, TN = setting
    return OwnKernel(
        TUNABLE.solved, entry_of(setting), (BM // TM * (BN // TN),), (BM, BN), BK, name=entry_of(setting), scaled=False
    )


def speeds(size: int, gpu_name: str = devices.DEFAULT.name) -> dict[Setting, float]:
    """Setting -> GFLOPS of our template at M = N = K = size, as recorded. Raises recordings.NoRecording."""
    rows = recordings.raw(gpu_name, SUITE)["rows"]
    return {tuple(row["setting"]): row["gflops"] for row in rows if row["size"] == size}


def record() -> str:
    """Time every setting on the GPU at hand, each checked against float64 first, and write it. Returns where."""
    rows = []
    for size in SIZES:
        every = list(settings())
        for setting, measured in zip(
            every, rungs.timed([kernel_of(one).launch(size, size, size) for one in every], budget_s=3.0), strict=True
        ):
            rows.append({"setting": list(setting), "size": size, "gflops": round(measured.gflops, 1),
                         "time": [measured.time.median_ms, measured.time.lower_ms, measured.time.upper_ms,
                                  measured.repeats], "error": measured.error})  # fmt: skip
    file = recordings.path(gpu.name(), SUITE)
    content = {"gpu": gpu.name(), "provenance": provenance(), "sha256": rungs.sha256(TUNABLE), "parameters": PARAMS}
    recordings.write(file, {**content, "rows": rows})
    return str(file)
