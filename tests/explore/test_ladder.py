"""The explorer of the whole ladder."""

from helpers.analysis.ladder import ladder_of
from helpers.explore import ladder
from tests.explore.driving import drive, living_figures


def test_every_setting_shows_a_picture_and_no_figure_is_kept(monkeypatch):
    explorer = ladder.explore()
    before = living_figures()
    seen = drive(explorer, monkeypatch)
    assert seen["sentence"] == 0 and seen["picture"] > 50
    assert living_figures() <= before


def test_another_suite_brings_its_own_shapes_and_keeps_the_kernel():
    explorer = ladder.explore(kernel="shared_memory")
    explorer.suite.value = "shapes"
    assert explorer.kernel.value == "shared_memory"
    assert explorer.shape.value == ladder_of("NVIDIA H200", "shapes").shapes[-1]
    assert "shared_memory" in ladder.picture_of(explorer.choice).caption


def test_the_static_twin_has_three_sizes():
    caption = ladder.small_multiples().caption
    assert all(f"{size}: " in caption for size in ladder.TELLING)
