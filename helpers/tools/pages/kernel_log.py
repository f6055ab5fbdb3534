"""The tables in gemm_kernels/cuda/stream_k.md, from the recordings `fastest`, `fetched` and `lost`.

    python -m helpers.tools.pages.kernel_log [--fix]

Without --fix it only says whether they are up to date (exit status 1 if not).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpusim import devices
from helpers import recordings
from helpers.recordings import compared
from helpers.recordings.compared import Compared
from helpers.tools.pages.markers import Markers, command_line

FILE = Path(__file__).resolve().parents[3] / "gemm_kernels" / "cuda" / "stream_k.md"
MARKERS = Markers("fastest", "make picture")
WAITING, IN_TURNS, LOST, ON_OTHER = (
    Markers(name, "make picture") for name in ("waiting", "in turns", "lost", "on another gpu")
)
OTHER_GPU = "NVIDIA H100 80GB HBM3"


def section(rows: Sequence[Compared]) -> str:
    """The groups in a line each, and a table of the shapes; a ratio below 1 is set in bold."""
    lines = [f"- {compared.group_line(summary)}" for summary in compared.summaries(rows)]
    lines += [
        "",
        "| group | M × N × K | timed | ratio | lowest … highest | to the best | of peak | kernel |",
        "|---|---|---|--:|--:|--:|--:|---|",
    ]
    for row in rows:
        ratio = f"{row.of_cublas:.3f}" if row.of_cublas >= 1 else f"**{row.of_cublas:.3f}**"
        spread = f"{min(row.ratios):.3f} … {max(row.ratios):.3f}"
        peak = f"{row.of_peak:.0%}" if row.of_peak is not None else "–"
        lines.append(
            f"| {row.group} | {row.M} × {row.N} × {row.K} | {row.way} | {ratio} | {spread} | "
            f"{row.of_best:.3f} | {peak} | "
            f"`{row.short}` |"
        )
    return "\n".join(lines)


def _shape(row: Mapping[str, Any]) -> str:
    return " × ".join(map(str, row["shape"]))


def waiting() -> str:
    """How many warps wait for instructions, per instruction that is issued, as Nsight Compute sampled them."""
    lines = ["| kernel | M × N × K | µs | issuing | no instruction |", "|---|---|--:|--:|--:|"]
    for row in recordings.raw(devices.DEFAULT.name, "fetched")["profiled"]:
        counted = f"{row['us']:,.1f} | {row['issuing']:.1f}% | {row['no_instruction']:.2f}"
        lines.append(f"| `{row['kernel']}` | {_shape(row)} | {counted} |")
    return "\n".join(lines)


def in_turns() -> str:
    """Variants of `persistent` beside today's: as the suite times the shape, and with a cold L2."""
    rows = recordings.raw(devices.DEFAULT.name, "fetched")["in_turns"]
    today = {(row["kernel"], *row["shape"]): row for row in rows if row["what"] == "now"}
    lines = [
        "| M × N × K | instead of today's | µs: that, today's | with a cold L2: that, today's |",
        "|---|---|--:|--:|",
    ]
    for row in rows:
        if row["what"] != "now":
            now = today[row["kernel"], *row["shape"]]
            times = f"{row['us']:,.1f}, {now['us']:,.1f} | {row['cold_us']:,.1f}, {now['cold_us']:,.1f}"
            lines.append(f"| {_shape(row)} | {row['what']} | {times} |")
    return "\n".join(lines)


def lost(gpu: str = devices.DEFAULT.name) -> str:
    """Where cuBLAS was faster on a GPU: our kernel and its kernels under Nsight Compute."""
    lines = [
        "| M × N × K | kernel | µs | issuing | SMs with blocks | DRAM | FFMA | warps of an SM | warps wait most for |",
        "|---|---|--:|--:|--:|--:|--:|--:|---|",
    ]
    for row in recordings.raw(gpu, "lost")["rows"]:
        size = _shape(row) if row["who"] == "ours" else ""
        reason, number = next(iter(row["waits"].items()))
        shares = " | ".join(f"{row[name]:.0f}%" for name in ("issuing", "sms_active", "dram", "ffma"))
        lines.append(
            f"| {size} | `{row['kernel']}` | {row['us']:,.1f} | {shares} | {row['warps']:.1f} | "
            f"*{reason.replace('_', ' ')}* {number:.1f} |"
        )
    return "\n".join(lines)


def wanted(file: Path = FILE) -> dict[Path, str]:
    """The log, and the text that it should have. Raises ValueError with a sentence, NoRecording."""
    text = file.read_text(encoding="utf-8")
    tables = (
        (MARKERS, section(recordings.fastest())),
        (WAITING, waiting()),
        (IN_TURNS, in_turns()),
        (LOST, lost()),
        (ON_OTHER, f"{section(recordings.fastest(OTHER_GPU))}\n\n{lost(OTHER_GPU)}"),
    )
    for markers, content in tables:
        text = markers.replaced(text, content, file.name)
    return {file: text}


def main(arguments: list[str]) -> int:
    """Compare or write. Exit status 1 if the table is left out of date."""
    return command_line(arguments, __spec__.name, __doc__, MARKERS.command, wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
