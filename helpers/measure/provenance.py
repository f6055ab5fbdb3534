"""Where a recording comes from: the GPU, its clocks, the software, the commit. All of it is read, nothing is set."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import Kernel
from helpers import gpu

COMMIT_VARIABLE = "GEMM_COURSE_COMMIT"  # for a copy of the tree without its .git
CLOCK_FIELDS = ("clocks.sm", "clocks.max.sm", "clocks.mem", "power.draw", "power.limit", "temperature.gpu")


def provenance() -> dict[str, Any]:
    """What a reader needs to judge the numbers, as JSON values. Needs a GPU."""
    import cupy
    from cupy.cuda import nvrtc, runtime
    from cupy_backends.cuda.libs import cublas

    properties = runtime.getDeviceProperties(runtime.getDevice())
    return {
        "gpu": gpu.name(),
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "driver": _nvidia_smi(("driver_version",)).get("driver_version", "unknown"),
        "cuda_driver": _version(runtime.driverGetVersion(), 1000, 10),
        "cuda_runtime": _version(runtime.runtimeGetVersion(), 1000, 10),
        "cublas": _version(cublas.getVersion(cupy.cuda.device.get_cublas_handle()), 10000, 100),
        "nvrtc": ".".join(map(str, nvrtc.getVersion())),
        "cupy": cupy.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "clocks_under_load": clocks_under_load(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
    }


def clocks_under_load() -> dict[str, str]:
    """Clocks, power and temperature as nvidia-smi reads them while the GPU multiplies matrices."""
    import cupy

    A = cupy.ones((4096, 4096), np.float32)
    C = cupy.empty_like(A)
    for _ in range(500):  # queued: the GPU works for about a second while nvidia-smi reads
        cupy.matmul(A, A, out=C)
    clocks = _nvidia_smi(CLOCK_FIELDS)
    gpu.synchronize()
    return clocks


def sm_clock() -> int:
    """MHz of the SMs at this moment, as nvidia-smi reads it; 0 where it is not to be had."""
    return int(_nvidia_smi(("clocks.sm",)).get("clocks.sm", "0").split()[0])


def clock_and_power() -> tuple[int, float]:
    """(MHz of the SMs, watts of the GPU) at this moment, as nvidia-smi reads them; 0 where they are not to be had."""
    fields = ("clocks.sm", "power.draw.instant")
    mhz, watts = (value.split()[0] for value in (_nvidia_smi(fields) or dict.fromkeys(fields, "0")).values())
    return int(mhz), float(watts)


def code_sha256(kernel: Kernel) -> str:
    """The SHA-256 of a kernel's source without its comments and white space: of what was measured or checked.

    A comment may be corrected afterwards; a changed instruction asks for a new recording.
    """
    code = re.sub(r"//[^\n]*", "", kernel.source)
    return hashlib.sha256(" ".join(code.split()).encode("utf-8")).hexdigest()


def commit() -> str:
    """The commit that was measured, with `-modified` if the kernels or the measuring differ from it."""
    given = os.environ.get(COMMIT_VARIABLE)
    if given:
        return given
    root = Path(__file__).parents[2]
    try:
        head = _run("git", "-C", str(root), "rev-parse", "HEAD")
        changed = _run("git", "-C", str(root), "status", "--porcelain", "--", "gemm_kernels", "helpers")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("-modified" if changed else "")


def _nvidia_smi(fields: tuple[str, ...]) -> Mapping[str, str]:
    """The fields of the current GPU by name, or nothing where nvidia-smi is not to be had."""
    try:
        text = _run("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader", f"--id={bus_id()}")
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(zip(fields, (value.strip() for value in text.split(",")), strict=True))


def bus_id() -> str:
    """What nvidia-smi knows the current GPU by."""
    from cupy.cuda import runtime

    return runtime.deviceGetPCIBusId(runtime.getDevice())


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def _version(number: int, major: int, minor: int) -> str:
    return f"{number // major}.{number % major // minor}"
