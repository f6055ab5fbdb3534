"""The table in gemm_kernels/cuda/stream_k.md, from the recording of the suite `fastest`.

    python -m helpers.authoring.pages.kernel_log [--fix]

Without --fix it only says whether the table is up to date (exit status 1 if not).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from helpers.authoring.pages.markers import Markers, command_line
from helpers.draw.theme import thousands
from helpers.measure import compared, recordings
from helpers.measure.compared import Compared

FILE = Path(__file__).resolve().parents[3] / "gemm_kernels" / "cuda" / "stream_k.md"
PLACE = Markers("fastest", "make picture")


def section(rows: Sequence[Compared]) -> str:
    """The groups in a line each, and a table of the shapes; a ratio below 1 is set in bold."""
    lines = [f"- {compared.group_line(summary)}" for summary in compared.summaries(rows)]
    lines += [
        "",
        "| group | M × N × K | timed | GFLOPS | cuBLAS | ratio | lowest … highest | of peak | kernel |",
        "|---|---|---|--:|--:|--:|--:|--:|---|",
    ]
    for row in rows:
        ratio = f"{row.of_cublas:.3f}" if row.of_cublas >= 1 else f"**{row.of_cublas:.3f}**"
        spread = f"{min(row.ratios):.3f} … {max(row.ratios):.3f}"
        peak = f"{row.of_peak:.0%}" if row.of_peak is not None else "–"
        speeds = f"{thousands(row.gflops)} | {thousands(row.cublas_gflops)}"
        lines.append(
            f"| {row.group} | {row.M} × {row.N} × {row.K} | {row.way} | {speeds} | {ratio} | {spread} | {peak} | "
            f"`{row.short}` |"
        )
    return "\n".join(lines)


def wanted(file: Path = FILE) -> dict[Path, str]:
    """The log, and the text that it should have. Raises ValueError with a sentence, NoRecording."""
    return {file: PLACE.replaced(file.read_text(encoding="utf-8"), section(recordings.fastest()), file.name)}


def main(arguments: list[str]) -> int:
    """Compare or write. Exit status 1 if the table is left out of date."""
    return command_line(arguments, __spec__.name, __doc__, PLACE.command, wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
