"""The ladder in README.md and on the page of speeds, and the log of the last kernel: as the recordings say."""

from pathlib import Path

from PIL import Image

from gemm_kernels import get
from helpers import recordings
from helpers.recordings.suites import RUNGS
from helpers.tools.pages import kernel_log, ladder

ROOT = Path(__file__).resolve().parents[2]


def test_the_ladder_in_the_readme_is_what_the_recordings_say():
    assert ladder.main([]) == 0, "run `make picture`"


def test_page_of_speeds_says_how_many_launches_a_median_has():
    rows = recordings.load(suite="ladder")
    fewest = {size: min(row.time.repeats for row in rows if size == row.M) for size in (128, 1024, 2048, 4096)}
    sentence = (
        f"of {fewest[128]} launches up to 512³, and of at least {fewest[1024]} at 1024³, {fewest[2048]} at 2048³ and "
        f"{fewest[4096]} at 4096³"
    )
    assert {row.time.repeats for row in rows if row.M <= 512} == {fewest[128]}
    assert sentence in " ".join((ROOT / "notebooks" / "speeds.md").read_text(encoding="utf-8").split())


def test_every_kernel_has_a_line_and_cublas_has_the_last():
    lines = ladder.ladder_table(recordings.load(suite="ladder")).splitlines()[2:]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == [*(kernel.title for kernel in RUNGS), "**cuBLAS**"]
    naive = recordings.gflops(get("naive"), 4096, 4096, 4096)
    assert f"| {naive.gflops:.0f} | {naive.of_cublas:.0%} |" in lines[0]


def test_last_kernels_recorded_shapes_have_lines_with_ratios():
    rows = [row for row in recordings.load() if row.kernel == RUNGS[-1].name]
    lines = ladder.shapes_table(rows, 50_000.0).splitlines()[2:]
    assert len(lines) == len(rows)
    row = next((row for row in rows if (row.M, row.N, row.K) == (64, 4096, 1024)), None)
    assert row is not None, recordings.how_to("shapes")
    line = next(line for line in lines if line.startswith("| 64 × 4096 × 1024 |"))
    assert line.endswith(f" {row.of_cublas:.2f} | {row.gflops / 50_000:.0%} |")


def test_other_formats_stand_beside_cublas_of_their_kind():
    ms = {"gemm": 2.0, "gemm, CUDA cores": 8.0, "cublas": 1.0}
    rows = [
        {"member": member, "kind": kind, "shape": [size] * 3, "work": 2.0 * size**3, "ms": ms}
        for kind in ("f64 NN", "f16 TN", "bf16 NN", "s8 NT", "e4m3 NT")
        for size in ladder.FORMAT_SIZES
        for member in ("single", "batch")
    ]
    for row in rows:
        if row["member"] == "batch":
            row["ms"] = {}  # another member of the family with the same name and shape
    rates = {"f16": 2 * 68.7e12, "bf16": 1e15, "s8": 1e15, "e4m3": 68.7e12}
    alone = {kind: {"rate": rate, "mhz": 1980} for kind, rate in rates.items()}
    lines = ladder.formats_table({"rows": rows, "mma_sync": alone}, "NVIDIA H200").splitlines()[2:]
    cells = [line.strip("| ").split(" | ") for line in lines]
    assert [line[0] for line in cells] == list(ladder.FORMATS.values())
    assert cells[0][2:] == ["1.1", "2.1", "68.7", "137.4", "50%", "–", "103%"]  # 2 · 4096³ in 2 ms
    assert [line[6] for line in cells] == ["50%", "12%", *["50%"] * 4]
    assert [cells[2][7], cells[5][7]] == ["50%", "100%"]


def test_the_pictures_are_small_pngs_for_light_and_dark_pages():
    corners = []
    for path in (ladder.PICTURE, ladder.DARK):
        assert (ROOT / path).stat().st_size < 100_000
        with Image.open(ROOT / path) as picture:
            assert picture.format == "PNG" and picture.width == 1296
            corners.append(sum(picture.convert("RGB").getpixel((0, 0))))
    assert corners[0] == 3 * 255 and corners[1] < 3 * 40


def test_last_kernels_log_has_the_table_of_the_recording():
    assert kernel_log.main([]) == 0, "run `make picture`"
    rows = recordings.fastest()
    assert kernel_log.section(rows).count("\n| ") == len(rows) + 1, "a line a shape below the head"
