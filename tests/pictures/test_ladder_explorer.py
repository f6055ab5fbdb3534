"""The explorer of the whole ladder."""

import pytest

from helpers import recordings
from helpers.pictures.ladder import explorer as ladder
from helpers.pictures.ladder.facts import ladder_of
from tests.pictures.driving import drive


def test_every_setting_shows_a_picture_and_no_figure_is_kept(monkeypatch):
    explorer = ladder.explore()
    seen = drive(explorer, monkeypatch)
    assert seen["sentence"] == 0 and seen["picture"] > 50


def test_another_suite_brings_its_shapes_and_keeps_the_kernel():
    explorer = ladder.explore(kernel="shared_memory")
    explorer.suite.value = "shapes"
    assert explorer.kernel.value == "shared_memory"
    assert explorer.shape.value == ladder_of("NVIDIA H200", "shapes").shapes[-1]
    assert "shared_memory" in ladder.picture_of(explorer.choice).caption


def test_the_static_twin_has_three_sizes():
    caption = ladder.small_multiples().caption
    assert all(f"{size}: " in caption for size in ladder.TELLING)


def test_every_recorded_gpu_can_be_chosen_with_what_it_has():
    explorer = ladder.explore()
    names = [name for name, _ in explorer.gpu.options]
    assert names == ["NVIDIA H100 80GB HBM3", "NVIDIA H200"]
    explorer.gpu.value = names[0]
    explorer.suite.value = "fastest"
    assert explorer.shape.value == (8192,) * 3 and "fastest: 5" in ladder.picture_of(explorer.choice).caption
    explorer.gpu.value = names[1]
    assert explorer.suite.value == "fastest" and len(explorer.suite.options) == 4


def test_the_chosen_kernel_at_squares_is_what_its_suite_recorded():
    data = ladder_of("NVIDIA H200", "fastest")
    row = next(row for row in recordings.fastest() if row.shape == (4096,) * 3)
    here = data.at((4096,) * 3)
    assert here["fastest"].gflops == row.gflops and here["fastest"].cublas == row.cublas_gflops
    assert here["fastest"].gflops / here["autotuned"].gflops == pytest.approx(row.of_autotuned)
