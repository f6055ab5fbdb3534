"""One tile in several ways, size by size: the factors and their lines."""

import pytest

from gemm_kernels import get
from helpers import recordings
from helpers.pictures.by_size import facts as sweep
from helpers.pictures.by_size.figure import by_size_figure


def test_each_way_is_compared_with_the_first_at_its_own_size():
    ways = sweep.ways()
    assert [way.name for way in ways.ways] == ["double_buffered", "ping_pong", "async_copy", "vectorized, BK 16"]
    double = dict(zip(ways.ways[0].sizes, ways.ways[0].factors, strict=True))
    for size in (2, 64, 4096):
        rows = [recordings.gflops(get(name), size, size, size) for name in ("double_buffered", "vectorized")]
        assert double[size] == pytest.approx(rows[0].gflops / rows[1].gflops)
    assert ways.label == "recorded on NVIDIA H200"


def test_chart_names_each_line_at_its_end_and_three_factors():
    by_size = sweep.Sweep((sweep.Way("double_buffered", (2, 64, 4096), (1.0, 1.5, 1.1)),), "measured here")
    drawn = by_size_figure(by_size, "A title")
    caption = drawn.caption.replace("\u202f", " ").replace("\u00a0", " ")
    assert (
        caption
        == "Times as fast as vectorized, double_buffered: 1.00 at 2, 1.50 at 64 and 1.10 at 4 096 (measured here)."
    )
    words = [text.get_text() for axes in drawn.figure.axes for text in axes.texts]
    assert words == ["double_buffered"]
