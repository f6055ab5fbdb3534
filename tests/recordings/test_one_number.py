"""A kernel at a shape has one speed on all pages: what the stored outputs and the Markdown print is compared."""

import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from gemm_kernels import get
from gpusim import devices
from helpers import plan, recordings
from helpers.recordings import compared
from helpers.recordings.measurement import Measurement
from helpers.recordings.suites import SEARCHES
from tests.notebooks.support import cells

ROOT = Path(__file__).resolve().parents[2]
GPU = devices.DEFAULT.name
CUBLAS = "cuBLAS"
LAUNCHES = ("ladder", "shapes", "blocks", "sweep", "tiles", "plain", "source_pairs", *SEARCHES)  # timed in one way
TOLD_APART = 10_000  # GFLOPS: numbers with fewer digits stand on pages for other things, too
LIKE = 0.02  # how far the ratios of two runs may differ


def flat(text: str) -> str:
    """Numbers without what separates thousands."""
    return re.sub(r"(?<=\d)[\u202f\u00a0\u2009 ,](?=\d{3}(?!\d))", "", text)


@cache
def pages() -> dict[str, str]:
    """What a reader sees: each cell with its outputs, and each paragraph or table of a Markdown page."""
    texts = {}
    for number in plan.course().numbers:
        for position, cell in enumerate(cells(number)):
            shown = json.dumps(cell.get("outputs", []), ensure_ascii=False).replace("\\n", "\n")
            texts[f"{number}, cell {position}"] = flat(f"{cell.source if cell.cell_type == 'markdown' else ''}{shown}")
    for page in (ROOT / "README.md", *(ROOT / "notebooks").rglob("*.md"), *(ROOT / "gemm_kernels").rglob("*.md")):
        for position, paragraph in enumerate(page.read_text(encoding="utf-8").split("\n\n")):
            texts[f"{page.relative_to(ROOT)}, paragraph {position}"] = flat(paragraph)
    return texts


def recorded() -> dict[tuple[object, ...], set[int]]:
    """(Kernel, parameters, M, N, K) -> its GFLOPS in all recordings that time in the same way."""
    speeds = defaultdict(set)
    for suite in LAUNCHES:
        for fields in recordings.raw(GPU, suite)["rows"]:
            row = Measurement.from_row({key: value for key, value in fields.items() if key != "sha256"}, GPU)
            shape = row.M, row.N, row.K
            speeds[row.kernel, tuple(row.params.items()), *shape].add(round(row.gflops))
            if suite in ("ladder", "shapes"):
                speeds[CUBLAS, (), *shape].add(round(row.cublas_gflops))
    for row in recordings.fastest(GPU):
        if row.way == compared.EVENTS:
            speeds[row.kernel, tuple(row.params.items()), *row.shape].add(round(row.gflops))
            speeds[CUBLAS, (), *row.shape].add(round(row.cublas_gflops))
    return speeds


def printed(name: str, gflops: int) -> list[str]:
    """Where a speed stands in one paragraph with the name of its kernel; the side of a matrix is none."""
    number = re.compile(rf"(?<![\w.])(?<!× ){gflops}(?![\w.]| ×)")
    return [page for page, text in pages().items() if name in text and number.search(text)]


def test_a_kernel_has_one_speed_at_a_shape_on_all_pages():
    contradictions = []
    for (name, _, *shape), speeds in recorded().items():
        places = {gflops: printed(name, gflops) for gflops in speeds if len(speeds) > 1 and gflops >= TOLD_APART}
        places = {gflops: where for gflops, where in places.items() if where}
        if len(places) > 1:
            contradictions.append((name, shape, places))
    assert not contradictions


def test_a_speed_that_is_printed_is_found_on_its_page():
    speed = recordings.gflops(get("ping_pong"), 4096, 4096, 4096)
    assert any(page.startswith("11") for page in printed(speed.kernel, round(speed.gflops)))
    assert any("speeds.md" in page for page in printed(CUBLAS, round(speed.cublas_gflops)))


@pytest.mark.parametrize("row", [row for row in recordings.fastest(GPU) if row.way == compared.EVENTS])
def test_runs_that_time_alike_agree_within_two_per_cent(row):
    for other in recordings.load(GPU):
        if (other.kernel, dict(other.params), other.M, other.N, other.K) == (row.kernel, dict(row.params), *row.shape):
            assert other.of_cublas == pytest.approx(row.of_cublas, rel=LIKE)
