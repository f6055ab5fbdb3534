"""The tables in gemm_kernels/cuda/stream_k.md, from the recordings of the suite `fastest` and of `choose`.

    python -m helpers.authoring.pages.kernel_log [--fix]

Without --fix it only says whether they are up to date (exit status 1 if not).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from helpers import devices
from helpers.authoring.pages.markers import Markers, command_line
from helpers.draw.theme import thousands
from helpers.measure import choosing, compared, recordings
from helpers.measure.bench import geometric_mean
from helpers.measure.compared import Compared
from helpers.measure.suites import FASTEST_SQUARES

FILE = Path(__file__).resolve().parents[3] / "gemm_kernels" / "cuda" / "stream_k.md"
PLACE = Markers("fastest", "make picture")
CHOICE = Markers("choice", "make picture")
LOWEST = 16  # shapes that the choice is shown at, beside the squares


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


def choice(gpu: str = devices.DEFAULT.name) -> str:
    """What the best candidate reached where they were compared: in a line, at the squares, and where it is lost."""
    measured = choosing.read_measured(gpu)
    kernels = choosing.candidates(devices.get(gpu).sms)
    ratio = {one.shape: 1 / min(map(one.score, one.times)) for one in measured}
    squares = [one for one in measured if len({*one.shape}) == 1 and one.shape[0] in FASTEST_SQUARES]
    others = sorted((one for one in measured if one not in squares), key=lambda one: ratio[one.shape])
    lines = [
        f"- {name}: geometric mean {geometric_mean([ratio[one.shape] for one in group]):.3f} of cuBLAS over "
        f"{len(group)} shapes, faster at {sum(ratio[one.shape] > 1 for one in group)}"
        for name, group in (("squares", squares), ("others", others))
    ]
    lines += ["", "| M × N × K | of cuBLAS | of peak | kernel |", "|---|--:|--:|---|"]
    for one in (*squares, *others[:LOWEST]):
        best = min(one.times, key=one.score)
        M, N, K = one.shape
        share = 2 * M * N * K / one.in_graph.get(best, one.times[best]) / 1e6 / devices.get(gpu).peak_fp32_gflops
        entry = kernels[best].entry.removeprefix("sgemm_")
        lines.append(f"| {M} × {N} × {K} | {ratio[one.shape]:.3f} | {share:.1%} | `{entry}` |")
    return "\n".join(lines)


def wanted(file: Path = FILE) -> dict[Path, str]:
    """The log, and the text that it should have. Raises ValueError with a sentence, NoRecording."""
    text = PLACE.replaced(file.read_text(encoding="utf-8"), section(recordings.fastest()), file.name)
    return {file: CHOICE.replaced(text, choice(), file.name)}


def main(arguments: list[str]) -> int:
    """Compare or write. Exit status 1 if the table is left out of date."""
    return command_line(arguments, __spec__.name, __doc__, PLACE.command, wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
