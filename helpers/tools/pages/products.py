"""The table in notebooks/cublas.md: every kind of product beside cuBLAS, from the recording of a GPU.

    python -m helpers.tools.pages.products [--fix]

Without --fix it only says whether the table is up to date (exit status 1 if not).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpusim import devices
from helpers import recordings
from helpers.exercises.n18.questions import PEAKS, rivals_of, roof_ms
from helpers.measure import geometric_mean
from helpers.tools.pages.markers import Markers, command_line

ROOT = Path(__file__).resolve().parents[3]
PAGE = Path("notebooks") / "cublas.md"
MARKERS = Markers("products", "make picture")
MEMBERS = {
    "single": "one product",
    "batch": "a batch",
    "pointers": "a list of matrices",
    "experts": "grouped: experts' rows of one A",
    "bias + GELU": "with bias and GELU",
    "convolution": "convolution",
}


def table(recording: Mapping[str, Any]) -> str:
    """A row for each member and format: all shapes beside the fastest rival, the lowest, and the nearest to the
    roof."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in recording["rows"]:
        groups.setdefault((row["member"], row["kind"]), []).append(row)
    device = devices.get(recording["provenance"]["gpu"])
    lines = [
        "| product | operands | beside | shapes | geometric mean | lowest, at | most TFLOPS | nearest to the roof |",
        "|---|---|---|--:|--:|---|--:|--:|",
    ]
    lines += [_line(member, kind, rows, device) for (member, kind), rows in groups.items()]
    return "\n".join(lines)


def _line(member: str, kind: str, rows: Sequence[Mapping[str, Any]], device: devices.Device) -> str:
    ours = next(iter(rows[0]["launches"]))
    rivals = dict.fromkeys(rival for row in rows for rival in rivals_of(row))
    if not all(map(rivals_of, rows)):
        raise ValueError(f"{member} {kind} was recorded without a rival; record it again")
    ratios = {
        " × ".join(map(str, row["shape"])): min(row["ms"][rival] for rival in rivals_of(row)) / row["ms"][ours]
        for row in rows
    }
    beside = " or ".join(rivals)
    lowest = min(ratios, key=ratios.__getitem__)
    fastest = max(row["work"] / row["ms"][ours] for row in rows) / 1e9
    nearest = max(roof_ms(row, device) / row["ms"][ours] for row in rows)
    return (
        f"| {MEMBERS[member]} | {kind} | {beside} | {len(rows)} | {geometric_mean(list(ratios.values())):.2f} | "
        f"{ratios[lowest]:.2f} at {lowest} | {fastest:.1f} | {nearest:.0%} |"
    )


def section(gpu: str = devices.DEFAULT.name) -> str:
    """What the page says. Raises NoRecording."""
    recording = recordings.raw(gpu, "products")
    cublas = recording["provenance"]["cublas"]
    alone = ", ".join(
        f"{PEAKS[kind]} {reached['rate'] / 1e12:.0f} ({reached['mhz']} MHz)"
        for kind, reached in recording["mma_sync"].items()
    )
    return (
        f"Recorded on an {gpu}, beside cuBLAS {cublas}, in turns and with a cold L2. A ratio above 1 is faster than\n"
        "cuBLAS, or than the faster of two ways to ask it; N and T are op of A and B. The roof is the least time that\n"
        "NVIDIA's peak and bandwidth allow. cuDNN, the library for convolutions, was not measured.\n"
        "`mma.sync` alone, between registers, reached in TFLOPS, at the clock that it settles at:\n"
        f"{alone}.\n"
        "Our kernel makes halves of FP8 and multiplies them as FP16.\n\n" + table(recording)
    )


def wanted(root: Path = ROOT) -> dict[Path, str]:
    """The page, and the text that it should have. Raises ValueError with a sentence, NoRecording."""
    path = root / PAGE
    return {path: MARKERS.replaced(path.read_text(encoding="utf-8"), section(), path.name)}


def main(arguments: list[str]) -> int:
    """Compare, or write the table. Exit status 1 if it is left out of date."""
    return command_line(arguments, __spec__.name, __doc__, MARKERS.command, wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
