"""The explorer of the whole ladder."""

from gemm_kernels import LADDER
from helpers import devices
from helpers.analysis.ladder import ladder_of
from helpers.explore import ladder
from helpers.measure import recordings
from tests.explore.driving import drive, living_figures


def test_every_setting_shows_a_picture_and_no_figure_is_kept(monkeypatch):
    explorer = ladder.explore()
    before = living_figures()
    seen = drive(explorer, monkeypatch)
    assert seen["sentence"] == 0 and seen["picture"] > 100
    assert living_figures() <= before


def test_the_lines_are_the_recordings():
    data = ladder_of("NVIDIA H200", "ladder")
    rows = recordings.load("NVIDIA H200", "ladder")
    assert sum(map(len, data.lines.values())) == len(rows)
    for row in rows[::7]:
        assert data.at((row.M, row.N, row.K))[row.kernel].gflops == row.gflops
    assert data.peak_gflops == devices.get("H200").peak_fp32_gflops


def test_the_kernels_come_in_the_ladders_order():
    names = list(ladder_of("NVIDIA H200", "ladder").lines)
    known = [kernel.name for kernel in LADDER if kernel.name in names]
    assert [name for name in names if name in known] == known


def test_another_suite_brings_its_own_shapes_and_keeps_the_kernel():
    explorer = ladder.explore(kernel="shared_memory")
    explorer.suite.value = "shapes"
    assert explorer.kernel.value == "shared_memory"
    assert explorer.shape.value == ladder_of("NVIDIA H200", "shapes").shapes[-1]
    assert "shared_memory" in ladder.picture_of(explorer.choice).caption


def test_the_static_twin_has_three_sizes():
    caption = ladder.small_multiples().caption
    assert all(f"{size}: " in caption for size in ladder.TELLING)
