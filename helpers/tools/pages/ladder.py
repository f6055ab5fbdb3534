"""The ladder: its picture in README.md, and its tables in notebooks/speeds.md, made from the recordings of a GPU.

    python -m helpers.tools.pages.ladder [--fix]

Without --fix it only says whether the tables are up to date (exit status 1 if not). With it the picture is drawn, too.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from gpusim import devices
from helpers import peaks, recordings
from helpers.exercises.n18.questions import PEAKS
from helpers.measure import Measurement, geometric_mean
from helpers.pictures import figures, theme
from helpers.pictures.ladder import explorer
from helpers.pictures.theme import thousands
from helpers.recordings.suites import RUNGS
from helpers.tools.pages.markers import Markers, command_line

ROOT = Path(__file__).resolve().parents[3]
PICTURE, DARK = (Path("notebooks") / "images" / name for name in ("ladder.png", "ladder-dark.png"))
LADDER_MARKERS, TABLES = (Markers(name, "make picture") for name in ("ladder", "speeds"))
SIZES = (256, 1024, 4096)  # M = N = K of the first table
LAST = RUNGS[-1].name
FORMAT_SIZES = (1024, 4096)  # M = N = K of the table of formats
FORMATS = {  # (kind of a recorded product, which of ours) -> what it is called
    ("f64 NN", "gemm"): "DGEMM, tensor cores",
    ("f64 NN", "gemm, CUDA cores"): "DGEMM, CUDA cores",
    ("f16 TN", "gemm"): "HGEMM, sums in FP32",
    ("bf16 NN", "gemm"): "the same in BF16",
    ("s8 NT", "gemm"): "IGEMM, sums in INT32",
    ("e4m3 NT", "gemm"): "FP8, sums in FP32",
}
LARGE = 1024  # the shortest side of a large shape
MARGIN = 12  # pixels below a picture


def section(gpu: str = devices.DEFAULT.name) -> str:
    """What the README says: the picture and a sentence. Raises NoRecording."""
    last = [row for suite in ("ladder", "shapes") for row in recordings.load(gpu, suite) if row.kernel == LAST]
    large = [row.of_cublas for row in last if min(row.M, row.N, row.K) >= LARGE]
    others = [row.of_cublas for row in last if min(row.M, row.N, row.K) < LARGE]
    cublas = recordings.raw(gpu, "ladder")["runs"][-1]["cublas"]
    return "\n".join(
        [
            "<picture>",
            f'<source media="(prefers-color-scheme: dark)" srcset="{DARK.as_posix()}">',
            f'<img src="{PICTURE.as_posix()}" alt="The kernels by size beside cuBLAS, recorded on an {gpu}">',
            "</picture>",
            "",
            f"The last kernel reaches {geometric_mean(large):.2f} times the speed of cuBLAS {cublas} at",
            f"{len(large)} large shapes (sides of {LARGE} or more; at worst {min(large):.2f}), and",
            f"{geometric_mean(others):.2f} at {len(others)} smaller or narrow ones.",
        ]
    )


def tables(gpu: str = devices.DEFAULT.name) -> str:
    """What the page of speeds says: all kernels by size, other formats, the last one by shape. Raises NoRecording."""
    by_size, others = recordings.load(gpu, "ladder"), recordings.load(gpu, "shapes")
    last = [row for row in (*by_size, *others) if row.kernel == LAST]
    peak = devices.get(gpu).peak_fp32_gflops
    return "\n".join(
        [
            f"Recorded on an {gpu}: FP32, C = αAB + βC, row-major, M = N = K; other data fills the L2 cache before",
            f"each launch, kernels and cuBLAS take turns, medians, in GFLOPS. The peak is {thousands(peak)} GFLOPS.",
            "",
            ladder_table(by_size),
            "",
            "DGEMM, HGEMM and IGEMM are the tile in other formats, `gemm_kernels.gemm`: C = AB in TFLOPS, beside",
            "cuBLAS (FP8: cuBLASLt) of the same kind in one run ([notebook 18](18_the_family.ipynb)). What has fewer",
            "bits than FP32 is multiplied by `mma.sync` here, FP8 as halves, and by `wgmma` there. `mma.sync` alone",
            "was timed by itself, at a clock that it lowers (BF16, FP16); kernels in turns may find another. The",
            "peak is that of the tensor cores, in FP32 that of the CUDA cores.",
            "",
            formats_table(recordings.raw(gpu, "products"), gpu),
            "",
            "The last kernel beside cuBLAS, with the parameters of the nearest shape at which it was the best. Where C",
            "has few rows `gemm_kernels.fastest` gives another kernel, which is not in the ladder.",
            "",
            shapes_table(last, peak),
        ]
    )


def ladder_table(rows: Sequence[Measurement]) -> str:
    """A line a kernel in the ladder's order, and one for cuBLAS: GFLOPS at SIZES, and the last of them in percent."""
    lines = [
        "| Kernel | What is new | " + " | ".join(map(str, SIZES)) + " | of cuBLAS |",
        "|---|---|" + "--:|" * (len(SIZES) + 1),
    ]
    by_kernel = {(row.kernel, row.M): row for row in rows}
    for kernel in RUNGS:
        if any((kernel.name, size) not in by_kernel for size in SIZES):
            raise recordings.NoRecording(f"{kernel.name} was not recorded. {recordings.how_to('ladder')}")
        speeds = [by_kernel[kernel.name, size] for size in SIZES]
        cells = " | ".join(thousands(row.gflops) for row in speeds)
        lines.append(f"| {kernel.title} | {kernel.idea} | {cells} | {speeds[-1].of_cublas:.0%} |")
    cublas = " | ".join(thousands(by_kernel[LAST, size].cublas_gflops) for size in SIZES)
    lines.append(f"| **cuBLAS** | NVIDIA's library | {cublas} | 100% |")
    return "\n".join(lines)


def formats_table(recording: Mapping[str, Any], gpu: str) -> str:
    """A line a format: TFLOPS of one product by size, cuBLAS's at the last of them, percent of it and of the peak."""
    heads = [f"{size} | cuBLAS" for size in FORMAT_SIZES]
    lines = [
        f"| Kernel | A and B | {' | '.join(heads)} | of cuBLAS | of mma.sync alone | of the peak |",
        "|---|---|" + "--:|" * (2 * len(FORMAT_SIZES) + 3),
    ]
    squares = (row for row in recording["rows"] if row["member"] == "single" and len({*row["shape"]}) == 1)
    rows = {(row["kind"], row["shape"][0]): row for row in squares}
    for (kind, ours), title in FORMATS.items():
        cells: list[str] = []
        for size in FORMAT_SIZES:
            row = rows[kind, size]
            rival = next(row["ms"][name] for name in ("cublas", "cublasLt") if name in row["ms"])
            speed, theirs = (row["work"] / ms / 1e9 for ms in (row["ms"][ours], rival))
            cells += [thousands(speed, 1), thousands(theirs, 1)]
        format_ = kind.split()[0]
        alone = recording["mma_sync"].get(format_, {}).get("rate")
        peak = peaks.of(devices.get(gpu)).tflops[PEAKS[format_]]
        lines.append(
            f"| {title} | {kind} | {' | '.join(cells)} | {speed / theirs:.0%} | "
            f"{f'{1e12 * speed / alone:.0%}' if alone else '–'} | {speed / peak:.0%} |"
        )
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
    """The README and the page of speeds, and the text that each should have. Raises ValueError with a sentence,
    NoRecording."""
    said = {root / "README.md": (LADDER_MARKERS, section()), root / "notebooks" / "speeds.md": (TABLES, tables())}
    return {
        path: markers.replaced(path.read_text(encoding="utf-8"), text, path.name)
        for path, (markers, text) in said.items()
    }


def pictures() -> dict[Path, bytes]:
    """The ladder by size as PNG, for a light page and for a dark one, without the empty lines of its caption."""
    size = (SIZES[-1],) * 3
    drawn = explorer.picture_of(explorer.Choice(devices.DEFAULT.name, "ladder", size, LAST))
    pixels = np.asarray(Image.open(io.BytesIO(drawn.png())).convert("RGB"))
    used = np.flatnonzero((pixels < figures.LIGHTEST).any(axis=(1, 2)))[-1] + MARGIN
    light = pixels[:used]
    dark = (255 * theme.in_the_dark(light / 255)).round().astype(np.uint8)
    return {PICTURE: theme.in_few_colours(light), DARK: theme.in_few_colours(dark)}


def main(arguments: list[str]) -> int:
    """Compare, or write the tables and draw the picture. Exit status 1 if the tables are left out of date."""
    return command_line(
        arguments,
        __spec__.name,
        __doc__,
        LADDER_MARKERS.command,
        wanted,
        pictures=lambda: {ROOT / path: png for path, png in pictures().items()},
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
