"""Where a golden was recorded, and how."""

import datetime
import subprocess
from typing import Any


def provenance(arch: str, command: str, **more: Any) -> dict[str, Any]:
    """The GPU at hand, its software, and `more` of what made the recording, as JSON values."""
    import cupy

    smi = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return {
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "arch": arch,
        "driver": subprocess.run(smi, capture_output=True, text=True).stdout.strip(),
        "cupy": cupy.__version__,
        **more,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command,
    }
