"""The table in gemm_kernels/cuda/stream_k.md, from the recording of the suite `fastest`.

    python -m helpers.authoring.readme.kernel_log [--fix]

Without --fix it only says whether the table is up to date (exit status 1 if not).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from helpers.authoring.notebooks import course_map
from helpers.measure import compared, recordings
from helpers.measure.compared import Compared

FILE = Path(__file__).resolve().parents[3] / "gemm_kernels" / "cuda" / "stream_k.md"
BEGIN = "<!-- fastest: begin, written by `make picture` -->"
END = "<!-- fastest: end -->"


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
        speeds = f"{row.gflops:,.0f} | {row.cublas_gflops:,.0f}".replace(",", "\u202f")
        lines.append(
            f"| {row.group} | {row.M} × {row.N} × {row.K} | {row.way} | {speeds} | {ratio} | {spread} | {peak} | "
            f"`{row.short}` |"
        )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Compare or rewrite. Exit status 1 if the table is not up to date (and --fix was not given)."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.authoring.readme.kernel_log", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--fix", action="store_true", help="write the table")
    options = parser.parse_args(arguments)
    log = FILE.read_text(encoding="utf-8")
    try:
        wanted = course_map.replaced(log, section(recordings.fastest()), BEGIN, END, FILE.name, "the table")
    except (ValueError, recordings.NoRecording) as error:
        print(error, file=sys.stderr)
        return 1
    if options.fix:
        FILE.write_text(wanted, encoding="utf-8", newline="\n")
        print(f"{FILE.name}: wrote the table")
        return 0
    if wanted != log:
        print(f"{FILE.name}: the table is not up to date; `make picture` writes it", file=sys.stderr)
    return int(wanted != log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
