"""Picture 12: the ladder by size."""

import numpy as np
import pytest

from helpers.pictures import theme
from helpers.pictures.ladder.facts import Ladder, group_of, ladder
from helpers.pictures.ladder.figure import TINTS, ladder_columns_figure, ladder_figure
from tests.pictures.facts_data import Row, cube


@pytest.fixture
def data() -> Ladder:
    rows = [
        cube("slow", 512, 100, 4000),
        cube("slow", 256, 90, 1000),
        cube("fast", 256, 400, 1000),
        cube("fast", 512, 3000, 4000),
    ]
    return ladder(rows, "a GPU", 8000)


def plot(drawn):
    return drawn.axes[1]


def line(drawn, label: str):
    return next(line for line in plot(drawn).lines if line.get_label() == label)


def test_each_kernel_is_a_line_of_its_measurements_by_size(data):
    drawn = ladder_figure(data, (512, 512, 512), "fast")
    assert line(drawn, "fast").get_ydata().tolist() == [0.4, 3.0]
    assert line(drawn, "slow").get_ydata().tolist() == [0.09, 0.1]
    assert line(drawn, "cuBLAS").get_ydata().tolist() == [1.0, 4.0]
    assert line(drawn, "peak").get_ydata()[0] == 8.0
    assert line(drawn, "fast").get_color() == theme.SPEED


def test_the_caption_gives_both_percentages_and_the_fastest(data):
    said = ladder_figure(data, (256, 256, 256), "slow").caption.replace("\u00a0", " ").replace("\u202f", " ")
    assert said == (
        "slow: 90 GFLOPS at 256, 9.0 % of cuBLAS, 1.1 % of the peak (recorded on a GPU). "
        "The fastest there is fast with 400 GFLOPS."
    )


def test_a_share_of_cublas_is_that_of_the_kernels_own_run():
    """cuBLAS may be faster or slower in the run of another kernel; its bar is the median over the runs."""
    data = ladder(
        [cube("one", 256, 400, 1000), cube("two", 256, 500, 2000), cube("three", 256, 1, 2000)], "a GPU", 8000
    )
    drawn = ladder_figure(data, (256,) * 3, "two")
    assert drawn.caption.replace("\u202f", " ").startswith("two: 500\u00a0GFLOPS at 256, 25 % of cuBLAS")
    twin = ladder_columns_figure(data, [(256,) * 3], "twin")
    assert "two, 25\u202f% of cuBLAS" in twin.caption and data.cublas((256,) * 3) == 2000


def test_the_list_is_ordered_by_speed_at_the_chosen_size(data):
    for shape, order in {(256,) * 3: ["cuBLAS", "fast", "slow"], (512,) * 3: ["cuBLAS", "fast", "slow"]}.items():
        bars = [a for a in ladder_figure(data, shape, "fast").axes[0].collections if a.get_label().startswith("bar ")]
        assert [bar.get_label().removeprefix("bar ") for bar in bars] == order
        lengths = [np.ptp(bar.get_paths()[0].vertices[:, 0]) for bar in bars]
        here = data.at(shape)
        assert lengths[1] / lengths[0] == pytest.approx(here["fast"].gflops / data.cublas(shape))


def test_unlike_shapes_are_dots_without_a_line():
    rows = [Row(name, *shape, 1, 2) for name in ("one", "two") for shape in ((64, 4096, 1024), (8, 8, 8))]
    drawn = ladder_figure(ladder(rows, "a GPU", 100), (64, 4096, 1024), "one")
    assert all(line(drawn, name).get_linestyle() == "None" for name in ("one", "two", "cuBLAS"))
    assert [words.get_text() for words in plot(drawn).get_xticklabels()] == ["8", "64×4096×1024"]


def test_the_logarithmic_scale_has_the_same_points(data):
    linear, logarithmic = (ladder_figure(data, (512,) * 3, "fast", scale) for scale in ("linear", "log"))
    assert plot(logarithmic).get_yscale() == "log"
    assert line(logarithmic, "slow").get_ydata().tolist() == line(linear, "slow").get_ydata().tolist()


def test_unmeasured_kernel_is_refused_with_a_sentence(data):
    with pytest.raises(ValueError, match="warp was not measured at 512 on the a GPU"):
        ladder_figure(data, (512,) * 3, "warp")


def test_columns_name_the_fastest_of_each_shape(data):
    drawn = ladder_columns_figure(data, [(256,) * 3, (512,) * 3], "two")
    assert "256: fast, 40\u202f% of cuBLAS; 512: fast, 75\u202f% of cuBLAS" in drawn.caption


def test_no_column_number_lies_on_a_bar_or_on_cublass_mark(data):
    axes = ladder_columns_figure(data, [(256,) * 3, (512,) * 3], "two").axes[0]
    shares = [text.get_position()[0] for text in axes.texts if text.get_text().endswith("%")]
    drawn = [
        collection
        for collection in axes.collections
        if collection.get_label().startswith("bar") or collection.get_label() == "cuBLAS"
    ]
    ends = [path.vertices[:, 0].max() for collection in drawn for path in collection.get_paths()]
    for right in set(shares):
        assert all(not right - 55 < end <= right for end in ends)


def test_groups_have_one_colour_and_are_named_once():
    rows = [cube(name, size, speed * size, 4000) for size in (256, 512) for name, speed in
            (("naive", 1), ("coalesced", 2), ("transposed", 3), ("padded", 4), ("stream_k", 5))]  # fmt: skip
    drawn = ladder_figure(ladder(rows, "a GPU", 8000), (512,) * 3, "stream_k")
    assert line(drawn, "naive").get_color() == line(drawn, "coalesced").get_color() == TINTS["one element"]
    assert line(drawn, "padded").get_color() == TINTS["banks"] != TINTS["one element"]
    labels = [words for words in drawn.axes[0].texts if words.get_text() in TINTS]
    assert [words.get_text() for words in labels] == ["by shape", "banks", "one element"]
    heights = [words.get_position()[1] for words in labels]
    assert all(below - above >= 17 for above, below in zip(heights, heights[1:], strict=False))


def test_kernel_belongs_to_the_group_of_its_ladder_position():
    assert [group_of(name) for name in ("naive", "interleaved", "serpentine", "autotuned", "mine")] == [
        "one element", "banks", "warp tiles", "by shape", "",
    ]  # fmt: skip
