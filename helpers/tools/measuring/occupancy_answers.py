"""Ask the CUDA driver how many blocks fit on an SM: what `gpusim.occupancy` is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers import gpu, recordings
from helpers.measure.provenance import provenance

SUITE = "occupancy"
REGISTER_CAPS = (16, 24, 32, 40, 48, 64, 80, 96, 128, 168, 255)
THREADS = (32, 33, 96, 128, 160, 256, 512, 768, 1024)
STATIC_SHARED = (0, 1, 4160)
DYNAMIC_SHARED = (0, 129, 8192, 20000, 49152, 100000)
COLUMNS = ("registers", "static_shared_bytes", "threads", "dynamic_shared_bytes", "blocks")

# Every thread keeps 240 floats alive across a barrier, so that the compiler uses every register that it is allowed.
SOURCE = """
extern "C" __global__ void thirsty(const float *in, float *out) {
#if SHARED_BYTES > 0
    __shared__ volatile char kept[SHARED_BYTES];
    kept[threadIdx.x % SHARED_BYTES] = threadIdx.x;
#endif
    float value[240];
    #pragma unroll
    for (int i = 0; i < 240; ++i) value[i] = in[i * blockDim.x + threadIdx.x];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 240; ++i) out[i * blockDim.x + threadIdx.x] = value[i] * value[239 - i];
}
"""


def record_occupancy(folder: Path = recordings.FOLDER) -> Path:
    """Write the driver's answers for this GPU's architecture to occupancy.json, one row a launch, as COLUMNS says."""
    about_this_run = provenance()
    arch = "sm_" + about_this_run["compute_capability"].replace(".", "")
    file = recordings.path(gpu.name(), SUITE, folder)
    rows = [[row[name] for name in COLUMNS] for row in answers()]
    recordings.write(file, {"arch": arch, "provenance": about_this_run, "columns": list(COLUMNS), "rows": rows})
    return file


def answers() -> Iterator[dict[str, Any]]:
    """The driver's number of resident blocks for every combination of the constants above; 0 where none fits."""
    from cupy_backends.cuda.api import driver

    for cap in REGISTER_CAPS:
        for static in STATIC_SHARED:
            options = ("-std=c++17", f"-DSHARED_BYTES={static}", f"--maxrregcount={cap}")
            kernel = gpu.RawModule(code=SOURCE, options=options).get_function("thirsty")
            kernel.max_dynamic_shared_size_bytes = max(DYNAMIC_SHARED)
            for threads in THREADS:
                for dynamic in DYNAMIC_SHARED:
                    yield {
                        "registers": kernel.num_regs,
                        "static_shared_bytes": kernel.shared_size_bytes,
                        "threads": threads,
                        "dynamic_shared_bytes": dynamic,
                        "blocks": driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, threads, dynamic),
                    }
