"""The ladder in README.md: its picture, and its tables, made from the recordings of a GPU.

    python -m helpers.authoring.pages.ladder [--fix]

Without --fix it only says whether the tables are up to date (exit status 1 if not). With it the picture is drawn, too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from gemm_kernels import LADDER
from helpers import devices
from helpers.authoring.pages.markers import Markers, command_line
from helpers.draw.theme import thousands
from helpers.explore import ladder as explorer
from helpers.measure import Measurement, geometric_mean, recordings

ROOT = Path(__file__).resolve().parents[3]
PICTURE = Path("notebooks") / "images" / "ladder.png"
PLACE = Markers("ladder", "make picture")
SIZES = (256, 1024, 4096)  # M = N = K of the first table
LAST = LADDER[-1].name


def section(gpu: str = devices.DEFAULT.name) -> str:
    """What stands between the markers: the picture, a sentence, and the tables folded away. Raises NoRecording."""
    by_size, others = recordings.load(gpu, "ladder"), recordings.load(gpu, "shapes")
    last = [row for row in (*by_size, *others) if row.kernel == LAST]
    faster, mean = sum(row.of_cublas > 1 for row in last), geometric_mean([row.of_cublas for row in last])
    cublas = recordings.raw(gpu, "ladder")["runs"][-1]["cublas"]
    peak = devices.get(gpu).peak_fp32_gflops
    return "\n".join(
        [
            f"![The course's kernels by size beside cuBLAS, recorded on an {gpu}]({PICTURE.as_posix()})",
            "",
            f"Over {len(last)} shapes on an {gpu} the last kernel, its parameters chosen by shape, reaches {mean:.2f}",
            f"times the speed of cuBLAS {cublas} (geometric mean), and is the faster one at {faster} of them.",
            "",
            f"<details><summary>GFLOPS of every kernel, recorded on an {gpu}</summary>",
            "",
            "FP32, C = αAB + βC, row-major, M = N = K; the L2 cache is overwritten before each launch, kernels and",
            f"cuBLAS take turns, medians. The peak is {thousands(peak)} GFLOPS.",
            "",
            ladder_table(by_size),
            "",
            "The last kernel beside cuBLAS, with the parameters that did best at each shape. Where C has one row or",
            "column they are estimated: `gemm_kernels.fastest` gives another kernel there, which is not in the ladder.",
            "",
            shapes_table(last, peak),
            "",
            "</details>",
        ]
    )


def ladder_table(rows: Sequence[Measurement]) -> str:
    """A line a kernel in the ladder's order, and one for cuBLAS: GFLOPS at SIZES, and the last of them in percent."""
    lines = [
        "| Kernel | What is new | " + " | ".join(map(str, SIZES)) + " | of cuBLAS |",
        "|---|---|" + "--:|" * (len(SIZES) + 1),
    ]
    found = {(row.kernel, row.M): row for row in rows}
    for kernel in LADDER:
        if any((kernel.name, size) not in found for size in SIZES):
            raise recordings.NoRecording(f"{kernel.name} was not recorded. {recordings.how_to('ladder')}")
        speeds = [found[kernel.name, size] for size in SIZES]
        cells = " | ".join(thousands(row.gflops) for row in speeds)
        lines.append(f"| {kernel.title} | {kernel.idea} | {cells} | {speeds[-1].of_cublas:.0%} |")
    cublas = " | ".join(thousands(found[LAST, size].cublas_gflops) for size in SIZES)
    lines.append(f"| **cuBLAS** | NVIDIA's library | {cublas} | 100% |")
    return "\n".join(lines)


def shapes_table(rows: Sequence[Measurement], peak: float) -> str:
    """A line a shape, by the number of operations: GFLOPS, cuBLAS's in the same run, the ratio, percent of the peak."""
    lines = ["| M × N × K | GFLOPS | cuBLAS | ratio | of peak |", "|---|--:|--:|--:|--:|"]
    for row in sorted(rows, key=lambda row: (row.flops, row.M)):
        lines.append(
            f"| {row.M} × {row.N} × {row.K} | {thousands(row.gflops)} | {thousands(row.cublas_gflops)} | "
            f"{row.of_cublas:.2f} | {row.gflops / peak:.0%} |"
        )
    return "\n".join(lines)


def wanted(root: Path = ROOT) -> dict[Path, str]:
    """The README, and the text that it should have. Raises ValueError with a sentence, NoRecording."""
    readme = root / "README.md"
    return {readme: PLACE.replaced(readme.read_text(encoding="utf-8"), section(), readme.name)}


def picture() -> bytes:
    """The ladder by size as PNG."""
    size = (SIZES[-1],) * 3
    return explorer.picture_of(explorer.Choice(devices.DEFAULT.name, "ladder", size, LAST)).png()


def main(arguments: list[str]) -> int:
    """Compare, or write the tables and draw the picture. Exit status 1 if the tables are left out of date."""
    return command_line(
        arguments, __spec__.name, __doc__, PLACE.command, wanted, pictures=lambda: {ROOT / PICTURE: picture()}
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
