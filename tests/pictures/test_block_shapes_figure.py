"""Block shapes compared: places of the dots, correlation, exceptions and the model's line."""

import numpy as np
import pytest

from helpers.pictures.block_shapes.facts import BlockShape
from helpers.pictures.block_shapes.figure import scatter_figure

SHAPES = [
    BlockShape("naive", (32, 1), 16.5, 16.5, 500.0),
    BlockShape("naive", (8, 4), 4.5, 4.5, 1800.0),
    BlockShape("coalesced", (8, 32), 2.5, 2.5, 3200.0),
    BlockShape("coalesced", (32, 8), 2.5, 1.0, 6800.0),
    BlockShape("coalesced", (16, 16), 2.0, 1.5, 5300.0),
]
SOURCE = "recorded on NVIDIA H200"


def dots(drawn, kernel):
    (line,) = (line for line in drawn.axes[0].lines if line.get_label() == kernel)
    return list(zip(*line.get_data(), strict=True))


def test_a_dot_stands_at_its_cost_and_its_gflops():
    drawn = scatter_figure(SHAPES, "x", SOURCE)
    assert dots(drawn, "naive") == [(16.5, 500.0), (4.5, 1800.0)]
    assert dots(drawn, "coalesced") == [(2.5, 3200.0), (2.5, 6800.0), (2.0, 5300.0)]
    assert dots(scatter_figure(SHAPES, "x", SOURCE, cost="tags"), "coalesced")[1] == (1.0, 6800.0)


def test_shapes_that_were_not_measured_are_left_out():
    drawn = scatter_figure([*SHAPES, BlockShape("naive", (3, 3), 9.0, 9.0)], "x", SOURCE)
    assert len(dots(drawn, "naive")) == 2


def test_too_few_shapes_are_refused():
    with pytest.raises(ValueError, match="at least 3 measured block shapes, but 2"):
        scatter_figure(SHAPES[:2], "x", SOURCE)


def test_the_caption_states_correlation_and_exception():
    text = scatter_figure(SHAPES, "x", SOURCE).caption
    assert "5\u00a0launches: fewer sectors go with more GFLOPS, rank correlation \u22120.82" in text
    assert "2.5 sectors per request can mean 3\u202f200 GFLOPS (coalesced, block (8,\u00a032)) or 6\u202f800" in text


def test_the_models_line_is_the_limit_divided_by_the_cost():
    drawn = scatter_figure(SHAPES, "x", SOURCE, cost="tags", limit=8000.0, limit_name="one line a clock")
    (line,) = (line for line in drawn.axes[0].lines if line.get_label() == "one line a clock")
    x, y = line.get_data()
    assert np.allclose(np.asarray(x) * np.asarray(y), 8000.0)
    assert "8\u202f000 GFLOPS divided by the lines; the launches reach 85 to 103 % of it" in drawn.caption
