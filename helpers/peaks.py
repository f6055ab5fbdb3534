"""What each GPU of `gpusim.devices` can multiply at most, by precision: TFLOPS by NVIDIA's documents.

Without the doubling for sparse matrices that datasheets like to print, and for sums in float32 (of integers: int32).
FP64 is by tensor cores where they take it, FP32 by the CUDA cores (`Device.peak_fp32_gflops`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gpusim.devices import Device, UnknownDevice

FORMATS = ("FP64", "FP32", "TF32", "FP16", "BF16", "INT8", "FP8")
BYTES = {"FP64": 8, "FP32": 4, "TF32": 4, "FP16": 2, "BF16": 2, "INT8": 1, "FP8": 1}  # of an element of A and B


@dataclass(frozen=True)
class Peaks:
    """tflops: format → the most, of those that the GPU's cores multiply.  source: where the numbers are from."""

    tflops: dict[str, float]
    source: str


def of(device: Device) -> Peaks:
    """The peaks of a GPU in the order of FORMATS. UnknownDevice, with a sentence, for one without a row."""
    rows = _rows()
    if device.name not in rows:
        raise UnknownDevice(f"the peaks of {device.name!r} are not in the table. It has: {', '.join(rows)}.")
    row = {"FP32": device.peak_fp32_gflops / 1e3, **rows[device.name]}
    return Peaks({name: float(row[name]) for name in FORMATS if name in row}, row["source"])


@cache
def _rows() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def intensity(format_: str, M: int, N: int, K: int) -> float:
    """FLOP per byte that main memory must move at least: A and B once, and C written once in float32 or wider."""
    width = BYTES[format_]
    return 2 * M * N * K / (width * (M * K + K * N) + max(width, 4) * M * N)
