"""The constants of the time model: a folder for each GPU, with a file for each suite.

`machine`: what microbenchmarks measured.  `cycles`: what was fitted to recorded launches, and the launches whose
predicted times were compared with measured ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MACHINE, FITTED = "machine", "cycles"
SUITES = (MACHINE, FITTED)


def read(gpu: str, suite: str) -> Mapping[str, Any] | None:
    """The file of a suite for the GPU with this name; None if there is none."""
    return _by_gpu(suite).get(gpu)


def gpus(suite: str) -> list[str]:
    """The names of the GPUs that have a file of this suite."""
    return sorted(_by_gpu(suite))


@cache
def _by_gpu(suite: str) -> dict[str, Mapping[str, Any]]:
    files = (json.loads(file.read_text(encoding="utf-8")) for file in FOLDER.glob(f"*/{suite}.json"))
    return {content["gpu"]: content for content in files}


cache_clear = _by_gpu.cache_clear
